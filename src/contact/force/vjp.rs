//! The vector–Jacobian product of a contact in the world.

use nalgebra::{Vector3, Vector6};

use crate::contact::force::jvp::contact_jacobian;
use crate::contact::force::local_vjp::{LocalCotangent, local_vjp};
use crate::contact::force::rigid::{RigidStart, rigid_local_vjp};
use crate::contact::pair::combination::combination_derivatives;
use crate::contact::pair::material::Material;
use crate::contact::pair::query::{ContactError, ContactPair, Roles};
use crate::contact::settings::ContactSettings;
use crate::contact::surface::search::Elements;
use crate::contact::surface::shape_vjp::ShapeTerms;
use crate::contact::surface::workspace::Workspace;
use crate::spatial::SpatialForce;

/// The wrench between two bodies, and the derivatives of one number that depends on the wrench, with
/// respect to everything that the wrench depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactCotangent {
    /// Wrench on A about the origin of A's geometry frame, expressed in W.
    pub wrench_on_a: SpatialForce,
    /// With respect to A's pose: rotation of A about its own origin, then translation, both in W.
    pub pose_a: Vector6<f64>,
    /// With respect to A's angular velocity and the velocity of its origin, in W.
    pub velocity_a: Vector6<f64>,
    /// With respect to B's pose, likewise.
    pub pose_b: Vector6<f64>,
    /// With respect to B's velocity, likewise.
    pub velocity_b: Vector6<f64>,
    /// With respect to the parameters of A's material.
    pub material_a: Material,
    /// With respect to the parameters of B's material.
    pub material_b: Material,
}

/// Rotational and translational part, one after the other.
fn six(rotational: &Vector3<f64>, translational: &Vector3<f64>) -> Vector6<f64> {
    let (r, t) = (rotational, translational);
    Vector6::new(r.x, r.y, r.z, t.x, t.y, t.z)
}

