use super::*;
use crate::optimize::least_squares::{Residuals, residuals_and_jacobian};
use crate::scalar::Scalar;
use approx::assert_relative_eq;
use argmin::core::Error;

/// y_k = a·b·t + c with a little noise of fixed signs; d does nothing.
struct Product;

impl Residuals for Product {
    fn residuals<T: Scalar>(&self, p: &[T]) -> Result<Vec<T>, Error> {
        Ok((0..10)
            .map(|k| {
                let t = k as f64;
                let noise = if k % 2 == 0 { 0.01 } else { -0.01 };
                p[0] * p[1] * t + p[2] - (6.0 * t + 1.0 + noise) + p[3] * 0.0
            })
            .collect())
    }
}

#[test]
fn a_product_and_an_unused_parameter_are_not_reported_as_known() {
    let list: Vec<FitParameter> = ["a", "b", "c", "d"].map(|n| FitParameter::new(n, 1.0)).to_vec();
    let values = [2.0, 3.0, 1.0, 5.0];
    let (r, j) = residuals_and_jacobian(&Product, &values).unwrap();
    let u = uncertainty(&list, &values, &r, 0, &j);
    let texts: Vec<String> = u.estimates.iter().map(|e| e.identifiability.to_string()).collect();
    assert_eq!(texts[0], "not identifiable: only a · b is determined");
    assert_eq!(texts[1], texts[0]);
    assert_eq!(texts[2], "identified");
    assert_eq!(texts[3], "not identifiable: the data do not depend on it");
    assert!(u.estimates[0].standard_error.is_none() && u.estimates[3].standard_error.is_none());
    // c's standard error is that of the straight line's intercept.
    let s2 = r.iter().map(|r| r * r).sum::<f64>() / 8.0;
    let expected = (s2 * (1.0 / 10.0 + 4.5 * 4.5 / 82.5)).sqrt();
    assert_relative_eq!(u.estimates[2].standard_error.unwrap(), expected, max_relative = 1e-10);
}

/// A straight line with given noise amplitude and points.
fn line(noise: f64, points: usize) -> Uncertainty {
    let list = [FitParameter::new("slope", 2.0), FitParameter::new("offset", 1.0)];
    let j = DMatrix::from_fn(points, 2, |k, i| if i == 0 { k as f64 } else { 1.0 });
    let r: Vec<f64> = (0..points).map(|k| if k % 3 == 0 { 2.0 * noise } else { -noise }).collect();
    uncertainty(&list, &[2.0, 1.0], &r, 0, &j)
}

#[test]
fn noise_decides_what_is_known() {
    assert!(line(0.01, 12).all_identified());
    let noisy = line(3.0, 12);
    assert!(matches!(noisy.estimates[1].identifiability, Identifiability::TooUncertain { .. }));
    assert!(noisy.estimates[0].identifiability.is_identified());
    let few = line(0.1, 2);
    assert_eq!(few.estimates[0].identifiability, Identifiability::NoDegreesOfFreedom);
    assert_eq!(few.residual_variance, None);
    let one = line(0.1, 1);
    assert!(one.estimates.iter().all(|e| !e.identifiability.is_identified()));
    // The textbook correlation of slope and offset: −t̄ / √(mean of t²).
    let mean: f64 = 5.5;
    let square = (0..12).map(|k| (k * k) as f64).sum::<f64>() / 12.0;
    assert_relative_eq!(line(0.01, 12).correlation[0][1], -mean / square.sqrt(), max_relative = 1e-12);
}

#[test]
fn residuals_far_beyond_their_deviations_determine_nothing() {
    // A slope of 1e4, known to a thousandth of itself by a line that is 50 deviations off.
    let steep = |off: f64| {
        let j = DMatrix::from_fn(12, 1, |k, _| k as f64);
        let r: Vec<f64> = (0..12).map(|k| if k % 2 == 0 { off } else { -off }).collect();
        let mut found = uncertainty(&[FitParameter::new("slope", 1e4)], &[1e4], &r, 0, &j);
        found.judge_misfit();
        found.estimates.remove(0).identifiability
    };
    assert!(steep(10.0).is_identified());
    let Identifiability::Misfit { ratio } = steep(50.0) else { panic!("{}", steep(50.0)) };
    assert!((ratio - 50.0 * (12.0_f64 / 11.0).sqrt()).abs() < 1e-9, "{ratio}");
}

#[test]
fn a_small_positive_quantity_is_known_only_to_a_part_of_itself() {
    let j = DMatrix::from_fn(6, 1, |_, _| 1.0);
    let r = [0.1, -0.1, 0.1, -0.1, 0.1, -0.1];
    let verdict =
        |p: FitParameter| uncertainty(&[p], &[0.05], &r, 0, &j).estimates[0].identifiability.clone();
    assert!(verdict(FitParameter::new("offset", 1.0)).is_identified());
    let friction = verdict(FitParameter::new("friction", 1.0).bounded(0.0, 2.0));
    assert!(matches!(friction, Identifiability::TooUncertain { .. }), "{friction}");
}

#[test]
fn an_estimate_on_its_bound_is_not_known() {
    let list = [FitParameter::new("slope", 2.0).bounded(0.0, 2.0), FitParameter::new("offset", 1.0)];
    let j = DMatrix::from_fn(6, 2, |k, i| if i == 0 { k as f64 } else { 1.0 });
    let u = uncertainty(&list, &[2.0, 1.0], &[0.1, -0.1, 0.1, -0.1, 0.1, -0.1], 0, &j);
    assert_eq!(u.estimates[0].identifiability, Identifiability::AtBound { bound: "upper" });
    assert!(u.estimates[1].identifiability.is_identified());
}

#[test]
fn combinations_are_named() {
    assert_eq!(combination("k", "m", -1.0), "k / m");
    assert_eq!(combination("k", "m", 2.0), "k · m^2");
    assert!(combination("k", "m", 0.37).contains("m^0.370"));
}

#[test]
fn what_finer_steps_change_is_told_of_what_is_known() {
    // The offset is too uncertain; with it what finer steps shift by 0.5 would be all its own.
    let mut found = line(3.0, 12);
    let jacobian = DMatrix::from_fn(12, 2, |k, i| if i == 0 { k as f64 } else { 1.0 });
    found.compare_with_finer(Finer::Steps, &[0.5; 12], &jacobian);
    let slope = jacobian.column(0);
    let change = found.estimates[0].change_with_finer_steps;
    assert_relative_eq!(change.unwrap(), -0.5 * slope.sum() / slope.norm_squared(), max_relative = 1e-10);
    assert_eq!(found.estimates[1].change_with_finer_steps, None);
}
