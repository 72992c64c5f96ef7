//! The hand of a Panda lifts a bell pepper whose mass, friction, modulus, place and orientation differ: with a constant
//! force, with the timetable that is best for the nominal pepper, with the one that is best for an ensemble, and by
//! feedback of the grip force and of slip that was optimized on the same ensemble; all tried on the same 100 draws that
//! none was made with. `docs/pepper_grasp.md` tells what comes out. It needs the models in `../shared/data`.
//!
//! ```text
//! cargo run --release --example pepper_grasp
//! cargo run --release --example pepper_grasp -- constant
//! cargo run --release --example pepper_grasp -- try feedback_problem.toml
//! cargo run --release --example pepper_grasp -- optimize feedback_problem.toml
//! cargo run --release --example pepper_grasp -- search feedback_problem.toml 3 20
//! cargo run --release --example pepper_grasp -- members feedback_problem.toml
//! cargo run --release --example pepper_grasp -- film feedback_problem.toml docs/pepper_grasp.png
//! ```

#[path = "../support/cma_es.rs"]
mod cma_es;
#[path = "../support/film.rs"]
mod film;
#[path = "../support/grasp_trials.rs"]
mod grasp_trials;
#[path = "../support/normal.rs"]
mod normal;

use isobar::optimize::randomized_smoothing::SharedCost;
use isobar::optimize::trajectory::OptimizedProblem;
use std::time::Instant;

use rayon::prelude::*;

use cma_es::CmaEs;
use film::Look;

use grasp_trials::{
    Failure, Grasp, Problem, ensemble, film_of, load, optimize, print_parameters, processor_time, row, tried,
};

const GRASP: Grasp = Grasp { lift: 0.6, squeeze: 1 };
const FOLDER: &str = "pepper_grasp";

/// How the film looks.
const LOOK: Look = Look {
    scale: 850.0,
    view: [-0.125, 0.125, -0.045, 0.30],
    eye: [0.45, 0.25],
    table: [0.1, 0.12],
    colour: |name, _| match name {
        "pepper" => [245.0, 190.0, 20.0],
        "table" => [200.0, 200.0, 200.0],
        _ => [60.0, 130.0, 190.0],
    },
    drawn: &[
        ("panda_hand", [0.0, 0.0, 0.03], [0.03, 0.1, 0.028]),
        ("panda_hand", [0.0, 0.0, -0.02], [0.04, 0.04, 0.02]),
        ("panda_leftfinger", [0.0, 0.027, 0.03], [0.01, 0.003, 0.03]),
        ("panda_leftfinger", [0.0, 0.015, 0.006], [0.01, 0.015, 0.006]),
        ("panda_rightfinger", [0.0, -0.027, 0.03], [0.01, 0.003, 0.03]),
        ("panda_rightfinger", [0.0, -0.015, 0.006], [0.01, 0.015, 0.006]),
    ],
};

/// The head of a table whose rows begin with these columns.
fn head(columns: &[&str]) {
    let tried =
        ["successes of 100", "interval of 95 %", "mean squeeze (N)", "too low, slipped, pressed left, right"];
    println!("| {} | {} |", columns.join(" | "), tried.join(" | "));
    println!("|{}", "---|".repeat(columns.len() + tried.len()));
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => tables(),
        ["try", file] => try_start(file),
        ["constant"] => constant(),
        ["optimize", file] => optimize_one(file),
        ["search", file, seeds, generations] => search(file, seeds.parse()?, generations.parse()?),
        ["members", file] => members(file),
        ["film", file, path] => film_of(FOLDER, file, path, 1.5, &LOOK),
        _ => Err("found unknown arguments; see the head of the source".into()),
    }
}

/// Constant forces.
fn constant() -> Result<(), Failure> {
    let robust = load(FOLDER, "robust.toml")?;
    let open = ensemble(&robust)?;
    head(&["constant force (N)"]);
    for force in [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0] {
        let x = open.task.variables.from_values(&vec![force; open.start.len()]);
        row(&format!("{force}"), &tried(&open.test_problem(), &open.success, &x, GRASP));
    }
    Ok(())
}

/// What comes of a file as it is.
fn try_start(file: &str) -> Result<(), Failure> {
    let file = load(FOLDER, file)?;
    let all = ensemble(&file)?;
    let start = all.task.variables.from_values(&all.start);
    println!("cost of the ensemble {:.4}", all.problem().cost_at(&start)?);
    head(&[""]);
    row("as it is", &tried(&all.test_problem(), &all.success, &start, GRASP));
    Ok(())
}

