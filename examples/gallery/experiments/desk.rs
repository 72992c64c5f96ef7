//! Xie and Chakraborty (2019), Figure 4 c, d: velocities of a desk that is pushed, by three methods, with their times.

use isobar::step::ComplementarityMethod;

use crate::clock::thread_time;
use crate::desk_scene::{Motion, STEP, desk};
use crate::figure::{Curve, Plot};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

const METHODS: [(&str, ComplementarityMethod); 3] = [
    ("ecp", ComplementarityMethod::Ecp),
    ("lcp", ComplementarityMethod::Lcp),
    ("ncp", ComplementarityMethod::Ncp),
];

fn over_time(motion: &Motion, of: impl Fn(&isobar::multibody::BodyState) -> f64) -> Vec<(f64, f64)> {
    motion.states.iter().enumerate().map(|(k, state)| (k as f64 * STEP, of(state))).collect()
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let scene = desk();
    let (mut rows, mut along, mut turn) = (Vec::new(), Vec::new(), Vec::new());
    let mut table = String::from(
        "| method | time of a step, µs | v_x at the end, m/s | ω_z at the end, rad/s |\n|---|---|---|---|\n",
    );
    let mut least = f64::INFINITY;
    for (name, method) in METHODS {
        let begin = thread_time();
        let motion = scene.simulate(method)?;
        let steps = (motion.states.len() - 1) as f64;
        let time = 1e6 * (thread_time() - begin).as_secs_f64() / steps;
        least = least.min(time);
        if name == "ecp" && run == Run::Full {
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
    let figures = match run {
        Run::Full => vec![Figure {
            suffix: "",
            caption: "Velocity along x and angular velocity about the vertical of the desk, by three methods"
                .into(),
            picture: Picture::Plots(vec![
                plot("v x of the desk", "m/s", along),
                plot("ω z of the desk", "rad/s", turn),
            ]),
        }],
        Run::Short => Vec::new(),
    };
    Ok(Page {
        name: "desk",
        title: "A desk is pushed, by three methods",
        source: "Xie Fig. 4 c, d",
        result: format!("A step takes {least:.0} µs by the fastest of three methods; the paper's takes 5.3 ms on its machine (§5.1)."),
        figures,
        rows,
        why: "The paper's figure has curves without numbers; that `ecp` agrees with planar sliding (its [13]) and with a contact point a foot \
              (its [8]) within 1.1 × 10⁻¹⁴ is tested ([rigid contact](../rigid_contact.md#what-comes-out)). `lcp` and `ncp` have friction of \
              a cone with four sides at each foot instead of one ellipsoid for all: they brake less along diagonals, and turn otherwise."
            .into(),
        more: table,
    })
}
