//! Which elements of two bodies, or of a body and a half-space, may touch.

use nalgebra::{Matrix3, Vector3};
use wide::f32x4;

use super::{ELEMENT, Group, Hierarchy, WIDTH};
use crate::spatial::RigidTransform;

/// Widening of every box, relative to the size of both bodies: what rounding in single precision
/// can shift a box by, many times over.
const MARGIN: f64 = 2e-6;

/// Intervals of pressure, one for each box of a group; empty where `low > high`.
#[derive(Clone, Copy)]
struct Intervals {
    low: f32x4,
    high: f32x4,
}

impl Intervals {
    /// Narrows each interval to where `a ≥ b p`; `b` must not be a negative zero.
    ///
    /// The root of the line bounds the interval from below if `b` is negative, else from above
    /// (for a constant line it is infinite, with the sign that is right). Where root and interval
    /// are both undetermined, 0/0, the minimum keeps the interval.
    #[inline(always)]
    fn narrow(&mut self, a: f32x4, b: f32x4) {
        let from_below = b.simd_lt(f32x4::ZERO);
        let root = a / b;
        self.low = from_below.bitselect(root, self.low).fast_max(self.low);
        self.high = from_below.bitselect(f32x4::splat(f32::INFINITY), root).fast_min(self.high);
    }

    /// Calls `visit` with the number and the bounds of each interval that is not empty.
    #[inline(always)]
    fn for_each(&self, mut visit: impl FnMut(u32, f32, f32)) {
        let (low, high) = (self.low.to_array(), self.high.to_array());
        let mut left = self.left();
        while left != 0 {
            let lane = left.trailing_zeros();
            visit(lane, low[lane as usize], high[lane as usize]);
            left &= left - 1;
        }
    }

    /// A bit for each interval that is not empty.
    #[inline(always)]
    fn left(&self) -> u32 {
        self.low.simd_le(self.high).to_bitmask()
    }
}

/// One box as the other body sees it, each number in all lanes. Slopes are per unit of
/// [`Passage::pressure`]; half widths include the margin.
struct PlacedBox {
    /// The box's number, see [`Task`].
    number: u32,
    /// What is in the box, see [`Group`].
    child: u32,
    size: f32,
    /// Along the axes of the other body. No slope of the centre is a negative zero, nor is one
    /// of these negative slopes of the half widths.
    center: [f32x4; 3],
    center_slope: [f32x4; 3],
    half: [f32x4; 3],
    negative_half_slope: [f32x4; 3],
    /// Along its own axes.
    own_half: [f32x4; 3],
    own_half_slope: [f32x4; 3],
}

impl PlacedBox {
    /// A box without a number.
    const NONE: Self = Self {
        number: u32::MAX,
        child: 0,
        size: 0.0,
        center: [f32x4::ZERO; 3],
        center_slope: [f32x4::ZERO; 3],
        half: [f32x4::ZERO; 3],
        negative_half_slope: [f32x4::ZERO; 3],
        own_half: [f32x4::ZERO; 3],
        own_half_slope: [f32x4::ZERO; 3],
    };
}

/// How to bring a box of one body to a group of the other, in single precision.
struct Passage {
    /// Columns of the rotation into the group's frame, and of its entries' absolute values; the
    /// fourth component is 0.
    rotation: [f32x4; 3],
    absolute: [f32x4; 3],
    /// The same, each entry in all lanes.
    spread_rotation: [[f32x4; 3]; 3],
    spread_absolute: [[f32x4; 3]; 3],
    translation: f32x4,
    /// Widening of the boxes, metres.
    margin: f32x4,
    /// Extent of the box's body per extent of the group's.
    of_box: f32,
    /// Pressure at the unit in which this passage counts pressures: at extent 1 of the group's
    /// body, or 1 if it is rigid, as then nothing of it depends on pressure.
    pressure: f32,
}

/// A matrix, given by columns, times a vector.
#[inline(always)]
fn times(columns: &[f32x4; 3], v: [f32; 3]) -> f32x4 {
    columns[0] * f32x4::splat(v[0]) + columns[1] * f32x4::splat(v[1]) + columns[2] * f32x4::splat(v[2])
}

