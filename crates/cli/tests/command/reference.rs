//! The references of scene, problem and fit files say what the readers take.

use std::fs;
use std::path::{Path, PathBuf};

use isobar::io::reference::FileKind;
use serde_json::{Map, Value};

use crate::folder::Folder;
use crate::{isobar, text};

const KINDS: [FileKind; 3] = [FileKind::Scene, FileKind::Problem, FileKind::Fit];

fn root() -> &'static Path {
    Path::new(crate::ROOT)
}

fn schema(kind: FileKind) -> Value {
    serde_json::from_str(kind.json_schema()).expect("JSON")
}

#[test]
fn the_committed_references_are_what_the_command_prints() {
    for kind in KINDS {
        let name = kind.name();
        for (file, options) in
            [(format!("{name}.md"), &["--markdown"][..]), (format!("{name}.schema.json"), &[])]
        {
            let printed = isobar(&[&["schema", name], options].concat());
            assert!(printed.status.success());
            let committed = fs::read_to_string(root().join("docs").join(&file)).expect("committed");
            assert_eq!(String::from_utf8(printed.stdout).expect("text"), committed, "{file}");
        }
    }
}

/// Why a value is not as a schema says; only the words that the schemas here have.
fn refusal(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.strip_prefix("#/$defs/").expect("a definition");
        refusal(value, &root["$defs"][name], root)?;
    }
    for (key, exactly_one) in [("anyOf", false), ("oneOf", true)] {
        if let Some(choices) = schema.get(key).and_then(Value::as_array) {
            let results: Vec<_> = choices.iter().map(|choice| refusal(value, choice, root)).collect();
            match results.iter().filter(|r| r.is_ok()).count() {
                1 => {}
                0 => return Err(format!("{value}: {results:?}")),
                n => assert!(!exactly_one, "{value} has {n} forms of {schema}"),
            }
        }
    }
    if let Some(kind) = schema.get("type").and_then(Value::as_str) {
        let fits = match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.is_u64(),
            "boolean" => value.is_boolean(),
            other => panic!("the type {other}"),
        };
        if !fits {
            return Err(format!("{value} is no {kind}"));
        }
    }
    let allowed = schema.get("enum").is_none_or(|all| all.as_array().expect("a list").contains(value));
    if !allowed || schema.get("const").is_some_and(|only| only != value) {
        return Err(format!("{value} is not allowed"));
    }
    match value {
        Value::Array(parts) => {
            let [least, most] = ["minItems", "maxItems"].map(|key| schema.get(key).and_then(Value::as_u64));
            if least.is_some_and(|n| (parts.len() as u64) < n) || most.is_some_and(|n| parts.len() as u64 > n)
            {
                return Err(format!("{} parts", parts.len()));
            }
            let items = schema.get("items").into_iter();
            items.flat_map(|of| parts.iter().map(move |part| refusal(part, of, root))).collect()
        }
        Value::Object(fields) => object_refusal(fields, schema, root),
        _ => Ok(()),
    }
}

fn object_refusal(fields: &Map<String, Value>, schema: &Value, root: &Value) -> Result<(), String> {
    for needed in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let needed = needed.as_str().expect("a name");
        if !fields.contains_key(needed) {
            return Err(format!("{needed} is missing"));
        }
    }
    for (name, value) in fields {
        match (schema.get("properties").and_then(|all| all.get(name)), schema.get("additionalProperties")) {
            (Some(of), _) => refusal(value, of, root).map_err(|e| format!("{name}: {e}"))?,
            (None, Some(Value::Bool(false))) => return Err(format!("{name} is unknown")),
            (None, Some(of @ Value::Object(_))) => {
                refusal(value, of, root).map_err(|e| format!("{name}: {e}"))?;
            }
            (None, _) => {}
        }
    }
    Ok(())
}

/// All TOML files below a folder.
fn toml_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            toml_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
}

fn toml_value(text: &str) -> Value {
    let table: toml::Table = text.parse().expect("TOML");
    serde_json::to_value(table).expect("no dates")
}

#[test]
fn the_schemas_accept_every_example() {
    let mut files = Vec::new();
    toml_files(&root().join("examples"), &mut files);
    toml_files(&root().join("crates/cli/src/init"), &mut files);
    let mut counts = [0; 3];
    for file in files {
        let value = toml_value(&fs::read_to_string(&file).expect("read"));
        let kind = match (value.get("parameters"), value.get("scene")) {
            (Some(_), _) => 2,
            (_, Some(_)) => 1,
            _ => 0,
        };
        counts[kind] += 1;
        let schema = schema(KINDS[kind]);
        refusal(&value, &schema, &schema).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }
    assert!(counts.iter().all(|&count| count >= 2), "{counts:?}");
    let schema = schema(FileKind::Scene);
    for wrong in [
        "bodies = [{ mass = 1 }]",
        "bodies = [{ name = \"a\", translation = [0, 0] }]",
        "solver = { kind = \"leapfrog\" }",
        "bodies = [{ name = \"a\", geometries = [{ shape = { sphere = { radius = 1 }, box = { size = [1, 1, 1] } } }] }]",
        "gravty = [0, 0, 0]",
        "contact = { quadrature_order = \"2\" }",
    ] {
        assert!(refusal(&toml_value(wrong), &schema, &schema).is_err(), "{wrong}");
    }
}

