//! Pads and controller optimized together: how soft and how large the pads of two fingers should be, with the controller of
//! their force, for a ball and an egg; and what other pads cost. `docs/codesign.md` tells what comes out.
//!
//! ```text
//! cargo run --release --example codesign
//! cargo run --release --example codesign -- docs/codesign.png  # the film alone
//! ```

#[path = "../support/film.rs"]
mod film;
#[path = "../support/grasp_trials.rs"]
mod grasp_trials;

use film::{GRIPPER, Look};
use grasp_trials::{Failure, Grasp, ensemble, film_of, load, optimize, print_parameters, row, tried};
use isobar::optimize::ensemble::{EnsembleProblem, EnsembleTask, SharedVariables};
use isobar::optimize::trajectory::{TrajectoryOptimum, optimize_trajectory};

const GRASP: Grasp = Grasp { lift: 0.4, squeeze: 2 };

/// The radius of the pads in the scene, mm.
const RADIUS: f64 = 25.0;

/// How the film looks: it carries sideways too.
const LOOK: Look = Look { view: [-0.13, 0.21, -0.05, 0.27], table: [0.16, 0.09], ..GRIPPER };

fn main() -> Result<(), Failure> {
    if let Some(path) = std::env::args().nth(1) {
        return film_of("codesign", "problem.toml", &path, 1.2, &LOOK);
    }
    let file = load("codesign", "problem.toml")?;
    let all = ensemble(&file)?;
    let design = |values: &[f64]| {
        let of = all.task.variables.design_values(values);
        format!("{:.2e} Pa, {:.1} mm", of[0], RADIUS * of[1])
    };
    let tell = |name: &str, task: &EnsembleTask, found: &TrajectoryOptimum| -> Result<(), Failure> {
        let test = EnsembleProblem::new(task, &all.test);
        let costs = test.member_costs(&found.variables).into_iter().collect::<Result<Vec<f64>, _>>()?;
        let mean = costs.iter().sum::<f64>() / costs.len() as f64;
        let name = format!("{name} | {} | {:.4} | {mean:.4}", design(&found.values), found.cost);
        row(&name, &tried(&test, &all.success, &found.variables, GRASP));
        Ok(())
    };
    let best = optimize(&file, &all.start)?;
    print_parameters(all, &best.values);
    println!(
        "\n| pads | modulus, radius | cost of 8 | cost of 100 others | successes of 100 | interval of 95 % | mean squeeze of both (N) | \
         too low, slipped, too much force |\n|---|---|---|---|---|---|---|---|"
    );
    tell("optimized with the controller", &all.task, &best)?;
    // Other pads, each with the controller that is best for it: from the optimum, with the design held.
    let first = all.task.variables.count() - 2;
    let scene = &all.start[first..];
    let of_best = &best.values[first..];
    for (name, modulus, scale) in [
        ("as the scene has them", scene[0], scene[1]),
        ("three times as stiff", 3.0 * of_best[0], of_best[1]),
        ("a third as stiff", of_best[0] / 3.0, of_best[1]),
        ("a fifth smaller", of_best[0], 0.8 * of_best[1]),
    ] {
        let task = held(&all.task, [modulus, scale])?;
        let problem = EnsembleProblem::new(&task, &all.training);
        let mut start = best.values.clone();
        start[first..].copy_from_slice(&[modulus, scale]);
        let found = optimize_trajectory(&problem, &start, &file.settings, None, None)?;
        tell(name, &task, &found)?;
    }
    Ok(())
}

/// What all members have in common, with values of the design that do not change.
fn held(task: &EnsembleTask, design: [f64; 2]) -> Result<EnsembleTask, Failure> {
    let variables = &task.variables;
    let mut of_design = variables.design().to_vec();
    for (variable, value) in of_design.iter_mut().zip(design) {
        (variable.range.lower, variable.range.upper) = (value, value);
    }
    let variables =
        SharedVariables::new(variables.knots().cloned(), variables.tuned().to_vec(), of_design, None)?;
    Ok(EnsembleTask { variables, ..task.clone() })
}
