//! From a recording of sensors and its table in a fit file to samples and commands.

use std::path::Path;

use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::document::named_path::Replacement;
use crate::io::file_error::FileError;
use crate::io::fit::file::FitFile;
use crate::io::fit::schema::RecordingsTable;
use crate::io::scene::file::Scene;
use crate::multibody::{Model, State};
use crate::optimize::data::{DataError, Samples, TIME_COLUMN};
use crate::optimize::identification::{Channel, Measurement, RecordedMotion, Sensor, SensorData};
use crate::rollout::{Command, KnotValues};
use crate::shown::list;

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
            let known = list(model.actuators.iter().map(|a| format!("`{}`", a.name)));
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

/// The initial state of a scene in which numbers were changed.
struct Changed {
    state: State,
    /// What the last of them was.
    before: Option<f64>,
    /// Whether it depends on all of them for certain.
    is_certain: bool,
}

/// Whether the initial state depends on a number for certain, as the name of its field tells.
fn is_of_start(document: &Document, field: &FieldPath) -> bool {
    let text = field.to_string();
    let Some((table, rest)) = text.split_once("].") else { return false };
    let has = |key: &str| document.field(&format!("{table}].{key}")).is_ok();
    let key = rest.split(['.', '[']).next().unwrap_or(rest);
    let of_body = table.starts_with("bodies[") && !has("fixed");
    match key {
        "translation" | "quaternion_wxyz" | "rpy" | "rotation_matrix" | "linear_velocity"
        | "angular_velocity" => of_body,
        // A joint that follows another one has no start of its own.
        "joint" => {
            !has("joint.mimic")
                && ["joint.position", "joint.velocity"].iter().any(|key| rest.starts_with(key))
        }
        "positions" | "velocities" => table.starts_with("robots["),
        _ => false,
    }
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
        let field = field.key("initial");
        if given.is_empty() {
            return Ok(state);
        }
        if let Ok(Changed { state, is_certain: true, .. }) = self.state_with(&given, &field) {
            return Ok(state);
        }
        // One number more each time, to see which one is wrong, or changes nothing.
        for count in 1..=given.len() {
            let (path, value) = given[count - 1];
            let found = self.state_with(&given[..count], &field)?;
            if found.state == state && found.before != Some(*value) {
                let message = "found a number that the initial state does not depend on; it must be of the start of a free body or \
                               of a joint, such as `bodies.NAME.translation[2]`";
                return Err(self.invalid(&field.key(path), message));
            }
            state = found.state;
        }
        Ok(state)
    }

    /// The state of the scene with these numbers; a mistake is taken for that of the last one.
    fn state_with(&self, given: &[(&String, &f64)], field: &FieldPath) -> Result<Changed, FileError> {
        let field = given.last().map_or_else(|| field.clone(), |(path, _)| field.key(path));
        let (mut wrong, mut before, mut is_certain) = (None, None, true);
        let scene = Scene::load_changed(&self.scene.path, |document| {
            for (path, value) in given {
                match document.field(path) {
                    Ok(field) => {
                        is_certain &= is_of_start(document, &field);
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
        let state = scene.map_err(|error| self.invalid(&field, error))?.state;
        Ok(Changed { state, before, is_certain })
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
        RecordedMotion::of_sensors(model, start, sensors.clone(), data, &table.start, time_step)
            .map(Measurement::Motion)
            .map_err(|error| self.invalid(&FieldPath::root().key("sensors"), error))
    }
}
