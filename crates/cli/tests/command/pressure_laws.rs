//! Pressure laws in scene files: what is loaded, the energy of what moves by them, and what is refused.

use std::path::Path;

use isobar::contact::ContactGeometry;
use isobar::field::{PressureField, PressureLaw, primitive_field};
use isobar::geometry::Shape;
use isobar::io::{Scene, TrajectoryTable};
use isobar::multibody::{BodyPair, SensorWorkspace, State};

use crate::folder::Folder;
use crate::{isobar, text};

const RADIUS: f64 = 0.05;
const HEIGHT: f64 = 0.02;

/// A tumbling ball over a block, each with what is written for it.
fn scene(ball: &str, block: &str, solver: &str) -> String {
    format!(
        r#"
[materials.rubber]
hydroelastic_modulus = 1e5
[solver]
{solver}
[[bodies]]
name = "ball"
translation = [0, 0, {}]
rpy = [0.3, 0.5, 0.1]
angular_velocity = [1, -2, 0.5]
mass = 0.2
[[bodies.geometries]]
shape = {{ sphere = {{ radius = {RADIUS}, resolution = 0.03 }} }}
{ball}
[[bodies]]
name = "block"
fixed = true
translation = [0, 0, -0.05]
[[bodies.geometries]]
shape = {{ box = {{ size = [0.4, 0.4, 0.1] }} }}
{block}
"#,
        RADIUS + HEIGHT
    )
}

fn of_rubber(law: &str) -> String {
    format!("material = \"rubber\"\npressure_law = {law}")
}

fn field(scene: &Scene, body: usize) -> &PressureField {
    match scene.model.bodies()[body].geometries[0].collider.geometry.as_ref() {
        ContactGeometry::Compliant(field) => field,
        _ => panic!("the body is compliant"),
    }
}

