//! Residuals of a simulated motion against a recorded one.
//!
//! A recording is cut into windows. Each window is simulated from a state at its start and
//! compared with the recorded states after it (multiple shooting). Errors and sensitivities, which impacts
//! multiply, then grow over one window only.
//!
//! The state at the start is the recorded one, or is estimated ([`super::initial_state`]). In the first case the
//! recorded state at the end of a window is compared too although the next one starts there; in the second each
//! recorded state is one measurement, and belongs to one window.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};

use super::cuts::{Cuts, TimeWindow};
use super::deviations::StandardDeviations;
use super::initial_state::{TOLERANCE, WindowSystem, estimate};
use super::row_residuals::{add_residuals, linear_residuals, recorded_part, state_of};
use super::window_motion::{Sensitive, Steps, TapedSteps, counted_from};
use super::{
    Loss, MeasurementError, Prediction, body_index, check_residuals, place, positive, root_mean_square,
    stacked,
};
use crate::multibody::{
    AppliedForces, BodyState, DifferentiatedModel, Model, PairWorkspace, State, TANGENT_DIMENSION,
};
use crate::optimize::data::{RecordedState, Recording};
use crate::optimize::error::{LARGEST_GAP, ProblemError};
use crate::parallel::in_parallel;
use crate::rollout::{Command, Motion, MotionWarning, Rollout, SimulationError, SimulationSettings};
use crate::scalar::Scalar;
use crate::step::{StepWorkspace, Substep};

/// A recording of a free body, cut into windows.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMotion {
    recording: Recording,
    body: String,
    sigma: StandardDeviations,
    weights: [f64; 4],
    loss: Loss,
    /// The weights of the recorded states at the starts of windows, where these are estimated.
    start_weights: Option<[f64; 4]>,
    cuts: Cuts,
    /// The recorded states of each window; the first is where it starts.
    windows: Vec<Range<usize>>,
    /// The commands of the model's actuators.
    commands: Vec<Command>,
}

/// How many parts a window is cut into for a fit that is to find the way.
const PARTS_OF_EASED: f64 = 10.0;
/// Recorded states of a window that is not worth it.
const FEWEST_EASED: usize = 10;

/// For each window of a recording the substeps of each of its steps.
pub(super) type WindowSubsteps<'a> = &'a [Vec<Vec<Substep>>];

