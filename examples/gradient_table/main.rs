//! The derivatives of twenty-four scenes with respect to all inputs, in every way that they are made and by every
//! kind of step, against differences: the tables of docs/gradient_table.md.
//!
//! ```sh
//! cargo run --release --example gradient_table > docs/gradient_table.md
//! ```
//!
//! Each scene is simulated until its bodies touch, and started from there, a little displaced, so that
//! nothing is aligned. With parts of names as its arguments only the scenes that have one are checked: docs/gradient_table_rigid.md is
//! that of `"rigid desk" "rigid T-bar" "rigid egg" "ball on" toss coin`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use isobar::check::{CheckSettings, GradientReport, Verdict, check_scene};
use isobar::contact::{ContactModel, ContactSettings};
use isobar::io::Scene;
use isobar::rollout::{Rollout, SimulationSettings};
use isobar::step::{
    ComplementarityMethod, ControlledMethod, ErrorControlled, Integrator, SolverTolerance, VelocityLevel,
};
use rayon::prelude::*;

#[path = "../../tests/support/checked_scenes.rs"]
mod checked_scenes;
#[path = "../../tests/support/folder.rs"]
mod folder;

use checked_scenes::{FAMILIES, KINDS};

/// Steps of a rollout, and those of one with an accuracy, which consist of many.
const STEPS: usize = 5;
const CONTROLLED_STEPS: usize = 2;
/// The most numbers of a state's tangent with which Radau steps are checked: those of two bodies. With more it takes hours.
const LARGEST_FOR_RADAU: usize = 24;
/// The longest explicit step, s.
const LONGEST_EXPLICIT_STEP: f64 = 5e-5;
/// The kinds of steps besides [`KINDS`]: those of rigid bodies alone, and those of an accuracy.
const MORE_KINDS: [&str; 5] = ["ecp", "lcp", "ncp", "radau", "lagged with accuracy"];
/// The accuracy of the last two, m, and the length of their steps, s, at most.
const ACCURACY: f64 = 1e-4;
const LONGEST_CONTROLLED_STEP: f64 = 1e-3;
/// How far the initial state is displaced, rad, m, rad/s or m/s.
const DISPLACEMENT: f64 = 1e-4;
/// The scenes in files, and the time that each is simulated for first, s.
const FILES: [(&str, &str, f64); 18] = [
    ("ball on a box", "fit_ball/scene.toml", 0.12),
    ("cube toss", "gradient_table/cube.toml", 0.25),
    ("gripper with a ball", "grasp_lift/gripper.toml", 0.5),
    ("gripper with a box", "grasp_lift/box_gripper.toml", 0.5),
    ("three pushers", "push_box/scene.toml", 0.05),
    ("pencil", "pencil/scene.toml", 0.2),
    ("spatula in bubbles", "spatula/scene.toml", 0.1),
    ("pancake on a stove", "pancake/scene.toml", 0.02),
    ("stack of three", "gradient_table/stack.toml", 0.05),
    ("two balls collide", "gradient_table/collision.toml", 0.004),
    ("hand of three fingers", "gradient_table/hand.toml", 0.05),
    ("coin with a skirt", "gradient_table/coin.toml", 0.01),
    ("rigid egg on a layer", "gradient_table/soft_ground.toml", 0.01),
    ("arm from URDF", "gradient_table/arm.toml", 0.02),
    ("rigid desk", "rigid_contact/desk.toml", 0.5),
    ("rigid T-bar", "rigid_contact/t_bar.toml", 0.3),
    ("rigid gripper with a rigid box", "rigid_contact/gripper.toml", 0.3),
    ("rigid bolt in its hole", "rigid_contact/bolt.toml", 0.06),
];
/// The random scenes: one of each family of the study.
const RANDOM_SCENES: [u64; 6] = [0, 6, 12, 18, 24, 30];

/// A scene with its name, and the state that it is checked at.
struct Checked {
    name: String,
    scene: Scene,
}

/// One check.
struct Row {
    scene: usize,
    kind: &'static str,
    report: Result<GradientReport, String>,
}

fn scenes(parts: &[String]) -> Result<Vec<Checked>, Box<dyn Error>> {
    let mut scenes = Vec::new();
    let is_asked_for = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part));
    for (name, file, time) in FILES.iter().filter(|(name, ..)| is_asked_for(name)) {
        let path = Path::new("examples").join(file);
        let mut scene = Scene::load(&path)?;
        let states = scene.rollout(*time)?.simulate()?.states;
        scene.state = states.last().ok_or("there is an initial state")?.clone();
        scenes.push(Checked { name: (*name).to_owned(), scene });
    }
    let folder = folder::Folder::new("gradient-table");
    for number in RANDOM_SCENES {
        let random = checked_scenes::scene(number);
        let path = folder.file("scene.toml", &random.text);
        let name = format!("random: {}", FAMILIES[random.family]);
        if !is_asked_for(&name) {
            continue;
        }
        scenes.push(Checked { name, scene: Scene::load(&path)? });
    }
    for checked in &mut scenes {
        let n = checked.scene.state.tangent_dimension();
        let displaced: Vec<f64> = (0..n).map(|i| DISPLACEMENT * (0.7 + i as f64).sin()).collect();
        checked.scene.state = checked.scene.state.moved(&displaced);
    }
    Ok(scenes)
}

