//! What is doubtful about the measurements of a fit.

use std::collections::BTreeMap;
use std::path::Path;

use crate::io::file_error::FileError;
use crate::io::fit::file::FitFile;
use crate::optimize::data::{Indentation, Recording, unclaimed_columns};
use crate::optimize::identification::{DeepStart, Identification, Measurement};
use crate::shown::shown;

/// Most columns that a warning names.
const MOST_COLUMNS: usize = 8;

impl FitFile {
    /// What is doubtful about the measurements of an identification that this file made, a line each: columns that stand
    /// for nothing, and motions that begin with a body deep inside another one.
    ///
    /// # Errors
    /// A file of measurements that can no longer be read.
    pub fn data_warnings(&self, problem: &Identification) -> Result<Vec<String>, FileError> {
        let mut unclaimed: BTreeMap<Vec<String>, (String, usize)> = BTreeMap::new();
        for measurement in problem.measurements() {
            let path = Path::new(measurement.name());
            let columns = unclaimed_columns(path, |column| self.is_claimed(measurement, column))?;
            if !columns.names.is_empty() {
                let first = || (format!("{}, line {}", path.display(), columns.line), 0);
                unclaimed.entry(columns.names).or_insert_with(first).1 += 1;
            }
        }
        let mut warnings: Vec<String> = unclaimed.into_iter().map(of_columns).collect();
        // Values out of their range are told of elsewhere.
        let deep = problem.deep_starts(&self.parameters.initial()).unwrap_or_default();
        warnings.extend(deep.into_iter().map(of_deep_start));
        Ok(warnings)
    }

    /// Whether a column of a measurement's file stands for something, be it of other bodies of the scene.
    fn is_claimed(&self, measurement: &Measurement, column: &str) -> bool {
        let tables = self.table.trajectories.iter().map(|table| &table.columns);
        let tables = tables.chain(self.table.recordings.iter().map(|table| &table.columns));
        let mut tables = tables.chain(self.table.indentations.iter().map(|table| &table.columns));
        if tables.any(|columns| columns.values().any(|source| source.name == column)) {
            return true;
        }
        match measurement {
            Measurement::Motion(_) if measurement.sensors().is_empty() => {
                let bodies = || self.scene.model.bodies.iter().map(|body| body.name.as_str());
                // What a simulation writes of bodies and of pairs of them.
                let of_scene = |body: &str| {
                    column
                        .strip_prefix(body)
                        .is_some_and(|rest| rest.starts_with('.') || rest.starts_with('-'))
                };
                let is_read = |body: &str| Recording::claimed_columns(body).iter().any(|c| c == column);
                bodies().any(|body| of_scene(body) || is_read(body))
            }
            Measurement::Indentation(_) => Indentation::CLAIMED_COLUMNS.contains(&column),
            Measurement::Motion(_) => {
                let mut channels = self.table.sensors.iter().flat_map(|sensor| &sensor.channels);
                let mut commands = self.table.recordings.iter().flat_map(|table| table.commands.values());
                column == crate::optimize::data::TIME_COLUMN
                    || channels.any(|channel| channel.column_names().iter().any(|c| c == column))
                    || commands.any(|c| c == column)
            }
        }
    }
}

/// The warning of columns that stand for nothing, of the first of a number of files.
fn of_columns((names, (place, files)): (Vec<String>, (String, usize))) -> String {
    let mut listed: Vec<String> =
        names.iter().take(MOST_COLUMNS).map(|name| format!("`{}`", shown(name))).collect();
    if names.len() > MOST_COLUMNS {
        listed.push(format!("{} more", names.len() - MOST_COLUMNS));
    }
    let others = match files {
        1 => String::new(),
        2 => " and another file".to_owned(),
        files => format!(" and {} other files", files - 1),
    };
    let (what, verb) = if names.len() == 1 { ("column", "is") } else { ("columns", "are") };
    let listed = listed.join(", ");
    format!("warning: {place}{others}: {what} {listed} {verb} not used: no quantity has such a column")
}

/// The warning of a body that starts inside another one.
fn of_deep_start(DeepStart { place, body, depth, size }: DeepStart) -> String {
    let by = match depth {
        Some(depth) => format!("it would touch nothing {depth:.3e} m away"),
        None => "it would touch something even twice its size away".to_owned(),
    };
    format!(
        "warning: {place}: simulations start with `{body}` deep inside another body ({by}, and its smallest extent is \
         {size:.3e} m): are the positions those of the body's origin, in m, and is the other body where it was?"
    )
}
