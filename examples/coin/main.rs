//! A sliding and spinning coin: where v/(ωR) ends, and how the error falls with the step and the
//! mesh. Prints tables and draws figures.
//!
//! `cargo run --release --example coin -- docs`

#[path = "../figure/mod.rs"]
mod figure;

mod coin;

use coin::{Division, FAN, Slide, limit, model, order, points, relative_error, roundness, set_off, slide};
use figure::{Curve, Plot};
use isobar::contact::{ContactModel, SurfaceRepresentation};
use isobar::step::Integrator;

const RATIOS: [f64; 6] = [0.1, 0.3, 0.653, 1.0, 3.0, 10.0];
const POLYGONS: SurfaceRepresentation = SurfaceRepresentation::Polygons;
/// Speed at the start, m/s: from the most different beginnings v/(ωR) is at its limit only once
/// speeds have fallen a thousandfold.
const SPEED: f64 = 5.0;
/// Where v/(ωR) is read, m/s: below it a step of 1 ms is all the motion that is left.
const READ_AT: f64 = 0.002;
/// Regularization of friction, m/s, far below that.
const STICTION_VELOCITY: f64 = 1e-5;

type Failure = Box<dyn std::error::Error>;

fn curve(name: impl Into<String>, points: Vec<(f64, f64)>, reference: bool, marks: bool) -> Curve {
    Curve { name: name.into(), points, reference, marks }
}

/// The limits from different beginnings.
fn limits(folder: &str) -> Result<(), Failure> {
    let discrete = limit(&points(FAN, POLYGONS));
    println!("limit of the fan's centroids {discrete:.5}, of a disk 0.6530");
    println!(
        "model     v/(ωR) at the start, at the last step above {READ_AT} m/s, difference from the limit"
    );
    for kind in [ContactModel::Tamsi, ContactModel::Lagged] {
        let mut curves = Vec::new();
        for ratio in RATIOS {
            let (model, mut state) = model(FAN, POLYGONS, STICTION_VELOCITY);
            set_off(&mut state, ratio, SPEED);
            let slide = slide(&model, &state, Integrator::velocity_level(kind), 1e-3, 8.0)?;
            let end = slide.ratio_above(READ_AT).unwrap_or(f64::NAN);
            println!(
                "{:8} {ratio:7.3} {end:.5} {:+.2} %",
                format!("{kind:?}"),
                100.0 * (end / discrete - 1.0)
            );
            let every = slide.speeds.len().div_ceil(150);
            let moving = slide.speeds.iter().step_by(every).filter(|[_, v, rim]| v.max(*rim) > READ_AT);
            let points = moving.map(|[t, v, rim]| (*t, v / rim)).collect();
            curves.push(curve(format!("from {ratio}"), points, false, false));
        }
        curves.push(curve("limit 0.6442", vec![(0.0, discrete), (3.5, discrete)], true, false));
        let plot = Plot {
            title: &format!("{kind:?}: v/(ωR) of a sliding, spinning coin"),
            x: "time, s",
            y: "v/(ωR)",
            logarithmic: [false, true],
            curves,
        };
        figure::draw(format!("{folder}/coin_{}.svg", format!("{kind:?}").to_lowercase()), &[plot])?;
    }
    println!("\nother divisions of the face, Tamsi from v/(ωR) = 1: faces, limit of the points, simulated");
    let triangles = SurfaceRepresentation::Triangles;
    let rings = |rings: usize| Division { segments: 6 * rings, rings };
    for (division, surface) in [
        (FAN, triangles),
        (FAN, POLYGONS),
        (rings(4), POLYGONS),
        (rings(8), POLYGONS),
        (rings(16), POLYGONS),
        (rings(4), triangles),
        (rings(8), triangles),
        (rings(16), triangles),
    ] {
        let points = points(division, surface);
        let (model, mut state) = model(division, surface, STICTION_VELOCITY);
        set_off(&mut state, 1.0, SPEED);
        let end = slide(&model, &state, Integrator::velocity_level(ContactModel::Tamsi), 1e-3, 8.0)?
            .ratio_above(READ_AT);
        println!(
            "{:3} segments, {} rings, {surface:?}: {:5} {:.5} {:.5}",
            division.segments,
            division.rings,
            points.len(),
            limit(&points),
            end.unwrap_or(f64::NAN)
        );
    }
    Ok(())
}

/// Errors by the length of the step and by the size of the faces (Masterjohn, Fig. 6).
fn convergence(folder: &str) -> Result<(), Failure> {
    // The coin slides throughout this time.
    let until = 0.2;
    let run = |division: Division, kind: ContactModel, dt: f64| -> Result<Slide, Failure> {
        let (model, mut state) = model(division, POLYGONS, STICTION_VELOCITY);
        set_off(&mut state, 1.0, 0.5);
        Ok(slide(&model, &state, Integrator::velocity_level(kind), dt, until)?)
    };
    println!("\nerror of the path over {until} s by the step, s");
    let steps: [f64; 5] = [4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4];
    let mut curves = Vec::new();
    for kind in [ContactModel::Tamsi, ContactModel::Lagged] {
        let reference = run(FAN, kind, 2.5e-5)?;
        let mut errors = Vec::new();
        for dt in steps {
            let every = (4e-3 / dt).round() as usize;
            errors.push((dt, relative_error(&run(FAN, kind, dt)?, every, &reference, 160)));
        }
        let listed: Vec<String> = errors.iter().map(|(dt, e)| format!("{dt:.1e}: {e:.3e}")).collect();
        println!("{kind:?} {}; order {:.2}", listed.join(", "), order(&errors));
        curves.push(curve(format!("{kind:?}"), errors, false, true));
    }
    let first = curves[0].points[0];
    let slope = |power: i32, first: (f64, f64), last: f64| {
        vec![first, (last, first.1 * (last / first.0).powi(power))]
    };
    curves.push(curve("first order", slope(1, (first.0, first.1 * 1.5), 2.5e-4), true, false));
    let plot = Plot {
        title: "Error of the coin's path by the step",
        x: "step, s",
        y: "relative error",
        logarithmic: [true; 2],
        curves,
    };
    figure::draw(format!("{folder}/coin_error_by_step.svg"), &[plot])?;

    println!("\nerror by the size of the faces, m, at a step of 1 ms");
    let division = |rings: usize| Division { segments: 6 * rings, rings };
    let reference = run(division(40), ContactModel::Tamsi, 1e-3)?;
    let mut errors = Vec::new();
    for rings in [3, 5, 8, 12, 18] {
        let slide = run(division(rings), ContactModel::Tamsi, 1e-3)?;
        let error = relative_error(&slide, 1, &reference, 1);
        let round = roundness(division(rings));
        println!("{rings:3} rings, area {round:.4} of the disk's: {error:.3e}");
        errors.push((coin::RADIUS / rings as f64, error));
    }
    println!("order {:.2}", order(&errors));
    let first = errors[0];
    let last = errors[errors.len() - 1].0;
    let curves = vec![
        curve("Tamsi", errors, false, true),
        curve("second order", slope(2, (first.0, first.1 * 1.5), last), true, false),
    ];
    let plot = Plot {
        title: "Error of the coin's path by the mesh",
        x: "size of the faces, m",
        y: "relative error",
        logarithmic: [true; 2],
        curves,
    };
    figure::draw(format!("{folder}/coin_error_by_mesh.svg"), &[plot])
}

fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "docs".into());
    limits(&folder)?;
    convergence(&folder)
}
