//! The derivative of a velocity-level step by the implicit function theorem.
//!
//! The velocities after the step solve φ(v; x, u, θ) = p − A v + Jᵀγ(v) = 0, so that
//! dv = K⁻¹ ∂φ with K = −∂φ/∂v, which Newton's method factorizes. The contacts are found again at
//! the state before the step; the velocities are known.

use nalgebra::{Matrix3, Vector3};

use super::body_sensitivity::BodySensitivity;
use super::free_body::{BODY, six, velocity_of};
use super::inertia_sensitivity::{InertiaPart, InertiaSensitivity};
use super::inverse_inertia::{JointDirections, LinkInertia, has_link};
use super::joint_derivative::JointDerivatives;

use super::{VelocityLevel, Workspace, patch_impulse};
use crate::contact::{ContactJacobian, ContactPair, DiscreteSettings, world_impulse_jacobian};
use crate::linear_algebra::Values;
use crate::multibody::tree::JointState;
use crate::multibody::{
    AppliedForces, BodyFrame, BodyState, ContactSensitivity, ForceSensitivity, Forces, FreeMotion,
    JointKinematics, ModelGradient, Motion, SEEDS, SeededModel, TANGENT_DIMENSION, add_link_motions,
    lift_frame, set_link_velocities, size_has_derivatives, with_pair,
};
use crate::scalar::DualArray;
use crate::spatial::{SpatialForce, rotation_exponential_jacobian};
use crate::step::joint_moves::move_transposed;
use crate::step::{StepCotangent, StepError, StepPoint};

/// How the impulse of one patch follows everything but the velocities after the step.
#[derive(Debug)]
struct PatchSensitivity {
    /// By poses, materials, and for Lagged by the velocities before the step.
    terms: Vec<ContactSensitivity>,
    /// For SAP: for each row of the impulse on A's geometry, about its origin, the derivatives by
    /// Λ, and the inverse inertia's own.
    inertia: Option<InertiaSensitivity>,
}

/// The memory of derivatives.
#[derive(Debug, Default)]
pub(crate) struct DerivativeMemory {
    pub(super) workspace: Workspace,
    pub(super) parts: BalanceDerivatives,
    by_velocity: Vec<f64>,
}

/// The derivatives of φ by all but the velocities after the step.
#[derive(Debug, Default)]
pub(super) struct BalanceDerivatives {
    after: Vec<BodyFrame>,
    patches: Vec<PatchSensitivity>,
    /// Each body's part of φ without contact and applied forces.
    pub(super) bodies: Vec<BodySensitivity>,
    pub(super) joints: JointDerivatives,
    applied: ForceSensitivity,
    by_force: Forces,
    /// Derivatives by the motions of the moving bodies, with the velocities after the step and
    /// with those before it.
    by_motion: [Vec<f64>; 2],
    /// The joints with the velocities after the step and with those before it, and memory.
    pub(super) kinematics: [JointKinematics; 3],
}

/// How the orientation after a step follows the vector that it is turned by, ω δt and the extra
/// turn of the free motion.
pub(super) fn turn_jacobian(after: &BodyState, free: &FreeMotion, dt: f64) -> Matrix3<f64> {
    rotation_exponential_jacobian(&(after.velocity.rotational * dt + free.extra_turn))
}

/// Derivatives by the extra turn and the extra shift of a free motion.
pub(super) fn by_extra_pose(extra_turn: Vector3<f64>, extra_shift: Vector3<f64>) -> FreeMotion {
    let none = Vector3::zeros();
    FreeMotion { angular_velocity: none, extra_turn, extra_shift, swing: none }
}

