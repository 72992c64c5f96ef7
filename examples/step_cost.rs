//! What velocity-level steps cost: by the number of faces, with polygons and with triangles, and
//! by the number of bodies. Prints tables and draws a figure.
//!
//! `cargo run --release --example step_cost -- docs`

#[path = "plot/mod.rs"]
mod plot;
#[path = "../tests/support/step_scenes.rs"]
mod step_scenes;

use std::hint::black_box;
use std::time::Duration;

use isobar::contact::{ContactModel, SurfaceRepresentation};
use isobar::multibody::{AppliedForces, ForceWorkspace, Forces, Model, NoForces, State, add_contact_forces};
use isobar::step::{Integrator, StepWorkspace};
use plot::{Curve, Plot};
use step_scenes::*;

const DT: f64 = 1e-3;

/// The thread's own processor time.
fn thread_time() -> Duration {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

fn median(mut x: Vec<f64>) -> f64 {
    x.sort_by(f64::total_cmp);
    x[x.len() / 2]
}

/// What a step costs.
struct Cost {
    faces: usize,
    iterations: f64,
    /// Seconds of a step, and of the contact forces at its start: surface and wrenches.
    step: f64,
    geometry: f64,
}

impl Cost {
    fn solver(&self) -> f64 {
        self.step - self.geometry
    }
}

fn cost(
    (model, state): (Model, State),
    kind: ContactModel,
    settle: usize,
    steps: usize,
    applied: &impl AppliedForces,
) -> Cost {
    let integrator = Integrator::velocity_level(kind);
    let mut state = settled(&model, state, integrator, DT, settle, applied);
    let (mut workspace, mut contact) = (StepWorkspace::default(), ForceWorkspace::default());
    let (mut step, mut geometry) = (Vec::new(), Vec::new());
    let (mut iterations, mut faces) = (0, 0);
    for _ in 0..steps {
        let start = thread_time();
        let mut forces = Forces::zero(&model);
        add_contact_forces(&model, &state, &mut contact, &mut forces.bodies);
        black_box(&forces);
        let between = thread_time();
        state = integrator.step(&model, &state, 0.0, DT, applied, &[], &mut workspace).expect("a step");
        let end = thread_time();
        geometry.push((between - start).as_secs_f64());
        step.push((end - between).as_secs_f64());
        iterations += workspace.statistics().iterations;
        faces += workspace.statistics().contacts;
    }
    Cost {
        faces: faces / steps,
        iterations: iterations as f64 / steps as f64,
        step: median(step),
        geometry: median(geometry),
    }
}

fn exponent(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs = || points.iter().map(|(x, y)| (x.ln(), y.ln()));
    let (sx, sy) = logs().fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
    let (mx, my) = (sx / n, sy / n);
    let (a, b) = logs().fold((0.0, 0.0), |s, p| (s.0 + (p.0 - mx) * (p.1 - my), s.1 + (p.0 - mx).powi(2)));
    a / b
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One thread, for the contact forces too.
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global()?;
    let folder = std::env::args().nth(1).unwrap_or_else(|| "docs".into());
    let squeeze = Squeeze(15.0);
    println!("two fingers and a ball: resolution, faces, iterations, µs of a step, of which solver");
    let mut curves = Vec::new();
    for kind in MODELS {
        let (mut solver, mut geometry) = (Vec::new(), Vec::new());
        for resolution in [0.028, 0.014, 0.008, 0.0055, 0.0025] {
            let scene = gripper(Held::Ball, resolution, SurfaceRepresentation::Polygons);
            let c = cost(scene, kind, 200, 60, &squeeze);
            let name = format!("{kind:?}");
            println!(
                "{name:8} {resolution:6} {:5} {:5.2} {:8.1} {:8.1}",
                c.faces,
                c.iterations,
                c.step * 1e6,
                c.solver() * 1e6
            );
            solver.push((c.faces as f64, c.solver() * 1e6));
            geometry.push((c.faces as f64, c.geometry * 1e6));
        }
        println!(
            "{kind:?}: exponent of the solver {:.2}, of the geometry {:.2}",
            exponent(&solver),
            exponent(&geometry)
        );
        let curve = |name: String, points| Curve { name, points, reference: false, marks: true };
        curves.push(curve(format!("solver, {kind:?}"), solver));
        if kind == ContactModel::Lagged {
            curves.push(curve("geometry".into(), geometry));
        }
    }
    let first = curves[0].points[0];
    let to = 3000.0;
    let reference = vec![first, (to, first.1 * to / first.0)];
    curves.push(Curve { name: "linear".into(), points: reference, reference: true, marks: false });
    let plot = Plot {
        title: "Cost of a step by the number of faces",
        x: "faces",
        y: "µs",
        logarithmic: [true; 2],
        curves,
    };
    std::fs::create_dir_all(&folder)?;
    std::fs::write(format!("{folder}/step_cost.svg"), plot.svg())?;

    println!("\npolygons and triangles: faces, iterations, solver µs");
    for (held, resolution) in
        [(Held::Ball, 0.028), (Held::Cylinder, 0.02), (Held::Ball, 0.008), (Held::Cylinder, 0.008)]
    {
        for kind in [ContactModel::Lagged, ContactModel::Tamsi] {
            let [p, t] = [SurfaceRepresentation::Polygons, SurfaceRepresentation::Triangles]
                .map(|surface| cost(gripper(held, resolution, surface), kind, 200, 200, &squeeze));
            println!(
                "{held:?} {resolution} {kind:?}: {} and {} faces, {:.2} times; {:.2} and {:.2} iterations; {:.1} and {:.1} µs, {:.2} times",
                p.faces,
                t.faces,
                t.faces as f64 / p.faces as f64,
                p.iterations,
                t.iterations,
                p.solver() * 1e6,
                t.solver() * 1e6,
                t.solver() / p.solver()
            );
        }
    }

    println!("\npile: bodies, faces, iterations, µs of a step per body and per face");
    for kind in MODELS {
        for (side, layers) in [(2, 5), (5, 8)] {
            let bodies = side * side * layers;
            let c = cost(pile(side, layers), kind, 30, 60, &NoForces);
            let step = c.step * 1e6;
            println!(
                "{kind:?} {bodies:3} {:5} {:5.2} {:7.2} {:6.3}",
                c.faces,
                c.iterations,
                step / bodies as f64,
                step / c.faces as f64
            );
        }
    }
    Ok(())
}
