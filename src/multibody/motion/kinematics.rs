//! Where the bodies and their geometries are, and how fast they move.

use crate::multibody::tree::{Mechanism, Workspace};
use crate::multibody::{BodyGeometry, Model, Motion, State};
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialVelocity};

/// Pose and velocity of a frame in W.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyFrame<T = f64> {
    /// Pose in W.
    pub pose: RigidTransform<T>,
    /// Velocity in W, of the frame's origin.
    pub velocity: SpatialVelocity<T>,
}

impl<T: Scalar> BodyFrame<T> {
    /// The frame of a geometry fixed to the body that has this frame.
    pub fn of_geometry(&self, geometry: &BodyGeometry<T>) -> Self {
        let offset = self.pose.rotation * geometry.x_bg.translation;
        Self { pose: self.pose * geometry.x_bg, velocity: self.velocity.shifted(&offset) }
    }
}

impl BodyFrame {
    /// The frame after `dt` seconds at its velocity, without its turn.
    pub(crate) fn ahead(&self, dt: f64) -> Self {
        let mut pose = self.pose;
        pose.translation += self.velocity.translational * dt;
        Self { pose, ..*self }
    }
}

impl<T: Scalar> Model<T> {
    /// The frames of all bodies, written into `frames`, in the order of [`Model::bodies`].
    ///
    /// With joints it allocates memory for their kinematics: [`Model::update_frames`] reuses it.
    ///
    /// # Panics
    /// When the state does not belong to the model.
    pub fn body_frames(&self, state: &State<T>, frames: &mut Vec<BodyFrame<T>>) {
        self.update_frames(state, frames, &mut JointKinematics::default());
    }

    /// [`Model::body_frames`], with the kinematics of the joints left in `joints`.
    ///
    /// # Panics
    /// When the state does not belong to the model.
    #[inline(never)]
    pub fn update_frames(
        &self,
        state: &State<T>,
        frames: &mut Vec<BodyFrame<T>>,
        joints: &mut JointKinematics<T>,
    ) {
        let workspace = joints.update(&self.mechanism, &state.joints.q, &state.joints.v);
        frames.clear();
        let mut free = state.bodies.iter();
        frames.extend(self.bodies.iter().filter_map(|body| {
            Some(match &body.motion {
                Motion::Fixed { x_wb, v_wb } => BodyFrame { pose: *x_wb, velocity: *v_wb },
                Motion::Free { .. } => {
                    let s = free.next()?;
                    BodyFrame { pose: s.pose(), velocity: s.velocity }
                }
                Motion::Link { link } => BodyFrame {
                    pose: workspace.body_pose(&self.mechanism, *link),
                    velocity: workspace.body_velocity(&self.mechanism, *link),
                },
            })
        }));
        assert_eq!(frames.len(), self.bodies.len(), "a state for each free body");
    }
}

/// The kinematics of a model's joints: memory that is made when it is first needed.
#[derive(Clone, Debug)]
pub struct JointKinematics<T = f64> {
    workspace: Option<Workspace<T>>,
}

impl<T> Default for JointKinematics<T> {
    fn default() -> Self {
        Self { workspace: None }
    }
}

impl<T: Scalar> JointKinematics<T> {
    /// The kinematics at a configuration and a velocity.
    pub fn update(&mut self, mechanism: &Mechanism<T>, q: &[T], v: &[T]) -> &mut Workspace<T> {
        let workspace = self.of(mechanism);
        mechanism.update_kinematics(q, v, workspace);
        workspace
    }

    /// The kinematics of the last update.
    pub fn of(&mut self, mechanism: &Mechanism<T>) -> &mut Workspace<T> {
        let fits = self.workspace.as_ref().is_some_and(|w| w.fits(mechanism));
        if !fits {
            self.workspace = None;
        }
        self.workspace.get_or_insert_with(|| Workspace::new(mechanism))
    }
}
