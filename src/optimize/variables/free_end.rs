//! The end of the motions as a variable.
//!
//! Steps keep their length: the motions are simulated up to the first step that ends at or after the end T, and of
//! that last step the part before T counts. With the states x and x⁺ at its ends, which begin at t and are δt apart, the
//! state at T is x moved by the part (T − t)/δt of the way to x⁺, along a straight line in the tangent space; running
//! costs are integrated up to T. So the cost is continuous in T. Its derivative jumps where T passes the end of a
//! step, by a term of the order of δt; there it is that of a shorter motion.
//!
//! Commands at knots are stretched with the motion: a knot stays at the same part of it. What scripts and loads say, and
//! when controllers sample, does not depend on the end.

use std::sync::OnceLock;

use super::control_range::ControlRange;
use crate::multibody::{SEEDS, State};
use crate::optimize::error::ProblemError;
use crate::rollout::{
    ControlKnots, Controls, DifferentiableLoss, HalfSquares, KnotInterpolation, KnotMap, Loss, LossWorkspace,
    Moment, MomentGradient, Rollout, SimulationError, SimulationSettings, TrajectoryResiduals,
};
use crate::scalar::{DualArray, Scalar};

/// The end of the motions, where it is optimized.
#[derive(Clone, Debug, PartialEq)]
pub struct FreeEnd {
    /// What it may be, and its scale, s. Both bounds are positive and finite.
    pub range: ControlRange,
    /// What a second of the motion costs, beside the costs of the members.
    pub weight: f64,
    /// The knots of the commands that are optimized, if there are any, in a motion that ends at a time in s. Held knots
    /// are no choice, since steps of commands that move from one step of the motion to the next have no derivative.
    pub knots: Option<(ControlKnots, f64)>,
}

