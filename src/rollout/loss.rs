//! What is minimized over a trajectory: a sum over its steps and a term at its end.

use super::gauss_newton::TrajectoryResiduals;
use crate::multibody::{DIRECTIONS, Model, State, for_each_tangent_chunk};
use crate::scalar::{DualArray, Scalar};

/// Where on a trajectory a term of a loss is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a, T = f64> {
    /// The number of the step that starts here, from 0; at the end the number of steps.
    pub step: usize,
    /// Time, s.
    pub time: f64,
    /// Length of the step that starts here, s; 0 at the end.
    pub dt: f64,
    /// The model.
    pub model: &'a Model<T>,
    /// The state.
    pub state: &'a State<T>,
    /// Control values of the step that starts here; none at the end.
    pub control: &'a [T],
}

/// A loss that is evaluated in any scalar, so that dual numbers can differentiate it. Its value is the
/// sum of [`Loss::running`] at the start of every step and of [`Loss::terminal`] at the end.
///
/// The gradient takes one evaluation for each free body, for every six joint coordinates, and
/// for every twelve control values.
/// With many bodies [`LossFunctions`] with a gradient by hand is faster.
///
/// ```
/// use isobar::rollout::{Loss, Moment};
/// use isobar::scalar::Scalar;
///
/// /// Bring the first body to a height, at little effort.
/// struct Lift {
///     height: f64,
/// }
///
/// impl Loss for Lift {
///     fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
///         moment.control.iter().fold(T::from(0.0), |sum, &u| sum + u * u * moment.dt)
///     }
///
///     fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
///         let off = moment.state.bodies[0].position.z - self.height;
///         off * off
///     }
/// }
/// ```
pub trait Loss: Sync {
    /// The term of a step, at its start. An integral over time takes the factor [`Moment::dt`].
    fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let _ = moment;
        T::from(0.0)
    }

    /// The term at the end.
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let _ = moment;
        T::from(0.0)
    }
}

/// Half of the sum of squares of residuals, as a loss.
#[derive(Clone, Copy, Debug)]
pub struct HalfSquares<'a, R>(pub &'a R);

/// Half of the sum of the squares of numbers.
fn half_squares<T: Scalar>(residuals: &[T]) -> T {
    residuals.iter().fold(T::from(0.0), |sum, &r| sum + r * r) * 0.5
}

impl<R: TrajectoryResiduals> Loss for HalfSquares<'_, R> {
    fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let mut residuals = Vec::new();
        self.0.running(moment, &mut residuals);
        half_squares(&residuals)
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let mut residuals = Vec::new();
        self.0.terminal(moment, &mut residuals);
        half_squares(&residuals)
    }
}

/// The derivatives of a term of a loss.
#[derive(Debug)]
pub struct MomentGradient<'a> {
    /// With respect to the state in its tangent space (see [`State::moved`]).
    pub state: &'a mut [f64],
    /// With respect to the control values.
    pub control: &'a mut [f64],
}

/// A loss that computes its own gradient. Every [`Loss`] does.
pub trait DifferentiableLoss: Sync {
    /// Adds the derivatives of the term of a step, and returns its value.
    fn add_running(&self, moment: &Moment, by: &mut MomentGradient, workspace: &mut LossWorkspace) -> f64;

    /// Adds the derivatives of the term at the end, and returns its value.
    fn add_terminal(&self, moment: &Moment, by: &mut MomentGradient, workspace: &mut LossWorkspace) -> f64;
}

/// A loss from two functions that return a term's value and add its derivatives by hand.
///
/// ```
/// use isobar::rollout::{LossFunctions, Moment, MomentGradient};
///
/// // The square of the first body's height at the end.
/// let loss = LossFunctions {
///     running: |_: &Moment, _: &mut MomentGradient| 0.0,
///     terminal: |moment: &Moment, by: &mut MomentGradient| {
///         let z = moment.state.bodies[0].position.z;
///         by.state[5] += 2.0 * z;
///         z * z
///     },
/// };
/// # let _: &dyn isobar::rollout::DifferentiableLoss = &loss;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LossFunctions<R, E> {
    /// The term of a step, at its start.
    pub running: R,
    /// The term at the end.
    pub terminal: E,
}

impl<R, E> DifferentiableLoss for LossFunctions<R, E>
where
    R: Fn(&Moment, &mut MomentGradient) -> f64 + Sync,
    E: Fn(&Moment, &mut MomentGradient) -> f64 + Sync,
{
    fn add_running(&self, moment: &Moment, by: &mut MomentGradient, _: &mut LossWorkspace) -> f64 {
        (self.running)(moment, by)
    }

    fn add_terminal(&self, moment: &Moment, by: &mut MomentGradient, _: &mut LossWorkspace) -> f64 {
        (self.terminal)(moment, by)
    }
}

/// A number with the derivatives along the directions that a loss is differentiated in at a time.
pub(super) type Direction = DualArray<DIRECTIONS>;

/// Memory that the gradient of a loss reuses from one moment to the next.
#[derive(Debug)]
pub struct LossWorkspace {
    model: Model<Direction>,
    state: State<Direction>,
    control: Vec<Direction>,
    /// Residuals, where the loss is made of them.
    pub(super) residuals: Vec<Direction>,
}

impl LossWorkspace {
    /// Memory for losses over trajectories of a model.
    pub fn new(model: &Model) -> Self {
        let model = Model::lift(model);
        Self { model, state: State::default(), control: Vec::new(), residuals: Vec::new() }
    }

    /// Adds to `by` the derivatives of a function of a moment: `evaluate` is called once for each
    /// free body, for every six joint coordinates, and for every twelve control values, and returns
    /// the derivatives along twelve directions.
    pub(super) fn differentiate(
        &mut self,
        moment: &Moment,
        by: &mut MomentGradient,
        mut evaluate: impl FnMut(&Moment<Direction>, &mut Vec<Direction>) -> [f64; DIRECTIONS],
    ) {
        let Self { model, state, control, residuals } = self;
        let model = &*model;
        control.clear();
        control.extend(moment.control.iter().map(|&c| Direction::from(c)));
        let Moment { step, time, dt, .. } = *moment;
        for_each_tangent_chunk(moment.state, state, |state, directions| {
            let along = evaluate(&Moment { step, time, dt, model, state, control }, residuals);
            by.state[directions].iter_mut().zip(along).for_each(|(out, x)| *out += x);
        });
        for (chunk, out) in by.control.chunks_mut(DIRECTIONS).enumerate() {
            let first = chunk * DIRECTIONS;
            for k in 0..out.len() {
                control[first + k] = Direction::variable(moment.control[first + k], k);
            }
            let along = evaluate(&Moment { step, time, dt, model, state, control }, residuals);
            for k in 0..out.len() {
                control[first + k] = Direction::from(moment.control[first + k]);
            }
            out.iter_mut().zip(along).for_each(|(out, x)| *out += x);
        }
    }
}

impl<L: Loss> DifferentiableLoss for L {
    fn add_running(&self, moment: &Moment, by: &mut MomentGradient, workspace: &mut LossWorkspace) -> f64 {
        workspace.differentiate(moment, by, |moment, _| self.running(moment).eps);
        self.running(moment)
    }

    fn add_terminal(&self, moment: &Moment, by: &mut MomentGradient, workspace: &mut LossWorkspace) -> f64 {
        workspace.differentiate(moment, by, |moment, _| self.terminal(moment).eps);
        self.terminal(moment)
    }
}
