//! A body, and a floating base with arms, that spin freely, about no principal axis, for 10,000 steps of
//! each kind: what becomes of energy and angular momentum, by the angle that the body or the base turns by
//! in a step. Draws two figures.
//!
//! `cargo run --release --example spin -- docs`

#[path = "figure/mod.rs"]
mod figure;

use std::path::{Path, PathBuf};

use figure::{Curve, Plot};
use isobar::contact::ContactModel;
use isobar::multibody::tree::{BodyDescription, JointDescription, JointKind, Mechanism, Workspace};
use isobar::multibody::{
    Body, BodyState, MassProperties, MassSource, Model, ModelBuilder, State, body_acceleration,
};
use isobar::spatial::{Quaternion, RigidTransform, SpatialForce, SpatialVelocity};
use isobar::step::{Integrator, StepProblem, StepWorkspace};
use nalgebra::{Matrix3, Vector3};

const STEPS: usize = 10_000;
/// Relative changes below this are drawn at it: rounding.
const FLOOR: f64 = 1e-17;

/// Angular velocity at the start, rad/s.
const SPIN: [f64; 3] = [30.0, 30.0, 1.0];

/// One step of a body.
type Step = Box<dyn FnMut(&State) -> Option<State>>;

/// A body with three different moments of inertia, off the middle of its frame.
fn mass() -> MassProperties {
    let inertia = Matrix3::from_diagonal(&Vector3::new(1e-3, 2e-3, 2.9e-3));
    MassProperties { mass: 1.0, center_of_mass: Vector3::new(0.02, -0.01, 0.03), inertia }
}

fn with(integrator: Integrator, model: &Model, dt: f64) -> Step {
    let (model, mut workspace) = (model.clone(), StepWorkspace::default());
    Box::new(move |state| integrator.step(&StepProblem::new(&model, state, dt), &mut workspace).ok())
}

/// For comparison: the gyroscopic moment taken at the start of the step.
fn explicit(model: &Model, dt: f64) -> Step {
    let gravity = *model.gravity();
    Box::new(move |state| {
        let body = &state.bodies[0];
        let acceleration = body_acceleration(&mass(), &gravity, body, &SpatialForce::zero());
        let angular = body.velocity.rotational + acceleration.angular * dt;
        let linear = body.velocity.translational + acceleration.of_origin * dt;
        let after = BodyState {
            orientation: body.orientation.rotated_by(&(angular * dt)),
            position: body.position + linear * dt,
            velocity: SpatialVelocity::new(angular, linear),
        };
        let state = State { bodies: vec![after], ..State::default() };
        state.is_finite().then_some(state)
    })
}

/// Runs one kind of step: the relative changes of energy and angular momentum over time.
fn run(model: &Model, start: &State, mut step: Step) -> [Vec<(f64, f64)>; 2] {
    let (energy, momentum) = (model.mechanical_energy(start), model.angular_momentum(start));
    let mut state = start.clone();
    let mut changes = [Vec::new(), Vec::new()];
    let mut next = 1.0;
    for number in 1..=STEPS {
        let Some(after) = step(&state) else { break };
        state = after;
        let change = (model.mechanical_energy(&state) / energy - 1.0).abs();
        let turned = (model.angular_momentum(&state) - momentum).norm() / momentum.norm();
        // Points at equal distances on a logarithmic axis, and the last.
        if number as f64 >= next || number == STEPS {
            next *= 1.2;
            changes[0].push((number as f64, change.clamp(FLOOR, 1e6)));
            changes[1].push((number as f64, turned.clamp(FLOOR, 1e6)));
        }
        if change > 1e6 {
            break;
        }
    }
    changes
}

