//! Lists of a known length, and tables whose keys must differ, in files.

#[cfg(test)]
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A list of exactly `N` elements. (The TOML reader ends a plain array at its last element and
/// drops what follows.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exactly<T, const N: usize>(pub [T; N]);

/// For the defaults in a schema.
impl<T: Serialize, const N: usize> Serialize for Exactly<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

#[cfg(test)]
impl<T: JsonSchema, const N: usize> JsonSchema for Exactly<T, N> {
    fn schema_name() -> Cow<'static, str> {
        format!("{N} times {}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = generator.subschema_for::<T>();
        json_schema!({ "type": "array", "items": items, "minItems": N, "maxItems": N })
    }
}

impl<'de, T: Deserialize<'de>, const N: usize> Deserialize<'de> for Exactly<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ExactlyVisitor<T, const N: usize>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for ExactlyVisitor<T, N> {
            type Value = Exactly<T, N>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of {N} elements")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut elements = Vec::with_capacity(N);
                while elements.len() < N {
                    match list.next_element()? {
                        Some(element) => elements.push(element),
                        None => return Err(A::Error::invalid_length(elements.len(), &self)),
                    }
                }
                let mut length = N;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    length += 1;
                }
                let elements = elements.try_into().map_err(|_| A::Error::invalid_length(length, &self))?;
                if length == N { Ok(Exactly(elements)) } else { Err(A::Error::invalid_length(length, &self)) }
            }
        }

        deserializer.deserialize_seq(ExactlyVisitor(PhantomData))
    }
}

/// A table whose keys are free, refusing a key that comes twice (JSON allows it; the last one
/// would win silently).
pub(super) fn map_without_duplicates<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, V>, D::Error> {
    struct TableVisitor<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for TableVisitor<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table of names")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                let value = map.next_value()?;
                if entries.contains_key(&name) {
                    return Err(A::Error::custom(format!("`{name}` is defined twice; names must be unique")));
                }
                entries.insert(name, value);
            }
            Ok(entries)
        }
    }

    deserializer.deserialize_map(TableVisitor(PhantomData))
}
