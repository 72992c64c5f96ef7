//! From key poses of the spatula's blade to angles of the arm's joints.

use isobar::multibody::tree::Workspace;
use isobar::multibody::{DrivenCoordinate, Model, State};
use isobar::spatial::{RigidTransform, rotation_from_rpy};
use nalgebra::{SMatrix, SVector, Vector3};

/// Joints of the arm, which the first actuators drive.
pub const JOINTS: usize = 6;
/// Where the fingers hold the handle, in the hand, m.
const GRIP: Vector3<f64> = Vector3::new(0.12, 0.0, 0.0);
/// The middle of the blade's tip, from there, m.
pub const TIP: Vector3<f64> = Vector3::new(0.18, 0.0, -0.01);

/// A pose of the blade that the arm passes at a time.
#[derive(Clone, Copy, Debug)]
pub struct KeyPose {
    /// Time, s.
    pub time: f64,
    /// The middle of the tip, m.
    pub tip: [f64; 3],
    /// How far the tip points down, degrees.
    pub down: f64,
}

/// The key poses: grip, raise, approach, lower, scoop, lift, carry, hold.
pub const KEY_POSES: [KeyPose; 9] = [
    KeyPose { time: 0.0, tip: [0.48, 0.22, 0.10], down: 0.0 },
    KeyPose { time: 0.6, tip: [0.48, 0.22, 0.10], down: 0.0 },
    KeyPose { time: 1.2, tip: [0.46, 0.22, 0.16], down: 0.0 },
    KeyPose { time: 2.0, tip: [0.46, 0.00, 0.13], down: 8.0 },
    KeyPose { time: 2.4, tip: [0.475, 0.00, 0.1003], down: 8.0 },
    KeyPose { time: 3.4, tip: [0.615, 0.00, 0.1000], down: 8.0 },
    KeyPose { time: 4.2, tip: [0.60, 0.00, 0.20], down: -6.0 },
    KeyPose { time: 5.0, tip: [0.56, -0.12, 0.24], down: -6.0 },
    KeyPose { time: 5.5, tip: [0.56, -0.12, 0.24], down: -6.0 },
];

/// The pose of the grip between the key poses, beginning and ending each move at rest.
fn grip_at(time: f64) -> RigidTransform {
    let last = KEY_POSES.len() - 1;
    let next = KEY_POSES.iter().position(|k| k.time > time).unwrap_or(last).max(1);
    let (a, b) = (KEY_POSES[next - 1], KEY_POSES[next]);
    let part = ((time - a.time) / (b.time - a.time)).clamp(0.0, 1.0);
    let part = part * part * (3.0 - 2.0 * part);
    let between = |a: f64, b: f64| a + part * (b - a);
    let rotation = rotation_from_rpy(0.0, between(a.down, b.down).to_radians(), 0.0);
    let tip = Vector3::from_fn(|i, _| between(a.tip[i], b.tip[i]));
    RigidTransform::new(rotation, tip - rotation * TIP)
}

/// The pose of the grip at angles of the arm's joints.
fn grip(model: &Model, state: &State, hand: usize) -> RigidTransform {
    let mut frames = Vec::new();
    model.body_frames(state, &mut frames);
    let x = frames[hand].pose;
    RigidTransform::new(x.rotation, x.translation + x.rotation * GRIP)
}

/// How far a pose is from where it is to be: the position, m, and the ends of two axes of 0.15 m.
fn deviation(at: &RigidTransform, wanted: &RigidTransform) -> SVector<f64, 9> {
    let off = at.translation - wanted.translation;
    let turned = (at.rotation - wanted.rotation) * 0.15;
    SVector::from_fn(|i, _| if i < 3 { off[i] } else { turned[(i % 3, i / 3 - 1)] })
}

/// The coordinates of the arm's joints.
fn joints(model: &Model) -> [DrivenCoordinate; JOINTS] {
    std::array::from_fn(|j| model.actuators()[j].coordinates()[0])
}

/// Turns the arm so that the grip has a pose, by damped Newton steps with differences; returns
/// what is left, m.
fn reach(model: &Model, state: &mut State, hand: usize, wanted: &RigidTransform) -> f64 {
    let joints = joints(model);
    const STEP: f64 = 1e-6;
    for _ in 0..100 {
        let off = deviation(&grip(model, state, hand), wanted);
        if off.norm() < 1e-10 {
            break;
        }
        let mut jacobian = SMatrix::<f64, 9, JOINTS>::zeros();
        for j in 0..JOINTS {
            let mut moved = state.clone();
            moved.joints.q[joints[j].q] += STEP;
            jacobian.set_column(j, &((deviation(&grip(model, &moved, hand), wanted) - off) / STEP));
        }
        let damped = jacobian.transpose() * jacobian + SMatrix::identity() * 1e-7;
        let Some(change) = damped.lu().solve(&(jacobian.transpose() * off)) else { break };
        let shorter = (0.3 / change.amax()).min(1.0);
        (0..JOINTS).for_each(|j| state.joints.q[joints[j].q] -= change[j] * shorter);
    }
    deviation(&grip(model, state, hand), wanted).norm()
}

/// The angles of the arm's joints along the key poses.
pub struct Motion {
    /// Times, s.
    pub times: Vec<f64>,
    /// Angles at these times, rad.
    pub angles: Vec<[f64; JOINTS]>,
    /// What the arm's weight takes from each angle under servos of unit stiffness, N m.
    pub weights: Vec<[f64; JOINTS]>,
}

/// Finds the angles along the key poses, one knot every 50 ms, from those of `state` on, and leaves
/// its arm at the first.
///
/// # Errors
/// When the arm does not reach a pose.
pub fn motion(model: &Model, state: &mut State) -> Result<Motion, String> {
    let hand = model.body_index("hand").ok_or("the robot has no link `hand`")?;
    let joints = joints(model);
    let of = |joint: &DrivenCoordinate| model.mechanism().joints().iter().position(|j| j.q.start == joint.q);
    let places: Vec<usize> = joints.iter().filter_map(of).collect();
    let until = KEY_POSES[KEY_POSES.len() - 1].time;
    let count = (until / 0.05).round() as usize;
    let mut moving = state.clone();
    let mut motion = Motion { times: Vec::new(), angles: Vec::new(), weights: Vec::new() };
    let mut forces = vec![0.0; state.joints.v.len()];
    let mut workspace = Workspace::new(model.mechanism());
    for k in 0..=count {
        let time = until * k as f64 / count as f64;
        let left = reach(model, &mut moving, hand, &grip_at(time));
        if left > 1e-6 {
            return Err(format!("the arm does not reach the pose at {time:.2} s: {left:.1e} m are left"));
        }
        let q = &moving.joints.q;
        for (j, joint) in joints.iter().enumerate() {
            let limits = &model.mechanism().joints()[places[j]].limits;
            if q[joint.q] < limits.lower || q[joint.q] > limits.upper {
                return Err(format!("joint {} of the arm leaves its limits at {time:.2} s", j + 1));
            }
        }
        model.mechanism().update_kinematics(q, &moving.joints.v, &mut workspace);
        model.mechanism().gravity_forces(&mut workspace, model.gravity(), &mut forces);
        motion.times.push(time);
        motion.angles.push(std::array::from_fn(|j| q[joints[j].q]));
        motion.weights.push(std::array::from_fn(|j| forces[joints[j].v]));
    }
    joints.iter().zip(motion.angles[0]).for_each(|(joint, angle)| state.joints.q[joint.q] = angle);
    Ok(motion)
}
