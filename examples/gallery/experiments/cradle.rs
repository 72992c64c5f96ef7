//! Newton's cradle: a row of equal balls that touch, or nearly, and one that comes.

use isobar::Scene;

use crate::figure::{Curve, Plot};
use crate::film::{Look, film};
use crate::page::{Failure, Figure, Page, Picture, Points, Run, row, shown};

const BALLS: usize = 5;
/// Radius (m), mass (kg), modulus (Pa), and the speed of the first ball (m/s).
const RADIUS: f64 = 0.025;
const MASS: f64 = 0.1;
const MODULUS: f64 = 1e7;
const SPEED: f64 = 1.0;
const RESOLUTION: f64 = 0.0025;
const UNTIL: f64 = 0.02;

/// The row along x, with gaps, without gravity. Poles of the meshes are turned into the row.
fn scene(kind: &str, time_step: f64, gap: f64, rigid: bool) -> Result<Scene, Failure> {
    let mut text = format!(
        "gravity = [0, 0, 0]\n[materials.steel]\nhydroelastic_modulus = {MODULUS:e}\n\
         [solver]\nkind = \"{kind}\"\ntime_step = {time_step:e}\n"
    );
    for ball in 0..BALLS {
        let x = ball as f64 * (2.0 * RADIUS + gap);
        let speed = if ball == 0 { SPEED } else { 0.0 };
        text += &format!(
            "[[bodies]]\nname = \"ball {ball}\"\nmass = {MASS}\ntranslation = [{x:?}, 0, 0]\nlinear_velocity = [{speed:?}, 0, 0]\n\
             [[bodies.geometries]]\nshape = {{ sphere = {{ radius = {RADIUS}, resolution = {RESOLUTION} }} }}\n\
             material = \"steel\"\nrigid = {rigid}\n"
        );
    }
    Ok(Scene::parse(&text, "cradle.toml")?)
}

/// Speeds along the row at the end, and over time.
fn speeds(scene: &Scene) -> Result<([f64; BALLS], Vec<Points>), Failure> {
    let trajectory = scene.rollout(UNTIL)?.simulate()?;
    let speed = |state: &isobar::State, ball: usize| state.bodies[ball].velocity.translational.x;
    let every = trajectory.times.len().div_ceil(400);
    let over_time = (0..BALLS).map(|ball| {
        let all = trajectory.times.iter().zip(&trajectory.states).step_by(every);
        all.map(|(t, state)| (1e3 * t, speed(state, ball))).collect()
    });
    let last = &trajectory.states[trajectory.states.len() - 1];
    Ok((std::array::from_fn(|ball| speed(last, ball)), over_time.collect()))
}

