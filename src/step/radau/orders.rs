//! The order of the next step.
//!
//! A higher order pays where the iteration for the stages converges fast; where it hardly converges, a
//! method of less stages, which is solved with less effort and converges more readily, is the better choice.
//! The rules are those of the code RADAU (Hairer and Wanner 1999), by the contraction rate Ψ of
//! the iteration (the geometric mean of the last two quotients of changes):
//!
//! * Ψ̄ = max(Ψ, Ψ̄ of the step before / 2) keeps a slow iteration in mind for some steps.
//! * Where Ψ̄ ≤ 0.002, and the step length is about to stay the same (a quotient between 0.8 and 1.2), the
//!   order is raised.
//! * Where Ψ̄ ≥ 0.8, or the iteration has failed, it is lowered.
//! * For ten steps after a change it is not raised.
//!
//! RADAU changes among 5, 9 and 13; here the orders are 1, 3 and 5, one stage more or less each time. RadauOrder 1
//! needs so many more steps for the same error that the order is lowered only at the second failure in a row,
//! at half the length of the first: on the relaxation oscillations of van der Pol's equation all failures
//! are cured by that, and lowering the order at each makes two to three times the steps.

use super::coefficients::RadauOrder;

/// The rules of the choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::step) struct OrderSettings {
    pub(in crate::step) lowest: RadauOrder,
    pub(in crate::step) highest: RadauOrder,
    /// The order is raised at a contraction rate up to this,
    pub(in crate::step) raise_below: f64,
    /// if the quotient of the next step length and the last is within these bounds,
    pub(in crate::step) steady_lengths: (f64, f64),
    /// and at least so many steps have been accepted since the last change.
    pub(in crate::step) settled_after: usize,
    /// The order is lowered at a contraction rate from this on,
    pub(in crate::step) lower_above: f64,
    /// and when so many iterations for one step have failed.
    pub(in crate::step) lower_after_failures: usize,
}

impl Default for OrderSettings {
    fn default() -> Self {
        Self {
            lowest: RadauOrder::First,
            highest: RadauOrder::Fifth,
            raise_below: 0.002,
            steady_lengths: (0.8, 1.2),
            settled_after: 10,
            lower_above: 0.8,
            lower_after_failures: 2,
        }
    }
}

/// What the choice remembers of earlier steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::step) struct OrderMemory {
    contraction: f64,
    /// The accepted steps since the last change.
    steps: usize,
    /// The iterations that have failed since the last accepted step.
    failures: usize,
}

impl OrderMemory {
    /// The order after an accepted step of order `order`, whose iteration had this contraction rate (`None`
    /// where a single iteration sufficed); `length_ratio` is the next step length divided by the last.
    pub(in crate::step) fn after_accepted(
        &mut self,
        settings: &OrderSettings,
        order: RadauOrder,
        contraction: Option<f64>,
        length_ratio: f64,
    ) -> RadauOrder {
        (self.steps, self.failures) = (self.steps.saturating_add(1), 0);
        self.contraction = contraction.unwrap_or(0.0).max(0.5 * self.contraction);
        let (shortest, longest) = settings.steady_lengths;
        let steady = length_ratio > shortest && length_ratio < longest;
        let next = if self.contraction >= settings.lower_above {
            order.lower()
        } else if self.contraction <= settings.raise_below && steady && self.steps > settings.settled_after {
            order.higher()
        } else {
            order
        };
        self.change(settings, order, next)
    }

    /// The order after an iteration that did not converge, with a Jacobian of the present state.
    pub(in crate::step) fn after_failure(
        &mut self,
        settings: &OrderSettings,
        order: RadauOrder,
    ) -> RadauOrder {
        self.failures = self.failures.saturating_add(1);
        let again = self.failures >= settings.lower_after_failures;
        self.change(settings, order, if again { order.lower() } else { order })
    }

    /// Keeps the order within its bounds, and notes when it changes.
    fn change(&mut self, settings: &OrderSettings, order: RadauOrder, next: RadauOrder) -> RadauOrder {
        // Not `clamp`, which panics where the bounds are the wrong way round.
        let next = next.min(settings.highest).max(settings.lowest);
        if next != order {
            *self = Self::default();
        }
        next
    }
}
