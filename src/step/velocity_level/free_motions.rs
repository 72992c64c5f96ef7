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
    /// Those of a step of `dt` seconds.
    pub fn new(model: &Model<T>, state: &State<T>, dt: f64) -> Self {
        let joints = InertialMotion::new(&model.mechanism, &state.joints.q, &state.joints.v, dt);
        Self { bodies: of_bodies(model, state, dt).collect(), joints }
    }

    /// Constant motions.
    pub fn lift(motions: &FreeMotions) -> Self {
        let bodies = motions.bodies.iter().map(FreeMotion::lift).collect();
        Self { bodies, joints: InertialMotion::lift(&motions.joints) }
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
    dt: f64,
) -> impl Iterator<Item = FreeMotion<T>> + 'a {
    model.free_bodies().zip(&state.bodies).map(move |((_, _, mass), body)| {
        FreeMotion::new(mass, &body.orientation.to_matrix(), &body.velocity.rotational, dt)
    })
}
