//! Every reader of files against files with mistakes: the bundled ones and small ones of every
//! format, mutated. Nothing panics or hangs, and what is refused is refused in one line that names
//! the file. And random scenes of every kind of step: nothing that is returned is not finite, and
//! the bits are the same on one thread and on two.
//!
//! A failure prints the number of the input; `ISOBAR_FUZZ_INPUT=NUMBER` runs that one alone.
//! `ISOBAR_FUZZ_INPUTS` and `ISOBAR_FUZZ_SCENES` ask for more (20,000 and 300 without), the inputs
//! from number `ISOBAR_FUZZ_FIRST` on:
//!
//! ```sh
//! ISOBAR_FUZZ_INPUTS=10000000 cargo test --release --test command fuzz -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use isobar::geometry::{SurfaceMesh, VolumeMesh};
use isobar::io::robot::{Robot, RobotOptions};
use isobar::io::{CheckpointFile, FitFile, JointStateFile, ProblemFile, Scene, TrajectoryTable};
use isobar::optimize::checkpoint::ProblemCheckpoints;
use isobar::optimize::data::{Columns, Indentation, Recording};
use isobar::rollout::SimulationError;
use rand::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::checked_scenes;
use crate::folder::Folder;
use crate::fuzz_files::{
    MJCF, MSH, OBJ, PLY, SDF, STL_TEXT, VTK, VTK_5, VTU, VTU_ZLIB, WORLD, binary_stl, binary_tetrahedra,
    mujoco_surface, trajectory,
};
use crate::mutation::{Random, mutate_file, pick};
use crate::scenes::TOML;

/// An input that is not read after this long hangs.
const CEILING: Duration = Duration::from_secs(30);
/// Threads need not be waited for longer than this once all inputs are read.
const PATIENCE: Duration = Duration::from_millis(100);

/// What reads a file, and whether it is valid: one line if it is not.
type Reader = fn(&Path) -> Result<(), String>;

/// A valid file, in a folder with the files that it names.
struct Original {
    /// The folder beside this crate that is copied for it, if any.
    folder: Option<&'static str>,
    /// Its name, with the extension that tells its format.
    name: String,
    content: Vec<u8>,
    reader: Reader,
    /// How often it is drawn: what takes long is drawn less.
    weight: usize,
}

fn told<T, E: ToString>(outcome: Result<T, E>) -> Result<(), String> {
    outcome.map(drop).map_err(|e| e.to_string())
}

fn scene(path: &Path) -> Result<(), String> {
    let scene = Scene::load(path).map_err(|e| e.to_string())?;
    told(scene.simulation_settings())
}

fn scene_for_contact(path: &Path) -> Result<(), String> {
    told(Scene::load(path))
}

fn fit(path: &Path) -> Result<(), String> {
    told(FitFile::load(path).map_err(|e| e.to_string())?.identification())
}

fn surface(path: &Path) -> Result<(), String> {
    told(SurfaceMesh::read(path))
}

fn volume(path: &Path) -> Result<(), String> {
    told(VolumeMesh::read(path))
}

fn robot(path: &Path) -> Result<(), String> {
    told(Robot::load(path, &RobotOptions::default()))
}

/// Resumes the problem beside a checkpoint from it.
fn checkpoint(path: &Path) -> Result<(), String> {
    let problem = path.parent().map(|folder| folder.join("problem.toml")).unwrap_or_default();
    let file = ProblemFile::load(problem).map_err(|e| e.to_string())?;
    let problem = file.problem().map_err(|e| e.to_string())?;
    let start = problem.variables(&file.start).map_err(|e| e.to_string())?;
    let store = CheckpointFile { path: path.to_owned() };
    let checkpoints = ProblemCheckpoints { store: Arc::new(store), problem: "fuzz".into() };
    let optimum =
        file.optimize(&start, Default::default(), Some(checkpoints), None).map(|(optimum, _)| optimum);
    // The command names the file that it was given.
    told(optimum.map_err(|e| format!("{}: {e}", path.display())))
}

/// A state of the mechanism of the scene beside it.
fn joint_state(path: &Path) -> Result<(), String> {
    let scene = path.parent().map(|folder| folder.join("scene.toml")).unwrap_or_default();
    let scene = Scene::load(scene).map_err(|e| e.to_string())?;
    told(JointStateFile::load(path, scene.model.mechanism()))
}

/// A slide with a force, for checkpoints and joint states.
const SLIDE: &str = r#"
[solver]
kind = "lagged"
time_step = 1e-2
[[bodies]]
name = "slide"
mass = 1
inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
joint = { type = "prismatic", axis = [1, 0, 0] }
[[actuators]]
name = "push"
joints = ["slide"]
drive = "force"
effort = 10
"#;

