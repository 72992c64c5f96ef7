//! Problem files: what a motion of a scene should be like, and which commands may change.

use std::fmt::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::io::digest::Digest;
use crate::io::problem::controls::OptimizedControl;
use crate::io::problem::members::ProblemEnsemble;
use crate::io::problem::schema::ScatteredStarts;
use crate::io::scene::file::Scene;
use crate::multibody::NoForces;
use crate::optimize::ProblemError;
use crate::optimize::constraints::Constraints;
use crate::optimize::ensemble::SharedVariables;
use crate::optimize::multi_start::scattered_starts;
use crate::optimize::objective::Objective;
use crate::optimize::randomized_smoothing::SmoothingSettings;
use crate::optimize::trajectory::{
    ControlRange, OptimizedProblem, TrajectoryProblem, TrajectorySettings, TrajectoryTask,
};
use crate::rollout::{ControlKnots, Controls, KnotInterpolation, SimulationSettings};

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
