//! From a schema to a page of Markdown.

use std::fmt::Write;

use serde_json::{Map, Value};

/// Where a schema has its definitions, and how it refers to them.
pub(super) const DEFINITIONS: &str = "$defs";
const REFERENCE: &str = "#/$defs/";

/// The page of the schema of a kind of file: a table of the file's fields, then a section for each of
/// their types.
pub(super) fn page(name: &str, schema: &Value) -> String {
    let mut page = format!("# The {name} file\n\n");
    let description = text(schema, "description");
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "{description}\n\nThis page is what `isobar schema {name} --markdown` prints; \
         [`{name}.schema.json`]({name}.schema.json), what `isobar schema {name}` prints, lets editors complete and \
         check such files.\n\n"
    );
    fields(&mut page, schema);
    if let Some(Value::Object(definitions)) = schema.get(DEFINITIONS) {
        for name in in_order(schema, definitions) {
            section(&mut page, &name, &definitions[&name]);
        }
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// The definitions, each followed by those that it refers to first.
fn in_order(schema: &Value, definitions: &Map<String, Value>) -> Vec<String> {
    let mut names = Vec::new();
    if let Value::Object(fields) = schema {
        let parts = fields.iter().filter(|(key, _)| *key != DEFINITIONS);
        parts.for_each(|(_, part)| references(part, definitions, &mut names));
    }
    names
}

/// Adds the names of the definitions that a schema refers to and that are not there yet, each
/// followed by those that it refers to.
fn references(schema: &Value, definitions: &Map<String, Value>, names: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(name) = reference(schema)
                && !names.iter().any(|known| known == name)
            {
                names.push(name.to_owned());
                definitions.get(name).into_iter().for_each(|of| references(of, definitions, names));
            }
            fields.values().for_each(|value| references(value, definitions, names));
        }
        Value::Array(parts) => parts.iter().for_each(|part| references(part, definitions, names)),
        _ => {}
    }
}

/// The name of the definition that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(REFERENCE)
}

/// A text of a schema; empty without it.
fn text<'s>(schema: &'s Value, key: &str) -> &'s str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A list of a schema; empty without it.
fn list<'s>(schema: &'s Value, key: &str) -> &'s [Value] {
    schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The name of a type in words: `HalfSpace` is `half space`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// The section of a definition.
fn section(page: &mut String, name: &str, schema: &Value) {
    let mut heading = words(name);
    if let Some(first) = heading.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let _ = write!(page, "## {heading}\n\n{}\n\n", text(schema, "description"));
    fields(page, schema);
    let choices = [list(schema, "oneOf"), list(schema, "anyOf")].concat();
    for choice in &choices {
        let meaning = match (text(choice, "description"), reference(choice)) {
            ("", _) => String::new(),
            (description, _) => format!(": {description}"),
        };
        let _ = writeln!(page, "- {}{meaning}", choice_text(choice));
    }
    if !choices.is_empty() {
        page.push('\n');
    }
}

/// One of several forms of a value.
fn choice_text(choice: &Value) -> String {
    // A table with one field, by which it is known.
    match choice.get("properties").and_then(Value::as_object).and_then(|fields| fields.iter().next()) {
        Some((key, value)) => format!("`{key}` = {}", type_text(value)),
        None => type_text(choice),
    }
}

/// The table of the fields of a schema.
fn fields(page: &mut String, schema: &Value) {
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    let required = list(schema, "required");
    page.push_str("| field | type | unit | default | meaning |\n|---|---|---|---|---|\n");
    for (name, field) in properties {
        let default =
            if required.iter().any(|r| r == name) { "**needed**".to_owned() } else { default(field) };
        let meaning = text(field, "description").replace("\n\n", " ").replace('|', "\\|");
        let (kind, unit) = (type_text(field).replace('|', "\\|"), text(field, "x-unit"));
        let _ = writeln!(page, "| `{name}` | {kind} | {unit} | {default} | {meaning} |");
    }
    page.push('\n');
}

/// What holds where a field is absent.
fn default(field: &Value) -> String {
    match (text(field, "x-default"), field.get("default")) {
        ("", Some(Value::Object(_)) | None) => String::new(),
        ("", Some(Value::Array(parts))) if parts.is_empty() => "none".to_owned(),
        ("", Some(value)) => format!("`{}`", value_text(value)),
        (words, _) => words.to_owned(),
    }
}

/// A value as it is written in a file.
fn value_text(value: &Value) -> String {
    match value {
        Value::Array(parts) => format!("[{}]", parts.iter().map(value_text).collect::<Vec<_>>().join(", ")),
        // The shortest digits, without those of a whole number behind the point.
        Value::Number(number) => match number.as_f64() {
            Some(x) if (1e-3..1e4).contains(&x.abs()) || x == 0.0 => format!("{x}"),
            Some(x) => format!("{x:e}"),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// A type in words.
fn type_text(schema: &Value) -> String {
    if let Some(name) = reference(schema) {
        let name = words(name);
        return format!("[{name}](#{})", name.replace(' ', "-"));
    }
    let choices = [list(schema, "oneOf"), list(schema, "anyOf")].concat();
    if !choices.is_empty() {
        return choices.iter().map(type_text).collect::<Vec<_>>().join(" or ");
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    if !list(schema, "enum").is_empty() {
        return list(schema, "enum").iter().map(|v| format!("`{v}`")).collect::<Vec<_>>().join(" or ");
    }
    match text(schema, "type") {
        "array" => {
            let of = schema.get("items").map(type_text).unwrap_or_default();
            let [least, most] = ["minItems", "maxItems"].map(|key| schema.get(key).and_then(Value::as_u64));
            match (least, most) {
                (Some(count), Some(most)) if count == most => format!("[{of}; {count}]"),
                _ => format!("list of {of}"),
            }
        }
        "object" => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("table: name = {}", type_text(values)),
            _ => "table".to_owned(),
        },
        plain => plain.to_owned(),
    }
}
