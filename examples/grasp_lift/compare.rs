//! How many rollouts each method takes from grips that lose the ball.

use std::error::Error;
use std::path::Path;

use isobar::io::ProblemFile;
use isobar::optimize::checkpoint::NoStore;
use isobar::optimize::trajectory::{
    TrajectoryCheckpoints, TrajectoryMethod, TrajectorySettings, optimize_trajectory,
};
use rayon::prelude::*;

use crate::plot::{Curve, Plot};
use crate::search::{History, evolution_strategy, nelder_mead};

/// Rollouts of the searches without gradients.
const BUDGET: usize = 600;
/// Standard deviation, or edges of the first simplex, in the optimizer's variables: 1 N and 1 cm.
const SIZE: f64 = 0.1;
/// Costs to be reached: the ball is lifted; it is lifted well.
const LEVELS: [f64; 2] = [5.0, 0.5];
/// Grips that lose the ball, all at 2 N first: when they loosen, s, and to what force, N.
const STARTS: [(f64, f64); 4] = [(0.7, 1.0), (0.8, 1.05), (0.9, 1.1), (0.2, 1.1)];

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

/// Runs all methods from all starts, prints a table, and draws the costs of the first start.
pub fn compare(path: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let file = ProblemFile::load(path)?;
    let runs: Vec<(usize, usize)> =
        (0..METHODS.len()).flat_map(|m| (0..STARTS.len()).map(move |s| (m, s))).collect();
    let histories: Vec<Result<History, String>> = runs
        .par_iter()
        .map(|&(method, start)| run(&file, METHODS[method].1, STARTS[start]).map_err(|e| e.to_string()))
        .collect();
    println!(
        "Rollouts until the cost is below {} and {}, and the lowest cost, from four starts",
        LEVELS[0], LEVELS[1]
    );
    let mut curves = Vec::new();
    for (m, (name, _)) in METHODS.iter().enumerate() {
        let mut cells = Vec::new();
        for start in 0..STARTS.len() {
            let history = histories[m * STARTS.len() + start].as_ref().map_err(Clone::clone)?;
            let reached = |level: f64| {
                let at = history.iter().position(|c| *c <= level);
                at.map_or(format!("> {}", history.len()), |i| (i + 1).to_string())
            };
            let lowest = history.last().copied().unwrap_or(f64::INFINITY);
            cells.push(format!("{} / {} / {lowest:.3}", reached(LEVELS[0]), reached(LEVELS[1])));
            if start == 0 {
                let points = history.iter().enumerate().map(|(i, c)| ((i + 1) as f64, *c)).collect();
                curves.push(Curve { name: (*name).to_owned(), points, reference: false, marks: false });
            }
        }
        println!("| {name} | {} |", cells.join(" | "));
    }
    let plot = Plot { title: "Lowest cost so far", x: "rollouts", y: "cost", logarithmic: [true; 2], curves };
    let path = out.join("grasp_lift_methods.svg");
    std::fs::write(&path, plot.svg())?;
    println!("{}", path.display());
    Ok(())
}

/// The lowest cost after each rollout.
fn run(file: &ProblemFile, method: Method, (time, force): (f64, f64)) -> Result<History, Box<dyn Error>> {
    let problem = file.problem()?;
    let dimension = file.controls.len();
    let squeeze = file.controls.iter().position(|c| c.name == "squeeze").ok_or("no actuator `squeeze`")?;
    let mut start = file.start.clone();
    for (knot, t) in file.knots.times().iter().enumerate() {
        start[knot * dimension + squeeze] = if *t < time - 1e-9 { 2.0 } else { force };
    }
    let x = problem.variables(&start)?;
    match method {
        Method::NelderMead => Ok(nelder_mead(&problem, &x, SIZE, BUDGET)?),
        Method::EvolutionStrategy => Ok(evolution_strategy(&problem, &x, SIZE, BUDGET, 1)),
        Method::WithGradients(method) => {
            let settings = TrajectorySettings { method, max_iterations: 60, ..file.settings };
            let none = None::<TrajectoryCheckpoints<NoStore>>;
            let optimum = optimize_trajectory(&problem, &start, &settings, none, None)?;
            // One cost for each rollout, those that were rejected included.
            let mut history = Vec::new();
            for iteration in &optimum.history {
                let before = history.last().copied().unwrap_or(f64::INFINITY);
                let rollouts = iteration.evaluations.rollouts as usize;
                history.resize(rollouts.max(1), before);
                if let Some(last) = history.last_mut() {
                    *last = before.min(iteration.cost);
                }
            }
            Ok(history)
        }
    }
}