const SLIDE_PROBLEM: &str = r#"
scene = "scene.toml"
until = 0.05
[knots]
count = 3
interpolation = "linear"
[[controls]]
actuator = "push"
lower = -5
upper = 5
start = 1
[[costs]]
name = "effort"
control = "push"
weight = 0.1
[[costs]]
name = "place"
joint_position = { joint = "slide" }
target = 0.01
weight = 100
when = "end"
[optimizer]
kind = "KIND"
max_iterations = 3
"#;

/// A checkpoint of the slide's problem, written after two iterations.
fn made_checkpoint(folder: &Folder, kind: &str) -> Vec<u8> {
    folder.file("scene.toml", SLIDE);
    let problem = folder.file("problem.toml", SLIDE_PROBLEM.replace("KIND", kind));
    let file = ProblemFile::load(&problem).expect("a valid problem");
    let path = folder.0.join("checkpoint.json");
    checkpoint(&path).expect("a problem that can be solved");
    drop(file);
    fs::read(path).expect("a checkpoint")
}

/// The files that mistakes are made in.
fn originals() -> Vec<Original> {
    let mut all = Vec::new();
    let root = Path::new(crate::ROOT);
    let mut bundled = |folder: &'static str, name: &str, reader: Reader, weight: usize| {
        let content = fs::read(root.join(folder).join(name)).expect("a bundled file");
        all.push(Original { folder: Some(folder), name: name.into(), content, reader, weight });
    };
    for (folder, name) in [
        ("examples/push_box", "scene.toml"),
        ("examples/spatula", "scene.toml"),
        ("examples/pencil", "scene.toml"),
        ("examples/grasp_lift", "gripper.toml"),
        ("examples/grasp_lift", "box_gripper.toml"),
        ("examples/fit_ball", "scene.toml"),
    ] {
        bundled(folder, name, scene, 1);
    }
    bundled("examples/grasp_lift", "problem.toml", |p| told(ProblemFile::load(p)), 1);
    bundled("examples/grasp_lift", "box_problem.toml", |p| told(ProblemFile::load(p)), 1);
    bundled("examples/fit_ball", "fit.toml", fit, 1);
    bundled("examples/fit_ball", "fit_indentation_only.toml", fit, 1);
    bundled("examples/fit_ball", "data/indentation.csv", |p| told(Indentation::read(p, &Columns::new())), 60);
    bundled(
        "examples/fit_ball",
        "data/throw_1.csv",
        |p| told(Recording::read(p, "ball", &Columns::new())),
        30,
    );
    bundled("examples/pancake", "arm.urdf", robot, 20);
    let mut made = |name: &str, content: Vec<u8>, reader: Reader, weight: usize| {
        all.push(Original { folder: None, name: name.into(), content, reader, weight });
    };
    made("scene.toml", TOML.into(), scene_for_contact, 2);
    let table: toml::Table = TOML.parse().expect("a scene");
    let json = serde_json::to_vec_pretty(&table).expect("a table");
    made("scene.json", json, scene, 2);
    made("a.obj", OBJ.into(), surface, 60);
    made("a.stl", STL_TEXT.into(), surface, 60);
    made("a.ply", PLY.into(), surface, 60);
    made("b.stl", binary_stl(), surface, 60);
    made("a.vtk", VTK.into(), volume, 60);
    made("b.vtk", VTK_5.into(), volume, 60);
    made("a.vtu", VTU.into(), volume, 60);
    made("b.vtu", VTU_ZLIB.into(), volume, 60);
    made("a.msh", MSH.into(), volume, 60);
    let [vtk, msh] = binary_tetrahedra();
    made("c.vtk", vtk, volume, 60);
    made("b.msh", msh, volume, 60);
    made("m.sdf", SDF.into(), robot, 20);
    made("m.xml", MJCF.into(), robot, 20);
    made("w.sdf", WORLD.into(), robot, 20);
    made("m.msh", mujoco_surface(), surface, 60);
    made("trajectory.csv", trajectory(), |p| told(TrajectoryTable::read(p)), 60);
    made("parameters.json", br#"{"materials.foam.friction": 0.5, "b": 1e5}"#.to_vec(), parameters, 60);
    all
}

fn parameters(path: &Path) -> Result<(), String> {
    told(FitFile::read_parameter_values(path))
}

