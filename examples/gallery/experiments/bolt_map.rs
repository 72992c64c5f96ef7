//! Hotz et al. (1999), §1: from which offset and tilt a bolt that is pushed down slides into its hole.

use std::sync::atomic::{AtomicUsize, Ordering};

use isobar::multibody::State;
use isobar::spatial::{Quaternion, RigidTransform, rotation_from_rpy};
use isobar::step::{ComplementarityMethod, Integrator, StepProblem, StepWorkspace};
use nalgebra::Vector3;

use crate::bolt_scene::{BoltScene, FILE};
use crate::clock::thread_time;
use crate::drawing::{View, begun, finished, text};
use crate::film::played;
use crate::page::{Failure, Figure, Page, Picture, Run, row};

/// Offsets of the bolt's middle from the axis, mm, and tilts, degrees; a tilt to the right leans the head over the offset.
const OFFSETS: [f64; 8] = [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0];
const TILTS: [f64; 9] = [-24.0, -18.0, -12.0, -6.0, 0.0, 6.0, 12.0, 18.0, 24.0];
/// Steps of 0.5 ms.
const STEPS: usize = 400;
/// How much slower than it is the motion is shown.
const SLOWER: f64 = 25.0;
const FRICTIONS: [f64; 2] = [0.1, 0.3];
/// Depth of the hole, m.
const DEPTH: f64 = 0.05;

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    SlidesIn,
    Jams,
    Tips,
    NoSolution,
}

const OUTCOMES: [(Outcome, &str, &str); 4] = [
    (Outcome::SlidesIn, "slides in", "#0072b2"),
    (Outcome::Jams, "stays above", "#e69f00"),
    (Outcome::Tips, "tips over", "#999999"),
    (Outcome::NoSolution, "no solution", "#d55e00"),
];

/// Sets the bolt down beside the axis and lets it go: what becomes of it, and how it moves.
fn outcome(scene: &BoltScene, offset: f64, tilt: f64, refused: &AtomicUsize) -> (Outcome, Vec<State>) {
    let mut scene = BoltScene {
        model: scene.model.clone(),
        start: scene.start.clone(),
        time_step: scene.time_step,
        bolt: scene.bolt.clone(),
        hole: scene.hole.clone(),
    };
    let body = &mut scene.start.bodies[0];
    body.orientation = Quaternion::from_matrix(&rotation_from_rpy(0.0, tilt.to_radians(), 0.0));
    body.position.x = 1e-3 * offset;
    body.position.y = 0.0;
    // Its lowest point a tenth of a millimetre above the face of the plate.
    body.position.z = 0.0;
    let lowest = scene.insertion(&scene.start.bodies[0]);
    scene.start.bodies[0].position.z = lowest + 1e-4;
    let method = Integrator::Complementarity(ComplementarityMethod::Lcp);
    let second = Integrator::Complementarity(ComplementarityMethod::Ncp);
    let mut workspace = StepWorkspace::default();
    let (mut states, mut rests) = (vec![scene.start.clone()], 0);
    for step_number in 0..STEPS {
        let time = step_number as f64 * scene.time_step;
        let before = &states[step_number];
        let problem = StepProblem { time, ..StepProblem::new(&scene.model, before, scene.time_step) };
        // What has no solution by the one method is tried with the other.
        let step = method.step(&problem, &mut workspace);
        if step.is_err() {
            refused.fetch_add(1, Ordering::Relaxed);
        }
        let Ok(after) = step.or_else(|_| second.step(&problem, &mut workspace)) else {
            return (Outcome::NoSolution, states);
        };
        let body = after.bodies[0];
        states.push(after);
        if body.pose().rotation[(2, 2)] < 0.5 {
            return (Outcome::Tips, states);
        }
        if scene.insertion(&body) > DEPTH - 1e-4 {
            return (Outcome::SlidesIn, states);
        }
        // What rests for ten steps stays where it is.
        let velocity = &body.velocity;
        let speed = velocity.translational.norm() + DEPTH * velocity.rotational.norm();
        rests = if speed < 1e-3 { rests + 1 } else { 0 };
        if rests == 10 {
            break;
        }
    }
    (Outcome::Jams, states)
}

/// The map of one coefficient of friction.
fn map(friction: f64, refused: &AtomicUsize) -> Result<Vec<Vec<Outcome>>, Failure> {
    let scene = BoltScene::load(FILE)?.with_friction(friction)?;
    let line = |tilt: &f64| OFFSETS.iter().map(|offset| outcome(&scene, *offset, *tilt, refused).0).collect();
    Ok(TILTS.iter().map(line).collect())
}

