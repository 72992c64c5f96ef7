//! A document as a tree of values that know where they stand.

use super::field_path::{FieldPath, Part};

/// A value of a document.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The byte at which it begins.
    pub start: usize,
    /// The value itself.
    pub value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    /// `null`, of JSON alone.
    Null,
    Bool(bool),
    /// An integer. What is larger than any integer is a mistake in TOML, a float in JSON.
    Integer(i128),
    Float(f64),
    String(String),
    /// A date or time, of TOML alone, as it is written. No field takes one.
    Date(String),
    Array(Vec<Node>),
    /// In the order of the document. A key that comes twice, which JSON allows, is here twice.
    Table(Vec<Entry>),
}

/// A key of a table and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: String,
    /// The byte at which a reader finds the entry: its key in TOML, its value in JSON.
    pub start: usize,
    pub node: Node,
}

/// Something wrong with a document.
#[derive(Debug)]
pub(super) struct Misplaced {
    pub field: FieldPath,
    /// The byte at which it is, if that is known.
    pub position: Option<usize>,
    pub message: String,
}

impl Node {
    /// The first entry with this key, if this is a table that has one.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key)
    }

    /// The index of the first entry with this key, if this is a table that has one.
    pub fn position_of(&self, key: &str) -> Option<usize> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().position(|entry| entry.key == key)
    }

    /// The value of a field, if the document has it.
    pub fn value(&self, field: &FieldPath) -> Option<&Self> {
        field.parts().iter().try_fold(self, |node, part| match (part, &node.value) {
            (Part::Key(key), _) => Some(&node.entry(key)?.node),
            (Part::Index(index), Value::Array(elements)) => elements.get(*index),
            _ => None,
        })
    }

    /// The same, to be changed.
    pub fn value_mut(&mut self, field: &FieldPath) -> Option<&mut Self> {
        field.parts().iter().try_fold(self, |node, part| match (part, &mut node.value) {
            (Part::Key(key), Value::Table(entries)) => {
                entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node)
            }
            (Part::Index(index), Value::Array(elements)) => elements.get_mut(*index),
            _ => None,
        })
    }

    /// The byte at which a field begins, or the innermost value around it that the document has.
    /// None if that is the whole document.
    pub fn position(&self, field: &FieldPath) -> Option<usize> {
        let mut found = None;
        let mut node = self;
        for part in field.parts() {
            let inner = match (part, &node.value) {
                (Part::Key(key), _) => node.entry(key).map(|entry| (entry.start, &entry.node)),
                (Part::Index(index), Value::Array(elements)) => {
                    elements.get(*index).map(|element| (element.start, element))
                }
                (Part::Index(_), _) => None,
            };
            let Some((start, inner)) = inner else { break };
            (found, node) = (Some(start), inner);
        }
        found
    }
}
