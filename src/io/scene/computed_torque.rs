//! Robots with drives of computed torque: which trees of bodies they put under it.

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::actuator_schema::{ComputedTorqueTable, RobotDriveTable};
use crate::io::scene::actuator_tables::DrivenRobot;
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::joint_schema::BaseTable;
use crate::multibody::tree::{ComputedTorque, Mechanism};

/// The drive of computed torque of a robot, with its field.
fn drive_of(robot: &DrivenRobot) -> Option<(ComputedTorqueTable, FieldPath)> {
    match robot.table.drive {
        Some(RobotDriveTable::ComputedTorque(drive)) => {
            Some((drive, robot.field.key("drive").key("computed_torque")))
        }
        _ => None,
    }
}

/// The law of a drive of computed torque.
fn law(drive: ComputedTorqueTable, field: &FieldPath) -> Result<ComputedTorque, Problem> {
    let frequency = number(drive.natural_frequency, Range::Positive, &field.key("natural_frequency"))?;
    let ratio = number(drive.damping_ratio, Range::AtLeastZero, &field.key("damping_ratio"))?;
    Ok(ComputedTorque::oscillator(frequency, ratio))
}

/// The mechanism with the trees of robots with such drives under computed torque.
pub(in crate::io) fn under_computed_torque(
    mut mechanism: Mechanism,
    robots: &[DrivenRobot],
) -> Result<Mechanism, Problem> {
    let owner = |name: &str| robots.iter().find(|robot| robot.joints.iter().any(|joint| joint == name));
    for robot in robots {
        let Some((drive, field)) = drive_of(robot) else { continue };
        let law = law(drive, &field)?;
        if matches!(robot.table.base, BaseTable::Free) {
            let message =
                "found beside base = \"free\"; no drive moves a free base, so that it cannot be led";
            return Err(Problem::new(field, message));
        }
        for joint in robot.joints.iter().filter_map(|name| mechanism.joint_index(name)).collect::<Vec<_>>() {
            let own = &mechanism.joints()[joint];
            if !own.kind.is_single() {
                let message = format!(
                    "joint `{}` ({}) has several coordinates; computed torque leads joints with one",
                    own.name,
                    own.kind.name()
                );
                return Err(Problem::new(field, message));
            }
            let tree = mechanism.trees().iter().find(|tree| tree.joints.contains(&joint));
            let all = tree.map_or(0..0, |tree| tree.joints.clone());
            let is_led = |name: &str| owner(name).and_then(drive_of).is_some_and(|(other, _)| other == drive);
            if let Some(other) = mechanism.joints()[all].iter().find(|other| !is_led(&other.name)) {
                let message = format!(
                    "joint `{}` is of the same tree of bodies and not of a robot with the same drive: the efforts of \
                     computed torque are those of a tree as a whole",
                    other.name
                );
                return Err(Problem::new(field, message));
            }
            mechanism = mechanism.with_computed_torque(joint, law);
        }
    }
    Ok(mechanism)
}
