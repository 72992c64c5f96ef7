//! Residuals of a simulated motion against a recorded one.
//!
//! A recording is cut into windows. Each window is simulated from the recorded state at its start and
//! compared with the recorded states after it, up to and including the start of the next window
//! (multiple shooting with given initial states). Errors and sensitivities, which impacts multiply, then
//! grow over one window only.

use std::ops::Range;

use rayon::prelude::*;

use super::{MeasurementError, Prediction, body_index, check_residuals, place, positive, root_mean_square};
use crate::multibody::{AppliedForces, BodyState, Model, PairWorkspace, State, TANGENT_DIMENSION};
use crate::optimize::data::{RecordedState, Recording};
use crate::optimize::error::{LARGEST_GAP, ProblemError};
use crate::rollout::{Motion, MotionWarning, Rollout, SimulationError, SimulationSettings, checked_step};
use crate::scalar::Scalar;
use crate::spatial::SpatialVelocity;
use crate::step::{StepProblem, StepWorkspace, Substep};

/// Standard deviations of a recording, one number for each direction of a vector. Velocities
/// without one are not compared.
///
/// Effects that the model does not contain (a table that is not flat, a start in the middle of an
/// impact) leave residuals far larger than the noise, and with squares a few of these decide the result.
/// With an `outlier_limit` c, the squared length s of the residuals of one recorded time counts as
/// 2c²(√(1 + s/c²) − 1) (P. Charbonnier et al., *Two deterministic half-quadratic regularization
/// algorithms for computed imaging*, 1994): like s while it is small, and like 2c√s where it is large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StandardDeviations {
    /// Of positions, m.
    pub position: f64,
    /// Of orientations (rotation vector), rad.
    pub orientation: f64,
    /// Of velocities, m/s.
    pub linear_velocity: Option<f64>,
    /// Of angular velocities, rad/s.
    pub angular_velocity: Option<f64>,
    /// Length of the residuals of one recorded time, in standard deviations, from which they
    /// count less than squared; `None` if never.
    pub outlier_limit: Option<f64>,
}

impl StandardDeviations {
    /// 1/σ for each tangent direction (rotation, translation, angular velocity, velocity); 0
    /// for those not compared.
    fn weights(&self) -> Result<[f64; 4], ProblemError> {
        let weight = |field, sigma: f64| Ok::<_, ProblemError>(1.0 / positive(field, sigma)?);
        let optional = |field, sigma: Option<f64>| sigma.map_or(Ok(0.0), |s| weight(field, s));
        Ok([
            weight("orientation_sigma", self.orientation)?,
            weight("position_sigma", self.position)?,
            optional("angular_velocity_sigma", self.angular_velocity)?,
            optional("linear_velocity_sigma", self.linear_velocity)?,
        ])
    }
}

/// The part of a recording that is compared, and the length of its windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeWindow {
    /// Earliest recorded time used, s.
    pub from: f64,
    /// Latest recorded time used, s.
    pub until: f64,
    /// Longest time simulated from one recorded state, s; a window has at least one recorded
    /// time after its start. Infinite: one window.
    pub horizon: f64,
    /// Whether windows start only at recorded states in which the body touches nothing, in that state,
    /// the one before it and the one after it: velocities computed by differences reach that far.
    /// Recorded states in contact overlap by the errors of the recording, to which a stiff contact
    /// responds with forces that never acted; a fit then makes the contact too soft.
    pub free_starts: bool,
}

impl Default for TimeWindow {
    /// The whole recording from its first state.
    fn default() -> Self {
        Self { from: f64::NEG_INFINITY, until: f64::INFINITY, horizon: f64::INFINITY, free_starts: false }
    }
}

/// A recording of a free body, cut into windows.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMotion {
    recording: Recording,
    sigma: StandardDeviations,
    weights: [f64; 4],
    outlier_limit: f64,
    /// The recorded states of each window; the first is where it starts.
    windows: Vec<Range<usize>>,
}

/// For each window of a recording the substeps of each of its steps.
pub(super) type WindowSubsteps<'a> = &'a [Vec<Vec<Substep>>];

