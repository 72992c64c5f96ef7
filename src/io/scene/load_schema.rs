//! The schema of loads in scene files. As in [`crate::io::scene::schema`], only the form is checked.

use std::fmt;

#[cfg(test)]
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::io::strict::Exactly;
use crate::multibody::LoadFrame;

/// A force and a torque on a free body over time, `[[loads]]`; at least one of the two. Explicit steps have their values at
/// the time of each stage, all others (Radau's aside) those at their beginning.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct LoadTable {
    /// Its name, by which fits find its values. No other load may have the same.
    #[cfg_attr(test, schemars(extend("x-default" = "`loads[INDEX]`, counted from 0")))]
    pub name: Option<String>,
    /// Name of the body, which moves freely.
    pub body: String,
    /// The force: three numbers, or a table that says how they change over time.
    #[cfg_attr(test, schemars(extend("x-unit" = "N")))]
    pub force: Option<LoadValueTable>,
    /// The torque, as the force.
    #[cfg_attr(test, schemars(extend("x-unit" = "N m")))]
    pub torque: Option<LoadValueTable>,
    /// Where the force acts, in the body's frame.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "default" = [0, 0, 0])))]
    pub point: Option<Exactly<f64, 3>>,
    /// The axes of force and torque.
    #[serde(default)]
    pub frame: LoadFrameTable,
}

/// The axes that loads are given in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum LoadFrameTable {
    /// Those of W: the load keeps its direction as the body turns.
    #[default]
    World,
    /// Those of the body: the load turns with it.
    Body,
}

impl LoadFrameTable {
    pub fn frame(self) -> LoadFrame {
        match self {
            Self::World => LoadFrame::World,
            Self::Body => LoadFrame::Body,
        }
    }
}

/// The value of a load: constant, or over time.
#[derive(Debug)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(untagged))]
pub(in crate::io) enum LoadValueTable {
    /// Three constant numbers.
    Constant(Exactly<f64, 3>),
    /// Values over time.
    OverTime(LoadHistoryTable),
}

/// A load over time, in one of three ways: `times` and `values`; a `file` with both; or a `period`, with which it is
/// mean + sine sin(2π t/T) + cosine cos(2π t/T). Before the first and after the last of its times the value there holds.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct LoadHistoryTable {
    /// Times, increasing.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub times: Option<Vec<f64>>,
    /// The value at each time.
    pub values: Option<Vec<Exactly<f64, 3>>>,
    /// A CSV file with a line of names and then lines of four numbers: time in s, increasing, and the value along x, y and z.
    pub file: Option<String>,
    /// The values between times.
    #[cfg_attr(test, schemars(extend("default" = "hold")))]
    pub interpolation: Option<LoadInterpolationTable>,
    /// The period T.
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub period: Option<f64>,
    /// With a period, the mean.
    #[cfg_attr(test, schemars(extend("default" = [0, 0, 0])))]
    pub mean: Option<Exactly<f64, 3>>,
    /// With a period, the amplitude of the sine.
    #[cfg_attr(test, schemars(extend("default" = [0, 0, 0])))]
    pub sine: Option<Exactly<f64, 3>>,
    /// With a period, the amplitude of the cosine.
    #[cfg_attr(test, schemars(extend("default" = [0, 0, 0])))]
    pub cosine: Option<Exactly<f64, 3>>,
}

/// The interpolation of loads between times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum LoadInterpolationTable {
    /// Each value is held until the next time.
    #[default]
    Hold,
    /// The values are linear between times.
    Linear,
}

impl<'de> Deserialize<'de> for LoadValueTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;

        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = LoadValueTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "three numbers, { times = […], values = […] }, { file = NAME }, or { period = …, sine = […], … }",
                )
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<LoadValueTable, A::Error> {
                Exactly::deserialize(SeqAccessDeserializer::new(list)).map(LoadValueTable::Constant)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LoadValueTable, A::Error> {
                LoadHistoryTable::deserialize(MapAccessDeserializer::new(map)).map(LoadValueTable::OverTime)
            }
        }

        deserializer.deserialize_any(ValueVisitor)
    }
}
