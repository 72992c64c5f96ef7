//! Trajectories as CSV, in full precision.

use std::collections::BTreeMap;
use std::path::Path;

use nalgebra::Vector3;

use crate::contact::Deflection;
use crate::input_file;
use crate::io::file_error::FileError;
use crate::io::motion::forces::FORCE_COLUMNS;
use crate::multibody::{BodyState, GeometryPair, Model};
use crate::scalar::Scalar;
use crate::shown::shown;
use crate::spatial::{Quaternion, SpatialForce, SpatialVelocity};

/// Columns of a body, after its name and a dot: position of its origin, orientation, velocity of
/// its origin, angular velocity, all in the world frame.
pub(in crate::io) const COLUMNS: [&str; 13] = [
    "px_m", "py_m", "pz_m", "qw", "qx", "qy", "qz", "vx_m_s", "vy_m_s", "vz_m_s", "wx_rad_s", "wy_rad_s",
    "wz_rad_s",
];

/// Columns of the deflection of bristles between bodies A and B, after their names as `A-B` (see
/// [`bristle_names`]) and a dot: rotation, then translation.
pub(in crate::io) const BRISTLE_COLUMNS: [&str; 6] =
    ["bristle_rx_rad", "bristle_ry_rad", "bristle_rz_rad", "bristle_x_m", "bristle_y_m", "bristle_z_m"];

/// The column of time.
pub(in crate::io) const TIME: &str = "t_s";

/// The motion of one body, as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyMotion {
    /// The body's name.
    pub name: String,
    /// Its state at every time, as it stands in the file.
    pub states: Vec<BodyState>,
}

/// The motion of one joint, as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct JointMotion {
    /// The joint's name.
    pub name: String,
    /// Its configuration at every time (see [`crate::multibody::tree::JointKind`]).
    pub q: Vec<Vec<f64>>,
    /// Its velocity at every time.
    pub v: Vec<Vec<f64>>,
}

/// The contact of two bodies, as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactMotion {
    /// The names of the bodies A and B, as `A-B`.
    pub pair: String,
    /// The wrench on A about its origin in W at every time.
    pub wrenches: Vec<SpatialForce>,
}

/// The deflection of the bristles between two geometries, as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct BristleMotion {
    /// The names of the bodies A and B, as `A-B`, with the number of the pair of geometries in brackets where the
    /// bodies have several.
    pub pair: String,
    /// The deflection at every time.
    pub deflections: Vec<Deflection>,
}

/// The names of the pairs whose bristles have columns, in the order of a state: `A-B`, or `A-B[0]`, `A-B[1]`, …
/// where bodies A and B have several pairs of geometries.
pub(in crate::io) fn bristle_names(model: &Model) -> Vec<String> {
    let pairs = &model.pairs[..model.bristle_count()];
    let name = |body: usize| &model.bodies[body].name;
    let of_pair = |(i, pair): (usize, &GeometryPair)| {
        let same = |other: &&GeometryPair| other.bodies == pair.bodies;
        let plain = format!("{}-{}", name(pair.bodies.a), name(pair.bodies.b));
        match pairs.iter().filter(same).count() {
            1 => plain,
            _ => format!("{plain}[{}]", pairs[..i].iter().filter(same).count()),
        }
    };
    pairs.iter().enumerate().map(of_pair).collect()
}

/// A trajectory as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryTable {
    /// Times in s, increasing.
    pub times: Vec<f64>,
    /// The bodies, in the order in which the file first names them.
    pub bodies: Vec<BodyMotion>,
    /// The joints, in the order in which the file first names them.
    pub joints: Vec<JointMotion>,
    /// The contacts, in the order in which the file first names them.
    pub contacts: Vec<ContactMotion>,
    /// The bristles, in the order in which the file first names them.
    pub bristles: Vec<BristleMotion>,
}

