use argmin::core::{CostFunction, Executor, State};
use nalgebra::{DMatrix, DVector};

use super::*;

/// x⁺ = A x + B u over some stages, with cost Σ ½xᵀQx + ½uᵀRu and ½xᵀPx at the end; or, with a
/// bend, x⁺ = A x + B u + b sin(x).
struct Regulator {
    a: DMatrix<f64>,
    b: DMatrix<f64>,
    bend: f64,
    q: DMatrix<f64>,
    r: DMatrix<f64>,
    end: DMatrix<f64>,
    start: DVector<f64>,
    stages: usize,
    bounds: (Vec<f64>, Vec<f64>),
}

fn regulator(bend: f64, bound: f64) -> Regulator {
    let stages = 30;
    Regulator {
        a: DMatrix::from_row_slice(3, 3, &[1.0, 0.1, 0.0, -0.05, 1.02, 0.1, 0.02, -0.1, 0.97]),
        b: DMatrix::from_row_slice(3, 2, &[0.0, 0.02, 0.1, 0.0, 0.03, 0.1]),
        bend,
        q: DMatrix::from_row_slice(3, 3, &[2.0, 0.1, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 0.5]),
        r: DMatrix::from_row_slice(2, 2, &[0.3, 0.05, 0.05, 0.2]),
        end: DMatrix::identity(3, 3) * 10.0,
        start: DVector::from_row_slice(&[1.0, -0.5, 0.7]),
        stages,
        bounds: (vec![-bound; 2 * stages], vec![bound; 2 * stages]),
    }
}

impl Regulator {
    fn next(&self, x: &DVector<f64>, u: &DVector<f64>) -> DVector<f64> {
        &self.a * x + &self.b * u + x.map(|x| self.bend * x.sin())
    }

    fn states(&self, u: &[f64]) -> Vec<DVector<f64>> {
        let mut states = vec![self.start.clone()];
        for u in u.chunks(2) {
            states.push(self.next(&states[states.len() - 1], &DVector::from_column_slice(u)));
        }
        states
    }
}

impl CostFunction for Regulator {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, u: &Vec<f64>) -> Result<f64, Error> {
        let states = self.states(u);
        let running = u.chunks(2).zip(&states).map(|(u, x)| {
            let u = DVector::from_column_slice(u);
            0.5 * (x.dot(&(&self.q * x)) + u.dot(&(&self.r * &u)))
        });
        let end = &states[self.stages];
        Ok(running.sum::<f64>() + 0.5 * end.dot(&(&self.end * end)))
    }
}

impl StagedProblem for Regulator {
    fn controls(&self) -> Vec<usize> {
        [0, 1].repeat(self.stages)
    }

    fn bounds(&self) -> (&[f64], &[f64]) {
        (&self.bounds.0, &self.bounds.1)
    }

    fn expand(&self, u: &[f64]) -> Result<Expansion, Error> {
        let states = self.states(u);
        let stage = |(u, x): (&[f64], &DVector<f64>)| {
            let bent = DMatrix::from_diagonal(&x.map(|x| self.bend * x.cos()));
            let mut hessian = DMatrix::zeros(5, 5);
            hessian.view_mut((0, 0), (3, 3)).copy_from(&self.q);
            hessian.view_mut((3, 3), (2, 2)).copy_from(&self.r);
            let both = DVector::from_iterator(5, x.iter().chain(u).copied());
            StageExpansion {
                by_state: &self.a + bent,
                by_control: self.b.clone(),
                gradient: &hessian * both,
                hessian,
            }
        };
        Ok(Expansion {
            stages: u.chunks(2).zip(&states).map(stage).collect(),
            end_gradient: &self.end * &states[self.stages],
            end_hessian: self.end.clone(),
        })
    }

    fn roll_out(&self, nominal: &[f64], policy: &Policy) -> Result<(Vec<f64>, f64), Error> {
        let states = self.states(nominal);
        let (mut x, mut all) = (self.start.clone(), Vec::new());
        for stage in 0..self.stages {
            let range = 2 * stage..2 * stage + 2;
            let difference = &x - &states[stage];
            let bounds = (&self.bounds.0[range.clone()], &self.bounds.1[range.clone()]);
            let u = policy.variables(stage, &nominal[range], difference.as_slice(), bounds);
            x = self.next(&x, &DVector::from_column_slice(&u));
            all.extend(u);
        }
        let cost = self.cost(&all)?;
        Ok((all, cost))
    }
}

