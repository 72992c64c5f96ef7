//! Rigid contact in scene files.

use isobar::Scene;
use isobar::multibody::{DifferentiatedModel, ForceDependence, NoForces};
use isobar::step::{
    ComplementarityMethod, DerivativeWorkspace, Integrator, StepProblem, StepWorkspace, Tape,
};

use crate::folder::Folder;
use crate::gradients::Case;
use crate::scenes;

const SCENE: &str = r#"
[materials.wood]
friction = 0.3
friction_ellipsoid = [1, 1, 0.05]
[solver]
kind = "ecp"
time_step = 0.01
[[bodies]]
name = "block"
translation = [0, 0, 0.05]
linear_velocity = [0.5, 0, 0]
angular_velocity = [0, 0, 1]
mass = 1
[[bodies.geometries]]
shape = { box = { size = [0.2, 0.2, 0.1] } }
material = "wood"
rigid = true
[[bodies]]
name = "table"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
material = "wood"
rigid = true
"#;

fn load(folder: &Folder, text: &str) -> Result<Scene, String> {
    Scene::load(folder.file("scene.toml", text)).map_err(|error| error.to_string())
}

#[test]
fn a_block_slides_and_stops_with_each_solver() {
    let folder = Folder::new("rigid-scenes");
    for kind in ["ecp", "lcp", "ncp", "lagged", "sap"] {
        let scene = load(&folder, &SCENE.replace("ecp", kind)).expect("a scene");
        let trajectory = scene.rollout(0.5).expect("settings").simulate().expect("a motion");
        let last = trajectory.states.last().expect("states").bodies[0];
        // Contact gives way to a small part of an approach in the last two.
        let allowed = if ["lagged", "sap"].contains(&kind) { 1e-6 } else { 1e-9 };
        assert!((last.position.z - 0.05).abs() < 0.1 * allowed, "{kind}");
        assert!(last.velocity.translational.norm() < allowed, "{kind}");
        // v²/(2 μ g) is 42 mm for a block that does not turn; one that turns as well comes farther.
        assert!(last.position.x > 0.03 && last.position.x < 0.09, "{kind}: {}", last.position.x);
    }
}

#[test]
fn what_solvers_cannot_take_is_said() {
    let folder = Folder::new("rigid-refused");
    let refused = |text: &str, parts: &[&str]| {
        let error = match load(&folder, text) {
            Err(error) => error,
            Ok(scene) => scene.simulation_settings().expect_err("refused").to_string(),
        };
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    };
    refused(
        &SCENE.replace("\"ecp\"", "\"rk4\""),
        &["`block`", "`table`", "rigid", "`lagged`", "`ecp`, `lcp` or `ncp`"],
    );
    refused(
        &SCENE.replace("0.01\n", "0.01\naccuracy = 1e-5\n"),
        &["solver.accuracy", "\"ecp\"", "fixed length"],
    );
    refused(&SCENE.replace("[1, 1, 0.05]", "[1, 1, -0.05]"), &["friction_ellipsoid", "-0.05", "at least 0"]);
}

/// A bracket: two bars of 0.2 × 0.2 × 0.1 m, of which one stands on an end of the other.
fn bracket() -> String {
    let corners = [(0.0, 0.0), (0.2, 0.0), (0.2, 0.1), (0.1, 0.1), (0.1, 0.2), (0.0, 0.2)];
    let at = |y: f64| corners.map(|(x, z)| format!("v {x} {y} {z}\n")).concat();
    let sides = (1..=6).map(|k| format!("f {} {} {} {}\n", k + 6, k % 6 + 7, k % 6 + 1, k));
    let ends = "f 1 2 3 4\nf 1 4 5 6\nf 10 9 8 7\nf 12 11 10 7\n".to_owned();
    at(-0.1) + &at(0.1) + &sides.collect::<String>() + &ends
}

#[test]
fn a_rigid_mesh_that_is_not_convex_is_refused_where_its_hull_is_another_body() {
    let folder = Folder::new("rigid-not-convex");
    folder.file("bracket.obj", bracket());
    let block = "{ box = { size = [0.2, 0.2, 0.1] } }";
    let mesh = SCENE.replace(block, "{ mesh = { file = \"bracket.obj\" } }");
    let on_box = |text: &str| text.replace("{ half_space = {} }", "{ box = { size = [1, 1, 0.1] } }");
    let settings = |text: &str| load(&folder, text).expect("a scene").simulation_settings();
    // What touches a plane is the hull.
    settings(&mesh).expect("allowed");
    let error = settings(&on_box(&mesh)).expect_err("refused").to_string();
    for part in ["solver.kind", "`block`", "`table`", "fills 86 % of its convex hull", "pieces = true"] {
        assert!(error.contains(part), "{error}");
    }
    settings(&on_box(&mesh.replace("mesh =", "convex ="))).expect("the hull is meant");
    settings(&on_box(SCENE)).expect("a box is convex");
}

