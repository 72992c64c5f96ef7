//! The reference of the files that people write: each field with its type, unit, default and
//! meaning, as a JSON schema and as a page of Markdown. Both lie in `docs`; a test holds them to the types that read the
//! files, so that they cannot say anything else.

#[cfg(test)]
mod made;
#[cfg(test)]
mod markdown;

use serde_json::Value;

/// A kind of file that people write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Bodies, joints, materials, settings.
    Scene,
    /// What a motion of a scene should be like, for `isobar optimize`.
    Problem,
    /// Which parameters to fit to which measurements, for `isobar fit`.
    Fit,
}

impl FileKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Scene, Self::Problem, Self::Fit];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scene => "scene",
            Self::Problem => "problem",
            Self::Fit => "fit",
        }
    }

    /// What the file says.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Scene => "Bodies, joints, materials, settings",
            Self::Problem => "What a motion of a scene should be like, for `isobar optimize`",
            Self::Fit => "Which parameters to fit to which measurements, for `isobar fit`",
        }
    }

    /// The JSON schema (draft 2020-12) of the file, by which editors complete and check it. Units
    /// are in `x-unit`, defaults that are no value in `x-default`.
    pub fn json_schema(self) -> &'static str {
        match self {
            Self::Scene => include_str!("../../../docs/scene.schema.json"),
            Self::Problem => include_str!("../../../docs/problem.schema.json"),
            Self::Fit => include_str!("../../../docs/fit.schema.json"),
        }
    }

    /// The page of Markdown that describes every field.
    pub fn markdown(self) -> &'static str {
        match self {
            Self::Scene => include_str!("../../../docs/scene.md"),
            Self::Problem => include_str!("../../../docs/problem.md"),
            Self::Fit => include_str!("../../../docs/fit.md"),
        }
    }

    /// The JSON schema as a value.
    pub(in crate::io) fn schema(self) -> Value {
        // It is an object: a test compares it with one.
        serde_json::from_str(self.json_schema()).unwrap_or_default()
    }
}
