//! From a table of numbers to the states of a model.

use std::path::Path;

use crate::io::file_error::FileError;
use crate::io::motion::forces::pair_name;
use crate::io::motion::trajectory::{BristleMotion, TrajectoryTable, bristle_names};
use crate::multibody::tree::JointKind;
use crate::multibody::{BodyState, Model, State};
use crate::rollout::Trajectory;
use crate::shown::{list, shown};
use crate::spatial::SpatialForce;

/// How far the length of a quaternion may be from 1 before it is taken for a mistake. What measured or
/// rounded data have is divided out.
const LENGTH_ERROR: f64 = 1e-3;

impl Trajectory {
    /// Reads the states of a model from a file that [`Self::write`] or `isobar simulate` has written, or any
    /// table with the same columns. Quaternions are brought to unit length where they are not. Columns of
    /// contact forces are not needed, and without those of bristles none are deflected.
    ///
    /// # Errors
    /// When the file cannot be read, is no such table, lacks a free body or joint of the model, or has
    /// one that the model has not.
    pub fn read(path: impl AsRef<Path>, model: &Model) -> Result<Self, FileError> {
        Ok(Self::read_with_forces(path, model)?.0)
    }

    /// [`Self::read`] with the forces of contact that are in the file: for each row those of each two bodies, as in
    /// [`StepReport::step_forces`](crate::rollout::StepReport::step_forces); none where those of two bodies are missing.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with_forces(
        path: impl AsRef<Path>,
        model: &Model,
    ) -> Result<(Self, Vec<Vec<SpatialForce>>), FileError> {
        let path = path.as_ref();
        let table = TrajectoryTable::read(path)?;
        let states = states(&table, model).map_err(|Fault { row, message }| FileError::Row {
            path: path.to_owned(),
            // The first line has the titles.
            line: row.map_or(1, |row| row as u64 + 2),
            message,
        })?;
        let of_bodies = |pairs| {
            let name = pair_name(model, pairs);
            table.contacts.iter().find(|contact| contact.pair == name)
        };
        let contacts: Option<Vec<_>> = model.pairs_by_bodies().map(of_bodies).collect();
        let of_row = |row: usize| contacts.iter().flatten().map(|contact| contact.wrenches[row]).collect();
        let forces = (0..states.len()).map(of_row).collect();
        Ok((Self { times: table.times, states }, forces))
    }
}

/// What is wrong with a table, and in which row, if it is not its titles.
struct Fault {
    row: Option<usize>,
    message: String,
}

/// Something wrong with the titles.
fn of_titles(message: String) -> Fault {
    Fault { row: None, message }
}

/// The states of a model in a table.
fn states(table: &TrajectoryTable, model: &Model) -> Result<Vec<State>, Fault> {
    let free: Vec<&str> = model.free_bodies().map(|(_, body, _)| body.name.as_str()).collect();
    let joints: Vec<_> = model.mechanism().joints_with_coordinates().collect();
    let joint_names: Vec<&str> = joints.iter().map(|joint| joint.name.as_str()).collect();
    let of_body = |name: &str| table.bodies.iter().find(|body| body.name == name);
    let of_joint = |name: &str| table.joints.iter().find(|joint| joint.name == name);
    for (kind, names, found) in [
        ("free body", &free, table.bodies.iter().map(|body| body.name.as_str()).collect::<Vec<_>>()),
        ("joint", &joint_names, table.joints.iter().map(|joint| joint.name.as_str()).collect()),
    ] {
        if let Some(missing) = names.iter().find(|name| !found.contains(name)) {
            return Err(of_titles(format!("the columns of the {kind} `{}` are missing", shown(missing))));
        }
        if let Some(unknown) = found.iter().find(|name| !names.contains(name)) {
            let (unknown, known) = (shown(unknown), list(names));
            let message = format!("found columns of `{unknown}`; the scene's {kind} names are: {known}");
            return Err(of_titles(message));
        }
    }
    let bodies: Vec<_> = free.iter().filter_map(|name| of_body(name)).collect();
    let motions: Vec<_> = joint_names.iter().filter_map(|name| of_joint(name)).collect();
    for (joint, motion) in joints.iter().zip(&motions) {
        let found = [&motion.q, &motion.v].map(|rows| rows.first().map_or(0, Vec::len));
        let expected = [joint.q.len(), joint.v.len()];
        if found != expected {
            let message = format!(
                "joint `{}`: found {} columns of q and {} of v; a {} joint has {} and {}",
                shown(&joint.name),
                found[0],
                found[1],
                joint.kind.name(),
                expected[0],
                expected[1]
            );
            return Err(of_titles(message));
        }
    }
    let bristles = bristles(table, model)?;
    let state = |row: usize| {
        let fault = |(name, length): (&str, f64)| Fault {
            row: Some(row),
            message: format!("the quaternion of `{}` has length {length}; it must be 1", shown(name)),
        };
        let mut out = State::of_bodies(Vec::with_capacity(bodies.len()));
        for body in &bodies {
            out.bodies.push(unit(&body.states[row]).map_err(|length| fault((&body.name, length)))?);
        }
        let (mut q, mut v) = (Vec::new(), Vec::new());
        for (joint, motion) in joints.iter().zip(&motions) {
            let first = q.len();
            q.extend_from_slice(&motion.q[row]);
            v.extend_from_slice(&motion.v[row]);
            if matches!(joint.kind, JointKind::Ball | JointKind::Free) {
                normalize(&mut q[first..first + 4]).map_err(|length| fault((&joint.name, length)))?;
            }
        }
        out.joints = model.mechanism().state(q, v);
        out.bristles.extend(bristles.iter().map(|motion| motion.deflections[row]));
        Ok(model.completed(out))
    };
    (0..table.times.len()).map(state).collect()
}

/// The bristles of a model in a table, in the order of a state; none where the table has none of the model's.
fn bristles<'t>(table: &'t TrajectoryTable, model: &Model) -> Result<Vec<&'t BristleMotion>, Fault> {
    let names = bristle_names(model);
    if table.bristles.is_empty() {
        return Ok(Vec::new());
    }
    let of_pair = |name: &String| {
        let found = table.bristles.iter().find(|bristles| bristles.pair == *name);
        found
            .ok_or_else(|| of_titles(format!("the columns of the bristles of `{}` are missing", shown(name))))
    };
    names.iter().map(of_pair).collect()
}

/// A state with a quaternion of unit length; its length if that is no rounding error.
pub(in crate::io) fn unit(state: &BodyState) -> Result<BodyState, f64> {
    let mut state = *state;
    let q = &mut state.orientation;
    let mut numbers = [q.w, q.v.x, q.v.y, q.v.z];
    normalize(&mut numbers)?;
    (q.w, q.v) = (numbers[0], nalgebra::Vector3::new(numbers[1], numbers[2], numbers[3]));
    Ok(state)
}

/// Brings a quaternion to unit length, unless it has it but for rounding; its length if it is far from it.
pub(in crate::io) fn normalize(q: &mut [f64]) -> Result<(), f64> {
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    let error = (length - 1.0).abs();
    // A table has finite numbers alone, whose squares may overflow.
    if error > LENGTH_ERROR {
        return Err(length);
    }
    // Numbers that were written in full come back to the bit.
    if error > 8.0 * f64::EPSILON {
        q.iter_mut().for_each(|x| *x /= length);
    }
    Ok(())
}
