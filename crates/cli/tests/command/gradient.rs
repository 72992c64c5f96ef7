//! `isobar gradient`: its derivatives against differences of what `isobar simulate` prints.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::{run, text};

/// A ball that turns and slides in contact with a floor.
const BALL: &str = r#"[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.3
friction = 0.5
[solver]
kind = "lagged"
time_step = 1e-3
[[bodies]]
name = "ball"
translation = [0.001, 0.002, 0.047]
rpy = [0.3, 0.2, 0.1]
linear_velocity = [0.2, 0.1, -0.1]
angular_velocity = [0, 3, 1]
mass = 0.1
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.03 } }
material = "foam"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
material = "foam"
rigid = true
"#;

/// A cart that a constant force and a controller push.
const CART: &str = r#"[solver]
kind = "lagged"
time_step = 2e-3
[[bodies]]
name = "cart"
mass = 1.5
inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
joint = { type = "prismatic", name = "slide", axis = [1, 0, 0], position = 0.1, velocity = 0.3, damping = 0.7 }
[[actuators]]
name = "push"
joints = ["slide"]
drive = "force"
command = 0.8
[[controllers]]
name = "stay"
law.pid = { actuators = ["push"], joint = { joint = "slide" }, proportional = 40.0, derivative = 2.0, target = [0.25] }
"#;

const UNTIL: &str = "0.03";

/// The last row of a scene's trajectory, by column.
fn end(folder: &Folder, scene: &str) -> BTreeMap<String, f64> {
    let file = folder.file("changed.toml", scene);
    let arguments =
        ["simulate", text(&file), "--until", UNTIL, "--forces=state", "--every", "1000", "--out", "-"];
    let (code, out, err) = run(&arguments);
    assert_eq!(code, Some(0), "{err}");
    let lines: Vec<&str> = out.lines().collect();
    let numbers = lines[lines.len() - 1].split(',').map(|number| number.parse().expect("a number"));
    lines[0].split(',').map(str::to_owned).zip(numbers).collect()
}

/// What `isobar gradient --json` prints.
fn gradient(folder: &Folder, scene: &str, more: &[&str]) -> Value {
    let file = folder.file("scene.toml", scene);
    let arguments = [&["gradient", text(&file), "--until", UNTIL, "--json"], more].concat();
    let (code, out, err) = run(&arguments);
    assert_eq!(code, Some(0), "{err}");
    serde_json::from_str(&out).expect("JSON")
}

/// Holds the derivatives of quantities, whose components are columns of trajectories, against central differences, extrapolated: each
/// change of the scene writes a number in the place of another one, and moves these parameters.
fn agree(
    (name, scene): (&str, &str),
    quantities: &[(&str, &[&str])],
    changes: &[(&str, f64, &str, &[&str])],
) {
    let folder = Folder::new(name);
    let asked: Vec<&str> = quantities.iter().flat_map(|(quantity, _)| ["--of", quantity]).collect();
    let report = gradient(&folder, scene, &asked);
    let here = end(&folder, scene);
    for (found, (quantity, columns)) in
        report["quantities"].as_array().expect("a list").iter().zip(quantities)
    {
        assert_eq!(found["quantity"], *quantity);
        for (i, column) in columns.iter().enumerate() {
            let value = found["value"][i].as_f64().expect("a number");
            assert!((value - here[*column]).abs() < 1e-12 * value.abs().max(1.0), "{quantity} {value}");
        }
    }
    for (before, value, after, parameters) in changes {
        let at = |value: f64| {
            let old = format!("{before}{}", value_text(scene, before, after));
            assert_eq!(scene.matches(&old).count(), 1, "{old}");
            end(&folder, &scene.replace(&old, &format!("{before}{value:e}")))
        };
        let width = 1e-5 * value.abs().max(0.1);
        let ends = [-1.0, 1.0, -0.5, 0.5].map(|part| at(value + part * width));
        for (found, (quantity, columns)) in
            report["quantities"].as_array().expect("a list").iter().zip(quantities)
        {
            let derivatives = found["derivatives"].as_array().expect("a list");
            for (i, column) in columns.iter().enumerate() {
                let [left, right, near_left, near_right] = ends.each_ref().map(|end| end[*column]);
                // Extrapolated to no width: contact bends much within it.
                let [wide, narrow] = [(right - left) / (2.0 * width), (near_right - near_left) / width];
                let difference = (4.0 * narrow - wide) / 3.0;
                let of = |name: &&str| {
                    let row = derivatives.iter().find(|row| row["with_respect_to"] == **name);
                    row.expect("the parameter")["derivative"][i].as_f64().expect("a number")
                };
                let derivative: f64 = parameters.iter().map(of).sum();
                let (off, size) = ((derivative - difference).abs(), derivative.abs().max(difference.abs()));
                // What depends on the parameter little is known to fewer digits.
                let rounding = 1e-11 * here[*column].abs().max(1e-3) / width;
                assert!(
                    off < 1e-5 * size + rounding,
                    "{quantity}, {column} by {parameters:?}: {derivative} against {difference}"
                );
            }
        }
    }
}

