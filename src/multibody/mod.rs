//! Bodies, their state, and how forces accelerate them.
//!
//! A [`Model`] is immutable: bodies, materials, gravity, and which geometries can touch; a
//! [`ModelBuilder`] makes and checks it. A [`State`] is what changes: pose and velocity of every
//! free body. Both are generic over the scalar, and [`seeded`] makes either carry derivatives with
//! respect to a list of [`Parameter`]s.
//!
//! The rooms, from the bottom up; none uses one above it: `model_error.rs`, `tree`, `models`, `motion`, `parameters`,
//! `contact`, `forces`.

mod contact;
mod forces;
mod model_error;
mod models;
mod motion;
mod parameters;
pub mod tree;

#[doc(hidden)]
pub use crate::spatial::rotation_between;
pub use crate::spatial::{MassProperties, MassPropertiesError};
pub(crate) use contact::broad_phase::BroadPhase;
#[doc(hidden)]
pub use contact::broad_phase::may_touch;
pub(crate) use contact::contact_forces::shares;
#[doc(hidden)]
pub use contact::contact_forces::with_pair;
pub use contact::contact_forces::{BodyPairContact, BodyPairJacobian, PairWorkspace};
pub use contact::contact_sensitivity::{ContactSensitivity, WrenchByState};
pub(crate) use contact::contact_sensitivity::{by_wrench_on_a, wrench_about_body};
pub(crate) use contact::found_surfaces::FoundSurfaces;
pub use contact::patch_reading::PatchReading;
pub(crate) use contact::place_sensitivity::PlaceSensitivity;
pub use contact::sensor::{PairPressure, SensorWorkspace};
pub(crate) use forces::applied_forces::for_each_applied_derivative;
pub use forces::applied_forces::{AppliedForces, DifferentiableForces, ForcesIn, NoForces};
pub use forces::force_sensitivity::ForceSensitivity;
pub(crate) use forces::force_values::{AppliedColumn, ForceEntry};
pub use forces::force_values::{AppliedWorkspace, ForcePoint, Forces};
pub(crate) use forces::joint_dynamics::{
    JointAcceleration, JointSensitivity, add_link_mass, add_link_motions, link_forces, set_link_velocities,
};
pub use forces::total_forces::ForceWorkspace;
pub(crate) use forces::total_forces::{add_drives_and_applied, forces_without_contact, total_forces};
pub use model_error::ModelError;
pub use models::actuator::{Actuator, Drive, DrivenCoordinate, Transmission};
pub(crate) use models::body::unit_parts;
pub use models::body::{Body, BodyGeometry, Motion};
pub(crate) use models::joint_law::JointLaw;
pub use models::load::{BodyLoad, LoadFrame, LoadKind};
pub use models::load_history::{Load, LoadHistory, LoadPart};
pub use models::mass::MassSource;
pub(crate) use models::model::ModelIdentity;
pub use models::model::{Model, NamedMaterial};
pub use models::model_builder::ModelBuilder;
#[doc(hidden)]
pub use models::model_builder::check_pair_count;
#[doc(hidden)]
pub use models::model_builder::geometry_pairs;
pub(crate) use models::pair::contact_collider;
pub use models::pair::{BodyPair, GeometryPair};
pub(crate) use models::state::for_each_tangent_chunk;
pub use models::state::{BodyState, State, TANGENT_DIMENSION};
pub use motion::dynamics::{BodyAcceleration, BodyCotangent, body_acceleration};
pub(crate) use motion::dynamics::{body_acceleration_vjp, solve};
pub(crate) use motion::free_motion::FreeMotion;
pub(crate) use motion::free_motion_sensitivity::FreeMotionSensitivity;
pub use motion::kinematics::{BodyFrame, JointKinematics};
pub use parameters::force_dependence::{ForceDependence, StateDependence};
pub use parameters::geometry_gradient::GeometryGradient;
pub use parameters::joint_gradient::{DriveGradient, JointGradient, TreeGradient};
pub(crate) use parameters::model_gradient::JOINT_DIRECTIONS;
pub(crate) use parameters::model_gradient::seeded_models;
pub use parameters::model_gradient::{DIRECTIONS, DifferentiatedModel, ModelGradient, SEEDS, SeededModel};
pub use parameters::parameter::{Parameter, StopNumber};
pub use parameters::parameter_error::ParameterError;
pub use parameters::parameter_name::TANGENT_NAMES;
pub use parameters::seeding::seeded;
pub(crate) use parameters::seeding::seeded_along;
