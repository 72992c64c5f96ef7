//! States of mechanisms, as JSON.

use std::path::Path;

use serde::Deserialize;

use crate::input_file;
use crate::io::file_error::FileError;
use crate::multibody::tree::{Joint, JointKind, JointState, Mechanism};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateFile {
    /// Names of the moving joints in the order of the numbers; the mechanism's without it.
    joints: Option<Vec<String>>,
    q: Vec<f64>,
    v: Option<Vec<f64>>,
    vdot: Option<Vec<f64>>,
}

/// A state of a mechanism and an acceleration.
#[derive(Clone, Debug, PartialEq)]
pub struct JointStateFile {
    /// Configuration and velocity.
    pub state: JointState,
    /// Acceleration: rates of the velocity coordinates.
    pub vdot: Vec<f64>,
}

impl JointStateFile {
    /// Reads a JSON file with `q`, `v` and `vdot` for the joints of a mechanism, in their order or
    /// in that of a list `joints` of their names. `v` and `vdot` are zero if they are absent.
    ///
    /// # Errors
    /// When the file cannot be read, is not such a file, or does not fit the mechanism.
    pub fn load(path: &Path, mechanism: &Mechanism) -> Result<Self, FileError> {
        let text = input_file::read_text(path)
            .map_err(|source| FileError::Read { path: path.to_owned(), source })?;
        let file: StateFile = serde_json::from_str(&text)
            .map_err(|source| FileError::Json { path: path.to_owned(), source })?;
        let wrong = |(field, message)| FileError::Field { path: path.to_owned(), field, message };
        let order = order(mechanism, file.joints.as_deref()).map_err(wrong)?;
        let of_velocity = |field, numbers: Option<Vec<f64>>| {
            let numbers = numbers.unwrap_or_else(|| vec![0.0; mechanism.velocity_dimension()]);
            sorted(mechanism, &order, field, &numbers, |j| j.v.clone())
        };
        let mut q = sorted(mechanism, &order, "q", &file.q, |j| j.q.clone()).map_err(wrong)?;
        for joint in mechanism.joints_with_coordinates() {
            if matches!(joint.kind, JointKind::Ball | JointKind::Free) {
                normalize(&joint.name, &mut q[joint.q.start..joint.q.start + 4]).map_err(wrong)?;
            }
        }
        let v = of_velocity("v", file.v).map_err(wrong)?;
        let vdot = of_velocity("vdot", file.vdot).map_err(wrong)?;
        Ok(Self { state: mechanism.state(q, v), vdot })
    }
}

/// A field and what is wrong with it.
type Problem = (String, String);

/// The indices of the mechanism's joints in the order of a file.
fn order(mechanism: &Mechanism, names: Option<&[String]>) -> Result<Vec<usize>, Problem> {
    let own = || (0..mechanism.joints().len()).filter(|&i| mechanism.joints()[i].follows.is_none());
    let Some(names) = names else { return Ok(own().collect()) };
    let count = own().count();
    let mut order = Vec::with_capacity(count);
    for (i, name) in names.iter().enumerate() {
        let known = || mechanism.joints_with_coordinates().map(|j| j.name.as_str()).collect::<Vec<_>>();
        match own().find(|&i| mechanism.joints()[i].name == *name) {
            Some(joint) if !order.contains(&joint) => order.push(joint),
            Some(_) => return Err((format!("joints[{i}]"), format!("`{name}` is there twice"))),
            None => {
                let message =
                    format!("found `{name}`; the joints that have coordinates are {}", known().join(", "));
                return Err((format!("joints[{i}]"), message));
            }
        }
    }
    if order.len() != count {
        return Err(("joints".to_owned(), format!("found {} names; there are {count} joints", order.len())));
    }
    Ok(order)
}

/// Brings numbers from the order of a file into that of the mechanism.
fn sorted(
    mechanism: &Mechanism,
    order: &[usize],
    field: &str,
    numbers: &[f64],
    range: impl Fn(&Joint) -> std::ops::Range<usize>,
) -> Result<Vec<f64>, Problem> {
    let count: usize = mechanism.joints().iter().map(|j| range(j).len()).sum();
    if numbers.len() != count {
        let message = format!("found {} numbers; the joints have {count}", numbers.len());
        return Err((field.to_owned(), message));
    }
    let mut out = vec![0.0; count];
    let mut at = 0;
    for &joint in order {
        let range = range(&mechanism.joints()[joint]);
        out[range.clone()].copy_from_slice(&numbers[at..at + range.len()]);
        at += range.len();
    }
    Ok(out)
}

/// Brings a quaternion to unit length.
fn normalize(joint: &str, q: &mut [f64]) -> Result<(), Problem> {
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    if !(norm > 1e-6 && norm.is_finite()) {
        let message = format!("the quaternion of joint `{joint}` is {q:?}; it must not be zero");
        return Err(("q".to_owned(), message));
    }
    q.iter_mut().for_each(|x| *x /= norm);
    Ok(())
}