/// What comes of a file's optimization.
fn optimize_one(file: &str) -> Result<(), Failure> {
    let file = load(FOLDER, file)?;
    let all = ensemble(&file)?;
    let found = optimize(&file, &all.start)?;
    print_parameters(all, &found.values);
    println!("{:?}", found.values);
    if all.test.is_empty() {
        return Ok(());
    }
    head(&["iteration", "rollouts", "gradients", "cost"]);
    for done in found.history.iter().filter(|done| !done.variables.is_empty()) {
        let tried = tried(&all.test_problem(), &all.success, &done.variables, GRASP);
        let counts = done.evaluations;
        row(
            &format!("{} | {} | {} | {:.4}", done.iteration, counts.rollouts, counts.gradients, done.cost),
            &tried,
        );
    }
    row("last | | | ", &tried(&all.test_problem(), &all.success, &found.variables, GRASP));
    Ok(())
}

fn tables() -> Result<(), Failure> {
    let of = |name| load(FOLDER, name);
    let (nominal, robust, feedback) = (of("nominal.toml")?, of("robust.toml")?, of("feedback_problem.toml")?);
    let (open, closed) = (ensemble(&robust)?, ensemble(&feedback)?);
    constant()?;
    println!();
    let of_nominal = optimize(&nominal, &ensemble(&nominal)?.start)?;
    let of_robust = optimize(&robust, &open.start)?;
    let of_feedback = optimize(&feedback, &closed.start)?;
    println!("\nparameters of the controller:");
    print_parameters(closed, &of_feedback.values);
    println!();
    head(&[""]);
    let test = open.test_problem();
    row("timetable for the pepper of the scene", &tried(&test, &open.success, &of_nominal.variables, GRASP));
    row("timetable for the ensemble", &tried(&test, &open.success, &of_robust.variables, GRASP));
    let (test, start) = (closed.test_problem(), closed.task.variables.from_values(&closed.start));
    row("feedback as the file has it", &tried(&test, &closed.success, &start, GRASP));
    row("feedback optimized on the ensemble", &tried(&test, &closed.success, &of_feedback.variables, GRASP));
    Ok(())
}

/// The evolution strategy on the parameters of a file, from some seeds, for a number of generations.
fn search(file: &str, seeds: u64, generations: usize) -> Result<(), Failure> {
    let file = load(FOLDER, file)?;
    let all = ensemble(&file)?;
    let start = all.task.variables.from_values(&all.start);
    let (lower, upper) = all.task.variables.bounds();
    let problem = all.problem();
    let bounded = |x: &[f64]| -> Vec<f64> { (0..x.len()).map(|i| x[i].clamp(lower[i], upper[i])).collect() };
    // Outside of the bounds the cost is that on them, and more.
    let cost = |x: &Vec<f64>| {
        let inside = bounded(x);
        let outside: f64 = x.iter().zip(&inside).map(|(a, b)| (a - b).powi(2)).sum();
        problem.cost_at(&inside).map_or(f64::INFINITY, |cost| cost * (1.0 + outside))
    };
    for seed in 1..=seeds {
        let mut strategy = CmaEs::new(&start, 0.3, seed);
        let mut best = (start.clone(), f64::INFINITY);
        let (before, mut seconds) = (problem.evaluations().rollouts, 0.0);
        println!("seed {seed}");
        head(&["generation", "rollouts", "processor time (s)", "best cost"]);
        for generation in 1..=generations {
            let used = processor_time();
            let found = strategy.step(|points| points.par_iter().map(cost).collect());
            seconds += processor_time() - used;
            if found.1 < best.1 {
                best = found;
            }
            if generation % 5 == 0 || generation == 1 {
                let tried = tried(&all.test_problem(), &all.success, &bounded(&best.0), GRASP);
                let rollouts = problem.evaluations().rollouts - before;
                row(&format!("{generation} | {rollouts} | {seconds:.0} | {:.4}", best.1), &tried);
            }
        }
        print_parameters(all, &all.task.variables.values(&bounded(&best.0)));
    }
    Ok(())
}

/// The cost of the gradient of 64 members on one and two threads, in time and in processor time.
fn members(file: &str) -> Result<(), Failure> {
    let file = load(FOLDER, file)?;
    let all = ensemble(&file)?;
    let members: Vec<_> = all.training.iter().cycle().take(64).cloned().collect();
    let problem = Problem::new(&all.task, &members);
    let x = all.task.variables.from_values(&all.start);
    println!("| threads | time (s) | processor time (s) |\n|---|---|---|");
    for threads in [1, 2, 1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let (begun, used) = (Instant::now(), processor_time());
        pool.install(|| problem.cost_and_gradient_at(&x))?;
        let (seconds, used) = (begun.elapsed().as_secs_f64(), processor_time() - used);
        println!("| {threads} | {seconds:.2} | {used:.2} |");
    }
    Ok(())
}