/// The kinds of steps that a scene can be simulated with.
fn kinds_of(scene: &Scene) -> impl Iterator<Item = &'static str> + use<> {
    let (all, rigid) = (scene.model.pairs().len(), scene.model.rigid_pairs().len());
    let size = scene.state.tangent_dimension();
    KINDS.into_iter().chain(MORE_KINDS).filter(move |kind| match *kind {
        "semi_implicit_euler" | "rk4" => rigid == 0,
        "ecp" | "lcp" | "ncp" => rigid == all,
        "radau" => size <= LARGEST_FOR_RADAU,
        _ => true,
    })
}

fn check(scene: &Scene, kind: &str) -> Result<GradientReport, String> {
    let convex = |model| {
        let tolerance = SolverTolerance { relative: 1e-12, max_iterations: 300 };
        Integrator::VelocityLevel(VelocityLevel { model, tolerance })
    };
    let controlled = |method| Integrator::ErrorControlled(ErrorControlled { method, accuracy: ACCURACY });
    let integrator = match kind {
        "semi_implicit_euler" => Integrator::SemiImplicitEuler,
        "rk4" => Integrator::RungeKutta4,
        "sap" => convex(ContactModel::Sap),
        "lagged" => convex(ContactModel::Lagged),
        "similar" => convex(ContactModel::Similar),
        "ecp" => Integrator::Complementarity(ComplementarityMethod::Ecp),
        "lcp" => Integrator::Complementarity(ComplementarityMethod::Lcp),
        "ncp" => Integrator::Complementarity(ComplementarityMethod::Ncp),
        "radau" => controlled(ControlledMethod::Radau),
        "lagged with accuracy" => controlled(ControlledMethod::Extrapolated(VelocityLevel::default())),
        _ => convex(ContactModel::Tamsi),
    };
    let is_explicit = matches!(integrator, Integrator::SemiImplicitEuler | Integrator::RungeKutta4);
    let longest = match integrator {
        Integrator::ErrorControlled(_) => LONGEST_CONTROLLED_STEP,
        _ if is_explicit => LONGEST_EXPLICIT_STEP,
        _ => f64::INFINITY,
    };
    let settings = SimulationSettings { integrator, time_step: scene.time_step.min(longest) };
    let steps = if integrator.is_error_controlled() { CONTROLLED_STEPS } else { STEPS };
    let until = steps as f64 * settings.time_step;
    let mut contact = *scene.model.contact();
    if !is_explicit {
        // What convex steps have of their own.
        contact.positive_part_width = 0.0;
        contact.friction_regularization = Default::default();
    }
    if kind == "radau" {
        contact.rigid_stiffness = ContactSettings::rigid_stiffness_for(ACCURACY);
    }
    let mut model = scene.model.clone().into_builder();
    model.contact = contact;
    let model = model.build().map_err(|error| error.to_string())?;
    let rollout = Rollout::new(&model, &scene.state, settings, until).with_controls(&scene.commands);
    check_scene(&rollout, &CheckSettings::default()).map_err(|error| error.to_string())
}

/// The kind of an input, by its name in a report.
fn kind_of_input(name: &str) -> &'static str {
    let last = name.rsplit('.').next().unwrap_or(name);
    let of_geometry = name.contains("geometries[");
    match last {
        _ if name.ends_with("(at 0.1)") => "dissipations and frictions of 0, taken as 0.1",
        _ if name.starts_with("command") || name.starts_with("control") => "commands of actuators",
        _ if name.starts_with("gravity") => "gravity",
        _ if name.contains("vertices[") => "mesh vertices",
        _ if last.starts_with("extents[") => "extents",
        "scale" => "sizes of geometries",
        "rx" | "ry" | "rz" | "px" | "py" | "pz" if of_geometry => "poses of geometries on bodies",
        "wx" | "wy" | "wz" | "vx" | "vy" | "vz" => "initial velocities",
        "rx" | "ry" | "rz" | "px" | "py" | "pz" => "initial and fixed poses",
        "hydroelastic_modulus" => "moduli",
        "mass" => "masses",
        "time_step" => "the length of steps",
        "stiction_velocity" | "bristle_length" => "stiction velocities, bristle lengths",
        "friction" => "frictions of joints",
        "stiffness" if name.contains("spring") => "springs: stiffness, rest",
        "rest" => "springs: stiffness, rest",
        "stiffness" => "gains of actuators",
        "damping" if name.contains("drive") => "gains of actuators",
        "damping" => "dampings of joints",
        "effort" => "limits of effort",
        "lower" | "upper" | "stop_stiffness" | "stop_dissipation" => "stops of joints",
        _ if last.starts_with("dissipation") => "dissipations",
        _ if last.starts_with("static_friction") || last.starts_with("dynamic_friction") => "frictions",
        _ if last.starts_with("inertia") => "inertias",
        _ if last.starts_with("center_of_mass") => "centres of mass",
        _ if last.starts_with('q') => "initial positions of joints",
        _ if last.starts_with('v') => "initial velocities of joints",
        _ => "others",
    }
}

