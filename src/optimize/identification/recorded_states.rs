//! Recorded states of a free body, cut into windows, beside those of a simulated motion.
//!
//! Where windows start at recorded states as they are, the one at the end of a window is compared too although the next
//! window starts there; where starts are estimated, each recorded state is one measurement, and belongs to one window.

use std::ops::Range;

use nalgebra::{DMatrix, DVector};

use super::cuts::{Cuts, TimeWindow};
use super::deviations::StandardDeviations;
use super::samples::{Rows, Sample};
use super::window_motion::Sensitive;
use super::{MeasurementError, Prediction, body_index, check_residuals, place, positive, root_mean_square};
use crate::multibody::{BodyState, Model, PairWorkspace, State, TANGENT_DIMENSION, for_each_tangent_chunk};
use crate::optimize::data::{RecordedState, Recording};
use crate::optimize::error::{LARGEST_GAP, ProblemError};
use crate::scalar::{DualArray, Scalar};

/// The recorded states of a free body.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecordedStates {
    pub recording: Recording,
    /// The name of the body.
    pub body: String,
    sigma: StandardDeviations,
    weights: [f64; 4],
    /// The weights of the recorded states at the starts of windows, where these are estimated.
    start_weights: Option<[f64; 4]>,
    cuts: Cuts,
    /// The recorded states of each window; the first is where it starts.
    pub windows: Vec<Range<usize>>,
}

/// How many parts a window is cut into for a fit that is to find the way.
const PARTS_OF_EASED: f64 = 10.0;
/// Recorded states of a window that is not worth it.
const FEWEST_EASED: usize = 10;

/// The recorded state as a state of the model.
pub(super) fn state_of(recorded: &RecordedState) -> State {
    State::of_bodies(vec![recorded.body])
}

