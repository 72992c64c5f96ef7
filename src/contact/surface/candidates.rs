//! Pairs of elements that may share a polygon, kept from one query to the next.
//!
//! A search whose boxes are wider by a margin finds all pairs of elements that may share a polygon as long as no point of
//! one body has moved farther than the margin relative to the other. So later queries need no search, only this list.
//! Boxes are not tight: of a list that lasts, pairs that a face parts by more than the margin are left out.
//! The order in which a search comes to pairs of elements is that of the hierarchies, whatever the poses: a list and a search that is
//! made afresh lead to the same polygons in the same order, and so to the same bits.

use std::collections::HashMap;

use nalgebra::{Matrix3, Vector3};

use crate::field::LinearFunction;
use crate::field::hierarchy::{
    Hierarchy, PlaneQuery, Side, TraversalStack, for_each_at_plane, for_each_pair,
};
use crate::spatial::RigidTransform;

/// The elements of O and of F, tetrahedra or triangles, that a polygon lies in; 0 for a half-space.
pub type Elements = [u32; 2];

/// The least margin, in parts of the size of the elements: it hardly makes a list longer, and lasts for bodies at rest.
const LEAST_MARGIN: f64 = 1e-4;

/// A list is to serve at least so many queries, else it has the least margin.
const LEAST_QUERIES: f64 = 3.0;

/// A list that has served so many queries is thinned: one that ends sooner costs less than that.
const SERVED_TO_THIN: usize = 20;

/// Lists of so many pairs of bodies are kept whether they are asked for or not.
const MOST_FORGOTTEN: usize = 64;

/// What a list holds for, poses aside: the numbers of the hierarchies of O and of F, 0 for a half-space, and what else decides
/// which elements share a pressure.
type Asked = ([u64; 2], [f64; 2]);

/// A body with elements, as it moves relative to the other one.
struct Mover<'a> {
    hierarchy: &'a Hierarchy,
    /// Its pose in the other one's frame.
    pose: RigidTransform<f64>,
    /// Whether the other one is a half-space, along whose plane motion is free.
    at_plane: bool,
}

impl Mover<'_> {
    /// No point of the body has moved farther than this since it was at a pose, metres.
    fn moved_since(&self, before: &RigidTransform<f64>) -> f64 {
        let (middle, _) = self.hierarchy.bounding_box();
        let turn: Matrix3<f64> = self.pose.rotation - before.rotation;
        let shift = turn * middle + (self.pose.translation - before.translation);
        if self.at_plane {
            shift.z.abs() + turn.row(2).norm() * self.hierarchy.span()
        } else {
            shift.norm() + turn.norm() * self.hierarchy.span()
        }
    }
}

/// The list of one pair of bodies.
#[derive(Clone, Debug)]
struct List {
    asked: Asked,
    /// The pose that it was made at, and that of the last query.
    made_at: RigidTransform<f64>,
    last: RigidTransform<f64>,
    margin: f64,
    /// How many queries it has served since it was made.
    served: usize,
    elements: Vec<Elements>,
    /// The number of the last query.
    used: usize,
}

/// The lists of pairs of bodies, by their numbers.
#[derive(Clone, Debug, Default)]
struct Lists {
    by_pair: HashMap<usize, List>,
    queries: usize,
    /// How many lists there may be before those are forgotten that are not asked for any more.
    most: usize,
}

impl Lists {
    /// The list of the pair of bodies with this number, and where it does not hold and is empty, the margin of the search that
    /// has to fill it. `grain` is the size of the elements, metres.
    fn of(&mut self, pair: usize, asked: Asked, mover: &Mover, grain: f64) -> (&mut List, Option<f64>) {
        self.queries += 1;
        self.forget();
        let list = self.by_pair.entry(pair).or_insert_with(|| List {
            asked,
            made_at: mover.pose,
            last: mover.pose,
            // It does not even hold without motion.
            margin: -1.0,
            served: 0,
            elements: Vec::new(),
            used: 0,
        });
        let (is_same, mut search) = (list.asked == asked, None);
        // Written so that NaN counts as too far.
        if !(is_same && mover.moved_since(&list.made_at) <= list.margin) {
            // The wider the margin, the rarer the search and the longer the list: both together cost least about here.
            let moved = if is_same { mover.moved_since(&list.last) } else { f64::INFINITY };
            let (mean, least) = ((moved * grain).sqrt(), LEAST_MARGIN * grain);
            // Written so that an infinite motion, or none that is known, has the least.
            let is_slow = LEAST_QUERIES.powi(2) * moved <= grain;
            let margin = if is_slow { mean.max(least) } else { least };
            (list.asked, list.made_at, list.margin, list.served) = (asked, mover.pose, margin, 0);
            list.elements.clear();
            search = Some(margin);
        }
        (list.last, list.used) = (mover.pose, self.queries);
        (list, search)
    }

