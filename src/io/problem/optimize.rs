//! The optimization that a problem file asks for, and what becomes of one that changes nothing.

use argmin::core::Error;

use crate::interruption;
use crate::io::problem::file::ProblemFile;
use crate::io::problem::unreached::unreached;
use crate::optimize::checkpoint::ProblemCheckpoints;
use crate::optimize::multi_start::lowest;
use crate::optimize::progress::ProgressObserver;
use crate::optimize::survey::lowest_far_away;
use crate::optimize::termination::Termination;
use crate::optimize::trajectory::{
    ConstrainedSettings, ConstraintRound, Evaluations, OptimizedProblem, TrajectoryMethod, TrajectoryOptimum,
    optimize_constrained_trajectory, optimize_smoothed_trajectory, optimize_trajectory,
};

/// What was found, and the rounds of its constraints.
type Found = Result<(TrajectoryOptimum, Vec<ConstraintRound>), Error>;

/// The best of what several starts came to: the lowest that keeps the constraints, or else the lowest; `None` where all failed.
pub fn best_optimum(results: &[Found]) -> Option<usize> {
    let costs = |wanted: fn(&TrajectoryOptimum) -> bool| {
        let of = |(optimum, _): &(TrajectoryOptimum, _)| wanted(optimum).then_some(optimum.cost);
        lowest(results.iter().map(|result| result.as_ref().ok().and_then(of)))
    };
    costs(|optimum| !matches!(optimum.ending, Termination::Infeasible { .. })).or_else(|| costs(|_| true))
}

impl ProblemFile {
    /// Optimizes the file's problem from a start, as its settings say: smoothed, if they ask for that, and under
    /// its constraints, with what they came to in each round. Evaluations made `before` are counted too.
    ///
    /// Where it converges though a term of the cost was not changed, and nothing around changes it, it is not converged: a
    /// method that goes on by itself does so from afar, if a point there is lower, and else ends as
    /// [`Termination::Unreached`].
    ///
    /// # Errors
    /// A checkpoint that is not one of this problem, or a motion that cannot be simulated.
    pub fn optimize(
        &self,
        start: &[f64],
        before: Evaluations,
        checkpoints: Option<ProblemCheckpoints>,
        progress: Option<ProgressObserver>,
    ) -> Found {
        let (mut optimum, rounds) =
            self.optimize_from(start, before, checkpoints.clone(), progress.clone())?;
        if let Termination::Infeasible { constraint, .. } = optimum.ending {
            let name = format!("`{}` is", self.constraint_names[constraint]);
            optimum.termination = optimum.termination.replace(&format!("constraint {constraint} is"), &name);
        }
        if !optimum.converged || interruption::is_requested() {
            return Ok((optimum, rounds));
        }
        let problem = &*self.optimized()?;
        let variables = problem.shared_variables();
        let Some(term) = unreached(self, problem, &variables.from_values(start), &optimum.variables) else {
            return Ok((optimum, rounds));
        };
        let goes_on = self.ensemble.is_some() || self.settings.method == TrajectoryMethod::Auto;
        match lowest_far_away(problem, &optimum.variables, optimum.cost) {
            Some(lower) if goes_on => {
                checkpoints.iter().try_for_each(|kept| kept.store.save(""))?;
                self.optimize_from(&variables.values(&lower), optimum.evaluations, checkpoints, progress)
            }
            lower => {
                optimum.ending = Termination::Unreached { term, has_lower: lower.is_some() };
                (optimum.converged, optimum.termination) = (false, optimum.ending.to_string());
                Ok((optimum, rounds))
            }
        }
    }

    fn optimize_from(
        &self,
        start: &[f64],
        before: Evaluations,
        checkpoints: Option<ProblemCheckpoints>,
        progress: Option<ProgressObserver>,
    ) -> Found {
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
}
