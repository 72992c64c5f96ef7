//! Documents of TOML and JSON, with the field and the line of what is wrong in them.
//!
//! Both formats are first parsed into one tree of [`node::Node`]s, which knows the position of each
//! value. Tables are deserialized from that tree. The code of a table is therefore compiled once for
//! both formats, both report a mistake in the same words, and the line of a value is found without
//! parsing the text again.

mod deserialize;
pub(super) mod field_path;
mod json;
pub(super) mod named_path;
mod node;
mod toml;

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::file_error::Problem;
use crate::input_file;
use crate::io::file_error::FileError;
use crate::shown::shown;
use field_path::FieldPath;
use named_path::Replacement;
use node::{Misplaced, Node, Value};

/// A file of TOML or JSON that was read.
#[derive(Clone, Debug)]
pub(super) struct Document {
    path: PathBuf,
    text: String,
    root: Node,
}

pub(super) fn read_text(path: &Path) -> Result<String, FileError> {
    input_file::read_text(path).map_err(|source| FileError::Read { path: path.to_owned(), source })
}

/// A file named in another, relative to it.
pub(super) fn beside(path: &Path, name: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).join(name)
}

impl Document {
    /// The document of a TOML text, whose messages name a file.
    pub fn of_toml(path: &Path, text: String) -> Result<Self, FileError> {
        Self::parsed(path, text, toml::parse)
    }

    /// The document of a text, TOML, or JSON where it begins with `{`.
    pub fn of_text(path: &Path, text: String) -> Result<Self, FileError> {
        let parse = if text.trim_start().starts_with('{') { json::parse } else { toml::parse };
        Self::parsed(path, text, parse)
    }

    /// Reads standard input, or a file: JSON where its name ends so, or else TOML.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        if input_file::is_standard_input(path) {
            let path = input_file::name(path);
            let text = input_file::standard_input();
            let text = text.map_err(|source| FileError::Read { path: path.to_owned(), source })?;
            return Self::of_text(path, text.to_owned());
        }
        Self::parsed(
            path,
            read_text(path)?,
            if input_file::ends_in(path, "json") { json::parse } else { toml::parse },
        )
    }

    fn parsed(
        path: &Path,
        text: String,
        parse: fn(&str) -> Result<Node, Misplaced>,
    ) -> Result<Self, FileError> {
        match parse(&text) {
            Ok(mut root) => {
                // By this key editors find the schema of a JSON file.
                if let Value::Table(entries) = &mut root.value {
                    entries.retain(|entry| entry.key != "$schema");
                }
                Ok(Self { path: path.to_owned(), text, root })
            }
            Err(wrong) => Err(misplaced(path, &text, wrong)),
        }
    }

    /// What the document says.
    #[inline(never)]
    pub fn contents<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        deserialize::contents(&self.root).map_err(|wrong| misplaced(&self.path, &self.text, wrong))
    }

    /// Gives a key of a table the name that replaced it, unless the table has that already. The problem
    /// that is returned says so, for a warning.
    pub fn replace_key(&mut self, table: &FieldPath, old: &str, new: &str) -> Option<FileError> {
        let node = self.root.value_mut(table)?;
        let index = node.position_of(old)?;
        if node.position_of(new).is_some() {
            return None;
        }
        let message = format_args!("this field is now called `{new}`; write that instead");
        let told = self.located(Problem::new(table.key(old), message));
        if let Some(Value::Table(entries)) = self.root.value_mut(table).map(|node| &mut node.value) {
            entries[index].key = new.to_owned();
        }
        Some(told)
    }

    /// Gives a text the spelling that replaced it. The problem that is returned says so, for a warning.
    pub fn replace_text(&mut self, field: &FieldPath, old: &str, new: &str) -> Option<FileError> {
        let node = self.root.value_mut(field)?;
        if !matches!(&node.value, Value::String(text) if text == old) {
            return None;
        }
        node.value = Value::String(new.to_owned());
        let message = format_args!("found \"{old}\", which is now spelled \"{new}\"; write that instead");
        Some(self.located(Problem::new(field.clone(), message)))
    }

    /// The field that a path such as `bodies.ball.mass` names.
    ///
    /// # Errors
    /// What is not there, in words.
    pub fn field(&self, path: &str) -> Result<FieldPath, String> {
        self.root.field(path)
    }

    /// The text at a field, if there is one.
    pub fn text(&self, field: &FieldPath) -> Option<&str> {
        match &self.root.value(field)?.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number at a field, if there is one.
    pub fn number(&mut self, field: &FieldPath) -> Option<f64> {
        self.root.value_mut(field)?.as_number()
    }

    /// Puts another value in the place of that of a field, which is there.
    pub fn replace(&mut self, field: &FieldPath, by: &Replacement) {
        if let Some(node) = self.root.value_mut(field) {
            node.replace(by);
        }
    }

    /// The keys of the table that the document is.
    pub fn keys(&self) -> Vec<&str> {
        let Value::Table(entries) = &self.root.value else { return Vec::new() };
        entries.iter().map(|entry| entry.key.as_str()).collect()
    }

    /// The file that a field names, relative to this one.
    ///
    /// # Errors
    /// When there is no such file.
    pub fn named_file(&self, field: &FieldPath, name: &Path) -> Result<PathBuf, FileError> {
        let path = beside(&self.path, name);
        if path.exists() {
            return Ok(path);
        }
        let found = name.to_string_lossy();
        let message = format_args!("found \"{}\", which is no file", shown(&found));
        Err(self.located(Problem::new(field.clone(), message)))
    }

    /// A problem with a field, with the file and the line.
    pub fn located(&self, Problem { field, message }: Problem) -> FileError {
        let line = self.root.position(&field).map(|position| line_at(&self.text, position));
        FileError::Invalid { path: self.path.clone(), line, field: field.to_string(), message }
    }
}

