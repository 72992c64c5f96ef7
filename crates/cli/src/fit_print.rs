//! The result of a fit as text, for people.

use std::io::Write;

use super::Error;
use super::fit_report::{FitReport, StartsReport, measured_quantities, one_sided, overall};
use super::optimize_report::start_line;
use isobar::optimize::fit::Fit;
use isobar::optimize::identification::MeasurementError;
use isobar::optimize::uncertainty::{Estimate, Identifiability};

/// Residuals this much larger than the standard deviations given are not noise alone.
const LARGEST_RESIDUAL_RATIO: f64 = 2.0;

pub(super) fn print_fit(out: &mut dyn Write, report: &FitReport) -> Result<(), Error> {
    let fit = &report.fit;
    writeln!(out, "{} after {} iterations", fit.termination, fit.iterations)?;
    writeln!(
        out,
        "cost (half the sum of squared residuals) {:.6e} -> {:.6e}, {} residuals",
        fit.cost_before, fit.cost_after, fit.residuals
    )?;
    print_starts(out, fit)?;
    if let Some(variance) = fit.uncertainty.residual_variance {
        let ratio = variance.sqrt();
        write!(out, "residuals are {ratio:.3} times the standard deviations given")?;
        if ratio > LARGEST_RESIDUAL_RATIO {
            write!(
                out,
                ": the model does not explain the measurements to within them (or this is not the \
                 best minimum: try other starts), and the standard errors are too small"
            )?;
        }
        writeln!(out)?;
    }
    let StartsReport { estimated, windows } = report.starts;
    if windows > 0 {
        write!(out, "the states that {windows} simulated windows start at are ")?;
        match estimated {
            0 => writeln!(out, "taken as exact, as recorded (`starts`)")?,
            all if all == windows => writeln!(out, "estimated too")?,
            some => writeln!(out, "estimated too in {some} of them, and taken as exact in the others")?,
        }
    }
    writeln!(out)?;
    let estimates = &fit.uncertainty.estimates;
    let names: Vec<String> =
        estimates.iter().zip(&report.units).map(|(e, unit)| format!("{} ({unit})", e.name)).collect();
    let width = names.iter().map(|n| n.chars().count()).fold("parameter (unit)".len(), usize::max);
    let steps = estimates.iter().any(|e| e.change_with_finer_steps.is_some());
    let finer = |text: &str| if steps { format!("{text:>11}  ") } else { String::new() };
    writeln!(
        out,
        "{:width$}  {:>14}  {:>14}  {}verdict",
        "parameter (unit)",
        "value",
        "std. error",
        finer("finer steps")
    )?;
    for (e, name) in estimates.iter().zip(&names) {
        // A value that the data do not determine is not printed in the column of known ones.
        let known = e.identifiability.is_determined();
        let unknown = || one_sided(&e.identifiability).unwrap_or_else(|| "unknown".into());
        let value = if known { format!("{:.6e}", e.value) } else { unknown() };
        let error = e.standard_error.map_or("-".into(), |s| format!("{s:.2e}"));
        let change = finer(&e.change_with_finer_steps.map_or("-".into(), |change| format!("{change:+.2e}")));
        write!(out, "{:width$}  {value:>14}  {error:>14}  {change}{}", name, e.identifiability)?;
        if known { writeln!(out) } else { writeln!(out, " (the fit ended at {:.6e})", e.value) }?;
    }
    writeln!(out)?;
    if estimates.iter().any(|e| matches!(e.identifiability, Identifiability::DependsOnSteps { .. })) {
        writeln!(
            out,
            "what depends on the time step is no property of the body: `accuracy` in [solver] of the scene, such as 5e-4 (m) or \
             smaller, or a shorter `time_step`, gives that\n"
        )?;
    }
    print_quadrature(out, estimates)?;
    print_list(out, "mass properties, about the centre of mass", &report.masses)?;
    print_profiles(out, report)?;
    print_measurements(out, &report.measurements_after, &report.measurements_before)?;
    print_list(out, "what the residuals tell", &report.diagnostics.remarks)?;
    print_list(out, "what to record", &report.what_to_record)
}

