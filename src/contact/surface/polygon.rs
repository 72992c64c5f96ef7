//! Convex polygons that remember which constraint made each edge, cut from a plane.
//!
//! All of this is topology and runs in `f64`. A polygon's vertex is where the plane and the
//! constraints of its two edges meet; the evaluation in other scalars starts from there.

use nalgebra::Vector3;

use crate::field::LinearFunction;

/// Most vertices a polygon can have: a section of a tetrahedron (4) clipped by four faces; two
/// more leave room for rounding.
pub const MAX_VERTICES: usize = 10;

/// A plane or face that bounds a polygon, by number: 0–3 are the faces of O's tetrahedron (or
/// the edges of O's triangle), 4–7 those of F's tetrahedron.
pub type Constraint = u8;

/// Number of the first constraint that belongs to F.
pub const FIRST_OF_F: Constraint = 4;

/// A convex polygon, counter-clockwise about its plane's normal.
#[derive(Clone, Copy, Debug)]
pub struct Polygon {
    /// Index of O's element, 0 for a half-space.
    pub o: u32,
    /// Index of F's element, 0 for a half-space.
    pub f: u32,
    /// Number of vertices.
    pub len: usize,
    /// Positions of the vertices in F's frame.
    pub position: [Vector3<f64>; MAX_VERTICES],
    /// The constraint on which the edge from vertex `i` to the next one lies.
    pub edge: [Constraint; MAX_VERTICES],
    /// Whether a vertex lies on a constraint that is none of its two edges', or the plane passes
    /// through a vertex of the tetrahedron that it cuts: then the constraints that meet in a
    /// vertex are not unique.
    pub aligned: bool,
}

/// On which side of a constraint a vertex lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    Inside,
    On,
    Outside,
}

/// The constraints that bound the pressure alone. They meet others of their kind in one point for any
/// pose: the perimeter, where both pressures vanish, runs along O's boundary face through the point
/// where the plane meets an edge between two of F's faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    None,
    /// The one that is clipped by.
    This,
    /// This one of O's.
    Edge(Constraint),
}

/// How a plane cuts a tetrahedron: the vertices of the section, counter-clockwise about the
/// direction from the negative to the positive vertices.
#[derive(Clone, Copy)]
pub struct Section {
    /// Number of vertices: 3 or 4, or 0 where the tetrahedron is not cut.
    pub len: usize,
    /// Each vertex lies on the tetrahedron's edge from this vertex, of positive value, ...
    pub above: [u8; 4],
    /// ... to this one, of negative value. A triangle's last vertex is there twice.
    pub below: [u8; 4],
    /// The tetrahedron's face, opposite this vertex, that holds the edge to the next vertex.
    pub face: [u8; 4],
}

/// The even permutation of a tetrahedron's vertices that puts vertex `i` last.
const APEX_LAST: [[u8; 4]; 4] = [[1, 3, 2, 0], [0, 2, 3, 1], [0, 3, 1, 2], [0, 1, 2, 3]];

/// The even permutation that puts the two vertices of a mask with two bits first.
const fn pair_first(mask: usize) -> [u8; 4] {
    match mask {
        0b0011 => [0, 1, 2, 3],
        0b0101 => [0, 2, 3, 1],
        0b1001 => [0, 3, 1, 2],
        0b0110 => [1, 2, 0, 3],
        0b1010 => [1, 3, 2, 0],
        _ => [2, 3, 0, 1],
    }
}

/// The section whose positive vertices are the bits of a mask.
const fn section(mask: usize) -> Section {
    match mask.count_ones() {
        1 => {
            let [j, k, l, i] = APEX_LAST[mask.trailing_zeros() as usize];
            Section { len: 3, above: [i; 4], below: [j, k, l, l], face: [l, j, k, k] }
        }
        3 => {
            let [j, k, l, i] = APEX_LAST[(!mask & 0b1111).trailing_zeros() as usize];
            Section { len: 3, above: [l, k, j, j], below: [i; 4], face: [j, l, k, k] }
        }
        2 => {
            let [i, j, k, l] = pair_first(mask);
            Section { len: 4, above: [i, j, j, i], below: [k, k, l, l], face: [l, i, k, j] }
        }
        _ => Section { len: 0, above: [0; 4], below: [0; 4], face: [0; 4] },
    }
}

/// The sections by the mask of positive vertices.
const SECTIONS: [Section; 16] = {
    let mut all = [section(0); 16];
    let mut mask = 0;
    while mask < 16 {
        all[mask] = section(mask);
        mask += 1;
    }
    all
};

