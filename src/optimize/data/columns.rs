//! What a file of measurements calls its columns, and in which units it has them.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// A column of a file that has another name, or another unit, than its reader asks for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ColumnSource {
    /// Its name in the header of the file.
    pub name: String,
    /// What a number in the file is multiplied by, so that it is in SI units: 1e-3 for mm or ms, 0.0174532925 for degrees.
    #[serde(default = "si")]
    pub unit: f64,
}

fn si() -> f64 {
    1.0
}

/// The columns of a file that are not as its reader asks for, by the names that it asks for.
pub type Columns = BTreeMap<String, ColumnSource>;
