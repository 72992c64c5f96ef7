//! From two overlapping bodies to the wrench between them, and its derivatives.

mod collider;
mod energy;
mod friction;
mod jacobian;
mod lifted;
mod material;
mod polygon;
mod roles;
mod search;
mod settings;
mod surface;
mod traction;
mod wrench;

pub use collider::{Collider, ContactGeometry};
pub use energy::contact_energy;
pub use friction::friction_factor;
pub use lifted::{ContactJacobian, contact_jacobian, contact_lifted};
pub use material::{Material, PairMaterial};
pub use roles::{ContactError, ContactPair, check_pair};
pub use settings::{
    ContactSettings, DissipationModel, FaceFilter, FrictionRegularization, SurfaceRepresentation,
};
pub use traction::positive_part;
pub use wrench::{ContactFace, ContactPatch, Workspace, contact, for_each_face};
