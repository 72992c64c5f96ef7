//! Problem files: what a motion of a scene should be like, and which commands may change.

use std::fmt::Write;
use std::path::{Path, PathBuf};

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input_file;
use crate::io::digest::Digest;
use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem};
use crate::io::problem::constraint_tables::constraints;
use crate::io::problem::controls::{MOST_NUMBERS, OptimizedControl, knots, optimized_controls, start_values};
use crate::io::problem::costs::cost_term;
use crate::io::problem::end_time::latest_end;
use crate::io::problem::ensemble::{ProblemEnsemble, ensemble, is_ensemble};
use crate::io::problem::memory::check_memory;
use crate::io::problem::schema::{OptimizerTable, ProblemTable};
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::file::Scene;
use crate::io::scene::plausibility::angle_warnings;
use crate::multibody::NoForces;
use crate::optimize::ProblemError;
use crate::optimize::checkpoint::ProblemCheckpoints;
use crate::optimize::constraints::Constraints;
use crate::optimize::ensemble::SharedVariables;
use crate::optimize::multi_start::scattered_starts;
use crate::optimize::objective::Objective;
use crate::optimize::progress::ProgressObserver;
use crate::optimize::randomized_smoothing::SmoothingSettings;
use crate::optimize::trajectory::{
    ConstrainedSettings, ConstraintRound, ControlRange, Evaluations, MAXIMUM_ROUNDS, OptimizedProblem,
    TrajectoryMethod, TrajectoryOptimum, TrajectoryProblem, TrajectorySettings, TrajectoryTask,
    optimize_constrained_trajectory, optimize_smoothed_trajectory, optimize_trajectory,
};
use crate::rollout::{ControlKnots, Controls, KnotInterpolation, SimulationError, SimulationSettings};

/// Several starts: the start of the file, and others normally distributed around it.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScatteredStarts {
    /// The number of starts, including that of the file.
    pub count: usize,
    /// Standard deviation, in the scale of each variable; of its logarithm where that is the variable.
    pub spread: f64,
    /// Seed of the random numbers.
    #[serde(default)]
    pub seed: u64,
}