/// The number between two texts of a scene.
fn value_text<'s>(scene: &'s str, before: &str, after: &str) -> &'s str {
    let (_, rest) = scene.split_once(before).expect("the field");
    rest.split_once(after).expect("its end").0
}

#[test]
fn derivatives_are_those_of_what_simulate_prints() {
    for (i, solver) in ["lagged", "semi_implicit_euler"].iter().enumerate() {
        let scene = BALL.replace("lagged", solver);
        let friction = ["foam.static_friction", "foam.dynamic_friction"];
        agree(
            (&format!("gradient-ball-{i}"), &scene),
            &[
                ("position of ball", &["ball.px_m", "ball.py_m", "ball.pz_m"]),
                ("velocity of ball", &["ball.vx_m_s", "ball.vy_m_s", "ball.vz_m_s"]),
                ("angular velocity of ball", &["ball.wx_rad_s", "ball.wy_rad_s", "ball.wz_rad_s"]),
                (
                    "contact force of ball from floor",
                    &["ball-floor.fx_N", "ball-floor.fy_N", "ball-floor.fz_N"],
                ),
                (
                    "contact torque of ball from floor",
                    &["ball-floor.tx_N_m", "ball-floor.ty_N_m", "ball-floor.tz_N_m"],
                ),
            ],
            &[
                ("hydroelastic_modulus = ", 1e5, "\n", &["foam.hydroelastic_modulus"]),
                ("dissipation = ", 1.3, "\n", &["foam.dissipation"]),
                ("friction = ", 0.5, "\n", &friction),
                ("translation = [0.001, 0.002, ", 0.047, "]", &["ball.pz"]),
                ("linear_velocity = [", 0.2, ",", &["ball.vx"]),
                ("angular_velocity = [0, ", 3.0, ",", &["ball.wy"]),
                ("mass = ", 0.1, "\n", &["ball.mass"]),
            ],
        );
    }
}

/// The controller acts in the gradient as it does in the simulation.
#[test]
fn joints_commands_and_controllers_have_their_part() {
    agree(
        ("gradient-cart", CART),
        &[
            ("joint position of slide", &["slide.q"]),
            ("joint velocity of slide", &["slide.v"]),
            ("position of cart", &[]),
        ],
        &[
            ("position = ", 0.1, ",", &["slide.q"]),
            ("velocity = ", 0.3, ",", &["slide.v"]),
            ("damping = ", 0.7, " ", &["slide.damping"]),
            ("\ncommand = ", 0.8, "\n", &["command of push"]),
            ("mass = ", 1.5, "\n", &["cart.mass"]),
        ],
    );
}

#[test]
fn parameters_and_components_are_chosen_by_name() {
    let folder = Folder::new("gradient-names");
    let names = |more: &[&str]| -> Vec<(String, String)> {
        let report = gradient(&folder, BALL, &[&["--of", "position of ball, z"], more].concat());
        let of = &report["quantities"][0];
        assert_eq!(of["components"], json!(["z"]));
        let rows = of["derivatives"].as_array().expect("a list").iter();
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        rows.map(|row| (text(&row["with_respect_to"]), text(&row["unit"]))).collect()
    };
    let with = |name: &str| names(&["--with-respect-to", name]);
    let pair = |(name, unit): (&str, &str)| (name.to_owned(), unit.to_owned());
    let speeds = [("ball.vx", "m/(m/s)"), ("ball.vy", "m/(m/s)"), ("ball.vz", "m/(m/s)")].map(pair);
    assert_eq!(with("ball.v"), speeds);
    // As a fit names it, and what has many of its kind.
    assert_eq!(with("materials.foam.hydroelastic_modulus"), [pair(("foam.hydroelastic_modulus", "m/Pa"))]);
    assert_eq!(with("materials.foam.friction").len(), 2);
    assert_eq!(with("ball.geometries[0].vertices[3].x"), [pair(("ball.geometries[0].vertices[3].x", "m/m"))]);
    assert_eq!(with("time_step"), [pair(("time_step", "m"))]);
    // Nothing is asked for twice.
    assert_eq!(names(&["--with-respect-to", "ball.v", "--with-respect-to", "ball.vx"]), speeds);
    let all = names(&[]);
    assert!(all.len() > 20 && all.iter().all(|(name, _)| !name.contains("vertices")), "{all:?}");
}

