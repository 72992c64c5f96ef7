//! A page of a fit: measurements and predictions, estimates with their intervals, errors.

use std::path::Path;

use super::fit_report::{FitReport, overall};
use super::recordings::{about, command_line, page};
use crate::optimize::identification::{MeasurementError, Prediction};
use crate::report::{Chart, Curve, CurveMode, Page, Table};

/// The most measurements that are drawn.
const MOST_MEASUREMENTS: usize = 24;

/// Half the width of a 95 % interval of a normal distribution, in standard errors.
const HALF_WIDTH: f64 = 1.96;

/// The page of a fit; the predictions are those of the start values and of the estimates.
pub(super) fn fit_page<'p>(file: &Path, report: &FitReport, predictions: &[Vec<Prediction>; 2]) -> Page<'p> {
    let fit = &report.fit;
    let ending = format!("{} after {} iterations", fit.termination, fit.iterations);
    let cost = format!("{:.6e} → {:.6e}, {} residuals", fit.cost_before, fit.cost_after, fit.residuals);
    let ratio = match fit.uncertainty.residual_variance {
        Some(variance) => format!("{:.3} times the standard deviations given", variance.sqrt()),
        None => "as many as parameters".to_owned(),
    };
    let more = [["end", &ending], ["cost", &cost], ["residuals", &ratio], ["command", &command_line()]];
    let about = about("fit", file, more.map(|line| line.map(str::to_owned)));
    let [before, after] = predictions;
    let pairs = before.iter().zip(after).take(MOST_MEASUREMENTS);
    let mut page = page(file, about, None);
    page.charts = pairs.map(|(before, after)| chart(before, after)).collect();
    page.tables = vec![estimates(report), errors(report)];
    if after.len() > MOST_MEASUREMENTS {
        page.warnings
            .push(format!("Of {} measurements the first {MOST_MEASUREMENTS} are drawn.", after.len()));
    }
    page
}

/// A measurement, and what the model says with the start values and the estimates.
fn chart(before: &Prediction, after: &Prediction) -> Chart {
    let lines = |name: &str, x: &[f64], y: Vec<f64>| Curve {
        name: name.to_owned(),
        x: x.to_vec(),
        y,
        ..Curve::default()
    };
    let marks = |name: &str, x: &[f64], y: Vec<f64>| Curve { mode: CurveMode::Markers, ..lines(name, x, y) };
    match (before, after) {
        (
            Prediction::Indentation { predicted: start, .. },
            Prediction::Indentation { name, depths, measured, standard_deviations, predicted },
        ) => {
            let end = |sign: f64| {
                let ends = measured.iter().zip(standard_deviations);
                ends.map(|(force, sigma)| force + sign * sigma).collect()
            };
            let measured = Curve {
                interval: Some([end(-1.0), end(1.0)]),
                ..marks("measured", depths, measured.clone())
            };
            Chart {
                title: format!("{name}: force at depth"),
                axes: ["depth, m", "force, N"].map(str::to_owned),
                curves: vec![
                    measured,
                    lines("fitted", depths, predicted.clone()),
                    lines("start values", depths, start.clone()),
                ],
                ..Chart::default()
            }
        }
        (_, Prediction::Motion { name, times, recorded, simulated }) => {
            let mut curves = Vec::new();
            for (k, axis) in ["x", "y", "z"].iter().enumerate() {
                let of =
                    |states: &[crate::multibody::BodyState]| states.iter().map(|s| s.position[k]).collect();
                let color = Some(k);
                curves.push(Curve { color, ..marks(&format!("{axis} measured"), times, of(recorded)) });
                let (times, positions) = with_gaps(times, &of(simulated));
                curves.push(Curve { color, ..lines(&format!("{axis} fitted"), &times, positions) });
            }
            Chart {
                title: format!("{name}: position"),
                axes: ["time, s", "position, m"].map(str::to_owned),
                curves,
                ..Chart::default()
            }
        }
        // Both are of the same measurements.
        _ => Chart::default(),
    }
}

/// A curve that is broken where its points are more than twice as far apart as elsewhere: there nothing was
/// compared.
fn with_gaps(x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let usual = x.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
    let (mut xs, mut ys): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for (&x, &y) in x.iter().zip(y) {
        if let Some(&last) = xs.last().filter(|&&last| x - last > 2.0 * usual) {
            xs.push(0.5 * (last + x));
            ys.push(f64::NAN);
        }
        xs.push(x);
        ys.push(y);
    }
    (xs, ys)
}

/// The estimates with their intervals.
fn estimates(report: &FitReport) -> Table {
    let estimates = &report.fit.uncertainty.estimates;
    let row = |(estimate, unit): (&crate::optimize::uncertainty::Estimate, &&str)| {
        let (error, interval) = match estimate.standard_error {
            Some(error) => {
                let half = HALF_WIDTH * error;
                (
                    format!("{error:.2e}"),
                    format!("{:.6e} … {:.6e}", estimate.value - half, estimate.value + half),
                )
            }
            None => ("–".to_owned(), "–".to_owned()),
        };
        vec![
            estimate.name.clone(),
            format!("{:.6e}", estimate.value),
            (*unit).to_owned(),
            error,
            interval,
            estimate.identifiability.to_string(),
        ]
    };
    Table {
        title: "Estimates".to_owned(),
        columns: ["parameter", "value", "unit", "standard error", "95 % interval", "verdict"]
            .map(str::to_owned)
            .to_vec(),
        rows: estimates.iter().zip(&report.units).map(row).collect(),
    }
}

/// The errors of the measurements, at the start values and at the estimates.
fn errors(report: &FitReport) -> Table {
    let (before, after) = (&report.measurements_before, &report.measurements_after);
    let (all_before, all_after) = (overall(before), overall(after));
    let pairs = before.iter().chain(&all_before).zip(after.iter().chain(&all_after));
    let rows = pairs.flat_map(|(before, after)| {
        let (name, before) = quantities(before);
        let (_, after) = quantities(after);
        let row = move |((quantity, start), (_, end)): ((&str, f64), (&str, f64))| {
            vec![name.clone(), quantity.to_owned(), format!("{start:.4e}"), format!("{end:.4e}")]
        };
        before.into_iter().zip(after).map(row).collect::<Vec<_>>()
    });
    Table {
        title: "Root mean square errors".to_owned(),
        columns: ["measurement", "quantity", "start values", "fitted"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// The name of a measurement, and its errors.
fn quantities(error: &MeasurementError) -> (String, Vec<(&'static str, f64)>) {
    match error {
        MeasurementError::Motion {
            name, position, orientation, linear_velocity, angular_velocity, ..
        } => {
            let quantities = vec![
                ("position, m", *position),
                ("orientation, rad", *orientation),
                ("velocity, m/s", *linear_velocity),
                ("angular velocity, rad/s", *angular_velocity),
            ];
            (name.clone(), quantities)
        }
        MeasurementError::Indentation { name, force, .. } => (name.clone(), vec![("force, N", *force)]),
    }
}
