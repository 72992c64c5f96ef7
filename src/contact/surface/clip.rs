//! The section of one tetrahedron by a plane, clipped by another tetrahedron: the innermost
//! step of a query between two meshes.
//!
//! Nearly all sections meet the other tetrahedron's faces in no special way. For these every
//! vertex carries its four barycentric coordinates along, so that none is evaluated twice, and
//! a cut takes two crossings and no decision for each vertex. Whatever is special, a vertex on a
//! face, is left to [`Polygon::clip`].

use nalgebra::Vector3;

use crate::contact::lanes::{LaneVector, Lanes};
use crate::contact::surface::polygon::{FIRST_OF_F, MAX_VERTICES, Polygon, Section};
use crate::field::LinearFunction;

/// Vertices this close to a face count as on it, relative to the terms that sum to their barycentric
/// coordinate. It is a few units in the last place: more would move the line in which two nearly
/// parallel planes meet.
pub(in crate::contact) const ON_FACE: f64 = 2e-15;

/// How near a vertex must be to a face to be on it, as a barycentric coordinate.
#[inline(always)]
pub(in crate::contact) fn on_face(barycentric: &LinearFunction, reach: f64) -> f64 {
    ON_FACE * (1.0 + barycentric.gradient.abs().sum() * reach)
}

/// Values at a tetrahedron's vertices with those that are zero but for rounding set to zero.
#[inline(always)]
pub(in crate::contact) fn snapped(mut value: [f64; 4], tolerance: f64) -> [f64; 4] {
    for f in &mut value {
        if f.abs() <= tolerance {
            *f = 0.0;
        }
    }
    value
}

/// The vertices of a tetrahedron.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corners {
    /// By coordinate: x of every vertex, y, z.
    by_axis: [[f64; 4]; 3],
    /// By vertex: x, y, z, and an unused number.
    by_vertex: [[f64; 4]; 4],
}

impl Corners {
    #[inline(always)]
    pub fn new(points: &[Vector3<f64>; 4]) -> Self {
        let mut corners = Self { by_axis: [[0.0; 4]; 3], by_vertex: [[0.0; 4]; 4] };
        for (k, x) in points.iter().enumerate() {
            for axis in 0..3 {
                (corners.by_axis[axis][k], corners.by_vertex[k][axis]) = (x[axis], x[axis]);
            }
        }
        corners
    }

    /// The values of a linear function.
    #[inline(always)]
    pub fn values(&self, f: &LinearFunction) -> [f64; 4] {
        let [x, y, z] = &self.by_axis;
        let g = &f.gradient;
        // Loops over the four, not maps: those are not always inlined.
        let mut value = [f.offset; 4];
        for k in 0..4 {
            value[k] += g.x * x[k] + g.y * y[k] + g.z * z[k];
        }
        value
    }

    /// The vertices.
    pub fn points(&self) -> [Vector3<f64>; 4] {
        self.by_vertex.map(|[x, y, z, _]| Vector3::new(x, y, z))
    }
}

/// The faces of a tetrahedron side by side: its barycentric coordinates as linear functions.
pub(crate) struct Faces<L> {
    gradient: LaneVector<L>,
    offset: L,
    /// Points count as on a face where the function is within so much of zero, and the negative of that.
    tolerance: [L; 2],
}

impl<L: Lanes> Faces<L> {
    /// The faces of the tetrahedron with these functions. `reach` bounds the distance of points from the origin, metres.
    #[inline(always)]
    pub fn new(one: L, [a, b, c, d]: &[LinearFunction; 4], reach: f64) -> Self {
        // Written out, as closures are not always inlined where they have to be.
        let (u, v, w, t) = (a.gradient, b.gradient, c.gradient, d.gradient);
        let (x, y, z) = ([u.x, v.x, w.x, t.x], [u.y, v.y, w.y, t.y], [u.z, v.z, w.z, t.z]);
        let gradient = LaneVector([one.with(x), one.with(y), one.with(z)]);
        let tolerance =
            one.with([on_face(a, reach), on_face(b, reach), on_face(c, reach), on_face(d, reach)]);
        let offset = one.with([a.offset, b.offset, c.offset, d.offset]);
        Self { gradient, offset, tolerance: [tolerance, one.splat(0.0) - tolerance] }
    }

    /// The values at a point.
    #[inline(always)]
    fn at(&self, p: &Vector3<f64>) -> L {
        self.offset + self.gradient.dot(LaneVector::splat(self.offset, p))
    }

