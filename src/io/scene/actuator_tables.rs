//! From the actuator tables of a scene file to actuators and their commands.

use nalgebra::Vector3;

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{Problem, check_name};
use crate::io::robot::JointActuator;
use crate::io::scene::actuator_schema::{
    ActuatorTable, CommandTable, DriveTable, DrivenJointTable, KnotsTable, RobotDriveTable,
};
use crate::io::scene::body_tables::{Range, number, vector};
use crate::io::scene::joint_schema::RobotTable;
use crate::io::scene::load_tables::free_body;
use crate::io::strict::Exactly;
use crate::multibody::tree::{JointState, Mechanism};
use crate::multibody::{Actuator, BodyLoad, Drive, DrivenCoordinate, LoadKind, ModelError, Transmission};
use crate::rollout::{Command, KnotValues, SimulationError};
use crate::shown::list;

/// A robot with a drive on all its joints.
pub(in crate::io) struct DrivenRobot<'t> {
    pub table: &'t RobotTable,
    pub field: FieldPath,
    /// The names of its joints.
    pub joints: Vec<String>,
    /// Whether gravity does not act on it.
    pub weightless: bool,
    /// The actuators of its file.
    pub actuators: Vec<JointActuator>,
}

/// The actuators of a scene and their commands: those of the file in its order, then those of robots with a drive
/// on all joints, which start at `start`. `bodies` are all bodies by their names, and whether they move freely.
pub(in crate::io) fn actuators(
    tables: &[ActuatorTable],
    robots: &[DrivenRobot],
    bodies: &[(String, bool)],
    mechanism: &Mechanism,
    start: &JointState,
) -> Result<(Vec<Actuator>, Vec<Command>), Problem> {
    let mut made: Vec<Actuator> = Vec::with_capacity(tables.len());
    let mut commands = Vec::with_capacity(tables.len());
    for (i, t) in tables.iter().enumerate() {
        let table = FieldPath::root().key("actuators").index(i);
        check_name(&t.name, &table.key("name"))?;
        if let Some(first) = made.iter().position(|a| a.name == t.name) {
            return Err(Problem::new(
                table.key("name"),
                format_args!("found `{}`, the name of actuators[{first}] too; names must be unique", t.name),
            ));
        }
        made.push(actuator(t, bodies, mechanism, &table)?);
        commands.push(command(t, &table)?);
    }
    for robot in robots {
        add_drives(robot, mechanism, start, &mut made, &mut commands)?;
    }
    Ok((made, commands))
}

/// Adds the drives of all joints of a robot.
fn add_drives(
    robot: &DrivenRobot,
    mechanism: &Mechanism,
    start: &JointState,
    made: &mut Vec<Actuator>,
    commands: &mut Vec<Command>,
) -> Result<(), Problem> {
    let DrivenRobot { table, field, joints, .. } = robot;
    let in_file = |joint: &str| joint.strip_prefix(table.prefix.as_str()).unwrap_or(joint).to_owned();
    let Some(drive) = table.drive else {
        return match table.commands.keys().next() {
            Some(_) if robot.actuators.is_empty() => {
                Err(Problem::new(field.key("commands"), "found without `drive`, which they are for"))
            }
            _ => add_own(robot, mechanism, start, made, commands),
        };
    };
    let mut driven = Vec::new();
    for joint in joints {
        let Some(own) = mechanism.joint_index(joint).map(|index| &mechanism.joints()[index]) else {
            continue;
        };
        if !own.kind.is_single() || own.follows.is_some() {
            continue;
        }
        let field = field.key("drive");
        let drives = |actuator: &&Actuator| actuator.coordinates().iter().any(|at| at.v == own.v.start);
        match (drive, made.iter().find(drives)) {
            (_, None) => {}
            (RobotDriveTable::ComputedTorque(_), Some(other)) => {
                let message = format!(
                    "joint `{joint}` is driven by the actuator `{}` too; computed torque leads all joints of a robot",
                    other.name
                );
                return Err(Problem::new(field.key("computed_torque"), message));
            }
            (_, Some(_)) => continue,
        }
        if made.iter().any(|actuator| actuator.name == *joint) {
            let message =
                format!("makes an actuator `{joint}` for the joint; there is one of that name already");
            return Err(Problem::new(field, message));
        }
        let only = DrivenJointTable { joint: joint.clone(), ratio: 1.0, coordinate: 0 };
        let of_joint = |drive| drive_of_joints(joint, (&[only], drive), None, mechanism, &field);
        let (actuator, rest) = match drive {
            RobotDriveTable::Force => (of_joint(DriveTable::Force)?, 0.0),
            RobotDriveTable::Velocity(servo) => (of_joint(DriveTable::Velocity(servo))?, 0.0),
            RobotDriveTable::Position(servo) => {
                (of_joint(DriveTable::Position(servo))?, start.q[own.q.start])
            }
            RobotDriveTable::ComputedTorque(_) => {
                let at = DrivenCoordinate { v: own.v.start, q: own.q.start, ratio: 1.0 };
                let (drive, effort) = (Drive::ComputedTorque, f64::INFINITY);
                let transmission = Transmission::Joints(vec![at]);
                (Actuator { name: joint.clone(), drive, effort, transmission }, start.q[own.q.start])
            }
        };
        made.push(actuator);
        let given = table.commands.get(&in_file(joint));
        let at = robot.field.key("commands").key(&in_file(joint));
        commands.push(given_command(given.unwrap_or(&CommandTable::Constant(rest)), &at)?);
        driven.push(in_file(joint));
    }
    match table.commands.keys().find(|name| !driven.contains(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("is no joint that `drive` drives; there are {}", list(&driven));
            Err(Problem::new(field.key("commands").key(name), message))
        }
    }
}

