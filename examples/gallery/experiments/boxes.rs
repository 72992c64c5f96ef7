//! Elandt et al. (2019), §VIII-B: boxes in contact. Four boxes are dropped on each other, by several kinds of steps.

use isobar::multibody::{BodyState, SensorWorkspace, State};

use crate::figure::{Curve, Plot};
use crate::film::{Look, film};
use crate::gradients::derivatives;
use crate::kinds::{COMPLIANT, Kind, RIGID};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

const SCENE: &str = include_str!("../scenes/four_boxes.toml");
/// Until the boxes rest, and in the midst of the impacts, s.
const UNTIL: f64 = 2.0;
const MIDST: f64 = 0.2;
/// Boxes, the mass of one (kg), its height and half of its longest diagonal (m).
const BOXES: usize = 4;
const MASS: f64 = 0.5;
const HEIGHT: f64 = 0.1;
const REACH: f64 = 0.093;
const G: f64 = 9.81;
/// A speed below which they rest, m/s.
const AT_REST: f64 = 1e-3;
const KINDS: [&str; 7] = ["lagged", "similar", "tamsi", "sap", "ncp", "lcp", "lagged, rigid"];

/// What becomes of the boxes.
struct Outcome {
    /// The largest speed of a corner at the end, m/s, and the height of the middle of the highest box, m.
    speed: f64,
    highest: f64,
    /// What the floor bears at the end over the weight of all.
    borne: f64,
    /// The largest rise of the energy in a step over what it loses in all, and the energy over time, J.
    rise: f64,
    energy: Vec<(f64, f64)>,
}

fn outcome(kind: &Kind) -> Result<Outcome, Failure> {
    let scene = kind.scene(SCENE)?;
    let trajectory = scene.rollout(UNTIL)?.simulate()?;
    let energy = |state: &State| scene.model.mechanical_energy(state);
    let energy: Vec<(f64, f64)> =
        trajectory.times.iter().zip(&trajectory.states).map(|(time, state)| (*time, energy(state))).collect();
    let end = &trajectory.states[energy.len() - 1];
    let speed =
        |body: &BodyState| body.velocity.translational.norm() + REACH * body.velocity.rotational.norm();
    let floor = scene.model.body_index("floor").ok_or("a floor")?;
    let force =
        |body| scene.model.contact_wrench(end, body, floor, &mut SensorWorkspace::default()).translational.z;
    let rise = energy.windows(2).map(|pair| pair[1].1 - pair[0].1).fold(0.0, f64::max);
    Ok(Outcome {
        speed: end.bodies.iter().map(speed).fold(0.0, f64::max),
        highest: end.bodies.iter().map(|body| body.position.z).fold(0.0, f64::max),
        borne: (0..BOXES).map(force).sum::<f64>() / (BOXES as f64 * MASS * G),
        rise: rise / (energy[0].1 - energy[energy.len() - 1].1),
        energy,
    })
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let (mut rows, mut curves, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    let mut more = String::from(
        "| kind | highest box, mm | largest rise of the energy in a step over all that is lost |\n|---|---|---|\n",
    );
    let kinds = COMPLIANT.iter().chain(&RIGID).filter(|kind| KINDS.contains(&kind.name));
    let kept = |kind: &&Kind| run == Run::Full || ["lagged", "lagged, rigid"].contains(&kind.name);
    let (mut tried, mut standing) = (0, 0);
    for kind in kinds.filter(kept) {
        let (name, outcome) = (kind.name, outcome(kind)?);
        tried += 1;
        standing += usize::from(outcome.speed < AT_REST && outcome.highest > (BOXES as f64 - 1.0) * HEIGHT);
        rows.push(row(format!("`{name}`: speed at the end, mm/s"), "0: at rest", 1e3 * outcome.speed, 0.05));
        if !kind.rigid {
            rows.push(row(
                format!("`{name}`: what the floor bears at the end over the weight"),
                "1",
                outcome.borne,
                1e-3,
            ));
        }
        more += &format!("| `{name}` | {} | {} |\n", shown(1e3 * outcome.highest), shown(outcome.rise));
        if ["lagged", "ncp"].contains(&name) {
            let points = outcome.energy.into_iter().step_by(4).collect();
            curves.push(Curve { name: name.into(), points, reference: false, marks: false });
        }
    }
    if run == Run::Full {
        let scene = COMPLIANT[0].scene(SCENE)?;
        let trajectory = scene.rollout(UNTIL)?.simulate()?;
        rows.push(derivatives(&scene, MIDST, "in the midst of the impacts")?);
        let look = Look { slower: 2.0, ..Look::from_the_side([320, 420], [0.0, 0.25], 750.0) };
        figures.push(Figure {
            suffix: "",
            caption: "Four boxes by `lagged`, twice slower".into(),
            picture: Picture::Svg(film(&scene.model, &trajectory, &look)),
        });
        let plot = Plot { title: "Energy", x: "time, s", y: "J", logarithmic: [false; 2], curves };
        let caption = "Energy of the boxes, with that of their compression".into();
        figures.push(Figure { suffix: "_energy", caption, picture: Picture::Plots(vec![plot]) });
    }
    Ok(Page {
        name: "boxes",
        title: "Four boxes are dropped on each other",
        source: "Elandt §VIII-B",
        result: format!(
            "Four boxes that fall askew on each other come to rest as a stack by {standing} of {tried} kinds of steps."
        ),
        figures,
        rows,
        why: "The paper shows boxes in contact and tells no numbers. Soft boxes rock longer than rigid ones, which lose their energy as they meet. The \
              energy rises in steps in which a box lands: a step knows the contacts at its start alone, and may store in new ones half of what \
              the approach brings ([steps](../steps.md#passivity))."
            .into(),
        more,
    })
}
