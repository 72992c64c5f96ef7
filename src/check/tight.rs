//! Solving implicit steps so tightly that differences see no more than rounding.

use crate::step::{ControlledMethod, ErrorControlled, Integrator, SolverTolerance, VelocityLevel};

/// Tolerances that implicit steps are solved to, the first of them that can be met; with the first until
/// an iteration improves nothing. An iteration that ends at its tolerance leaves an error that is small,
/// but changes with the parameter and so adds to a difference.
const TIGHT: [f64; 5] = [0.0, 1e-15, 1e-14, 1e-13, 1e-12];
/// Most iterations of steps that are solved so tightly, at least.
const TIGHT_ITERATIONS: usize = 200;

/// A method of steps with tolerances that leave as little noise as can be, the tightest first, and
/// at last its own.
pub fn tightest_first(method: Integrator) -> Vec<Integrator> {
    if let Integrator::ErrorControlled(own @ ErrorControlled { method: ControlledMethod::Radau, .. }) = method
    {
        let tight = ErrorControlled { accuracy: ErrorControlled::TO_ROUNDING, ..own };
        return vec![Integrator::ErrorControlled(tight), method];
    }
    let Some(own) = method.velocity_level_method() else { return vec![method] };
    let max_iterations = own.tolerance.max_iterations.max(TIGHT_ITERATIONS);
    let tighter = TIGHT.into_iter().filter(|relative| *relative < own.tolerance.relative);
    let solved_to = |relative| {
        let tolerance = SolverTolerance { relative, max_iterations };
        method.with_velocity_level(VelocityLevel { tolerance, ..own })
    };
    tighter.map(solved_to).chain([method]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::ContactModel;

    #[test]
    fn tolerances_fall_to_the_methods_own() {
        let own = Integrator::velocity_level(ContactModel::Tamsi);
        let methods = tightest_first(own);
        assert_eq!(methods.last(), Some(&own));
        let relative = |method: &Integrator| match method {
            Integrator::VelocityLevel(v) => v.tolerance.relative,
            _ => f64::NAN,
        };
        assert!(methods.windows(2).all(|pair| relative(&pair[0]) < relative(&pair[1])), "{methods:?}");
        assert_eq!(tightest_first(Integrator::RungeKutta4), [Integrator::RungeKutta4]);
    }
}
