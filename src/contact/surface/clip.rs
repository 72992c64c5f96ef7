//! The section of one tetrahedron by a plane, clipped by another tetrahedron: the innermost
//! step of a query between two meshes.
//!
//! Nearly all sections meet the other tetrahedron's faces in no special way. For these every
//! vertex carries its four barycentric coordinates along, so that none is evaluated twice, and
//! a cut takes two crossings and no decision for each vertex. Whatever is special, a vertex on a
//! face, is left to [`Polygon::clip`].

use nalgebra::Vector3;

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

/// The vertices of a tetrahedron, or values there, by coordinate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Corners {
    /// Coordinates: x of every vertex, y, z.
    pub position: [[f64; 4]; 3],
}

impl Corners {
    /// The values of a linear function.
    #[inline(always)]
    pub fn values(&self, f: &LinearFunction) -> [f64; 4] {
        let [x, y, z] = &self.position;
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
        let [x, y, z] = &self.position;
        [0, 1, 2, 3].map(|k| Vector3::new(x[k], y[k], z[k]))
    }
}

/// Numbers that are linear along an edge: three coordinates, one unused, and the barycentric
/// coordinates.
const NUMBERS: usize = 8;

/// Where the barycentric coordinates begin.
const DISTANCES: usize = 4;

/// A vertex of the polygon that is clipped.
type Vertex = [f64; NUMBERS];

/// The polygon before and after a cut.
#[derive(Clone, Copy)]
struct Loop {
    vertex: [Vertex; MAX_VERTICES],
    edge: [u8; MAX_VERTICES],
}

/// Memory of the clipping, reused from polygon to polygon.
pub(crate) struct Clipper {
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
fn crossing(a: &Vertex, b: &Vertex, k: usize) -> Vertex {
    let t = a[k] / (a[k] - b[k]);
    std::array::from_fn(|i| a[i] + (b[i] - a[i]) * t)
}

impl Clipper {
    /// Memory for polygons.
    pub fn new() -> Self {
        let empty = Loop { vertex: [[0.0; NUMBERS]; MAX_VERTICES], edge: [0; MAX_VERTICES] };
        Self { loops: [empty; 2] }
    }

    /// The section of the tetrahedron `corners` by the plane on which the linear function with these
    /// vertex values vanishes, clipped to the region where the `barycentric` functions of another
    /// tetrahedron are positive, except the function `left_out`. Values within `tolerance` of zero count
    /// as zero.
    #[inline(always)]
    pub fn section(
        &mut self,
        corners: &Corners,
        value: &[f64; 4],
        barycentric: &[LinearFunction; 4],
        tolerance: &[f64; 4],
        left_out: Option<u8>,
        polygon: &mut Polygon,
    ) -> Clipped {
        let section = Section::of(value);
        let mut vertices = Corners { position: [[0.0; 4]; 3] };
        for i in 0..4 {
            let t = section.crossing(value, i);
            for (to, from) in vertices.position.iter_mut().zip(&corners.position) {
                let above = from[usize::from(section.above[i] & 3)];
                to[i] = above + (from[usize::from(section.below[i] & 3)] - above) * t;
            }
        }
        // Bits for the vertices inside of each face.
        let all = (1_u32 << section.len) - 1;
        let mut inside = [all; 4];
        let mut distance = [[0.0; 4]; 4];
        let (mut outside, mut special) = (false, false);
        for face in 0..4 {
            if left_out == Some(face as u8) {
                continue;
            }
            let d = vertices.values(&barycentric[face]);
            let tolerance = tolerance[face];
            let mut bits = 0;
            let mut on = false;
            for k in 0..4 {
                bits |= u32::from(d[k] > tolerance) << k;
                on |= d[k].abs() <= tolerance;
            }
            inside[face] = bits & all;
            outside |= inside[face] == 0 && !on;
            special |= on;
            distance[face] = d;
        }
        if outside {
            return Clipped::Outside;
        }
        if special {
            return Clipped::Special;
        }
        let [mut from, mut to] = self.loops.each_mut();
        for k in 0..4 {
            let ([x, y, z], [a, b, c, d]) = (&vertices.position, &distance);
            from.vertex[k] = [x[k], y[k], z[k], 0.0, a[k], b[k], c[k], d[k]];
            from.edge[k] = section.face[k];
        }
        let mut n = section.len;
        for face in 0..4 {
            if inside[face] == all {
                continue;
            }
            let at = DISTANCES + face;
            let mut bits = 0;
            for k in 0..n {
                let d = from.vertex[k][at];
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
            to.vertex[0] = crossing(&from.vertex[before], &from.vertex[start], at);
            to.edge[0] = from.edge[before];
            let (mut last, mut next) = (start, start);
            for i in 1..=count {
                to.vertex[i] = from.vertex[next];
                to.edge[i] = from.edge[next];
                last = next;
                next = if next + 1 == n { 0 } else { next + 1 };
            }
            to.vertex[count + 1] = crossing(&from.vertex[last], &from.vertex[next], at);
            to.edge[count + 1] = FIRST_OF_F + face as u8;
            n = count + 2;
            std::mem::swap(&mut from, &mut to);
        }
        for i in 0..n {
            let [x, y, z, ..] = from.vertex[i];
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
            let corners = Corners { position: [0, 1, 2].map(|axis| v.map(|x| x[axis])) };
            prop_assert_eq!(corners.points(), v);
            let value = corners.values(&LinearFunction { gradient, offset });
            let mut fast = Polygon::empty(0, 0);
            let clipped =
                Clipper::new().section(&corners, &value, &barycentric, &[1e-13; 4], left_out, &mut fast);
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
