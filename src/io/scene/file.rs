//! Scene files: bodies, joints, materials and settings, ready to query or to simulate.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::contact::{ContactModel, FrictionRegularization};
use crate::input_file;
use crate::input_file::ends_in;
use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem};
use crate::io::scene::content::{Content, content};
use crate::io::scene::controller_tables::SceneControllers;
use crate::io::scene::schema::SceneTable;
pub use crate::io::scene::schema::SolverKind;
use crate::io::scene::solver_tables::ErrorControl;
use crate::io::scene::visuals::{RobotVisuals, VisualMeshes, read_visuals};
use crate::multibody::{BodyPair, Model, State};
use crate::rollout::{ClosedLoop, Command, ControlLaw, Rollout, SampledController, SimulationSettings};
use crate::step::{
    ComplementarityMethod, ControlledMethod, ErrorControlled, Integrator, RadauOrder, SolverTolerance,
    VelocityLevel,
};

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
    pub(in crate::io) feedback: SceneControllers,
    /// The method that the file asks for.
    pub solver: SolverKind,
    /// Length of a step, s.
    pub time_step: f64,
    /// When the iteration of an implicit step ends.
    pub tolerance: SolverTolerance,
    /// The accuracy of steps; `None` if they have a fixed length.
    pub error_control: Option<ErrorControl>,
    /// For each body of the model whether the file fixes it, itself or by joints that cannot move.
    pub fixed: Vec<bool>,
    /// Pairs of bodies that the file leaves out of contact, and those that one joint connects, in
    /// increasing order. Those of bodies without geometries need not be among them.
    pub excluded: Vec<BodyPair>,
    /// What is drawn of robots, beside the model: it has no part in motion. Its meshes are read by
    /// [`Self::visual_meshes`].
    pub visuals: Vec<RobotVisuals>,
    /// The files that the scene was read from: its own, robots, meshes that collide.
    pub files: Vec<PathBuf>,
    /// Thickness of the skirt of every compliant geometry, m; 0 for none. With a skirt, forces act
    /// before bodies touch (see [`crate::contact::Collider::with_skirt`]).
    pub skirt: f64,
    /// Warnings about what is allowed but hardly meant, such as tetrahedra without a pressure gradient
    /// or an old spelling. Each is one line of text that names the field.
    pub warnings: Vec<String>,
    /// The first thing that is missing for motion.
    missing: Option<Problem>,
    document: Document,
}

