//! Velocity-level steps: the velocities at the end of the step solve the balance of momentum with
//! contact, A (v − v*) = Jᵀγ(v), and carry the poses (Masterjohn §II, eq. 7).
//!
//! Contact surface, mass matrix, gravity and applied forces are those of the start of the step;
//! elastic, dissipative and friction forces follow the velocity at its end. So the step is stable
//! for stiff contact and friction at lengths of milliseconds.

mod balance_scale;
mod body_sensitivity;
mod branches;
mod coupled_patch;

mod free_body;
mod free_motions;
mod gliding;
mod inertia_sensitivity;
mod inverse_inertia;
mod joint_derivative;
mod joint_part;
mod newton;
mod problem;
mod real_step;
mod step_jacobian;
mod tape;
mod timing;
mod transition_aware;
mod vjp;

use std::time::Instant;

use nalgebra::{DMatrix, Matrix6, Vector3, Vector6};

pub use gliding::Gliding;
pub use newton::{SolverStatistics, SolverTolerance};
pub(super) use tape::BalanceTape;
pub use timing::StepTiming;
pub(super) use vjp::VjpMemory;

use self::coupled_patch::CoupledPatch;
use self::free_body::{BODY, BodyInertia, six, velocity_of};
use self::free_motions::FreeMotions;
use self::inverse_inertia::{LinkRows, PairInertia, pair_inverse_inertia};
use self::newton::{Newton, NewtonError};
use self::problem::Problem;
use self::real_step::{RealParts, RealStep};
use super::{StepError, StepProblem};
use crate::contact::{
    ContactModel, DiscreteSettings, PairImpulse, PointContacts, Roles, discrete_impulse, impulse_lifted,
};
use crate::multibody::tree::{BodyForce, MidpointRule};
use crate::multibody::{
    AppliedForces, BodyFrame, BodyState, Forces, JointKinematics, Model, Motion, State, link_forces,
    set_link_velocities, with_pair,
};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// The memory of velocity-level steps: reused from one step to the next.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    problem: Problem,
    newton: Newton,
    frames: Vec<BodyFrame>,
    /// For each body its place among the moving ones.
    moving: Vec<Option<usize>>,
    joints: JointKinematics,
    free_motions: FreeMotions,
    inertial: MidpointRule,
    real: RealParts,
    forces: Forces,
    commands: Vec<f64>,
    timing: StepTiming,
    /// While a tape is made: the bodies with their velocities after the step, and the forces on them.
    after: Vec<BodyFrame>,
    loads: Forces,
}

impl Workspace {
    /// How the last step's iteration went.
    pub fn statistics(&self) -> &SolverStatistics {
        &self.newton.statistics
    }

    /// How long the parts of the last step took.
    pub fn timing(&self) -> StepTiming {
        self.timing
    }
}

/// The method of a velocity-level step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VelocityLevel {
    /// The contact model.
    pub model: ContactModel,
    /// When the iteration for the velocities ends.
    pub tolerance: SolverTolerance,
}

impl VelocityLevel {
    /// The state after a step, in scalars of any kind: the velocities are found in `f64`, and
    /// given the derivatives that the balance of momentum implies. With `keep` the polygons of the
    /// contacts and the factorization at the solution are left in the workspace.
    pub(super) fn step<A: AppliedForces, T: Scalar>(
        &self,
        step: &StepProblem<'_, A, T>,
        keep: bool,
        workspace: &mut Workspace,
    ) -> Result<State<T>, StepError> {
        let StepProblem { model, state, time, applied, control, .. } = *step;
        let mut forces = Forces::zero(model);
        applied.apply(model, state, time, &control[model.command_dimension()..], &mut forces);
        self.step_under(&step.under(&()), &forces, keep, workspace)
    }

