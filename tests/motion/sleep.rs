//! Bodies that sleep: they stay, they wake, and motions are those of bodies that are awake.

use isobar::contact::{ContactGeometry, ContactSettings};
use isobar::geometry::Shape;
use isobar::multibody::{AppliedForces, ForceDependence, Forces, Model, NoForces, State, StateDependence};
use isobar::rollout::{Rollout, SimulationSettings, Sleep, Trajectory};
use isobar::scalar::Scalar;
use isobar::spatial::RigidTransform;
use isobar::step::Integrator;
use nalgebra::Vector3;

use crate::step_scenes::*;

const DT: f64 = 1e-3;
const SIDE: f64 = 0.1;
const MASS: f64 = 0.5;
const FRICTION: f64 = 0.5;

/// Boxes at these places over hard ground, and a ball of 2 kg.
fn boxes(places: &[[f64; 3]], ball: Option<[f64; 3]>, settings: ContactSettings) -> (Model, State) {
    let m = material(1e6, 5.0, 0.01, FRICTION);
    let mut b = Builder::default();
    for place in places {
        let cube = compliant(Shape::Box { size: [SIDE; 3] }, 1.0);
        b.free(cube, m, MASS, box_inertia(MASS, [SIDE; 3]), None, resting(Vector3::from(*place)));
    }
    if let Some(place) = ball {
        let shape = compliant(Shape::Sphere { radius: 0.04 }, 0.02);
        b.free(shape, m, 2.0, ball_inertia(2.0, 0.04), None, resting(Vector3::from(place)));
    }
    b.fixed(ContactGeometry::RigidHalfSpace.into(), m, 1.0, RigidTransform::identity());
    b.build(down(), settings)
}

/// A motion without and with sleep, and of that how many faces each of its steps found.
fn both(
    (model, state): &(Model, State),
    applied: &impl AppliedForces,
    sleep: Sleep,
    until: f64,
) -> ([Trajectory; 2], Vec<usize>) {
    let settings = SimulationSettings { integrator: Integrator::default(), time_step: DT };
    let rollout = Rollout::new(model, state, settings, until).under(applied);
    let mut faces = Vec::new();
    let mut asleep = Trajectory { times: Vec::new(), states: Vec::new() };
    let with = rollout.sleeping(sleep).for_each(|step| {
        asleep.times.push(step.time);
        asleep.states.push(step.state.clone());
        faces.extend(step.taken.as_ref().and_then(|taken| taken.statistics()).map(|s| s.contacts));
    });
    with.expect("a motion");
    ([rollout.simulate().expect("a motion"), asleep], faces)
}

/// The largest distance between bodies in two states, m.
fn apart(a: &State, b: &State) -> f64 {
    let distance = |(a, b): (&isobar::multibody::BodyState, &isobar::multibody::BodyState)| {
        (a.position - b.position).norm()
            + SIDE * (a.orientation.to_matrix() - b.orientation.to_matrix()).norm()
    };
    a.bodies.iter().zip(&b.bodies).map(distance).fold(0.0, f64::max)
}

/// The step that a time is the end of.
fn step(time: f64) -> usize {
    (time / DT).round() as usize
}

#[test]
fn a_stack_sleeps_until_something_falls_on_it() {
    let stacks = [[0.0, 0.0, 0.05], [0.0, 0.0, 0.15], [-0.5, 0.0, 0.05], [-0.5, 0.0, 0.15]];
    // It falls for 0.9 s.
    let scene = boxes(&stacks, Some([0.01, 0.0, 4.2]), ContactSettings::default());
    let ([awake, asleep], faces) = both(&scene, &NoForces, Sleep::default(), 3.0);
    // All sleep at 0.7 s, and nothing is found: exactly still.
    assert!(faces[step(0.7)] == 0 && faces[step(0.1)] > 0);
    for k in step(0.7)..step(0.85) {
        assert!(asleep.states[k].bodies[..4] == asleep.states[step(0.7)].bodies[..4], "step {k}");
    }
    // The one that is hit wakes and feels it as it does awake; the other sleeps on.
    let deepest = |motion: &Trajectory| {
        motion.states.iter().map(|s| s.bodies[1].position.z).fold(f64::INFINITY, f64::min)
    };
    let sunk = asleep.states[step(0.7)].bodies[1].position.z - deepest(&asleep);
    assert!(sunk > 1e-3 && (deepest(&awake) - deepest(&asleep)).abs() < 0.02 * sunk, "{sunk}");
    assert!(asleep.states[step(3.0)].bodies[2..4] == asleep.states[step(0.7)].bodies[2..4]);
    let bounce = |motion: &Trajectory| motion.states[step(1.2)].bodies[4].position.z;
    assert!((bounce(&awake) - bounce(&asleep)).abs() < 2e-3, "{} {}", bounce(&awake), bounce(&asleep));
    for k in 0..=step(0.9) {
        assert!(apart(&awake.states[k], &asleep.states[k]) < 1e-6, "step {k}");
    }
}

