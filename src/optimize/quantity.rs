//! Quantities of a motion that costs and constraints are made of.

use nalgebra::Vector3;

use crate::contact::SurfaceReading;
use crate::multibody::{BodyFrame, BodyPair, GeometryPair, Model, rotation_between};
use crate::optimize::error::ProblemError;
use crate::rollout::{Loss, Moment};
use crate::scalar::Scalar;
use crate::spatial::{Quaternion, SpatialForce};

/// A quantity of a motion, that costs are taken of and constraints keep: one or three numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Quantity {
    /// A control value: a command of an actuator, or one of the user's forces.
    Control {
        /// Its index in the row of a step.
        index: usize,
    },
    /// A configuration coordinate of the joints, rad or m.
    JointPosition {
        /// Its index in [`crate::multibody::tree::JointState::q`].
        index: usize,
    },
    /// A velocity coordinate of the joints, rad/s or m/s.
    JointVelocity {
        /// Its index in [`crate::multibody::tree::JointState::v`].
        index: usize,
    },
    /// The position of a body's origin, m: in W, or in the frame of another body.
    Position {
        /// The body.
        body: usize,
        /// The other body.
        relative_to: Option<usize>,
    },
    /// The rotation vector that turns the target's orientation into the body's, rad, at most half
    /// a turn: in W, or in the frame of another body.
    Orientation {
        /// The body.
        body: usize,
        /// The other body.
        relative_to: Option<usize>,
        /// The orientation that is aimed at, in W or in the frame of the other body.
        target: Quaternion,
    },
    /// The velocity of a body's origin in W, m/s.
    Velocity {
        /// The body.
        body: usize,
    },
    /// The angular velocity of a body in W, rad/s.
    AngularVelocity {
        /// The body.
        body: usize,
    },
    /// The contact force in N that one body exerts on another, in W, at the state and by the contact law
    /// of accelerations (see [`Model::contact_wrench`]).
    ContactForce {
        /// The body that it acts on.
        on: usize,
        /// The body that exerts it.
        from: usize,
    },
    /// The contact force in N that one body exerts on another over the step that starts there, in W: the impulse of their
    /// contacts over the step, divided by its length (see [`Moment::step_force`]). Of velocity-level steps of fixed
    /// length alone, and not at the end of a motion; elsewhere it is not a number.
    StepForce {
        /// The body that it acts on.
        on: usize,
        /// The body that exerts it.
        from: usize,
    },
    /// The area of the surface on which two bodies touch, m²; 0 where they do not.
    ContactArea {
        /// One body.
        on: usize,
        /// The other.
        from: usize,
    },
    /// The largest undamped pressure on that surface, Pa; 0 where they do not touch. Its derivative jumps where another
    /// vertex of the surface takes over (see [`Model::pair_pressure`]).
    LargestPressure {
        /// One body.
        on: usize,
        /// The other.
        from: usize,
    },
    /// The velocity at which one body slips on another, in W, m/s: the mean of the tangential velocity over
    /// the surface, weighted by the pressure; 0 where they do not touch (see [`Model::pair_slip`]).
    Slip {
        /// The body whose velocity it is.
        on: usize,
        /// The body that it slips on.
        from: usize,
    },
    /// The moment of the contact of two bodies about the origin of the body that it acts on, in W, N m.
    ContactTorque {
        /// The body that it acts on.
        on: usize,
        /// The body that exerts it.
        from: usize,
    },
}

impl Quantity {
    /// Whether it is of a step, so that there is none at the end of a motion.
    pub fn is_of_step(&self) -> bool {
        matches!(self, Self::Control { .. } | Self::StepForce { .. })
    }

    /// How many numbers it is: 1 or 3.
    pub fn dimension(&self) -> usize {
        match self {
            Self::Control { .. }
            | Self::JointPosition { .. }
            | Self::JointVelocity { .. }
            | Self::ContactArea { .. }
            | Self::LargestPressure { .. } => 1,
            _ => 3,
        }
    }

    /// Its unit.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Control { .. } => "N m or N",
            Self::JointPosition { .. } => "rad or m",
            Self::JointVelocity { .. } => "rad/s or m/s",
            Self::Position { .. } => "m",
            Self::Orientation { .. } => "rad",
            Self::Velocity { .. } | Self::Slip { .. } => "m/s",
            Self::AngularVelocity { .. } => "rad/s",
            Self::ContactForce { .. } | Self::StepForce { .. } => "N",
            Self::ContactArea { .. } => "m²",
            Self::LargestPressure { .. } => "Pa",
            Self::ContactTorque { .. } => "N m",
        }
    }

    /// The bodies whose contact it is of.
    fn contact(&self) -> Option<(usize, usize)> {
        match *self {
            Self::ContactForce { on, from }
            | Self::StepForce { on, from }
            | Self::ContactTorque { on, from }
            | Self::ContactArea { on, from }
            | Self::LargestPressure { on, from }
            | Self::Slip { on, from } => Some((on, from)),
            _ => None,
        }
    }
}

/// A quantity of a model's motions that was checked, with what its evaluation needs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    quantity: Quantity,
    /// The pairs of geometries of a contact.
    pairs: Vec<GeometryPair>,
}

