//! The contact query as the model sees it.

use nalgebra::{Matrix6, Vector3, Vector6};

use crate::contact::{Collider, ContactGeometry, ContactSettings};
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity};

/// Two geometries, with the poses and velocities of their frames in W.
pub struct ContactPair<'a, T> {
    pub a: &'a Collider<T>,
    pub x_wa: RigidTransform<T>,
    pub v_wa: SpatialVelocity<T>,
    pub b: &'a Collider<T>,
    pub x_wb: RigidTransform<T>,
    pub v_wb: SpatialVelocity<T>,
}

pub struct ContactPatch<T> {
    pub wrench_on_a: SpatialForce<T>,
    pub area: T,
    pub centroid: Vector3<T>,
    pub faces: usize,
    pub max_pressure: f64,
}

pub struct ContactJacobian {
    pub by_pose_a: Matrix6<f64>,
    pub by_pose_b: Matrix6<f64>,
    pub by_velocity_a: Matrix6<f64>,
    pub by_velocity_b: Matrix6<f64>,
    pub by_modulus_a: Vector6<f64>,
    pub by_modulus_b: Vector6<f64>,
    pub by_dissipation: Vector6<f64>,
    pub by_friction: Vector6<f64>,
}

#[derive(Debug, Default)]
pub struct Workspace;

pub fn contact<T: Scalar>(
    _: &ContactPair<T>,
    _: &ContactSettings,
    _: &mut Workspace,
) -> Option<ContactPatch<T>> {
    None
}

pub fn contact_lifted<T: Scalar>(
    pair: &ContactPair<T>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> Option<ContactPatch<T>> {
    contact(pair, settings, workspace)
}

pub fn contact_jacobian(
    _: &ContactPair<f64>,
    _: &ContactSettings,
    _: &mut Workspace,
) -> Option<(ContactPatch<f64>, ContactJacobian)> {
    None
}

pub fn contact_energy(_: &ContactPair<f64>) -> f64 {
    0.0
}

/// Why two geometries cannot be in contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContactError {
    /// Both are rigid.
    #[error(
        "both geometries are rigid, so there is no pressure between them; \
         give one of them a material with a hydroelastic modulus instead of `rigid = true`"
    )]
    RigidRigid,
    /// Both are half-spaces.
    #[error("both geometries are half-spaces, whose overlap is unbounded; make one of them a finite shape")]
    HalfSpaces,
}

pub fn check_pair(a: &ContactGeometry, b: &ContactGeometry) -> Result<(), ContactError> {
    if a.is_half_space() && b.is_half_space() {
        Err(ContactError::HalfSpaces)
    } else if a.is_rigid() && b.is_rigid() {
        Err(ContactError::RigidRigid)
    } else {
        Ok(())
    }
}
