//! A disk that spins on a plane, and a ball that slides and then rolls, against their closed forms.

use isobar::geometry::Shape;
use isobar::multibody::State;
use isobar::rollout::Trajectory;
use isobar::spatial::RigidTransform;

use crate::figure::{Curve, Plot};
use crate::film::{Look, film, with_shape};
use crate::kinds::{COMPLIANT, Kind, RIGID};
use crate::page::{Failure, Figure, Page, Picture, Points, Run, row, shown};

const DISK: &str = include_str!("../scenes/disk.toml");
const BALL: &str = include_str!("../scenes/ball.toml");
const G: f64 = 9.81;
const FRICTION: f64 = 0.3;
/// Radius of disk and ball, m.
const RADIUS: f64 = 0.05;
/// Spin of the disk, rad/s, and speed of the ball at the start, m/s.
const SPIN: f64 = 20.0;
const SPEED: f64 = 2.0;
/// Explicit steps need a softer plane under the disk, and friction that is less stiff.
const SOFT: f64 = 1e6;
/// How much shorter steps are that show what goes with their length.
const SHORTER: f64 = 0.1;
/// Kinds whose disks are drawn.
const DRAWN: [&str; 2] = ["lagged", "rk4"];

fn curve(name: String, points: Vec<(f64, f64)>, reference: bool) -> Curve {
    Curve { name, points, reference, marks: false }
}

fn over_time(trajectory: &Trajectory, of: impl Fn(&State) -> f64) -> Vec<(f64, f64)> {
    let every = trajectory.times.len().div_ceil(200);
    let all = trajectory.times.iter().zip(&trajectory.states).step_by(every);
    all.map(|(time, state)| (*time, of(state))).collect()
}

/// A scene file with what explicit steps need.
fn softened(text: &str, kind: &Kind) -> String {
    let explicit = ["semi_implicit_euler", "rk4"].contains(&kind.name);
    if !explicit {
        return text.to_owned();
    }
    let text = text.replace("hydroelastic_modulus = 1e8", &format!("hydroelastic_modulus = {SOFT:e}"));
    text.replace("stiction_velocity = 1e-5", "stiction_velocity = 1e-3")
        .replace("stiction_velocity = 1e-4", "stiction_velocity = 1e-3")
}

/// By steps that are shorter by a factor: torque over μ N of the disk, from how fast it slows down, and its spin over time. The disk is a prism: its
/// torque is less than that of a round one by as much as its mean radius.
fn disk(kind: &Kind, shorter: f64, text: &str) -> Result<(f64, Points), Failure> {
    let mut scene = kind.scene(&softened(text, kind))?;
    scene.time_step *= shorter;
    // To rest where it is drawn.
    let until = if DRAWN.contains(&kind.name) { 0.3 } else { 0.15 };
    let trajectory = scene.rollout(until)?.simulate()?;
    let spin = |state: &State| state.bodies[0].velocity.rotational.z;
    let at = |time: f64| {
        let step = trajectory.times.iter().position(|t| *t >= time - 1e-9).unwrap_or(0);
        spin(&trajectory.states[step])
    };
    let inertia = 0.5 * 0.5 * RADIUS * RADIUS;
    let torque = inertia * (at(0.05) - at(0.15)) / 0.1;
    Ok((torque / (FRICTION * 0.5 * G), over_time(&trajectory, spin)))
}

/// By steps that are shorter by a factor: the speed of the ball once it rolls, over that at the start, the distance until then, and speeds over time.
fn ball(kind: &Kind, shorter: f64) -> Result<(f64, f64, [Points; 2]), Failure> {
    let mut scene = kind.scene(&softened(BALL, kind))?;
    scene.time_step *= shorter;
    let trajectory = scene.rollout(0.23)?.simulate()?;
    let speed = |state: &State| state.bodies[0].velocity.translational.x;
    let rim = |state: &State| RADIUS * state.bodies[0].velocity.rotational.y;
    // It rolls when it hardly slips.
    let rolls = trajectory.states.iter().position(|s| speed(s) - rim(s) < 1e-3 * SPEED);
    let state = &trajectory.states[rolls.ok_or("the ball does not roll")?];
    let curves = [over_time(&trajectory, speed), over_time(&trajectory, rim)];
    Ok((speed(state) / SPEED, state.bodies[0].position.x, curves))
}

