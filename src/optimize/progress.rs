//! The progress of an optimization, on a terminal.

use argmin::core::observers::Observe;
use argmin::core::{Error, KV, State};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shows every iteration of an argmin solver on a progress bar: the best cost, and the gradient's
/// norm where the solver tells it (as `gradient_norm`).
#[derive(Clone, Debug)]
pub struct ProgressObserver {
    bar: ProgressBar,
}

impl ProgressObserver {
    /// A bar of `iterations` on stderr; nothing is drawn where stderr is no terminal.
    pub fn stderr(iterations: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(iterations), ProgressDrawTarget::stderr());
        let template = "{bar:30} {pos}/{len} iterations, {elapsed}, {msg}";
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { bar }
    }

    /// A bar that is never drawn.
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden() }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// What stands beside the bar.
    pub fn message(&self) -> String {
        self.bar.message()
    }

    fn tell(&self, cost: f64, kv: &KV) {
        let gradient = kv.get("gradient_norm").and_then(|norm| norm.get_float());
        let gradient = gradient.map_or(String::new(), |norm| format!(", gradient {norm:.2e}"));
        self.bar.set_message(format!("cost {cost:.6e}{gradient}"));
    }
}

impl<I: State<Float = f64>> Observe<I> for ProgressObserver {
    fn observe_init(&mut self, _: &str, state: &I, kv: &KV) -> Result<(), Error> {
        self.tell(state.get_cost(), kv);
        self.bar.tick();
        Ok(())
    }

    fn observe_iter(&mut self, state: &I, kv: &KV) -> Result<(), Error> {
        // A run that was resumed begins in the middle, one that restarts goes on counting.
        self.bar.set_position((state.get_iter() + 1).max(self.bar.position() + 1));
        self.tell(state.get_best_cost(), kv);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use argmin::core::IterState;

    #[test]
    fn cost_and_gradient_are_told() {
        let mut observer = ProgressObserver::hidden();
        let mut state = IterState::<Vec<f64>, Vec<f64>, (), (), (), f64>::new().cost(3.5);
        observer.observe_init("", &state, &argmin::kv!("gradient_norm" => 0.25;)).expect("told");
        assert_eq!(observer.message(), "cost 3.500000e0, gradient 2.50e-1");
        state = state.param(vec![1.0]).cost(2.0);
        state.update();
        state.iter = 6;
        observer.observe_iter(&state, &KV::new()).expect("told");
        assert_eq!(observer.message(), "cost 2.000000e0");
        assert_eq!(observer.bar.position(), 7);
    }
}
