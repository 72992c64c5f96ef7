//! `isobar model`: the dynamics of a robot, or of the joints of a scene, at a state.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use nalgebra::{DMatrix, Vector3};
use serde::{Serialize, Serializer};

use super::messages::text_output;
use super::outputs::print_json;
use super::robot::RobotArguments;
use super::{Error, load_scene, print_warnings};
use isobar::input_file::is_standard_input;
use isobar::io::JointStateFile;
use isobar::multibody::tree::{JointState, Mechanism, Workspace};

/// Acceleration of gravity on a robot without a scene, m/s².
const GRAVITY: Vector3<f64> = Vector3::new(0.0, 0.0, -9.81);

/// Arguments of `isobar model`.
#[derive(Debug, Args)]
pub(super) struct ModelArguments {
    /// Robot, URDF, SDF (.sdf) or MJCF, its root link fixed at the world's origin; or a scene, TOML or JSON (`-` for standard
    /// input), with joints
    #[arg(value_name = "ROBOT")]
    file: PathBuf,
    /// State, JSON with `q`, `v` and `vdot` in the order of the printed joints; without it zero, or
    /// that of the scene
    #[arg(long)]
    state: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    robot: RobotArguments,
}

/// What is printed. SI units, world frame.
#[derive(Debug, Serialize)]
struct Report {
    joints: Vec<String>,
    mass_matrix: Vec<Vec<f64>>,
    inverse_dynamics_without_gravity: Vec<f64>,
    gravity_generalized_force: Vec<f64>,
    #[serde(serialize_with = "as_map")]
    body_poses: Vec<(String, Pose)>,
}

/// Where a body is.
#[derive(Debug, Serialize)]
struct Pose {
    rotation_matrix: [[f64; 3]; 3],
    translation: [f64; 3],
}

/// Writes pairs as a map, in their order.
fn as_map<S: Serializer>(pairs: &[(String, Pose)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(name, pose)| (name, pose)))
}

/// Joints with the state and the gravity that they are looked at with.
struct Joints {
    name: String,
    mechanism: Mechanism,
    state: JointState,
    gravity: Vector3<f64>,
}

impl Joints {
    /// Reads a robot or a scene.
    fn load(arguments: &ModelArguments) -> Result<Self, Error> {
        let file = &arguments.file;
        let is_scene =
            is_standard_input(file) || file.extension().is_some_and(|e| e == "toml" || e == "json");
        if is_scene {
            let scene = load_scene(file)?;
            scene.check_motion()?;
            let (mechanism, gravity) = (scene.model.mechanism().clone(), *scene.model.gravity());
            let name = scene.path.display().to_string();
            return Ok(Self { name, mechanism, state: scene.state.joints, gravity });
        }
        let robot = arguments.robot.load(file)?;
        print_warnings(&robot.warnings);
        let state = robot.mechanism.neutral_state();
        Ok(Self { name: robot.name, mechanism: robot.mechanism, state, gravity: GRAVITY })
    }
}

/// Loads the robot or scene, computes and prints.
pub(super) fn run(arguments: &ModelArguments) -> Result<(), Error> {
    let mut joints = Joints::load(arguments)?;
    let mut vdot = vec![0.0; joints.mechanism.velocity_dimension()];
    if let Some(path) = &arguments.state {
        let file = JointStateFile::load(path, &joints.mechanism)?;
        (joints.state, vdot) = (file.state, file.vdot);
    }
    let report = report(&joints, &vdot);
    if !report.is_finite() {
        return Err(Error::NotFiniteModel { path: arguments.file.display().to_string() });
    }
    match arguments.json {
        true => print_json(&report),
        false => Ok(print_text(&mut text_output(), &joints, &report)?),
    }
}

/// Computes all that is printed.
fn report(joints: &Joints, vdot: &[f64]) -> Report {
    let Joints { mechanism, state, gravity: acceleration, .. } = joints;
    let n = mechanism.velocity_dimension();
    let mut workspace = Workspace::new(mechanism);
    mechanism.update_kinematics(&state.q, &state.v, &mut workspace);
    let (mut matrix, mut inverse, mut gravity) = (DMatrix::zeros(n, n), vec![0.0; n], vec![0.0; n]);
    mechanism.mass_matrix(&mut workspace, &mut matrix);
    mechanism.inverse_dynamics(&mut workspace, vdot, &Vector3::zeros(), &[], &mut inverse);
    mechanism.gravity_forces(&mut workspace, acceleration, &mut gravity);
    let poses = mechanism.bodies().iter().enumerate().map(|(i, body)| {
        let x_wb = workspace.body_pose(mechanism, i);
        let rotation_matrix =
            std::array::from_fn(|row| std::array::from_fn(|column| x_wb.rotation[(row, column)] + 0.0));
        let translation = std::array::from_fn(|i| x_wb.translation[i] + 0.0);
        (body.name.clone(), Pose { rotation_matrix, translation })
    });
    // Adding zero turns −0 into 0.
    let positive = |numbers: Vec<f64>| numbers.into_iter().map(|x| x + 0.0).collect();
    Report {
        joints: mechanism.joints_with_coordinates().map(|j| j.name.clone()).collect(),
        mass_matrix: matrix.row_iter().map(|row| row.iter().map(|x| x + 0.0).collect()).collect(),
        inverse_dynamics_without_gravity: positive(inverse),
        gravity_generalized_force: positive(gravity),
        body_poses: poses.collect(),
    }
}

impl Report {
    /// Whether all numbers are finite; JSON has no others.
    fn is_finite(&self) -> bool {
        let poses = self
            .body_poses
            .iter()
            .flat_map(|(_, p)| p.rotation_matrix.iter().flatten().chain(&p.translation));
        self.mass_matrix
            .iter()
            .flatten()
            .chain(&self.inverse_dynamics_without_gravity)
            .chain(&self.gravity_generalized_force)
            .chain(poses)
            .all(|x| x.is_finite())
    }
}

fn row(out: &mut dyn Write, label: &str, values: &[f64]) -> std::io::Result<()> {
    write!(out, "  {label:<32}")?;
    for value in values {
        write!(out, " {value:>13.6e}")?;
    }
    writeln!(out)
}

fn print_text(out: &mut dyn Write, joints: &Joints, report: &Report) -> std::io::Result<()> {
    writeln!(
        out,
        "{}: {} bodies, {} joints that move",
        joints.name,
        report.body_poses.len(),
        report.joints.len()
    )?;
    writeln!(out, "mass matrix")?;
    // Names stand beside the first coordinate of their joint.
    let mut labels = Vec::new();
    for joint in joints.mechanism.joints_with_coordinates() {
        labels.push(joint.name.as_str());
        labels.extend(vec![""; joint.v.len() - 1]);
    }
    for (label, numbers) in labels.iter().zip(&report.mass_matrix) {
        row(out, label, numbers)?;
    }
    writeln!(out, "generalized forces: inverse dynamics without gravity, gravity; N m or N")?;
    let forces = report.inverse_dynamics_without_gravity.iter().zip(&report.gravity_generalized_force);
    for (label, (inverse, gravity)) in labels.iter().zip(forces) {
        row(out, label, &[*inverse, *gravity])?;
    }
    writeln!(out, "positions of the bodies, m")?;
    for (name, pose) in &report.body_poses {
        row(out, name, &pose.translation)?;
    }
    Ok(())
}
