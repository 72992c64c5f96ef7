//! The implicit midpoint rule, by which mechanisms with ball or free joints move over a step without
//! forces, in as many substeps as necessary (see [`InertialMotion`](super::InertialMotion)).

use std::ops::Range;

use nalgebra::{DMatrix, DVector, Vector3};

use super::joint::JointKind;
use super::mechanism::{Mechanism, Tree};
use super::workspace::Workspace;
use crate::linear_algebra::dot;
use crate::scalar::Scalar;
use crate::spatial::{SpatialInertia, SpatialVelocity};

/// Iterations for the velocity at the middle of a step.
const MAXIMUM_ITERATIONS: usize = 60;
/// What is left of the momentum where the iteration ends, by the energy that it makes, as a part of
/// the velocity: a few roundings.
const RESIDUAL: f64 = 2.0 * f64::EPSILON;
/// What may be left where it does not end.
const ACCEPTABLE_RESIDUAL: f64 = 1e-10;
/// Where an iteration leaves more than this of the residual, the slope is taken anew.
const SLOW: f64 = 0.1;
/// Changes of the kinetic energy over a step, as a part of it, for which it is divided.
const ENERGY_CHANGE: f64 = 1e-4;
/// The most parts that a step is divided into, a power of 2.
const MAXIMUM_PARTS: usize = 1024;
/// The part of a radian, or of a metre, over a step by which velocities are moved for the slope.
const DIFFERENCE: f64 = 1e-7;

/// Newton steps that give a velocity its derivatives: the slope has seven digits.
const CORRECTIONS: usize = 3;

/// The velocities v_m at the middle of the parts of a step, and for each the inverse of how the
/// residual of its equation falls with it: what derivatives take.
#[derive(Clone, Debug, Default)]
pub(super) struct MiddleVelocities {
    parts: Vec<(Vec<f64>, DMatrix<f64>)>,
}

/// A step in progress, and memory that the next one reuses.
#[derive(Debug)]
pub(crate) struct MidpointRule<T = f64> {
    /// Kinematics within the step and at its end.
    kinematics: Option<Workspace<T>>,
    /// The mass matrix at the start, and its factors.
    pub(super) matrix: DMatrix<T>,
    pub(super) factors: DMatrix<T>,
    factors_at_end: DMatrix<T>,
    /// Velocity and momenta at the start, seen from the centres of mass of what floats, and
    /// C(q, v) v there.
    velocity_before: Vec<T>,
    momentum_before: Vec<T>,
    pub(super) bias: Vec<T>,
    /// The velocities of these centres, along the coordinates, and where they are, for each tree.
    pub(super) drift: Vec<T>,
    centers: Vec<Vector3<T>>,
    /// Configuration and momenta at the start of a part of the step.
    pub(super) configuration: Vec<T>,
    momentum: Vec<T>,
    /// The velocity at its middle, and what is left of its equation.
    pub(super) velocity: Vec<T>,
    pub(super) left: Vec<T>,
    rate: Vec<T>,
    pub(super) moves: Vec<T>,
    moved: Vec<T>,
    change: Vec<T>,
}

impl<T: Scalar> Default for MidpointRule<T> {
    fn default() -> Self {
        let matrix = || DMatrix::from_element(0, 0, T::from(0.0));
        let numbers = Vec::new;
        Self {
            kinematics: None,
            matrix: matrix(),
            factors: matrix(),
            factors_at_end: matrix(),
            velocity_before: numbers(),
            momentum_before: numbers(),
            bias: numbers(),
            drift: numbers(),
            centers: Vec::new(),
            configuration: numbers(),
            momentum: numbers(),
            velocity: numbers(),
            left: numbers(),
            rate: numbers(),
            moves: numbers(),
            moved: numbers(),
            change: numbers(),
        }
    }
}