impl Scene {
    /// Loads a scene from a TOML or JSON file, or from standard input by the path `-`. Files that it names are found relative
    /// to it, or to the working directory.
    ///
    /// # Errors
    /// When a file cannot be read or is not valid; the message names the file, the field or
    /// line, what was found and what is allowed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::load_changed(path.as_ref(), |_| ())
    }

    /// A scene from the text of a scene file, TOML, or JSON where it begins with `{`. Messages call it by `path`, and files that
    /// it names are found relative to that, as if it were there.
    ///
    /// # Errors
    /// The errors of [`Self::load`].
    ///
    /// # Examples
    /// A ball that falls on a floor:
    /// ```
    /// let scene = isobar::Scene::parse(
    ///     r#"
    ///     materials.foam = { hydroelastic_modulus = 1e5, dissipation = 1.0, friction = 0.5 }
    ///     [[bodies]]
    ///     name = "ball"
    ///     mass = 0.1
    ///     translation = [0, 0, 0.06]
    ///     geometries = [{ shape = { sphere = { radius = 0.05, resolution = 0.02 } }, material = "foam" }]
    ///     [[bodies]]
    ///     name = "floor"
    ///     fixed = true
    ///     geometries = [{ shape = { half_space = {} }, rigid = true, material = "foam" }]
    ///     "#,
    ///     "ball.toml",
    /// )?;
    /// let trajectory = scene.rollout(0.5)?.simulate()?;
    /// let height = trajectory.states.last().expect("the start at least").bodies[0].position.z;
    /// assert!(height > 0.045 && height < 0.05);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        Self::of_document(path, Document::of_text(path, text.to_owned())?, |_| ())
    }

    /// Loads a scene in which something is changed first.
    pub(in crate::io) fn load_changed(
        path: &Path,
        change: impl FnOnce(&mut Document),
    ) -> Result<Self, FileError> {
        if !input_file::is_standard_input(path)
            && !["toml", "json"].iter().any(|ending| ends_in(path, ending))
        {
            return Err(FileError::Extension { path: path.to_owned() });
        }
        Self::of_document(input_file::name(path), Document::read(path)?, change)
    }

    fn of_document(
        path: &Path,
        mut document: Document,
        change: impl FnOnce(&mut Document),
    ) -> Result<Self, FileError> {
        let begin = Instant::now();
        let respelled = replace_old_spellings(&mut document);
        change(&mut document);
        let table = document.contents().map_err(with_place_of_mesh_file)?;
        let mut scene = build(path, &table, document)?;
        scene.warnings.splice(0..0, respelled.into_iter().map(|problem| format!("warning: {problem}")));
        log::debug!(
            "{}: {} bodies, {} joints, {} pairs of geometries, in {:.1} ms",
            path.display(),
            scene.model.bodies().len(),
            scene.model.mechanism().joints().len(),
            scene.model.pairs().len(),
            1e3 * begin.elapsed().as_secs_f64()
        );
        Ok(scene)
    }

    /// The rollout that the file describes, with its commands, from time 0 until a time in s. It can be
    /// simulated, visited step by step, or differentiated (see [`crate::rollout`]).
    ///
    /// # Errors
    /// The errors of [`Self::simulation_settings`].
    ///
    /// # Examples
    /// ```no_run
    /// let scene = isobar::Scene::load("examples/fit_ball/scene.toml")?;
    /// let trajectory = scene.rollout(0.5)?.simulate()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rollout(&self, until: f64) -> Result<Rollout<'_>, FileError> {
        let settings = self.simulation_settings()?;
        Ok(Rollout::new(&self.model, &self.state, settings, until).with_controls(&self.commands))
    }

    /// The same under the scene's controllers, whose commands are added to those of the actuators.
    ///
    /// # Errors
    /// The errors of [`Self::simulation_settings`].
    pub fn closed_loop(&self, until: f64) -> Result<ClosedLoop<'_, ControlLaw>, FileError> {
        let SceneControllers { controllers, parameters, .. } = &self.feedback;
        Ok(ClosedLoop::new(self.rollout(until)?, controllers, parameters))
    }

    /// The feedback controllers of the scene.
    pub fn controllers(&self) -> &[SampledController<ControlLaw>] {
        &self.feedback.controllers
    }

    /// The parameters of the controllers, one controller after the other.
    pub fn controller_parameters(&self) -> &[f64] {
        &self.feedback.parameters
    }

    /// Reads what is drawn of the scene's robots, for a recording. Of a mesh that is missing or cannot be read
    /// there is a warning in its place.
    pub fn visual_meshes(&self) -> VisualMeshes {
        read_visuals(&self.visuals)
    }

    /// Checks that the scene can move: everything that moves has a mass, and everything that is fixed is
    /// at rest. Contact queries do not need that: if something is missing, [`Self::model`] has all
    /// bodies fixed at the poses of the file, with their velocities, and [`Self::state`] is empty.
    ///
    /// # Errors
    /// What is missing.
    pub fn check_motion(&self) -> Result<(), FileError> {
        self.missing.as_ref().map_or(Ok(()), |problem| Err(self.document.located(problem.clone())))
    }

    /// How the scene is to be simulated.
    ///
    /// # Errors
    /// When the scene cannot move (see [`Self::check_motion`]), or the file asks for contact settings
    /// that its solver does not support.
    pub fn simulation_settings(&self) -> Result<SimulationSettings, FileError> {
        self.check_motion()?;
        if let (Some(found), true) = (self.model.contact.bristle_length, self.solver != SolverKind::Lagged) {
            let message = format!(
                "found {found}, but the solver is \"{}\"; set `kind` in [solver] to \"lagged\", which alone has \
                 bristles, or remove it",
                self.solver.name()
            );
            let problem = Problem::new(FieldPath::root().key("contact").key("bristle_length"), message);
            return Err(self.document.located(problem));
        }
        let integrator = match self.solver {
            SolverKind::SemiImplicitEuler => Integrator::SemiImplicitEuler,
            SolverKind::Rk4 => Integrator::RungeKutta4,
            SolverKind::BogackiShampine => Integrator::BogackiShampine,
            SolverKind::DormandPrince => Integrator::DormandPrince,
            SolverKind::Radau => Integrator::Radau(RadauOrder::Fifth),
            SolverKind::Sap => self.velocity_level(ContactModel::Sap)?,
            SolverKind::Lagged => self.velocity_level(ContactModel::Lagged)?,
            SolverKind::Similar => self.velocity_level(ContactModel::Similar)?,
            SolverKind::Tamsi => self.velocity_level(ContactModel::Tamsi)?,
            SolverKind::Lcp => Integrator::Complementarity(ComplementarityMethod::Lcp),
            SolverKind::Ncp => Integrator::Complementarity(ComplementarityMethod::Ncp),
            SolverKind::Ecp => Integrator::Complementarity(ComplementarityMethod::Ecp),
        };
        let controlled = self.error_control.and_then(|ErrorControl { accuracy, extrapolated }| {
            let method = match integrator {
                Integrator::BogackiShampine => ControlledMethod::BogackiShampine,
                Integrator::DormandPrince => ControlledMethod::DormandPrince,
                Integrator::Radau(_) => ControlledMethod::Radau,
                Integrator::VelocityLevel(method) if extrapolated => ControlledMethod::Extrapolated(method),
                Integrator::VelocityLevel(method) => ControlledMethod::VelocityLevel(method),
                _ => return None,
            };
            Some(Integrator::ErrorControlled(ErrorControlled { method, accuracy }))
        });
        let integrator = controlled.unwrap_or(integrator);
        integrator.check_model(&self.model).map_err(|error| {
            let names: Vec<String> =
                error.bodies().iter().map(|&body| format!("`{}`", self.model.bodies[body].name)).collect();
            let of = if names.is_empty() { String::new() } else { format!("{}: ", names.join(" and ")) };
            let field = FieldPath::root().key("solver").key("kind");
            self.document.located(Problem::new(field, format_args!("{of}{error}")))
        })?;
        Ok(SimulationSettings { integrator, time_step: self.time_step })
    }

    /// A velocity-level method, whose models have friction and a positive part of their own.
    fn velocity_level(&self, model: ContactModel) -> Result<Integrator, FileError> {
        let contact = &self.model.contact;
        let field = FieldPath::root().key("contact");
        let only_explicit = "which only the explicit solvers have";
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

/// Replaces the spellings that scenes had before by those of today. Each that was found is returned, for
/// a warning.
fn replace_old_spellings(document: &mut Document) -> Vec<FileError> {
    let solver = FieldPath::root().key("solver");
    let key = document.replace_key(&solver, "maximum_iterations", "max_iterations");
    let kind = document.replace_text(&solver.key("kind"), "semi-implicit-euler", "semi_implicit_euler");
    key.into_iter().chain(kind).collect()
}

/// Says how a mesh in a file is written, to who names one in a mesh whose numbers are in the scene.
fn with_place_of_mesh_file(mut error: FileError) -> FileError {
    if let FileError::Invalid { field, message, .. } = &mut error
        && field.ends_with("_mesh.file")
    {
        message.push_str("; a mesh in a file is `mesh = { file = \"…\" }`, of a volume as of a surface");
    }
    error
}

fn build(path: &Path, table: &SceneTable, document: Document) -> Result<Scene, FileError> {
    let Content {
        model,
        state,
        commands,
        controllers: feedback,
        time_step,
        tolerance,
        error_control,
        fixed,
        excluded,
        visuals,
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
        feedback,
        solver,
        time_step,
        tolerance,
        error_control,
        fixed,
        excluded,
        visuals,
        files,
        skirt,
        warnings,
        missing,
        document,
    })
}
