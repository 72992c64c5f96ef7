//! Telling how far an optimization has come.

use std::fmt::Debug;
use std::sync::Arc;

use argmin::core::observers::Observe;
use argmin::core::{Error, KV, State};

/// How far an optimization has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Iterations made; none at the start.
    pub iterations: u64,
    /// The best cost.
    pub cost: f64,
    /// The gradient's norm, where the solver tells it.
    pub gradient_norm: Option<f64>,
}

/// What a round of an optimization under constraints came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundProgress {
    /// Rounds made.
    pub rounds: usize,
    /// The cost, without constraints.
    pub cost: f64,
    /// How far the constraint that is farthest from holding is from it, over its tolerance.
    pub over_tolerance: f64,
    /// The largest multiplier.
    pub multiplier: f64,
    /// The largest penalty.
    pub penalty: f64,
}

/// Who is told how far an optimization has come.
pub trait ProgressListener: Debug + Send + Sync {
    /// Is told at the start and after every iteration.
    fn hear(&self, progress: &Progress);

    /// Is told after every round of an optimization under constraints.
    fn hear_round(&self, round: &RoundProgress) {
        let _ = round;
    }

    /// Is told that the optimization has ended.
    fn end(&self) {}
}

/// Tells a listener of every iteration of an argmin solver.
#[derive(Clone, Debug)]
pub struct ProgressObserver {
    listener: Arc<dyn ProgressListener>,
    /// Whether the end of a run is that of the optimization.
    is_last: bool,
}

impl ProgressObserver {
    /// An observer that tells `listener`.
    pub fn new(listener: impl ProgressListener + 'static) -> Self {
        Self { listener: Arc::new(listener), is_last: true }
    }

    /// An observer that tells the same listener of one of several runs, and not of its end.
    pub(super) fn of_round(&self) -> Self {
        Self { listener: Arc::clone(&self.listener), is_last: false }
    }

    pub(super) fn tell_round(&self, round: &RoundProgress) {
        self.listener.hear_round(round);
    }

    pub(super) fn end(&self) {
        if self.is_last {
            self.listener.end();
        }
    }

    fn tell(&self, iterations: u64, cost: f64, kv: &KV) {
        let gradient_norm = kv.get("gradient_norm").and_then(|norm| norm.get_float());
        let gradient = gradient_norm.map_or(String::new(), |norm| format!(", gradient {norm:.3e}"));
        log::debug!("iteration {iterations}: best cost {cost:.9e}{gradient}");
        self.listener.hear(&Progress { iterations, cost, gradient_norm });
    }
}

impl<I: State<Float = f64>> Observe<I> for ProgressObserver {
    fn observe_init(&mut self, _: &str, state: &I, kv: &KV) -> Result<(), Error> {
        self.tell(0, state.get_cost(), kv);
        Ok(())
    }

    fn observe_iter(&mut self, state: &I, kv: &KV) -> Result<(), Error> {
        self.tell(state.get_iter() + 1, state.get_best_cost(), kv);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use argmin::core::IterState;

    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<Progress>>);

    impl ProgressListener for Arc<Heard> {
        fn hear(&self, progress: &Progress) {
            self.0.lock().expect("not poisoned").push(*progress);
        }
    }

    #[test]
    fn cost_and_gradient_are_told() {
        let heard = Arc::new(Heard::default());
        let mut observer = ProgressObserver::new(Arc::clone(&heard));
        let mut state = IterState::<Vec<f64>, Vec<f64>, (), (), (), f64>::new().cost(3.5);
        observer.observe_init("", &state, &argmin::kv!("gradient_norm" => 0.25;)).expect("told");
        state = state.param(vec![1.0]).cost(2.0);
        state.update();
        state.iter = 6;
        observer.observe_iter(&state, &KV::new()).expect("told");
        let told = heard.0.lock().expect("not poisoned").clone();
        let start = Progress { iterations: 0, cost: 3.5, gradient_norm: Some(0.25) };
        assert_eq!(told, [start, Progress { iterations: 7, cost: 2.0, gradient_norm: None }]);
    }
}
