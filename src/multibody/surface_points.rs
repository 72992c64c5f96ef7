//! The points of the contact surfaces of two bodies that sensors take sums over.

use nalgebra::Vector3;

use super::contact_forces::{PairWorkspace, with_pair};
use super::kinematics::BodyFrame;
use super::model::Model;
use super::pair::BodyPair;
use crate::contact::{ContactPair, ContactPolygon, Roles, for_each_contact_polygon, onset};
use crate::geometry::triangle_rule;
use crate::scalar::Scalar;

/// A point of a contact surface, which stands for a part of it.
pub(super) struct SurfacePoint<T> {
    /// In W, m.
    pub position: Vector3<T>,
    /// The undamped pressure that acts there, Pa.
    pub pressure: T,
    /// The area that it stands for, m².
    pub area: T,
}

/// Calls `visit` with every polygon of the contact surfaces of two bodies at these frames, its pair of geometries and
/// the width of the onset of its pressure.
pub(super) fn for_each_surface_polygon<T: Scalar>(
    model: &Model<T>,
    frames: &[BodyFrame<T>],
    bodies: BodyPair,
    workspace: &mut PairWorkspace,
    mut visit: impl FnMut(&ContactPair<T>, &ContactPolygon<T>, T),
) {
    let scratch = &mut workspace.of_threads(1)[0];
    for pair in model.pairs_of(bodies) {
        with_pair(model, frames, pair, |query| {
            let Ok((width, _)) = Roles::new(query).map(|roles| roles.onset_width()) else { return };
            for_each_contact_polygon(query, &model.contact, scratch, |polygon| visit(query, polygon, width));
        });
    }
}

/// Calls `visit` with the points of a polygon that the model's quadrature takes. Linear functions are integrated
/// exactly.
pub(super) fn for_each_point<T: Scalar>(
    model: &Model<T>,
    polygon: &ContactPolygon<T>,
    width: T,
    mut visit: impl FnMut(&SurfacePoint<T>),
) {
    let rule = triangle_rule(model.contact.quadrature_order.clamp(1, 5)).unwrap_or(&[]);
    let (vertices, pressures) = (polygon.vertices, polygon.pressures);
    for i in 1..vertices.len().max(1) - 1 {
        let (u, v) = (vertices[i] - vertices[0], vertices[i + 1] - vertices[0]);
        let triangle = u.cross(&v).dot(&polygon.normal) * 0.5;
        for point in rule {
            let [a, b, c] = point.barycentric;
            let pressure = pressures[0] * a + pressures[i] * b + pressures[i + 1] * c;
            visit(&SurfacePoint {
                position: vertices[0] + u * T::from(b) + v * T::from(c),
                pressure: onset(pressure, width).0,
                area: triangle * point.weight,
            });
        }
    }
}
