//! The derivative of a velocity-level step by the implicit function theorem.
//!
//! The velocities after the step solve φ(v; x, u, θ) = p − A v + Jᵀγ(v) = 0, so that
//! dv = K⁻¹ ∂φ with K = −∂φ/∂v, which Newton's method factorizes. The contacts are found again at
//! the state before the step; the velocities are known.

use nalgebra::{DMatrix, Matrix3, Vector3};

use super::free_body::Tree;
use super::inertia_sensitivity::{InertiaPart, InertiaSensitivity};
use super::problem::BODY;
use super::{VelocityLevel, Workspace, patch_impulse};
use crate::contact::{ContactJacobian, ContactPair, DiscreteSettings, world_impulse_jacobian};
use crate::multibody::{
    AppliedColumn, AppliedForces, AppliedWorkspace, BodyFrame, BodyState, ContactSensitivity,
    ForceSensitivity, Guide, MassProperties, ModelGradient, SEEDS, SeededModel, TANGENT_DIMENSION,
    for_each_applied_derivative, for_each_applied_derivative_by_input, lift_frame, size_has_derivatives,
    with_pair,
};
use crate::scalar::DualArray;
use crate::spatial::{Quaternion, SpatialForce, SpatialVelocity, rotation_exponential_jacobian};
use crate::step::block_factor::Values;
use crate::step::{StepCotangent, StepDerivativeError, StepError, StepJacobian, StepPoint};

/// Directions of one body's part of the balance: rotation, velocity, mass, centre of mass,
/// inertia, gravity.
const BODY_DIRECTIONS: usize = 25;
type BodyDual = DualArray<BODY_DIRECTIONS>;

const VELOCITY: usize = 3;
const MASS: usize = 9;
const GRAVITY: usize = 22;

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
    workspace: Workspace,
    parts: BalanceDerivatives,
    by_velocity: Vec<f64>,
}

/// The derivatives of φ by all but the velocities after the step.
#[derive(Debug, Default)]
struct BalanceDerivatives {
    after: Vec<BodyFrame>,
    patches: Vec<PatchSensitivity>,
    /// Each body's part of φ without contact and applied forces.
    bodies: Vec<[BodyDual; BODY]>,
    applied: ForceSensitivity,
    by_force: Vec<SpatialForce>,
}

/// `value` with derivatives along three directions from `first`.
fn seeded<const N: usize>(value: &Vector3<f64>, first: usize) -> Vector3<DualArray<N>> {
    Vector3::from_fn(|i, _| DualArray::variable(value[i], first + i))
}

/// Mass properties with derivatives: mass, centre of mass, the nine elements of inertia.
fn seeded_mass<const N: usize>(mass: &MassProperties, first: usize) -> MassProperties<DualArray<N>> {
    MassProperties {
        mass: DualArray::variable(mass.mass, first),
        center_of_mass: seeded(&mass.center_of_mass, first + 1),
        inertia: Matrix3::from_fn(|i, k| DualArray::variable(mass.inertia[(i, k)], first + 4 + 3 * i + k)),
    }
}

/// Adds derivatives by the thirteen numbers of mass properties.
fn add_mass(by: &[f64], out: &mut MassProperties) {
    out.mass += by[0];
    for i in 0..3 {
        out.center_of_mass[i] += by[1 + i];
        for k in 0..3 {
            // The inertia is symmetric.
            out.inertia[(i, k)] += 0.5 * (by[4 + 3 * i + k] + by[4 + 3 * k + i]);
        }
    }
}

