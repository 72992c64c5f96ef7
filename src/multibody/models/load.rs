//! Loads on bodies: forces at points and torques, in the axes of the world or of the body.

use nalgebra::{Matrix3, Vector3};

use crate::scalar::{Scalar, lift_vector};
use crate::spatial::SpatialForce;

/// The axes that the direction of a load is given in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadFrame {
    /// Those of W: the direction stays as the body turns.
    #[default]
    World,
    /// Those of the body: the direction turns with it.
    Body,
}

/// What a load is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadKind {
    /// A force at a point of the body, given in its frame (m); its size is in N.
    Force {
        /// Where it acts, in the body's frame.
        point: Vector3<f64>,
    },
    /// A torque; its size is in N m.
    Torque,
}

/// A force or a torque on a free body along a direction, whose size is what an actuator is commanded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyLoad {
    /// The body in [`Model::bodies`](crate::multibody::Model::bodies).
    pub body: usize,
    /// What it is.
    pub kind: LoadKind,
    /// Its direction; the size is multiplied by it, whatever its length.
    pub direction: Vector3<f64>,
    /// The axes of the direction.
    pub frame: LoadFrame,
}

fn is_finite(v: &Vector3<f64>) -> bool {
    v.iter().all(|x| x.is_finite())
}

impl BodyLoad {
    /// What is wrong with it, if anything.
    pub(super) fn problem(&self) -> Option<&'static str> {
        self.kind
            .problem()
            .or_else(|| (!is_finite(&self.direction)).then_some("has a direction that is not finite"))
    }
}

impl LoadKind {
    /// What is wrong with it, if anything.
    pub(super) fn problem(&self) -> Option<&'static str> {
        match self {
            Self::Force { point } if !is_finite(point) => Some("has a point that is not finite"),
            Self::Force { .. } | Self::Torque => None,
        }
    }

    /// Its name in a scene file.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Force { .. } => "force",
            Self::Torque => "torque",
        }
    }

    /// The force about the body's origin and in W of a load of this kind with a value in N or N m along the axes of a frame,
    /// at a rotation of the body.
    pub(in crate::multibody) fn force<T: Scalar>(
        &self,
        frame: LoadFrame,
        rotation: &Matrix3<T>,
        value: &Vector3<T>,
    ) -> SpatialForce<T> {
        let push = match frame {
            LoadFrame::World => *value,
            LoadFrame::Body => rotation * value,
        };
        match self {
            Self::Torque => SpatialForce::new(push, Vector3::from_element(T::from(0.0))),
            Self::Force { point } => {
                SpatialForce::new((rotation * lift_vector::<T>(point)).cross(&push), push)
            }
        }
    }

    /// The derivatives of [`Self::force`] with respect to turns of the body about the axes of W.
    pub(in crate::multibody) fn force_by_turns(
        &self,
        frame: LoadFrame,
        rotation: &Matrix3<f64>,
        value: &Vector3<f64>,
    ) -> [SpatialForce; 3] {
        let turns = frame == LoadFrame::Body;
        let push = if turns { rotation * value } else { *value };
        std::array::from_fn(|axis| {
            let turn = Vector3::ith(axis, 1.0);
            let change = if turns { turn.cross(&push) } else { Vector3::zeros() };
            match self {
                Self::Torque => SpatialForce::new(change, Vector3::zeros()),
                Self::Force { point } => {
                    let arm = rotation * point;
                    SpatialForce::new(turn.cross(&arm).cross(&push) + arm.cross(&change), change)
                }
            }
        })
    }
}