/// A force along x on the first body from a time on, N.
#[derive(Clone, Copy, Debug)]
struct PushAfter(f64, f64);

impl AppliedForces for PushAfter {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, time: f64, _: &[T], forces: &mut Forces<T>) {
        let force = if time >= self.0 - 0.5 * DT { self.1 } else { 0.0 };
        forces.bodies[0].translational.x += T::from(force);
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::None, model: false }
    }
}

#[test]
fn a_load_that_changes_wakes_in_its_own_step() {
    let scene = boxes(&[[0.0, 0.0, 0.05], [0.3, 0.0, 0.05]], None, ContactSettings::default());
    let push = PushAfter(1.0, 2.0 * FRICTION * MASS * GRAVITY);
    let ([awake, asleep], faces) = both(&scene, &push, Sleep::default(), 1.5);
    assert_eq!(faces[step(0.9)], 0);
    let x = |motion: &Trajectory, time: f64| motion.states[step(time)].bodies[0].position.x;
    assert_eq!(x(&asleep, 1.0), x(&asleep, 0.8));
    assert!(x(&asleep, 1.001) > x(&asleep, 1.0));
    let way = x(&awake, 1.2);
    assert!(way > 0.05 && (x(&asleep, 1.2) - way).abs() < 1e-3 * way, "{way}");
    // It pushes the other on.
    let other = |motion: &Trajectory| motion.states[step(1.5)].bodies[1].position.x;
    assert!(other(&asleep) > 0.32 && (other(&asleep) - other(&awake)).abs() < 2e-3, "{}", other(&asleep));
}

#[test]
fn what_nothing_fixed_bears_or_joints_hold_does_not_sleep() {
    // Far above the ground at the top of its way, and slow for long without gravity.
    let (model, state) = boxes(&[[0.0, 0.0, 1.0]], None, ContactSettings::default());
    let mut builder = model.into_builder();
    builder.gravity = Vector3::zeros();
    let floating = (builder.build().expect("a model"), state);
    let ([awake, asleep], _) = both(&floating, &NoForces, Sleep::default(), 1.0);
    assert_eq!(awake, asleep);
    let held = gripper(Held::Ball, 0.028, isobar::contact::SurfaceRepresentation::Polygons);
    let ([awake, asleep], faces) = both(&held, &Squeeze(15.0), Sleep::default(), 1.0);
    assert!(awake == asleep && faces.iter().all(|&faces| faces > 0));
}

#[test]
fn bristles_stay_deflected_and_bear_on() {
    let settings = ContactSettings { bristle_length: Some(1e-6), ..Default::default() };
    let (model, state) = boxes(&[[0.0, 0.0, 0.05]], None, settings);
    let mut builder = model.into_builder();
    builder.gravity += Vector3::new(0.8 * FRICTION * GRAVITY, 0.0, 0.0);
    let slope = (builder.build().expect("a model"), state);
    let ([awake, asleep], faces) = both(&slope, &PushAfter(1.5, 0.01), Sleep::default(), 3.0);
    assert!(faces[step(1.2)] == 0 && faces[step(1.52)] > 0);
    assert_eq!(asleep.states[step(1.4)].bristles, asleep.states[step(1.0)].bristles);
    assert!(asleep.states[step(1.4)].bristles != slope.1.bristles);
    assert!(apart(&awake.states[step(3.0)], &asleep.states[step(3.0)]) < 1e-7);
}

#[test]
fn piles_fall_asleep_as_they_come_to_rest() {
    // Balls roll on slowly for long.
    let sleep = Sleep { speed: 5e-3, ..Sleep::default() };
    let ([awake, asleep], faces) = both(&pile(3, 3), &NoForces, sleep, 4.0);
    assert_eq!(faces.last(), Some(&0), "all sleep");
    let last = awake.states.len() - 1;
    // What goes on rolling awake goes no farther than that.
    assert!(apart(&awake.states[last], &asleep.states[last]) < 4.0 * sleep.speed);
    let lowest = |motion: &Trajectory| {
        motion.states[last].bodies.iter().map(|b| b.position.z).fold(f64::INFINITY, f64::min)
    };
    assert!(lowest(&asleep) > 0.9 * lowest(&awake));
}
