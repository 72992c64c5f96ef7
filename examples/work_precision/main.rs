//! How much time each kind of step takes for how small an error. Prints tables and draws figures.
//!
//! `cargo run --release --example work_precision -- docs`

#[path = "../figure/mod.rs"]
mod figure;
#[path = "../../tests/support/step_scenes.rs"]
mod step_scenes;

use std::time::Instant;

use isobar::contact::{ContactModel, SurfaceRepresentation};
use isobar::multibody::{AppliedForces, Model, NoForces, State};
use isobar::rollout::{Rollout, SimulationSettings};
use isobar::step::{ControlledMethod, ErrorControlled, Integrator, VelocityLevel};
use step_scenes::*;

type Failure = Box<dyn std::error::Error>;

fn controlled(method: ControlledMethod, accuracy: f64) -> Integrator {
    Integrator::ErrorControlled(ErrorControlled { method, accuracy })
}

fn end<A: AppliedForces>(
    (model, state): &(Model, State),
    applied: &A,
    integrator: Integrator,
    time_step: f64,
    until: f64,
) -> Result<(State, f64, usize, usize, f64), Failure> {
    let settings = SimulationSettings { integrator, time_step };
    let rollout = Rollout::new(model, state, settings, until).under(applied);
    let (mut last, mut substeps, mut rejected, mut shortest) = (State::default(), 0, 0, f64::INFINITY);
    let start = Instant::now();
    rollout.for_each(|report| {
        if let Some(statistics) = report.taken.as_ref().and_then(|t| t.substeps()) {
            substeps += statistics.substeps.len();
            rejected += statistics.rejected;
            shortest = statistics.shortest().min(shortest);
        }
        if report.steps == report.all_steps {
            last = report.state.clone();
        }
    })?;
    Ok((last, start.elapsed().as_secs_f64(), substeps, rejected, shortest))
}

fn off(a: &State, b: &State) -> f64 {
    let bodies = a.bodies.iter().zip(&b.bodies);
    let of_bodies = bodies.map(|(a, b)| (a.position - b.position).norm()).fold(0.0, f64::max);
    let of_joints = a.joints.q.iter().zip(&b.joints.q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    f64::max(of_bodies, of_joints)
}

fn scene<A: AppliedForces>(
    name: &str,
    scene: &(Model, State),
    applied: &A,
    until: f64,
) -> Result<(), Failure> {
    let t = Instant::now();
    let (reference, ..) =
        end(scene, applied, controlled(ControlledMethod::DormandPrince, 1e-10), 1e-2, until)?;
    let (again, ..) = end(scene, applied, controlled(ControlledMethod::DormandPrince, 1e-9), 1e-2, until)?;
    println!(
        "{name}: reference known to {:.1e}, {:.1} s",
        off(&reference, &again),
        t.elapsed().as_secs_f64()
    );
    let lagged = VelocityLevel { model: ContactModel::Lagged, ..Default::default() };
    let tamsi = VelocityLevel { model: ContactModel::Tamsi, ..Default::default() };
    for (method, list) in [
        (ControlledMethod::Radau, &[1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8][..]),
        (ControlledMethod::DormandPrince, &[1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8][..]),
        (ControlledMethod::BogackiShampine, &[1e-3, 1e-4, 1e-5, 1e-6, 1e-7][..]),
        (ControlledMethod::Extrapolated(lagged), &[1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8][..]),
        (ControlledMethod::VelocityLevel(lagged), &[1e-3, 1e-4, 1e-5, 1e-6, 1e-7][..]),
        (ControlledMethod::Extrapolated(tamsi), &[1e-3, 1e-5, 1e-7][..]),
    ] {
        for &accuracy in list {
            let (s, cpu, substeps, rejected, shortest) =
                end(scene, applied, controlled(method, accuracy), 1e-2, until)?;
            println!(
                "  {:34} {accuracy:7.0e}: error {:9.2e}, {:8.2} ms, {:8.1} s/s, {substeps} substeps {rejected} rejected, shortest {shortest:.1e}",
                format!("{method:?}").chars().take(34).collect::<String>(),
                off(&reference, &s),
                cpu * 1e3,
                until / cpu
            );
        }
    }
    for dt in [2e-3, 1e-3, 2.5e-4, 6.25e-5] {
        for kind in [ContactModel::Lagged, ContactModel::Tamsi, ContactModel::Sap, ContactModel::Similar] {
            let (s, cpu, ..) = end(scene, applied, Integrator::velocity_level(kind), dt, until)?;
            println!(
                "  {kind:?} {dt:7.0e}: error {:9.2e}, {:8.2} ms, {:8.1} s/s",
                off(&reference, &s),
                cpu * 1e3,
                until / cpu
            );
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let polygons = SurfaceRepresentation::Polygons;
    scene("ball", &ball_on_box(0.05, polygons), &NoForces, 0.5)?;
    scene("gripper", &gripper(Held::Ball, 0.028, polygons), &Squeeze(15.0), 0.2)?;
    Ok(())
}
