//! Paths to values of a document as people write them: `bodies.ball.mass`, where an element of an array may be named by
//! its field `name` in the place of its number.

use super::field_path::FieldPath;
use super::node::{Node, Value};

/// What takes the place of a value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::io) enum Replacement {
    Number(f64),
    Text(String),
}

impl Node {
    /// The field that a path names.
    ///
    /// # Errors
    /// What is not there, in words.
    pub fn field(&self, path: &str) -> Result<FieldPath, String> {
        let (mut node, mut rest, mut field) = (self, path, FieldPath::root());
        while !rest.is_empty() {
            let (next, found, after) = step(node, rest, &field)?;
            (node, rest, field) = (next, after, found);
        }
        Ok(field)
    }

    /// The number that this is.
    pub fn as_number(&self) -> Option<f64> {
        match self.value {
            Value::Integer(x) => Some(x as f64),
            Value::Float(x) => Some(x),
            _ => None,
        }
    }

    /// Puts another value in the place of this one.
    pub fn replace(&mut self, by: &Replacement) {
        // What was a whole number, such as a count, may be one again.
        let whole = |x: f64| {
            matches!(self.value, Value::Integer(_)) && x.fract() == 0.0 && x.abs() < 2.0_f64.powi(53)
        };
        self.value = match by {
            Replacement::Number(x) if whole(*x) => Value::Integer(*x as i128),
            Replacement::Number(x) => Value::Float(*x),
            Replacement::Text(text) => Value::String(text.clone()),
        };
    }
}

/// One step into a value: the part, its field, and what is left of the path.
fn step<'n, 'p>(
    node: &'n Node,
    path: &'p str,
    field: &FieldPath,
) -> Result<(&'n Node, FieldPath, &'p str), String> {
    let missing = |what: &str| format!("found `{what}`, which {field} does not have");
    if let Some(indexed) = path.strip_prefix('[') {
        let (index, rest) = indexed.split_once(']').ok_or_else(|| format!("`[{indexed}` has no `]`"))?;
        let Value::Array(elements) = &node.value else { return Err(missing(&format!("[{index}]"))) };
        let index: usize =
            index.trim().parse().map_err(|_| format!("found `[{index}]`; an index is a number"))?;
        let element = elements.get(index).ok_or_else(|| missing(&format!("[{index}]")))?;
        return Ok((element, field.index(index), rest));
    }
    let path = path.strip_prefix('.').unwrap_or(path);
    // Names may hold dots: the longest that fits is meant.
    let fits = |name: &str| {
        let rest = path.strip_prefix(name)?;
        (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
    };
    let longest = |names: &mut dyn Iterator<Item = (usize, &'n str)>| {
        let fitting = names.filter(|(_, name)| fits(name).is_some());
        fitting.max_by_key(|(_, name)| name.len())
    };
    match &node.value {
        Value::Table(entries) => {
            let found = longest(&mut entries.iter().map(|entry| entry.key.as_str()).enumerate());
            if let Some((i, key)) = found {
                return Ok((&entries[i].node, field.key(key), fits(key).unwrap_or("")));
            }
        }
        Value::Array(elements) => {
            let name_of = |element: &'n Node| match &element.entry("name")?.node.value {
                Value::String(name) => Some(name.as_str()),
                _ => None,
            };
            let mut names =
                elements.iter().enumerate().filter_map(|(i, element)| Some((i, name_of(element)?)));
            if let Some((i, name)) = longest(&mut names) {
                return Ok((&elements[i], field.index(i), fits(name).unwrap_or("")));
            }
        }
        _ => {}
    }
    Err(missing(path.split(['.', '[']).next().unwrap_or(path)))
}

#[cfg(test)]
mod tests {
    use super::super::toml;

    #[test]
    fn elements_are_found_by_their_names() {
        let text = "[[bodies]]\nname = 'a'\n[[bodies]]\nname = 'a.b'\nmass = 2\ntranslation = [1, 2.5, 3]\n\
                    [materials.foam]\nfriction = 0.5\n";
        let mut root = toml::parse(text).expect("TOML");
        for (path, field, value) in [
            ("bodies.a.b.mass", "bodies[1].mass", 2.0),
            ("bodies[1].translation[1]", "bodies[1].translation[1]", 2.5),
            ("bodies.a.b.translation[2]", "bodies[1].translation[2]", 3.0),
            ("materials.foam.friction", "materials.foam.friction", 0.5),
        ] {
            let found = root.field(path).expect(path);
            assert_eq!(found.to_string(), field);
            assert_eq!(root.value_mut(&found).and_then(|node| node.as_number()), Some(value));
        }
        for (path, wrong) in [
            ("bodies.a.mass", "found `mass`, which bodies[0] does not have"),
            ("bodies.c.mass", "found `c`, which bodies does not have"),
            ("bodies[7]", "found `[7]`, which bodies does not have"),
            ("bodies[x]", "found `[x]`; an index is a number"),
            ("bodies[1", "`[1` has no `]`"),
            ("materials.foam.friction.x", "found `x`, which materials.foam.friction does not have"),
        ] {
            assert_eq!(root.field(path).unwrap_err(), wrong, "{path}");
        }
    }
}
