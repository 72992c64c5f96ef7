//! Receding-horizon control of a cart.

use isobar::Scene;
use isobar::multibody::NoForces;
use isobar::optimize::objective::{CostTerm, Deviation, Objective, Quantity, Target, When};
use isobar::optimize::trajectory::{ControlRange, RecedingHorizon, TrajectoryTask};
use isobar::rollout::{ControlKnots, KnotInterpolation, Rollout};
use nalgebra::Vector3;

use crate::folder::Folder;

const SCENE: &str = r#"gravity = [0, 0, 0]
[solver]
kind = "lagged"
time_step = 0.02
[[bodies]]
name = "cart"
mass = 2.0
inertia = [[1e-2, 0, 0], [0, 1e-2, 0], [0, 0, 1e-2]]
[bodies.joint]
name = "slide"
type = "prismatic"
axis = [1, 0, 0]
position = 0.3
velocity = -1.0
[[actuators]]
name = "motor"
joints = ["slide"]
drive = "force"
"#;

#[test]
fn plans_follow_a_target_that_changes_within_bounds() {
    let folder = Folder::new("horizon");
    let scene = Scene::load(folder.file("scene.toml", SCENE)).expect("a scene");
    let term = |quantity, target: Target, weight: f64| CostTerm {
        quantity,
        target,
        weight: Vector3::repeat(weight),
        deviation: Deviation::Both,
        when: When::Running,
    };
    // The target is told in the time of the whole motion.
    let path =
        Target::new(vec![1.0, 1.2], vec![Vector3::zeros(), Vector3::new(0.5, 0.0, 0.0)]).expect("a path");
    let terms = vec![
        term(Quantity::JointPosition { index: 0 }, path, 10.0),
        term(Quantity::JointVelocity { index: 0 }, Target::constant(Vector3::zeros()), 0.3),
        term(Quantity::Control { index: 0 }, Target::constant(Vector3::zeros()), 0.02),
    ];
    let objective = Objective::new(&scene.model, 1, terms).expect("an objective");
    let settings = scene.simulation_settings().expect("settings");
    let (model, initial, residuals) = (&scene.model, &scene.state, &objective);
    let task = TrajectoryTask { model, initial, settings, until: 0.8, applied: &NoForces, residuals };
    let knots = ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, 10, 0.8).expect("knots");
    let ranges = vec![ControlRange::new(-30.0, 30.0)];
    assert!(RecedingHorizon::new(task, knots.clone(), ranges.clone(), 2, vec![0.0; 9]).is_err());
    let mut planner = RecedingHorizon::new(task, knots, ranges, 2, vec![0.0; 10]).expect("a planner");
    let rollout = Rollout::new(model, initial, settings, 2.5);
    let (motion, controls) = rollout
        .simulate_with_feedback(|step, state, row| {
            let time = 0.02 * step as f64;
            if step % 2 == 0 {
                let plan = planner.plan(time, state).expect("a plan");
                assert!(plan.cost <= plan.cost_before, "{plan:?}");
                let most = 1 + 2 * RecedingHorizon::MOST_TRIALS as u64;
                assert!(plan.evaluations.rollouts <= most && plan.evaluations.jacobians <= 2, "{plan:?}");
            }
            planner.put_commands(time + 0.01, row);
        })
        .expect("a motion");
    assert!(controls.values().iter().all(|u| u.abs() <= 30.0));
    let at = |time: f64| motion.states[(time / 0.02).round() as usize].joints.q[0];
    assert!(at(0.8).abs() < 0.02 && (at(2.5) - 0.5).abs() < 0.01, "{} {}", at(0.8), at(2.5));
}