fn misplaced(path: &Path, text: &str, Misplaced { field, position, message }: Misplaced) -> FileError {
    let line = position.map(|position| line_at(text, position));
    FileError::Invalid { path: path.to_owned(), line, field: field.to_string(), message }
}

/// The line, from 1, of a byte of a document.
fn line_at(document: &str, position: usize) -> usize {
    document.bytes().take(position).filter(|&b| b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, parse: fn(&str) -> Result<Node, Misplaced>) -> impl Fn(&FieldPath) -> Option<usize> {
        let root = parse(text).unwrap();
        move |field| root.position(field).map(|position| line_at(text, position))
    }

    #[test]
    fn lines_of_values_and_of_what_is_missing() {
        let body = FieldPath::root().key("bodies").index(1);
        let radius = body.key("geometries").index(0).key("shape").key("sphere").key("radius");
        assert_eq!(radius.to_string(), "bodies[1].geometries[0].shape.sphere.radius");

        let line = lines(
            "gravity = [0, 0, 1]\n[[bodies]]\nname = \"a\"\n\n[[bodies]]\nname = \"b\"\nmass = 1\n\
             [[bodies.geometries]]\nshape = { sphere = { radius = 1 } }\n",
            toml::parse,
        );
        assert_eq!(line(&radius), Some(9));
        assert_eq!(line(&body.key("mass")), Some(7));
        assert_eq!(line(&body.key("inertia")), Some(5));
        assert_eq!(line(&FieldPath::root().key("gravity").index(2)), Some(1));

        let line = lines(
            "{\n\"gravity\": [0, 0,\n 1], \"bodies\": [\n{\"name\": \"a\"},\n{\"name\": \"b\",\n\
             \"mass\":\n 1, \"geometries\": [\n{\"shape\": {\"sphere\": {\"radius\": 1}}}]}]}",
            json::parse,
        );
        assert_eq!(line(&FieldPath::root().key("gravity").index(2)), Some(3));
        assert_eq!(line(&body.key("mass")), Some(7));
        assert_eq!(line(&body.key("inertia")), Some(5));
        assert_eq!(line(&radius), Some(8));
        assert_eq!(line(&FieldPath::root().key("nothing")), None);
    }

    /// A table with every kind of field that files have.
    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        name: String,
        #[serde(default)]
        count: usize,
        height: Option<f64>,
        #[serde(default)]
        fixed: bool,
        shape: Shape,
        #[serde(default)]
        rows: Vec<[f64; 2]>,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Sphere { radius: f64 },
        Plane,
    }

    /// What both formats say of the same contents, which must be the same but for the line.
    fn outcome(toml: &str, json: &str) -> Result<Table, String> {
        let of = |root: Result<Node, Misplaced>, text: &str| {
            root.and_then(|root| deserialize::contents::<Table>(&root)).map_err(|wrong| {
                let line = wrong.position.map_or(0, |position| line_at(text, position));
                (line, format!("{}: {}", wrong.field, wrong.message))
            })
        };
        let (from_toml, from_json) = (of(toml::parse(toml), toml), of(json::parse(json), json));
        match (from_toml, from_json) {
            (Ok(a), Ok(b)) => {
                assert_eq!(a, b);
                Ok(a)
            }
            (Err((line, message)), Err((json_line, json_message))) => {
                assert_eq!(message, json_message);
                assert_eq!(line, json_line, "{message}");
                Err(format!("{line}: {message}"))
            }
            (a, b) => panic!("TOML: {a:?}, JSON: {b:?}"),
        }
    }

    #[test]
    fn both_formats_say_the_same() {
        let table = outcome(
            "name = 'a'\ncount = 3\nheight = 1\nshape = { sphere = { radius = 2.5 } }\nrows = [[1, 2.5]]",
            r#"{"name": "a", "count": 3, "height": 1, "shape": {"sphere": {"radius": 2.5}}, "rows": [[1, 2.5]]}"#,
        )
        .unwrap();
        assert_eq!(table.height, Some(1.0));
        assert_eq!(table.shape, Shape::Sphere { radius: 2.5 });
        assert_eq!(table.rows, [[1.0, 2.5]]);
        let plain = outcome("name = 'a'\nshape = 'plane'", r#"{"name": "a", "shape": "plane"}"#).unwrap();
        assert_eq!((plain.shape, plain.height), (Shape::Plane, None));
    }

    #[test]
    fn mistakes_have_their_field_and_line() {
        let wrong = |toml: &str, json: &str| outcome(toml, json).unwrap_err();
        assert_eq!(
            wrong("name = 'a'\nshape = 'cube'", "{\"name\": \"a\",\n\"shape\": \"cube\"}"),
            "2: shape: unknown variant `cube`, expected `sphere` or `plane`"
        );
        assert_eq!(
            wrong(
                "name = 'a'\nshape = { sphere = {\nradius = 'x' } }",
                "{\"name\": \"a\",\n\"shape\": {\"sphere\": {\n\"radius\": \"x\"}}}"
            ),
            "3: shape.sphere.radius: invalid type: string \"x\", expected a number"
        );
        assert_eq!(
            wrong("name = 'a'\nshape = 'sphere'", "{\"name\": \"a\",\n\"shape\": \"sphere\"}"),
            "2: shape: found a name alone; `sphere` has fields of its own"
        );
        assert_eq!(
            wrong("name = 'a'\nshape = {}", "{\"name\": \"a\",\n\"shape\": {}}"),
            "2: shape: found a table of 0 fields; it must be a name, or a table of one field"
        );
        assert_eq!(
            wrong("name = 'a'\n\nradius = 2", "{\"name\": \"a\",\n\n\"radius\": 2}"),
            "3: radius: unknown field `radius`, expected one of `name`, `count`, `height`, `fixed`, `shape`, `rows`"
        );
        assert_eq!(wrong("count = 3", "{\"count\": 3}"), "1: the file: missing field `name`");
        assert_eq!(
            wrong("name = 'a'\ncount = -3", "{\"name\": \"a\",\n\"count\": -3}"),
            "2: count: invalid value: integer `-3`, expected a whole number that is not negative"
        );
        assert_eq!(
            wrong(
                "name = 'a'\nrows = [\n[1, 2],\n[3, true]]",
                "{\"name\": \"a\",\n\"rows\": [\n[1, 2],\n[3, true]]}"
            ),
            "4: rows[1][1]: invalid type: boolean `true`, expected a number"
        );
        assert_eq!(
            wrong("name = [1]", "{\"name\": [1]}"),
            "1: name: invalid type: sequence, expected a string"
        );
        assert_eq!(
            wrong("name = 'a'\nheight = 1e999", "{\"name\": \"a\",\n\"height\": 1e999}"),
            "2: height: found 1e999; it is too large for a number"
        );
        assert_eq!(
            wrong("rows = 5", "{\"rows\": 5}"),
            "1: rows: invalid type: integer `5`, expected a sequence"
        );
    }

    #[test]
    fn what_no_table_can_be_is_refused() {
        for (text, expected) in [
            ("{\"a\": 1,}", "key must be a string"),
            ("{} {}", "trailing characters"),
            ("", "EOF while parsing a value"),
            ("{\"a\": \"\\ud800\"}", "unexpected end of hex escape"),
        ] {
            let wrong = json::parse(text).unwrap_err();
            assert!(wrong.message.contains(expected), "{text}: {}", wrong.message);
            assert!(!wrong.message.contains("line"), "{}", wrong.message);
        }
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(json::parse(&deep).unwrap_err().message.contains("nested"));
        assert!(toml::parse(&format!("a = {deep}")).is_err());
        assert!(toml::parse("a = 1\na = 2").unwrap_err().message.contains("duplicate key"));
        let comma = toml::parse("a = 1\nb = -10,25 # N").unwrap_err().message;
        assert_eq!(comma, "found `10,25`; a number has a decimal point");
        assert!(!toml::parse("a = 'x',5").unwrap_err().message.contains("decimal"));
        let date = toml::parse("name = 2020-01-01").unwrap();
        let wrong = deserialize::contents::<Table>(&date).unwrap_err();
        assert_eq!(wrong.message, "invalid type: date 2020-01-01, expected a string");
    }
}