impl Section {
    /// How the plane on which a linear function with these vertex values vanishes cuts a
    /// tetrahedron.
    ///
    /// A value of exactly 0 counts as positive: the plane is the limit of planes shifted towards lower
    /// values. If a face lies in the plane, only the tetrahedra on its lower side have it as their
    /// section.
    #[inline(always)]
    pub fn of(value: &[f64; 4]) -> &'static Self {
        let bit = |i: usize| usize::from(value[i] >= 0.0) << i;
        &SECTIONS[bit(0) | bit(1) | bit(2) | bit(3)]
    }

    /// Where the plane crosses the edge of vertex `i`: at this part of the way from the positive
    /// to the negative vertex. The same bits in every tetrahedron around the edge.
    #[inline(always)]
    pub fn crossing(&self, value: &[f64; 4], i: usize) -> f64 {
        let above = value[usize::from(self.above[i] & 3)];
        above / (above - value[usize::from(self.below[i] & 3)])
    }
}

impl Polygon {
    /// An empty polygon of the elements `o` and `f`.
    #[inline]
    pub fn empty(o: u32, f: u32) -> Self {
        Self {
            o,
            f,
            len: 0,
            position: [Vector3::zeros(); MAX_VERTICES],
            edge: [0; MAX_VERTICES],
            aligned: false,
        }
    }

    /// Appends a vertex; more than a polygon can hold are dropped.
    #[inline(always)]
    fn push(&mut self, position: Vector3<f64>, edge: Constraint) {
        if self.len < MAX_VERTICES {
            self.position[self.len] = position;
            self.edge[self.len] = edge;
            self.len += 1;
        }
    }

    /// The section of the tetrahedron `v` by the plane on which the linear function with the
    /// vertex values `value` vanishes, counter-clockwise about the function's gradient; see
    /// [`Section::of`]. Face `i` becomes constraint `first + i`.
    #[inline(always)]
    pub fn section(&mut self, v: &[Vector3<f64>; 4], value: &[f64; 4], first: Constraint) {
        let section = Section::of(value);
        self.len = section.len;
        if section.len > 0 {
            self.aligned = value.contains(&0.0);
            for i in 0..4 {
                let [above, below] =
                    [&v[usize::from(section.above[i] & 3)], &v[usize::from(section.below[i] & 3)]];
                self.position[i] = above + (below - above) * section.crossing(value, i);
                self.edge[i] = first + section.face[i];
            }
        }
    }

    /// The triangle `v` itself; its edge from vertex `i` becomes constraint `i`.
    #[inline]
    pub fn triangle(&mut self, v: &[Vector3<f64>; 3]) {
        self.len = 0;
        self.aligned = false;
        for (i, x) in v.iter().enumerate() {
            self.push(*x, i as u8);
        }
    }

    /// Whether a vertex on the constraint that is clipped by lies there whatever the pose.
    #[inline]
    fn is_common_bound(&self, i: usize, bound: Bound) -> bool {
        let previous = if i == 0 { self.len - 1 } else { i - 1 };
        match bound {
            Bound::None => false,
            Bound::This => true,
            Bound::Edge(face) => self.edge[i] == face || self.edge[previous] == face,
        }
    }

