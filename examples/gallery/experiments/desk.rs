//! Xie and Chakraborty (2019), Figure 4 c, d: velocities of a desk that is pushed, by three methods, with their times.

use isobar::multibody::{Model, State};
use isobar::rollout::Trajectory;
use isobar::step::ComplementarityMethod;
use nalgebra::{Vector2, Vector3};

use crate::clock::thread_time;
use crate::desk_scene::{Motion, STEP, desk};
use crate::figure::{Curve, Plot};
use crate::film::{Look, film};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

const METHODS: [(&str, ComplementarityMethod); 3] = [
    ("ecp", ComplementarityMethod::Ecp),
    ("lcp", ComplementarityMethod::Lcp),
    ("ncp", ComplementarityMethod::Ncp),
];

fn over_time(motion: &Motion, of: impl Fn(&isobar::multibody::BodyState) -> f64) -> Vec<(f64, f64)> {
    motion.states.iter().enumerate().map(|(k, state)| (k as f64 * STEP, of(state))).collect()
}

/// The film of the desk from above.
fn above(model: &Model, motion: &Motion) -> String {
    let states: Vec<State> = motion.states.iter().map(|body| State::of_bodies(vec![*body])).collect();
    let times = (0..states.len()).map(|k| k as f64 * STEP).collect();
    let middle =
        motion.states.iter().map(|body| body.position.xy()).sum::<Vector2<f64>>() / states.len() as f64;
    let axes = [Vector3::x(), Vector3::y()];
    let look = Look { axes, ..Look::from_the_side([420, 380], middle.into(), 150.0) };
    film(model, &Trajectory { times, states }, &look)
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let scene = desk();
    let (mut rows, mut along, mut turn) = (Vec::new(), Vec::new(), Vec::new());
    let mut table = String::from(
        "| method | time of a step, µs | v_x at the end, m/s | ω_z at the end, rad/s |\n|---|---|---|---|\n",
    );
    let (mut least, mut film_of) = (f64::INFINITY, None);
    for (name, method) in METHODS {
        let begin = thread_time();
        let motion = scene.simulate(method)?;
        let steps = (motion.states.len() - 1) as f64;
        let time = 1e6 * (thread_time() - begin).as_secs_f64() / steps;
        least = least.min(time);
        if name == "ecp" && run == Run::Full {
            film_of = Some(above(&scene.model, &motion));
            rows.push(row("`ecp`: time of a step, µs", "5300 on the paper's machine (§5.1)", time, 1.0));
        }
        let last = &motion.states[motion.states.len() - 1].velocity;
        let (v, w) = (last.translational.x, last.rotational.z);
        rows.push(row(format!("`{name}`: v_x after 4 s, m/s"), "–", v, 1e-6));
        rows.push(row(format!("`{name}`: ω_z after 4 s, rad/s"), "–", w, 1e-6));
        table += &format!("| `{name}` | {} | {} | {} |\n", shown(time), shown(v), shown(w));
        for (curves, points) in [
            (&mut along, over_time(&motion, |s| s.velocity.translational.x)),
            (&mut turn, over_time(&motion, |s| s.velocity.rotational.z)),
        ] {
            // Both methods of points have the same motion.
            match name {
                "lcp" => (),
                "ncp" => {
                    curves.push(Curve { name: "lcp, ncp".into(), points, reference: false, marks: false });
                }
                _ => curves.push(Curve { name: name.into(), points, reference: false, marks: false }),
            }
        }
    }
    let plot = |title, y, curves| Plot { title, x: "t / s", y, logarithmic: [false; 2], curves };
    let mut figures = Vec::new();
    if let Some(film) = film_of {
        let caption =
            "Velocity along x and angular velocity about the vertical of the desk, by three methods";
        let plots = vec![plot("v x of the desk", "m/s", along), plot("ω z of the desk", "rad/s", turn)];
        figures.push(Figure { suffix: "", caption: caption.into(), picture: Picture::Plots(plots) });
        let caption = "The desk from above, by `ecp`".into();
        figures.push(Figure { suffix: "_film", caption, picture: Picture::Svg(film) });
    }
    Ok(Page {
        name: "desk",
        title: "A desk is pushed, by three methods",
        source: "Xie Fig. 4 c, d",
        result: format!("A step takes {least:.0} µs by the fastest of three methods; the paper's takes 5.3 ms on its machine (§5.1)."),
        figures,
        rows,
        why: "The paper's figure has curves without numbers; that `ecp` agrees with planar sliding (its [13]) and with a contact point a foot \
              (its [8]) within 1.1 × 10⁻¹⁴ is tested ([rigid contact](../rigid_contact.md#what-comes-out)). `lcp` and `ncp` have friction \
              at each foot instead of one ellipsoid for all: the desk turns otherwise."
            .into(),
        more: table,
    })
}