impl VelocityLevel {
    /// Finds the contacts at the state before the step again, and factorizes K at the velocities
    /// after it.
    pub(super) fn find_again<A>(
        &self,
        at: &StepPoint<'_, A>,
        workspace: &mut Workspace,
    ) -> Result<(), StepError> {
        let model = at.model.model();
        workspace.problem.contacts.keep_polygons = true;
        // The applied forces do not change K.
        workspace.forces.reset(model);
        workspace.commands.clear();
        workspace.commands.extend_from_slice(at.split_control().0);
        workspace.assemble(model, at.before, self.model, at.dt);
        let Workspace { problem, newton, .. } = workspace;
        newton.set_velocity(at.after);
        let kind = if self.model.is_convex() { Values::PositiveDefinite } else { Values::General };
        newton.factorize_at(problem, kind).map_err(|()| StepError::NotFinite { bodies: Vec::new() })
    }

    /// Differentiates φ by all but the velocities after the step, which the workspace holds with
    /// the contacts.
    pub(super) fn differentiate<A: AppliedForces>(
        &self,
        at: &StepPoint<'_, A>,
        workspace: &Workspace,
        parts: &mut BalanceDerivatives,
    ) {
        let model = at.model.model();
        let Workspace { problem, newton, frames, moving, .. } = workspace;
        let BalanceDerivatives { after, patches, bodies, joints, by_force, kinematics, .. } = parts;
        after.clear();
        after.extend_from_slice(frames);
        bodies.clear();
        let of_masses = at.model.asks_for_free_masses();
        let states = model.free_bodies().zip(&at.before.bodies).zip(&at.after.bodies);
        joints.velocity.clear();
        joints.velocity.extend_from_slice(&at.after.joints.v);
        let [kinematics_after, kinematics_before, _] = kinematics;
        let JointState { q, v, .. } = &at.before.joints;
        set_link_velocities(model, kinematics_after, q, &joints.velocity, after);
        kinematics_before.update(&model.mechanism, q, v);
        for (((index, _, mass), before), state) in states {
            after[index].velocity = state.velocity;
            let (after, gravity, dt) = (&state.velocity, &model.gravity, at.dt);
            bodies.push(BodySensitivity::new(mass, before, after, gravity, dt, of_masses));
        }

        let settings = DiscreteSettings { contact: &model.contact, model: self.model, dt: at.dt };
        let mut directions = None;
        patches.clear();
        for (patch, impulse) in problem.patches.iter().zip(&newton.by_patch) {
            let impulse = &patch.contacts.about_f(impulse);
            let pair = &model.pairs[patch.pair];
            let found = with_pair(model, frames, pair, |query: &ContactPair| {
                with_pair(model, after, pair, |query_after: &ContactPair| {
                    let (contacts, found) = (&patch.contacts, &problem.contacts);
                    world_impulse_jacobian(query, query_after, &settings, contacts, found, impulse)
                })
            });
            let Some(found) = found else { continue };
            let sensitivity = |frames: &[BodyFrame], wrench: &SpatialForce, jacobian: &ContactJacobian| {
                ContactSensitivity::new(model, frames, pair, wrench, jacobian)
            };
            // The velocities after the step are unknowns, not inputs.
            let mut by_poses = sensitivity(after, &found.impulse_on_a, &found.after);
            // Those of links follow their configuration, though.
            let sides =
                [(pair.bodies.a, &mut by_poses.by_state_a), (pair.bodies.b, &mut by_poses.by_state_b)];
            for (body, by_state) in sides {
                if !matches!(model.bodies[body].motion, Motion::Link { .. }) {
                    by_state.fixed_columns_mut::<6>(6).fill(0.0);
                }
            }
            let mut terms = vec![by_poses];
            terms.extend(found.before.iter().map(|j| sensitivity(frames, &SpatialForce::zero(), j)));
            let inertia = found.by_inverse_inertia.map(|by_lambda| {
                let bodies = [pair.bodies.a, pair.bodies.b];
                let f = if patch.contacts.a_is_o { 1 } else { 0 };
                let geometry_a = &model.bodies[bodies[0]].geometries[pair.geometry_a];
                let origin = frames[bodies[0]].pose * geometry_a.x_bg.translation;
                let x_wf = patch.contacts.x_wf;
                InertiaSensitivity {
                    by_lambda,
                    levers: bodies.map(|b| origin - frames[b].pose.translation),
                    trees: bodies.map(|b| moving[b]),
                    parts: bodies.map(|b| {
                        let (mass, tree) = (model.bodies[b].mass()?, moving[b]?);
                        Some(InertiaPart::new(tree, mass, &at.before.bodies[tree], &x_wf))
                    }),
                    links: has_link(model, pair).then(|| {
                        let (mechanism, joints) = (at.model.constant_joints(), &at.before.joints);
                        let new = || JointDirections::new(mechanism, joints, at.dt);
                        LinkInertia::new(model, pair, directions.get_or_insert_with(new), &x_wf)
                    }),
                    x_wf,
                    tree_f: moving[bodies[f]],
                    offset_f: x_wf.translation - frames[bodies[f]].pose.translation,
                }
            });
            patches.push(PatchSensitivity { terms, inertia });
        }
        let terms = patches.iter().filter_map(|patch| patch.terms.first());
        joints.evaluate(at, moving, terms, by_force);
    }

