//! All the forces on free bodies, links and joints, gravity aside.

use super::applied_sensitivity::{AppliedWorkspace, ForcePoint, add_transposed_by_duals};
use super::broad_phase::BroadPhase;
use super::contact_forces::{PairWorkspace, add_contact_forces};
use super::kinematics::{BodyFrame, JointKinematics};
use super::model::Model;
use super::state::State;
use super::tree::JointState;
use crate::scalar::Scalar;
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

    /// Sets all forces to zero.
    pub(crate) fn reset(&mut self, model: &Model<T>) {
        self.bodies.clear();
        self.bodies.resize(model.moving_count(), SpatialForce::zero());
        self.joints.clear();
        self.joints.resize(model.mechanism.velocity_dimension(), T::from(0.0));
    }
}

/// Which states the user's force on a body depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateDependence {
    /// None: it depends on time, control and model alone.
    None,
    /// That of the same body; forces on links and joints on those of the joints.
    SameBody,
    /// Those of any bodies and joints.
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

    /// Adds to `forces` what acts at a state, a time in seconds and [`Self::control_dimension`]
    /// control values (the commands of the model's actuators are not among them).
    fn apply<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        control: &[T],
        forces: &mut Forces<T>,
    );

    /// What the forces depend on. Saying that they depend on less than everything saves time in
    /// gradients, and must be true.
    fn dependence(&self) -> ForceDependence {
        ForceDependence::default()
    }

    /// The transposed derivative by state and control: adds to `by_state` (in the tangent space)
    /// and `by_control` the derivatives of one number, given those by the forces.
    ///
    /// Without an implementation of its own, it evaluates the forces in dual numbers with twelve
    /// directions at a time: once for each body (once for all with
    /// [`StateDependence::SameBody`]), once for every six joint coordinates, and once for every
    /// twelve control values. With very many
    /// control values one by hand is faster.
    fn add_transposed(
        &self,
        at: &ForcePoint,
        by_force: &Forces,
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
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, _: &[T], _: &mut Forces<T>) {}

    fn dependence(&self) -> ForceDependence {
        ForceDependence::NONE
    }
}

/// Memory that the evaluation of forces reuses from one step to the next.
#[derive(Debug)]
pub struct ForceWorkspace<T = f64> {
    /// Frames of all bodies.
    pub(super) frames: Vec<BodyFrame<T>>,
    /// The place among the moving bodies of every body that moves.
    pub(super) moving: Vec<Option<usize>>,
    /// Kinematics of the joints.
    pub(crate) joints: JointKinematics<T>,
    /// Which pairs may touch.
    pub(super) broad_phase: BroadPhase,
    /// Wrench of every pair that may touch, before they are summed.
    pub(super) wrenches: Vec<Option<SpatialForce<T>>>,
    /// Scratch of the contact queries.
    pub(super) contact: PairWorkspace,
    /// The sum.
    forces: Forces<T>,
}

impl<T> Default for ForceWorkspace<T> {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            moving: Vec::new(),
            joints: JointKinematics::default(),
            broad_phase: BroadPhase::default(),
            wrenches: Vec::new(),
            contact: PairWorkspace::default(),
            forces: Forces::default(),
        }
    }
}

/// The forces from contact, actuators under their commands (which come first in `control`),
/// stops, and the user, without gravity, and without the joints' own damping and springs.
///
/// It leaves the kinematics of the joints in the workspace.
pub fn total_forces<'w, T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    time: f64,
    applied: &impl AppliedForces,
    control: &[T],
    workspace: &'w mut ForceWorkspace<T>,
) -> (&'w Forces<T>, &'w mut JointKinematics<T>) {
    let mut forces = std::mem::take(&mut workspace.forces);
    forces.reset(model);
    add_contact_forces(model, state, workspace, &mut forces.bodies);
    let (commands, control) = control.split_at(model.command_dimension());
    add_drives_and_applied(model, state, time, applied, commands, control, &mut forces);
    workspace.forces = forces;
    (&workspace.forces, &mut workspace.joints)
}

/// Adds the forces of actuators, stops and the user.
pub(super) fn add_drives_and_applied<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    time: f64,
    applied: &impl AppliedForces,
    commands: &[T],
    control: &[T],
    forces: &mut Forces<T>,
) {
    let JointState { q, v, .. } = &state.joints;
    model.for_each_joint_law(commands, |at, law| forces.joints[at.v] += law.force(q[at.q], v[at.v]));
    applied.apply(model, state, time, control, forces);
}
