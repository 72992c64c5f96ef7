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
use isobar::rollout::{
    ControlKnots, KnotInterpolation, Rollout, SensorNoise, SimulationSettings, Trajectory,
};
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
/// Steps of the motion and of plans, s: plans are coarser.
const STEP: f64 = 2e-3;
const PLAN_STEP: f64 = 1e-2;
const HORIZON: f64 = 0.2;
/// What the fingers press with where nothing else is asked for, N.
const GRIP: f64 = 8.0;
const UNTIL: f64 = 1.0;
/// A ball that was ever farther from where it was than this is lost, m.
const LOST: f64 = 0.02;
/// Steps from one plan to the next.
const REPLAN: usize = 10;

fn main() -> Result<(), Failure> {
    let scene = Scene::load(format!("{}/examples/robust_grasp/hand.toml", env!("CARGO_MANIFEST_DIR")))?;
    let (model, start) = (&scene.model, &scene.state);
    let settings = SimulationSettings { time_step: PLAN_STEP, ..scene.simulation_settings()? };
    let ball = start.bodies[0].position;
    let grip = Vector3::repeat(GRIP);
    let term = |quantity, target: Vector3<f64>, weight: f64| CostTerm {
        quantity,
        target: Target::constant(target),
        weight: Vector3::repeat(weight),
        deviation: Deviation::Both,
        when: When::Running,
    };
    let terms = vec![
        term(Quantity::Position { body: 0, relative_to: None }, ball, 4e3),
        term(Quantity::Velocity { body: 0, relative_to: None }, Vector3::zeros(), 50.0),
        term(Quantity::Control { index: 0 }, grip, 0.05),
        term(Quantity::Control { index: 1 }, grip, 0.05),
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
    let ranges = vec![ControlRange::new(4.0, 25.0); 2];
    let planner = |iterations| {
        RecedingHorizon::new(task, knots.clone(), ranges.clone(), iterations, vec![GRIP; 2 * KNOTS])
    };
    println!(
        "| push (N) | held, planned once | held, planned again | slowest plan (ms) | mean plan (ms) |\n|---|---|---|---|---|"
    );
    for push in [1.0, 2.0, 3.0] {
        let (mut once, mut again, trials) = (0, 0, 10);
        let (mut slowest, mut sum, mut plans) = (Duration::ZERO, Duration::ZERO, 0);
        for seed in 0..trials {
            let pushes = Pushes { random: SensorNoise { seed, deviations: vec![push; 3] } };
            let rollout =
                Rollout::new(model, start, SimulationSettings { time_step: STEP, ..settings }, UNTIL)
                    .under(&pushes);
            let off = |state: &State| (state.bodies[0].position - ball).norm();
            let farthest = |motion: &Trajectory| motion.states.iter().map(off).fold(0.0, f64::max);
            // Planned once, to rest: the commands of the plan's middle are kept.
            let mut first = planner(30)?;
            first.plan(0.0, start)?;
            let mut kept = [0.0; 2];
            first.put_commands(0.5 * HORIZON, &mut kept);
            let (motion, _) = rollout.simulate_with_feedback(|_, _, row| row.copy_from_slice(&kept))?;
            once += usize::from(farthest(&motion) < LOST);
            let mut mpc = planner(1)?;
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
            again += usize::from(outcome.is_ok_and(|(motion, _)| farthest(&motion) < LOST));
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
