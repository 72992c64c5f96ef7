//! The semi-implicit Euler method.

use nalgebra::Vector3;

use super::StepProblem;
use super::derivative::StepCotangent;
use super::derivative_workspace::DerivativeWorkspace;
use super::joint_motion::JointMotion;
use super::joint_moves::move_vjp;
use super::step_point::StepPoint;
use crate::multibody::tree::{InertialMotion, InertialSensitivity};
use crate::multibody::{
    BodyAcceleration, BodyCotangent, BodyState, ForcePoint, ForceWorkspace, FoundSurfaces, FreeMotion,
    FreeMotionSensitivity, JointAcceleration, MassProperties, State, TANGENT_DIMENSION, add_link_mass,
    body_acceleration, body_acceleration_vjp, total_forces,
};
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity, rotation_exponential_jacobian};

/// What a step evaluates besides forces, in memory that the next one reuses.
#[derive(Debug)]
pub(super) struct Memory<T> {
    acceleration: JointAcceleration<T>,
    free_motion: JointMotion<T>,
    moves: Vec<T>,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        let (acceleration, free_motion) = (JointAcceleration::default(), JointMotion::default());
        Self { acceleration, free_motion, moves: Vec::new() }
    }
}

/// The state after a step: forces at the present state change the velocity, the new velocity
/// changes the pose, the orientation by the exponential map.
pub(super) fn step<T: Scalar>(
    step: &StepProblem<'_, T>,
    workspace: &mut ForceWorkspace<T>,
    memory: &mut Memory<T>,
    after: &mut State<T>,
) {
    let StepProblem { model, state, time, applied, control, .. } = *step;
    let dt = step.length();
    let (forces, kinematics) = total_forces(model, state, time, applied, control, workspace);
    let commands = &control[..model.command_dimension()];
    let bodies = model.free_bodies().zip(&state.bodies).zip(&forces.bodies);
    let bodies = bodies.map(|(((_, _, mass), body), f)| step_body(mass, &model.gravity, body, f, dt));
    after.bodies.clear();
    after.bodies.extend(bodies);
    let change = memory.acceleration.evaluate(model, &state.joints, forces, commands, kinematics);
    let free = memory.free_motion.of(model, state, dt);
    let moves = &mut memory.moves;
    change.iter_mut().for_each(|a| *a *= dt);
    change.iter_mut().zip(&free.velocity_change).for_each(|(sum, c)| *sum += *c);
    moves.clear();
    moves.extend(state.joints.v.iter().zip(&*change).map(|(&v, &c)| (v + c) * dt));
    moves.iter_mut().zip(&free.extra_moves).for_each(|(x, extra)| *x += *extra);
    after.joints.set_moved(&state.joints, moves, change);
}

/// The step of one body: its free motion, to which forces add. It is taken by the centre of mass, so
/// that momentum is kept to rounding wherever the body's origin is.
fn step_body<T: Scalar>(
    mass: &MassProperties<T>,
    gravity: &Vector3<T>,
    body: &BodyState<T>,
    force: &SpatialForce<T>,
    dt: T,
) -> BodyState<T> {
    let rotation = body.orientation.to_matrix();
    let free = FreeMotion::new(mass, &rotation, &body.velocity.rotational, dt);
    let acceleration = body_acceleration(mass, gravity, &not_turning(body), force);
    let offset = rotation * mass.center_of_mass;
    let center_velocity = body.velocity.shifted(&offset).translational + acceleration.of_center_of_mass * dt;
    let angular_velocity = free.angular_velocity + acceleration.angular * dt;
    let center = body.position + offset + center_velocity * dt;
    let orientation = body.orientation.rotated_by(&(angular_velocity * dt + free.extra_turn));
    let new_offset = orientation.to_matrix() * mass.center_of_mass;
    BodyState {
        orientation,
        position: center - new_offset,
        velocity: SpatialVelocity::new(
            angular_velocity,
            center_velocity - angular_velocity.cross(&new_offset),
        ),
    }
}

/// The body without its angular velocity: what forces alone accelerate, the gyroscopic moment being
/// part of the free motion.
fn not_turning<T: Scalar>(body: &BodyState<T>) -> BodyState<T> {
    let velocity = SpatialVelocity::new(Vector3::from_element(T::from(0.0)), body.velocity.translational);
    BodyState { velocity, ..*body }
}

