//! Coulomb's cone: a block on an incline, which rises in sixteen directions, by every kind of step.

use std::f64::consts::TAU;

use isobar::multibody::{BodyState, Model};
use isobar::rollout::Trajectory;
use nalgebra::{Vector2, Vector3};

use crate::figure::{Curve, Plot};
use crate::film::{Look, film};
use crate::kinds::{COMPLIANT, Kind, RIGID};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

const SCENE: &str = include_str!("../scenes/block.toml");
const FRICTION: f64 = 0.5;
const G: f64 = 9.81;
const DIRECTIONS: usize = 16;
/// Slopes over the coefficient of friction: just below the cone, just above it, and steep.
const SLOPES: [f64; 3] = [0.98, 1.02, 1.5];
/// Between these times friction is measured, s: at first the block rocks on its compliance.
const FROM: f64 = 0.1;
const UNTIL: f64 = 0.2;

/// What a kind of step does in one direction.
struct Direction {
    angle: f64,
    /// Mean force of friction over μ N down each slope.
    friction: [f64; 3],
    /// Speed at the end on each slope, m/s.
    speed: [f64; 3],
    /// Motion across the steepest slope over that down it.
    across: f64,
}

/// Slides down a slope in a direction.
fn motion(kind: &Kind, slope: f64, angle: f64) -> Result<(Model, Trajectory), Failure> {
    let down = Vector2::new(angle.cos(), angle.sin());
    let pull = down * (slope * FRICTION * G);
    let mut scene = kind.scene(SCENE)?;
    let mut builder = scene.model.clone().into_builder();
    builder.gravity = Vector3::new(pull.x, pull.y, -G);
    scene.model = builder.build()?;
    if kind.rigid {
        // Rigid bodies touch without overlap.
        scene.state.bodies[0].position.z = 0.01;
    }
    let trajectory = scene.rollout(UNTIL)?.simulate()?;
    Ok((scene.model, trajectory))
}

/// What that comes to: friction over μ N, and the velocity at the end along the slope and across.
fn slide(kind: &Kind, slope: f64, angle: f64) -> Result<(f64, Vector2<f64>), Failure> {
    let down = Vector2::new(angle.cos(), angle.sin());
    let (_, trajectory) = motion(kind, slope, angle)?;
    let at = |time: f64| -> &BodyState {
        let step = trajectory.times.iter().position(|t| *t >= time - 1e-9).unwrap_or(0);
        &trajectory.states[step].bodies[0]
    };
    let along = |state: &BodyState| state.velocity.translational.xy().dot(&down);
    let end = at(UNTIL).velocity.translational.xy();
    let acceleration = (along(at(UNTIL)) - along(at(FROM))) / (UNTIL - FROM);
    Ok((
        (slope * FRICTION * G - acceleration) / (FRICTION * G),
        Vector2::new(end.dot(&down), down.perp(&end)),
    ))
}

fn directions(kind: &Kind, count: usize) -> Result<Vec<Direction>, Failure> {
    let one = |k: usize| {
        let angle = TAU * k as f64 / DIRECTIONS as f64;
        let (mut friction, mut speed, mut across) = ([0.0; 3], [0.0; 3], 0.0);
        for (slope, at) in SLOPES.iter().zip(0..) {
            let (ratio, end) = slide(kind, *slope, angle)?;
            (friction[at], speed[at], across) = (ratio, end.norm(), end.y / end.x);
        }
        Ok(Direction { angle, friction, speed, across })
    };
    (0..count).map(one).collect()
}

/// The friction of a kind in all directions as a closed curve.
fn polar(name: &str, all: &[Direction]) -> Curve {
    let points = all.iter().chain(all.first());
    let point = |d: &Direction| (d.friction[2] * d.angle.cos(), d.friction[2] * d.angle.sin());
    Curve { name: name.into(), points: points.map(point).collect(), reference: false, marks: true }
}

