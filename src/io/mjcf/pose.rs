//! Poses as MJCF files write them.

use nalgebra::{Matrix3, Vector3};

use super::compiler::Compiler;
use super::layers::Layers;
use super::wrong;
use crate::io::file_error::FileError;
use crate::spatial::{Quaternion, RigidTransform, rotation_exponential, rotation_to};
use crate::xml::Element;

/// The ways to say how a frame is turned.
const TURNS: [&str; 5] = ["quat", "axisangle", "euler", "xyaxes", "zaxis"];

/// The pose of an element.
pub(super) fn pose(layers: &Layers, compiler: &Compiler) -> Result<RigidTransform, FileError> {
    let position = layers.numbers("pos")?.unwrap_or([0.0; 3]);
    // The nearest element that turns it does so alone.
    let turns = |element: &Element| TURNS.iter().filter(|turn| element.attribute(turn).is_some()).count();
    let Some(&element) = layers.0.iter().rev().find(|element| turns(element) > 0) else {
        return Ok(RigidTransform::from_translation(position));
    };
    if turns(element) > 1 {
        return Err(wrong(
            element,
            format!("it is turned in two ways; it may have one of {}", TURNS.join(", ")),
        ));
    }
    let own = Layers(vec![element]);
    let rotation = rotation(&own, compiler)?;
    let rotation = rotation
        .filter(|r| r.iter().all(|x| x.is_finite()))
        .ok_or_else(|| wrong(element, "its rotation has no direction; it must be finite and not zero"))?;
    Ok(RigidTransform::new(rotation, position.into()))
}

/// The rotation of an element that has one; `None` where it is not one.
fn rotation(own: &Layers, compiler: &Compiler) -> Result<Option<Matrix3<f64>>, FileError> {
    let unit = |x: f64, y: f64, z: f64| Vector3::new(x, y, z).try_normalize(1e-14);
    if let Some([w, x, y, z]) = own.numbers("quat")? {
        let length = nalgebra::Vector4::new(w, x, y, z).norm();
        return Ok(
            (length > 1e-14 && length.is_finite()).then(|| Quaternion::from_wxyz(w, x, y, z).to_matrix())
        );
    }
    if let Some([x, y, z, angle]) = own.numbers("axisangle")? {
        return Ok(unit(x, y, z).map(|axis| rotation_exponential(&(axis * compiler.angle(angle)))));
    }
    if let Some(angles) = own.numbers::<3>("euler")? {
        let mut turned = Matrix3::identity();
        for ((axis, fixed), angle) in compiler.euler.into_iter().zip(angles) {
            let turn = rotation_exponential(&(Vector3::ith(axis, 1.0) * compiler.angle(angle)));
            turned = if fixed { turn * turned } else { turned * turn };
        }
        return Ok(Some(turned));
    }
    if let Some([a, b, c, d, e, f]) = own.numbers("xyaxes")? {
        let Some(x) = unit(a, b, c) else { return Ok(None) };
        let y = Vector3::new(d, e, f);
        let y = (y - x * x.dot(&y)).try_normalize(1e-14);
        return Ok(y.map(|y| Matrix3::from_columns(&[x, y, x.cross(&y)])));
    }
    Ok(own.numbers("zaxis")?.and_then(|axis: [f64; 3]| rotation_to(&axis.into())))
}
