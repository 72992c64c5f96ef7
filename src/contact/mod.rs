//! From two overlapping bodies to the wrench between them, and its derivatives.

mod clip;
mod collider;
mod contact_polygon;
mod energy;
mod friction;
mod jacobian;
mod lifted;
mod material;
mod one_sided;
mod polygon;
mod polygon_derivatives;
mod rigid_triangle;
mod roles;
mod search;
mod settings;
mod surface;
mod traction;
mod wrench;

pub use collider::{Collider, ContactGeometry};
pub use contact_polygon::{ContactPolygon, for_each_contact_polygon};
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