impl FreeEnd {
    /// Refuses what makes no sense.
    pub(super) fn check(&self, has_knots: bool) -> Result<(), ProblemError> {
        let Self { range, weight, knots } = self;
        let wrong = |message: String| Err(ProblemError::EndTime(message));
        if let Err(error) = range.check(0) {
            return wrong(error.to_string());
        }
        if !(range.lower > 0.0 && range.upper.is_finite()) {
            return wrong(format!(
                "its bounds are {} and {}; they must be positive and finite",
                range.lower, range.upper
            ));
        }
        if !(*weight >= 0.0 && weight.is_finite()) {
            return wrong(format!("its weight is {weight}; it must be at least 0 and finite"));
        }
        match knots {
            None if has_knots => wrong("the knots of the commands are missing".to_owned()),
            Some((knots, _))
                if knots.interpolation() == KnotInterpolation::ZeroOrderHold && knots.times().len() > 1 =>
            {
                wrong("the commands are held from knot to knot; they must be linear or cubic between knots, so that the cost has a derivative with respect to the end".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// What belongs to one end in s, with this number of control values at a knot.
    pub(in crate::optimize) fn at(
        &self,
        time: f64,
        settings: &SimulationSettings,
        dimension: usize,
    ) -> Result<Ending, SimulationError> {
        let steps = settings.schedule(time)?.steps().max(1);
        let step_length = settings.time_step;
        let start = (steps - 1) as f64 * step_length;
        let rest = time - start;
        let mut times: Vec<f64> = (0..steps).map(|step| step as f64 * step_length).collect();
        times.push(time);
        let maps = self.knots.as_ref().map(|(knots, end)| knots.stretched_map(dimension, &times, *end));
        Ok(Ending { time, steps, rest, step_length, maps })
    }
}

/// A motion's end at one value of it.
#[derive(Debug)]
pub(in crate::optimize) struct Ending {
    /// The end, s.
    pub time: f64,
    /// Number of steps, the last included.
    pub steps: usize,
    /// How much of the last step belongs to the motion, s.
    rest: f64,
    step_length: f64,
    /// The map from values at knots to rows, and its derivative with respect to the end.
    pub maps: Option<[KnotMap; 2]>,
}

impl Ending {
    /// When the last step ends, s.
    pub fn last_step_end(&self) -> f64 {
        self.steps as f64 * self.step_length
    }

    /// The state at the end, from those at the ends of the last step.
    pub fn state(&self, before: &State, after: &State) -> State {
        between(before, after, self.part())
    }

    fn part(&self) -> f64 {
        self.rest / self.step_length
    }

    /// The derivative of the optimized control values of every step with respect to the end, times those of a number
    /// with respect to them.
    pub fn through_controls(&self, values_at_knots: &[f64], by_rows: &Controls) -> f64 {
        let Some([_, slopes]) = &self.maps else { return 0.0 };
        let rows = slopes.controls(values_at_knots);
        rows.values().iter().zip(by_rows.values()).map(|(row, by)| row * by).sum()
    }
}

/// The state at a part of the way from one state to another.
fn between<T: Scalar>(from: &State<T>, to: &State<T>, part: T) -> State<T> {
    let mut tangent = from.difference(to);
    tangent.iter_mut().for_each(|x| *x *= part);
    from.moved(&tangent)
}

/// Half of the sum of squares of residuals over a motion with a free end, which is over before its last step is.
pub(in crate::optimize) struct LossToEnd<'a, R> {
    residuals: &'a R,
    ending: &'a Ending,
    /// What the derivative with respect to the end takes.
    last: OnceLock<LastStep>,
}

/// The last step in `f64`.
struct LastStep {
    states: [State; 2],
    running: f64,
}

impl<'a, R: TrajectoryResiduals> LossToEnd<'a, R> {
    /// The loss of a motion with this end.
    pub fn new(residuals: &'a R, ending: &'a Ending) -> Self {
        Self { residuals, ending, last: OnceLock::new() }
    }

    /// Its derivative with respect to the end, with the control values held, after the loss has been evaluated on a
    /// rollout.
    pub fn by_end(&self, rollout: &Rollout<'_>) -> Result<f64, SimulationError> {
        type Dual = DualArray<SEEDS>;
        let Some(LastStep { states: [before, after], running }) = self.last.get() else { return Ok(0.0) };
        let Ending { time, steps, rest, step_length, .. } = *self.ending;
        let state = self.ending.state(before, after);
        let part = Dual::variable(self.ending.part(), 0);
        let rate = State::lift(&state).difference(&between(&State::lift(before), &State::lift(after), part));
        let mut by_state = vec![0.0; rate.len()];
        let (model, contacts) = (rollout.model, Default::default());
        let end = Moment { step: steps, time, ..Moment::instant(model, &state, &[], &contacts) };
        let mut by =
            MomentGradient { state: &mut by_state, step_end: &mut [], control: &mut [], parameters: &mut [] };
        let mut workspace = LossWorkspace::new(model, &[])?;
        HalfSquares(self.residuals).add_terminal(&end, &mut by, &mut workspace);
        let of_state: f64 = by_state.iter().zip(&rate).map(|(by, rate)| by * rate.eps[0]).sum();
        // Running costs are integrals over time.
        Ok(running / rest + of_state / step_length)
    }
}

impl<R: TrajectoryResiduals> Loss for LossToEnd<'_, R> {
    fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let loss = HalfSquares(self.residuals);
        let Ending { time, steps, rest, .. } = *self.ending;
        let Some(step_end) = moment.step_end.filter(|_| moment.step + 1 == steps) else {
            return loss.running(moment);
        };
        let running = loss.running(&Moment { dt: rest, ..*moment });
        let after = step_end.state();
        self.last.get_or_init(|| LastStep {
            states: [moment.state.real(), after.real()],
            running: running.real(),
        });
        let state = between(moment.state, after, T::from(self.ending.part()));
        let contacts = Default::default();
        let end = Moment { step: steps, time, ..Moment::instant(moment.model, &state, &[], &contacts) };
        running + loss.terminal(&end)
    }
}
