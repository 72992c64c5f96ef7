//! The arm that flips the pancake: moves of the spatula in Cartesian space, with what ends them, and the angles of its joints.

use isobar::multibody::tree::Workspace;
use isobar::multibody::{Drive, Model, SensorWorkspace, State};
use isobar::spatial::{RigidTransform, rotation_from_rpy};
use nalgebra::{SMatrix, SVector, Vector3};

use crate::page::Failure;

/// Joints of the arm, which the first actuators drive; the next one closes the bubbles.
const JOINTS: usize = 6;
/// Where the bubbles hold the handle, in the hand, and the end of the blade from there, on the axis of the handle, m.
const GRIP: Vector3<f64> = Vector3::new(0.12, 0.0, 0.0);
const TIP: Vector3<f64> = Vector3::new(0.2, 0.0, 0.0);
/// How fast the bubbles close, m/s, and the force of one of them that is a grasp, N.
const CLOSING: f64 = 0.04;
const GRASPED: f64 = 25.0;
/// With what the arm presses on the stove once it has found it, N.
const PRESSES: f64 = 0.5;
/// Of differences, rad.
const STEP: f64 = 1e-6;

/// Where the spatula is to be: the end of the blade on the handle's axis (m), how far it points down, and how far it is turned
/// about the handle (degrees).
#[derive(Clone, Copy)]
pub struct Pose {
    pub tip: [f64; 3],
    pub down: f64,
    pub roll: f64,
}

impl Pose {
    fn between(&self, to: &Self, part: f64) -> Self {
        let mix = |a: f64, b: f64| a + part * (b - a);
        let tip = std::array::from_fn(|k| mix(self.tip[k], to.tip[k]));
        Self { tip, down: mix(self.down, to.down), roll: mix(self.roll, to.roll) }
    }

    fn grip(&self) -> RigidTransform {
        let rotation = rotation_from_rpy(self.roll.to_radians(), self.down.to_radians(), 0.0);
        RigidTransform::new(rotation, Vector3::from(self.tip) - rotation * TIP)
    }
}

/// What ends a move.
#[derive(Clone, Copy, PartialEq)]
pub enum Until {
    Time,
    /// Both bubbles press.
    Grasped,
    /// The arm presses on the stove; heights of later poses are from where that is.
    Standing,
}

/// A move to a pose.
#[derive(Clone, Copy)]
pub struct Move {
    pub name: &'static str,
    pub to: Pose,
    pub seconds: f64,
    pub until: Until,
}

/// The controller of the arm.
pub struct Arm<'a> {
    model: &'a Model,
    moves: &'a [Move],
    hand: usize,
    spatula: usize,
    bubbles: [usize; 2],
    /// Stiffness and damping of the servos.
    servos: [[f64; 2]; JOINTS],
    /// The state whose joints are where the arm is to be.
    wanted: State,
    current: usize,
    began: f64,
    from: Pose,
    squeeze: f64,
    /// How much higher the stove is than expected, m.
    height: f64,
    sensors: SensorWorkspace,
    dynamics: Workspace,
    /// When moves ended, s.
    pub events: Vec<(&'static str, f64)>,
}

impl<'a> Arm<'a> {
    /// An arm whose joints are set to where the first move begins.
    pub fn new(model: &'a Model, state: &mut State, moves: &'a [Move], from: Pose) -> Result<Self, Failure> {
        let body = |name: &str| model.body_index(name).ok_or(format!("no body \"{name}\""));
        let mut servos = [[0.0; 2]; JOINTS];
        for (servo, actuator) in servos.iter_mut().zip(model.actuators()) {
            let Drive::Position { stiffness, damping } = actuator.drive else {
                return Err("the arm's joints need position servos".into());
            };
            *servo = [stiffness, damping];
        }
        let mut arm = Self {
            model,
            moves,
            hand: body("hand")?,
            spatula: body("spatula")?,
            bubbles: [body("left bubble")?, body("right bubble")?],
            servos,
            wanted: state.clone(),
            current: 0,
            began: 0.0,
            from,
            squeeze: 0.0,
            height: 0.0,
            sensors: SensorWorkspace::default(),
            dynamics: Workspace::new(model.mechanism()),
            events: Vec::new(),
        };
        arm.reach(&from.grip(), 100)?;
        state.joints = arm.wanted.joints.clone();
        Ok(arm)
    }

    /// Whether all moves are over.
    pub fn is_done(&self) -> bool {
        self.current == self.moves.len()
    }

    /// The pose of the grip as the arm is to be.
    fn grip(&self, state: &State) -> RigidTransform {
        let mut frames = Vec::new();
        self.model.body_frames(state, &mut frames);
        let x = frames[self.hand].pose;
        RigidTransform::new(x.rotation, x.translation + x.rotation * GRIP)
    }

