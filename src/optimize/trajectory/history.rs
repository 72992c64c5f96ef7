//! The iterations of an optimization, written down as they are made.

use std::sync::{Arc, Mutex, PoisonError};

use argmin::core::observers::Observe;
use argmin::core::{Error, KV, State};
use serde::{Deserialize, Serialize};

use super::evaluations::{EvaluationCounter, Evaluations};

/// What one iteration came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrajectoryIteration {
    /// Its number; 0 is the start, or what the first look of [`TrajectoryMethod::Auto`] left it for.
    ///
    /// [`TrajectoryMethod::Auto`]: super::TrajectoryMethod::Auto
    pub iteration: u64,
    /// The cost.
    pub cost: f64,
    /// The largest derivative of the cost with respect to a variable that no bound holds, where the
    /// solver tells it.
    pub gradient_norm: Option<f64>,
    /// Evaluations so far.
    pub evaluations: Evaluations,
}

/// The iterations that were written down; shared with the checkpoints.
pub type Iterations = Arc<Mutex<Vec<TrajectoryIteration>>>;

/// Writes down every iteration.
#[derive(Clone, Debug)]
pub(in crate::optimize) struct History {
    pub counter: Arc<EvaluationCounter>,
    pub iterations: Iterations,
}

impl History {
    fn note(&self, iteration: u64, cost: f64, kv: &KV) {
        let gradient_norm = kv.get("gradient_norm").and_then(|norm| norm.get_float());
        let evaluations = self.counter.read();
        let noted = TrajectoryIteration { iteration, cost, gradient_norm, evaluations };
        self.iterations.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
    }
}

impl<I: State<Float = f64>> Observe<I> for History {
    fn observe_init(&mut self, _: &str, state: &I, kv: &KV) -> Result<(), Error> {
        self.note(0, state.get_cost(), kv);
        Ok(())
    }

    fn observe_iter(&mut self, state: &I, kv: &KV) -> Result<(), Error> {
        self.note(state.get_iter() + 1, state.get_cost(), kv);
        Ok(())
    }
}

/// Takes the iterations that were written down.
pub(in crate::optimize) fn taken(iterations: &Iterations) -> Vec<TrajectoryIteration> {
    std::mem::take(&mut *iterations.lock().unwrap_or_else(PoisonError::into_inner))
}
