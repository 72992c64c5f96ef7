//! Poses as SDF files write them.

use super::text::{at, numbers};
use crate::io::robot::values::child;
use crate::spatial::{Quaternion, RigidTransform, rotation_from_rpy};
use crate::xml::{Element, Problem};

/// A pose as it is written.
#[derive(Clone, Debug)]
pub(super) struct Pose {
    /// The line of the pose, or of the element that has none.
    pub line: usize,
    /// The frame that it is given in, if it is named.
    pub relative_to: Option<String>,
    /// The pose there.
    pub x: RigidTransform,
}

/// The pose of an element; none where it has none.
pub(super) fn pose(element: &Element) -> Result<Pose, Problem> {
    let Some(pose) = child(element, "pose").map_err(at(element))? else {
        return Ok(Pose { line: element.line, relative_to: None, x: RigidTransform::identity() });
    };
    let wrong = |message: String| (Some(pose.line), message);
    if pose.attribute("frame").is_some_and(|frame| !frame.is_empty()) {
        return Err(wrong("`pose` has the attribute frame; since version 1.7 it is relative_to".to_owned()));
    }
    let degrees = pose.attribute("degrees").is_some_and(|value| matches!(value.trim(), "true" | "1"));
    let x = match pose.attribute("rotation_format").unwrap_or("euler_rpy") {
        _ if pose.text.trim().is_empty() => RigidTransform::identity(),
        "euler_rpy" => {
            let [x, y, z, angles @ ..]: [f64; 6] = numbers(pose)?;
            let [roll, pitch, yaw] = angles.map(|angle| if degrees { angle.to_radians() } else { angle });
            RigidTransform::new(rotation_from_rpy(roll, pitch, yaw), [x, y, z].into())
        }
        "quat_xyzw" => {
            let [x, y, z, qx, qy, qz, qw]: [f64; 7] = numbers(pose)?;
            let length = (qx * qx + qy * qy + qz * qz + qw * qw).sqrt();
            if !(length > 1e-6 && length.is_finite()) {
                return Err(wrong(format!("`pose` has a quaternion of length {length}; it must not be 0")));
            }
            let rotation = Quaternion::from_wxyz(qw, qx, qy, qz).to_matrix();
            RigidTransform::new(rotation, [x, y, z].into())
        }
        other => {
            let message =
                format!("`pose` has rotation_format = {other:?}; it must be euler_rpy or quat_xyzw");
            return Err(wrong(message));
        }
    };
    let relative_to = pose.attribute("relative_to").filter(|name| !name.is_empty()).map(str::to_owned);
    Ok(Pose { line: pose.line, relative_to, x })
}
