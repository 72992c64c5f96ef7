//! What drives of computed torque do to joints: the acceleration that they command of each coordinate of their trees.

use crate::multibody::tree::{ComputedTorque, JointState};
use crate::multibody::{Drive, Model, ModelGradient};
use crate::scalar::Scalar;

/// A coordinate of a tree under computed torque, with its command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ComputedTorqueCoordinate<T = f64> {
    /// Its index among the velocity coordinates, and in the tangent space of the configuration.
    pub v: usize,
    /// Its index among the configuration coordinates.
    pub q: usize,
    /// Its tree, in [`Mechanism::trees`].
    pub tree: usize,
    /// The law of the tree.
    pub law: ComputedTorque<T>,
    /// The commanded position: the control value with the index `actuator`, times `ratio`.
    pub command: T,
    pub actuator: usize,
    /// The factor on the actuator's command.
    pub ratio: f64,
}

impl<T: Scalar> ComputedTorqueCoordinate<T> {
    /// The commanded acceleration in a state of the joints.
    pub fn acceleration(&self, joints: &JointState<T>) -> T {
        self.law.acceleration(self.command, joints.q[self.q], joints.v[self.v])
    }

    /// The acceleration over a step of `dt` seconds, with position and velocity at its end: `q` is the position at its start,
    /// `v` the velocity at its end.
    pub fn acceleration_after(&self, dt: T, q: T, v: T) -> T {
        self.law.acceleration(self.command, q + v * dt, v)
    }

    /// The change of the velocity over a step of `dt` seconds that takes the law at its end, under no other forces.
    pub fn free_change(&self, dt: T, joints: &JointState<T>) -> T {
        let (q, v) = (joints.q[self.q], joints.v[self.v]);
        self.acceleration_after(dt, q, v) * dt * self.law.step_factor(dt).recip()
    }
}

impl ComputedTorqueCoordinate {
    /// Adds the derivatives of a number through the commanded acceleration of the coordinate, given that with respect to
    /// the acceleration and the position and the velocity that it is taken at: with respect to the command and, to those of
    /// its tree, to the gains.
    pub fn add_vjp(
        &self,
        by_acceleration: f64,
        q: f64,
        v: f64,
        by_commands: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        by_commands[self.actuator] += by_acceleration * self.law.stiffness * self.ratio;
        let by = &mut by_model.trees[self.tree];
        by.stiffness += by_acceleration * (self.command - q);
        by.damping -= by_acceleration * v;
    }
}

impl<T: Scalar> Model<T> {
    /// Calls `visit` with every coordinate that a drive of computed torque leads under these commands.
    pub(crate) fn for_each_computed_torque(
        &self,
        commands: &[T],
        mut visit: impl FnMut(ComputedTorqueCoordinate<T>),
    ) {
        if !self.mechanism.has_computed_torque() {
            return;
        }
        let actuators = self.actuators.iter().enumerate();
        for (index, actuator) in actuators.filter(|(_, actuator)| actuator.drive == Drive::ComputedTorque) {
            for at in actuator.coordinates() {
                if let Some((tree, law)) = self.mechanism.computed_torque_of(at.v) {
                    let command = commands[index] * at.ratio;
                    visit(ComputedTorqueCoordinate {
                        v: at.v,
                        q: at.q,
                        tree,
                        law,
                        command,
                        actuator: index,
                        ratio: at.ratio,
                    });
                }
            }
        }
    }
}

impl Model {
    /// Adds the derivatives of a number through the accelerations that drives of computed torque add at a state of the joints,
    /// given those with respect to the accelerations: by configuration and velocity to `by_joints`, one after the other, by
    /// commands and by the gains.
    pub(crate) fn add_computed_torque_vjp(
        &self,
        joints: &JointState,
        commands: &[f64],
        by_acceleration: &[f64],
        by_joints: &mut [f64],
        by_commands: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        let nv = joints.v.len();
        self.for_each_computed_torque(commands, |axis| {
            let by = by_acceleration[axis.v];
            by_joints[axis.v] -= by * axis.law.stiffness;
            by_joints[nv + axis.v] -= by * axis.law.damping;
            axis.add_vjp(by, joints.q[axis.q], joints.v[axis.v], by_commands, by_model);
        });
    }
}
