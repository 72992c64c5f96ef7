//! Distance from points to a set of triangles.

use nalgebra::Vector3;

use crate::scalar::Scalar;

/// A point of a triangle, and its weights: the point is the sum of the corners times these, which sum to 1.
pub(crate) struct NearestPoint<T = f64> {
    /// Where it is.
    pub position: Vector3<T>,
    /// The weight of each corner; 0 for the one opposite an edge that the point lies on.
    pub weights: [T; 3],
}

/// The point of a triangle nearest to `p`.
///
/// The foot of the perpendicular where it lies in the triangle, else the nearest point of the three
/// edges (Ericson, Real-Time Collision Detection, §5.1.5, with all edges tested rather than the
/// one region: this also holds for a triangle without area). Whether it lies inside, on an edge or at a
/// corner is decided by real parts.
pub(crate) fn closest_point_on_triangle<T: Scalar>(
    p: &Vector3<T>,
    triangle: &[Vector3<T>; 3],
) -> NearestPoint<T> {
    let [a, b, c] = triangle;
    let normal = (b - a).cross(&(c - a));
    // Areas opposite each corner, signed and scaled by the same factor.
    let u = (c - b).cross(&(p - b)).dot(&normal);
    let v = (a - c).cross(&(p - c)).dot(&normal);
    let w = (b - a).cross(&(p - a)).dot(&normal);
    if u.real() > 0.0 && v.real() > 0.0 && w.real() > 0.0 {
        let sum = u + v + w;
        return NearestPoint {
            position: (a * u + b * v + c * w) / sum,
            weights: [u / sum, v / sum, w / sum],
        };
    }
    let (zero, one) = (T::from(0.0), T::from(1.0));
    let mut nearest = NearestPoint { position: *a, weights: [one, zero, zero] };
    let mut shortest = distance_squared(p, a).real();
    for (start, end) in [(0, 1), (1, 2), (2, 0)] {
        let (position, along) = closest_point_on_segment(p, &triangle[start], &triangle[end]);
        let squared = distance_squared(p, &position).real();
        if squared < shortest {
            let mut weights = [zero; 3];
            weights[start] = one - along;
            weights[end] = along;
            (nearest, shortest) = (NearestPoint { position, weights }, squared);
        }
    }
    nearest
}

/// The square of the distance between two points, m².
pub(crate) fn distance_squared<T: Scalar>(p: &Vector3<T>, q: &Vector3<T>) -> T {
    let between = p - q;
    between.dot(&between)
}

/// The point of a segment nearest to `p`, and which part of the segment lies before it.
fn closest_point_on_segment<T: Scalar>(
    p: &Vector3<T>,
    start: &Vector3<T>,
    end: &Vector3<T>,
) -> (Vector3<T>, T) {
    let edge = end - start;
    let (along, length_squared) = (edge.dot(&(p - start)), edge.dot(&edge));
    if along.real() <= 0.0 {
        (*start, T::from(0.0))
    } else if along.real() >= length_squared.real() {
        (*end, T::from(1.0))
    } else {
        let along = along / length_squared;
        (start + edge * along, along)
    }
}

/// Triangles in a leaf of the tree.
const LEAF_SIZE: usize = 4;

/// Triangles in a tree of boxes, for queries of the distance to the nearest of them.
#[derive(Clone, Debug)]
pub struct SurfaceDistance {
    pub(super) triangles: Vec<Triangle>,
    pub(super) nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Triangle {
    pub corners: [Vector3<f64>; 3],
    /// Its place in the list that the tree was made of.
    pub number: usize,
}

/// The nearest triangle that a search has found.
struct Nearest {
    distance_squared: f64,
    /// Its place in the list; `None` if there is no triangle nearer than infinitely far.
    triangle: Option<usize>,
    /// The nearest point of it.
    position: Vector3<f64>,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub low: Vector3<f64>,
    pub high: Vector3<f64>,
    /// The triangles under the node.
    pub first: usize,
    pub end: usize,
    /// The second child; the first is the next node. None at a leaf.
    pub second: Option<usize>,
}

impl Node {
    /// The squared distance of a point to the box; 0 inside.
    fn distance_squared(&self, p: &Vector3<f64>) -> f64 {
        let outside = (self.low - p).sup(&(p - self.high));
        outside.sup(&Vector3::zeros()).norm_squared()
    }
}

impl SurfaceDistance {
    /// The triangles of a mesh, whose indices are in range.
    pub fn new(vertices: &[Vector3<f64>], triangles: &[[u32; 3]]) -> Self {
        let corners = |t: &[u32; 3]| t.map(|v| vertices[v as usize]);
        let numbered = triangles.iter().enumerate();
        let mut tree = Self {
            triangles: numbered.map(|(number, t)| Triangle { corners: corners(t), number }).collect(),
            nodes: Vec::new(),
        };
        if !triangles.is_empty() {
            tree.build(0, triangles.len());
        }
        tree
    }

    /// Appends the node over a range of triangles and all nodes below it.
    fn build(&mut self, first: usize, end: usize) {
        let range = &mut self.triangles[first..end];
        let (mut low, mut high) = (range[0].corners[0], range[0].corners[0]);
        for corner in range.iter().flat_map(|t| &t.corners) {
            low = low.inf(corner);
            high = high.sup(corner);
        }
        let node = self.nodes.len();
        self.nodes.push(Node { low, high, first, end, second: None });
        if end - first > LEAF_SIZE {
            let axis = (high - low).imax();
            let position = |t: &Triangle| t.corners[0][axis] + t.corners[1][axis] + t.corners[2][axis];
            let half = range.len() / 2;
            range.select_nth_unstable_by(half, |a, b| position(a).total_cmp(&position(b)));
            self.build(first, first + half);
            self.nodes[node].second = Some(self.nodes.len());
            self.build(first + half, end);
        }
    }

