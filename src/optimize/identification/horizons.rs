//! How far a model's prediction of an impact is from a recording, by the number of recorded times that it reaches
//! ahead.

use serde::Serialize;

use super::nearness::Nearness;
use super::{Identification, Loss, Measurement, Prediction, RecordedMotion, StandardDeviations, TimeWindow};
use crate::multibody::{AppliedForces, BodyState, Model, State};
use crate::optimize::data::{RecordedState, Recording};
use crate::optimize::error::ProblemError;
use crate::parallel::in_parallel;
use crate::spatial::{SpatialVelocity, rotation_between};

/// Bodies that are nearer than this are taken as touching in a recorded pose, in m.
pub const TOUCH_MARGIN: f64 = 1e-3;

/// Recorded times from the start of a prediction to the first touch.
const LEAD: usize = 2;

/// The errors of predictions over several horizons.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HorizonErrors {
    /// Of each recorded motion, in order.
    pub recordings: Vec<RecordingHorizons>,
    /// For each horizon the means over the recordings that reach so far.
    pub mean: Vec<HorizonError>,
}

/// The errors of the prediction of one recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordingHorizons {
    /// The recording.
    pub file: String,
    /// The recorded time that the prediction starts from, counted from 0; `None` if the body touches nothing.
    pub start_sample: Option<usize>,
    /// The errors over each horizon.
    pub horizons: Vec<HorizonError>,
}

/// The error of predictions over one horizon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HorizonError {
    /// The recorded times after the start that are compared.
    pub samples: usize,
    /// Mean distance of the simulated position of the body's origin from the recorded one, m; `None` if the recording
    /// ends before the horizon or has no start.
    #[serde(rename = "position_m")]
    pub position: Option<f64>,
    /// Mean angle between the simulated orientation and the recorded one, rad; `None` as for positions.
    #[serde(rename = "rotation_rad")]
    pub rotation: Option<f64>,
}

/// The state of a model with one free body in a recorded pose, at rest.
fn posed(recorded: &RecordedState) -> State {
    State::of_bodies(vec![BodyState { velocity: SpatialVelocity::zero(), ..recorded.body }])
}

/// The recorded time that predictions start from.
fn start_of(model: &Model, recording: &Recording) -> Option<usize> {
    let mut nearness = Nearness::new(model, TOUCH_MARGIN);
    let touch = recording.states.iter().position(|recorded| nearness.is_found(&posed(recorded)))?;
    Some(touch.saturating_sub(LEAD))
}

/// The distance, m, and the angle, rad, between two poses.
fn distance(recorded: &BodyState, simulated: &BodyState) -> (f64, f64) {
    let turn = rotation_between(&recorded.orientation, &simulated.orientation);
    ((simulated.position - recorded.position).norm(), turn.norm())
}

impl<A: AppliedForces> Identification<A> {
    /// How far the model with these parameters is from each recorded motion, over horizons of so many recorded times.
    ///
    /// A prediction starts from a recorded state shortly before the first touch, so that what follows is decided by
    /// contact and not by errors that grow in flight: from the second recorded time before the first one whose pose
    /// touches another body, or from the first of all if that comes too early. A pose touches where contact is found in
    /// it, or a vertex of one body's surface is less than [`TOUCH_MARGIN`] from the surface of another; the bodies stand
    /// as in the model without these parameters, so that the start is the same for all of them. The whole recording
    /// counts, with velocities as the measurement has them ([`Recording::with_velocities_delayed_by`]). The errors over
    /// h recorded times are means over the first h after the start.
    ///
    /// # Errors
    /// A horizon of 0, values out of their range, or a simulation that fails.
    pub fn horizon_errors(
        &self,
        parameters: &[f64],
        horizons: &[usize],
    ) -> Result<HorizonErrors, ProblemError> {
        if horizons.contains(&0) {
            let (field, allowed) = ("horizons", "at least 1");
            return Err(ProblemError::Setting { field, found: "0".into(), allowed });
        }
        let (model, _) = self.seeded(parameters)?;
        let of_measurement = |measurement: &Measurement| {
            let states = measurement.motion().and_then(RecordedMotion::states);
            states.map(|states| self.horizons_of(&model, &states.recording, horizons)).transpose()
        };
        let recordings = in_parallel(&self.measurements, of_measurement).into_iter();
        let recordings: Vec<RecordingHorizons> =
            recordings.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let mean = (horizons.iter().enumerate())
            .map(|(i, &samples)| {
                let all = || recordings.iter().map(|recording| recording.horizons[i]);
                HorizonError {
                    samples,
                    position: mean(all().filter_map(|error| error.position)),
                    rotation: mean(all().filter_map(|error| error.rotation)),
                }
            })
            .collect();
        Ok(HorizonErrors { recordings, mean })
    }

    /// The errors of `model`, which has the parameters, for one recording.
    fn horizons_of(
        &self,
        model: &Model,
        recording: &Recording,
        horizons: &[usize],
    ) -> Result<RecordingHorizons, ProblemError> {
        let start = start_of(&self.model, recording);
        let after = start.map_or(0, |start| recording.states.len() - 1 - start);
        let reached = horizons.iter().copied().filter(|&samples| samples <= after).max();
        let distances = match (start, reached) {
            (Some(start), Some(reached)) => self.distances(model, recording, start..start + reached + 1)?,
            _ => Vec::new(),
        };
        let horizons = horizons.iter().map(|&samples| {
            let compared = distances.get(..samples);
            let mean_of = |part: fn(&(f64, f64)) -> f64| mean(compared?.iter().map(part));
            HorizonError { samples, position: mean_of(|d| d.0), rotation: mean_of(|d| d.1) }
        });
        Ok(RecordingHorizons {
            file: recording.name.clone(),
            start_sample: start,
            horizons: horizons.collect(),
        })
    }

    /// The distance, m, and the angle, rad, from each recorded pose of a range but the first, which the simulation
    /// starts from.
    fn distances(
        &self,
        model: &Model,
        recording: &Recording,
        range: std::ops::Range<usize>,
    ) -> Result<Vec<(f64, f64)>, ProblemError> {
        let Some((_, body, _)) = model.free_bodies().next() else { return Ok(Vec::new()) };
        let part = Recording { name: recording.name.clone(), states: recording.states[range].to_vec() };
        // Any will do: the differences are not divided by them.
        let sigma = StandardDeviations {
            position: 1.0,
            orientation: 1.0,
            linear_velocity: None,
            angular_velocity: None,
            loss: Loss::Squares,
            starts: None,
        };
        let motion = RecordedMotion::new(model, &body.name, part, &sigma, &TimeWindow::default())?;
        motion.states().map_or(Ok(()), |states| states.check_gaps(self.settings.time_step))?;
        let at = self.trial(model, &[], &self.settings);
        let prediction = motion.prediction(&at, &motion.recorded_starts())?;
        let Prediction::Motion { recorded, simulated, .. } = prediction else { return Ok(Vec::new()) };
        let distances: Vec<_> = recorded.iter().zip(&simulated).map(|(r, s)| distance(r, s)).collect();
        match distances.iter().all(|(position, rotation)| position.is_finite() && rotation.is_finite()) {
            true => Ok(distances),
            false => Err(ProblemError::NotFinite { measurement: recording.name.clone() }),
        }
    }
}

/// The mean; `None` of nothing.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
#[path = "horizons_tests.rs"]
mod tests;
