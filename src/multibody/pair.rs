//! Bodies and geometries that can touch, two by two.

use super::model::{Body, Model, ModelError};
use crate::contact::check_pair;
use crate::scalar::Scalar;

/// Two bodies, by their place in [`Model::bodies`]; `a < b`.
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

/// Two geometries that can touch, each by body and place in [`Body::geometries`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GeometryPair {
    /// The two bodies.
    pub bodies: BodyPair,
    /// Geometry of body A.
    pub geometry_a: usize,
    /// Geometry of body B.
    pub geometry_b: usize,
}

/// The pairs of geometries of two bodies.
///
/// # Errors
/// When two of them are rigid, or two are half-spaces.
pub fn geometry_pairs<T: Scalar>(
    bodies: &[Body<T>],
    pair: BodyPair,
) -> Result<Vec<GeometryPair>, ModelError> {
    let (a, b) = (&bodies[pair.a], &bodies[pair.b]);
    let mut pairs = Vec::with_capacity(a.geometries.len() * b.geometries.len());
    for (geometry_a, ga) in a.geometries.iter().enumerate() {
        for (geometry_b, gb) in b.geometries.iter().enumerate() {
            check_pair(&ga.collider.geometry, &gb.collider.geometry).map_err(|source| ModelError::Pair {
                a: a.name.clone(),
                b: b.name.clone(),
                source,
            })?;
            pairs.push(GeometryPair { bodies: pair, geometry_a, geometry_b });
        }
    }
    Ok(pairs)
}

impl<T: Scalar> Model<T> {
    /// The pairs of geometries of two bodies that can touch in this model.
    pub fn pairs_of(&self, bodies: BodyPair) -> impl Iterator<Item = &GeometryPair> {
        self.pairs.iter().filter(move |pair| pair.bodies == bodies)
    }
}