    /// The force with which the joints lift what is held, by how far they are off, N.
    fn lifts(&self, state: &State) -> f64 {
        let height = |state: &State| self.grip(state).translation.z;
        let (mut work, mut square) = (0.0, 0.0);
        for (j, [stiffness, damping]) in self.servos.iter().enumerate() {
            let at = self.model.actuators()[j].coordinates()[0];
            let mut moved = state.clone();
            moved.joints.q[at.q] += STEP;
            let rises = (height(&moved) - height(state)) / STEP;
            let off = self.wanted.joints.q[at.q] - state.joints.q[at.q];
            work += rises * (stiffness * off - damping * state.joints.v[at.v]);
            square += rises * rises;
        }
        work / square
    }

    /// Turns the joints until the grip has a pose, by damped Newton steps with differences.
    fn reach(&mut self, pose: &RigidTransform, steps: usize) -> Result<(), Failure> {
        // The position, and the ends of two axes of 0.15 m.
        let off = |at: RigidTransform| {
            let (place, turned) = (at.translation - pose.translation, (at.rotation - pose.rotation) * 0.15);
            SVector::<f64, 9>::from_fn(|i, _| if i < 3 { place[i] } else { turned[(i % 3, i / 3 - 1)] })
        };
        for _ in 0..steps {
            let now = off(self.grip(&self.wanted));
            if now.norm() < 1e-7 {
                return Ok(());
            }
            let mut jacobian = SMatrix::<f64, 9, JOINTS>::zeros();
            for j in 0..JOINTS {
                let mut moved = self.wanted.clone();
                moved.joints.q[self.coordinate(j)] += STEP;
                jacobian.set_column(j, &((off(self.grip(&moved)) - now) / STEP));
            }
            let damped = jacobian.transpose() * jacobian + SMatrix::identity() * 1e-7;
            let change = damped.lu().solve(&(jacobian.transpose() * now)).ok_or("a singular arm")?;
            let shorter = (0.3 / change.amax()).min(1.0);
            for j in 0..JOINTS {
                let q = self.coordinate(j);
                self.wanted.joints.q[q] -= change[j] * shorter;
            }
        }
        let left = off(self.grip(&self.wanted)).norm();
        if left < 1e-4 { Ok(()) } else { Err(format!("the arm is {left:.1e} m off its pose").into()) }
    }

    fn coordinate(&self, joint: usize) -> usize {
        self.model.actuators()[joint].coordinates()[0].q
    }

    /// The commands at a time, from the forces at the state.
    pub fn command(&mut self, time: f64, state: &State, row: &mut [f64]) -> Result<(), Failure> {
        if let Some(Move { name, to, seconds, until }) = self.moves.get(self.current).copied() {
            let [left, right] = self
                .bubbles
                .map(|b| self.model.contact_wrench(state, self.spatula, b, &mut self.sensors).translational);
            let part = ((time - self.began) / seconds).clamp(0.0, 1.0);
            // Between poses a move begins and ends at rest; towards the stove it is even.
            let eased = if until == Until::Standing { part } else { part * part * (3.0 - 2.0 * part) };
            let mut to = to;
            to.tip[2] += self.height;
            let now = self.from.between(&to, eased);
            if until == Until::Grasped {
                self.squeeze = CLOSING * (time - self.began);
            }
            let over = match until {
                Until::Time => part == 1.0,
                Until::Grasped => left.norm().min(right.norm()) > GRASPED,
                // Not before it has come to its speed.
                Until::Standing => part > 0.2 && self.lifts(state) < -PRESSES,
            };
            if part == 1.0 && !over {
                return Err(format!("{name}: not felt within {seconds} s").into());
            }
            self.reach(&now.grip(), 20)?;
            if over {
                if until == Until::Standing {
                    self.height = now.tip[2] - to.tip[2];
                }
                (self.from, self.began) = (now, time);
                self.current += 1;
                self.events.push((name, time));
            }
        }
        let mut forces = vec![0.0; self.wanted.joints.v.len()];
        let (q, v) = (&self.wanted.joints.q, vec![0.0; forces.len()]);
        self.model.mechanism().update_kinematics(q, &v, &mut self.dynamics);
        self.model.mechanism().gravity_forces(&mut self.dynamics, self.model.gravity(), &mut forces);
        for j in 0..JOINTS {
            let joint = &self.model.actuators()[j].coordinates()[0];
            row[j] = q[joint.q] - forces[joint.v] / self.servos[j][0];
        }
        row[JOINTS] = self.squeeze;
        Ok(())
    }
}
