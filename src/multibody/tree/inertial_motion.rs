//! The motion of a mechanism with ball or free joints over a step on which no force acts: what a
//! step adds forces to.
//!
//! Where a joint leaves all rotations to its child, the gyroscopic moment at the start of a step
//! feeds energy into the motion. Trees with such joints move by an implicit midpoint rule on
//! configurations instead, the symmetric form of the variational integrators of Marsden & West
//! (2001, *Discrete mechanics and variational integrators*, §1.5): with the momenta p = M(q) v and
//! their rates g = dM/dt v − C(q, v) v where no force acts,
//!
//! > q_m = q₀ ⊕ δt/2 v_m, M(q_m) v_m = (p₀ + p₁)/2, p₁ − p₀ = δt g(q_m, v_m), q₁ = q₀ ⊕ δt v_m.
//!
//! It is its own reverse in time, so that energy oscillates and does not drift. What a free joint on
//! the world carries is seen from its centre of mass, which goes straight: g is nothing along that
//! joint then, and angular momentum is kept to rounding, whatever the step. A step in which
//! something turns so far that there is no v_m, or that energy changes by more than a ten-thousandth, is
//! divided.
//!
//! What this adds to a step that takes C(q, v) v at its start is an impulse along the coordinates,
//! M(q₀) (v₁ − v₀) + δt C(q₀, v₀) v₀, and moves of the configuration, (q₁ ⊖ q₀) − δt v₁.

use super::mechanism::Mechanism;
use super::midpoint_rule::{MiddleVelocities, MidpointRule};
use super::workspace::Workspace;
use crate::scalar::Scalar;

/// What motion without forces does over a step besides what it would under the forces C(q, v) v at
/// the start of the step, and along the velocities at the end. Each has a number for every velocity
/// coordinate, or none where the mechanism has no ball and no free joint.
#[derive(Clone, Debug)]
pub(crate) struct InertialMotion<T = f64> {
    /// Impulses along the coordinates, N m s or N s.
    pub impulse: Vec<T>,
    /// The change of velocity that they cause, M⁻¹ times the impulses.
    pub velocity_change: Vec<T>,
    /// How far the move of the configuration is from δt times the velocity at the end.
    pub extra_moves: Vec<T>,
}

impl<T> Default for InertialMotion<T> {
    /// No motion.
    fn default() -> Self {
        Self { impulse: Vec::new(), velocity_change: Vec::new(), extra_moves: Vec::new() }
    }
}

impl<T: Scalar> InertialMotion<T> {
    /// Becomes a constant motion.
    pub fn assign(&mut self, motion: &InertialMotion) {
        let Self { impulse, velocity_change, extra_moves } = self;
        let from = [&motion.impulse, &motion.velocity_change, &motion.extra_moves];
        for (to, from) in [impulse, velocity_change, extra_moves].into_iter().zip(from) {
            to.clear();
            to.extend(from.iter().map(|x| T::from(*x)));
        }
    }

    /// That of a step of `dt` seconds from a configuration and a velocity. `real` is the mechanism
    /// without its derivatives.
    pub fn new(mechanism: &Mechanism<T>, real: &Mechanism, q: &[T], v: &[T], dt: T) -> Self {
        if !mechanism.has_spherical_joints() {
            return Self::default();
        }
        let numbers = |x: &[T]| x.iter().map(|x| x.real()).collect::<Vec<f64>>();
        let middle = MiddleVelocities::find(real, &numbers(q), &numbers(v), dt.real(), T::NDERIV > 0);
        Self::at(mechanism, q, v, dt, &middle)
    }

    /// That of a step with the velocities at the middle of its parts, with the derivatives that their
    /// equations imply.
    pub(super) fn at(mechanism: &Mechanism<T>, q: &[T], v: &[T], dt: T, middle: &MiddleVelocities) -> Self {
        let (mut motion, mut rule) = (Self::default(), MidpointRule::default());
        let mut workspace = Workspace::new(mechanism);
        mechanism.update_kinematics(q, v, &mut workspace);
        rule.start(mechanism, &mut workspace, v);
        motion.clear(mechanism);
        if !middle.is_empty() {
            rule.follow(mechanism, q, dt, middle);
            motion.finish(mechanism, q, v, dt, &mut rule);
        }
        motion
    }

    /// Becomes none.
    fn clear(&mut self, mechanism: &Mechanism<T>) {
        for numbers in [&mut self.impulse, &mut self.velocity_change, &mut self.extra_moves] {
            numbers.clear();
            numbers.resize(mechanism.nv, T::from(0.0));
        }
    }

    /// Becomes the motion to the configuration and the velocity in the rule.
    fn finish(&mut self, mechanism: &Mechanism<T>, q: &[T], v: &[T], dt: T, rule: &mut MidpointRule<T>) {
        let MidpointRule { matrix, factors, bias, configuration, velocity, drift, moves, left, .. } = rule;
        velocity.iter_mut().zip(&*drift).for_each(|(v, &drift)| *v += drift);
        mechanism.configuration_difference(q, configuration, moves);
        // The bias as the change of velocity that it causes.
        mechanism.solve(factors, bias);
        for tree in mechanism.trees.iter().filter(|tree| mechanism.is_spherical(tree)) {
            for k in tree.v.clone() {
                // All along, the drift moves the configuration as well.
                self.extra_moves[k] = moves[k] - (velocity[k] - drift[k]) * dt;
                left[k] = velocity[k] - v[k] + bias[k] * dt;
                self.velocity_change[k] = left[k];
            }
            for row in tree.v.clone() {
                let products = tree.v.clone().map(|k| matrix[(row, k)] * left[k]);
                self.impulse[row] = products.fold(T::from(0.0), |sum, x| sum + x);
            }
        }
    }
}

impl InertialMotion {
    /// Becomes that of a step of `dt` seconds from the state of the last [`Mechanism::update_kinematics`].
    pub fn set(
        &mut self,
        mechanism: &Mechanism,
        workspace: &mut Workspace,
        q: &[f64],
        v: &[f64],
        dt: f64,
        rule: &mut MidpointRule,
    ) {
        if !mechanism.has_spherical_joints() {
            self.assign(&Self::default());
            return;
        }
        self.clear(mechanism);
        rule.start(mechanism, workspace, v);
        if rule.run(mechanism, q, dt).is_some() {
            self.finish(mechanism, q, v, dt, rule);
        }
    }
}
