//! Which quantities of a model a channel of a sensor measures.

use std::collections::BTreeSet;

use super::kind::QuantityKind;
use super::settings::Channel;
use crate::multibody::{Actuator, Drive, DrivenCoordinate, Model, Motion};
use crate::optimize::error::ProblemError;
use crate::optimize::identification::{body_index, parameter_path::listed};
use crate::rollout::{Quantity, SimulationError};
use crate::spatial::Quaternion;

/// The quantities whose sum a channel measures: one, or where no other body of a contact is named one for each that the
/// body can touch.
///
/// # Errors
/// When the model does not have it.
pub(super) fn quantities(model: &Model, channel: &Channel) -> Result<Vec<Quantity>, ProblemError> {
    let Channel { quantity: kind, of: name, joint, by, .. } = channel;
    if kind.is_of_contact() {
        let on = body_index(model, name)?;
        let by = by.as_deref().map(|other| body_index(model, other)).transpose()?;
        let pairs = model.pairs.iter().map(|pair| pair.bodies).filter(|pair| pair.a == on || pair.b == on);
        let mut others: BTreeSet<usize> = pairs.map(|pair| pair.a + pair.b - on).collect();
        others.retain(|other| by.is_none_or(|by| by == *other));
        if others.is_empty() {
            let b = by.map_or("any other".to_owned(), |by| model.bodies[by].name.clone());
            return Err(SimulationError::NoContact { a: name.clone(), b }.into());
        }
        let made = |from| match kind {
            QuantityKind::ContactForce => Quantity::ContactForce { on, from, expressed_in: None },
            QuantityKind::ContactTorque => Quantity::ContactTorque { on, from },
            QuantityKind::GripForce => Quantity::GripForce { on, from },
            _ => Quantity::ContactArea { on, from },
        };
        return Ok(others.into_iter().map(made).collect());
    }
    if let Some(by) = by {
        let (found, allowed) = (format!("`{by}`"), "left out of quantities that are not of contact");
        return Err(ProblemError::Setting { field: "by", found, allowed });
    }
    let moving = || {
        let body = body_index(model, name)?;
        match model.bodies[body].motion {
            Motion::Fixed { .. } => Err(ProblemError::FixedBody { name: name.clone() }),
            _ => Ok(body),
        }
    };
    let coordinate = || {
        let joints = model.mechanism.joints();
        let single = joints.iter().filter(|joint| joint.v.len() == 1 && joint.q.len() == 1);
        let found = single.clone().find(|joint| joint.name == *name);
        let found = found.ok_or_else(|| ProblemError::NoSuchPart {
            what: "joint with one coordinate",
            name: name.clone(),
            found: listed(single.map(|joint| joint.name.as_str())),
        })?;
        Ok::<_, ProblemError>((found.q.start, found.v.start))
    };
    let relative_to = None;
    Ok(vec![match kind {
        QuantityKind::Position => Quantity::Position { body: moving()?, relative_to },
        QuantityKind::Orientation => {
            Quantity::Orientation { body: moving()?, relative_to, target: Quaternion::identity() }
        }
        QuantityKind::LinearVelocity => Quantity::Velocity { body: moving()?, relative_to },
        QuantityKind::AngularVelocity => Quantity::AngularVelocity { body: moving()?, relative_to },
        QuantityKind::JointPosition => Quantity::JointPosition { index: coordinate()?.0 },
        QuantityKind::JointVelocity => Quantity::JointVelocity { index: coordinate()?.1 },
        _ => actuator_force(model, name, joint.as_deref())?,
    }])
}

/// The force of an actuator with a name; `joint` tells which of several joints.
fn actuator_force(model: &Model, name: &str, joint: Option<&str>) -> Result<Quantity, ProblemError> {
    if model.actuators.iter().any(|a| a.name == name && a.drive == Drive::ComputedTorque) {
        let found = format!("the force of `{name}`, which has the drive of computed torque");
        let allowed = "that of another actuator: efforts of computed torque are those of a robot as a whole and not modelled one by one";
        return Err(ProblemError::Setting { field: "quantity", found, allowed });
    }
    let drives =
        |actuator: &&Actuator| actuator.body_load().is_none() && actuator.drive != Drive::ComputedTorque;
    let own = |actuator: &Actuator| actuator.name == name && drives(&actuator);
    let actuator = model.actuators.iter().position(own);
    let actuator = actuator.ok_or_else(|| ProblemError::NoSuchPart {
        what: "actuator of joints",
        name: name.to_owned(),
        found: listed(model.actuators.iter().filter(drives).map(|actuator| actuator.name.as_str())),
    })?;
    let driven = model.actuators[actuator].coordinates();
    let name_of = |at: &DrivenCoordinate| {
        let own = model.mechanism.joints().iter().find(|joint| joint.v.contains(&at.v));
        own.map_or("?", |joint| joint.name.as_str())
    };
    let at = match joint {
        Some(joint) => driven.iter().position(|at| name_of(at) == joint),
        None => (driven.len() == 1).then_some(0),
    };
    let coordinate = at.ok_or_else(|| ProblemError::NoSuchPart {
        what: "joint driven by the actuator (`joint`)",
        name: joint.unwrap_or("").to_owned(),
        found: listed(driven.iter().map(name_of)),
    })?;
    Ok(Quantity::ActuatorForce { actuator, coordinate })
}
