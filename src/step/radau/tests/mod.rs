//! The methods alone, on differential equations with known solutions.

mod formulas;
mod one_step;
mod problems;

use nalgebra::DMatrix;

use self::problems::{Problem, kepler, robertson_40, robertson_10000, slope, van_der_pol};
use super::coefficients::RadauOrder;
use super::error_estimate::{ErrorEstimate, estimate_power};
use super::orders::{OrderMemory, OrderSettings};
use super::stages::{NewtonSettings, Stages, Step};
use crate::step::error_control::{factor, fitted, quantized};

/// The state at the end of a problem, by steps whose lengths and orders are chosen as those of substeps are, and
/// the number of steps of orders 1, 3 and 5.
fn solved(problem: &Problem, tolerance: f64, first: RadauOrder) -> (Vec<f64>, [usize; 3]) {
    let (mut state, n) = (problem.start.clone(), problem.start.len());
    let (mut time, mut order, mut wished) = (0.0, first, 1e-6 * problem.end);
    let (mut orders, rules) = (OrderMemory::default(), OrderSettings::default());
    let (mut stages, mut estimate) = (Stages::default(), ErrorEstimate::default());
    let (mut jacobian, mut first_rate) = (DMatrix::zeros(n, n), vec![0.0; n]);
    let (mut counts, mut rejected) = ([0; 3], true);
    for _ in 0..200_000 {
        let scales: Vec<f64> = state.iter().map(|y| tolerance * (problem.magnitude + y.abs())).collect();
        let norm = |x: &[f64]| {
            let sum: f64 = x.iter().zip(&scales).map(|(x, scale)| (x / scale).powi(2)).sum();
            (sum / n as f64).sqrt()
        };
        let (length, last) = fitted(wished, problem.end - time);
        (problem.jacobian)(time, &state, &mut jacobian);
        (problem.rate)(time, &state, &mut first_rate);
        let step = Step { time, length, state: &state, rate: &first_rate };
        let newton = NewtonSettings { most_iterations: 10, accuracy: 1e-3, ..Default::default() };
        let found = stages.factorize(order, length, &jacobian).and_then(|()| {
            stages.increments_mut().fill(0.0);
            stages.solve(&mut { problem.rate }, &step, &norm, &newton)
        });
        let Ok(converged) = found else {
            (order, wished, rejected) = (orders.after_failure(&rules, order), 0.5 * length, true);
            continue;
        };
        let error = estimate.evaluate(&mut stages, &mut { problem.rate }, &step, &norm, rejected);
        let change = factor(error, estimate_power(order));
        wished = quantized(problem.end, length * if rejected { change.min(1.0) } else { change });
        rejected = error > 1.0;
        if rejected {
            continue;
        }
        let increments = stages.increments();
        state.iter_mut().zip(&increments[increments.len() - n..]).for_each(|(y, z)| *y += z);
        counts[order.stages() - 1] += 1;
        if last {
            return (state, counts);
        }
        time += length;
        order = orders.after_accepted(&rules, order, converged.contraction, wished / length);
    }
    panic!("{} is not solved", problem.name)
}

/// Robertson's reaction, van der Pol's equation and a planet's orbit: errors are in proportion to the tolerance
/// over five decades.
#[test]
fn errors_fall_with_the_tolerance() {
    for problem in [robertson_40(), robertson_10000(), van_der_pol(), kepler()] {
        let points: Vec<(f64, f64)> = (3..=8)
            .map(|power| {
                let tolerance = 10f64.powi(-power);
                let (state, _) = solved(&problem, tolerance, RadauOrder::Fifth);
                let parts = state.iter().zip(&problem.solution);
                let errors = parts.map(|(y, exact)| (y - exact).abs() / (exact.abs() + problem.magnitude));
                (tolerance.log10(), errors.fold(0.0, f64::max).log10())
            })
            .collect();
        let slope = slope(&points);
        println!("{}: slope {slope:.2}, {points:?}", problem.name);
        assert!((0.75..=1.3).contains(&slope), "{}: slope {slope}", problem.name);
        assert!(
            points.iter().all(|(tolerance, error)| error - tolerance < 0.75),
            "{}: {points:?}",
            problem.name
        );
    }
}

#[test]
fn the_order_is_raised_where_iterations_converge_fast() {
    let (_, [first, third, fifth]) = solved(&van_der_pol(), 1e-6, RadauOrder::First);
    assert!(first > 0 && third > 0 && first + third < 60 && fifth > 300, "{first} {third} {fifth}");
}
