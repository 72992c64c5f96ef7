//! Objectives: a sum of squares of deviations of a motion from targets.

use nalgebra::Vector3;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::multibody::{BodyFrame, BodyPair, GeometryPair, Model, PairWorkspace, rotation_between};
use crate::optimize::error::ProblemError;
use crate::rollout::{Moment, TrajectoryResiduals};
use crate::scalar::{Scalar, lift_vector};
use crate::spatial::Quaternion;

/// A quantity that a cost is taken of: one to three numbers.
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
    /// The moment of that contact about the origin of the body that it acts on, in W, N m.
    ContactTorque {
        /// The body that it acts on.
        on: usize,
        /// The body that exerts it.
        from: usize,
    },
}

/// Which deviations from the target count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deviation {
    /// Deviations above and below the target count alike.
    #[default]
    Both,
    /// Only deviations above the target count: the target is an upper limit, and below it the derivative
    /// is zero.
    Above,
    /// Only deviations below the target count.
    Below,
}

/// When a cost applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The cost applies all the time and is integrated over it.
    #[default]
    Running,
    /// The cost applies at the end.
    End,
}

/// A target that is linear between its times, and constant before the first and after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    times: Vec<f64>,
    values: Vec<Vector3<f64>>,
}

impl Target {
    /// A target that does not change.
    pub fn constant(value: Vector3<f64>) -> Self {
        Self { times: vec![0.0], values: vec![value] }
    }

    /// A target with these values at these times in s.
    ///
    /// # Errors
    /// When there is not one value for each time, or the times do not increase.
    pub fn new(times: Vec<f64>, values: Vec<Vector3<f64>>) -> Result<Self, ProblemError> {
        if times.len() != values.len() || times.is_empty() {
            return Err(ProblemError::TargetCount { times: times.len(), values: values.len() });
        }
        let wrong = |&i: &usize| !times[i].is_finite() || (i > 0 && times[i] <= times[i - 1]);
        match (0..times.len()).find(wrong) {
            Some(index) => Err(ProblemError::TargetTime { index, time: times[index] }),
            None => Ok(Self { times, values }),
        }
    }

    /// The target at a time in s.
    pub fn at(&self, time: f64) -> Vector3<f64> {
        let next = self.times.partition_point(|t| *t <= time);
        let last = self.times.len() - 1;
        if next == 0 || next > last {
            return self.values[next.min(last)];
        }
        let part = (time - self.times[next - 1]) / (self.times[next] - self.times[next - 1]);
        self.values[next - 1].lerp(&self.values[next], part)
    }
}

/// The cost ½ ∫ |w (x − target)|² dt, or ½ |w (x − target)|² at the end, of a quantity x.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTerm {
    /// The quantity.
    pub quantity: Quantity,
    /// Its target. For a quantity of one number only the first component is used.
    pub target: Target,
    /// The weight w of each component, in the inverse of its unit (over √s for a running cost).
    pub weight: Vector3<f64>,
    /// Which deviations count.
    pub deviation: Deviation,
    /// When it applies.
    pub when: When,
}

/// A sum of [`CostTerm`]s, expressed by residuals: the cost is half of their sum of squares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objective {
    terms: Vec<CostTerm>,
    /// For each term the pairs of geometries of a contact.
    pairs: Vec<Vec<GeometryPair>>,
}

impl Objective {
    /// The sum of costs on motions of a model with this number of control values in each step.
    ///
    /// # Errors
    /// When a term does not match the model, or a weight is negative or not finite.
    pub fn new(model: &Model, controls: usize, terms: Vec<CostTerm>) -> Result<Self, ProblemError> {
        let check = |what, index: usize, count: usize| {
            if index < count { Ok(()) } else { Err(ProblemError::NoSuch { what, index, count }) }
        };
        let body = |index: usize| check("body", index, model.bodies.len());
        let mut pairs = Vec::with_capacity(terms.len());
        for term in &terms {
            let mut touching = Vec::new();
            match term.quantity {
                Quantity::Control { index } => {
                    check("control value", index, controls)?;
                    if term.when == When::End {
                        return Err(ProblemError::ControlAtEnd);
                    }
                }
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
                Quantity::ContactForce { on, from } | Quantity::ContactTorque { on, from } => {
                    body(on)?;
                    body(from)?;
                    touching.extend(model.pairs_of(BodyPair::of(on, from)));
                    if touching.is_empty() {
                        let name = |b: usize| model.bodies[b].name.clone();
                        return Err(ProblemError::NoContact { a: name(on), b: name(from) });
                    }
                }
            }
            if let Some(w) = term.weight.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
                return Err(ProblemError::Weight(*w));
            }
            pairs.push(touching);
        }
        Ok(Self { terms, pairs })
    }

    /// The terms.
    pub fn terms(&self) -> &[CostTerm] {
        &self.terms
    }

    /// The part of each term in the cost of a trajectory, in order.
    pub fn parts(&self, moments: &[Moment]) -> Vec<f64> {
        let mut parts = vec![0.0; self.terms.len()];
        for moment in moments {
            let at_end = moment.dt == 0.0;
            let mut frames = Frames::default();
            for (i, part) in parts.iter_mut().enumerate() {
                let mut residuals = Vec::new();
                self.add(i, moment, at_end, &mut frames, &mut residuals);
                *part += residuals.iter().map(|r| 0.5 * r * r).sum::<f64>();
            }
        }
        parts
    }

    /// Appends the residuals of a term at a moment.
    fn add<T: Scalar>(
        &self,
        index: usize,
        moment: &Moment<T>,
        at_end: bool,
        frames: &mut Frames<T>,
        out: &mut Vec<T>,
    ) {
        let term = &self.terms[index];
        if at_end != (term.when == When::End) {
            return;
        }
        let scale = if at_end { 1.0 } else { moment.dt.sqrt() };
        let target = term.target.at(moment.time);
        let single = |x: T| Vector3::new(x, T::from(target.y), T::from(target.z));
        let value = match term.quantity {
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
            Quantity::ContactForce { on, .. } | Quantity::ContactTorque { on, .. } => {
                let frames = frames.at(moment);
                let workspace = &mut PairWorkspace::default();
                let wrench = moment.model.contact_wrench_on(frames, on, &self.pairs[index], workspace);
                match term.quantity {
                    Quantity::ContactForce { .. } => wrench.translational,
                    _ => wrench.rotational,
                }
            }
        };
        let off = value - lift_vector::<T>(&target);
        for axis in 0..3 {
            if term.weight[axis] > 0.0 {
                let counts = match term.deviation {
                    Deviation::Both => true,
                    Deviation::Above => off[axis].real() > 0.0,
                    Deviation::Below => off[axis].real() < 0.0,
                };
                out.push(if counts { off[axis] * (scale * term.weight[axis]) } else { T::from(0.0) });
            }
        }
    }
}

/// The frames of all bodies at a moment, made when they are first needed.
struct Frames<T>(Option<Vec<BodyFrame<T>>>);

impl<T> Default for Frames<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Scalar> Frames<T> {
    fn at(&mut self, moment: &Moment<T>) -> &[BodyFrame<T>] {
        self.0.get_or_insert_with(|| {
            let mut frames = Vec::new();
            moment.model.body_frames(moment.state, &mut frames);
            frames
        })
    }
}

impl TrajectoryResiduals for Objective {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let mut frames = Frames::default();
        (0..self.terms.len()).for_each(|i| self.add(i, moment, false, &mut frames, residuals));
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let mut frames = Frames::default();
        (0..self.terms.len()).for_each(|i| self.add(i, moment, true, &mut frames, residuals));
    }
}
