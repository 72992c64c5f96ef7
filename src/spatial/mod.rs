//! Rigid transforms and spatial vectors, in Drake's monogram notation.
//!
//! `x_wa` is the pose of frame A in W, `v_wa` the spatial velocity of A in W, `f_aq_w` the
//! spatial force on A at Q, expressed in W. Spatial vectors are (rotational; translational).

mod algebra;
mod force;
mod inertia;
mod mass_properties;
mod rotation;
mod transform;
mod velocity;

pub(crate) use algebra::from_quarters;
pub use force::SpatialForce;
pub use inertia::{ArticulatedInertia, SpatialInertia};
pub(crate) use mass_properties::MASS_NUMBERS;
pub use mass_properties::{MassProperties, MassPropertiesError, PSEUDO_INERTIA_NUMBERS};
#[doc(hidden)]
pub use rotation::rotation_between;
pub use rotation::{Quaternion, rotation_exponential, rotation_from_rpy};
pub(crate) use rotation::{
    cross_matrix, half_tangent_quotient, mean_rotation_of, rotation_exponential_jacobian, times_vector,
};
pub(crate) use rotation::{rotation_exponential_less_identity, rotation_to};
pub use transform::RigidTransform;
pub use velocity::SpatialVelocity;
