//! What is in a file that was checked, as a line and as JSON.

use std::fmt;

use serde::Serialize;

use isobar::io::{FileError, FitFile, Scene, SolverKind};
use isobar::multibody;
use isobar::optimize::identification::Measurement;
use isobar::rollout::SimulationSettings;

/// What is in a file, by its kind.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Contents {
    Scene(SceneContents),
    Problem {
        /// The scene file.
        scene: String,
        /// End of the motion, s.
        until: f64,
        /// Number of values of commands that are optimized.
        unknowns: usize,
        /// The names of the costs.
        costs: Vec<String>,
    },
    Fit {
        /// The scene file.
        scene: String,
        /// The names of the parameters.
        parameters: Vec<String>,
        /// Number of recorded motions.
        recordings: usize,
        /// Number of indentation tests.
        indentations: usize,
    },
    Mesh {
        /// Number of triangles of the surface.
        triangles: usize,
        /// Why it encloses no body; none where it does.
        open: Option<String>,
    },
    Robot {
        name: String,
        links: usize,
        /// Number of joints that move.
        joints: usize,
    },
}

#[derive(Debug, Serialize)]
pub(super) struct SceneContents {
    pub bodies: usize,
    /// Number of pairs of bodies that can touch.
    pub pairs: usize,
    #[serde(flatten)]
    pub motion: Motion,
}

/// Whether a scene can move, and how it is simulated.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Motion {
    Some {
        free: usize,
        on_joints: usize,
        solver: SolverKind,
        /// Length of a step, s.
        time_step: f64,
    },
    None {
        /// Why it cannot be simulated.
        #[serde(rename = "contact_alone")]
        reason: String,
    },
}

impl Motion {
    /// That of a scene that can move.
    pub fn of(scene: &Scene, settings: &SimulationSettings) -> Self {
        let count = |moves: fn(&multibody::Motion) -> bool| {
            scene.model.bodies().iter().filter(|body| moves(&body.motion)).count()
        };
        Self::Some {
            free: count(|motion| matches!(motion, multibody::Motion::Free { .. })),
            on_joints: count(|motion| matches!(motion, multibody::Motion::Link { .. })),
            solver: scene.solver,
            time_step: settings.time_step,
        }
    }
}

impl Contents {
    /// What is in a fit with these measurements.
    pub fn fit(file: &FitFile, measurements: &[Measurement]) -> Self {
        let recordings = measurements.iter().filter(|m| !matches!(m, Measurement::Indentation(_))).count();
        Self::Fit {
            scene: file.scene().path.display().to_string(),
            parameters: file.parameters.as_slice().iter().map(|parameter| parameter.name.clone()).collect(),
            recordings,
            indentations: measurements.len() - recordings,
        }
    }
}

/// An error without the name of its file, for a line that begins with that name.
pub(super) fn without_path(error: &FileError) -> String {
    match error {
        FileError::Invalid { line: Some(line), field, message, .. } => {
            format!("line {line}: {field}: {message}")
        }
        FileError::Invalid { line: None, field, message, .. } => format!("{field}: {message}"),
        error => error.to_string(),
    }
}

/// A number of things.
fn count(number: usize, one: &str, several: &str) -> String {
    match number {
        0 => format!("no {several}"),
        1 => format!("1 {one}"),
        number => format!("{number} {several}"),
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scene(scene) => write!(f, "scene, {scene}"),
            Self::Problem { scene, until, unknowns, costs } => {
                let (unknowns, costs) = (count(*unknowns, "unknown", "unknowns"), costs.join(", "));
                write!(f, "problem, scene {scene}, until {until} s, {unknowns}, costs: {costs}")
            }
            Self::Fit { scene, parameters, recordings, indentations } => {
                write!(f, "fit, scene {scene}, parameters: {}", parameters.join(", "))?;
                for (number, one, several) in [
                    (*recordings, "recording", "recordings"),
                    (*indentations, "indentation test", "indentation tests"),
                ] {
                    if number > 0 {
                        write!(f, "; {}", count(number, one, several))?;
                    }
                }
                Ok(())
            }
            Self::Mesh { triangles, open } => {
                write!(f, "mesh, {}", count(*triangles, "triangle", "triangles"))?;
                open.iter()
                    .try_for_each(|why| write!(f, ", to be drawn alone, filled or taken as its hull: {why}"))
            }
            Self::Robot { name, links, joints } => {
                let links = count(*links, "link", "links");
                write!(f, "robot {name}, {links}, {}", count(*joints, "joint that moves", "joints that move"))
            }
        }
    }
}

impl fmt::Display for SceneContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bodies, pairs, motion } = self;
        write!(f, "{}", count(*bodies, "body", "bodies"))?;
        if let Motion::Some { free, on_joints, .. } = motion {
            let parts = [(free, "free"), (on_joints, "on joints")];
            let moving: Vec<String> =
                parts.iter().filter(|(n, _)| **n > 0).map(|(n, how)| format!("{n} {how}")).collect();
            let moving = if moving.is_empty() { "all fixed".to_owned() } else { moving.join(", ") };
            write!(f, " ({moving})")?;
        }
        write!(f, ", {} can touch, ", count(*pairs, "pair", "pairs"))?;
        match motion {
            // The name is as files have it.
            Motion::Some { solver, time_step, .. } => {
                let name = serde_json::to_value(solver).unwrap_or_default();
                write!(f, "solver {}, time step {time_step} s", name.as_str().unwrap_or_default())
            }
            Motion::None { reason } => {
                write!(f, "for contact alone: it cannot be simulated ({reason})")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_counted_in_words() {
        let robot = |links, joints| Contents::Robot { name: "arm".into(), links, joints }.to_string();
        assert_eq!(robot(1, 0), "robot arm, 1 link, no joints that move");
        assert_eq!(robot(3, 1), "robot arm, 3 links, 1 joint that moves");
    }
}
