//! Scene files: bodies, joints, materials and settings, ready to query or to simulate.

use std::path::{Path, PathBuf};

use crate::contact::{ContactModel, FrictionRegularization};
use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem};
use crate::io::scene::content::{Content, content};
use crate::io::scene::schema::SceneTable;
pub use crate::io::scene::schema::SolverKind;
use crate::multibody::{BodyPair, Model, NoForces, State};
use crate::rollout::{
    Command, Controls, MotionWarning, SimulationError, SimulationSettings, Trajectory, simulate_watched,
};
use crate::step::{Integrator, SolverTolerance, VelocityLevel};

/// A scene file as a model and its initial state.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The file.
    pub path: PathBuf,
    /// Bodies, joints, actuators, materials, gravity, contact settings. The links of robots come
    /// after the other bodies.
    pub model: Model,
    /// Poses and velocities of the free bodies, configuration and velocity of the joints.
    pub state: State,
    /// The command of each actuator.
    pub commands: Vec<Command>,
    /// The method that the file asks for.
    pub solver: SolverKind,
    /// Length of a step, s.
    pub time_step: f64,
    /// When the iteration of an implicit step ends.
    pub tolerance: SolverTolerance,
    /// For each body of the model whether the file fixes it, itself or by joints that cannot move.
    pub fixed: Vec<bool>,
    /// Pairs of bodies that the file leaves out of contact, and those that one joint connects, in
    /// increasing order. Those of bodies without geometries need not be among them.
    pub excluded: Vec<BodyPair>,
    /// The files that the scene was read from: its own, robots, meshes.
    pub files: Vec<PathBuf>,
    /// Thickness of the skirt of every compliant geometry, m, 0 for none: with one, forces act
    /// before bodies touch (see [`crate::contact::Collider::with_skirt`]).
    pub skirt: f64,
    /// What is allowed but hardly meant, such as tetrahedra without a pressure gradient: each a
    /// line of text that names the field.
    pub warnings: Vec<String>,
    /// What is missing for motion, the first thing.
    missing: Option<Problem>,
    document: Document,
}

/// How a scene moved.
#[derive(Debug)]
pub struct SceneMotion {
    /// Its states, up to the end or to the step that failed.
    pub trajectory: Trajectory,
    /// What has been noticed on the way, in the order of time.
    pub warnings: Vec<MotionWarning>,
    /// Whether it came to the end.
    pub outcome: Result<(), SimulationError>,
}

impl SceneMotion {
    /// The whole motion.
    ///
    /// # Errors
    /// Where it did not come to the end.
    pub fn completed(self) -> Result<Trajectory, SimulationError> {
        self.outcome.map(|()| self.trajectory)
    }
}

impl Scene {
    /// Loads a scene from a TOML or JSON file. Files that it names are found relative to it.
    ///
    /// # Errors
    /// When a file cannot be read or is not valid; the message names the file, the field or
    /// line, what was found and what is allowed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let document = match path.extension().and_then(|e| e.to_str()) {
            Some(e) if e.eq_ignore_ascii_case("toml") => Document::read_toml(path)?,
            Some(e) if e.eq_ignore_ascii_case("json") => Document::read_json(path)?,
            _ => return Err(FileError::Extension { path: path.to_owned() }),
        };
        build(path, &document.contents()?, document)
    }

    /// The commands of every step, given the times at which steps begin and the last one ends (see
    /// [`SimulationSettings::step_times`]).
    pub fn controls(&self, step_times: &[f64]) -> Controls {
        Controls::of_commands(&self.commands, step_times)
    }

    /// Simulates the scene under its commands until a time in s. A program that calls this compiles
    /// no step of its own, unlike one that calls [`crate::rollout::simulate`] with its forces.
    pub fn simulate(&self, settings: &SimulationSettings, until: f64) -> SceneMotion {
        let mut trajectory = Trajectory::starting_at(&self.state);
        let times = match settings.step_times(until) {
            Ok(times) => times,
            Err(error) => return SceneMotion { trajectory, warnings: Vec::new(), outcome: Err(error) },
        };
        let controls = self.controls(&times);
        let (outcome, warnings) =
            simulate_watched(&mut trajectory, &self.model, settings, until, &NoForces, &controls, |_, _| ());
        SceneMotion { trajectory, warnings, outcome }
    }

    /// Whether the scene can move: all that moves has a mass, and what is fixed is at rest. For
    /// contact it need not; then [`Self::model`] has all bodies fixed where the file puts them, with
    /// their velocities, and [`Self::state`] is empty.
    ///
    /// # Errors
    /// What is missing.
    pub fn check_motion(&self) -> Result<(), FileError> {
        self.missing.as_ref().map_or(Ok(()), |problem| Err(self.document.located(problem.clone())))
    }

    /// How the scene is to be simulated.
    ///
    /// # Errors
    /// When it cannot move (see [`Self::check_motion`]), or the file asks for settings of contact
    /// that its solver does not have.
    pub fn simulation_settings(&self) -> Result<SimulationSettings, FileError> {
        self.check_motion()?;
        let integrator = match self.solver {
            SolverKind::SemiImplicitEuler => Integrator::SemiImplicitEuler,
            SolverKind::Rk4 => Integrator::RungeKutta4,
            SolverKind::Sap => self.velocity_level(ContactModel::Sap)?,
            SolverKind::Lagged => self.velocity_level(ContactModel::Lagged)?,
            SolverKind::Similar => self.velocity_level(ContactModel::Similar)?,
            SolverKind::Tamsi => self.velocity_level(ContactModel::Tamsi)?,
        };
        Ok(SimulationSettings { integrator, time_step: self.time_step })
    }

    /// A velocity-level method, whose models have friction and a positive part of their own.
    fn velocity_level(&self, model: ContactModel) -> Result<Integrator, FileError> {
        let contact = &self.model.contact;
        let field = FieldPath::root().key("contact");
        let only_explicit = "which the solvers \"semi-implicit-euler\" and \"rk4\" have alone";
        if contact.friction_regularization != FrictionRegularization::default() {
            let found = serde_json::to_value(contact.friction_regularization).unwrap_or_default();
            let message = format!("found {found}, {only_explicit}; remove it or set it to \"smooth\"");
            let problem = Problem::new(field.key("friction_regularization"), message);
            return Err(self.document.located(problem));
        }
        if contact.positive_part_width != 0.0 {
            let found = contact.positive_part_width;
            let message = format!("found {found}, {only_explicit}; remove it or set it to 0");
            let problem = Problem::new(field.key("positive_part_width"), message);
            return Err(self.document.located(problem));
        }
        Ok(Integrator::VelocityLevel(VelocityLevel { model, tolerance: self.tolerance }))
    }
}

/// The scene of a file.
fn build(path: &Path, table: &SceneTable, document: Document) -> Result<Scene, FileError> {
    let Content {
        model,
        state,
        commands,
        time_step,
        tolerance,
        fixed,
        excluded,
        mut files,
        skirt,
        warnings,
        missing,
    } = content(path, table).map_err(|problem| document.located(problem))?;
    let missing = missing.into_iter().next();
    let warnings =
        warnings.into_iter().map(|problem| format!("warning: {}", document.located(problem))).collect();
    files.insert(0, path.to_owned());
    let (path, solver) = (path.to_owned(), table.solver.kind);
    Ok(Scene {
        path,
        model,
        state,
        commands,
        solver,
        time_step,
        tolerance,
        fixed,
        excluded,
        files,
        skirt,
        warnings,
        missing,
        document,
    })
}
