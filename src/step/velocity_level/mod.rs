//! Velocity-level steps: the velocities at the end of the step solve the balance of momentum with
//! contact, A (v − v*) = Jᵀγ(v), and carry the poses (Masterjohn §II, eq. 7).
//!
//! Contact surface, mass matrix, gravity and applied forces are those of the start of the step;
//! elastic, dissipative and friction forces follow the velocity at its end. So the step is stable
//! for stiff contact and friction at lengths of milliseconds.

mod balance;
mod balance_scale;
mod body_sensitivity;
mod branches;
mod bristle_motion;
mod bristle_sensitivity;
mod bristle_vjp;
mod contact_search;
mod coupled_patch;
mod free_body;
mod free_motions;
mod gliding;
mod inertia_sensitivity;
mod inverse_inertia;
mod joint_derivative;
mod joint_part;
mod landing;
mod newton;
mod patch_impulse;
mod problem;
mod real_step;
mod shape_tape;
mod step_jacobian;
mod tape;
mod timing;
mod transition_aware;
mod vjp;

use std::time::Instant;

use nalgebra::Vector3;

pub(super) use balance::Balance;
pub use gliding::Gliding;
pub(super) use landing::Unforeseen;
pub use newton::{SolverStatistics, SolverTolerance};
pub(super) use tape::BalanceTape;
pub use timing::StepTiming;
pub(super) use vjp::VjpMemory;

use self::balance::Solved;
use self::coupled_patch::CoupledPatch;
use self::free_motions::FreeMotions;
use self::landing::Landing;
use self::newton::{Newton, NewtonError};
use self::problem::Problem;
use self::real_step::RealStep;
use super::real_parts::RealParts;
use super::{Integrator, StepError, StepProblem};
use crate::contact::{ContactModel, DiscreteSettings};
use crate::multibody::tree::MidpointRule;
use crate::multibody::{BodyFrame, Forces, JointKinematics, Model, State};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// Where more than this part of the momentum is not balanced after a step, its rigid pairs may have had another law.
const UNBALANCED: f64 = 1e-7;

/// The memory of velocity-level steps: reused from one step to the next.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    problem: Problem,
    newton: Newton,
    frames: Vec<BodyFrame>,
    /// For each body its index among the moving ones.
    moving: Vec<Option<usize>>,
    joints: JointKinematics,
    free_motions: FreeMotions,
    inertial: MidpointRule,
    real: RealParts,
    forces: Forces,
    commands: Vec<f64>,
    timing: StepTiming,
    landing: Landing,
    /// While a tape is made: the bodies with their velocities after the step, and the forces on them.
    after: Vec<BodyFrame>,
    loads: Forces,
}

impl Workspace {
    /// How the last step's iteration went.
    pub fn statistics(&self) -> &SolverStatistics {
        &self.newton.statistics
    }

    /// The loads on each moving body that the last step began with.
    pub fn loads(&self) -> &[SpatialForce] {
        &self.forces.bodies
    }

    /// The patches of contact with pressure that the last step began with.
    pub fn loaded_patches(&self) -> impl Iterator<Item = LoadedPatch> {
        let loaded = |patch: &&CoupledPatch| patch.contacts.sums.load > 0.0 && !patch.contacts.is_rigid;
        self.problem.patches.iter().filter(loaded).map(|patch| {
            let (x_wf, sums) = (&patch.contacts.x_wf, &patch.contacts.sums);
            let sign = if patch.contacts.a_is_o { 1.0 } else { -1.0 };
            LoadedPatch {
                pair: patch.pair,
                force: sums.force.norm(),
                point: *x_wf * (sums.moment / sums.load),
                normal: x_wf.rotation * sums.normal().normalize() * sign,
            }
        })
    }

    /// The last step as it was solved.
    pub(in crate::step) fn solved(&self) -> Solved<'_> {
        let Self { problem, newton, moving, .. } = self;
        Solved { problem, newton, moving }
    }

    /// How long the parts of the last step took.
    pub fn timing(&self) -> StepTiming {
        self.timing
    }
}

/// What the contacts of a step have in common.
fn settings_of<T: Scalar>(model: &Model<T>, kind: ContactModel, dt: T) -> DiscreteSettings<'_, T> {
    DiscreteSettings { contact: &model.contact, model: kind, dt, heaviest: model.heaviest }
}

/// A patch of contact as a step begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedPatch {
    /// Its pair in [`Model::pairs`].
    pub pair: usize,
    /// Its elastic force, N.
    pub force: f64,
    /// The middle of its loads, and the mean of its normals out of B into A, in W.
    pub point: Vector3<f64>,
    pub normal: Vector3<f64>,
}

/// The method of a velocity-level step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VelocityLevel {
    /// The contact model.
    pub model: ContactModel,
    /// When the iteration for the velocities ends.
    pub tolerance: SolverTolerance,
}

impl Default for Integrator {
    /// A velocity-level step with [`ContactModel::Lagged`].
    fn default() -> Self {
        Self::velocity_level(ContactModel::Lagged)
    }
}