    /// Adds the derivatives of μᵀφ by the state before the step and by the model; those through
    /// the user's forces aside.
    pub(super) fn add_balance<A: AppliedForces>(
        &self,
        at: &StepPoint<'_, A>,
        workspace: &Workspace,
        parts: &mut BalanceDerivatives,
        mu: &[f64],
        out: &mut StepCotangent<'_>,
    ) {
        let model = at.model.model();
        let (of_bodies, of_joints) = mu.split_at(BODY * at.before.bodies.len());
        let (state_of_bodies, state_of_joints) = out.state.split_at_mut(at.before.body_tangent_dimension());
        parts.joints.add(at, of_joints, state_of_joints, out.control, out.model);
        let BalanceDerivatives { after, patches, bodies, joints, by_force, by_motion, kinematics, .. } =
            parts;
        by_force.bodies.clear();
        for (tree, mu) in of_bodies.chunks_exact(BODY).enumerate() {
            let v = velocity_of(mu);
            by_force.bodies.push(SpatialForce::new(v.rotational, v.translational));
            if mu.iter().all(|m| *m == 0.0) {
                continue;
            }
            let state = &mut state_of_bodies[tree * TANGENT_DIMENSION..(tree + 1) * TANGENT_DIMENSION];
            let ModelGradient { gravity, masses, .. } = &mut *out.model;
            bodies[tree].add_transposed(mu, state, gravity, &mut masses[tree]);
        }
        by_force.joints.clear();
        by_force.joints.extend_from_slice(of_joints);
        if !of_joints.is_empty() {
            joints.sensitivity.spread(model, of_joints, &mut by_force.bodies);
        }
        let [kinematics_after, kinematics_before, scratch] = kinematics;
        let on_bodies = &by_force.bodies[..];
        for buffer in by_motion.iter_mut() {
            buffer.clear();
            buffer.resize(TANGENT_DIMENSION * on_bodies.len(), 0.0);
        }
        let [by_after, by_before] = by_motion;
        let idle =
            |body: usize| workspace.moving[body].is_none_or(|place| on_bodies[place] == SpatialForce::zero());
        for patch in patches.iter() {
            if patch.terms.iter().all(|term| idle(term.pair.bodies.a) && idle(term.pair.bodies.b)) {
                continue;
            }
            for (i, term) in patch.terms.iter().enumerate() {
                let buffer = if i == 0 { &mut *by_after } else { &mut *by_before };
                term.add_transposed(&workspace.moving, on_bodies, buffer, out.model);
            }
            if let Some(inertia) = &patch.inertia {
                inertia.add_transposed(
                    model,
                    &at.before.joints,
                    on_bodies,
                    scratch.of(&model.mechanism),
                    by_after,
                    state_of_joints,
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
        self.add_sizes(at, workspace, after, on_bodies, &mut out.model.direct);
    }

    /// The part of the derivatives of μᵀφ that is due to the user's forces; after
    /// [`Self::add_balance`].
    fn add_applied<A: AppliedForces>(
        &self,
        at: &StepPoint<'_, A>,
        parts: &mut BalanceDerivatives,
        out: &mut StepCotangent<'_>,
    ) {
        let BalanceDerivatives { applied, by_force, .. } = parts;
        for force in &mut by_force.bodies {
            *force = SpatialForce::new(force.rotational * at.dt, force.translational * at.dt);
        }
        by_force.joints.iter_mut().for_each(|force| *force *= at.dt);
        let point = at.forces_at(at.before, at.time);
        let by_user = &mut out.control[at.split_control().0.len()..];
        applied.add_applied_transposed(&point, at.applied, by_force, out.state, by_user, out.model);
    }

    /// The part of [`Self::add_balance`] that is due to the sizes of geometries; what changes with
    /// their mass aside.
    fn add_sizes<A: AppliedForces>(
        &self,
        at: &StepPoint<'_, A>,
        workspace: &Workspace,
        after: &[BodyFrame],
        by_force: &[SpatialForce],
        by_inputs: &mut [f64],
    ) {
        let settings = DiscreteSettings { contact: &at.model.model().contact, model: self.model, dt: at.dt };
        for SeededModel { columns, model } in at.model.sizes() {
            let before: Vec<_> = workspace.frames.iter().map(lift_frame::<SEEDS>).collect();
            let after: Vec<_> = after.iter().map(lift_frame::<SEEDS>).collect();
            for (patch, evaluated) in workspace.problem.patches.iter().zip(&workspace.newton.by_patch) {
                let pair = &model.pairs[patch.pair];
                if !size_has_derivatives(model, pair) {
                    continue;
                }
                let lambda = patch.contacts.inverse_inertia.map(DualArray::from);
                let impulse = patch_impulse(
                    model,
                    &before,
                    &after,
                    patch,
                    &settings,
                    &workspace.problem.contacts,
                    evaluated,
                    |_| lambda,
                );
                let Some((on_a, origin)) = impulse else { continue };
                for (body, on_body) in [(pair.bodies.a, on_a), (pair.bodies.b, -on_a)] {
                    let Some(tree) = workspace.moving[body] else { continue };
                    let force = on_body.shifted(&(before[body].pose.translation - origin));
                    for (k, &column) in columns.iter().enumerate() {
                        by_inputs[column] +=
                            by_force[tree].rotational.dot(&force.rotational.map(|x| x.eps[k]))
                                + by_force[tree].translational.dot(&force.translational.map(|x| x.eps[k]));
                    }
                }
            }
        }
    }

    /// The transposed derivative of a step.
    pub(in crate::step) fn transposed<A: AppliedForces>(
        &self,
        at: &StepPoint<'_, A>,
        memory: &mut DerivativeMemory,
        out: &mut StepCotangent<'_>,
    ) -> Result<(), StepError> {
        let DerivativeMemory { workspace, parts, by_velocity: mu } = memory;
        self.find_again(at, workspace)?;
        self.differentiate(at, workspace, parts);
        mu.clear();
        let (of_bodies, of_joints) = out.state.split_at_mut(at.before.body_tangent_dimension());
        let states = at.before.bodies.iter().zip(&at.after.bodies).zip(&parts.bodies);
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
            body.free.add_transposed(&by_free, by, by_mass);
        }
        // q₁ = q₀ ⊕ (v δt + extra moves)
        let (by_q, by_v) = of_joints.split_at_mut(at.after.joints.v.len());
        let mut by_before = vec![0.0; by_q.len()];
        move_transposed(&at.before.joints, &workspace.joint_moves(at), by_q, &mut by_before);
        mu.extend(by_v.iter().zip(&*by_q).map(|(v, q)| v + q * at.dt));
        let by_moves = by_q.to_vec();
        by_q.copy_from_slice(&by_before);
        by_v.fill(0.0);
        parts.joints.add_extra_moves(at.model.model(), by_moves, of_joints, out.model);
        workspace.newton.factor.solve_transposed(mu);
        self.add_balance(at, workspace, parts, mu, out);
        self.add_applied(at, parts, out);
        Ok(())
    }
}
