//! The classical Runge–Kutta method of order 4, on the manifold of poses.
//!
//! Munthe-Kaas' form of it: the unknown is the tangent that leads from the state at the start of
//! the step to the present one, which lives in a vector space, so the classical method applies.

use nalgebra::Vector3;

use super::StepProblem;
use super::derivative::StepCotangent;
use super::derivative_workspace::{DerivativeWorkspace, Stage};
use super::joint_moves::move_vjp;
use super::step_point::StepPoint;
use crate::multibody::tree::JointState;
use crate::multibody::{
    AppliedForces, BodyAcceleration, ForcePoint, ForceWorkspace, FoundSurfaces, JointAcceleration, Model,
    State, TANGENT_DIMENSION, body_acceleration, body_acceleration_vjp, total_forces,
};
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, rotation_exponential_jacobian};

/// The stages of the method: the part of the step at which each lies, and its weight.
const STAGES: [(f64, f64); 4] = [(0.0, 1.0 / 6.0), (0.5, 1.0 / 3.0), (0.5, 1.0 / 3.0), (1.0, 1.0 / 6.0)];

/// What the stages of a step evaluate besides forces, in memory that the next one reuses.
#[derive(Debug)]
pub(super) struct Memory<T> {
    acceleration: JointAcceleration<T>,
    /// The state at a stage, and the tangent that leads there.
    stage: State<T>,
    tangent: Vec<T>,
    /// The rates of the tangent at the stages.
    rates: [Vec<T>; 4],
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        let (acceleration, stage) = (JointAcceleration::default(), State::default());
        Self { acceleration, stage, tangent: Vec::new(), rates: Default::default() }
    }
}

/// What a step keeps for [`vjp`].
#[derive(Debug, Default)]
pub(super) struct Kept<T = f64> {
    /// The rates that a later stage starts from.
    pub rates: Vec<T>,
    /// Where the contact surfaces at the stages lie.
    pub surfaces: [FoundSurfaces; STAGES.len()],
}

impl<T> Kept<T> {
    /// The memory that it holds besides its own, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.rates) + self.surfaces.iter().map(FoundSurfaces::bytes).sum::<usize>()
    }
}

/// The state after a step; what [`vjp`] takes of it is written into `kept`.
pub(super) fn step<A: AppliedForces, T: Scalar>(
    step: &StepProblem<'_, A, T>,
    workspace: &mut ForceWorkspace<T>,
    memory: &mut Memory<T>,
    mut kept: Option<&mut Kept<T>>,
    after: &mut State<T>,
) {
    let StepProblem { model, state, time, time_step: dt, applied, control } = *step;
    let Memory { acceleration, stage, tangent, rates } = memory;
    tangent.clear();
    tangent.resize(state.tangent_dimension(), T::from(0.0));
    for (index, (part, _)) in STAGES.into_iter().enumerate() {
        let (earlier, later) = rates.split_at_mut(index);
        if let Some(rate) = earlier.last() {
            let h = T::from(part * dt);
            tangent.iter_mut().zip(rate).for_each(|(x, &rate)| *x = rate * h);
        }
        stage.set_moved(state, tangent);
        let time = time + part * dt;
        let (forces, kinematics) = total_forces(model, stage, time, applied, control, workspace);
        let vdot = acceleration.evaluate(model, &stage.joints, forces, kinematics);
        rate_into(model, stage, tangent, forces.bodies.iter(), vdot, &mut later[0]);
        if let Some(kept) = &mut kept {
            kept.surfaces[index].clone_from(&workspace.surfaces);
        }
    }
    let [k1, k2, k3, k4] = &*rates;
    if let Some(kept) = kept {
        kept.rates.clear();
        [k1, k2, k3].iter().for_each(|rate| kept.rates.extend_from_slice(rate));
    }
    let sixth = T::from(dt / 6.0);
    for (i, x) in tangent.iter_mut().enumerate() {
        *x = (k1[i] + (k2[i] + k3[i]) * 2.0 + k4[i]) * sixth;
    }
    after.set_moved(state, tangent);
}

