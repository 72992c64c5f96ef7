//! Xie and Chakraborty (2019), Figures 5 to 7 and Remark 1: the patches that a T-bar and a dumbbell go through, and a hull that touches
//! where its body does not.

use isobar::Scene;
use isobar::geometry::Shape;
use isobar::multibody::{BodyState, State};
use isobar::rollout::Trajectory;
use isobar::spatial::RigidTransform;
use isobar::step::{ComplementarityMethod, PatchKind};
use nalgebra::Vector3;

use crate::desk_scene::{self, DUMBBELL, Motion, STEP, TEE};
use crate::figure::{Curve, Plot};
use crate::film::{Look, film, with_shape};
use crate::page::{Failure, Figure, Page, Picture, Run, row};

const DESK: &str = include_str!("../scenes/desk_over_box.toml");
/// From when on the dumbbell rolls (Fig. 7), s.
const ROLLS: f64 = 1.2;
/// Until the desk rests, s.
const UNTIL: f64 = 1.0;
/// The middle of its plate over its feet, m.
const PLATE: f64 = 0.45;

/// The patches that a motion goes through, one after the other, each as its number of dimensions.
fn modes(motion: &Motion) -> Vec<usize> {
    let kinds = motion.contacts.iter().flatten().map(|contact| match contact.kind {
        PatchKind::Point => 0,
        PatchKind::Line => 1,
        _ => 2,
    });
    let mut modes: Vec<usize> = kinds.collect();
    modes.dedup();
    modes
}

/// How often patches come one after the other in this order.
fn times_of(modes: &[usize], order: [usize; 3]) -> f64 {
    modes.windows(3).filter(|window| *window == order).count() as f64
}

fn over_time(name: &str, motion: &Motion, of: impl Fn(&BodyState) -> f64) -> Curve {
    let points = motion.states.iter().enumerate().map(|(k, state)| (k as f64 * STEP, of(state)));
    Curve { name: name.into(), points: points.collect(), reference: false, marks: false }
}

/// The impulses of a load on a body in each step: force (N s) and torque (N m s).
fn impulses(load: desk_scene::Load, until: f64) -> Vec<Curve> {
    let curve = |name: &str, of: fn((Vector3<f64>, Vector3<f64>)) -> f64| {
        let points = (0..(until / STEP) as usize).map(|k| k as f64 * STEP);
        let points = points.map(|time| (time, STEP * of(load(time)))).collect();
        Curve { name: name.into(), points, reference: false, marks: false }
    };
    vec![curve("p x", |l| l.0.x), curve("p xτ", |l| l.1.x), curve("p zτ", |l| l.1.z)]
}

