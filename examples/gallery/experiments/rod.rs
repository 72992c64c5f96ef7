//! Painlevé's rod: with enough friction its sliding end pushes itself into the ground, and rigid bodies have no force that holds.

use isobar::Scene;
use isobar::geometry::Shape;
use isobar::multibody::State;
use isobar::spatial::{Quaternion, RigidTransform, rotation_from_rpy};
use nalgebra::Vector3;

use crate::figure::{Curve, Plot};
use crate::film::{Look, film, with_shape};
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
const UNTIL: f64 = 0.04;
/// Longest step of controlled error: how finely its time is told, s.
const LONGEST: f64 = 2e-4;

/// The acceleration of the end away from the ground by a unit normal force on a sliding uniform rod of unit mass: negative
/// where Painlevé's paradox is. The end goes before the rod.
fn mobility(degrees: f64, friction: f64) -> f64 {
    let (sin, cos) = degrees.to_radians().sin_cos();
    1.0 + 3.0 * cos * (cos - friction * sin)
}

/// The upward velocity of the middle after an inelastic impact that stops the sliding end, by the mobility of the lowest point of its
/// ball.
fn jammed(degrees: f64) -> f64 {
    let (sin, cos) = degrees.to_radians().sin_cos();
    let (x, z) = (-HALF * cos, -HALF * sin - RADIUS);
    // Of a uniform rod of unit mass.
    let by_turn = 3.0 / (HALF * HALF);
    let (along, across, up) = (1.0 + by_turn * z * z, -by_turn * x * z, 1.0 + by_turn * x * x);
    -SPEED * across / (along * up - across * across)
}

/// What the end does.
struct Motion {
    /// When it stops to slide, s.
    stops: f64,
    /// The greatest upward velocity of the middle, over the speed.
    jump: f64,
    /// The change of the energy until the end, over that at the start.
    energy: f64,
    /// The speed of the end over time.
    slip: Vec<(f64, f64)>,
}

/// The rod that leans and slides.
fn scene(kind: &Kind) -> Result<Scene, Failure> {
    let mut scene = kind.scene(SCENE)?;
    scene.time_step = scene.time_step.min(LONGEST);
    let tilt = (90.0 - ANGLE).to_radians();
    let rotation = rotation_from_rpy(0.0, tilt, 0.0);
    let end = rotation * Vector3::new(0.0, 0.0, -HALF);
    let body = &mut scene.state.bodies[0];
    body.orientation = Quaternion::from_matrix(&rotation);
    body.position = Vector3::new(0.0, 0.0, RADIUS - end.z);
    // Up, the rod leans towards +x; its end goes before, towards −x, and friction turns it into the ground.
    body.velocity.translational = Vector3::x() * -SPEED;
    Ok(scene)
}

fn motion(kind: &Kind) -> Result<Motion, Failure> {
    let scene = scene(kind)?;
    let slip = |state: &State| {
        let body = &state.bodies[0];
        let arm = body.pose().rotation * Vector3::new(0.0, 0.0, -HALF) - Vector3::z() * RADIUS;
        -(body.velocity.translational + body.velocity.rotational.cross(&arm)).x
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

/// A film of the rod from the side.
fn seen(kind: &Kind) -> Result<Figure, Failure> {
    let scene = scene(kind)?;
    let trajectory = scene.rollout(0.3)?.simulate()?;
    let rod = Shape::Cylinder { radius: RADIUS, length: 2.0 * HALF };
    let model = with_shape(scene.model, 0, &rod, RigidTransform::identity())?;
    let look = Look { slower: 15.0, ..Look::from_the_side([420, 340], [-0.05, 0.5], 280.0) };
    let (suffix, how) =
        if kind.rigid { ("_rigid", "between rigid bodies") } else { ("_compliant", "on compliant ground") };
    let caption = format!("The rod {how}, by `{}`, fifteen times slower", kind.solver.name());
    Ok(Figure { suffix, caption, picture: Picture::Svg(film(&model, &trajectory, &look)) })
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let mut rows = Vec::new();
    let mut table = String::from(
        "| kind | end stops after, ms | the middle is thrown up at, m/s | change of energy until 0.04 s, % |\n|---|---|---|---|\n",
    );
    let (mut curves, mut compliant, mut rigid) = (Vec::new(), Vec::new(), Vec::new());
    let short = ["lagged", "ncp"];
    // Once the end sticks, its friction is stiff: explicit steps of controlled error take thousands of substeps.
    let left_out = ["bogacki_shampine", "dormand_prince"];
    let kept = |kind: &&Kind| match run {
        Run::Full => !left_out.contains(&kind.name),
        Run::Short => short.contains(&kind.name),
    };
    for kind in COMPLIANT.iter().chain(&RIGID).filter(kept) {
        match motion(kind) {
            Ok(motion) => {
                if kind.rigid { &mut rigid } else { &mut compliant }.push(motion.stops);
                table += &format!(
                    "| `{}` | {} | {} | {} |\n",
                    kind.name,
                    if motion.stops.is_nan() { "–".into() } else { shown(1e3 * motion.stops) },
                    shown(motion.jump * SPEED),
                    shown(100.0 * motion.energy)
                );
                if ["lagged", "tamsi", "radau", "ncp", "lagged, rigid"].contains(&kind.name) {
                    let quantity = format!("`{}`: the middle is thrown up at, m/s", kind.name);
                    let expected = if kind.rigid {
                        format!("{:.4} (an impact that stops the end)", jammed(ANGLE))
                    } else {
                        "more: the end springs back".into()
                    };
                    rows.push(row(quantity, expected, motion.jump * SPEED, 2e-3));
                    let name = match kind.name {
                        "ncp" => "ncp, rigid",
                        "lagged, rigid" => continue,
                        name => name,
                    };
                    let points = motion.slip;
                    curves.push(Curve { name: name.into(), points, reference: false, marks: false });
                }
            }
            Err(error) => table += &format!("| `{}` | {error} | – | – |\n", kind.name),
        }
    }
    rows.push(row(
        format!("acceleration of the sliding end by its normal force, {ANGLE}°, μ = {FRICTION}"),
        "below 0: the paradox",
        mobility(ANGLE, FRICTION),
        1e-6,
    ));
    let plot =
        Plot { title: "Speed of the sliding end", x: "time, ms", y: "m/s", logarithmic: [false; 2], curves };
    let mut figures = vec![Figure {
        suffix: "",
        caption: "The speed of the rod's lower end along the ground".into(),
        picture: Picture::Plots(vec![plot]),
    }];
    if run == Run::Full {
        figures.extend([seen(&COMPLIANT[0])?, seen(&RIGID[2])?]);
    }
    Ok(Page {
        name: "rod",
        title: "Painlevé's rod",
        source: "Painlevé 1895",
        result: format!(
            "All kinds of steps go through the paradox. Between rigid bodies the sliding end stops within one step, as in an impact; a \
             compliant one presses itself in and stops after {} ms.",
            shown(1e3 * compliant.last().copied().unwrap_or(f64::NAN))
        ),
        figures,
        rows,
        why: "Rigid bodies have no force that is consistent with sliding here, as a force would accelerate the end into the ground: only an \
              impact that stops it, which steps of impulses find. On a compliant ground the end goes in, so that its force grows until \
              it sticks, and springs back; `rk4` and `radau` agree on that within 2 %, and implicit steps of 0.1 ms lose a little. No step gains energy."
            .into(),
        more: table,
    })
}
