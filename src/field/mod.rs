//! Extent and pressure fields on a geometry.

mod cells;
mod distance;
mod error;
mod extent_source;
pub mod hierarchy;
mod laplace;
mod laplace_system;
mod law_table;
mod layers;
mod pressure_field;
mod pressure_law;
mod primitive;
mod rigid_surface;
mod skirt;
mod softness;
mod tetrahedron;
mod zero_gradient;

pub(crate) use cells::{Cells, OfFaces, WayOut};
pub use distance::{distance_extent, distance_extent_vjp};
pub use error::{FieldError, LARGEST_LAYER_COUNT};
pub use extent_source::ExtentSource;
pub use laplace::{DEFAULT_CORE_THRESHOLD, deep_core, laplace_extent, laplace_extent_vjp};
pub use law_table::LawTable;
pub use layers::{EdgePoint, LayeredMesh, graded_levels, split_at_levels};
pub use pressure_field::{PressureField, Skirt};
pub use pressure_law::{LAW_MISS, MOST_DEFAULT_LAYERS, PressureLaw};
pub use primitive::{primitive_extent, primitive_field};
pub use rigid_surface::RigidSurface;
pub(crate) use skirt::check_skirt;
pub(crate) use softness::{SoftPart, soft_part};
pub use tetrahedron::{IsobaricFace, LinearFunction, TetrahedronField};
pub use zero_gradient::{SplitMesh, split_zero_gradient_tetrahedra, zero_gradient_tetrahedra};