impl VelocityLevel {
    /// Finds the contacts at the state before the step again, and factorizes K at the velocities
    /// after it.
    fn find_again<A>(&self, at: &StepPoint<'_, A>, workspace: &mut Workspace) -> Result<(), StepError> {
        let model = at.model.model();
        let Workspace { problem, newton, frames, trees, forces } = workspace;
        problem.contacts.keep_polygons = true;
        model.body_frames(at.before, frames);
        model.free_indices(trees);
        // The applied forces add to φ without changing its derivatives.
        forces.clear();
        forces.resize(at.before.bodies.len(), SpatialForce::zero());
        problem.assemble(model, at.before, frames, trees, forces, self.model, at.dt);
        newton.velocity.clear();
        for ((_, body, _), state) in model.free_bodies().zip(&at.after.bodies) {
            newton.velocity.extend(Tree::coordinates(body.guide(), &state.velocity));
        }
        let kind = if self.model.is_convex() { Values::PositiveDefinite } else { Values::General };
        newton.factorize_at(problem, kind).map_err(|()| StepError::NotFinite { bodies: Vec::new() })
    }

    /// Differentiates φ by all but the velocities after the step, which the workspace holds with
    /// the contacts.
    fn differentiate<A>(&self, at: &StepPoint<'_, A>, workspace: &Workspace, parts: &mut BalanceDerivatives) {
        let model = at.model.model();
        let Workspace { problem, newton, frames, trees, .. } = workspace;
        let BalanceDerivatives { after, patches, bodies, .. } = parts;
        after.clear();
        after.extend_from_slice(frames);
        bodies.clear();
        let states = model.free_bodies().zip(&at.before.bodies).zip(&at.after.bodies);
        for (((index, body, mass), before), state) in states {
            let v = Tree::coordinates(body.guide(), &state.velocity);
            after[index].velocity = Tree::velocity(body.guide(), &v);
            let zero = Vector3::zeros();
            let turned = BodyState {
                orientation: Quaternion::<BodyDual>::lift(&before.orientation).rotated_by(&seeded(&zero, 0)),
                position: before.position.map(BodyDual::from),
                velocity: SpatialVelocity::new(
                    seeded(&before.velocity.rotational, VELOCITY),
                    seeded(&before.velocity.translational, VELOCITY + 3),
                ),
            };
            let guide = body.guide().map(Guide::lift);
            let tree = Tree::new(guide.as_ref(), &seeded_mass(mass, MASS), &turned, at.dt);
            let gravity = seeded(&model.gravity, GRAVITY);
            let free = tree.free_momentum(&turned.velocity, &SpatialForce::zero(), &gravity);
            let kept = tree.momentum(&v.map(BodyDual::from));
            bodies.push(std::array::from_fn(|i| free[i] - kept[i]));
        }

        let settings = DiscreteSettings { contact: &model.contact, model: self.model, dt: at.dt };
        patches.clear();
        for (patch, impulse) in problem.patches.iter().zip(&newton.by_patch) {
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
            for by_state in [&mut by_poses.by_state_a, &mut by_poses.by_state_b] {
                by_state.fixed_columns_mut::<6>(6).fill(0.0);
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
                    trees: bodies.map(|b| trees[b]),
                    parts: bodies.map(|b| {
                        let (body, tree) = (&model.bodies[b], trees[b]?);
                        let state = &at.before.bodies[tree];
                        Some(InertiaPart::new(tree, body, body.mass()?, state, &x_wf, at.dt))
                    }),
                    x_wf,
                    tree_f: trees[bodies[f]],
                    offset_f: x_wf.translation - frames[bodies[f]].pose.translation,
                }
            });
            patches.push(PatchSensitivity { terms, inertia });
        }
    }

    /// Adds the derivatives of μᵀφ by the state before the step and by the model; those through
    /// the user's forces aside.
    fn add_balance<A: AppliedForces>(
        &self,
        at: &StepPoint<'_, A>,
        workspace: &Workspace,
        parts: &mut BalanceDerivatives,
        mu: &[f64],
        out: &mut StepCotangent<'_>,
    ) {
        let model = at.model.model();
        let BalanceDerivatives { after, patches, bodies, by_force, .. } = parts;
        by_force.clear();
        for ((tree, (_, body, _)), mu) in model.free_bodies().enumerate().zip(mu.chunks_exact(BODY)) {
            // A force is projected as a velocity is spread.
            let v = Tree::velocity(body.guide(), mu);
            by_force.push(SpatialForce::new(v.rotational, v.translational));
            if mu.iter().all(|m| *m == 0.0) {
                continue;
            }
            let mut by = [0.0; BODY_DIRECTIONS];
            for (row, m) in bodies[tree].iter().zip(mu) {
                for (by, eps) in by.iter_mut().zip(&row.eps) {
                    *by += m * eps;
                }
            }
            let state = &mut out.state[tree * TANGENT_DIMENSION..(tree + 1) * TANGENT_DIMENSION];
            for i in 0..3 {
                state[i] += by[i];
                out.model.gravity[i] += by[GRAVITY + i];
            }
            for i in 0..6 {
                state[6 + i] += by[VELOCITY + i];
            }
            add_mass(&by[MASS..], &mut out.model.masses[tree]);
        }
        let idle =
            |body: usize| workspace.trees[body].is_none_or(|tree| by_force[tree] == SpatialForce::zero());
        for patch in patches.iter() {
            if patch.terms.iter().all(|term| idle(term.pair.bodies.a) && idle(term.pair.bodies.b)) {
                continue;
            }
            for term in &patch.terms {
                term.add_transposed(&workspace.trees, by_force, out.state, out.model);
            }
            if let Some(inertia) = &patch.inertia {
                inertia.add_transposed(by_force, out);
            }
        }
        self.add_sizes(at, workspace, after, by_force, &mut out.model.direct);
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
        for force in by_force.iter_mut() {
            *force = SpatialForce::new(force.rotational * at.dt, force.translational * at.dt);
        }
        let point = at.forces_at(at.before, at.time);
        applied.add_applied_transposed(&point, at.applied, by_force, out.state, out.control, out.model);
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
                    let Some(tree) = workspace.trees[body] else { continue };
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
        let states = at.model.model().free_bodies().zip(&at.before.bodies).zip(&at.after.bodies);
        let tangents = out.state.chunks_exact_mut(TANGENT_DIMENSION);
        for ((((_, body, _), before), after), by) in states.zip(tangents) {
            let part = |i: usize| Vector3::new(by[i], by[i + 1], by[i + 2]);
            let (by_turn, by_position, by_angular, by_linear) = (part(0), part(3), part(6), part(9));
            // R₁ = exp(ω δt) R₀, x₁ = x₀ + v δt
            let turn = rotation_exponential_jacobian(&(after.velocity.rotational * at.dt));
            let by_velocity = SpatialForce::new(
                by_angular + turn.transpose() * by_turn * at.dt,
                by_linear + by_position * at.dt,
            );
            mu.extend(Tree::projected(body.guide(), &by_velocity));
            let by_turn =
                before.orientation.to_matrix() * (after.orientation.to_matrix().transpose() * by_turn);
            by.fill(0.0);
            for i in 0..3 {
                (by[i], by[3 + i]) = (by_turn[i], by_position[i]);
            }
        }
        workspace.newton.factor.solve_transposed(mu);
        self.add_balance(at, workspace, parts, mu, out);
        self.add_applied(at, parts, out);
        Ok(())
    }

    /// The derivative of a step as matrices.
    pub(in crate::step) fn jacobian<A: AppliedForces>(
        &self,
        at: &StepPoint<'_, A>,
        memory: &mut DerivativeMemory,
    ) -> Result<StepJacobian, StepDerivativeError> {
        let DerivativeMemory { workspace, parts, .. } = memory;
        self.find_again(at, workspace)?;
        Ok(self.jacobian_at(at, workspace, parts))
    }

    /// The derivative, as matrices, of the step that the workspace has just taken and kept.
    pub(in crate::step) fn jacobian_of_last<A: AppliedForces>(
        &self,
        at: &StepPoint<'_, A>,
        workspace: &Workspace,
        memory: &mut DerivativeMemory,
    ) -> StepJacobian {
        self.jacobian_at(at, workspace, &mut memory.parts)
    }

    /// The derivative as matrices, with the contacts and the factorization in the workspace.
    fn jacobian_at<A: AppliedForces>(
        &self,
        at: &StepPoint<'_, A>,
        workspace: &Workspace,
        parts: &mut BalanceDerivatives,
    ) -> StepJacobian {
        self.differentiate(at, workspace, parts);
        let model = at.model.model();
        let (n, rows) = (parts.bodies.len() * BODY, at.before.tangent_dimension());
        let (controls, inputs) = (at.control.len(), at.model.inputs().len());
        // ∂φ, row by row, then dv = K⁻¹ ∂φ.
        let mut by = DMatrix::zeros(n, rows + controls + inputs);
        let guides: Vec<_> = model.free_bodies().map(|(_, body, _)| body.guide()).collect();
        let mut mu = vec![0.0; n];
        let (mut state, mut control) = (vec![0.0; rows], vec![0.0; controls]);
        let nowhere = vec![0.0; rows];
        for row in 0..n {
            if guides[row / BODY].is_some() && row % BODY > 0 {
                // A guided body has one velocity.
                continue;
            }
            mu[row] = 1.0;
            state.fill(0.0);
            let mut by_model = ModelGradient::zero(at.model);
            let mut out = StepCotangent { state: &mut state, control: &mut control, model: &mut by_model };
            self.add_balance(at, workspace, parts, &mu, &mut out);
            mu[row] = 0.0;
            let by_inputs = at.model.by_inputs(&nowhere, &by_model);
            // The control values act through the user's forces alone, which follow.
            for (column, &value) in state.iter().enumerate() {
                by[(row, column)] = value;
            }
            for (column, value) in by_inputs.into_iter().enumerate() {
                by[(row, rows + controls + column)] = value;
            }
        }
        let mut scratch = AppliedWorkspace::default();
        let point = at.forces_at(at.before, at.time);
        let mut put = |column: usize, body: usize, force: &SpatialForce| {
            for (i, f) in Tree::projected(guides[body], force).into_iter().enumerate() {
                by[(body * BODY + i, column)] += f * at.dt;
            }
        };
        for_each_applied_derivative(at.applied, &point, &mut scratch, |by_what, body, force| {
            let column = match by_what {
                AppliedColumn::State(k) => k,
                AppliedColumn::Control(k) => rows + k,
            };
            put(column, body, force);
        });
        for_each_applied_derivative_by_input(at.applied, &point, &mut scratch, |column, body, force| {
            put(rows + controls + column, body, force);
        });
        workspace.newton.factor.solve_many(by.as_mut_slice());
        let mut all = DMatrix::zeros(rows, rows + controls + inputs);
        let states = model.free_bodies().zip(&at.before.bodies).zip(&at.after.bodies);
        for (tree, (((_, body, _), before), after)) in states.enumerate() {
            let first = tree * TANGENT_DIMENSION;
            let turn = rotation_exponential_jacobian(&(after.velocity.rotational * at.dt)) * at.dt;
            for column in 0..by.ncols() {
                let own: [f64; BODY] = std::array::from_fn(|i| by[(tree * BODY + i, column)]);
                let v = Tree::velocity(body.guide(), &own);
                let turned = turn * v.rotational;
                for i in 0..3 {
                    all[(first + i, column)] = turned[i];
                    all[(first + 3 + i, column)] = v.translational[i] * at.dt;
                    all[(first + 6 + i, column)] = v.rotational[i];
                    all[(first + 9 + i, column)] = v.translational[i];
                }
            }
            let rotation = after.orientation.to_matrix() * before.orientation.to_matrix().transpose();
            for i in 0..3 {
                for k in 0..3 {
                    all[(first + i, first + k)] += rotation[(i, k)];
                }
                all[(first + 3 + i, first + 3 + i)] += 1.0;
            }
        }
        let columns = |from: usize, count: usize| all.columns(from, count).into_owned();
        StepJacobian {
            by_state: columns(0, rows),
            by_control: columns(rows, controls),
            by_inputs: columns(rows + controls, inputs),
        }
    }
}