    /// Bits for the faces that a point with these values lies inside of, and for those that it lies outside of.
    #[inline(always)]
    fn sides(&self, values: L) -> (u32, u32) {
        (values.greater(self.tolerance[0]), self.tolerance[1].greater(values))
    }

    /// Whether a triangle lies beyond one of the faces, and whether it lies inside of all of them.
    #[inline(always)]
    pub fn locate(&self, triangle: &[Vector3<f64>; 3]) -> (bool, bool) {
        let (mut inside, mut outside) = (0b1111, 0b1111);
        for x in triangle {
            let sides = self.sides(self.at(x));
            (inside, outside) = (inside & sides.0, outside & sides.1);
        }
        (outside != 0, inside == 0b1111)
    }
}

/// A vertex of the polygon that is clipped: three coordinates, an unused number, and the barycentric coordinates.
type Vertex = [[f64; 4]; 2];

/// The polygon before and after a cut.
#[derive(Clone, Copy)]
struct Loop {
    vertex: [Vertex; MAX_VERTICES],
    edge: [u8; MAX_VERTICES],
}

/// Memory of the clipping, reused from polygon to polygon.
pub(crate) struct Clipper<L> {
    one: L,
    loops: [Loop; 2],
}

/// What became of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clipped {
    /// Nothing of it is inside.
    Outside,
    /// The part inside is the polygon.
    Inside,
    /// A vertex is on a face, or rounding has the last word otherwise.
    Special,
}

/// Where the line between two vertices crosses the face `k`, on which coordinate the first is
/// `from`.
#[inline(always)]
fn crossing<L: Lanes>(one: L, a: &Vertex, b: &Vertex, k: usize) -> Vertex {
    let t = one.splat(a[1][k] / (a[1][k] - b[1][k]));
    let mut vertex = *a;
    for i in 0..2 {
        let from = one.with(a[i]);
        vertex[i] = (from + (one.with(b[i]) - from) * t).numbers();
    }
    vertex
}

impl<L: Lanes> Clipper<L> {
    /// Memory for polygons.
    pub fn new(one: L) -> Self {
        let empty = Loop { vertex: [[[0.0; 4]; 2]; MAX_VERTICES], edge: [0; MAX_VERTICES] };
        Self { one, loops: [empty; 2] }
    }

