//! An arm takes a spatula between two soft fingers and lifts a pancake off a stove along key
//! poses, with triangles and with polygons (after Masterjohn et al. 2021, §V-B).
//!
//! `cargo run --release --example pancake -- docs` prints the figures and draws
//! `docs/pancake.svg`, `docs/pancake_faces.svg` and `docs/pancake_height.svg`. With the scene file
//! `jaco.toml` as one more argument it takes a Kinova JACO arm.

#[path = "../figure/mod.rs"]
mod figure;
mod key_poses;
mod picture;

use std::time::{Duration, Instant};

use figure::{Curve, Plot};
use isobar::contact::{ContactModel, ContactPair, SurfaceRepresentation, Workspace, contact};
use isobar::io::Scene;
use isobar::multibody::{Drive, Model, NoForces, State};
use isobar::rollout::{Command, Controls, KnotInterpolation, KnotValues, Rollout, Trajectory};
use isobar::step::{Integrator, StepProblem, StepTiming, StepWorkspace};
use key_poses::{JOINTS, KEY_POSES, TIP, motion};

type Failure = Box<dyn std::error::Error>;

const SCENES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/pancake");
const REPRESENTATIONS: [SurfaceRepresentation; 2] =
    [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons];
/// Contacts whose faces are counted.
const CONTACTS: [(&str, &str); 3] =
    [("pancake", "stove"), ("pancake", "spatula"), ("spatula", "left_finger")];

/// Gives the arm its commands along the key poses, against its own weight, and its first angles.
fn command(scene: &mut Scene) -> Result<(), Failure> {
    let motion = motion(&scene.model, &mut scene.state)?;
    for j in 0..JOINTS {
        let Drive::Position { stiffness, .. } = scene.model.actuators()[j].drive else {
            return Err("the arm's joints need position servos".into());
        };
        let knots = motion.angles.iter().zip(&motion.weights);
        let values = knots.map(|(angles, weights)| angles[j] - weights[j] / stiffness).collect();
        let at = KnotValues { times: motion.times.clone(), values };
        scene.commands[j] = Command::new(KnotInterpolation::Linear, at)?;
    }
    Ok(())
}

/// Faces of all contacts at a state, and of some of them.
fn faces(model: &Model, state: &State, workspace: &mut Workspace) -> (usize, [usize; CONTACTS.len()]) {
    let mut frames = Vec::new();
    model.body_frames(state, &mut frames);
    let (mut all, mut some) = (0, [0; CONTACTS.len()]);
    for pair in model.pairs() {
        let geometry = |body: usize, place: usize| {
            let geometry = &model.bodies()[body].geometries[place];
            (&geometry.collider, frames[body].of_geometry(geometry).pose)
        };
        let (a, x_wa) = geometry(pair.bodies.a, pair.geometry_a);
        let (b, x_wb) = geometry(pair.bodies.b, pair.geometry_b);
        let query = ContactPair::at_rest(a, x_wa, b, x_wb);
        let count = contact(&query, model.contact(), workspace)
            .expect("a pair that can touch")
            .map_or(0, |patch| patch.faces);
        all += count;
        let names = [pair.bodies.a, pair.bodies.b].map(|body| model.bodies()[body].name.as_str());
        for (sum, contact) in some.iter_mut().zip(CONTACTS) {
            if names == [contact.0, contact.1] || names == [contact.1, contact.0] {
                *sum += count;
            }
        }
    }
    (all, some)
}

/// Contact models whose steps are timed: that of the scene, and that of the paper.
const TIMED: [ContactModel; 2] = [ContactModel::Lagged, ContactModel::Tamsi];

/// The mean time that the parts of a step with a contact model take at the states of a trajectory.
fn mean_timing(
    model: &Model,
    trajectory: &Trajectory,
    controls: &Controls,
    time_step: f64,
    kind: ContactModel,
) -> Result<StepTiming, Failure> {
    let (integrator, mut workspace) = (Integrator::velocity_level(kind), StepWorkspace::default());
    let mut sum = StepTiming::default();
    for step in 0..controls.steps() {
        let (time, state) = (trajectory.times[step], &trajectory.states[step]);
        let (applied, control) = (&NoForces, controls.row(step));
        let problem =
            StepProblem { model, state, time, time_step, applied, control, substeps: None, asleep: &[] };
        integrator.step(&problem, &mut workspace)?;
        let StepTiming { geometry, solver } = workspace.timing();
        sum = StepTiming { geometry: sum.geometry + geometry, solver: sum.solver + solver };
    }
    let steps = u32::try_from(controls.steps())?;
    Ok(StepTiming { geometry: sum.geometry / steps, solver: sum.solver / steps })
}

struct Run {
    trajectory: Trajectory,
    /// With each of [`TIMED`].
    timing: Vec<StepTiming>,
    steps_per_second: f64,
    /// Time, s, and the faces of all contacts.
    faces: Vec<(f64, f64)>,
}

