//! Masterjohn et al. (2021), §V-B: an arm with soft bubbles takes a spatula and flips a pancake, at several refinements.

use std::path::Path;
use std::time::Duration;

use isobar::Scene;
use isobar::contact::{ContactModel, SurfaceRepresentation};
use isobar::multibody::State;
use isobar::rollout::{Controls, Trajectory};
use isobar::step::{Integrator, StepProblem, StepWorkspace};

use super::flip_arm::{Arm, Move, Pose, Until};
use crate::figure::{Curve, Plot};
use crate::film::{Look, film};
use crate::gradients::{STEPS, checked_at};
use crate::page::{Failure, Figure, Page, Picture, Points, Run, row, shown};

const SCENE: &str = include_str!("../scenes/flip.toml");
/// Its robot takes the place of that of the scene.
const JACO: &str = include_str!("../../pancake/jaco.toml");
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/models/jaco/j2n6s300.urdf");
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/gallery/scenes/flip.toml");

const fn pose(tip: [f64; 3], down: f64, roll: f64) -> Pose {
    Pose { tip, down, roll }
}

const fn to(name: &'static str, to: Pose, seconds: f64, until: Until) -> Move {
    Move { name, to, seconds, until }
}

const START: Pose = pose([0.5, 0.22, 0.11], 0.0, 0.0);
const MOVES: [Move; 9] = [
    to("grasped", START, 2.0, Until::Grasped),
    to("raised", pose([0.5, 0.22, 0.17], 0.0, 0.0), 0.6, Until::Time),
    to("before the stove", pose([0.47, 0.0, 0.16], 8.0, 0.0), 0.8, Until::Time),
    to("stove found", pose([0.47, 0.0, 0.09], 8.0, 0.0), 2.0, Until::Standing),
    to("scooped", pose([0.63, 0.0, 0.09], 8.0, 0.0), 1.0, Until::Time),
    to("raised with it", pose([0.6, 0.05, 0.18], -5.0, 0.0), 0.8, Until::Time),
    to("flipped", pose([0.6, 0.0, 0.2], -5.0, 170.0), 0.3, Until::Time),
    to("away", pose([0.5, 0.04, 0.22], -5.0, 170.0), 0.8, Until::Time),
    to("held", pose([0.5, 0.04, 0.22], -5.0, 170.0), 0.5, Until::Time),
];

/// What becomes of the pancake.
struct Outcome {
    trajectory: Trajectory,
    /// The commands of each step.
    commands: Vec<Vec<f64>>,
    events: Vec<(&'static str, f64)>,
    /// Faces in contact after each step.
    faces: Vec<usize>,
    /// Mean times of a step, µs.
    geometry: f64,
    solver: f64,
    /// The cosine of its axis to the vertical, and the distance from the middle of the stove, m.
    up: f64,
    off: f64,
    speed: f64,
}

impl Outcome {
    fn mean_faces(&self) -> f64 {
        self.faces.iter().sum::<usize>() as f64 / self.faces.len() as f64
    }

