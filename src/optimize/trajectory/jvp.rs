//! Derivatives of residuals along one direction of the variables: dual numbers through the whole motion.

use argmin::core::Error;

use super::problem::TrajectoryProblem;
use crate::rollout::{Controls, GaussNewton};

impl TrajectoryProblem<'_> {
    /// The derivatives of the residuals along a direction of the variables, by a rollout in dual numbers.
    ///
    /// # Errors
    /// When there is not one number for each knot and control, or the simulation fails.
    pub fn jvp(&self, x: &[f64], direction: &[f64]) -> Result<Vec<f64>, Error> {
        self.check_count(direction.len())?;
        let motion = self.motion(x)?;
        let along: Vec<f64> =
            direction.iter().zip(self.scales().cycle()).map(|(v, scale)| v * scale).collect();
        let at_knots = self.map().controls(&along);
        let mut by_controls = Controls::zeros(motion.controls.steps(), motion.controls.dimension());
        (0..by_controls.steps()).for_each(|step| self.put(at_knots.row(step), by_controls.row_mut(step)));
        let rollout = self.rollout(&motion.controls);
        let residuals = GaussNewton::over(rollout, self.task().residuals, &[], motion.trajectory.clone())?;
        Ok(residuals.jvp(by_controls.values())?)
    }
}
