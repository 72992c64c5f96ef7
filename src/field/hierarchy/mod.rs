//! A bounding-volume hierarchy whose boxes move with pressure.
//!
//! Two bodies touch where their pressures are *equal*, so a pair of elements matters only if
//! they overlap at points of one common pressure. Ordinary boxes cannot tell: in deep overlap
//! nearly all tetrahedra, long from the boundary to the medial axis, overlap each other. Here
//! each box bounds the *slice* of its elements at extent ε, its centre and half widths being
//! linear in ε. Testing two boxes intersects, axis by axis, the intervals of pressure in which
//! the moving boxes overlap; what is left of the interval is handed to the children. The cost
//! then follows the number of contact faces, not of overlapping tetrahedra.
//!
//! Four boxes are kept together and tested at once, in single precision rounded outward.

mod query;

pub use query::{PlaneQuery, Side, TraversalStack};
pub(crate) use query::{for_each_at_plane, for_each_pair};

use std::sync::atomic::{AtomicU64, Ordering};

use nalgebra::Vector3;

/// Boxes in a group.
const WIDTH: usize = 4;

/// One number for each box of a group.
type Lanes = [f32; WIDTH];

/// Marks a child that is an element, not a group.
const ELEMENT: u32 = 1 << 31;

/// Boxes that bound the slices at extent ε: centre `center + center_slope ε`, half widths
/// `half + half_slope ε`, for ε between `extent_min` and `extent_max`.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group {
    center: [Lanes; 3],
    center_slope: [Lanes; 3],
    half: [Lanes; 3],
    half_slope: [Lanes; 3],
    extent_min: Lanes,
    extent_max: Lanes,
    /// Half widths, summed, in the middle of the extents: which of two boxes to open first.
    size: Lanes,
    /// A group, or an element with [`ELEMENT`] added.
    child: [u32; WIDTH],
}

impl Group {
    /// Boxes that nothing overlaps.
    const EMPTY: Self = Self {
        center: [[0.0; WIDTH]; 3],
        center_slope: [[0.0; WIDTH]; 3],
        half: [[0.0; WIDTH]; 3],
        half_slope: [[0.0; WIDTH]; 3],
        extent_min: [f32::INFINITY; WIDTH],
        extent_max: [f32::NEG_INFINITY; WIDTH],
        size: [0.0; WIDTH],
        child: [0; WIDTH],
    };
}

/// A hierarchy over the elements (tetrahedra or triangles) of one body.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    groups: Vec<Group>,
    /// The middle of the body: boxes are relative to it, so that single precision suffices for
    /// geometries far from their frame's origin.
    middle: Vector3<f64>,
    /// Half the widths of the body along its frame's axes, metres.
    half_widths: Vector3<f64>,
    /// Largest distance of a vertex from the middle, metres.
    span: f64,
    /// Largest distance of a vertex from the frame's origin, metres.
    radius: f64,
    /// Half the width of the boxes of single elements, averaged over elements and axes, metres.
    grain: f64,
    /// See [`Self::number`].
    number: u64,
}

/// How many hierarchies have been built.
static BUILT: AtomicU64 = AtomicU64::new(0);

/// A vertex, relative to the middle, with its extent.
type Point = (Vector3<f64>, f64);

/// The least single-precision number that is not below `x`.
fn round_up(x: f64) -> f32 {
    let y = x as f32;
    if f64::from(y) < x { y.next_up() } else { y }
}

/// The largest single-precision number that is not above `x`.
fn round_down(x: f64) -> f32 {
    -round_up(-x)
}

