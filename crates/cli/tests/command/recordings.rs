//! Films and pages: what is written is what was simulated.

use std::fs;
use std::path::Path;

use isobar::io::{Scene, TrajectoryTable};
use isobar::rollout::Trajectory;
use serde_json::Value;

use crate::folder::Folder;
use crate::recorded_files::{PageData, animated, glb, run, vtu};
use crate::{isobar, text};

/// A ball that is thrown onto a table and slides on it.
const SCENE: &str = r#"[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.0
friction = 0.4
[solver]
kind = "lagged"
time_step = 1e-3
[[bodies]]
name = "table"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
[[bodies]]
name = "ball"
translation = [0, 0, 0.052]
linear_velocity = [0.3, 0.1, -0.2]
angular_velocity = [1, 2, 30]
mass = 0.1
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.02 } }
material = "foam"
"#;

#[test]
fn a_gltf_film_moves_as_the_trajectory_does_and_reports_are_the_same() {
    let folder = Folder::new("gltf");
    let scene = folder.file("scene.toml", SCENE);
    let [table, film, again] = ["motion.csv", "film.glb", "again.glb"].map(|name| folder.0.join(name));
    run(&[
        "simulate",
        text(&scene),
        "--until",
        "0.1",
        "--out",
        text(&table),
        "--record",
        text(&film),
        "--record-every",
        "0.001",
        "--forces",
    ]);
    run(&["report", text(&scene), text(&table), "--out", text(&again)]);
    assert!(fs::read(&film).unwrap() == fs::read(&again).unwrap(), "a report is the film of the simulation");
    let (document, binary) = glb(&film);
    let motion = TrajectoryTable::read(&table).unwrap();
    let (times, positions) = animated(&document, &binary, "ball", "translation").expect("the ball moves");
    let (_, rotations) = animated(&document, &binary, "ball", "rotation").expect("the ball turns");
    assert_eq!(times.len(), 101);
    for (i, state) in motion.bodies[0].states.iter().enumerate() {
        assert_eq!(times[i], motion.times[i] as f32);
        assert_eq!(positions[3 * i..3 * i + 3], [0, 1, 2].map(|k| state.position[k] as f32));
        let q = state.orientation;
        let same: f64 =
            [q.v.x, q.v.y, q.v.z, q.w].iter().zip(&rotations[4 * i..]).map(|(a, b)| a * f64::from(*b)).sum();
        assert!((same.abs() - 1.0).abs() < 1e-6, "{same}");
    }
    assert!(animated(&document, &binary, "table", "translation").is_none(), "the table stays");
    // The arrow of the force on the ball: as long as the force is strong.
    let (_, scales) = animated(&document, &binary, "force on ball by table", "scale").expect("an arrow");
    let forces: Vec<f64> = motion.contacts[0].wrenches.iter().map(|w| w.translational.norm()).collect();
    let largest = forces.iter().copied().fold(0.0, f64::max);
    let longest = scales.iter().skip(2).step_by(3).copied().fold(0.0, f32::max);
    assert!(longest > 0.01 && largest > 1.0);
    for (force, length) in forces.iter().zip(scales.iter().skip(2).step_by(3)) {
        assert!((force / largest - f64::from(length / longest)).abs() < 1e-6, "{force} {length}");
    }
    // A contact surface is shown from its time until that of the next.
    let (keys, shown) = animated(&document, &binary, "contact at 0.05 s", "scale").expect("a surface");
    assert_eq!((&keys[..], shown.len()), (&[0.0, 0.05, 0.051][..], 9));
    assert_eq!([shown[0], shown[3], shown[6]], [0.0, 1.0, 0.0]);
}