/// A column, each of its entries in all lanes, times three vectors of lanes.
#[inline(always)]
fn along(column: &[f32x4; 3], v: &[f32x4; 3]) -> f32x4 {
    v[0] * column[0] + v[1] * column[1] + v[2] * column[2]
}

/// The first three numbers, each in all lanes.
#[inline(always)]
fn spread(v: f32x4) -> [f32x4; 3] {
    let [x, y, z, _] = v.to_array();
    [f32x4::splat(x), f32x4::splat(y), f32x4::splat(z)]
}

impl Passage {
    fn new(
        rotation: &Matrix3<f64>,
        translation: &Vector3<f64>,
        margin: f64,
        of_box: f64,
        of_group: f64,
    ) -> Self {
        let columns = |f: fn(f64) -> f64| {
            [0, 1, 2].map(|column| {
                let entry = |row| f(rotation[(row, column)]) as f32;
                f32x4::new([entry(0), entry(1), entry(2), 0.0])
            })
        };
        let t = translation.map(|x| x as f32);
        let (rotation, absolute) = (columns(|x| x), columns(f64::abs));
        let pressure = if of_group > 0.0 { 1.0 / of_group } else { 1.0 };
        Self {
            rotation,
            absolute,
            spread_rotation: rotation.map(spread),
            spread_absolute: absolute.map(spread),
            translation: f32x4::new([t.x, t.y, t.z, 0.0]),
            margin: f32x4::splat(margin as f32),
            of_box: (of_box * pressure) as f32,
            pressure: pressure as f32,
        }
    }

    /// Box `lane` of a group as the other body sees it.
    #[inline(always)]
    fn place(&self, number: u32, group: &Group, lane: usize) -> PlacedBox {
        let center = [0, 1, 2].map(|k| group.center[k][lane]);
        let center_slope = [0, 1, 2].map(|k| group.center_slope[k][lane] * self.of_box);
        let half = [0, 1, 2].map(|k| group.half[k][lane]);
        let half_slope = [0, 1, 2].map(|k| group.half_slope[k][lane] * self.of_box);
        PlacedBox {
            number,
            child: group.child[lane],
            size: group.size[lane],
            center: spread(times(&self.rotation, center) + self.translation),
            // Adding zero makes a zero positive.
            center_slope: spread(times(&self.rotation, center_slope) + f32x4::ZERO),
            half: spread(times(&self.absolute, half) + self.margin),
            negative_half_slope: spread(f32x4::ZERO - times(&self.absolute, half_slope)),
            own_half: half.map(|h| f32x4::splat(h) + self.margin),
            own_half_slope: half_slope.map(f32x4::splat),
        }
    }

    /// The intervals of pressure, within `range`, at which the box overlaps each of the group's.
    #[inline(always)]
    fn test(&self, b: &PlacedBox, group: &Group, range: (f32, f32)) -> Intervals {
        let mut left = Intervals {
            low: f32x4::new(group.extent_min).fast_max(f32x4::splat(range.0)),
            high: f32x4::new(group.extent_max).fast_min(f32x4::splat(range.1)),
        };
        let (mut d, mut d1) = ([f32x4::ZERO; 3], [f32x4::ZERO; 3]);
        // Along the group's axes: the boxes overlap where |d + d₁ p| ≤ s + s₁ p, d being the
        // distance of their centres and s the sum of their half widths.
        for k in 0..3 {
            d[k] = b.center[k] - f32x4::new(group.center[k]);
            d1[k] = b.center_slope[k] - f32x4::new(group.center_slope[k]);
            let s = b.half[k] + f32x4::new(group.half[k]);
            let negative_s1 = b.negative_half_slope[k] - f32x4::new(group.half_slope[k]);
            left.narrow(s - d[k], negative_s1 + d1[k]);
            left.narrow(s + d[k], negative_s1 - d1[k]);
        }
        if left.left() == 0 {
            return left;
        }
        // Along the box's axes: apart where they are at both ends of the interval, and so
        // throughout it. Cheaper than narrowing it, and nearly as good now that it is short.
        let (mut above, mut below) = (f32x4::splat(f32::NEG_INFINITY), f32x4::splat(f32::INFINITY));
        for k in 0..3 {
            let (absolute, rotation) = (&self.spread_absolute[k], &self.spread_rotation[k]);
            let s = along(absolute, &group.half.map(f32x4::new)) + b.own_half[k];
            let s1 = along(absolute, &group.half_slope.map(f32x4::new)) + b.own_half_slope[k];
            let (d, d1) = (along(rotation, &d), along(rotation, &d1));
            let (d_low, d_high) = (d + d1 * left.low, d + d1 * left.high);
            let (s_low, s_high) = (s + s1 * left.low, s + s1 * left.high);
            above = (d_low - s_low).fast_min(d_high - s_high).fast_max(above);
            below = (d_low + s_low).fast_max(d_high + s_high).fast_min(below);
        }
        let apart = above.simd_gt(f32x4::ZERO) | below.simd_lt(f32x4::ZERO);
        left.low = apart.bitselect(f32x4::splat(f32::INFINITY), left.low);
        left
    }
}

