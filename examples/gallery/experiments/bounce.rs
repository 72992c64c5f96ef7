//! Elandt et al. (2019), §VIII-B, and Huang et al. (2021), §VI-A: a ball that bounces, with the pressure over its patch in time.

use std::f64::consts::PI;

use isobar::Scene;
use isobar::contact::{ContactPair, MaterialParameter, Workspace, for_each_contact_polygon};
use isobar::multibody::{Model, Parameter, State};
use isobar::rollout::trajectory_gradient;
use isobar::spatial::RigidTransform;

use crate::drawing::{Piece, View, bands, begun, colour_bar, finished, text};
use crate::figure::{Curve, Plot};
use crate::film::{Look, film};
use crate::gradients::derivatives;
use crate::page::{Failure, Figure, Page, Picture, Points, Run, row};

pub const SCENE: &str = include_str!("../scenes/bounce.toml");
/// Radius (m), mass (kg), moment of inertia (kg m²), modulus (Pa) and speed (m/s) of the ball.
pub const RADIUS: f64 = 0.05;
const MASS: f64 = 0.1;
const INERTIA: f64 = 1e-4;
const MODULUS: f64 = 1e5;
pub const SPEED: f64 = 1.0;
pub const G: f64 = 9.81;
const STICTION_VELOCITY: f64 = 1e-2;
/// Until the ball has left, s.
const UNTIL: f64 = 0.04;
/// Before the ball is deepest, s.
const DEEP: f64 = 0.008;
/// Dissipation of the second ball, s/m.
const DISSIPATION: f64 = 0.3;
/// Times at which the patch is drawn, over that of contact.
const SHOWN: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
const COLUMN: f64 = 140.0;

fn scene(dissipation: f64) -> Result<Scene, Failure> {
    let text = SCENE.replace("dissipation = 0.0", &format!("dissipation = {dissipation:?}"));
    Ok(Scene::parse(&text, "bounce.toml")?)
}

/// What an impact comes to.
pub struct Impact {
    /// Speed off the floor at the end, along it, and of the ball's rim, m/s.
    pub off: f64,
    pub along: f64,
    pub rim: f64,
    /// The largest pressure, Pa.
    pressure: f64,
    /// How long the ball touches, s.
    pub contact: f64,
}

/// A smooth ball that falls at [`SPEED`] on a floor that leans by an angle: the integral of the pressure over its patch, a disc,
/// by the depth, on one coordinate off the floor, one along it, and an angle.
pub fn smooth(angle: f64, dissipation: f64, friction: f64) -> Impact {
    let (sin, cos) = angle.sin_cos();
    // Depth, its rate, speed along the floor, speed of the rim.
    let rate = |[depth, speed, along, rim]: [f64; 4]| {
        let h = RADIUS - depth.max(0.0);
        let [square, cube] = [2, 3].map(|n| RADIUS.powi(n) - h.powi(n));
        let pressed = 2.0 * PI * MODULUS * (0.5 * square - cube / (3.0 * RADIUS));
        let force = pressed * (1.0 + dissipation * speed).max(0.0);
        let slip = along - rim * h / RADIUS;
        let drag = friction * force * slip / slip.hypot(STICTION_VELOCITY);
        [speed, G * cos - force / MASS, G * sin - drag / MASS, drag * h * RADIUS / INERTIA]
    };
    let (step, mut time, mut deepest) = (1e-6, 0.0, 0.0_f64);
    let mut now = [0.0, SPEED * cos, SPEED * sin, 0.0];
    while now[0] >= 0.0 {
        // The midpoint rule.
        let first = rate(now);
        let middle = rate(std::array::from_fn(|k| now[k] + 0.5 * step * first[k]));
        now = std::array::from_fn(|k| now[k] + step * middle[k]);
        time += step;
        deepest = deepest.max(now[0]);
    }
    let [_, speed, along, rim] = now;
    Impact { off: -speed, along, rim, pressure: MODULUS * deepest / RADIUS, contact: time }
}

/// The polygons of the patch at a state, from below, with their pressures.
fn patch(model: &Model, state: &State) -> Vec<Piece> {
    let [ball, floor] = [0, 1].map(|k| &model.bodies()[k].geometries[0].collider);
    let pair = ContactPair::at_rest(ball, state.bodies[0].pose(), floor, RigidTransform::identity());
    let mut pieces = Vec::new();
    for_each_contact_polygon(&pair, model.contact(), &mut Workspace::default(), |polygon| {
        let corners = polygon.vertices.iter().zip(polygon.pressures);
        pieces.push(Piece(corners.map(|(v, pressure)| (v.xy(), *pressure)).collect()));
    });
    pieces
}

fn highest(pieces: &[Piece]) -> f64 {
    pieces.iter().flat_map(|piece| &piece.0).map(|corner| corner.1).fold(0.0, f64::max)
}

/// A time, s, and the polygons of the patch.
type Patch = (f64, Vec<Piece>);

