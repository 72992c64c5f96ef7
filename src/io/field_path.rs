//! Where in a scene file a value stands.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;
use toml::de::{DeTable, DeValue};

/// One step from a value into its parts.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Key(String),
    Index(usize),
}

/// The path to a value, such as `bodies[1].geometries[0].material`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FieldPath(Vec<Part>);

impl FieldPath {
    /// The whole file.
    pub fn root() -> Self {
        Self::default()
    }

    /// The value with this key in the table.
    pub fn key(&self, key: &str) -> Self {
        self.with(Part::Key(key.to_owned()))
    }

    /// The value at this place of the array.
    pub fn index(&self, index: usize) -> Self {
        self.with(Part::Index(index))
    }

    fn with(&self, part: Part) -> Self {
        let mut parts = self.0.clone();
        parts.push(part);
        Self(parts)
    }

    /// The line, from 1, of the value in a TOML document, or of the innermost value around it
    /// that the document has.
    pub fn line_in_toml(&self, document: &str) -> Option<usize> {
        let root = DeTable::parse(document).ok()?;
        let mut table = Some(root.get_ref());
        let mut array = None;
        let mut start = None;
        for part in &self.0 {
            let value = match part {
                Part::Key(key) => table.and_then(|t| {
                    let (name, value) = t.iter().find(|(name, _)| name.get_ref() == key)?;
                    Some((name.span().start, value))
                }),
                Part::Index(index) => {
                    array.and_then(|a: &toml::de::DeArray| a.get(*index)).map(|v| (v.span().start, v))
                }
            };
            let Some((position, value)) = value else { break };
            start = Some(position);
            (table, array) = match value.get_ref() {
                DeValue::Table(t) => (Some(t), None),
                DeValue::Array(a) => (None, Some(a)),
                _ => (None, None),
            };
        }
        Some(line_at(document, start?))
    }

    /// The line, from 1, of the value in a JSON document, or of the innermost value around it
    /// that the document has.
    pub fn line_in_json(&self, document: &str) -> Option<usize> {
        let mut value = document;
        for part in &self.0 {
            let Some(inner) = json_part(value, part) else { break };
            value = inner;
        }
        // Both are parts of the same text.
        let start = (value.as_ptr() as usize).checked_sub(document.as_ptr() as usize)?;
        (start > 0).then(|| line_at(document, start))
    }
}

/// The part of a JSON value that a step leads to, as it is written.
fn json_part<'a>(value: &'a str, part: &Part) -> Option<&'a str> {
    let raw = match part {
        Part::Key(key) => *serde_json::from_str::<BTreeMap<String, &RawValue>>(value).ok()?.get(key)?,
        Part::Index(index) => *serde_json::from_str::<Vec<&RawValue>>(value).ok()?.get(*index)?,
    };
    Some(raw.get())
}

/// The line, from 1, of a byte of a document.
pub(super) fn line_at(document: &str, position: usize) -> usize {
    document.bytes().take(position).filter(|&b| b == b'\n').count() + 1
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("the file");
        }
        for (i, part) in self.0.iter().enumerate() {
            match part {
                Part::Key(key) if i == 0 => f.write_str(key)?,
                Part::Key(key) => write!(f, ".{key}")?,
                Part::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_values_and_of_what_is_missing() {
        let document = "gravity = [0, 0, 1]\n[[bodies]]\nname = \"a\"\n\n[[bodies]]\nname = \"b\"\nmass = 1\n\
                        [[bodies.geometries]]\nshape = { sphere = { radius = 1 } }\n";
        let body = FieldPath::root().key("bodies").index(1);
        let radius = body.key("geometries").index(0).key("shape").key("sphere").key("radius");
        assert_eq!(radius.to_string(), "bodies[1].geometries[0].shape.sphere.radius");
        assert_eq!(radius.line_in_toml(document), Some(9));
        assert_eq!(body.key("mass").line_in_toml(document), Some(7));
        assert_eq!(body.key("inertia").line_in_toml(document), Some(5));
        assert_eq!(FieldPath::root().key("gravity").index(2).line_in_toml(document), Some(1));

        let document = "{\n\"gravity\": [0, 0,\n 1], \"bodies\": [\n{\"name\": \"a\"},\n{\"name\": \"b\",\n\
                        \"mass\":\n 1, \"geometries\": [\n{\"shape\": {\"sphere\": {\"radius\": 1}}}]}]}";
        assert_eq!(FieldPath::root().key("gravity").index(2).line_in_json(document), Some(3));
        assert_eq!(body.key("mass").line_in_json(document), Some(7));
        assert_eq!(body.key("inertia").line_in_json(document), Some(5));
        assert_eq!(radius.line_in_json(document), Some(8));
        assert_eq!(FieldPath::root().key("nothing").line_in_json(document), None);
    }
}