    /// The section of the tetrahedron `corners` by the plane on which the linear function with these
    /// vertex values vanishes, clipped to the inside of another tetrahedron's faces, except the one `left_out`.
    /// `reach` bounds the distance of points from the origin, metres.
    #[inline(always)]
    pub fn section(
        &mut self,
        corners: &Corners,
        value: &[f64; 4],
        barycentric: &[LinearFunction; 4],
        reach: f64,
        left_out: Option<u8>,
        polygon: &mut Polygon,
    ) -> Clipped {
        let section = Section::of(value);
        let one = self.one;
        let faces = Faces::new(one, barycentric, reach);
        let [mut from, mut to] = self.loops.each_mut();
        // Bits for the faces that some vertex is inside of, that all are, and that one lies on.
        let (mut some, mut all, mut on) = (0, 0b1111, 0);
        // A triangle's last vertex is there twice.
        for i in 0..4 {
            let t = one.splat(section.crossing(value, i));
            let above = one.with(corners.by_vertex[usize::from(section.above[i] & 3)]);
            let below = one.with(corners.by_vertex[usize::from(section.below[i] & 3)]);
            let x = (above + (below - above) * t).numbers();
            let values = faces.at(&Vector3::new(x[0], x[1], x[2]));
            let (inside, outside) = faces.sides(values);
            (some, all, on) = (some | inside, all & inside, on | !(inside | outside));
            (from.vertex[i], from.edge[i]) = ([x, values.numbers()], section.face[i]);
        }
        let left_out = left_out.map_or(0, |face| 1 << face);
        (all, on) = (all | left_out, on & !left_out & 0b1111);
        if some | on | left_out != 0b1111 {
            return Clipped::Outside;
        }
        if on != 0 {
            return Clipped::Special;
        }
        let tolerance = faces.tolerance[0].numbers();
        let mut special = false;
        let mut n = section.len;
        for face in 0..4 {
            if all >> face & 1 != 0 {
                continue;
            }
            let mut bits = 0;
            for k in 0..n {
                let d = from.vertex[k][1][face];
                bits |= u32::from(d > tolerance[face]) << k;
                special |= d.abs() <= tolerance[face];
            }
            if bits == (1 << n) - 1 && !special {
                continue;
            }
            // The first vertex inside, counter-clockwise.
            let first = bits & !((bits << 1) | (bits >> (n - 1)));
            let count = bits.count_ones() as usize;
            if special || !(first.is_power_of_two() || bits == 0) || count + 2 > MAX_VERTICES {
                return Clipped::Special;
            }
            if bits == 0 {
                return Clipped::Outside;
            }
            let start = first.trailing_zeros() as usize;
            let before = if start == 0 { n - 1 } else { start - 1 };
            to.vertex[0] = crossing(one, &from.vertex[before], &from.vertex[start], face);
            to.edge[0] = from.edge[before];
            let (mut last, mut next) = (start, start);
            for i in 1..=count {
                to.vertex[i] = from.vertex[next];
                to.edge[i] = from.edge[next];
                last = next;
                next = if next + 1 == n { 0 } else { next + 1 };
            }
            to.vertex[count + 1] = crossing(one, &from.vertex[last], &from.vertex[next], face);
            to.edge[count + 1] = FIRST_OF_F + face as u8;
            n = count + 2;
            std::mem::swap(&mut from, &mut to);
        }
        for i in 0..n {
            let [[x, y, z, _], _] = from.vertex[i];
            polygon.position[i] = Vector3::new(x, y, z);
        }
        polygon.edge = from.edge;
        polygon.len = n;
        polygon.aligned = value.contains(&0.0);
        Clipped::Inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::lanes::Narrow;
    use crate::contact::surface::polygon::Bound;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = Vector3<f64>> {
        prop::array::uniform3(-1.0..1.0).prop_map(Vector3::from)
    }

    fn area_vector(p: &Polygon) -> Vector3<f64> {
        let x = &p.position;
        (2..p.len).map(|i| (x[i - 1] - x[0]).cross(&(x[i] - x[0])) * 0.5).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, max_global_rejects: 20_000, ..Default::default() })]
        /// The clip of vertices that carry their coordinates is that of one face after the other.
        #[test]
        fn sections_are_clipped_as_polygons_are(
            v in prop::array::uniform4(vector()),
            w in prop::array::uniform4(vector()),
            gradient in vector(),
            offset in -0.5..0.5,
            left_out in prop::option::of(0..4_u8),
        ) {
            let volume = |v: &[Vector3<f64>; 4]| (v[1] - v[0]).cross(&(v[2] - v[0])).dot(&(v[3] - v[0]));
            prop_assume!(volume(&v) > 0.05 && volume(&w).abs() > 0.05);
            let barycentric = [0, 1, 2, 3].map(|i: usize| {
                let [a, b, c] = [1, 2, 3].map(|k| w[(i + k) % 4]);
                let normal = (b - a).cross(&(c - a));
                let gradient = normal / normal.dot(&(w[i] - a));
                LinearFunction { gradient, offset: -gradient.dot(&a) }
            });
            let corners = Corners::new(&v);
            prop_assert_eq!(corners.points(), v);
            let value = corners.values(&LinearFunction { gradient, offset });
            let mut fast = Polygon::empty(0, 0);
            let clipped = Clipper::new(Narrow::ANY).section(&corners, &value, &barycentric, 50.0, left_out, &mut fast);
            prop_assume!(Section::of(&value).len > 0 && clipped != Clipped::Special);
            let mut slow = Polygon::empty(0, 0);
            slow.section(&v, &value, 0);
            for (name, face) in (0..).zip(&barycentric) {
                if left_out != Some(name) && slow.len > 0 {
                    slow.clip(face, FIRST_OF_F + name, 1e-13, &gradient, Bound::None);
                }
            }
            if clipped == Clipped::Outside {
                prop_assert_eq!(slow.len, 0);
                return Ok(());
            }
            prop_assert_eq!(fast.len, slow.len);
            let same = |i: usize| (0..slow.len).find(|&k| (slow.position[k] - fast.position[i]).norm() < 1e-10);
            for i in 0..fast.len {
                let k = same(i);
                prop_assert!(k.is_some_and(|k| slow.edge[k] == fast.edge[i]), "{fast:?} {slow:?}");
            }
            prop_assert!((area_vector(&fast) - area_vector(&slow)).norm() < 1e-10);
        }
    }
}
