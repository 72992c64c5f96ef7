//! The progress of an optimization, on a terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::optimize::progress::{Progress, ProgressListener, ProgressObserver};

/// Shows every iteration on a bar, with the best cost and the gradient's norm.
#[derive(Debug)]
struct Bar(ProgressBar);

/// A bar of `iterations` on standard error; nothing is drawn where that is no terminal.
fn bar(iterations: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(iterations), ProgressDrawTarget::stderr());
    let template = "{bar:30} {pos}/{len} iterations, {elapsed}, {msg}";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Draws the progress of an optimization of at most `iterations`.
pub(super) fn on_bar(iterations: u64) -> ProgressObserver {
    ProgressObserver::new(Bar(bar(iterations)))
}

/// As [`on_bar`], among other bars.
pub(super) fn among_bars(iterations: u64, bars: &MultiProgress) -> ProgressObserver {
    ProgressObserver::new(Bar(bars.add(bar(iterations))))
}

impl ProgressListener for Bar {
    fn hear(&self, progress: &Progress) {
        let Progress { iterations, cost, gradient_norm } = progress;
        let gradient = gradient_norm.map_or(String::new(), |norm| format!(", gradient {norm:.2e}"));
        self.0.set_message(format!("cost {cost:.6e}{gradient}"));
        match iterations {
            0 => self.0.tick(),
            // A run that was resumed begins in the middle, one that restarts goes on counting.
            _ => self.0.set_position((*iterations).max(self.0.position() + 1)),
        }
    }

    fn end(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_and_gradient_stand_beside_the_bar() {
        let bar = Bar(ProgressBar::hidden());
        bar.hear(&Progress { iterations: 0, cost: 3.5, gradient_norm: Some(0.25) });
        assert_eq!(bar.0.message(), "cost 3.500000e0, gradient 2.50e-1");
        bar.hear(&Progress { iterations: 7, cost: 2.0, gradient_norm: None });
        assert_eq!(bar.0.message(), "cost 2.000000e0");
        assert_eq!(bar.0.position(), 7);
    }
}