/// The vector–Jacobian product of the contact of a pair: from the derivatives `by_wrench` of one number
/// with respect to the wrench on A about the origin of A's geometry frame (which moves along with A) to
/// those with respect to poses, velocities and materials. `None` if the bodies do not touch.
///
/// It costs as much as two to three evaluations of the wrench, several times less than
/// [`contact_jacobian`], whose conventions it shares. Where the meshes are exactly aligned, it is
/// computed from that Jacobian.
///
/// # Errors
/// For pairs that [`crate::contact::check_pair`] refuses.
pub fn contact_vjp(
    pair: &ContactPair,
    by_wrench: &SpatialForce,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> Result<Option<ContactCotangent>, ContactError> {
    contact_vjp_over(pair, by_wrench, (settings, None), workspace, None, None)
}

/// [`contact_vjp`], where `known` are the elements that the surface lies in, if it has been found
/// before. The derivatives with respect to the shapes of both geometries are added to `shape`, if it is
/// there; where meshes are exactly aligned, these are of one side. Two rigid bodies have contacts where the start of
/// their step is given (see [`rigid_wrench`](super::rigid::rigid_wrench)).
pub(crate) fn contact_vjp_over(
    pair: &ContactPair,
    by_wrench: &SpatialForce,
    (settings, start): (&ContactSettings, Option<&RigidStart>),
    workspace: &mut Workspace,
    known: Option<&[Elements]>,
    shape: Option<&mut ShapeTerms>,
) -> Result<Option<ContactCotangent>, ContactError> {
    let roles = Roles::of_step(pair)?;
    let sign = if roles.a_is_o { 1.0 } else { -1.0 };
    let p_wf = roles.x_wf.translation;
    // On O about F's origin, in W.
    let by_moment = by_wrench.rotational * sign;
    let lever = p_wf - pair.x_wa.translation;
    let by_force = (by_wrench.translational + by_wrench.rotational.cross(&lever)) * sign;
    let on_o = SpatialForce::new(by_moment, by_force);
    let by_wrench_in_f = on_o.rotated(&roles.x_wf.rotation.transpose());
    let local = match start {
        _ if !roles.are_rigid() => local_vjp(&roles, &by_wrench_in_f, settings, workspace, known, shape),
        Some(start) => rigid_local_vjp(&roles, &by_wrench_in_f, (settings, start), workspace, shape)?,
        None => return Err(ContactError::RigidRigid),
    };
    if local.aligned {
        return by_jacobian(pair, by_wrench, settings, workspace);
    }
    let Some(wrench_on_a) = local.integral.wrench_on_a(&roles, &pair.x_wa.translation) else {
        return Ok(None);
    };
    let LocalCotangent { integral, rotation, translation, angular_velocity, velocity, .. } = &local;
    let r = &roles.x_wf.rotation;
    let wrench = integral.wrench_on_o.rotated(r);
    let (by_turn, by_shift) = (r * rotation, r * translation);
    let (by_spin, by_velocity) = (r * angular_velocity, r * velocity);
    let ((x_wo, v_wo), v_wf) = if roles.a_is_o {
        ((&pair.x_wa, &pair.v_wa), &pair.v_wb)
    } else {
        ((&pair.x_wb, &pair.v_wb), &pair.v_wa)
    };
    // O's motion relative to F at F's origin, and how its velocity there follows the positions.
    let arm = p_wf - x_wo.translation;
    let by_arm = by_velocity.cross(&v_wo.rotational);
    let relative = v_wo.shifted(&arm) - *v_wf;
    // Where A is O the moment's lever to F's origin changes too.
    let by_lever =
        if roles.a_is_o { wrench.translational.cross(&by_wrench.rotational) } else { Vector3::zeros() };
    let pose_o = six(&(by_turn + arm.cross(&by_shift)), &(by_shift - by_arm - by_lever));
    // All that is expressed in F turns with it: the wrench, and the relative velocity.
    let turning = wrench.rotational.cross(&on_o.rotational) + wrench.translational.cross(&on_o.translational)
        - relative.rotational.cross(&by_spin)
        - relative.translational.cross(&by_velocity);
    let pose_f = six(&(turning - by_turn), &(by_arm + by_lever - by_shift));
    let velocity_o = six(&(by_spin + arm.cross(&by_velocity)), &by_velocity);
    let velocity_f = -six(&by_spin, &by_velocity);
    let [material_a, material_b] = by_materials(pair, &roles, &local, settings);
    let (pose_a, velocity_a, pose_b, velocity_b) = if roles.a_is_o {
        (pose_o, velocity_o, pose_f, velocity_f)
    } else {
        (pose_f, velocity_f, pose_o, velocity_o)
    };
    Ok(Some(ContactCotangent { wrench_on_a, pose_a, velocity_a, pose_b, velocity_b, material_a, material_b }))
}

/// The derivatives with respect to both materials.
fn by_materials(
    pair: &ContactPair,
    roles: &Roles<f64>,
    local: &LocalCotangent,
    settings: &ContactSettings,
) -> [Material; 2] {
    let combination = combination_derivatives(pair.a, pair.b, settings);
    let [log_o, log_f] = local.log_moduli;
    let logs = if roles.a_is_o { [log_o, log_f] } else { [log_f, log_o] };
    [0, 1].map(|body| {
        let (own, by) = ([pair.a, pair.b][body], &combination[body]);
        let through_pressure =
            if own.geometry.is_rigid() { 0.0 } else { logs[body] / own.material.hydroelastic_modulus };
        let local = &local.parameters;
        let mut by = local.with_modulus(local.dissipation).zip(by, |local, by| local * by);
        by.hydroelastic_modulus += through_pressure;
        by
    })
}

/// The same by way of the Jacobian, whose derivatives are one-sided where meshes are exactly aligned.
fn by_jacobian(
    pair: &ContactPair,
    by_wrench: &SpatialForce,
    settings: &ContactSettings,
    workspace: &mut Workspace,
) -> Result<Option<ContactCotangent>, ContactError> {
    let Some((patch, jacobian)) = contact_jacobian(pair, settings, workspace)? else { return Ok(None) };
    let by = six(&by_wrench.rotational, &by_wrench.translational);
    let combination = combination_derivatives(pair.a, pair.b, settings);
    // The modulus' part in the combined dissipation is in the Jacobian already.
    let material = |of_own: &Material, by_modulus: &Vector6<f64>| Material {
        hydroelastic_modulus: by_modulus.dot(&by),
        ..jacobian.by_parameters.with_modulus(*by_modulus).zip(of_own, |by_pair, own| by_pair.dot(&by) * own)
    };
    Ok(Some(ContactCotangent {
        wrench_on_a: patch.wrench_on_a,
        pose_a: jacobian.by_pose_a.tr_mul(&by),
        velocity_a: jacobian.by_velocity_a.tr_mul(&by),
        pose_b: jacobian.by_pose_b.tr_mul(&by),
        velocity_b: jacobian.by_velocity_b.tr_mul(&by),
        material_a: material(&combination[0], &jacobian.by_modulus_a),
        material_b: material(&combination[1], &jacobian.by_modulus_b),
    }))
}
