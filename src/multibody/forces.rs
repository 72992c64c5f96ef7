//! All the forces on the free bodies, gravity aside.

use super::applied_sensitivity::{AppliedWorkspace, ForcePoint, add_transposed_by_duals};
use super::broad_phase::BroadPhase;
use super::contact_forces::{PairWorkspace, add_contact_forces};
use super::kinematics::BodyFrame;
use super::model::Model;
use super::state::State;
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// Which states the user's force on a body depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateDependence {
    /// None: it depends on time, control and model alone.
    None,
    /// That of the same body.
    SameBody,
    /// Those of any bodies.
    #[default]
    AllBodies,
}

/// What the user's forces depend on besides time and control: derivatives by anything else are
/// not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForceDependence {
    /// The states that the force on a body depends on.
    pub state: StateDependence,
    /// Whether the forces depend on the model's numbers: materials, masses, gravity, geometries.
    pub model: bool,
}

impl Default for ForceDependence {
    /// On everything.
    fn default() -> Self {
        Self { state: StateDependence::AllBodies, model: true }
    }
}

impl ForceDependence {
    /// On time and control alone.
    pub const NONE: Self = Self { state: StateDependence::None, model: false };

    /// Whether there is a derivative by a state.
    pub fn has_state(&self) -> bool {
        self.state != StateDependence::None
    }
}

/// Forces that the user applies: thrusters, springs, controllers.
///
/// A trait with a generic method, and not a closure, because the same law has to be evaluated
/// in `f64` and in dual numbers.
pub trait AppliedForces: Sync {
    /// How many control values a step has. The forces may depend on them; they are constant
    /// over a step.
    fn control_dimension(&self) -> usize {
        0
    }

    /// Adds to `forces`, one for each free body, about the body's origin and in W, what acts at
    /// a state, a time in seconds and [`Self::control_dimension`] control values.
    fn apply<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        control: &[T],
        forces: &mut [SpatialForce<T>],
    );

    /// What the forces depend on. Saying that they depend on less than everything saves time in
    /// gradients, and must be true.
    fn dependence(&self) -> ForceDependence {
        ForceDependence::default()
    }

    /// The transposed derivative by state and control: adds to `by_state` (twelve numbers for
    /// each free body) and `by_control` the derivatives of one number, given those by the
    /// spatial force on each free body.
    ///
    /// Without an implementation of its own, it evaluates the forces in dual numbers with twelve
    /// directions at a time: once for each body (once for all with
    /// [`StateDependence::SameBody`]), and once for every twelve control values. With very many
    /// control values one by hand is faster.
    fn add_transposed(
        &self,
        at: &ForcePoint,
        by_force: &[SpatialForce],
        by_state: &mut [f64],
        by_control: &mut [f64],
        workspace: &mut AppliedWorkspace,
    ) where
        Self: Sized,
    {
        add_transposed_by_duals(self, at, by_force, by_state, by_control, workspace);
    }
}

/// No forces but gravity and contact.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoForces;

impl AppliedForces for NoForces {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, _: &[T], _: &mut [SpatialForce<T>]) {}

    fn dependence(&self) -> ForceDependence {
        ForceDependence::NONE
    }
}

/// Memory that the evaluation of forces reuses from one step to the next.
#[derive(Debug)]
pub struct ForceWorkspace<T = f64> {
    /// Frames of all bodies.
    pub(super) frames: Vec<BodyFrame<T>>,
    /// The place in a state of every body that is free.
    pub(super) free: Vec<Option<usize>>,
    /// Which pairs may touch.
    pub(super) broad_phase: BroadPhase,
    /// Wrench of every pair that may touch, before they are summed.
    pub(super) wrenches: Vec<Option<SpatialForce<T>>>,
    /// Scratch of the contact queries.
    pub(super) contact: PairWorkspace,
    /// Force on each free body, about its origin, in W.
    forces: Vec<SpatialForce<T>>,
}

impl<T> Default for ForceWorkspace<T> {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            free: Vec::new(),
            broad_phase: BroadPhase::default(),
            wrenches: Vec::new(),
            contact: PairWorkspace::default(),
            forces: Vec::new(),
        }
    }
}

/// The force on each free body about its origin, in W, from contact and from the user, without
/// gravity.
pub fn total_forces<'w, T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    time: f64,
    applied: &impl AppliedForces,
    control: &[T],
    workspace: &'w mut ForceWorkspace<T>,
) -> &'w [SpatialForce<T>] {
    let mut forces = std::mem::take(&mut workspace.forces);
    forces.clear();
    forces.resize(state.bodies.len(), SpatialForce::zero());
    add_contact_forces(model, state, workspace, &mut forces);
    applied.apply(model, state, time, control, &mut forces);
    workspace.forces = forces;
    &workspace.forces
}
