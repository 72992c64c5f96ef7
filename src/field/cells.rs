//! Cells: the tetrahedra of a mesh over which a field is one linear function.

use std::array::from_fn;

use nalgebra::Vector3;
use wide::f64x4;

use super::tetrahedron::TetrahedronField;
use crate::geometry::NO_NEIGHBOUR;
use crate::spatial::RigidTransform;

/// Gradients that differ by less than this part are equal,
const EQUAL: f64 = 1e-10;
/// and cosines by less than this.
const SAME_COSINE: f64 = 1e-15;

/// Directions around an axis of length 1, up to an angle with this cosine; none where it is more than 1.
#[derive(Clone, Copy, Debug)]
struct Cone {
    axis: Vector3<f64>,
    cosine: f64,
}

/// A linear function for each face of a tetrahedron: the parts of their gradients along x, y and z and their offsets, each
/// for all four.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfFaces([f64x4; 4]);

/// A tetrahedron.
#[derive(Clone, Debug)]
struct Part {
    /// The barycentric coordinates.
    coordinates: OfFaces,
    /// Its faces on the boundary that have the lowest extent, a bit each.
    lowest: u8,
    /// Directions in which lines leave its cell where the extent is lowest.
    falls: Cone,
}

/// The tetrahedra of a mesh, with their cells.
#[derive(Clone, Debug)]
pub(crate) struct Cells(Vec<Part>);

/// Where a line leaves a tetrahedron.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WayOut {
    pub face: u8,
    /// How far away that is, in lengths of the direction.
    pub depth: f64,
    /// Whether the face is on the boundary and has the lowest extent throughout.
    pub is_lowest: bool,
}

/// The cone of directions that lead out of none of the faces with these inward normals.
fn cone_between(inward: &[Vector3<f64>], downward: &Vector3<f64>) -> Option<Cone> {
    let middle = inward.iter().sum::<Vector3<f64>>().try_normalize(EQUAL);
    let cones = middle.into_iter().chain([*downward]).map(|axis| {
        // Lines along the axis lean by this sine into each face.
        let sine = inward.iter().map(|normal| normal.dot(&axis)).fold(1.0, f64::min);
        (sine, Cone { axis, cosine: (1.0 - sine * sine).sqrt() - SAME_COSINE })
    });
    let widest = cones.max_by(|a, b| a.0.total_cmp(&b.0));
    widest.filter(|(sine, _)| *sine >= 0.0).map(|(_, cone)| cone)
}

/// The cell of each tetrahedron: those that neighbours with the same gradient lead to.
fn joined(fields: &[TetrahedronField], neighbours: &[[u32; 4]]) -> Vec<u32> {
    let mut of = vec![u32::MAX; fields.len()];
    let mut open = Vec::new();
    let mut count = 0;
    for start in 0..fields.len() {
        if of[start] != u32::MAX {
            continue;
        }
        open.push(start);
        of[start] = count;
        while let Some(tetrahedron) = open.pop() {
            let own = &fields[tetrahedron].extent.gradient;
            for &beyond in neighbours[tetrahedron].iter().filter(|&&beyond| beyond != NO_NEIGHBOUR) {
                let other = (beyond / 4) as usize;
                let gradient = &fields[other].extent.gradient;
                if of[other] == u32::MAX && (gradient - own).norm() <= EQUAL * own.norm() {
                    of[other] = count;
                    open.push(other);
                }
            }
        }
        count += 1;
    }
    of
}

impl OfFaces {
    /// Their rates along a direction.
    #[inline(always)]
    fn rates(&self, along: &Vector3<f64>) -> f64x4 {
        let [x, y, z, _] = self.0;
        x * f64x4::splat(along.x) + y * f64x4::splat(along.y) + z * f64x4::splat(along.z)
    }

    /// Their values at a position.
    #[inline(always)]
    fn values(&self, at: &Vector3<f64>) -> f64x4 {
        self.rates(at) + self.0[3]
    }

    /// Whether none is negative at a position.
    #[inline(always)]
    pub fn are_nonnegative(&self, at: &Vector3<f64>) -> bool {
        self.values(at).simd_ge(f64x4::ZERO).all()
    }

    /// Become functions of positions in a frame in which theirs has this pose.
    #[inline(always)]
    pub fn move_to(&mut self, pose: &RigidTransform<f64>) {
        let rows = [0, 1, 2].map(|axis| self.rates(&pose.rotation.row(axis).transpose()));
        let mut moved = Self([rows[0], rows[1], rows[2], self.0[3]]);
        moved.0[3] -= moved.rates(&pose.translation);
        *self = moved;
    }
}

