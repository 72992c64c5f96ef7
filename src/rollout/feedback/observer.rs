//! Evaluates what controllers observe, in any scalar.

use nalgebra::Vector3;

use super::observed::Observed;
use crate::multibody::{
    BodyFrame, BodyPair, GeometryPair, JointKinematics, Model, PairWorkspace, PatchReading, State,
    rotation_between,
};
use crate::scalar::Scalar;
use crate::spatial::Quaternion;

/// What of a state may carry derivatives, so that contacts that have none are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rollout) enum Moved {
    /// Anything.
    All,
    /// One free body, by its index in the model.
    Body(usize),
    /// The joints.
    Joints,
    /// Nothing that is observed.
    Nothing,
}

impl Moved {
    /// Whether the contact of two bodies may have derivatives.
    fn concerns<T: Scalar>(self, model: &Model<T>, bodies: BodyPair) -> bool {
        match self {
            Self::All => true,
            Self::Body(body) => bodies.a == body || bodies.b == body,
            Self::Joints => [bodies.a, bodies.b].into_iter().any(|b| {
                let body = &model.bodies[b];
                body.is_moving() && !body.is_free()
            }),
            Self::Nothing => false,
        }
    }
}

/// Evaluates observations; what is computed for one is used for the next at the same state.
#[derive(Debug)]
pub(in crate::rollout) struct Observer<T> {
    frames: Vec<BodyFrame<T>>,
    joints: JointKinematics<T>,
    contact: PairWorkspace,
    patches: Vec<(BodyPair, Option<PatchReading<T>>)>,
    has_frames: bool,
}

impl<T> Default for Observer<T> {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            joints: JointKinematics::default(),
            contact: PairWorkspace::default(),
            patches: Vec::new(),
            has_frames: false,
        }
    }
}

impl<T: Scalar> Observer<T> {
    /// Forgets what belongs to another state.
    pub fn renew(&mut self) {
        self.has_frames = false;
        self.patches.clear();
    }

    /// Appends what is observed to `out`. Without derivatives that `moved` leaves out.
    pub fn observe(
        &mut self,
        model: &Model<T>,
        state: &State<T>,
        (time, moved): (f64, Moved),
        observed: &[Observed],
        out: &mut Vec<T>,
    ) {
        for quantity in observed {
            if let Some(bodies) = quantity.contact()
                && !moved.concerns(model, bodies)
            {
                out.extend(std::iter::repeat_n(T::from(0.0), quantity.width()));
                continue;
            }
            self.add(model, state, time, quantity, out);
        }
    }

    fn frames(&mut self, model: &Model<T>, state: &State<T>) -> &[BodyFrame<T>] {
        if !self.has_frames {
            model.update_frames(state, &mut self.frames, &mut self.joints);
            self.has_frames = true;
        }
        &self.frames
    }

    fn patch(&mut self, model: &Model<T>, state: &State<T>, bodies: BodyPair) -> Option<PatchReading<T>> {
        self.frames(model, state);
        if let Some((_, known)) = self.patches.iter().find(|(pair, _)| *pair == bodies) {
            return *known;
        }
        let patch = model.patch_reading(&self.frames, bodies, &mut self.contact);
        self.patches.push((bodies, patch));
        patch
    }

    fn add(&mut self, model: &Model<T>, state: &State<T>, time: f64, quantity: &Observed, out: &mut Vec<T>) {
        let zero = T::from(0.0);
        let vector = match *quantity {
            Observed::JointPosition { index } => return out.push(state.joints.q[index]),
            Observed::JointVelocity { index } => return out.push(state.joints.v[index]),
            Observed::NormalForce { on, from } => {
                let patch = self.patch(model, state, BodyPair::of(on, from));
                return out.push(patch.map_or(zero, |patch| patch.force));
            }
            Observed::PatchArea { on, from } => {
                let patch = self.patch(model, state, BodyPair::of(on, from));
                return out.push(patch.map_or(zero, |patch| patch.area));
            }
            Observed::Deviation(ref nominal) => {
                let Some(nominal) = nominal.at(time) else { return };
                // Neither has bristles here.
                let present = State { bristles: Vec::new(), ..state.clone() };
                return out.extend(State::lift(nominal).difference(&present));
            }
            Observed::BodyPosition { body, relative_to } => {
                let frames = self.frames(model, state);
                let position = frames[body].pose.translation;
                relative_to.map_or(position, |other| {
                    let other = &frames[other].pose;
                    other.rotation.transpose() * (position - other.translation)
                })
            }
            Observed::BodyRotation { body, relative_to, reference } => {
                let frames = self.frames(model, state);
                let rotation = frames[body].pose.rotation;
                let rotation =
                    relative_to.map_or(rotation, |o| frames[o].pose.rotation.transpose() * rotation);
                rotation_between(&Quaternion::lift(&reference), &Quaternion::from_matrix(&rotation))
            }
            Observed::BodyVelocity { body, relative_to } => {
                let frames = self.frames(model, state);
                let frame = &frames[body];
                relative_to.map_or(frame.velocity.translational, |other| {
                    let other = &frames[other];
                    let there = other.velocity.shifted(&(frame.pose.translation - other.pose.translation));
                    other.pose.rotation.transpose() * (frame.velocity.translational - there.translational)
                })
            }
            Observed::BodyAngularVelocity { body, relative_to } => {
                let frames = self.frames(model, state);
                let velocity = frames[body].velocity.rotational;
                relative_to.map_or(velocity, |other| {
                    let other = &frames[other];
                    other.pose.rotation.transpose() * (velocity - other.velocity.rotational)
                })
            }
            Observed::ContactForce { on, from } => {
                self.frames(model, state);
                let pairs: Vec<GeometryPair> = model.pairs_of(BodyPair::of(on, from)).copied().collect();
                let wrench = model.contact_wrench_on(&self.frames, on, &pairs, &mut self.contact);
                self.frames[on].pose.rotation.transpose() * wrench.translational
            }
            Observed::PatchCentroid { on, from } => {
                let patch = self.patch(model, state, BodyPair::of(on, from));
                let pose = &self.frames[on].pose;
                patch.map_or(Vector3::from_element(zero), |patch| {
                    pose.rotation.transpose() * (patch.centroid - pose.translation)
                })
            }
            Observed::SlipVelocity { on, from } => {
                let bodies = BodyPair::of(on, from);
                let patch = self.patch(model, state, bodies);
                let sign = if bodies.a == from { 1.0 } else { -1.0 };
                let rotation = self.frames[on].pose.rotation;
                patch.map_or(Vector3::from_element(zero), |patch| {
                    rotation.transpose() * patch.slip * T::from(sign)
                })
            }
        };
        out.extend(vector.iter().copied());
    }
}