/// The cost's own spelling says what words cannot.
#[test]
fn quantities_are_written_as_in_costs() {
    let folder = Folder::new("gradient-costs");
    let spelled = ["position = { body = \"ball\", relative_to = \"floor\" }", "position of ball"];
    let report = gradient(&folder, BALL, &["--of", spelled[0], "--of", spelled[1]]);
    assert_eq!(report["quantities"][0]["derivatives"], report["quantities"][1]["derivatives"]);
    // The rotation vector from an orientation, against that of the turn between both ends.
    let target = "orientation = { body = \"ball\", rpy = [0.3, 0.2, 0.1] }";
    let report = gradient(&folder, BALL, &["--of", target, "--with-respect-to", "ball.w"]);
    let turn = report["quantities"][0]["value"].as_array().expect("three");
    let row = end(&folder, BALL);
    let [w, x, y, z] = ["ball.qw", "ball.qx", "ball.qy", "ball.qz"].map(|column| row[column]);
    let here = nalgebra::UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(w, x, y, z));
    let expected =
        (here * nalgebra::UnitQuaternion::from_euler_angles(0.3, 0.2, 0.1).inverse()).scaled_axis();
    for (found, expected) in turn.iter().zip(&expected) {
        assert!((found.as_f64().expect("a number") - expected).abs() < 1e-12, "{turn:?} {expected}");
    }
}

#[test]
fn what_does_not_exist_is_told_with_what_does() {
    let folder = Folder::new("gradient-refused");
    let ball = folder.file("ball.toml", BALL);
    let refused = |of: &str, more: &[&str], parts: &[&str]| {
        let arguments = [&["gradient", text(&ball), "--until", "0.01", "--of", of], more].concat();
        let (code, out, err) = run(&arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        // What was loaded may be told before.
        let told = err.lines().last().expect("a message");
        parts.iter().for_each(|part| assert!(told.contains(part), "`{part}` is not in: {told}"));
    };
    refused(
        "position of bal",
        &[],
        &["--of: found \"position of bal\"", "position.body", "there are: ball, floor"],
    );
    for wrong in ["speed of ball", "ball", "", "position = 1\nvelocity = 2"] {
        refused(wrong, &[], &["--of: found", "position, orientation, velocity", "`position of BODY`"]);
    }
    refused("position = { bdy = \"ball\" }", &[], &["bdy", "`body`"]);
    refused("contact area of ball from floor, z", &[], &["no components"]);
    refused("contact force of ball from ball", &[], &["--of: found"]);
    // No step starts at the end.
    refused(
        "step force of ball from floor",
        &[],
        &["it must be one of joint_position", "`position of BODY`"],
    );
    let named = [
        "--with-respect-to: found mas.s",
        "ball.mass",
        "foam.hydroelastic_modulus",
        "gravity[2]",
        "time_step",
    ];
    refused("position of ball", &["--with-respect-to", "mas.s"], &named);
    let (code, _, err) = run(&["gradient", text(&ball), "--until", "-1", "--of", "position of ball"]);
    assert!(code == Some(2) && err.contains("--until: found -1"), "{err}");
}

/// The table is for people, and says the same.
#[test]
fn the_table_has_values_derivatives_and_units() {
    let folder = Folder::new("gradient-table");
    let file = folder.file("cart.toml", CART);
    let (code, out, err) = run(&[
        "gradient",
        text(&file),
        "--until",
        UNTIL,
        "--of",
        "velocity of cart",
        "--with-respect-to",
        "cart.mass",
    ]);
    assert_eq!(code, Some(0), "{err}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], format!("velocity of cart at {UNTIL} s"));
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["x", "y", "z"]);
    assert!(lines[2].starts_with("value") && lines[2].ends_with("m/s"), "{out}");
    let report = gradient(&folder, CART, &["--of", "velocity of cart", "--with-respect-to", "cart.mass"]);
    let found = report["quantities"][0]["derivatives"][0]["derivative"][0].as_f64().expect("a number");
    assert!(
        found != 0.0 && lines[4].contains(&format!("{found:.6e}")) && lines[4].ends_with("(m/s)/kg"),
        "{out}"
    );
}
