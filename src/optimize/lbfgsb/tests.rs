use super::*;
use crate::optimize::WithGradient;
use argmin::core::{Executor, State};
use proptest::prelude::*;

/// A value and its gradient.
type Value = Result<(f64, Vec<f64>), Error>;

/// Rosenbrock's function in n dimensions, multiplied by a scale, without a value where the first
/// variable exceeds a limit.
fn rosenbrock(scale: f64, limit: f64) -> WithGradient<impl Fn(&[f64]) -> Value> {
    WithGradient(move |x: &[f64]| {
        if x[0] > limit {
            return Err(Error::msg("outside"));
        }
        let (mut value, mut g) = (0.0, vec![0.0; x.len()]);
        for i in 0..x.len() - 1 {
            let d = x[i + 1] - x[i] * x[i];
            value += 100.0 * d.powi(2) + (1.0 - x[i]).powi(2);
            g[i] += scale * (-400.0 * x[i] * d - 2.0 * (1.0 - x[i]));
            g[i + 1] += scale * 200.0 * d;
        }
        Ok((scale * value, g))
    })
}

fn minimize(start: Vec<f64>, lower: f64, upper: f64, limit: f64) -> (Lbfgsb, DescentState) {
    let n = start.len();
    let solver = Lbfgsb::new().with_cost_tolerance(1e-14).unwrap();
    let solver = solver.with_bounds(vec![lower; n], vec![upper; n]).unwrap();
    run(rosenbrock(1.0, limit), solver, start)
}

fn run<O>(problem: O, solver: Lbfgsb, start: Vec<f64>) -> (Lbfgsb, DescentState)
where
    O: CostFunction<Param = Vec<f64>, Output = f64> + Gradient<Param = Vec<f64>, Gradient = Vec<f64>>,
{
    let executor = Executor::new(problem, solver);
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
        let gradient = state.get_gradient().expect("there");
        prop_assert!(solver.bounds.projected_gradient_norm(x, gradient) < 2e-4, "{state:?}");
    }
}

#[test]
fn points_without_a_value_are_stepped_back_from() {
    let (_, state) = minimize(vec![-1.0, 2.0, 0.0], f64::NEG_INFINITY, f64::INFINITY, 1.05);
    assert!(state.get_best_cost() < 1e-10);
    let executor =
        Executor::new(rosenbrock(1.0, 0.0), Lbfgsb::new()).configure(|state| state.param(vec![1.0, 1.0]));
    let failed = executor.run().err().expect("fails");
    assert!(failed.to_string().contains("outside"));
}

#[test]
fn the_scale_of_the_cost_does_not_matter() {
    for scale in [1e-8, 1.0, 1e8] {
        for k in 0..40 {
            let start: Vec<f64> = (0..4).map(|i| 3.0 * ((7 * k + 3 * i) as f64).sin()).collect();
            let solver = Lbfgsb::new().with_cost_tolerance(1e-14).unwrap();
            let (solver, state) = run(rosenbrock(scale, f64::INFINITY), solver, start.clone());
            assert!(solver.convergence().is_some(), "{start:?} {state:?}");
            // A stationary point (in four dimensions there is a second minimum).
            let x = state.get_param().unwrap();
            let gradient = rosenbrock(1.0, f64::INFINITY).gradient(x).unwrap();
            assert!(gradient.iter().all(|g| g.abs() < 1e-6), "{scale} {start:?} {x:?} {gradient:?}");
        }
    }
}

/// x − ln x, with no value for x ≤ 0, or NaN there.
fn barrier(fails: bool) -> WithGradient<impl Fn(&[f64]) -> Value> {
    WithGradient(move |x: &[f64]| {
        let outside = x[0] <= 0.0 && fails;
        if outside { Err(Error::msg("outside")) } else { Ok((x[0] - x[0].ln(), vec![1.0 - 1.0 / x[0]])) }
    })
}

#[test]
fn a_barrier_is_stepped_back_from() {
    for fails in [true, false] {
        let solver = Lbfgsb::new().with_longest_first_move(100.0).unwrap();
        let solver = solver.with_cost_tolerance(1e-14).unwrap();
        let (solver, state) = run(barrier(fails), solver, vec![30.0]);
        let x = state.get_param().unwrap()[0];
        assert!((x - 1.0).abs() < 1e-6 && solver.convergence().is_some(), "{state:?}");
        let outside = Executor::new(barrier(fails), Lbfgsb::new());
        let outside = outside.configure(|state| state.param(vec![-1.0])).run().err().expect("fails");
        let message = if fails { "outside" } else { "cost or gradient at the start is not finite" };
        assert!(outside.to_string().contains(message), "{outside}");
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |solver: Result<Lbfgsb, Error>| solver.unwrap_err().to_string();
    assert!(refused(Lbfgsb::new().with_memory(0)).contains("the memory is 0"));
    assert!(refused(Lbfgsb::new().with_longest_first_move(0.0)).contains("longest first move is 0"));
    assert!(refused(Lbfgsb::new().with_gradient_tolerance(f64::NAN)).contains("gradient tolerance is NaN"));
    assert!(refused(Lbfgsb::new().with_cost_tolerance(-1.0)).contains("cost tolerance is -1"));
    assert!(refused(Lbfgsb::new().with_bounds(vec![1.0], vec![0.0])).contains("variable 0"));
}

#[test]
fn a_start_at_the_minimum_is_converged() {
    let (solver, state) = minimize(vec![1.0, 1.0], -5.0, 5.0, f64::INFINITY);
    assert!(solver.convergence().is_some());
    assert_eq!(state.get_cost(), 0.0);
}
