//! Random scenes: all shapes, materials, poses and velocities, through contact, its derivatives
//! and both integrators; and scene texts with random mistakes in them. Nothing panics, nothing
//! that is returned is NaN, and what is refused is refused in one line.

use isobar::io::Scene;
use isobar::multibody::{BodyPair, PairWorkspace};
use isobar::rollout::{Rollout, SimulationError, SimulationSettings};
use isobar::step::Integrator;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::folder::Folder;
use crate::mutation::{Random, mutate_text, pick};
use crate::scenes::TOML;
use crate::{isobar, text};

/// Three numbers, often round ones: aligned states are what users start from.
fn three(random: &mut Random, size: f64) -> [f64; 3] {
    if random.random_bool(0.3) {
        [0; 3].map(|_| pick(random, &[0.0, 0.0, size, -size, 0.5 * size]))
    } else {
        [0; 3].map(|_| random.random_range(-size..size))
    }
}

/// A shape other than a half-space.
fn shape(random: &mut Random) -> Value {
    let mut length = || pick(random, &[0.05, 0.1, 0.03, 0.07, 0.0412]);
    let (a, b, c) = (length(), length(), length());
    let resolution = a * random.random_range(0.5..2.0);
    let tip = random.random_range(0.02..0.1);
    let corners = [[0.0, 0.0, 0.0], [a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.1 * c, tip]];
    let inner = [0.25 * a, 0.25 * b + 0.02 * c, 0.25 * tip];
    match random.random_range(0..9) {
        0 => json!({"sphere": {"radius": a, "resolution": resolution}}),
        1 => json!({"box": {"size": [a, b, c]}}),
        2 => json!({"cylinder": {"radius": a, "length": b, "resolution": resolution}}),
        3 => json!({"capsule": {"radius": a, "length": b, "resolution": resolution}}),
        4 => json!({"ellipsoid": {"semi_axes": [a, b, c], "resolution": resolution}}),
        5 => json!({"surface_mesh": {"vertices": corners,
            "triangles": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]}}),
        6 => json!({"volume_mesh": {
            "vertices": [corners[0], corners[1], corners[2], corners[3], inner],
            "tetrahedra": [[0, 1, 2, 4], [0, 3, 1, 4], [1, 3, 2, 4], [0, 2, 3, 4]],
            "extent": pick(random, &["distance", "laplace"])}}),
        7 => json!({"volume_mesh": {"vertices": corners, "tetrahedra": [[0, 1, 2, 3]],
            "split_zero_gradient": true}}),
        _ => json!({"convex": {"points": (0..12).map(|_| three(random, 1.0).map(|x| 0.05 * x)
            .map(|x| x + 1e-3 * random.random_range(-1.0..1.0))).collect::<Vec<_>>()}}),
    }
}

/// A power, or a curve through three points after the first.
fn pressure_law(random: &mut Random) -> Value {
    let layers = random.random_range(1..4);
    if random.random_bool(0.5) {
        let exponent = random.random_range(0.5..3.0);
        return json!({"power": {"exponent": exponent, "layers": layers}});
    }
    let (x, y) = (random.random_range(0.2..0.8), random.random_range(0.05..0.8));
    json!({"table": {"points": [[0.0, 0.0], [x, y], [1.0, y + random.random_range(0.1..4.0)]], "layers": layers}})
}

