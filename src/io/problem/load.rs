//! From a problem file to what it says.

use std::path::Path;

use crate::input_file;
use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem};
use crate::io::problem::constraint_tables::constraints;
use crate::io::problem::controls::{MOST_NUMBERS, knots, optimized_controls, start_values};
use crate::io::problem::costs::cost_term;
use crate::io::problem::end_time::latest_end;
use crate::io::problem::ensemble::{ensemble, is_ensemble};
use crate::io::problem::file::ProblemFile;
use crate::io::problem::memory::check_memory;
use crate::io::problem::schema::{OptimizerTable, ProblemTable, ScatteredStarts};
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::file::Scene;
use crate::io::scene::plausibility::angle_warnings;
use crate::optimize::ProblemError;
use crate::optimize::objective::Objective;
use crate::optimize::randomized_smoothing::SmoothingSettings;
use crate::optimize::trajectory::{MAXIMUM_ROUNDS, TrajectoryMethod, TrajectorySettings};
use crate::rollout::{ControlKnots, KnotInterpolation, SimulationError, SimulationSettings};

impl ProblemFile {
    /// Reads a problem file and its scene: TOML, JSON where its name ends so, or standard input by the path `-`.
    ///
    /// # Errors
    /// A file that cannot be read or is not valid; the message names the file, the field and line,
    /// what was found and what is allowed.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::load_from(path.as_ref())
    }

    fn load_from(path: &Path) -> Result<Self, FileError> {
        let document = Document::read(path)?;
        let path = input_file::name(path);
        let table: ProblemTable = document.contents()?;
        let scene = document.named_file(&FieldPath::root().key("scene"), &table.scene)?;
        let scene = Scene::load(scene)?;
        let simulation = scene.simulation_settings()?;
        let mut warnings = cost_angle_warnings(&table);
        let built = build(path, &table, scene, simulation, &mut warnings);
        let mut file = built.map_err(|problem| document.located(problem))?;
        if is_ensemble(&table, &file.scene) {
            file.ensemble = Some(ensemble((path, &document), &table, &file, &mut warnings)?);
        }
        let warnings = warnings.into_iter().map(|p| format!("warning: {}", document.located(p)));
        file.scene.warnings.extend(warnings);
        Ok(file)
    }
}

/// What to say of the angles of orientations that are aimed at.
fn cost_angle_warnings(table: &ProblemTable) -> Vec<Problem> {
    let field = FieldPath::root().key("costs");
    let costs = table.costs.iter().enumerate();
    let aimed =
        costs.filter_map(|(i, t)| Some((t.orientation.as_ref()?.rpy, field.index(i).key("orientation"))));
    aimed.flat_map(|(rpy, table)| angle_warnings(rpy, &table)).collect()
}

fn build(
    path: &Path,
    table: &ProblemTable,
    scene: Scene,
    simulation: SimulationSettings,
    warnings: &mut Vec<Problem>,
) -> Result<ProblemFile, Problem> {
    let root = FieldPath::root();
    let until = number(table.until, Range::Positive, &root.key("until"))?;
    let hold = number(table.hold, Range::AtLeastZero, &root.key("hold"))?;
    let field = root.key("controls");
    let of_ensemble = is_ensemble(table, &scene);
    let controls = match table.controls.is_empty() && !table.optimizes_commands_alone() {
        true => Vec::new(),
        false => optimized_controls(&table.controls, &scene.model, &field)?,
    };
    let knots = match &table.knots {
        Some(t) => knots(t, until, &root.key("knots"))?,
        // Nothing is interpolated.
        None if controls.is_empty() => ControlKnots::uniform(KnotInterpolation::ZeroOrderHold, 1, until)
            .map_err(|error| Problem::new(root.key("until"), error))?,
        None => {
            return Err(Problem::new(
                root.key("knots"),
                "is missing; commands that are optimized need knots",
            ));
        }
    };
    let variables = knots.times().len() * controls.len();
    let (latest, of_latest) = latest_end(table, &root);
    check_memory(&scene.model, &simulation, latest, variables, table.optimizer.kind, of_latest)?;
    let mut start = vec![0.0; variables];
    for (i, (control, t)) in controls.iter().zip(&table.controls).enumerate() {
        let given = &scene.commands[control.actuator];
        let values = start_values(t, control, given, (&knots, until), &field.index(i), warnings)?;
        start.iter_mut().skip(i).step_by(controls.len()).zip(values).for_each(|(at, value)| *at = value);
    }
    let of = (of_ensemble, start.len());
    let (settings, starts, smoothing) = optimizer(&table.optimizer, of, &root.key("optimizer"))?;
    let field = root.key("costs");
    if table.costs.is_empty() {
        return Err(Problem::new(field, "found none; at least one is needed"));
    }
    let width = scene.model.command_dimension();
    let (mut terms, mut cost_names) = (Vec::new(), Vec::new());
    for (i, t) in table.costs.iter().enumerate() {
        let (name, term) = cost_term(t, (&scene.model, simulation.integrator), &field.index(i))?;
        terms.push(term);
        cost_names.push(name);
    }
    let objective = Objective::new(&scene.model, width, terms).map_err(|e| Problem::new(field, e))?;
    let (constraints, constraint_names) =
        constraints(&table.constraints, (&scene.model, simulation.integrator))?;
    let field = root.key("optimizer");
    if smoothing.is_some() && !constraint_names.is_empty() {
        let message = "found beside `constraints`; a smoothed cost has none";
        return Err(Problem::new(field.key("smoothing"), message));
    }
    let max_rounds = table.optimizer.max_rounds.unwrap_or(MAXIMUM_ROUNDS);
    if max_rounds == 0 {
        return Err(Problem::new(field.key("max_rounds"), "found 0; it must be at least 1"));
    }
    let file = ProblemFile {
        path: path.to_owned(),
        scene,
        simulation,
        // As one would write it: 0.6 and 0.3 are 0.9.
        until: format!("{:.14e}", until + hold).parse().unwrap_or(until + hold),
        hold,
        knots,
        controls,
        start,
        cost_names,
        objective,
        constraint_names,
        constraints,
        max_rounds,
        settings,
        starts,
        smoothing,
        ensemble: None,
    };
    if of_ensemble {
        return Ok(file);
    }
    match file.problem() {
        Ok(_) => Ok(file),
        Err(error) => {
            let field = match error {
                ProblemError::Knots(_) => root.key("knots"),
                ProblemError::Simulation(SimulationError::TooManySteps { .. }) => root.key("until"),
                _ => root.key("controls"),
            };
            Err(Problem::new(field, error))
        }
    }
}