/// Prints and draws what becomes of energy and angular momentum with each kind of step.
fn study(
    title: &'static str,
    path: &Path,
    model: &Model,
    start: &State,
    spin: f64,
    with_explicit: bool,
) -> Result<(), Box<dyn std::error::Error>> {
    println!("{title}: largest relative change of energy and angular momentum in {STEPS} steps");
    let mut curves = [Vec::new(), Vec::new()];
    for turn in [0.06, 0.3, 1.0] {
        let dt = turn / spin;
        let mut kinds: Vec<(&str, Step)> = vec![
            ("lagged", with(Integrator::velocity_level(ContactModel::Lagged), model, dt)),
            ("semi_implicit_euler", with(Integrator::SemiImplicitEuler, model, dt)),
            ("rk4", with(Integrator::RungeKutta4, model, dt)),
        ];
        if with_explicit {
            kinds.push(("explicit", explicit(model, dt)));
        }
        for (name, step) in kinds {
            let changes = run(model, start, step);
            let [energy, momentum] =
                changes.each_ref().map(|list| list.iter().map(|p| p.1).fold(0.0, f64::max));
            println!("  ω δt = {turn:<5} {name:<20} {energy:9.1e} {momentum:9.1e}");
            // The implicit kinds and semi-implicit Euler turn bodies by the same function.
            if name == "semi_implicit_euler" {
                continue;
            }
            for (curves, points) in curves.iter_mut().zip(changes) {
                let reference = name == "explicit" || (!with_explicit && name == "rk4");
                curves.push(Curve { name: format!("{name}, {turn}"), points, reference, marks: false });
            }
        }
    }
    let [energy, momentum] = curves;
    let plots = [(title, energy), ("Angular momentum", momentum)].map(|(title, curves)| {
        let (x, y) = ("steps", "relative change");
        Plot { title, x, y, logarithmic: [true, true], curves }
    });
    figure::draw(path, &plots)?;
    println!("drawn in {}", path.display());
    Ok(())
}

/// A base on a free joint with two arms that swing freely, one on a hinge and one on a ball joint:
/// the base spins about none of its axes, and the centre of mass rests.
fn floating() -> Result<(Model, State), Box<dyn std::error::Error>> {
    let part = |name: &str, mass: f64, center: [f64; 3], moments: [f64; 3]| {
        let inertia = Matrix3::from_diagonal(&Vector3::from(moments));
        let mass = MassProperties { mass, center_of_mass: center.into(), inertia };
        BodyDescription { name: name.into(), mass: Some(mass) }
    };
    let bodies = vec![
        part("base", 1.0, [0.02, -0.01, 0.03], [1e-3, 2e-3, 2.9e-3]),
        part("arm", 0.2, [0.05, 0.0, 0.0], [4e-5, 1.7e-4, 1.8e-4]),
        part("head", 0.1, [0.0, 0.0, 0.03], [5e-5, 6e-5, 4e-5]),
    ];
    let at = |x: f64, y: f64, z: f64| RigidTransform::from_translation([x, y, z]);
    let hinge = JointKind::Revolute { axis: Vector3::y() };
    let joints = vec![
        JointDescription::new("floating", JointKind::Free, None, "base", at(0.0, 0.0, 0.0)),
        JointDescription::new("shoulder", hinge, Some("base"), "arm", at(0.05, 0.0, 0.02)),
        JointDescription::new("neck", JointKind::Ball, Some("base"), "head", at(0.0, 0.03, 0.05)),
    ];
    let mechanism = Mechanism::new(bodies, joints)?;
    let mut joints = mechanism.neutral_state();
    joints.v[..3].copy_from_slice(&[SPIN[0], SPIN[1], SPIN[2]]);
    let mut workspace = Workspace::new(&mechanism);
    mechanism.update_kinematics(&joints.q, &joints.v, &mut workspace);
    let mass: f64 = mechanism.bodies().iter().filter_map(|body| body.mass).map(|mass| mass.mass).sum();
    let linear = mechanism.momentum(&workspace).translational / mass;
    joints.v[3..6].copy_from_slice((-linear).as_slice());
    let names = ["base", "arm", "head"];
    let links = names.iter().enumerate().map(|(i, name)| Body::link(*name, i, Vec::new())).collect();
    let model = ModelBuilder { mechanism, bodies: links, gravity: Vector3::zeros(), ..Default::default() };
    Ok((model.build()?, State::new(Vec::new(), joints)))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    std::fs::create_dir_all(&folder)?;
    let body = Body::free("body", MassSource::Given(mass()), Vec::new())?;
    let model = ModelBuilder { bodies: vec![body], gravity: Vector3::zeros(), ..Default::default() };
    let model = model.build()?;
    let spin = Vector3::from(SPIN);
    let start = BodyState {
        orientation: Quaternion::identity(),
        position: Vector3::zeros(),
        velocity: SpatialVelocity::new(spin, -spin.cross(&mass().center_of_mass)),
    };
    let start = State { bodies: vec![start], ..State::default() };
    let spin = spin.norm();
    study("Energy of a free spin, by ω δt", &folder.join("spin.svg"), &model, &start, spin, true)?;
    let (model, start) = floating()?;
    let path = folder.join("spin_floating.svg");
    study("Energy of a floating base with arms, by ω δt", &path, &model, &start, spin, false)?;
    Ok(())
}
