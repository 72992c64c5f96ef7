//! From what a file says a quantity of a motion is of to the quantity.

use std::ops::Range;

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::body_tables::PoseFields;
use crate::io::scene::named::named;
use crate::io::scene::quantity_schema::{BodyPairTable, CoordinateTable, OrientationTable, SeenBodyTable};
use crate::multibody::Model;
use crate::multibody::tree::Joint;
use crate::rollout::Quantity;

/// What a quantity is of, and the quantity of such.
pub(in crate::io) enum Of<'t> {
    Actuator(&'t str),
    /// A coordinate of a joint, and where the joint's own are among all.
    Coordinate(&'t CoordinateTable, fn(&Joint) -> Range<usize>, fn(usize) -> Quantity),
    Body(&'t SeenBodyTable, OfBody),
    Target(&'t OrientationTable),
    Contact(&'t BodyPairTable, fn(usize, usize) -> Quantity),
}

/// The quantity of a body that is seen from another, or from W.
pub(in crate::io) type OfBody = fn(usize, Option<usize>) -> Quantity;
pub(in crate::io) const POSITION: OfBody = |body, relative_to| Quantity::Position { body, relative_to };
pub(in crate::io) const VELOCITY: OfBody = |body, relative_to| Quantity::Velocity { body, relative_to };
pub(in crate::io) const ANGULAR_VELOCITY: OfBody =
    |body, relative_to| Quantity::AngularVelocity { body, relative_to };

impl<'t> Of<'t> {
    pub fn body(t: &'t Option<SeenBodyTable>, made: OfBody) -> Option<Self> {
        t.as_ref().map(|t| Self::Body(t, made))
    }

    pub fn contact(t: &'t Option<BodyPairTable>, made: fn(usize, usize) -> Quantity) -> Option<Self> {
        t.as_ref().map(|t| Self::Contact(t, made))
    }

    /// The quantity, and in words what it is of.
    pub fn read(&self, model: &Model, field: &FieldPath) -> Result<(String, Quantity), Problem> {
        Ok(match self {
            Self::Actuator(name) => {
                let names = model.actuators.iter().map(|a| a.name.as_str());
                let index = named(names, "actuator", name, field)?;
                ((*name).to_owned(), Quantity::Control { index })
            }
            Self::Coordinate(t, range, make) => (t.joint.clone(), make(coordinate(t, model, *range, field)?)),
            Self::Body(t, make) => (
                t.body.clone(),
                make(body(model, &t.body, &field.key("body"))?, other(model, &t.relative_to, field)?),
            ),
            Self::Target(t) => {
                let body = body(model, &t.body, &field.key("body"))?;
                let relative_to = other(model, &t.relative_to, field)?;
                let fields = PoseFields::of_orientation(t.quaternion_wxyz, t.rpy, t.rotation_matrix);
                let (target, _) = fields.read(field)?;
                (t.body.clone(), Quantity::Orientation { body, relative_to, target })
            }
            Self::Contact(t, make) => {
                let (on, from) = contact(model, t, field)?;
                (format!("{} from {}", t.on, t.from), make(on, from))
            }
        })
    }
}

/// The body with a name.
pub(in crate::io) fn body(model: &Model, name: &str, field: &FieldPath) -> Result<usize, Problem> {
    named(model.bodies.iter().map(|b| b.name.as_str()), "body", name, field)
}

/// The body that something is seen from, `relative_to`.
pub(in crate::io) fn other(
    model: &Model,
    name: &Option<String>,
    field: &FieldPath,
) -> Result<Option<usize>, Problem> {
    name.as_ref().map(|name| body(model, name, &field.key("relative_to"))).transpose()
}

/// The bodies `on` and `from`.
pub(in crate::io) fn contact(
    model: &Model,
    t: &BodyPairTable,
    field: &FieldPath,
) -> Result<(usize, usize), Problem> {
    Ok((body(model, &t.on, &field.key("on"))?, body(model, &t.from, &field.key("from"))?))
}

/// The index of a joint's coordinate among those of all joints.
fn coordinate(
    of: &CoordinateTable,
    model: &Model,
    range: fn(&Joint) -> Range<usize>,
    field: &FieldPath,
) -> Result<usize, Problem> {
    let joints = model.mechanism.joints();
    let joint =
        named(joints.iter().map(|j| j.name.as_str()), "joint that moves", &of.joint, &field.key("joint"))?;
    if let Some(follows) = &joints[joint].follows {
        let message = format!(
            "found `{}`, which follows joint `{}`: name that one",
            of.joint, joints[follows.joint].name
        );
        return Err(Problem::new(field.key("joint"), message));
    }
    let range = range(&joints[joint]);
    if of.coordinate >= range.len() {
        let message =
            format!("found {}; joint `{}` has {}, counted from 0", of.coordinate, of.joint, range.len());
        return Err(Problem::new(field.key("coordinate"), message));
    }
    Ok(range.start + of.coordinate)
}