    /// [`Self::step`] with the user's forces at its start: the part that is compiled once for all
    /// of them.
    fn step_under<T: Scalar>(
        &self,
        step: &StepProblem<'_, (), T>,
        forces: &Forces<T>,
        keep: bool,
        workspace: &mut Workspace,
    ) -> Result<State<T>, StepError> {
        let StepProblem { model, state, time_step: dt, control, .. } = *step;
        let keep = keep || T::NDERIV > 0;
        workspace.forces.bodies.clear();
        workspace.forces.bodies.extend(forces.bodies.iter().map(SpatialForce::real));
        workspace.forces.joints.clear();
        workspace.forces.joints.extend(forces.joints.iter().map(|f| f.real()));
        workspace.commands.clear();
        workspace.commands.extend(control[..model.command_dimension()].iter().map(|u| u.real()));
        workspace.newton.keep_factor = keep;
        workspace.problem.contacts.keep_polygons = keep;
        let mut real = std::mem::take(&mut workspace.real);
        let (real_model, real_state) = real.of(model, state);
        let solved = self.solve(real_model, real_state, dt, workspace);
        workspace.real = real;
        solved?;
        let free = match T::NDERIV {
            0 => FreeMotions::lift(&workspace.free_motions),
            _ => FreeMotions::new(model, state, dt),
        };
        let mut velocity: Vec<T> = workspace.newton.velocity.iter().map(|&v| T::from(v)).collect();
        for _ in 0..T::NDERIV {
            let mut residual = self.residual(step, &free, forces, &velocity, workspace);
            // What is left of the real part is rounding.
            residual.iter_mut().for_each(|r| *r -= r.real());
            workspace.newton.factor.factors().solve_scalars(&mut residual);
            velocity.iter_mut().zip(&residual).for_each(|(v, r)| *v -= *r);
        }
        Ok(moved(state, &free, &velocity, dt))
    }

    /// Solves for the velocities; the forces are in the workspace.
    fn solve(
        &self,
        model: &Model,
        state: &State,
        dt: f64,
        workspace: &mut Workspace,
    ) -> Result<(), StepError> {
        let searching = workspace.assemble(model, state, self.model, dt);
        let assembled = Instant::now();
        let Workspace { problem, newton, moving, timing, .. } = workspace;
        newton.set_velocity(state);
        let convex = self.model.is_convex();
        let solved = newton.solve(problem, convex, model.contact.stiction_velocity, &self.tolerance);
        *timing = StepTiming { geometry: assembled - searching, solver: assembled.elapsed() };
        solved.map_err(|error| {
            let trees = newton.worst_trees(problem);
            let bodies = trees.into_iter().filter_map(|tree| body_of_tree(model, moving, tree));
            match error {
                NewtonError::NotConverged => StepError::NotConverged {
                    iterations: newton.statistics.iterations,
                    residual: newton.statistics.residual,
                    allowed: self.tolerance.relative,
                    bodies: bodies.collect(),
                },
                NewtonError::NotFinite => StepError::NotFinite { bodies: bodies.collect() },
            }
        })
    }

    /// The balance of momentum A v − p − Jᵀγ(v) at the contacts that have been found, with the
    /// motions without forces and the user's forces.
    fn residual<T: Scalar>(
        &self,
        step: &StepProblem<'_, (), T>,
        free_motions: &FreeMotions<T>,
        forces: &Forces<T>,
        velocity: &[T],
        workspace: &Workspace,
    ) -> Vec<T> {
        let StepProblem { model, state, time_step: dt, .. } = *step;
        let mut residual = Vec::with_capacity(velocity.len());
        let (mut before, mut joints) = (Vec::new(), JointKinematics::default());
        model.update_frames(state, &mut before, &mut joints);
        let mut after = before.clone();
        let bodies = model.free_bodies().zip(&state.bodies).zip(&free_motions.bodies).zip(&forces.bodies);
        for (((((index, _, mass), state), free), force), v) in bodies.zip(velocity.chunks_exact(BODY)) {
            after[index].velocity = velocity_of(v);
            let body = BodyInertia::new(mass, state);
            let free = body.free_momentum(&state.velocity, free, force, &model.gravity, dt);
            let kept = body.momentum(&after[index].velocity);
            let (kept, free) =
                (six(&kept.rotational, &kept.translational), six(&free.rotational, &free.translational));
            residual.extend(kept.iter().zip(free).map(|(&a, p)| a - p));
        }
        let of_joints = &velocity[BODY * state.bodies.len()..];
        set_link_velocities(model, &mut JointKinematics::default(), &state.joints.q, of_joints, &mut after);
        // Forces on links: the user's, and the impulses of contact over the step.
        let mut on_links = Vec::new();
        link_forces(model, &forces.bodies, &mut on_links);
        let factors = self.joint_factors(model, &mut joints, dt);
        let joint_workspace = joints.of(&model.mechanism);
        let settings = DiscreteSettings { contact: &model.contact, model: self.model, dt };
        let mut link_rows = LinkRows::default();
        for (patch, evaluated) in workspace.problem.patches.iter().zip(&workspace.newton.by_patch) {
            let pair = &model.pairs[patch.pair];
            let lambda = |roles: &Roles<T>| match self.model {
                ContactModel::Sap => {
                    let moving = &workspace.moving;
                    let at = PairInertia { model, state, moving, joints: joint_workspace, factors: &factors };
                    pair_inverse_inertia(&at, pair, roles, &mut link_rows)
                }
                _ => Matrix6::from_element(T::from(0.0)),
            };
            let impulse = patch_impulse(
                model,
                &before,
                &after,
                patch,
                &settings,
                &workspace.problem.contacts,
                evaluated,
                lambda,
            );
            let Some((on_a, origin)) = impulse else { continue };
            for (body, on_body) in [(pair.bodies.a, on_a), (pair.bodies.b, -on_a)] {
                let about_body = on_body.shifted(&(before[body].pose.translation - origin));
                let (m, f) = (about_body.rotational, about_body.translational);
                match (&model.bodies[body].motion, workspace.moving[body]) {
                    (Motion::Free { .. }, Some(tree)) => {
                        for (r, w) in residual[BODY * tree..BODY * (tree + 1)].iter_mut().zip(six(&m, &f)) {
                            *r -= w;
                        }
                    }
                    (Motion::Link { link }, _) => {
                        let rate = T::from(1.0 / dt);
                        let force = SpatialForce::new(m * rate, f * rate);
                        on_links.push(BodyForce { body: *link, force });
                    }
                    _ => {}
                }
            }
        }
        residual.extend(joint_residual(step, forces, &on_links, of_joints, &mut joints));
        let of_joints = &mut residual[BODY * state.bodies.len()..];
        for (residual, impulse) in of_joints.iter_mut().zip(&free_motions.joints.impulse) {
            *residual -= *impulse;
        }
        residual
    }

