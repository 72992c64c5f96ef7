//! The derivative of a velocity-level step by the implicit function theorem, transposed: from the
//! [`BalanceTape`] of the step.

use nalgebra::{Matrix3, Vector3};

use super::VelocityLevel;
use super::free_body::{BODY, six, velocity_of};
use super::settings_of;
use super::tape::BalanceTape;
use crate::contact::ShapeTerms;
use crate::multibody::{
    BodyState, ForceSensitivity, Forces, FreeMotion, JointKinematics, ModelGradient, TANGENT_DIMENSION,
    add_link_motions,
};
use crate::spatial::{SpatialForce, rotation_exponential_jacobian};
use crate::step::StepCotangent;
use crate::step::joint_moves::move_vjp;
use crate::step::step_point::StepPoint;

/// The memory of vector–Jacobian products.
#[derive(Debug, Default)]
pub(in crate::step) struct VjpMemory {
    by_velocity: Vec<f64>,
    /// Derivatives with respect to the deflections of bristles after the step.
    by_bristles: Vec<f64>,
    applied: ForceSensitivity,
    by_force: Forces,
    /// Derivatives with respect to the motions of the moving bodies, with the velocities after the step
    /// and with those before it.
    pub(super) by_motion: [Vec<f64>; 2],
    kinematics: JointKinematics,
    pub(super) shapes: ShapeTerms,
}

/// How the orientation after a step follows the vector that it is turned by, ω δt and the extra
/// turn of the free motion.
pub(super) fn turn_jacobian(after: &BodyState, free: &FreeMotion, dt: f64) -> Matrix3<f64> {
    rotation_exponential_jacobian(&(after.velocity.rotational * dt + free.extra_turn))
}

/// Derivatives with respect to the extra turn and the extra shift of a free motion.
pub(super) fn by_extra_pose(extra_turn: Vector3<f64>, extra_shift: Vector3<f64>) -> FreeMotion {
    let none = Vector3::zeros();
    FreeMotion { angular_velocity: none, extra_turn, extra_shift, swing: none }
}

impl VelocityLevel {
    /// Adds the derivatives of μᵀφ with respect to the state before the step and the model; those
    /// through the user's forces aside.
    pub(super) fn add_balance(
        &self,
        at: &StepPoint<'_>,
        tape: &mut BalanceTape,
        memory: &mut VjpMemory,
        mu: &[f64],
        out: &mut StepCotangent<'_>,
    ) {
        let model = at.model.model();
        let (of_bodies, of_joints) = mu.split_at(BODY * at.before.bodies.len());
        let (of_motion, of_bristles) = out.state.split_at_mut(at.before.motion_tangent_dimension());
        let (state_of_bodies, state_of_joints) = of_motion.split_at_mut(at.before.body_tangent_dimension());
        let BalanceTape { moving, patches, shapes, bodies, joints, kinematics, .. } = tape;
        let VjpMemory { by_force, by_motion, kinematics: scratch, shapes: terms, .. } = memory;
        joints.add(at, of_joints, state_of_joints, out.control, out.model);
        by_force.bodies.clear();
        for (tree, mu) in of_bodies.chunks_exact(BODY).enumerate() {
            let v = velocity_of(mu);
            by_force.bodies.push(SpatialForce::new(v.rotational, v.translational));
            if mu.iter().all(|m| *m == 0.0) {
                continue;
            }
            let state = &mut state_of_bodies[tree * TANGENT_DIMENSION..(tree + 1) * TANGENT_DIMENSION];
            let ModelGradient { gravity, masses, .. } = &mut *out.model;
            bodies[tree].add_vjp(mu, state, gravity, &mut masses[tree]);
        }
        by_force.joints.clear();
        by_force.joints.extend_from_slice(of_joints);
        if !of_joints.is_empty() {
            joints.sensitivity.spread(model, of_joints, &mut by_force.bodies);
        }
        let [kinematics_after, kinematics_before] = kinematics;
        let on_bodies = &by_force.bodies[..];
        for buffer in by_motion.iter_mut() {
            buffer.clear();
            buffer.resize(TANGENT_DIMENSION * on_bodies.len(), 0.0);
        }
        let [by_after, by_before] = by_motion;
        let idle = |body: usize| moving[body].is_none_or(|index| on_bodies[index] == SpatialForce::zero());
        for patch in patches.iter() {
            let bodies = &patch.after.pair.bodies;
            if idle(bodies.a) && idle(bodies.b) {
                continue;
            }
            for (term, buffer) in patch.terms().zip([&mut *by_after, &mut *by_before]) {
                term.add_vjp(moving, on_bodies, buffer, out.model);
            }
            let by_wrench = patch.after.by_wrench(moving, on_bodies);
            if let Some(places) = &patch.places {
                places.add_vjp(&by_wrench, out.model);
            }
            if let Some(bristles) = &patch.bristles {
                bristles.add_impulse_vjp(&by_wrench, of_bristles);
            }
            if let Some(inertia) = &patch.inertia {
                inertia.add_vjp(
                    model,
                    &at.before.joints,
                    &by_wrench,
                    scratch.of(&model.mechanism),
                    (&mut *by_after, &mut *state_of_joints),
                    out.model,
                );
            }
        }
        for buffer in [&*by_after, &*by_before] {
            state_of_bodies.iter_mut().zip(buffer).for_each(|(sum, x)| *sum += x);
        }
        add_link_motions(model, kinematics_before, by_before, state_of_joints);
        // The velocities after the step are unknowns.
        let mut by_unknown = state_of_joints.to_vec();
        add_link_motions(model, kinematics_after, by_after, &mut by_unknown);
        let n = of_joints.len();
        state_of_joints[..n].copy_from_slice(&by_unknown[..n]);
        let settings = settings_of(model, self.model, at.dt);
        shapes.add_vjp(model, &settings, moving, on_bodies, (terms, &mut *out.model));
    }

