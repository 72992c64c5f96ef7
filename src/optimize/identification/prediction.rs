//! What a model says where it was measured, beside the measurement: to look at a fit.

use super::deviations::StandardDeviations;
use super::sensors::ChannelPrediction;
use super::{Identification, Measurement};
use crate::multibody::{AppliedForces, BodyState, State};
use crate::optimize::error::ProblemError;
use crate::parallel::in_parallel;

/// A measurement, and what the model says in its place. SI units.
#[derive(Clone, Debug, PartialEq)]
pub enum Prediction {
    /// A recorded motion, at the recorded times that are compared. Each window of the recording is
    /// simulated from the recorded state at its start.
    Motion {
        /// The recording.
        name: String,
        /// The times, s.
        times: Vec<f64>,
        /// The recorded states of the body.
        recorded: Vec<BodyState>,
        /// The simulated ones.
        simulated: Vec<BodyState>,
        /// The standard deviations of the recording.
        standard_deviations: StandardDeviations,
    },
    /// An indentation test.
    Indentation {
        /// The table.
        name: String,
        /// The depths, m.
        depths: Vec<f64>,
        /// The measured forces, N.
        measured: Vec<f64>,
        /// Their standard deviations, N.
        standard_deviations: Vec<f64>,
        /// The forces of the model, N.
        predicted: Vec<f64>,
    },
    /// A recording of sensors, simulated from its start.
    Sensors {
        /// The recording.
        name: String,
        /// What each channel measured.
        channels: Vec<ChannelPrediction>,
    },
}

/// An indentation test in which nothing touches: its table or its direction is hardly meant.
#[derive(Clone, Debug, PartialEq)]
pub struct UntouchedIndentation {
    /// The table.
    pub name: String,
    /// The body that is moved.
    pub body: String,
    /// The largest depth of the table, m.
    pub deepest: f64,
    /// The largest size of the body, m; `None` of one without bounded geometry.
    pub size: Option<f64>,
}

impl<A: AppliedForces> Identification<A> {
    /// What the model with these parameters says of each measurement.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn predictions(&self, parameters: &[f64]) -> Result<Vec<Prediction>, ProblemError> {
        let (model, state) = self.seeded(parameters)?;
        let at = self.trial(&model, parameters, &self.settings);
        let prediction = |(measurement, starts): (&Measurement, Vec<State>)| match measurement {
            Measurement::Motion(motion) => motion.prediction(&at, &starts),
            Measurement::Indentation(test) => {
                Ok(test.prediction(&model, &state, self.targets.offset(parameters, test.table())))
            }
        };
        in_parallel(self.measurements.iter().zip(self.present_starts()), prediction).into_iter().collect()
    }

    /// The indentation tests in which the body touches nothing at any depth, with these parameters.
    ///
    /// # Errors
    /// Values out of their range.
    pub fn untouched_indentations(
        &self,
        parameters: &[f64],
    ) -> Result<Vec<UntouchedIndentation>, ProblemError> {
        let (model, state) = self.seeded(parameters)?;
        let untouched = |measurement: &Measurement| match measurement {
            Measurement::Indentation(test) => {
                test.untouched(&model, &state, self.targets.offset(parameters, test.table()))
            }
            Measurement::Motion(_) => None,
        };
        Ok(self.measurements.iter().filter_map(untouched).collect())
    }
}
