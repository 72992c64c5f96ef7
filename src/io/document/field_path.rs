//! Where in a document a value stands.

use std::fmt;

/// One step from a value into its parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Key(String),
    Index(usize),
}

/// The path to a value, such as `bodies[1].geometries[0].material`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::io) struct FieldPath(Vec<Part>);

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

    /// The value that this step leads to.
    pub(super) fn with(&self, part: Part) -> Self {
        let mut parts = self.0.clone();
        parts.push(part);
        Self(parts)
    }

    /// What stands in brackets over the table that the value is.
    pub(super) fn table_name(&self) -> String {
        let keys = self
            .0
            .iter()
            .filter_map(|part| if let Part::Key(key) = part { Some(key.as_str()) } else { None });
        keys.collect::<Vec<_>>().join(".")
    }

    /// The steps from the document to the value.
    pub(super) fn parts(&self) -> &[Part] {
        &self.0
    }
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
