//! Fit files: which parameters of which scene to fit to which measurements.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use nalgebra::Vector3;

use crate::input_file;
use crate::io::digest::Digest;
use crate::io::document::field_path::FieldPath;
use crate::io::document::{Document, beside};
use crate::io::file_error::{FileError, Problem};
use crate::io::fit::file_names::matching;
use crate::io::fit::schema::{CandidateTable, FitTable, StartsTable, TrajectoriesTable};
use crate::io::fit::starts::start_deviations;
use crate::io::scene::file::Scene;
use crate::multibody::NoForces;
use crate::optimize::ProblemError;
use crate::optimize::data::{Indentation, Recording};
use crate::optimize::fit::{FitSettings, FitStarts};
use crate::optimize::identification::{
    Identification, IndentationTest, Measurement, RecordedMotion, StandardDeviations, TimeWindow,
};
use crate::optimize::parameters::FitParameters;

/// Longest delay of recorded velocities that makes sense, s.
const LONGEST_DELAY: f64 = 1.0;

/// Most starts of a fit.
const MOST_STARTS: usize = 10_000;

/// A fit file that was read, with its scene.
///
/// `isobar schema fit --markdown` prints the reference of its fields (see [`crate::io::reference`]).
/// Names of parameters are as in [`crate::optimize::identification::parameters_at`]. Files are found
/// relative to the fit file.
#[derive(Clone, Debug)]
pub struct FitFile {
    pub(super) path: PathBuf,
    pub(super) document: Document,
    pub(super) table: FitTable,
    pub(super) scene: Scene,
    /// The candidate that it is, where it is not the fit as given.
    pub(super) candidate: Option<FieldPath>,
    /// The parameters, checked.
    pub parameters: FitParameters,
}

