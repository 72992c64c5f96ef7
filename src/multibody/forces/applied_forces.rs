//! Forces that the user applies, and their derivatives with respect to state, control and parameters of
//! the model, in dual numbers.

use std::fmt;

use super::force_values::{
    AppliedColumn, AppliedWorkspace, ForceEntry, ForcePoint, Forces, Lifted, for_each_force,
};
use super::load_forces::for_each_load_derivative;
use crate::multibody::{
    BodyState, DIRECTIONS, ForceDependence, Model, SEEDS, SeededModel, State, StateDependence,
    TANGENT_DIMENSION, for_each_tangent_chunk,
};
use crate::scalar::{CHUNK, DualArray, Scalar};

/// Forces that the user applies: thrusters, springs, controllers.
///
/// This is a trait with a generic method and not a closure, because the same force is evaluated in `f64`
/// and in dual numbers.
///
/// # Examples
/// A thruster that carries the weight of a body:
/// ```
/// use isobar::multibody::{AppliedForces, Body, BodyState, Forces, MassSource, Model, ModelBuilder, State};
/// use isobar::scalar::Scalar;
/// use isobar::spatial::{MassProperties, RigidTransform};
/// use isobar::step::{Integrator, StepProblem, StepWorkspace};
/// use nalgebra::{Matrix3, Vector3};
///
/// struct Thruster;
///
/// impl AppliedForces for Thruster {
///     fn control_dimension(&self) -> usize {
///         1
///     }
///
///     fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, thrust: &[T], forces: &mut Forces<T>) {
///         forces.bodies[0].translational.z += thrust[0];
///     }
/// }
///
/// let mass = MassProperties { mass: 2.0, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() };
/// let body = Body::free("drone", MassSource::Given(mass), vec![])?;
/// let model = ModelBuilder { bodies: vec![body], ..Default::default() }.build()?;
/// let start = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::identity())]);
/// let step = StepProblem { control: &[2.0 * 9.81], ..StepProblem::new(&model, &start, 0.01) };
/// let after = Integrator::RungeKutta4.step(&step.under(&Thruster), &mut StepWorkspace::default())?;
/// assert!(after.bodies[0].velocity.translational.norm() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait AppliedForces: Sync {
    /// Number of control values that the forces take in each step. They are constant over a step.
    fn control_dimension(&self) -> usize {
        0
    }

    /// Adds to `forces` the forces that act at a state, at a time in seconds and under
    /// [`Self::control_dimension`] control values. The commands of the model's actuators are not among
    /// these values.
    fn apply<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        control: &[T],
        forces: &mut Forces<T>,
    );

    /// The quantities that the forces depend on. Naming fewer than all saves time in gradients, but the
    /// answer must be true: derivatives with respect to other quantities are not computed.
    fn dependence(&self) -> ForceDependence {
        ForceDependence::default()
    }

    /// The vector–Jacobian product with respect to state and control: adds to `by_state` (in the tangent
    /// space) and `by_control` the derivatives of one number, given those with respect to the forces.
    ///
    /// The provided implementation evaluates the forces in dual numbers with twelve directions at a
    /// time: once for each body (once for all bodies with
    /// [`SameBody`](crate::multibody::StateDependence::SameBody)), once for every six joint coordinates, and once
    /// for every twelve control values. With very many control values an implementation by hand is
    /// faster.
    fn add_vjp(
        &self,
        at: &ForcePoint,
        by_force: &Forces,
        by_state: &mut [f64],
        by_control: &mut [f64],
        workspace: &mut AppliedWorkspace,
    ) where
        Self: Sized,
    {
        add_vjp_by_duals(self, at, by_force, by_state, by_control, workspace);
    }
}

/// [`AppliedForces`] in one scalar, as an object: all of them are, in every scalar.
///
/// Steps and simulations take the user's forces in this form, so that they are compiled once and not once for each kind
/// of forces.
pub trait ForcesIn<T>: Sync {
    /// [`AppliedForces::control_dimension`].
    fn controls(&self) -> usize;

    /// [`AppliedForces::apply`].
    fn add_to(&self, model: &Model<T>, state: &State<T>, time: f64, control: &[T], forces: &mut Forces<T>);

    /// The same forces with what their derivatives need.
    fn differentiable(&self) -> &dyn DifferentiableForces;
}

impl<A: AppliedForces, T: Scalar> ForcesIn<T> for A {
    fn controls(&self) -> usize {
        self.control_dimension()
    }

    fn add_to(&self, model: &Model<T>, state: &State<T>, time: f64, control: &[T], forces: &mut Forces<T>) {
        self.apply(model, state, time, control, forces);
    }

    fn differentiable(&self) -> &dyn DifferentiableForces {
        self
    }
}

impl<T> fmt::Debug for dyn ForcesIn<T> + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("forces")
    }
}

/// [`AppliedForces`] as an object, with all that derivatives of steps ask of them: their values in the dual numbers that
/// isobar itself works with, what they depend on, and their vector–Jacobian product.
pub trait DifferentiableForces:
    ForcesIn<f64> + ForcesIn<DualArray<SEEDS>> + ForcesIn<DualArray<CHUNK>> + ForcesIn<DualArray<DIRECTIONS>>
{
    /// [`AppliedForces::dependence`].
    fn force_dependence(&self) -> ForceDependence;

    /// [`AppliedForces::add_vjp`].
    fn add_force_vjp(
        &self,
        at: &ForcePoint,
        by_force: &Forces,
        by_state: &mut [f64],
        by_control: &mut [f64],
        workspace: &mut AppliedWorkspace,
    );
}

impl fmt::Debug for dyn DifferentiableForces + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("forces")
    }
}

impl<A: AppliedForces> DifferentiableForces for A {
    fn force_dependence(&self) -> ForceDependence {
        self.dependence()
    }