#[test]
fn a_vtk_series_has_the_forces_of_the_trajectory_and_replaces_the_one_before() {
    let folder = Folder::new("vtk");
    let scene = folder.file("scene.toml", SCENE);
    let [table, film] = ["motion.csv", "film.pvd"].map(|name| folder.0.join(name));
    let record = |until: &str| {
        run(&[
            "simulate",
            text(&scene),
            "--until",
            until,
            "--out",
            text(&table),
            "--forces=state",
            "--record",
            text(&film),
            "--record-every",
            "0.01",
        ]);
    };
    record("0.1");
    folder.file("film_vtk/notes.txt", "mine");
    record("0.06");
    let collection = fs::read_to_string(&film).unwrap();
    let files: Vec<&str> =
        collection.split("file=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(files.len(), 3 * 7 + 1);
    let entries = fs::read_dir(folder.0.join("film_vtk")).unwrap().count();
    assert_eq!(entries, files.len() + 1, "those of the first film are gone, and the notes are there");
    assert!(files.iter().all(|file| folder.0.join(file).is_file()));
    let motion = TrajectoryTable::read(&table).unwrap();
    let mut touching = 0;
    for frame in 0..7 {
        let array = |kind: &str| vtu(&folder.0.join(format!("film_vtk/{kind}_{frame:05}.vtu")));
        let (surface, forces) = (array("contact"), array("forces"));
        let row = motion.times.iter().position(|time| (time - 0.01 * f64::from(frame)).abs() < 1e-9).unwrap();
        let expected = motion.contacts[0].wrenches[row].translational;
        let sum = |k: usize| -> f64 {
            let tractions = surface["traction_on_a"].iter().skip(k).step_by(3);
            surface["area"].iter().zip(tractions).map(|(area, traction)| area * traction).sum()
        };
        for k in 0..3 {
            assert!(
                (sum(k) - expected[k]).abs() < 1e-5 * expected.norm() + 1e-9,
                "{frame}: {} {}",
                sum(k),
                expected[k]
            );
        }
        touching += usize::from(expected.norm() > 0.0);
        assert_eq!(forces["force_on_a"].len(), if surface["area"].is_empty() { 0 } else { 3 });
        let bodies = array("bodies");
        let center: f64 = {
            let z: Vec<f64> = bodies["points"].chunks(3).skip(4).map(|p| p[2]).collect();
            0.5 * (z.iter().copied().fold(f64::MAX, f64::min) + z.iter().copied().fold(f64::MIN, f64::max))
        };
        assert!((center - motion.bodies[0].states[row].position.z).abs() < 2e-3);
    }
    assert!(touching >= 3);
    let fields = vtu(&folder.0.join("film_vtk/fields_00000.vtu"));
    assert_eq!(fields["pressure"].iter().copied().fold(0.0, f64::max), 1e5);
}

#[test]
fn a_page_has_the_motion_its_contact_surfaces_and_plots() {
    let folder = Folder::new("page");
    let scene = folder.file("scene.toml", SCENE);
    let [table, page] = ["motion.csv", "page.html"].map(|name| folder.0.join(name));
    run(&[
        "simulate",
        text(&scene),
        "--until",
        "0.1",
        "--out",
        text(&table),
        "--forces",
        "--record",
        text(&page),
        "--record-every",
        "0.002",
    ]);
    let motion = TrajectoryTable::read(&table).unwrap();
    let data = PageData::read(&page);
    let film = &data.header["films"][0];
    let times = data.array(&film["times"]);
    assert_eq!(times.len(), 51);
    let rows: Vec<usize> = times
        .iter()
        .map(|t| motion.times.iter().position(|s| s == t).expect("a time of the motion"))
        .collect();
    let bodies = film["bodies"].as_array().unwrap();
    assert_eq!(
        (&bodies[0]["name"], &bodies[0]["fixed"], &bodies[0]["parts"][0]["kind"]),
        (&"table".into(), &true.into(), &"half_space".into())
    );
    let poses = data.array(&bodies[1]["poses"]);
    // The ball turns about an axis that does not change while it flies, by more than whole turns in all.
    let turn = data.plot("Orientation of ball, Rz(yaw) Ry(pitch) Rx(roll)");
    assert_eq!(turn["y"], "angle, rad");
    let [roll, pitch, yaw] = [0, 1, 2].map(|k| data.array(&turn["series"][k]["y"]));
    for (frame, &row) in rows.iter().enumerate() {
        let q = motion.bodies[0].states[row].orientation.to_matrix();
        let angles = isobar::spatial::rotation_from_rpy(roll[frame], pitch[frame], yaw[frame]);
        assert!((angles - q).amax() < 1e-5, "{frame}");
    }
    assert!(yaw.windows(2).all(|pair| (pair[1] - pair[0]).abs() < 1.0), "{yaw:?}");
    let height = data.plot("Position of ball");
    assert_eq!((&height["y"], &height["time"]), (&"position, m".into(), &true.into()));
    let z = data.array(&height["series"][2]["y"]);
    let forces = data.array(&data.plot("Contact forces")["series"][0]["y"]);
    for (frame, &row) in rows.iter().enumerate() {
        let position = motion.bodies[0].states[row].position;
        assert_eq!(poses[7 * frame + 2], f64::from(position.z as f32));
        assert_eq!(z[frame], f64::from(position.z as f32));
        let force = motion.contacts[0].wrenches[row].translational.norm();
        assert!((forces[frame] - force).abs() <= 1e-6 * force, "{} {force}", forces[frame]);
    }
    // The force is drawn on the ball, though the table is A.
    let wrench = &film["wrenches"][0];
    assert_eq!((&wrench["a"], &wrench["b"]), (&"ball".into(), &"table".into()));
    let last = data.array(&wrench["force_on_a"]);
    assert!(last[3 * 50 + 2] > 0.5, "upwards");
    // The field of the ball, to be sliced.
    let field = &bodies[1]["parts"][0]["field"];
    let (vertices, corners) = (data.array(&field["vertices"]), data.array(&field["tetrahedra"]));
    let pressures = data.array(&field["pressures"]);
    assert_eq!((vertices.len(), corners.len() % 4), (3 * pressures.len(), 0));
    assert!(corners.iter().all(|&corner| corner < pressures.len() as f64));
    assert_eq!(pressures.iter().copied().fold(0.0, f64::max), 1e5);
    // Polygons lie in the plane of the table, with pressures up to the largest.
    let patches = &film["patches"];
    assert_eq!(patches["every"], 1);
    let first = data.array(&patches["first_polygon"]);
    let (lengths, vertices) = (data.array(&patches["lengths"]), data.array(&patches["vertices"]));
    assert_eq!((first.len(), first[51] as usize), (52, lengths.len()));
    assert_eq!(vertices.len() as f64, 3.0 * lengths.iter().sum::<f64>());
    let bounds = |end: usize, axis: usize| patches["bounds"][end][axis].as_f64().unwrap();
    assert!(bounds(0, 2).abs() < 1e-7 && bounds(1, 2).abs() < 1e-7);
    let pressures = data.array(&patches["pressures"]);
    assert_eq!(pressures.iter().copied().fold(0.0, f64::max), 65535.0);
    let largest =
        data.array(&data.plot("Largest pressures")["series"][0]["y"]).into_iter().fold(0.0, f64::max);
    assert!((patches["max_pressure"].as_f64().unwrap() / largest - 1.0).abs() < 1e-6);
    // Along the surface the table is pulled against the way in which it slips on the ball.
    let parts = |of: &str| data.array(&patches[of]["parts"]);
    let (tractions, slips) = (parts("tractions"), parts("slips"));
    assert_eq!((tractions.len(), slips.len()), (3 * lengths.len(), 3 * lengths.len()));
    assert_eq!(data.array(&patches["tractions"]["largest"]).len(), 51);
    assert_eq!(data.array(&patches["pairs"]), vec![0.0; lengths.len()]);
    let products = tractions.chunks(3).zip(slips.chunks(3));
    let products: Vec<f64> = products.map(|(t, s)| t.iter().zip(s).map(|(t, s)| t * s).sum()).collect();
    // Numbers of up to 127 are rounded.
    assert!(
        products.iter().all(|&product| product <= 127.0) && products.iter().any(|&product| product < -1e4)
    );
    // Energy falls, since friction and dissipation only take.
    let energy = data.array(&data.plot("Energy")["series"][2]["y"]);
    assert!(energy.windows(2).all(|pair| pair[1] <= pair[0] + 1e-7), "{energy:?}");
    let series = &data.plot("Iterations of the solver")["series"][0];
    let iterations = data.array(&series["y"]);
    // Of the steps that begin at each time, until the last.
    assert_eq!((&series["mode"], data.array(&series["x"])), (&"steps".into(), times.clone()));
    assert!(iterations.iter().all(|&n| n >= 0.0) && iterations.iter().any(|&n| n > 0.0));
    assert!(data.header["about"].as_array().unwrap().iter().any(|line| line[0] == "command"));
}

#[test]
fn recordings_are_refused_before_anything_is_computed() {
    let folder = Folder::new("refused");
    let scene = folder.file("scene.toml", SCENE);
    let film = folder.0.join("film.mp4");
    for (arguments, part) in [
        (vec!["--record", text(&film)], "must be the name of a file that ends in .html"),
        (vec!["--record", "missing/film.glb"], "missing/film.glb"),
        (vec!["--record", "film.glb", "--record-every", "0"], "--record-every: found 0"),
        (vec!["--record-every", "0.1"], "--record"),
    ] {
        let mut all = vec!["simulate", text(&scene), "--until", "1e5"];
        all.extend(&arguments);
        let output = isobar(&all);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && message.contains(part), "{arguments:?}: {message}");
    }
    assert!(!film.exists());
    // Trajectories of other scenes.
    let other = SCENE.replace("name = \"ball\"", "name = \"egg\"");
    let other = folder.file("other.toml", other);
    let table = folder.0.join("motion.csv");
    run(&["simulate", text(&scene), "--until", "0.01", "--out", text(&table)]);
    let output = isobar(&["report", text(&other), text(&table), "--out", text(&folder.0.join("x.glb"))]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && message.contains("motion.csv:1: ") && message.contains("`egg`"),
        "{message}"
    );
    let crooked = fs::read_to_string(&table).unwrap();
    let mut lines: Vec<String> = crooked.lines().map(str::to_owned).collect();
    let mut fields: Vec<String> = lines[3].split(',').map(str::to_owned).collect();
    fields[4] = "0.5".to_owned();
    lines[3] = fields.join(",");
    let crooked = folder.file("crooked.csv", lines.join("\n"));
    let output = isobar(&["report", text(&scene), text(&crooked), "--out", text(&folder.0.join("x.glb"))]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2)
            && message.contains("crooked.csv:4: the quaternion of `ball` has length"),
        "{message}"
    );
    assert!(!folder.0.join("x.glb").exists());
}