    /// Clips by the half-space where `inside` ≥ 0, which becomes constraint `name`. Vertices
    /// within `tolerance` of its boundary count as on it, so that none is computed from two
    /// nearly equal planes: there a derivative would be rounding divided by rounding.
    ///
    /// A polygon that lies in the boundary altogether is kept if `shift`, the direction in
    /// which the polygon's plane is imagined shifted by an infinitesimal amount (see
    /// [`Self::section`]), leads inside.
    #[inline]
    pub fn clip(
        &mut self,
        inside: &LinearFunction,
        name: Constraint,
        tolerance: f64,
        shift: &Vector3<f64>,
        bound: Bound,
    ) {
        let n = self.len;
        let mut distance = [0.0; MAX_VERTICES];
        let (mut any_inside, mut any_outside) = (false, false);
        for (i, d) in distance.iter_mut().enumerate().take(n) {
            *d = inside.at(&self.position[i]);
            any_inside |= *d > tolerance;
            any_outside |= *d < -tolerance;
            self.aligned |= d.abs() <= tolerance && !self.is_common_bound(i, bound);
        }
        if !any_outside {
            if !any_inside && inside.gradient.dot(shift) <= 0.0 {
                self.len = 0;
            }
            return;
        }
        if !any_inside {
            self.len = 0;
            return;
        }
        let locate = |d: f64| {
            if d > tolerance {
                Location::Inside
            } else if d < -tolerance {
                Location::Outside
            } else {
                Location::On
            }
        };
        let (old, old_edge) = (self.position, self.edge);
        self.len = 0;
        for i in 0..n {
            let next = if i + 1 == n { 0 } else { i + 1 };
            let (here, there) = (locate(distance[i]), locate(distance[next]));
            let crossing = || {
                let t = distance[i] / (distance[i] - distance[next]);
                old[i] + (old[next] - old[i]) * t
            };
            match (here, there) {
                (Location::Inside, Location::Outside) => {
                    self.push(old[i], old_edge[i]);
                    self.push(crossing(), name);
                }
                // The polygon leaves through this vertex: from here on it runs along the
                // new constraint.
                (Location::On, Location::Outside) => self.push(old[i], name),
                (Location::Inside | Location::On, _) => self.push(old[i], old_edge[i]),
                (Location::Outside, Location::Inside) => self.push(crossing(), old_edge[i]),
                (Location::Outside, _) => {}
            }
        }
        if self.len < 3 {
            self.len = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn area_vector(p: &Polygon) -> Vector3<f64> {
        (2..p.len)
            .map(|i| (p.position[i - 1] - p.position[0]).cross(&(p.position[i] - p.position[0])) * 0.5)
            .sum()
    }

    fn vector(scale: f64) -> impl Strategy<Value = Vector3<f64>> {
        prop::array::uniform3(-scale..scale).prop_map(Vector3::from)
    }

    proptest! {
        /// Every section lies on its plane and on the face of each edge, and turns about the
        /// gradient.
        #[test]
        fn sections_are_oriented_and_labelled(
            mut v in prop::array::uniform4(vector(1.0)),
            gradient in vector(1.0),
            offset in -0.5..0.5,
        ) {
            let mut six_volume = (v[1] - v[0]).cross(&(v[2] - v[0])).dot(&(v[3] - v[0]));
            if six_volume < 0.0 {
                v.swap(0, 1);
                six_volume = -six_volume;
            }
            prop_assume!(six_volume > 1e-2);
            let value = v.map(|x| gradient.dot(&x) + offset);
            let mut polygon = Polygon::empty(0, 0);
            polygon.section(&v, &value, 4);
            let crosses = value.iter().any(|&f| f < 0.0) && value.iter().any(|&f| f >= 0.0);
            prop_assert_eq!(polygon.len > 0, crosses);
            if polygon.len > 0 {
                prop_assert!(area_vector(&polygon).dot(&gradient) >= -1e-12);
                for i in 0..polygon.len {
                    let face = usize::from(polygon.edge[i] - 4);
                    let on = [(face + 1) % 4, (face + 2) % 4, (face + 3) % 4].map(|k| v[k]);
                    let normal = (on[1] - on[0]).cross(&(on[2] - on[0])).normalize();
                    for k in [i, (i + 1) % polygon.len] {
                        prop_assert!(normal.dot(&(polygon.position[k] - on[0])).abs() < 1e-9);
                    }
                }
            }
        }

        /// A half-space and its complement share a polygon's area.
        #[test]
        fn clip_and_complement_add_up(gradient in vector(1.0), offset in -0.5..0.5) {
            prop_assume!(gradient.xy().norm() > 0.1);
            let corners = [Vector3::zeros(), Vector3::x(), Vector3::y()];
            let inside = LinearFunction { gradient, offset };
            let outside = LinearFunction { gradient: -gradient, offset: -offset };
            let area = |half_space: &LinearFunction| {
                let mut polygon = Polygon::empty(0, 0);
                polygon.triangle(&corners);
                polygon.clip(half_space, 7, 1e-13, &Vector3::z(), Bound::None);
                for i in 0..polygon.len {
                    if polygon.edge[i] == 7 {
                        assert!(half_space.at(&polygon.position[i]).abs() < 1e-12);
                    }
                }
                area_vector(&polygon).z
            };
            prop_assert!((area(&inside) + area(&outside) - 0.5).abs() < 1e-11);
        }
    }

    #[test]
    fn a_cut_through_a_vertex_keeps_it_and_relabels_its_edge() {
        let mut polygon = Polygon::empty(0, 0);
        polygon.triangle(&[Vector3::zeros(), Vector3::x(), Vector3::y()]);
        // The half-plane x ≤ y, through the origin.
        let half_space = LinearFunction { gradient: Vector3::new(-1.0, 1.0, 0.0), offset: 0.0 };
        polygon.clip(&half_space, 9, 1e-13, &Vector3::z(), Bound::None);
        assert_eq!(polygon.len, 3);
        assert_eq!(polygon.position[0], Vector3::zeros());
        assert_eq!(polygon.edge[..3], [9, 1, 2]);
    }

    #[test]
    fn a_polygon_in_the_boundary_belongs_to_one_side() {
        let mut kept = 0;
        for sign in [1.0, -1.0] {
            let mut polygon = Polygon::empty(0, 0);
            polygon.triangle(&[Vector3::zeros(), Vector3::x(), Vector3::y()]);
            let half_space = LinearFunction { gradient: Vector3::z() * sign, offset: 0.0 };
            polygon.clip(&half_space, 4, 1e-13, &Vector3::z(), Bound::None);
            kept += usize::from(polygon.len == 3);
        }
        assert_eq!(kept, 1);
    }
}
