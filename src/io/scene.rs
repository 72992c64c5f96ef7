//! Scene files: bodies, materials and settings, ready to query or to simulate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::body_tables::{
    PoseFields, Range, check_mass_fields, contact_settings, free_body, material, number, vector, velocity,
};
use super::field_path::{FieldPath, line_at};
use super::geometry_tables::{GeometryContext, geometry, zero_gradient_warning};
use super::scene_error::{Problem, SceneError};
pub use super::schema::SolverKind;
use super::schema::{BodyTable, SceneTable, SolverTable};
use crate::contact::{ContactModel, FrictionRegularization};
use crate::multibody::{Body, BodyPair, BodyState, Model, ModelError, NamedMaterial, State};
use crate::rollout::SimulationSettings;
use crate::spatial::SpatialVelocity;
use crate::step::{Integrator, SolverTolerance, VelocityLevel};

/// What a scene is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Contact at the poses and velocities of the file. No body needs a mass: all of them are
    /// held, with their velocities, and the state is empty.
    Contact,
    /// Motion: every body that is not fixed needs a mass.
    Simulation,
}

/// A scene file as a model and its initial state.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The file.
    pub path: PathBuf,
    /// Bodies, materials, gravity, contact settings.
    pub model: Model,
    /// Poses and velocities of the free bodies.
    pub state: State,
    /// The method that the file asks for.
    pub solver: SolverKind,
    /// Length of a step, s.
    pub time_step: f64,
    /// When the iteration of an implicit step ends.
    pub tolerance: SolverTolerance,
    /// For each body of the model whether the file fixes it.
    pub fixed: Vec<bool>,
    /// Pairs of bodies that the file leaves out of contact.
    pub excluded: Vec<BodyPair>,
    /// Thickness of the skirt of every compliant geometry, m, 0 for none: with one, forces act
    /// before bodies touch (see [`crate::contact::Collider::with_skirt`]).
    pub skirt: f64,
    /// What is allowed but hardly meant, such as tetrahedra without a pressure gradient: each a
    /// line of text that names the field.
    pub warnings: Vec<String>,
    text: SceneText,
}

/// The text of a scene file, to find lines in.
#[derive(Clone, Debug)]
struct SceneText {
    text: String,
    is_toml: bool,
}

impl SceneText {
    /// A problem with its file and line.
    fn located(&self, path: &Path, problem: &Problem) -> SceneError {
        SceneError::Invalid {
            path: path.to_owned(),
            line: self.line(&problem.field),
            field: problem.field.to_string(),
            message: problem.message.clone(),
        }
    }

    /// The line of a field, from 1.
    fn line(&self, field: &FieldPath) -> Option<usize> {
        if self.is_toml { field.line_in_toml(&self.text) } else { field.line_in_json(&self.text) }
    }
}

impl Scene {
    /// Loads a scene from a TOML or JSON file. Files that it names are found relative to it.
    ///
    /// # Errors
    /// When a file cannot be read or is not valid; the message names the file, the field or
    /// line, what was found and what is allowed.
    pub fn load(path: impl AsRef<Path>, purpose: Purpose) -> Result<Self, SceneError> {
        let path = path.as_ref();
        let is_toml = match path.extension().and_then(|e| e.to_str()) {
            Some(e) if e.eq_ignore_ascii_case("toml") => true,
            Some(e) if e.eq_ignore_ascii_case("json") => false,
            _ => return Err(SceneError::Extension { path: path.to_owned() }),
        };
        let text =
            fs::read_to_string(path).map_err(|source| SceneError::Read { path: path.to_owned(), source })?;
        let table = if is_toml { parse_toml(path, &text)? } else { parse_json(path, &text)? };
        build(path, &table, SceneText { text, is_toml }, purpose)
    }