    /// The part of the derivatives of μᵀφ that is due to the user's forces; after
    /// [`Self::add_balance`].
    fn add_applied(&self, at: &StepPoint<'_>, memory: &mut VjpMemory, out: &mut StepCotangent<'_>) {
        let VjpMemory { applied, by_force, .. } = memory;
        for force in &mut by_force.bodies {
            *force = SpatialForce::new(force.rotational * at.dt, force.translational * at.dt);
        }
        by_force.joints.iter_mut().for_each(|force| *force *= at.dt);
        let point = at.forces_at(at.before, at.time);
        applied.add_applied_vjp(&point, at.applied, by_force, out.state, out.control, out.model);
    }

    /// The vector–Jacobian product of a step.
    pub(in crate::step) fn vjp(
        &self,
        at: &StepPoint<'_>,
        tape: &mut BalanceTape,
        memory: &mut VjpMemory,
        out: &mut StepCotangent<'_>,
    ) {
        self.vjp_of_balance(at, tape, memory, out);
        self.add_applied(at, memory, out);
    }

    /// [`Self::vjp`] but for the derivatives of the user's forces.
    fn vjp_of_balance(
        &self,
        at: &StepPoint<'_>,
        tape: &mut BalanceTape,
        memory: &mut VjpMemory,
        out: &mut StepCotangent<'_>,
    ) {
        let mut mu = std::mem::take(&mut memory.by_velocity);
        mu.clear();
        let mut by_bristles = std::mem::take(&mut memory.by_bristles);
        let (of_motion, of_bristles) = out.state.split_at_mut(at.before.motion_tangent_dimension());
        by_bristles.clear();
        by_bristles.extend_from_slice(of_bristles);
        of_bristles.fill(0.0);
        let (of_bodies, of_joints) = of_motion.split_at_mut(at.before.body_tangent_dimension());
        let states = at.before.bodies.iter().zip(&at.after.bodies).zip(&tape.bodies);
        let of_bodies = of_bodies.chunks_exact_mut(TANGENT_DIMENSION).zip(&mut out.model.masses);
        for (((before, after), body), (by, by_mass)) in states.zip(of_bodies) {
            let part = |i: usize| Vector3::new(by[i], by[i + 1], by[i + 2]);
            let (by_turn, by_position, by_angular, by_linear) = (part(0), part(3), part(6), part(9));
            // R₁ = exp(ω δt + extra turn) R₀, x₁ = x₀ + v δt + extra shift
            let by_vector = turn_jacobian(after, &body.free.value, at.dt).transpose() * by_turn;
            let by_velocity =
                SpatialForce::new(by_angular + by_vector * at.dt, by_linear + by_position * at.dt);
            mu.extend(six(&by_velocity.rotational, &by_velocity.translational));
            let by_turn =
                before.orientation.to_matrix() * (after.orientation.to_matrix().transpose() * by_turn);
            by.fill(0.0);
            for i in 0..3 {
                (by[i], by[3 + i]) = (by_turn[i], by_position[i]);
            }
            let by_free = by_extra_pose(by_vector, by_position);
            body.free.add_vjp(&by_free, by, by_mass);
        }
        // q₁ = q₀ ⊕ (v δt + extra moves)
        let (by_q, by_v) = of_joints.split_at_mut(at.after.joints.v.len());
        let mut by_before = vec![0.0; by_q.len()];
        move_vjp(&at.before.joints, &tape.joint_moves, by_q, &mut by_before);
        mu.extend(by_v.iter().zip(&*by_q).map(|(v, q)| v + q * at.dt));
        let by_moves = by_q.to_vec();
        by_q.copy_from_slice(&by_before);
        by_v.fill(0.0);
        tape.joints.add_extra_moves(at.model.model(), by_moves, of_joints, out.model);
        self.add_bristles(at, tape, memory, &by_bristles, &mut mu, out);
        tape.factors.solve_transposed(&mut mu);
        self.add_balance(at, tape, memory, &mu, out);
        (memory.by_velocity, memory.by_bristles) = (mu, by_bristles);
    }
}