impl FitFile {
    /// Reads a fit file and its scene: TOML, JSON where its name ends so, or standard input by the path `-`.
    ///
    /// # Errors
    /// A file that cannot be read or is not valid, parameters that make no sense.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::load_from(path.as_ref())
    }

    fn load_from(path: &Path) -> Result<Self, FileError> {
        let document = Document::read(path)?;
        let table: FitTable = document.contents()?;
        let field = FieldPath::root().key("parameters");
        let parameters =
            FitParameters::new(table.parameters.clone()).map_err(|e| located(&document, &field, e))?;
        let scene = scene_of(&document, &FieldPath::root().key("scene"), &table.scene)?;
        let path = input_file::name(path).to_owned();
        let file = Self { path, document, table, scene, candidate: None, parameters };
        file.check_starts()?;
        file.check_channels()?;
        Ok(file)
    }

    /// How the fit is to be done.
    pub fn settings(&self) -> &FitSettings {
        &self.table.solver
    }

    fn check_starts(&self) -> Result<(), FileError> {
        let FitStarts { count, spread, .. } = self.table.solver.starts;
        let field = FieldPath::root().key("solver").key("starts");
        if !(1..=MOST_STARTS).contains(&count) {
            let message = format_args!("found {count}; it must be between 1 and {MOST_STARTS}");
            return Err(self.invalid(&field.key("count"), message));
        }
        match spread > 0.0 && spread.is_finite() {
            true => Ok(()),
            false => {
                let message = format_args!("found {spread}; it must be positive and finite");
                Err(self.invalid(&field.key("spread"), message))
            }
        }
    }

    /// What tells a fit of these measurements from others: a digest of the fit file, the scene and the measurements. How
    /// many iterations it may take is not part of it.
    pub fn digest(&self, measurements: &[Measurement]) -> String {
        let mut digest = Digest::new();
        let Self { table, scene, parameters, .. } = self;
        let Scene { model, state, commands, .. } = scene;
        let FitSettings { method, cost_tolerance, starts, .. } = table.solver;
        // Numbers are written with all their digits. Writing to a digest cannot fail.
        let _ = write!(digest, "{model:?} {state:?} {commands:?} {parameters:?} {method:?}");
        let _ = write!(digest, "{:?} {:?} {:?}", table.trajectories, table.recordings, table.indentations);
        let _ = write!(digest, "{cost_tolerance:?} {starts:?} {measurements:?}");
        if let Ok(settings) = scene.simulation_settings() {
            let _ = write!(digest, "{settings:?}");
        }
        digest.hexadecimal()
    }

    /// The scene whose parameters are fitted.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// What is doubtful about the scene, a line each.
    pub fn warnings(&self) -> &[String] {
        &self.scene.warnings
    }

    /// The scene with its parameters and all the measurements.
    ///
    /// # Errors
    /// A file of measurements that is not valid, or measurements that do not match the scene.
    pub fn identification(&self) -> Result<Identification, FileError> {
        self.identification_of(self.measurements()?)
    }

    /// The scene with its parameters and some of the measurements.
    ///
    /// # Errors
    /// Parameters that the scene does not have, or no measurements.
    pub fn identification_of(&self, measurements: Vec<Measurement>) -> Result<Identification, FileError> {
        let names: Vec<&str> = self.parameters.as_slice().iter().map(|p| p.name.as_str()).collect();
        let problem = self.identified(&names, measurements)?;
        let start = problem.check_start(&self.parameters.initial());
        start.map_err(|error| self.invalid(&FieldPath::root().key("parameters"), error))?;
        Ok(problem)
    }

    /// All the measurements.
    ///
    /// # Errors
    /// A file of measurements that is not valid, or measurements that do not match the scene.
    pub fn measurements(&self) -> Result<Vec<Measurement>, FileError> {
        let root = FieldPath::root();
        let mut measurements = Vec::new();
        for (i, table) in self.table.trajectories.iter().enumerate() {
            let field = root.key("trajectories").index(i);
            for recording in self.recordings(table, &field)? {
                measurements.push(self.motion(table, recording, &field)?);
            }
        }
        for (i, table) in self.table.recordings.iter().enumerate() {
            let field = root.key("recordings").index(i);
            let start = self.initial_state(table, &field)?;
            for file in self.named_files(&table.files, &field)? {
                measurements.push(self.sensed(table, &file, &field, &start)?);
            }
        }
        for (i, table) in self.table.indentations.iter().enumerate() {
            let field = root.key("indentations").index(i).key("file");
            let file = self.document.named_file(&field, Path::new(&table.file))?;
            let claimed = Indentation::CLAIMED_COLUMNS.map(str::to_owned);
            self.check_columns(&table.columns, &claimed, &root.key("indentations").index(i))?;
            let rows = Indentation::read(&file, &table.columns)?;
            let direction = Vector3::from(table.direction.0);
            let name = file.display().to_string();
            let test = IndentationTest::new(
                &self.scene.model,
                name,
                &table.body,
                direction,
                rows,
                table.force_sigma,
            )
            .and_then(|test| test.with_offset(i, table.offset))
            .and_then(|test| test.with_loss(table.outlier_loss.with_limit(table.outlier_limit)))
            .map_err(|e| self.invalid(&root.key("indentations").index(i), e))?;
            measurements.push(Measurement::Indentation(test));
        }
        Ok(measurements)
    }

    /// The scene with the parameters `names` and the recordings (`*.csv`) of a folder, compared
    /// as the first of the file's trajectories, or else as the first of its recordings of sensors.
    ///
    /// # Errors
    /// The errors of [`Self::identification`]; a folder without recordings; or a fit file with neither.
    pub fn evaluation(&self, names: &[&str], folder: &Path) -> Result<Identification, FileError> {
        let (field, sensed) = (FieldPath::root().key("trajectories"), FieldPath::root().key("recordings"));
        let table = self.table.trajectories.first();
        if table.is_none() && self.table.recordings.is_empty() {
            return Err(self.invalid(
                &field,
                "none; one is needed, or one of `recordings`, to say how recordings are compared",
            ));
        }
        let files = matching(&folder.join("*.csv"))?;
        if files.is_empty() {
            return Err(FileError::Invalid {
                path: folder.to_owned(),
                line: None,
                field: "the folder".into(),
                message: "no file `*.csv`; at least one recording is needed".into(),
            });
        }
        let sensed = sensed.index(0);
        let start = |table| Ok::<_, FileError>((table, self.initial_state(table, &sensed)?));
        let started = self.table.recordings.first().filter(|_| table.is_none()).map(start).transpose()?;
        let measurement = |file: &PathBuf| match (table, &started) {
            (Some(table), _) => {
                let recording = self.recording(table, file, &field.index(0))?;
                self.motion(table, recording, &field.index(0))
            }
            (None, Some((table, start))) => self.sensed(table, file, &sensed, start),
            (None, None) => Err(self.invalid(&field, "none")),
        };
        let measurements = files.iter().map(measurement).collect::<Result<_, FileError>>()?;
        self.identified(names, measurements)
    }

    fn identified(
        &self,
        names: &[&str],
        measurements: Vec<Measurement>,
    ) -> Result<Identification, FileError> {
        let Scene { model, state, .. } = &self.scene;
        let settings = self.scene.simulation_settings()?;
        let of_name = |name: &str| self.parameters.as_slice().iter().find(|parameter| parameter.name == name);
        let own = names.iter().enumerate().filter_map(|(index, name)| Some((index, of_name(name)?)));
        let ties: Vec<(usize, &str)> = own
            .flat_map(|(index, parameter)| parameter.also.iter().map(move |name| (index, name.as_str())))
            .collect();
        self.check_offsets(names.iter().copied().chain(ties.iter().map(|(_, name)| *name)))?;
        let names = names.iter().copied();
        Identification::new(model.clone(), state.clone(), settings, NoForces, names, measurements)
            .and_then(|identification| identification.tied(ties))
            .map_err(|e| {
                let root = FieldPath::root();
                let field = match (&e, &self.candidate) {
                    (_, Some(candidate)) => candidate.clone(),
                    (ProblemError::NoMeasurements, None) => root,
                    (ProblemError::Gap { .. }, None) => root.key("trajectories"),
                    _ => root.key("parameters"),
                };
                self.invalid(&field, e)
            })
    }

    /// Checks that offsets among these parameters are those of tables that there are.
    fn check_offsets<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<(), FileError> {
        let count = self.table.indentations.len();
        for name in names {
            let index = name.strip_prefix("indentations[").and_then(|rest| rest.split(']').next());
            if let Some(index) = index.and_then(|index| index.parse::<usize>().ok()).filter(|i| *i >= count) {
                let root = FieldPath::root();
                let field = self.candidate.clone().unwrap_or_else(|| root.key("parameters"));
                let message =
                    format_args!("parameter `{name}`: no table {index}; there are {count}, counted from 0");
                return Err(self.invalid(&field, message));
            }
        }
        Ok(())
    }

    fn motion(
        &self,
        table: &TrajectoriesTable,
        recording: Recording,
        field: &FieldPath,
    ) -> Result<Measurement, FileError> {
        let estimates = |candidate: &CandidateTable| candidate.starts == Some(StartsTable::Estimated);
        let candidate_estimates = self.table.candidates.iter().any(estimates);
        let starts = start_deviations(table, candidate_estimates)
            .map_err(|(key, found)| self.invalid(&field.key(key), found))?;
        let sigma = StandardDeviations {
            position: table.position_sigma,
            orientation: table.orientation_sigma,
            linear_velocity: table.linear_velocity_sigma,
            angular_velocity: table.angular_velocity_sigma,
            loss: table.outlier_loss.with_limit(table.outlier_limit),
            starts,
        };
        let delay = table.velocity_delay;
        if !(0.0..=LONGEST_DELAY).contains(&delay) {
            return Err(self.invalid(
                &field.key("velocity_delay"),
                format_args!("found {delay}; it must be between 0 and {LONGEST_DELAY} s"),
            ));
        }
        let recording = recording.with_velocities_delayed_by(delay);
        let all = TimeWindow::default();
        let window = TimeWindow {
            from: table.from.unwrap_or(all.from),
            until: table.until.unwrap_or(all.until),
            horizon: table.horizon.unwrap_or(all.horizon),
            free_starts: table.free_starts,
        };
        RecordedMotion::new(&self.scene.model, &table.body, recording, &sigma, &window)
            .map(|motion| Measurement::Motion(motion.under_commands(self.scene.commands.clone())))
            .map_err(|e| self.invalid(field, e))
    }

    /// The files that names stand for, one at least.
    fn named_files(&self, names: &[String], field: &FieldPath) -> Result<Vec<PathBuf>, FileError> {
        let mut all = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let files = matching(&beside(&self.path, Path::new(name)))?;
            if files.is_empty() {
                let field = field.key("files").index(i);
                return Err(self.invalid(&field, format_args!("found \"{name}\", which no file matches")));
            }
            all.extend(files);
        }
        if all.is_empty() {
            return Err(self.invalid(&field.key("files"), "found none; at least one recording is needed"));
        }
        Ok(all)
    }

    fn recordings(&self, table: &TrajectoriesTable, field: &FieldPath) -> Result<Vec<Recording>, FileError> {
        let files = self.named_files(&table.files, field)?;
        files.iter().map(|file| self.recording(table, file, field)).collect()
    }

    fn recording(
        &self,
        table: &TrajectoriesTable,
        file: &Path,
        field: &FieldPath,
    ) -> Result<Recording, FileError> {
        self.check_columns(&table.columns, &Recording::claimed_columns(&table.body), field)?;
        Ok(Recording::read(file, &table.body, &table.columns)?)
    }

    /// The files that a fit reads.
    ///
    /// # Errors
    /// When a folder of recordings cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, FileError> {
        let mut files = vec![self.path.clone()];
        files.extend(self.scene.files.iter().cloned());
        // Those of a candidate are in its own scene.
        if self.candidate.is_none() {
            for candidate in self.candidates()? {
                files.extend(candidate.file.scene.files);
            }
        }
        let of_trajectories = self.table.trajectories.iter().flat_map(|table| &table.files);
        let of_sensors = self.table.recordings.iter().flat_map(|table| &table.files);
        for name in of_trajectories.chain(of_sensors) {
            files.extend(matching(&beside(&self.path, Path::new(name)))?);
        }
        files.extend(self.table.indentations.iter().map(|table| beside(&self.path, Path::new(&table.file))));
        Ok(files)
    }

    pub(super) fn invalid(&self, field: &FieldPath, message: impl std::fmt::Display) -> FileError {
        located(&self.document, field, message)
    }
}

