//! How steps cut polygons into faces, and where these act.

use crate::contact::pair::query::Parts;
use crate::contact::settings::{ContactSettings, FaceFilter, SurfaceRepresentation};
use crate::geometry::{TrianglePoint, triangle_rule};

/// Polygons of meshes with edges above this part of the bodies' size have faces of their own for their triangles.
const COARSE: f64 = 0.25;

/// How a step cuts the polygons of a pair into faces: triangles with the points of a rule, or one face each.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct FaceRule {
    pub surface: SurfaceRepresentation,
    pub points: &'static [TrianglePoint],
}

impl FaceRule {
    /// The rule of a pair. A single point for each polygon holds no body whose face is two polygons: it turns about the line
    /// through both. So polygons of coarse meshes are cut into triangles, but for comparison with Drake.
    pub fn new<T>(parts: &Parts, contact: &ContactSettings<T>) -> Self {
        let coarse = contact.surface == SurfaceRepresentation::Polygons
            && contact.face_filter == FaceFilter::None
            && is_coarse(parts);
        let surface = if coarse { SurfaceRepresentation::Triangles } else { contact.surface };
        let points = triangle_rule(contact.quadrature_order.unwrap_or(1).clamp(1, 5)).unwrap_or(&[]);
        Self { surface, points }
    }
}

/// Whether the edges of both meshes are long beside the smaller of the bodies.
fn is_coarse(parts: &Parts) -> bool {
    // The longest edge, and the radius of the body.
    let [(edge, radius), (other_edge, other_radius)] = match parts {
        Parts::TwoFields { o, f } => [o, f].map(|field| (field.longest_edge(), field.hierarchy().span())),
        Parts::SurfaceInField { o, f } => {
            [(o.longest_edge(), o.hierarchy().span()), (f.longest_edge(), f.hierarchy().span())]
        }
        Parts::HalfSpaceInField { f, .. } => [(f.longest_edge(), f.hierarchy().span()); 2],
        Parts::SurfaceInHalfSpace { o } => [(o.longest_edge(), o.hierarchy().span()); 2],
    };
    edge.min(other_edge) > COARSE * 2.0 * radius.min(other_radius)
}
