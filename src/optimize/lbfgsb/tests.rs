use super::*;
use argmin::core::{Executor, State};
use proptest::prelude::*;

/// Rosenbrock's function in n dimensions, without a value where the first variable exceeds a
/// limit.
struct Rosenbrock(f64);

impl CostFunction for Rosenbrock {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        if x[0] > self.0 {
            return Err(Error::msg("outside"));
        }
        Ok(x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum())
    }
}

impl Gradient for Rosenbrock {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let mut g = vec![0.0; x.len()];
        for i in 0..x.len() - 1 {
            let d = x[i + 1] - x[i] * x[i];
            g[i] += -400.0 * x[i] * d - 2.0 * (1.0 - x[i]);
            g[i + 1] += 200.0 * d;
        }
        Ok(g)
    }
}

fn minimize(start: Vec<f64>, lower: f64, upper: f64, limit: f64) -> (Lbfgsb, DescentState) {
    let n = start.len();
    let solver = Lbfgsb::new().with_cost_tolerance(1e-14).unwrap();
    let solver = solver.with_bounds(vec![lower; n], vec![upper; n]).unwrap();
    let executor = Executor::new(Rosenbrock(limit), solver);
    let end = executor.configure(|state| state.param(start).max_iters(3000)).run().expect("runs");
    (end.solver, end.state)
}

proptest! {
    #[test]
    fn ends_at_a_stationary_point_within_any_bounds(
        start in prop::collection::vec(-3.0..3.0f64, 2..7),
        lower in prop_oneof![Just(f64::NEG_INFINITY), -2.0..0.5f64],
        width in prop_oneof![Just(f64::INFINITY), 0.1..2.0f64],
    ) {
        let upper = if lower.is_finite() { lower + width } else { f64::INFINITY };
        let (solver, state) = minimize(start, lower, upper, f64::INFINITY);
        prop_assert!(solver.convergence().is_some(), "{state:?}");
        let x = state.get_param().expect("there");
        prop_assert!(x.iter().all(|&x| x >= lower && x <= upper));
        prop_assert!(solver.gradient_norm(x, state.get_gradient().expect("there")) < 2e-4, "{state:?}");
    }
}

#[test]
fn points_without_a_value_are_stepped_back_from() {
    let (_, state) = minimize(vec![-1.0, 2.0, 0.0], f64::NEG_INFINITY, f64::INFINITY, 1.05);
    assert!(state.get_best_cost() < 1e-10);
    let problem = || Executor::new(Rosenbrock(0.0), Lbfgsb::new());
    let failed = problem().configure(|state| state.param(vec![1.0, 1.0])).run().err().expect("fails");
    assert!(failed.to_string().contains("outside"));
}

#[test]
fn a_start_at_the_minimum_is_converged() {
    let (solver, state) = minimize(vec![1.0, 1.0], -5.0, 5.0, f64::INFINITY);
    assert!(solver.convergence().is_some());
    assert_eq!(state.get_cost(), 0.0);
}
