//! Velocity-level steps: the velocities at the end of the step solve the balance of momentum with
//! contact, A (v − v*) = Jᵀγ(v), and carry the poses (Masterjohn §II, eq. 7).
//!
//! Contact surface, mass matrix, gravity and applied forces are those of the start of the step;
//! elastic, dissipative and friction forces follow the velocity at its end. So the step is stable
//! for stiff contact and friction at lengths of milliseconds.

mod derivative;
mod free_body;
mod gliding;
mod inertia_sensitivity;
mod newton;
mod problem;
mod transition_aware;

use std::any::Any;

use nalgebra::{Matrix6, Vector3, Vector6};

pub(super) use derivative::DerivativeMemory;
pub use gliding::Gliding;
pub use newton::{SolverStatistics, SolverTolerance};

use self::free_body::Tree;
use self::newton::{Newton, NewtonError};
use self::problem::{BODY, CoupledPatch, Problem, pair_inverse_inertia};
use super::StepError;
use crate::contact::{
    ContactModel, DiscreteSettings, PointContacts, Roles, discrete_impulse, impulse_jacobian, impulse_lifted,
};
use crate::multibody::{AppliedForces, BodyFrame, BodyState, Model, State, with_pair};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// The memory of velocity-level steps: reused from one step to the next.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    problem: Problem,
    newton: Newton,
    frames: Vec<BodyFrame>,
    trees: Vec<Option<usize>>,
    forces: Vec<SpatialForce>,
}

impl Workspace {
    /// How the last step's iteration went.
    pub fn statistics(&self) -> &SolverStatistics {
        &self.newton.statistics
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
    /// The state after a step of `dt` seconds, in scalars of any kind: the velocities are found
    /// in `f64`, and given the derivatives that the balance of momentum implies.
    #[allow(clippy::too_many_arguments, reason = "a step depends on all of this")]
    pub(super) fn step<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        dt: f64,
        applied: &impl AppliedForces,
        control: &[T],
        workspace: &mut Workspace,
    ) -> Result<State<T>, StepError> {
        self.step_keeping(T::NDERIV > 0, model, state, time, dt, applied, control, workspace)
    }

    /// [`Self::step`]; with `keep` it leaves in the workspace what derivatives take: the polygons
    /// of the contacts, and the factorization at the solution.
    #[allow(clippy::too_many_arguments, reason = "a step depends on all of this")]
    pub(super) fn step_keeping<T: Scalar>(
        &self,
        keep: bool,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        dt: f64,
        applied: &impl AppliedForces,
        control: &[T],
        workspace: &mut Workspace,
    ) -> Result<State<T>, StepError> {
        let mut forces = vec![SpatialForce::<T>::zero(); state.bodies.len()];
        applied.apply(model, state, time, control, &mut forces);
        workspace.forces.clear();
        workspace.forces.extend(forces.iter().map(SpatialForce::real));
        workspace.newton.keep_factor = keep;
        workspace.problem.contacts.keep_polygons = keep;
        if let (Some(model), Some(state)) =
            ((model as &dyn Any).downcast_ref::<Model>(), (state as &dyn Any).downcast_ref::<State>())
        {
            self.solve(model, state, dt, workspace)?;
        } else {
            self.solve(&model.real(), &state.real(), dt, workspace)?;
        }
        let mut velocity: Vec<T> = workspace.newton.velocity.iter().map(|&v| T::from(v)).collect();
        for _ in 0..T::NDERIV {
            let mut residual = self.residual(model, state, &forces, &velocity, dt, workspace);
            // What is left of the real part is rounding.
            residual.iter_mut().for_each(|r| *r -= r.real());
            workspace.newton.factor.solve_scalars(&mut residual);
            velocity.iter_mut().zip(&residual).for_each(|(v, r)| *v -= *r);
        }
        Ok(moved(model, state, &velocity, dt))
    }

