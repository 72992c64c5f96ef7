//! What a file of measurements calls its columns, and in which units it has them.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

/// A column of a file that has another name, or another unit, than its reader asks for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ColumnSource {
    /// Its name in the header of the file.
    pub name: String,
    /// What one unit of it is in SI units: a number, or a name such as `"mm"`, `"deg"`, `"ms"` or `"gf"`.
    #[serde(default = "si", deserialize_with = "unit")]
    #[cfg_attr(test, schemars(with = "GivenUnit"))]
    pub unit: f64,
}

/// The unit of a column that says nothing of it.
pub(in crate::optimize) fn si() -> f64 {
    1.0
}

/// A unit as files of fits give it.
#[derive(Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub(in crate::optimize) enum GivenUnit {
    /// What it is in SI units.
    Factor(f64),
    /// Its name: `m`, `cm`, `mm`, `um`, `in`, `m/s`, `mm/s`, `s`, `ms`, `us`, `ns`, `rad`, `deg`, `rad/s`, `deg/s`, `rpm`, `N`, `mN`, `kN`,
    /// `gf`, `kgf`, `lbf`, `N m`, `N mm`, `mm2`.
    Name(String),
}

/// The units that have names, and what they are in SI units.
const UNITS: [(&str, f64); 25] = [
    ("m", 1.0),
    ("cm", 1e-2),
    ("mm", 1e-3),
    ("um", 1e-6),
    ("in", 0.0254),
    ("m/s", 1.0),
    ("mm/s", 1e-3),
    ("s", 1.0),
    ("ms", 1e-3),
    ("us", 1e-6),
    ("ns", 1e-9),
    ("rad", 1.0),
    ("deg", std::f64::consts::PI / 180.0),
    ("rad/s", 1.0),
    ("deg/s", std::f64::consts::PI / 180.0),
    ("rpm", std::f64::consts::PI / 30.0),
    ("N", 1.0),
    ("mN", 1e-3),
    ("kN", 1e3),
    ("gf", 9.806_65e-3),
    ("kgf", 9.806_65),
    ("lbf", 4.448_221_615_260_5),
    ("N m", 1.0),
    ("N mm", 1e-3),
    ("mm2", 1e-6),
];

/// Reads a unit, as a number or by its name.
pub(in crate::optimize) fn unit<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let name = match GivenUnit::deserialize(from) {
        Ok(GivenUnit::Factor(factor)) => return Ok(factor),
        Ok(GivenUnit::Name(name)) => name,
        Err(_) => return Err(de::Error::custom("found neither a number nor the name of a unit")),
    };
    let known = UNITS.iter().find(|(known, _)| *known == name);
    known.map(|(_, factor)| *factor).ok_or_else(|| {
        let names: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
        de::Error::custom(format!(
            "found the unit `{name}`; there are {}; any other one is given by a number, what it is in SI units",
            names.join(", ")
        ))
    })
}

/// The columns of a file that are not as its reader asks for, by the names that it asks for.
pub type Columns = BTreeMap<String, ColumnSource>;