#[test]
fn a_trajectory_is_read_back_to_the_bit_with_joints_too() {
    let folder = Folder::new("read_back");
    let scene = Scene::load(Path::new(crate::ROOT).join("examples/grasp_lift/gripper.toml")).unwrap();
    let motion = scene.rollout(0.05).unwrap().simulate().unwrap();
    let file = folder.0.join("motion.csv");
    motion.write(&file, &scene.model).unwrap();
    assert_eq!(Trajectory::read(&file, &scene.model).unwrap(), motion);
}

#[test]
fn contact_is_shown_at_a_time_of_a_trajectory_with_its_faces() {
    let folder = Folder::new("contact_at");
    let scene = folder.file("scene.toml", SCENE);
    let [table, surface] = ["motion.csv", "surface.vtu"].map(|name| folder.0.join(name));
    run(&["simulate", text(&scene), "--until", "0.06", "--out", text(&table), "--forces=state"]);
    let motion = TrajectoryTable::read(&table).unwrap();
    let at = |time: &str| -> Value {
        let mut arguments =
            vec!["contact", text(&scene), "--at", text(&table), "--json", "--faces", "--out", text(&surface)];
        if !time.is_empty() {
            arguments.extend(["--time", time]);
        }
        serde_json::from_str(&run(&arguments)).expect("JSON")
    };
    for (time, row) in [("0.0204", 20), ("", 60)] {
        let report = at(time);
        assert_eq!(report["time"].as_f64(), Some(motion.times[row]));
        let pair = &report["pairs"][0];
        let expected = motion.contacts[0].wrenches[row].translational;
        let faces = pair["face_list"].as_array().unwrap();
        let (file, mut area) = (vtu(&surface), 0.0);
        assert_eq!(faces.len(), file["area"].len());
        for k in 0..3 {
            assert_eq!(pair["force_on_a"][k].as_f64(), Some(expected[k] + 0.0));
            let number = |value: &Value| value.as_f64().unwrap();
            let sum: f64 =
                faces.iter().map(|face| number(&face["area"]) * number(&face["traction_on_a"][k])).sum();
            assert!((sum - expected[k]).abs() <= 1e-9 * expected.norm(), "{sum} {}", expected[k]);
            assert!(time.is_empty() || expected.norm() > 0.1, "they touch");
            area = faces.iter().map(|face| number(&face["area"])).sum();
        }
        let expected = pair["area"].as_f64().unwrap();
        assert!((area - expected).abs() <= 1e-9 * expected);
    }
    // Beside the forces of the fields stand those of the file, here of the step that led to the state.
    let of_steps = folder.0.join("of_steps.csv");
    run(&["simulate", text(&scene), "--until", "0.06", "--out", text(&of_steps), "--forces"]);
    let recorded = TrajectoryTable::read(&of_steps).unwrap().contacts[0].wrenches[20];
    let printed = run(&["contact", text(&scene), "--at", text(&of_steps), "--time", "0.0204", "--json"]);
    let pair = &serde_json::from_str::<Value>(&printed).expect("JSON")["pairs"][0];
    for (k, expected) in [recorded.translational, recorded.rotational].iter().enumerate() {
        let key = ["recorded_force_on_a", "recorded_torque_on_a"][k];
        (0..3).for_each(|i| assert_eq!(pair[key][i].as_f64(), Some(expected[i]), "{key}"));
    }
    assert_ne!(pair["recorded_force_on_a"], pair["force_on_a"]);
    let output = isobar(&["contact", text(&scene), "--at", text(&table), "--time", "0.2"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2)
            && message.contains("--time: found 0.2; it must be between 0 and 0.06 s"),
        "{message}"
    );
    assert!(run(&["contact", text(&scene), "--at", text(&table), "--faces"]).contains("pressure, Pa"));
}

