//! Tables read from a tree of values, with the field and the place of a mistake.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::field_path::{FieldPath, Part};
use super::node::{Entry, Misplaced, Node, Value};

/// What a document says.
pub(super) fn contents<T: DeserializeOwned>(root: &Node) -> Result<T, Misplaced> {
    T::deserialize(root).map_err(|wrong| {
        let Mistake { message, position, inner_to_outer } = *wrong.at(root.start).0;
        let field = inner_to_outer.into_iter().rev().fold(FieldPath::root(), |field, part| field.with(part));
        let message = message.replace(NAME, &field.table_name());
        Misplaced { field, position, message }
    })
}

/// A mistake, to which every value around it adds the way to it.
#[derive(Debug)]
pub(super) struct Wrong(Box<Mistake>);

#[derive(Debug)]
struct Mistake {
    message: String,
    position: Option<usize>,
    inner_to_outer: Vec<Part>,
}

impl Wrong {
    /// At this byte, unless a value inside has told a better one.
    fn at(mut self, start: usize) -> Self {
        self.0.position = self.0.position.or(Some(start));
        self
    }

    fn inside(mut self, part: Part) -> Self {
        self.0.inner_to_outer.push(part);
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Wrong {}

/// A message that does not end in the name of one of Rust's numbers.
fn in_words(message: String) -> String {
    const WORDS: [(&[&str], &str); 3] = [
        (&["f64"], "a number"),
        (&["i32", "i64"], "a whole number"),
        (&["u8", "u16", "u32", "u64", "usize"], "a whole number that is not negative"),
    ];
    match message.rsplit_once("expected ") {
        Some((found, last)) => match WORDS.iter().find(|(names, _)| names.contains(&last)) {
            Some((_, words)) => format!("{found}expected {words}"),
            None => message,
        },
        None => message,
    }
}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        let message = in_words(message.to_string());
        Self(Box::new(Mistake { message, position: None, inner_to_outer: Vec::new() }))
    }
}

/// In messages: the name of the table that the value is.
const NAME: &str = "\0";

impl Value {
    /// The error of a visitor that takes no such value.
    #[cold]
    fn refused(&self, expected: &dyn de::Expected) -> Wrong {
        let unexpected = match self {
            // The name that a reader of the file knows; TOML has none.
            Self::Null => Unexpected::Other("null"),
            Self::Bool(truth) => Unexpected::Bool(*truth),
            Self::Integer(integer) => match i64::try_from(*integer) {
                Ok(integer) => Unexpected::Signed(integer),
                Err(_) => return de::Error::invalid_type(Unexpected::Other(&integer.to_string()), expected),
            },
            Self::Float(x) => Unexpected::Float(*x),
            Self::String(text) => Unexpected::Str(text),
            Self::Date(date) => {
                return de::Error::invalid_type(Unexpected::Other(&format!("date {date}")), expected);
            }
            Self::Array(_) if expected.to_string().starts_with("struct ") => {
                return de::Error::custom(format!("found a list, expected one table: `[{NAME}]`"));
            }
            Self::Array(_) if ["a map", "a table of names"].contains(&expected.to_string().as_str()) => {
                return de::Error::custom(format!("found a list, expected tables with names: `[{NAME}.…]`"));
            }
            Self::Array(_) => Unexpected::Seq,
            Self::Table(_) if expected.to_string() == "a sequence" => {
                return de::Error::custom(format!(
                    "found a table, expected a list; one of tables has each in double brackets: `[[{NAME}]]`"
                ));
            }
            Self::Table(_) => Unexpected::Map,
        };
        match expected.to_string().starts_with("struct ") {
            true => de::Error::invalid_type(unexpected, &"a table"),
            false => de::Error::invalid_type(unexpected, expected),
        }
    }
}

// Readers are not inlined, here and below: files are small, and a table of twenty fields becomes
// one function of a thousand lines otherwise, which is compiled for a second.
impl Node {
    #[inline(never)]
    fn number<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Integer(integer) => visit_integer(*integer, visitor),
            Value::Float(x) => visitor.visit_f64(*x),
            other => Err(other.refused(&visitor)),
        }
        .map_err(|wrong| wrong.at(self.start))
    }

    #[inline(never)]
    fn string<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::String(text) => visitor.visit_str(text),
            other => Err(other.refused(&visitor)),
        }
        .map_err(|wrong| wrong.at(self.start))
    }

    #[inline(never)]
    fn list<'de, V: Visitor<'de>>(&'de self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Array(elements) => visitor.visit_seq(Elements { elements, next: 0 }),
            other => Err(other.refused(&visitor)),
        }
        .map_err(|wrong| wrong.at(self.start))
    }

    #[inline(never)]
    fn table<'de, V: Visitor<'de>>(&'de self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Table(entries) => visitor.visit_map(Entries { entries, next: 0 }),
            other => Err(other.refused(&visitor)),
        }
        .map_err(|wrong| wrong.at(self.start))
    }
}

