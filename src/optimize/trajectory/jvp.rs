//! Derivatives of residuals along one direction of the variables: dual numbers through the whole motion.

use argmin::core::Error;

use super::problem::TrajectoryProblem;
use crate::optimize::optimized::OptimizedProblem;
use crate::rollout::{Controls, GaussNewton};

impl TrajectoryProblem<'_> {
    /// The derivatives of the residuals along a direction of the variables, by a rollout in dual numbers.
    ///
    /// # Errors
    /// When there is not one number for each knot and control, or the simulation fails.
    pub fn jvp(&self, x: &[f64], direction: &[f64]) -> Result<Vec<f64>, Error> {
        self.shared_variables().check_count(direction.len())?;
        let motion = self.motion(x)?;
        let along: Vec<f64> =
            direction.iter().zip(self.scales().cycle()).map(|(v, scale)| v * scale).collect();
        let mut by_controls = Controls::zeros(motion.controls.steps(), motion.controls.dimension());
        self.shared_variables().put_controls(&along, None, &mut by_controls);
        let rollout = self.rollout(&motion.controls);
        let residuals = GaussNewton::over(rollout, self.task().residuals, &[], motion.trajectory.clone())?;
        Ok(residuals.jvp(by_controls.values())?)
    }
}
