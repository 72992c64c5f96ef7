//! Explicit Runge–Kutta methods on the manifold of poses.
//!
//! Munthe-Kaas' form of them: the unknown is the tangent that leads from the state at the start of
//! the step to the present one, which lives in a vector space, so the methods apply as they are.

mod tableau;
mod vjp;

pub(super) use tableau::{BOGACKI_SHAMPINE, CLASSICAL, DORMAND_PRINCE, Tableau};
pub(super) use vjp::{moved_vjp, stage_vjp, vjp};

use nalgebra::Vector3;

use self::tableau::MOST_STAGES;
use super::StepProblem;
use crate::multibody::{
    ForceWorkspace, FoundSurfaces, JointAcceleration, Model, State, TANGENT_DIMENSION, body_acceleration,
    total_forces,
};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// What the stages of a step evaluate besides forces, in memory that the next one reuses.
#[derive(Debug)]
pub(super) struct Memory<T> {
    acceleration: JointAcceleration<T>,
    /// The state at a stage, and the tangent that leads there.
    stage: State<T>,
    tangent: Vec<T>,
    /// The rates of the tangent at the stages.
    rates: [Vec<T>; MOST_STAGES],
    /// Whether the rate at the first stage of the next step is there already.
    first_is_known: bool,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        let (acceleration, stage) = (JointAcceleration::default(), State::default());
        let (tangent, rates) = (Vec::new(), Default::default());
        Self { acceleration, stage, tangent, rates, first_is_known: false }
    }
}

impl<T: Scalar> Memory<T> {
    /// The next step starts from the same state and under the same forces as the last one, as after a
    /// rejection: its first stage is not evaluated again.
    pub fn start_again(&mut self) {
        self.first_is_known = true;
    }

    /// Nothing is known of the state that the next step starts from.
    pub fn forget(&mut self) {
        self.first_is_known = false;
    }

    /// The next step of a `method` whose last stage is the state after the step starts from there, under the
    /// same forces: its first stage is not evaluated again.
    pub fn go_on(&mut self, method: &Tableau, after: &State<T>) {
        let (first, later) = self.rates.split_at_mut(1);
        let (Some(first), Some(last)) = (first.first_mut(), later.get(method.stages() - 2)) else { return };
        first.clear();
        let of_bodies = last.chunks_exact(TANGENT_DIMENSION);
        for (body, rate) in after.bodies.iter().zip(of_bodies) {
            first.extend(body.velocity.rotational.iter().chain(&body.velocity.translational).copied());
            first.extend_from_slice(&rate[6..]);
        }
        let nv = after.joints.v.len();
        first.extend_from_slice(&after.joints.v);
        first.extend_from_slice(&last[last.len() - nv..]);
        self.first_is_known = true;
    }

    /// Writes into `out` the state that the embedded method of the last step comes to.
    pub fn embedded_into(&mut self, method: &Tableau, before: &State<T>, dt: T, out: &mut State<T>) {
        let Some(weights) = method.embedded else { return };
        weighted_sum(&self.rates, weights, dt, &mut self.tangent);
        out.set_moved(before, &self.tangent);
    }
}

/// What a step keeps for [`vjp`].
#[derive(Debug, Default)]
pub(super) struct ExplicitTape<T = f64> {
    /// The rates that a later stage starts from.
    pub rates: Vec<T>,
    /// Where the contact surfaces at the stages lie.
    pub surfaces: [FoundSurfaces; MOST_STAGES],
}

impl<T> ExplicitTape<T> {
    /// The memory that it holds besides its own, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.rates) + self.surfaces.iter().map(FoundSurfaces::bytes).sum::<usize>()
    }
}