fn visit_integer<'de, V: Visitor<'de>>(integer: i128, visitor: V) -> Result<V::Value, Wrong> {
    if let Ok(integer) = i64::try_from(integer) {
        return visitor.visit_i64(integer);
    }
    match u64::try_from(integer) {
        Ok(integer) => visitor.visit_u64(integer),
        // No integer of a file may be as large; as a number it is what it is.
        Err(_) => visitor.visit_f64(integer as f64),
    }
}

/// Each of these takes the one kind of value that is asked for. If all went through
/// `deserialize_any`, every function of every visitor would be compiled, most of them never to be
/// called.
macro_rules! asked_for {
    ($($reader:ident: $($method:ident($($argument:ident: $type:ty),*))*;)*) => {
        $($(fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, Wrong> {
            self.$reader(visitor)
        })*)*
    };
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Wrong;

    #[inline(never)]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Integer(integer) => visit_integer(*integer, visitor),
            Value::Float(x) => visitor.visit_f64(*x),
            Value::String(text) => visitor.visit_str(text),
            Value::Array(elements) => visitor.visit_seq(Elements { elements, next: 0 }),
            Value::Table(entries) => visitor.visit_map(Entries { entries, next: 0 }),
            Value::Date(_) => Err(self.value.refused(&visitor)),
        }
        .map_err(|wrong| wrong.at(self.start))
    }

    asked_for! {
        number: deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
            deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
            deserialize_f32() deserialize_f64();
        string: deserialize_char() deserialize_str() deserialize_string() deserialize_identifier();
        list: deserialize_seq() deserialize_tuple(_length: usize)
            deserialize_tuple_struct(_name: &'static str, _length: usize)
            deserialize_bytes() deserialize_byte_buf();
        table: deserialize_map() deserialize_struct(_name: &'static str, _fields: &'static [&'static str]);
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Bool(truth) => visitor.visit_bool(*truth),
            other => Err(other.refused(&visitor)),
        }
        .map_err(|wrong| wrong.at(self.start))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            other => Err(other.refused(&visitor).at(self.start)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_unit(visitor)
    }

    #[inline(never)]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    #[inline(never)]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match &self.value {
            Value::String(name) => visitor.visit_enum(Variant { name, contents: None }),
            Value::Table(entries) => match &entries[..] {
                [Entry { key, node, .. }] => visitor.visit_enum(Variant { name: key, contents: Some(node) }),
                other => Err(de::Error::custom(format!(
                    "found a table of {} fields; it must be a name, or a table of one field",
                    other.len()
                ))),
            },
            other => Err(other.refused(&visitor)),
        }
        .map_err(|wrong| wrong.at(self.start))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_unit()
    }
}

/// The elements of a list.
struct Elements<'de> {
    elements: &'de [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Wrong;

    #[inline(never)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Wrong> {
        let Some(element) = self.elements.get(self.next) else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(element).map(Some).map_err(|wrong| wrong.inside(Part::Index(index)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len() - self.next)
    }
}

/// The entries of a table.
struct Entries<'de> {
    entries: &'de [Entry],
    next: usize,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Wrong;

    #[inline(never)]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Wrong> {
        let Some(entry) = self.entries.get(self.next) else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(&entry.key))
            .map(Some)
            .map_err(|wrong: Wrong| wrong.at(entry.start).inside(Part::Key(entry.key.clone())))
    }

    #[inline(never)]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Wrong> {
        // Asked for after a key alone.
        let entry = &self.entries[self.next];
        self.next += 1;
        seed.deserialize(&entry.node).map_err(|wrong| wrong.inside(Part::Key(entry.key.clone())))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len() - self.next)
    }
}

/// One of several kinds: its name alone, or with what belongs to it.
struct Variant<'de> {
    name: &'de str,
    contents: Option<&'de Node>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Wrong;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Wrong> {
        Ok((seed.deserialize(StrDeserializer::<Wrong>::new(self.name))?, self))
    }
}

impl<'de> Variant<'de> {
    /// What belongs to it, given to a reader.
    fn read<T>(&self, read: impl FnOnce(&'de Node) -> Result<T, Wrong>) -> Result<T, Wrong> {
        match self.contents {
            Some(node) => {
                read(node).map_err(|wrong| wrong.at(node.start).inside(Part::Key(self.name.to_owned())))
            }
            None => {
                Err(de::Error::custom(format!("found a name alone; `{}` has fields of its own", self.name)))
            }
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        match self.contents {
            None => Ok(()),
            Some(_) => self.read(|node| match &node.value {
                Value::Null => Ok(()),
                Value::Table(entries) if entries.is_empty() => Ok(()),
                other => Err(other.refused(&"nothing: the name alone says it")),
            }),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Wrong> {
        self.read(|node| seed.deserialize(node))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.read(|node| node.list(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.read(|node| node.table(visitor))
    }
}
