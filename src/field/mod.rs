//! Extent and pressure fields on a geometry.

mod distance;
mod error;
mod extent_source;
pub mod hierarchy;
mod laplace;
mod laplace_system;
mod pressure_field;
mod primitive;
mod rigid_surface;
mod skirt;
mod zero_gradient;

pub use distance::{distance_extent, distance_extent_vjp};
pub use error::FieldError;
pub use extent_source::ExtentSource;
pub use laplace::{DEFAULT_CORE_THRESHOLD, deep_core, laplace_extent, laplace_extent_vjp};
pub use pressure_field::{IsobaricFace, LinearFunction, PressureField, Skirt, TetrahedronField};
pub use primitive::{primitive_extent, primitive_field};
pub use rigid_surface::RigidSurface;
pub(crate) use skirt::check_skirt;
pub use zero_gradient::{SplitMesh, split_zero_gradient_tetrahedra, zero_gradient_tetrahedra};
