//! The examples in which something turns in a grip, shortened.

#[path = "../../examples/pencil/pencil.rs"]
#[allow(dead_code, reason = "the example draws more of it")]
mod pencil;
#[path = "../../examples/spatula/spatula.rs"]
#[allow(dead_code, reason = "the example draws more of it")]
mod spatula;

use std::path::Path;

use crate::folder::Folder;
use isobar::check::{CheckSettings, CheckedParameter, Verdict, check_gradient};
use isobar::contact::ContactModel;
use isobar::io::{ProblemFile, Scene};
use isobar::multibody::BodyPair;
use isobar::optimize::randomized_smoothing::SharedCost;
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};
use nalgebra::Vector3;
use pencil::{KNOTS, Task, UNTIL, pitch};
use spatula::{Inertia, load, run, square_wave, use_bubble_mesh};

#[test]
fn a_pencil_turns_by_the_commanded_angle_and_no_more() {
    let task = Task::load().unwrap();
    let commanded = 25f64.to_radians();
    let turns = task.fit(commanded, 0.42).unwrap();
    let last = &turns[turns.len() - 1];
    assert!((last.pitch - commanded).abs() < 1e-4 && turns.len() <= 8, "{} turns", turns.len());

    let states = &last.trajectory.states;
    let at =
        |time: f64| pitch(&states[(time / UNTIL * (states.len() - 1) as f64).round() as usize].bodies[0]);
    assert!(at(KNOTS[0]).to_degrees().abs() < 0.05, "held at first");
    assert!((at(UNTIL) - at(KNOTS[3])).to_degrees().abs() < 0.05, "held again");

    let end = |force: f64| pitch(&task.motion(force).unwrap().states.last().unwrap().bodies[0]);
    let difference = (end(last.force + 1e-6) - end(last.force - 1e-6)) / 2e-6;
    assert!((last.by_force / difference - 1.0).abs() < 1e-4, "{} {difference}", last.by_force);
}

/// The pads' rim elements have no pressure gradient across a face that is exactly parallel to them; at the least tilt those
/// of one side have.
#[test]
fn a_pencil_that_is_parallel_to_its_pads_rests_on_bristles() {
    let mut scene = Scene::load(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/pencil/scene.toml")).unwrap();
    let mut builder = scene.model.into_builder();
    (builder.contact.bristle_length, builder.contact.stiction_velocity) = (Some(1e-6), 1e-3);
    scene.model = builder.build().unwrap();
    let motion = scene.rollout(2.0).unwrap().simulate().unwrap();
    let [before, after] = [1.0, 2.0].map(|time| {
        let step = motion.times.iter().position(|t| *t > time - 1e-3).expect("a time");
        pitch(&motion.states[step].bodies[0])
    });
    assert!(before > 1e-5 && (after - before).abs() < 1e-14, "{before:e} {after:e}");
    assert!(motion.states[motion.states.len() - 1].bodies[0].velocity.rotational.norm() < 1e-11);
}

#[test]
fn points_do_not_hold_a_pencil() {
    let task = Task::load().unwrap().with_points().unwrap();
    let motion = task.motion(pencil::HOLD).unwrap();
    let largest = motion.states.iter().map(|s| pitch(&s.bodies[0])).fold(0.0, f64::max);
    assert!(largest.to_degrees() > 90.0, "{largest}");
}

#[test]
fn a_spatula_is_held_in_the_high_phase_and_turns_in_the_low_one() {
    let wave = square_wave(7.0).unwrap();
    assert_eq!([0.1, 4.4, 4.6, 5.9, 6.1].map(|t| wave.at(t)), [16.0, 16.0, 1.0, 1.0, 16.0]);

    assert_spatula_turns(&load().unwrap());
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn a_spatula_held_by_bubbles_turns_likewise() {
    let mut bubbles = load().unwrap();
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/models/wsg_50/bubble.vtk"));
    assert_eq!(use_bubble_mesh(&mut bubbles, file).unwrap(), 212);
    assert_spatula_turns(&bubbles);
}

#[test]
#[ignore = "needs the recordings and models in ../shared/data"]
fn an_allegro_hand_holds_a_ball_and_its_costs_have_their_gradient() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/allegro_turn/");
    let scene = format!("{examples}hand.toml");
    let mut problem = std::fs::read_to_string(format!("{examples}problem.toml")).expect("the problem");
    for (old, new) in [
        ("\"hand.toml\"", &*format!("{scene:?}")),
        ("until = 1.0", "until = 0.05"),
        ("count = 6", "count = 2"),
    ] {
        assert!(problem.contains(old), "{old}");
        problem = problem.replace(old, new);
    }
    let folder = Folder::new("allegro");
    let mut file = ProblemFile::load(folder.file("problem.toml", problem)).expect("a valid problem");
    // So that differences have little noise.
    let tolerance = SolverTolerance { relative: 1e-13, max_iterations: 200 };
    file.simulation.integrator =
        Integrator::VelocityLevel(VelocityLevel { model: ContactModel::Lagged, tolerance });
    let problem = file.problem().expect("a problem");
    let start = problem.variables(&file.start).expect("as many as there are");
    let trajectory = problem.trajectory(&start).expect("simulates");
    let last = trajectory.states.last().expect("states");
    let ball = file.scene.model.body_index("ball").expect("a ball");
    let tips = ["link_3_tip", "link_7_tip", "link_11_tip", "link_15_tip"];
    for tip in tips {
        let pair = BodyPair::of(ball, file.scene.model.body_index(tip).expect("a tip"));
        assert!(file.scene.model.pairs_of(pair).count() == 1, "{tip}");
    }
    assert!((last.bodies[0].position - Vector3::new(0.0, 0.0, 0.1)).norm() < 1e-3, "it is held");

    // The commands at the first knot: a number each.
    let (_, gradient) = problem.cost_and_gradient_at(&start).expect("simulates");
    let of = |i: usize| {
        let control = &file.controls[i];
        CheckedParameter { name: control.name.clone(), unit: control.range.scale, scale: control.range.scale }
    };
    let parameters: Vec<CheckedParameter> = (0..16).map(of).collect();
    let cost = |x: &[f64]| problem.cost_at(&[x, &start[16..]].concat());
    let settings = CheckSettings::default();
    let report = check_gradient("cost", &parameters, cost, &start[..16], &gradient[..16], &settings)
        .expect("simulates");
    assert!(report.passed(), "{report}");
    assert!(report.count(Verdict::Ok) >= 12, "{report}");
}

/// The spatula is held in the high phase of the square wave, and turns in the low one.
fn assert_spatula_turns(scene: &Scene) {
    for (inertia, turn) in [(Inertia::Published, 0.5..6.0), (Inertia::OfItsMass, 60.0..120.0)] {
        let run = run(&inertia.applied_to(scene).unwrap(), 7.0).unwrap();
        let drift = (run.at(4.5).pitch - run.at(0.5).pitch).to_degrees();
        assert!(drift.abs() < 0.2, "{inertia:?}: drift {drift}");
        let low = (run.at(6.0).pitch - run.at(4.5).pitch).to_degrees();
        assert!(turn.contains(&low), "{inertia:?}: turns {low}");
        let held = run.at(4.4);
        assert!((held.force / 16.0 - 1.0).abs() < 0.01 && held.faces > 100, "{held:?}");
        assert!(run.at(7.0).drop.abs() < 0.02, "{:?}", run.at(7.0));
    }
}