/// A desk: a plate of 0.5 × 0.5 × 0.1 m on four legs that are 0.35 m high, each piece an object of its own.
fn desk() -> String {
    let mut text = String::new();
    let mut add = |low: [f64; 3], high: [f64; 3]| {
        text += "o piece\n";
        for k in 0..8 {
            let [x, y, z] =
                std::array::from_fn(|axis| if k >> axis & 1 == 1 { high[axis] } else { low[axis] });
            text += &format!("v {x} {y} {z}\n");
        }
        for face in ["-8 -6 -5 -7", "-4 -3 -1 -2", "-8 -7 -3 -4", "-6 -2 -1 -5", "-8 -4 -2 -6", "-7 -5 -1 -3"]
        {
            text += &format!("f {face}\n");
        }
    };
    add([-0.25, -0.25, -0.1], [0.25, 0.25, 0.0]);
    for (x, y) in [(-0.25, -0.25), (0.19, -0.25), (-0.25, 0.19), (0.19, 0.19)] {
        add([x, y, -0.45], [x + 0.06, y + 0.06, -0.1]);
    }
    text
}

#[test]
fn a_desk_of_convex_pieces_stands_over_a_box_between_its_legs() {
    let folder = Folder::new("rigid-pieces");
    folder.file("desk.obj", desk());
    let text = "[materials.m]\nfriction = 0.4\n[solver]\nkind = \"KIND\"\ntime_step = 5e-3\n\
                [[bodies]]\nname = \"desk\"\nmass = 15\ntranslation = [0.02, -0.03, 0.47]\n[[bodies.geometries]]\n\
                material = \"m\"\nrigid = true\nshape = { convex = { file = \"desk.obj\", pieces = true } }\n\
                [[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\nmaterial = \"m\"\nrigid = true\n\
                shape = { half_space = {} }\n\
                [[bodies]]\nname = \"box\"\nfixed = true\ntranslation = [0, 0, 0.15]\n[[bodies.geometries]]\n\
                material = \"m\"\nrigid = true\nshape = { box = { size = [0.1, 0.1, 0.3] } }\n";
    for kind in ["ecp", "lcp", "ncp", "lagged", "similar", "tamsi", "sap"] {
        let scene = load(&folder, &text.replace("KIND", kind)).expect("a scene");
        assert_eq!(scene.model.bodies()[0].geometries.len(), 5);
        let motion = scene.rollout(0.5).expect("settings").simulate().expect("a motion");
        let body = motion.states.last().expect("states").bodies[0];
        assert!((body.position.z - 0.45).abs() < 1e-6, "{kind}: {}", body.position.z);
        assert!(body.velocity.translational.norm() < 1e-6, "{kind}: {}", body.velocity.translational);
    }
    let text = text.replace("KIND", "lagged");
    let error = load(&folder, &text.replace("file = \"desk.obj\", ", "points = [[0, 0, 0]], "));
    assert!(error.expect_err("no file").contains("shape.convex.pieces"));
    folder.file("desk.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n");
    let error = load(&folder, &text).expect_err("no triangle");
    assert!(error.contains("shape.convex.file") && error.contains("no triangle"), "{error}");
    folder.file("desk.obj", bracket());
    let error = load(&folder, &text).expect_err("not convex");
    assert!(error.contains("piece 1 of 1 fills 86 % of its convex hull"), "{error}");
}