/// The recorded state as a state of the model.
fn state_of(recorded: &RecordedState) -> State {
    let velocity = SpatialVelocity::new(recorded.angular_velocity, recorded.linear_velocity);
    let body = BodyState { orientation: recorded.orientation, position: recorded.position, velocity };
    State::of_bodies(vec![body])
}

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
        let index = body_index(model, body)?;
        if !model.bodies[index].is_free() {
            return Err(ProblemError::FixedBody { name: body.to_string() });
        }
        if let Some((_, other, _)) = model.free_bodies().find(|(i, _, _)| *i != index) {
            let (body, other) = (body.to_string(), other.name.clone());
            return Err(ProblemError::OtherFreeBody { body, other });
        }
        let weights = sigma.weights()?;
        let outlier_limit =
            sigma.outlier_limit.map_or(Ok(f64::INFINITY), |c| positive("outlier_limit", c))?;
        let horizon = positive("horizon", window.horizon)?;
        let inside = |s: &RecordedState| s.time >= window.from && s.time <= window.until;
        let first = recording.states.iter().position(inside).unwrap_or(0);
        let count = recording.states.iter().filter(|s| inside(s)).count();
        if count < 2 {
            let (from, until) = (window.from, window.until);
            return Err(ProblemError::EmptyWindow { recording: recording.name, from, until });
        }
        let last = first + count - 1;
        let touching = if window.free_starts { touching(model, &recording.states) } else { Vec::new() };
        let may_start = |i: &usize| {
            let beside = i.saturating_sub(1)..(i + 2).min(touching.len());
            touching.is_empty() || !touching[beside].contains(&true)
        };
        let mut windows = Vec::new();
        let mut start = first;
        while let Some(next) = (start..last).find(may_start) {
            start = next;
            // Recorded times are rounded; one that is meant to be at the horizon is inside.
            let end = recording.states[start].time + horizon * (1.0 + 1e-9);
            let within = |i: &usize| recording.states[*i].time <= end;
            let stop = (start + 1..=last).take_while(within).last().unwrap_or(start + 1);
            windows.push(start..stop + 1);
            start = stop;
        }
        if windows.is_empty() {
            return Err(ProblemError::AlwaysTouching { recording: recording.name });
        }
        Ok(Self { recording, sigma: *sigma, weights, outlier_limit, windows })
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Number of windows.
    pub fn windows(&self) -> usize {
        self.windows.len()
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
        settings: &SimulationSettings,
        applied: &impl AppliedForces,
        held: Option<WindowSubsteps<'_>>,
    ) -> Result<Vec<Vec<T>>, ProblemError> {
        let of_window = |(index, window): (usize, &Range<usize>)| {
            let mut differences = Vec::with_capacity(window.len() - 1);
            let held = held.and_then(|held| held.get(index)).map(Vec::as_slice);
            self.simulate_window(model, window.clone(), settings, applied, held, |recorded, state, _| {
                // Bristles are not recorded.
                let bodies = State::of_bodies(state.bodies.clone());
                differences.push(State::lift(&state_of(recorded)).difference(&bodies));
            })?;
            Ok(differences)
        };
        let windows: Vec<Vec<Vec<T>>> =
            self.windows.par_iter().enumerate().map(of_window).collect::<Result<_, ProblemError>>()?;
        Ok(windows.into_iter().flatten().collect())
    }

    /// The substeps of each step of each window.
    pub(super) fn substeps(
        &self,
        model: &Model,
        settings: &SimulationSettings,
        applied: &impl AppliedForces,
    ) -> Result<Vec<Vec<Vec<Substep>>>, ProblemError> {
        let of_window = |window: &Range<usize>| {
            let mut all = Vec::new();
            self.simulate_window(model, window.clone(), settings, applied, None, |_, _, substeps| {
                all.append(substeps);
            })?;
            Ok(all)
        };
        self.windows.par_iter().map(of_window).collect()
    }

    /// Simulates a window. `visit` is called with each recorded state after the first, the simulated one at
    /// its time, and the substeps of the steps that led there.
    fn simulate_window<T: Scalar>(
        &self,
        model: &Model<T>,
        window: Range<usize>,
        settings: &SimulationSettings,
        applied: &impl AppliedForces,
        held: Option<&[Vec<Substep>]>,
        mut visit: impl FnMut(&RecordedState, &State<T>, &mut Vec<Vec<Substep>>),
    ) -> Result<(), ProblemError> {
        let recorded = &self.recording.states[window];
        let mut state = State::<T>::lift(&state_of(&recorded[0]));
        let mut memory = Memory { workspace: StepWorkspace::default(), held, substeps: Vec::new() };
        for pair in recorded.windows(2) {
            let span = pair[0].time..pair[1].time;
            state = advance(model, state, span, settings, applied, &mut memory).map_err(|source| {
                ProblemError::Recorded {
                    recording: self.recording.name.clone(),
                    time: recorded[0].time,
                    source: Box::new(source),
                }
            })?;
            visit(&pair[1], &state, &mut memory.substeps);
        }
        Ok(())
    }

    /// The warnings of the simulated windows.
    pub(super) fn warnings(
        &self,
        model: &Model,
        settings: &SimulationSettings,
        applied: &impl AppliedForces,
    ) -> Result<Vec<MotionWarning>, ProblemError> {
        let mut warnings = Vec::new();
        for window in &self.windows {
            let recorded = &self.recording.states[window.clone()];
            let (Some(first), Some(last)) = (recorded.first(), recorded.last()) else { continue };
            let initial = state_of(first);
            let until = last.time - first.time;
            let motion = Motion::of(&Rollout::new(model, &initial, *settings, until).under(applied));
            warnings.extend(motion.warnings);
            motion.outcome.map_err(|source| ProblemError::Recorded {
                recording: self.recording.name.clone(),
                time: first.time,
                source: Box::new(source),
            })?;
        }
        Ok(warnings)
    }

    /// Differences over standard deviations, those compared; with the substeps of each window where they are
    /// held.
    pub(super) fn residuals<T: Scalar>(
        &self,
        model: &Model<T>,
        settings: &SimulationSettings,
        applied: &impl AppliedForces,
        held: Option<WindowSubsteps<'_>>,
    ) -> Result<Vec<T>, ProblemError> {
        let mut residuals = Vec::new();
        let differences = self.differences(model, settings, applied, held)?;
        for (difference, recorded) in differences.into_iter().zip(self.compared()) {
            let first = residuals.len();
            for (i, d) in difference.into_iter().enumerate() {
                let weight = self.weights[i / 3];
                if weight > 0.0 {
                    residuals.push(d * weight);
                }
            }
            check_residuals(&residuals[first..], &self.recording.name, recorded.line)?;
            reduce_outlier(&mut residuals[first..], self.outlier_limit);
        }
        Ok(residuals)
    }

    /// The recorded states that are compared, and the simulated ones.
    pub(super) fn prediction(
        &self,
        model: &Model,
        settings: &SimulationSettings,
        applied: &impl AppliedForces,
    ) -> Result<Prediction, ProblemError> {
        let recorded: Vec<BodyState> = self.compared().map(|state| state_of(state).bodies[0]).collect();
        let differences = self.differences(model, settings, applied, None)?;
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
        settings: &SimulationSettings,
        applied: &impl AppliedForces,
    ) -> Result<MeasurementError, ProblemError> {
        let differences = self.differences(model, settings, applied, None)?;
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

/// Scales residuals of squared length s to the squared length 2c²(√(1 + s/c²) − 1), written
/// as s · 2/(1 + √(1 + s/c²)), which has derivatives at s = 0.
fn reduce_outlier<T: Scalar>(residuals: &mut [T], limit: f64) {
    if limit == f64::INFINITY {
        return;
    }
    let square = residuals.iter().fold(T::from(0.0), |sum, &r| sum + r * r);
    let root = (square / T::from(limit * limit) + T::from(1.0)).sqrt();
    let factor = (T::from(2.0) / (root + T::from(1.0))).sqrt();
    residuals.iter_mut().for_each(|r| *r *= factor);
}

/// What steps of a window are taken with.
struct Memory<'h, T> {
    workspace: StepWorkspace<T>,
    /// The substeps of the steps that are still to be taken, where they are held.
    held: Option<&'h [Vec<Substep>]>,
    /// The substeps of the steps that were taken, of those whose error is controlled.
    substeps: Vec<Vec<Substep>>,
}

