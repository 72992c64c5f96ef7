//! Bodies, their state, and how forces accelerate them.
//!
//! A [`Model`] is immutable: bodies, materials, gravity, and which geometries can touch. A
//! [`State`] is what changes: pose and velocity of every free body. Both are generic over the
//! scalar, and [`seeded`] makes either carry derivatives with respect to a list of [`Input`]s.

mod contact_forces;
mod dynamics;
mod forces;
mod input;
mod kinematics;
mod mass;
mod model;
mod state;
pub mod tree;

pub use crate::spatial::{MassProperties, MassPropertiesError};
pub use contact_forces::{
    BodyPairContact, BodyPairJacobian, PairWorkspace, add_contact_forces, body_pair_contact,
    body_pair_energy, body_pair_jacobian,
};
pub use dynamics::{BodyAcceleration, body_acceleration};
pub use forces::{AppliedForces, ForceWorkspace, NoForces, total_forces};
pub use input::{Input, InputError, TANGENT_NAMES, all_inputs, seeded};
pub use kinematics::BodyFrame;
pub use mass::{MassError, MassSource};
pub use model::{
    Body, BodyGeometry, BodyPair, GeometryPair, Model, ModelError, Motion, NamedMaterial, geometry_pairs,
};
pub use state::{BodyState, State, TANGENT_DIMENSION};
