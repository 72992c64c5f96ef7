//! Bodies, their state, and how forces accelerate them.
//!
//! A [`Model`] is immutable: bodies, materials, gravity, and which geometries can touch; a
//! [`ModelBuilder`] makes and checks it. A [`State`] is what changes: pose and velocity of every
//! free body. Both are generic over the scalar, and [`seeded`] makes either carry derivatives with
//! respect to a list of [`Parameter`]s.

mod actuator;
mod applied_forces;
mod body;
mod broad_phase;
mod contact_forces;
mod contact_sensitivity;
mod contact_vjp;
mod dynamics;
mod energy;
mod force_dependence;
mod force_sensitivity;
mod force_values;
mod forces;
mod found_surfaces;
mod free_motion;
mod free_motion_sensitivity;
mod geometry_gradient;
mod joint_dynamics;
mod joint_gradient;
mod joint_law;
mod kinematics;
mod led_coordinates;
mod load;
mod load_forces;
mod load_history;
mod mass;
mod model;
mod model_builder;
mod model_error;
mod model_gradient;
mod pair;
mod pair_sensitivity;
mod parameter;
mod parameter_error;
mod parameter_lists;
mod parameter_name;
mod parameter_value;
mod patch_reading;
mod place_sensitivity;
mod seeding;
mod sensor;
mod shape_mass;
mod size;
mod state;
pub mod tree;

#[doc(hidden)]
pub use crate::spatial::rotation_between;
pub use crate::spatial::{MassProperties, MassPropertiesError};
pub use actuator::{Actuator, Drive, DrivenCoordinate, Transmission};
pub(crate) use applied_forces::for_each_applied_derivative;
pub use applied_forces::{AppliedForces, DifferentiableForces, ForcesIn, NoForces};
pub use body::{Body, BodyGeometry, Motion};
pub(crate) use broad_phase::BroadPhase;
#[doc(hidden)]
pub use broad_phase::may_touch;
#[doc(hidden)]
pub use contact_forces::with_pair;
pub use contact_forces::{BodyPairContact, BodyPairJacobian, PairWorkspace};
pub(crate) use contact_sensitivity::wrench_about_body;
pub use contact_sensitivity::{ContactSensitivity, WrenchByState};
pub use dynamics::{BodyAcceleration, BodyCotangent, body_acceleration};
pub(crate) use dynamics::{body_acceleration_vjp, solve};
pub use force_dependence::{ForceDependence, StateDependence};
pub use force_sensitivity::ForceSensitivity;
pub(crate) use force_values::{AppliedColumn, ForceEntry};
pub use force_values::{AppliedWorkspace, ForcePoint, Forces};
pub use forces::ForceWorkspace;
pub(crate) use forces::{add_drives_and_applied, total_forces};
pub(crate) use found_surfaces::FoundSurfaces;
pub(crate) use free_motion::FreeMotion;
pub(crate) use free_motion_sensitivity::FreeMotionSensitivity;
pub use geometry_gradient::GeometryGradient;
pub(crate) use joint_dynamics::{
    JointAcceleration, JointSensitivity, add_link_mass, add_link_motions, link_forces, set_link_velocities,
};
pub use joint_gradient::{DriveGradient, JointGradient, TreeGradient};
pub(crate) use joint_law::JointLaw;
pub use kinematics::{BodyFrame, JointKinematics};
pub use load::{BodyLoad, LoadFrame, LoadKind};
pub use load_history::{Load, LoadHistory, LoadPart};
pub use mass::MassSource;
pub(crate) use model::ModelIdentity;
pub use model::{Model, NamedMaterial};
pub use model_builder::ModelBuilder;
#[doc(hidden)]
pub use model_builder::check_pair_count;
#[doc(hidden)]
pub use model_builder::geometry_pairs;
pub use model_error::ModelError;
pub(crate) use model_gradient::JOINT_DIRECTIONS;
pub(crate) use model_gradient::seeded_models;
pub use model_gradient::{DIRECTIONS, DifferentiatedModel, ModelGradient, SEEDS, SeededModel};
pub(crate) use pair::contact_collider;
pub use pair::{BodyPair, GeometryPair};
pub(crate) use pair_sensitivity::PairSensitivity;
pub use parameter::{Parameter, StopNumber};
pub use parameter_error::ParameterError;
pub use parameter_name::TANGENT_NAMES;
pub use patch_reading::PatchReading;
pub(crate) use place_sensitivity::PlaceSensitivity;
pub use seeding::seeded;
pub use sensor::{PairPressure, SensorWorkspace};
pub(crate) use state::for_each_tangent_chunk;
pub use state::{BodyState, State, TANGENT_DIMENSION};