/// A scene in which every pair of bodies can touch.
pub fn scene(random: &mut Random) -> Value {
    let materials = ["foam", "rubber"];
    let mut table = serde_json::Map::new();
    for name in materials {
        table.insert(
            name.into(),
            json!({
                "hydroelastic_modulus": 10f64.powf(random.random_range(3.0..7.0)),
                "dissipation": pick(random, &[0.0, 0.5, 3.0, 20.0]),
                "friction": pick(random, &[0.0, 0.3, 1.0]),
            }),
        );
    }
    let ground = random.random_bool(0.6);
    // At most one of the bodies is rigid.
    let rigid = random.random_range(0..4);
    let count = random.random_range(2..4);
    let bodies: Vec<Value> = (0..count)
        .map(|i| {
            let is_ground = ground && i == 0;
            let geometries: Vec<Value> = (0..if is_ground { 1 } else { random.random_range(1..3) })
                .map(|_| {
                    let shape = match is_ground {
                        true => json!({"half_space": {"thickness": 0.1}}),
                        false => shape(random),
                    };
                    let mut geometry = json!({"shape": shape, "rigid": i == rigid});
                    if i != rigid || random.random_bool(0.5) {
                        geometry["material"] = json!(pick(random, &materials));
                    }
                    if !is_ground && i != rigid && random.random_bool(0.3) {
                        geometry["pressure_law"] = pressure_law(random);
                    }
                    if random.random_bool(0.4) {
                        geometry["translation"] = json!(three(random, 0.03));
                        geometry["rpy"] = json!(three(random, 1.0));
                    }
                    geometry
                })
                .collect();
            let mut body = json!({"name": format!("body {i}"), "geometries": geometries});
            if is_ground {
                body["fixed"] = json!(true);
            } else {
                body["translation"] = json!(three(random, 0.08));
                body["rpy"] = json!(three(random, 1.5));
                body["linear_velocity"] = json!(three(random, 1.0));
                body["angular_velocity"] = json!(three(random, 5.0));
                body[pick(random, &["mass", "density"])] = json!(random.random_range(0.05..2000.0));
            }
            body
        })
        .collect();
    json!({
        "materials": table,
        "solver": {"kind": pick(random, &["rk4", "semi_implicit_euler"]), "time_step": 1e-4},
        "contact": {
            "surface": pick(random, &["triangles", "polygons"]),
            "face_filter": pick(random, &["none", "drake"]),
            "dissipation_model": pick(random, &["hunt_crossley", "strain_rate"]),
            "friction_regularization": pick(random, &["smooth", "atan"]),
            "positive_part_width": pick(random, &[0.0, 0.1]),
            "quadrature_order": random.random_range(1..6),
        },
        "bodies": bodies,
    })
}

/// Whether a report has a null other than the centroid of bodies apart, where a number that is
/// not finite would have been.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().any(has_null),
        Value::Object(map) => {
            let apart = map.get("faces") == Some(&json!(0));
            map.iter().any(|(key, value)| has_null(value) && !(key == "centroid" && apart))
        }
        _ => false,
    }
}

