//! The references as they follow from the types that read the files: what the committed ones are compared with, and made from.
//!
//! `ISOBAR_REFERENCES=write cargo test --lib references` writes those in `docs`.

use std::path::Path;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use super::FileKind;
use super::markdown::{self, DEFINITIONS};
use crate::io::fit::schema::FitTable;
use crate::io::problem::schema::ProblemTable;
use crate::io::scene::schema::SceneTable;

/// What the names of the tables' types end in, which the names in a schema do not.
const ENDING: &str = "Table";

fn schema(kind: FileKind) -> Value {
    let mut schema = match kind {
        FileKind::Scene => root::<SceneTable>(),
        FileKind::Problem => root::<ProblemTable>(),
        FileKind::Fit => root::<FitTable>(),
    };
    tidy(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".into(), format!("isobar {} file", kind.name()).into());
    }
    schema
}

fn root<T: JsonSchema>() -> Value {
    SchemaGenerator::default().into_root_schema_for::<T>().to_value()
}

/// Leaves out what says nothing to people: the null that stands for an absent field, formats of
/// numbers, ends of names, breaks of lines.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("format");
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            without_null(fields);
            if let Some(Value::String(description)) = fields.get_mut("description") {
                let paragraphs: Vec<String> =
                    description.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
                *description = paragraphs.join("\n\n");
            }
            if let Some(Value::String(reference)) = fields.get_mut("$ref") {
                *reference = short(reference).to_owned();
            }
            if let Some(Value::Object(definitions)) = fields.get_mut(DEFINITIONS) {
                let all = std::mem::take(definitions);
                *definitions = all.into_iter().map(|(name, of)| (short(&name).to_owned(), of)).collect();
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(parts) => parts.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// A name without its ending.
fn short(name: &str) -> &str {
    name.strip_suffix(ENDING).unwrap_or(name)
}

/// Takes the type `null` out of a schema.
fn without_null(fields: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            fields.insert("type".into(), one);
        }
    }
    let Some(Value::Array(choices)) = fields.get_mut("anyOf") else { return };
    choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    if let [Value::Object(only)] = &choices[..] {
        let only = only.clone();
        fields.shift_remove("anyOf");
        for (key, value) in only {
            fields.entry(key).or_insert(value);
        }
    }
}

#[test]
fn the_committed_references_are_those_of_the_types() {
    let is_written = std::env::var("ISOBAR_REFERENCES").is_ok_and(|mode| mode == "write");
    for kind in FileKind::ALL {
        let (name, schema) = (kind.name(), schema(kind));
        let references = [
            (format!("{name}.schema.json"), format!("{schema:#}\n"), kind.json_schema()),
            (format!("{name}.md"), markdown::page(name, &schema), kind.markdown()),
        ];
        for (file, made, committed) in references {
            if is_written {
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(&file);
                std::fs::write(path, made).expect("the reference is written");
            } else {
                let remedy = "ISOBAR_REFERENCES=write cargo test --lib references";
                assert!(made == committed, "docs/{file} is not what the types say; write it by `{remedy}`");
            }
        }
    }
}