impl Run {
    fn mean_faces(&self) -> f64 {
        self.faces.iter().map(|f| f.1).sum::<f64>() / self.faces.len() as f64
    }
}

fn run(scene: &Scene, surface: SurfaceRepresentation, until: f64) -> Result<Run, Failure> {
    let mut model = scene.model.clone().into_builder();
    model.contact.surface = surface;
    let model = model.build()?;
    let settings = scene.simulation_settings()?;
    let controls = Controls::of_commands(&scene.commands, &settings.step_times(until)?);
    let clock = Instant::now();
    let trajectory =
        Rollout::new(&model, &scene.state, settings, until).with_controls(&controls).simulate()?;
    let steps_per_second = (trajectory.states.len() - 1) as f64 / clock.elapsed().as_secs_f64();
    let mut workspace = Workspace::default();
    let moments = trajectory.times.iter().zip(&trajectory.states).step_by(5);
    let timing = TIMED.map(|kind| mean_timing(&model, &trajectory, &controls, settings.time_step, kind));
    let timing = timing.into_iter().collect::<Result<Vec<_>, _>>()?;
    let faces = moments.map(|(&t, state)| (t, faces(&model, state, &mut workspace).0 as f64)).collect();
    println!("{surface:?}: {steps_per_second:.0} steps per second");
    println!("  time     pancake x, y, z             tip of the blade            faces, of {CONTACTS:?}");
    for key in KEY_POSES {
        let step = (key.time / settings.time_step).round() as usize;
        let state = &trajectory.states[step];
        let place = |name: &str| {
            let free = model.body_index(name).and_then(|body| model.free_index(body));
            free.map(|free| &state.bodies[free]).ok_or(format!("no free body `{name}`"))
        };
        let (pancake, spatula) = (place("pancake")?, place("spatula")?);
        let tip = spatula.position + spatula.orientation.to_matrix() * TIP;
        let (all, some) = self::faces(&model, state, &mut workspace);
        let p = pancake.position;
        println!(
            "  {:4.1} s   {:7.4} {:7.4} {:7.4} m   {:7.4} {:7.4} {:7.4} m   {all:4} {some:?}",
            key.time, p.x, p.y, p.z, tip.x, tip.y, tip.z
        );
    }
    Ok(Run { trajectory, timing, steps_per_second, faces })
}

fn main() -> Result<(), Failure> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "docs".into());
    let scene = std::env::args().nth(2).unwrap_or_else(|| "scene.toml".into());
    let mut scene = Scene::load(format!("{SCENES}/{scene}"))?;
    command(&mut scene)?;
    let until = KEY_POSES[KEY_POSES.len() - 1].time;
    let pancake = scene.model.body_index("pancake").and_then(|body| scene.model.free_index(body));
    let pancake = pancake.ok_or("the scene has no free body `pancake`")?;
    let (mut counts, mut heights, mut runs) = (Vec::new(), Vec::new(), Vec::new());
    for surface in REPRESENTATIONS {
        let run = run(&scene, surface, until)?;
        let name = format!("{surface:?}").to_lowercase();
        let height = run.trajectory.times.iter().zip(&run.trajectory.states).step_by(5);
        let height = height.map(|(&t, state)| (t, 100.0 * state.bodies[pancake].position.z)).collect();
        counts.push(Curve { name: name.clone(), points: run.faces.clone(), reference: false, marks: false });
        heights.push(Curve { name, points: height, reference: false, marks: false });
        runs.push(run);
    }
    let [triangles, polygons] = [&runs[0], &runs[1]];
    println!(
        "mean faces {:.0} and {:.0}: {:.2} times fewer polygons; {:.2} times the steps per second",
        triangles.mean_faces(),
        polygons.mean_faces(),
        triangles.mean_faces() / polygons.mean_faces(),
        polygons.steps_per_second / triangles.steps_per_second
    );
    for ((kind, t), p) in TIMED.iter().zip(&triangles.timing).zip(&polygons.timing) {
        for (part, t, p) in [("solver", t.solver, p.solver), ("geometry", t.geometry, p.geometry)] {
            let [t, p] = [t, p].map(|time: Duration| time.as_secs_f64() * 1e6);
            println!("{kind:?}, mean time of the {part}: {t:.1} and {p:.1} µs, {:.2} times less", t / p);
        }
    }
    let draw = |file: &str, title: &str, y: &str, curves: Vec<Curve>| {
        let plot = Plot { title, x: "time, s", y, logarithmic: [false; 2], curves };
        figure::draw(format!("{folder}/{file}"), &[plot])
    };
    draw("pancake_faces.svg", "Faces of all contacts while the pancake is lifted", "faces", counts)?;
    draw("pancake_height.svg", "Height of the pancake's middle", "height, cm", heights)?;
    let side = picture::svg(&scene.model, &polygons.trajectory, &[0.6, 2.4, 3.4, 4.2]);
    std::fs::write(format!("{folder}/pancake.svg"), side)?;
    println!("drawn in {folder}/pancake.svg, pancake_faces.svg and pancake_height.svg");
    Ok(())
}
