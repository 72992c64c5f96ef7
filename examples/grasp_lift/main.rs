//! Two compliant fingers lift a ball, then a box off a table: the squeeze and the lift are
//! optimized from a grip that loses the object to the least force that keeps it.
//!
//!     cargo run --release --example grasp_lift              # both objects, a figure of each
//!     cargo run --release --example grasp_lift -- compare   # and all methods, several starts

mod compare;
#[path = "../figure/mod.rs"]
mod figure;
mod search;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use figure::{Curve, Plot};
use isobar::io::ProblemFile;
use isobar::optimize::trajectory::{TrajectoryMethod, TrajectorySettings, optimize_trajectory};
use isobar::rollout::Trajectory;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/grasp_lift");
    let out = PathBuf::from(".");
    if std::env::args().any(|a| a == "compare") {
        return compare::compare(&folder.join("problem.toml"), &out);
    }
    for (object, file) in [("ball", "problem.toml"), ("box", "box_problem.toml")] {
        optimize(object, &folder.join(file), &out)?;
    }
    Ok(())
}

/// How the figures and the comparison are made: by one method and so many iterations, with cautious
/// first steps, since a grip that loses its object tells little.
fn settings(method: TrajectoryMethod, max_iterations: u64) -> TrajectorySettings {
    TrajectorySettings { method, max_iterations, cost_tolerance: Some(1e-4), initial_damping: Some(0.5) }
}

/// Optimizes the grasp of one object, and draws it.
fn optimize(object: &str, path: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let file = ProblemFile::load(path)?;
    // Without the time for which the file holds the last commands, so that the least force shows.
    let problem = file.problem_until(file.until - file.hold)?;
    let clock = Instant::now();
    let settings = settings(TrajectoryMethod::Ilqr, 40);
    let optimum = optimize_trajectory(&problem, &file.start, &settings, None, None)?;
    let seconds = clock.elapsed().as_secs_f64();
    let before = Motion::new(object, &file, &file.start)?;
    let after = Motion::new(object, &file, &optimum.values)?;
    let start_cost = optimum.history.first().map_or(f64::NAN, |h| h.cost);
    println!(
        "{object}: cost {start_cost:.4} -> {:.4} in {} iterations, {} rollouts and {} linearizations, {seconds:.1} s",
        optimum.cost, optimum.iterations, optimum.evaluations.rollouts, optimum.evaluations.jacobians
    );
    for (name, motion) in [("start", &before), ("optimized", &after)] {
        println!(
            "  {name}: at the end {:.1} mm above where it lay; squeeze {:.2} N on average, {:.2} N at most while it is lifted",
            1e3 * motion.rise(),
            motion.mean_squeeze(),
            motion.largest_squeeze()
        );
    }
    let force = Plot {
        title: &format!("Squeeze of the {object}"),
        x: "time, s",
        y: "force of each finger, N",
        logarithmic: [false; 2],
        curves: vec![
            curve("start", &before.times, &before.squeeze),
            curve("optimized", &after.times, &after.squeeze),
        ],
    };
    let height = Plot {
        title: &format!("Height of the {object}"),
        x: "time, s",
        y: "height of its centre, m",
        logarithmic: [false; 2],
        curves: vec![
            curve("start", &before.times, &before.height),
            curve("optimized", &after.times, &after.height),
            Curve { reference: true, ..curve("palm, lowered", &after.times, &after.palm) },
        ],
    };
    for (what, plot) in [("force", force), ("height", height)] {
        let path = out.join(format!("grasp_lift_{object}_{what}.svg"));
        figure::draw(&path, &[plot])?;
        println!("  {}", path.display());
    }
    Ok(())
}

fn curve(name: &str, times: &[f64], values: &[f64]) -> Curve {
    let points = times.iter().copied().zip(values.iter().copied()).collect();
    Curve { name: name.to_owned(), points, reference: false, marks: false }
}

/// What is drawn of a motion.
struct Motion {
    times: Vec<f64>,
    /// Height of the object's origin, m.
    height: Vec<f64>,
    /// Height of the palm, less its distance from the object at the start, m.
    palm: Vec<f64>,
    /// Command of the squeeze at the start of each step, N.
    squeeze: Vec<f64>,
}

impl Motion {
    /// The motion with these values of the commands at the knots.
    fn new(object: &str, file: &ProblemFile, values: &[f64]) -> Result<Self, Box<dyn Error>> {
        let problem = file.problem_until(file.until - file.hold)?;
        let x = problem.variables(values)?;
        let (controls, trajectory) = (problem.controls(&x)?, problem.trajectory(&x)?);
        let model = &file.scene.model;
        let body = |name: &str| model.body_index(name).ok_or(format!("there is no body `{name}`"));
        let (object, palm) = (body(object)?, body("palm")?);
        let squeeze =
            model.actuators().iter().position(|a| a.name == "squeeze").ok_or("no actuator `squeeze`")?;
        let Trajectory { times, states } = trajectory;
        let mut frames = Vec::new();
        let mut heights = |body: usize| -> Vec<f64> {
            let height = |state| {
                model.body_frames(state, &mut frames);
                frames[body].pose.translation.z
            };
            states.iter().map(height).collect()
        };
        let (height, palm) = (heights(object), heights(palm));
        let above = palm[0] - height[0];
        let palm = palm.iter().map(|z| z - above).collect();
        let steps = 0..times.len() - 1;
        let mut squeeze: Vec<f64> = steps.map(|step| controls.row(step)[squeeze]).collect();
        squeeze.extend(squeeze.last().copied());
        Ok(Self { times, height, palm, squeeze })
    }

    /// How far the object rises from start to end, m.
    fn rise(&self) -> f64 {
        self.height[self.height.len() - 1] - self.height[0]
    }

    /// The mean force, N.
    fn mean_squeeze(&self) -> f64 {
        self.squeeze.iter().sum::<f64>() / self.squeeze.len() as f64
    }

    /// The largest force, N.
    fn largest_squeeze(&self) -> f64 {
        self.squeeze.iter().copied().fold(0.0, f64::max)
    }
}
