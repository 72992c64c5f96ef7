//! Painlevé's rod: with enough friction its sliding end pushes itself into the ground, and rigid bodies have no force that holds.

use isobar::multibody::State;
use isobar::spatial::{Quaternion, rotation_from_rpy};
use nalgebra::Vector3;

use crate::figure::{Curve, Plot};
use crate::kinds::{COMPLIANT, Kind, RIGID};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

const SCENE: &str = include_str!("../scenes/rod.toml");
/// Half the length of the rod, radius of the ball at its end (m), and the coefficient of friction.
const HALF: f64 = 0.5;
const RADIUS: f64 = 0.01;
const FRICTION: f64 = 2.0;
/// Angle between rod and ground, and the speed of the end along the ground, m/s.
const ANGLE: f64 = 60.0;
const SPEED: f64 = 1.0;
const UNTIL: f64 = 0.1;

/// The acceleration of the end away from the ground by a unit normal force on a sliding uniform rod of unit mass: negative
/// where Painlevé's paradox is. The end slides towards the side to which the rod leans up.
fn mobility(degrees: f64, friction: f64) -> f64 {
    let (sin, cos) = degrees.to_radians().sin_cos();
    1.0 + 3.0 * cos * (cos - friction * sin)
}

/// What the end does.
struct Motion {
    /// When it stops to slide, s.
    stops: f64,
    /// The greatest normal impulse over the momentum m v, as the rise of the vertical momentum.
    jump: f64,
    /// The change of the energy until the end, over that at the start.
    energy: f64,
    /// The speed of the end over time.
    slip: Vec<(f64, f64)>,
}

fn motion(kind: &Kind, degrees: f64) -> Result<Motion, Failure> {
    let mut scene = kind.scene(SCENE)?;
    if scene.time_step > 1e-4 {
        scene.time_step = 1e-4;
    }
    let tilt = (90.0 - degrees).to_radians();
    let rotation = rotation_from_rpy(0.0, tilt, 0.0);
    let end = rotation * Vector3::new(0.0, 0.0, -HALF);
    let body = &mut scene.state.bodies[0];
    body.orientation = Quaternion::from_matrix(&rotation);
    body.position = Vector3::new(0.0, 0.0, RADIUS - end.z);
    // Up, the rod leans towards +x; its end slides so too, and friction turns it into the ground.
    body.velocity.translational = Vector3::x() * SPEED;
    let slip = |state: &State| {
        let body = &state.bodies[0];
        let arm = body.pose().rotation * Vector3::new(0.0, 0.0, -HALF) - Vector3::z() * RADIUS;
        (body.velocity.translational + body.velocity.rotational.cross(&arm)).x
    };
    let first = scene.model.mechanical_energy(&scene.state);
    let (mut stops, mut jump, mut over_time, mut energy) = (f64::NAN, 0.0_f64, Vec::new(), 0.0);
    scene.rollout(UNTIL)?.for_each(|report| {
        let slips = slip(report.state);
        if stops.is_nan() && slips < 0.01 * SPEED {
            stops = report.time;
        }
        jump = jump.max(report.state.bodies[0].velocity.translational.z);
        energy = scene.model.mechanical_energy(report.state) / first - 1.0;
        if report.time <= 0.03 {
            over_time.push((1e3 * report.time, slips));
        }
    })?;
    Ok(Motion { stops, jump: jump / SPEED, energy, slip: over_time })
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let mut rows = vec![row(
        format!("acceleration of the sliding end by its normal force, {ANGLE}°, μ = {FRICTION}"),
        "below 0: the paradox",
        mobility(ANGLE, FRICTION),
        1e-6,
    )];
    let mut table = String::from("| kind | end stops after, ms | the middle is thrown up at, m/s | change of energy until 0.1 s, % |\n|---|---|---|---|\n");
    let mut curves = Vec::new();
    let short = ["lagged", "ncp"];
    for kind in COMPLIANT.iter().chain(&RIGID).filter(|kind| run == Run::Full || short.contains(&kind.name)) {
        match motion(kind, ANGLE) {
            Ok(motion) => {
                table += &format!(
                    "| `{}` | {} | {} | {} |\n",
                    kind.name,
                    if motion.stops.is_nan() { "–".into() } else { shown(1e3 * motion.stops) },
                    shown(motion.jump * SPEED),
                    shown(100.0 * motion.energy)
                );
                if ["lagged", "tamsi", "dormand_prince", "ncp", "lagged, rigid"].contains(&kind.name) {
                    let quantity = format!("`{}`: the middle is thrown up at, m/s", kind.name);
                    rows.push(row(quantity, "–", motion.jump * SPEED, 2e-3));
                    curves.push(Curve { name: kind.name.into(), points: motion.slip, reference: false, marks: false });
                }
            }
            Err(error) => table += &format!("| `{}` | {error} | – | – |\n", kind.name),
        }
    }
    let plot = Plot { title: "Speed of the sliding end", x: "time, ms", y: "m/s", logarithmic: [false; 2], curves };
    Ok(Page {
        name: "rod",
        title: "Painlevé's rod",
        source: "Painlevé 1895",
        result: String::new(),
        figures: vec![Figure {
            suffix: "",
            caption: "The speed of the rod's lower end along the ground".into(),
            picture: Picture::Plots(vec![plot]),
        }],
        rows,
        why: String::new(),
        more: table,
    })
}