/// The vector–Jacobian product of a step. `surfaces` is where its contact surfaces lie, if it was
/// taken with its tape.
pub(super) fn vjp(
    at: &StepPoint<'_>,
    surfaces: Option<&FoundSurfaces>,
    workspace: &mut DerivativeWorkspace,
    out: &mut StepCotangent<'_>,
) {
    let DerivativeWorkspace { sensitivity, joints, by_force, by_state, by_rate, free_motion, .. } = workspace;
    let model = at.model.model();
    let bodies = || {
        let states = at.before.bodies.iter().zip(&at.after.bodies);
        model.free_bodies().zip(states).map(|((_, _, mass), (before, after))| (mass, before, after))
    };
    by_force.bodies.clear();
    let (of_bodies, of_joints) = out.state.split_at_mut(at.before.body_tangent_dimension());
    let parts = of_bodies.chunks_exact(TANGENT_DIMENSION);
    by_force.bodies.extend(bodies().zip(parts).map(|((mass, before, after), by_after)| {
        // The derivative with respect to the force does not depend on it.
        step_body_vjp(mass, (before, after), &SpatialForce::zero(), at.dt, false, by_after).force
    }));
    by_state.clear();
    by_state.resize(at.before.tangent_dimension(), 0.0);
    let sum_of_joints = &mut by_state[of_bodies.len()..];
    // q' = q ⊕ (v' dt + extra moves), v' = v + a dt + change without forces
    let nv = at.before.joints.v.len();
    let (by_q, by_v) = of_joints.split_at_mut(nv);
    let mut moves: Vec<f64> = at.after.joints.v.iter().map(|v| v * at.dt).collect();
    let free = free_motion.of(model, at.before, at.dt);
    moves.iter_mut().zip(&free.extra_moves).for_each(|(x, extra)| *x += extra);
    move_vjp(&at.before.joints, &moves, by_q, &mut sum_of_joints[..nv]);
    by_v.iter_mut().zip(&*by_q).for_each(|(v, q)| *v += q * at.dt);
    sum_of_joints[nv..].copy_from_slice(by_v);
    let (mechanism, of_masses) = (at.model.constant_joints(), at.model.asks_for_link_masses());
    if let Some(inertial) =
        InertialSensitivity::new(&model.mechanism, mechanism, &at.before.joints, at.dt, of_masses)
    {
        let (velocity_change, extra_moves) = (by_v.to_vec(), by_q.to_vec());
        let by = InertialMotion { velocity_change, extra_moves, ..InertialMotion::default() };
        inertial.add_vjp(&by, sum_of_joints, |link, mass| add_link_mass(model, out.model, link, mass));
    }
    by_rate.clear();
    by_rate.extend(by_v.iter().map(|v| v * at.dt));
    joints.force_cotangent(model, &at.before.joints, by_rate, by_force);
    let point = ForcePoint { surfaces, ..at.forces_at(at.before, at.time) };
    let forces = sensitivity.evaluate_vjp(&point, at.applied, by_force, by_state, out.control, out.model);
    let (sum_of_bodies, sum_of_joints) = by_state.split_at_mut(of_bodies.len());
    joints.add_acceleration_vjp(model, &at.before.joints, forces, &by_force.joints, sum_of_joints, out.model);
    let commands = at.split_control().0;
    model.add_computed_torque_vjp(
        &at.before.joints,
        commands,
        by_rate,
        sum_of_joints,
        out.control,
        out.model,
    );
    let parts =
        of_bodies.chunks_exact(TANGENT_DIMENSION).zip(sum_of_bodies.chunks_exact_mut(TANGENT_DIMENSION));
    for (i, (((mass, before, after), force), (by_after, sum))) in
        bodies().zip(&forces.bodies).zip(parts).enumerate()
    {
        let of_mass = at.model.asks_for_free_masses();
        let by = step_body_vjp(mass, (before, after), force, at.dt, of_mass, by_after);
        sum.iter_mut().zip(by.state).for_each(|(sum, x)| *sum += x);
        out.model.add_body(i, &by);
    }
    out.state.copy_from_slice(by_state);
}

/// The vector–Jacobian product of [`step_body`], from the derivatives `by_after` of one number with
/// respect to the state after the step; what the free motion adds to those with respect to the mass only
/// if asked.
fn step_body_vjp(
    mass: &MassProperties,
    (before, after): (&BodyState, &BodyState),
    force: &SpatialForce,
    dt: f64,
    of_mass: bool,
    by_after: &[f64],
) -> BodyCotangent {
    let part = |i: usize| Vector3::from_column_slice(&by_after[i..i + 3]);
    let (by_rotation, by_position, by_angular, by_velocity) = (part(0), part(3), part(6), part(9));
    let rotation = before.orientation.to_matrix();
    let new_rotation = after.orientation.to_matrix();
    let offset = rotation * mass.center_of_mass;
    let new_offset = new_rotation * mass.center_of_mass;
    let w = before.velocity.rotational;
    let new_w = after.velocity.rotational;
    // x' = x_c' − o', v' = v_c' − ω'×o', o' = R'c
    let by_new_offset = new_w.cross(&by_velocity) - by_position;
    let by_new_rotation = by_rotation + new_offset.cross(&by_new_offset);
    // R' = exp(ω' dt + extra turn) R
    let free = FreeMotionSensitivity::new(mass, &rotation, &w, dt, of_mass);
    let turn = rotation_exponential_jacobian(&(new_w * dt + free.value.extra_turn));
    let by_extra_turn = turn.transpose() * by_new_rotation;
    let by_new_w = by_angular - new_offset.cross(&by_velocity) + by_extra_turn * dt;
    // x_c' = x + o + v_c' dt, v_c' = v + ω×o + a_c dt, ω' = ω* + α dt
    let by_center_velocity = by_velocity + by_position * dt;
    let by_acceleration = BodyAcceleration {
        angular: by_new_w * dt,
        of_center_of_mass: by_center_velocity * dt,
        of_origin: Vector3::zeros(),
    };
    let mut by = body_acceleration_vjp(mass, &not_turning(before), force, &by_acceleration);
    // The angular velocity acts through the free motion.
    by.state[6..9].fill(0.0);
    let none = Vector3::zeros();
    let by_free =
        FreeMotion { angular_velocity: by_new_w, extra_turn: by_extra_turn, extra_shift: none, swing: none };
    free.add_vjp(&by_free, &mut by.state, &mut by.mass);
    let by_offset = by_position + by_center_velocity.cross(&w);
    let by_old_rotation = rotation * (new_rotation.transpose() * by_new_rotation) + offset.cross(&by_offset);
    let by_old_w = offset.cross(&by_center_velocity);
    for axis in 0..3 {
        by.state[axis] += by_old_rotation[axis];
        by.state[3 + axis] += by_position[axis];
        by.state[6 + axis] += by_old_w[axis];
        by.state[9 + axis] += by_center_velocity[axis];
    }
    by.mass.center_of_mass += rotation.transpose() * by_offset + new_rotation.transpose() * by_new_offset;
    by
}