/// Wrenches, derivatives, energies and a few steps of a random scene are numbers.
fn gives_numbers(seed: u64) -> Result<(), TestCaseError> {
    let folder = Folder::new(&format!("valid-{seed}"));
    let table = scene(&mut Random::seed_from_u64(seed));
    let path = folder.file("scene.json", table.to_string());
    let held = Scene::load(&path).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let model = &held.model;
    let mut frames = Vec::new();
    model.body_frames(&held.state, &mut frames);
    let mut workspace = PairWorkspace::default();
    for b in 0..frames.len() {
        for a in 0..b {
            let pairs = model.geometry_pairs(BodyPair { a, b }).expect("they can touch");
            let found = model.body_pair_contact(&frames, &pairs, &mut workspace);
            let w = found.wrench_on_a;
            let c = found.centroid.unwrap_or_default();
            let energy = model.body_pair_energy(&frames, &pairs);
            let numbers = [found.area, found.max_pressure, energy];
            let vectors = w.rotational.iter().chain(&w.translational).chain(&c).chain(&numbers);
            prop_assert!(vectors.clone().all(|x| x.is_finite()), "{found:?}");
            prop_assert_eq!(found.faces > 0, found.centroid.is_some());
            prop_assert!(found.area >= 0.0 && energy >= 0.0);
            let j = model.body_pair_jacobian(&frames, &pairs, &mut workspace);
            let columns = [j.by_modulus_a, j.by_modulus_b, j.by_dissipation, j.by_friction];
            let all = j.by_pose_a.iter().chain(&j.by_pose_b).chain(columns.iter().flatten());
            prop_assert!(all.clone().all(|x| x.is_finite()), "{j:?}");
        }
    }
    let free = Scene::load(&path).map_err(|e| TestCaseError::fail(e.to_string()))?;
    for integrator in [Integrator::SemiImplicitEuler, Integrator::RungeKutta4] {
        let settings = SimulationSettings { integrator, time_step: 1e-4 };
        let rollout = Rollout::new(&free.model, &free.state, settings, 5e-4).with_controls(&free.commands);
        match rollout.motion().completed() {
            Ok(trajectory) => {
                prop_assert_eq!(trajectory.states.len(), 6);
                prop_assert!(trajectory.states.iter().all(|s| s.is_finite()));
            }
            Err(error) => prop_assert!(matches!(error, SimulationError::NotFinite { .. }), "{}", error),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scenes_give_numbers(seed in any::<u64>()) {
        gives_numbers(seed)?;
    }
}

/// A seed whose bodies touch in points without an area.
#[test]
fn bodies_that_only_touch_give_numbers() {
    gives_numbers(3_891_484_529_073_354_751).unwrap();
}

/// A second geometry of the ball.
const TETRAHEDRA: &str = r#"[[bodies.geometries]]
shape = { volume_mesh = { vertices = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1], [0.02, 0.02, 0.02]], tetrahedra = [[0, 1, 2, 4], [0, 3, 1, 4], [1, 3, 2, 4], [0, 2, 3, 4]], extent = [0, 0, 0, 0, 1] } }
material = "foam"
"#;

/// The shape of the peg.
const TRIANGLES: &str = "surface_mesh = { vertices = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], \
                         triangles = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]] }";

/// The scene of the other tests with meshes in it too, in which all bodies touch.
fn scene_with_meshes() -> String {
    let replacements = [
        ("[[bodies]]\nname = \"table\"", &*format!("{TETRAHEDRA}[[bodies]]\nname = \"table\"")),
        ("translation = [1, 0, 2]", "translation = [0.02, 0.03, 0.08]"),
        ("box = { size = [0.1, 0.2, 0.3] }", TRIANGLES),
    ];
    replacements.iter().fold(TOML.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "the scene has no `{old}`");
        text.replace(old, new)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mistakes_in_scenes_are_one_message(seed in any::<u64>()) {
        let mut random = Random::seed_from_u64(seed);
        let folder = Folder::new(&format!("mutated-{seed}"));
        let mut scene = mutate_text(&scene_with_meshes(), &mut random);
        if random.random_bool(0.3) && scene.len() > 400 {
            scene = mutate_text(&scene, &mut random);
        }
        let path = folder.file("scene.toml", &scene);
        let out = folder.0.join("out.csv");
        let runs = [
            isobar(&["contact", "--json", "--derivatives", text(&path)]),
            isobar(&["simulate", "--until", "0.004", "--json", "--out", text(&out), text(&path)]),
        ];
        for run in &runs {
            let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
            let code = run.status.code();
            prop_assert!(!stderr.contains("panicked"), "{stderr}\n{scene}");
            if code == Some(0) {
                let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
                prop_assert!(!has_null(&report), "{report:#}\n{scene}");
            } else {
                prop_assert!(code == Some(2) || code == Some(3), "{code:?}: {stderr}\n{scene}");
                let messages: Vec<&str> =
                    stderr.lines().filter(|l| !l.starts_with("isobar: warning: ")).collect();
                prop_assert_eq!(messages.len(), 1, "{}\n{}", stderr, scene);
                prop_assert!(messages[0].contains("scene.toml"), "{stderr}");
                prop_assert!(run.stdout.is_empty());
            }
        }
    }
}