    /// How the scene is to be simulated.
    ///
    /// # Errors
    /// When the file asks for a solver that this version does not have.
    pub fn simulation_settings(&self) -> Result<SimulationSettings, SceneError> {
        let integrator = match self.solver {
            SolverKind::SemiImplicitEuler => Integrator::SemiImplicitEuler,
            SolverKind::Rk4 => Integrator::RungeKutta4,
            SolverKind::Sap => self.velocity_level(ContactModel::Sap)?,
            SolverKind::Lagged => self.velocity_level(ContactModel::Lagged)?,
            SolverKind::Similar => self.velocity_level(ContactModel::Similar)?,
            SolverKind::Tamsi => self.velocity_level(ContactModel::Tamsi)?,
            SolverKind::Radau | SolverKind::Lcp | SolverKind::Ncp | SolverKind::Ecp => {
                let name = serde_json::to_value(self.solver).unwrap_or_default();
                let message = format!(
                    "found {name}, which is not available yet; use \"semi-implicit-euler\", \"rk4\", \"sap\", \"lagged\", \"similar\" or \"tamsi\""
                );
                let problem = Problem::new(FieldPath::root().key("solver").key("kind"), message);
                return Err(self.text.located(&self.path, &problem));
            }
        };
        Ok(SimulationSettings { integrator, time_step: self.time_step })
    }

    /// A velocity-level method, whose models have friction and a positive part of their own.
    fn velocity_level(&self, model: ContactModel) -> Result<Integrator, SceneError> {
        let contact = &self.model.contact;
        let field = FieldPath::root().key("contact");
        let only_explicit = "which the solvers \"semi-implicit-euler\" and \"rk4\" have alone";
        if contact.friction_regularization != FrictionRegularization::default() {
            let found = serde_json::to_value(contact.friction_regularization).unwrap_or_default();
            let message = format!("found {found}, {only_explicit}; remove it or set it to \"smooth\"");
            let problem = Problem::new(field.key("friction_regularization"), message);
            return Err(self.text.located(&self.path, &problem));
        }
        if contact.positive_part_width != 0.0 {
            let found = contact.positive_part_width;
            let message = format!("found {found}, {only_explicit}; remove it or set it to 0");
            let problem = Problem::new(field.key("positive_part_width"), message);
            return Err(self.text.located(&self.path, &problem));
        }
        Ok(Integrator::VelocityLevel(VelocityLevel { model, tolerance: self.tolerance }))
    }
}

/// What a velocity-level solver leaves out of account.
fn solver_warnings(table: &SceneTable) -> Vec<Problem> {
    let root = FieldPath::root();
    let sap = table.solver.kind == SolverKind::Sap;
    let others = [SolverKind::Lagged, SolverKind::Similar, SolverKind::Tamsi];
    let mut warnings = Vec::new();
    for (name, m) in &table.materials {
        let field = root.key("materials").key(name);
        if sap && m.dissipation != 0.0 && m.relaxation_time == 0.0 {
            warnings.push(Problem::new(
                field.key("dissipation"),
                "the solver \"sap\" does not use it; give a relaxation_time instead",
            ));
        }
        if others.contains(&table.solver.kind) && m.relaxation_time != 0.0 && m.dissipation == 0.0 {
            warnings.push(Problem::new(
                field.key("relaxation_time"),
                "only the solver \"sap\" uses it; give a dissipation instead",
            ));
        }
        if (sap || others.contains(&table.solver.kind))
            && let (Some(fixed), Some(sliding)) = (m.static_friction, m.dynamic_friction)
            && fixed != sliding
        {
            warnings.push(Problem::new(
                field.key("static_friction"),
                format_args!("found {fixed}; velocity-level solvers use dynamic_friction = {sliding} alone"),
            ));
        }
    }
    warnings
}

/// The name of the field that a parser stopped at.
fn field_name(path: &serde_path_to_error::Path) -> String {
    let name = path.to_string();
    if name == "." { FieldPath::root().to_string() } else { name }
}

fn parse_toml(path: &Path, text: &str) -> Result<SceneTable, SceneError> {
    let invalid = |field: String, error: &toml::de::Error| SceneError::Invalid {
        path: path.to_owned(),
        line: error.span().map(|span| line_at(text, span.start)),
        field,
        message: error.message().trim().replace('\n', ", "),
    };
    let document =
        toml::Deserializer::parse(text).map_err(|error| invalid(FieldPath::root().to_string(), &error))?;
    serde_path_to_error::deserialize(document)
        .map_err(|error| invalid(field_name(error.path()), error.inner()))
}

