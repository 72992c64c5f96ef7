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

    /// The derivatives along all directions of one number, given those by the force on one body.
    fn along(&self, body: usize, by_force: &SpatialForce) -> [f64; N] {
        let mut sum = [0.0; N];
        let force = &self.forces[body];
        let dot = |sum: &mut [f64; N], by: &Vector3<f64>, v: &Vector3<DualArray<N>>| {
            for row in 0..3 {
                for k in 0..N {
                    sum[k] += by[row] * v[row].eps[k];
                }
            }
        };
        dot(&mut sum, &by_force.rotational, &force.rotational);
        dot(&mut sum, &by_force.translational, &force.translational);
        sum
    }

    /// Calls `visit` with the derivative of the force on each body along one direction.
    fn for_each_force(&self, direction: usize, mut visit: impl FnMut(usize, &SpatialForce)) {
        for (body, force) in self.forces.iter().enumerate() {
            let part = |v: &Vector3<DualArray<N>>| v.map(|x| x.eps[direction]);
            visit(body, &SpatialForce::new(part(&force.rotational), part(&force.translational)));
        }
    }

    /// The same, summed over bodies.
    fn along_all(&self, by_force: &[SpatialForce]) -> [f64; N] {
        let mut sum = [0.0; N];
        for (body, by_force) in by_force.iter().enumerate() {
            let one = self.along(body, by_force);
            sum.iter_mut().zip(one).for_each(|(sum, x)| *sum += x);
        }
        sum
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

/// [`AppliedForces::add_transposed`] in dual numbers.
pub(super) fn add_transposed_by_duals(
    applied: &impl AppliedForces,
    at: &ForcePoint,
    by_force: &[SpatialForce],
    by_state: &mut [f64],
    by_control: &mut [f64],
    workspace: &mut AppliedWorkspace,
) {
    // There is a model in dual numbers unless the forces depend on neither state nor control.
    let Some(model) = at.model.constant() else { return };
    let lifted = &mut workspace.directions;
    lifted.set(at);
    let bodies = at.state.bodies.len();
    match applied.dependence().state {
        StateDependence::None => {}
        StateDependence::SameBody => {
            for (body, real) in lifted.state.bodies.iter_mut().zip(&at.state.bodies) {
                *body = BodyState::lift(real).moved(&all_directions());
            }
            applied.apply(model, &lifted.state, at.time, &lifted.control, &mut lifted.forces);
            for body in 0..bodies {
                let along = lifted.along(body, &by_force[body]);
                let out = &mut by_state[body * TANGENT_DIMENSION..(body + 1) * TANGENT_DIMENSION];
                out.iter_mut().zip(along).for_each(|(out, x)| *out += x);
            }
            lifted.set(at);
        }
        StateDependence::AllBodies => {
            for body in 0..bodies {
                let constant = lifted.state.bodies[body];
                lifted.state.bodies[body] = constant.moved(&all_directions());
                lifted.clear_forces();
                applied.apply(model, &lifted.state, at.time, &lifted.control, &mut lifted.forces);
                lifted.state.bodies[body] = constant;
                let along = lifted.along_all(by_force);
                let out = &mut by_state[body * TANGENT_DIMENSION..(body + 1) * TANGENT_DIMENSION];
                out.iter_mut().zip(along).for_each(|(out, x)| *out += x);
            }
        }
    }
    for (chunk, out) in by_control.chunks_mut(DIRECTIONS).enumerate() {
        let first = chunk * DIRECTIONS;
        for k in 0..out.len() {
            lifted.control[first + k] = DualArray::variable(at.control[first + k], k);
        }
        lifted.clear_forces();
        applied.apply(model, &lifted.state, at.time, &lifted.control, &mut lifted.forces);
        for k in 0..out.len() {
            lifted.control[first + k] = DualArray::from(at.control[first + k]);
        }
        let along = lifted.along_all(by_force);
        out.iter_mut().zip(along).for_each(|(out, x)| *out += x);
    }
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
    let lifted = &mut workspace.seeds;
    for SeededModel { columns, model } in at.model.seen_by_forces() {
        lifted.set(at);
        applied.apply(model, &lifted.state, at.time, &lifted.control, &mut lifted.forces);
        for (&column, x) in columns.iter().zip(lifted.along_all(by_force)) {
            by_inputs[column] += x;
        }
    }
}

/// What a force is differentiated by: a direction of the state's tangent space, a control value,
/// one of [`DifferentiatedModel::inputs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppliedColumn {
    State(usize),
    Control(usize),
    Input(usize),
}

/// Calls `visit` with every derivative of the user's forces that may not be zero: by what, of the
/// force on which free body, and its value.
pub(crate) fn for_each_applied_derivative(
    applied: &impl AppliedForces,
    at: &ForcePoint,
    workspace: &mut AppliedWorkspace,
    mut visit: impl FnMut(AppliedColumn, usize, &SpatialForce),
) {
    let inputs = &mut workspace.seeds;
    for SeededModel { columns, model } in at.model.seen_by_forces() {
        inputs.set(at);
        applied.apply(model, &inputs.state, at.time, &inputs.control, &mut inputs.forces);
        for (k, &column) in columns.iter().enumerate() {
            inputs.for_each_force(k, |body, force| visit(AppliedColumn::Input(column), body, force));
        }
    }
    let Some(model) = at.model.constant() else { return };
    let lifted = &mut workspace.directions;
    lifted.set(at);
    let dependence = applied.dependence().state;
    if dependence != StateDependence::None {
        for body in 0..at.state.bodies.len() {
            let constant = lifted.state.bodies[body];
            lifted.state.bodies[body] = constant.moved(&all_directions());
            lifted.clear_forces();
            applied.apply(model, &lifted.state, at.time, &lifted.control, &mut lifted.forces);
            lifted.state.bodies[body] = constant;
            for k in 0..TANGENT_DIMENSION {
                let column = AppliedColumn::State(body * TANGENT_DIMENSION + k);
                lifted.for_each_force(k, |on, force| visit(column, on, force));
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
            lifted.for_each_force(i - first, |on, force| visit(AppliedColumn::Control(i), on, force));
        }
    }
}
