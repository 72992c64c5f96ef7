//! Recorded motions of models: which stretches of them are simulated, and residuals of what was recorded there.
//!
//! A recording of a free body is cut into windows ([`super::recorded_states`]); one of sensors is a single window
//! ([`super::sensors`]). Each window is simulated from a state at its start and compared with what was recorded after it
//! (multiple shooting). Errors and sensitivities, which impacts multiply, then grow over one window only.
//!
//! The state at the start is the recorded one, or is estimated ([`super::initial_state`]).

use std::borrow::Cow;

use nalgebra::DMatrix;

use super::initial_state::{TOLERANCE, WindowSystem, estimate};
use super::phase::Phase;
use super::recorded_states::{RecordedStates, state_of};
use super::samples::{Rows, Sample};
use super::sensors::{RecordedChannels, Sensor, SensorData, Trial};
use super::window_motion::{Sensitive, Steps, counted_from};
use super::{
    MeasurementError, Prediction, StandardDeviations, StateDeviations, TimeWindow, check_residuals, stacked,
};
use crate::multibody::{DifferentiatedModel, Model, State, TANGENT_DIMENSION};
use crate::optimize::data::Recording;
use crate::optimize::error::ProblemError;
use crate::parallel::in_parallel;
use crate::rollout::{
    Command, LinearSteps, Motion, MotionWarning, Rollout, SimulationError, SimulationSettings,
};
use crate::scalar::Scalar;
use crate::step::{StepWorkspace, Substep};

/// A recorded motion of a model, cut into windows.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMotion {
    pub(super) name: String,
    pub(super) windows: Vec<Window>,
    /// The directions of the tangent space of a window's start that are estimated.
    pub(super) estimated: Vec<usize>,
    /// The commands of the model's actuators.
    pub(super) commands: Vec<Command>,
    pub(super) compared: Compared,
}

/// A stretch of a motion that is simulated by itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    /// The state at its start, as it was recorded.
    pub start: State,
    /// Its times, s, from the start on: those that were recorded, or the first and the last.
    pub times: Vec<f64>,
}

/// What was recorded of a motion.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Compared {
    /// States of a free body, each at a time at which the motion is looked at.
    States(Box<RecordedStates>),
    /// Channels of sensors, between the steps of the motion.
    Channels(RecordedChannels),
}

/// What a comparison gives, or why there is none.
type Outcome<T> = Result<T, ProblemError>;

/// For each window of a recording the substeps of each of its steps.
pub(super) type WindowSubsteps<'a> = &'a [Vec<Vec<Substep>>];

/// Those of one window.
fn of_window(held: Option<WindowSubsteps<'_>>, window: usize) -> Option<&[Vec<Substep>]> {
    Some(held?.get(window)?)
}

impl RecordedMotion {
    /// The motion of the body named `body`, which must be the only free one of the model.
    ///
    /// # Errors
    /// No such body, it is fixed or others are free, a standard deviation or horizon that is
    /// not positive, a window with fewer than two recorded times.
    pub fn new(
        model: &Model,
        body: &str,
        recording: Recording,
        sigma: &StandardDeviations,
        window: &TimeWindow,
    ) -> Result<Self, ProblemError> {
        let states = RecordedStates::new(model, body, recording, sigma, window)?;
        Ok(Self::of_states(states))
    }

    /// What sensors recorded of the motion of `model` from `start` under the data's commands. Standard deviations of
    /// the start say what of it is estimated.
    ///
    /// # Errors
    /// A sensor with numbers out of their range or of something that the model does not have, and samples that are not
    /// as many or of such a form as the sensors want.
    pub fn of_sensors(
        model: &Model,
        start: &State,
        sensors: Vec<Sensor>,
        data: SensorData,
        deviations: &StateDeviations,
        time_step: f64,
    ) -> Result<Self, ProblemError> {
        let SensorData { name, samples, commands } = data;
        let (found, expected) = (commands.len(), model.command_dimension());
        if found != expected {
            return Err(SimulationError::ControlDimension { found, expected }.into());
        }
        let start = model.completed(start.clone());
        let (channels, end) = RecordedChannels::new(model, &start, sensors, (&name, samples), deviations)?;
        let until = (end / time_step - 1e-9).ceil().max(1.0) * time_step;
        // So many steps that they are too many are refused here.
        SimulationSettings { time_step, ..Default::default() }.schedule(until)?;
        Ok(Self {
            name,
            windows: vec![Window { start, times: vec![0.0, until] }],
            estimated: channels.estimated(),
            commands,
            compared: Compared::Channels(channels),
        })
    }