/// Writes into `rate` the rate of the tangent that leads to `state`, under these forces.
fn rate_into<'f, T: Scalar>(
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
/// exponential map's differential, ω − ½ u×ω + ¹⁄₁₂ u×(u×ω). The next term is of the fourth order
/// in u, which a method of order 4 does not see.
fn rotation_vector_rate<T: Scalar>(u: &Vector3<T>, angular_velocity: &Vector3<T>) -> Vector3<T> {
    let first = u.cross(angular_velocity);
    angular_velocity - first * T::from(0.5) + u.cross(&first) * T::from(1.0 / 12.0)
}

/// How many rates [`step`] keeps.
const KEPT_RATES: usize = STAGES.len() - 1;

/// The parts of the step that the stages after the first lie at.
pub(super) const LATER_STAGES: [f64; KEPT_RATES] = [STAGES[1].0, STAGES[2].0, STAGES[3].0];

/// The vector–Jacobian product of a step, from what it kept; otherwise that is evaluated again.
pub(super) fn vjp<A: AppliedForces>(
    at: &StepPoint<'_, A>,
    kept: Option<&Kept>,
    workspace: &mut DerivativeWorkspace,
    out: &mut StepCotangent<'_>,
) {
    let DerivativeWorkspace {
        stages,
        forces: scratch,
        sensitivity,
        joints,
        by_force,
        by_state,
        by_stage,
        tangent,
        ..
    } = workspace;
    stages.resize_with(STAGES.len().max(stages.len()), Stage::default);
    let size = at.before.tangent_dimension();
    tangent.clear();
    tangent.resize(size, 0.0);
    for (i, (part, weight)) in STAGES.into_iter().enumerate() {
        let (done, rest) = stages.split_at_mut(i);
        let stage = &mut rest[0];
        stage.tangent.clear();
        match done.last() {
            None => stage.tangent.resize(size, 0.0),
            Some(last) => stage.tangent.extend(last.rate.iter().map(|r| r * (part * at.dt))),
        }
        let rate = if i == KEPT_RATES { Rate::WithoutForces } else { Rate::of_stage(kept, i, size) };
        evaluate_stage(at, part, stage, rate, scratch);
        tangent.iter_mut().zip(&stage.rate).for_each(|(t, r)| *t += r * (weight * at.dt));
    }
    by_state.clear();
    by_state.resize(size, 0.0);
    by_stage.clear();
    by_stage.extend_from_slice(out.state);
    moved_vjp(at.before, at.after, tangent, by_stage, by_state);
    for (stage, (_, weight)) in stages.iter_mut().zip(STAGES) {
        stage.by_rate.clear();
        stage.by_rate.extend(by_stage.iter().map(|x| x * (weight * at.dt)));
    }
    for (i, (part, _)) in STAGES.into_iter().enumerate().rev() {
        let (earlier, rest) = stages.split_at_mut(i);
        let Stage { tangent, state, by_rate, .. } = &mut rest[0];
        let model = at.model.model();
        let bodies = || model.free_bodies().zip(&state.bodies).map(|((_, _, mass), body)| (mass, body));
        by_force.bodies.clear();
        by_force.bodies.extend(bodies().zip(by_rate.chunks_exact(TANGENT_DIMENSION)).map(
            |((mass, body), by_rate)| {
                // The derivative with respect to the force does not depend on it.
                let none = SpatialForce::zero();
                body_acceleration_vjp(mass, body, &none, &by_acceleration(by_rate)).force
            },
        ));
        let nv = state.joints.v.len();
        joints.force_cotangent(model, &state.joints, &by_rate[size - nv..], by_force);
        by_stage.clear();
        by_stage.resize(size, 0.0);
        let surfaces = kept.map(|kept| &kept.surfaces[i]);
        let point = ForcePoint { surfaces, ..at.forces_at(state, at.time + part * at.dt) };
        let forces = sensitivity.evaluate_vjp(&point, at.applied, by_force, by_stage, out.control, out.model);
        let of_joints = &mut by_stage[size - 2 * nv..];
        joints.add_acceleration_vjp(model, &state.joints, forces, &by_force.joints, of_joints, out.model);
        joint_rates_vjp(
            &state.joints,
            &tangent[size - 2 * nv..],
            &mut by_rate[size - 2 * nv..size - nv],
            of_joints,
        );
        let parts = tangent.chunks_exact(TANGENT_DIMENSION).zip(by_rate.chunks_exact_mut(TANGENT_DIMENSION));
        let parts = parts.zip(by_stage.chunks_exact_mut(TANGENT_DIMENSION));
        for (i, (((mass, body), force), ((tangent, by_rate), sum))) in
            bodies().zip(&forces.bodies).zip(parts).enumerate()
        {
            let by = body_acceleration_vjp(mass, body, force, &by_acceleration(by_rate));
            sum.iter_mut().zip(by.state).for_each(|(sum, x)| *sum += x);
            out.model.add_body(i, &by);
            let angular_velocity = &body.velocity.rotational;
            let (by_vector, by_angular) =
                rotation_vector_rate_vjp(&part_of(tangent, 0), angular_velocity, &part_of(by_rate, 0));
            for axis in 0..3 {
                sum[6 + axis] += by_angular[axis];
                sum[9 + axis] += by_rate[3 + axis];
            }
            // Kept until the rest of the derivative with respect to the rotation vector is known.
            by_rate[..3].copy_from_slice(by_vector.as_slice());
        }
        moved_vjp(at.before, state, tangent, by_stage, by_state);
        let Some(last) = earlier.last_mut() else { continue };
        let of_bodies = (0..at.before.bodies.len()).map(|body| body * TANGENT_DIMENSION);
        for first in of_bodies.chain(at.before.joints.rotations().map(|i| size - 2 * nv + i)) {
            (first..first + 3).for_each(|k| by_stage[k] += by_rate[k]);
        }
        last.by_rate.iter_mut().zip(&*by_stage).for_each(|(r, x)| *r += x * (part * at.dt));
    }
    out.state.copy_from_slice(by_state);
}

