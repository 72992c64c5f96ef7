//! Grasps that are optimized on some draws and tried on others: what `robust_grasp` and `pepper_grasp` share.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use isobar::io::{ProblemEnsemble, ProblemFile};
use isobar::optimize::ensemble::{EnsembleProblem, SuccessRate, success_rate};
use isobar::optimize::objective::Objective;
use isobar::optimize::trajectory::{OptimizedProblem, TrajectoryOptimum, optimize_trajectory};
use isobar::rollout::ControlLaw;
use rayon::prelude::*;

use crate::film::{Look, played};

pub type Failure = Box<dyn Error>;
pub type Problem<'e> = EnsembleProblem<'e, ControlLaw, Objective>;

/// A problem file of the folder `examples/FOLDER`.
pub fn load(folder: &str, name: &str) -> Result<ProblemFile, Failure> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    Ok(ProblemFile::load(examples.join(folder).join(name))?)
}

/// The ensemble of a problem file.
pub fn ensemble(file: &ProblemFile) -> Result<&ProblemEnsemble, Failure> {
    file.ensemble.as_ref().ok_or_else(|| "the problem has no ensemble".into())
}

/// When the hand lifts, and by which actuator the fingers close.
#[derive(Clone, Copy)]
pub struct Grasp {
    /// The time at which the hand begins to lift, s.
    pub lift: f64,
    /// The actuator of the fingers, by its index.
    pub squeeze: usize,
}

/// What came of some members under the same variables.
pub struct Tried {
    pub rate: SuccessRate,
    /// The force on each finger while the hand lifts, its mean over time and members that succeeded, N.
    pub squeeze: f64,
    /// How many members failed each of the conditions of success. One may fail several.
    pub failed: Vec<usize>,
}

/// Tries all members of a problem, each with its conditions of success.
pub fn tried(problem: &Problem, success: &[Objective], x: &[f64], grasp: Grasp) -> Tried {
    let one = |i: usize| {
        let found = problem.at_moments(x, i, |moments| {
            let lifting =
                moments.iter().filter(|moment| moment.time >= grasp.lift && !moment.control.is_empty());
            let (sum, count) =
                lifting.fold((0.0, 0.0), |(sum, n), m| (sum + m.control[grasp.squeeze], n + 1.0));
            (success[i].parts(moments).iter().map(|part| *part > 0.0).collect(), sum / count)
        });
        // A motion that cannot be simulated is no success.
        found.unwrap_or_else(|_| (vec![true; success[i].terms().len()], 0.0))
    };
    let all: Vec<(Vec<bool>, f64)> = (0..success.len()).into_par_iter().map(one).collect();
    let good = all.iter().filter(|(failed, _)| !failed.contains(&true));
    let (successes, sum) = good.fold((0, 0.0), |(n, sum), (_, squeeze)| (n + 1, sum + squeeze));
    let conditions = all.first().map_or(0, |(failed, _)| failed.len());
    let failed = (0..conditions).map(|k| all.iter().filter(|(failed, _)| failed[k]).count()).collect();
    Tried { rate: success_rate(successes, all.len()), squeeze: sum / successes.max(1) as f64, failed }
}

/// A row of a table: successes, their interval, the squeeze, and what failed.
pub fn row(name: &str, tried: &Tried) {
    let SuccessRate { successes, lower, upper, .. } = tried.rate;
    let (lower, upper) = (100.0 * lower, 100.0 * upper);
    let squeeze = if successes > 0 { format!("{:.2}", tried.squeeze) } else { "–".to_owned() };
    let failed: Vec<String> = tried.failed.iter().map(ToString::to_string).collect();
    println!("| {name} | {successes} | {lower:.0} – {upper:.0} | {squeeze} | {} |", failed.join(", "));
}

/// The processor time of all threads so far, s.
pub fn processor_time() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

/// Optimizes the ensemble of a file from a start, and says what that took.
pub fn optimize(file: &ProblemFile, start: &[f64]) -> Result<TrajectoryOptimum, Failure> {
    let (begun, used) = (Instant::now(), processor_time());
    let found = optimize_trajectory(&ensemble(file)?.problem(), start, &file.settings, None, None)?;
    println!(
        "{}: cost {:.4} after {} iterations, {:.0} s ({:.0} s of processor time), {} rollouts, {} gradients ({})",
        file.path.file_name().unwrap_or_default().display(),
        found.cost,
        found.iterations,
        begun.elapsed().as_secs_f64(),
        processor_time() - used,
        found.evaluations.rollouts,
        found.evaluations.gradients,
        found.termination
    );
    Ok(found)
}

/// Draws what a file says, on the first draw of its test, until a time, s.
pub fn film_of(folder: &str, name: &str, path: &str, until: f64, look: &Look) -> Result<(), Failure> {
    let file = load(folder, name)?;
    let all = ensemble(&file)?;
    let start = all.task.variables.from_values(&all.start);
    let motion = all.test_problem().motion_of(0, &start)?;
    motion.outcome?;
    Ok(std::fs::write(path, played(&all.test[0].model, &motion.trajectory, until, look)?)?)
}

/// The parameters of controllers and of the model that were optimized, by name.
pub fn print_parameters(ensemble: &ProblemEnsemble, values: &[f64]) {
    let variables = &ensemble.task.variables;
    for ((name, ..), value) in variables.numbers().zip(&values[variables.knot_values()..]) {
        println!("  {name} {value:.4}");
    }
}
