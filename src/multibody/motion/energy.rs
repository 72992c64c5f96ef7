//! Energy and momentum of a state.

use nalgebra::Vector3;

use super::kinematics::JointKinematics;
use crate::multibody::tree::JointState;
use crate::multibody::{BodyState, Model, State};
use crate::scalar::Scalar;
use crate::spatial::MassProperties;

impl<T: Scalar> Model<T> {
    /// Kinetic energy of a state plus potential energy of gravity (zero at W's origin) and of the
    /// joints' springs, J.
    pub fn mechanical_energy(&self, state: &State<T>) -> T {
        let bodies = self.free_bodies().zip(&state.bodies);
        let of_bodies = bodies.fold(T::from(0.0), |sum, ((_, _, mass), body)| {
            let [kinetic, potential] = self.body_energy(mass, body);
            sum + kinetic + potential
        });
        let mut joints = JointKinematics::default();
        joints.update(&self.mechanism, &state.joints.q, &state.joints.v);
        let [kinetic, potential] = self.joint_energy(&mut joints, &state.joints);
        of_bodies + kinetic + potential
    }

    /// Kinetic and potential energy of a free body, J.
    pub(crate) fn body_energy(&self, m: &MassProperties<T>, s: &BodyState<T>) -> [T; 2] {
        let r = s.orientation.to_matrix();
        let c = r * m.center_of_mass;
        let v = s.velocity.shifted(&c).translational;
        let w = r.transpose() * s.velocity.rotational;
        let kinetic = (v.dot(&v) * m.mass + w.dot(&(m.inertia * w))) * 0.5;
        [kinetic, -self.gravity.dot(&(s.position + c)) * m.mass]
    }

    /// Kinetic and potential energy of the bodies at joints and of the joints' springs, J, in the state that the
    /// kinematics are of.
    pub(crate) fn joint_energy(&self, kinematics: &mut JointKinematics<T>, joints: &JointState<T>) -> [T; 2] {
        let workspace = kinematics.of(&self.mechanism);
        let kinetic = self.mechanism.kinetic_energy(workspace, &joints.v);
        [kinetic, self.mechanism.potential_energy(workspace, &joints.q, &self.gravity)]
    }

    /// Angular momentum of a state about W's origin, in W, kg m²/s.
    pub fn angular_momentum(&self, state: &State<T>) -> Vector3<T> {
        let mut momentum = Vector3::from_element(T::from(0.0));
        for ((_, _, m), s) in self.free_bodies().zip(&state.bodies) {
            let r = s.orientation.to_matrix();
            let c = r * m.center_of_mass;
            let v = s.velocity.shifted(&c).translational;
            momentum += r * (m.inertia * (r.transpose() * s.velocity.rotational));
            momentum += (s.position + c).cross(&v) * m.mass;
        }
        let mut joints = JointKinematics::default();
        let workspace = joints.update(&self.mechanism, &state.joints.q, &state.joints.v);
        momentum + self.mechanism.momentum(workspace).rotational
    }
}
