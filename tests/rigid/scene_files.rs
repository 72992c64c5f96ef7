//! Rigid contact in scene files.

use isobar::Scene;

use crate::folder::Folder;

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
    for kind in ["ecp", "lcp", "ncp"] {
        let scene = load(&folder, &SCENE.replace("ecp", kind)).expect("a scene");
        let trajectory = scene.rollout(0.5).expect("settings").simulate().expect("a motion");
        let last = trajectory.states.last().expect("states").bodies[0];
        assert!((last.position.z - 0.05).abs() < 1e-10, "{kind}");
        assert!(last.velocity.translational.norm() < 1e-9, "{kind}");
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
        &SCENE.replace("\"ecp\"", "\"lagged\""),
        &["`block`", "`table`", "rigid", "`ecp`, `lcp` or `ncp`"],
    );
    refused(
        &SCENE.replace("0.01\n", "0.01\naccuracy = 1e-5\n"),
        &["solver.accuracy", "\"ecp\"", "fixed length"],
    );
    refused(&SCENE.replace("[1, 1, 0.05]", "[1, 1, -0.05]"), &["friction_ellipsoid", "-0.05", "at least 0"]);
    let cylinders = SCENE
        .replace("{ half_space = {} }", "{ cylinder = { radius = 0.5, length = 0.1 } }")
        .replace("{ box = { size = [0.2, 0.2, 0.1] } }", "{ cylinder = { radius = 0.1, length = 0.1 } }");
    refused(&cylinders, &["solver.kind", "`block`", "`table`", "cylinder and cylinder"]);
}
