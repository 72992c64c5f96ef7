//! What velocity-level steps cost, solver and geometry apart: by the number of faces, and with polygons
//! and with triangles. Prints tables and draws a figure.
//!
//! `cargo run --release --example step_cost -- docs`

#[path = "figure/mod.rs"]
mod figure;
#[path = "../benches/median/mod.rs"]
mod median;
#[path = "../tests/support/step_scenes.rs"]
mod step_scenes;

use figure::{Curve, Plot};
use isobar::contact::{ContactModel, SurfaceRepresentation};
use isobar::multibody::{AppliedForces, Model, State};
use isobar::step::{Integrator, StepProblem, StepWorkspace};
use median::median;
use step_scenes::*;

const DT: f64 = 1e-3;

/// What a step costs.
#[derive(Default)]
struct Cost {
    faces: f64,
    iterations: f64,
    /// Medians over the steps, µs.
    solver: f64,
    geometry: f64,
}

/// Steps in a row before the next scene's turn comes: what disturbs the machine for longer than that
/// disturbs all scenes.
const TURN: usize = 20;

/// What steps cost in scenes that take turns, once they have settled.
fn costs<const N: usize>(
    scenes: [(Model, State); N],
    kind: ContactModel,
    turns: usize,
    applied: &impl AppliedForces,
) -> [Cost; N] {
    let integrator = Integrator::velocity_level(kind);
    let mut running = scenes.map(|(model, state)| {
        let state = settled(&model, state, integrator, DT, 200, applied);
        (model, state, StepWorkspace::default(), Cost::default(), [Vec::new(), Vec::new()])
    });
    for _ in 0..turns {
        for (model, state, workspace, sum, [solver, geometry]) in &mut running {
            for _ in 0..TURN {
                *state = integrator
                    .step(&StepProblem::new(model, state, DT).under(applied), workspace)
                    .expect("a step");
                let timing = workspace.timing();
                solver.push(timing.solver.as_secs_f64() * 1e6);
                geometry.push(timing.geometry.as_secs_f64() * 1e6);
                sum.iterations += workspace.statistics().iterations as f64;
                sum.faces += workspace.statistics().contacts as f64;
            }
        }
    }
    let steps = (turns * TURN) as f64;
    running.map(|(_, _, _, sum, [solver, geometry])| Cost {
        faces: sum.faces / steps,
        iterations: sum.iterations / steps,
        solver: median(solver),
        geometry: median(geometry),
    })
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
    let folder = std::env::args().nth(1).unwrap_or_else(|| "docs".into());
    let squeeze = Squeeze(15.0);
    println!("two fingers and a ball: resolution, faces, iterations, µs of solver and geometry");
    let mut curves = Vec::new();
    for kind in MODELS {
        let (mut solver, mut geometry) = (Vec::new(), Vec::new());
        let resolutions = [0.028, 0.014, 0.008, 0.0055, 0.0025];
        let scenes = resolutions.map(|h| gripper(Held::Ball, h, SurfaceRepresentation::Polygons));
        for (resolution, c) in resolutions.into_iter().zip(costs(scenes, kind, 15, &squeeze)) {
            let name = format!("{kind:?}");
            println!(
                "{name:8} {resolution:6} {:5.0} {:5.2} {:8.1} {:8.1}",
                c.faces, c.iterations, c.solver, c.geometry
            );
            solver.push((c.faces, c.solver));
            geometry.push((c.faces, c.geometry));
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
    figure::draw(format!("{folder}/step_cost.svg"), &[plot])?;

    println!("\npolygons and triangles: faces, iterations, µs of solver and geometry, times as much");
    println!("and µs of an iteration: its part that does not grow with the faces, and for a hundred faces");
    for (held, resolution) in
        [(Held::Ball, 0.028), (Held::Cylinder, 0.02), (Held::Ball, 0.008), (Held::Cylinder, 0.008)]
    {
        for kind in MODELS {
            let scenes = [SurfaceRepresentation::Polygons, SurfaceRepresentation::Triangles]
                .map(|surface| gripper(held, resolution, surface));
            let [p, t] = costs(scenes, kind, 50, &squeeze);
            let [of_p, of_t] = [&p, &t].map(|c| c.solver / c.iterations);
            let by_face = (of_t - of_p) / (t.faces - p.faces);
            println!(
                "{held:?} {resolution} {kind:?}: {:.0} and {:.0} faces, {:.2} times; {:.2} and {:.2} iterations; solver {:.1} and {:.1} µs, {:.2} times; geometry {:.1} and {:.1} µs, {:.2} times; {:.2} and {:.2} µs",
                p.faces,
                t.faces,
                t.faces / p.faces,
                p.iterations,
                t.iterations,
                p.solver,
                t.solver,
                t.solver / p.solver,
                p.geometry,
                t.geometry,
                t.geometry / p.geometry,
                of_p - p.faces * by_face,
                100.0 * by_face,
            );
        }
    }
    Ok(())
}
