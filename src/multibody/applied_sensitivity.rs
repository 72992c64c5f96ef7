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
