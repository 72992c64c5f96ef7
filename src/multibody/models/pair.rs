//! Bodies and geometries that can touch, two by two.

use std::borrow::Cow;

use super::body::BodyGeometry;
use crate::contact::Collider;
use crate::scalar::Scalar;

/// Two bodies, given by their indices in [`Model::bodies`](crate::multibody::Model::bodies), with `a < b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BodyPair {
    /// The one.
    pub a: usize,
    /// The other.
    pub b: usize,
}

impl BodyPair {
    /// The pair of two bodies, whichever comes first.
    pub fn of(one: usize, other: usize) -> Self {
        Self { a: one.min(other), b: one.max(other) }
    }
}

/// Two geometries that can touch, each given by its body and its index in
/// [`Body::geometries`](crate::multibody::Body::geometries).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GeometryPair {
    /// The two bodies.
    pub bodies: BodyPair,
    /// Geometry of body A.
    pub geometry_a: usize,
    /// Geometry of body B.
    pub geometry_b: usize,
}

impl GeometryPair {
    /// A number by which memory is kept for each pair: nearly always different ones for different pairs.
    pub(crate) fn number(&self) -> usize {
        let Self { bodies: BodyPair { a, b }, geometry_a, geometry_b } = *self;
        [b, geometry_a, geometry_b]
            .into_iter()
            .fold(a, |number, next| number.wrapping_mul(2003).wrapping_add(next))
    }

    /// Each geometry by its body and its index there, that of A first.
    pub(crate) fn geometries(&self) -> [(usize, usize); 2] {
        [(self.bodies.a, self.geometry_a), (self.bodies.b, self.geometry_b)]
    }
}

/// The collider of a geometry that touches `other`. A rigid geometry without a material of its
/// own takes the friction and an own law's parameters of the other: equal coefficients combine to themselves.
pub(in crate::multibody) fn collider<'a, T: Scalar>(
    own: &'a BodyGeometry<T>,
    other: &BodyGeometry<T>,
) -> Cow<'a, Collider<T>> {
    if own.material.is_some() {
        return Cow::Borrowed(&own.collider);
    }
    let mut adopted = own.collider.clone();
    adopted.material.static_friction = other.collider.material.static_friction;
    adopted.material.dynamic_friction = other.collider.material.dynamic_friction;
    adopted.material.friction_ellipsoid = other.collider.material.friction_ellipsoid;
    adopted.material.own = other.collider.material.own;
    Cow::Owned(adopted)
}

/// [`collider`], as a collider of its own.
pub(crate) fn contact_collider<T: Scalar>(own: &BodyGeometry<T>, other: &BodyGeometry<T>) -> Collider<T> {
    collider(own, other).into_owned()
}