    /// The factors of the joints' part of A, which SAP's regularization takes.
    fn joint_factors<T: Scalar>(
        &self,
        model: &Model<T>,
        joints: &mut JointKinematics<T>,
        dt: f64,
    ) -> DMatrix<T> {
        let n = if self.model == ContactModel::Sap { model.mechanism.velocity_dimension() } else { 0 };
        let mut factors = DMatrix::from_element(n, n, T::from(0.0));
        if n > 0 {
            model.mechanism.step_matrix(joints.of(&model.mechanism), dt, &mut factors);
            model.mechanism.factorize(&mut factors);
        }
        factors
    }
}

/// The part of the joints in the balance of momentum:
/// δt (ID(q, v₀, (v − v₀)/δt) + D v + K (q + δt v − q_rest) − τ), less the impulses of actuators
/// and stops, at the kinematics of the state.
fn joint_residual<T: Scalar>(
    step: &StepProblem<'_, (), T>,
    forces: &Forces<T>,
    on_links: &[BodyForce<T>],
    v: &[T],
    joints: &mut JointKinematics<T>,
) -> Vec<T> {
    let StepProblem { model, state, time_step: dt, control, .. } = *step;
    let commands = &control[..model.command_dimension()];
    let mechanism = &model.mechanism;
    let mut residual = vec![T::from(0.0); v.len()];
    if v.is_empty() {
        return residual;
    }
    let rate = T::from(1.0 / dt);
    let vdot: Vec<T> = v.iter().zip(&state.joints.v).map(|(&v, &before)| (v - before) * rate).collect();
    mechanism.inverse_dynamics(joints.of(mechanism), &vdot, &model.gravity, on_links, &mut residual);
    for (r, tau) in residual.iter_mut().zip(&forces.joints) {
        *r -= *tau;
    }
    for joint in mechanism.joints() {
        for k in joint.v.clone() {
            residual[k] += joint.damping * v[k];
        }
        if joint.q.len() == 1 {
            let (k, spring) = (joint.v.start, &joint.spring);
            residual[k] += spring.stiffness * (state.joints.q[joint.q.start] + v[k] * dt - spring.rest);
        }
    }
    residual.iter_mut().for_each(|r| *r *= T::from(dt));
    model.for_each_joint_law(commands, |at, law| {
        residual[at.v] -= law.impulse(dt, state.joints.q[at.q], v[at.v]);
    });
    residual
}

/// A body that the velocities of a tree move.
fn body_of_tree(model: &Model, moving: &[Option<usize>], tree: usize) -> Option<usize> {
    let free = model.free_bodies().count();
    if tree < free {
        return moving.iter().position(|t| *t == Some(tree));
    }
    let joints = &model.mechanism.trees().get(tree - free)?.joints;
    let carried = |link: usize| model.mechanism.bodies()[link].joint.is_some_and(|j| joints.contains(&j));
    model.links().find(|(_, link)| carried(*link)).map(|(body, _)| body)
}