fn load(folder: &Folder, content: &str) -> Scene {
    Scene::load(folder.file("scene.toml", content)).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_scene_has_the_fields_of_its_laws() {
    let folder = Folder::new("laws");
    let points = "[[0.0, 0.0], [0.7, 0.3], [1.0, 5.0]]";
    let stiff_core = PressureLaw::table(vec![[0.0, 0.0], [0.7, 0.3], [1.0, 5.0]]).unwrap();
    let power = |exponent| PressureLaw::power(exponent).unwrap();
    let (ball, block) = (Shape::Sphere { radius: RADIUS }, Shape::Box { size: [0.4, 0.4, 0.1] });
    let expected = |shape: &Shape, law: &PressureLaw, layers| {
        let (mesh, extent) = primitive_field(shape, 0.03).unwrap();
        law.field(mesh, extent, layers).unwrap()
    };
    for (of_ball, of_block, [ball_field, block_field]) in [
        (
            "{ power = { exponent = 1.5, layers = 3 } }".to_owned(),
            format!("{{ table = {{ points = {points}, layers = 10 }} }}"),
            [expected(&ball, &power(1.5), 3), expected(&block, &stiff_core, 10)],
        ),
        (
            "{ power = { exponent = 2 } }".to_owned(),
            format!("{{ table = {{ points = {points} }} }}"),
            [expected(&ball, &power(2.0), 15), expected(&block, &stiff_core, stiff_core.default_layers(1.0))],
        ),
        (
            "\"linear\"".to_owned(),
            "{ power = { exponent = 1, layers = 2 } }".to_owned(),
            [expected(&ball, &PressureLaw::Linear, 1), expected(&block, &PressureLaw::Linear, 2)],
        ),
    ] {
        let content = scene(&of_rubber(&of_ball), &of_rubber(&of_block), "");
        let loaded = load(&folder, &content);
        assert_eq!(loaded.warnings, Vec::<String>::new());
        for (body, expected) in [ball_field, block_field].iter().enumerate() {
            assert_eq!(field(&loaded, body).mesh(), expected.mesh());
            assert_eq!(field(&loaded, body).extent(), expected.extent());
        }
        // The same as JSON.
        let table: toml::Table = content.parse().unwrap();
        let json = folder.file("scene.json", serde_json::to_string(&table).unwrap());
        let read = Scene::load(json).unwrap();
        assert_eq!(field(&read, 1).extent(), field(&loaded, 1).extent());
        // Layers do not change what the body weighs.
        let mass = loaded.model.bodies()[0].geometries[0].unit_mass.unwrap().mass;
        let plain = load(&folder, &scene(&of_rubber("\"linear\""), &of_rubber("\"linear\""), ""));
        assert_eq!(plain.model.bodies()[0].geometries[0].unit_mass.unwrap().mass, mass);
    }
    // Geometries of the same shape share a field only with the same law.
    let body = |(name, law): (&str, &str)| {
        format!(
            "[[bodies]]\nname = \"{name}\"\nmass = 1\n[[bodies.geometries]]\nshape = {{ sphere = {{ radius = 0.1 }} }}\n\
             material = \"rubber\"\n{law}\n"
        )
    };
    let bodies = [
        ("square", "pressure_law = { power = { exponent = 2 } }"),
        ("cube", "pressure_law = { power = { exponent = 3 } }"),
        ("line", ""),
    ];
    let content = format!("[materials.rubber]\nhydroelastic_modulus = 1e5\n{}", bodies.map(body).concat());
    let loaded = load(&folder, &content);
    let sizes = [0, 1, 2].map(|body| field(&loaded, body).tetrahedra().len());
    assert!(sizes[1] > sizes[0] && sizes[0] > sizes[2], "{sizes:?}");
}

/// Meshes take laws as primitives do, whichever way their extents are made, also with numbers above 1.
#[test]
fn meshes_have_laws_too() {
    let folder = Folder::new("laws-of-meshes");
    let square = "vertices = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1], [0.02, 0.02, 0.02]], \
                  tetrahedra = [[4, 1, 2, 3], [0, 4, 2, 3], [0, 1, 4, 3], [0, 1, 2, 4]]";
    let scene = |extent: &str, law: &str| {
        format!(
            "[materials.rubber]\nhydroelastic_modulus = 1e5\n[[bodies]]\nname = \"body\"\nmass = 1\n\
             [[bodies.geometries]]\nshape = {{ volume_mesh = {{ {square}, extent = {extent} }} }}\n{}\n",
            of_rubber(law)
        )
    };
    let law = "{ power = { exponent = 2, layers = 4 } }";
    for (extent, core) in [
        ("\"distance\"", 1.0_f64),
        ("\"laplace\"", 1.0),
        ("[0, 0, 0, 0, 1.0]", 1.0),
        ("[0, 0, 0, 0, 3.0]", 3.0),
    ] {
        let loaded = load(&folder, &scene(extent, law));
        let mut values = field(&loaded, 0).extent().to_vec();
        values.sort_by(f64::total_cmp);
        values.dedup_by(|a, b| (*a - *b).abs() < 1e-12);
        // At the squares of the quarters of the extent its square.
        let expected = [0.0, 1.0 / 256.0, 16.0 / 256.0, 81.0 / 256.0, 1.0].map(|part| part * core * core);
        assert_eq!(values.len(), 5, "{values:?}");
        values.iter().zip(expected).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{values:?}"));
        assert_eq!(field(&load(&folder, &scene(extent, "\"linear\"")), 0).tetrahedra().len(), 4);
    }
}

#[test]
fn laws_that_cannot_be_are_refused_where_they_stand() {
    let folder = Folder::new("bad-laws");
    let linear = of_rubber("\"linear\"");
    let power = |fields: &str| of_rubber(&format!("{{ power = {{ {fields} }} }}"));
    let table = |fields: &str| of_rubber(&format!("{{ table = {{ {fields} }} }}"));
    for (ball, place, message) in [
        (
            "rigid = true\npressure_law = { power = { exponent = 2 } }".to_owned(),
            "pressure_law",
            "found beside rigid = true; a rigid geometry has no pressure",
        ),
        (power("exponent = 0"), "pressure_law.power.exponent", "found 0; it must be positive and finite"),
        (power("exponent = inf"), "pressure_law.power.exponent", "found inf; it must be positive and finite"),
        (
            power("exponent = 2, layers = 0"),
            "pressure_law.power.layers",
            "found 0; it must be between 1 and 64",
        ),
        (
            power("exponent = 2, layers = 65"),
            "pressure_law.power.layers",
            "found 65; it must be between 1 and 64",
        ),
        (power("exponent = 2, layer = 3"), "pressure_law.power", "layer"),
        (power("layers = 3"), "pressure_law.power", "exponent"),
        (of_rubber("\"cubic\""), "pressure_law", "cubic"),
        (table("points = []"), "pressure_law.table.points", "has 0 points; it needs at least 2"),
        (
            table("points = [[0.1, 0], [1, 1]]"),
            "pressure_law.table.points[0]",
            "the first point of the pressure law is (0.1, 0); it must be (0, 0)",
        ),
        (
            table("points = [[0, 0], [0.5, 0.4], [0.7, 0.4], [1, 1]]"),
            "pressure_law.table.points[2]",
            "is (0.7, 0.4); both numbers must be finite and greater than those of the point before, (0.5, 0.4)",
        ),
        (
            table("points = [[0, 0], [0.5, 0.4]]"),
            "pressure_law.table.points[1]",
            "is (0.5, 0.4); the table must reach an extent of at least 1",
        ),
        (
            table("points = [[0, 0], [1, 1]], layers = 100"),
            "pressure_law.table.layers",
            "found 100; it must be between 1 and 64",
        ),
    ] {
        let path = folder.file("scene.toml", scene(&ball, &linear, ""));
        let error = Scene::load(&path).expect_err(&ball).to_string();
        let place = format!("bodies[0].geometries[0].{place}");
        for part in ["scene.toml:", place.as_str(), message] {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
    }
    let half_space = |law: &str| {
        format!(
            "[materials.rubber]\nhydroelastic_modulus = 1e5\n[[bodies]]\nname = \"floor\"\nfixed = true\n\
             [[bodies.geometries]]\nshape = {{ half_space = {{ thickness = 0.1 }} }}\n{}\n",
            of_rubber(law)
        )
    };
    load(&folder, &half_space("\"linear\""));
    let path = folder.file("scene.toml", half_space("{ power = { exponent = 2 } }"));
    let error = Scene::load(&path).expect_err("refused").to_string();
    assert!(error.contains("pressure_law: found for a half-space") && error.contains("a box"), "{error}");
    // More tetrahedra than any mesh may have are refused and not made.
    let fine = "[[bodies]]\nname = \"ball\"\nmass = 1\n[[bodies.geometries]]\nmaterial = \"rubber\"\n\
                shape = { sphere = { radius = 1, resolution = 0.006 } }\n\
                pressure_law = { power = { exponent = 2, layers = 64 } }\n";
    let path = folder.file("scene.toml", format!("[materials.rubber]\nhydroelastic_modulus = 1e5\n{fine}"));
    let error = Scene::load(&path).expect_err("refused").to_string();
    assert!(error.contains("more than 4000000 tetrahedra; take fewer layers"), "{error}");
}

/// The largest error of the energy relative to that of the fall, and the number of bounces.
fn energy_error(folder: &Folder, time_step: f64) -> (f64, usize) {
    let ball = of_rubber("{ power = { exponent = 1.5 } }");
    let block = of_rubber("{ table = { points = [[0, 0], [0.3, 0.1], [0.4, 0.3], [1, 2]], layers = 10 } }");
    let solver = format!("kind = \"rk4\"\ntime_step = {time_step}");
    let file = folder.file("ball.toml", scene(&ball, &block, &solver));
    let out = folder.0.join("ball.csv");
    let run = isobar(&["simulate", "--until", "0.3", "--out", text(&out), text(&file)]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let table = TrajectoryTable::read(&out).expect("a trajectory");
    let model = Scene::load(&file).expect("valid").model;
    let pairs = model.geometry_pairs(BodyPair { a: 0, b: 1 }).expect("they can touch");
    let (mut frames, mut stored) = (Vec::new(), Vec::new());
    // Every 2 ms: energies of layers take longer than steps.
    let energies: Vec<f64> = table.bodies[0]
        .states
        .iter()
        .step_by((2e-3 / time_step).round() as usize)
        .map(|body| {
            let state = State::of_bodies(vec![*body]);
            model.body_frames(&state, &mut frames);
            stored.push(model.body_pair_energy(&frames, &pairs));
            model.mechanical_energy(&state) + stored[stored.len() - 1]
        })
        .collect();
    let fall = 0.2 * 9.81 * HEIGHT;
    let bounces = stored.windows(2).filter(|w| w[0] == 0.0 && w[1] > 0.0).count();
    assert!(stored.iter().copied().fold(0.0, f64::max) > 0.9 * fall, "{stored:?}");
    (energies.iter().map(|e| (e - energies[0]).abs() / fall).fold(0.0, f64::max), bounces)
}

/// Both bodies have laws of their own, and no dissipation: the energy is kept to the order of the step. That is 4 within
/// layers; where the slope of the pressure jumps from one to the next, a step errs by its square times the jump.
#[test]
fn a_ball_that_bounces_by_laws_keeps_its_energy() {
    let folder = Folder::new("bouncing-laws");
    let [coarse, fine] = [1e-3, 5e-4].map(|time_step| energy_error(&folder, time_step));
    println!("energy off by {coarse:?} {fine:?}");
    assert!(fine.1 >= 2);
    let order = (coarse.0 / fine.0).ln() / 2f64.ln();
    assert!(order > 2.0 && fine.0 < 1e-6, "order {order:.2}: {coarse:?} {fine:?}");
}

/// The gradients of what moves by laws are those of differences.
#[test]
fn gradients_of_laws_agree_with_differences() {
    let folder = Folder::new("gradients-of-laws");
    let ball = of_rubber("{ power = { exponent = 1.5, layers = 3 } }");
    let block = of_rubber("{ table = { points = [[0, 0], [0.3, 0.1], [0.4, 0.3], [1, 2]], layers = 5 } }");
    for kind in ["semi_implicit_euler", "lagged"] {
        let content = scene(&ball, &block, &format!("kind = \"{kind}\"\ntime_step = 1e-3"))
            .replace("[0, 0, 0.07]", "[0.01, 0.02, 0.042]")
            .replace("= 1e5", "= 1e5\nfriction = 0.4\ndissipation = 0.5");
        assert!(content.contains("0.042") && content.contains("friction"));
        let file: &Path = &folder.file("scene.toml", content);
        let run = isobar(&["gradient-check", "--steps", "2", "--no-places", "--vertices", "0", text(file)]);
        let output = [run.stdout, run.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(run.status.success(), "{kind}: {output:?}");
    }
}

/// A body at a height over a rigid floor.
fn pressed(shape: &str, pose: &str, modulus: f64, exponent: f64, layers: usize, height: f64) -> String {
    format!(
        "[materials.rubber]\nhydroelastic_modulus = {modulus}\n[solver]\nkind = \"lagged\"\ntime_step = 1e-3\n\
         [[bodies]]\nname = \"body\"\nmass = 1\ntranslation = [0, 0, {height}]\n{pose}\n\
         [[bodies.geometries]]\nshape = {shape}\nmaterial = \"rubber\"\n\
         pressure_law = {{ power = {{ exponent = {exponent}, layers = {layers} }} }}\n\
         [[bodies]]\nname = \"floor\"\nfixed = true\n\
         [[bodies.geometries]]\nshape = {{ half_space = {{}} }}\nrigid = true\n"
    )
}

fn force_between(scene: &Scene) -> f64 {
    let contact = scene.model.pair_contact(&scene.state, BodyPair::of(0, 1), &mut SensorWorkspace::default());
    contact.wrench_on_a.translational.z.abs()
}

/// From a linear law, with a modulus that is off by half.
#[test]
fn a_fit_finds_the_exponent_of_a_law_beside_its_modulus() {
    let folder = Folder::new("fitted-law");
    let ball = "{ sphere = { radius = 0.05, resolution = 0.02 } }";
    let row = |depth: f64| {
        let scene = load(&folder, &pressed(ball, "", 1e5, 0.6, 8, 0.05 - depth));
        format!("{depth},{}\n", force_between(&scene))
    };
    let rows: String = (1..=8).map(|i| row(1e-3 * f64::from(i))).collect();
    folder.file("press.csv", format!("depth_m,force_N\n{rows}"));
    folder.file("ball.toml", pressed(ball, "", 5e4, 1.0, 8, 0.05));
    let exponent = "bodies.body.geometries[0].pressure_law.power.exponent";
    let fit = |name: &str| {
        format!(
            "scene = \"ball.toml\"\n[[parameters]]\nname = \"materials.rubber.hydroelastic_modulus\"\ninitial = 5e4\n\
             log = true\n[[parameters]]\nname = \"{name}\"\ninitial = 1\nlower = 0.2\nupper = 3\n\
             [[indentations]]\nbody = \"body\"\ndirection = [0, 0, -1]\nfile = \"press.csv\"\nforce_sigma = 0.01\n"
        )
    };
    let run = isobar(&["fit", text(&folder.file("fit.toml", fit(exponent))), "--json"]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let found: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let value = |i: usize| found["estimates"][i]["value"].as_f64().expect("a number");
    assert!((value(0) / 1e5 - 1.0).abs() < 1e-3 && (value(1) - 0.6).abs() < 1e-3, "{found}");
    // The floor has no law.
    let run = isobar(&["check", text(&folder.file("fit.toml", fit(&exponent.replace("body", "floor"))))]);
    let error = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(error.contains("`pressure_law.power.exponent` of one whose law is a power"), "{error}");
}

/// The powers of the depth that the guide's table of exponents has.
#[test]
fn the_force_grows_with_the_power_of_the_depth_that_an_exponent_is_for() {
    let folder = Folder::new("powers");
    let force = |shape: &str, pose: &str, exponent: f64, height: f64| {
        let scene = load(&folder, &pressed(shape, pose, 1e5, exponent, 32, height));
        force_between(&scene)
    };
    let ball = "{ sphere = { radius = 0.05, resolution = 0.01 } }";
    let cylinder = "{ cylinder = { radius = 0.05, length = 0.4, resolution = 0.01 } }";
    let slab = "{ box = { size = [0.5, 0.5, 0.1] } }";
    for exponent in [0.5, 1.0, 1.5] {
        for (shape, pose, more) in
            [(ball, "", 1.0), (cylinder, "rpy = [1.5707963267948966, 0, 0]", 0.5), (slab, "", 0.0)]
        {
            let at = |depth: f64| force(shape, pose, exponent, 0.05 - depth);
            let power = (at(8e-3) / at(4e-3)).log2();
            assert!((power - exponent - more).abs() < 0.12, "{shape}, {exponent}: {power}");
        }
    }
}