#[test]
fn a_scene_is_shown_as_it_starts_or_as_it_moves() {
    let folder = Folder::new("view");
    let name = folder.0.file_name().unwrap().to_string_lossy().into_owned();
    let scene = folder.file(&format!("{name}.toml"), SCENE);
    let table = folder.0.join("motion.csv");
    run(&["simulate", text(&scene), "--until", "0.02", "--out", text(&table)]);
    for (more, frames) in [(vec![], 1), (vec![text(&table), "--every", "5"], 5)] {
        let mut arguments = vec!["view", text(&scene), "--print"];
        arguments.extend(more);
        let page = run(&arguments);
        let page = Path::new(page.trim());
        let data = PageData::read(page);
        assert_eq!(data.array(&data.header["films"][0]["times"]).len(), frames);
        fs::remove_file(page).unwrap();
    }
    // A film stays small without the fields of fine meshes, which a view has.
    let fine = folder.file("fine.toml", SCENE.replace("0.02 }", "0.002 }"));
    let film = folder.0.join("film.html");
    run(&["simulate", text(&fine), "--until", "0.001", "--record", text(&film)]);
    let viewed = run(&["view", text(&fine), "--print"]);
    let has_field =
        |page: &Path| !PageData::read(page).header["films"][0]["bodies"][1]["parts"][0]["field"].is_null();
    assert_eq!([&*film, Path::new(viewed.trim())].map(has_field), [false, true]);
    fs::remove_file(viewed.trim()).unwrap();
}

