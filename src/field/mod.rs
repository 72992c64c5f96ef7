//! Extent and pressure fields on a geometry.

mod pressure_field;
mod primitive;
mod rigid_surface;

pub use pressure_field::{FieldError, PressureField};
pub use primitive::{primitive_extent, primitive_field};
pub use rigid_surface::RigidSurface;