    /// Forgets lists that have not been asked for during several times as many queries as there are lists, where there are
    /// twice as many as were left the last time.
    fn forget(&mut self) {
        if self.by_pair.len() > self.most {
            let since = self.queries.saturating_sub(4 * self.by_pair.len());
            self.by_pair.retain(|_, list| list.used >= since);
            self.most = 2 * self.by_pair.len() + MOST_FORGOTTEN;
        }
    }
}

/// The candidates of pairs of bodies, and the memory to search for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    /// The number of the pair that is asked for.
    pub pair: usize,
    lists: Lists,
    stack: TraversalStack,
}

impl Candidates {
    /// Those of O and F with meshes, each with its modulus. `numbers` are the same wherever elements have the same pressures, and
    /// `apart` makes of a pose of O and a distance what tells whether elements are farther apart than that.
    #[inline(always)]
    pub fn of_meshes<A: Fn(&Elements) -> bool>(
        &mut self,
        [o, f]: [(&Hierarchy, f64); 2],
        numbers: [f64; 2],
        x_fo: &RigidTransform<f64>,
        apart: impl FnOnce(RigidTransform<f64>, f64) -> A,
    ) -> &[Elements] {
        let mover = Mover { hierarchy: o.0, pose: *x_fo, at_plane: false };
        let asked = ([o.0.number(), f.0.number()], numbers);
        let (list, search) = self.lists.of(self.pair, asked, &mover, o.0.grain().min(f.0.grain()));
        if let Some(margin) = search {
            let [o, f] = [o, f].map(|(hierarchy, modulus)| Side { hierarchy, modulus });
            for_each_pair(o, f, x_fo, margin, &mut self.stack, |i, j| list.elements.push([i, j]));
        } else if list.served == SERVED_TO_THIN {
            // Rounding is far less than a hundredth of the margin.
            let are_apart = apart(list.made_at, 1.01 * list.margin);
            list.elements.retain(|elements| !are_apart(elements));
        }
        list.served += 1;
        &list.elements
    }

    /// Those of a body and a half-space, in whose frame it has the `pose`. `number` is what the half-space's pressure depends on
    /// besides, and `elements` makes a candidate of an element.
    #[inline(always)]
    pub fn at_plane(
        &mut self,
        side: Side,
        plane: &PlaneQuery,
        number: f64,
        pose: RigidTransform<f64>,
        elements: impl Fn(u32) -> Elements,
    ) -> &[Elements] {
        let mover = Mover { hierarchy: side.hierarchy, pose, at_plane: true };
        let asked = ([side.hierarchy.number(), 0], [side.modulus, number]);
        let (list, search) = self.lists.of(self.pair, asked, &mover, side.hierarchy.grain());
        if let Some(margin) = search {
            for_each_at_plane(side, plane, margin, &mut self.stack, |i| list.elements.push(elements(i)));
        }
        &list.elements
    }
}

