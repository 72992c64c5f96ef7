//! The reference of the files that people write: each field with its type, unit, default and
//! meaning, as a JSON schema and as a page of Markdown. Both are made from the types that read the
//! files, so that they cannot say anything else.

mod markdown;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use self::markdown::DEFINITIONS;
use crate::io::fit::schema::FitTable;
use crate::io::problem::schema::ProblemTable;
use crate::io::scene::schema::SceneTable;

/// A kind of file that people write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum FileKind {
    /// Bodies, joints, materials, settings.
    Scene,
    /// What a motion of a scene should be like, for `isobar optimize`.
    Problem,
    /// Which parameters to fit to which measurements, for `isobar fit`.
    Fit,
}

/// What the names of the tables' types end in, which the names in a schema do not.
const ENDING: &str = "Table";

impl FileKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Scene, Self::Problem, Self::Fit];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scene => "scene",
            Self::Problem => "problem",
            Self::Fit => "fit",
        }
    }

    /// The JSON schema (draft 2020-12) of the file, by which editors complete and check it. Units
    /// are in `x-unit`, defaults that are no value in `x-default`.
    pub fn json_schema(self) -> String {
        format!("{:#}\n", self.schema())
    }

    /// The page of Markdown that describes every field.
    pub fn markdown(self) -> String {
        markdown::page(self.name(), &self.schema())
    }

    /// The JSON schema as a value.
    pub(in crate::io) fn schema(self) -> Value {
        let mut schema = match self {
            Self::Scene => root::<SceneTable>(),
            Self::Problem => root::<ProblemTable>(),
            Self::Fit => root::<FitTable>(),
        };
        tidy(&mut schema);
        if let Some(root) = schema.as_object_mut() {
            root.insert("title".into(), format!("isobar {} file", self.name()).into());
        }
        schema
    }
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
