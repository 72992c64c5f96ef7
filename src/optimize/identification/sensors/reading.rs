//! What one sample of a sensor says, or a model: a vector or an orientation, along axes of the world or of the sensor.

use nalgebra::Vector3;

use super::kind::QuantityKind;
use crate::rollout::{Moment, Quantity, Reader};
use crate::scalar::Scalar;
use crate::spatial::{Quaternion, rotation_between, rotation_exponential};

/// A value of what a channel measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reading<T> {
    /// A vector, or in its first coordinate a number.
    Vector(Vector3<T>),
    Rotation(Quaternion<T>),
}

/// Where a sensor is: its frame in the world. What it measures along its own axes is in the world turned by a rotation
/// vector, in rad, and positions are then moved by where its origin is, in m.
#[derive(Clone, Copy, Debug)]
pub(super) struct SensorPose<T> {
    pub position: Vector3<T>,
    pub rotation: Vector3<T>,
}

impl<T: Scalar> Reading<T> {
    /// What a model says of each channel at a state, and at the start of the step that led to it if one did: the sum of its
    /// quantities.
    pub fn of_channels(
        channels: &[Vec<Quantity>],
        at: &Moment<T>,
        step: Option<&Moment<T>>,
        reader: &mut Reader<T>,
    ) -> Vec<Self> {
        reader.renew();
        let value = |quantity: &Quantity, reader: &mut Reader<T>| match (*quantity, step) {
            (Quantity::StepForce { .. } | Quantity::StepTorque { .. }, Some(step)) => {
                quantity.value(step, reader)
            }
            (Quantity::StepForce { on, from }, None) => {
                Quantity::ContactForce { on, from, expressed_in: None }.value(at, reader)
            }
            (Quantity::StepTorque { on, from }, None) => {
                Quantity::ContactTorque { on, from }.value(at, reader)
            }
            _ => quantity.value(at, reader),
        };
        let of_one = |quantities: &Vec<Quantity>| match quantities[..] {
            [Quantity::Orientation { body, relative_to, .. }] => {
                Self::Rotation(reader.orientation(at, body, relative_to))
            }
            _ => Self::Vector(quantities.iter().map(|quantity| value(quantity, reader)).sum()),
        };
        channels.iter().map(of_one).collect()
    }

    fn vector(&self) -> Vector3<T> {
        match self {
            Self::Vector(vector) => *vector,
            Self::Rotation(quaternion) => quaternion.v,
        }
    }

    /// How far it is from what was measured of the same quantity, in the first [`QuantityKind::dimension`] numbers; of
    /// orientations the rotation vector in W from the measured one, at most half a turn, where it jumps.
    pub fn deviation(&self, measured: &Self) -> [T; 3] {
        match (self, measured) {
            (Self::Rotation(x), Self::Rotation(measured)) => rotation_between(measured, x).into(),
            (x, measured) => (x.vector() - measured.vector()).into(),
        }
    }

    /// A constant.
    pub fn lift(reading: &Reading<f64>) -> Self {
        match reading {
            Reading::Vector(vector) => Self::Vector(vector.map(T::from)),
            Reading::Rotation(quaternion) => Self::Rotation(Quaternion::lift(quaternion)),
        }
    }

    /// Without its derivatives.
    pub fn real(&self) -> Reading<f64> {
        match self {
            Self::Vector(vector) => Reading::Vector(vector.map(|x| x.real())),
            Self::Rotation(quaternion) => Reading::Rotation(quaternion.real()),
        }
    }

    /// What was measured along a sensor's axes, along those of the world.
    pub fn in_world(self, kind: QuantityKind, pose: &SensorPose<T>) -> Self {
        match self {
            _ if !kind.is_of_frame() => self,
            Self::Rotation(quaternion) => Self::Rotation(quaternion.rotated_by(&pose.rotation)),
            Self::Vector(vector) => {
                let turned = rotation_exponential(&pose.rotation) * vector;
                Self::Vector(if kind == QuantityKind::Position { turned + pose.position } else { turned })
            }
        }
    }
}

/// How far the length of a recorded quaternion may be from 1; it is normalized.
const QUATERNION_TOLERANCE: f64 = 1e-2;

impl Reading<f64> {
    /// What the columns of a quantity say, in SI units.
    ///
    /// # Errors
    /// A quaternion that is far from a unit one: its length.
    pub fn measured(kind: QuantityKind, values: &[f64]) -> Result<Self, f64> {
        let at = |k: usize| values.get(k).copied().unwrap_or(0.0);
        if kind != QuantityKind::Orientation {
            return Ok(Self::Vector(Vector3::new(at(0), at(1), at(2))));
        }
        let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
        match (length - 1.0).abs() <= QUATERNION_TOLERANCE {
            true => Ok(Self::Rotation(Quaternion::from_wxyz(at(0), at(1), at(2), at(3)))),
            false => Err(length),
        }
    }
}