impl<T: Scalar> MidpointRule<T> {
    /// Masses, momenta and C(q, v) v at the state of the last [`Mechanism::update_kinematics`].
    pub(super) fn start(&mut self, mechanism: &Mechanism<T>, workspace: &mut Workspace<T>, v: &[T]) {
        let n = mechanism.nv;
        let Self { momentum_before, velocity_before, momentum, bias, velocity, left, rate, moves, .. } = self;
        for numbers in [momentum_before, velocity_before, momentum, bias, velocity, left, rate, moves] {
            numbers.resize(n, T::from(0.0));
        }
        for numbers in [&mut self.configuration, &mut self.moved] {
            numbers.resize(mechanism.nq, T::from(0.0));
        }
        for matrix in [&mut self.matrix, &mut self.factors, &mut self.factors_at_end] {
            if matrix.nrows() != n {
                *matrix = DMatrix::from_element(n, n, T::from(0.0));
            }
        }
        if self.kinematics.as_ref().is_some_and(|kinematics| !kinematics.fits(mechanism)) {
            self.kinematics = None;
        }
        let weightless = Vector3::from_element(T::from(0.0));
        mechanism.bias_forces(workspace, &weightless, &[], &mut self.bias);
        mechanism.mass_matrix(workspace, &mut self.matrix);
        self.factors.copy_from(&self.matrix);
        mechanism.factorize(&mut self.factors);
        self.velocity_before.copy_from_slice(v);
        self.subtract_drift(mechanism, workspace);
    }

    /// Has the velocity and the momenta at the start be those seen from the centres of mass, and
    /// nothing in trees that this does not concern, which rest.
    fn subtract_drift(&mut self, mechanism: &Mechanism<T>, workspace: &Workspace<T>) {
        let Self { velocity_before, momentum_before, drift, centers, matrix, .. } = self;
        drift.clear();
        drift.resize(mechanism.nv, T::from(0.0));
        centers.clear();
        momentum_before.fill(T::from(0.0));
        for (index, tree) in mechanism.trees.iter().enumerate() {
            let (mass, center) = workspace.center_of_mass(index, tree);
            centers.push(center);
            if !mechanism.is_spherical(tree) {
                velocity_before[tree.v.clone()].fill(T::from(0.0));
                continue;
            }
            let momentum = |row: usize, v: &[T]| {
                let products = tree.v.clone().map(|k| matrix[(row, k)] * v[k]);
                products.fold(T::from(0.0), |sum, x| sum + x)
            };
            for k in mechanism.floating(tree) {
                drift[k] = momentum(k, velocity_before) * mass.recip();
            }
            for k in mechanism.floating(tree) {
                velocity_before[k] -= drift[k];
            }
            // Not a difference of momenta: beside a fast drift the rest may be as small as rounding.
            for row in tree.v.clone() {
                momentum_before[row] = momentum(row, velocity_before);
            }
        }
    }

    /// Goes back to the start, from a configuration.
    fn restart(&mut self, q: &[T]) {
        self.configuration.copy_from_slice(q);
        self.velocity.copy_from_slice(&self.velocity_before);
        self.momentum.copy_from_slice(&self.momentum_before);
    }

    /// Brings the kinematics to where the velocity leads in `time`.
    fn advance(&mut self, mechanism: &Mechanism<T>, time: T) -> &mut Workspace<T> {
        let Self { kinematics, velocity, moves, configuration, moved, .. } = self;
        moves.iter_mut().zip(&*velocity).for_each(|(x, &v)| *x = v * time);
        mechanism.move_configuration(configuration, moves, moved);
        let kinematics = kinematics.get_or_insert_with(|| Workspace::new(mechanism));
        mechanism.update_kinematics(moved, velocity, kinematics);
        kinematics
    }

    /// What is left of p₀ + δt/2 g(q_m, v_m) − M(q_m) v_m over a part of `dt` seconds.
    fn update_left(&mut self, mechanism: &Mechanism<T>, dt: T) {
        self.advance(mechanism, dt * 0.5);
        let Self { kinematics, velocity, left, rate, momentum, .. } = self;
        let Some(kinematics) = kinematics else { return };
        momenta_and_rates(mechanism, kinematics, velocity, left, rate);
        for tree in &mechanism.trees {
            if !mechanism.floating(tree).is_empty() {
                // Seen from the centre of mass: what is found is rounding.
                rate[tree.v.start..tree.v.start + 6].fill(T::from(0.0));
            }
        }
        for ((left, &rate), &p) in left.iter_mut().zip(&*rate).zip(&*momentum) {
            *left = p + rate * (dt * 0.5) - *left;
        }
    }

