//! Distance from points to a set of triangles.

use nalgebra::Vector3;

/// The point of a triangle nearest to `p`.
///
/// The foot of the perpendicular where it lies in the triangle, else the nearest point of the three
/// edges (Ericson, Real-Time Collision Detection, §5.1.5, with all edges tested rather than the
/// one region: this also holds for a triangle without area).
pub(crate) fn closest_point_on_triangle(p: &Vector3<f64>, triangle: &[Vector3<f64>; 3]) -> Vector3<f64> {
    let [a, b, c] = triangle;
    let normal = (b - a).cross(&(c - a));
    // Areas opposite each corner, signed and scaled by the same factor.
    let u = (c - b).cross(&(p - b)).dot(&normal);
    let v = (a - c).cross(&(p - c)).dot(&normal);
    let w = (b - a).cross(&(p - a)).dot(&normal);
    if u > 0.0 && v > 0.0 && w > 0.0 {
        return (a * u + b * v + c * w) / (u + v + w);
    }
    let mut nearest = *a;
    for (start, end) in [(a, b), (b, c), (c, a)] {
        let candidate = closest_point_on_segment(p, start, end);
        if (p - candidate).norm_squared() < (p - nearest).norm_squared() {
            nearest = candidate;
        }
    }
    nearest
}

/// The point of a segment nearest to `p`.
fn closest_point_on_segment(p: &Vector3<f64>, start: &Vector3<f64>, end: &Vector3<f64>) -> Vector3<f64> {
    let edge = end - start;
    let (along, length_squared) = (edge.dot(&(p - start)), edge.norm_squared());
    if along <= 0.0 {
        *start
    } else if along >= length_squared {
        *end
    } else {
        start + edge * (along / length_squared)
    }
}

/// Triangles in a leaf of the tree.
const LEAF_SIZE: usize = 4;

/// Triangles in a tree of boxes, for queries of the distance to the nearest of them.
#[derive(Clone, Debug)]
pub struct SurfaceDistance {
    triangles: Vec<[Vector3<f64>; 3]>,
    nodes: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Node {
    low: Vector3<f64>,
    high: Vector3<f64>,
    /// The triangles under the node.
    first: usize,
    end: usize,
    /// The second child; the first is the next node. None at a leaf.
    second: Option<usize>,
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
        let mut tree = Self {
            triangles: triangles.iter().map(|t| t.map(|v| vertices[v as usize])).collect(),
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
        let (mut low, mut high) = (range[0][0], range[0][0]);
        for corner in range.iter().flatten() {
            low = low.inf(corner);
            high = high.sup(corner);
        }
        let node = self.nodes.len();
        self.nodes.push(Node { low, high, first, end, second: None });
        if end - first > LEAF_SIZE {
            let axis = (high - low).imax();
            let position = |t: &[Vector3<f64>; 3]| t[0][axis] + t[1][axis] + t[2][axis];
            let half = range.len() / 2;
            range.select_nth_unstable_by(half, |a, b| position(a).total_cmp(&position(b)));
            self.build(first, first + half);
            self.nodes[node].second = Some(self.nodes.len());
            self.build(first + half, end);
        }
    }

    /// The distance from a point to the nearest triangle, metres; infinite if there is none.
    pub fn distance(&self, point: &Vector3<f64>) -> f64 {
        let mut best = f64::INFINITY;
        if !self.nodes.is_empty() {
            self.visit(0, point, &mut best);
        }
        best.sqrt()
    }

    /// Lowers `best`, a squared distance, to that of the nearest triangle under a node.
    fn visit(&self, index: usize, point: &Vector3<f64>, best: &mut f64) {
        let node = &self.nodes[index];
        let Some(second) = node.second else {
            for triangle in &self.triangles[node.first..node.end] {
                let nearest = closest_point_on_triangle(point, triangle);
                *best = best.min((point - nearest).norm_squared());
            }
            return;
        };
        let mut children = [index + 1, second].map(|i| (self.nodes[i].distance_squared(point), i));
        if children[1].0 < children[0].0 {
            children.swap(0, 1);
        }
        for (distance, child) in children {
            if distance < *best {
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
            let q = closest_point_on_triangle(&p, &[a, b, c]);
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
            let all = triangles
                .iter()
                .map(|t| (closest_point_on_triangle(&p, &t.map(|v| corners[v as usize])) - p).norm_squared())
                .fold(f64::INFINITY, f64::min);
            prop_assert_eq!(SurfaceDistance::new(&corners, &triangles).distance(&p), all.sqrt());
        }
    }

    #[test]
    fn degenerate_triangles_are_segments_and_points() {
        let (p, a, b) = (Vector3::new(0.5, 1.0, 0.0), Vector3::zeros(), Vector3::new(1.0, 0.0, 0.0));
        for triangle in [[a, a, b], [a, b, a], [b, a, a], [a, b, b]] {
            let q = closest_point_on_triangle(&p, &triangle);
            assert!((q - Vector3::new(0.5, 0.0, 0.0)).norm() < 1e-15, "{q}");
        }
        assert_eq!(closest_point_on_triangle(&p, &[a, a, a]), a);
        assert_eq!(SurfaceDistance::new(&[], &[]).distance(&p), f64::INFINITY);
    }
}