/// The same by points on springs of the field's force: the surface of two equal balls lies half-way, where each is pressed in by half
/// of the overlap δ, and the force is π E (δ/2)² (1 − δ/6R).
fn chain(gap: f64) -> [f64; BALLS] {
    let (mut x, mut v) = ([0.0; BALLS], [0.0; BALLS]);
    for (ball, x) in x.iter_mut().enumerate() {
        *x = ball as f64 * (2.0 * RADIUS + gap);
    }
    v[0] = SPEED;
    let force = |overlap: f64| {
        let depth = 0.5 * overlap.max(0.0);
        std::f64::consts::PI * MODULUS * depth * depth * (1.0 - depth / (3.0 * RADIUS))
    };
    let acceleration = |x: &[f64; BALLS]| {
        let mut a = [0.0; BALLS];
        for k in 0..BALLS - 1 {
            let push = force(2.0 * RADIUS - (x[k + 1] - x[k])) / MASS;
            a[k] -= push;
            a[k + 1] += push;
        }
        a
    };
    // Leapfrog.
    let h = 1e-7;
    let mut a = acceleration(&x);
    for _ in 0..(UNTIL / h) as usize {
        for k in 0..BALLS {
            v[k] += 0.5 * h * a[k];
            x[k] += h * v[k];
        }
        a = acceleration(&x);
        for k in 0..BALLS {
            v[k] += 0.5 * h * a[k];
        }
    }
    v
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let (mut rows, mut table) = (Vec::new(), String::new());
    table += "| speeds at the end, m/s | 1 | 2 | 3 | 4 | 5 |\n|---|---|---|---|---|---|\n";
    let mut line = |name: &str, speeds: &[f64; BALLS]| {
        let cells: Vec<String> = speeds.iter().map(|v| format!("{v:.4}")).collect();
        table += &format!("| {name} | {} |\n", cells.join(" | "));
    };
    let mut plots = Vec::new();
    let mut last = 0.0;
    let gaps: &[(f64, &str)] = &[(0.0, "touching"), (1e-3, "1 mm apart")];
    let gaps = if run == Run::Full { gaps } else { &gaps[..1] };
    for &(gap, name) in gaps {
        let expected = chain(gap);
        let (rk4, over_time) = speeds(&scene("rk4", 2e-5, gap, false)?)?;
        line(&format!("{name}, `rk4`"), &rk4);
        line(&format!("{name}, points on springs"), &expected);
        rows.push(row(
            format!("{name}, `rk4`: speed of the last ball, m/s"),
            format!("{:.4} (points on springs)", expected[BALLS - 1]),
            rk4[BALLS - 1],
            2e-3,
        ));
        if gap == 0.0 {
            last = rk4[BALLS - 1];
        }
        if run == Run::Full {
            let (lagged, _) = speeds(&scene("lagged", 1e-5, gap, false)?)?;
            line(&format!("{name}, `lagged`, steps of 10 µs"), &lagged);
            let quantity = format!("{name}, `lagged`, 10 µs: speed of the last ball, m/s");
            let expected = format!("{:.4} (points on springs)", expected[BALLS - 1]);
            rows.push(row(quantity, expected, lagged[BALLS - 1], 2e-3));
            let curves = over_time.into_iter().zip(1..).map(|(points, ball)| Curve {
                name: format!("ball {ball}"),
                points,
                reference: false,
                marks: false,
            });
            let title = if gap == 0.0 { "Balls that touch" } else { "Balls 1 mm apart" };
            plots.push(Plot {
                title,
                x: "time, ms",
                y: "m/s",
                logarithmic: [false; 2],
                curves: curves.collect(),
            });
        }
    }
    let (rigid, _) = speeds(&scene("ncp", 1e-4, 0.0, true)?)?;
    line("touching, `ncp`, rigid", &rigid);
    let expected = format!("{} (inelastic: all move together)", SPEED / BALLS as f64);
    rows.push(row("touching, `ncp`, rigid: speed of the last ball, m/s", expected, rigid[BALLS - 1], 1e-6));
    let mut figures = vec![Figure {
        suffix: "",
        caption: "Speeds of the balls by `rk4`".into(),
        picture: Picture::Plots(plots),
    }];
    if run == Run::Full {
        let scene = scene("rk4", 2e-5, 2e-3, false)?;
        let trajectory = scene.rollout(2.0 * UNTIL)?.simulate()?;
        let look = Look { slower: 100.0, ..Look::from_the_side([520, 120], [0.12, 0.0], 1500.0) };
        let caption = "Balls 2 mm apart, a hundred times slower".into();
        figures.push(Figure {
            suffix: "_film",
            caption,
            picture: Picture::Svg(film(&scene.model, &trajectory, &look)),
        });
    }
    Ok(Page {
        name: "cradle",
        title: "Newton's cradle",
        source: "closed forms",
        result: format!(
            "Of five balls that touch the last leaves with {} of the first one's speed, and the others are left with a little: a row on \
             springs does not behave as a row of single impacts, which balls that are apart do.",
            shown(last / SPEED)
        ),
        figures,
        rows,
        why: "The reference is five points on springs with the field's force between smooth balls. What is left is the mesh, whose flat faces \
              lie inside the ball. `ecp`, `lcp` and `ncp` are inelastic. Implicit steps lose energy of impacts in proportion to their \
              length."
            .into(),
        more: table,
    })
}