/// The numbers of a body's state in the order of [`COLUMNS`].
pub(in crate::io) fn numbers<T: Scalar>(s: &BodyState<T>) -> [T; 13] {
    let (p, q, v, w) = (s.position, s.orientation, s.velocity.translational, s.velocity.rotational);
    [p.x, p.y, p.z, q.w, q.v.x, q.v.y, q.v.z, v.x, v.y, v.z, w.x, w.y, w.z]
}

/// The state from its numbers. The quaternion is taken as it is, so that the bits come back.
pub(in crate::io) fn body_state(n: &[f64; 13]) -> BodyState {
    BodyState {
        position: Vector3::new(n[0], n[1], n[2]),
        orientation: Quaternion { w: n[3], v: Vector3::new(n[4], n[5], n[6]) },
        velocity: SpatialVelocity::new(Vector3::new(n[10], n[11], n[12]), Vector3::new(n[7], n[8], n[9])),
    }
}

/// The titles of the columns of a joint's `count` coordinates, of which `kind` is `q` or `v`: their
/// number stands in brackets where there are several.
pub(in crate::io) fn joint_titles(joint: &str, kind: &str, count: usize) -> Vec<String> {
    match count {
        1 => vec![format!("{joint}.{kind}")],
        _ => (0..count).map(|i| format!("{joint}.{kind}[{i}]")).collect(),
    }
}

impl TrajectoryTable {
    /// Reads a trajectory written by [`Trajectory::write`](crate::rollout::Trajectory::write), or any
    /// table with the same columns in any order.
    ///
    /// # Errors
    /// When the file cannot be read, a column is missing, unknown or double, a row has a wrong
    /// number of fields, a field is not a finite number, or times do not increase.
    pub fn read(path: impl AsRef<Path>) -> Result<TrajectoryTable, FileError> {
        let path = path.as_ref();
        let file = input_file::open_lines(path)
            .map_err(|source| FileError::Read { path: path.to_owned(), source })?;
        let invalid = |line: u64, message: String| FileError::Row { path: path.to_owned(), line, message };
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
            joints: layout
                .joints
                .iter()
                .map(|joint| JointMotion { name: joint.name.clone(), q: Vec::new(), v: Vec::new() })
                .collect(),
            contacts: layout
                .contacts
                .iter()
                .map(|(pair, _)| ContactMotion { pair: pair.clone(), wrenches: Vec::new() })
                .collect(),
            bristles: layout
                .bristles
                .iter()
                .map(|(pair, _)| BristleMotion { pair: pair.clone(), deflections: Vec::new() })
                .collect(),
        };
        for record in csv.records() {
            let record = record.map_err(|error| csv_error(path, error))?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != header.len() {
                let message =
                    format!("found {} fields; the header has {} columns", record.len(), header.len());
                return Err(invalid(line, message));
            }
            let number = |column: usize| {
                let text = &record[column];
                match text.parse::<f64>() {
                    Ok(value) if value.is_finite() => Ok(value),
                    _ => Err(invalid(
                        line,
                        format!(
                            "column `{}`: found `{}`; it must be a finite number",
                            shown(&header[column]),
                            shown(text)
                        ),
                    )),
                }
            };
            let time = number(layout.time)?;
            if let Some(&last) = table.times.last()
                && time <= last
            {
                let message = format!("column `{TIME}`: found {time} after {last}; times must increase");
                return Err(invalid(line, message));
            }
            table.times.push(time);
            for (motion, (_, columns)) in table.bodies.iter_mut().zip(&layout.bodies) {
                let mut values = [0.0; 13];
                for (value, &column) in values.iter_mut().zip(columns) {
                    *value = number(column)?;
                }
                motion.states.push(body_state(&values));
            }
            for (motion, joint) in table.joints.iter_mut().zip(&layout.joints) {
                let read = |columns: &[usize]| columns.iter().map(|&c| number(c)).collect::<Result<_, _>>();
                motion.q.push(read(&joint.q)?);
                motion.v.push(read(&joint.v)?);
            }
            for (motion, (_, columns)) in table.contacts.iter_mut().zip(&layout.contacts) {
                let [fx, fy, fz, tx, ty, tz] = *columns;
                let force = Vector3::new(number(fx)?, number(fy)?, number(fz)?);
                let moment = Vector3::new(number(tx)?, number(ty)?, number(tz)?);
                motion.wrenches.push(SpatialForce::new(moment, force));
            }
            for (motion, (_, columns)) in table.bristles.iter_mut().zip(&layout.bristles) {
                let mut values = [0.0; 6];
                for (value, &column) in values.iter_mut().zip(columns) {
                    *value = number(column)?;
                }
                motion.deflections.push(Deflection::from_numbers(values));
            }
        }
        if table.times.is_empty() {
            return Err(invalid(2, "found no row; a trajectory has at least one".to_owned()));
        }
        Ok(table)
    }
}

