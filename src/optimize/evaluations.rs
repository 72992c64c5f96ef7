//! What an optimization costs: simulations, and derivatives of simulations.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// How often a motion was simulated and differentiated.
///
/// A *rollout* is one simulation of the whole motion, whether it failed, was rejected by a line search,
/// or gave the value that a derivative needs. Derivatives are counted separately. A gradient (one
/// backward sweep) takes about two to four times as long as a simulation for any number of variables.
/// The time of a Jacobian (the derivative of every step) depends on the integrator and the size of the
/// state. Where the motion under the same variables was simulated before, a derivative takes it from
/// there and counts no further simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluations {
    /// Simulations of the motion.
    pub rollouts: u64,
    /// Gradients by the adjoint method.
    pub gradients: u64,
    /// Linearizations of all steps and residuals.
    pub jacobians: u64,
}

impl Evaluations {
    /// Those and others.
    pub(super) fn with(&self, others: &Self) -> Self {
        Self {
            rollouts: self.rollouts.saturating_add(others.rollouts),
            gradients: self.gradients.saturating_add(others.gradients),
            jacobians: self.jacobians.saturating_add(others.jacobians),
        }
    }

    /// Those without others that are among them.
    pub(super) fn without(&self, others: &Self) -> Self {
        Self {
            rollouts: self.rollouts.saturating_sub(others.rollouts),
            gradients: self.gradients.saturating_sub(others.gradients),
            jacobians: self.jacobians.saturating_sub(others.jacobians),
        }
    }
}

/// Counts evaluations; shared by the threads that make them.
#[derive(Debug, Default)]
pub struct EvaluationCounter {
    rollouts: AtomicU64,
    gradients: AtomicU64,
    jacobians: AtomicU64,
}

impl EvaluationCounter {
    /// The numbers so far.
    pub fn read(&self) -> Evaluations {
        Evaluations {
            rollouts: self.rollouts.load(Ordering::Relaxed),
            gradients: self.gradients.load(Ordering::Relaxed),
            jacobians: self.jacobians.load(Ordering::Relaxed),
        }
    }

    /// Goes on from evaluations that were made before, such as those before an interruption.
    pub fn set(&self, evaluations: &Evaluations) {
        self.rollouts.store(evaluations.rollouts, Ordering::Relaxed);
        self.gradients.store(evaluations.gradients, Ordering::Relaxed);
        self.jacobians.store(evaluations.jacobians, Ordering::Relaxed);
    }

    pub(super) fn count_rollout(&self) {
        self.rollouts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_gradient(&self) {
        self.gradients.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_jacobian(&self) {
        self.jacobians.fetch_add(1, Ordering::Relaxed);
    }
}