    fn add_force_vjp(
        &self,
        at: &ForcePoint,
        by_force: &Forces,
        by_state: &mut [f64],
        by_control: &mut [f64],
        workspace: &mut AppliedWorkspace,
    ) {
        self.add_vjp(at, by_force, by_state, by_control, workspace);
    }
}

/// No forces but gravity and contact.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoForces;

impl AppliedForces for NoForces {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, _: &[T], _: &mut Forces<T>) {}

    fn dependence(&self) -> ForceDependence {
        ForceDependence::NONE
    }
}

/// All twelve directions of the tangent space of a free body.
fn all_directions() -> [DualArray<DIRECTIONS>; TANGENT_DIMENSION] {
    std::array::from_fn(|k| DualArray::variable(0.0, k))
}

/// Calls `visit` with every derivative of the model's loads and actuators on free bodies and of the user's forces that may
/// not be zero: by what, and of which force.
pub(crate) fn for_each_applied_derivative(
    applied: &dyn DifferentiableForces,
    at: &ForcePoint,
    workspace: &mut AppliedWorkspace,
    visit: &mut dyn FnMut(AppliedColumn, ForceEntry),
) {
    for_each_load_derivative(at, visit);
    for_each_user_derivative(applied, at, workspace, visit);
    for_each_user_derivative_by_parameter(applied, at, workspace, &mut |column, entry| {
        visit(AppliedColumn::Parameter(column), entry);
    });
}

/// Calls `visit` with those of the user's forces with respect to state and control.
fn for_each_user_derivative(
    applied: &dyn DifferentiableForces,
    at: &ForcePoint,
    workspace: &mut AppliedWorkspace,
    visit: &mut dyn FnMut(AppliedColumn, ForceEntry),
) {
    // There is a model in dual numbers unless the forces depend on neither state nor control.
    let Some(model) = at.model.constant() else { return };
    let Lifted { state, control, forces } = &mut workspace.directions;
    control.clear();
    control.extend(at.control.iter().map(|&c| DualArray::from(c)));
    let dependence = applied.force_dependence().state;
    let same_body = dependence == StateDependence::SameBody;
    if same_body {
        state.assign(at.state);
        for (body, real) in state.bodies.iter_mut().zip(&at.state.bodies) {
            *body = BodyState::lift(real).moved(&all_directions());
        }
        forces.reset(model);
        applied.add_to(model, state, at.time, control, forces);
        for k in 0..TANGENT_DIMENSION {
            for_each_force(forces, k, |entry| {
                if let ForceEntry::Body(body, _) = entry
                    && body < at.state.bodies.len()
                {
                    visit(AppliedColumn::State(body * TANGENT_DIMENSION + k), entry);
                }
            });
        }
    }
    if dependence != StateDependence::None {
        for_each_tangent_chunk(at.state, state, &mut |state, directions| {
            if same_body && directions.start < at.state.body_tangent_dimension() {
                return;
            }
            forces.reset(model);
            applied.add_to(model, state, at.time, control, forces);
            for (k, column) in directions.enumerate() {
                for_each_force(forces, k, |entry| visit(AppliedColumn::State(column), entry));
            }
        });
    }
    state.assign(at.state);
    for first in (0..at.control.len()).step_by(DIRECTIONS) {
        let last = at.control.len().min(first + DIRECTIONS);
        for i in first..last {
            control[i] = DualArray::variable(at.control[i], i - first);
        }
        forces.reset(model);
        applied.add_to(model, state, at.time, control, forces);
        for i in first..last {
            control[i] = DualArray::from(at.control[i]);
            for_each_force(forces, i - first, |entry| visit(AppliedColumn::Control(i), entry));
        }
    }
}

/// Calls `visit` with the derivatives of the user's forces through their dependence on the model:
/// by which of [`ForcePoint::model`]'s parameters, and of which force.
fn for_each_user_derivative_by_parameter(
    applied: &dyn DifferentiableForces,
    at: &ForcePoint,
    workspace: &mut AppliedWorkspace,
    visit: &mut dyn FnMut(usize, ForceEntry),
) {
    let lifted = &mut workspace.seeds;
    for SeededModel { columns, model } in at.model.seen_by_forces() {
        lifted.set(at);
        let Lifted { state, control, forces } = lifted;
        forces.reset(model);
        applied.add_to(model, state, at.time, control, forces);
        for (k, &column) in columns.iter().enumerate() {
            for_each_force(forces, k, |entry| visit(column, entry));
        }
    }
}

/// [`AppliedForces::add_vjp`] in dual numbers.
fn add_vjp_by_duals(
    applied: &dyn DifferentiableForces,
    at: &ForcePoint,
    by_force: &Forces,
    by_state: &mut [f64],
    by_control: &mut [f64],
    workspace: &mut AppliedWorkspace,
) {
    for_each_user_derivative(applied, at, workspace, &mut |by_what, entry| {
        let along = entry.along(by_force);
        match by_what {
            AppliedColumn::State(k) => by_state[k] += along,
            AppliedColumn::Control(k) => by_control[k] += along,
            AppliedColumn::Command(_) | AppliedColumn::Parameter(_) => {}
        }
    });
}

/// Adds to `by_parameters` (one for each of [`ForcePoint::model`]'s parameters) the derivatives of one
/// number through the dependence of the user's forces on the model.
pub(super) fn add_vjp_by_parameters(
    applied: &dyn DifferentiableForces,
    at: &ForcePoint,
    by_force: &Forces,
    by_parameters: &mut [f64],
    workspace: &mut AppliedWorkspace,
) {
    for_each_user_derivative_by_parameter(applied, at, workspace, &mut |column, entry| {
        by_parameters[column] += entry.along(by_force);
    });
}
