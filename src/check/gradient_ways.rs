//! Gradients of one number that is a sum of terms: small terms beside the others, and the sum's gradient made in several
//! ways, held against those of the terms, which differences judge.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::comparison::Verdict;
use super::gradient::CheckedParameter;
use super::report::{GradientReport, ReportRow};
use super::ways::{MadeWay, Rows, compare_way};
use crate::linear_algebra::dot;

/// Decides undecided rows of small terms: those that agree with differences to within the tolerance of the derivatives of
/// all terms together. `rows` has a row for each of so many terms with respect to one parameter, then to the next.
pub fn settle_small_terms(rows: &mut [ReportRow], terms: usize, tolerance: f64) {
    for rows in rows.chunks_mut(terms.max(1)) {
        let all: f64 = rows.iter().map(|row| row.comparison.claimed.abs()).sum();
        for comparison in rows.iter_mut().map(|row| &mut row.comparison) {
            let off = (comparison.claimed - comparison.difference).abs() + comparison.difference_error;
            // Not a number is too far off.
            if comparison.verdict == Verdict::Noisy && off <= tolerance * all {
                comparison.verdict = Verdict::Ok;
                comparison.note = format!("off by {off:.1e} at most, of {all:.1e} of all terms");
                comparison.differences.clear();
            }
        }
    }
}

/// A gradient that was made in another way.
#[derive(Debug)]
pub struct GradientWay {
    /// What it is called.
    pub name: String,
    /// The derivatives: one for each parameter, or one for each direction.
    pub derivatives: Vec<f64>,
    /// Directions in the space of all parameters, if derivatives are along these.
    pub directions: Option<Vec<Vec<f64>>>,
}

/// Compares the gradients of one number that other ways give with the sum of those of its terms, and adds to a report
/// how far each is from it, and a row for each that disagrees. Where terms cancel, as at an optimum, rounding
/// is that of the terms: `terms` has the gradient of each.
pub fn compare_gradients(
    quantity: &str,
    parameters: &[CheckedParameter],
    terms: &[Vec<f64>],
    ways: &[GradientWay],
    report: &mut GradientReport,
) {
    let sum = |size: fn(f64) -> f64| -> Vec<f64> {
        (0..parameters.len()).map(|i| terms.iter().map(|term| size(term[i])).sum()).collect()
    };
    let (gradient, sizes) = (sum(|by| by), sum(f64::abs));
    // In the unit of the function's arguments.
    let scales: Vec<f64> = parameters.iter().map(|parameter| parameter.scale / parameter.unit).collect();
    let largest = sizes.iter().zip(&scales).map(|(by, scale)| by * scale).fold(0.0, f64::max);
    for GradientWay { name, derivatives, directions } in ways {
        // One row, with a column for each parameter or direction.
        let (names, expected, scales, largest): (Vec<String>, Vec<f64>, Vec<f64>, f64) = match directions {
            None => {
                let names = parameters.iter().map(|parameter| parameter.name.clone());
                (names.collect(), gradient.clone(), scales.clone(), largest)
            }
            Some(directions) => {
                let names = (0..directions.len()).map(|k| format!("all, along direction {k}"));
                let expected = directions.iter().map(|direction| dot(&gradient, direction));
                let size =
                    |direction: &Vec<f64>| sizes.iter().zip(direction).map(|(by, v)| by * v.abs()).sum();
                let sizes = directions.iter().map(size);
                (names.collect(), expected.collect(), vec![1.0; directions.len()], sizes.fold(0.0, f64::max))
            }
        };
        let rows = Rows {
            names: vec![[quantity.to_owned(), String::new()]],
            derivatives: DMatrix::from_row_slice(1, expected.len(), &expected),
            largest: vec![largest],
        };
        let found = DMatrix::from_row_slice(1, derivatives.len(), derivatives);
        let made = MadeWay { name: format!("{quantity}, {name}"), found, expected: Arc::new(rows) };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (way, row) = compare_way(&made, &names, &scales);
        report.ways.push(way);
        report.rows.extend(row);
    }
}