/// The files of the slide: checkpoints of every optimizer, and a joint state.
fn originals_of_slide() -> Vec<(String, Original)> {
    let mut all = Vec::new();
    for kind in ["ilqr", "lbfgs", "levenberg_marquardt"] {
        let content = made_checkpoint(&Folder::new("fuzz-slide"), kind);
        let name = "checkpoint.json".into();
        all.push((kind.into(), Original { folder: None, name, content, reader: checkpoint, weight: 15 }));
    }
    let content = br#"{"joints": ["slide"], "q": [0.1], "v": [0.2], "vdot": [0.3]}"#.to_vec();
    let state =
        Original { folder: None, name: "state.json".into(), content, reader: joint_state, weight: 30 };
    all.push(("lbfgs".into(), state));
    all
}

/// Copies the files of a folder, and of the folders in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a bundled folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// A worker's own folders, one for each original.
struct Desk {
    _folder: Folder,
    places: Vec<PathBuf>,
}

impl Desk {
    fn new(originals: &[(Option<String>, Original)]) -> Self {
        let folder = Folder::new("fuzz");
        let places = originals.iter().enumerate().map(|(i, (optimizer, original))| {
            let place = folder.0.join(i.to_string());
            fs::create_dir_all(&place).expect("a folder");
            if let Some(from) = original.folder {
                copy(&Path::new(crate::ROOT).join(from), &place);
            }
            if let Some(optimizer) = optimizer {
                fs::write(place.join("scene.toml"), SLIDE).expect("a file");
                fs::write(place.join("problem.toml"), SLIDE_PROBLEM.replace("KIND", optimizer))
                    .expect("a file");
            }
            place
        });
        Self { places: places.collect(), _folder: folder }
    }
}

/// What reading one input came to: whether it was valid; what is wrong otherwise.
fn read_input(
    number: u64,
    originals: &[(Option<String>, Original)],
    desk: &Desk,
) -> Result<(usize, bool), String> {
    let mut random = Random::seed_from_u64(number);
    let total: usize = originals.iter().map(|(_, o)| o.weight).sum();
    let mut draw = random.random_range(0..total);
    let which = originals.iter().position(|(_, o)| {
        let found = draw < o.weight;
        draw = draw.wrapping_sub(o.weight);
        found
    });
    let which = which.expect("one of them");
    let (_, original) = &originals[which];
    let content = mutate_file(&original.content, &mut random);
    let path = desk.places[which].join(&original.name);
    fs::write(&path, &content).expect("a file");
    let fault = |what: String| {
        let shown = String::from_utf8_lossy(&content);
        format!("input {number}, {}: {what}\n---\n{shown}\n---", original.name)
    };
    match catch_unwind(AssertUnwindSafe(|| (original.reader)(&path))) {
        Err(_) => Err(fault("panicked".into())),
        Ok(Ok(())) => Ok((which, true)),
        Ok(Err(message)) => {
            let folder = desk.places[which].display().to_string();
            if message.contains('\n') || message.contains('\r') {
                Err(fault(format!("more than a line: {message:?}")))
            } else if !message.contains(&folder) {
                Err(fault(format!("names no file: {message}")))
            } else {
                Ok((which, false))
            }
        }
    }
}

/// The number that a variable of the environment asks for.
fn asked_for(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number"))
}

/// Ends the program where an input is read for too long.
fn watch(started: &Mutex<BTreeMap<usize, (u64, Instant)>>, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        std::thread::sleep(PATIENCE);
        let slow = started.lock().expect("no panic").values().find(|(_, at)| at.elapsed() > CEILING).copied();
        if let Some((number, _)) = slow {
            println!("input {number} hangs");
            std::process::exit(101);
        }
    }
}

