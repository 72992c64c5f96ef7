//! Trajectories as CSV, in full precision.

use std::io;
use std::path::{Path, PathBuf};

use nalgebra::Vector3;

use super::atomic::write_atomically;
use crate::multibody::{BodyState, Model};
use crate::rollout::Trajectory;
use crate::spatial::{Quaternion, SpatialVelocity};

/// Columns of a body, after its name and a dot: position of its origin, orientation, velocity of
/// its origin, angular velocity, all in the world frame.
const COLUMNS: [&str; 13] = [
    "px_m", "py_m", "pz_m", "qw", "qx", "qy", "qz", "vx_m_s", "vy_m_s", "vz_m_s", "wx_rad_s", "wy_rad_s",
    "wz_rad_s",
];

/// The column of time.
const TIME: &str = "t_s";

/// What can be wrong with a trajectory file.
#[derive(Debug, thiserror::Error)]
pub enum TrajectoryError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not a trajectory.
    #[error("{}:{line}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What was found and what is allowed.
        message: String,
    },
}

/// The motion of one body, as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyMotion {
    /// The body's name.
    pub name: String,
    /// Its state at every time, as it stands in the file.
    pub states: Vec<BodyState>,
}

/// A trajectory as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryTable {
    /// Times in s, increasing.
    pub times: Vec<f64>,
    /// The bodies, in the order in which the file first names them.
    pub bodies: Vec<BodyMotion>,
}

/// The numbers of a body's state in the order of [`COLUMNS`].
fn numbers(s: &BodyState) -> [f64; 13] {
    let (p, q, v, w) = (s.position, s.orientation, s.velocity.translational, s.velocity.rotational);
    [p.x, p.y, p.z, q.w, q.v.x, q.v.y, q.v.z, v.x, v.y, v.z, w.x, w.y, w.z]
}

/// The state from its numbers. The quaternion is taken as it is, so that the bits come back.
fn body_state(n: &[f64; 13]) -> BodyState {
    BodyState {
        position: Vector3::new(n[0], n[1], n[2]),
        orientation: Quaternion { w: n[3], v: Vector3::new(n[4], n[5], n[6]) },
        velocity: SpatialVelocity::new(Vector3::new(n[10], n[11], n[12]), Vector3::new(n[7], n[8], n[9])),
    }
}

/// Writes a trajectory of a model: `t_s`, then thirteen columns for each free body, with as many
/// digits as it takes to read the same bits back. The file appears when it is complete.
///
/// # Errors
/// When the file cannot be written.
pub fn write_trajectory(
    path: impl AsRef<Path>,
    model: &Model,
    trajectory: &Trajectory,
) -> Result<(), TrajectoryError> {
    let path = path.as_ref();
    write_atomically::<io::Error>(path, |file| {
        let mut csv = csv::Writer::from_writer(file);
        let mut row = vec![TIME.to_owned()];
        for (_, body, _) in model.free_bodies() {
            row.extend(COLUMNS.iter().map(|column| format!("{}.{column}", body.name)));
        }
        csv.write_record(&row)?;
        for (time, state) in trajectory.times.iter().zip(&trajectory.states) {
            row.clear();
            // The shortest digits that name this number and no other.
            row.push(format!("{time:?}"));
            row.extend(state.bodies.iter().flat_map(numbers).map(|x| format!("{x:?}")));
            csv.write_record(&row)?;
        }
        csv.flush()
    })
    .map_err(|source| TrajectoryError::Write { path: path.to_owned(), source })
}