impl Cells {
    /// The cells of a field: of each tetrahedron the neighbours, and its faces on the boundary that have the lowest extent.
    pub(super) fn new(fields: &[TetrahedronField], neighbours: &[[u32; 4]], lowest: &[u8]) -> Self {
        let joined = joined(fields, neighbours);
        let count = joined.iter().max().map_or(0, |&last| last as usize + 1);
        let mut members = vec![Vec::new(); count];
        for (tetrahedron, &cell) in joined.iter().enumerate() {
            members[cell as usize].push(tetrahedron);
        }
        let falls = Cone { axis: Vector3::zeros(), cosine: 2.0 };
        let part = |(field, &lowest): (&TetrahedronField, &u8)| {
            let of = &field.barycentric;
            let along = |axis: usize| f64x4::new(from_fn(|face| of[face].gradient[axis]));
            let offsets = f64x4::new(from_fn(|face| of[face].offset));
            let coordinates = [along(0), along(1), along(2), offsets];
            Part { coordinates: OfFaces(coordinates), lowest, falls }
        };
        let mut parts: Vec<_> = fields.iter().zip(lowest).map(part).collect();
        for members in &members {
            let downward = -fields[members[0]].extent.gradient.normalize();
            let cone_of = |members: &[usize], is_within: &dyn Fn(usize, usize) -> bool| {
                let sides = members.iter().flat_map(|&t| (0..4).map(move |face| (t, face)));
                let bounding = sides.filter(|&(t, face)| match neighbours[t][face] {
                    NO_NEIGHBOUR => lowest[t] >> face & 1 == 0,
                    beyond => !is_within(t, (beyond / 4) as usize),
                });
                let inward: Vec<_> =
                    bounding.map(|(t, face)| fields[t].barycentric[face].gradient.normalize()).collect();
                cone_between(&inward, &downward)
            };
            let of_cell = cone_of(members, &|a, b| joined[a] == joined[b]);
            let alone = |&t: &usize| of_cell.or_else(|| cone_of(&[t], &|_, _| false));
            let cones: Vec<_> = members.iter().map(alone).collect();
            for (&t, cone) in members.iter().zip(cones) {
                parts[t].falls = cone.unwrap_or(falls);
            }
        }
        Self(parts)
    }

    /// Where a line from a point of a tetrahedron leaves it along a direction, but for the face through which it came.
    #[inline(always)]
    pub fn way_out(
        &self,
        tetrahedron: u32,
        came: Option<u8>,
        x: &Vector3<f64>,
        direction: &Vector3<f64>,
    ) -> WayOut {
        let Part { coordinates, lowest, .. } = &self.0[tetrahedron as usize];
        let (heights, rates) = (coordinates.values(x).to_array(), coordinates.rates(direction).to_array());
        let depth: [f64; 4] = from_fn(|k| {
            if rates[k] < 0.0 && came != Some(k as u8) { heights[k] / -rates[k] } else { f64::INFINITY }
        });
        let nearer = |a: usize, b: usize| if depth[b] < depth[a] { b } else { a };
        let face = nearer(nearer(0, 1), nearer(2, 3));
        WayOut { face: face as u8, depth: depth[face], is_lowest: lowest >> face & 1 == 1 }
    }

    /// Functions none of which is negative at points of a tetrahedron from which a line along a direction leaves it through its
    /// face on the boundary where the extent is lowest; `None` where none does.
    #[inline(always)]
    pub fn lowest_way_out(&self, tetrahedron: u32, direction: &Vector3<f64>) -> Option<OfFaces> {
        let Part { coordinates, lowest, .. } = &self.0[tetrahedron as usize];
        let face = lowest.trailing_zeros() as usize;
        let rates = coordinates.rates(direction);
        // Of two coordinates that fall, the first to vanish is the one that is less in multiples of its rate.
        let by = -*rates.as_array().get(face)?;
        let compared = |of: f64x4| of * f64x4::splat(by) + f64x4::splat(of.as_array()[face]) * rates;
        let [x, y, z, offsets] = coordinates.0;
        (by > 0.0).then(|| OfFaces([compared(x), compared(y), compared(z), compared(offsets)]))
    }

    /// Whether the field is linear from every point of a tetrahedron along a direction of length 1 to where the line leaves the
    /// mesh, and has its lowest value there. Where it is not said to be, it may be all the same.
    #[inline(always)]
    pub fn falls_linearly(&self, tetrahedron: u32, direction: &Vector3<f64>) -> bool {
        let Cone { axis, cosine } = &self.0[tetrahedron as usize].falls;
        axis.dot(direction) >= *cosine
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.0.capacity() * size_of::<Part>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{PressureField, primitive_field};
    use crate::geometry::Shape;

    /// The pressure of a box grows along its normals; where a line leaves it through another side, it has fallen there too.
    #[test]
    fn a_box_falls_linearly_along_the_normals_of_its_sides() {
        let field = PressureField::of_shape(&Shape::Box { size: [0.4, 0.3, 0.2] }, 1.0).unwrap();
        let cells = field.cells();
        let mut linear = 0;
        for (i, tetrahedron) in field.tetrahedra().iter().enumerate() {
            let out = -tetrahedron.extent.gradient.normalize();
            let across = out.cross(&Vector3::new(0.3, 0.5, 0.7)).normalize();
            let tilted = |angle: f64| out * angle.cos() + across * angle.sin();
            linear += usize::from(cells.falls_linearly(i as u32, &out));
            assert!(!cells.falls_linearly(i as u32, &-out) && !cells.falls_linearly(i as u32, &across));
            // Cells of a box widen by 45° on the way out.
            assert!(cells.falls_linearly(i as u32, &tilted(0.7)), "{i}");
            assert!(!cells.falls_linearly(i as u32, &tilted(1.0)), "{i}");
        }
        assert_eq!(linear, field.tetrahedra().len());
    }

    /// A line that leaves through a face which is not lowest has another mean gradient than the field's.
    #[test]
    fn a_side_with_another_extent_is_no_end() {
        let (mesh, mut extent) = primitive_field(&Shape::Box { size: [0.2; 3] }, 1.0).unwrap();
        let top = |k: &usize| mesh.vertices[*k].z > 0.099;
        let raised: Vec<usize> = (0..mesh.vertices.len()).filter(top).collect();
        raised.iter().for_each(|&k| extent[k] = 0.5);
        let field = PressureField::new(mesh, extent).unwrap();
        for i in 0..field.tetrahedra().len() as u32 {
            assert!(!field.cells().falls_linearly(i, &Vector3::z()), "{i}");
        }
    }
}
