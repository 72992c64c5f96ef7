//! The derivatives of the joints' part of the balance of momentum.

use crate::multibody::tree::{InertialMotion, InertialSensitivity};
use crate::multibody::{
    ContactSensitivity, Forces, JointLaw, JointSensitivity, Model, ModelGradient, add_link_mass,
};
use crate::spatial::SpatialForce;
use crate::step::step_point::StepPoint;

/// The balance of the joints and its derivatives with respect to all but the velocities after the step.
#[derive(Debug, Default)]
pub(super) struct JointDerivatives {
    pub sensitivity: JointSensitivity,
    /// The joints' velocities after the step.
    pub velocity: Vec<f64>,
    /// How the joints' motion without forces depends on the state before the step.
    inertial: Option<InertialSensitivity>,
}

impl JointDerivatives {
    /// Evaluates the balance at the velocities after the step, which are set, with the user's
    /// `forces`, to which the impulses of contact are added: one of `patches` for each.
    pub fn evaluate<'a>(
        &mut self,
        at: &StepPoint<'_>,
        moving: &[Option<usize>],
        patches: impl Iterator<Item = &'a ContactSensitivity>,
        forces: &mut Forces,
    ) {
        let model = at.model.model();
        if self.velocity.is_empty() {
            return;
        }
        for term in patches {
            let sides = [(term.pair.bodies.a, term.wrench_on_a), (term.pair.bodies.b, term.wrench_on_b())];
            for (body, impulse) in sides {
                if let Some(index) = moving[body] {
                    let (m, f) = (impulse.rotational / at.dt, impulse.translational / at.dt);
                    forces.bodies[index] += SpatialForce::new(m, f);
                }
            }
        }
        let change = self.velocity.iter().zip(&at.before.joints.v);
        let mut vdot: Vec<f64> = change.map(|(v, before)| (v - before) / at.dt).collect();
        model.for_each_computed_torque(at.split_control().0, |axis| {
            vdot[axis.v] -= axis.acceleration_after(at.dt, at.before.joints.q[axis.q], self.velocity[axis.v]);
        });
        self.sensitivity.evaluate(model, &at.before.joints, &vdot, &forces.bodies);
        let of_masses = at.model.asks_for_link_masses();
        let (mechanism, joints) = (at.model.constant_joints(), &at.before.joints);
        self.inertial = InertialSensitivity::new(&model.mechanism, mechanism, joints, at.dt, of_masses);
    }

    /// Adds the derivatives of a number through the joints' moves besides those of their velocities,
    /// given those with respect to these moves.
    pub fn add_extra_moves(
        &self,
        model: &Model,
        by_moves: Vec<f64>,
        by_joints: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        let by = InertialMotion { extra_moves: by_moves, ..InertialMotion::default() };
        self.add_inertial(model, &by, by_joints, by_model);
    }

    fn add_inertial(
        &self,
        model: &Model,
        by: &InertialMotion,
        by_joints: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        if let Some(inertial) = &self.inertial {
            inertial.add_vjp(by, by_joints, |link, mass| add_link_mass(model, by_model, link, mass));
        }
    }

    /// Adds the derivatives of μᵀφ through the joints' own balance; contact and the user's forces
    /// aside.
    pub fn add(
        &mut self,
        at: &StepPoint<'_>,
        mu: &[f64],
        by_joints: &mut [f64],
        by_commands: &mut [f64],
        by_model: &mut ModelGradient,
    ) {
        let (model, n) = (at.model.model(), mu.len());
        if mu.iter().all(|m| *m == 0.0) {
            return;
        }
        // φ = −δt (ID(q, v₀, (v − v₀)/δt − a) + D v + K (q + δt v − q_rest) − τ) + impulse of inertia, with the acceleration a
        // of computed torque
        let scaled: Vec<f64> = mu.iter().map(|m| m * at.dt).collect();
        self.sensitivity.subtract_vjp(model, &scaled, by_joints, by_model);
        let mass = self.sensitivity.mass_matrix();
        for i in 0..n {
            by_joints[n + i] += (0..n).map(|k| mass[(i, k)] * mu[k]).sum::<f64>();
        }
        model.for_each_computed_torque(at.split_control().0, |axis| {
            let by_acceleration: f64 = (0..n).map(|k| mass[(axis.v, k)] * scaled[k]).sum();
            by_joints[axis.v] -= by_acceleration * axis.law.stiffness;
            let (q, v) = (at.before.joints.q[axis.q], self.velocity[axis.v]);
            axis.add_vjp(by_acceleration, q + v * at.dt, v, by_commands, by_model);
        });
        let by_impulse = InertialMotion { impulse: mu.to_vec(), ..InertialMotion::default() };
        self.add_inertial(model, &by_impulse, by_joints, by_model);
        let (q, v) = (&at.before.joints.q, &self.velocity);
        for (index, joint) in model.mechanism.passive_joints() {
            let by = &mut by_model.joints[index];
            by.damping -= joint.v.clone().map(|k| v[k] * scaled[k]).sum::<f64>();
            if joint.q.len() == 1 {
                let k = joint.v.start;
                by_joints[k] -= joint.spring.stiffness * scaled[k];
                by.stiffness -= (q[joint.q.start] + at.dt * v[k] - joint.spring.rest) * scaled[k];
                by.rest += joint.spring.stiffness * scaled[k];
            }
        }
        model.for_each_joint_law(at.split_control().0, &mut |index, law| {
            let by = law.slopes(|law, q, v| law.impulse(at.dt.into(), q, v), q[index.q], v[index.v]);
            // A coordinate that is driven has the same index in the tangent space as in v.
            by_joints[index.v] += mu[index.v] * by[0];
            if let Some((command, ratio)) = index.command() {
                by_commands[command] += mu[index.v] * by[2] * ratio;
            }
            if by_model.of_joint_laws {
                let impulse = |law: &JointLaw<_>, q, v| law.impulse(at.dt.into(), q, v);
                let slopes = law.number_slopes(impulse, q[index.q], v[index.v]);
                by_model.add_law_numbers(&index, slopes, mu[index.v]);
            }
        });
    }
}
