//! The memory of contact queries, and what tells one surface from another.

use crate::contact::features::Features;
use crate::contact::pair::query::{ContactPair, Roles};
use crate::contact::settings::FaceFilter;
use crate::contact::surface::search::{Elements, SearchMemory, for_each_polygon};

/// Reusable memory of contact queries: one per thread. After the first queries they allocate
/// nothing. Where one serves a single pair of bodies, queries after small motions need no search and are faster, with the same
/// results.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    pub(in crate::contact) search: SearchMemory,
    /// Those of rigid bodies that come near each other.
    pub(in crate::contact) features: Features,
}

impl Workspace {
    /// The memory for the pair of bodies with this number: what is found between them is kept, and need not be searched for
    /// again as long as they move little.
    pub(crate) fn of_pair(&mut self, pair: usize) -> &mut Self {
        self.search.candidates.pair = pair;
        self
    }

    /// The elements of the polygons of the last query, for one at the same poses and moduli.
    pub(crate) fn found(&self) -> &[Elements] {
        self.search.found()
    }

    /// A hash of the polygons of the contact surface of two bodies and of the constraints that bound
    /// them, and whether meshes are exactly aligned on the surface. `None` if the bodies do not touch.
    /// Poses with the same hash have surfaces of the same topology.
    pub(crate) fn topology(
        &mut self,
        pair: &ContactPair,
        filter: FaceFilter,
        mixed: impl Fn(u64) -> u64,
    ) -> Option<(u64, bool)> {
        let roles = Roles::new(pair).ok()?;
        let (mut number, mut aligned) = (u64::from(roles.a_is_o), false);
        let mut polygons = 0;
        for_each_polygon(&roles, filter, &mut self.search, |polygon, _| {
            // In no order, as the search may find the same ones in another, and begin elsewhere.
            let edges =
                polygon.edge[..polygon.len].iter().fold(0, |bits, edge| bits | (1_u64 << (edge & 63)));
            let elements = mixed(u64::from(polygon.o) << 32 | u64::from(polygon.f));
            number = number.wrapping_add(mixed(elements ^ (edges << 8 | polygon.len as u64)));
            aligned |= polygon.aligned;
            polygons += 1;
        });
        (polygons > 0).then_some((number, aligned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use crate::contact::{Collider, Material};
    use crate::geometry::Shape;
    use crate::spatial::RigidTransform;

    /// Elements and bounding constraints of all polygons, in an order of their own.
    fn described(pair: &ContactPair, workspace: &mut Workspace) -> BTreeSet<(u32, u32, Vec<u8>)> {
        let roles = Roles::new(pair).expect("a pair that can touch");
        let mut all = BTreeSet::new();
        for_each_polygon(&roles, FaceFilter::default(), &mut workspace.search, |polygon, _| {
            let mut edges = polygon.edge[..polygon.len].to_vec();
            edges.sort_unstable();
            all.insert((polygon.o, polygon.f, edges));
        });
        all
    }

    #[test]
    fn the_number_is_the_same_exactly_where_the_polygons_and_their_edges_are() {
        let ball = || {
            Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.05, Material::new(1e5, 0.0, 0.0))
                .expect("a ball")
        };
        let (a, b) = (ball(), ball());
        let mut workspace = Workspace::default();
        // A sum of products tells all of these apart, too.
        let mixed = |x: u64| {
            x.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
        };
        let mut at = |x: f64| {
            let x_wa = RigidTransform::from_translation([x, 0.013, 0.071]);
            let pair = ContactPair::at_rest(&a, x_wa, &b, RigidTransform::identity());
            let number = workspace.topology(&pair, FaceFilter::default(), mixed);
            (number.map(|(number, _)| number), described(&pair, &mut workspace))
        };
        assert_eq!(at(1.0), (None, BTreeSet::new()));
        let states: Vec<_> = (0..120).map(|k| at(-0.04 + 6.7e-4 * f64::from(k))).collect();
        let mut same = 0;
        for (i, (number, polygons)) in states.iter().enumerate() {
            assert!(number.is_some() && !polygons.is_empty());
            for (other, others) in &states[..i] {
                assert_eq!(number == other, polygons == others);
                same += usize::from(number == other);
            }
        }
        assert!(same > 0 && same < states.len() * states.len() / 4, "{same}");
    }
}