/// Counts of verdicts, and the worst error of those that are right.
#[derive(Default)]
struct Counts {
    ok: usize,
    zero: usize,
    kink: usize,
    undecided: usize,
    wrong: usize,
    worst: f64,
}

impl Counts {
    fn add(&mut self, row: &isobar::check::ReportRow) {
        let c = &row.comparison;
        match c.verdict {
            Verdict::Ok => {
                self.ok += 1;
                // Beyond what differences know.
                let beyond = (c.claimed - c.difference).abs() - 2.0 * c.difference_error;
                self.worst = self.worst.max(beyond / c.claimed.abs().max(c.difference.abs()));
            }
            Verdict::Zero => self.zero += 1,
            _ if c.is_undecided() => self.undecided += 1,
            Verdict::Kink => self.kink += 1,
            _ => {
                eprintln!("wrong: {row:?}");
                self.wrong += 1;
            }
        }
    }

    fn print(&self, name: &str) {
        let Self { ok, zero, kink, undecided, wrong, worst } = self;
        let all = (ok + zero + kink + undecided + wrong).max(1);
        let part = 100.0 * *undecided as f64 / all as f64;
        print!("| {name} | {ok} | {zero} | {kink} | {undecided} ({part:.1} %) | {wrong} | {worst:.0e} |");
    }
}

const HEADER: &str = "ok | zero | kink | undecided | wrong | worst error |";

fn main() -> Result<(), Box<dyn Error>> {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let start = Instant::now();
    let scenes = scenes(&parts)?;
    let of_scene = |scene: usize| kinds_of(&scenes[scene].scene).map(move |kind| (scene, kind));
    let pairs: Vec<(usize, &str)> = (0..scenes.len()).flat_map(of_scene).collect();
    let rows: Vec<Row> = pairs
        .into_par_iter()
        .map(|(scene, kind)| {
            let clock = Instant::now();
            let report = check(&scenes[scene].scene, kind);
            let seconds = clock.elapsed().as_secs_f64();
            eprintln!("{}, {kind}: {seconds:.1} s", scenes[scene].name);
            Row { scene, kind, report }
        })
        .collect();
    println!("# Derivatives of {} scenes\n", scenes.len());
    println!(
        "Made by `cargo run --release --example gradient_table`. Each scene is checked with every kind of step that takes it, over {STEPS} \
         steps ({CONTROLLED_STEPS} of an accuracy, with `radau` where two bodies move at most) from a state in which its bodies touch: the wrenches of contact there, the state after one step \
         and the state after all, with respect to all inputs; of meshes, the coordinates of two vertices and two \
         extents each.\n"
    );
    println!(
        "*ok*, *zero*: the derivative in dual numbers agrees with differences. *kink*: it is that of one side, or of a \
         piece right beside. *undecided*: differences cannot tell. *worst error*: of those that are ok, \
         relative, beyond twice the error of the differences.\n"
    );
    println!("## Scenes and steps\n\n| scene, step | {HEADER} ways disagree by |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut inputs: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut ways: BTreeMap<String, (usize, usize, f64)> = BTreeMap::new();
    let mut all = Counts::default();
    for Row { scene, kind, report } in &rows {
        let name = format!("{}, `{kind}`", scenes[*scene].name);
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                println!("| {name} | {error} ||||||| ");
                continue;
            }
        };
        let mut counts = Counts::default();
        for row in &report.rows {
            counts.add(row);
            all.add(row);
            inputs.entry(kind_of_input(&row.parameter)).or_default().add(row);
        }
        counts.print(&name);
        let worst = report.ways.iter().map(|way| way.worst).fold(0.0, f64::max);
        println!(" {worst:.0e} |");
        for way in &report.ways {
            let sum = ways.entry(way.way.clone()).or_default();
            *sum = (sum.0 + way.compared, sum.1 + way.disagreeing, sum.2.max(way.worst));
        }
    }
    all.print("**all**");
    println!(" |\n\n## Inputs\n\n| input | {HEADER}\n|---|---|---|---|---|---|---|");
    for (input, counts) in &inputs {
        counts.print(input);
        println!();
    }
    println!("\n## Ways\n\nHeld against dual numbers, as parts of the component's largest sensitivity.\n");
    println!("| way | derivatives | off by more than 1e-9 | at worst |\n|---|---|---|---|");
    for (way, (compared, disagreeing, worst)) in &ways {
        println!("| {way} | {compared} | {disagreeing} | {worst:.0e} |");
    }
    println!("\nIt took {:.0} s.", start.elapsed().as_secs_f64());
    Ok(())
}