    /// Solves for the velocities; the forces are in the workspace.
    fn solve(
        &self,
        model: &Model,
        state: &State,
        dt: f64,
        workspace: &mut Workspace,
    ) -> Result<(), StepError> {
        let Workspace { problem, newton, frames, trees, forces } = workspace;
        model.body_frames(state, frames);
        model.free_indices(trees);
        problem.assemble(model, state, frames, trees, forces, self.model, dt);
        newton.velocity.clear();
        for ((_, body, _), state) in model.free_bodies().zip(&state.bodies) {
            newton.velocity.extend(Tree::coordinates(body.guide(), &state.velocity));
        }
        let convex = self.model.is_convex();
        newton.solve(problem, convex, model.contact.stiction_velocity, &self.tolerance).map_err(|error| {
            let bodies = newton
                .worst_trees()
                .into_iter()
                .filter_map(|tree| trees.iter().position(|t| *t == Some(tree)));
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

    /// The balance of momentum A v − p − Jᵀγ(v) at the contacts that have been found.
    fn residual<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        forces: &[SpatialForce<T>],
        velocity: &[T],
        dt: f64,
        workspace: &Workspace,
    ) -> Vec<T> {
        let mut residual = Vec::with_capacity(velocity.len());
        let mut before = Vec::new();
        model.body_frames(state, &mut before);
        let mut after = before.clone();
        let bodies = model.free_bodies().zip(&state.bodies).zip(forces);
        for ((((index, body, mass), state), force), v) in bodies.zip(velocity.chunks_exact(BODY)) {
            after[index].velocity = Tree::velocity(body.guide(), v);
            let tree = Tree::new(body.guide(), mass, state, dt);
            let free = tree.free_momentum(&state.velocity, force, &model.gravity);
            residual.extend(tree.momentum(v).iter().zip(free).map(|(&a, p)| a - p));
        }
        let settings = DiscreteSettings { contact: &model.contact, model: self.model, dt };
        for (patch, evaluated) in workspace.problem.patches.iter().zip(&workspace.newton.by_patch) {
            let pair = &model.pairs[patch.pair];
            let lambda = |roles: &Roles<T>| match self.model {
                ContactModel::Sap => pair_inverse_inertia(model, state, &workspace.trees, pair, roles, dt),
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
                let Some(tree) = workspace.trees[body] else { continue };
                let about_body = on_body.shifted(&(before[body].pose.translation - origin));
                let all = Tree::projected(model.bodies[body].guide(), &about_body);
                for (r, w) in residual[BODY * tree..BODY * (tree + 1)].iter_mut().zip(all) {
                    *r -= w;
                }
            }
        }
        residual
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
    let after = with_pair(model, after, pair, |query| Some(Roles::new(query)?.v_fo))?;
    with_pair(model, before, pair, |query| {
        let roles = Roles::new(query)?;
        let lambda = inverse_inertia(&roles);
        let shaped = query.a.has_shape_derivatives() || query.b.has_shape_derivatives();
        let on_o = if T::NDERIV == 1 && !shaped {
            // The velocities are constants, or those that the search for contacts saw.
            let (a, b) = (query.a.real(), query.b.real());
            let real = query.real(&a, &b);
            let real = Roles::new(&real)?;
            let local =
                impulse_jacobian(&real, settings, &patch.contacts, contacts, &real.v_fo, &after.real());
            impulse_lifted(&roles, settings, evaluated, &local, &lambda, &roles.v_fo, &after)
        } else {
            let polygons = &contacts.polygons[patch.contacts.polygons.clone()];
            discrete_impulse(&roles, settings, polygons, &lambda, &roles.v_fo, &after)
        };
        let on_o = on_o.rotated(&roles.x_wf.rotation);
        Some((if roles.a_is_o { on_o } else { -on_o }, roles.x_wf.translation))
    })
}

/// The state carried by the velocities at the end of the step.
fn moved<T: Scalar>(model: &Model<T>, state: &State<T>, velocity: &[T], dt: f64) -> State<T> {
    let dt = T::from(dt);
    let bodies = model.free_bodies().zip(&state.bodies).zip(velocity.chunks_exact(BODY));
    let bodies = bodies.map(|(((_, body, _), state), v)| {
        let velocity = Tree::velocity(body.guide(), v);
        BodyState {
            orientation: state.orientation.rotated_by(&(velocity.rotational * dt)),
            position: state.position + velocity.translational * dt,
            velocity,
        }
    });
    State { bodies: bodies.collect() }
}
