//! A TOML text as a tree of values.

use toml::de::{DeTable, DeValue};

use super::field_path::FieldPath;
use super::node::{Entry, Misplaced, Node, Value};
use crate::io::reference::FileKind;
use crate::shown::shown;

/// The tree of a TOML text.
pub(super) fn parse(text: &str) -> Result<Node, Misplaced> {
    let document = DeTable::parse(text).map_err(|error| Misplaced {
        field: FieldPath::root(),
        position: error.span().map(|span| span.start),
        message: match error.span().filter(|_| error.message().contains("duplicate key")) {
            Some(span) => duplicate(text, span.start),
            None => error
                .span()
                .and_then(|span| decimal_comma(text, span.start))
                .unwrap_or_else(|| error.message().trim().replace('\n', ", ")),
        },
    })?;
    let start = document.span().start;
    let value = table(document.get_ref(), &FieldPath::root())?;
    Ok(Node { start, value })
}

/// What to say where a number ends at this byte in a comma and digits.
fn decimal_comma(text: &str, at: usize) -> Option<String> {
    let digits = |c: char| c.is_ascii_digit();
    let before = &text[..at];
    let start = before.trim_end_matches(digits).len();
    let after = text[at..].strip_prefix(',')?;
    let length = after.find(|c| !digits(c)).unwrap_or(after.len());
    let found = (start < at && length > 0).then(|| format!("{},{}", &before[start..], &after[..length]))?;
    Some(format!("found `{found}`; a number has a decimal point"))
}

/// What to say of a key at this byte that is there before: of one in brackets, how its tables are written.
fn duplicate(text: &str, start: usize) -> String {
    let line = text[text[..start].rfind('\n').map_or(0, |end| end + 1)..].lines().next().unwrap_or_default();
    let ends = |c: char| c.is_whitespace() || "=.,]}".contains(c);
    let key = text[start..].split(ends).next().unwrap_or_default();
    let Some((name, _)) = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
        return format!("duplicate key `{}`; a table has each key once", shown(key));
    };
    let [found, name] = [line.trim(), name.trim_start_matches('[')].map(|part| shown(part).into_owned());
    let is = |kind: &str| FileKind::ALL.iter().any(|file| is_declared(&file.schema(), key, kind));
    let allowed = match () {
        () if is("array") => format!("each of several tables is `[[{name}]]`, from the first on"),
        () if is("object") => format!("each of several tables has a name: `[{name}.NAME]`"),
        () => "a table is given once".to_owned(),
    };
    format!("found `{found}`, a duplicate key; {allowed}")
}

/// Whether a schema has a key for what is of a type.
fn is_declared(schema: &serde_json::Value, key: &str, kind: &str) -> bool {
    let tables = schema["$defs"].as_object().into_iter().flat_map(|tables| tables.values());
    tables.chain([schema]).any(|table| table["properties"][key]["type"] == kind)
}

fn table(entries: &DeTable, field: &FieldPath) -> Result<Value, Misplaced> {
    let mut table = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let (name, start) = (key.get_ref().to_string(), key.span().start);
        let node = node(value.get_ref(), value.span().start, &field.key(&name))?;
        table.push(Entry { key: name, start, node });
    }
    // A table of this library is sorted by its keys.
    table.sort_by_key(|entry| entry.start);
    Ok(Value::Table(table))
}

/// A value. The depth of a document is limited by the parser.
fn node(value: &DeValue, start: usize, field: &FieldPath) -> Result<Node, Misplaced> {
    let too_large = |found: &str| Misplaced {
        field: field.clone(),
        position: Some(start),
        message: format!("found {found}; it is too large for a number"),
    };
    let value = match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map(Value::Integer)
            .map_err(|_| too_large(number.as_str()))?,
        DeValue::Float(number) => {
            let written = number.as_str();
            // What is written as a number is none but finite; `inf` and `nan` are words of TOML.
            match written.parse::<f64>() {
                Ok(x) if x.is_finite() || !written.contains(|c: char| c.is_ascii_digit()) => Value::Float(x),
                _ => return Err(too_large(written)),
            }
        }
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(elements) => Value::Array(
            elements
                .iter()
                .enumerate()
                .map(|(i, element)| node(element.get_ref(), element.span().start, &field.index(i)))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(entries) => table(entries, field)?,
    };
    Ok(Node { start, value })
}