/// Marks a box of F in a [`Task`].
const OF_F: u32 = 1 << 31;

/// A box still to be tested against a group of the other body, with the interval of pressure left
/// to it.
#[derive(Clone, Copy, Debug)]
struct Task {
    /// The box's number, `4 · group + lane`, with [`OF_F`] added if it is F's.
    number: u32,
    /// The group of the other body.
    group: u32,
    low: f32,
    high: f32,
}

/// Reusable memory of a traversal.
#[derive(Clone, Debug, Default)]
pub struct TraversalStack(Vec<Task>);

/// One body of a traversal: its hierarchy and the pressure at extent 1 in Pa (infinite for a
/// rigid body).
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The hierarchy.
    pub hierarchy: &'a Hierarchy,
    /// Hydroelastic modulus, Pa.
    pub modulus: f64,
}

/// Calls `visit(o, f)` for every pair of elements of O and F that may overlap at a common
/// pressure, also after a motion of O by less than `margin` in F, metres. `x_fo` is the pose of O in F.
///
/// Pairs come in the order of the hierarchies, whatever the pose, the moduli and the margin.
#[inline(always)]
pub(crate) fn for_each_pair(
    o: Side,
    f: Side,
    x_fo: &RigidTransform<f64>,
    margin: f64,
    stack: &mut TraversalStack,
    mut visit: impl FnMut(u32, u32),
) {
    // Pressures in units of the softer body's modulus.
    let unit = o.modulus.min(f.modulus);
    let (of_o, of_f) = (unit / o.modulus, unit / f.modulus);
    let rotation = &x_fo.rotation;
    let translation = rotation * o.hierarchy.middle + x_fo.translation - f.hierarchy.middle;
    let reach = o.hierarchy.span + f.hierarchy.span;
    let margin = MARGIN * reach + margin;
    // Balls around the bodies, which tell more than boxes where they are round.
    if translation.norm() > reach + margin {
        return;
    }
    let to_f = Passage::new(rotation, &translation, margin, of_o, of_f);
    let back = rotation.transpose();
    let to_o = Passage::new(&back, &-(back * translation), margin, of_f, of_o);
    let (o_groups, f_groups) = (&o.hierarchy.groups, &f.hierarchy.groups);
    let stack = &mut stack.0;
    stack.clear();
    // Each box of O's first group against F's first group.
    for lane in 0..WIDTH {
        let first = &o_groups[0];
        let (low, high) = (first.extent_min[lane] / of_o as f32, first.extent_max[lane] / of_o as f32);
        stack.push(Task { number: lane as u32, group: 0, low, high });
    }
    let mut one = PlacedBox::NONE;
    while let Some(task) = stack.pop() {
        let of_o = task.number & OF_F == 0;
        let (own, others, passage) =
            if of_o { (o_groups, f_groups, &to_f) } else { (f_groups, o_groups, &to_o) };
        // Often the box is the one of the task before.
        if task.number != one.number {
            let number = (task.number & !OF_F) as usize;
            one = passage.place(task.number, &own[number / WIDTH], number % WIDTH);
        }
        let (child, size) = (one.child, one.size);
        let other_group = &others[task.group as usize];
        let left =
            passage.test(&one, other_group, (task.low / passage.pressure, task.high / passage.pressure));
        left.for_each(
            #[inline(always)]
            |lane, low, high| {
                let (low, high) = (low * passage.pressure, high * passage.pressure);
                let other = other_group.child[lane as usize];
                let (is_element, other_is_element) = (child & ELEMENT != 0, other & ELEMENT != 0);
                if is_element && other_is_element {
                    let (i, j) = if of_o { (child, other) } else { (other, child) };
                    visit(i & !ELEMENT, j & !ELEMENT);
                } else if is_element || (!other_is_element && other_group.size[lane as usize] >= size) {
                    // Open the other box, the larger one.
                    stack.push(Task { number: task.number, group: other, low, high });
                } else {
                    let side = if of_o { OF_F } else { 0 };
                    stack.push(Task {
                        number: (task.group * WIDTH as u32 + lane) | side,
                        group: child,
                        low,
                        high,
                    });
                }
            },
        );
    }
}