/// A problem file that was read, with its scene.
///
/// `isobar schema problem --markdown` prints the reference of its fields (see
/// [`crate::io::reference`]). The scene is found relative to the problem file.
#[derive(Debug)]
pub struct ProblemFile {
    /// The file.
    pub path: PathBuf,
    /// The scene.
    pub scene: Scene,
    /// How it is simulated.
    pub simulation: SimulationSettings,
    /// End of the motion, s, with the time for which commands are held; where it is optimized, its start.
    pub until: f64,
    /// The part of it for which commands are held, s.
    pub hold: f64,
    /// Knots of the commands that are optimized.
    pub knots: ControlKnots,
    /// The actuators whose commands are optimized.
    pub controls: Vec<OptimizedControl>,
    /// Values of their commands at the knots at the start, knot after knot.
    pub start: Vec<f64>,
    /// The names of the terms of the objective.
    pub cost_names: Vec<String>,
    /// What the motion should be like.
    pub objective: Objective,
    /// The names of the constraints.
    pub constraint_names: Vec<String>,
    /// What the motion has to keep.
    pub constraints: Constraints,
    /// Most rounds, where there are constraints.
    pub max_rounds: usize,
    /// Settings of the optimization.
    pub settings: TrajectorySettings,
    /// How the starts are scattered, if there are several.
    pub starts: Option<ScatteredStarts>,
    /// How the cost is smoothed, if it is.
    pub smoothing: Option<SmoothingSettings>,
    /// The ensemble, where the scene has controllers or the file has one: what is optimized then.
    pub ensemble: Option<ProblemEnsemble>,
}

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

    /// Optimizes the file's problem from a start, as its settings say: smoothed, if they ask for that, and under
    /// its constraints, with what they came to in each round. Evaluations made `before` are counted too.
    ///
    /// # Errors
    /// A checkpoint that is not one of this problem, or a motion that cannot be simulated.
    pub fn optimize(
        &self,
        start: &[f64],
        before: Evaluations,
        checkpoints: Option<ProblemCheckpoints>,
        progress: Option<ProgressObserver>,
    ) -> Result<(TrajectoryOptimum, Vec<ConstraintRound>), argmin::core::Error> {
        let (settings, constraints) = (&self.settings, &self.constraints);
        if self.ensemble.is_none() && !constraints.constraints().is_empty() {
            let problem = self.problem()?;
            problem.counter().set(&before);
            let settings = ConstrainedSettings { trajectory: *settings, max_rounds: self.max_rounds };
            let (kept, told) = (checkpoints.as_ref(), progress.as_ref());
            return optimize_constrained_trajectory(&problem, constraints, start, &settings, kept, told);
        }
        let problem = &*self.optimized()?;
        problem.counter().set(&before);
        let optimum = match &self.smoothing {
            Some(smoothing) => {
                optimize_smoothed_trajectory(problem, start, smoothing, settings, checkpoints, progress)
            }
            None => optimize_trajectory(problem, start, settings, checkpoints, progress),
        };
        Ok((optimum?, Vec::new()))
    }

    /// The problem, of whatever kind: that of the ensemble where there is one, or else [`Self::problem`].
    ///
    /// # Errors
    /// Those of [`Self::problem`].
    pub fn optimized(&self) -> Result<Box<dyn OptimizedProblem + '_>, ProblemError> {
        Ok(match &self.ensemble {
            Some(ensemble) => Box::new(ensemble.problem()),
            None => Box::new(self.problem()?),
        })
    }

    /// The problem of commands alone, for argmin's solvers and [`crate::optimize::trajectory::optimize_trajectory`].
    ///
    /// # Errors
    /// [`Self::load`] has found all errors already, unless something was changed since.
    pub fn problem(&self) -> Result<TrajectoryProblem<'_>, ProblemError> {
        self.problem_until(self.until)
    }

    /// The problem with motions that end at another time in s, with the commands at the last knots held until then.
    ///
    /// # Errors
    /// A time that is no end of a motion.
    pub fn problem_until(&self, until: f64) -> Result<TrajectoryProblem<'_>, ProblemError> {
        let task = TrajectoryTask {
            model: &self.scene.model,
            initial: &self.scene.state,
            settings: self.simulation,
            until,
            applied: &NoForces,
            residuals: &self.objective,
        };
        let optimized: Vec<(usize, ControlRange)> =
            self.controls.iter().map(|control| (control.actuator, control.range)).collect();
        let times = self.simulation.step_times(until)?;
        TrajectoryProblem::of_some(
            task,
            &self.knots,
            &optimized,
            Controls::of_commands(&self.scene.commands, &times),
        )
    }

    /// Values of all variables to start from.
    pub fn whole_start(&self) -> &[f64] {
        self.ensemble.as_ref().map_or(&self.start, |ensemble| &ensemble.start)
    }

    /// Values to start from, of the variables of [`Self::optimized`]: those of the file, then scattered ones within
    /// bounds. The logarithm of a number is scattered where it is the variable.
    pub fn all_starts(&self, variables: &SharedVariables) -> Vec<Vec<f64>> {
        let start = self.whole_start();
        let Some(ScatteredStarts { count, spread, seed }) = self.starts else {
            return vec![start.to_vec()];
        };
        let of = |value: &dyn Fn(usize, &ControlRange) -> f64| -> Vec<f64> {
            let ranges = variables.ranges().enumerate();
            ranges.map(|(i, (range, log))| if log { value(i, range).ln() } else { value(i, range) }).collect()
        };
        let scales = variables.ranges().map(|(range, log)| if log { 1.0 } else { range.scale });
        let deviations: Vec<f64> = scales.map(|scale| spread * scale).collect();
        let (lower, upper) = (of(&|_, range| range.lower), of(&|_, range| range.upper));
        let mut starts = scattered_starts(&of(&|i, _| start[i]), &deviations, (&lower, &upper), count, seed);
        for (x, (range, log)) in starts.iter_mut().flat_map(|start| start.iter_mut().zip(variables.ranges()))
        {
            if log {
                *x = x.exp().max(range.lower).min(range.upper);
            }
        }
        // To the last digit.
        starts.iter_mut().take(1).for_each(|first| first.copy_from_slice(start));
        starts
    }

    /// What tells this problem from others: a digest of the scene, the commands, the costs, the
    /// start and the smoothing. How long the optimization may take is not part of it.
    pub fn digest(&self) -> String {
        let mut digest = Digest::new();
        let Self { scene, simulation, until, knots, controls, start, objective, .. } = self;
        let Self { constraints, starts, smoothing, .. } = self;
        let Scene { model, state, commands, .. } = scene;
        // Numbers are written with all their digits. Writing to a digest cannot fail.
        let _ = write!(digest, "{model:?} {state:?} {commands:?} {simulation:?} {until:?}");
        let _ = write!(digest, "{knots:?} {controls:?} {start:?} {objective:?} {starts:?} {smoothing:?}");
        if !constraints.constraints().is_empty() {
            let _ = write!(digest, " {constraints:?}");
        }
        if let Some(ProblemEnsemble { task, training, start, definition, .. }) = &self.ensemble {
            let _ = write!(digest, "{task:?} {start:?} {definition}");
            // Models have numbers of their own, which depend on the order in which threads make them.
            for member in training {
                let _ = write!(digest, "{:?} {:?} {:?}", member.initial, member.controllers, member.controls);
            }
        }
        digest.hexadecimal()
    }

    /// The end of the motion in s with these values of all variables.
    pub fn end(&self, values: &[f64]) -> f64 {
        let free = self.ensemble.as_ref().and_then(|ensemble| ensemble.task.variables.end_time(values));
        free.unwrap_or(self.until)
    }

    /// The commands with these values of all variables, in the order of [`Self::controls`]; where the motion ends at
    /// another time, knots are stretched with it.
    pub fn commands(&self, values: &[f64]) -> Vec<OptimizedCommand> {
        let dimension = self.controls.len();
        let stretch = self.end(values) / self.until;
        let at_knots = values.iter().take(self.start.len());
        let interpolation = match self.knots.interpolation() {
            KnotInterpolation::ZeroOrderHold => "hold",
            KnotInterpolation::Linear => "linear",
            KnotInterpolation::Cubic => "cubic",
        };
        let of = |(i, control): (usize, &OptimizedControl)| OptimizedCommand {
            actuator: control.name.clone(),
            times: self.knots.times().iter().map(|time| time * stretch).collect(),
            values: at_knots.clone().skip(i).step_by(dimension).copied().collect(),
            interpolation: interpolation.to_owned(),
        };
        self.controls.iter().enumerate().map(of).collect()
    }
}

/// A command over time that was found, as the `command` of a scene's actuator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptimizedCommand {
    /// Name of the actuator.
    pub actuator: String,
    /// Times of the knots, s.
    pub times: Vec<f64>,
    /// The values there.
    pub values: Vec<f64>,
    /// The interpolation between the knots.
    pub interpolation: String,
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