    fn of_states(states: RecordedStates) -> Self {
        let window = |window: usize| {
            let recorded = states.of_window(window);
            let times = recorded.iter().map(|state| state.time).collect();
            Window { start: state_of(&recorded[0]), times }
        };
        let estimated = if states.estimates_starts() { TANGENT_DIMENSION } else { 0 };
        Self {
            name: states.recording.name.clone(),
            windows: (0..states.windows.len()).map(window).collect(),
            estimated: (0..estimated).collect(),
            commands: Vec::new(),
            compared: Compared::States(Box::new(states)),
        }
    }

    /// The same recording in short windows that start at recorded states as they are, where its own starts are
    /// estimated and one of its windows is longer. Those bias estimates, but errors of parameters grow over a short
    /// time only, so that a fit finds its way from far away.
    pub(super) fn eased(&self) -> Option<Self> {
        let eased = Self::of_states(self.states()?.eased()?);
        Some(eased.under_commands(self.commands.clone()))
    }

    /// The same motion under commands of the model's actuators, at the times of the recording.
    #[must_use]
    pub fn under_commands(self, commands: Vec<Command>) -> Self {
        Self { commands, ..self }
    }

    /// Where it comes from, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of windows.
    pub fn windows(&self) -> usize {
        self.windows.len()
    }

    /// Whether something of the states at the starts of windows is estimated.
    pub fn estimates_starts(&self) -> bool {
        !self.estimated.is_empty()
    }

    /// The recorded states of a free body, if it is of those.
    pub(super) fn states(&self) -> Option<&RecordedStates> {
        match &self.compared {
            Compared::States(states) => Some(states),
            Compared::Channels(_) => None,
        }
    }

    /// The channels of sensors, if it is of those.
    pub(super) fn channels(&self) -> Option<&RecordedChannels> {
        match &self.compared {
            Compared::States(_) => None,
            Compared::Channels(channels) => Some(channels),
        }
    }

    /// The states at the starts of windows, as they were recorded.
    pub(super) fn recorded_starts(&self) -> Vec<State> {
        self.windows.iter().map(|window| window.start.clone()).collect()
    }

