//! Every kind of bad input gives one message that names the file, the field, what was found and
//! what is allowed, and exit code 2; through the library and through the command.

use std::fs;
use std::path::Path;

use isobar::io::{Scene, TrajectoryTable};

use crate::folder::Folder;
use crate::isobar;

const GOOD: &str = r#"
[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.0
friction = 0.5

[materials.steel]
friction = 0.3

[solver]
time_step = 1e-3

[[bodies]]
name = "ball"
translation = [0, 0, 0.045]
mass = 0.1
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.04 } }
material = "foam"

[[bodies]]
name = "table"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
"#;

/// The good scene with one passage replaced, the first that fits.
fn with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "the scene has no `{old}`");
    GOOD.replacen(old, new, 1)
}

/// What the simulation says to a scene: by the library and by the command, which agree.
fn message(folder: &Folder, name: &str, text: &str) -> String {
    let path = folder.file(name, text);
    let error = Scene::load(&path).and_then(|scene| scene.simulation_settings()).expect_err(text).to_string();
    let out = folder.0.join("out.csv");
    let output = isobar(&[
        "simulate",
        &path.display().to_string(),
        "--until",
        "0.001",
        "--out",
        &out.display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{error}");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(stderr.trim_end(), format!("isobar: {error}"));
    assert_eq!(stderr.trim_end().lines().count(), 1, "one message on one line: {stderr}");
    assert!(!out.exists(), "nothing is left behind");
    assert!(error.contains(name), "names the file: {error}");
    error
}

#[test]
fn the_good_scene_is_good() {
    let folder = Folder::new("good");
    let path = folder.file("scene.toml", GOOD);
    Scene::load(&path).expect("valid");
}

#[test]
fn every_bad_field_is_named() {
    let sphere = "{ sphere = { radius = 0.05, resolution = 0.04 } }";
    let mesh = |extra: &str| {
        let shape = format!(
            "{{ volume_mesh = {{ vertices = [[0,0,0],[1,0,0],[0,1,0],[0,0,1],[0.2,0.2,0.2]], tetrahedra = \
             [[0,1,2,4],[0,3,1,4],[0,2,3,4],[1,3,2,4]]{extra} }} }}"
        );
        with(sphere, &shape)
    };
    let surface = |triangles: &str| {
        let shape = format!(
            "{{ surface_mesh = {{ vertices = [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], triangles = {triangles} }} }}"
        );
        with(sphere, &shape)
    };
    // Each: the scene, then what the message must hold.
    let cases: Vec<(String, Vec<&str>)> = vec![
        // Numbers.
        (with("mass = 0.1", "mass = -0.1"), vec![":16:", "bodies[0].mass", "-0.1", "positive"]),
        (with("mass = 0.1", "mass = 0"), vec!["bodies[0].mass", "found 0", "positive"]),
        (with("mass = 0.1", "mass = nan"), vec!["bodies[0].mass", "NaN", "positive and finite"]),
        (with("mass = 0.1", "mass = inf"), vec!["bodies[0].mass", "inf", "finite"]),
        (with("mass = 0.1", "density = -1"), vec!["bodies[0].density", "-1", "positive"]),
        (with("0.045]", "nan]"), vec![":15:", "bodies[0].translation[2]", "NaN", "finite"]),
        (with("mass = 0.1", "mass = 0.1\nlinear_velocity = [inf, 0, 0]"), vec!["linear_velocity[0]", "inf"]),
        (with("mass = 0.1", "mass = 0.1\nangular_velocity = [0, nan, 0]"), vec!["angular_velocity[1]"]),
        (
            with("modulus = 1e5", "modulus = -1e5"),
            vec![":3:", "materials.foam.hydroelastic_modulus", "-100000"],
        ),
        (with("modulus = 1e5", "modulus = 0"), vec!["materials.foam.hydroelastic_modulus", "positive"]),
        (
            with("dissipation = 1.0", "dissipation = -1"),
            vec!["materials.foam.dissipation", "-1", "at least 0"],
        ),
        (with("friction = 0.5", "friction = -0.5"), vec!["materials.foam.friction", "-0.5", "at least 0"]),
        (
            with("friction = 0.5", "static_friction = 0.2\ndynamic_friction = 0.3"),
            vec!["materials.foam.dynamic_friction", "0.3", "0.2"],
        ),
        (
            with("friction = 0.5", "friction = 0.5\nstatic_friction = 0.5"),
            vec!["materials.foam.friction", "either"],
        ),
        (with("time_step = 1e-3", "time_step = 0"), vec!["solver.time_step", "found 0", "positive"]),
        (with("time_step = 1e-3", "time_step = -1e-3"), vec!["solver.time_step", "-0.001"]),
        (with("radius = 0.05", "radius = -0.05"), vec!["sphere.radius", "-0.05", "positive"]),
        (with("resolution = 0.04", "resolution = 0"), vec!["sphere.resolution", "positive"]),
        (
            with("resolution = 0.04", "resolution = 1e-9"),
            vec!["bodies[0].geometries[0].shape.sphere", "resolution"],
        ),
        (format!("gravity = [0, 0, nan]\n{GOOD}"), vec![":1:", "gravity[2]", "NaN"]),
        (format!("{GOOD}\n[contact]\nstiction_velocity = 0"), vec!["contact.stiction_velocity", "positive"]),
        (format!("{GOOD}\n[contact]\nquadrature_order = 9"), vec!["contact.quadrature_order", "found 9"]),
        (format!("{GOOD}\n[contact]\npositive_part_width = -1"), vec!["contact.positive_part_width"]),
        (format!("{GOOD}\n[contact]\nskirt = -0.001"), vec!["contact.skirt", "-0.001", "at least 0"]),
        (format!("{GOOD}\n[contact]\nskirt = nan"), vec!["contact.skirt", "NaN", "finite"]),
        (format!("{GOOD}\n[contact]\nskirt = inf"), vec!["contact.skirt", "inf", "finite"]),
        (format!("{GOOD}\n[contact]\nskirt = \"thin\""), vec!["contact.skirt", "thin"]),
        (
            format!("{GOOD}\n[contact]\nskirt = 0.06"),
            vec!["contact.skirt", "0.06", "geometry 0 of body `ball`", "thinner than"],
        ),
        // Form.
        (with("mass = 0.1", "mas = 0.1"), vec![":16:", "bodies[0]", "`mas`", "`mass`"]),
        (with("radius = 0.05", "radios = 0.05"), vec!["`radios`", "`radius`"]),
        (with("sphere =", "sfere ="), vec!["`sfere`", "`sphere`"]),
        (
            format!("{GOOD}\n[contact]\nface_filter = \"all\""),
            vec!["contact.face_filter", "`all`", "`drake`"],
        ),
        (format!("{GOOD}\n[contact]\nfaces = 1"), vec!["`faces`", "`surface`"]),
        (with("[solver]", "[solver]\nkind = \"euler\""), vec!["solver.kind", "`euler`", "`rk4`"]),
        (
            with("[solver]", "[solver]\nkind = \"leapfrog\""),
            vec!["solver.kind", "`leapfrog`", "`semi_implicit_euler`"],
        ),
        (with("mass = 0.1", "mass = \"heavy\""), vec!["bodies[0].mass", "\"heavy\""]),
        (with("0.045]", "0.045, 0]"), vec![":15:", "bodies[0].translation", "3"]),
        (with("mass = 0.1", "mass = = 0.1"), vec![":16:"]),
        // Names.
        (
            with("material = \"foam\"", "material = \"foan\""),
            vec!["geometries[0].material", "`foan`", "foam, steel"],
        ),
        (with("name = \"table\"", "name = \"ball\""), vec!["bodies[1].name", "`ball`", "unique"]),
        (with("name = \"table\"", "name = \"\""), vec!["bodies[1].name", "\"\"", "empty"]),
        (with("[materials.steel]", "[materials.foam]"), vec![":7:", "duplicate key"]),
        (
            format!("{GOOD}\n[contact]\nexcluded_pairs = [[\"ball\", \"tabel\"]]"),
            vec!["contact.excluded_pairs[0][1]", "`tabel`", "ball, table"],
        ),
        (
            format!("{GOOD}\n[contact]\nexcluded_pairs = [[\"ball\", \"ball\"]]"),
            vec!["contact.excluded_pairs[0]", "two different bodies"],
        ),
        // Bodies.
        ("bodies = []".to_owned(), vec!["bodies", "at least one"]),
        ("gravity = [0, 0, -9.81]".to_owned(), vec!["`bodies`"]),
        (
            "[[bodies]]\nname = \"ghost\"\nmass = 1".to_owned(),
            vec!["bodies[0].geometries", "`ghost`", "no geometry"],
        ),
        (with("mass = 0.1", ""), vec!["bodies[0]", "`ball`", "no mass", "fixed = true"]),
        (with("mass = 0.1", "mass = 0.1\ndensity = 100"), vec!["bodies[0]", "both mass and density"]),
        (
            with("mass = 0.1", "mass = 0.1\ninertia = [[1,0,0],[0,1,0],[0,0,3]]"),
            vec!["bodies[0].inertia", "triangle inequality", "3.0"],
        ),
        (
            with("mass = 0.1", "mass = 0.1\ninertia = [[1,0.1,0],[0,1,0],[0,0,1]]"),
            vec!["bodies[0].inertia", "not symmetric"],
        ),
        (
            with("mass = 0.1", "mass = 0.1\ncenter_of_mass = [0,0,0]"),
            vec!["bodies[0].center_of_mass", "inertia"],
        ),
        (with("fixed = true", "mass = 1"), vec!["bodies[1]", "`table`", "no finite positive volume"]),
        (
            with("fixed = true", "fixed = true\nlinear_velocity = [1,0,0]"),
            vec!["bodies[1]", "`table`", "at rest"],
        ),
        // Rotations.
        (
            with("mass = 0.1", "mass = 0.1\nquaternion_wxyz = [1, 1, 0, 0]"),
            vec!["bodies[0].quaternion_wxyz", "length 1.41", "length 1"],
        ),
        (
            with("mass = 0.1", "mass = 0.1\nquaternion_wxyz = [0, 0, 0, 0]"),
            vec!["bodies[0].quaternion_wxyz", "length 0"],
        ),
        (
            with("mass = 0.1", "mass = 0.1\nrotation_matrix = [[1,0,0],[0,1,0],[0,0,-1]]"),
            vec!["bodies[0].rotation_matrix", "determinant -1"],
        ),
        (
            with("mass = 0.1", "mass = 0.1\nrpy = [0,0,0]\nquaternion_wxyz = [1,0,0,0]"),
            vec!["bodies[0]", "more than one"],
        ),
        // Geometries and materials.
        (with("material = \"foam\"", ""), vec!["bodies[0].geometries[0]", "neither", "rigid = true"]),
        (
            with("material = \"foam\"", "material = \"steel\""),
            vec!["geometries[0].material", "`steel`", "hydroelastic_modulus"],
        ),
        (
            with("material = \"foam\"", "rigid = true").replace("[solver]", "[solver]\nkind = \"rk4\""),
            vec!["`ball`", "`table`", "rigid", "hydroelastic", "`lagged`"],
        ),
        (
            with("{ half_space = {} }\nrigid = true", "{ half_space = {} }\nmaterial = \"foam\""),
            vec!["half_space.thickness", "missing"],
        ),
        (
            with(
                "{ half_space = {} }\nrigid = true",
                "{ half_space = { thickness = -1 } }\nmaterial = \"foam\"",
            ),
            vec!["half_space.thickness", "-1", "positive"],
        ),
        (
            with(sphere, "{ half_space = { thickness = 1 } }")
                .replace("mass = 0.1", "mass = 0.1\ninertia = [[1,0,0],[0,1,0],[0,0,1]]"),
            vec!["`ball`", "`table`", "half-spaces"],
        ),
        // Meshes.
        (mesh(", extent = [0, 0, 0, 0]"), vec!["volume_mesh.extent", "found 4", "5 vertices"]),
        (mesh(", extent = [0, 0, 0, 0, -1]"), vec!["volume_mesh.extent[4]", "-1"]),
        (mesh(", extent = [0, 0, 0, 0, nan]"), vec!["volume_mesh.extent[4]", "NaN"]),
        (mesh(", extent = \"deep\""), vec!["extent", "\"deep\"", "\"laplace\""]),
        (mesh("").replace("[0,1,2,4]", "[0,2,1,4]"), vec!["volume_mesh", "tetrahedron 0"]),
        (mesh("").replace("[0,1,2,4]", "[0,1,2,9]"), vec!["volume_mesh", "9"]),
        (mesh("").replace("[0,1,2,4]", "[0,1,2,-4]"), vec!["tetrahedra", "-4"]),
        (mesh("").replace("[1,0,0]", "[inf,0,0]"), vec!["volume_mesh.vertices[1][0]", "inf"]),
        (
            with(sphere, "{ volume_mesh = { file = \"x.vtk\" } }"),
            vec!["volume_mesh.file: unknown field `file`", "a mesh in a file is `mesh = { file = \"…\" }`"],
        ),
        (surface("[[0,2,1],[0,1,3],[1,2,3]]"), vec!["surface_mesh", "open"]),
        (surface("[[0,1,2],[0,3,1],[1,3,2],[0,2,3]]"), vec!["surface_mesh", "counter-clockwise"]),
        (with(sphere, "{ mesh = { file = \"none.obj\" } }"), vec!["mesh.file", "none.obj"]),
        (with(sphere, "{ mesh = { file = \"bad.vtk\" } }"), vec!["mesh.file", "bad.vtk"]),
        (with(sphere, "{ mesh = { file = \"mesh.txt\" } }"), vec!["mesh.file", "mesh.txt", ".obj"]),
        (with(sphere, "{ convex = { points = [[0,0,0],[1,0,0],[0,1,0]] } }"), vec!["convex"]),
        (with(sphere, "{ convex = {} }"), vec!["convex", "points", "file"]),
    ];
    let folder = Folder::new("fields");
    folder.file("bad.vtk", "this is no mesh\n");
    let mut missing = Vec::new();
    for (text, parts) in cases {
        let error = message(&folder, "scene.toml", &text);
        missing.extend(
            parts.iter().filter(|p| !error.contains(**p)).map(|p| format!("`{p}` is not in: {error}")),
        );
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn json_has_the_same_checks() {
    let good = r#"{
  "materials": {
    "foam": {"hydroelastic_modulus": 1e5}
  },
  "bodies": [
    {"name": "ball", "mass": 1,
     "geometries": [{"shape": {"sphere": {"radius": 0.1}}, "material": "foam"}]}
  ]
}"#;
    let folder = Folder::new("json");
    Scene::load(folder.file("good.json", good)).expect("valid");
    let cases: [(&str, &str, &[&str]); 8] = [
        ("\"mass\": 1", "\"mas\": 1", &[":6:", "`mas`", "`mass`"]),
        ("\"mass\": 1", "\"mass\": -1", &[":6:", "bodies[0].mass", "-1", "positive"]),
        ("\"mass\": 1", "\"mass\": 1e999", &[":6:", "too large for a number"]),
        ("\"mass\": 1", "\"mass\": \"x\"", &[":6:", "bodies[0].mass", "\"x\""]),
        ("\"mass\": 1", "\"mass\": 1, \"mass\": 2", &[":6:", "duplicate field `mass`"]),
        ("\"foam\"}]", "\"foan\"}]", &[":7:", "geometries[0].material", "`foan`"]),
        ("1e5}", "1e5}, \"foam\": {}", &["`foam`", "twice"]),
        ("]\n}", "]\n", &["EOF"]),
    ];
    for (old, new, parts) in cases {
        assert!(good.contains(old), "{old}");
        let error = message(&folder, "scene.json", &good.replacen(old, new, 1));
        for part in parts {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
    }
}

#[test]
fn files_that_are_no_scenes() {
    let folder = Folder::new("files");
    let error = |path: &Path| Scene::load(path).expect_err("bad file").to_string();
    assert!(error(&folder.0.join("missing.toml")).contains("missing.toml: cannot be read"));
    assert!(error(&folder.file("scene.yaml", GOOD)).contains("must end in .toml or .json"));
    let binary = folder.0.join("binary.toml");
    fs::write(&binary, [0xff, 0xfe, 0x00]).expect("written");
    assert!(error(&binary).contains("binary.toml: cannot be read"));
}

#[test]
fn contact_needs_no_mass_but_something_compliant() {
    let folder = Folder::new("contact");
    let run = |text: &str| {
        let path = folder.file("scene.toml", text);
        isobar(&["contact", &path.display().to_string(), "--json"])
    };
    assert_eq!(run(&with("mass = 0.1", "")).status.code(), Some(0));
    // Two rigid bodies have no pressure between them, and two fixed ones never meet: there is nothing to compute.
    let rigid = with("material = \"foam\"", "rigid = true");
    let output = run(&rigid);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"pairs\": []"));
    let output = run(&rigid.replace("mass = 0.1", "fixed = true"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(output.stdout.is_empty());
    assert!(stderr.contains("`ball`") && stderr.contains("rigid"), "{stderr}");
}

#[test]
fn arguments_out_of_range() {
    let folder = Folder::new("arguments");
    let scene = folder.file("scene.toml", GOOD).display().to_string();
    let out = folder.0.join("out.csv").display().to_string();
    for until in ["nan", "inf", "x"] {
        let output = isobar(&["simulate", &scene, "--until", until, "--out", &out]);
        assert_eq!(output.status.code(), Some(2), "{until}");
    }
    let output = isobar(&["simulate", &scene, "--until=-1", "--out", &out]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--until: found -1"));
    let nowhere = folder.0.join("nowhere").join("out.csv").display().to_string();
    let output = isobar(&["simulate", &scene, "--until", "0.001", "--out", &nowhere]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("out.csv: cannot be written"));
    assert_eq!(isobar(&["simulate", &scene]).status.code(), Some(2));
    assert_eq!(isobar(&["dance"]).status.code(), Some(2));
}

#[test]
fn a_simulation_that_blows_up_exits_with_3_and_keeps_the_steps_before() {
    let folder = Folder::new("blow-up");
    let text =
        with("1e5", "1e300").replace("time_step = 1e-3", "kind = \"semi_implicit_euler\"\ntime_step = 1");
    let scene = folder.file("scene.toml", &text).display().to_string();
    let out = folder.0.join("out.csv");
    let output = isobar(&["simulate", &scene, "--until", "10", "--out", &out.display().to_string()]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("`ball`") && stderr.contains("t = "), "{stderr}");
    // The time that the message names is that of the first state which is not written.
    let kept = TrajectoryTable::read(&out).expect("the steps before");
    let failed = format!("t = {} s", kept.times.len());
    assert!(stderr.contains(&failed), "{stderr}: kept until {:?}", kept.times.last());
    assert_eq!(fs::read_dir(&folder.0).expect("listed").count(), 2, "the scene and the trajectory");
}

#[test]
fn bad_trajectories() {
    let columns = [
        "px_m", "py_m", "pz_m", "qw", "qx", "qy", "qz", "vx_m_s", "vy_m_s", "vz_m_s", "wx_rad_s", "wy_rad_s",
        "wz_rad_s",
    ];
    let header = format!("t_s,{}", columns.map(|c| format!("a.{c}")).join(","));
    let row = |t: &str| format!("{t},0,0,0,1,0,0,0,0,0,0,0,0,0");
    let folder = Folder::new("trajectories");
    let good = format!("{header}\n{}\n{}\n", row("0"), row("0.1"));
    assert_eq!(TrajectoryTable::read(folder.file("good.csv", &good)).expect("valid").times, [0.0, 0.1]);
    let cases: Vec<(String, Vec<&str>)> = vec![
        (good.replace("a.qx", "a.qq"), vec![":1:", "`a.qq`", "qx"]),
        (good.replace(",a.wz_rad_s", "").replace(",0\n", "\n"), vec![":1:", "`a.wz_rad_s` is missing"]),
        (good.replace("t_s,", "").replace("0,0,0,0,1", "0,0,0,1"), vec![":1:", "`t_s` is missing"]),
        (good.replace("a.qx", "a.qw"), vec![":1:", "`a.qw` twice"]),
        (good.replace("0.1,0,", "0.1,"), vec![":3:", "found 13 fields", "14 columns"]),
        (good.replace("0.1,0,", "0.1,x,"), vec![":3:", "`a.px_m`", "`x`", "finite number"]),
        (good.replace("0.1,0,", "0.1,NaN,"), vec![":3:", "`a.px_m`", "`NaN`"]),
        (good.replace("0.1,", "0,"), vec![":3:", "times must increase"]),
        (format!("{header}\n"), vec!["no row"]),
        (String::new(), vec![":1:", "`t_s` is missing"]),
        // A quote that is not closed: the rest of the file, in one short line.
        (good.replace("a.qx", "\"a.qx"), vec![":1:", "`a.qx,a.qy", "…`; allowed are"]),
        (good.replace("0.1,0,0", "0.1,\"0\n1\",0"), vec![":3:", "found `0\\n1`"]),
    ];
    for (text, parts) in cases {
        let error = TrajectoryTable::read(folder.file("bad.csv", &text)).expect_err(&text).to_string();
        for part in parts.into_iter().chain(["bad.csv"]) {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
        assert!(!error.contains('\n') && error.len() < 500, "{error}");
    }
    let missing = TrajectoryTable::read(folder.0.join("missing.csv")).expect_err("no file").to_string();
    assert!(missing.contains("missing.csv: cannot be read"));
}

/// Features that a velocity-level solver does not have, and what it leaves out of account.
#[test]
fn velocity_level_solvers_name_what_they_do_not_support() {
    let folder = Folder::new("velocity-level");
    for kind in ["sap", "lagged", "similar", "tamsi"] {
        let solver = format!("[solver]\nkind = \"{kind}\"");
        let scene = |contact: &str| {
            with("[solver]", &format!("[contact]\n{contact}\n\n{solver}"))
                .replace("dissipation = 1.0", "dissipation = 1.0\nrelaxation_time = 0.01")
        };
        for (contact, parts) in [
            (
                "friction_regularization = \"atan\"",
                ["contact.friction_regularization", "\"atan\"", "\"smooth\""],
            ),
            (
                "friction_regularization = \"stribeck\"",
                ["friction_regularization", "\"stribeck\"", "remove it"],
            ),
            ("positive_part_width = 0.1", ["contact.positive_part_width", "0.1", "set it to 0"]),
        ] {
            let text = message(&folder, "scene.toml", &scene(contact));
            for part in parts {
                assert!(text.contains(part), "{kind}: no `{part}` in: {text}");
            }
        }
        let good = scene("friction_regularization = \"smooth\"");
        let load = |text: &str| {
            let scene = Scene::load(folder.file("good.toml", text)).expect("valid");
            scene.simulation_settings().expect("supported");
            scene.warnings
        };
        assert!(load(&good).is_empty());
        let warnings = load(&good.replace("relaxation_time = 0.01", "relaxation_time = 0.0"));
        let warned = warnings.iter().any(|w| w.contains("dissipation") && w.contains("relaxation_time"));
        assert_eq!(warned, kind == "sap", "{kind}: {warnings:?}");
        let warnings = load(&good.replace("friction = 0.5", "static_friction = 0.5\ndynamic_friction = 0.4"));
        assert!(warnings.is_empty(), "{kind}: {warnings:?}");
    }
}

/// What a simulation was too stiff for is said on stderr, once for each pair.
#[test]
fn simulate_warns_of_steps_that_are_too_long() {
    let folder = Folder::new("step-warnings");
    let out = folder.0.join("out.csv");
    let simulate = |kind: &str, velocity: &str| {
        let text = with("time_step = 1e-3", &format!("kind = \"{kind}\"\ntime_step = 1e-3"))
            .replace("hydroelastic_modulus = 1e5", "hydroelastic_modulus = 1e8")
            .replace("dissipation = 1.0", "dissipation = 1.0\nrelaxation_time = 0.01")
            .replace("[0, 0, 0.045]", &format!("[0, 0, 0.049999]\nlinear_velocity = {velocity}"));
        let path = folder.file("scene.toml", &text);
        let (scene, out) = (path.to_str().expect("a name"), out.to_str().expect("a name"));
        let output = isobar(&["simulate", scene, "--until", "0.1", "--out", out]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    for kind in ["sap", "similar"] {
        let text = simulate(kind, "[3, 0, 0]");
        assert_eq!(text.matches("`ball` and `table`").count(), 1, "{kind}: {text}");
        assert!(text.contains("m apart") && text.contains("lagged"), "{kind}: {text}");
    }
    for kind in ["lagged", "tamsi"] {
        let text = simulate(kind, "[3, 0, 0]");
        assert!(!text.contains("m apart"), "{kind}: {text}");
    }
}

/// The library's steps refuse lengths and states that are not numbers.
#[test]
fn steps_refuse_bad_lengths_and_states() {
    use isobar::step::{StepError, StepProblem, StepWorkspace};
    let folder = Folder::new("steps");
    for kind in ["semi_implicit_euler", "rk4", "sap", "lagged", "similar", "tamsi"] {
        let text = with("[solver]", &format!("[solver]\nkind = \"{kind}\""));
        let scene = Scene::load(folder.file("scene.toml", &text)).expect("valid");
        let integrator = scene.simulation_settings().expect("supported").integrator;
        let mut workspace = StepWorkspace::default();
        for dt in [0.0, -1e-3, f64::NAN, f64::INFINITY] {
            let step = integrator.step(&StepProblem::new(&scene.model, &scene.state, dt), &mut workspace);
            assert!(matches!(step, Err(StepError::TimeStep(_))), "{kind}, {dt} s: {step:?}");
        }
        for value in [f64::NAN, f64::INFINITY] {
            let mut state = scene.state.clone();
            state.bodies[0].velocity.translational.x = value;
            let step = integrator.step(&StepProblem::new(&scene.model, &state, 1e-3), &mut workspace);
            let refused = match &step {
                Err(error) => matches!(error, StepError::NotFinite { bodies } if bodies == &[0]),
                Ok(after) => !after.is_finite(),
            };
            assert!(refused, "{kind}, {value}: {step:?}");
        }
    }
}

#[test]
fn what_people_write_first_is_told_what_to_write_instead() {
    let folder = Folder::new("written-first");
    let said = |arguments: &[&str]| String::from_utf8_lossy(&isobar(arguments).stderr).into_owned();
    let single = folder.file("single.toml", with("[[bodies]]\nname = \"ball\"", "[bodies]\nname = \"ball\""));
    let single = single.display().to_string();
    let instead =
        "found `[[bodies]]`, a duplicate key; each of several tables is `[[bodies]]`, from the first on";
    assert!(said(&["check", &single]).contains(instead), "{}", said(&["check", &single]));
    let alone = folder.file("alone.toml", "[bodies]\nname = \"a\"\n").display().to_string();
    assert!(
        said(&["check", &alone]).contains("in double brackets: `[[bodies]]`"),
        "{}",
        said(&["check", &alone])
    );
    let robot = folder.file("scene.xml", "<mujoco/>").display().to_string();
    assert!(said(&["check", &robot]).contains("mujoco: it has no body"), "{}", said(&["check", &robot]));
    let good = folder.file("good.toml", GOOD).display().to_string();
    let early = said(&["simulate", &good, "--until", "-1"]);
    assert!(early.contains("--until: found -1; it must be at least 0"), "{early}");
    let device = said(&["check", "/dev/zero"]);
    assert!(cfg!(not(unix)) || device.contains("/dev/zero: cannot be read: it is a device"), "{device}");
    // The name of a temporary file is nobody's.
    let nowhere = folder.0.join("nowhere/out.csv").display().to_string();
    let unwritten = said(&["simulate", &good, "--until", "0.001", "--out", &nowhere]);
    assert!(unwritten.contains("cannot be written") && !unwritten.contains(".part"), "{unwritten}");
    // A ball of 50 m beside one of 5 cm.
    let huge = GOOD
        .replace("name = \"table\"\nfixed = true", "name = \"moon\"\nmass = 1.0\ntranslation = [0, 0, -60]");
    let huge = huge.replace(
        "shape = { half_space = {} }\nrigid = true",
        "shape = { sphere = { radius = 50 } }\nmaterial = \"foam\"",
    );
    let huge = folder.file("huge.toml", huge).display().to_string();
    assert!(said(&["check", &huge]).contains("lengths are in metres"), "{}", said(&["check", &huge]));
}
