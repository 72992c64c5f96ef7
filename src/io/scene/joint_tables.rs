//! From the joint tables of a scene file to joints and their initial coordinates.

use nalgebra::Vector3;

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::body_tables::{PoseFields, Range, coordinate, number, quaternion, vector};
use crate::io::scene::joint_schema::{Coordinates, JointTable, JointType};
use crate::io::strict::Exactly;
use crate::multibody::ModelError;
use crate::multibody::tree::{
    JointDescription, JointKind, JointLimits, JointSpring, JointState, Mechanism, Mimic, STICTION_VELOCITY,
};
use crate::spatial::Quaternion;

/// Coordinates of a joint at the start, by its name; neutral and at rest where they are absent.
#[derive(Debug)]
pub(in crate::io) struct InitialCoordinates {
    /// Name of the joint.
    pub joint: String,
    /// Configuration.
    pub q: Option<Vec<f64>>,
    /// Velocity.
    pub v: Option<Vec<f64>>,
}

/// The joint of a body, and where it starts.
pub(in crate::io) fn joint(
    t: &JointTable,
    body: &str,
    table: &FieldPath,
) -> Result<(JointDescription, InitialCoordinates), Problem> {
    let kind = kind(t, table)?;
    let name = t.name.clone().unwrap_or_else(|| body.to_owned());
    let x_pf = PoseFields::from(t).pose(table)?;
    let q =
        t.position.as_ref().map(|x| configuration(&kind, &name, x, &table.key("position"))).transpose()?;
    let v = t.velocity.as_ref().map(|x| velocity(&kind, &name, x, &table.key("velocity"))).transpose()?;
    let description = JointDescription {
        limits: limits(t, &kind, table)?,
        damping: number(t.damping, Range::AtLeastZero, &table.key("damping"))?,
        rotor_inertia: number(t.rotor_inertia, Range::AtLeastZero, &table.key("rotor_inertia"))?,
        spring: spring(t, &kind, table)?,
        friction: friction(t.friction, &kind, &table.key("friction"))?,
        stiction_velocity: stiction_velocity(t, &kind, &table.key("stiction_velocity"))?,
        mimic: mimic(t, &kind, table)?,
        ..JointDescription::new(name.clone(), kind, t.parent.as_deref(), body, x_pf)
    };
    Ok((description, InitialCoordinates { joint: name, q, v }))
}

/// The kind of a joint with its axis.
fn kind(t: &JointTable, table: &FieldPath) -> Result<JointKind, Problem> {
    let field = table.key("axis");
    let without_axis = |kind: JointKind| match t.axis {
        None => Ok(kind),
        Some(_) => Err(Problem::new(
            field.clone(),
            format_args!("found at a {} joint, which has none; leave it out", kind.name()),
        )),
    };
    let axis = |kind: &str| {
        let axis = t.axis.ok_or_else(|| {
            Problem::new(
                field.clone(),
                format_args!("is missing; a {kind} joint needs a direction, in its frame"),
            )
        })?;
        let axis = vector(axis, Range::Finite, &field)?;
        if axis.norm() > 1e-12 {
            Ok(axis)
        } else {
            Err(Problem::new(field.clone(), format_args!("found {:?}; it must not be zero", axis.as_slice())))
        }
    };
    match t.kind {
        JointType::Fixed => without_axis(JointKind::Fixed),
        JointType::Revolute => Ok(JointKind::Revolute { axis: axis("revolute")? }),
        JointType::Prismatic => Ok(JointKind::Prismatic { axis: axis("prismatic")? }),
        JointType::Planar => without_axis(JointKind::Planar),
        JointType::Ball => without_axis(JointKind::Ball),
        JointType::Free => without_axis(JointKind::Free),
    }
}