/// A film from the side.
fn seen(
    scene: &desk_scene::Scene,
    motion: &Motion,
    (suffix, caption): (&'static str, &str),
    look: &Look,
    (shape, x_bg): (Shape, RigidTransform),
) -> Result<Figure, Failure> {
    let states: Vec<State> = motion.states.iter().map(|body| State::of_bodies(vec![*body])).collect();
    let times = (0..states.len()).map(|k| k as f64 * STEP).collect();
    let model = with_shape(scene.model.clone(), 0, &shape, x_bg)?;
    let picture = Picture::Svg(film(&model, &Trajectory { times, states }, look));
    Ok(Figure { suffix, caption: caption.into(), picture })
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let (tee, dumbbell) = (desk_scene::tee(), desk_scene::dumbbell());
    let [wobbling, rolling] = [&tee, &dumbbell].map(|scene| scene.simulate(ComplementarityMethod::Ecp));
    let (wobbling, rolling) = (wobbling?, rolling?);
    let last = |motion: &Motion| motion.states[motion.states.len() - 1].position.z;
    let off = rolling.states.iter().skip((ROLLS / STEP) as usize);
    let off = off.map(|state| (state.position.z - DUMBBELL[2]).abs()).fold(0.0, f64::max);
    let mut rows = vec![
        row(
            "T-bar: patch is a point, a line, a surface, one after the other: times",
            "more than once: it wobbles to both sides (Figs 5, 6)",
            times_of(&modes(&wobbling), [0, 1, 2]),
            0.0,
        ),
        row("T-bar: height at the end, mm", "25 (flat)", 1e3 * last(&wobbling), 1e-9),
        row(
            "dumbbell: patch is a surface, a point, a line, one after the other: times",
            "1 (Fig. 7 e to i)",
            times_of(&modes(&rolling), [2, 0, 1]),
            0.0,
        ),
        row("dumbbell: height as it rolls, furthest from its radius, mm", "0 (Fig. 7 d)", 1e3 * off, 1e-9),
    ];
    for kind in ["ecp", "lcp", "ncp", "lagged"] {
        let scene = Scene::parse(&DESK.replace("\"ncp\"", &format!("\"{kind}\"")), "desk.toml")?;
        let states = scene.rollout(UNTIL)?.simulate()?.states;
        let height = states[states.len() - 1].bodies[0].position.z;
        let expected = format!("{} (on its feet; 550 on the box by its hull)", 1e3 * PLATE);
        rows.push(row(
            format!("desk over a box, `{kind}`: height at the end, mm"),
            expected,
            1e3 * height,
            1e-3,
        ));
    }
    let mut figures = Vec::new();
    if run == Run::Full {
        let plot = |title, y, curves| Plot { title, x: "t / s", y, logarithmic: [false; 2], curves };
        let position = |k: usize, name: &str, motion: &Motion| over_time(name, motion, |s| s.position[k]);
        let point: Vec<(f64, f64)> = wobbling
            .contacts
            .iter()
            .enumerate()
            .filter_map(|(k, contacts)| Some((k as f64 * STEP, contacts.first()?.point.x)))
            .collect();
        let point = Curve { name: "x, m".into(), points: point, reference: false, marks: false };
        let speed = over_time("v z, m/s", &wobbling, |s| s.velocity.translational.z);
        let plots = vec![
            plot("T-bar: height (Fig. 5 e)", "m", vec![position(2, "z", &wobbling)]),
            plot("T-bar: speed and contact point (Fig. 5 f)", "", vec![speed, point]),
            plot(
                "Dumbbell: impulses of a step (Fig. 7 c)",
                "N s, N m s",
                impulses(dumbbell.load, dumbbell.duration),
            ),
            plot(
                "Dumbbell: centre of mass (Fig. 7 d)",
                "m",
                ["x", "y", "z"].iter().enumerate().map(|(k, name)| position(k, name, &rolling)).collect(),
            ),
        ];
        let look = Look {
            axes: [Vector3::new(0.8, -0.6, 0.0), Vector3::new(0.3, 0.4, 0.866)],
            slower: 2.0,
            ..Look::from_the_side([420, 300], [0.08, 0.17], 480.0)
        };
        let bar = Shape::Box { size: [TEE[0], TEE[1], TEE[4]] };
        let x_bg = RigidTransform::from_translation([0.0, 0.5 * TEE[1] + 0.04, 0.0]);
        figures.push(seen(
            &tee,
            &wobbling,
            ("_tee", "The T-bar by its hull, with its bar, twice slower"),
            &look,
            (bar, x_bg),
        )?);
        let look = Look { slower: 2.0, ..Look::from_the_side([520, 240], [0.25, 0.14], 480.0) };
        let axle = Shape::Cylinder { radius: DUMBBELL[3], length: DUMBBELL[1] };
        figures.push(seen(
            &dumbbell,
            &rolling,
            ("_dumbbell", "The dumbbell by its hull, with its bar, twice slower"),
            &look,
            (axle, RigidTransform::identity()),
        )?);
        let caption = "T-bar and dumbbell over time, by `ecp`".into();
        figures.push(Figure { suffix: "", caption, picture: Picture::Plots(plots) });
    }
    Ok(Page {
        name: "modes",
        title: "A T-bar wobbles, a dumbbell topples, a desk stands over a box",
        source: "Xie Figs 5–7, Remark 1",
        result: "The patches come in the order of the paper, the T-bar's to both sides, without being told; a desk of five pieces stands on its \
                 feet over a box that its hull would stand on."
            .into(),
        figures,
        rows,
        why: "The paper has its forces in figures only, and the same sequence comes of those here. In the words of Remark 1, where a hull touches \
              a body that is not flat there may be contact in a plane, elsewhere, or none. Here a body that is not convex is made of convex \
              pieces, each of which is checked by itself, and one that is not is refused in contact with bodies other than half-spaces: the \
              second case does not come up, and the third is the desk. The box is 0.1 m high, and the plate's lower side comes down to \
              0.435 m."
            .into(),
        more: String::new(),
    })
}