/// A half-space as the hierarchy's queries see it, in the frame of the elements.
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
/// a half-space (or the half-space's plane, if it is rigid), also after motions across the plane by less than `margin`,
/// metres: in the order of the hierarchy.
#[inline(always)]
pub(crate) fn for_each_at_plane(
    side: Side,
    plane: &PlaneQuery,
    margin: f64,
    stack: &mut TraversalStack,
    mut visit: impl FnMut(u32),
) {
    // Pressures in units of the body's modulus or, if it is rigid, of the half-space's at a
    // depth of the body's size: infinite units would leave nothing to compare.
    let span = side.hierarchy.span.max(f64::MIN_POSITIVE);
    let rigid = side.modulus.is_infinite();
    let unit = if rigid { span / plane.depth_per_pressure } else { side.modulus };
    let per_pressure = if rigid { 0.0 } else { 1.0_f32 };
    let depth_per_pressure = (plane.depth_per_pressure * unit) as f32;
    let normal = [0, 1, 2].map(|k| plane.normal[k] as f32);
    let offset = (plane.offset - plane.normal.dot(&side.hierarchy.middle)) as f32;
    let margin = (MARGIN * (span + f64::from(offset.abs())) + margin) as f32;
    let groups = &side.hierarchy.groups;
    let stack = &mut stack.0;
    stack.clear();
    // From the depth zero on, for rigid elements, lies all that is below the plane; others begin at
    // the least pressure in their boxes. (Finite ends, so that no zero is multiplied by infinity.)
    let low = if rigid { 0.0 } else { f32::MIN / 4.0 };
    stack.push(Task { number: 0, group: 0, low, high: f32::MAX / 4.0 });
    while let Some(task) = stack.pop() {
        let group = &groups[task.group as usize];
        let mut left = Intervals {
            low: f32x4::new(group.extent_min).fast_max(f32x4::splat(task.low)),
            high: f32x4::new(group.extent_max).fast_min(f32x4::splat(task.high)),
        };
        // Adding zero makes a zero positive.
        let (mut d, mut d1) = (f32x4::splat(offset), f32x4::splat(-depth_per_pressure) + f32x4::ZERO);
        let (mut s, mut s1) = (f32x4::splat(margin), f32x4::ZERO);
        for k in 0..3 {
            let n = f32x4::splat(normal[k]);
            let per_pressure = f32x4::splat(per_pressure);
            d -= n * f32x4::new(group.center[k]);
            d1 -= n * f32x4::new(group.center_slope[k]) * per_pressure;
            s += n.abs() * f32x4::new(group.half[k]);
            s1 += n.abs() * f32x4::new(group.half_slope[k]) * per_pressure;
        }
        let negative_s1 = f32x4::ZERO - s1;
        left.narrow(s - d, negative_s1 + d1);
        left.narrow(s + d, negative_s1 - d1);
        left.for_each(
            #[inline(always)]
            |lane, low, high| {
                let child = group.child[lane as usize];
                if child & ELEMENT != 0 {
                    visit(child & !ELEMENT);
                } else {
                    stack.push(Task { number: 0, group: child, low, high });
                }
            },
        );
    }
}
