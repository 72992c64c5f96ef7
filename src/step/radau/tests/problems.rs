//! Differential equations with known solutions.

use nalgebra::DMatrix;

use super::super::coefficients::RadauOrder;
use super::super::stages::{NewtonSettings, Stages, Step};

/// A differential equation y' = f(t, y) with its Jacobian, and its solution at an end.
pub(super) struct Problem {
    pub name: &'static str,
    pub rate: fn(f64, &[f64], &mut [f64]),
    pub jacobian: fn(f64, &[f64], &mut DMatrix<f64>),
    pub start: Vec<f64>,
    pub end: f64,
    pub solution: Vec<f64>,
    /// The magnitude below which errors count absolutely.
    pub magnitude: f64,
}

fn robertson_rate(_: f64, y: &[f64], out: &mut [f64]) {
    out[0] = -0.04 * y[0] + 1e4 * y[1] * y[2];
    out[2] = 3e7 * y[1] * y[1];
    out[1] = -out[0] - out[2];
}

fn robertson_jacobian(_: f64, y: &[f64], out: &mut DMatrix<f64>) {
    let (a, b, c) = (1e4 * y[2], 1e4 * y[1], 6e7 * y[1]);
    out.copy_from(&DMatrix::from_row_slice(3, 3, &[-0.04, a, b, 0.04, -a - c, -b, 0.0, c, 0.0]));
}

/// Robertson's reaction, from (1, 0, 0), to 40: Hairer and Wanner, section IV.1. Digits by a Radau method of
/// eight stages in 30 digits, which agree with those of the test set of Hairer and Wanner.
pub(super) fn robertson_40() -> Problem {
    Problem {
        name: "Robertson to 40",
        rate: robertson_rate,
        jacobian: robertson_jacobian,
        start: vec![1.0, 0.0, 0.0],
        end: 40.0,
        solution: vec![0.715827068719405, 9.185534764557761e-06, 0.28416374574583037],
        magnitude: 1e-6,
    }
}

/// The same to 10⁴.
pub(super) fn robertson_10000() -> Problem {
    Problem {
        name: "Robertson to 10000",
        end: 1e4,
        solution: vec![0.10730042853780404, 4.800166972571659e-07, 0.8926990914454987],
        ..robertson_40()
    }
}

fn van_der_pol_rate(_: f64, y: &[f64], out: &mut [f64]) {
    out[0] = y[1];
    out[1] = ((1.0 - y[0] * y[0]) * y[1] - y[0]) * 1e6;
}

fn van_der_pol_jacobian(_: f64, y: &[f64], out: &mut DMatrix<f64>) {
    let row = [(-2.0 * y[0] * y[1] - 1.0) * 1e6, (1.0 - y[0] * y[0]) * 1e6];
    out.copy_from(&DMatrix::from_row_slice(2, 2, &[0.0, 1.0, row[0], row[1]]));
}

/// The equation of van der Pol with ε = 10⁻⁶, from (2, 0) to 2: Test Set for Initial Value Problem Solvers.
pub(super) fn van_der_pol() -> Problem {
    Problem {
        name: "van der Pol, eps 1e-6, to 2",
        rate: van_der_pol_rate,
        jacobian: van_der_pol_jacobian,
        start: vec![2.0, 0.0],
        end: 2.0,
        solution: vec![1.706167732170483, -0.8928097010247975],
        magnitude: 1.0,
    }
}

fn kepler_rate(_: f64, y: &[f64], out: &mut [f64]) {
    let cube = y[0].hypot(y[1]).powi(3);
    out.copy_from_slice(&[y[2], y[3], -y[0] / cube, -y[1] / cube]);
}

fn kepler_jacobian(_: f64, y: &[f64], out: &mut DMatrix<f64>) {
    let r = y[0].hypot(y[1]);
    let by = |i: usize, j: usize| 3.0 * y[i] * y[j] / r.powi(5) - if i == j { 1.0 / r.powi(3) } else { 0.0 };
    out.fill(0.0);
    (out[(0, 2)], out[(1, 3)]) = (1.0, 1.0);
    for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        out[(2 + i, j)] = by(i, j);
    }
}

/// A planet on an orbit of eccentricity 0.6, from its perihelion, over two and a half periods and a bit.
pub(super) fn kepler() -> Problem {
    let (e, end) = (0.6_f64, 17.0);
    let mut anomaly: f64 = end;
    for _ in 0..100 {
        anomaly -= (anomaly - e * anomaly.sin() - end) / (1.0 - e * anomaly.cos());
    }
    let (root, speed) = ((1.0 - e * e).sqrt(), 1.0 / (1.0 - e * anomaly.cos()));
    let solution =
        vec![anomaly.cos() - e, root * anomaly.sin(), -anomaly.sin() * speed, root * anomaly.cos() * speed];
    Problem {
        name: "Kepler, e = 0.6, to 17",
        rate: kepler_rate,
        jacobian: kepler_jacobian,
        start: vec![1.0 - e, 0.0, 0.0, ((1.0 + e) / (1.0 - e)).sqrt()],
        end,
        solution,
        magnitude: 1.0,
    }
}

/// A smooth equation of four components whose solution is [`smooth_solution`].
pub(super) fn smooth_rate(t: f64, y: &[f64], out: &mut [f64]) {
    out[0] = 2.0 * t * y[1].powf(0.2) * y[3];
    out[1] = 10.0 * t * (5.0 * (y[2] - 1.0)).exp() * y[3];
    out[2] = 2.0 * t * y[3];
    out[3] = -2.0 * t * y[0].ln();
}

/// exp(sin t²), exp(5 sin t²), 1 + sin t², cos t².
pub(super) fn smooth_solution(t: f64) -> Vec<f64> {
    let (sine, cosine) = (t * t).sin_cos();
    vec![sine.exp(), (5.0 * sine).exp(), sine + 1.0, cosine]
}

/// The Jacobian of a rate by central differences.
pub(super) fn differences(rate: impl Fn(f64, &[f64], &mut [f64]), time: f64, state: &[f64]) -> DMatrix<f64> {
    let n = state.len();
    let mut matrix = DMatrix::zeros(n, n);
    let (mut up, mut down) = (vec![0.0; n], vec![0.0; n]);
    for j in 0..n {
        let change = 1e-5 * (1.0 + state[j].abs());
        let mut moved = state.to_vec();
        moved[j] += change;
        rate(time, &moved, &mut up);
        moved[j] = state[j] - change;
        rate(time, &moved, &mut down);
        for i in 0..n {
            matrix[(i, j)] = (up[i] - down[i]) / (2.0 * change);
        }
    }
    matrix
}

/// The stages of one step, found to rounding.
pub(super) fn converged_step(
    order: RadauOrder,
    rate: &mut impl FnMut(f64, &[f64], &mut [f64]),
    jacobian: &DMatrix<f64>,
    time: f64,
    length: f64,
    state: &[f64],
) -> Stages {
    let mut stages = Stages::default();
    stages.factorize(order, length, jacobian).expect("solved");
    let mut start_rate = vec![0.0; state.len()];
    rate(time, state, &mut start_rate);
    let step = Step { time, length, state, rate: &start_rate };
    let norm = |x: &[f64]| x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let settings = NewtonSettings { most_iterations: 60, accuracy: 1e-15, ..Default::default() };
    stages.solve(rate, &step, &norm, &settings).expect("solved");
    stages
}

/// The largest difference of two lists.
pub(super) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The slope of the straight line through points, by least squares.
pub(super) fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let products: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    products / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}