fn parse_json(path: &Path, text: &str) -> Result<SceneTable, SceneError> {
    let invalid = |field: String, error: &serde_json::Error| {
        // The line goes to the front of the message.
        let message = error.to_string();
        let end = message.rfind(" at line ").unwrap_or(message.len());
        SceneError::Invalid {
            path: path.to_owned(),
            line: (error.line() > 0).then_some(error.line()),
            field,
            message: message[..end].to_owned(),
        }
    };
    let mut document = serde_json::Deserializer::from_str(text);
    let table = serde_path_to_error::deserialize(&mut document)
        .map_err(|error| invalid(field_name(error.path()), error.inner()))?;
    document.end().map_err(|error| invalid(FieldPath::root().to_string(), &error))?;
    Ok(table)
}

/// The scene of a file.
fn build(path: &Path, table: &SceneTable, text: SceneText, purpose: Purpose) -> Result<Scene, SceneError> {
    let Content { model, state, time_step, tolerance, excluded, warnings, skirt } =
        content(path, table, purpose).map_err(|problem| text.located(path, &problem))?;
    let warnings =
        warnings.iter().map(|problem| format!("warning: {}", text.located(path, problem))).collect();
    let fixed = table.bodies.iter().map(|b| b.fixed).collect();
    let (path, solver) = (path.to_owned(), table.solver.kind);
    Ok(Scene { path, model, state, solver, time_step, tolerance, fixed, excluded, skirt, warnings, text })
}

/// What a scene's tables mean.
struct Content {
    model: Model,
    state: State,
    time_step: f64,
    tolerance: SolverTolerance,
    excluded: Vec<BodyPair>,
    warnings: Vec<Problem>,
    skirt: f64,
}

/// The model and state of a scene's tables.
fn content(path: &Path, table: &SceneTable, purpose: Purpose) -> Result<Content, Problem> {
    let root = FieldPath::root();
    let gravity = vector(table.gravity, Range::Finite, &root.key("gravity"))?;
    let time_step = number(table.solver.time_step, Range::Positive, &root.key("solver").key("time_step"))?;
    let tolerance = solver_tolerance(&table.solver, &root.key("solver"))?;
    let contact = contact_settings(&table.contact, &root.key("contact"))?;
    let mut materials = Vec::new();
    for (name, t) in &table.materials {
        let material = material(t, &root.key("materials").key(name))?;
        materials.push(NamedMaterial { name: name.clone(), material });
    }
    let names = body_names(&table.bodies)?;
    let excluded = excluded_pairs(table, &names)?;

    let context = GeometryContext {
        folder: path.parent().unwrap_or(Path::new("")),
        tables: &table.materials,
        materials: &materials,
    };
    let mut bodies = Vec::new();
    let mut state = State::default();
    let mut warnings = if purpose == Purpose::Simulation { solver_warnings(table) } else { Vec::new() };
    for (i, t) in table.bodies.iter().enumerate() {
        let field = root.key("bodies").index(i);
        check_mass_fields(t, &field)?;
        let (orientation, position) = PoseFields::from(t).read(&field)?;
        let velocity = velocity(t, &field)?;
        let mut geometries = Vec::new();
        for (j, g) in t.geometries.iter().enumerate() {
            let here = field.key("geometries").index(j);
            let made = geometry(g, &context, &here)?;
            warnings.extend(zero_gradient_warning(&made, &t.name, &here));
            geometries.push(made);
        }
        let body_state = BodyState { orientation, position, velocity };
        let held = t.fixed || purpose == Purpose::Contact;
        if held {
            if purpose == Purpose::Simulation && velocity != SpatialVelocity::zero() {
                return Err(Problem::new(
                    field,
                    format_args!(
                        "body `{}` is fixed but has a velocity; a fixed body must be at rest",
                        t.name
                    ),
                ));
            }
            bodies.push(Body::fixed(t.name.clone(), body_state.pose(), velocity, geometries));
        } else {
            bodies.push(free_body(t, geometries, &field)?);
            state.bodies.push(body_state);
        }
    }
    let skirt = put_on_skirts(&mut bodies, table.contact.skirt, &root.key("contact").key("skirt"))?;
    let model =
        Model::new(bodies, materials, gravity, contact, &excluded).map_err(|error| model_problem(&error))?;
    Ok(Content { model, state, time_step, tolerance, excluded, warnings, skirt })
}

