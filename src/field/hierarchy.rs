//! A bounding-volume hierarchy whose boxes move with pressure.
//!
//! Two bodies touch where their pressures are *equal*, so a pair of elements matters only if
//! they overlap at points of one common pressure. Ordinary boxes cannot tell: in deep overlap
//! nearly all tetrahedra, long from the boundary to the medial axis, overlap each other. Here
//! each node bounds the *slice* of its elements at extent ε by a box whose centre and half
//! widths are linear in ε. Testing two nodes intersects, axis by axis, the intervals of
//! pressure in which the two moving boxes overlap; what is left of the interval is handed to
//! the children. The cost then follows the number of contact faces, not of overlapping
//! tetrahedra.

use nalgebra::Vector3;

use crate::spatial::RigidTransform;

/// Marks an inner node.
const INNER: u32 = u32::MAX;

/// A box that bounds the slice at extent ε: centre `c0 + c1 ε`, half widths `h0 + h1 ε`.
///
/// Stored in single precision (one cache line), rounded outward.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Node {
    center: [f32; 3],
    center_slope: [f32; 3],
    half: [f32; 3],
    half_slope: [f32; 3],
    extent_min: f32,
    extent_max: f32,
    /// The element of a leaf, or [`INNER`].
    element: u32,
    /// Index of the first child; the second follows it.
    children: u32,
}

/// A hierarchy over the elements (tetrahedra or triangles) of one body.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    nodes: Vec<Node>,
    /// Largest distance of a vertex from the origin, metres.
    radius: f64,
}

/// A vertex with its extent.
type Point = (Vector3<f64>, f64);

/// The next larger single-precision number.
fn round_up(x: f64) -> f32 {
    let y = x as f32;
    if f64::from(y) < x { y.next_up() } else { y }
}

/// The next smaller single-precision number.
fn round_down(x: f64) -> f32 {
    -round_up(-x)
}

/// The narrower, at the middle of the range, of the moving interval and the fixed one.
///
/// Returns centre, its slope, half width, its slope; all points lie inside.
fn fit_axis(points: &[Point], axis: usize, range: (f64, f64)) -> [f32; 4] {
    let (low, high) = range;
    let span = high - low;
    let bound = |from: f64, to: f64| {
        let within = points.iter().filter(|p| from <= p.1 && p.1 <= to).map(|p| p.0[axis]);
        let (a, b) = within.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        (0.5 * (a + b), 0.5 * (b - a))
    };
    // The smallest half width that, with these slopes, contains every point.
    let enclose = |center: f32, center_slope: f32, half_slope: f32| {
        let (c, c1, h1) = (f64::from(center), f64::from(center_slope), f64::from(half_slope));
        let half = points.iter().map(|(x, e)| (x[axis] - c - c1 * e).abs() - h1 * e).fold(f64::MIN, f64::max);
        // Room for the rounding of the test itself.
        round_up(half + 1e-12 * (half.abs() + c.abs()))
    };
    let center = bound(low, high).0 as f32;
    let fixed = [center, 0.0, enclose(center, 0.0, 0.0), 0.0];
    if !(span.is_finite() && span > 0.0) {
        return fixed;
    }
    let (c_low, h_low) = bound(low, low + 0.25 * span);
    let (c_high, h_high) = bound(high - 0.25 * span, high);
    let center_slope = ((c_high - c_low) / span) as f32;
    let half_slope = ((h_high - h_low) / span) as f32;
    let center = (c_low - f64::from(center_slope) * low) as f32;
    let half = enclose(center, center_slope, half_slope);
    let middle = f64::from(half) + f64::from(half_slope) * 0.5 * (low + high);
    if middle < f64::from(fixed[2]) { [center, center_slope, half, half_slope] } else { fixed }
}