impl Measured {
    /// Checks that motions of a model, with this number of control values in each step, have the quantity.
    pub fn new(model: &Model, controls: usize, quantity: Quantity) -> Result<Self, ProblemError> {
        let check = |what, index: usize, count: usize| {
            if index < count { Ok(()) } else { Err(ProblemError::NoSuch { what, index, count }) }
        };
        let body = |index: usize| check("body", index, model.bodies.len());
        let mut pairs = Vec::new();
        match quantity {
            Quantity::Control { index } => check("control value", index, controls)?,
            Quantity::JointPosition { index } => {
                check("joint position", index, model.mechanism.configuration_dimension())?;
            }
            Quantity::JointVelocity { index } => {
                check("joint velocity", index, model.mechanism.velocity_dimension())?;
            }
            Quantity::Position { body: b, relative_to }
            | Quantity::Orientation { body: b, relative_to, .. } => {
                body(b)?;
                relative_to.map_or(Ok(()), body)?;
            }
            Quantity::Velocity { body: b } | Quantity::AngularVelocity { body: b } => body(b)?,
            Quantity::ContactForce { .. }
            | Quantity::StepForce { .. }
            | Quantity::ContactTorque { .. }
            | Quantity::ContactArea { .. }
            | Quantity::LargestPressure { .. }
            | Quantity::Slip { .. } => {}
        }
        if let Some((on, from)) = quantity.contact() {
            body(on)?;
            body(from)?;
            pairs.extend(model.pairs_of(BodyPair::of(on, from)));
            if pairs.is_empty() {
                let name = |b: usize| model.bodies[b].name.clone();
                return Err(ProblemError::NoContact { a: name(on), b: name(from) });
            }
        }
        Ok(Self { quantity, pairs })
    }

    /// The quantity at a moment; of a single number, the first component.
    pub fn value<T: Scalar>(&self, moment: &Moment<T>, frames: &mut Frames<T>) -> Vector3<T> {
        let single = |x: T| Vector3::new(x, T::from(0.0), T::from(0.0));
        match self.quantity {
            Quantity::Control { index } => single(moment.control[index]),
            Quantity::JointPosition { index } => single(moment.state.joints.q[index]),
            Quantity::JointVelocity { index } => single(moment.state.joints.v[index]),
            Quantity::Position { body, relative_to } => {
                let frames = frames.at(moment);
                let position = frames[body].pose.translation;
                relative_to.map_or(position, |other| {
                    let other = &frames[other].pose;
                    other.rotation.transpose() * (position - other.translation)
                })
            }
            Quantity::Orientation { body, relative_to, target } => {
                let frames = frames.at(moment);
                let rotation = frames[body].pose.rotation;
                let rotation =
                    relative_to.map_or(rotation, |o| frames[o].pose.rotation.transpose() * rotation);
                rotation_between(&Quaternion::lift(&target), &Quaternion::from_matrix(&rotation))
            }
            Quantity::Velocity { body } => frames.at(moment)[body].velocity.translational,
            Quantity::AngularVelocity { body } => frames.at(moment)[body].velocity.rotational,
            Quantity::ContactForce { on, .. } => self.wrench(moment, frames, on).translational,
            Quantity::StepForce { on, from } => {
                let force = moment.step_force(on, from).map(|force| force.translational);
                force.unwrap_or_else(|| Vector3::repeat(T::from(f64::NAN)))
            }
            Quantity::ContactTorque { on, .. } => self.wrench(moment, frames, on).rotational,
            Quantity::ContactArea { on, from } | Quantity::LargestPressure { on, from } => single(
                surface(moment, frames, on, from).map_or(T::from(0.0), |surface| match self.quantity {
                    Quantity::ContactArea { .. } => surface.area,
                    _ => surface.largest,
                }),
            ),
            Quantity::Slip { on, from } => {
                let surface = surface(moment, frames, on, from);
                surface.map_or(Vector3::zeros(), |surface| surface.mean_slip(on < from))
            }
        }
    }

    /// The wrench of the contact on a body.
    fn wrench<T: Scalar>(&self, moment: &Moment<T>, frames: &mut Frames<T>, on: usize) -> SpatialForce<T> {
        moment.model.contact_wrench_on(frames.at(moment), on, &self.pairs, &mut moment.contacts.borrow_mut())
    }
}

/// A component of a quantity at the end of a motion, as a loss.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantityAtEnd {
    measured: Measured,
    component: usize,
}

impl QuantityAtEnd {
    /// The component of this number, from 0, of a quantity of a model's motions.
    ///
    /// # Errors
    /// When the model does not have the quantity, or it has not so many components, or is of a step.
    pub fn new(model: &Model, quantity: Quantity, component: usize) -> Result<Self, ProblemError> {
        let count = quantity.dimension();
        if quantity.is_of_step() {
            return Err(ProblemError::ControlAtEnd);
        }
        if component >= count {
            return Err(ProblemError::NoSuch { what: "component", index: component, count });
        }
        Ok(Self { measured: Measured::new(model, 0, quantity)?, component })
    }
}

impl Loss for QuantityAtEnd {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        self.measured.value(moment, &mut Frames::default())[self.component]
    }
}

/// What can be read off the contact surfaces of two bodies.
fn surface<T: Scalar>(
    moment: &Moment<T>,
    frames: &mut Frames<T>,
    on: usize,
    from: usize,
) -> Option<SurfaceReading<T>> {
    let contacts = &mut moment.contacts.borrow_mut();
    moment.model.surface_reading(frames.at(moment), BodyPair::of(on, from), contacts)
}

/// The frames of all bodies at a moment, made when they are first needed.
pub(super) struct Frames<T>(Option<Vec<BodyFrame<T>>>);

impl<T> Default for Frames<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Scalar> Frames<T> {
    /// The frames at this moment, which is always the same.
    pub fn at(&mut self, moment: &Moment<T>) -> &[BodyFrame<T>] {
        self.0.get_or_insert_with(|| {
            let mut frames = Vec::new();
            moment.model.body_frames(moment.state, &mut frames);
            frames
        })
    }
}