impl Workspace {
    /// Finds the contacts at a state, and sets up the balance of momentum, with the
    /// forces and commands in the workspace. Returns when the search for contacts began.
    fn assemble(&mut self, model: &Model, state: &State, kind: ContactModel, dt: f64) -> Instant {
        let Self { problem, frames, moving, joints, free_motions, inertial, forces, commands, .. } = self;
        model.update_frames(state, frames, joints);
        model.moving_indices(moving);
        let joints = joints.of(&model.mechanism);
        free_motions.set(model, state, joints, dt, inertial);
        let step = RealStep { model, state, forces, commands, dt };
        problem.set_free_motion(&step, joints, free_motions);
        let searching = Instant::now();
        problem.find_contacts(&step, frames, moving, joints, kind);
        searching
    }
}

/// The impulse of a patch on body A about F's origin, in W, and where that is; `before` and
/// `after` are the bodies' frames with their velocities before and after the step. Value and
/// derivative by the velocity after the step are `evaluated`.
#[allow(clippy::too_many_arguments, reason = "two states of a pair, and what Newton's method found of it")]
fn patch_impulse<T: Scalar>(
    model: &Model<T>,
    before: &[BodyFrame<T>],
    after: &[BodyFrame<T>],
    patch: &CoupledPatch,
    settings: &DiscreteSettings,
    contacts: &PointContacts,
    evaluated: &(Vector6<f64>, Matrix6<f64>),
    inverse_inertia: impl FnOnce(&Roles<T>) -> Matrix6<T>,
) -> Option<(SpatialForce<T>, Vector3<T>)> {
    let pair = &model.pairs[patch.pair];
    let after = with_pair(model, after, pair, |query| Some(Roles::new(query).ok()?.v_fo))?;
    with_pair(model, before, pair, |query| {
        let roles = Roles::new(query).ok()?;
        let lambda = inverse_inertia(&roles);
        let shaped = query.a.has_shape_derivatives() || query.b.has_shape_derivatives();
        let on_o = if T::NDERIV == 1 && !shaped {
            // The velocities are constants, or those that the search for contacts saw.
            let (a, b) = (query.a.real(), query.b.real());
            let real = query.real(&a, &b);
            let real = Roles::new(&real).ok()?;
            let local = PairImpulse {
                roles: &real,
                settings,
                patch: &patch.contacts,
                contacts,
                before: &real.v_fo,
                after: &after.real(),
            }
            .jacobian();
            impulse_lifted(
                &roles,
                settings,
                &patch.contacts.about_f(evaluated),
                &local,
                &lambda,
                &roles.v_fo,
                &after,
            )
        } else {
            let polygons = &contacts.polygons[patch.contacts.polygons.clone()];
            discrete_impulse(&roles, settings, polygons, &lambda, &roles.v_fo, &after)
        };
        let on_o = on_o.rotated(&roles.x_wf.rotation);
        Some((if roles.a_is_o { on_o } else { -on_o }, roles.x_wf.translation))
    })
}

/// The state carried by the velocities at the end of the step, and by what free motions turn and
/// shift bodies besides.
fn moved<T: Scalar>(state: &State<T>, free_motions: &FreeMotions<T>, velocity: &[T], dt: f64) -> State<T> {
    let dt = T::from(dt);
    let bodies = state.bodies.iter().zip(&free_motions.bodies).zip(velocity.chunks_exact(BODY));
    let bodies = bodies.map(|((state, free), v)| {
        let velocity = velocity_of(v);
        BodyState {
            orientation: state.orientation.rotated_by(&(velocity.rotational * dt + free.extra_turn)),
            position: state.position + velocity.translational * dt + free.extra_shift,
            velocity,
        }
    });
    let bodies = bodies.collect();
    let v = &velocity[BODY * state.bodies.len()..];
    let mut moves: Vec<T> = v.iter().map(|&v| v * dt).collect();
    moves.iter_mut().zip(&free_motions.joints.extra_moves).for_each(|(x, extra)| *x += *extra);
    let changes: Vec<T> = v.iter().zip(&state.joints.v).map(|(&v, &before)| v - before).collect();
    let mut joints = state.joints.moved(&moves, &changes);
    // Not a sum with what it was before: the bits of the solution.
    joints.v.copy_from_slice(v);
    State { bodies, joints }
}