/// The derivatives with respect to a body's acceleration, from those with respect to the rate of its
/// tangent.
fn by_acceleration(by_rate: &[f64]) -> BodyAcceleration {
    BodyAcceleration {
        angular: part_of(by_rate, 6),
        of_center_of_mass: Vector3::zeros(),
        of_origin: part_of(by_rate, 9),
    }
}

/// Three of a body's twelve numbers, from the `first` on.
fn part_of(numbers: &[f64], first: usize) -> Vector3<f64> {
    Vector3::from_column_slice(&numbers[first..first + 3])
}

/// Where the rate of a stage's tangent comes from.
enum Rate<'a> {
    /// The step kept it.
    Kept(&'a [f64]),
    /// It is evaluated.
    Evaluated,
    /// Only the rates of rotation and position, which take no forces, are asked for.
    WithoutForces,
}

impl<'a> Rate<'a> {
    /// The rate of stage `i`, `size` numbers.
    fn of_stage(kept: Option<&'a Kept>, i: usize, size: usize) -> Self {
        kept.map_or(Self::Evaluated, |kept| Self::Kept(&kept.rates[i * size..(i + 1) * size]))
    }
}

/// Moves a stage's state to its tangent, and finds the rate of the tangent there.
fn evaluate_stage<A: AppliedForces>(
    at: &StepPoint<'_, A>,
    part: f64,
    stage: &mut Stage,
    from: Rate<'_>,
    scratch: &mut ForceWorkspace,
) {
    let Stage { tangent, state, rate, acceleration, .. } = stage;
    state.set_moved(at.before, tangent);
    let model = at.model.model();
    match from {
        Rate::Kept(kept) => {
            rate.clear();
            rate.extend_from_slice(kept);
        }
        Rate::Evaluated => {
            let time = at.time + part * at.dt;
            let (forces, kinematics) = total_forces(model, state, time, at.applied, at.control, scratch);
            let vdot = acceleration.evaluate(model, &state.joints, forces, kinematics);
            rate_into(model, state, tangent, forces.bodies.iter(), vdot, rate);
        }
        Rate::WithoutForces => {
            let still = vec![0.0; state.joints.v.len()];
            rate_into(model, state, tangent, std::iter::repeat(&SpatialForce::zero()), &still, rate);
        }
    }
}

