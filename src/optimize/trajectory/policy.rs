//! The feedback policy around a motion that was optimized.

use argmin::core::Error;
use nalgebra::DMatrix;

use super::problem::TrajectoryProblem;
use crate::multibody::State;
use crate::optimize::ilqr::policy_around;
use crate::optimize::optimized::OptimizedProblem;
use crate::rollout::{FeedbackStage, KnotFeedback};

impl TrajectoryProblem<'_> {
    /// The commands under these variables together with the feedback that the linear–quadratic problem around their
    /// motion has: what iLQR would roll out with. A controller that follows it decides each knot's values from the state
    /// at the beginning of its stage, within bounds; from the nominal start it commands the nominal values.
    ///
    /// Gains on bristles are left out: nobody measures them.
    ///
    /// # Errors
    /// When there is not one variable for each knot and control, the motion cannot be simulated or differentiated, or
    /// the problem has no policy because its cost is not finite.
    pub fn policy(&self, x: &[f64]) -> Result<KnotFeedback, Error> {
        let expansion = self.expand(x)?;
        let policy = policy_around(&expansion, x, self.bounds())
            .ok_or_else(|| Error::msg("the expansion around the motion has no minimum"))?;
        let states = self.trajectory(x)?.states;
        let times = self.task().settings.step_times(self.task().until)?;
        let values = self.values(x)?;
        let scales: Vec<f64> = self.scales().collect();
        let m = scales.len();
        let without_bristles = |state: &State| State { bristles: Vec::new(), ..state.clone() };
        let stages = self.map().stages().into_iter().enumerate().map(|(stage, steps)| {
            let state = &states[steps.start];
            let (all, kept) = (state.tangent_dimension(), state.motion_tangent_dimension());
            let of_policy = &policy.gains[stage];
            let before = of_policy.ncols() - all;
            let gain = |row: usize, column: usize| match column.checked_sub(kept) {
                None => of_policy[(row, column)] * scales[row],
                // Changes of the knots before are in the units of their variables.
                Some(i) => of_policy[(row, all + i)] * scales[row] / scales[i % m],
            };
            FeedbackStage {
                time: times[steps.start],
                state: without_bristles(state),
                values: values[stage * m..(stage + 1) * m].to_vec(),
                gains: DMatrix::from_fn(m, kept + before, gain),
            }
        });
        let optimized = self.at_knots.optimized.iter();
        let (indices, bounds) = optimized.map(|(index, range)| (*index, [range.lower, range.upper])).unzip();
        KnotFeedback::new(self.knots.clone(), stages.collect(), bounds, indices)
            .ok_or_else(|| Error::msg("the stages of the policy do not go together"))
    }
}
