//! Checks of the numbers of a mechanism.

use super::description::{BodyDescription, JointDescription, Mimic};
use super::forward_dynamics::weakest_joint;
use super::joint::JointKind;
use super::mechanism::Mechanism;
use crate::multibody::model_error::ModelError;
use crate::spatial::MassPropertiesError;

/// How far the rotation of a joint's frame may be from orthonormal.
const ROTATION_TOLERANCE: f64 = 1e-6;

/// Checks that no body has a negative mass or inertia. Parts that are fixed together may each
/// lack what the whole has.
pub(super) fn check_masses(bodies: &[BodyDescription]) -> Result<(), ModelError> {
    for body in bodies {
        let Some(mass) = &body.mass else { continue };
        let wrong = |source| Err(ModelError::Mass { body: body.name.clone(), source });
        if !(mass.mass >= 0.0 && mass.mass.is_finite()) {
            return wrong(MassPropertiesError::Mass(mass.mass));
        }
        let numbers = mass.inertia.iter().chain(&mass.center_of_mass);
        if !numbers.clone().all(|x| x.is_finite()) {
            return wrong(MassPropertiesError::Inertia([f64::NAN; 3]));
        }
        let moments = mass.inertia.symmetric_eigenvalues();
        if mass.mass == 0.0 && moments.amax() > 0.0 {
            return wrong(MassPropertiesError::Mass(0.0));
        }
        if moments.min() < -1e-12 * moments.amax() {
            return wrong(MassPropertiesError::Inertia([moments[0], moments[1], moments[2]]));
        }
    }
    Ok(())
}

/// Checks the numbers of all joints; axes come back at unit length.
pub(super) fn check_joints(mut joints: Vec<JointDescription>) -> Result<Vec<JointDescription>, ModelError> {
    for joint in &mut joints {
        check_joint(joint)?;
        if let JointKind::Revolute { axis } | JointKind::Prismatic { axis } = &mut joint.kind {
            // Axes that are given at unit length stay as they are, to the last bit.
            let norm = axis.norm();
            if (norm - 1.0).abs() > 4.0 * f64::EPSILON {
                *axis /= norm;
            }
        }
    }
    Ok(joints)
}

fn check_joint(joint: &JointDescription) -> Result<(), ModelError> {
    let value = |field, found: &dyn std::fmt::Debug, allowed| {
        let found = format!("{found:?}");
        Err(ModelError::JointValue { joint: joint.name.clone(), field, found, allowed })
    };
    let one = joint.kind.is_single();
    if let JointKind::Revolute { axis } | JointKind::Prismatic { axis } = &joint.kind {
        let norm = axis.norm();
        if !(norm.is_finite() && norm > 1e-12) {
            return value("its axis", &axis.as_slice(), "finite and not zero");
        }
    }
    for (position, rotation, x) in [
        ("the position of its frame F", "the rotation of its frame F", &joint.x_pf),
        ("the position of its child", "the rotation of its child", &joint.x_mc),
    ] {
        if !x.translation.iter().all(|c| c.is_finite()) {
            return value(position, &x.translation.as_slice(), "finite");
        }
        let off = (x.rotation * x.rotation.transpose() - nalgebra::Matrix3::identity()).amax();
        if off.is_nan() || off > ROTATION_TOLERANCE || x.rotation.determinant() < 0.0 {
            return value(rotation, &x.rotation.as_slice(), "a rotation");
        }
    }
    let limits = &joint.limits;
    if limits.lower.is_nan() || limits.upper.is_nan() {
        return value("its range of positions", &[limits.lower, limits.upper], "two numbers");
    }
    if limits.lower > limits.upper {
        let (lower, upper) = (limits.lower, limits.upper);
        return Err(ModelError::LimitsReversed { joint: joint.name.clone(), lower, upper });
    }
    if !one && (limits.lower.is_finite() || limits.upper.is_finite()) {
        let allowed = "absent: only revolute and prismatic joints have limits of position";
        return value("its range of positions", &[limits.lower, limits.upper], allowed);
    }
    for (field, x) in [("its velocity limit", limits.velocity), ("its effort limit", limits.effort)] {
        if x.is_nan() || x < 0.0 {
            return value(field, &x, "at least 0");
        }
    }
    for (field, x) in [("its damping", joint.damping), ("its rotor inertia", joint.rotor_inertia)] {
        if !(x >= 0.0 && x.is_finite()) {
            return value(field, &x, "finite and at least 0");
        }
    }
    if !(joint.friction >= 0.0 && joint.friction.is_finite()) {
        return value("its friction", &joint.friction, "finite and at least 0");
    }
    if !(joint.stiction_velocity > 0.0 && joint.stiction_velocity.is_finite()) {
        return value("its stiction velocity", &joint.stiction_velocity, "finite and positive");
    }
    if !one && joint.friction != 0.0 {
        return value("its kind", &joint.kind.name(), "revolute or prismatic, as it has friction");
    }
    if let Some(Mimic { multiplier, offset, .. }) = &joint.mimic {
        if !one {
            return value("its kind", &joint.kind.name(), "revolute or prismatic, as it mimics another");
        }
        if !multiplier.is_finite() || *multiplier == 0.0 {
            return value("its multiplier", multiplier, "finite and not 0");
        }
        if !offset.is_finite() {
            return value("its offset", offset, "finite");
        }
    }
    match &joint.spring {
        Some(_) if !one => value("its kind", &joint.kind.name(), "revolute or prismatic, as it has a spring"),
        Some(s) if !(s.stiffness >= 0.0 && s.stiffness.is_finite()) => {
            value("its spring's stiffness", &s.stiffness, "finite and at least 0")
        }
        Some(s) if !s.rest.is_finite() => value("its spring's rest position", &s.rest, "finite"),
        _ => Ok(()),
    }
}

/// Checks that something resists the motion of every joint: of a point or a rod, which lack moments of inertia, its
/// place may.
pub(super) fn check_inertias(mechanism: &Mechanism) -> Result<(), ModelError> {
    match weakest_joint(mechanism) {
        Some(joint) => {
            let j = &mechanism.joints()[joint];
            let body = mechanism.bodies()[j.child].name.clone();
            Err(ModelError::ZeroInertia { joint: j.name.clone(), body })
        }
        None => Ok(()),
    }
}
