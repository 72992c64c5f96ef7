//! From a recording of sensors and its table in a fit file to samples and commands.

use std::path::Path;

use crate::io::document::field_path::FieldPath;
use crate::io::document::named_path::Replacement;
use crate::io::file_error::FileError;
use crate::io::fit::file::FitFile;
use crate::io::fit::schema::RecordingsTable;
use crate::io::scene::file::Scene;
use crate::multibody::{Model, State};
use crate::optimize::data::{DataError, Samples, TIME_COLUMN};
use crate::optimize::identification::{Channel, Measurement, Sensor, SensorData, SensorRecording};
use crate::rollout::{Command, KnotValues};

/// What is wrong with a recording of sensors.
enum SensorProblem {
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
fn sensor_data(
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

impl FitFile {
    /// The state that the recordings of a table start from: the scene's, but for the numbers that the table gives.
    pub(super) fn initial_state(
        &self,
        table: &RecordingsTable,
        field: &FieldPath,
    ) -> Result<State, FileError> {
        let mut state = self.scene.state.clone();
        let given: Vec<(&String, &f64)> = table.initial.iter().collect();
        // One number more each time, to see what it changes.
        for count in 1..=given.len() {
            let (path, value) = given[count - 1];
            let field = field.key("initial").key(path);
            let (mut wrong, mut before) = (None, None);
            let scene = Scene::load_changed(&self.scene.path, |document| {
                for (path, value) in &given[..count] {
                    match document.field(path) {
                        Ok(field) => {
                            before = document.number(&field);
                            document.replace(&field, &Replacement::Number(**value));
                        }
                        Err(why) => wrong = Some(why),
                    }
                }
            });
            if let Some(why) = wrong {
                return Err(self.invalid(&field, format_args!("{why}, in {}", self.scene.path.display())));
            }
            let found = scene.map_err(|error| self.invalid(&field, error))?.state;
            if found == state && before != Some(*value) {
                let message = "found a number that the initial state does not depend on; it must be of the start of a free body or \
                               of a joint, such as `bodies.NAME.translation[2]`";
                return Err(self.invalid(&field, message));
            }
            state = found;
        }
        Ok(state)
    }

    /// A recording of sensors.
    pub(super) fn sensed(
        &self,
        table: &RecordingsTable,
        file: &Path,
        field: &FieldPath,
        start: &State,
    ) -> Result<Measurement, FileError> {
        let Scene { model, commands, .. } = &self.scene;
        let time_step = self.scene.simulation_settings()?.time_step;
        let sensors = &self.table.sensors;
        if sensors.is_empty() {
            let message = "missing; they say what the columns of recordings are";
            return Err(self.invalid(&FieldPath::root().key("sensors"), message));
        }
        let channels = sensors.iter().flat_map(|sensor| &sensor.channels);
        let claimed: Vec<String> = std::iter::once(TIME_COLUMN.to_owned())
            .chain(channels.flat_map(Channel::column_names))
            .chain(table.commands.values().cloned())
            .collect();
        self.check_columns(&table.columns, &claimed, field)?;
        let data = sensor_data(table, sensors, file, (model, commands)).map_err(|problem| match problem {
            SensorProblem::Data(error) => FileError::from(error),
            SensorProblem::Field(key, message) => self.invalid(&field.key(key), message),
        })?;
        SensorRecording::new(model, start, sensors.clone(), data, &table.start, time_step)
            .map(Measurement::Sensors)
            .map_err(|error| self.invalid(&FieldPath::root().key("sensors"), error))
    }
}
