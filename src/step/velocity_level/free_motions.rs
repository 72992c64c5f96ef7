//! The motion of all that moves over a step without forces.

use crate::multibody::tree::{InertialMotion, MidpointRule, Workspace as JointWorkspace};
use crate::multibody::{FreeMotion, Model, State};
use crate::scalar::Scalar;

/// The motions of the free bodies and of the joints without forces.
#[derive(Clone, Debug)]
pub(super) struct FreeMotions<T = f64> {
    pub bodies: Vec<FreeMotion<T>>,
    pub joints: InertialMotion<T>,
}

impl<T> Default for FreeMotions<T> {
    /// Nothing moves.
    fn default() -> Self {
        Self { bodies: Vec::new(), joints: InertialMotion::default() }
    }
}

impl<T: Scalar> FreeMotions<T> {
    /// Become those of a step of `dt` seconds, of which the values are known; `real` is the model
    /// without its derivatives.
    pub fn set_lifted(
        &mut self,
        values: &FreeMotions,
        model: &Model<T>,
        real: &Model,
        state: &State<T>,
        dt: T,
    ) {
        self.bodies.clear();
        if T::NDERIV > 0 {
            self.bodies.extend(of_bodies(model, state, dt));
            let (q, v) = (&state.joints.q, &state.joints.v);
            self.joints = InertialMotion::new(&model.mechanism, &real.mechanism, q, v, dt);
        } else {
            self.bodies.extend(values.bodies.iter().map(FreeMotion::lift));
            self.joints.assign(&values.joints);
        }
    }
}

impl FreeMotions {
    /// Become those of a step of `dt` seconds, with the kinematics of the joints at the state.
    pub fn set(
        &mut self,
        model: &Model,
        state: &State,
        kinematics: &mut JointWorkspace,
        dt: f64,
        scratch: &mut MidpointRule,
    ) {
        self.bodies.clear();
        self.bodies.extend(of_bodies(model, state, dt));
        let (q, v) = (&state.joints.q, &state.joints.v);
        self.joints.set(&model.mechanism, kinematics, q, v, dt, scratch);
    }
}

/// The motion of each free body over a step without moments.
fn of_bodies<'a, T: Scalar>(
    model: &'a Model<T>,
    state: &'a State<T>,
    dt: T,
) -> impl Iterator<Item = FreeMotion<T>> + 'a {
    model.free_bodies().zip(&state.bodies).map(move |((_, _, mass), body)| {
        FreeMotion::new(mass, &body.orientation.to_matrix(), &body.velocity.rotational, dt)
    })
}