/// For each recorded state whether the body touches another.
fn touching(model: &Model, states: &[RecordedState]) -> Vec<bool> {
    let mut workspace = PairWorkspace::default();
    let mut frames = Vec::new();
    let is_touching = |recorded: &RecordedState| {
        model.body_frames(&state_of(recorded), &mut frames);
        model.body_pair_contact(&frames, &model.pairs, &mut workspace).faces > 0
    };
    states.iter().map(is_touching).collect()
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
        if let Some(joint) = model.mechanism.joints().first() {
            return Err(ProblemError::MovingJoint { joint: joint.name.clone() });
        }
        let index = body_index(model, body)?;
        if !model.bodies[index].is_free() {
            return Err(ProblemError::FixedBody { name: body.to_string() });
        }
        if let Some((_, other, _)) = model.free_bodies().find(|(i, _, _)| *i != index) {
            let (body, other) = (body.to_string(), other.name.clone());
            return Err(ProblemError::OtherFreeBody { body, other });
        }
        let weights = sigma.weights()?;
        let start_weights = sigma.starts.map(|starts| starts.weights()).transpose()?;
        let loss = sigma.loss.check()?;
        let horizon = positive("horizon", window.horizon)?;
        let inside = |s: &RecordedState| s.time >= window.from && s.time <= window.until;
        let first = recording.states.iter().position(inside).unwrap_or(0);
        let count = recording.states.iter().filter(|s| inside(s)).count();
        if count < 2 {
            let (from, until) = (window.from, window.until);
            return Err(ProblemError::EmptyWindow { recording: recording.name, from, until });
        }
        let touching = if window.free_starts { touching(model, &recording.states) } else { Vec::new() };
        let cuts = Cuts { compared: first..first + count, touching };
        let windows = cuts.windows(&recording.states, horizon, start_weights.is_some());
        if windows.is_empty() {
            return Err(ProblemError::AlwaysTouching { recording: recording.name });
        }
        let body = body.to_owned();
        let commands = Vec::new();
        Ok(Self { recording, body, sigma: *sigma, weights, loss, start_weights, cuts, windows, commands })
    }

    /// The same motion under commands of the model's actuators, at the times of the recording.
    #[must_use]
    pub fn under_commands(self, commands: Vec<Command>) -> Self {
        Self { commands, ..self }
    }

    /// The same recording in short windows that start at recorded states as they are, where its own starts are
    /// estimated and one of its windows is longer. Those bias estimates, but errors of parameters grow over a short
    /// time only, so that a fit finds its way from far away.
    pub(super) fn eased(&self) -> Option<Self> {
        self.start_weights?;
        let span = |window: &Range<usize>| {
            let states = &self.recording.states[window.clone()];
            states.last().zip(states.first()).map_or(0.0, |(last, first)| last.time - first.time)
        };
        let longest = self.windows.iter().max_by(|a, b| span(a).total_cmp(&span(b)))?;
        if longest.len() <= FEWEST_EASED {
            return None;
        }
        let windows = self.cuts.windows(&self.recording.states, span(longest) / PARTS_OF_EASED, false);
        Some(Self { start_weights: None, windows, ..self.clone() })
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// The name of the body.
    pub(super) fn body(&self) -> &str {
        &self.body
    }

    /// Number of windows.
    pub fn windows(&self) -> usize {
        self.windows.len()
    }

    /// Whether the states at the starts of windows are estimated.
    pub fn estimates_starts(&self) -> bool {
        self.start_weights.is_some()
    }

    /// The recorded states at the starts of windows.
    pub(super) fn recorded_starts(&self) -> Vec<State> {
        self.windows.iter().map(|window| state_of(&self.recording.states[window.start])).collect()
    }

    /// The recorded state that the first window starts at.
    pub(super) fn first_start(&self) -> Option<&RecordedState> {
        self.windows.first().and_then(|window| self.recording.states.get(window.start))
    }

    /// The recorded states that are compared, in order.
    fn compared(&self) -> impl Iterator<Item = &RecordedState> {
        self.windows.iter().flat_map(|window| &self.recording.states[window.start + 1..window.end])
    }

    /// Checks that no two recorded states in a row are too many steps apart.
    pub(super) fn check_gaps(&self, time_step: f64) -> Result<(), ProblemError> {
        for window in &self.windows {
            for pair in self.recording.states[window.clone()].windows(2) {
                let span = pair[1].time - pair[0].time;
                // Written so that NaN is caught too.
                let few = span / time_step <= LARGEST_GAP;
                if !few {
                    let place = place(&self.recording.name, pair[1].line);
                    return Err(ProblemError::Gap { place, span, time_step });
                }
            }
        }
        Ok(())
    }

    /// For each recorded time compared, the tangent that moves the recorded state to the
    /// simulated one.
    fn differences<T: Scalar>(
        &self,
        model: &Model<T>,
        (settings, applied): (&SimulationSettings, &impl AppliedForces),
        starts: &[State],
        held: Option<WindowSubsteps<'_>>,
    ) -> Result<Vec<Vec<T>>, ProblemError> {
        let of_window = |(index, window): (usize, &Range<usize>)| {
            let mut differences = Vec::with_capacity(window.len() - 1);
            let steps =
                Steps::new(settings, applied, substeps_of(held, index)).under_commands(&self.commands);
            self.simulate_window(model, window.clone(), &starts[index], steps, |recorded, state, _| {
                differences.push(State::lift(&state_of(recorded)).difference(&recorded_part(state)));
            })?;
            Ok(differences)
        };
        let windows = in_parallel(self.windows.iter().enumerate(), of_window).into_iter();
        Ok(windows.collect::<Result<Vec<Vec<Vec<T>>>, ProblemError>>()?.concat())
    }

    /// The substeps of each step of each window.
    pub(super) fn substeps(
        &self,
        model: &Model,
        (settings, applied): (&SimulationSettings, &impl AppliedForces),
        starts: &[State],
    ) -> Result<Vec<Vec<Vec<Substep>>>, ProblemError> {
        let of_window = |(window, start): (&Range<usize>, &State)| {
            let mut all = Vec::new();
            let steps = Steps::new(settings, applied, None).under_commands(&self.commands);
            self.simulate_window(model, window.clone(), start, steps, |_, _, substeps| {
                all.append(substeps);
            })?;
            Ok(all)
        };
        in_parallel(self.windows.iter().zip(starts), of_window).into_iter().collect()
    }

    /// Simulates a window. `visit` is called with each recorded state after the first, the simulated one at
    /// its time, and the substeps of the steps that led there.
    fn simulate_window<T: Scalar, A: AppliedForces>(
        &self,
        model: &Model<T>,
        window: Range<usize>,
        start: &State,
        mut steps: Steps<'_, A>,
        mut visit: impl FnMut(&RecordedState, &State<T>, &mut Vec<Vec<Substep>>),
    ) -> Result<(), ProblemError> {
        let recorded = &self.recording.states[window];
        let mut state = State::<T>::lift(start);
        let (mut workspace, mut substeps) = (StepWorkspace::default(), Vec::new());
        for pair in recorded.windows(2) {
            let span = pair[0].time..pair[1].time;
            state = steps
                .advance(model, state, span, &mut workspace, &mut substeps)
                .map_err(|source| self.failed(recorded[0].time, source))?;
            visit(&pair[1], &state, &mut substeps);
        }
        Ok(())
    }

    /// The failure of a simulation that starts at a recorded time.
    fn failed(&self, time: f64, source: SimulationError) -> ProblemError {
        ProblemError::Recorded { recording: self.recording.name.clone(), time, source: Box::new(source) }
    }

    /// The residuals of one window from a state at its start, with their derivatives; those of the start itself
    /// first, where it is estimated.
    fn system<A: AppliedForces>(
        &self,
        model: &DifferentiatedModel<'_>,
        window: Range<usize>,
        start: &State,
        mut steps: Steps<'_, A>,
    ) -> Result<WindowSystem, ProblemError> {
        let recorded = &self.recording.states[window];
        let count = model.parameters().len();
        let directions: Vec<usize> = (0..TANGENT_DIMENSION).collect();
        let mut at = Sensitive::start(model.model(), start, &directions, count);
        let mut memory = TapedSteps::default();
        let mut rows: Vec<f64> = Vec::new();
        let (mut by_start, mut by_parameters, mut of_start) = (Vec::new(), Vec::new(), 0);
        if let Some(weights) = self.start_weights {
            let (values, by_state) = linear_residuals(&recorded[0], start, weights, self.loss);
            of_start = values.len();
            by_parameters.push(DMatrix::zeros(of_start, count));
            rows.extend(values);
            by_start.push(by_state);
        }
        for pair in recorded.windows(2) {
            let span = pair[0].time..pair[1].time;
            steps
                .advance_linearized(model, &mut at, span, &mut memory)
                .map_err(|source| self.failed(recorded[0].time, source))?;
            let (values, by_state) = linear_residuals(&pair[1], &at.state, self.weights, self.loss);
            check_residuals(&values, &self.recording.name, pair[1].line)?;
            rows.extend(values);
            by_start.push(&by_state * at.by_start.rows(0, TANGENT_DIMENSION));
            by_parameters.push(&by_state * at.by_parameters.rows(0, TANGENT_DIMENSION));
        }
        Ok(WindowSystem {
            residuals: DVector::from_vec(rows),
            of_start,
            by_start: stacked(&by_start, TANGENT_DIMENSION),
            by_parameters: stacked(&by_parameters, count),
            directions,
            is_stuck: false,
        })
    }

    /// The windows' systems at the given starts, or with `search`, where starts are estimated, at those that explain
    /// the measurements best, which are looked for from the given ones and replace them.
    pub(super) fn systems(
        &self,
        model: &DifferentiatedModel<'_>,
        (settings, applied): (&SimulationSettings, &impl AppliedForces),
        starts: &mut [State],
        search: bool,
        held: Option<WindowSubsteps<'_>>,
    ) -> Result<Vec<WindowSystem>, ProblemError> {
        let of_window = |(index, (window, start)): (usize, (&Range<usize>, &mut State))| {
            let evaluate = |at: &State| {
                let steps =
                    Steps::new(settings, applied, substeps_of(held, index)).under_commands(&self.commands);
                self.system(model, window.clone(), at, steps)
            };
            if !(search && self.estimates_starts()) {
                return evaluate(start);
            }
            let (found, system) = estimate(std::mem::take(start), TOLERANCE, evaluate)?;
            *start = found;
            Ok(system)
        };
        in_parallel(self.windows.iter().zip(starts).enumerate(), of_window).into_iter().collect()
    }

    /// The warnings of the simulated windows.
    pub(super) fn warnings(
        &self,
        model: &Model,
        (settings, applied): (&SimulationSettings, &impl AppliedForces),
        starts: &[State],
    ) -> Result<Vec<MotionWarning>, ProblemError> {
        let mut warnings = Vec::new();
        for (window, start) in self.windows.iter().zip(starts) {
            let recorded = &self.recording.states[window.clone()];
            let (Some(first), Some(last)) = (recorded.first(), recorded.last()) else { continue };
            let until = last.time - first.time;
            let (model, commands) = counted_from((model, &self.commands), first.time);
            let rollout = Rollout::new(&model, start, *settings, until).under(applied);
            let motion = Motion::of(&rollout.with_controls(&commands));
            warnings.extend(motion.warnings);
            motion.outcome.map_err(|source| self.failed(first.time, source))?;
        }
        Ok(warnings)
    }

    /// Differences over standard deviations, those compared, from states at the starts of windows; with the
    /// substeps of each window where they are held.
    pub(super) fn residuals<T: Scalar>(
        &self,
        model: &Model<T>,
        simulation: (&SimulationSettings, &impl AppliedForces),
        starts: &[State],
        held: Option<WindowSubsteps<'_>>,
    ) -> Result<Vec<T>, ProblemError> {
        let mut residuals = Vec::new();
        let differences = self.differences(model, simulation, starts, held)?;
        for (difference, recorded) in differences.into_iter().zip(self.compared()) {
            let first = residuals.len();
            add_residuals(difference, self.weights, self.loss, &mut residuals);
            check_residuals(&residuals[first..], &self.recording.name, recorded.line)?;
        }
        Ok(residuals)
    }

    /// The recorded states that are compared, and the simulated ones.
    pub(super) fn prediction(
        &self,
        model: &Model,
        simulation: (&SimulationSettings, &impl AppliedForces),
        starts: &[State],
    ) -> Result<Prediction, ProblemError> {
        let recorded: Vec<BodyState> = self.compared().map(|state| state_of(state).bodies[0]).collect();
        let differences = self.differences(model, simulation, starts, None)?;
        let simulated = recorded.iter().zip(&differences).map(|(state, tangent)| state.moved(tangent));
        Ok(Prediction::Motion {
            name: self.recording.name.clone(),
            times: self.compared().map(|state| state.time).collect(),
            simulated: simulated.collect(),
            recorded,
            standard_deviations: self.sigma,
        })
    }

    /// Root mean squares of the differences.
    pub(super) fn error(
        &self,
        model: &Model,
        simulation: (&SimulationSettings, &impl AppliedForces),
        starts: &[State],
    ) -> Result<MeasurementError, ProblemError> {
        let differences = self.differences(model, simulation, starts, None)?;
        for (difference, recorded) in differences.iter().zip(self.compared()) {
            let residuals: Vec<f64> =
                difference.iter().enumerate().map(|(i, d)| d * self.weights[i / 3]).collect();
            check_residuals(&residuals, &self.recording.name, recorded.line)?;
        }
        let part = |k: usize| {
            let square = |d: &Vec<f64>| d[3 * k..3 * k + 3].iter().map(|x| x * x).sum::<f64>();
            root_mean_square(differences.iter().map(square))
        };
        Ok(MeasurementError::Motion {
            name: self.recording.name.clone(),
            times: differences.len(),
            orientation: part(0),
            position: part(1),
            angular_velocity: part(2),
            linear_velocity: part(3),
        })
    }
}

/// Those of one window.
fn substeps_of(held: Option<WindowSubsteps<'_>>, window: usize) -> Option<&[Vec<Substep>]> {
    held.and_then(|held| held.get(window)).map(Vec::as_slice)
}

#[cfg(test)]
#[path = "trajectory_tests.rs"]
mod tests;
