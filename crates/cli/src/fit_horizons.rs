//! `isobar fit --evaluate … --horizons`: how far ahead of a touch a model predicts.

use std::io::Write;

use super::Error;
use super::messages::remark;
use isobar::optimize::identification::{HorizonError, HorizonErrors, RecordingHorizons, TOUCH_MARGIN};

/// Tells which recordings the means leave out, and why.
pub(super) fn remark_left_out(errors: &HorizonErrors) {
    for RecordingHorizons { file, start_sample, horizons } in &errors.recordings {
        if start_sample.is_none() {
            remark(format_args!(
                "isobar: warning: {file}: in no recorded pose does the body come within {TOUCH_MARGIN} m of another, \
                 so no prediction starts in it; the means are without it"
            ));
            continue;
        }
        let missed: Vec<String> =
            horizons.iter().filter(|e| e.position.is_none()).map(|e| e.samples.to_string()).collect();
        if !missed.is_empty() {
            remark(format_args!(
                "isobar: warning: {file}: it ends before horizons of {} samples after the start; their means are \
                 without it",
                missed.join(", ")
            ));
        }
    }
}

/// Prints a line for each recording, and the means.
pub(super) fn print_horizons(out: &mut dyn Write, errors: &HorizonErrors) -> Result<(), Error> {
    writeln!(out, "mean errors over the samples after the start: position, m, and rotation, rad")?;
    let width = errors.recordings.iter().map(|r| r.file.chars().count()).fold("recording".len(), usize::max);
    write!(out, "{:width$}  {:>5}", "recording", "start")?;
    for error in &errors.mean {
        write!(out, "  {:>21}", format!("{} samples", error.samples))?;
    }
    writeln!(out)?;
    let row = |out: &mut dyn Write, name: &str, start: &str, errors: &[HorizonError]| {
        write!(out, "{name:width$}  {start:>5}")?;
        let shown = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.3e}"));
        for error in errors {
            write!(out, "  {:>10} {:>10}", shown(error.position), shown(error.rotation))?;
        }
        writeln!(out)
    };
    for RecordingHorizons { file, start_sample, horizons } in &errors.recordings {
        row(out, file, &start_sample.map_or("-".into(), |start| start.to_string()), horizons)?;
    }
    Ok(row(out, "mean", "", &errors.mean)?)
}