/// Reads a trajectory that [`write_trajectory`] wrote, or any table with the same columns, in
/// any order.
///
/// # Errors
/// When the file cannot be read, a column is missing, unknown or double, a row has a wrong
/// number of fields, a field is not a finite number, or times do not increase.
pub fn read_trajectory(path: impl AsRef<Path>) -> Result<TrajectoryTable, TrajectoryError> {
    let path = path.as_ref();
    let file = std::fs::File::open(path)
        .map_err(|source| TrajectoryError::Read { path: path.to_owned(), source })?;
    let invalid =
        |line: u64, message: String| TrajectoryError::Invalid { path: path.to_owned(), line, message };
    let mut csv = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(file);
    let header = csv.headers().map_err(|error| csv_error(path, error))?.clone();
    let layout = Layout::new(&header).map_err(|message| invalid(1, message))?;
    let mut table = TrajectoryTable {
        times: Vec::new(),
        bodies: layout
            .bodies
            .iter()
            .map(|(name, _)| BodyMotion { name: name.clone(), states: Vec::new() })
            .collect(),
    };
    for record in csv.records() {
        let record = record.map_err(|error| csv_error(path, error))?;
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != header.len() {
            let message = format!("found {} fields; the header has {} columns", record.len(), header.len());
            return Err(invalid(line, message));
        }
        let number = |column: usize| {
            let text = &record[column];
            match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                _ => Err(invalid(
                    line,
                    format!("column `{}`: found `{text}`; it must be a finite number", &header[column]),
                )),
            }
        };
        let time = number(layout.time)?;
        if let Some(&last) = table.times.last() {
            if time <= last {
                let message = format!("column `{TIME}`: found {time} after {last}; times must increase");
                return Err(invalid(line, message));
            }
        }
        table.times.push(time);
        for (motion, (_, columns)) in table.bodies.iter_mut().zip(&layout.bodies) {
            let mut values = [0.0; 13];
            for (value, &column) in values.iter_mut().zip(columns) {
                *value = number(column)?;
            }
            motion.states.push(body_state(&values));
        }
    }
    if table.times.is_empty() {
        return Err(invalid(2, "found no row; a trajectory has at least one".to_owned()));
    }
    Ok(table)
}

/// Which column of a file is what.
struct Layout {
    time: usize,
    bodies: Vec<(String, [usize; 13])>,
}

impl Layout {
    /// Reads the header.
    fn new(header: &csv::StringRecord) -> Result<Self, String> {
        let mut time = None;
        let mut bodies: Vec<(String, [Option<usize>; 13])> = Vec::new();
        for (column, title) in header.iter().enumerate() {
            let slot = if title == TIME {
                &mut time
            } else {
                let parts = title.rsplit_once('.');
                let known =
                    parts.and_then(|(name, kind)| Some((name, COLUMNS.iter().position(|c| *c == kind)?)));
                let Some((name, kind)) = known else {
                    return Err(format!(
                        "found column `{title}`; allowed are `{TIME}` and NAME.{{{}}}",
                        COLUMNS.join(",")
                    ));
                };
                let place = bodies.iter().position(|(n, _)| n == name).unwrap_or_else(|| {
                    bodies.push((name.to_owned(), [None; 13]));
                    bodies.len() - 1
                });
                &mut bodies[place].1[kind]
            };
            if slot.replace(column).is_some() {
                return Err(format!("found column `{title}` twice; every column comes once"));
            }
        }
        let time = time.ok_or_else(|| format!("the column `{TIME}` is missing"))?;
        let mut complete = Vec::new();
        for (name, columns) in bodies {
            let mut places = [0; 13];
            for ((place, column), kind) in places.iter_mut().zip(columns).zip(COLUMNS) {
                *place = column.ok_or_else(|| format!("the column `{name}.{kind}` is missing"))?;
            }
            complete.push((name, places));
        }
        Ok(Self { time, bodies: complete })
    }
}

/// An error of the CSV reader with the file and the line.
fn csv_error(path: &Path, error: csv::Error) -> TrajectoryError {
    let line = error.position().map_or(1, csv::Position::line);
    let message = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => TrajectoryError::Read { path: path.to_owned(), source },
        _ => TrajectoryError::Invalid { path: path.to_owned(), line, message },
    }
}