/// Settings of the solver, the starts, the smoothing.
type Optimizer = (TrajectorySettings, Option<ScatteredStarts>, Option<SmoothingSettings>);

/// Those of an ensemble or not, with so many values at knots.
fn optimizer(
    t: &OptimizerTable,
    (of_ensemble, variables): (bool, usize),
    table: &FieldPath,
) -> Result<Optimizer, Problem> {
    let method = match t.kind {
        kind if !of_ensemble => kind,
        TrajectoryMethod::Auto | TrajectoryMethod::Lbfgs => TrajectoryMethod::Lbfgs,
        other => {
            let message = format!(
                "found `{}`; with controllers or an ensemble the method is `lbfgs`, as with `model_parameters` and `end_time`",
                other.name()
            );
            return Err(Problem::new(table.key("kind"), message));
        }
    };
    let standard = TrajectorySettings::default();
    let field = table.key("cost_tolerance");
    let cost_tolerance = t.cost_tolerance.map(|found| number(found, Range::AtLeastZero, &field));
    let settings = TrajectorySettings {
        method,
        max_iterations: t.max_iterations.unwrap_or(standard.max_iterations),
        cost_tolerance: cost_tolerance.transpose()?,
        initial_damping: t.initial_damping,
    };
    if let Some(damping) = t.initial_damping {
        let field = table.key("initial_damping");
        if method == TrajectoryMethod::Lbfgs {
            let message =
                "the method `lbfgs` has no damping: it belongs to `auto`, `ilqr` and `levenberg_marquardt`";
            return Err(Problem::new(field, message));
        }
        number(damping, Range::Positive, &field)?;
    }
    if settings.max_iterations == 0 {
        return Err(Problem::new(table.key("max_iterations"), "found 0; it must be at least 1"));
    }
    // The count is limited so that a mistake does not take all memory.
    let count = |found: usize, least: usize, field: FieldPath| {
        let most = MOST_NUMBERS / variables.max(1);
        match (least..=most.max(least)).contains(&found) {
            true => Ok(found),
            false => {
                Err(Problem::new(field, format_args!("found {found}; it must be between {least} and {most}")))
            }
        }
    };
    if let Some(starts) = &t.starts {
        let field = table.key("starts");
        count(starts.count, 1, field.key("count"))?;
        number(starts.spread, Range::Positive, &field.key("spread"))?;
    }
    if let Some(smoothing) = &t.smoothing {
        let field = table.key("smoothing");
        if method != TrajectoryMethod::Lbfgs {
            let error = ProblemError::Smoothed { method: method.name() };
            return Err(Problem::new(field, error));
        }
        number(smoothing.deviation, Range::Positive, &field.key("deviation"))?;
        count(smoothing.pairs, 2, field.key("pairs"))?;
    }
    Ok((settings, t.starts, t.smoothing))
}
