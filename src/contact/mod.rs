//! From two overlapping bodies to the wrench between them, and its derivatives.

mod clip;
mod collider;
mod combination;
mod contact_polygon;
mod discrete;
mod discrete_jacobian;
mod discrete_lifted;
mod discrete_patch;
mod energy;
mod friction;
mod friction_direction;
mod impulse;
mod impulse_slopes;
mod jacobian;
mod lanes;
mod lifted;
mod local_transposed;
mod material;
mod one_sided;
mod onset;
mod point_sum;
mod polygon;
mod polygon_derivatives;
mod remembered;
mod rigid_triangle;
mod roles;
mod search;
mod settings;
mod surface;
mod traction;
mod transposed;
mod wrench;

pub use collider::{Collider, ContactGeometry};
pub use combination::combination_derivatives;
pub use contact_polygon::{ContactPolygon, for_each_contact_polygon};
pub(crate) use discrete::{DiscretePatch, DiscreteSettings, PointContacts, discrete_impulse, find_contacts};
pub(crate) use discrete_jacobian::{impulse_jacobian, world_impulse_jacobian};
pub(crate) use discrete_lifted::impulse_lifted;
pub(crate) use discrete_patch::SlipChange;
pub use energy::contact_energy;
pub use friction::friction_factor;
pub use impulse::ContactModel;
pub(crate) use impulse::hunt_crossley_cost;
pub use lifted::{ContactJacobian, contact_jacobian, contact_lifted};
pub use material::{Material, PairMaterial};
pub use onset::onset;
pub(crate) use roles::Roles;
pub use roles::{ContactError, ContactPair, check_pair};
pub use settings::{
    ContactSettings, DissipationModel, FaceFilter, FrictionRegularization, SurfaceRepresentation,
};
pub use traction::positive_part;
pub use transposed::{ContactCotangent, contact_transposed};
pub use wrench::{ContactFace, ContactPatch, Workspace, contact, for_each_face};
