//! Extent and pressure fields on a geometry.

mod distance;
mod extent_error;
mod pressure_field;
mod rigid_surface;

pub use distance::{boundary_distance, distance_extent};
pub use extent_error::ExtentError;
pub use pressure_field::{FieldError, PressureField};
pub use rigid_surface::RigidSurface;