/// Checks that a field stands at a joint with one coordinate.
fn check_single(kind: &JointKind, field: &FieldPath) -> Result<(), Problem> {
    if kind.is_single() {
        return Ok(());
    }
    Err(Problem::new(
        field.clone(),
        format_args!("found at a {} joint; only revolute and prismatic joints have it", kind.name()),
    ))
}

fn limits(t: &JointTable, kind: &JointKind, table: &FieldPath) -> Result<JointLimits, Problem> {
    let default = JointLimits::default();
    let value = |value: Option<f64>, name: &str, range, default: f64| {
        let field = table.key(name);
        value.map_or(Ok(default), |x| check_single(kind, &field).and_then(|()| number(x, range, &field)))
    };
    let limits = JointLimits {
        lower: value(t.lower, "lower", Range::Finite, default.lower)?,
        upper: value(t.upper, "upper", Range::Finite, default.upper)?,
        stiffness: value(t.stop_stiffness, "stop_stiffness", Range::Positive, default.stiffness)?,
        dissipation: value(t.stop_dissipation, "stop_dissipation", Range::AtLeastZero, default.dissipation)?,
        ..default
    };
    if limits.lower > limits.upper {
        return Err(Problem::new(
            table.key("lower"),
            format_args!("found {}, above upper = {}; it must not exceed it", limits.lower, limits.upper),
        ));
    }
    Ok(limits)
}

fn spring(t: &JointTable, kind: &JointKind, table: &FieldPath) -> Result<Option<JointSpring>, Problem> {
    let Some(spring) = &t.spring else { return Ok(None) };
    let field = table.key("spring");
    check_single(kind, &field)?;
    let stiffness = number(spring.stiffness, Range::AtLeastZero, &field.key("stiffness"))?;
    let rest = number(spring.rest, Range::Finite, &field.key("rest"))?;
    Ok(Some(JointSpring { stiffness, rest }))
}

fn friction(friction: f64, kind: &JointKind, field: &FieldPath) -> Result<f64, Problem> {
    if friction != 0.0 {
        check_single(kind, field)?;
    }
    number(friction, Range::AtLeastZero, field)
}

fn stiction_velocity(t: &JointTable, kind: &JointKind, field: &FieldPath) -> Result<f64, Problem> {
    let Some(velocity) = t.stiction_velocity else { return Ok(STICTION_VELOCITY) };
    check_single(kind, field)?;
    number(velocity, Range::Positive, field)
}

fn mimic(t: &JointTable, kind: &JointKind, table: &FieldPath) -> Result<Option<Mimic>, Problem> {
    let Some(mimic) = &t.mimic else { return Ok(None) };
    let field = table.key("mimic");
    check_single(kind, &field)?;
    let of_leader = [
        ("position", t.position.is_some()),
        ("velocity", t.velocity.is_some()),
        ("lower", t.lower.is_some()),
        ("upper", t.upper.is_some()),
    ];
    if let Some((name, _)) = of_leader.iter().find(|(_, is_given)| *is_given) {
        let message =
            format!("found beside `mimic`; it is given at joint `{}`, which is followed", mimic.joint);
        return Err(Problem::new(table.key(name), message));
    }
    let multiplier = number(mimic.multiplier, Range::Finite, &field.key("multiplier"))?;
    if multiplier == 0.0 {
        return Err(Problem::new(field.key("multiplier"), "found 0; a joint that does not move is `fixed`"));
    }
    let offset = number(mimic.offset, Range::Finite, &field.key("offset"))?;
    Ok(Some(Mimic { joint: mimic.joint.clone(), multiplier, offset }))
}

/// Numbers, as many as a joint has coordinates.
fn coordinates(
    count: usize,
    kind: &JointKind,
    joint: &str,
    found: &Coordinates,
    field: &FieldPath,
) -> Result<Vec<f64>, Problem> {
    let numbers = found.as_slice();
    if numbers.len() != count {
        let message =
            format!("found {} numbers; joint `{joint}` ({}) has {count}", numbers.len(), kind.name());
        return Err(Problem::new(field.clone(), message));
    }
    for (i, &x) in numbers.iter().enumerate() {
        let here = if let Coordinates::One(_) = found { field.clone() } else { field.index(i) };
        coordinate(x, "a position or velocity of a joint, in m, rad and s,", &here)?;
    }
    Ok(numbers.to_vec())
}

