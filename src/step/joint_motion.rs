//! The motion of joints over a step without forces, in memory that the next step reuses.

use super::real_parts::RealParts;
use crate::multibody::tree::{InertialMotion, MidpointRule};
use crate::multibody::{JointKinematics, Model, State};
use crate::scalar::Scalar;

/// An [`InertialMotion`] and what it is found with.
#[derive(Debug)]
pub(super) struct JointMotion<T = f64> {
    motion: InertialMotion<T>,
    real: RealParts,
    real_motion: InertialMotion,
    kinematics: JointKinematics,
    rule: MidpointRule,
}

impl<T> Default for JointMotion<T> {
    fn default() -> Self {
        Self {
            motion: InertialMotion::default(),
            real: RealParts::default(),
            real_motion: InertialMotion::default(),
            kinematics: JointKinematics::default(),
            rule: MidpointRule::default(),
        }
    }
}

impl<T: Scalar> JointMotion<T> {
    /// That of a step of `dt` seconds from a state.
    pub fn of(&mut self, model: &Model<T>, state: &State<T>, dt: T) -> &InertialMotion<T> {
        let Self { motion, real, real_motion, kinematics, rule } = self;
        if !model.mechanism.has_spherical_joints() {
            motion.assign(&InertialMotion::default());
            return motion;
        }
        let (real_model, real_state) = real.of(model, state);
        let mechanism = &real_model.mechanism;
        if T::NDERIV > 0 {
            let joints = &state.joints;
            *motion = InertialMotion::new(&model.mechanism, mechanism, &joints.q, &joints.v, dt);
            return motion;
        }
        let joints = &real_state.joints;
        let kinematics = kinematics.update(mechanism, &joints.q, &joints.v);
        real_motion.set(mechanism, kinematics, &joints.q, &joints.v, dt.real(), rule);
        motion.assign(real_motion);
        motion
    }
}
