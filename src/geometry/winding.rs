//! How often a surface winds around a point, and where lines cross it.

use std::f64::consts::PI;

use nalgebra::Vector3;

use super::holes::area;
use super::mend::solid_angle;
use super::surface_distance::{Node, SurfaceDistance};

/// Triangles nearer than this many radii of their node are summed one by one, others as a dipole.
const FAR: f64 = 2.0;
/// How far beside a triangle, as a part of its size, a line still meets it, so that none slips through an edge.
const BESIDE: f64 = 1e-9;

/// The triangles of a tree as what tells inside from outside.
pub(super) struct Winding<'a> {
    tree: &'a SurfaceDistance,
    /// Those of the nodes of the tree.
    dipoles: Vec<Dipole>,
}

/// The triangles under a node seen from far.
#[derive(Clone, Copy, Default)]
struct Dipole {
    /// The sum of the area vectors, m².
    area: Vector3<f64>,
    /// The mean place, weighted with areas.
    centre: Vector3<f64>,
    /// The distance of the farthest corner, m.
    radius: f64,
}

/// Where a line meets a triangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crossing {
    /// The part of the line before it.
    pub along: f64,
    /// By how much the winding number changes: −1 out of the body, 1 into it.
    pub change: f64,
    /// The triangle's place in the list.
    pub triangle: usize,
}

impl<'a> Winding<'a> {
    pub fn new(tree: &'a SurfaceDistance) -> Self {
        let dipole = |node: &Node| {
            let triangles = || tree.triangles[node.first..node.end].iter().map(|triangle| triangle.corners);
            let whole: f64 = triangles().map(|t| area(t).norm()).sum();
            let moment: Vector3<f64> =
                triangles().map(|t| (t[0] + t[1] + t[2]) * (area(t).norm() / 3.0)).sum();
            let centre = if whole > 0.0 { moment / whole } else { (node.low + node.high) / 2.0 };
            let radius = (node.high - centre).sup(&(centre - node.low)).norm();
            Dipole { area: triangles().map(area).sum(), centre, radius }
        };
        Self { tree, dipoles: tree.nodes.iter().map(dipole).collect() }
    }

    /// The generalized winding number of a point: 1 inside of a closed surface, 0 outside, 2 where two pieces overlap, and
    /// between them near a hole (Jacobson et al. 2013).
    ///
    /// Triangles far away are taken together as the first term of their expansion (Barill et al. 2018), which leaves an
    /// error of some 0.01.
    pub fn number(&self, point: &Vector3<f64>) -> f64 {
        let (mut sum, mut open) = (0.0, vec![0]);
        while let Some(index) = open.pop() {
            let Some(node) = self.tree.nodes.get(index) else { break };
            let Dipole { area, centre, radius } = self.dipoles[index];
            let to = centre - point;
            let distance = to.norm();
            if distance > FAR * radius {
                sum += area.dot(&to) / (distance * distance * distance);
            } else if let Some(second) = node.second {
                open.extend([index + 1, second]);
            } else {
                let triangles = &self.tree.triangles[node.first..node.end];
                sum += triangles
                    .iter()
                    .map(|t| solid_angle(t.corners.map(|corner| corner - point)))
                    .sum::<f64>();
            }
        }
        sum / (4.0 * PI)
    }

    /// Where the line between two points crosses the surface, in their order.
    pub fn crossings(&self, from: &Vector3<f64>, to: &Vector3<f64>) -> Vec<Crossing> {
        let way = to - from;
        let (mut found, mut open) = (Vec::new(), vec![0]);
        while let Some(index) = open.pop() {
            let Some(node) = self.tree.nodes.get(index) else { break };
            if !meets_box(node, from, &way) {
                continue;
            }
            if let Some(second) = node.second {
                open.extend([index + 1, second]);
                continue;
            }
            for triangle in &self.tree.triangles[node.first..node.end] {
                let [a, b, c] = triangle.corners;
                let normal = (b - a).cross(&(c - a));
                let speed = normal.dot(&way);
                let along = normal.dot(&(a - from)) / speed;
                if !(-BESIDE..=1.0 + BESIDE).contains(&along) {
                    continue;
                }
                let at = from + way * along;
                let size = normal.norm_squared();
                let beside = |p: &Vector3<f64>, q: &Vector3<f64>| {
                    (q - p).cross(&(at - p)).dot(&normal) < -BESIDE * size
                };
                if !(beside(&a, &b) || beside(&b, &c) || beside(&c, &a)) {
                    let along = along.clamp(0.0, 1.0);
                    found.push(Crossing { along, change: -speed.signum(), triangle: triangle.number });
                }
            }
        }
        found.sort_by(|a, b| a.along.total_cmp(&b.along).then(a.triangle.cmp(&b.triangle)));
        found
    }
}

/// Whether a line meets the box of a node.
fn meets_box(node: &Node, from: &Vector3<f64>, way: &Vector3<f64>) -> bool {
    let slack = (node.high - node.low).amax() * BESIDE;
    let (mut first, mut last) = (-BESIDE, 1.0 + BESIDE);
    for axis in 0..3 {
        let (low, high) = (node.low[axis] - slack - from[axis], node.high[axis] + slack - from[axis]);
        if way[axis] == 0.0 {
            if low > 0.0 || high < 0.0 {
                return false;
            }
            continue;
        }
        let (enter, leave) = (low / way[axis], high / way[axis]);
        first = first.max(enter.min(leave));
        last = last.min(enter.max(leave));
    }
    first <= last
}
