//! A JSON text as a tree of values.
//!
//! The JSON parser does not report the positions of values, but gives the text of a value that is not
//! yet parsed ([`RawValue`]). Each table and list is therefore parsed into such texts, and each of these
//! in turn. So a byte is read once for every level it is under, of which there are at most
//! [`MAX_DEPTH`].

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;

use super::field_path::FieldPath;
use super::node::{Entry, Misplaced, Node, Value};

/// Most levels of tables and lists in each other.
const MAX_DEPTH: usize = 128;

/// The tree of a JSON text.
pub(super) fn parse(text: &str) -> Result<Node, Misplaced> {
    // All of the text is looked at first, so that whatever is not JSON is told with its line.
    serde_json::from_str::<IgnoredAny>(text)
        .map_err(|error| misplaced(&error, FieldPath::root(), Some(position(text, &error))))?;
    Reader { text }.node(text, &FieldPath::root(), 0)
}

/// The byte at which the parser stopped.
fn position(text: &str, error: &serde_json::Error) -> usize {
    let before = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    (before + error.column().saturating_sub(1)).min(text.len())
}

fn misplaced(error: &serde_json::Error, field: FieldPath, position: Option<usize>) -> Misplaced {
    // The line goes to the front of the message.
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    Misplaced { field, position, message: message[..end].to_owned() }
}

struct Reader<'a> {
    /// The whole document.
    text: &'a str,
}

impl Reader<'_> {
    /// The value that a part of the document is.
    fn node(&self, part: &str, field: &FieldPath, depth: usize) -> Result<Node, Misplaced> {
        let part = part.trim_start();
        // Both are parts of the same text.
        let start = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let wrong = |error: serde_json::Error| misplaced(&error, field.clone(), Some(start));
        if depth > MAX_DEPTH {
            let message = format!("found values nested more than {MAX_DEPTH} times");
            return Err(Misplaced { field: FieldPath::root(), position: Some(start), message });
        }
        let value = match part.as_bytes().first() {
            Some(b'{') => {
                let RawEntries(entries) = serde_json::from_str(part).map_err(wrong)?;
                let entry = |(key, raw): (String, &RawValue)| {
                    let node = self.node(raw.get(), &field.key(&key), depth + 1)?;
                    Ok(Entry { key, start: node.start, node })
                };
                Value::Table(entries.into_iter().map(entry).collect::<Result<_, _>>()?)
            }
            Some(b'[') => {
                let elements: Vec<&RawValue> = serde_json::from_str(part).map_err(wrong)?;
                let element =
                    |(i, raw): (usize, &&RawValue)| self.node(raw.get(), &field.index(i), depth + 1);
                Value::Array(elements.iter().enumerate().map(element).collect::<Result<_, _>>()?)
            }
            Some(b'"') => Value::String(serde_json::from_str(part).map_err(wrong)?),
            Some(b't' | b'f') => Value::Bool(serde_json::from_str(part).map_err(wrong)?),
            Some(b'n') => Value::Null,
            _ => number(part, field, start)?,
        };
        Ok(Node { start, value })
    }
}

fn number(part: &str, field: &FieldPath, start: usize) -> Result<Value, Misplaced> {
    let number = serde_json::from_str::<Number>(part).map_err(|_| Misplaced {
        field: field.clone(),
        position: Some(start),
        message: format!("found {}; it is too large for a number", part.trim_end()),
    })?;
    Ok(match number.as_i128() {
        Some(integer) => Value::Integer(integer),
        // Every number is a float if it is not an integer.
        None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
    })
}

/// The entries of a table in their order, those included whose key comes twice.
struct RawEntries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawEntries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = RawEntries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawEntries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(RawEntries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}