    /// Goes on to the end of a part, once the velocity at its middle is found.
    fn pass(&mut self, mechanism: &Mechanism<T>, dt: T) {
        // p₁ = 2 M(q_m) v_m − p₀ would round more.
        self.update_left(mechanism, dt);
        let Self { rate, momentum, velocity, moves, configuration, moved, .. } = self;
        momentum.iter_mut().zip(&*rate).for_each(|(p, &g)| *p += g * dt);
        moves.iter_mut().zip(&*velocity).for_each(|(x, &v)| *x = v * dt);
        mechanism.move_configuration(configuration, moves, moved);
        std::mem::swap(configuration, moved);
    }

    /// Moves to the end of a step of `dt` seconds by the velocities at the middle of its parts, with
    /// the derivatives that their equations imply.
    pub(super) fn follow(&mut self, mechanism: &Mechanism<T>, q: &[T], dt: T, middle: &MiddleVelocities) {
        self.restart(q);
        let part = dt * (1.0 / middle.parts.len() as f64);
        for (velocity, inverse_slope) in &middle.parts {
            self.velocity.iter_mut().zip(velocity).for_each(|(v, &real)| *v = T::from(real));
            for _ in 0..CORRECTIONS * T::NDERIV {
                self.update_left(mechanism, part);
                for (v, row) in self.velocity.iter_mut().zip(inverse_slope.row_iter()) {
                    for (&slope, &left) in row.iter().zip(&self.left) {
                        // What is left of the real part is rounding.
                        *v += (left - left.real()) * slope;
                    }
                }
            }
            self.pass(mechanism, part);
        }
        self.end(mechanism);
    }

    /// Replaces the velocity held by that at the end of the step, from the momenta there,
    /// and puts the centres of mass where they were.
    fn end(&mut self, mechanism: &Mechanism<T>) {
        self.advance(mechanism, T::from(0.0));
        let Self { kinematics, factors_at_end, momentum, velocity, configuration, moves, moved, .. } = self;
        let Some(kinematics) = kinematics else { return };
        mechanism.mass_matrix(kinematics, factors_at_end);
        mechanism.factorize(factors_at_end);
        velocity.copy_from_slice(momentum);
        mechanism.solve(factors_at_end, velocity);
        moves.fill(T::from(0.0));
        for (index, tree) in mechanism.trees.iter().enumerate() {
            let shift = self.centers[index] - kinematics.center_of_mass(index, tree).1;
            let first = mechanism.joints[tree.joints.start].columns.start;
            for k in mechanism.floating(tree) {
                let column = &kinematics.columns[first + k - tree.v.start];
                moves[k] = column.translational.dot(&shift);
            }
        }
        mechanism.move_configuration(configuration, moves, moved);
        std::mem::swap(configuration, moved);
    }
}

impl<T: Scalar> Workspace<T> {
    /// The mass of all that a tree carries, and where its centre is in W; W's origin without mass.
    fn center_of_mass(&self, index: usize, tree: &Tree<T>) -> (T, Vector3<T>) {
        let mut whole = SpatialInertia::zero();
        self.motions[tree.joints.clone()].iter().for_each(|m| whole += m.inertia);
        if whole.mass.real() <= 0.0 {
            return (T::from(1.0), whole.first_moment);
        }
        (whole.mass, self.origins[index] + whole.first_moment * whole.mass.recip())
    }
}

impl<T> Mechanism<T> {
    /// The coordinates that move all that a tree carries, where all of it hangs on a free joint.
    fn floating(&self, tree: &Tree<T>) -> Range<usize> {
        let first = &self.joints[tree.joints.start];
        match first.kind {
            JointKind::Free if first.subtree == tree.joints => tree.v.start + 3..tree.v.start + 6,
            _ => 0..0,
        }
    }
}

