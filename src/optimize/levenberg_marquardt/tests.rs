use super::*;
use crate::optimize::box_quadratic::minimize_in_box;
use argmin::core::Executor;
use proptest::prelude::*;

/// Residuals and Jacobian as plain functions of the variables.
struct Functions<R, J>(R, J);

impl<R: Fn(&[f64]) -> Vec<f64>, J> Operator for Functions<R, J> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;
    fn apply(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok((self.0)(x))
    }
}

impl<R, J: Fn(&[f64]) -> DMatrix<f64>> Jacobian for Functions<R, J> {
    type Param = Vec<f64>;
    type Jacobian = DMatrix<f64>;
    fn jacobian(&self, x: &Vec<f64>) -> Result<DMatrix<f64>, Error> {
        Ok((self.1)(x))
    }
}

type PlainFunctions = Functions<fn(&[f64]) -> Vec<f64>, fn(&[f64]) -> DMatrix<f64>>;

fn rosenbrock() -> PlainFunctions {
    Functions(
        |x: &[f64]| vec![10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]],
        |x: &[f64]| DMatrix::from_row_slice(2, 2, &[-20.0 * x[0], 10.0, -1.0, 0.0]),
    )
}

fn solve<R, J>(
    problem: Functions<R, J>,
    solver: LevenbergMarquardt,
    start: &[f64],
) -> (LeastSquaresState, LevenbergMarquardt)
where
    R: Fn(&[f64]) -> Vec<f64>,
    J: Fn(&[f64]) -> DMatrix<f64>,
{
    // As objects, so that the solver is compiled once for all of them.
    let residuals: &dyn Fn(&[f64]) -> Vec<f64> = &problem.0;
    let jacobian: &dyn Fn(&[f64]) -> DMatrix<f64> = &problem.1;
    let result = Executor::new(Functions(residuals, jacobian), solver)
        .configure(|state| state.param(start.to_vec()).max_iters(200))
        .run()
        .unwrap();
    (result.state, result.solver)
}

#[test]
fn rosenbrock_is_solved_exactly() {
    let (state, solver) = solve(rosenbrock(), LevenbergMarquardt::new(), &[-1.2, 1.0]);
    let x = state.get_param().unwrap();
    assert!((x[0] - 1.0).abs() < 1e-12 && (x[1] - 1.0).abs() < 1e-12, "{x:?}");
    assert!(solver.convergence().is_some());
    assert!(state.get_iter() < 30, "{}", state.get_iter());
}

#[test]
fn the_units_of_the_variables_do_not_matter() {
    let scaled = Functions(
        |x: &[f64]| vec![10.0 * (x[1] * 1e6 - x[0] * x[0] * 1e-8), 1.0 - x[0] * 1e-4],
        |x: &[f64]| DMatrix::from_row_slice(2, 2, &[-20.0 * x[0] * 1e-8, 1e7, -1e-4, 0.0]),
    );
    let (a, _) = solve(rosenbrock(), LevenbergMarquardt::new(), &[-1.2, 1.0]);
    let (b, _) = solve(scaled, LevenbergMarquardt::new(), &[-1.2e4, 1e-6]);
    assert_eq!(a.get_iter(), b.get_iter());
    let x = b.get_best_param().unwrap();
    assert!((x[0] * 1e-4 - 1.0).abs() < 1e-11 && (x[1] * 1e6 - 1.0).abs() < 1e-11);
}

#[test]
fn powell_singular_function_goes_to_its_minimum() {
    let (r5, r10) = (5.0f64.sqrt(), 10.0f64.sqrt());
    let problem = Functions(
        move |x: &[f64]| {
            vec![
                x[0] + 10.0 * x[1],
                r5 * (x[2] - x[3]),
                (x[1] - 2.0 * x[2]).powi(2),
                r10 * (x[0] - x[3]).powi(2),
            ]
        },
        move |x: &[f64]| {
            let (a, b) = (2.0 * (x[1] - 2.0 * x[2]), 2.0 * r10 * (x[0] - x[3]));
            #[rustfmt::skip]
            let entries = [
                1.0, 10.0, 0.0, 0.0,
                0.0, 0.0, r5, -r5,
                0.0, a, -2.0 * a, 0.0,
                b, 0.0, 0.0, -b,
            ];
            DMatrix::from_row_slice(4, 4, &entries)
        },
    );
    let (state, _) = solve(problem, LevenbergMarquardt::new(), &[3.0, -1.0, 0.0, 1.0]);
    // The Jacobian is singular at the solution, so convergence is linear.
    assert!(state.get_param().unwrap().iter().all(|x| x.abs() < 1e-8));
    assert!(state.get_best_cost() < 1e-30);
}