/// The part of a state that recordings have: bristles are not recorded.
fn recorded_part<T: Scalar>(state: &State<T>) -> State<T> {
    State::of_bodies(state.bodies.clone())
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

impl RecordedStates {
    /// Those of the body named `body`, as [`RecordedMotion::new`](super::RecordedMotion::new) has them.
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
        sigma.loss.check()?;
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
        let (body, sigma) = (body.to_owned(), *sigma);
        Ok(Self { recording, body, sigma, weights, start_weights, cuts, windows })
    }

    /// The same in short windows that start at recorded states as they are, where the starts are estimated and one of the
    /// windows is longer.
    pub fn eased(&self) -> Option<Self> {
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

    /// Whether the states at the starts of windows are estimated.
    pub fn estimates_starts(&self) -> bool {
        self.start_weights.is_some()
    }

    /// The recorded states of a window, its start included.
    pub fn of_window(&self, window: usize) -> &[RecordedState] {
        &self.recording.states[self.windows[window].clone()]
    }

    /// The recorded states that are compared, in order.
    pub fn compared(&self) -> impl Iterator<Item = &RecordedState> {
        (0..self.windows.len()).flat_map(|window| &self.of_window(window)[1..])
    }

    /// Checks that no two recorded states in a row are too many steps apart.
    pub fn check_gaps(&self, time_step: f64) -> Result<(), ProblemError> {
        for window in 0..self.windows.len() {
            for pair in self.of_window(window).windows(2) {
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

    /// For each recorded state of a window after the first, the tangent that moves it to the simulated one.
    pub fn deviations<T: Scalar>(&self, window: usize, moments: &[State<T>]) -> Vec<Vec<T>> {
        let pairs = self.of_window(window).iter().zip(moments).skip(1);
        pairs
            .map(|(recorded, state)| State::lift(&state_of(recorded)).difference(&recorded_part(state)))
            .collect()
    }

    fn sample(&self, recorded: &RecordedState) -> Sample {
        Sample { weights: self.weights, loss: self.sigma.loss, line: recorded.line }
    }

    /// How each recorded state that is compared counts.
    pub fn samples(&self) -> Vec<Sample> {
        self.compared().map(|recorded| self.sample(recorded)).collect()
    }

    /// The residuals of the start of a window, where it is estimated.
    pub fn start_rows(&self, window: usize, start: &State) -> Option<Rows> {
        let (recorded, weights) = (&self.of_window(window)[0], self.start_weights?);
        let sample = Sample { weights, ..self.sample(recorded) };
        let (residuals, by_start) = linear_residuals(recorded, start, &sample);
        Some(Rows { by_parameters: DMatrix::zeros(residuals.len(), 0), residuals, by_start })
    }

    /// The residuals of the recorded states of a window after the first.
    pub fn rows(&self, window: usize, motion: &[Sensitive]) -> Result<Vec<Rows>, ProblemError> {
        let of_state = |(recorded, at): (&RecordedState, &Sensitive)| {
            let (residuals, by_state) = linear_residuals(recorded, &at.state, &self.sample(recorded));
            check_residuals(residuals.as_slice(), &self.recording.name, recorded.line)?;
            let by_start = &by_state * at.by_start.rows(0, TANGENT_DIMENSION);
            let by_parameters = &by_state * at.by_parameters.rows(0, TANGENT_DIMENSION);
            Ok(Rows { residuals, by_start, by_parameters })
        };
        self.of_window(window).iter().zip(motion).skip(1).map(of_state).collect()
    }

    /// The recorded states that are compared, and the simulated ones.
    pub fn prediction(&self, name: String, deviations: &[Vec<f64>]) -> Prediction {
        let recorded: Vec<BodyState> = self.compared().map(|state| state.body).collect();
        let simulated =
            recorded.iter().zip(deviations).map(|(state, tangent)| state.moved(tangent)).collect();
        let times = self.compared().map(|state| state.time).collect();
        Prediction::Motion { name, times, simulated, recorded, standard_deviations: self.sigma }
    }

    /// Root mean squares of the differences.
    pub fn error(&self, name: String, deviations: &[Vec<f64>]) -> Result<MeasurementError, ProblemError> {
        for (deviation, recorded) in deviations.iter().zip(self.compared()) {
            let weighted = deviation.iter().enumerate().map(|(i, d)| d * self.weights[i / 3]);
            check_residuals(&weighted.collect::<Vec<f64>>(), &name, recorded.line)?;
        }
        let part = |k: usize| {
            let square = |d: &Vec<f64>| d[3 * k..3 * k + 3].iter().map(|x| x * x).sum::<f64>();
            root_mean_square(deviations.iter().map(square))
        };
        let [orientation, position, angular_velocity, linear_velocity] = [0, 1, 2, 3].map(part);
        let times = deviations.len();
        Ok(MeasurementError::Motion { name, times, position, orientation, linear_velocity, angular_velocity })
    }
}

/// The residuals of one recorded time, and their derivatives with respect to the recorded part of the simulated
/// state, in its tangent space.
fn linear_residuals(
    recorded: &RecordedState,
    state: &State,
    sample: &Sample,
) -> (DVector<f64>, DMatrix<f64>) {
    type Direction = DualArray<TANGENT_DIMENSION>;
    let (mut lifted, measured) = (State::<Direction>::default(), State::lift(&state_of(recorded)));
    let (mut values, mut by_state) = (DVector::zeros(0), DMatrix::zeros(0, 0));
    for_each_tangent_chunk(&recorded_part(state), &mut lifted, &mut |state, directions| {
        let mut residuals = Vec::new();
        sample.add_residuals(measured.difference(state), &mut residuals);
        values = DVector::from_iterator(residuals.len(), residuals.iter().map(|r| r.re));
        by_state = DMatrix::from_fn(residuals.len(), directions.len(), |row, k| residuals[row].eps[k]);
    });
    (values, by_state)
}

const _: () = assert!(TANGENT_DIMENSION == 12, "weights are for four vectors");