fn extremes(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| [low.min(v), high.max(v)])
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let kinds: Vec<&Kind> = COMPLIANT.iter().chain(&RIGID).collect();
    // In short a direction along an axis and one beside it, by the steps that take a moment.
    let short = ["lagged", "ecp", "lcp"];
    let (kinds, count): (Vec<&Kind>, usize) = match run {
        Run::Full => (kinds, DIRECTIONS),
        Run::Short => (kinds.into_iter().filter(|kind| short.contains(&kind.name)).collect(), 2),
    };
    let (mut rows, mut curves, mut table) = (Vec::new(), Vec::new(), String::new());
    table += "| kind | friction / μN, sliding | speed at the end where it should stick, mm/s | where it should slide | motion across |\n|---|---|---|---|---|\n";
    let mut widest: f64 = 0.0;
    for kind in kinds {
        let all = directions(kind, count)?;
        let [low, high] = extremes(all.iter().map(|d| d.friction[2]));
        let stuck = extremes(all.iter().map(|d| 1e3 * d.speed[0]));
        let slid = extremes(all.iter().map(|d| 1e3 * d.speed[1]));
        let across = extremes(all.iter().map(|d| d.across.abs()))[1];
        table += &format!(
            "| `{}` | {} to {} | {} to {} | {} to {} | {} |\n",
            kind.name,
            shown(low),
            shown(high),
            shown(stuck[0]),
            shown(stuck[1]),
            shown(slid[0]),
            shown(slid[1]),
            shown(across)
        );
        if !["similar", "sap"].contains(&kind.name) {
            widest = widest.max((low - 1.0).abs()).max((high - 1.0).abs());
        }
        let expected = "1 (Coulomb)";
        rows.push(row(format!("`{}`: friction / μN along x", kind.name), expected, all[0].friction[2], 1e-3));
        if ["lagged", "ecp", "lcp", "ncp"].contains(&kind.name) {
            let quantity = format!("`{}`: friction / μN at 22.5°", kind.name);
            rows.push(row(quantity, expected, all[1].friction[2], 1e-3));
        }
        if kind.name == "lagged" {
            curves.push(polar("lagged", &all));
        }
    }
    let circle = (0..=100).map(|k| (TAU * f64::from(k) / 100.0).sin_cos()).map(|(y, x)| (x, y)).collect();
    curves.push(Curve { name: "Coulomb".into(), points: circle, reference: true, marks: false });
    let mut figures = Vec::new();
    if run == Run::Full {
        let (model, trajectory) = motion(&COMPLIANT[0], SLOPES[2], TAU / DIRECTIONS as f64)?;
        let axes = [Vector3::x(), Vector3::y()];
        let look = Look { axes, slower: 10.0, ..Look::from_the_side([420, 220], [0.025, 0.01], 1600.0) };
        let caption =
            "The block on the steepest incline, which falls at 22.5° to x, from above, ten times slower"
                .into();
        let picture = Picture::Svg(film(&model, &trajectory, &look));
        figures.push(Figure { suffix: "_film", caption, picture });
    }
    let title = "Friction over μN, by its direction";
    let plot = Plot { title, x: "along x", y: "along y", logarithmic: [false; 2], curves };
    let caption = "Friction of a sliding block by the direction of the incline".into();
    figures.insert(0, Figure { suffix: "", caption, picture: Picture::Plots(vec![plot]) });
    Ok(Page {
        name: "cone",
        title: "Coulomb's cone in every direction",
        source: "Coulomb's law; Elandt eq. 7, Masterjohn eq. 4",
        result: format!(
            "A block that slides down an incline in sixteen directions is braked by μN within {:.0e} % by fourteen kinds of steps, and by a \
             few per cent more or less by `similar` and `sap`.",
            100.0 * widest
        ),
        figures,
        rows,
        why: "Regularized friction creeps below the cone: at 0.98 of it by 4.9 v_s with the smooth form and 0.86 v_s with `tamsi`'s, which is \
              what the table has; `ecp`, `lcp` and `ncp` stick. `similar` and `sap` lift what slides ever faster, so that its normal \
              force is not its weight on the way."
            .into(),
        more: table,
    })
}
