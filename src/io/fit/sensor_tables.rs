//! From a recording of sensors and its table in a fit file to samples and commands.

use std::path::Path;

use crate::io::fit::schema::RecordingsTable;
use crate::multibody::Model;
use crate::optimize::data::{DataError, Samples};
use crate::optimize::identification::{Sensor, SensorData};
use crate::rollout::{Command, KnotValues};

/// What is wrong with a recording of sensors.
pub(super) enum SensorProblem {
    /// With its file.
    Data(DataError),
    /// With a field of its table in the fit file.
    Field(&'static str, String),
}

impl From<DataError> for SensorProblem {
    fn from(error: DataError) -> Self {
        Self::Data(error)
    }
}

/// The samples of all channels of the sensors in a file, and the commands of the scene's actuators, recorded ones in
/// place of the scene's own. Times count from the scene's initial state.
///
/// # Errors
/// A file that cannot be read or that lacks columns, or an actuator that the scene does not have.
pub(super) fn sensor_data(
    table: &RecordingsTable,
    sensors: &[Sensor],
    file: &Path,
    (model, scripted): (&Model, &[Command]),
) -> Result<SensorData, SensorProblem> {
    let field = |key, message: String| Err(SensorProblem::Field(key, message));
    let mut commands = scripted.to_vec();
    let mut recorded = Vec::with_capacity(table.commands.len());
    for (name, column) in &table.commands {
        let Some(actuator) = model.actuators.iter().position(|actuator| actuator.name == *name) else {
            let known: Vec<String> = model.actuators.iter().map(|a| format!("`{}`", a.name)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return field("commands", format!("found `{name}`; the scene's actuators are {known}"));
        };
        recorded.push((actuator, column.clone()));
    }
    let channels = sensors.iter().flat_map(|sensor| &sensor.channels);
    let mut columns: Vec<Vec<String>> = channels.map(|channel| channel.column_names()).collect();
    let of_sensors = columns.len();
    columns.extend(recorded.iter().map(|(_, column)| vec![column.clone()]));
    let mut samples = Samples::read(file, &columns, &table.columns)?;
    let first = samples.iter().filter_map(|samples| samples.times.first()).copied();
    let start = table.start_time.unwrap_or_else(|| first.fold(f64::INFINITY, f64::min));
    let until = table.until.unwrap_or(f64::INFINITY) - start;
    for samples in &mut samples {
        samples.from_time(start);
        samples.keep(0.0..until);
    }
    for ((actuator, _), samples) in recorded.into_iter().zip(samples.drain(of_sensors..)) {
        let values = samples.values.iter().flatten().copied().collect();
        let at = KnotValues { times: samples.times, values };
        match Command::new(table.command_interpolation.kind(), at) {
            Ok(command) => commands[actuator] = command,
            Err(error) => return field("commands", format!("{}: {error}", file.display())),
        }
    }
    Ok(SensorData { name: file.display().to_string(), samples, commands })
}