#[test]
fn what_is_wrong_with_bolts_and_holes_is_said() {
    let folder = Folder::new("bolts-refused");
    let bolt = std::fs::read_to_string(crate::bolt_scene::FILE).expect("the scene");
    let refused = |from: &str, to: &str, parts: &[&str]| {
        assert!(bolt.contains(from), "{from}");
        let error = match load(&folder, &bolt.replace(from, to)) {
            Err(error) => error,
            Ok(scene) => scene.simulation_settings().expect_err("refused").to_string(),
        };
        for part in parts {
            assert!(error.contains(part), "{error}");
        }
    };
    refused("tip_radius = 0.008", "tip_radius = 0.02", &["shape.bolt", "tip radius", "0.02"]);
    refused("mouth_depth = 0.006, ", "", &["shape.hole.mouth_depth", "missing"]);
    refused("mouth_radius = 0.016, ", "", &["shape.hole.mouth_radius", "missing"]);
    refused("mouth_radius = 0.016", "mouth_radius = 0.01", &["shape.hole", "mouth radius", "0.01"]);
    refused("plate_radius = 0.04", "plate_radius = 0.01", &["shape.hole", "plate radius", "0.01"]);
    refused("depth = 0.05", "depth = -0.05", &["shape.hole.depth", "-0.05"]);
    let compliant = bolt.replacen("material = \"steel\"\nrigid = true\n", "material = \"soft\"\n", 1);
    let material = "[materials.steel]";
    let soft = "[materials.soft]\nhydroelastic_modulus = 1e5\n\n[materials.steel]";
    let error = load(&folder, &compliant.replace(material, soft)).expect_err("an error");
    assert!(error.contains("shape.bolt") && error.contains("no pressure field"), "{error}");
    let sphere = "shape = { sphere = { radius = 0.01 } }";
    let shape = bolt.lines().find(|line| line.contains("bolt = {")).expect("a bolt");
    refused(shape, sphere, &["solver.kind", "`bolt`", "`plate`", "sphere and hole"]);
}

#[test]
fn the_desk_of_the_paper_is_a_scene_with_loads() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/rigid_contact/desk.toml");
    let scene = Scene::load(path).expect("a scene");
    let trajectory = scene.rollout(4.0).expect("settings").simulate().expect("a motion");
    let expected = scenes::desk().simulate(ComplementarityMethod::Ecp).expect("a motion");
    assert_eq!(trajectory.states.len(), expected.states.len());
    for (state, expected) in trajectory.states.iter().zip(&expected.states) {
        let off = (state.bodies[0].position - expected.position).norm()
            + (state.bodies[0].velocity.rotational - expected.velocity.rotational).norm();
        assert!(off < 1e-9, "{off:e}");
    }
}

