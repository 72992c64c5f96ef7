//! Derivatives of the user's forces by state, control and inputs of the model, in dual numbers.

use nalgebra::Vector3;

use super::applied_forces::{AppliedForces, Forces};
use super::force_dependence::StateDependence;
use super::model_gradient::{DIRECTIONS, DifferentiatedModel, SEEDS, SeededModel};
use super::state::{BodyState, State, TANGENT_DIMENSION, for_each_tangent_chunk};
use crate::scalar::DualArray;
use crate::spatial::SpatialForce;

/// Where forces are evaluated.
#[derive(Clone, Copy, Debug)]
pub struct ForcePoint<'a> {
    /// The model.
    pub model: &'a DifferentiatedModel<'a>,
    /// The state.
    pub state: &'a State,
    /// Time, s.
    pub time: f64,
    /// Commands of the model's actuators.
    pub commands: &'a [f64],
    /// Control values of the user's forces.
    pub control: &'a [f64],
}

/// State, control and forces in dual numbers.
#[derive(Debug)]
struct Lifted<const N: usize> {
    state: State<DualArray<N>>,
    control: Vec<DualArray<N>>,
    forces: Forces<DualArray<N>>,
}

impl<const N: usize> Default for Lifted<N> {
    fn default() -> Self {
        Self { state: State::default(), control: Vec::new(), forces: Forces::default() }
    }
}

impl<const N: usize> Lifted<N> {
    /// A state and control values as constants.
    fn set(&mut self, at: &ForcePoint) {
        self.state.assign(at.state);
        self.control.clear();
        self.control.extend(at.control.iter().map(|&c| DualArray::from(c)));
    }
}

/// Calls `visit` with the derivative of every force along one direction.
fn for_each_force<const N: usize>(
    forces: &Forces<DualArray<N>>,
    direction: usize,
    mut visit: impl FnMut(ForceEntry),
) {
    for (body, force) in forces.bodies.iter().enumerate() {
        let part = |v: &Vector3<DualArray<N>>| v.map(|x| x.eps[direction]);
        visit(ForceEntry::Body(body, SpatialForce::new(part(&force.rotational), part(&force.translational))));
    }
    for (coordinate, force) in forces.joints.iter().enumerate() {
        visit(ForceEntry::Joint(coordinate, force.eps[direction]));
    }
}

/// Memory that the derivatives of the user's forces reuse from one evaluation to the next.
#[derive(Debug, Default)]
pub struct AppliedWorkspace {
    directions: Lifted<DIRECTIONS>,
    seeds: Lifted<SEEDS>,
}

/// All twelve directions of a body's tangent space.
fn all_directions() -> [DualArray<DIRECTIONS>; TANGENT_DIMENSION] {
    std::array::from_fn(|k| DualArray::variable(0.0, k))
}

/// What a force is differentiated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppliedColumn {
    /// A direction of the state's tangent space.
    State(usize),
    /// One of the control values of the user's forces.
    Control(usize),
}

/// One of [`Forces`], or its derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ForceEntry {
    /// On a moving body.
    Body(usize, SpatialForce),
    /// Along a velocity coordinate of the joints.
    Joint(usize, f64),
}

/// Calls `visit` with every derivative of the user's forces by state and control that may not be
/// zero: by what, and of which force.
pub(crate) fn for_each_applied_derivative(
    applied: &impl AppliedForces,
    at: &ForcePoint,
    workspace: &mut AppliedWorkspace,
    mut visit: impl FnMut(AppliedColumn, ForceEntry),
) {
    // There is a model in dual numbers unless the forces depend on neither state nor control.
    let Some(model) = at.model.constant() else { return };
    let Lifted { state, control, forces } = &mut workspace.directions;
    control.clear();
    control.extend(at.control.iter().map(|&c| DualArray::from(c)));
    let dependence = applied.dependence().state;
    let same_body = dependence == StateDependence::SameBody;
    if same_body {
        state.assign(at.state);
        for (body, real) in state.bodies.iter_mut().zip(&at.state.bodies) {
            *body = BodyState::lift(real).moved(&all_directions());
        }
        forces.reset(model);
        applied.apply(model, state, at.time, control, forces);
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
        for_each_tangent_chunk(at.state, state, |state, directions| {
            if same_body && directions.start < at.state.body_tangent_dimension() {
                return;
            }
            forces.reset(model);
            applied.apply(model, state, at.time, control, forces);
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
        applied.apply(model, state, at.time, control, forces);
        for i in first..last {
            control[i] = DualArray::from(at.control[i]);
            for_each_force(forces, i - first, |entry| visit(AppliedColumn::Control(i), entry));
        }
    }
}

/// Calls `visit` with the derivatives of the user's forces through their dependence on the model:
/// by which of [`DifferentiatedModel::inputs`], and of which force.
pub(crate) fn for_each_applied_derivative_by_input(
    applied: &impl AppliedForces,
    at: &ForcePoint,
    workspace: &mut AppliedWorkspace,
    mut visit: impl FnMut(usize, ForceEntry),
) {
    let lifted = &mut workspace.seeds;
    for SeededModel { columns, model } in at.model.seen_by_forces() {
        lifted.set(at);
        let Lifted { state, control, forces } = lifted;
        forces.reset(model);
        applied.apply(model, state, at.time, control, forces);
        for (k, &column) in columns.iter().enumerate() {
            for_each_force(forces, k, |entry| visit(column, entry));
        }
    }
}

/// [`AppliedForces::add_transposed`] in dual numbers.
pub(super) fn add_transposed_by_duals(
    applied: &impl AppliedForces,
    at: &ForcePoint,
    by_force: &Forces,
    by_state: &mut [f64],
    by_control: &mut [f64],
    workspace: &mut AppliedWorkspace,
) {
    for_each_applied_derivative(applied, at, workspace, |by_what, entry| {
        let along = entry.along(by_force);
        match by_what {
            AppliedColumn::State(k) => by_state[k] += along,
            AppliedColumn::Control(k) => by_control[k] += along,
        }
    });
}

/// Adds to `by_inputs` (one for each of [`DifferentiatedModel::inputs`]) the derivatives of one
/// number through the dependence of the user's forces on the model.
pub(super) fn add_transposed_by_inputs(
    applied: &impl AppliedForces,
    at: &ForcePoint,
    by_force: &Forces,
    by_inputs: &mut [f64],
    workspace: &mut AppliedWorkspace,
) {
    for_each_applied_derivative_by_input(applied, at, workspace, |column, entry| {
        by_inputs[column] += entry.along(by_force);
    });
}

impl ForceEntry {
    /// The derivative of a number along this change of a force, given those by the forces.
    fn along(&self, by_force: &Forces) -> f64 {
        match self {
            Self::Body(body, change) => {
                let by = &by_force.bodies[*body];
                by.rotational.dot(&change.rotational) + by.translational.dot(&change.translational)
            }
            Self::Joint(coordinate, change) => by_force.joints[*coordinate] * change,
        }
    }
}
