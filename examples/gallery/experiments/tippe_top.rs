//! A tippe top: a ball whose mass lies below its middle spins, and turns over.

use isobar::Scene;
use isobar::geometry::Shape;
use isobar::multibody::State;
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;

use crate::figure::{Curve, Plot};
use crate::film::{Look, film, with_shape};
use crate::kinds::{COMPLIANT, Kind, RIGID};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

const SCENE: &str = include_str!("../scenes/tippe_top.toml");
/// Radius of the ball (m), and how far below its middle its mass is.
const RADIUS: f64 = 0.02;
const BELOW: f64 = 0.003;

/// What is seen of a motion: time, the cosine of the axis to the vertical, the height of the centre of mass over the radius,
/// and the Jellett integral L·(vector from the centre of mass to the point of contact) over its first value.
struct Motion {
    cosine: Vec<(f64, f64)>,
    height: Vec<(f64, f64)>,
    jellett: f64,
}

/// Jellett's integral: friction at one point does not change it.
fn jellett(scene: &Scene, state: &State) -> f64 {
    let pose = state.bodies[0].pose();
    let (_, _, mass) = scene.model.free_bodies().next().expect("a free body");
    let axis = pose.rotation.column(2).into_owned();
    let momentum =
        pose.rotation * (mass.inertia * pose.rotation.tr_mul(&state.bodies[0].velocity.rotational));
    // From the centre of mass to the middle of the ball and down to the plane.
    let mut arm = axis * BELOW;
    arm.z -= RADIUS;
    momentum.dot(&arm)
}

fn motion(kind: &Kind, friction: f64, until: f64) -> Result<Motion, Failure> {
    let scene = kind.scene(&SCENE.replace("friction = 0.3", &format!("friction = {friction}")))?;
    let (mut cosine, mut height) = (Vec::new(), Vec::new());
    let (first, mut last, mut next) = (jellett(&scene, &scene.state), 0.0, 0.0);
    scene.rollout(until)?.for_each(|report| {
        if report.time >= next - 1e-9 {
            let pose = report.state.bodies[0].pose();
            let axis = pose.rotation[(2, 2)];
            cosine.push((report.time, axis));
            height.push((report.time, (pose.translation.z - BELOW * axis) / RADIUS));
            last = jellett(&scene, report.state);
            next += 0.01;
        }
    })?;
    Ok(Motion { cosine, height, jellett: last / first })
}

fn curve(name: impl Into<String>, points: Vec<(f64, f64)>, reference: bool) -> Curve {
    Curve { name: name.into(), points, reference, marks: false }
}

/// A kind of step with a coefficient of friction.
struct Case {
    kind: &'static str,
    friction: f64,
    /// What is expected of the cosine at the end.
    expected: &'static str,
}

const CASES: [Case; 6] = [
    Case { kind: "lagged", friction: 0.3, expected: "−1 (upside down)" },
    Case { kind: "tamsi", friction: 0.3, expected: "−1" },
    Case { kind: "semi_implicit_euler", friction: 0.3, expected: "−1" },
    Case { kind: "ncp", friction: 0.3, expected: "1 (a point rolls, and does not turn over)" },
    Case { kind: "lagged, rigid", friction: 0.3, expected: "1" },
    Case { kind: "ncp", friction: 0.05, expected: "−1 (a point that slips)" },
];
/// When the tests look, s, and when a motion ends.
const SOON: f64 = 0.1;
const END: f64 = 6.0;

pub fn run(run: Run) -> Result<Page, Failure> {
    let mut rows = Vec::new();
    let mut table = String::from(
        "| kind, friction | upside down after, s | Jellett's integral at the end / at the start |\n|---|---|---|\n",
    );
    let (mut cosines, mut heights) = (Vec::new(), Vec::new());
    let mut over_after = f64::NAN;
    for Case { kind, friction, expected } in CASES {
        let of_kind = COMPLIANT.iter().chain(&RIGID).find(|one| one.name == kind).ok_or("no such kind")?;
        let case = format!("`{kind}`, {friction}");
        if run == Run::Full {
            let motion = motion(of_kind, friction, END)?;
            let over = motion.cosine.iter().find(|p| p.1 < 0.0).map(|p| p.0);
            if kind == "lagged" {
                over_after = over.unwrap_or(f64::NAN);
            }
            rows.push(row(
                format!("{case}: cosine after {END} s"),
                expected,
                motion.cosine[motion.cosine.len() - 1].1,
                0.02,
            ));
            table +=
                &format!("| {case} | {} | {} |\n", over.map_or("–".into(), shown), shown(motion.jellett));
            if ["lagged", "ncp"].contains(&kind) {
                let name = if of_kind.rigid {
                    format!("point, μ = {friction}")
                } else {
                    format!("patch, μ = {friction}")
                };
                cosines.push(curve(name.clone(), motion.cosine, false));
                heights.push(curve(name, motion.height, false));
            }
        }
        let soon = motion(of_kind, friction, SOON)?;
        let cosine = soon.cosine[soon.cosine.len() - 1].1;
        rows.push(row(format!("{case}: cosine after {SOON} s (at first 0.9950)"), "–", cosine, 1e-3));
        if of_kind.rigid {
            rows.push(row(
                format!("{case}: Jellett's integral after {SOON} s"),
                "1 (Jellett)",
                soon.jellett,
                5e-3,
            ));
        }
    }
    let mut figures = Vec::new();
    if run == Run::Full {
        let scene = COMPLIANT[0].scene(SCENE)?;
        let trajectory = scene.rollout(3.0)?.simulate()?;
        let axis = Shape::Cylinder { radius: 0.1 * RADIUS, length: 0.8 * RADIUS };
        let above = RigidTransform::from_translation(Vector3::z() * (0.5 * RADIUS));
        let model = with_shape(scene.model.clone(), 0, &axis, above)?;
        let caption = "The top on a patch from the side, with its axis, twice slower".into();
        let look = Look { slower: 2.0, ..Look::from_the_side([300, 260], [0.0, 0.025], 3500.0) };
        let picture = Picture::Svg(film(&model, &trajectory, &look));
        figures.push(Figure { suffix: "_film", caption, picture });
    }
    let plot = |title, y, curves| Plot { title, x: "time, s", y, logarithmic: [false; 2], curves };
    let plots = vec![
        plot("Cosine of the top's axis to the vertical", "", cosines),
        plot("Height of its centre of mass", "over the radius", heights),
    ];
    let caption = "The top on a patch, and on a point with much and with little friction".into();
    figures.insert(0, Figure { suffix: "", caption, picture: Picture::Plots(plots) });
    Ok(Page {
        name: "tippe_top",
        title: "A tippe top turns over",
        source: "Contensou 1963; Elandt §I",
        result: format!(
            "On a compliant plane a ball with its mass below its middle, spun at 150 rad/s, is upside down from {} s on. On a point with \
             the same friction it comes to roll and stays upright.",
            shown(over_after)
        ),
        figures,
        rows,
        why: "A tippe top turns over by sliding friction. A point sticks where friction suffices for rolling, and rolling does not lift \
              the mass; it slips only where there is less friction. A patch drills: each of its points slides as the ball spins, \
              so that there is no force across without slip, however small, and the top turns over at any friction. Friction at a point \
              does not change Jellett's integral, the drilling torque of a patch does; `ecp`, whose friction is an ellipsoid \
              without drilling here, does as `ncp`. The drilling torque of a large \
              patch is also what keeps a [rattleback](rattleback.md) from turning back."
            .into(),
        more: table,
    })
}