/// The narrower, at the middle of the range, of a moving interval and a fixed one: centre and its
/// slope, half width and its slope. All points lie inside.
fn fit_axis(points: &[Point], axis: usize, (low, high): (f64, f64)) -> [f32; 4] {
    let span = high - low;
    let bound = |from: f64, to: f64| {
        let within = points.iter().filter(|p| from <= p.1 && p.1 <= to).map(|p| p.0[axis]);
        let (a, b) = within.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        (0.5 * (a + b), 0.5 * (b - a))
    };
    // The smallest half width that, with these slopes, contains every point.
    let enclose = |center: f32, center_slope: f32, half_slope: f32| {
        let (c, c1, h1) = (f64::from(center), f64::from(center_slope), f64::from(half_slope));
        let excess = |(x, e): &Point| (x[axis] - c - c1 * e).abs() - h1 * e;
        round_up(points.iter().map(excess).fold(f64::MIN, f64::max))
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

/// Sets box `lane` of a group to bound these points.
fn fit(group: &mut Group, lane: usize, points: &[Point]) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for p in points {
        low = low.min(p.1);
        high = high.max(p.1);
    }
    // A rigid element, there at every pressure, has no extent.
    let rigid = low > high;
    let fixed: Vec<Point>;
    let (points, range) = if rigid {
        fixed = points.iter().map(|p| (p.0, 0.0)).collect();
        (&fixed[..], (0.0, 0.0))
    } else {
        (points, (low, high))
    };
    group.size[lane] = 0.0;
    for axis in 0..3 {
        let [center, center_slope, half, half_slope] = fit_axis(points, axis, range);
        group.center[axis][lane] = center;
        group.center_slope[axis][lane] = center_slope;
        group.half[axis][lane] = half;
        group.half_slope[axis][lane] = half_slope;
        group.size[lane] += half + half_slope * (0.5 * (range.0 + range.1)) as f32;
    }
    group.extent_min[lane] = if rigid { f32::NEG_INFINITY } else { round_down(low) };
    group.extent_max[lane] = if rigid { f32::INFINITY } else { round_up(high) };
}

/// Parts the elements in two along the longest side of the box of their centroids: in halves,
/// but so that the groups of single elements come out full.
fn part(order: &mut [u32], centroids: &[Vector3<f64>]) -> usize {
    let at = |e: u32| &centroids[e as usize];
    let Some(&first) = order.first() else { return 0 };
    let (mut low, mut high) = (*at(first), *at(first));
    for &e in order.iter() {
        low = low.inf(at(e));
        high = high.sup(at(e));
    }
    let axis = (high - low).imax();
    let unit = if order.len() > WIDTH { WIDTH } else { 1 };
    let middle = (order.len() / 2).next_multiple_of(unit);
    if middle < order.len() {
        order.select_nth_unstable_by(middle, |&a, &b| at(a)[axis].total_cmp(&at(b)[axis]).then(a.cmp(&b)));
    }
    middle
}

/// Parts the elements in at most [`WIDTH`] for the boxes of a group; returns where each part
/// begins, and the end.
///
/// A part that fills a group of single elements stays as it is: in halves it would need two
/// groups, half of them empty.
fn part_for_group(order: &mut [u32], centroids: &[Vector3<f64>]) -> Vec<usize> {
    let mut bounds = vec![0, order.len()];
    while bounds.len() <= WIDTH {
        let to_part = |n: usize| n > 1 && (n != WIDTH || bounds.len() == 2);
        let sizes = bounds.windows(2).map(|b| b[1] - b[0]).enumerate();
        let Some((largest, _)) = sizes.filter(|&(_, n)| to_part(n)).max_by_key(|&(i, n)| (n, WIDTH - i))
        else {
            break;
        };
        let (begin, end) = (bounds[largest], bounds[largest + 1]);
        bounds.insert(largest + 1, begin + part(&mut order[begin..end], centroids));
    }
    bounds
}

impl Hierarchy {
    /// The hierarchy of `count` elements; `corners(i)` appends the vertices of element `i` with
    /// their extents. Rigid elements exist at every pressure: give them an extent of NaN.
    pub fn build(count: usize, corners: impl Fn(usize, &mut Vec<(Vector3<f64>, f64)>)) -> Self {
        let mut all: Vec<Point> = Vec::new();
        let mut start = Vec::with_capacity(count + 1);
        for i in 0..count {
            start.push(all.len());
            corners(i, &mut all);
        }
        start.push(all.len());
        let radius = all.iter().map(|p| p.0.norm()).fold(0.0, f64::max);
        let first = all.first().map_or_else(Vector3::zeros, |p| p.0);
        let (low, high) = all.iter().fold((first, first), |(l, h), p| (l.inf(&p.0), h.sup(&p.0)));
        let (middle, half_widths) = ((low + high) * 0.5, (high - low) * 0.5);
        for p in &mut all {
            p.0 -= middle;
        }
        let span = all.iter().map(|p| p.0.norm()).fold(0.0, f64::max);
        let centroids: Vec<Vector3<f64>> = (0..count)
            .map(|i| {
                let own = &all[start[i]..start[i + 1]];
                own.iter().map(|p| p.0).sum::<Vector3<f64>>() / own.len() as f64
            })
            .collect();
        let mut order: Vec<u32> = (0..count as u32).collect();
        let mut groups = vec![Group::EMPTY];
        // Without elements, as where the extent is 0 throughout, the first group stays empty.
        let mut work = if count > 0 { vec![(0, 0, count)] } else { Vec::new() };
        let mut points = Vec::new();
        while let Some((group, begin, end)) = work.pop() {
            let bounds = part_for_group(&mut order[begin..end], &centroids);
            for (lane, part) in bounds.windows(2).enumerate() {
                let (from, to) = (begin + part[0], begin + part[1]);
                points.clear();
                for &e in &order[from..to] {
                    points.extend_from_slice(&all[start[e as usize]..start[e as usize + 1]]);
                }
                fit(&mut groups[group], lane, &points);
                groups[group].child[lane] = if to - from == 1 {
                    order[from] | ELEMENT
                } else {
                    groups.push(Group::EMPTY);
                    work.push((groups.len() - 1, from, to));
                    (groups.len() - 1) as u32
                };
            }
        }
        groups.shrink_to_fit();
        let lanes = groups.iter().flat_map(|g| g.child.iter().zip(&g.size));
        let sizes = lanes.filter(|(child, _)| **child & ELEMENT != 0).map(|(_, size)| f64::from(*size));
        // Half widths may be out of the range of single precision.
        let grain =
            Some(sizes.sum::<f64>() / (3 * count.max(1)) as f64).filter(|x| x.is_finite() && *x > 0.0);
        let grain = grain.unwrap_or(0.0);
        let number = BUILT.fetch_add(1, Ordering::Relaxed) + 1;
        Self { groups, middle, half_widths, span, radius, grain, number }
    }

    /// The same hierarchy with element `i` renamed `names[i]`.
    pub(super) fn with_elements(mut self, names: &[usize]) -> Self {
        for child in self.groups.iter_mut().flat_map(|g| &mut g.child) {
            if *child & ELEMENT != 0 {
                *child = names[(*child & !ELEMENT) as usize] as u32 | ELEMENT;
            }
        }
        self
    }

    /// Largest distance of a vertex from the origin of the geometry's frame, metres.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// The middle and half the widths of the box along the axes of the geometry's frame that
    /// bounds all vertices, metres.
    pub fn bounding_box(&self) -> (Vector3<f64>, Vector3<f64>) {
        (self.middle, self.half_widths)
    }

    /// Largest distance of a vertex from the middle of the bounding box, metres.
    pub fn span(&self) -> f64 {
        self.span
    }

    /// Half the width of an element at one pressure, on average, metres.
    pub fn grain(&self) -> f64 {
        self.grain
    }

    /// A number of this hierarchy, not 0, that its copies share and no other hierarchy of the process has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.groups.capacity() * size_of::<Group>()
    }
}