/// A file with an unknown field in each of its tables in turn, and the definition of that table.
const TABLES: [(FileKind, &str, &str); 15] = [
    (FileKind::Scene, "", "gravty = 1"),
    (FileKind::Scene, "Material", "[materials.foam]\ngravty = 1"),
    (FileKind::Scene, "Solver", "[solver]\ngravty = 1"),
    (FileKind::Scene, "Contact", "[contact]\ngravty = 1"),
    (FileKind::Scene, "Body", "[[bodies]]\ngravty = 1"),
    (FileKind::Scene, "Joint", "[[bodies]]\n[bodies.joint]\ngravty = 1"),
    (FileKind::Scene, "Geometry", "[[bodies]]\n[[bodies.geometries]]\ngravty = 1"),
    (FileKind::Scene, "Mesh", "[[bodies]]\n[[bodies.geometries]]\nshape = { mesh = { gravty = 1 } }"),
    (FileKind::Scene, "Robot", "[[robots]]\ngravty = 1"),
    (FileKind::Scene, "Actuator", "[[actuators]]\ngravty = 1"),
    (FileKind::Problem, "", "gravty = 1"),
    (FileKind::Problem, "Cost", "[[costs]]\ngravty = 1"),
    (FileKind::Problem, "Optimizer", "[optimizer]\ngravty = 1"),
    (FileKind::Fit, "Trajectories", "[[trajectories]]\ngravty = 1"),
    (FileKind::Fit, "Parameter", "[[parameters]]\ngravty = 1"),
];

#[test]
fn the_schemas_have_the_fields_that_the_readers_know() {
    let folder = Folder::new("fields");
    for (kind, name, content) in TABLES {
        let file = folder.file("file.toml", content);
        let command = match kind {
            FileKind::Scene => "contact",
            FileKind::Problem => "optimize",
            FileKind::Fit => "fit",
        };
        let output = isobar(&[command, text(&file)]);
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8(output.stderr).expect("text");
        let (_, list) =
            message.split_once("unknown field `gravty`, expected ").expect("the fields that are known");
        let mut read: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        let schema = schema(kind);
        let table = if name.is_empty() { &schema } else { &schema["$defs"][name] };
        let mut described: Vec<&str> =
            table["properties"].as_object().expect("fields").keys().map(String::as_str).collect();
        read.sort_unstable();
        described.sort_unstable();
        assert_eq!(read, described, "{} {name}", kind.name());
        assert_eq!(table["additionalProperties"], false, "{} {name}", kind.name());
    }
}

/// Every field has a meaning, and every number that is not plain a unit.
#[test]
fn nothing_is_left_unsaid() {
    for kind in KINDS {
        let schema = schema(kind);
        let definitions = schema["$defs"].as_object().expect("definitions");
        let tables = definitions.iter().map(|(name, of)| (name.as_str(), of)).chain([("the file", &schema)]);
        for (name, table) in tables {
            assert!(table["description"].is_string(), "{name} has no description");
            for (field, of) in table.get("properties").and_then(Value::as_object).into_iter().flatten() {
                assert!(of["description"].is_string(), "{name}.{field} has no description");
            }
        }
    }
    let scene = FileKind::Scene.markdown();
    for line in [
        "| `stiction_velocity` | number | m/s | `0.001` |",
        "| `time_step` | number | s | `0.001` |",
        "| `scale` | number |  | `1` |",
        "| `gravity` | [number; 3] | m/s² | `[0, 0, -9.81]` |",
        "| `hydroelastic_modulus` | number | Pa |",
        "| `stop_stiffness` | number | N m/rad or N/m | `1e5` |",
        "2 μ_A μ_B / (μ_A + μ_B)",
    ] {
        assert!(scene.contains(line), "{line}");
    }
}

#[test]
fn a_solver_that_does_not_exist_is_told_those_that_do() {
    let folder = Folder::new("solver-kinds");
    let file = folder.file("scene.toml", "[solver]\nkind = \"leapfrog\"\n");
    let output = isobar(&["simulate", text(&file), "--until", "1", "--out", "x.csv"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).expect("text");
    let (_, list) = message.split_once("unknown variant `leapfrog`, expected one of ").expect("the kinds");
    assert_eq!(
        list.trim_end(),
        "`semi_implicit_euler`, `rk4`, `bogacki_shampine`, `dormand_prince`, `radau`, `sap`, `lagged`, `similar`, `tamsi`, `lcp`, `ncp`, `ecp`"
    );
}

#[test]
fn the_help_says_what_a_scene_is_and_where_the_rest_stands() {
    let help = |arguments: &[&str]| {
        let output = isobar(&[arguments, &["--help"]].concat());
        String::from_utf8(output.stdout).expect("text")
    };
    let essentials = help(&[]);
    for word in [
        "[materials.foam]",
        "hydroelastic_modulus",
        "[[bodies.geometries]]",
        "isobar schema scene --markdown",
    ] {
        assert!(essentials.contains(word), "{word}: {essentials}");
    }
    for (command, kind) in [
        ("contact", "scene"),
        ("simulate", "scene"),
        ("gradient-check", "scene"),
        ("optimize", "problem"),
        ("fit", "fit"),
    ] {
        assert!(help(&[command]).contains(&format!("isobar schema {kind} --markdown")), "{command}");
    }
    // The scene in it is one.
    let folder = Folder::new("help");
    let (scene, _) = essentials.split_once("Examples:").expect("examples after it");
    let lines: Vec<&str> = scene.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let from = lines.iter().position(|line| line.starts_with("[materials")).expect("a scene");
    let file = folder.file("scene.toml", lines[from..].join("\n"));
    let out = folder.0.join("out.csv");
    let run = isobar(&["simulate", text(&file), "--until", "0.01", "--out", text(&out)]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
