//! How often the intervals of fits hold the true values.

use isobar::optimize::fit::Fit;
use isobar::optimize::uncertainty::Estimate;
use rayon::prelude::*;

/// Fits once a run, in parallel, and prints in how many of those that converged the 95 % intervals hold the true values,
/// and how large the errors are beside the standard errors.
pub fn print_coverage(
    names: &[&str],
    truth: &[f64],
    runs: u64,
    fitted: impl Fn(u64) -> Result<Fit, String> + Sync,
) {
    let told = |run: u64| {
        let outcome = fitted(run);
        if let Ok(fit) = &outcome {
            let estimates = fit.uncertainty.estimates.iter().zip(truth);
            let errors: Vec<String> = estimates.map(|(e, t)| format!("{:.2}", standardized(e, *t))).collect();
            eprintln!("run {run}: errors of {} standard errors", errors.join(", "));
        }
        outcome
    };
    let found: Vec<Result<Fit, String>> = (0..runs).into_par_iter().map(told).collect();
    let mut counted = Vec::new();
    for (run, outcome) in found.into_iter().enumerate() {
        match outcome {
            Ok(result) if result.converged => counted.push(result.uncertainty.estimates),
            Ok(result) => println!("run {run} did not converge: {}", result.termination),
            Err(message) => println!("run {run}: {message}"),
        }
    }
    println!("{} of {runs} fits converged", counted.len());
    println!("| parameter | within its 95 % interval | rms error, standard errors |");
    println!("|---|---|---|");
    for (k, (name, truth)) in names.iter().zip(truth).enumerate() {
        let estimates = || counted.iter().map(|estimates| &estimates[k]);
        let holds = |interval: [f64; 2]| (interval[0]..=interval[1]).contains(truth);
        let inside = estimates().filter(|estimate| estimate.interval.is_some_and(holds)).count();
        let square = estimates().map(|estimate| standardized(estimate, *truth).powi(2)).sum::<f64>();
        let square = square / counted.len() as f64;
        println!("| {name} | {:.1} % | {:.2} |", 100.0 * inside as f64 / counted.len() as f64, square.sqrt());
    }
}

/// The error of an estimate beside its standard error.
fn standardized(estimate: &Estimate, truth: f64) -> f64 {
    (estimate.value - truth) / estimate.standard_error.unwrap_or(f64::NAN)
}
