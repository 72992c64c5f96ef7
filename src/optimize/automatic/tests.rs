use argmin::core::{CostFunction, Executor};
use nalgebra::{DMatrix, DVector};

use super::*;
use crate::optimize::ilqr::{Expansion, Policy, StageExpansion};
use crate::optimize::solver::Convergence;

/// Stages with one control each, that add up costs of their own: what a cost does is what matters
/// here, not what a state does.
struct Separate {
    /// Cost, slope and bend of a stage with respect to its control.
    stage: Box<dyn Fn(f64) -> [f64; 3]>,
    bounds: (Vec<f64>, Vec<f64>),
}

fn separate(stage: impl Fn(f64) -> [f64; 3] + 'static) -> Separate {
    Separate { stage: Box::new(stage), bounds: (vec![0.0; 4], vec![20.0; 4]) }
}

impl CostFunction for Separate {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok(x.iter().map(|&x| (self.stage)(x)[0]).sum())
    }
}

impl Gradient for Separate {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(x.iter().map(|&x| (self.stage)(x)[1]).collect())
    }
}

impl StagedProblem for Separate {
    fn controls(&self) -> Vec<usize> {
        vec![0; 4]
    }

    fn bounds(&self) -> (&[f64], &[f64]) {
        (&self.bounds.0, &self.bounds.1)
    }

    fn expand(&self, x: &[f64]) -> Result<Expansion, Error> {
        let stage = |&x: &f64| {
            let [_, slope, bend] = (self.stage)(x);
            StageExpansion {
                by_state: DMatrix::identity(1, 1),
                by_control: DMatrix::zeros(1, 1),
                gradient: DVector::from_row_slice(&[0.0, slope]),
                hessian: DMatrix::from_row_slice(2, 2, &[0.0, 0.0, 0.0, bend]),
            }
        };
        let stages = x.iter().map(stage).collect();
        Ok(Expansion { stages, end_gradient: DVector::zeros(1), end_hessian: DMatrix::zeros(1, 1) })
    }

    fn roll_out(&self, nominal: &[f64], policy: &Policy) -> Result<(Vec<f64>, f64), Error> {
        let x: Vec<f64> = nominal.iter().zip(&policy.changes).map(|(x, change)| x + change[0]).collect();
        let cost = self.cost(&x)?;
        Ok((x, cost))
    }
}

/// Where the method ends from a start, and how.
fn run(stage: impl Fn(f64) -> [f64; 3] + 'static, start: f64) -> (Vec<f64>, Termination) {
    let executor = Executor::new(separate(stage), Automatic::new());
    let result = executor.configure(|s| s.param(vec![start; 4]).max_iters(200)).run().expect("runs");
    let termination = result.solver.termination().cloned().expect("it ends by itself");
    (result.state.param.expect("some"), termination)
}

/// Too little force loses the object, after which only effort counts.
fn grip(force: f64) -> [f64; 3] {
    let effort = [0.01 * force * force, 0.02 * force, 0.02];
    if force > 3.0 { effort } else { [effort[0] + 50.0, effort[1], effort[2]] }
}

#[test]
fn a_start_that_loses_the_object_is_left_where_ilqr_alone_lets_go() {
    let executor = Executor::new(separate(grip), Ilqr::new());
    let alone = executor.configure(|s| s.param(vec![2.0; 4]).max_iters(200)).run().expect("runs").state;
    assert!(alone.cost >= 200.0 && alone.param.expect("some").iter().all(|x| *x < 0.1));
    let (x, termination) = run(grip, 2.0);
    assert!(x.iter().all(|x| (3.0..3.3).contains(x)), "{x:?}");
    // A step over the edge promises what it does not hold.
    assert!(matches!(termination, Termination::Kink { .. } | Termination::Converged { .. }), "{termination}");
}

#[test]
fn a_bowl_ends_with_its_gradient() {
    let bowl = |x: f64| [1.0 + (x - 4.0).powi(2), 2.0 * (x - 4.0), 2.0];
    let (x, termination) = run(bowl, 9.0);
    assert!(x.iter().all(|x| (x - 4.0).abs() < 1e-6), "{x:?}");
    let Termination::Converged { criterion: Convergence::Gradient, value: Some(value), tolerance } =
        termination
    else {
        panic!("{termination}")
    };
    assert!(value < 1e-6 && tolerance == 1e-3, "{value}");
}

#[test]
fn a_kink_and_noise_are_told() {
    // The slope of the one side is claimed in the kink itself, where a bound of the steps holds it.
    let kink = |x: f64| [1.0 + 8.0 * (x - 4.0).abs(), if x < 4.0 { -8.0 } else { 8.0 }, 1.0];
    let (x, termination) = run(kink, 4.0);
    assert_eq!(x, [4.0; 4]);
    assert!(matches!(termination, Termination::Kink { .. }), "{termination}");
    assert!(termination.to_string().contains("stuck at a kink"), "{termination}");
    let noisy = |size: f64| {
        move |x: f64| [1.0 + (x - 4.0).powi(2) + size * (2.7182e9 * x).sin(), 2.0 * (x - 4.0), 2.0]
    };
    let (_, termination) = run(noisy(0.1), 9.0);
    assert!(matches!(termination, Termination::Chattering { .. }), "{termination}");
    assert!(termination.to_string().contains("scatters"), "{termination}");
    // Of little noise there is nothing to be mended.
    let (x, termination) = run(noisy(0.005), 9.0);
    let is_noise = matches!(termination, Termination::Converged { criterion: Convergence::Noise, .. });
    assert!(is_noise && x.iter().all(|x| (x - 4.0).abs() < 0.2), "{termination} {x:?}");
}