/// Adds the actuators of a robot's file, but for those of joints that tables of actuators drive.
fn add_own(
    robot: &DrivenRobot,
    mechanism: &Mechanism,
    start: &JointState,
    made: &mut Vec<Actuator>,
    commands: &mut Vec<Command>,
) -> Result<(), Problem> {
    let DrivenRobot { table, field, .. } = robot;
    let (urdf, of_tables) = (field.key("urdf"), made.len());
    for JointActuator { name, joints, drive, effort } in &robot.actuators {
        let driven: Vec<_> = joints.iter().map(|(joint, ratio)| (joint.as_str(), 0, *ratio)).collect();
        let own = Actuator::new(name, mechanism, &driven, *drive, *effort)
            .map_err(|error| Problem::new(urdf.clone(), error))?;
        let is_driven =
            |v| made[..of_tables].iter().flat_map(Actuator::coordinates).any(|other| other.v == v);
        if own.coordinates().iter().any(|at| is_driven(at.v)) {
            continue;
        }
        let at = own.coordinates()[0];
        if made.iter().any(|other| other.name == *name) {
            let message = format!("has an actuator `{name}`; there is one of that name already");
            return Err(Problem::new(urdf, message));
        }
        made.push(own);
        let rest = if let Drive::Position { .. } = drive { start.q[at.q] / at.ratio } else { 0.0 };
        let in_file = name.strip_prefix(table.prefix.as_str()).unwrap_or(name);
        let given = table.commands.get(in_file);
        let field = field.key("commands").key(in_file);
        commands.push(given_command(given.unwrap_or(&CommandTable::Constant(rest)), &field)?);
    }
    let names: Vec<&str> = made[of_tables..]
        .iter()
        .map(|a| a.name.strip_prefix(table.prefix.as_str()).unwrap_or(&a.name))
        .collect();
    match table.commands.keys().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let message = format!("is no actuator of the robot's file; there are {}", names.join(", "));
            Err(Problem::new(field.key("commands").key(name), message))
        }
    }
}

/// The actuator of a table: of joints or of a body.
fn actuator(
    t: &ActuatorTable,
    bodies: &[(String, bool)],
    mechanism: &Mechanism,
    table: &FieldPath,
) -> Result<Actuator, Problem> {
    let ways = [("joints", t.joints.is_some()), ("force", t.force.is_some()), ("torque", t.torque.is_some())];
    let mut given = ways.iter().filter(|(_, given)| *given).map(|(key, _)| *key);
    let Some(first) = given.next() else {
        let message = "found none of `joints`, `force` and `torque`; an actuator has one of them";
        return Err(Problem::new(table.clone(), message));
    };
    if let Some(second) = given.next() {
        let message =
            format!("found beside `{first}`; an actuator has one of `joints`, `force` and `torque`");
        return Err(Problem::new(table.key(second), message));
    }
    let effort = match t.effort {
        Some(effort) => Some(number(effort, Range::Positive, &table.key("effort"))?),
        None => None,
    };
    if let Some(joints) = &t.joints {
        let missing =
            || Problem::new(table.key("drive"), "is missing; it says how the command becomes a force");
        let drive = t.drive.ok_or_else(missing)?;
        return drive_of_joints(&t.name, (joints, drive), effort, mechanism, table);
    }
    if t.drive.is_some() {
        let message = format!("found beside `{first}`, whose size is the command; drives are for `joints`");
        return Err(Problem::new(table.key("drive"), message));
    }
    let field = table.key(first);
    let load = match (&t.force, &t.torque) {
        (Some(force), _) => BodyLoad {
            body: free_body(&force.body, bodies, &field.key("body"))?,
            kind: LoadKind::Force {
                point: match force.point {
                    Some(point) => vector(point, Range::Finite, &field.key("point"))?,
                    None => Vector3::zeros(),
                },
            },
            direction: unit_vector(force.direction, &field.key("direction"))?,
            frame: force.frame.frame(),
        },
        (None, Some(torque)) => BodyLoad {
            body: free_body(&torque.body, bodies, &field.key("body"))?,
            kind: LoadKind::Torque,
            direction: unit_vector(torque.axis, &field.key("axis"))?,
            frame: torque.frame.frame(),
        },
        (None, None) => return Err(Problem::new(field, "is missing")),
    };
    Ok(Actuator::on_body(t.name.clone(), load, effort.unwrap_or(f64::INFINITY)))
}

