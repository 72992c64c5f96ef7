//! The vector–Jacobian product of explicit Runge–Kutta steps.

use nalgebra::Vector3;

use super::super::derivative::StepCotangent;
use super::super::derivative_workspace::{DerivativeWorkspace, Stage};
use super::super::joint_moves::move_vjp;
use super::super::step_point::StepPoint;
use super::{ExplicitTape, Tableau, rate_into, rotation_vector_rate};
use crate::multibody::tree::JointState;
use crate::multibody::{
    BodyAcceleration, ForcePoint, ForceWorkspace, FoundSurfaces, State, TANGENT_DIMENSION,
    body_acceleration_vjp, total_forces,
};
use crate::scalar::DualArray;
use crate::spatial::{SpatialForce, rotation_exponential_jacobian};

/// The vector–Jacobian product of a step, from its tape; without one, rates are evaluated again.
pub(in crate::step) fn vjp(
    method: &Tableau,
    at: &StepPoint<'_>,
    tape: Option<&ExplicitTape>,
    workspace: &mut DerivativeWorkspace,
    out: &mut StepCotangent<'_>,
) {
    let DerivativeWorkspace { stages, forces, by_state, by_stage, tangent, .. } = &mut *workspace;
    let count = method.stages();
    stages.resize_with(count.max(stages.len()), Stage::default);
    let size = at.before.tangent_dimension();
    tangent.clear();
    tangent.resize(size, 0.0);
    for (i, weight) in method.weights.iter().enumerate() {
        let (done, rest) = stages.split_at_mut(i);
        let stage = &mut rest[0];
        stage.tangent.clear();
        stage.tangent.resize(size, 0.0);
        for (earlier, start) in done.iter().zip(method.starts[i]).filter(|(_, start)| **start != 0.0) {
            stage.tangent.iter_mut().zip(&earlier.rate).for_each(|(x, r)| *x += r * (start * at.dt));
        }
        let rate = match (i + 1 == count, tape) {
            (true, _) => Rate::WithoutForces,
            (false, Some(tape)) => Rate::Recorded(&tape.rates[i * size..(i + 1) * size]),
            (false, None) => Rate::Evaluated,
        };
        evaluate_stage(at, method.part(i), stage, rate, forces);
        tangent.iter_mut().zip(&stage.rate).for_each(|(t, r)| *t += r * (weight * at.dt));
    }
    by_state.clear();
    by_state.resize(size, 0.0);
    by_stage.clear();
    by_stage.extend_from_slice(out.state);
    moved_vjp(at.before, at.after, tangent, by_stage, by_state);
    for (stage, weight) in stages.iter_mut().zip(method.weights) {
        stage.by_rate.clear();
        stage.by_rate.extend(by_stage.iter().map(|x| x * (weight * at.dt)));
    }
    for (i, starts) in method.starts.iter().enumerate().rev() {
        let mut stages = std::mem::take(&mut workspace.stages);
        let (earlier, rest) = stages.split_at_mut(i);
        let stage = &mut rest[0];
        // The last stage of a pair only serves the estimate of the error.
        if stage.by_rate.iter().any(|x| *x != 0.0) {
            let surfaces = tape.map(|tape| &tape.surfaces[i]);
            stage_vjp(at, method.part(i), stage, surfaces, workspace, out);
            for (earlier, start) in earlier.iter_mut().zip(*starts).filter(|(_, start)| **start != 0.0) {
                let by_stage = &workspace.by_stage;
                earlier.by_rate.iter_mut().zip(by_stage).for_each(|(r, x)| *r += x * (start * at.dt));
            }
        }
        workspace.stages = stages;
    }
    out.state.copy_from_slice(&workspace.by_state);
}

/// The vector–Jacobian product of the rate at a stage, which lies at a part of the step: from the derivatives
/// with respect to the rate, which are used up, to those with respect to the tangent that leads to the stage, in
/// `by_stage`. Those with respect to the state before the step are added to `by_state`, those with respect to
/// controls and model to `out`.
pub(in crate::step) fn stage_vjp(
    at: &StepPoint<'_>,
    part: f64,
    stage: &mut Stage,
    surfaces: Option<&FoundSurfaces>,
    workspace: &mut DerivativeWorkspace,
    out: &mut StepCotangent<'_>,
) {
    let DerivativeWorkspace { sensitivity, joints, by_force, by_state, by_stage, .. } = workspace;
    let Stage { tangent, state, by_rate, .. } = stage;
    let (size, nv) = (by_rate.len(), state.joints.v.len());
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
    joints.force_cotangent(model, &state.joints, &by_rate[size - nv..], by_force);
    by_stage.clear();
    by_stage.resize(size, 0.0);
    let point = ForcePoint {
        surfaces,
        step: Some((at.before, at.time_step)),
        ..at.forces_at(state, at.time + part * at.time_step)
    };
    let forces = sensitivity.evaluate_vjp(&point, at.applied, by_force, by_stage, out.control, out.model);
    let of_joints = &mut by_stage[size - 2 * nv..];
    joints.add_acceleration_vjp(model, &state.joints, forces, &by_force.joints, of_joints, out.model);
    let commands = at.split_control().0;
    model.add_computed_torque_vjp(
        &state.joints,
        commands,
        &by_rate[size - nv..],
        of_joints,
        out.control,
        out.model,
    );
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
    let of_bodies = (0..at.before.bodies.len()).map(|body| body * TANGENT_DIMENSION);
    for first in of_bodies.chain(at.before.joints.rotations().map(|i| size - 2 * nv + i)) {
        (first..first + 3).for_each(|k| by_stage[k] += by_rate[k]);
    }
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
    /// It is in the tape.
    Recorded(&'a [f64]),
    Evaluated,
    /// Only the rates of rotation and position, which take no forces, are asked for.
    WithoutForces,
}

/// Moves a stage's state to its tangent, and finds the rate of the tangent there.
fn evaluate_stage(
    at: &StepPoint<'_>,
    part: f64,
    stage: &mut Stage,
    from: Rate<'_>,
    scratch: &mut ForceWorkspace,
) {
    let Stage { tangent, state, rate, acceleration, .. } = stage;
    match part {
        // As the step has it: without the rounding of a move by nothing.
        0.0 => state.clone_from(at.before),
        _ => state.set_moved(at.before, tangent),
    }
    let model = at.model.model();
    match from {
        Rate::Recorded(recorded) => {
            rate.clear();
            rate.extend_from_slice(recorded);
        }
        Rate::Evaluated => {
            let time = at.time + part * at.time_step;
            let (forces, kinematics) = total_forces(model, state, time, at.applied, at.control, scratch);
            let commands = at.split_control().0;
            let vdot = acceleration.evaluate(model, &state.joints, forces, commands, kinematics);
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
pub(in crate::step) fn moved_vjp(
    before: &State,
    after: &State,
    tangent: &[f64],
    by: &mut [f64],
    by_before: &mut [f64],
) {
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
    let seeded =
        |v: &Vector3<f64>, first: usize| Vector3::from_fn(|i, _| DualArray::<6>::variable(v[i], first + i));
    let rate = rotation_vector_rate(&seeded(u, 0), &seeded(angular_velocity, 3));
    let along = |k: usize| rate.iter().zip(by_rate).map(|(rate, by)| rate.eps[k] * by).sum::<f64>();
    (Vector3::from_fn(|i, _| along(i)), Vector3::from_fn(|i, _| along(3 + i)))
}