/// Which column of a file is what.
struct Layout {
    time: usize,
    bodies: Vec<(String, [usize; 13])>,
    joints: Vec<JointColumns>,
    contacts: Vec<(String, [usize; 6])>,
    bristles: Vec<(String, [usize; 6])>,
}

/// The columns of a joint, coordinate by coordinate.
struct JointColumns {
    name: String,
    q: Vec<usize>,
    v: Vec<usize>,
}

/// What a title says that its column is.
enum Title<'a> {
    Time,
    /// Name of a body, and index in [`COLUMNS`].
    Body(&'a str, usize),
    /// Names of two bodies, and index in [`FORCE_COLUMNS`].
    Contact(&'a str, usize),
    /// Name of a pair of geometries, and index in [`BRISTLE_COLUMNS`].
    Bristles(&'a str, usize),
    /// Name of a joint, and which of its coordinates.
    Joint(&'a str, Coordinate),
}

/// A coordinate of a joint: whether it is one of the velocity, and its number, if it has one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Coordinate {
    is_velocity: bool,
    index: Option<usize>,
}

impl<'a> Title<'a> {
    fn read(title: &'a str) -> Option<Self> {
        if title == TIME {
            return Some(Self::Time);
        }
        let (name, kind) = title.rsplit_once('.')?;
        if let Some(column) = COLUMNS.iter().position(|c| *c == kind) {
            return Some(Self::Body(name, column));
        }
        if let Some(column) = FORCE_COLUMNS.iter().position(|c| *c == kind) {
            return Some(Self::Contact(name, column));
        }
        if let Some(column) = BRISTLE_COLUMNS.iter().position(|c| *c == kind) {
            return Some(Self::Bristles(name, column));
        }
        let is_velocity = kind.starts_with('v');
        let index = match kind.strip_prefix(['q', 'v'])? {
            "" => None,
            number => {
                let digits = number.strip_prefix('[')?.strip_suffix(']')?;
                // Only the plain form of a number, so that a coordinate has one title.
                Some(digits.parse::<usize>().ok().filter(|i| i.to_string() == digits)?)
            }
        };
        Some(Self::Joint(name, Coordinate { is_velocity, index }))
    }
}

/// The entry of a name, appended to a list where it is new.
fn entry<'l, V: Default>(list: &'l mut Vec<(String, V)>, name: &str) -> &'l mut V {
    let index = list.iter().position(|(n, _)| n == name).unwrap_or_else(|| {
        list.push((name.to_owned(), V::default()));
        list.len() - 1
    });
    &mut list[index].1
}