/// A scene that a field of a fit file names, which must be able to move.
pub(super) fn scene_of(document: &Document, field: &FieldPath, name: &Path) -> Result<Scene, FileError> {
    let scene = Scene::load(document.named_file(field, name)?)?;
    scene.check_motion()?;
    Ok(scene)
}

fn located(document: &Document, field: &FieldPath, message: impl std::fmt::Display) -> FileError {
    document.located(Problem::new(field.clone(), message))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn bad_fit_files_are_refused_with_file_line_and_field() {
        let folder = std::env::temp_dir().join(format!("isobar-fit-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let refused = |text: &str| {
            let path = folder.join("fit.toml");
            fs::write(&path, text).unwrap();
            FitFile::load(&path).unwrap_err().to_string()
        };
        let parameter = "[[parameters]]\nname = \"a\"\ninitial = 1.0\n";
        assert!(refused("scene = \"s.toml\"\nfoo = 1\n").contains("fit.toml:2: foo: unknown field `foo`"));
        let typo = refused(&format!("scene = \"s.toml\"\n{parameter}uper = 2.0\n"));
        assert!(typo.contains("fit.toml:5: parameters[0].uper: unknown field"), "{typo}");
        assert!(refused("scene = \"s.toml\"\nparameters = []\n").contains("at least one is needed"));
        let log = refused(&format!("scene = \"s.toml\"\n{parameter}lower = 0.0\nlog = true\n"));
        assert!(log.contains("fit.toml:2: parameters: parameter `a`: `lower` is 0"), "{log}");
        let scene = refused(&format!("scene = \"s.toml\"\n{parameter}"));
        assert!(scene.contains("fit.toml:1: scene: found \"s.toml\", which is no file"), "{scene}");
        assert!(refused("scene = ").contains("fit.toml:1"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