/// The state after a step; what [`vjp`] takes of it is written into `tape`.
pub(super) fn step<T: Scalar>(
    method: &Tableau,
    step: &StepProblem<'_, T>,
    workspace: &mut ForceWorkspace<T>,
    memory: &mut Memory<T>,
    mut tape: Option<&mut ExplicitTape<T>>,
    after: &mut State<T>,
) {
    let (StepProblem { model, state, time, applied, control, .. }, dt) = (*step, step.length());
    let Memory { acceleration, stage, tangent, rates, first_is_known } = memory;
    tangent.clear();
    tangent.resize(state.tangent_dimension(), T::from(0.0));
    for (index, start) in method.starts.iter().enumerate() {
        if index == 0 && std::mem::take(first_is_known) && tape.is_none() {
            continue;
        }
        if index == 0 {
            // Without the rounding of a move by nothing: the same whether it is known or not.
            stage.clone_from(state);
        } else {
            weighted_sum(rates, start, dt, tangent);
            stage.set_moved(state, tangent);
        }
        let time = time + method.part(index) * step.time_step;
        let (forces, kinematics) = total_forces(model, stage, time, applied, control, workspace);
        let commands = &control[..model.command_dimension()];
        let vdot = acceleration.evaluate(model, &stage.joints, forces, commands, kinematics);
        rate_into(model, stage, tangent, forces.bodies.iter(), vdot, &mut rates[index]);
        if let Some(tape) = &mut tape {
            tape.surfaces[index].clone_from(&workspace.surfaces);
        }
    }
    if let Some(tape) = tape {
        tape.rates.clear();
        rates[..method.stages() - 1].iter().for_each(|rate| tape.rates.extend_from_slice(rate));
    }
    weighted_sum(rates, method.weights, dt, tangent);
    after.set_moved(state, tangent);
}

/// Writes into `sum` the sum of rates with their weights over a time in s; those with the weight 0 are not
/// looked at.
fn weighted_sum<T: Scalar>(rates: &[Vec<T>], weights: &[f64], dt: T, sum: &mut [T]) {
    sum.fill(T::from(0.0));
    for (rate, &weight) in rates.iter().zip(weights).filter(|(_, weight)| **weight != 0.0) {
        let h = dt * weight;
        sum.iter_mut().zip(rate).for_each(|(x, &rate)| *x += rate * h);
    }
}

/// Writes into `rate` the rate of the tangent that leads to `state`, under these forces.
pub(super) fn rate_into<'f, T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    tangent: &[T],
    forces: impl Iterator<Item = &'f SpatialForce<T>>,
    acceleration_of_joints: &[T],
    rate: &mut Vec<T>,
) {
    rate.clear();
    let bodies = model.free_bodies().zip(&state.bodies).zip(forces);
    for ((((_, _, mass), body), force), part) in bodies.zip(tangent.chunks_exact(TANGENT_DIMENSION)) {
        let acceleration = body_acceleration(mass, &model.gravity, body, force);
        let rotation = Vector3::new(part[0], part[1], part[2]);
        for v in [
            rotation_vector_rate(&rotation, &body.velocity.rotational),
            body.velocity.translational,
            acceleration.angular,
            acceleration.of_origin,
        ] {
            rate.extend(v.iter().copied());
        }
    }
    let (first, v) = (rate.len(), &state.joints.v);
    rate.extend_from_slice(v);
    for i in state.joints.rotations() {
        let three = |x: &[T]| Vector3::new(x[i], x[i + 1], x[i + 2]);
        let turning = rotation_vector_rate(&three(&tangent[first..]), &three(v));
        rate[first + i..first + i + 3].copy_from_slice(turning.as_slice());
    }
    rate.extend_from_slice(acceleration_of_joints);
}

/// The rate u̇ of a rotation vector u at angular velocity ω (outer frame): the inverse of the
/// exponential map's differential, ω − ½ u×ω + c u×(u×ω) with c = ¹⁄₁₂ + |u|²/720 + |u|⁴/30240. The first term
/// that this leaves out is of the eighth order in u, which no method here sees.
fn rotation_vector_rate<T: Scalar>(u: &Vector3<T>, angular_velocity: &Vector3<T>) -> Vector3<T> {
    let first = u.cross(angular_velocity);
    let square = u.dot(u);
    let c = (square * (1.0 / 30240.0) + 1.0 / 720.0) * square + 1.0 / 12.0;
    angular_velocity - first * T::from(0.5) + u.cross(&first) * c
}
