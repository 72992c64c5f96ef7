//! Huang et al. (2021), §VI-A: a ball bounces off an incline.

use isobar::Scene;
use isobar::contact::MaterialParameter;
use isobar::multibody::Parameter;
use isobar::rollout::trajectory_gradient;
use isobar::spatial::SpatialVelocity;
use nalgebra::Vector3;

use super::bounce::{G, Impact, RADIUS, SCENE, SPEED, smooth};
use crate::film::{Look, film};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

/// Of the incline, degrees.
const ANGLE: f64 = 30.0;
/// With the first the ball slides until it leaves, with the second it comes to roll.
const FRICTIONS: [f64; 2] = [0.05, 0.5];
const UNTIL: f64 = 0.04;

fn scene(friction: f64) -> Result<Scene, Failure> {
    let text = SCENE.replace("friction = 0.0", &format!("friction = {friction:?}"));
    let text = text.replace("rpy = [0, 0.0, 0]", &format!("rpy = [0, {:?}, 0]", ANGLE.to_radians()));
    let mut scene = Scene::parse(&text, "incline.toml")?;
    // It touches the incline, which passes through the origin.
    scene.state.bodies[0].position = off() * RADIUS;
    Ok(scene)
}

/// Off the incline and down along it.
fn off() -> Vector3<f64> {
    let (sin, cos) = ANGLE.to_radians().sin_cos();
    Vector3::new(sin, 0.0, cos)
}

fn along() -> Vector3<f64> {
    Vector3::y().cross(&off())
}

/// An impact without duration, after which a ball of even density slides still, or rolls: speeds along the incline and of the rim.
fn impact(friction: f64) -> [f64; 2] {
    let (sin, cos) = ANGLE.to_radians().sin_cos();
    let slowed = 2.0 * friction * SPEED * cos;
    let along = SPEED * sin - slowed;
    if 2.5 * slowed < along { [along, 2.5 * slowed] } else { [5.0 / 7.0 * SPEED * sin; 2] }
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let mut rows = Vec::new();
    let mut more = String::from(
        "| friction | impact without duration: speed along the incline, m/s | speed of the rim, m/s |\n|---|---|---|\n",
    );
    let mut result = String::new();
    for friction in FRICTIONS {
        let scene = scene(friction)?;
        let both = [MaterialParameter::StaticFriction, MaterialParameter::DynamicFriction];
        let both = both.map(|parameter| Parameter::Material { material: 0, parameter });
        let both = if run == Run::Full { &both[..] } else { &[] };
        let gradient = trajectory_gradient(&scene.rollout(UNTIL)?, both)?;
        let (states, last) = (&gradient.trajectory.states, gradient.derivatives.len() - 1);
        let body = &states[last].bodies[0];
        // What gravity has added since the ball left, along the incline.
        let weight = |contact: f64| G * (UNTIL - contact) * ANGLE.to_radians().sin();
        let expected = smooth(ANGLE.to_radians(), 0.0, friction);
        let fell = off().z * G * (UNTIL - expected.contact);
        let velocity = body.velocity.translational;
        let case = format!("friction {friction}");
        for (quantity, expected, value) in [
            ("speed off the incline", expected.off, velocity.dot(&off()) + fell),
            ("speed along it", expected.along, velocity.dot(&along()) - weight(expected.contact)),
            ("speed of the rim", expected.rim, body.velocity.rotational.y * RADIUS),
        ] {
            let expected = format!("{expected:.4} (smooth ball, by three equations)");
            rows.push(row(format!("{case}: {quantity} after the bounce, m/s"), expected, value, 2e-3));
        }
        let at_end = |change: f64| {
            let Impact { along, contact, .. } = smooth(ANGLE.to_radians(), 0.0, friction + change);
            along + weight(contact)
        };
        if run == Run::Full {
            rows.push(row(
                format!("{case}: derivative of the speed along the incline with respect to it, m/s"),
                format!("{:.4} (difference of the equations')", (at_end(1e-4) - at_end(-1e-4)) / 2e-4),
                (0..3).map(|k| gradient.derivatives[last].row(9 + k).sum() * along()[k]).sum(),
                5e-3,
            ));
        }
        let [slow, rim] = impact(friction);
        more += &format!("| {friction} | {} | {} |\n", shown(slow), shown(rim));
        let verb = if 1.01 * expected.rim < expected.along { "slides" } else { "rolls" };
        result += &format!("With friction {friction} the ball {verb} as it leaves the incline. ");
    }
    let mut figures = Vec::new();
    if run == Run::Full {
        let mut scene = scene(FRICTIONS[1])?;
        // From as high as it falls to its speed.
        scene.state.bodies[0].position.z += SPEED * SPEED / (2.0 * G);
        scene.state.bodies[0].velocity = SpatialVelocity::zero();
        scene.time_step = 1e-4;
        let trajectory = scene.rollout(0.7)?.simulate()?;
        let look = Look { slower: 3.0, ..Look::from_the_side([500, 400], [0.3, -0.08], 640.0) };
        let caption = format!("The ball with friction {}, three times slower", FRICTIONS[1]);
        figures.push(Figure {
            suffix: "",
            caption,
            picture: Picture::Svg(film(&scene.model, &trajectory, &look)),
        });
    }
    Ok(Page {
        name: "incline",
        title: "A ball bounces off an incline",
        source: "Huang §VI-A",
        result: result.trim_end().to_owned(),
        figures,
        rows,
        why: "The paper shows a film and tells no numbers. The reference is a smooth ball with the same field and the same friction; what \
              is left is the mesh of the ball. Below is the impact of a rigid ball that keeps its speed off the incline: the soft ball \
              touches for 23 to 25 ms, in which its weight acts on it too."
            .into(),
        more,
    })
}