/// The vector–Jacobian product of [`State::moved`], from `before` along `tangent` to `after`: on entry
/// `by` holds derivatives with respect to the moved state, on return those with respect to the tangent;
/// those with respect to the state before are added to `by_before`.
fn moved_vjp(before: &State, after: &State, tangent: &[f64], by: &mut [f64], by_before: &mut [f64]) {
    let parts = by.chunks_exact_mut(TANGENT_DIMENSION).zip(by_before.chunks_exact_mut(TANGENT_DIMENSION));
    let bodies = before.bodies.iter().zip(&after.bodies).zip(tangent.chunks_exact(TANGENT_DIMENSION));
    for (((before, after), tangent), (by, by_before)) in bodies.zip(parts) {
        // R' = exp(u) R
        let by_rotation = part_of(by, 0);
        let back = before.orientation.to_matrix() * (after.orientation.to_matrix().transpose() * by_rotation);
        let by_vector = rotation_exponential_jacobian(&part_of(tangent, 0)).transpose() * by_rotation;
        by_before.iter_mut().zip(&*by).skip(3).for_each(|(sum, x)| *sum += x);
        for axis in 0..3 {
            by_before[axis] += back[axis];
            by[axis] = by_vector[axis];
        }
    }
    let (first, nv) = (before.body_tangent_dimension(), before.joints.v.len());
    let (by, by_before) = (&mut by[first..], &mut by_before[first..]);
    move_vjp(&before.joints, &tangent[first..first + nv], &mut by[..nv], &mut by_before[..nv]);
    by_before[nv..].iter_mut().zip(&by[nv..]).for_each(|(sum, x)| *sum += x);
}

/// The vector–Jacobian product of the rates of the joints' configurations: adds to `by_stage` the
/// derivatives with respect to their velocities, and leaves in `by_rate` those with respect to rotation
/// vectors.
fn joint_rates_vjp(joints: &JointState, tangent: &[f64], by_rate: &mut [f64], by_stage: &mut [f64]) {
    let by_velocity = &mut by_stage[by_rate.len()..];
    let mut by = by_rate.to_vec();
    for first in joints.rotations() {
        let (u, w) = (part_of(tangent, first), part_of(&joints.v, first));
        let (by_vector, by_angular) = rotation_vector_rate_vjp(&u, &w, &part_of(by_rate, first));
        by[first..first + 3].copy_from_slice(by_angular.as_slice());
        by_rate[first..first + 3].copy_from_slice(by_vector.as_slice());
    }
    by_velocity.iter_mut().zip(by).for_each(|(sum, x)| *sum += x);
}

/// The vector–Jacobian product of [`rotation_vector_rate`]: from the derivatives of one number with
/// respect to the rate to those with respect to the rotation vector and the angular velocity.
fn rotation_vector_rate_vjp(
    u: &Vector3<f64>,
    angular_velocity: &Vector3<f64>,
    by_rate: &Vector3<f64>,
) -> (Vector3<f64>, Vector3<f64>) {
    let w = angular_velocity;
    let turned = by_rate.cross(u);
    let by_vector = w.cross(by_rate) * -0.5 + (u.cross(w).cross(by_rate) + w.cross(&turned)) / 12.0;
    let by_angular_velocity = by_rate - turned * 0.5 + turned.cross(u) / 12.0;
    (by_vector, by_angular_velocity)
}
