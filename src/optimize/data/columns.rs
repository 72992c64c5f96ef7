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

/// The units that have names, what they are in SI units, and the SI unit of their kind.
const UNITS: [(&str, f64, &str); 25] = [
    ("m", 1.0, "m"),
    ("cm", 1e-2, "m"),
    ("mm", 1e-3, "m"),
    ("um", 1e-6, "m"),
    ("in", 0.0254, "m"),
    ("m/s", 1.0, "m/s"),
    ("mm/s", 1e-3, "m/s"),
    ("s", 1.0, "s"),
    ("ms", 1e-3, "s"),
    ("us", 1e-6, "s"),
    ("ns", 1e-9, "s"),
    ("rad", 1.0, "rad"),
    ("deg", std::f64::consts::PI / 180.0, "rad"),
    ("rad/s", 1.0, "rad/s"),
    ("deg/s", std::f64::consts::PI / 180.0, "rad/s"),
    ("rpm", std::f64::consts::PI / 30.0, "rad/s"),
    ("N", 1.0, "N"),
    ("mN", 1e-3, "N"),
    ("kN", 1e3, "N"),
    ("gf", 9.806_65e-3, "N"),
    ("kgf", 9.806_65, "N"),
    ("lbf", 4.448_221_615_260_5, "N"),
    ("N m", 1.0, "N m"),
    ("N mm", 1e-3, "N m"),
    ("mm2", 1e-6, "m²"),
];

/// The endings of columns, and the SI units that they stand for: longer ones before those that end them.
const ENDINGS: [(&str, &str); 7] = [
    ("_rad_s", "rad/s"),
    ("_m_s", "m/s"),
    ("_N_m", "N m"),
    ("_m", "m"),
    ("_m2", "m²"),
    ("_s", "s"),
    ("_N", "N"),
];

/// The names of the units that a column can have, as its name tells; `None` where it does not tell.
pub(crate) fn units_of(column: &str) -> Option<Vec<&'static str>> {
    if ["qw", "qx", "qy", "qz"].contains(&column) {
        return Some(Vec::new());
    }
    ENDINGS.iter().find(|(ending, _)| column.ends_with(ending)).map(|(_, kind)| units_of_kind(kind))
}

/// The names of the units of a kind, which its SI unit tells, or of one of several: `rad or m`.
pub(crate) fn units_of_kind(kind: &str) -> Vec<&'static str> {
    UNITS.iter().filter(|unit| kind.split(" or ").any(|si| si == unit.2)).map(|unit| unit.0).collect()
}

/// Reads a unit, as a number or by its name.
pub(in crate::optimize) fn unit<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let name = match GivenUnit::deserialize(from) {
        Ok(GivenUnit::Factor(factor)) => return Ok(factor),
        Ok(GivenUnit::Name(name)) => name,
        Err(_) => return Err(de::Error::custom("found neither a number nor the name of a unit")),
    };
    let known = UNITS.iter().find(|(known, ..)| *known == name);
    known.map(|(_, factor, _)| *factor).ok_or_else(|| {
        let names: Vec<&str> = UNITS.iter().map(|(name, ..)| *name).collect();
        de::Error::custom(format!(
            "found the unit `{name}`; there are {}; any other one is given by a number, what it is in SI units",
            names.join(", ")
        ))
    })
}

/// The columns of a file that are not as its reader asks for, by the names that it asks for.
pub type Columns = BTreeMap<String, ColumnSource>;
