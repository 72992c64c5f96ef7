//! A body that spins freely, about no principal axis, for 10,000 steps of each kind: what becomes of
//! its energy and its angular momentum, by the angle that it turns by in a step. Draws a figure.
//!
//! `cargo run --release --example spin -- docs`

#[path = "plot/mod.rs"]
mod plot;

use std::path::PathBuf;

use isobar::contact::{ContactModel, ContactSettings};
use isobar::multibody::{
    Body, BodyState, MassProperties, MassSource, Model, NoForces, State, body_acceleration,
};
use isobar::spatial::{Quaternion, SpatialForce, SpatialVelocity};
use isobar::step::{Integrator, StepWorkspace};
use nalgebra::{Matrix3, Vector3};
use plot::{Curve, Plot, stack};

const STEPS: usize = 10_000;
/// Relative changes below this are drawn at it: rounding.
const FLOOR: f64 = 1e-17;

/// One step of a body.
type Step = Box<dyn FnMut(&State) -> Option<State>>;

/// A body with three different moments of inertia, off the middle of its frame.
fn mass() -> MassProperties {
    let inertia = Matrix3::from_diagonal(&Vector3::new(1e-3, 2e-3, 2.9e-3));
    MassProperties { mass: 1.0, center_of_mass: Vector3::new(0.02, -0.01, 0.03), inertia }
}

fn angular_momentum(state: &State) -> Vector3<f64> {
    let rotation = state.bodies[0].orientation.to_matrix();
    rotation * mass().inertia * rotation.transpose() * state.bodies[0].velocity.rotational
}

fn with(integrator: Integrator, model: &Model, dt: f64) -> Step {
    let (model, mut workspace) = (model.clone(), StepWorkspace::default());
    Box::new(move |state| integrator.step(&model, state, 0.0, dt, &NoForces, &[], &mut workspace).ok())
}

/// For comparison: the gyroscopic moment taken at the start of the step.
fn explicit(model: &Model, dt: f64) -> Step {
    let gravity = model.gravity;
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
    let (energy, momentum) = (model.mechanical_energy(start), angular_momentum(start));
    let mut state = start.clone();
    let mut changes = [Vec::new(), Vec::new()];
    let mut next = 1.0;
    for number in 1..=STEPS {
        let Some(after) = step(&state) else { break };
        state = after;
        let change = (model.mechanical_energy(&state) / energy - 1.0).abs();
        let turned = (angular_momentum(&state) - momentum).norm() / momentum.norm();
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let body = Body::free("body", MassSource::Given(mass()), Vec::new())?;
    let model = Model::new(vec![body], Vec::new(), Vector3::zeros(), ContactSettings::default(), &[])?;
    let spin = Vector3::new(30.0, 30.0, 1.0);
    let center = -spin.cross(&mass().center_of_mass);
    let start = BodyState {
        orientation: Quaternion::identity(),
        position: Vector3::zeros(),
        velocity: SpatialVelocity::new(spin, center),
    };
    let start = State { bodies: vec![start], ..State::default() };
    println!("largest relative change of energy and angular momentum in {STEPS} steps");
    let mut plots = Vec::new();
    let mut curves = [Vec::new(), Vec::new()];
    for turn in [0.06, 0.3, 1.0] {
        let dt = turn / spin.norm();
        let kinds: [(&str, Step); 4] = [
            ("lagged", with(Integrator::velocity_level(ContactModel::Lagged), &model, dt)),
            ("semi-implicit-euler", with(Integrator::SemiImplicitEuler, &model, dt)),
            ("rk4", with(Integrator::RungeKutta4, &model, dt)),
            ("explicit", explicit(&model, dt)),
        ];
        for (name, step) in kinds {
            let changes = run(&model, &start, step);
            let [energy, momentum] =
                changes.each_ref().map(|list| list.iter().map(|p| p.1).fold(0.0, f64::max));
            println!("  ω δt = {turn:<5} {name:<20} {energy:9.1e} {momentum:9.1e}");
            // The implicit kinds and semi-implicit Euler turn free bodies by the same function.
            if name == "semi-implicit-euler" {
                continue;
            }
            for (curves, points) in curves.iter_mut().zip(changes) {
                let reference = name == "explicit";
                curves.push(Curve { name: format!("{name}, {turn}"), points, reference, marks: false });
            }
        }
    }
    let [energy, momentum] = curves;
    for (title, y, curves) in [
        ("Energy of a free spin, by ω δt", "relative change", energy),
        ("Angular momentum", "relative change", momentum),
    ] {
        plots.push(Plot { title, x: "steps", y, logarithmic: [true, true], curves });
    }
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("spin.svg");
    std::fs::write(&path, stack(&plots))?;
    println!("drawn in {}", path.display());
    Ok(())
}
