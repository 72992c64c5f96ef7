//! Why events cannot be found or differentiated.

/// Why an event of a rollout cannot be found, or has no derivative.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The two geometries are not a pair of the model.
    #[error(
        "geometry {geometry_a} of body {a} and geometry {geometry_b} of body {b} are not a pair that can touch; `Model::pairs` lists those that can"
    )]
    NoSuchPair {
        /// Index of body A.
        a: usize,
        /// Index of the geometry of body A.
        geometry_a: usize,
        /// Index of body B.
        b: usize,
        /// Index of the geometry of body B.
        geometry_b: usize,
    },
    /// The body does not exist or does not move.
    #[error("body {body} does not exist or is fixed, so that its velocity has no events")]
    NoMovingBody {
        /// Index of the body.
        body: usize,
    },
    /// A direction that is zero or not finite.
    #[error("the direction {found:?} of an apex is zero or not finite")]
    Direction {
        /// What was found.
        found: [f64; 3],
    },
    /// Two compliant geometries whose skirts end at different pressures.
    #[error(
        "the skirts of `{a}` and `{b}` end at different pressures ({pressure_a} Pa and {pressure_b} Pa below zero), so that their overlap does not begin at their boundaries; leave the skirts out, or make modulus times skirt extent equal"
    )]
    Skirts {
        /// Name of body A.
        a: String,
        /// Name of body B.
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
    NoFeatures {
        /// Name of body A.
        a: String,
        /// Name of body B.
        b: String,
        /// Time, s.
        time: f64,
    },
    /// The function that vanishes at the event does not change there.
    #[error(
        "the event at t = {time} s is grazing: its function changes by {rate} a second, so that neither its time nor its derivative is known"
    )]
    Grazing {
        /// Time, s.
        time: f64,
        /// Rate of the gap in m/s, of a velocity in m/s².
        rate: f64,
    },
    /// An event of another rollout.
    #[error(
        "the event at t = {time} s does not belong to the rollout: it lies in step {step}, from a state of {found} tangent directions, but the rollout has {steps} steps and {expected} directions"
    )]
    OtherRollout {
        /// Time, s.
        time: f64,
        /// The step, from 0.
        step: usize,
        /// Steps of the rollout.
        steps: usize,
        /// Tangent directions of the event's state.
        found: usize,
        /// Those of the rollout's.
        expected: usize,
    },
}
