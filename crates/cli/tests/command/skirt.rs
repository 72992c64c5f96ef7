//! A skirt in a scene is told by every command.

use std::fs;

use crate::folder::Folder;
use crate::isobar;

/// A ball 1.5 mm above a table.
const SCENE: &str = r#"
[materials.foam]
hydroelastic_modulus = 1e5
friction = 0.5
[solver]
kind = "lagged"
[[bodies]]
name = "ball"
translation = [0, 0, 0.0515]
mass = 0.1
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.02 } }
material = "foam"
[[bodies]]
name = "table"
fixed = true
[[bodies.geometries]]
shape = { half_space = { thickness = 0.1 } }
material = "foam"
[contact]
"#;

#[test]
fn commands_say_that_there_is_a_skirt() {
    let folder = Folder::new("onset");
    let path = |name: &str| folder.0.join(name).to_str().expect("text").to_owned();
    let (with, without) = (path("with.toml"), path("without.toml"));
    fs::write(&with, format!("{SCENE}skirt = 0.002\n")).expect("a file");
    fs::write(&without, SCENE).expect("a file");
    let line = "with a skirt of 2 mm: forces act before bodies touch";
    let out = path("out.csv");
    for arguments in [vec!["contact"], vec!["simulate", "--until", "0.005", "--out", &out]] {
        let run = |scene: &str, json: bool| {
            let mut all = arguments.clone();
            all.push(scene);
            if json {
                all.push("--json");
            }
            let output = isobar(&all);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("text")
        };
        assert!(run(&with, false).lines().any(|l| l == line), "{}", run(&with, false));
        assert!(!run(&without, false).contains("skirt"));
        let report: serde_json::Value = serde_json::from_str(&run(&with, true)).expect("JSON");
        assert_eq!(report["skirt"], 0.002);
        assert!(!run(&without, true).contains("skirt"));
        if arguments[0] == "contact" {
            let pair = &report["pairs"][0];
            assert!(pair["force_on_a"][2].as_f64() > Some(0.0), "{pair}");
            assert!(pair["energy"].as_f64() > Some(0.0) && pair["max_pressure"].as_f64() > Some(0.0));
        }
    }
}
