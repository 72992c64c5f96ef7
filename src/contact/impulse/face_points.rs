//! Where a face's forces act, with derivatives with respect to the geometry of the surface.

use nalgebra::Vector3;

use crate::contact::force::local_jacobian::{Dual, set_moving_vertices};
use crate::contact::force::wrench::for_each_point;
use crate::contact::impulse::face_rule::FaceRule;
use crate::contact::impulse::point_contacts::FoundPolygon;
use crate::contact::impulse::polygon_motion::{FacePoint, moving_face, moving_triangles};
use crate::contact::pair::query::Roles;
use crate::contact::settings::SurfaceRepresentation;
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::polygon::{MAX_VERTICES, Polygon};
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::contact::surface::vertex_planes::Gradients;
use crate::geometry::LARGEST_TRIANGLE_RULE;

/// The points of a polygon that forces act at, with their derivatives with respect to the geometry.
pub(super) struct FacePoints {
    pub polygon: SurfacePolygon<Dual>,
    real: SurfacePolygon<f64>,
    pub points: [FacePoint; MOST_POINTS],
    pub count: usize,
}

impl FacePoints {
    pub fn none() -> Self {
        let zero = Dual::constant(0.0);
        Self {
            polygon: SurfacePolygon::empty(),
            real: SurfacePolygon::empty(),
            points: [(Vector3::new(zero, zero, zero), zero, zero); MOST_POINTS],
            count: 0,
        }
    }

    /// Becomes the points of a polygon, whose normal and gradients are set; returns its area.
    #[inline(always)]
    pub fn set(&mut self, roles: &Roles<f64>, (found, equilibrium): &FoundPolygon, rule: &FaceRule) -> f64 {
        self.real.set_real(found, equilibrium);
        let fan = Fan::new(&self.real, rule.surface);
        let gradients = Gradients::new(roles, found, equilibrium);
        if fan.has_centroid {
            let face = moving_face(&gradients, found, equilibrium, &fan);
            match rule.surface {
                SurfaceRepresentation::Polygons => {
                    self.points[0] = face;
                    self.count = 1;
                }
                SurfaceRepresentation::Triangles => {
                    set_moving_vertices(&gradients, found, equilibrium, &mut self.polygon);
                    let moving = (&self.polygon, &face);
                    self.count =
                        moving_triangles(moving, &equilibrium.normal, &fan, rule.points, &mut self.points);
                }
            }
        } else {
            self.set_sliver(&gradients, found, equilibrium, rule);
        }
        fan.area
    }

    /// [`Self::set`] where there is no centroid.
    #[inline(never)]
    fn set_sliver(
        &mut self,
        gradients: &Gradients,
        found: &Polygon,
        equilibrium: &Equilibrium,
        rule: &FaceRule,
    ) {
        let Self { polygon, points, count, .. } = self;
        set_moving_vertices(gradients, found, equilibrium, polygon);
        let fan = Fan::new(polygon, rule.surface);
        *count = 0;
        for_each_point(polygon, &fan, rule.surface, rule.points, |x, p, area| {
            points[*count] = (*x, p, area);
            *count += 1;
        });
    }
}

/// Most points of a polygon: those of all triangles of its fan by the largest rule.
const MOST_POINTS: usize = MAX_VERTICES * LARGEST_TRIANGLE_RULE;