impl Hierarchy {
    /// The hierarchy of `count` elements; `corners(i)` appends the vertices of element `i` with
    /// their extents. Rigid elements exist at every pressure: give them an extent of NaN.
    pub fn build(count: usize, corners: impl Fn(usize, &mut Vec<Point>)) -> Self {
        let mut all = Vec::new();
        let mut centroids = Vec::with_capacity(count);
        let mut start = Vec::with_capacity(count + 1);
        for i in 0..count {
            start.push(all.len());
            corners(i, &mut all);
            let own = &all[start[i]..];
            let sum: Vector3<f64> = own.iter().map(|p| p.0).sum();
            centroids.push(sum / own.len() as f64);
        }
        start.push(all.len());
        let radius = all.iter().map(|p: &Point| p.0.norm()).fold(0.0, f64::max);
        let mut order: Vec<u32> = (0..count as u32).collect();
        let mut nodes = Vec::with_capacity((2 * count).max(1));
        if count > 0 {
            let blank = Node {
                center: [0.0; 3],
                center_slope: [0.0; 3],
                half: [0.0; 3],
                half_slope: [0.0; 3],
                extent_min: 0.0,
                extent_max: 0.0,
                element: INNER,
                children: 0,
            };
            nodes.push(blank);
            let mut work = vec![(0usize, 0usize, count)];
            let mut points = Vec::new();
            while let Some((node, begin, end)) = work.pop() {
                points.clear();
                for &e in &order[begin..end] {
                    points.extend_from_slice(&all[start[e as usize]..start[e as usize + 1]]);
                }
                nodes[node] = fit(&points);
                if end - begin == 1 {
                    nodes[node].element = order[begin];
                    continue;
                }
                let (mut low, mut high) =
                    (centroids[order[begin] as usize], centroids[order[begin] as usize]);
                for &e in &order[begin..end] {
                    low = low.inf(&centroids[e as usize]);
                    high = high.sup(&centroids[e as usize]);
                }
                let axis = (high - low).imax();
                let middle = (end - begin) / 2;
                order[begin..end].select_nth_unstable_by(middle, |&a, &b| {
                    centroids[a as usize][axis].total_cmp(&centroids[b as usize][axis]).then(a.cmp(&b))
                });
                let children = nodes.len();
                nodes[node].children = children as u32;
                nodes.push(blank);
                nodes.push(blank);
                work.push((children, begin, begin + middle));
                work.push((children + 1, begin + middle, end));
            }
        }
        Self { nodes, radius }
    }

    /// The same hierarchy with element `i` renamed `names[i]`.
    pub(super) fn with_elements(mut self, names: &[usize]) -> Self {
        for n in self.nodes.iter_mut().filter(|n| n.element != INNER) {
            n.element = names[n.element as usize] as u32;
        }
        self
    }

    /// Largest distance of a vertex from the origin of the geometry's frame, metres.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }
}

/// The node that bounds these points.
fn fit(points: &[Point]) -> Node {
    let rigid = points.iter().any(|p| p.1.is_nan());
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for p in points {
        low = low.min(p.1);
        high = high.max(p.1);
    }
    let fixed: Vec<Point>;
    let points = if rigid {
        (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        fixed = points.iter().map(|p| (p.0, 0.0)).collect();
        &fixed
    } else {
        points
    };
    let axes = [0, 1, 2].map(|axis| fit_axis(points, axis, (low, high)));
    Node {
        center: axes.map(|a| a[0]),
        center_slope: axes.map(|a| a[1]),
        half: axes.map(|a| a[2]),
        half_slope: axes.map(|a| a[3]),
        extent_min: round_down(low),
        extent_max: round_up(high),
        element: INNER,
        children: 0,
    }
}

/// Narrows the interval to where `a + b p ≤ 0`; false if nothing is left.
#[inline(always)]
fn narrow(a: f64, b: f64, low: &mut f64, high: &mut f64) -> bool {
    let (at_low, at_high) = (a + b * *low, a + b * *high);
    if at_low > 0.0 {
        if at_high > 0.0 {
            return false;
        }
        *low = -a / b;
    } else if at_high > 0.0 {
        *high = -a / b;
    }
    true
}

/// A node's box in double precision, as a function of pressure in pascals.
#[derive(Clone, Copy)]
struct MovingBox {
    center: Vector3<f64>,
    center_slope: Vector3<f64>,
    half: Vector3<f64>,
    half_slope: Vector3<f64>,
}

impl MovingBox {
    #[inline(always)]
    fn new(n: &Node, inverse_modulus: f64) -> Self {
        let v = |a: &[f32; 3]| Vector3::new(f64::from(a[0]), f64::from(a[1]), f64::from(a[2]));
        Self {
            center: v(&n.center),
            center_slope: v(&n.center_slope) * inverse_modulus,
            half: v(&n.half),
            half_slope: v(&n.half_slope) * inverse_modulus,
        }
    }
}

/// Narrows the interval of pressure to where two boxes `d + d1 p` apart with summed half widths
/// `s + s1 p` overlap on every axis.
#[inline(always)]
fn overlap(
    d: &Vector3<f64>,
    d1: &Vector3<f64>,
    s: &Vector3<f64>,
    s1: &Vector3<f64>,
    low: &mut f64,
    high: &mut f64,
) -> bool {
    for k in 0..3 {
        if !narrow(d[k] - s[k], d1[k] - s1[k], low, high) || !narrow(-d[k] - s[k], -d1[k] - s1[k], low, high)
        {
            return false;
        }
    }
    true
}

/// A pair of nodes still to be visited, with the interval of pressure left to it.
type Task = (u32, u32, f64, f64);

/// Reusable memory of a traversal.
#[derive(Clone, Debug, Default)]
pub struct TraversalStack(Vec<Task>);

/// One body of a traversal: its hierarchy and the pressure at extent 1 (1 for a rigid body,
/// whose elements do not move with pressure).
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The hierarchy.
    pub hierarchy: &'a Hierarchy,
    /// Hydroelastic modulus, Pa.
    pub modulus: f64,
}

