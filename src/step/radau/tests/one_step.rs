//! Orders of convergence, and the polynomial of a step.

use approx::assert_abs_diff_eq;

use super::super::coefficients::RadauOrder;
use super::super::error_estimate::ErrorEstimate;
use super::super::stages::Step;
use super::problems::{converged_step, differences, distance, slope, smooth_rate, smooth_solution};

/// The error after steps of one length from 0 to 1.
fn error_of_steps(order: RadauOrder, steps: usize) -> f64 {
    let (mut state, length) = (smooth_solution(0.0), 1.0 / steps as f64);
    for i in 0..steps {
        let time = i as f64 * length;
        let jacobian = differences(smooth_rate, time, &state);
        let stages = converged_step(order, &mut smooth_rate, &jacobian, time, length, &state);
        let last = &stages.increments()[stages.increments().len() - 4..];
        state.iter_mut().zip(last).for_each(|(y, z)| *y += z);
    }
    distance(&state, &smooth_solution(1.0))
}

#[test]
fn orders_of_convergence() {
    for (order, fewest) in [(RadauOrder::First, 400), (RadauOrder::Third, 40), (RadauOrder::Fifth, 20)] {
        let points: Vec<_> = (0..4)
            .map(|k| {
                let steps = fewest << k;
                let error = error_of_steps(order, steps);
                (-(steps as f64).ln(), error.ln())
            })
            .collect();
        let observed = slope(&points);
        assert_abs_diff_eq!(observed, f64::from(order.number()), epsilon = 0.2);
    }
}

/// The estimate of the error of a step is of order s + 1.
#[test]
fn orders_of_the_estimate() {
    let time = 0.3;
    let state = smooth_solution(time);
    let jacobian = differences(smooth_rate, time, &state);
    for order in RadauOrder::ALL {
        let mut estimates = Vec::new();
        for k in 0..5 {
            let length = 0.08 * 0.5_f64.powi(k);
            let mut stages = converged_step(order, &mut smooth_rate, &jacobian, time, length, &state);
            let mut rate = vec![0.0; 4];
            smooth_rate(time, &state, &mut rate);
            let step = Step { time, length, state: &state, rate: &rate };
            let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let estimate =
                ErrorEstimate::default().evaluate(&mut stages, &mut smooth_rate, &step, &norm, false);
            estimates.push((length.ln(), estimate.ln()));
        }
        let estimate = slope(&estimates);
        assert_abs_diff_eq!(estimate, order.stages() as f64 + 1.0, epsilon = 0.2);
    }
}

/// With one stage the estimate is the error itself, up to the next power of the length.
#[test]
fn estimate_of_the_implicit_euler_method() {
    let (time, length) = (0.3, 1e-4);
    let state = smooth_solution(time);
    let jacobian = differences(smooth_rate, time, &state);
    let mut stages = converged_step(RadauOrder::First, &mut smooth_rate, &jacobian, time, length, &state);
    let mut rate = vec![0.0; 4];
    smooth_rate(time, &state, &mut rate);
    let step = Step { time, length, state: &state, rate: &rate };
    let mut estimate = ErrorEstimate::default();
    estimate.evaluate(&mut stages, &mut smooth_rate, &step, &|_: &[f64]| 0.0, false);
    let exact = smooth_solution(time + length);
    for i in 0..4 {
        // The estimate is the solution of higher order minus that of the step.
        let error = exact[i] - state[i] - stages.increments()[i];
        assert_abs_diff_eq!(estimate.error()[i], error, epsilon = 3e-3 * error.abs());
    }
}
