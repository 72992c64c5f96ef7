//! A page of a fit: measurements, predictions and residuals, estimates with their intervals, errors.

use std::path::Path;

use super::fit_charts::{charts, profile_chart};
use super::fit_report::{FitReport, measured_quantities, one_sided, overall};
use super::recordings::{about, command_line, page};
use isobar::optimize::fit::StartOutcome;
use isobar::optimize::identification::{MeasurementError, Prediction, QuantityDiagnostics};
use isobar_report::{Page, Table};

/// The most measurements that are drawn.
const MOST_MEASUREMENTS: usize = 24;

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
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut page = page(file, about, None);
    let profiles = report.profiles.iter().zip(&report.units);
    page.charts = profiles.map(|(profile, unit)| profile_chart(profile, unit)).collect();
    page.charts.extend(pairs.flat_map(|(before, after)| charts(folder, before, after)));
    page.tables = vec![estimates(report), errors(report), residuals(report)];
    if !report.what_to_record.is_empty() {
        page.tables.push(what_to_record(report));
    }
    if !fit.starts.is_empty() {
        page.tables.push(starts(report));
    }
    page.warnings.extend(report.diagnostics.remarks.iter().cloned());
    if after.len() > MOST_MEASUREMENTS {
        page.warnings
            .push(format!("Of {} measurements the first {MOST_MEASUREMENTS} are drawn.", after.len()));
    }
    page
}

/// The estimates with their intervals.
fn estimates(report: &FitReport) -> Table {
    let estimates = &report.fit.uncertainty.estimates;
    let row = |(estimate, unit): (&isobar::optimize::uncertainty::Estimate, &&str)| {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        vec![
            estimate.name.clone(),
            one_sided(&estimate.identifiability).unwrap_or_else(|| format!("{:.6e}", estimate.value)),
            (*unit).to_owned(),
            or_dash(estimate.standard_error.map(|error| format!("{error:.2e}"))),
            or_dash(estimate.interval.map(|[low, high]| format!("{low:.6e} … {high:.6e}"))),
            or_dash(estimate.change_with_finer_steps.map(|change| format!("{change:+.2e}"))),
            or_dash(estimate.change_with_finer_quadrature.map(|change| format!("{change:+.2e}"))),
            estimate.identifiability.to_string(),
            or_dash(report.profiles.iter().find(|p| p.name == estimate.name).map(ToString::to_string)),
        ]
    };
    Table {
        title: "Estimates".to_owned(),
        is_result: true,
        columns: [
            "parameter",
            "value",
            "unit",
            "standard error",
            "95 % interval",
            "change with finer steps",
            "change with finer quadrature",
            "verdict",
            "95 % interval by profile",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: estimates.iter().zip(&report.units).map(row).collect(),
    }
}

/// What the residuals of each quantity tell.
fn residuals(report: &FitReport) -> Table {
    let row = |quantity: &QuantityDiagnostics| {
        let white = quantity.whiteness;
        let phases =
            quantity.phases.iter().map(|p| format!("{}: {:.2} ({})", p.phase, p.mean_square, p.samples));
        vec![
            quantity.measurement.clone(),
            quantity.quantity.clone(),
            quantity.samples.to_string(),
            format!("{:.3}", quantity.mean_square),
            white.map_or("–".to_owned(), |white| format!("{:.1e}", white.p_value)),
            white.map_or("–".to_owned(), |white| format!("{:+.2}", white.neighbours)),
            phases.collect::<Vec<_>>().join(", "),
        ]
    };
    Table {
        title: "Residuals over standard deviations".to_owned(),
        is_result: false,
        columns: [
            "measurement",
            "quantity",
            "samples",
            "mean square",
            "white: p",
            "correlation of neighbours",
            "mean square by phase of contact (samples)",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: report.diagnostics.quantities.iter().map(row).collect(),
    }
}

/// What became of several starts.
fn starts(report: &FitReport) -> Table {
    let row = |(k, start): (usize, &StartOutcome)| {
        vec![
            k.to_string(),
            start.cost.map_or("–".to_owned(), |cost| format!("{cost:.6e}")),
            if start.is_best { "yes" } else { "no" }.to_owned(),
            start.iterations.to_string(),
            start.termination.clone(),
        ]
    };
    Table {
        title: "Starts".to_owned(),
        is_result: false,
        columns: ["start", "cost", "best optimum", "iterations", "end"].map(str::to_owned).to_vec(),
        rows: report.fit.starts.iter().enumerate().map(row).collect(),
    }
}

/// What would determine the parameters that the data do not.
fn what_to_record(report: &FitReport) -> Table {
    Table {
        title: "What to record".to_owned(),
        is_result: false,
        columns: vec!["for parameters that are not determined".to_owned()],
        rows: report.what_to_record.iter().map(|sentence| vec![sentence.clone()]).collect(),
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
        let row = move |((quantity, start), (_, end)): ((String, f64), (String, f64))| {
            vec![name.clone(), quantity, format!("{start:.4e}"), format!("{end:.4e}")]
        };
        before.into_iter().zip(after).map(row).collect::<Vec<_>>()
    });
    Table {
        title: "Root mean square errors".to_owned(),
        is_result: false,
        columns: ["measurement", "quantity", "start values", "fitted"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

/// The name of a measurement, and its errors.
fn quantities(error: &MeasurementError) -> (String, Vec<(String, f64)>) {
    let (MeasurementError::Motion { name, .. }
    | MeasurementError::Indentation { name, .. }
    | MeasurementError::Sensors { name, .. }) = error;
    (name.clone(), measured_quantities(error))
}