/// The momenta p = M v along the coordinates, and their rates g without forces, at the state of the
/// last [`Mechanism::update_kinematics`]: all that a joint carries has the momentum H, so that p = S·H and
/// g = dS/dt·H.
fn momenta_and_rates<T: Scalar>(
    mechanism: &Mechanism<T>,
    workspace: &mut Workspace<T>,
    v: &[T],
    momenta: &mut [T],
    rates: &mut [T],
) {
    for (momentum, m) in workspace.forces.iter_mut().zip(&workspace.motions) {
        *momentum = m.inertia.times(&m.velocity);
    }
    for joint in &mechanism.joints {
        for k in joint.v.clone() {
            (momenta[k], rates[k]) = (joint.rotor_inertia * v[k], T::from(0.0));
        }
    }
    for (index, joint) in mechanism.joints.iter().enumerate().rev() {
        let (momentum, m) = (workspace.forces[index], &workspace.motions[index]);
        let of_parent = joint.parent.map_or_else(SpatialVelocity::zero, |p| workspace.motions[p].velocity);
        let of_center = m.relative.shifted(&m.position).translational;
        for (i, c) in joint.columns.clone().enumerate() {
            let (s, k) = (&workspace.columns[c], mechanism.coordinate[c]);
            momenta[k] += s.dot(&momentum);
            let mut moving = of_parent.cross(s);
            if joint.kind.moves_its_center() && !joint.kind.is_translation(i) {
                moving.translational += of_center.cross(&s.rotational);
            }
            rates[k] += moving.dot(&momentum);
        }
        if let Some(parent) = joint.parent {
            workspace.forces[parent] += momentum;
        }
    }
}

impl MidpointRule {
    /// Moves to the end of a step of `dt` seconds, in as few parts as it takes. Returns how many
    /// there are; none where something turns by very many radians.
    pub(super) fn run(&mut self, mechanism: &Mechanism, q: &[f64], dt: f64) -> Option<usize> {
        let mut parts = 1;
        while parts <= MAXIMUM_PARTS {
            self.restart(q);
            let part = dt / parts as f64;
            let passed = (0..parts).all(|_| {
                let found = self.find_middle(mechanism, part);
                if found {
                    self.pass(mechanism, part);
                }
                found
            });
            if passed {
                self.end(mechanism);
                let before = dot(&self.velocity_before, &self.momentum_before);
                let change = dot(&self.velocity, &self.momentum) - before;
                if change.abs() <= ENERGY_CHANGE * before {
                    return Some(parts);
                }
            }
            parts *= 2;
        }
        None
    }

    /// Finds the velocity at the middle of a part of `dt` seconds, from that held; whether
    /// there is one.
    fn find_middle(&mut self, mechanism: &Mechanism, dt: f64) -> bool {
        let mut step = std::mem::take(&mut self.change);
        step.resize(mechanism.nv, 0.0);
        let found = self.iterate(mechanism, dt, &mut step);
        self.change = step;
        found
    }

    /// [`Self::find_middle`], with memory for the changes of the velocity.
    fn iterate(&mut self, mechanism: &Mechanism, dt: f64, step: &mut [f64]) -> bool {
        let mut inverse_slope: Option<DMatrix<f64>> = None;
        let mut last = f64::INFINITY;
        for _ in 0..MAXIMUM_ITERATIONS {
            self.update_left(mechanism, dt);
            step.copy_from_slice(&self.left);
            mechanism.solve(&self.factors, step);
            let left = (dot(step, &self.left) / dot(&self.velocity, &self.momentum)).abs().sqrt();
            if left.is_nan() {
                // At rest.
                return self.left.iter().all(|x| *x == 0.0);
            }
            // Rounding leaves no less where it is not less than before.
            if left <= RESIDUAL || (left <= ACCEPTABLE_RESIDUAL && left > 0.5 * last) {
                return true;
            }
            if left > SLOW * last {
                inverse_slope = Some(self.inverse_slope(mechanism, dt));
                self.update_left(mechanism, dt);
            }
            last = left;
            if let Some(inverse) = &inverse_slope {
                step.fill(0.0);
                for (column, left) in inverse.column_iter().zip(&self.left) {
                    step.iter_mut().zip(column.iter()).for_each(|(sum, x)| *sum += x * left);
                }
            }
            self.velocity.iter_mut().zip(&*step).for_each(|(v, step)| *v += step);
        }
        false
    }

