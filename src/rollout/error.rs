//! Why a simulation stops.

use crate::multibody::ParameterError;
use crate::step::StepError;

/// Steps that a simulation may have at most.
pub(super) const MAXIMUM_STEPS: f64 = 1e9;

/// What a step failed for, where that is known.
fn of_bodies(bodies: &str) -> String {
    if bodies.is_empty() { String::new() } else { format!(" for {bodies}") }
}

/// Why a simulation stopped, or why its controls or the parameters to differentiate with respect to
/// cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SimulationError {
    /// The length of a step is not usable.
    #[error("the time step is {0} s; it must be positive and finite")]
    TimeStep(f64),
    /// The end is not usable.
    #[error("the end of the simulation is {0} s; it must be at least 0 and finite")]
    Until(f64),
    /// There would be too many steps.
    #[error(
        "{until} s in steps of {time_step} s are more than {MAXIMUM_STEPS:e} steps; make the steps longer"
    )]
    TooManySteps {
        /// End of the simulation, s.
        until: f64,
        /// Length of a step, s.
        time_step: f64,
    },
    /// The state does not belong to the model.
    #[error("the state has {state} bodies but the model has {model} free bodies; they must be equally many")]
    BodyCount { state: usize, model: usize },
    /// There are not as many control values as the user's forces take.
    #[error("there are {found} control values a step, but the forces take {expected}")]
    ControlDimension {
        /// Values in a row of the controls.
        found: usize,
        expected: usize,
    },
    /// The joints' coordinates are not those of the model.
    #[error(
        "the state has {state} joint velocities, but the model's joints have {model}, or its joints are of other kinds"
    )]
    JointCount { state: usize, model: usize },
    /// A quantity of a body, joint coordinate or control value that the model does not have.
    #[error("there is no {what} {index}; there are {count}")]
    NoSuch { what: &'static str, index: usize, count: usize },
    /// A quantity of the contact of two bodies that cannot touch.
    #[error("bodies `{a}` and `{b}` cannot touch in this model")]
    NoContact { a: String, b: String },
    /// A controller observes what is not known when it samples.
    #[error("a controller observes a command or the force of a step, which starts when it has sampled")]
    ObservedOfStep,
    /// A controller observes something that the model does not have.
    #[error("a controller observes {what} {index}; there are {count}, counted from 0")]
    Observed { what: &'static str, index: usize, count: usize },
    /// A controller adds to a control value that there is not.
    #[error("a controller adds to control value {index}; there are {count}, counted from 0")]
    ControllerOutput {
        /// Its index in the row of a step.
        index: usize,
        /// How many control values a step has.
        count: usize,
    },
    /// There are not as many numbers as the controllers have parameters.
    #[error("there are {found} parameters of controllers, but they have {expected}")]
    ControllerParameters { found: usize, expected: usize },
    /// The deflections of bristles are not those of the model.
    #[error("the state has {state} deflections of bristles, but the model's pairs have {model}")]
    BristleCount { state: usize, model: usize },
    /// There are not as many rows of control values as steps.
    #[error("there are control values for {found} steps, but the simulation has {expected} steps")]
    ControlSteps { found: usize, expected: usize },
    /// The state is no longer finite.
    #[error(
        "the state of body `{body}` is not finite any more at t = {time} s, after {steps} steps of {time_step} s; make the steps shorter"
    )]
    NotFinite {
        /// Time at the end of the step, s.
        time: f64,
        steps: usize,
        /// Length of a step, s.
        time_step: f64,
        body: String,
    },
    /// A step failed.
    #[error("the step from t = {time} s, number {step}, failed{}: {source}", of_bodies(bodies))]
    Step {
        /// Time at the start of the step, s.
        time: f64,
        /// Number of the step, from 1.
        step: usize,
        bodies: String,
        source: StepError,
    },
    /// There are none.
    #[error("no knots: at least one is needed")]
    NoKnots,
    /// A time that is NaN, or not after the one before.
    #[error("knot {index} is at {found} s, it must be finite and after the knot before it, at {before} s")]
    KnotTimes {
        /// Number of the knot, from 0.
        index: usize,
        /// Its time, s.
        found: f64,
        /// The time of the one before it, s (−∞ for the first).
        before: f64,
    },
    /// Cubic knots that are not equally spaced.
    #[error(
        "knot {index} is {found} s after the one before it, but the first two are {expected} s apart: \
         knots that are joined by a cubic must be equally spaced"
    )]
    KnotSpacing {
        /// Number of the knot, from 0.
        index: usize,
        /// Time since the one before it, s.
        found: f64,
        /// Time between the first two, s.
        expected: f64,
    },
    /// No step depends on a knot.
    #[error(
        "knot {index}, at {time} s, acts on no step: there are {knots} knots, and {steps} step{} until {until} s; leave it out, take fewer knots, or end later",
        if *steps == 1 { "" } else { "s" }
    )]
    UnusedKnot {
        /// Number of the knot, from 0.
        index: usize,
        /// Its time, s.
        time: f64,
        /// Number of knots.
        knots: usize,
        /// Number of steps.
        steps: usize,
        /// End of the last step, s.
        until: f64,
    },
    /// There is not one value for each knot.
    #[error("there are {values} values at {knots} knots; each knot needs one")]
    CommandCount { values: usize, knots: usize },
    /// A value is not finite.
    #[error("value {index} is {found}; it must be finite")]
    CommandValue { index: usize, found: f64 },
    /// A parameter does not fit the model.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The two geometries of an event are not a pair of the model.
    #[error(
        "geometry {geometry_a} of body {a} and geometry {geometry_b} of body {b} are not a pair that can touch; `Model::pairs` lists those that can"
    )]
    EventPair {
        a: usize,
        /// Index of the geometry of body A.
        geometry_a: usize,
        b: usize,
        /// Index of the geometry of body B.
        geometry_b: usize,
    },
    /// The body of an event does not exist or does not move.
    #[error("body {body} does not exist or is fixed, so that its velocity has no events")]
    EventBody { body: usize },
    /// The direction of an apex is zero or not finite.
    #[error("the direction {found:?} of an apex is zero or not finite")]
    EventDirection { found: [f64; 3] },
    /// An event of two compliant geometries whose skirts end at different pressures.
    #[error(
        "the skirts of `{a}` and `{b}` end at different pressures ({pressure_a} Pa and {pressure_b} Pa below zero), so that their overlap does not begin at their boundaries; leave the skirts out, or make modulus times skirt extent equal"
    )]
    EventSkirts {
        a: String,
        b: String,
        /// How far A's pressure falls below zero, Pa.
        pressure_a: f64,
        /// How far B's pressure falls below zero, Pa.
        pressure_b: f64,
    },
    /// An overlap that begins or ends at nothing that is known.
    #[error(
        "the overlap of `{a}` and `{b}` changes at t = {time} s, but no vertex meets a face there and no edge an edge; the pressure of a compliant body may not be zero on its boundary"
    )]
    EventFeatures {
        a: String,
        b: String,
        /// Time, s.
        time: f64,
    },
    /// The function that vanishes at an event does not change there.
    #[error(
        "the event at t = {time} s is grazing: its function changes by {rate} a second, so that neither its time nor its derivative is known"
    )]
    GrazingEvent {
        /// Time, s.
        time: f64,
        /// Rate of the gap in m/s, of a velocity in m/s².
        rate: f64,
    },
    /// An event of another rollout.
    #[error(
        "the event at t = {time} s does not belong to the rollout: it lies in step {step}, from a state of {found} tangent directions, but the rollout has {steps} steps and {expected} directions"
    )]
    EventOfOtherRollout {
        /// Time, s.
        time: f64,
        /// The step, from 0.
        step: usize,
        steps: usize,
        found: usize,
        expected: usize,
    },
}

impl SimulationError {
    /// Whether a step failed, and not what the simulation was asked for.
    pub fn is_failed_step(&self) -> bool {
        matches!(self, Self::NotFinite { .. } | Self::Step { .. })
    }
}
