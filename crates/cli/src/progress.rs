//! The progress of an optimization or a simulation, on a terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::logging::is_asked_for;
use super::messages::is_quiet;
use isobar::optimize::progress::{Progress, ProgressListener, ProgressObserver, RoundProgress};

/// Shows every iteration on a bar, with the best cost and the gradient's norm.
#[derive(Debug)]
struct Bar(ProgressBar);

/// Where bars are drawn: on standard error if that is a terminal, and nowhere if the command is to be
/// quiet or logs what it does there.
fn target() -> ProgressDrawTarget {
    if is_quiet() || is_asked_for() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

/// A bar that counts up to `length`.
fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(length), target());
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// A bar of an optimization of at most `iterations`.
fn of_iterations(iterations: u64) -> ProgressBar {
    bar(iterations, "{bar:30} {pos}/{len} iterations, {elapsed}, {prefix}{msg}")
}

/// A bar of the steps of a simulation.
pub(super) fn of_steps(steps: u64) -> ProgressBar {
    bar(steps, "{bar:40} {pos}/{len} steps, {eta} left")
}

/// A bar of the parts of a longer computation: fits of a comparison, sides of profiles.
pub(super) fn of_parts(parts: usize, what: &str) -> ProgressBar {
    let bar = bar(parts as u64, "{bar:30} {pos}/{len} {msg}, {elapsed}, {eta} left");
    bar.set_message(what.to_owned());
    bar.tick();
    bar
}

/// Several bars; nothing is drawn of them where the command is to be quiet.
pub(super) fn several() -> MultiProgress {
    // Bars that join others are drawn where these are.
    MultiProgress::with_draw_target(target())
}

/// Draws the progress of an optimization of at most `iterations`, among other bars.
pub(super) fn among_bars(iterations: u64, bars: &MultiProgress) -> ProgressObserver {
    ProgressObserver::new(Bar(bars.add(of_iterations(iterations))))
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

    fn hear_round(&self, round: &RoundProgress) {
        let RoundProgress { rounds, over_tolerance, multiplier, penalty, .. } = round;
        self.0.set_prefix(format!(
            "round {} (constraints {over_tolerance:.1e} of their tolerance, multiplier {multiplier:.1e}, penalty \
             {penalty:.1e}), ",
            rounds + 1
        ));
        self.0.set_position(0);
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
        let round =
            RoundProgress { rounds: 1, cost: 2.0, over_tolerance: 30.0, multiplier: 0.5, penalty: 100.0 };
        bar.hear_round(&round);
        assert!(
            bar.0.prefix().contains("round 2 (constraints 3.0e1 of their tolerance"),
            "{}",
            bar.0.prefix()
        );
        assert_eq!(bar.0.position(), 0);
    }
}
