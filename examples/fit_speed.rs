//! How long a fit of eight parameters takes with the derivatives of steps, and how long with differences.
//!
//! ```sh
//! cargo run --release --example fit_speed
//! ```
//!
//! The recordings are made as those of `examples/fit_gripper`, but from a start that is known exactly, which the fits take
//! as such. They are made from the same values, to the same tolerance, on one thread: by the method that a fit takes, with
//! Jacobians of the steps and updates of them; and by the same method of Levenberg and Marquardt with forward differences, one
//! simulation of all recordings for each parameter, in each iteration or as seldom as the updates allow. Printed are
//! processor times, what the fits came to, and the ratio beside its target.

#[path = "../benches/clock/mod.rs"]
mod clock;
#[path = "support/normal.rs"]
mod normal;
#[path = "fit_gripper/recording.rs"]
mod recording;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use clock::thread_time;
use isobar::io::{FitFile, Scene};
use isobar::optimize::fit::{Fit, fit};
use isobar::optimize::identification::Identification;
use isobar::optimize::least_squares::{HeldSubsteps, LinearResiduals, Residuals};
use isobar::scalar::Scalar;
use nalgebra::DMatrix;
use recording::recording;

/// The fit is to be so many times faster than with differences.
const TARGET: f64 = 5.0;

/// Parameters besides those of the example, each with its start value; all are known to be positive.
const FURTHER: [(&str, f64); 3] =
    [("joints.right.damping", 4.0), ("joints.lift.damping", 8.0), ("actuators.lift.damping", 100.0)];

/// Part of a parameter by which it is changed for a difference: the residuals are good to about 10⁻¹⁰.
const CHANGE: f64 = 1e-6;

/// A model whose Jacobian is that of its steps. What a fit does after its end (a linearization with finer steps) is left
/// out of both.
struct Stepped<'a>(&'a Identification);

impl Residuals for Stepped<'_> {
    fn residuals<T: Scalar>(&self, parameters: &[T]) -> Result<Vec<T>, argmin::core::Error> {
        self.0.residuals(parameters)
    }

    fn has_costly_jacobian(&self) -> bool {
        self.0.has_costly_jacobian()
    }

    fn minimized_with_jacobian(
        &self,
        parameters: &[f64],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<LinearResiduals, argmin::core::Error> {
        self.0.minimized_with_jacobian(parameters, substeps)
    }
}

/// A model whose Jacobian is made of differences, in each iteration unless updates are made of it.
struct Differenced<'a, const UPDATES: bool>(&'a Identification);

impl<const UPDATES: bool> Residuals for Differenced<'_, UPDATES> {
    fn has_costly_jacobian(&self) -> bool {
        UPDATES
    }

    fn residuals<T: Scalar>(&self, parameters: &[T]) -> Result<Vec<T>, argmin::core::Error> {
        self.0.residuals(parameters)
    }

    fn minimized_with_jacobian(
        &self,
        parameters: &[f64],
        _: Option<&HeldSubsteps>,
    ) -> Result<LinearResiduals, argmin::core::Error> {
        let residuals = self.0.residuals(parameters)?;
        let mut jacobian = DMatrix::zeros(residuals.len(), parameters.len());
        for (k, mut column) in jacobian.column_iter_mut().enumerate() {
            let mut moved = parameters.to_vec();
            // A delay may be 0.
            let change = CHANGE * parameters[k].abs().max(1e-2);
            moved[k] += change;
            let after = self.0.residuals(&moved)?;
            for (row, (a, b)) in after.iter().zip(&residuals).enumerate() {
                column[row] = (a - b) / change;
            }
        }
        Ok((residuals, jacobian))
    }
}

/// The example's fit with eight parameters and exact starts, and its problem.
fn read() -> Result<(FitFile, Identification), Box<dyn Error>> {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fit_gripper");
    let place = std::env::temp_dir().join(format!("isobar-fit-speed-{}", std::process::id()));
    fs::create_dir_all(place.join("data"))?;
    fs::copy(example.join("scene.toml"), place.join("scene.toml"))?;
    let scene = Scene::load(place.join("scene.toml"))?;
    for seed in 1..=2 {
        fs::write(place.join(format!("data/grasp_{seed}.csv")), recording(&scene, seed, [0.0; 2])?)?;
    }
    let mut text = String::new();
    for line in
        fs::read_to_string(example.join("fit.toml"))?.lines().filter(|line| !line.starts_with("start ="))
    {
        text += line;
        text += "\n";
    }
    for (name, initial) in FURTHER {
        text += &format!("\n[[parameters]]\nname = \"{name}\"\ninitial = {initial:?}\nlower = 0.0\n");
    }
    fs::write(place.join("fit.toml"), text)?;
    let file = FitFile::load(place.join("fit.toml"))?;
    let problem = file.identification()?;
    fs::remove_dir_all(place)?;
    Ok((file, problem))
}

/// A fit with the processor time that it took.
fn timed(
    run: impl FnOnce() -> Result<Fit, argmin::core::Error>,
) -> Result<(Fit, Duration), argmin::core::Error> {
    let before = thread_time();
    let result = run()?;
    Ok((result, thread_time() - before))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (file, problem) = read()?;
    let (parameters, settings) = (&file.parameters, file.settings());
    println!("{} parameters, {} measurements", parameters.len(), problem.measurements().len());
    // One thread, so that its processor time is that of the fit.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let all = pool.install(|| {
        let own = timed(|| fit(&Stepped(&problem), parameters, settings, None))?;
        let differenced = timed(|| fit(&Differenced::<false>(&problem), parameters, settings, None))?;
        let updated = timed(|| fit(&Differenced::<true>(&problem), parameters, settings, None))?;
        Ok::<_, argmin::core::Error>([own, differenced, updated])
    });
    let all = all.map_err(|error| error.to_string())?;
    println!("| Jacobian | iterations | processor time, s | cost | end |");
    println!("|---|---|---|---|---|");
    for (name, (result, time)) in
        ["of steps, with updates", "differences", "differences, with updates"].iter().zip(&all)
    {
        let (cost, seconds) = (result.cost_after, time.as_secs_f64());
        println!("| {name} | {} | {seconds:.2} | {cost:.8e} | {} |", result.iterations, result.termination);
    }
    let [(own, own_time), (differenced, differenced_time), _] = all;
    let estimates = own.uncertainty.estimates.iter().zip(differenced.values());
    let off = estimates.map(|(e, other)| ((e.value - other) / e.standard_error.unwrap_or(f64::NAN)).abs());
    println!("largest difference of an estimate: {:.1e} standard errors", off.fold(0.0, f64::max));
    let ratio = differenced_time.as_secs_f64() / own_time.as_secs_f64();
    println!("times as fast as differences: {ratio:.2} (target {TARGET})");
    Ok(())
}
