//! A body-centred cubic lattice: the corners and centres of cubes, and the tetrahedra between them.

use nalgebra::Vector3;

use crate::geometry::error::{LARGEST_CUBE_COUNT, MeshError};

/// How far the cubes' edges may be from the size asked for, as a part of it, to fit a whole number of them into a box.
const STRETCH: f64 = 0.1;

/// Points in space: first the corners of cubes, then their centres.
pub(super) struct Lattice {
    low: Vector3<f64>,
    /// The edges of a cube, m: along each axis nearly the same.
    step: Vector3<f64>,
    cubes: [usize; 3],
    /// How many of the points are corners.
    corners: usize,
}

impl Lattice {
    /// A lattice around a box, with a cube more on each side. The faces of the box lie on corners where that asks for little
    /// stretch, so that a block along the axes is met exactly.
    ///
    /// # Errors
    /// When it would have too many cubes.
    pub fn around(low: &Vector3<f64>, high: &Vector3<f64>, size: f64) -> Result<Self, MeshError> {
        let length = high - low;
        let count = length.map(|length| (length / size).round().max(1.0));
        let fits = |axis: usize| (length[axis] / (count[axis] * size) - 1.0).abs() <= STRETCH;
        let count =
            Vector3::from_fn(
                |axis, _| if fits(axis) { count[axis] } else { (length[axis] / size).ceil().max(1.0) },
            );
        let step = Vector3::from_fn(|axis, _| if fits(axis) { length[axis] / count[axis] } else { size });
        let cubes = count.add_scalar(2.0);
        let all = cubes.product();
        if all.is_nan() || all > LARGEST_CUBE_COUNT {
            return Err(MeshError::LatticeTooFine { size, cubes: all });
        }
        let low = (low + high - step.component_mul(&cubes)) / 2.0;
        let cubes = [0, 1, 2].map(|axis| cubes[axis] as usize);
        Ok(Self { low, step, cubes, corners: cubes.iter().map(|n| n + 1).product() })
    }

    pub fn len(&self) -> usize {
        self.corners + self.cubes.iter().product::<usize>()
    }

    /// The length of the cubes' edges, m.
    pub fn size(&self) -> f64 {
        self.step.mean()
    }

    fn corner(&self, [i, j, k]: [usize; 3]) -> u32 {
        let [x, y, _] = self.cubes;
        ((k * (y + 1) + j) * (x + 1) + i) as u32
    }

    fn centre(&self, [i, j, k]: [usize; 3]) -> u32 {
        let [x, y, _] = self.cubes;
        (self.corners + (k * y + j) * x + i) as u32
    }

    /// Whether an edge is a long one, along an axis.
    pub fn is_long(&self, [a, b]: [u32; 2]) -> bool {
        self.is_centre(a) == self.is_centre(b)
    }

    fn is_centre(&self, point: u32) -> bool {
        point as usize >= self.corners
    }

    /// Its cube, or the cube of which it is the first corner.
    fn cube(&self, point: u32) -> [usize; 3] {
        let (index, more) =
            if self.is_centre(point) { (point as usize - self.corners, 0) } else { (point as usize, 1) };
        let [x, y] = [self.cubes[0] + more, self.cubes[1] + more];
        [index % x, index / x % y, index / (x * y)]
    }

    /// Whether the steps from the first point of its kind are even in number: of two neighbours of a kind one is.
    pub fn is_even(&self, point: u32) -> bool {
        self.cube(point).iter().sum::<usize>() % 2 == 0
    }

    pub fn place(&self, point: u32) -> Vector3<f64> {
        let half = if self.is_centre(point) { 0.5 } else { 0.0 };
        let steps = Vector3::from(self.cube(point).map(|i| i as f64 + half));
        self.low + self.step.component_mul(&steps)
    }

    fn all_cubes(&self) -> impl Iterator<Item = [usize; 3]> + '_ {
        let [x, y, z] = self.cubes;
        (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
    }

    /// The pairs of points that an edge of a tetrahedron is between, once each.
    pub fn edges(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let long = (0..self.len() as u32).flat_map(move |point| {
            let (cube, more) = (self.cube(point), usize::from(!self.is_centre(point)));
            (0..3).filter_map(move |axis| {
                let mut next = cube;
                next[axis] += 1;
                let index = if more == 0 { self.centre(next) } else { self.corner(next) };
                (next[axis] < self.cubes[axis] + more).then_some([point, index])
            })
        });
        let short = self.all_cubes().flat_map(move |cube| {
            let centre = self.centre(cube);
            (0..8).map(move |corner| [self.corner(offset(cube, corner)), centre])
        });
        long.chain(short)
    }

    /// The tetrahedra: four around each two cubes that share a face, each at an edge of the face.
    pub fn tetrahedra(&self) -> impl Iterator<Item = [u32; 4]> + '_ {
        self.all_cubes().flat_map(move |cube| {
            (0..3).filter(move |&axis| cube[axis] > 0).flat_map(move |axis| {
                let mut before = cube;
                before[axis] -= 1;
                let [u, v] = [1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3)];
                let around = [0, u, u | v, v].map(|corner| self.corner(offset(cube, corner)));
                (0..4).map(move |k| [self.centre(before), self.centre(cube), around[k], around[(k + 1) % 4]])
            })
        })
    }
}

/// The corner of a cube with the number whose bits are its steps along the axes.
fn offset([i, j, k]: [usize; 3], corner: usize) -> [usize; 3] {
    [i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2)]
}