    /// The times at which a window's motion is looked at.
    fn times(&self, window: usize, settings: &SimulationSettings) -> Cow<'_, [f64]> {
        let Window { times, .. } = &self.windows[window];
        match &self.compared {
            Compared::States(_) => Cow::Borrowed(times),
            Compared::Channels(_) => {
                let last = times.last().map_or(0.0, |until| (until / settings.time_step).round());
                (0..=(last as usize).max(1)).map(|step| step as f64 * settings.time_step).collect()
            }
        }
    }

    /// The steps of a window, with their substeps where these are held.
    fn steps<'s>(&'s self, settings: &'s SimulationSettings, held: Option<&'s [Vec<Substep>]>) -> Steps<'s> {
        Steps { settings, commands: &self.commands, held }
    }

    /// The failure of a simulation that starts at a recorded time.
    fn failed(&self, time: f64, source: SimulationError) -> ProblemError {
        ProblemError::Recorded { recording: self.name.clone(), time, source: Box::new(source) }
    }

    /// The states at the times of a window. The substeps of its steps are added to `taken`, of those whose error is
    /// controlled and whose substeps are not held.
    pub(super) fn moments<T: Scalar>(
        &self,
        at: &Trial<'_, Model<T>, T>,
        (window, start): (usize, &State),
        mut steps: Steps<'_>,
        taken: &mut Vec<Vec<Substep>>,
    ) -> Outcome<Vec<State<T>>> {
        let times = self.times(window, at.settings);
        let mut workspace = StepWorkspace::default();
        let mut moments = vec![State::<T>::lift(start)];
        for (pair, k) in times.windows(2).zip(0..) {
            let (before, span): (State<T>, _) = (moments[k].clone(), pair[0]..pair[1]);
            let after = steps.advance((at.model, at.applied), before, span, &mut workspace, taken);
            moments.push(after.map_err(|source| self.failed(times[0], source))?);
        }
        Ok(moments)
    }

    /// For each sample the numbers that the model says less those that were recorded, from states at the starts of windows;
    /// with the substeps of each window where they are held.
    pub(super) fn deviations<T: Scalar>(
        &self,
        at: &Trial<'_, Model<T>, T>,
        starts: &[State],
        held: Option<WindowSubsteps<'_>>,
    ) -> Outcome<Vec<Vec<T>>> {
        let deviations = |(window, start): (usize, &State)| {
            let steps = self.steps(at.settings, of_window(held, window));
            let moments = self.moments(at, (window, start), steps, &mut Vec::new())?;
            Ok(match &self.compared {
                Compared::States(states) => states.deviations(window, &moments),
                Compared::Channels(channels) => channels.deviations(at, &moments, &steps),
            })
        };
        let windows = in_parallel(starts.iter().enumerate(), deviations).into_iter();
        Ok(windows.collect::<Outcome<Vec<Vec<Vec<T>>>>>()?.concat())
    }

    /// How each sample counts.
    fn samples(&self) -> Vec<Sample> {
        match &self.compared {
            Compared::States(states) => states.samples(),
            Compared::Channels(channels) => channels.samples(),
        }
    }

    /// Differences over standard deviations, those compared.
    pub(super) fn residuals<T: Scalar>(
        &self,
        at: &Trial<'_, Model<T>, T>,
        starts: &[State],
        held: Option<WindowSubsteps<'_>>,
    ) -> Outcome<Vec<T>> {
        let mut residuals = Vec::new();
        for (deviation, sample) in self.deviations(at, starts, held)?.into_iter().zip(self.samples()) {
            let first = residuals.len();
            sample.add_residuals(deviation, &mut residuals);
            check_residuals(&residuals[first..], &self.name, sample.line)?;
        }
        Ok(residuals)
    }

    /// The substeps of each step of each window.
    pub(super) fn substeps(&self, at: &Trial<'_>, starts: &[State]) -> Outcome<Vec<Vec<Vec<Substep>>>> {
        let of_window = |(window, start): (usize, &State)| {
            let mut taken = Vec::new();
            self.moments(at, (window, start), self.steps(at.settings, None), &mut taken)?;
            Ok(taken)
        };
        in_parallel(starts.iter().enumerate(), of_window).into_iter().collect()
    }

    /// The residuals of one window from a state at its start, with their derivatives; those of the start itself
    /// first, where it is estimated. The substeps of its steps may be held.
    fn system(
        &self,
        at: &Trial<'_, DifferentiatedModel<'_>>,
        (window, start): (usize, &State),
        held: Option<&[Vec<Substep>]>,
    ) -> Outcome<WindowSystem> {
        let count = at.model.parameters().len();
        let (times, steps) = (self.times(window, at.settings), self.steps(at.settings, held));
        let mut motion = vec![Sensitive::start(at.model.model(), start, &self.estimated, count)];
        let (mut left, mut memory) = (steps, LinearSteps::default());
        for (pair, k) in times.windows(2).zip(0..) {
            let (mut next, span) = (Sensitive::clone(&motion[k]), pair[0]..pair[1]);
            left.advance_linearized((at.model, at.applied), &mut next, span, &mut memory)
                .map_err(|source| self.failed(times[0], source))?;
            motion.push(next);
        }
        let (of_start, mut rows) = match &self.compared {
            Compared::States(states) => (states.start_rows(window, start), states.rows(window, &motion)?),
            Compared::Channels(channels) => (
                channels.start_rows(&self.windows[window].start, start),
                channels.rows(&self.name, at, &motion, steps)?,
            ),
        };
        let (of_start, columns) = (Vec::from_iter(of_start), count + at.sensors.len());
        let first = of_start.iter().map(|rows| rows.residuals.len()).sum();
        rows.splice(0..0, of_start);
        let of_rows = |of: fn(&Rows) -> &DMatrix<f64>, columns| stacked(rows.iter().map(of), columns);
        Ok(WindowSystem {
            residuals: rows.iter().flat_map(|rows| rows.residuals.iter().copied()).collect::<Vec<_>>().into(),
            of_start: first,
            by_start: of_rows(|rows| &rows.by_start, self.estimated.len()),
            by_parameters: of_rows(|rows| &rows.by_parameters, columns),
            directions: self.estimated.clone(),
            is_stuck: false,
        })
    }

    /// The windows' systems at the given starts, or after at most `search` steps, where starts are estimated, at those that explain
    /// the measurements best, which are looked for from the given ones and replace them.
    pub(super) fn systems(
        &self,
        at: &Trial<'_, DifferentiatedModel<'_>>,
        starts: &mut [State],
        search: usize,
        held: Option<WindowSubsteps<'_>>,
    ) -> Outcome<Vec<WindowSystem>> {
        let system = |(window, start): (usize, &mut State)| {
            let held = of_window(held, window);
            if search == 0 || !self.estimates_starts() {
                return self.system(at, (window, start), held);
            }
            // Residuals jump as substeps follow the start, and a step that promises little is then refused, damped, and
            // refused again. So those of the first start are held.
            let mut first = Vec::new();
            let known = match held {
                Some(held) => Some(held),
                None if at.settings.integrator.is_error_controlled() => {
                    let steps = self.steps(at.settings, None);
                    self.moments(&at.real(), (window, start), steps, &mut first)?;
                    Some(first.as_slice())
                }
                None => None,
            };
            let evaluate = |from: &State| self.system(at, (window, from), known);
            let (found, system) = estimate(start.clone(), (TOLERANCE, search), evaluate)?;
            let is_followed = held.is_some() || known.is_none() || found == *start;
            *start = found;
            if is_followed {
                return Ok(system);
            }
            let is_stuck = system.is_stuck;
            Ok(WindowSystem { is_stuck, ..self.system(at, (window, start), None)? })
        };
        in_parallel(starts.iter_mut().enumerate(), system).into_iter().collect()
    }

    /// For each channel of sensors the phase of contact at each of its samples.
    pub(super) fn phases(&self, at: &Trial<'_>, starts: &[State]) -> Outcome<Vec<Vec<Phase>>> {
        let Some((channels, start)) = self.channels().zip(starts.first()) else { return Ok(Vec::new()) };
        let moments = self.moments(at, (0, start), self.steps(at.settings, None), &mut Vec::new())?;
        Ok(channels.phases(at, &moments))
    }

    /// The warnings of the simulated windows.
    pub(super) fn warnings(&self, at: &Trial<'_>, starts: &[State]) -> Outcome<Vec<MotionWarning>> {
        let mut warnings = Vec::new();
        for (Window { times, .. }, start) in self.windows.iter().zip(starts) {
            let (Some(first), Some(last)) = (times.first(), times.last()) else { continue };
            let (model, commands) = counted_from((at.model, &self.commands), *first);
            let rollout = Rollout::new(&model, start, *at.settings, last - first).under(at.applied);
            let motion = Motion::of(&rollout.with_controls(&commands));
            warnings.extend(motion.warnings);
            motion.outcome.map_err(|source| self.failed(*first, source))?;
        }
        Ok(warnings)
    }

    /// What was recorded, and what the model says in its place.
    pub(super) fn prediction(&self, at: &Trial<'_>, starts: &[State]) -> Outcome<Prediction> {
        let (name, deviations) = (self.name.clone(), self.deviations(at, starts, None)?);
        Ok(match &self.compared {
            Compared::States(states) => states.prediction(name, &deviations),
            Compared::Channels(channels) => {
                Prediction::Sensors { name, channels: channels.predictions(deviations) }
            }
        })
    }

    /// Root mean squares of the differences.
    pub(super) fn error(&self, at: &Trial<'_>, starts: &[State]) -> Outcome<MeasurementError> {
        let (name, deviations) = (self.name.clone(), self.deviations(at, starts, None)?);
        match &self.compared {
            Compared::States(states) => states.error(name, &deviations),
            Compared::Channels(channels) => {
                let channels = channels.predictions(deviations).into_iter().map(Into::into).collect();
                Ok(MeasurementError::Sensors { name, channels })
            }
        }
    }
}

#[cfg(test)]
#[path = "recorded_motion_tests.rs"]
mod tests;
