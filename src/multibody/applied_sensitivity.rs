//! Derivatives of the user's forces by state, control and inputs of the model, in dual numbers.

use nalgebra::Vector3;

use super::forces::{AppliedForces, StateDependence};
use super::model_gradient::{DIRECTIONS, DifferentiatedModel, SEEDS, SeededModel};
use super::state::{BodyState, State, TANGENT_DIMENSION};
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
    /// Control values.
    pub control: &'a [f64],
}

/// State, control and forces in dual numbers.
#[derive(Debug)]
struct Lifted<const N: usize> {
    state: State<DualArray<N>>,
    control: Vec<DualArray<N>>,
    forces: Vec<SpatialForce<DualArray<N>>>,
}

impl<const N: usize> Default for Lifted<N> {
    fn default() -> Self {
        Self { state: State { bodies: Vec::new() }, control: Vec::new(), forces: Vec::new() }
    }
}

impl<const N: usize> Lifted<N> {
    /// A state and control values as constants, and no forces.
    fn set(&mut self, at: &ForcePoint) {
        self.state.bodies.clear();
        self.state.bodies.extend(at.state.bodies.iter().map(BodyState::lift));
        self.control.clear();
        self.control.extend(at.control.iter().map(|&c| DualArray::from(c)));
        self.clear_forces();
    }

    fn clear_forces(&mut self) {
        self.forces.clear();
        self.forces.resize(self.state.bodies.len(), SpatialForce::zero());
    }

    /// Calls `visit` with the derivative of the force on each body along one direction.
    fn for_each_force(&self, direction: usize, mut visit: impl FnMut(usize, &SpatialForce)) {
        for (body, force) in self.forces.iter().enumerate() {
            let part = |v: &Vector3<DualArray<N>>| v.map(|x| x.eps[direction]);
            visit(body, &SpatialForce::new(part(&force.rotational), part(&force.translational)));
        }
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
    /// A control value.
    Control(usize),
}

/// Calls `visit` with every derivative of the user's forces by state and control that may not be
/// zero: by what, of the force on which free body, and its value.
pub(crate) fn for_each_applied_derivative(
    applied: &impl AppliedForces,
    at: &ForcePoint,
    workspace: &mut AppliedWorkspace,
    mut visit: impl FnMut(AppliedColumn, usize, &SpatialForce),
) {
    // There is a model in dual numbers unless the forces depend on neither state nor control.
    let Some(model) = at.model.constant() else { return };
    let lifted = &mut workspace.directions;
    lifted.set(at);
    match applied.dependence().state {
        StateDependence::None => {}
        StateDependence::SameBody => {
            for (body, real) in lifted.state.bodies.iter_mut().zip(&at.state.bodies) {
                *body = BodyState::lift(real).moved(&all_directions());
            }
            applied.apply(model, &lifted.state, at.time, &lifted.control, &mut lifted.forces);
            for k in 0..TANGENT_DIMENSION {
                lifted.for_each_force(k, |body, force| {
                    visit(AppliedColumn::State(body * TANGENT_DIMENSION + k), body, force);
                });
            }
            lifted.set(at);
        }
        StateDependence::AllBodies => {
            for moved in 0..at.state.bodies.len() {
                let constant = lifted.state.bodies[moved];
                lifted.state.bodies[moved] = constant.moved(&all_directions());
                lifted.clear_forces();
                applied.apply(model, &lifted.state, at.time, &lifted.control, &mut lifted.forces);
                lifted.state.bodies[moved] = constant;
                for k in 0..TANGENT_DIMENSION {
                    let column = AppliedColumn::State(moved * TANGENT_DIMENSION + k);
                    lifted.for_each_force(k, |body, force| visit(column, body, force));
                }
            }
        }
    }
    for first in (0..at.control.len()).step_by(DIRECTIONS) {
        let last = at.control.len().min(first + DIRECTIONS);
        for i in first..last {
            lifted.control[i] = DualArray::variable(at.control[i], i - first);
        }
        lifted.clear_forces();
        applied.apply(model, &lifted.state, at.time, &lifted.control, &mut lifted.forces);
        for i in first..last {
            lifted.control[i] = DualArray::from(at.control[i]);
            lifted.for_each_force(i - first, |body, force| visit(AppliedColumn::Control(i), body, force));
        }
    }
}

/// Calls `visit` with the derivatives of the user's forces through their dependence on the model:
/// by which of [`DifferentiatedModel::inputs`], of the force on which free body, and its value.
pub(crate) fn for_each_applied_derivative_by_input(
    applied: &impl AppliedForces,
    at: &ForcePoint,
    workspace: &mut AppliedWorkspace,
    mut visit: impl FnMut(usize, usize, &SpatialForce),
) {
    let lifted = &mut workspace.seeds;
    for SeededModel { columns, model } in at.model.seen_by_forces() {
        lifted.set(at);
        applied.apply(model, &lifted.state, at.time, &lifted.control, &mut lifted.forces);
        for (k, &column) in columns.iter().enumerate() {
            lifted.for_each_force(k, |body, force| visit(column, body, force));
        }
    }
}

/// [`AppliedForces::add_transposed`] in dual numbers.
pub(super) fn add_transposed_by_duals(
    applied: &impl AppliedForces,
    at: &ForcePoint,
    by_force: &[SpatialForce],
    by_state: &mut [f64],
    by_control: &mut [f64],
    workspace: &mut AppliedWorkspace,
) {
    for_each_applied_derivative(applied, at, workspace, |by_what, body, force| {
        let along = product(&by_force[body], force);
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
    by_force: &[SpatialForce],
    by_inputs: &mut [f64],
    workspace: &mut AppliedWorkspace,
) {
    for_each_applied_derivative_by_input(applied, at, workspace, |column, body, force| {
        by_inputs[column] += product(&by_force[body], force);
    });
}

/// The derivative of a number along a change of a force, given that by the force.
fn product(by: &SpatialForce, change: &SpatialForce) -> f64 {
    by.rotational.dot(&change.rotational) + by.translational.dot(&change.translational)
}
