//! Grasps that survive what they were not made for: a ball whose mass, friction, place and pads differ, lifted with
//! a constant force, with the timetable that is best for the nominal ball, with the one that is best for an ensemble,
//! and by feedback of the grip force and of slip that was optimized on the same ensemble; all tried on the same 100 draws
//! that none was made with. `docs/robust_grasp.md` tells what comes out.
//!
//! ```text
//! cargo run --release --example robust_grasp
//! cargo run --release --example robust_grasp -- docs/robust_grasp.png  # the film alone
//! ```

#[path = "../support/film.rs"]
mod film;
#[path = "../support/grasp_trials.rs"]
mod grasp_trials;

use film::GRIPPER;
use grasp_trials::{Failure, Grasp, ensemble, film_of, load, optimize, print_parameters, row, tried};

const GRASP: Grasp = Grasp { lift: 0.4, squeeze: 1 };

fn main() -> Result<(), Failure> {
    if let Some(path) = std::env::args().nth(1) {
        return film_of("robust_grasp", "feedback_problem.toml", &path, 1.2, &GRIPPER);
    }
    let of = |name| load("robust_grasp", name);
    let (nominal, robust, feedback) = (of("nominal.toml")?, of("robust.toml")?, of("feedback_problem.toml")?);
    let (open, closed) = (ensemble(&robust)?, ensemble(&feedback)?);
    let test = open.test_problem();
    let head = "| successes of 100 | interval of 95 % | mean squeeze (N) | too low, slipped, too much force |\n|---|---|---|---|---|";
    println!("| constant force (N) {head}");
    for force in [2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0] {
        let values = vec![force; open.start.len()];
        let x = open.task.variables.from_values(&values);
        row(&format!("{force}"), &tried(&test, &open.success, &x, GRASP));
    }
    println!();
    let of_nominal = optimize(&nominal, &ensemble(&nominal)?.start)?;
    let of_robust = optimize(&robust, &open.start)?;
    let of_feedback = optimize(&feedback, &closed.start)?;
    println!("\nparameters of the controller:");
    print_parameters(closed, &of_feedback.values);
    println!("\n| {head}");
    row("open loop, nominal ball", &tried(&test, &open.success, &of_nominal.variables, GRASP));
    row("open loop, ensemble", &tried(&test, &open.success, &of_robust.variables, GRASP));
    let (test, start) = (closed.test_problem(), closed.task.variables.from_values(&closed.start));
    row("feedback, before", &tried(&test, &closed.success, &start, GRASP));
    row("feedback, ensemble", &tried(&test, &closed.success, &of_feedback.variables, GRASP));
    Ok(())
}