/// A direction of length 1.
fn unit_vector(value: Exactly<f64, 3>, field: &FieldPath) -> Result<Vector3<f64>, Problem> {
    let given = vector(value, Range::Finite, field)?;
    let scaled = given / given.amax().max(f64::MIN_POSITIVE);
    let length = scaled.norm();
    if length > 0.0 {
        Ok(scaled / length)
    } else {
        Err(Problem::new(field.clone(), "found the zero vector; it must have a direction"))
    }
}

/// A drive of joints; without a limit of effort it has that of the joints.
fn drive_of_joints(
    name: &str,
    (driven, drive): (&[DrivenJointTable], DriveTable),
    effort: Option<f64>,
    mechanism: &Mechanism,
    table: &FieldPath,
) -> Result<Actuator, Problem> {
    let field = table.key("drive");
    let drive = match drive {
        DriveTable::Force => Drive::Force,
        DriveTable::Velocity(servo) => {
            let damping = number(servo.damping, Range::AtLeastZero, &field.key("velocity").key("damping"))?;
            Drive::Velocity { damping }
        }
        DriveTable::Position(servo) => {
            let field = field.key("position");
            Drive::Position {
                stiffness: number(servo.stiffness, Range::AtLeastZero, &field.key("stiffness"))?,
                damping: number(servo.damping, Range::AtLeastZero, &field.key("damping"))?,
            }
        }
    };
    let joints = table.key("joints");
    if driven.is_empty() {
        return Err(Problem::new(joints, "found none; an actuator needs at least one joint"));
    }
    for (i, one) in driven.iter().enumerate() {
        number(one.ratio, Range::Finite, &joints.index(i).key("ratio"))?;
        let same = |d: &&DrivenJointTable| d.joint == one.joint && d.coordinate == one.coordinate;
        if driven[..i].iter().any(|d| same(&d)) {
            return Err(Problem::new(
                joints.index(i),
                format_args!("found `{}` twice; a coordinate is driven once by an actuator", one.joint),
            ));
        }
    }
    let effort = effort.unwrap_or_else(|| effort_of_joints(driven, mechanism));
    let driven: Vec<(&str, usize, f64)> =
        driven.iter().map(|j| (j.joint.as_str(), j.coordinate, j.ratio)).collect();
    Actuator::new(name, mechanism, &driven, drive, effort).map_err(|error| {
        let index = |joint: &str| driven.iter().position(|d| d.0 == joint);
        let field = match &error {
            ModelError::NoJoint { joint, .. } | ModelError::NoCoordinate { joint, .. } => {
                index(joint).map_or_else(|| joints.clone(), |i| joints.index(i))
            }
            _ => table.clone(),
        };
        Problem::new(field, error)
    })
}

/// The smallest effort limit of these joints in the robot's file; infinite if there is none. Joints
/// whose file says 0 are passed over: it stands for a limit that nobody filled in.
fn effort_of_joints(driven: &[DrivenJointTable], mechanism: &Mechanism) -> f64 {
    let joints = driven.iter().filter_map(|d| mechanism.joint_index(&d.joint));
    let efforts = joints.map(|joint| mechanism.joints()[joint].limits.effort);
    efforts.filter(|&effort| effort > 0.0).fold(f64::INFINITY, f64::min)
}

fn command(t: &ActuatorTable, table: &FieldPath) -> Result<Command, Problem> {
    let field = table.key("command");
    match &t.command {
        Some(command) => given_command(command, &field),
        None if matches!(t.drive, Some(DriveTable::Position(_))) => {
            let message = "is missing; a position servo needs the position to go to";
            Err(Problem::new(field, message))
        }
        None => given_command(&CommandTable::Constant(0.0), &field),
    }
}

/// A command as it is written.
pub(in crate::io) fn given_command(t: &CommandTable, field: &FieldPath) -> Result<Command, Problem> {
    match t {
        CommandTable::Constant(value) => Command::constant(number(*value, Range::Finite, field)?)
            .map_err(|error| Problem::new(field.clone(), error)),
        CommandTable::Knots(knots) => knots_command(knots, field),
    }
}

pub(in crate::io) fn knots_command(knots: &KnotsTable, field: &FieldPath) -> Result<Command, Problem> {
    let at = KnotValues { times: knots.times.clone(), values: knots.values.clone() };
    let command = Command::new(knots.interpolation.kind(), at);
    command.map_err(|error| {
        let field = match error {
            SimulationError::CommandValue { index, .. } => field.key("values").index(index),
            SimulationError::CommandCount { .. } => field.key("values"),
            SimulationError::KnotTimes { index, .. } | SimulationError::KnotSpacing { index, .. } => {
                field.key("times").index(index)
            }
            _ => field.key("times"),
        };
        Problem::new(field, error)
    })
}