    /// The distance from a point to the nearest triangle, metres; infinite if there is none.
    pub fn distance(&self, point: &Vector3<f64>) -> f64 {
        self.search(point).distance_squared.sqrt()
    }

    /// The distance from a point to the nearest triangle, metres, and the triangle's place in the list: that of
    /// the first that the search meets if several are equally near. `None` if there is no triangle.
    pub(crate) fn nearest(&self, point: &Vector3<f64>) -> Option<(f64, usize)> {
        let Nearest { distance_squared, triangle, .. } = self.search(point);
        triangle.map(|number| (distance_squared.sqrt(), number))
    }

    /// The nearest point of the triangles; the point itself if there is none.
    pub(super) fn nearest_point(&self, point: &Vector3<f64>) -> Vector3<f64> {
        self.search(point).position
    }

    fn search(&self, point: &Vector3<f64>) -> Nearest {
        let mut best = Nearest { distance_squared: f64::INFINITY, triangle: None, position: *point };
        if !self.nodes.is_empty() {
            self.visit(0, point, &mut best);
        }
        best
    }

    /// Replaces the best by the nearest triangle under a node, if that is nearer.
    fn visit(&self, index: usize, point: &Vector3<f64>, best: &mut Nearest) {
        let node = &self.nodes[index];
        let Some(second) = node.second else {
            for triangle in &self.triangles[node.first..node.end] {
                let position = closest_point_on_triangle(point, &triangle.corners).position;
                let distance_squared = distance_squared(point, &position);
                if distance_squared < best.distance_squared {
                    *best = Nearest { distance_squared, triangle: Some(triangle.number), position };
                }
            }
            return;
        };
        let mut children = [index + 1, second].map(|i| (self.nodes[i].distance_squared(point), i));
        if children[1].0 < children[0].0 {
            children.swap(0, 1);
        }
        for (distance, child) in children {
            if distance < best.distance_squared {
                self.visit(child, point, best);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point() -> impl Strategy<Value = Vector3<f64>> {
        proptest::array::uniform3(-1.0..1.0f64).prop_map(Vector3::from)
    }

    proptest! {
        /// The nearest point of a convex set is the one where no other point of the set lies
        /// ahead: (p − q)·(corner − q) ≤ 0 for every corner.
        #[test]
        fn nearest_point_satisfies_the_optimality_condition(p in point(), a in point(), b in point(), c in point()) {
            let found = closest_point_on_triangle(&p, &[a, b, c]);
            let q = found.position;
            let [u, v, w] = found.weights;
            prop_assert!((u + v + w - 1.0).abs() < 1e-14 && u >= 0.0 && v >= 0.0 && w >= 0.0);
            prop_assert!((a * u + b * v + c * w - q).norm() < 1e-14);
            for corner in [a, b, c] {
                prop_assert!((p - q).dot(&(corner - q)) <= 1e-13);
            }
            // q is in the triangle: its barycentric coordinates are not negative.
            let n = (b - a).cross(&(c - a));
            prop_assume!(n.norm() > 1e-3);
            for (s, t) in [(a, b), (b, c), (c, a)] {
                prop_assert!((t - s).cross(&(q - s)).dot(&n) >= -1e-13);
            }
            prop_assert!((q - a).dot(&n).abs() < 1e-13);
        }

        #[test]
        fn tree_finds_what_a_search_through_all_finds(
            corners in proptest::collection::vec(point(), 3..60),
            p in point(),
        ) {
            let triangles: Vec<[u32; 3]> =
                (0..corners.len() as u32 - 2).map(|i| [i, i + 1, i + 2]).collect();
            let to = |t: &[u32; 3]| {
                let nearest = closest_point_on_triangle(&p, &t.map(|v| corners[v as usize]));
                (nearest.position - p).norm_squared()
            };
            let all = triangles.iter().map(to).fold(f64::INFINITY, f64::min);
            let tree = SurfaceDistance::new(&corners, &triangles);
            prop_assert_eq!(tree.distance(&p), all.sqrt());
            let (distance, nearest) = tree.nearest(&p).unwrap();
            prop_assert_eq!((distance, to(&triangles[nearest])), (all.sqrt(), all));
        }
    }

    #[test]
    fn degenerate_triangles_are_segments_and_points() {
        let (p, a, b) = (Vector3::new(0.5, 1.0, 0.0), Vector3::zeros(), Vector3::new(1.0, 0.0, 0.0));
        for triangle in [[a, a, b], [a, b, a], [b, a, a], [a, b, b]] {
            let q = closest_point_on_triangle(&p, &triangle).position;
            assert!((q - Vector3::new(0.5, 0.0, 0.0)).norm() < 1e-15, "{q}");
        }
        assert_eq!(closest_point_on_triangle(&p, &[a, a, a]).position, a);
        let none = SurfaceDistance::new(&[], &[]);
        assert_eq!((none.distance(&p), none.nearest(&p)), (f64::INFINITY, None));
    }
}