/// Puts a skirt of this thickness in metres around every compliant geometry. Masses stay as they
/// are.
fn put_on_skirts(bodies: &mut [Body], thickness: f64, field: &FieldPath) -> Result<f64, Problem> {
    number(thickness, Range::AtLeastZero, field)?;
    for body in bodies {
        for (i, geometry) in body.geometries.iter_mut().enumerate() {
            geometry.collider = geometry.collider.with_skirt(thickness).map_err(|error| {
                let place = format_args!("found {thickness}; geometry {i} of body `{}`: {error}", body.name);
                Problem::new(field.clone(), place)
            })?;
        }
    }
    Ok(thickness)
}

/// When the iteration of an implicit step ends.
fn solver_tolerance(table: &SolverTable, field: &FieldPath) -> Result<SolverTolerance, Problem> {
    let mut tolerance = SolverTolerance::default();
    if let Some(relative) = table.relative_tolerance {
        tolerance.relative = number(relative, Range::Positive, &field.key("relative_tolerance"))?;
    }
    if let Some(iterations) = table.maximum_iterations {
        if iterations == 0 {
            return Err(Problem::new(field.key("maximum_iterations"), "found 0; it must be at least 1"));
        }
        tolerance.iterations = iterations;
    }
    Ok(tolerance)
}

/// What is wrong with a model, in the words of the scene file.
fn model_problem(error: &ModelError) -> Problem {
    Problem::new(
        FieldPath::root().key("bodies"),
        format_args!("{error} (contact.excluded_pairs lists such pairs)"),
    )
}

/// The place of each body by its name.
fn body_names(bodies: &[BodyTable]) -> Result<BTreeMap<&str, usize>, Problem> {
    let field = FieldPath::root().key("bodies");
    if bodies.is_empty() {
        return Err(Problem::new(field, "found no body; a scene needs at least one"));
    }
    let mut names = BTreeMap::new();
    for (i, body) in bodies.iter().enumerate() {
        let here = field.index(i);
        if body.name.trim().is_empty() || body.name.chars().any(char::is_control) {
            return Err(Problem::new(
                here.key("name"),
                format_args!("found {:?}; a name must not be empty or hold control characters", body.name),
            ));
        }
        if let Some(first) = names.insert(body.name.as_str(), i) {
            return Err(Problem::new(
                here.key("name"),
                format_args!("found `{}`, the name of bodies[{first}] too; names must be unique", body.name),
            ));
        }
        if body.geometries.is_empty() {
            return Err(Problem::new(
                here.key("geometries"),
                format_args!("body `{}` has no geometry; it needs at least one", body.name),
            ));
        }
    }
    Ok(names)
}

/// The pairs of bodies that are left out of contact.
fn excluded_pairs(table: &SceneTable, names: &BTreeMap<&str, usize>) -> Result<Vec<BodyPair>, Problem> {
    let field = FieldPath::root().key("contact").key("excluded_pairs");
    let mut pairs = Vec::new();
    for (i, pair) in table.contact.excluded_pairs.iter().enumerate() {
        let mut places = [0; 2];
        for (j, name) in pair.0.iter().enumerate() {
            places[j] = *names.get(name.as_str()).ok_or_else(|| {
                let known: Vec<&str> = names.keys().copied().collect();
                Problem::new(
                    field.index(i).index(j),
                    format_args!("found `{name}`, which is no body; the bodies are {}", known.join(", ")),
                )
            })?;
        }
        places.sort_unstable();
        let [a, b] = places;
        if a == b {
            return Err(Problem::new(
                field.index(i),
                format_args!("found `{}` twice; a pair is two different bodies", pair.0[0]),
            ));
        }
        pairs.push(BodyPair { a, b });
    }
    Ok(pairs)
}
