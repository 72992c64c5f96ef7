//! What is minimized over a trajectory: a sum over its steps and a term at its end.

use std::fmt;

use super::loss_workspace::{Direction, LossWorkspace, Seed, Term};
use super::moment::{Moment, MomentGradient};
use crate::scalar::{CHUNK, DualArray, Scalar};

/// A loss that is evaluated in any scalar, so that dual numbers can differentiate it. Its value is the
/// sum of [`Loss::running`] at the start of every step and of [`Loss::terminal`] at the end. What a step did is known at
/// its start too: how it ends ([`Moment::step_end`]), and what its contacts pushed with ([`Moment::step_force`]).
///
/// The gradient takes one evaluation for each free body, for every six joint coordinates, and
/// for every twelve control values; and as many for the end of a step as for its start where the loss asks for it
/// ([`Moment::step_end`]). Where it is asked for with respect to parameters of the model, it takes one
/// more, and one for every four of them at the moments at which the loss reads what they change.
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

/// Residuals over a trajectory, half of whose sum of squares is to be small.
///
/// How many there are may depend on the step, but not on state or control.
pub trait TrajectoryResiduals: Sync {
    /// Appends the residuals of a step, at its start, to `residuals`.
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let _ = (moment, residuals);
    }

    /// Appends the residuals of the end.
    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let _ = (moment, residuals);
    }
}

/// [`TrajectoryResiduals`] in one scalar, as an object: all of them are, in every scalar.
pub trait ResidualsIn<T>: Sync {
    /// [`TrajectoryResiduals::running`].
    fn add_running(&self, moment: &Moment<T>, residuals: &mut Vec<T>);

    /// [`TrajectoryResiduals::terminal`].
    fn add_terminal(&self, moment: &Moment<T>, residuals: &mut Vec<T>);
}

impl<R: TrajectoryResiduals, T: Scalar> ResidualsIn<T> for R {
    fn add_running(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        self.running(moment, residuals);
    }

    fn add_terminal(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        self.terminal(moment, residuals);
    }
}

/// [`TrajectoryResiduals`] as an object, in the scalars that isobar itself works with. Problems and solvers take the user's
/// residuals in this form, so that they are compiled once and not once for each kind of residuals.
pub trait DifferentiableResiduals:
    ResidualsIn<f64> + ResidualsIn<Seed> + ResidualsIn<DualArray<CHUNK>> + ResidualsIn<Direction>
{
}

impl<R> DifferentiableResiduals for R where
    R: ResidualsIn<f64> + ResidualsIn<Seed> + ResidualsIn<DualArray<CHUNK>> + ResidualsIn<Direction>
{
}

impl fmt::Debug for dyn DifferentiableResiduals + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("residuals")
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

struct Running<'l, L>(&'l L);

impl<L: Loss> Term for Running<'_, L> {
    fn value<T: Scalar>(&self, moment: &Moment<T>, _: &mut Vec<T>) -> T {
        self.0.running(moment)
    }
}

struct Terminal<'l, L>(&'l L);

impl<L: Loss> Term for Terminal<'_, L> {
    fn value<T: Scalar>(&self, moment: &Moment<T>, _: &mut Vec<T>) -> T {
        self.0.terminal(moment)
    }
}

impl<L: Loss> DifferentiableLoss for L {
    fn add_running(&self, moment: &Moment, by: &mut MomentGradient, workspace: &mut LossWorkspace) -> f64 {
        workspace.differentiate(moment, by, &Running(self))
    }

    fn add_terminal(&self, moment: &Moment, by: &mut MomentGradient, workspace: &mut LossWorkspace) -> f64 {
        workspace.differentiate(moment, by, &Terminal(self))
    }
}
