//! A tippe top: a ball whose mass lies below its middle spins, and turns over.

use isobar::Scene;
use isobar::multibody::State;

use crate::figure::{Curve, Plot};
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
    let momentum = pose.rotation * (mass.inertia * pose.rotation.tr_mul(&state.bodies[0].velocity.rotational));
    // From the centre of mass to the middle of the ball and down to the plane.
    let mut arm = axis * BELOW;
    arm.z -= RADIUS;
    momentum.dot(&arm)
}

fn motion(kind: &Kind, until: f64) -> Result<Motion, Failure> {
    let scene = kind.scene(SCENE)?;
    let (mut cosine, mut height) = (Vec::new(), Vec::new());
    let (first, mut last, mut next) = (jellett(&scene, &scene.state), 0.0, 0.0);
    scene.rollout(until)?.for_each(|report| {
        if report.time >= next - 1e-9 {
            let pose = report.state.bodies[0].pose();
            let axis = pose.rotation[(2, 2)];
            cosine.push((report.time, axis));
            height.push((report.time, (pose.translation.z - BELOW * axis) / RADIUS));
            last = jellett(&scene, report.state);
            next += 0.005;
        }
    })?;
    Ok(Motion { cosine, height, jellett: last / first })
}

fn curve(name: impl Into<String>, points: Vec<(f64, f64)>, reference: bool) -> Curve {
    Curve { name: name.into(), points, reference, marks: false }
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let (mut rows, mut table) = (Vec::new(), String::new());
    table += "| kind | upside down after, s | cosine at the end | Jellett's integral at the end / at the start |\n|---|---|---|---|\n";
    let (until, names): (f64, &[&str]) = match run {
        Run::Full => (2.0, &["lagged", "tamsi", "semi_implicit_euler", "ecp", "ncp", "lagged, rigid"]),
        Run::Short => (0.1, &["ncp", "lagged, rigid"]),
    };
    let (mut cosines, mut heights) = (Vec::new(), Vec::new());
    for kind in COMPLIANT.iter().chain(&RIGID).filter(|kind| names.contains(&kind.name)) {
        let begin = std::time::Instant::now();
        let motion = motion(kind, until)?;
        let over = motion.cosine.iter().find(|p| p.1 < 0.0).map(|p| p.0);
        let end = motion.cosine[motion.cosine.len() - 1].1;
        println!("{} {:?} {end} {} {:?}", kind.name, over, motion.jellett, begin.elapsed());
        let shown_over = over.map_or("–".into(), shown);
        table += &format!("| `{}` | {shown_over} | {} | {} |\n", kind.name, shown(end), shown(motion.jellett));
        cosines.push(curve(kind.name, motion.cosine, false));
        heights.push(curve(kind.name, motion.height, false));
    }
    let plot = |title, y, curves| Plot { title, x: "time, s", y, logarithmic: [false; 2], curves };
    let plots = vec![
        plot("Cosine of the axis to the vertical", "", cosines),
        plot("Height of the centre of mass", "over the radius", heights),
    ];
    rows.push(row("a", "", 1.0, 1.0));
    Ok(Page {
        name: "tippe_top",
        title: "A tippe top turns over",
        source: "closed forms",
        result: String::new(),
        figures: vec![Figure { suffix: "", caption: "Over time".into(), picture: Picture::Plots(plots) }],
        rows,
        why: String::new(),
        more: table,
    })
}