#[test]
fn acceleration_takes_rosenbrocks_valley_in_fewer_iterations() {
    let iterations = [false, true].map(|acceleration| {
        let solver = LevenbergMarquardt::new().with_acceleration(acceleration);
        let (state, solver) = solve(rosenbrock(), solver, &[-1.2, 1.0]);
        let x = state.get_param().unwrap();
        assert!((x[0] - 1.0).abs() < 1e-12 && (x[1] - 1.0).abs() < 1e-12, "{x:?}");
        assert!(solver.convergence().is_some());
        state.get_iter()
    });
    assert!(3 * iterations[1] <= 2 * iterations[0], "{iterations:?}");
}

#[test]
fn active_bounds_give_the_constrained_minimum() {
    for updates in [false, true] {
        let solver = LevenbergMarquardt::new().with_secant_updates(updates).with_acceleration(updates);
        // On x₀ ≤ 0.5 the minimum of Rosenbrock's function is (0.5, 0.25).
        let bounded = solver.clone().with_bounds(vec![-2.0, -2.0], vec![0.5, 2.0]).unwrap();
        let (state, bounded) = solve(rosenbrock(), bounded, &[-1.2, 1.0]);
        let x = state.get_param().unwrap();
        assert!(x[0] == 0.5 && (x[1] - 0.25).abs() < 1e-12, "{x:?}");
        assert!(bounded.convergence().is_some());
        // A start outside is moved inside, and a bound that holds at first is left again.
        let bounded = solver.with_bounds(vec![-5.0, 0.9], vec![5.0, 5.0]).unwrap();
        let (state, _) = solve(rosenbrock(), bounded, &[0.5, -3.0]);
        let x = state.get_param().unwrap();
        assert!((x[0] - 1.0).abs() < 1e-10 && (x[1] - 1.0).abs() < 1e-10, "{x:?}");
    }
}

/// Sums of decaying waves at forty times, of four parameters.
fn waves(x: &[f64]) -> Vec<f64> {
    let at = |t: f64| x[0] * (-x[1] * t).exp() * (x[2] * t).cos() + x[3] * t;
    (0..40)
        .map(|k| 0.1 * f64::from(k))
        .map(|t| at(t) - 1.5 * (-0.4 * t).exp() * (2.0 * t).cos() - 0.3 * t)
        .collect()
}

fn jacobian_of_waves(x: &[f64]) -> DMatrix<f64> {
    DMatrix::from_fn(40, 4, |k, column| {
        let t = 0.1 * k as f64;
        let (decay, wave) = ((-x[1] * t).exp(), x[2] * t);
        match column {
            0 => decay * wave.cos(),
            1 => -t * x[0] * decay * wave.cos(),
            2 => -t * x[0] * decay * wave.sin(),
            _ => t,
        }
    })
}

#[test]
fn secant_updates_come_to_the_same_minimum_with_fewer_jacobians() {
    let [plain, updated] = [false, true].map(|updates| {
        // Noise of a hundredth keeps the residuals from vanishing.
        let measured =
            |x: &[f64]| waves(x).iter().enumerate().map(|(k, r)| r + 0.01 * (7.0 * k as f64).sin()).collect();
        let solver = LevenbergMarquardt::new().with_secant_updates(updates);
        let executor = Executor::new(Functions(measured, jacobian_of_waves), solver)
            .configure(|state| state.param(vec![1.0, 0.2, 1.7, 0.0]).max_iters(200));
        let result = executor.run().unwrap();
        assert!(result.solver.convergence().is_some());
        let gradient = result.state.get_gradient().unwrap().iter().map(|g| g * g).sum::<f64>().sqrt();
        assert!(gradient < 1e-8, "{gradient:e}");
        (result.state.get_param().unwrap().clone(), result.problem.counts["jacobian_count"])
    });
    assert!(plain.0.iter().zip(&updated.0).all(|(a, b)| (a - b).abs() < 1e-9), "{plain:?} {updated:?}");
    assert!(updated.1 < plain.1, "{plain:?} {updated:?}");
}