/// The configuration of a joint.
pub(in crate::io) fn configuration(
    kind: &JointKind,
    joint: &str,
    found: &Coordinates,
    field: &FieldPath,
) -> Result<Vec<f64>, Problem> {
    let mut q = coordinates(kind.configuration_dimension(), kind, joint, found, field)?;
    if let (JointKind::Ball | JointKind::Free, &[w, x, y, z, ..]) = (kind, q.as_slice()) {
        let unit = quaternion(Exactly([w, x, y, z]), field)?;
        q[..4].copy_from_slice(&[unit.w, unit.v.x, unit.v.y, unit.v.z]);
    }
    Ok(q)
}

/// The velocity of a joint.
pub(in crate::io) fn velocity(
    kind: &JointKind,
    joint: &str,
    found: &Coordinates,
    field: &FieldPath,
) -> Result<Vec<f64>, Problem> {
    coordinates(kind.velocity_dimension(), kind, joint, found, field)
}

/// The state at the start, and what to say of each joint that starts beyond its limits.
pub(in crate::io) fn initial_state(
    mechanism: &Mechanism,
    initial: &[InitialCoordinates],
    table_of_joint: impl Fn(&str) -> Option<FieldPath>,
) -> (JointState, Vec<Problem>) {
    let mut state = mechanism.neutral_state();
    for given in initial {
        let Some(joint) = mechanism.joint_index(&given.joint).map(|j| &mechanism.joints()[j]) else {
            continue;
        };
        if let Some(q) = &given.q {
            state.q[joint.q.clone()].copy_from_slice(q);
        }
        if let Some(v) = &given.v {
            state.v[joint.v.clone()].copy_from_slice(v);
        }
    }
    let mut beyond = Vec::new();
    for joint in mechanism.joints_with_coordinates() {
        let (limits, q) = (&joint.limits, state.q[joint.q.start]);
        let end = if q < limits.lower { limits.lower } else { limits.upper };
        if q < limits.lower || q > limits.upper {
            let field = table_of_joint(&joint.name).unwrap_or_else(FieldPath::root);
            let message = format!("joint `{}` starts at {q}, beyond its limit {end}", joint.name);
            beyond.push(Problem::new(field, message));
        }
    }
    (state, beyond)
}

/// What is wrong with the joints of a scene, at the table of the body or joint concerned, which
/// `table_of_body` and `table_of_joint` find by name.
pub(in crate::io) fn mechanism_problem(
    error: &ModelError,
    table_of_body: impl Fn(&str) -> Option<FieldPath>,
    table_of_joint: impl Fn(&str) -> Option<FieldPath>,
) -> Problem {
    let field = match error {
        ModelError::UnknownBody { joint, .. } => table_of_joint(joint).map(|t| t.key("parent")),
        ModelError::Mass { body, .. }
        | ModelError::TwoParents { body, .. }
        | ModelError::Unconnected(body) => table_of_body(body),
        ModelError::ZeroInertia { joint, .. }
        | ModelError::LimitsReversed { joint, .. }
        | ModelError::JointValue { joint, .. } => table_of_joint(joint),
        _ => None,
    };
    Problem::new(field.unwrap_or_else(|| FieldPath::root().key("bodies")), error)
}

/// The configuration of a free joint on the world.
pub(in crate::io) fn free_configuration(orientation: &Quaternion, position: &Vector3<f64>) -> Vec<f64> {
    let (q, p) = (orientation, position);
    vec![q.w, q.v.x, q.v.y, q.v.z, p.x, p.y, p.z]
}
