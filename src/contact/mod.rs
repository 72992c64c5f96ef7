//! From two overlapping bodies to the wrench between them, and its derivatives.

mod collider;
mod material;
mod settings;

pub use collider::{Collider, ContactGeometry};
pub use material::{Material, PairMaterial};
pub use settings::{
    ContactSettings, DissipationModel, FaceFilter, FrictionRegularization, SurfaceRepresentation,
};
