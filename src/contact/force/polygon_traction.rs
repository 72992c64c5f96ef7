//! The traction on each polygon of a contact surface: to draw it, or to write it to a file.

use nalgebra::Vector3;

use crate::contact::force::skirt_onset::onset;
use crate::contact::force::traction::TractionLaw;
use crate::contact::force::wrench::{fan_rule, for_each_point};
use crate::contact::pair::query::{ContactPair, Roles};
use crate::contact::settings::ContactSettings;
use crate::contact::surface::contact_polygon::ContactPolygon;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::search::for_each_polygon;
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::contact::surface::workspace::Workspace;

/// What acts on one polygon of a contact surface, in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolygonTraction {
    /// Centroid, m.
    pub centroid: Vector3<f64>,
    /// Area, m².
    pub area: f64,
    /// Undamped pressure that acts at the centroid, Pa.
    pub pressure: f64,
    /// Mean traction on A, Pa: pressure with its damping, and friction. Times the area it is the force.
    pub on_a: Vector3<f64>,
    /// Moment of the traction on A about the centroid, N m.
    pub moment_on_a: Vector3<f64>,
    /// Velocity of A relative to B along the surface, at the centroid, m/s.
    pub slip: Vector3<f64>,
}

/// Calls `visit` with every polygon of the contact surface and the traction on it, in a fixed order.
///
/// The pressures at the polygon's vertices are those that act (see [`onset`]). The tractions are integrated
/// as [`crate::contact::contact`] integrates them, so that their sum is its wrench. Nothing is visited if
/// the bodies do not touch or [`crate::contact::check_pair`] refuses the pair.
pub fn for_each_polygon_traction(
    pair: &ContactPair,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    mut visit: impl FnMut(&ContactPolygon, &PolygonTraction),
) {
    let Ok(roles) = Roles::new(pair) else { return };
    let law = TractionLaw::new(&roles, settings);
    let rule = fan_rule(settings);
    let (width, _) = roles.onset_width();
    for_each_polygon(&roles, settings.face_filter, &mut workspace.search, |found, equilibrium| {
        let mut polygon = SurfacePolygon::evaluate(&roles, found, equilibrium);
        let fan = Fan::new(&polygon, settings.surface);
        let (normal, centroid) = (polygon.normal, fan.centroid);
        let velocity = |x: &Vector3<f64>| roles.v_fo.translational + roles.v_fo.rotational.cross(x);
        let dissipation = law.dissipation(&polygon);
        let (mut force, mut moment) = (Vector3::zeros(), Vector3::zeros());
        for_each_point(&polygon, &fan, settings.surface, rule, |x, p, a| {
            let acting = onset(p, width).0;
            let on_o = law.per_pressure(&normal, &velocity(x), dissipation, acting) * (acting * a);
            force += on_o;
            moment += (x - centroid).cross(&on_o);
        });
        let to_world = roles.x_wf.rotation * if roles.a_is_o { 1.0 } else { -1.0 };
        let v = velocity(&centroid);
        let mean = if fan.area > 0.0 { force / fan.area } else { Vector3::zeros() };
        let traction = PolygonTraction {
            centroid: roles.x_wf * centroid,
            area: fan.area,
            pressure: onset(fan.pressure, width).0,
            on_a: to_world * mean,
            moment_on_a: to_world * moment,
            slip: to_world * (v - normal * v.dot(&normal)),
        };
        for pressure in &mut polygon.pressure[..polygon.len] {
            *pressure = onset(*pressure, width).0;
        }
        visit(&ContactPolygon::in_world(&roles, &mut polygon), &traction);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    use crate::contact::{Collider, Material, SurfaceRepresentation, contact};
    use crate::geometry::Shape;
    use crate::spatial::{RigidTransform, SpatialVelocity, rotation_exponential};

    #[test]
    fn tractions_sum_to_the_wrench_and_slip_is_along_the_surface_whichever_body_is_a() {
        let body = |shape: Shape, modulus: f64| {
            Collider::of_shape(&shape, 0.04, Material::new(modulus, 2.0, 0.7)).expect("a shape")
        };
        let (ball, block) =
            (body(Shape::Sphere { radius: 0.05 }, 1e5), body(Shape::Box { size: [0.1, 0.12, 0.08] }, 3e5));
        let turn = rotation_exponential(&Vector3::new(0.3, -0.8, 0.5));
        let ball_pose = RigidTransform::new(turn, Vector3::new(0.02, 0.01, 0.08));
        let moving = SpatialVelocity::new(Vector3::new(1.0, -0.5, 0.3), Vector3::new(0.2, 0.1, -0.05));
        let mut pair = ContactPair::at_rest(&ball, ball_pose, &block, RigidTransform::identity());
        pair.v_wa = moving;
        let mut swapped = ContactPair::at_rest(&block, RigidTransform::identity(), &ball, ball_pose);
        swapped.v_wb = moving;
        let mut workspace = Workspace::default();
        let both = [SurfaceRepresentation::Polygons, SurfaceRepresentation::Triangles];
        let cases = both.into_iter().flat_map(|surface| [(surface, &pair), (surface, &swapped)]);
        for (surface, pair) in cases {
            let settings = ContactSettings { surface, ..Default::default() };
            let patch = contact(pair, &settings, &mut workspace).expect("compliant").expect("they touch");
            let (mut force, mut moment, mut area) = (Vector3::zeros(), Vector3::zeros(), 0.0);
            let origin = pair.x_wa.translation;
            for_each_polygon_traction(pair, &settings, &mut workspace, |polygon, traction| {
                force += traction.on_a * traction.area;
                moment += (traction.centroid - origin).cross(&traction.on_a) * traction.area;
                moment += traction.moment_on_a;
                area += traction.area;
                assert!(traction.slip.dot(&polygon.normal).abs() < 1e-12);
                let at = |v: &SpatialVelocity, origin: &Vector3<f64>| {
                    v.translational + v.rotational.cross(&(traction.centroid - origin))
                };
                let relative =
                    at(&pair.v_wa, &pair.x_wa.translation) - at(&pair.v_wb, &pair.x_wb.translation);
                let along = relative - polygon.normal * relative.dot(&polygon.normal);
                assert_relative_eq!(traction.slip, along, epsilon = 1e-12);
                let friction = traction.on_a - polygon.normal * traction.on_a.dot(&polygon.normal);
                assert!(friction.dot(&traction.slip) <= 0.0, "friction opposes slip");
            });
            assert_relative_eq!(area, patch.area, max_relative = 1e-12);
            assert_relative_eq!(force, patch.wrench_on_a.translational, max_relative = 1e-10);
            assert_relative_eq!(moment, patch.wrench_on_a.rotational, max_relative = 1e-9);
        }
    }
}
