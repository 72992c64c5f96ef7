//! The iterations of an optimization, written down as they are made.

use std::sync::{Arc, Mutex, PoisonError};

use argmin::core::observers::Observe;
use argmin::core::{Error, KV, State};
use serde::{Deserialize, Serialize};

use super::evaluations::{EvaluationCounter, Evaluations};

/// What one iteration came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryIteration {
    /// Its number; 0 is the start, or what the first look of [`Automatic`](super::automatic::Automatic) left it for.
    pub iteration: u64,
    /// The cost.
    pub cost: f64,
    /// The largest derivative of the cost with respect to a variable that no bound holds, where the
    /// solver tells it.
    pub gradient_norm: Option<f64>,
    /// Evaluations so far.
    pub evaluations: Evaluations,
    /// The variables that it came to, of the start and of iterations 1, 2, 4, 8 and so on, so that they take little
    /// room; empty for the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<f64>,
}

/// The iterations that were written down; shared with the checkpoints.
pub(super) type Iterations = Arc<Mutex<Vec<TrajectoryIteration>>>;

/// Writes down every iteration.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub counter: Arc<EvaluationCounter>,
    pub iterations: Iterations,
}

impl History {
    fn note<I: State<Param = Vec<f64>, Float = f64>>(&self, iteration: u64, state: &I, kv: &KV) {
        let gradient_norm = kv.get("gradient_norm").and_then(|norm| norm.get_float());
        let evaluations = self.counter.read();
        let keeps = iteration == 0 || iteration.is_power_of_two();
        let variables = state.get_param().filter(|_| keeps).cloned().unwrap_or_default();
        let cost = state.get_cost();
        let noted = TrajectoryIteration { iteration, cost, gradient_norm, evaluations, variables };
        self.iterations.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
    }
}

impl<I: State<Param = Vec<f64>, Float = f64>> Observe<I> for History {
    fn observe_init(&mut self, _: &str, state: &I, kv: &KV) -> Result<(), Error> {
        self.note(0, state, kv);
        Ok(())
    }

    fn observe_iter(&mut self, state: &I, kv: &KV) -> Result<(), Error> {
        self.note(state.get_iter() + 1, state, kv);
        Ok(())
    }
}

/// Takes the iterations that were written down.
pub(super) fn taken(iterations: &Iterations) -> Vec<TrajectoryIteration> {
    std::mem::take(&mut *iterations.lock().unwrap_or_else(PoisonError::into_inner))
}
