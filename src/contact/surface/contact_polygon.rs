//! The polygons of a contact surface with their vertices: to draw it, to write it to a file, or
//! to integrate something of one's own over it.

use nalgebra::Vector3;

use crate::contact::pair::query::{ContactPair, Roles};
use crate::contact::settings::ContactSettings;
use crate::contact::surface::search::for_each_polygon;
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::contact::surface::workspace::Workspace;
use crate::scalar::Scalar;

/// One convex polygon of a contact surface: where the equilibrium plane of two elements lies in
/// both (Elandt §VI-B).
#[derive(Clone, Copy, Debug)]
pub struct ContactPolygon<'a, T = f64> {
    /// Vertices in the world, metres, counter-clockwise about the normal.
    pub vertices: &'a [Vector3<T>],
    /// Pressure of the fields at each vertex, Pa; linear in between. It is the undamped pressure that
    /// acts. In skirts it may be negative; the pressure that acts is then given by
    /// [`crate::contact::onset`].
    pub pressures: &'a [T],
    /// Unit normal in the world, out of B, into A.
    pub normal: Vector3<T>,
}

/// Calls `visit` with every polygon of the contact surface, in a fixed order.
///
/// They are the polygons that [`crate::contact::for_each_face`] divides into faces; of the settings only
/// the face filter matters. Nothing is visited if the bodies do not touch or
/// [`crate::contact::check_pair`] refuses the pair.
pub fn for_each_contact_polygon<T: Scalar>(
    pair: &ContactPair<T>,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    mut visit: impl FnMut(&ContactPolygon<T>),
) {
    let Ok(roles) = Roles::new(pair) else { return };
    for_each_polygon(&roles, settings.face_filter, &mut workspace.search, |found, equilibrium| {
        let mut polygon = SurfacePolygon::evaluate(&roles, found, equilibrium);
        visit(&ContactPolygon::in_world(&roles, &mut polygon));
    });
}

impl<'a, T: Scalar> ContactPolygon<'a, T> {
    /// A polygon moved from F's frame to the world, in place.
    pub(in crate::contact) fn in_world(roles: &Roles<T>, polygon: &'a mut SurfacePolygon<T>) -> Self {
        let len = polygon.len;
        for vertex in &mut polygon.position[..len] {
            *vertex = roles.x_wf * *vertex;
        }
        // The polygon's own normal points into O, and its vertices turn about it.
        let mut normal = roles.x_wf.rotation * polygon.normal;
        if !roles.a_is_o {
            normal = -normal;
            polygon.position[..len].reverse();
            polygon.pressure[..len].reverse();
        }
        Self { vertices: &polygon.position[..len], pressures: &polygon.pressure[..len], normal }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::contact::{Collider, Material, contact};
    use crate::geometry::Shape;
    use crate::spatial::{RigidTransform, rotation_from_rpy};

    /// Area and pressure integral of the polygons, with their turning checked, are those of the
    /// patch; with the compliant body as A and as B.
    #[test]
    fn polygons_are_the_patch() {
        let material = Material::new(1e5, 0.0, 0.0);
        let ball = Collider::of_shape(&Shape::Sphere { radius: 0.1 }, 0.03, material).unwrap();
        let ground = Collider::rigid_half_space(material);
        let x_ball = RigidTransform::new(rotation_from_rpy(0.3, -0.2, 0.5), Vector3::new(0.01, 0.02, 0.07));
        let x_ground = RigidTransform::new(rotation_from_rpy(0.1, 0.05, 0.0), Vector3::zeros());
        let ball_first = ContactPair::at_rest(&ball, x_ball, &ground, x_ground);
        let ground_first = ContactPair::at_rest(&ground, x_ground, &ball, x_ball);
        let settings = ContactSettings::default();
        let mut workspace = Workspace::default();
        for pair in [ball_first, ground_first] {
            let patch = contact(&pair, &settings, &mut workspace).expect("a pair that can touch").unwrap();
            let (mut area, mut force) = (0.0, Vector3::zeros());
            for_each_contact_polygon(&pair, &settings, &mut workspace, |polygon| {
                for i in 1..polygon.vertices.len() - 1 {
                    let [u, v, w] = [0, i, i + 1].map(|k| polygon.vertices[k]);
                    let triangle = 0.5 * (v - u).cross(&(w - u)).dot(&polygon.normal);
                    assert!(triangle > -1e-16, "{triangle}");
                    let pressure =
                        (polygon.pressures[0] + polygon.pressures[i] + polygon.pressures[i + 1]) / 3.0;
                    area += triangle;
                    force += polygon.normal * (triangle * pressure);
                }
            });
            assert_relative_eq!(area, patch.area, max_relative = 1e-12);
            assert_relative_eq!(force, patch.wrench_on_a.translational, max_relative = 1e-12);
        }
    }
}
