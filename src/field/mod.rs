//! Extent and pressure fields on a geometry.

pub mod hierarchy;
mod pressure_field;
mod rigid_surface;

pub use pressure_field::{FieldError, IsobaricFace, LinearFunction, PressureField, TetrahedronField};
pub use rigid_surface::RigidSurface;