impl Layout {
    /// Reads the header.
    fn new(header: &csv::StringRecord) -> Result<Self, String> {
        let mut time = None;
        let mut bodies: Vec<(String, [Option<usize>; 13])> = Vec::new();
        let mut contacts: Vec<(String, [Option<usize>; 6])> = Vec::new();
        let mut bristles: Vec<(String, [Option<usize>; 6])> = Vec::new();
        let mut joints: Vec<(String, BTreeMap<Coordinate, usize>)> = Vec::new();
        for (column, title) in header.iter().enumerate() {
            let before = match Title::read(title) {
                Some(Title::Time) => time.replace(column),
                Some(Title::Body(name, kind)) => entry(&mut bodies, name)[kind].replace(column),
                Some(Title::Contact(pair, kind)) => entry(&mut contacts, pair)[kind].replace(column),
                Some(Title::Bristles(pair, kind)) => entry(&mut bristles, pair)[kind].replace(column),
                Some(Title::Joint(name, coordinate)) => entry(&mut joints, name).insert(coordinate, column),
                None => {
                    return Err(format!(
                        "found column `{}`; allowed are `{TIME}`, NAME.{{{}}}, NAME.q, NAME.v or NAME.q[0], NAME.q[1], … of a joint, A-B.{{{}}} and A-B.{{{}}}",
                        shown(title),
                        COLUMNS.join(","),
                        FORCE_COLUMNS.join(","),
                        BRISTLE_COLUMNS.join(",")
                    ));
                }
            };
            if before.is_some() {
                return Err(format!("found column `{}` twice; every column comes once", shown(title)));
            }
        }
        let time = time.ok_or_else(|| format!("the column `{TIME}` is missing"))?;
        let (bodies, contacts) = (complete(bodies, COLUMNS)?, complete(contacts, FORCE_COLUMNS)?);
        let bristles = complete(bristles, BRISTLE_COLUMNS)?;
        let joints = joints
            .into_iter()
            .map(|(name, columns)| {
                let [q, v] = [false, true].map(|velocity| joint_columns(&name, &columns, velocity));
                Ok(JointColumns { q: q?, v: v?, name })
            })
            .collect::<Result<_, String>>()?;
        Ok(Self { time, bodies, joints, contacts, bristles })
    }
}

/// The columns of each name, none of which may be missing.
fn complete<const N: usize>(
    found: Vec<(String, [Option<usize>; N])>,
    kinds: [&str; N],
) -> Result<Vec<(String, [usize; N])>, String> {
    let of_name = |(name, columns): (String, [Option<usize>; N])| {
        let mut indices = [0; N];
        for ((index, column), kind) in indices.iter_mut().zip(columns).zip(kinds) {
            *index = column.ok_or_else(|| format!("the column `{}.{kind}` is missing", shown(&name)))?;
        }
        Ok((name, indices))
    };
    found.into_iter().map(of_name).collect()
}

/// The columns of a joint's configuration, or of its velocity.
fn joint_columns(
    name: &str,
    columns: &BTreeMap<Coordinate, usize>,
    is_velocity: bool,
) -> Result<Vec<usize>, String> {
    // Sorted: a column without a number first, then by number.
    let own: Vec<(Option<usize>, usize)> =
        columns.iter().filter(|(c, _)| c.is_velocity == is_velocity).map(|(c, &at)| (c.index, at)).collect();
    let kind = if is_velocity { "v" } else { "q" };
    if let [(None, column)] = own[..] {
        return Ok(vec![column]);
    }
    let titles = joint_titles(name, kind, own.len());
    match own.iter().enumerate().find(|(i, (index, _))| *index != Some(*i)) {
        Some((_, (None, _))) => Err(format!("found `{0}.{kind}` beside `{0}.{kind}[…]`", shown(name))),
        Some((i, _)) => Err(format!("the column `{}` is missing", shown(&titles[i]))),
        None if own.len() < 2 => Err(format!("the column `{}.{kind}` is missing", shown(name))),
        None => Ok(own.into_iter().map(|(_, column)| column).collect()),
    }
}

/// An error of the CSV reader with the file and the line.
fn csv_error(path: &Path, error: csv::Error) -> FileError {
    let line = error.position().map_or(1, csv::Position::line);
    let message = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => FileError::Read { path: path.to_owned(), source },
        _ => FileError::Row { path: path.to_owned(), line, message },
    }
}