/// Whether points are all farther than `least` in metres beyond one of a tetrahedron's faces.
pub(super) fn are_beyond(points: &[Vector3<f64>], faces: &[LinearFunction; 4], least: f64) -> bool {
    let beyond = |face: &LinearFunction, limit: f64| points.iter().all(|x| face.at(x) < limit);
    faces.iter().any(|face| beyond(face, -least * face.gradient.norm()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::Vector3;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use crate::contact::settings::FaceFilter;
    use crate::contact::surface::search::{SearchMemory, for_each_polygon};
    use crate::contact::{Collider, ContactPair, Material, Roles};
    use crate::field::RigidSurface;
    use crate::geometry::Shape;
    use crate::spatial::rotation_from_rpy;

    const FOAM: Material = Material::new(1e5, 0.0, 0.0);

    /// Pairs of bodies of every kind, with the distance along z at which they overlap.
    fn pairs() -> Vec<(Collider, Collider, f64)> {
        let (ball, slab) = (Shape::Sphere { radius: 0.1 }, Shape::Box { size: [0.2, 0.16, 0.12] });
        let compliant = |shape: &Shape| Collider::of_shape(shape, 0.06, FOAM).expect("a shape");
        let rigid = |shape: &Shape| {
            Collider::rigid(RigidSurface::new(shape.surface_mesh(0.06).expect("a shape")), FOAM)
        };
        let floor = || Collider::compliant_half_space(FOAM, 0.1);
        vec![
            (compliant(&ball), compliant(&slab), 0.15),
            (compliant(&ball), compliant(&ball), 0.1),
            (rigid(&ball), compliant(&slab), 0.15),
            (compliant(&slab), rigid(&slab), 0.11),
            (compliant(&ball), Collider::rigid_half_space(FOAM), 0.08),
            (floor(), compliant(&slab), 0.05),
            (floor(), rigid(&ball), 0.07),
        ]
    }

    /// All that counts of the polygons, to the last bit.
    fn polygons(pair: &ContactPair, memory: &mut SearchMemory) -> Vec<String> {
        let (roles, mut told) = (Roles::new(pair).expect("a pair that can touch"), Vec::new());
        for_each_polygon(&roles, FaceFilter::None, memory, |p, equilibrium| {
            let (vertices, edges) = (&p.position[..p.len], &p.edge[..p.len]);
            told.push(format!("{} {} {vertices:?} {edges:?} {} {equilibrium:?}", p.o, p.f, p.aligned));
        });
        told
    }

    #[test]
    fn kept_candidates_lead_to_the_polygons_of_a_fresh_search() {
        let mut rng = ChaCha8Rng::seed_from_u64(59);
        for (number, (a, b, distance)) in pairs().into_iter().enumerate() {
            let (mut memory, mut time, mut touched) = (SearchMemory::default(), 0.0, 0);
            memory.candidates.pair = number;
            // At rest, in slow motion, and in leaps.
            for (most, searches) in [(0.0, 1), (1e-6, 4), (1e-4, 12), (1e-3, 40), (0.3, 100)] {
                let mut made = 0;
                for _ in 0..100 {
                    time += most * rng.random_range(0.0..1.0);
                    let t: f64 = time;
                    let turn = rotation_from_rpy(0.3 + 0.2 * (1.3 * t).sin(), 0.2 * (0.7 * t).cos(), t);
                    let shift = Vector3::new(0.02 * t.sin(), 0.015 * t.cos(), 0.006 * (2.1 * t).sin());
                    let x_wa = RigidTransform::new(turn, shift);
                    let x_wb = RigidTransform::from_translation(turn * Vector3::z() * distance);
                    let before = memory.candidates.lists.by_pair.get(&number).map(|list| list.made_at);
                    let pair = ContactPair::at_rest(&a, x_wa, &b, x_wb);
                    let found = polygons(&pair, &mut memory);
                    assert_eq!(found, polygons(&pair, &mut SearchMemory::default()));
                    touched += usize::from(!found.is_empty());
                    made += usize::from(
                        memory.candidates.lists.by_pair.get(&number).map(|list| list.made_at) != before,
                    );
                }
                assert!(made <= searches, "pair {number} that moves by {most}: {made} searches");
            }
            assert!(touched > 300, "pair {number}: {touched}");
        }
    }

    /// What is asked of other materials is found anew, and does not take in all pairs of elements.
    #[test]
    fn a_list_of_other_pressures_has_the_least_margin() {
        let ball = |modulus: f64| {
            let material = Material::new(modulus, 0.0, 0.0);
            Collider::of_shape(&Shape::Sphere { radius: 0.1 }, 0.06, material).expect("a ball")
        };
        let (a, mut b, mut memory) = (ball(1e5), ball(1e5), SearchMemory::default());
        let x_wa = RigidTransform::from_translation([0.0, 0.01, 0.15]);
        for modulus in [1e5, 2e5, 3e5] {
            b.material.hydroelastic_modulus = modulus;
            let pair = ContactPair::at_rest(&a, x_wa, &b, RigidTransform::identity());
            assert_eq!(polygons(&pair, &mut memory), polygons(&pair, &mut SearchMemory::default()));
            let list = memory.candidates.lists.by_pair.values().next().expect("a list");
            assert!(list.margin > 0.0 && list.margin < 1e-4, "{}", list.margin);
        }
    }

    #[test]
    fn lists_that_are_not_asked_for_are_forgotten() {
        let ball = Collider::of_shape(&Shape::Sphere { radius: 0.1 }, 0.06, FOAM).expect("a ball");
        let floor = Collider::rigid_half_space(FOAM);
        let x_wa = RigidTransform::from_translation([0.0, 0.0, 0.08]);
        let pair = ContactPair::at_rest(&ball, x_wa, &floor, RigidTransform::identity());
        let mut memory = SearchMemory::default();
        for step in 0..400 {
            // A hundred pairs at a time, of which one is replaced at every step.
            for number in step..step + 100 {
                memory.candidates.pair = number;
                polygons(&pair, &mut memory);
                assert!((step..=number).all(|kept| memory.candidates.lists.by_pair.contains_key(&kept)));
            }
        }
        assert!(memory.candidates.lists.by_pair.len() < 1000);
    }
}