/// Prints sentences below a heading, if there are any.
fn print_list(out: &mut dyn Write, heading: &str, sentences: &[String]) -> Result<(), Error> {
    if !sentences.is_empty() {
        writeln!(out, "\n{heading}")?;
    }
    sentences.iter().try_for_each(|sentence| Ok(writeln!(out, "- {sentence}")?))
}

/// Changes by a finer quadrature are told from this part of the standard error on.
const TOLD_CHANGE: f64 = 0.1;

/// Prints what a finer quadrature changes, where that is not little.
fn print_quadrature(out: &mut dyn Write, estimates: &[Estimate]) -> Result<(), Error> {
    let changes = estimates.iter().filter_map(|e| {
        let (change, error) = (e.change_with_finer_quadrature?, e.standard_error?);
        (change.abs() > TOLD_CHANGE * error).then(|| format!("{} by {change:+.2e}", e.name))
    });
    let changes: Vec<String> = changes.collect();
    if changes.is_empty() {
        return Ok(());
    }
    Ok(writeln!(out, "a higher `quadrature_order` in [contact] changes {}\n", changes.join(", "))?)
}

/// Prints how several starts ended.
fn print_starts(out: &mut dyn Write, fit: &Fit) -> Result<(), Error> {
    if fit.starts.is_empty() {
        return Ok(());
    }
    let best = fit.starts.iter().filter(|start| start.is_best).count();
    writeln!(out, "{best} of {} starts ended at the best optimum", fit.starts.len())?;
    for (k, start) in fit.starts.iter().enumerate().filter(|(_, start)| !start.is_best) {
        writeln!(out, "  {}", start_line(k, start.cost, &start.termination))?;
    }
    Ok(())
}

/// Prints the intervals of profiles, where there are some.
fn print_profiles(out: &mut dyn Write, report: &FitReport) -> Result<(), Error> {
    if report.profiles.is_empty() {
        return Ok(());
    }
    writeln!(out, "95 % intervals by profiles: the cost along each parameter, with the others fitted again")?;
    let widths = report
        .profiles
        .iter()
        .zip(&report.units)
        .map(|(p, unit)| p.name.chars().count() + unit.chars().count());
    let width = widths.fold(0, usize::max) + 3;
    for (profile, unit) in report.profiles.iter().zip(&report.units) {
        writeln!(out, "  {:width$}  {profile}", format!("{} ({unit})", profile.name))?;
    }
    Ok(writeln!(out)?)
}

/// Prints root mean square errors, with those of the start values in parentheses.
pub(super) fn print_measurements(
    out: &mut dyn Write,
    after: &[MeasurementError],
    before: &[MeasurementError],
) -> Result<(), Error> {
    writeln!(out, "root mean square errors, in parentheses those of the start values")?;
    let (all_after, all_before) = (overall(after), overall(before));
    let pairs = after.iter().chain(&all_after).zip(before.iter().chain(&all_before));
    for (measurement, start) in pairs {
        match measurement {
            MeasurementError::Motion { name, times, .. } => writeln!(out, "{name}, {times} times")?,
            MeasurementError::Indentation { name, depths, .. } => writeln!(out, "{name}, {depths} depths")?,
            MeasurementError::Sensors { name, channels } => {
                let samples: usize = channels.iter().map(|channel| channel.samples).sum();
                writeln!(out, "{name}, {samples} samples")?;
            }
        }
        let (parts, before) = (measured_quantities(measurement), measured_quantities(start));
        let width = parts.iter().map(|(what, _)| what.chars().count()).fold(24, usize::max);
        for ((what, value), (_, start)) in parts.into_iter().zip(before) {
            writeln!(out, "  {what:<width$} {value:>12.4e}  ({start:.4e})")?;
        }
    }
    Ok(())
}
