//! How many rollouts each method takes from grips that lose the ball.

use std::error::Error;
use std::path::Path;

use isobar::io::ProblemFile;
use isobar::optimize::trajectory::{TrajectoryMethod, optimize_trajectory};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use crate::figure::{self, Curve, Plot};
use crate::search::{History, evolution_strategy, nelder_mead};
use crate::settings;

/// Rollouts of the searches without gradients.
const BUDGET: usize = 600;
/// Standard deviation, or edges of the first simplex, in the optimizer's variables: 1 N and 1 cm.
const SIZE: f64 = 0.1;
/// Costs to be reached: the ball is lifted; it is lifted well; with little force.
const LEVELS: [f64; 3] = [5.0, 0.5, 0.15];
/// Grips that lose the ball, all at 2 N first: when they loosen, s, and to what force, N.
const STARTS: [(f64, f64); 4] = [(0.7, 1.0), (0.8, 0.8), (0.9, 0.6), (0.2, 1.1)];
/// Number of further starts, at random within these ranges of time and force.
const FURTHER: usize = 8;
const RANGES: [(f64, f64); 2] = [(0.2, 0.9), (0.5, 1.1)];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    WithGradients(TrajectoryMethod),
    NelderMead,
    EvolutionStrategy,
}

const METHODS: [(&str, Method); 5] = [
    ("iLQR", Method::WithGradients(TrajectoryMethod::Ilqr)),
    ("LM", Method::WithGradients(TrajectoryMethod::LevenbergMarquardt)),
    ("L-BFGS", Method::WithGradients(TrajectoryMethod::Lbfgs)),
    ("Nelder–Mead", Method::NelderMead),
    ("CMA-ES", Method::EvolutionStrategy),
];

/// The lowest cost after each rollout, and the derivatives (gradients or linearizations) so far.
#[derive(Debug, Default)]
struct Record {
    costs: History,
    derivatives: Vec<u64>,
}

impl Record {
    /// Rollouts and derivatives until a cost is reached.
    fn until(&self, level: f64) -> Option<(usize, u64)> {
        let at = self.costs.iter().position(|c| *c <= level)?;
        Some((at + 1, self.derivatives[at]))
    }

    /// The same as text: `rollouts+derivatives`.
    fn reached(&self, level: f64) -> String {
        match self.until(level) {
            Some((rollouts, 0)) => rollouts.to_string(),
            Some((rollouts, derivatives)) => format!("{rollouts}+{derivatives}"),
            None => "–".to_owned(),
        }
    }

    fn lowest(&self) -> f64 {
        self.costs.last().copied().unwrap_or(f64::INFINITY)
    }
}

/// Runs all methods from four starts and those with gradients from more, prints tables, and draws
/// the costs of the first start.
pub fn compare(path: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let file = ProblemFile::load(path)?;
    println!("Rollouts + derivatives until the cost is below {LEVELS:?}; the lowest cost after how many");
    println!("from four starts");
    let records = table(&file, &METHODS, &STARTS)?;
    let (ilqr, lbfgs) = (&records[0], &records[2]);
    for ((time, force), (ilqr, lbfgs)) in STARTS.iter().zip(ilqr.iter().zip(lbfgs)) {
        let level = lbfgs.lowest();
        println!(
            "{force} N at {time} s: L-BFGS comes to {level:.4} with {}, iLQR with {}",
            lbfgs.reached(level),
            ilqr.reached(level)
        );
    }
    let curve = |((name, _), records): (&(&str, Method), &Vec<Record>)| {
        let points = records[0].costs.iter().enumerate().map(|(i, c)| ((i + 1) as f64, *c)).collect();
        Curve { name: (*name).to_owned(), points, reference: false, marks: false }
    };
    let curves = METHODS.iter().zip(&records).map(curve).collect();
    let plot = Plot { title: "Lowest cost so far", x: "rollouts", y: "cost", logarithmic: [true; 2], curves };
    let path = out.join("grasp_lift_methods.svg");
    figure::draw(&path, &[plot])?;
    println!("{}", path.display());

    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut within = |(low, high): (f64, f64)| low + (high - low) * rng.random::<f64>();
    let further: Vec<(f64, f64)> = (0..FURTHER).map(|_| (within(RANGES[0]), within(RANGES[1]))).collect();
    println!("from random starts {further:.2?}");
    let records = table(&file, &METHODS[..3], &further)?;
    for ((name, _), records) in METHODS.iter().zip(&records) {
        let lifted = records.iter().filter(|record| record.until(LEVELS[1]).is_some()).count();
        println!("{name}: the ball is lifted well from {lifted} of {FURTHER}");
    }
    Ok(())
}

/// Runs methods from starts, on all threads, and prints a row for each method.
fn table(
    file: &ProblemFile,
    methods: &[(&str, Method)],
    starts: &[(f64, f64)],
) -> Result<Vec<Vec<Record>>, String> {
    let runs: Vec<(usize, usize)> =
        (0..methods.len()).flat_map(|m| (0..starts.len()).map(move |s| (m, s))).collect();
    let one = |&(m, s): &(usize, usize)| run(file, methods[m].1, starts[s]).map_err(|e| e.to_string());
    let mut records: Vec<Record> = runs.par_iter().map(one).collect::<Result<_, String>>()?;
    let mut rows = Vec::new();
    for (name, _) in methods {
        let rest = records.split_off(starts.len());
        let row = std::mem::replace(&mut records, rest);
        let cell = |record: &Record| {
            let levels = LEVELS.map(|level| record.reached(level)).join(" / ");
            format!("{levels} / {:.4} ({})", record.lowest(), record.costs.len())
        };
        println!("| {name} | {} |", row.iter().map(cell).collect::<Vec<_>>().join(" | "));
        rows.push(row);
    }
    Ok(rows)
}

fn run(file: &ProblemFile, method: Method, (time, force): (f64, f64)) -> Result<Record, Box<dyn Error>> {
    // Without the time for which the file holds the last commands: what methods make of that is not compared.
    let problem = file.problem_until(file.until - file.hold)?;
    let dimension = file.controls.len();
    let squeeze = file.controls.iter().position(|c| c.name == "squeeze").ok_or("no actuator `squeeze`")?;
    let mut start = file.start.clone();
    for (knot, t) in file.knots.times().iter().enumerate() {
        start[knot * dimension + squeeze] = if *t < time - 1e-9 { 2.0 } else { force };
    }
    let x = problem.variables(&start)?;
    let without = |costs: History| Record { derivatives: vec![0; costs.len()], costs };
    match method {
        Method::NelderMead => Ok(without(nelder_mead(&problem, &x, SIZE, BUDGET)?)),
        Method::EvolutionStrategy => Ok(without(evolution_strategy(&problem, &x, SIZE, BUDGET, 1))),
        Method::WithGradients(method) => {
            // L-BFGS needs more iterations, and ends by itself.
            let max_iterations = if method == TrajectoryMethod::Lbfgs { 200 } else { 40 };
            let settings = settings(method, max_iterations);
            let optimum = optimize_trajectory(&problem, &start, &settings, None, None)?;
            // One cost for each rollout, those that were rejected included.
            let mut record = Record::default();
            for iteration in &optimum.history {
                let before = record.lowest();
                let evaluations = iteration.evaluations;
                let rollouts = (evaluations.rollouts as usize).max(1);
                let derivatives = evaluations.gradients + evaluations.jacobians;
                record.costs.resize(rollouts, before);
                record.derivatives.resize(rollouts, derivatives);
                if let Some(last) = record.costs.last_mut() {
                    *last = before.min(iteration.cost);
                }
            }
            Ok(record)
        }
    }
}