impl VelocityLevel {
    /// The state after a step, in scalars of any kind: the velocities are found in `f64`, and
    /// given the derivatives that the balance of momentum implies. With `keep` the polygons of the
    /// contacts and the factorization at the solution are left in the workspace.
    pub(super) fn step<T: Scalar>(
        &self,
        step: &StepProblem<'_, T>,
        keep: bool,
        workspace: &mut Workspace,
        balance: &mut Balance<T>,
        after: &mut State<T>,
    ) -> Result<(), StepError> {
        let StepProblem { model, state, time, applied, control, .. } = *step;
        balance.forces.reset(model);
        let (commands, control) = control.split_at(model.command_dimension());
        model.add_loads(state, time, commands, &mut balance.forces);
        applied.add_to(model, state, time, control, &mut balance.forces);
        self.step_under(step, keep, workspace, balance, after)
    }

    /// [`Self::step`] with the user's forces at its start: the part that is compiled once for all
    /// of them.
    fn step_under<T: Scalar>(
        &self,
        step: &StepProblem<'_, T>,
        keep: bool,
        workspace: &mut Workspace,
        balance: &mut Balance<T>,
        after: &mut State<T>,
    ) -> Result<(), StepError> {
        let (StepProblem { model, state, control, .. }, dt) = (*step, step.length());
        let keep = keep || T::NDERIV > 0;
        balance.forces.write_real(&mut workspace.forces);
        workspace.commands.clear();
        workspace.commands.extend(control[..model.command_dimension()].iter().map(|u| u.real()));
        workspace.newton.keep_factor = keep;
        workspace.problem.contacts.keep_polygons = keep;
        let mut real = std::mem::take(&mut workspace.real);
        let (real_model, real_state) = real.of(model, state);
        let solved = self.solve(real_model, real_state, (dt.real(), step.asleep), workspace);
        let Workspace { free_motions, newton, .. } = &*workspace;
        balance.set_motion(free_motions, &newton.velocity, (model, real_model), state, dt);
        workspace.real = real;
        solved?;
        for _ in 0..T::NDERIV {
            let Workspace { problem, newton, moving, .. } = &*workspace;
            balance.evaluate(self.model, step, Solved { problem, newton, moving });
            balance.correct(workspace.newton.factor.factors());
        }
        balance.move_state(state, dt, after);
        balance.move_bristles(self.model, step, &workspace.problem, after);
        Ok(())
    }

    /// Finds the contacts of a step again, and their impulses at the velocities after it.
    pub(in crate::step) fn find_impulses(
        &self,
        step: &StepProblem<'_>,
        after: &State,
        workspace: &mut Workspace,
    ) {
        let StepProblem { model, state, time, applied, control, .. } = *step;
        let (commands, control) = control.split_at(model.command_dimension());
        workspace.forces.reset(model);
        // Contact does not depend on the forces, but for the law of rigid pairs.
        if !model.rigid_pairs.is_empty() {
            model.add_loads(state, time, commands, &mut workspace.forces);
            applied.add_to(model, state, time, control, &mut workspace.forces);
        }
        workspace.commands.clear();
        workspace.commands.extend_from_slice(commands);
        workspace.problem.contacts.keep_polygons = true;
        workspace.assemble(model, state, self.model, (step.length(), step.asleep));
        let Workspace { problem, newton, .. } = workspace;
        let left = newton.evaluate_at(problem, after);
        let is_other = left > UNBALANCED.max(10.0 * self.tolerance.relative);
        if is_other && problem.make_rigid_pairs_convex() && newton.evaluate_at(problem, after) > left {
            workspace.assemble(model, state, self.model, (step.length(), step.asleep));
            workspace.newton.evaluate_at(&workspace.problem, after);
        }
    }

    /// Solves for the velocities; the forces are in the workspace.
    fn solve(
        &self,
        model: &Model,
        state: &State,
        step: (f64, &[bool]),
        workspace: &mut Workspace,
    ) -> Result<(), StepError> {
        let searching = workspace.assemble(model, state, self.model, step);
        let assembled = Instant::now();
        let Workspace { problem, newton, moving, timing, .. } = workspace;
        newton.set_velocity(state);
        let v_s = model.contact.stiction_velocity;
        let convex = self.model.is_convex() && problem.is_convex();
        let mut solved = newton.solve(problem, convex, v_s, &self.tolerance);
        if solved == Err(NewtonError::NotConverged) && problem.make_rigid_pairs_convex() {
            newton.set_velocity(state);
            solved = newton.solve(problem, problem.is_convex(), v_s, &self.tolerance);
        }
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
    /// forces and commands in the workspace, over a step of a length under which some bodies sleep. Returns when the search for
    /// contacts began.
    fn assemble(
        &mut self,
        model: &Model,
        state: &State,
        kind: ContactModel,
        (dt, asleep): (f64, &[bool]),
    ) -> Instant {
        let Self { problem, frames, moving, joints, free_motions, inertial, forces, commands, .. } = self;
        model.update_frames(state, frames, joints);
        model.moving_indices(moving);
        let joints = joints.of(&model.mechanism);
        free_motions.set(model, state, joints, dt, inertial);
        let step = RealStep { model, state, forces, commands, dt };
        problem.set_free_motion(&step, joints, free_motions);
        for (moving, _) in moving.iter_mut().zip(asleep).filter(|(_, sleeps)| **sleeps) {
            problem.rest(moving.take());
        }
        let searching = Instant::now();
        problem.find_contacts(&step, frames, moving, joints, kind);
        searching
    }
}

#[cfg(test)]
mod tests;