/// Calls `visit(o, f)` for every pair of elements of O and F that may overlap at a common
/// pressure. `x_fo` is the pose of O in F.
///
/// The order of the calls depends on the input alone.
pub fn for_each_pair(
    o: Side,
    f: Side,
    x_fo: &RigidTransform<f64>,
    stack: &mut TraversalStack,
    mut visit: impl FnMut(u32, u32),
) {
    let (o_nodes, f_nodes) = (&o.hierarchy.nodes, &f.hierarchy.nodes);
    if o_nodes.is_empty() || f_nodes.is_empty() {
        return;
    }
    let r = x_fo.rotation;
    let r_abs = r.map(f64::abs);
    let (o_inverse, f_inverse) = (1.0 / o.modulus, 1.0 / f.modulus);
    let stack = &mut stack.0;
    stack.clear();
    stack.push((0, 0, f64::NEG_INFINITY, f64::INFINITY));
    while let Some((i, j, low, high)) = stack.pop() {
        let (n, m) = (&o_nodes[i as usize], &f_nodes[j as usize]);
        let mut low = low.max(f64::from(n.extent_min) * o.modulus).max(f64::from(m.extent_min) * f.modulus);
        let mut high = high.min(f64::from(n.extent_max) * o.modulus).min(f64::from(m.extent_max) * f.modulus);
        if low > high {
            continue;
        }
        let (a, b) = (MovingBox::new(n, o_inverse), MovingBox::new(m, f_inverse));
        // In F's axes, then in O's.
        let d = r * a.center + x_fo.translation - b.center;
        let d1 = r * a.center_slope - b.center_slope;
        let s = r_abs * a.half + b.half;
        let s1 = r_abs * a.half_slope + b.half_slope;
        if !overlap(&d, &d1, &s, &s1, &mut low, &mut high) {
            continue;
        }
        let d = r.tr_mul(&d);
        let d1 = r.tr_mul(&d1);
        let s = r_abs.tr_mul(&b.half) + a.half;
        let s1 = r_abs.tr_mul(&b.half_slope) + a.half_slope;
        if !overlap(&d, &d1, &s, &s1, &mut low, &mut high) {
            continue;
        }
        match (n.element, m.element) {
            (INNER, INNER) => {
                // Split the larger of the two.
                if a.half.norm_squared() > b.half.norm_squared() {
                    stack.push((n.children + 1, j, low, high));
                    stack.push((n.children, j, low, high));
                } else {
                    stack.push((i, m.children + 1, low, high));
                    stack.push((i, m.children, low, high));
                }
            }
            (INNER, _) => {
                stack.push((n.children + 1, j, low, high));
                stack.push((n.children, j, low, high));
            }
            (_, INNER) => {
                stack.push((i, m.children + 1, low, high));
                stack.push((i, m.children, low, high));
            }
            (element, other) => visit(element, other),
        }
    }
}

/// A plane as the hierarchy's half-space queries see it, in the frame of the elements.
#[derive(Clone, Copy, Debug)]
pub struct PlaneQuery {
    /// Unit outward normal of the half-space.
    pub normal: Vector3<f64>,
    /// Offset: the half-space is `normal·x ≤ offset`.
    pub offset: f64,
    /// How much deeper a point lies per pascal of the half-space's pressure, m/Pa; 0 for a
    /// rigid half-space.
    pub depth_per_pressure: f64,
}

/// Calls `visit` for every element that may cross the surface where its pressure equals that of
/// a half-space (or the half-space's plane, if it is rigid).
pub fn for_each_at_plane(
    side: Side,
    plane: &PlaneQuery,
    stack: &mut TraversalStack,
    mut visit: impl FnMut(u32),
) {
    let nodes = &side.hierarchy.nodes;
    if nodes.is_empty() {
        return;
    }
    let inverse = 1.0 / side.modulus;
    let n_abs = plane.normal.abs();
    let stack = &mut stack.0;
    stack.clear();
    // No pressure is negative; for rigid elements this leaves all that is below the plane.
    stack.push((0, 0, 0.0, f64::INFINITY));
    while let Some((i, _, low, high)) = stack.pop() {
        let node = &nodes[i as usize];
        let mut low = low.max(f64::from(node.extent_min) * side.modulus);
        let mut high = high.min(f64::from(node.extent_max) * side.modulus);
        if low > high {
            continue;
        }
        let bounds = MovingBox::new(node, inverse);
        let d = plane.offset - plane.normal.dot(&bounds.center);
        let d1 = -plane.normal.dot(&bounds.center_slope) - plane.depth_per_pressure;
        let (s, s1) = (n_abs.dot(&bounds.half), n_abs.dot(&bounds.half_slope));
        if !narrow(d - s, d1 - s1, &mut low, &mut high) || !narrow(-d - s, -d1 - s1, &mut low, &mut high) {
            continue;
        }
        if node.element == INNER {
            stack.push((node.children + 1, 0, low, high));
            stack.push((node.children, 0, low, high));
        } else {
            visit(node.element);
        }
    }
}