fn picture(maps: &[(f64, Vec<Vec<Outcome>>)]) -> String {
    let mut svg = begun(760, 330);
    let cell = [36.0, 22.0];
    for ((friction, map), column) in maps.iter().zip(0..) {
        let (left, top) = (55.0 + 370.0 * f64::from(column), 45.0);
        let right = left + cell[0] * OFFSETS.len() as f64;
        text(&mut svg, [0.5 * (left + right), 28.0], 14, "middle", &format!("friction {friction}"));
        for (line, tilt) in map.iter().zip(TILTS).rev() {
            let y = top + cell[1] * (TILTS.iter().rev().position(|t| *t == tilt).unwrap_or(0)) as f64;
            for (k, outcome) in line.iter().enumerate() {
                let fill = OUTCOMES.iter().find(|o| o.0 == *outcome).map_or("#000", |o| o.2);
                svg += &format!(
                    "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"35\" height=\"21\" fill=\"{fill}\"/>\n",
                    left + cell[0] * k as f64
                );
            }
            if tilt % 12.0 == 0.0 {
                text(&mut svg, [left - 6.0, y + 15.0], 12, "end", &format!("{tilt}"));
            }
        }
        let bottom = top + cell[1] * TILTS.len() as f64;
        for (k, offset) in OFFSETS.iter().enumerate().step_by(2) {
            text(
                &mut svg,
                [left + cell[0] * (k as f64 + 0.5), bottom + 16.0],
                12,
                "middle",
                &format!("{offset}"),
            );
        }
        text(&mut svg, [0.5 * (left + right), bottom + 36.0], 12, "middle", "offset, mm");
    }
    text(&mut svg, [8.0, 34.0], 12, "start", "tilt, °");
    for ((_, name, fill), k) in OUTCOMES.iter().zip(0..) {
        let y = 305.0;
        let x = 150.0 + 150.0 * f64::from(k);
        svg += &format!("<rect x=\"{x}\" y=\"{y}\" width=\"19\" height=\"14\" fill=\"{fill}\"/>\n");
        text(&mut svg, [x + 26.0, y + 12.0], 12, "start", name);
    }
    finished(svg)
}

/// The film of a bolt in the plane y = 0: the profiles of the bolt and of the hole.
fn film(scene: &BoltScene, states: &[State]) -> String {
    let view = View { middle: [0.0, 0.006].into(), at: [150.0, 170.0], scale: 2300.0 };
    let profile = |corners: &[[f64; 2]], pose: RigidTransform| {
        let side = corners.iter().map(|[r, h]| [*r, *h]);
        let other = corners.iter().rev().map(|[r, h]| [-r, *h]);
        let place = |[r, h]: [f64; 2]| view.place(&(pose * Vector3::new(r, 0.0, h)).xz());
        side.chain(other).map(place).map(|[x, y]| format!("{x:.1},{y:.1} ")).collect::<String>()
    };
    let mut svg = begun(300, 340);
    let mut plate = scene.hole.clone();
    plate.insert(0, [1.0, -1.0]);
    played(
        &mut svg,
        "polygon",
        "fill=\"#999\" stroke=\"#666\"",
        &[profile(&plate, RigidTransform::identity())],
        1.0,
    );
    let duration = (states.len() - 1) as f64 * scene.time_step * SLOWER;
    let every = (0.05 / (SLOWER * scene.time_step)).round() as usize;
    let bolts: Vec<String> =
        states.iter().step_by(every).map(|state| profile(&scene.bolt, state.bodies[0].pose())).collect();
    played(&mut svg, "polygon", "fill=\"#0072b2\" fill-opacity=\".7\" stroke=\"#0072b2\"", &bolts, duration);
    finished(svg)
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let scene = BoltScene::load(FILE)?;
    let refused = AtomicUsize::new(0);
    let begin = thread_time();
    let (_, states) = outcome(&scene, 2.0, 6.0, &refused);
    let spent = (thread_time() - begin).as_secs_f64();
    let depth = scene.insertion(&states[states.len() - 1].bodies[0]);
    let mut rows = vec![row(
        "depth that the bolt reaches from 2 mm and 6°, friction 0.1, mm",
        "50 (depth of the hole)",
        1e3 * depth,
        1e-3,
    )];
    let (mut maps, mut parts) = (Vec::new(), String::new());
    if run == Run::Full {
        let simulated = (states.len() - 1) as f64 * scene.time_step;
        rows.push(row("simulated seconds a second, steps of 0.5 ms", "1: real time", simulated / spent, 1.0));
        // At the same time: this is the longest of all experiments. An error is told as text, which threads can pass on.
        let together = std::thread::scope(|scope| {
            let refused = &refused;
            let start =
                |friction| scope.spawn(move || map(friction, refused).map_err(|error| error.to_string()));
            FRICTIONS.map(start).map(std::thread::ScopedJoinHandle::join)
        });
        for (friction, map) in FRICTIONS.into_iter().zip(together) {
            let map = map.map_err(|_| "a thread has ended")??;
            let all = map.iter().flatten();
            let part = |kind| {
                all.clone().filter(|o| **o == kind).count() as f64 / (OFFSETS.len() * TILTS.len()) as f64
            };
            for (kind, name, _) in OUTCOMES {
                rows.push(row(
                    format!("{name}, friction {friction}: part of all places"),
                    "–",
                    part(kind),
                    0.05,
                ));
            }
            parts += &format!(
                "With friction {friction} the bolt slides in from {:.0} % of the places and tilts that were tried. ",
                100.0 * part(Outcome::SlidesIn)
            );
            maps.push((friction, map));
        }
    }
    let mut figures = vec![Figure {
        suffix: "",
        caption: "What becomes of the bolt, by where it is set down and how far it leans".into(),
        picture: Picture::Svg(picture(&maps)),
    }];
    if run == Run::Full {
        let caption = format!("The bolt from 2 mm and 6°, friction 0.1, {SLOWER} times slower");
        figures.push(Figure { suffix: "_film", caption, picture: Picture::Svg(film(&scene, &states)) });
    }
    Ok(Page {
        name: "bolt_map",
        title: "From where a bolt slides into its hole",
        source: "Hotz §1",
        result: parts.trim_end().to_owned(),
        figures,
        rows,
        why: format!(
            "The paper shows the bolt slide in, and tells no numbers. What stays above has not slid in after 0.2 s: it stands on the plate \
             or has jammed in the mouth. {} steps for which `lcp` found no solution were taken by `ncp`.",
            refused.load(Ordering::Relaxed)
        ),
        more: String::new(),
    })
}
