//! How steps cut polygons into faces, and where these act.

use crate::contact::pair::query::Parts;
use crate::contact::settings::{ContactSettings, FaceFilter, SurfaceRepresentation, USUAL_QUADRATURE_ORDER};
use crate::geometry::{TrianglePoint, triangle_rule};

/// Polygons of meshes with triangles above this part of their surface are cut into triangles.
const COARSE: f64 = 0.04;

/// How a step cuts the polygons of a pair into faces: triangles with the points of a rule, or one face each.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct FaceRule {
    pub surface: SurfaceRepresentation,
    pub points: &'static [TrianglePoint],
}

impl FaceRule {
    /// The rule of a pair. A point of a face stands for a spring, and springs at single points of large faces resist tilt
    /// less than the faces do: a body whose face is two polygons turns about the line through both points, and
    /// one on a few triangles turns too far in each step, to and fro. So polygons of coarse meshes are cut into triangles,
    /// with points that are exact for moments of pressure, but for comparison with Drake.
    pub fn new<T>(parts: &Parts, contact: &ContactSettings<T>) -> Self {
        let coarse = contact.face_filter == FaceFilter::None && is_coarse(parts);
        let surface = if coarse { SurfaceRepresentation::Triangles } else { contact.surface };
        let order = contact.quadrature_order.unwrap_or(if coarse { USUAL_QUADRATURE_ORDER } else { 1 });
        let points = triangle_rule(order.clamp(1, 5)).unwrap_or(&[]);
        Self { surface, points }
    }
}

/// Whether both meshes have triangles that are large parts of their surfaces.
fn is_coarse(parts: &Parts) -> bool {
    let [o, f] = match parts {
        Parts::TwoFields { o, f } => [o.largest_part(), f.largest_part()],
        Parts::SurfaceInField { o, f } => [o.largest_part(), f.largest_part()],
        Parts::HalfSpaceInField { f, .. } => [1.0, f.largest_part()],
        Parts::SurfaceInHalfSpace { o } => [o.largest_part(), 1.0],
        Parts::TwoRigid => return false,
    };
    o.min(f) > COARSE
}
