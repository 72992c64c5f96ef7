//! Sensors: what can be measured at a state of joints, of bodies, and of the contact of a pair of
//! bodies. All measurements carry derivatives, so that costs and feedback laws can be built from them.

use nalgebra::Vector3;

use super::contact_forces::{BodyPairContact, PairWorkspace};
use crate::multibody::{BodyFrame, BodyPair, GeometryPair, JointKinematics, Model, State};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// Memory that sensors reuse from one reading to the next.
#[derive(Debug)]
pub struct SensorWorkspace<T = f64> {
    frames: Vec<BodyFrame<T>>,
    joints: JointKinematics<T>,
    contact: PairWorkspace,
}

impl<T> Default for SensorWorkspace<T> {
    fn default() -> Self {
        Self { frames: Vec::new(), joints: JointKinematics::default(), contact: PairWorkspace::default() }
    }
}

impl<T: Scalar> Model<T> {
    /// The configuration of a joint, at `joint` in the model's mechanism (see
    /// [`JointKind`](crate::multibody::tree::JointKind)): rad, m, or a quaternion; nothing of one that follows another.
    ///
    /// # Panics
    /// When there is no such joint.
    pub fn joint_position<'s>(&self, state: &'s State<T>, joint: usize) -> &'s [T] {
        &state.joints.q[self.mechanism.joints()[joint].q.clone()]
    }

    /// The velocity of a joint, at `joint` in the model's mechanism: rad/s or m/s; nothing of one
    /// that follows another.
    ///
    /// # Panics
    /// When there is no such joint.
    pub fn joint_velocity<'s>(&self, state: &'s State<T>, joint: usize) -> &'s [T] {
        &state.joints.v[self.mechanism.joints()[joint].v.clone()]
    }

    /// Pose and velocity in W of a body of the model, fixed, free or on joints.
    ///
    /// # Panics
    /// When there is no such body.
    pub fn body_frame(
        &self,
        state: &State<T>,
        body: usize,
        workspace: &mut SensorWorkspace<T>,
    ) -> BodyFrame<T> {
        self.update_frames(state, &mut workspace.frames, &mut workspace.joints);
        workspace.frames[body]
    }

    /// The contact of two bodies: wrench on `bodies.a` about its origin in W, area and centroid.
    ///
    /// The wrench is that of the pressure fields at this state, with dissipation and friction at its
    /// velocities. The impulse of an implicit step belongs to the velocities after the step, and differs
    /// from this where velocities change much.
    ///
    /// Two bodies that are left out of contact or are both fixed have none.
    pub fn pair_contact(
        &self,
        state: &State<T>,
        bodies: BodyPair,
        workspace: &mut SensorWorkspace<T>,
    ) -> BodyPairContact<T> {
        let SensorWorkspace { frames, joints, contact } = workspace;
        self.update_frames(state, frames, joints);
        let pairs: Vec<GeometryPair> = self.pairs_of(bodies).copied().collect();
        self.body_pair_contact(frames, &pairs, contact)
    }

    /// The contact wrench that body `from` exerts on body `on`, about the origin of `on`, in W. It
    /// belongs to the same state as the wrench of [`Model::pair_contact`].
    pub fn contact_wrench(
        &self,
        state: &State<T>,
        on: usize,
        from: usize,
        workspace: &mut SensorWorkspace<T>,
    ) -> SpatialForce<T> {
        let SensorWorkspace { frames, joints, contact } = workspace;
        self.update_frames(state, frames, joints);
        self.contact_wrench_on(frames, on, self.pairs_of(BodyPair::of(on, from)), contact)
    }
}

/// The undamped pressure that acts on the contact surfaces of two bodies. With skirts (see
/// [`crate::contact::Collider::with_skirt`]) the surfaces include the parts between the skirts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairPressure<T = f64> {
    /// The largest, Pa. Its derivative is that of the vertex with the largest value, and jumps where
    /// another vertex takes over.
    pub largest: T,
    /// Its mean over the surfaces, Pa.
    pub mean: T,
    /// Area of the surfaces, m².
    pub area: T,
}

impl<T: Scalar> Model<T> {
    /// The velocity at which body `on` slips on body `from`, in W, m/s: the mean over their contact surfaces of
    /// the part of its relative velocity along the surface, weighted by the undamped pressure. It is 0 where the
    /// bodies do not touch, and jumps to what it is where they begin to.
    pub fn pair_slip(
        &self,
        state: &State<T>,
        on: usize,
        from: usize,
        workspace: &mut SensorWorkspace<T>,
    ) -> Vector3<T> {
        let SensorWorkspace { frames, joints, contact } = workspace;
        self.update_frames(state, frames, joints);
        let bodies = BodyPair::of(on, from);
        let reading = self.surface_reading(frames, bodies, contact);
        reading.map_or(Vector3::zeros(), |reading| reading.mean_slip(bodies.a == on))
    }

    /// The pressure on the contact surfaces of two bodies; `None` where they do not touch.
    ///
    /// Where the meshes are exactly aligned, derivatives are finite but may not be the derivative in any
    /// direction, as for [`crate::contact::contact`].
    pub fn pair_pressure(
        &self,
        state: &State<T>,
        bodies: BodyPair,
        workspace: &mut SensorWorkspace<T>,
    ) -> Option<PairPressure<T>> {
        let SensorWorkspace { frames, joints, contact } = workspace;
        self.update_frames(state, frames, joints);
        let reading = self.surface_reading(frames, bodies, contact)?;
        let mean = reading.force * reading.area.recip();
        Some(PairPressure { largest: reading.largest, mean, area: reading.area })
    }
}