proptest! {
    #[test]
    fn linear_residuals_within_bounds_are_solved(
        n in 2usize..8,
        entries in prop::collection::vec(-1.0..1.0f64, 90),
        room in prop::collection::vec(0.01..0.8f64, 16),
    ) {
        let (m, stiff) = (n + 1, 100.0);
        // Some residuals count much more than others, and many bounds are active: the model's
        // minimum without bounds says little about which.
        let matrix =
            DMatrix::from_fn(m, n, |i, j| entries[8 * i + j] * if i == 0 { stiff } else { 1.0 });
        let offset = DVector::from_fn(m, |i, _| 5.0 * entries[72 + i]);
        let lower: Vec<f64> = room[..n].iter().map(|r| -r).collect();
        let upper = room[8..8 + n].to_vec();
        let hessian = matrix.tr_mul(&matrix);
        let exact = minimize_in_box(
            &hessian,
            &matrix.tr_mul(&offset),
            &DVector::from_column_slice(&lower),
            &DVector::from_column_slice(&upper),
            &DVector::zeros(n),
        );
        let Some(exact) = exact else { return Ok(()) };
        let least = (&matrix * &exact.x + &offset).norm_squared() / 2.0;
        let residuals = {
            let (matrix, offset) = (matrix.clone(), offset.clone());
            move |x: &[f64]| (&matrix * DVector::from_column_slice(x) + &offset).as_slice().to_vec()
        };
        let problem = Functions(residuals, move |_: &[f64]| matrix.clone());
        let solver = LevenbergMarquardt::new().with_bounds(lower, upper).unwrap();
        let (state, solver) = solve(problem, solver, &vec![0.0; n]);
        prop_assert!(solver.convergence().is_some(), "{:?}", state.get_termination_reason());
        prop_assert!(state.get_cost() <= least * (1.0 + 1e-9) + 1e-12, "{} {least}", state.get_cost());
    }
}

#[test]
fn trial_points_without_a_value_are_stepped_back_from() {
    // The Gauss–Newton step from 3 goes to x < 0, where the logarithm has no value.
    let problem =
        Functions(|x: &[f64]| vec![x[0].ln() + 2.0], |x: &[f64]| DMatrix::from_element(1, 1, 1.0 / x[0]));
    let solver = LevenbergMarquardt::new().with_initial_damping(1e-12).unwrap();
    let (state, _) = solve(problem, solver, &[3.0]);
    assert!((state.get_param().unwrap()[0] - (-2.0f64).exp()).abs() < 1e-12);
}

#[test]
fn a_wrong_jacobian_is_reported_and_not_called_converged() {
    let problem = || {
        Functions(|x: &[f64]| vec![x[0] * x[0] + 1.0], |x: &[f64]| DMatrix::from_element(1, 1, -2.0 * x[0]))
    };
    let (state, solver) = solve(problem(), LevenbergMarquardt::new(), &[3.0]);
    assert_eq!(solver.convergence(), None);
    let updating = LevenbergMarquardt::new().with_secant_updates(true);
    assert_eq!(solve(problem(), updating, &[3.0]).1.convergence(), None);
    let reason = state.get_termination_reason().unwrap().text().to_string();
    assert!(reason.contains("Jacobian is wrong"), "{reason}");
}

#[test]
fn a_cost_that_falls_by_next_to_nothing_ends_the_run() {
    // The Jacobian of the first residual is ten times too large, so that each step goes a tenth of the way.
    let problem = || {
        Functions(
            |x: &[f64]| [&[x[0]][..], &[1.0; 10]].concat(),
            |_: &[f64]| DMatrix::from_fn(11, 1, |row, _| if row == 0 { 10.0 } else { 0.0 }),
        )
    };
    // The standard error is 1.
    let (state, solver) = solve(problem(), LevenbergMarquardt::new().with_end_in_noise(true), &[0.09]);
    assert_eq!(solver.convergence(), Some(Convergence::Noise));
    assert!(state.get_iter() <= 21, "{}", state.get_iter());
    // Far away short steps are no sign of the minimum.
    let (state, solver) = solve(problem(), LevenbergMarquardt::new().with_end_in_noise(true), &[100.0]);
    let x = state.get_param().unwrap()[0];
    assert!(solver.convergence() != Some(Convergence::Noise) || x.abs() < 0.15, "{x}");
}

