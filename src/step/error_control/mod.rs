//! Error-controlled steps: a step that is made of as many shorter ones, *substeps*, as an accuracy asks
//! for.
//!
//! The lengths of the substeps are found in `f64` (`search.rs`); with derivatives the substeps are then
//! taken with these lengths held (`substep.rs`). The lengths are the step's length times powers of the
//! fourth root of ½, or parts of what is left of it (`length.rs`): as functions of the state they are
//! constant but for jumps, so that the derivative with the lengths held is that of the whole step wherever
//! it has one.

mod displacement;
mod extrapolation;
mod length;
mod onset;
mod search;
mod statistics;
mod substep;
mod tape;

pub use statistics::{Substep, SubstepLimit, SubstepStatistics};

#[cfg(test)]
pub(super) use length::{factor, fitted, quantized};
pub(super) use search::Search;
pub(super) use substep::{Scratch, repeat};
pub(super) use tape::SubstepTapes;

use super::radau::estimate_power;
use super::{
    ComplementarityMethod, Integrator, RadauOrder, StepError, StepProblem, StepWorkspace, VelocityLevel,
};
use crate::multibody::State;
use crate::scalar::Scalar;

/// A step of controlled error: the method of its substeps, and how accurate they have to be.
///
/// The error of a substep is how far the points of bodies are from where a second solution of another order has
/// them, in metres: the shift of a body's origin plus its turn times the largest distance of its geometries from
/// the origin; velocities count with what they make in a second (or in the whole step, if that is longer), since an impact leaves
/// its error in them; with Radau they count with the whole step where no body falls or bounces. The substep is accepted if no
/// body is off by more than `accuracy`. Velocity-level methods of order 1 do not count velocities, so that they
/// take long steps over vibrations of stiff contacts that are smaller than the accuracy.
///
/// Every step begins anew with its whole length as the first one that is tried, whatever was before it: so it
/// depends on nothing but its state, like any other step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorControlled {
    /// The method of the substeps.
    pub method: ControlledMethod,
    /// The error that a substep may have, m; positive.
    pub accuracy: f64,
}

/// The methods whose error can be controlled.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ControlledMethod {
    /// The explicit pair of Bogacki and Shampine, of order 3 with an embedded method of order 2.
    BogackiShampine,
    /// The explicit pair of Dormand and Prince, of order 5 with an embedded method of order 4.
    DormandPrince,
    /// Radau IIA methods of orders 1, 3 and 5, by how fast their iterations converge (Hairer and Wanner 1999;
    /// Elandt et al. §VIII): for references where contact or friction is stiff.
    Radau,
    /// Two velocity-level steps of half the length, compared with one of the whole length: of order 1, with
    /// everything that velocity-level steps keep (Kurtz and Castro, arXiv 2511.08771).
    VelocityLevel(VelocityLevel),
    /// The same three steps, extrapolated to length 0: of order 2 where the motion is smooth.
    Extrapolated(VelocityLevel),
    /// Velocity-level steps, cut where a contact begins within them that would store more energy than the bodies bring. It is
    /// what becomes of a velocity-level step of fixed length that lands; its accuracy has no meaning.
    Landing(VelocityLevel),
    /// Steps by complementarity, as few as have a solution. It is what becomes of such a step of fixed length that has none;
    /// its accuracy has no meaning.
    Divided(ComplementarityMethod),
}

impl ControlledMethod {
    /// The method of the steps of fixed length that a substep consists of.
    pub fn integrator(self) -> Integrator {
        match self {
            Self::BogackiShampine => Integrator::BogackiShampine,
            Self::DormandPrince => Integrator::DormandPrince,
            Self::Radau => Integrator::Radau(RadauOrder::Fifth),
            Self::VelocityLevel(method) | Self::Extrapolated(method) | Self::Landing(method) => {
                Integrator::VelocityLevel(method)
            }
            Self::Divided(method) => Integrator::Complementarity(method),
        }
    }

    /// The same by another velocity-level method; an explicit method stays what it is.
    pub(super) fn with_velocity_level(self, method: VelocityLevel) -> Self {
        match self {
            Self::VelocityLevel(_) => Self::VelocityLevel(method),
            Self::Extrapolated(_) => Self::Extrapolated(method),
            Self::Landing(_) => Self::Landing(method),
            explicit => explicit,
        }
    }

    /// How the impulse of the fixed step of this number counts in that of the whole: of each substep that is extrapolated the
    /// whole comes before the halves.
    pub(super) fn weight_of_fixed_step(self, number: usize) -> f64 {
        match self {
            Self::Extrapolated(_) if number.is_multiple_of(3) => -1.0,
            Self::Extrapolated(_) => 2.0,
            _ => 1.0,
        }
    }