/// Compares the derivatives of several quantities, each a vector of components of one kind, as another way gives them with
/// those that differences judge, and adds to a report how far they are off, and a row if any disagree. `quantities` has the
/// name of each and how many rows of the Jacobians it has. Rounding is that of the largest sensitivity of a quantity.
pub fn compare_jacobians(
    name: &str,
    quantities: &[(String, usize)],
    parameters: &[CheckedParameter],
    (expected, found): (&DMatrix<f64>, DMatrix<f64>),
    report: &mut GradientReport,
) {
    let scales: Vec<f64> = parameters.iter().map(|parameter| parameter.scale / parameter.unit).collect();
    let mut rows = Rows { names: Vec::new(), derivatives: expected.clone(), largest: Vec::new() };
    for (quantity, count) in quantities {
        let own = expected.rows(rows.names.len(), *count);
        let of_column = |(column, scale): (usize, &f64)| own.column(column).amax() * scale;
        let largest = scales.iter().enumerate().map(of_column).fold(0.0, f64::max);
        rows.largest.extend(std::iter::repeat_n(largest, *count));
        rows.names.extend((0..*count).map(|k| [quantity.clone(), k.to_string()]));
    }
    let made = MadeWay { name: name.to_owned(), found, expected: Arc::new(rows) };
    let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let (way, row) = compare_way(&made, &names, &scales);
    report.ways.push(way);
    report.rows.extend(row);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{CheckSettings, check_jacobian};

    #[test]
    fn small_terms_are_decided_beside_large_ones_but_wrong_ones_stay_wrong() {
        // A large term, and a small one with noise that hides its derivative.
        let noise = |x: f64| ((x * 1e9).sin() * 43758.5453).fract();
        let terms = |x: &[f64]| {
            let small = 1e-9 * x[0] + 1e-12 * noise(x[0]);
            Ok::<_, std::convert::Infallible>(vec![vec![x[0].sin()], vec![small]])
        };
        let parameters = [CheckedParameter { name: "x".into(), unit: 1.0, scale: 1.0 }];
        let (settings, at) = (CheckSettings::default(), [0.4]);
        let verdicts = |claimed: [f64; 2]| {
            let jacobian = [claimed.map(|by| vec![by]).to_vec()];
            let checked = check_jacobian(&["large", "small"], &parameters, terms, &at, &jacobian, &settings);
            let Ok(mut report) = checked;
            let before: Vec<Verdict> = report.rows.iter().map(|row| row.comparison.verdict).collect();
            settle_small_terms(&mut report.rows, 2, settings.tolerance);
            let after: Vec<Verdict> = report.rows.iter().map(|row| row.comparison.verdict).collect();
            (before, after)
        };
        let right = 0.4f64.cos();
        assert_eq!(
            verdicts([right, 1e-9]),
            (vec![Verdict::Ok, Verdict::Noisy], vec![Verdict::Ok, Verdict::Ok])
        );
        assert_eq!(verdicts([1.1 * right, 1e-9]).1[0], Verdict::Wrong);
        assert_ne!(verdicts([right, 0.1]).1[1], Verdict::Ok);
    }

    #[test]
    fn ways_that_differ_by_more_than_rounding_of_the_terms_are_wrong() {
        let parameter = |name: &str| CheckedParameter { name: name.into(), unit: 1.0, scale: 1.0 };
        let parameters = [parameter("x"), parameter("y")];
        // The terms cancel with respect to x.
        let terms = [vec![3.0, 1.0], vec![-3.0 + 1e-12, 1.0]];
        let way =
            |derivatives: Vec<f64>, directions| GradientWay { name: "sweep".into(), derivatives, directions };
        let compared = |ways: &[GradientWay]| {
            let mut report = GradientReport::default();
            compare_gradients("f", &parameters, &terms, ways, &mut report);
            report
        };
        let directions = Some(vec![vec![1.0, 1.0], vec![0.5, -1.0]]);
        let right = compared(&[way(vec![1.1e-12, 2.0], None), way(vec![2.0, -2.0], directions.clone())]);
        assert_eq!((right.ways.len(), right.rows.len()), (2, 0), "{right}");
        assert!(right.ways[0].worst > 0.0 && right.ways[0].worst < 1e-12);
        let wrong = compared(&[way(vec![1e-7, 2.0], None), way(vec![2.0, -2.0 + 1e-7], directions)]);
        assert_eq!(wrong.ways.iter().map(|way| way.disagreeing).collect::<Vec<_>>(), [1, 1]);
        assert_eq!(wrong.count(Verdict::Wrong), 2);
        assert_eq!(wrong.rows[0].parameter, "x");
        assert!(wrong.rows[1].parameter.contains("direction 1"), "{wrong}");
    }
}
