//! Receding-horizon control of a grasp: a ball between two fingers is pushed by a random force, and the forces on the
//! fingers are planned again every 20 ms from what the ball does, against the same forces planned once.
//!
//! Prints how long a plan takes and whether the ball is held.
//!
//! ```text
//! cargo run --release --example receding_horizon
//! ```

use std::error::Error;
use std::time::{Duration, Instant};

use isobar::Scene;
use isobar::multibody::{AppliedForces, ForceDependence, Forces, Model, NoForces, State};
use isobar::optimize::objective::{CostTerm, Deviation, Objective, Quantity, Target, When};
use isobar::optimize::trajectory::{ControlRange, RecedingHorizon, TrajectoryTask};
use isobar::rollout::{ControlKnots, KnotInterpolation, Rollout, SensorNoise, SimulationSettings};
use isobar::scalar::Scalar;
use nalgebra::Vector3;

type Failure = Box<dyn Error>;

/// A random force on the ball: along every axis a new one, normally distributed, every 50 ms.
struct Pushes {
    random: SensorNoise,
}

impl AppliedForces for Pushes {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, time: f64, _: &[T], forces: &mut Forces<T>) {
        let number = (time / 0.05 + 1e-9) as usize;
        for axis in 0..3 {
            forces.bodies[0].translational[axis] += T::from(self.random.error(number, axis));
        }
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence::NONE
    }
}

const KNOTS: usize = 20;
const STEP: f64 = 5e-3;
const HORIZON: f64 = 0.2;
const UNTIL: f64 = 1.0;
/// Steps from one plan to the next.
const REPLAN: usize = 4;

fn main() -> Result<(), Failure> {
    let scene = Scene::load(format!("{}/examples/robust_grasp/hand.toml", env!("CARGO_MANIFEST_DIR")))?;
    let (model, start) = (&scene.model, &scene.state);
    let settings = SimulationSettings { time_step: STEP, ..scene.simulation_settings()? };
    let ball = start.bodies[0].position;
    let term = |quantity, target: Vector3<f64>, weight: f64| CostTerm {
        quantity,
        target: Target::constant(target),
        weight: Vector3::repeat(weight),
        deviation: Deviation::Both,
        when: When::Running,
    };
    let terms = vec![
        term(Quantity::Position { body: 0, relative_to: None }, ball, 200.0),
        term(Quantity::Velocity { body: 0 }, Vector3::zeros(), 10.0),
        term(Quantity::Control { index: 0 }, Vector3::zeros(), 0.3),
        term(Quantity::Control { index: 1 }, Vector3::zeros(), 0.3),
    ];
    let objective = Objective::new(model, 2, terms)?;
    let task = TrajectoryTask {
        model,
        initial: start,
        settings,
        until: HORIZON,
        applied: &NoForces,
        residuals: &objective,
    };
    let knots = ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, KNOTS, HORIZON)?;
    let ranges = vec![ControlRange::new(0.2, 25.0); 2];
    let planner = |iterations| {
        RecedingHorizon::new(task, knots.clone(), ranges.clone(), iterations, vec![4.0; 2 * KNOTS])
    };
    println!(
        "| push (N) | held, planned once | held, planned again | slowest plan (ms) | mean plan (ms) |\n|---|---|---|---|---|"
    );
    for push in [1.0, 2.0, 3.0] {
        let (mut once, mut again, trials) = (0, 0, 5);
        let (mut slowest, mut sum, mut plans) = (Duration::ZERO, Duration::ZERO, 0);
        for seed in 0..trials {
            let pushes = Pushes { random: SensorNoise { seed, deviations: vec![push; 3] } };
            let rollout = Rollout::new(model, start, settings, UNTIL).under(&pushes);
            let held = |end: &State| (end.bodies[0].position - ball).norm() < 0.02;
            // Planned once, to rest: the commands of the plan's middle are kept.
            let mut first = planner(30)?;
            first.plan(0.0, start)?;
            let mut kept = [0.0; 2];
            first.put_commands(0.5 * HORIZON, &mut kept);
            let (motion, _) = rollout.simulate_with_feedback(|_, _, row| row.copy_from_slice(&kept))?;
            once += usize::from(motion.states.last().is_some_and(held));
            let mut mpc = planner(2)?;
            mpc.plan(0.0, start)?;
            let outcome = rollout.simulate_with_feedback(|step, state, row| {
                let time = step as f64 * STEP;
                if step % REPLAN == 0 {
                    let begun = Instant::now();
                    // A plan that fails leaves the one before.
                    let _ = mpc.plan(time, state);
                    let took = begun.elapsed();
                    slowest = slowest.max(took);
                    sum += took;
                    plans += 1;
                }
                mpc.put_commands(time + 0.5 * STEP, row);
            });
            again += usize::from(outcome.is_ok_and(|(motion, _)| motion.states.last().is_some_and(held)));
        }
        let ms = |duration: Duration| 1e3 * duration.as_secs_f64();
        println!(
            "| {push} | {once} of {trials} | {again} of {trials} | {:.1} | {:.1} |",
            ms(slowest),
            ms(sum) / f64::from(plans)
        );
    }
    Ok(())
}