/// The state at the end of a span of time, by equal steps not longer than the time step.
fn advance<T: Scalar>(
    model: &Model<T>,
    mut state: State<T>,
    span: Range<f64>,
    settings: &SimulationSettings,
    applied: &impl AppliedForces,
    memory: &mut Memory<'_, T>,
) -> Result<State<T>, SimulationError> {
    if settings.time_step.is_nan() || settings.time_step <= 0.0 {
        return Err(SimulationError::TimeStep(settings.time_step));
    }
    let length = span.end - span.start;
    let steps = (length / settings.time_step - 1e-9).ceil().max(1.0);
    let dt = length / steps;
    for step in 0..steps as usize {
        let time = span.start + step as f64 * dt;
        let (next, later) = memory.held.and_then(|held| held.split_first()).unzip();
        memory.held = later;
        let substeps = next.map(Vec::as_slice);
        let problem =
            StepProblem { model, state: &state, time, time_step: dt, applied, control: &[], substeps };
        state = checked_step(settings.integrator, &problem, step + 1, &mut memory.workspace)?;
        if settings.integrator.is_error_controlled() && substeps.is_none() {
            memory.substeps.extend(memory.workspace.substeps().map(|taken| taken.substeps.clone()));
        }
    }
    Ok(state)
}

const _: () = assert!(TANGENT_DIMENSION == 12, "weights are for four vectors");

#[cfg(test)]
#[path = "trajectory_tests.rs"]
mod tests;
