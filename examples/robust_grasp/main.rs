//! Grasps that survive what they were not made for: a ball whose mass, friction, place and pads differ, lifted with
//! a constant force, with the timetable that is best for the nominal ball, with the one that is best for an ensemble,
//! and by feedback of the grip force and of slip that was optimized on the same ensemble; all tried on the same 100 draws
//! that none was made with. `docs/robust_grasp.md` tells what comes out.
//!
//! ```text
//! cargo run --release --example robust_grasp
//! ```

use std::error::Error;
use std::time::Instant;

use isobar::io::{ProblemEnsemble, ProblemFile};
use isobar::optimize::checkpoint::NoStore;
use isobar::optimize::ensemble::{EnsembleProblem, SuccessRate, optimize_ensemble, success_rate};
use isobar::optimize::objective::Objective;
use isobar::optimize::trajectory::TrajectoryCheckpoints;
use isobar::rollout::ControlLaw;
use rayon::prelude::*;

type Failure = Box<dyn Error>;
type Problem<'e> = EnsembleProblem<'e, ControlLaw, Objective>;

fn load(name: &str) -> Result<ProblemFile, Failure> {
    Ok(ProblemFile::load(format!("{}/examples/robust_grasp/{name}", env!("CARGO_MANIFEST_DIR")))?)
}

fn ensemble(file: &ProblemFile) -> Result<&ProblemEnsemble, Failure> {
    file.ensemble.as_ref().ok_or_else(|| "the problem has no ensemble".into())
}

/// What came of some members under the same variables.
struct Tried {
    rate: SuccessRate,
    /// The force on each finger while the hand lifts, its mean over time and members that succeeded, N.
    squeeze: f64,
}

/// The time at which the hand begins to lift, s.
const LIFT: f64 = 0.4;
/// The actuator of the fingers.
const SQUEEZE: usize = 1;

fn tried(problem: &Problem, success: &[Objective], x: &[f64]) -> Tried {
    let one = |i: usize| {
        let found = problem.at_moments(x, i, |moments| {
            let lifting = moments.iter().filter(|moment| moment.time >= LIFT && !moment.control.is_empty());
            let (sum, count) =
                lifting.fold((0.0, 0.0), |(sum, count), m| (sum + m.control[SQUEEZE], count + 1.0));
            (success[i].parts(moments).iter().all(|part| *part == 0.0), sum / count)
        });
        // A motion that cannot be simulated is no success.
        found.unwrap_or((false, 0.0))
    };
    let all: Vec<(bool, f64)> = (0..success.len()).into_par_iter().map(one).collect();
    let successes = all.iter().filter(|(success, _)| *success).count();
    let sum: f64 = all.iter().filter(|(success, _)| *success).map(|(_, squeeze)| squeeze).sum();
    Tried { rate: success_rate(successes, all.len()), squeeze: sum / successes.max(1) as f64 }
}

fn row(name: &str, tried: &Tried) {
    let SuccessRate { successes, lower, upper, .. } = tried.rate;
    let (lower, upper) = (100.0 * lower, 100.0 * upper);
    let squeeze = if successes > 0 { format!("{:.2}", tried.squeeze) } else { "–".to_owned() };
    println!("| {name} | {successes} | {lower:.0} – {upper:.0} | {squeeze} |");
}

fn main() -> Result<(), Failure> {
    let (nominal, robust, feedback) =
        (load("nominal.toml")?, load("robust.toml")?, load("feedback_problem.toml")?);
    let open = ensemble(&robust)?;
    let test = open.test_problem();
    let optimize = |file: &ProblemFile, ensemble: &ProblemEnsemble| {
        let begun = Instant::now();
        let none = None::<TrajectoryCheckpoints<NoStore>>;
        let found = optimize_ensemble(&ensemble.problem(), &ensemble.start, &file.settings, none, None)?;
        println!(
            "{}: cost {:.4} after {} iterations, {:.0} s, {} rollouts, {} gradients ({})",
            file.path.file_name().unwrap_or_default().display(),
            found.cost,
            found.iterations,
            begun.elapsed().as_secs_f64(),
            found.evaluations.rollouts,
            found.evaluations.gradients,
            found.termination
        );
        Ok::<_, Failure>(found)
    };
    println!(
        "| constant force (N) | successes of 100 | interval of 95 % | mean squeeze (N) |\n|---|---|---|---|"
    );
    for force in [2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0] {
        let values = vec![force; open.start.len()];
        row(&format!("{force}"), &tried(&test, &open.success, &open.task.variables.from_values(&values)));
    }
    println!();
    let of_nominal = optimize(&nominal, ensemble(&nominal)?)?;
    let of_robust = optimize(&robust, open)?;
    let closed = ensemble(&feedback)?;
    let of_feedback = optimize(&feedback, closed)?;
    let start = closed.task.variables.from_values(&closed.start);
    println!("\nparameters of the controller:");
    for (t, value) in closed.task.variables.tuned().iter().zip(&of_feedback.values) {
        println!("  {} {value:.4}", t.name);
    }
    println!("\n| | successes of 100 | interval of 95 % | mean squeeze (N) |\n|---|---|---|---|");
    row("open loop, nominal ball", &tried(&test, &open.success, &of_nominal.variables));
    row("open loop, ensemble", &tried(&test, &open.success, &of_robust.variables));
    row("feedback, before", &tried(&closed.test_problem(), &closed.success, &start));
    row("feedback, ensemble", &tried(&closed.test_problem(), &closed.success, &of_feedback.variables));
    Ok(())
}