#[test]
fn loads_are_read_from_files_and_what_is_wrong_with_them_is_said() {
    let folder = Folder::new("loads");
    folder.file("push.csv", "t,x,y,z\n0,0,0,0\n0.1,2,0,0\n");
    folder.file("wrong.csv", "t,x,y,z\n0,0,0,0\n0.1,2,0\n");
    folder.file("back.csv", "t,x,y,z\n0.2,0,0,0\n0.1,2,0,0\n");
    let with = |load: &str| load_scene(&folder, load);
    let scene = with(r#"force = { file = "push.csv", interpolation = "linear" }"#).expect("a scene");
    assert_eq!(scene.model.loads()[0].history.at(0.05).x, 1.0);
    assert!(scene.files.iter().any(|file| file.ends_with("push.csv")));
    let pushed = scene.rollout(0.2).expect("settings").simulate().expect("a motion");
    let knots = r#"force = { times = [0, 0.1], values = [[0, 0, 0], [2, 0, 0]], interpolation = "linear" }"#;
    let same = with(knots).expect("a scene").rollout(0.2).expect("settings").simulate().expect("a motion");
    assert_eq!(pushed, same);
    let refused = [
        ("", "loads[0]: found neither `force` nor `torque`"),
        ("torque = [0, 0, 1]\npoint = [0, 0, 0]", "loads[0].point: found without `force`"),
        ("force = [0, 0]", "3 elements"),
        (r#"force = { file = "wrong.csv" }"#, "line 3: found `0.1,2,0`; a line has four numbers"),
        (r#"force = { file = "back.csv" }"#, "line 3: found the time 0.1 after 0.2"),
        (r#"force = { file = "none.csv" }"#, "cannot read"),
        ("force = { times = [0, 1], values = [[0, 0, 0]] }", "loads[0].force.values: found 1 for 2 times"),
        ("force = { times = [1, 1], values = [] }", "loads[0].force.times[1]: found 1 after 1"),
        ("force = { values = [] }", "loads[0].force.times: is missing"),
        ("force = { sine = [1, 0, 0] }", "loads[0].force.sine: found without `period`"),
        ("force = { period = 0 }", "loads[0].force.period: found 0; it must be positive"),
        ("force = { period = 1, times = [0] }", "loads[0].force.times: found beside `period`"),
    ];
    for (load, part) in refused {
        let error = with(load).expect_err("refused");
        assert!(error.contains(part), "{load}: {error}");
    }
    let scene = format!("{SCENE}[[loads]]\nbody = \"table\"\nforce = [1, 0, 0]\n");
    let error = self::load(&folder, &scene).expect_err("refused");
    assert!(error.contains("loads[0].body: `table` does not move freely"), "{error}");
    let error =
        self::load(&folder, &scene.replace("body = \"table\"", "body = \"tables\"")).expect_err("refused");
    assert!(error.contains("there is no body `tables`; those that move freely are `block`"), "{error}");
}

fn load_scene(folder: &Folder, load: &str) -> Result<Scene, String> {
    self::load(folder, &format!("{SCENE}[[loads]]\nbody = \"block\"\n{load}\n"))
}

/// A chip of 2 g that spins between a capsule and the floor: from the 84th step on some have no solution as a whole.
const DIVIDED: &str = r#"
[materials.m]
dynamic_friction = 0.972883343254188
static_friction = 0.972883343254188
[solver]
kind = "ncp"
time_step = 0.0026989295816312116
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
material = "m"
rigid = true
[[bodies]]
name = "b0"
translation = [-0.0023743987073415584, -0.0025989309680350724, 0.1813167398825615]
quaternion_wxyz = [0.9790973021385597, 0.07060675008167139, -0.16717006064885973, -0.09185494331038901]
linear_velocity = [-0.15612314928991983, -0.16078508579827286, -0.08016685514845333]
angular_velocity = [-0.8419279386020129, -0.43735572125895644, -1.577277176234231]
density = 339.66864330285665
[[bodies.geometries]]
shape = { capsule = { radius = 0.08403262439334869, length = 0.1616624029172139 } }
material = "m"
rigid = true
[[bodies]]
name = "b1"
translation = [-0.0030305393315507812, 0.009247111114601216, 0.3716359964676849]
quaternion_wxyz = [-0.29981699300296555, 0.6368798424662125, -0.27251484910860363, 0.6559188166093322]
linear_velocity = [0.006517732920512266, -0.04626809531739284, -0.29564302958085514]
angular_velocity = [-0.6871959991902684, -0.2612666386024056, 0.659682014750752]
density = 4220.177702602643
[[bodies.geometries]]
shape = { box = { size = [0.011977124682987698, 0.005848775588398979, 0.007614437653882473] } }
material = "m"
rigid = true
"#;

#[test]
fn a_step_that_has_no_solution_is_divided_and_differentiated() {
    let folder = Folder::new("rigid-divided");
    let scene = load(&folder, DIVIDED).expect("a scene");
    let model = &scene.model;
    let integrator = Integrator::Complementarity(ComplementarityMethod::Ncp);
    let case = Case {
        model,
        integrator,
        time_step: scene.time_step,
        applied: &NoForces,
        control: &[],
        parameters: &[],
    };
    let mut workspace = StepWorkspace::default();
    let mut state = scene.state.clone();
    for _ in 0..100 {
        let after = case.step(&state, &mut workspace).expect("a step");
        if workspace.substeps().is_some() {
            break;
        }
        state = after;
    }
    let parts = workspace.substeps().expect("a divided step").substeps.clone();
    assert!(parts.len() > 1, "{parts:?}");
    let length: f64 = parts.iter().map(|part| part.length).sum();
    assert!((length - scene.time_step).abs() < 1e-12 * length, "{length}");
    assert!(!workspace.rigid_contacts().is_empty());
    let differentiated =
        DifferentiatedModel::new(model, &[], ForceDependence::default(), 0).expect("a model");
    let problem = StepProblem::new(model, &state, scene.time_step);
    let mut tape = Tape::default();
    let after = integrator.step_taped(&problem, &differentiated, &mut workspace, &mut tape).expect("a step");
    let jacobian =
        tape.jacobian(&differentiated, &NoForces, &mut DerivativeWorkspace::default()).expect("a derivative");
    // With the parts held, as in steps of controlled error: which they are jumps.
    // The velocities of both bodies along the normal of the floor.
    for column in [11, 23] {
        let at = |d: f64| {
            let mut tangent = vec![0.0; state.tangent_dimension()];
            tangent[column] = d;
            let mut there = state.moved(&tangent);
            for part in &parts {
                let step = StepProblem::new(model, &there, part.length);
                there = integrator.step(&step, &mut StepWorkspace::default()).expect("a step");
            }
            after.difference(&there)
        };
        let d = 1e-7;
        for ((high, low), by) in at(d).iter().zip(at(-d)).zip(jacobian.by_state.column(column).iter()) {
            let slope = (high - low) / (2.0 * d);
            assert!((slope - by).abs() < 1e-5 * (1.0 + by.abs()), "column {column}: {slope}, not {by}");
        }
    }
}
