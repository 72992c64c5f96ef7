//! The value of a quantity at a moment of a motion, in any scalar.

use nalgebra::Vector3;

use super::Quantity;
use crate::contact::SurfaceReading;
use crate::multibody::{BodyFrame, BodyPair, JointKinematics, PatchReading};
use crate::rollout::Moment;
use crate::scalar::Scalar;
use crate::spatial::{Quaternion, SpatialForce, SpatialVelocity, rotation_between};

/// What quantities at one moment are read from, each made when it is first needed.
#[derive(Debug)]
pub(crate) struct Reader<T> {
    frames: Vec<BodyFrame<T>>,
    joints: JointKinematics<T>,
    surfaces: Vec<(BodyPair, Option<SurfaceReading<T>>)>,
    has_frames: bool,
}

impl<T> Default for Reader<T> {
    fn default() -> Self {
        let (frames, surfaces) = (Vec::new(), Vec::new());
        Self { frames, joints: JointKinematics::default(), surfaces, has_frames: false }
    }
}

impl<T: Scalar> Reader<T> {
    /// Forgets what belongs to another moment.
    pub fn renew(&mut self) {
        self.has_frames = false;
        self.surfaces.clear();
    }

    fn frames(&mut self, at: &Moment<T>) -> &[BodyFrame<T>] {
        if !self.has_frames {
            at.model.update_frames(at.state, &mut self.frames, &mut self.joints);
            self.has_frames = true;
        }
        &self.frames
    }

    /// The orientation of a body, in W or in the frame of another one.
    pub fn orientation(&mut self, at: &Moment<T>, body: usize, relative_to: Option<usize>) -> Quaternion<T> {
        let frames = self.frames(at);
        let rotation = frames[body].pose.rotation;
        let seen = relative_to.map_or(rotation, |o| frames[o].pose.rotation.transpose() * rotation);
        Quaternion::from_matrix(&seen)
    }

    /// The wrench of the contact on the body `on` about its origin, in W.
    fn wrench(&mut self, at: &Moment<T>, on: usize, from: usize) -> SpatialForce<T> {
        let pairs = at.model.pairs_of(BodyPair::of(on, from));
        at.model.contact_wrench_on(self.frames(at), on, pairs, &mut at.contacts.borrow_mut())
    }

    /// What can be read off the contact surfaces of two bodies; `None` where they do not touch.
    fn surface(&mut self, at: &Moment<T>, on: usize, from: usize) -> Option<SurfaceReading<T>> {
        let bodies = BodyPair::of(on, from);
        if let Some((_, known)) = self.surfaces.iter().find(|(pair, _)| *pair == bodies) {
            return *known;
        }
        let surface = at.model.surface_reading(self.frames(at), bodies, &mut at.contacts.borrow_mut());
        self.surfaces.push((bodies, surface));
        surface
    }

    fn patch(&mut self, at: &Moment<T>, on: usize, from: usize) -> Option<PatchReading<T>> {
        let surface = self.surface(at, on, from)?;
        Some(PatchReading::of(&surface, self.frames(at), BodyPair::of(on, from)))
    }
}

impl Quantity {
    /// Its value at a moment of a model that has it; of a single number, the first component. The reader is new, or has
    /// read at the same moment before.
    #[inline(never)]
    pub(crate) fn value<T: Scalar>(&self, at: &Moment<T>, reader: &mut Reader<T>) -> Vector3<T> {
        let zero = T::from(0.0);
        let single = |x: T| Vector3::new(x, zero, zero);
        let none = || Vector3::repeat(T::from(f64::NAN));
        match *self {
            Self::Control { index } => single(at.control[index]),
            Self::ActuatorForce { actuator, coordinate } => {
                let own = &at.model.actuators[actuator];
                let coordinate = &own.coordinates()[coordinate];
                single(own.force(coordinate, at.control[actuator], &at.state.joints))
            }
            Self::JointPosition { index } => single(at.state.joints.q[index]),
            Self::JointVelocity { index } => single(at.state.joints.v[index]),
            Self::Position { body, relative_to } => {
                let frames = reader.frames(at);
                let position = frames[body].pose.translation;
                relative_to.map_or(position, |other| {
                    let other = &frames[other].pose;
                    other.rotation.transpose() * (position - other.translation)
                })
            }
            Self::Orientation { body, relative_to, target } => {
                rotation_between(&Quaternion::lift(&target), &reader.orientation(at, body, relative_to))
            }
            Self::Velocity { body, relative_to } => {
                let frames = reader.frames(at);
                let frame = &frames[body];
                relative_to.map_or(frame.velocity.translational, |other| {
                    let other = &frames[other];
                    let there = other.velocity.shifted(&(frame.pose.translation - other.pose.translation));
                    other.pose.rotation.transpose() * (frame.velocity.translational - there.translational)
                })
            }
            Self::AngularVelocity { body, relative_to } => {
                let frames = reader.frames(at);
                let velocity = frames[body].velocity.rotational;
                relative_to.map_or(velocity, |other| {
                    let other = &frames[other];
                    other.pose.rotation.transpose() * (velocity - other.velocity.rotational)
                })
            }
            Self::ContactForce { on, from, expressed_in } => {
                let force = reader.wrench(at, on, from).translational;
                expressed_in.map_or(force, |body| reader.frames(at)[body].pose.rotation.transpose() * force)
            }
            Self::StepForce { on, from } => {
                at.step_force(on, from).map_or_else(none, |wrench| wrench.translational)
            }
            Self::StepTorque { on, from } => {
                at.step_force(on, from).map_or_else(none, |wrench| wrench.rotational)
            }
            Self::ContactTorque { on, from } => reader.wrench(at, on, from).rotational,
            Self::NormalForce { on, from } => {
                single(reader.surface(at, on, from).map_or(zero, |surface| surface.force))
            }
            Self::GripForce { on, from } => {
                let mut resting = reader.frames(at).to_vec();
                resting.iter_mut().for_each(|frame| frame.velocity = SpatialVelocity::zero());
                let pairs = at.model.pairs_of(BodyPair::of(on, from));
                let pressed = at.model.contact_wrench_on(&resting, on, pairs, &mut at.contacts.borrow_mut());
                let pressed = pressed.translational;
                let square = pressed.dot(&pressed);
                // Without pressure there is no direction, and no force.
                single(match square.real() > 0.0 {
                    true => reader.wrench(at, on, from).translational.dot(&pressed) / square.sqrt(),
                    false => zero,
                })
            }
            Self::ContactArea { on, from } => {
                single(reader.surface(at, on, from).map_or(zero, |surface| surface.area))
            }
            Self::LargestPressure { on, from } => {
                single(reader.surface(at, on, from).map_or(zero, |surface| surface.largest))
            }
            Self::Slip { on, from } => {
                let surface = reader.surface(at, on, from);
                surface.map_or(Vector3::zeros(), |surface| surface.mean_slip(on < from))
            }
            Self::ContactCentroid { on, from } => {
                reader.patch(at, on, from).map_or(Vector3::zeros(), |patch| {
                    let pose = &reader.frames(at)[on].pose;
                    pose.rotation.transpose() * (patch.centroid - pose.translation)
                })
            }
            Self::SlipVelocity { on, from } => {
                let sign = if from < on { 1.0 } else { -1.0 };
                reader.patch(at, on, from).map_or(Vector3::zeros(), |patch| {
                    reader.frames(at)[on].pose.rotation.transpose() * patch.slip * T::from(sign)
                })
            }
        }
    }
}
