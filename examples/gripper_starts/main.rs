//! Twelve grippers, each with a start that loses the object, and what the optimizer makes of it.
//!
//!     cargo run --release --example gripper_starts               # the default, then iLQR alone
//!     cargo run --release --example gripper_starts -- lbfgs 3 7  # L-BFGS on two of them
//!
//!     cargo run --release --example gripper_starts -- auto 3 docs/gripper_starts  # and films of its start and of its end
//!
//! Scenes and problems are written to the folder `gripper_starts`, for `isobar optimize`.

#[path = "../support/film.rs"]
mod film;
mod grippers;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use film::{GRIPPER, played};
use grippers::{Gripper, RISE, UNTIL, grippers};
use isobar::io::ProblemFile;
use isobar::optimize::randomized_smoothing::SharedCost;
use isobar::optimize::trajectory::{TrajectoryMethod, TrajectorySettings, optimize_trajectory};

/// Part of the way that the object must have been lifted by at the end.
const LIFTED: f64 = 0.8;
const METHODS: [TrajectoryMethod; 4] = [
    TrajectoryMethod::Auto,
    TrajectoryMethod::Ilqr,
    TrajectoryMethod::Lbfgs,
    TrajectoryMethod::LevenbergMarquardt,
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut methods = METHODS.to_vec();
    methods.retain(|method| arguments.iter().any(|argument| argument == method.name()));
    if methods.is_empty() {
        methods = vec![TrajectoryMethod::default(), TrajectoryMethod::Ilqr];
    }
    let films = arguments.iter().find(|argument| argument.contains('/'));
    let chosen: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    for method in methods {
        let (mut lifted, mut losing) = (0, 0);
        println!("{}", method.name());
        for (i, gripper) in grippers().iter().enumerate() {
            if chosen.is_empty() || chosen.contains(&i) {
                print!("{i:2} {:36}", gripper.name);
                if let Some(is_lifted) = optimize(i, gripper, method, films)? {
                    (lifted, losing) = (lifted + usize::from(is_lifted), losing + 1);
                }
            }
        }
        println!("{}: {lifted} of {losing} losing starts lift the object\n", method.name());
    }
    Ok(())
}

/// Optimizes from a start that loses the object, and prints what came of it: whether the object is
/// lifted. Nothing of a start that does not lose it.
fn optimize(
    number: usize,
    gripper: &Gripper,
    method: TrajectoryMethod,
    films: Option<&String>,
) -> Result<Option<bool>, Box<dyn Error>> {
    let folder = Path::new("gripper_starts").join(number.to_string());
    let file = ProblemFile::load(gripper.write(&folder)?)?;
    let (cost, part) = motion(&file, &file.start)?;
    if part > LIFTED {
        println!(" is not lost at the start");
        return Ok(None);
    }
    let clock = Instant::now();
    let settings = TrajectorySettings { method, ..file.settings };
    let optimum = optimize_trajectory(&file.problem()?, &file.start, &settings, None, None)?;
    let seconds = clock.elapsed().as_secs_f64();
    let (_, part) = motion(&file, &optimum.values)?;
    if let Some(path) = films {
        for (values, suffix) in [(&file.start, "_start"), (&optimum.values, "")] {
            let problem = file.problem()?;
            let trajectory = problem.trajectory(&problem.variables(values)?)?;
            let film = played(&file.scene.model, &trajectory, UNTIL, &GRIPPER)?;
            std::fs::write(format!("{path}{suffix}.png"), film)?;
        }
    }
    let count = optimum.evaluations;
    println!(
        " {:>3.0} % lifted, cost {cost:>9.3e} -> {:>9.3e}, {:3} iterations, {:4} rollouts, {:3} derivatives, \
         {seconds:5.1} s: {}",
        100.0 * part,
        optimum.cost,
        optimum.iterations,
        count.rollouts,
        count.gradients + count.jacobians,
        optimum.termination
    );
    Ok(Some(part > LIFTED))
}

/// The cost of a motion, and how far the object is lifted at the end as a part of the way that is
/// asked for.
fn motion(file: &ProblemFile, values: &[f64]) -> Result<(f64, f64), Box<dyn Error>> {
    let problem = file.problem()?;
    let x = problem.variables(values)?;
    let trajectory = problem.trajectory(&x)?;
    let height = |k: usize| trajectory.states[k].bodies[0].position.z;
    Ok((problem.cost_at(&x)?, (height(trajectory.states.len() - 1) - height(0)) / RISE))
}
