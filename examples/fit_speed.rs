//! How long a fit of eight parameters takes with the derivatives of steps, and how long with differences.
//!
//! ```sh
//! cargo run --release --example fit_speed
//! ```
//!
//! The recordings are made as those of `examples/fit_gripper`, but from a start that is known exactly, which the fits take
//! as such. They are made from the same values, on one thread: by the method that a fit takes, with Jacobians of the steps,
//! updates of them and steps that bend; by the same method with forward differences, one simulation of all recordings for
//! each parameter, in each iteration or as seldom as the updates allow; and by the damped Gauss–Newton method with forward
//! differences as it is in textbooks (Levenberg and Marquardt without updates or bent steps), to its end, and until its cost is
//! within what an error of a tenth of a standard error costs of the cost of the others, which know then that they have converged.
//! Printed are processor times, what the fits came to, and the ratios beside the target.

#[path = "../benches/clock/mod.rs"]
mod clock;
#[path = "support/normal.rs"]
mod normal;
#[path = "fit_gripper/recording.rs"]
mod recording;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use argmin::core::observers::{Observe, ObserverMode};
use argmin::core::{Executor, KV};
use clock::thread_time;
use isobar::io::{FitFile, Scene};
use isobar::optimize::fit::{Fit, FitSettings, fit};
use isobar::optimize::identification::Identification;
use isobar::optimize::least_squares::{HeldSubsteps, LeastSquares, LinearResiduals, Residuals};
use isobar::optimize::levenberg_marquardt::{LeastSquaresState, LevenbergMarquardt};
use isobar::optimize::parameters::FitParameters;
use isobar::scalar::Scalar;
use nalgebra::DMatrix;
use recording::recording;

/// Most iterations of the damped Gauss–Newton method.
const MOST_ITERATIONS: u64 = 100;

/// What an error of a tenth of a standard error costs.
const NEAR: f64 = 0.5 * 0.1 * 0.1;

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

/// Processor time and cost after each iteration.
#[derive(Clone, Default)]
struct Course(Arc<Mutex<Vec<(Duration, f64)>>>);

impl Observe<LeastSquaresState> for Course {
    fn observe_iter(&mut self, state: &LeastSquaresState, _: &KV) -> Result<(), argmin::core::Error> {
        self.0.lock().expect("no thread panics").push((thread_time(), state.get_best_cost()));
        Ok(())
    }
}

/// Iterations made, the processor time of them, and the cost then.
type Reached = (usize, Duration, f64);

/// The damped Gauss–Newton method with differences to the first iteration that comes to a cost, and to its end.
fn textbook(
    problem: &Identification,
    parameters: &FitParameters,
    settings: &FitSettings,
    cost: f64,
) -> Result<[Reached; 2], Box<dyn Error>> {
    let differenced = Differenced::<false>(problem);
    let (lower, upper) = parameters.bounds();
    let start = parameters.variables(&parameters.initial())?;
    let solver =
        LevenbergMarquardt::new().with_bounds(lower, upper)?.with_cost_tolerance(settings.cost_tolerance)?;
    let course = Course::default();
    let before = thread_time();
    Executor::new(LeastSquares::new(&differenced, parameters), solver)
        .configure(|state| state.param(start).max_iters(MOST_ITERATIONS))
        .add_observer(course.clone(), ObserverMode::Always)
        .run()?;
    let course = course.0.lock().expect("no thread panics");
    let near = course.iter().position(|(_, at)| *at <= cost);
    let near = near.ok_or("the damped Gauss–Newton method does not come to the minimum")?;
    Ok([near, course.len() - 1].map(|k| (k + 1, course[k].0 - before, course[k].1)))
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
        let near = own.0.cost_after + NEAR;
        let textbook = textbook(&problem, parameters, settings, near)
            .map_err(|error| argmin::core::Error::msg(error.to_string()))?;
        Ok::<_, argmin::core::Error>(([own, differenced, updated], textbook))
    });
    let (all, textbook) = all.map_err(|error| error.to_string())?;
    println!("| Jacobian | iterations | processor time, s | cost | end |");
    println!("|---|---|---|---|---|");
    for (name, (result, time)) in
        ["of steps, with updates", "differences", "differences, with updates"].iter().zip(&all)
    {
        let (cost, seconds) = (result.cost_after, time.as_secs_f64());
        println!("| {name} | {} | {seconds:.2} | {cost:.8e} | {} |", result.iterations, result.termination);
    }
    for (end, (iterations, time, cost)) in ["near the minimum", "its end"].iter().zip(textbook) {
        println!("| differences, textbook | {iterations} | {:.2} | {cost:.8e} | {end} |", time.as_secs_f64());
    }
    let [(own, own_time), (differenced, differenced_time), _] = all;
    let estimates = own.uncertainty.estimates.iter().zip(differenced.values());
    let off = estimates.map(|(e, other)| ((e.value - other) / e.standard_error.unwrap_or(f64::NAN)).abs());
    println!("largest difference of an estimate: {:.1e} standard errors", off.fold(0.0, f64::max));
    let times = |time: Duration| time.as_secs_f64() / own_time.as_secs_f64();
    println!("times as fast as the same method with differences: {:.2}", times(differenced_time));
    let [near, end] = textbook.map(|(_, time, _)| times(time));
    println!(
        "times as fast as the textbook's with differences: {end:.2}, near the minimum {near:.2} (target {TARGET})"
    );
    Ok(())
}
