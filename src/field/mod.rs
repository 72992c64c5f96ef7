//! Extent and pressure fields on a geometry.

mod pressure_field;
mod rigid_surface;

pub use pressure_field::{FieldError, PressureField};
pub use rigid_surface::RigidSurface;
