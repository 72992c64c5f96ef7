//! What a checkpoint of the method of Levenberg and Marquardt may hold, and what a run that goes on from it makes again.

use super::LevenbergMarquardt;
use crate::optimize::checkpoint::Resumable;
use crate::optimize::data_error::InvalidField;
use crate::optimize::evaluations::Evaluations;

impl Resumable for LevenbergMarquardt {
    fn check(&self, bounds: (&[f64], &[f64])) -> Result<(), InvalidField> {
        self.bounds.check(bounds)?;
        self.tolerances.check()?;
        let number = InvalidField::check_number;
        number("solver.initial_damping", self.initial_damping, f64::MIN_POSITIVE, f64::INFINITY)?;
        number("solver.step_tolerance", self.step_tolerance, 0.0, f64::INFINITY)?;
        number("solver.damping", self.damping, 0.0, f64::INFINITY)?;
        number("solver.growth", self.growth, 2.0, f64::INFINITY)?;
        number("solver.negligible", self.negligible, 0.0, f64::INFINITY)?;
        InvalidField::check_numbers("solver.costs", &self.costs, self.costs.len(), 0.0)?;
        let n = bounds.0.len();
        self.stops.as_ref().map_or(Ok(()), |stops| stops.check(n))?;
        if let Some((residuals, jacobian)) = &self.linearization {
            let check =
                |field, x: &[f64], count| InvalidField::check_numbers(field, x, count, f64::NEG_INFINITY);
            check("solver.linearization[0]", residuals, residuals.len())?;
            check("solver.linearization[1]", jacobian, residuals.len() * n)?;
        }
        InvalidField::check_numbers("solver.scale", &self.scale, n, 0.0)
    }

    fn evaluated_again(&self) -> Evaluations {
        Evaluations { jacobians: (!self.keeps_linearization).into(), ..Evaluations::default() }
    }
}