    /// The inverse of how the residual falls with the velocity held, by differences.
    fn inverse_slope(&mut self, mechanism: &Mechanism, dt: f64) -> DMatrix<f64> {
        let n = mechanism.nv;
        let mut slope = DMatrix::identity(n, n);
        for tree in mechanism.trees.iter().filter(|tree| mechanism.is_spherical(tree)) {
            for k in tree.v.clone() {
                let (v, mut sides) = (self.velocity[k], [DVector::zeros(n), DVector::zeros(n)]);
                for (side, h) in sides.iter_mut().zip([DIFFERENCE / dt, -DIFFERENCE / dt]) {
                    self.velocity[k] = v + h;
                    self.update_left(mechanism, dt);
                    side.copy_from_slice(&self.left);
                }
                self.velocity[k] = v;
                slope.set_column(k, &((&sides[1] - &sides[0]) * (0.5 * dt / DIFFERENCE)));
            }
        }
        // It is near the mass matrix wherever there is a solution.
        slope.try_inverse().unwrap_or_else(|| DMatrix::zeros(n, n))
    }
}

impl MiddleVelocities {
    /// Whether none were found.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Those of a step of `dt` seconds, with the slopes only if asked; none where they are not found.
    pub fn find(mechanism: &Mechanism, q: &[f64], v: &[f64], dt: f64, with_slopes: bool) -> Self {
        let (mut workspace, mut rule) = (Workspace::new(mechanism), MidpointRule::default());
        mechanism.update_kinematics(q, v, &mut workspace);
        rule.start(mechanism, &mut workspace, v);
        let count = rule.run(mechanism, q, dt).unwrap_or(0);
        rule.restart(q);
        let part = dt / count as f64;
        let mut velocity = || {
            rule.find_middle(mechanism, part);
            let slope = with_slopes.then(|| rule.inverse_slope(mechanism, part));
            let found = (rule.velocity.clone(), slope.unwrap_or_default());
            rule.pass(mechanism, part);
            found
        };
        Self { parts: (0..count).map(|_| velocity()).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multibody::tree::{BodyDescription, JointDescription};
    use crate::spatial::{MassProperties, RigidTransform};
    use nalgebra::Matrix3;

    /// A base on a free joint with an arm on a hinge.
    fn floating() -> Mechanism {
        let inertia = Matrix3::from_diagonal(&Vector3::new(1e-3, 2e-3, 2.9e-3));
        let mass = MassProperties { mass: 0.7, center_of_mass: Vector3::new(0.02, -0.01, 0.03), inertia };
        let body = |name: &str| BodyDescription { name: name.into(), mass: Some(mass) };
        let x_pf = RigidTransform::from_translation([0.1, 0.3, -0.2]);
        let hinge = JointKind::Revolute { axis: Vector3::y() };
        let joints = vec![
            JointDescription::new("floating", JointKind::Free, None, "base", x_pf),
            JointDescription::new("hinge", hinge, Some("base"), "arm", x_pf),
        ];
        Mechanism::new(vec![body("base"), body("arm")], joints).expect("a tree")
    }

    #[test]
    fn what_rests_drifts_or_turns_slowly_takes_one_part() {
        let mechanism = floating();
        let q = mechanism.neutral_state().q;
        let parts = |v: [f64; 7], dt: f64| {
            let (mut rule, mut workspace) = (MidpointRule::default(), Workspace::new(&mechanism));
            mechanism.update_kinematics(&q, &v, &mut workspace);
            rule.start(&mechanism, &mut workspace, &v);
            rule.run(&mechanism, &q, dt)
        };
        for dt in [1e-5, 1e-3, 1.0] {
            assert_eq!(parts([0.0; 7], dt), Some(1));
            assert_eq!(parts([0.0, 0.0, 0.0, 3.1, -0.7, 1.9, 0.0], dt), Some(1), "{dt}");
            // As small as the rounding of the drift, and smaller.
            for least in [1e-12, 1e-16, 1e-30, 1e-160] {
                let v = [least, -0.3 * least, 0.2 * least, 3.1, -0.7, 1.9, 0.5 * least];
                assert_eq!(parts(v, dt), Some(1), "{least} {dt}");
            }
        }
        assert_eq!(parts([3.0, -2.0, 1.0, 0.3, 0.2, 0.1, 4.0], 1e-3), Some(1));
        assert!(parts([300.0, -200.0, 100.0, 0.3, 0.2, 0.1, 400.0], 1e-2).is_some_and(|parts| parts > 1));
    }
}