#[test]
fn an_error_that_is_negligible_is_not_looked_for() {
    // An exponential through points that scatter: what is left is a part of the standard error of its rate.
    fn time(k: usize) -> f64 {
        k as f64 / 10.0
    }
    fn noise(k: usize) -> f64 {
        if k.is_multiple_of(2) { 0.1 } else { -0.1 }
    }
    let problem = || {
        Functions(
            |x: &[f64]| (0..20).map(|k| (x[0] * time(k)).exp() - time(k).exp() + noise(k)).collect(),
            |x: &[f64]| DMatrix::from_fn(20, 1, |k, _| time(k) * (x[0] * time(k)).exp()),
        )
    };
    let solved = |part: f64, start: f64| {
        let (state, solver) =
            solve(problem(), LevenbergMarquardt::new().with_negligible_error(part), &[start]);
        assert!(solver.convergence().is_some());
        (state.get_param().unwrap()[0], state.get_iter())
    };
    let (exact, steps) = solved(0.0, 0.2);
    let slopes = (problem().1)(&[exact]).norm();
    let variance = (problem().0)(&[exact]).iter().map(|r| r * r).sum::<f64>() / 19.0;
    for part in [0.1, 0.01] {
        let (x, sooner) = solved(part, 0.2);
        assert!((x - exact).abs() < 1.05 * part * variance.sqrt() / slopes && sooner < steps, "{part} {x}");
        // At once where it begins there.
        assert_eq!(solved(part, x), (x, 1));
    }
}

#[test]
fn a_variable_that_the_residuals_stop_depending_on_is_stopped() {
    // x/(1 + x) is measured as 1.1 to within 1, and y as 2.
    fn noise(k: usize) -> f64 {
        if k.is_multiple_of(2) { 1.0 } else { -1.0 }
    }
    let problem = || {
        Functions(
            |x: &[f64]| (0..20).map(|k| [x[0] / (1.0 + x[0]) - 1.1, x[1] - 2.0][k / 10] + noise(k)).collect(),
            |x: &[f64]| {
                let slopes = [(1.0 + x[0]).powi(-2), 1.0];
                DMatrix::from_fn(20, 2, |k, i| if k / 10 == i { slopes[i] } else { 0.0 })
            },
        )
    };
    let (state, _) = solve(problem(), LevenbergMarquardt::new(), &[1.0, 1.0]);
    assert!(state.get_param().unwrap()[0] > 1e3);
    let (state, solver) = solve(problem(), LevenbergMarquardt::new().with_stops(vec![None; 2]), &[1.0, 1.0]);
    let x = state.get_param().unwrap();
    assert!(x[0] > 1.0 && x[0] <= 10.0 && (x[1] - 2.0).abs() < 1e-9, "{x:?}");
    assert!(solver.convergence().is_some() && state.get_iter() < 10, "{}", state.get_iter());
    let solver = LevenbergMarquardt::new().with_stops(vec![None]);
    let error = Executor::new(problem(), solver).configure(|state| state.param(vec![1.0; 2])).run();
    assert!(error.is_err_and(|error| error.to_string().contains("starts of 1 variables of 2")));
}

#[test]
fn bad_input_is_refused() {
    let refused = |r: Result<LevenbergMarquardt, Error>| r.unwrap_err().to_string();
    assert!(refused(LevenbergMarquardt::new().with_bounds(vec![1.0], vec![0.0])).contains("variable 0"));
    assert!(refused(LevenbergMarquardt::new().with_bounds(vec![1.0], vec![])).contains("0 upper"));
    assert!(refused(LevenbergMarquardt::new().with_step_tolerance(-1.0)).contains("-1"));
    assert!(refused(LevenbergMarquardt::new().with_initial_damping(0.0)).contains("damping is 0"));
    let run = |problem, start: Option<Vec<f64>>| {
        Executor::new(problem, LevenbergMarquardt::new())
            .configure(|s: LeastSquaresState| match start {
                Some(start) => s.param(start),
                None => s,
            })
            .run()
            .err()
            .map(|e| e.to_string())
    };
    assert!(run(rosenbrock(), None).unwrap().contains("initial parameter"));
    assert!(run(rosenbrock(), Some(vec![f64::NAN, 1.0])).unwrap().contains("residual 0 is not finite"));
}