/// A bounce: what it comes to, the largest pressure over time, and patches at some times.
fn bounce(scene: &Scene) -> Result<(Impact, Points, Vec<Patch>), Failure> {
    let trajectory = scene.rollout(UNTIL)?.simulate()?;
    let touching = |state: &&State| state.bodies[0].position.z < RADIUS;
    let contact = trajectory.states.iter().skip(1).take_while(touching).count();
    let step = |part: f64| (part * contact as f64).round() as usize;
    let at = |step: usize| (trajectory.times[step], patch(&scene.model, &trajectory.states[step]));
    let all: Vec<_> = (0..=50).map(|k| at(step(f64::from(k) / 50.0))).collect();
    let over_time: Points = all.iter().map(|(time, pieces)| (1e3 * time, 1e-3 * highest(pieces))).collect();
    let impact = Impact {
        off: trajectory.states[contact].bodies[0].velocity.translational.z,
        along: 0.0,
        rim: 0.0,
        pressure: over_time.iter().map(|p| 1e3 * p.1).fold(0.0, f64::max),
        contact: trajectory.times[contact],
    };
    Ok((impact, over_time, SHOWN.map(|part| at(step(part))).into()))
}

fn picture(patches: &[Patch], pressure: f64) -> String {
    let mut svg = begun(5 * COLUMN as u32 + 110, 190);
    for ((time, pieces), column) in patches.iter().zip(0..) {
        let x = COLUMN * (f64::from(column) + 0.5);
        let view = View { middle: Default::default(), at: [x, 110.0], scale: 2300.0 };
        bands(&mut svg, &view, pieces, pressure);
        text(&mut svg, [x, 24.0], 13, "middle", &format!("{:.1} ms", 1e3 * time));
    }
    colour_bar(&mut svg, [5.0 * COLUMN + 12.0, 25.0], 1e-3 * pressure, "kPa");
    finished(svg)
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let (mut rows, mut curves, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    let mut result = String::new();
    for dissipation in [0.0, DISSIPATION] {
        let scene = scene(dissipation)?;
        let (impact, over_time, patches) = bounce(&scene)?;
        let smooth = smooth(0.0, dissipation, 0.0);
        let case = format!("dissipation {dissipation} s/m");
        for (quantity, unit, expected, value) in [
            ("speed after the bounce", "m/s", smooth.off, impact.off),
            ("largest pressure", "kPa", 1e-3 * smooth.pressure, 1e-3 * impact.pressure),
            ("time of contact", "ms", 1e3 * smooth.contact, 1e3 * impact.contact),
        ] {
            let expected = format!("{expected:.4} (smooth ball, by one equation)");
            rows.push(row(format!("{case}: {quantity}, {unit}"), expected, value, 1e-3));
        }
        curves.push(Curve { name: case.clone(), points: over_time, reference: false, marks: false });
        if dissipation == 0.0 {
            result = format!(
                "A ball that meets a floor at {SPEED} m/s leaves it at {:.4} m/s; the pressure over its patch grows to {:.1} kPa, \
                 highest in the middle.",
                impact.off,
                1e-3 * impact.pressure
            );
            figures.push(Figure {
                suffix: "",
                caption: "The patch from above at five times, by its pressure".into(),
                picture: Picture::Svg(picture(&patches, impact.pressure)),
            });
            continue;
        }
        if run == Run::Short {
            continue;
        }
        // How the speed follows the dissipation.
        let ball = Parameter::Material { material: 0, parameter: MaterialParameter::Dissipation };
        let gradient = trajectory_gradient(&scene.rollout(UNTIL)?, &[ball])?;
        let last = &gradient.derivatives[gradient.derivatives.len() - 1];
        // At the end of the simulation it has been slowed down by its weight since it left.
        let by = |change: f64| {
            let impact = self::smooth(0.0, dissipation + change, 0.0);
            impact.off + G * impact.contact
        };
        rows.push(row(
            format!("{case}: derivative of the speed with respect to it, m²/s²"),
            format!("{:.4} (difference of the equation's)", (by(1e-3) - by(-1e-3)) / 2e-3),
            last[(11, 0)],
            1e-3,
        ));
    }
    if run == Run::Full {
        let mut scene = scene(DISSIPATION)?;
        rows.push(derivatives(&scene, DEEP, "where the ball is deep")?);
        // From 10 cm up, and down again.
        scene.state.bodies[0].position.z = 0.15;
        scene.time_step = 2e-4;
        let trajectory = scene.rollout(0.75)?.simulate()?;
        let look = Look { slower: 3.0, ..Look::from_the_side([260, 320], [0.0, 0.1], 1350.0) };
        let caption = "The ball with dissipation, from 10 cm, three times slower".into();
        let picture = Picture::Svg(film(&scene.model, &trajectory, &look));
        figures.push(Figure { suffix: "_film", caption, picture });
        let title = "Largest pressure";
        let plot = Plot { title, x: "time, ms", y: "kPa", logarithmic: [false; 2], curves };
        let caption = "The largest pressure over the patch".into();
        figures.push(Figure { suffix: "_pressure", caption, picture: Picture::Plots(vec![plot]) });
    }
    Ok(Page {
        name: "bounce",
        title: "A ball bounces",
        source: "Elandt §VIII-B, Huang §VI-A",
        result,
        figures,
        rows,
        why: "The papers show this and tell no numbers. The reference is a smooth ball with the same field on one coordinate; what is left is \
              the mesh of the ball."
            .into(),
        more: String::new(),
    })
}