    /// The method of the steps of fixed length that a substep of an order consists of.
    fn of_order(self, order: i32) -> Integrator {
        match (self, RadauOrder::of_number(order)) {
            (Self::Radau, Some(order)) => Integrator::Radau(order),
            _ => self.integrator(),
        }
    }

    /// The order of convergence of a smooth motion.
    pub fn order(self) -> i32 {
        match self {
            Self::Extrapolated(_) => 2,
            _ => self.integrator().order(),
        }
    }

    /// The power of a substep's length that its error, of a method of this order, grows with.
    fn error_order(self, order: i32) -> i32 {
        match self {
            Self::Radau => RadauOrder::of_number(order).map_or(2, estimate_power),
            Self::VelocityLevel(_) | Self::Extrapolated(_) | Self::Landing(_) | Self::Divided(_) => 2,
            _ => self.integrator().tableau().map_or(2, |method| method.error_order),
        }
    }
}

impl ErrorControlled {
    /// What a velocity-level step of fixed length becomes where it lands.
    pub(super) fn landing(method: VelocityLevel) -> Self {
        Self { method: ControlledMethod::Landing(method), accuracy: f64::INFINITY }
    }

    /// What a step of fixed length becomes that ended with an error: shorter ones, if these may have a solution.
    pub(super) fn divided(fixed: Integrator, error: &StepError) -> Option<Self> {
        match (fixed, error) {
            (Integrator::VelocityLevel(method), StepError::NotConverged { .. }) => {
                Some(Self::landing(method))
            }
            (
                Integrator::Complementarity(method),
                StepError::NotConverged { .. } | StepError::NoImpulses { .. },
            ) => Some(Self { method: ControlledMethod::Divided(method), accuracy: f64::INFINITY }),
            _ => None,
        }
    }

    /// The accuracy with which the iterations of substeps that are held go on until rounding ends them.
    pub(crate) const TO_ROUNDING: f64 = f64::MIN_POSITIVE;

    /// The state after a step: the lengths of its substeps are found without derivatives, unless they are held,
    /// and the substeps then taken with them.
    pub(super) fn step_into<T: Scalar>(
        self,
        step: &StepProblem<'_, T>,
        search: &mut Search,
        workspace: &mut StepWorkspace<T>,
        after: &mut State<T>,
    ) -> Result<(), StepError> {
        let found = self.find_substeps(step, search)?;
        if found && T::NDERIV == 0 {
            after.assign(&search.after);
            return Ok(());
        }
        self.set_exactness(step, workspace);
        repeat(self.method, step, &search.statistics.substeps, workspace, after, &mut |_, _, _| ())
    }

    /// Lets the iterations of substeps that are held go on until rounding ends them, if they are to.
    fn set_exactness<T: Scalar>(self, step: &StepProblem<'_, T>, workspace: &mut StepWorkspace<T>) {
        workspace.radau.solver.to_rounding = step.substeps.is_some() && self.accuracy == Self::TO_ROUNDING;
    }

    /// Calls `visit` with each step of fixed length that a step with these substeps consists of, the
    /// state after it, and what it was taken with. Returns the state after the whole step.
    pub(crate) fn for_each_fixed_step(
        self,
        step: &StepProblem<'_>,
        substeps: &[Substep],
        workspace: &mut StepWorkspace,
        visit: &mut dyn FnMut(&StepProblem<'_>, &State, &StepWorkspace),
    ) -> Result<State, StepError> {
        let mut after = State::default();
        repeat(self.method, step, substeps, workspace, &mut after, visit)?;
        Ok(after)
    }

    /// Writes the substeps into the statistics of the search: those that are held, or those that it finds.
    /// Returns whether it did, and so has the state after the step too.
    pub(super) fn find_substeps<T: Scalar>(
        self,
        step: &StepProblem<'_, T>,
        search: &mut Search,
    ) -> Result<bool, StepError> {
        match step.substeps {
            Some(held) => search.statistics.hold(held),
            None => search.run(self, step)?,
        }
        search.is_last = step.substeps.is_none() && T::NDERIV == 0;
        Ok(step.substeps.is_none())
    }

    /// How many times smaller the error of a smooth motion is with a tenth of the accuracy.
    pub(crate) fn gain_of_a_tenth(self) -> f64 {
        let order = self.method.order();
        10_f64.powf(f64::from(order) / f64::from(self.method.error_order(order)))
    }

    /// Refuses an accuracy that is not positive and finite.
    pub(super) fn check(self) -> Result<(), StepError> {
        match self.accuracy > 0.0 && self.accuracy.is_finite() {
            true => Ok(()),
            false => Err(StepError::Accuracy(self.accuracy)),
        }
    }
}

#[cfg(test)]
mod tests;