/// Opened in a browser, a page follows its scene: it is made anew when the scene has changed, and its script says so; a scene that
/// is wrong in between is reported, and the page stays.
#[cfg(target_os = "linux")]
#[test]
fn a_page_that_is_viewed_follows_its_scene() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};
    let folder = Folder::new("view_follows");
    let opened = folder.0.join("opened");
    let browser = folder.file("xdg-open", format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", text(&opened)));
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let scene = folder.file("scene.toml", SCENE);
    let mut child = Command::new(env!("CARGO_BIN_EXE_isobar"))
        .args(["view", text(&scene)])
        .env("PATH", format!("{}:/usr/bin:/bin", text(&folder.0)))
        .env("TMPDIR", &folder.0)
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.0.join("errors")).expect("writable"))
        .spawn()
        .expect("the command runs");
    let within_a_minute = |what: &dyn Fn() -> bool, name: &str| {
        let begin = std::time::Instant::now();
        while !what() {
            assert!(begin.elapsed().as_secs() < 60, "{name}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    };
    within_a_minute(
        &|| fs::read_to_string(&opened).is_ok_and(|name| name.ends_with(".html")),
        "it is opened",
    );
    let page = std::path::PathBuf::from(fs::read_to_string(&opened).expect("written"));
    let (script, first) = (page.with_extension("js"), PageData::read(&page).header["version"].clone());
    assert_eq!(first, serde_json::json!([1, script.file_name().expect("a name").to_string_lossy()]));
    let says = |version: u64| {
        fs::read_to_string(&script).is_ok_and(|text| text == format!("isobarVersion({version});\n"))
    };
    assert!(says(1));
    fs::write(&scene, SCENE.replace("mass = 0.1", "mass = -0.1")).expect("written");
    let errors = || fs::read_to_string(folder.0.join("errors")).expect("written");
    within_a_minute(&|| errors().contains("mass: found -0.1"), "the mistake is reported");
    assert!(says(1));
    fs::write(&scene, SCENE.replace("\"ball\"", "\"marble\"")).expect("written");
    within_a_minute(&|| says(3), "the page is made anew");
    let now = PageData::read(&page).header;
    assert_eq!(now["version"][0], 3);
    assert!(now["films"][0]["bodies"].to_string().contains("marble"), "{now}");
    child.kill().and_then(|()| child.wait()).expect("it can be ended");
}

/// A cart that an actuator pushes to a place.
const CART: &str = r#"[[bodies]]
name = "cart"
mass = 1
inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
joint = { type = "prismatic", name = "slide", axis = [1, 0, 0] }
[[actuators]]
name = "push"
joints = ["slide"]
drive = "force"
command = 0
[solver]
kind = "lagged"
time_step = 0.01
"#;

const PUSH: &str = r#"scene = "scene.toml"
until = 0.5
[knots]
count = 4
[[controls]]
actuator = "push"
lower = -10
upper = 10
[[costs]]
name = "effort"
control = "push"
weight = 0.01
[[costs]]
position = { body = "cart" }
target = [0.1, 0, 0]
weight = [10, 0, 0]
when = "end"
"#;

#[test]
fn the_folder_of_an_optimization_is_enough_for_its_report() {
    let folder = Folder::new("optimization");
    folder.file("scene.toml", CART);
    let problem = folder.file("problem.toml", PUSH);
    let out = folder.0.join("results");
    run(&["optimize", text(&problem), "--out", text(&out)]);
    // Problem and results are moved together.
    let moved = folder.0.join("moved");
    fs::create_dir(&moved).unwrap();
    for name in ["scene.toml", "problem.toml", "results"] {
        fs::rename(folder.0.join(name), moved.join(name)).unwrap();
    }
    run(&["report", text(&moved.join("results"))]);
    let page = moved.join("results/report.html");
    let data = PageData::read(&page);
    let result: Value =
        serde_json::from_slice(&fs::read(moved.join("results/result.json")).unwrap()).unwrap();
    let costs = data.array(&data.plot("Cost by iteration")["series"][0]["y"]);
    let history = result["history"].as_array().unwrap();
    assert_eq!(costs.len(), history.len());
    let last = history[history.len() - 1]["cost"].as_f64().unwrap();
    assert_eq!(costs[costs.len() - 1], f64::from(last as f32));
    let command = data.plot("Command of push");
    assert_eq!(
        (&command["series"][0]["name"], &command["series"][1]["name"]),
        (&"found".into(), &"start".into())
    );
    assert!(data.array(&command["series"][1]["y"]).iter().all(|&u| u == 0.0));
    // Between them those of iterations 1, 2, 4 and so on.
    let passed = history.len() as u64 - 1;
    let kept: Vec<String> =
        (1..passed).filter(|i| i.is_power_of_two()).map(|i| format!("after {i}")).collect();
    let names: Vec<&Value> =
        command["series"].as_array().unwrap().iter().skip(2).map(|curve| &curve["name"]).collect();
    assert_eq!(names, kept.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(command["series"][0]["mode"], "steps", "commands are held between knots");
    assert_eq!(data.table("Costs")[0][0], result["costs"][0]["name"]);
    let about = data.header["about"].to_string();
    assert!(about.contains("isobar optimize") && about.contains("scene.toml"), "{about}");
    let refused = |arguments: &[&str]| {
        let output = isobar(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let page = text(&page);
    assert!(refused(&["report", text(&moved), "--out", page]).contains("has no run.json"));
    let [results, scene, problem] = ["results", "scene.toml", "problem.toml"].map(|name| moved.join(name));
    let (results, scene) = (text(&results), text(&scene));
    assert!(refused(&["report", scene, "--out", page]).contains("the motion of the scene is missing"));
    assert!(refused(&["report", results, "motion.csv", "--out", page]).contains("leave out `motion.csv`"));
    // The motion of an iteration is another one than that of the optimum.
    let other = moved.join("start.html");
    run(&["report", results, "--iteration", "0", "--out", text(&other)]);
    let at_start = PageData::read(&other);
    assert!(at_start.header["about"].to_string().contains("after iteration 0"));
    let last = |data: &PageData| {
        let positions = data.array(&data.plot("Joint displacements")["series"][0]["y"]);
        positions[positions.len() - 1]
    };
    let [at_first, found] = [&at_start, &data].map(last);
    assert!((found - 0.1).abs() < 0.01 && (at_first - found).abs() > 1e-3, "{at_first} {found}");
    let told = refused(&["report", results, "--iteration", "1000", "--out", page]);
    assert!(told.contains("has no commands of iteration 1000; it has those of 0, 1"), "{told}");
    assert!(refused(&["report", scene, "--iteration", "1", "--out", page]).contains("is for the folder"));
    // Results took long: they are not replaced by chance.
    let text_of_problem = text(&problem).to_owned();
    let before = fs::read(moved.join("results/result.json")).unwrap();
    let told = refused(&["optimize", &text_of_problem, "--out", results, "--max-iterations", "1"]);
    assert!(told.contains("--resume goes on from them, --force begins anew"), "{told}");
    assert_eq!(fs::read(moved.join("results/result.json")).unwrap(), before);
    run(&["optimize", &text_of_problem, "--out", results, "--force"]);
    // A problem that has changed since is told, and one that is gone is named.
    fs::write(&problem, PUSH.replace("weight = 0.01", "weight = 0.02")).unwrap();
    let told = isobar(&["report", results, "--out", page]);
    assert!(String::from_utf8_lossy(&told.stderr).contains("has changed since these results"), "{told:?}");
    assert!(PageData::read(Path::new(page)).header["warnings"].to_string().contains("has changed"));
    fs::remove_file(&problem).unwrap();
    assert!(refused(&["report", results, "--out", page]).contains("problem.toml`, which is not there"));
}

#[test]
fn files_of_another_kind_are_told_with_the_command_that_takes_them() {
    let folder = Folder::new("kinds");
    let scene = folder.file("scene.toml", SCENE);
    folder.file("scene2.toml", CART);
    let problem = folder.file("problem.toml", PUSH.replace("scene.toml", "scene2.toml"));
    for (arguments, told) in [
        (vec!["simulate", text(&problem), "--until", "1"], "is a problem, not a scene; `isobar optimize"),
        (vec!["optimize", text(&scene)], "is a scene, not a problem; `isobar simulate"),
        (vec!["contact", "examples/fit_ball/fit.toml"], "is a fit, not a scene; `isobar fit"),
        (vec!["fit", text(&problem)], "is a problem, not a fit"),
    ] {
        let output = isobar(&arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && message.contains(told), "{arguments:?}: {message}");
    }
    // By `$schema` editors find the schema of a JSON scene.
    let json = folder.file(
        "scene.json",
        r#"{"$schema": "scene.schema.json", "bodies": [{"name": "floor", "fixed": true, "geometries": [{"shape": {"half_space": {}}, "rigid": true}]}]}"#,
    );
    assert!(isobar(&["check", text(&json)]).status.success());
}

#[test]
fn fits_and_gradient_checks_have_pages() {
    let folder = Folder::new("pages");
    let page = folder.0.join("fit.html");
    let out = folder.0.join("fit.json");
    run(&["fit", "examples/fit_ball/fit.toml", "--record", text(&page), "--out", text(&out)]);
    let data = PageData::read(&page);
    let fit: Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    let estimates = data.table("Estimates");
    assert_eq!(estimates.len(), fit["estimates"].as_array().unwrap().len());
    let plots = data.header["plots"].as_array().unwrap();
    // Force and its residuals of the indentation test; position, its residuals and those of orientation of the
    // throws.
    assert_eq!(plots.len(), 2 + 3 * (fit["measurements_after"].as_array().unwrap().len() - 1));
    let first = plots.iter().position(|plot| plot["x"] == "depth, m").expect("the indentation test");
    let indentation = &plots[first];
    let [measured, fitted, start] = [0, 1, 2].map(|i| data.array(&indentation["series"][i]["y"]));
    let distance =
        |values: &[f64]| measured.iter().zip(values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(distance(&fitted) < 0.1 * distance(&start), "{} {}", distance(&fitted), distance(&start));
    let low = data.array(&indentation["series"][0]["low"]);
    assert!(low.iter().zip(&measured).all(|(low, measured)| low < measured));
    let residuals = &plots[first + 1];
    assert_eq!(residuals["title"], "data/indentation.csv: force, measured − fitted");
    for ((residual, measured), fitted) in
        data.array(&residuals["series"][1]["y"]).iter().zip(&measured).zip(&fitted)
    {
        assert!((residual - (measured - fitted)).abs() < 1e-5, "{residual} {measured} {fitted}");
    }
    // The noise of the recordings is what the fit is told, so that most residuals lie in its band.
    for quantity in ["force, N", "position, m", "rotation vector, rad"] {
        let is_residual =
            |plot: &&Value| plot["y"] == quantity && plot["series"][0]["name"] == "95 % of the noise given";
        let (mut within, mut all) = (0, 0);
        for plot in plots.iter().filter(is_residual) {
            let series = plot["series"].as_array().unwrap();
            let [low, high] = ["low", "high"].map(|end| data.array(&series[0][end]));
            for values in series[1..].iter().map(|series| data.array(&series["y"])) {
                all += values.len();
                within += values
                    .iter()
                    .zip(&low)
                    .zip(&high)
                    .filter(|((x, low), high)| *low <= x && x <= high)
                    .count();
            }
        }
        let part = within as f64 / all as f64;
        assert!(all > 10 && (0.85..=1.0).contains(&part), "{quantity}: {part} of {all}");
    }

    let scene = folder.file("scene.toml", SCENE);
    let page = folder.0.join("check.html");
    let check: Value = serde_json::from_str(&run(&[
        "gradient-check",
        text(&scene),
        "--steps",
        "2",
        "--json",
        "--record",
        text(&page),
    ]))
    .unwrap();
    let rows = check["rows"].as_array().unwrap();
    let data = PageData::read(&page);
    let [some, zero] = ["Derivatives", "Derivatives that are zero"].map(|title| data.table(title).len());
    assert!(some > 0 && zero > 0 && some + zero == rows.len(), "{some} {zero} {}", rows.len());
    assert!(data.header["films"].as_array().is_some_and(Vec::is_empty));
    let output = isobar(&["gradient-check", text(&scene), "--record", "check.glb"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn an_indentation_that_touches_nothing_is_doubted() {
    let folder = Folder::new("untouched");
    for name in ["fit_indentation_only.toml", "scene.toml", "data/indentation.csv"] {
        folder.file(
            name,
            fs::read(Path::new(crate::ROOT).join("examples/fit_ball").join(name)).expect("an example"),
        );
    }
    let fit = folder.0.join("fit_indentation_only.toml");
    let told = |direction: &str| {
        let content = fs::read_to_string(&fit).unwrap();
        assert!(content.contains("direction = [0, 0, -1]"));
        fs::write(&fit, content.replace("direction = [0, 0, -1]", direction)).unwrap();
        String::from_utf8(isobar(&["fit", text(&fit)]).stderr).unwrap()
    };
    assert!(!told("direction = [0, 0, -1]").contains("touch anything"));
    let reversed = told("direction = [0, 0, 1]");
    assert!(
        reversed.contains("at none of the depths does `ball` touch anything; they reach 0.01"),
        "{reversed}"
    );
}