/// A film of the ball from the side, with a rod through it that is only drawn.
fn seen(kind: &Kind) -> Result<Figure, Failure> {
    let scene = kind.scene(BALL)?;
    let trajectory = scene.rollout(0.4)?.simulate()?;
    let rod = Shape::Box { size: [1.9 * RADIUS, 0.3 * RADIUS, 0.3 * RADIUS] };
    let model = with_shape(scene.model, 0, &rod, RigidTransform::identity())?;
    let look = Look { slower: 8.0, ..Look::from_the_side([640, 130], [0.32, 0.045], 800.0) };
    let caption = "The ball slides, and rolls, by `lagged`, eight times slower".into();
    Ok(Figure { suffix: "_film", caption, picture: Picture::Svg(film(&model, &trajectory, &look)) })
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let (mut rows, mut spins, mut speeds) = (Vec::new(), Vec::new(), Vec::new());
    let short = ["lagged", "tamsi", "ecp"];
    let kept = |kind: &&Kind| run == Run::Full || short.contains(&kind.name);
    let two_thirds = format!("{:.4} (2/3)", 2.0 / 3.0);
    let mut torques = Vec::new();
    for kind in COMPLIANT.iter().filter(kept) {
        let (torque, points) = disk(kind, 1.0, DISK)?;
        torques.push(torque / RADIUS);
        let quantity = format!("disk, `{}`: torque / (μ N R)", kind.name);
        rows.push(row(quantity, &two_thirds, torque / RADIUS, 1e-3));
        if DRAWN.contains(&kind.name) {
            spins.push(curve(kind.name.into(), points, false));
        }
    }
    let stops = 3.0 * RADIUS * SPIN / (4.0 * FRICTION * G);
    let implicit = |name: &str| COMPLIANT.iter().find(|kind| kind.name == name).ok_or("no such kind");
    for name in ["similar", "sap"].into_iter().filter(|_| run == Run::Full) {
        let soft = DISK.replace("hydroelastic_modulus = 1e8", "hydroelastic_modulus = 1e5");
        let (torque, _) = disk(implicit(name)?, SHORTER, &soft)?;
        rows.push(row(
            format!("disk, `{name}`, steps of 0.1 ms, 10⁵ Pa"),
            &two_thirds,
            torque / RADIUS,
            2e-3,
        ));
    }
    spins.push(curve("2/3 μ N R".into(), vec![(0.0, SPIN), (stops, 0.0), (0.3, 0.0)], true));

    let distance = 12.0 * SPEED * SPEED / (49.0 * FRICTION * G);
    let five_sevenths = format!("{:.4} (5/7)", 5.0 / 7.0);
    let mut distances =
        String::from("| ball, kind | speed when it rolls / v₀ | distance until then, m |\n|---|---|---|\n");
    let mut rolling = Vec::new();
    for kind in COMPLIANT.iter().chain(&RIGID).filter(kept) {
        let (ratio, at, [speed, rim]) = ball(kind, 1.0)?;
        rolling.push(ratio);
        distances += &format!("| `{}` | {} | {} |\n", kind.name, shown(ratio), shown(at));
        rows.push(row(
            format!("ball, `{}`: speed when it rolls / v₀", kind.name),
            &five_sevenths,
            ratio,
            2e-3,
        ));
        if kind.name == "lagged" {
            speeds.push(curve("speed".into(), speed, false));
            speeds.push(curve("ω R".into(), rim, false));
        }
    }
    for name in ["lagged", "similar", "tamsi", "sap"].into_iter().filter(|_| run == Run::Full) {
        let (ratio, at, _) = ball(implicit(name)?, SHORTER)?;
        distances += &format!("| `{name}`, steps of 0.1 ms | {} | {} |\n", shown(ratio), shown(at));
        rows.push(row(format!("ball, `{name}`, steps of 0.1 ms"), &five_sevenths, ratio, 2e-3));
    }
    distances += &format!("| closed form | {:.4} | {distance:.4} |\n", 5.0 / 7.0);
    let rolled = 2.0 * SPEED / (7.0 * FRICTION * G);
    let end = 5.0 / 7.0 * SPEED;
    speeds.push(curve("closed form".into(), vec![(0.0, SPEED), (rolled, end), (0.23, end)], true));
    speeds.push(curve("closed form, ω R".into(), vec![(0.0, 0.0), (rolled, end), (0.23, end)], true));

    let worst =
        |all: &[f64], exact: f64| all.iter().map(|v| 100.0 * (v / exact - 1.0).abs()).fold(0.0, f64::max);
    let plot = |title, y, curves| Plot { title, x: "time, s", y, logarithmic: [false; 2], curves };
    let plots = vec![
        plot("A spinning disk", "rad/s", spins),
        plot("A ball that slides, then rolls (lagged)", "m/s", speeds),
    ];
    let mut figures = vec![Figure {
        suffix: "",
        caption: "Spin of the disk; speed of the ball and of its rim".into(),
        picture: Picture::Plots(plots),
    }];
    if run == Run::Full {
        figures.push(seen(implicit("lagged")?)?);
    }
    Ok(Page {
        name: "spin_and_roll",
        title: "A disk that spins, a ball that comes to roll",
        source: "closed forms",
        result: format!(
            "A spinning disk is braked by 2/3 μ N R and a ball set off without spin rolls at 5/7 of its speed: explicit steps, `radau` and \
             steps between rigid bodies are within {:.2} % of the first and {:.2} % of the second, implicit steps of 1 ms between \
             compliant ones within {:.0} % and {:.1} %, for two reasons that are below.",
            worst(&torques[torques.len().min(4)..], 2.0 / 3.0),
            worst(&rolling[rolling.len().min(4)..], 5.0 / 7.0),
            worst(&torques[..torques.len().min(4)], 2.0 / 3.0),
            worst(&rolling[..rolling.len().min(4)], 5.0 / 7.0),
        ),
        figures,
        rows,
        why: "`similar` lifts what slides by μ v δt, `sap` by μ v (δt + τ): more at the rim than in the middle, where that is not less than the depth that the plane gives by (0.1 µm at 10⁸ Pa, 0.1 mm at 10⁵ Pa): the \
              disk is on its way up, and its rim bears more than its middle. In implicit steps \
              the faces in front of a ball's middle grow stiffer within the step as it comes on, which brakes it by N δt v/R \
              ([steps](../steps.md)): an eighth of the friction here, and a tenth of that in steps of 0.1 ms."
            .into(),
        more: distances,
    })
}