fn solve(problem: Regulator, iterations: u64) -> (Ilqr, DescentState) {
    let start = vec![0.1; 2 * problem.stages];
    let executor = Executor::new(problem, Ilqr::new());
    let result = executor.configure(|state| state.param(start).max_iters(iterations)).run().expect("solves");
    (result.solver, result.state)
}

#[test]
fn one_iteration_solves_a_linear_quadratic_problem() {
    let problem = regulator(0.0, f64::INFINITY);
    // The Riccati equation, from the end.
    let (mut value, mut gains) = (problem.end.clone(), Vec::new());
    for _ in 0..problem.stages {
        let inverse =
            (&problem.r + problem.b.transpose() * &value * &problem.b).try_inverse().expect("regular");
        let gain = inverse * problem.b.transpose() * &value * &problem.a;
        value = &problem.q + problem.a.transpose() * &value * (&problem.a - &problem.b * &gain);
        gains.push(gain);
    }
    let (mut x, mut expected) = (problem.start.clone(), Vec::new());
    for gain in gains.iter().rev() {
        let u = -(gain * &x);
        expected.extend(u.iter().copied());
        x = problem.next(&x, &u);
    }
    let least = 0.5 * problem.start.dot(&(&value * &problem.start));
    let (_, state) = solve(problem, 1);
    assert!((state.get_cost() - least).abs() < 1e-12 * least);
    let found = state.get_param().expect("solved");
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
    assert!(state.get_gradient().expect("there").iter().all(|g| g.abs() < 1e-12));
}

#[test]
fn bounds_hold_and_the_rest_is_optimal() {
    for bend in [0.0, 0.05] {
        let (solver, state) = solve(regulator(bend, 0.8), 100);
        assert_eq!(solver.convergence(), Some(Convergence::Cost), "{:?}", state.get_termination_reason());
        let problem = regulator(bend, 0.8);
        let x = state.get_param().expect("solved").clone();
        let gradient = gradient(&problem.expand(&x).expect("finite"));
        let mut at_bounds = 0;
        for (&u, &g) in x.iter().zip(&gradient) {
            assert!(u.abs() <= 0.8);
            if u.abs() == 0.8 {
                at_bounds += 1;
                assert!(g * u <= 0.0, "{u} {g}");
            } else {
                assert!(g.abs() < 1e-3, "{u} {g}");
            }
        }
        assert!(at_bounds > 5 && at_bounds < 50, "{at_bounds}");
        // The costates' gradient is the derivative of the cost.
        let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| 0.9 * x + 0.05 * (i as f64).sin()).collect();
        let by_costates = super::gradient(&problem.expand(&y).expect("finite"));
        for i in [0, 7, 31, 59] {
            let moved = |h: f64| {
                let mut y = y.clone();
                y[i] += h;
                problem.cost(&y).expect("finite")
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((difference - by_costates[i]).abs() < 1e-7 * (1.0 + difference.abs()));
        }
    }
}

/// A problem that cannot be rolled out beyond a change of the first variable.
struct Fragile(Regulator);

impl CostFunction for Fragile {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, u: &Vec<f64>) -> Result<f64, Error> {
        self.0.cost(u)
    }
}

impl StagedProblem for Fragile {
    fn controls(&self) -> Vec<usize> {
        self.0.controls()
    }

    fn bounds(&self) -> (&[f64], &[f64]) {
        self.0.bounds()
    }

    fn expand(&self, u: &[f64]) -> Result<Expansion, Error> {
        self.0.expand(u)
    }

    fn roll_out(&self, nominal: &[f64], policy: &Policy) -> Result<(Vec<f64>, f64), Error> {
        let rolled = self.0.roll_out(nominal, policy)?;
        if (rolled.0[0] - nominal[0]).abs() > 0.05 { Err(Error::msg("it broke")) } else { Ok(rolled) }
    }
}

#[test]
fn rollouts_that_fail_are_steps_too_long() {
    let problem = Fragile(regulator(0.1, 2.0));
    let start = vec![0.1; 60];
    let executor = Executor::new(problem, Ilqr::new());
    let end = executor.configure(|state| state.param(start).max_iters(200)).run().expect("solves");
    let (_, whole) = solve(regulator(0.1, 2.0), 200);
    assert!(end.solver.convergence().is_some());
    assert!((end.state.get_cost() - whole.get_cost()).abs() < 1e-8 * whole.get_cost());
}
