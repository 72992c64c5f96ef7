//! Energy and momentum of a state.

use nalgebra::Vector3;

use super::kinematics::JointKinematics;
use super::model::Model;
use super::state::State;
use super::tree::JointState;
use crate::scalar::Scalar;

impl<T: Scalar> Model<T> {
    /// Kinetic energy of a state plus potential energy of gravity (zero at W's origin) and of the
    /// joints' springs, J.
    pub fn mechanical_energy(&self, state: &State<T>) -> T {
        let mut energy = T::from(0.0);
        for ((_, _, m), s) in self.free_bodies().zip(&state.bodies) {
            let r = s.orientation.to_matrix();
            let c = r * m.center_of_mass;
            let v = s.velocity.shifted(&c).translational;
            let w = r.transpose() * s.velocity.rotational;
            energy += (v.dot(&v) * m.mass + w.dot(&(m.inertia * w))) * 0.5;
            energy -= self.gravity.dot(&(s.position + c)) * m.mass;
        }
        let mut joints = JointKinematics::default();
        let JointState { q, v, .. } = &state.joints;
        let workspace = joints.update(&self.mechanism, q, v);
        energy += self.mechanism.kinetic_energy(workspace, v);
        energy + self.mechanism.potential_energy(workspace, q, &self.gravity)
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