    /// It lies on its other side, on the stove, at rest.
    fn is_flipped(&self) -> bool {
        self.up < -0.99 && self.off < 0.1 && self.speed < 0.01
    }
}

/// The scene with edges of meshes that are longer by a factor.
fn scene(coarser: f64) -> Result<Scene, Failure> {
    let mut parts = SCENE.split("resolution = ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find([' ', '\n', '}']).ok_or("a number")?;
        let length: f64 = part[..end].parse()?;
        text += &format!("resolution = {:?}{}", coarser * length, &part[end..]);
    }
    Ok(Scene::parse(&text, PATH)?)
}

/// The scene with a JACO arm, where its model is at hand beside the repository. Its bubbles are in the place of the discs of
/// `examples/pancake`.
fn jaco() -> Result<Option<Scene>, Failure> {
    if !Path::new(MODEL).exists() {
        eprintln!("flip: {MODEL} is not there, so the row of the JACO arm is left out");
        return Ok(None);
    }
    let [scene, arm] = [SCENE, JACO].map(|text| text.split_once("[[robots]]").ok_or("no robot"));
    let arm = arm?.1.replace("../../../shared", "../../../../shared").replace("_finger\"", " bubble\"");
    let disc = "shape = { cylinder = { radius = 0.025, length = 0.02, resolution = 0.012 } }\nrpy = [1.5707963267948966, 0, 0]\nmaterial = \"pad\"";
    let bubble = "shape = { ellipsoid = { semi_axes = [0.057, 0.037, 0.0405], resolution = 0.03 } }\nmaterial = \"bubble\"";
    let arm = arm
        .replace(disc, bubble)
        .replace("0.12, 0.045", "0.12, 0.055")
        .replace("0.12, -0.045", "0.12, -0.055");
    Ok(Some(Scene::parse(&format!("{}[[robots]]{arm}", scene?.0), PATH)?))
}

fn flip(
    scene: &Scene,
    moves: &[Move],
    kind: ContactModel,
    surface: SurfaceRepresentation,
) -> Result<Outcome, Failure> {
    let mut model = scene.model.clone().into_builder();
    model.contact.surface = surface;
    let model = model.build()?;
    let mut state = scene.state.clone();
    let mut arm = Arm::new(&model, &mut state, moves, START)?;
    let (integrator, mut workspace) = (Integrator::velocity_level(kind), StepWorkspace::default());
    let mut trajectory = Trajectory { times: vec![0.0], states: vec![state.clone()] };
    let (mut faces, mut commands) = (Vec::new(), Vec::new());
    let mut control = vec![0.0; model.command_dimension()];
    let mut times = [Duration::ZERO; 2];
    while !arm.is_done() {
        let time = faces.len() as f64 * scene.time_step;
        arm.command(time, &state, &mut control)?;
        let problem =
            StepProblem { time, control: &control, ..StepProblem::new(&model, &state, scene.time_step) };
        let mut after = State::default();
        integrator.step_into(&problem, &mut workspace, &mut after)?;
        state = after;
        times = [times[0] + workspace.timing().geometry, times[1] + workspace.timing().solver];
        faces.push(workspace.statistics().contacts);
        commands.push(control.clone());
        trajectory.times.push(time + scene.time_step);
        trajectory.states.push(state.clone());
    }
    let [geometry, solver] = times.map(|time| 1e6 * time.as_secs_f64() / faces.len() as f64);
    let pancake = &state.bodies[0];
    let stove = model.bodies().iter().position(|body| body.name == "stove").ok_or("a stove")?;
    let mut frames = Vec::new();
    model.body_frames(&state, &mut frames);
    let off = (pancake.position - frames[stove].pose.translation).xy().norm();
    let up = pancake.pose().rotation[(2, 2)];
    let speed = pancake.velocity.translational.norm();
    Ok(Outcome { trajectory, commands, events: arm.events, faces, geometry, solver, up, off, speed })
}

/// The slope of a line through points on logarithmic axes, by least squares.
fn exponent(points: &Points) -> f64 {
    let logs: Points = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let [x, y] =
        [logs.iter().map(|p| p.0).sum::<f64>() / count, logs.iter().map(|p| p.1).sum::<f64>() / count];
    let [across, square] =
        logs.iter().fold([0.0; 2], |[a, s], p| [a + (p.0 - x) * (p.1 - y), s + (p.0 - x).powi(2)]);
    across / square
}

/// Edges of the meshes over those of the scene file, coarsest first.
const COARSER: [f64; 4] = [1.4, 1.0, 0.7, 0.45];
/// Links through whose origins the arm is drawn.
const ARM: [&str; 7] = ["base", "shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "hand"];
/// Events that are marked.
const MARKED: [&str; 4] = ["grasped", "stove found", "scooped", "flipped"];

pub fn run(run: Run) -> Result<Page, Failure> {
    let (kind, polygons) = (ContactModel::Sap, SurfaceRepresentation::Polygons);
    let refinements = if run == Run::Full { &COARSER[..] } else { &COARSER[..1] };
    let outcomes = refinements.iter().map(|&coarser| flip(&scene(coarser)?, &MOVES, kind, polygons));
    let outcomes = outcomes.collect::<Result<Vec<_>, Failure>>()?;
    let coarsest = &outcomes[0];
    let mut rows = vec![
        row(
            "coarsest: cosine of the pancake's axis to the vertical at the end",
            "−1: flipped (§V-B)",
            coarsest.up,
            1e-2,
        ),
        row("coarsest: mean number of faces", "230 (§V-B)", coarsest.mean_faces(), 0.05),
    ];
    let (mut figures, mut result, mut more) = (Vec::new(), String::new(), String::new());
    if run == Run::Full {
        let flipped = outcomes.iter().filter(|outcome| outcome.is_flipped()).count();
        rows.push(row(
            format!("refinements at which it lies flipped, at rest and on the stove, of {}", outcomes.len()),
            "all (§V-B)",
            flipped as f64,
            0.0,
        ));
        rows.push(row(
            "finest: mean number of faces",
            "1500 (§V-B)",
            outcomes[outcomes.len() - 1].mean_faces(),
            0.05,
        ));
        for kind in [ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi] {
            let outcome = flip(&scene(COARSER[0])?, &MOVES, kind, polygons)?;
            let quantity = format!("coarsest, by {kind:?} instead of SAP: the same cosine");
            rows.push(row(quantity, "−1", outcome.up, 1e-2));
        }
        if let Some(scene) = jaco()? {
            let outcome = flip(&scene, &MOVES, kind, polygons)?;
            rows.push(row(
                "JACO arm: cosine of the pancake's axis at the end",
                "−1: flipped (§V-B)",
                outcome.up,
                1e-2,
            ));
        }
        let curve = |name: &str, of: fn(&Outcome) -> f64| {
            let points = outcomes.iter().map(|outcome| (outcome.mean_faces(), of(outcome))).collect();
            Curve { name: name.into(), points, reference: false, marks: true }
        };
        let costs = vec![
            curve("solver (SAP)", |outcome| outcome.solver),
            curve("geometry", |outcome| outcome.geometry),
        ];
        for (curve, expected) in costs.iter().zip(["1.3 (Fig. 8)", "1 (Fig. 8)"]) {
            rows.push(row(
                format!("{}: exponent of its time against faces", curve.name),
                expected,
                exponent(&curve.points),
                0.2,
            ));
        }
        let fine = &outcomes[1];
        let triangles = flip(&scene(COARSER[1])?, &MOVES, kind, SurfaceRepresentation::Triangles)?;
        for (quantity, expected, triangles, polygons) in [
            ("faces", "4.05", triangles.mean_faces(), fine.mean_faces()),
            ("time of the solver", "4.09", triangles.solver, fine.solver),
            ("time of the geometry", "1.1", triangles.geometry, fine.geometry),
        ] {
            rows.push(row(
                format!("{quantity}, triangles over polygons"),
                format!("{expected} (§V-B)"),
                triangles / polygons,
                0.1,
            ));
        }
        // As the pancake is raised, before it is flipped: the blade carries it, and the bubbles hold the handle.
        let carried = coarsest.events.iter().find(|(name, _)| *name == "raised with it");
        let time = carried.ok_or("the pancake is not raised")?.1;
        let file = scene(COARSER[0])?;
        let step = (time / file.time_step).round() as usize;
        let commands = coarsest.commands[step..step + STEPS].concat();
        let controls = Controls::from_values(file.model.command_dimension(), commands).ok_or("commands")?;
        let [all, wrong] = checked_at(&file, &coarsest.trajectory.states[step], &controls, &[])?;
        rows.push(row(
            format!("coarsest: derivatives as it is raised that differences refute, of {all}"),
            "0",
            wrong as f64,
            0.0,
        ));
        more = "| edges of meshes over those of the file | mean faces | geometry, µs | solver, µs | cosine at the end | from the middle of the stove, mm |\n|---|---|---|---|---|---|\n".into();
        for (coarser, outcome) in COARSER.iter().zip(&outcomes) {
            let numbers =
                [outcome.mean_faces(), outcome.geometry, outcome.solver, outcome.up, 1e3 * outcome.off]
                    .map(shown);
            more += &format!("| {coarser} | {} |\n", numbers.join(" | "));
        }
        let over_time = |name: &str, outcome: &Outcome| {
            let points = outcome.trajectory.times.iter().zip(&outcome.faces).step_by(5);
            let points = points.map(|(time, faces)| (*time, *faces as f64)).collect();
            Curve { name: name.into(), points, reference: false, marks: false }
        };
        let mut curves = vec![over_time("triangles", &triangles), over_time("polygons", fine)];
        let most = *triangles.faces.iter().max().unwrap_or(&0) as f64;
        let marked = fine.events.iter().filter(|(name, _)| MARKED.contains(name));
        curves.extend(marked.map(|(name, time)| Curve {
            name: (*name).into(),
            points: vec![(*time, 0.0), (*time, most)],
            reference: true,
            marks: false,
        }));
        let plots = vec![
            Plot {
                title: "Faces of all contacts",
                x: "time, s",
                y: "faces",
                logarithmic: [false; 2],
                curves,
            },
            Plot {
                title: "Mean time of a step",
                x: "mean number of faces",
                y: "µs",
                logarithmic: [true; 2],
                curves: costs,
            },
        ];
        let look = Look { line: &ARM, ..Look::from_the_side([640, 360], [0.24, 0.27], 620.0) };
        let caption = "The arm, the spatula and the pancake from the side".into();
        let picture = Picture::Svg(film(&scene(COARSER[1])?.model, &fine.trajectory, &look));
        figures.push(Figure { suffix: "", caption, picture });
        let caption =
            "Faces over time with events (Fig. 9), and times of a step by the number of faces (Fig. 8)"
                .into();
        figures.push(Figure { suffix: "_faces", caption, picture: Picture::Plots(plots) });
        result = format!(
            "An arm with two soft bubbles takes a spatula from a stand, scoops a pancake off a stove without a rim, and flips it, at \
                  {flipped} of {} refinements.",
            outcomes.len()
        );
    }
    Ok(Page {
        name: "flip",
        title: "An arm flips a pancake",
        source: "Masterjohn §V-B, Figs 7–9",
        result,
        figures,
        rows,
        why: "The paper's shapes, friction and poses are not told: the stove, the stand, the spatula and the key poses are ours, and the bubbles are \
              ellipsoids of their size. The arm is one of six joints of the examples; a JACO arm, where its model is at hand, does the \
              same. The bubbles' force tells the grasp, the torques of the joints tell \
              the stove, and the blade slips under the pancake as it has less friction (0.24 with it) than the stove (0.69). Most faces \
              are those of the two bubbles \
              on the handle. The solver eliminates contacts into the few velocities of the bodies, so that its time grows with the faces \
              and not faster; a part of it does not depend on faces at all, so that fewer faces gain less ([steps](../steps.md#cost))."
            .into(),
        more,
    })
}
