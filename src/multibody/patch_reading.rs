//! What a sensor in the skin of a body sees of its contact with another: the force that presses the two
//! together, the patch, and how fast they slide on each other.

use nalgebra::Vector3;

use super::contact_forces::{PairWorkspace, with_pair};
use super::kinematics::BodyFrame;
use super::model::Model;
use super::pair::BodyPair;
use crate::contact::{Roles, for_each_contact_polygon, onset};
use crate::geometry::triangle_rule;
use crate::scalar::Scalar;

/// A contact patch between two bodies A and B, summed over their geometries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchReading<T = f64> {
    /// The pressure integrated over the surfaces, N: what presses the two bodies together. Without dissipation
    /// and friction, so that it does not depend on velocities.
    pub force: T,
    /// Area of the surfaces, m².
    pub area: T,
    /// Centroid of the surfaces in W, m.
    pub centroid: Vector3<T>,
    /// Velocity of A with respect to B at the centroid, without its part along the surfaces' mean normal, in W,
    /// m/s.
    pub slip: Vector3<T>,
}

impl<T: Scalar> Model<T> {
    /// The contact patch of two bodies at these frames (see [`Model::update_frames`]); `None` where they do not
    /// touch.
    ///
    /// The force grows from zero where bodies begin to touch, with a derivative that vanishes there; area,
    /// centroid and slip appear at once. Where the surfaces' normals cancel (a body all around the other),
    /// nothing is taken off the velocity.
    pub fn patch_reading(
        &self,
        frames: &[BodyFrame<T>],
        bodies: BodyPair,
        workspace: &mut PairWorkspace,
    ) -> Option<PatchReading<T>> {
        let scratch = &mut workspace.of_threads(1)[0];
        let zero = T::from(0.0);
        let (mut force, mut area) = (zero, zero);
        let (mut moment, mut normals) = (Vector3::from_element(zero), Vector3::from_element(zero));
        let rule = triangle_rule(self.contact.quadrature_order.clamp(1, 5)).unwrap_or(&[]);
        for pair in self.pairs_of(bodies) {
            with_pair(self, frames, pair, |query| {
                let Ok((width, _)) = Roles::new(query).map(|roles| roles.onset_width()) else { return };
                for_each_contact_polygon(query, &self.contact, scratch, |polygon| {
                    let (vertices, pressures) = (polygon.vertices, polygon.pressures);
                    for i in 1..vertices.len().max(1) - 1 {
                        let (u, v) = (vertices[i] - vertices[0], vertices[i + 1] - vertices[0]);
                        let triangle = u.cross(&v).dot(&polygon.normal) * 0.5;
                        area += triangle;
                        normals += polygon.normal * triangle;
                        moment += (vertices[0] + vertices[i] + vertices[i + 1]) * (triangle * (1.0 / 3.0));
                        for point in rule {
                            let [a, b, c] = point.barycentric;
                            let p = pressures[0] * a + pressures[i] * b + pressures[i + 1] * c;
                            force += onset(p, width).0 * triangle * point.weight;
                        }
                    }
                });
            });
        }
        if area.real() <= 0.0 {
            return None;
        }
        let centroid = moment * area.recip();
        let (a, b) = (&frames[bodies.a], &frames[bodies.b]);
        let at = |frame: &BodyFrame<T>| frame.velocity.shifted(&(centroid - frame.pose.translation));
        let velocity = at(a).translational - at(b).translational;
        let square = normals.dot(&normals);
        // Rounding of cancelled normals must not decide on a direction.
        let has_normal = square.real() > (1e-12 * area.real() * area.real()).max(f64::MIN_POSITIVE);
        let along =
            if has_normal { normals * (normals.dot(&velocity) * square.recip()) } else { normals * zero };
        Some(PatchReading { force, area, centroid, slip: velocity - along })
    }
}