#[test]
fn readers_refuse_mistakes_in_one_line() {
    let plain = originals().into_iter().map(|original| (None, original));
    let of_slide = originals_of_slide().into_iter().map(|(kind, original)| (Some(kind), original));
    let originals: Vec<(Option<String>, Original)> = plain.chain(of_slide).collect();
    let (first, count) = match asked_for("ISOBAR_FUZZ_INPUT") {
        Some(number) => (number, 1),
        None => {
            (asked_for("ISOBAR_FUZZ_FIRST").unwrap_or(0), asked_for("ISOBAR_FUZZ_INPUTS").unwrap_or(20_000))
        }
    };
    let (start, slowest) = (Instant::now(), AtomicU64::new(0));
    let (started, done) = (Mutex::new(BTreeMap::new()), AtomicBool::new(false));
    let outcomes: Vec<Result<(usize, bool), String>> = std::thread::scope(|scope| {
        scope.spawn(|| watch(&started, &done));
        // A place for every worker: the folder is made once for many inputs.
        let read = |desk: &mut Desk, number: u64| {
            let worker = rayon::current_thread_index().unwrap_or(0);
            let began = Instant::now();
            started.lock().expect("no panic").insert(worker, (number, began));
            let outcome = read_input(number, &originals, desk);
            started.lock().expect("no panic").remove(&worker);
            slowest.fetch_max(began.elapsed().as_millis() as u64, Ordering::Relaxed);
            outcome
        };
        let places = (0..count as usize).into_par_iter().with_min_len(1000);
        let outcomes = places
            .map_init(|| Desk::new(&originals), |desk, place| read(desk, first + place as u64))
            .collect();
        done.store(true, Ordering::Relaxed);
        outcomes
    });
    let mut valid = vec![[0_u64; 2]; originals.len()];
    let mut faults = Vec::new();
    for outcome in outcomes {
        match outcome {
            Ok((which, is_valid)) => valid[which][usize::from(is_valid)] += 1,
            Err(fault) => faults.push(fault),
        }
    }
    for ((_, original), [refused, read]) in originals.iter().zip(valid) {
        println!("{:28} {refused:>8} refused, {read:>8} read", original.name);
    }
    let slowest = slowest.into_inner();
    println!("{count} inputs in {:.1} s, the slowest {slowest} ms", start.elapsed().as_secs_f64());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(8)].join("\n"));
}

/// Balls in a heap: more pairs than one thread takes.
fn heap(random: &mut Random) -> String {
    let kind = pick(random, &checked_scenes::KINDS);
    let mut text = format!(
        "[solver]\nkind = \"{kind}\"\ntime_step = 1e-3\n[materials.foam]\nhydroelastic_modulus = 1e5\ndissipation = 1.0\n\
         friction = 0.5\n[[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\n\
         shape = {{ half_space = {{}} }}\nrigid = true\n"
    );
    for i in 0..18 {
        let place = [i % 3, i / 3 % 3, i / 9].map(|k| 0.09 * f64::from(k) + random.random_range(-0.01..0.01));
        text += &format!(
            "[[bodies]]\nname = \"ball {i}\"\nmass = 0.1\ntranslation = [{}, {}, {}]\n[[bodies.geometries]]\n\
             shape = {{ sphere = {{ radius = 0.05, resolution = 0.05 }} }}\nmaterial = \"foam\"\n",
            place[0],
            place[1],
            0.048 + place[2]
        );
    }
    text
}

/// The bits of all states after a few steps; the failure of a step instead where one fails.
fn bits_after(text: &str, folder: &Folder, steps: usize) -> Result<Vec<u64>, String> {
    let path = folder.file("scene.toml", text);
    let scene = Scene::load(&path).expect("a valid scene");
    let run = scene.rollout(steps as f64 * scene.time_step).expect("a valid solver").motion().completed();
    let numbers = |trajectory: isobar::rollout::Trajectory| {
        let state = trajectory.states.last().expect("a state").clone();
        assert!(state.is_finite(), "a state that is not finite was returned");
        scene.state.difference(&state).iter().map(|x| x.to_bits()).collect()
    };
    match run {
        Ok(trajectory) => Ok(numbers(trajectory)),
        Err(error @ (SimulationError::Step { .. } | SimulationError::NotFinite { .. })) => {
            Err(error.to_string())
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn random_scenes_are_finite_and_the_same_on_any_number_of_threads() {
    let count = asked_for("ISOBAR_FUZZ_SCENES").unwrap_or(300);
    let pools = [1, 2].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("threads"));
    let start = Instant::now();
    let mut failed = BTreeMap::new();
    for seed in 0..count {
        let heaped = seed % 20 == 19;
        let text = match heaped {
            true => heap(&mut Random::seed_from_u64(seed)),
            false => checked_scenes::scene(seed).text,
        };
        let folder = Folder::new(&format!("random-scene-{seed}"));
        let run = || catch_unwind(AssertUnwindSafe(|| bits_after(&text, &folder, 20)));
        let [one, two] = [0, 1].map(|i| pools[i].install(run));
        let [Ok(one), Ok(two)] = [one, two] else { panic!("scene {seed} panics:\n{text}") };
        assert_eq!(one, two, "scene {seed}:\n{text}");
        if let Err(error) = one {
            failed.insert(seed, error);
        }
    }
    println!("{count} scenes in {:.1} s, of which {} stopped:", start.elapsed().as_secs_f64(), failed.len());
    failed.iter().for_each(|(seed, error)| println!("  scene {seed}: {error}"));
    // No more than those whose explicit steps are too long for them.
    assert!(failed.len() as u64 <= count / 20, "{} of {count} stopped", failed.len());
}
