//! Forces as numbers: on all that moves, in dual numbers where they are evaluated, and their
//! derivatives one by one.

use nalgebra::Vector3;

use crate::multibody::{DIRECTIONS, DifferentiatedModel, FoundSurfaces, Model, SEEDS, State};
use crate::scalar::{DualArray, Scalar};
use crate::spatial::SpatialForce;

/// Forces on all that moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Forces<T = f64> {
    /// On each moving body, about its origin and in W: free bodies first, in the order of a
    /// state's bodies, then links (see [`Model::moving_index`]).
    pub bodies: Vec<SpatialForce<T>>,
    /// Along each velocity coordinate of the joints, N m or N.
    pub joints: Vec<T>,
}

impl<T> Default for Forces<T> {
    fn default() -> Self {
        Self { bodies: Vec::new(), joints: Vec::new() }
    }
}

impl<T: Scalar> Forces<T> {
    /// No forces on what a model has that moves.
    pub fn zero(model: &Model<T>) -> Self {
        let mut forces = Self::default();
        forces.reset(model);
        forces
    }

    /// Writes the forces without their derivatives into `to`.
    pub(crate) fn write_real(&self, to: &mut Forces) {
        to.bodies.clear();
        to.bodies.extend(self.bodies.iter().map(SpatialForce::real));
        to.joints.clear();
        to.joints.extend(self.joints.iter().map(|f| f.real()));
    }

    /// Sets all forces to zero.
    pub(crate) fn reset(&mut self, model: &Model<T>) {
        self.bodies.clear();
        self.bodies.resize(model.moving_count(), SpatialForce::zero());
        self.joints.clear();
        self.joints.resize(model.mechanism.velocity_dimension(), T::from(0.0));
    }
}

/// One of [`Forces`], or its derivative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ForceEntry {
    /// On a moving body.
    Body(usize, SpatialForce),
    /// Along a velocity coordinate of the joints.
    Joint(usize, f64),
}

impl ForceEntry {
    /// The derivative of a number along this change of a force, given those with respect to the forces.
    pub fn along(&self, by_force: &Forces) -> f64 {
        match self {
            Self::Body(body, change) => {
                let by = &by_force.bodies[*body];
                by.rotational.dot(&change.rotational) + by.translational.dot(&change.translational)
            }
            Self::Joint(coordinate, change) => by_force.joints[*coordinate] * change,
        }
    }
}

/// What a force is differentiated with respect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppliedColumn {
    /// A direction of the state's tangent space.
    State(usize),
    /// The command of one of the model's actuators.
    Command(usize),
    /// One of the control values of the user's forces.
    Control(usize),
    /// One of [`ForcePoint::model`]'s parameters.
    Parameter(usize),
}

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
    /// Where the contact surfaces lie, if they have been found before.
    pub(crate) surfaces: Option<&'a FoundSurfaces>,
    /// The state that the step starts from, and its length, s, of forces within a step.
    pub(crate) step: Option<(&'a State, f64)>,
}

/// State, control and forces in dual numbers.
#[derive(Debug)]
pub(super) struct Lifted<const N: usize> {
    pub state: State<DualArray<N>>,
    pub control: Vec<DualArray<N>>,
    pub forces: Forces<DualArray<N>>,
}

impl<const N: usize> Default for Lifted<N> {
    fn default() -> Self {
        Self { state: State::default(), control: Vec::new(), forces: Forces::default() }
    }
}

impl<const N: usize> Lifted<N> {
    /// A state and control values as constants.
    pub fn set(&mut self, at: &ForcePoint) {
        self.state.assign(at.state);
        self.control.clear();
        self.control.extend(at.control.iter().map(|&c| DualArray::from(c)));
    }
}

/// Calls `visit` with the derivative of every force along one direction.
pub(super) fn for_each_force<const N: usize>(
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
    pub(super) directions: Lifted<DIRECTIONS>,
    pub(super) seeds: Lifted<SEEDS>,
}
