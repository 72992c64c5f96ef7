//! Cells: the tetrahedra of a mesh over which a field is one linear function.

use nalgebra::Vector3;

use super::pressure_field::TetrahedronField;
use crate::geometry::NO_NEIGHBOUR;

/// Gradients that differ by less than this part are equal, and so are unit normals.
const EQUAL: f64 = 1e-10;
/// A cell with more normals than this is taken as its tetrahedra.
const MOST_NORMALS: usize = 16;

/// The cells of a mesh, with the outward normals of their faces, but for those of faces on the boundary that have the lowest
/// extent.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    /// Where the normals of the cell of each tetrahedron begin and end.
    of: Vec<[u32; 2]>,
    /// For each tetrahedron its faces on the boundary that have the lowest extent, a bit each.
    lowest: Vec<u8>,
    normals: Vec<Vector3<f64>>,
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

/// What cells are made from: the fields of tetrahedra, their neighbours, and whether a face on the boundary has the lowest
/// extent at its three vertices.
pub(super) struct Mesh<'a, L: Fn(usize, usize) -> bool> {
    pub fields: &'a [TetrahedronField],
    pub neighbours: &'a [[u32; 4]],
    pub is_lowest: L,
}

impl Cells {
    pub(super) fn new<L: Fn(usize, usize) -> bool>(mesh: &Mesh<L>) -> Self {
        let joined = joined(mesh.fields, mesh.neighbours);
        let count = joined.iter().max().map_or(0, |&last| last as usize + 1);
        let mut members = vec![Vec::new(); count];
        for (tetrahedron, &cell) in joined.iter().enumerate() {
            members[cell as usize].push(tetrahedron);
        }
        let is_lowest = |tetrahedron: usize, face: usize| {
            mesh.neighbours[tetrahedron][face] == NO_NEIGHBOUR && (mesh.is_lowest)(tetrahedron, face)
        };
        let bits = |tetrahedron| (0..4).map(|face| u8::from(is_lowest(tetrahedron, face)) << face).sum();
        let lowest = (0..joined.len()).map(bits).collect();
        let mut cells = Self { of: vec![[0; 2]; joined.len()], lowest, normals: Vec::new() };
        for members in &members {
            let within = |a: usize, b: usize| joined[a] == joined[b];
            if !cells.add(mesh, members, within) {
                for tetrahedron in members {
                    cells.add(mesh, &[*tetrahedron], |_, _| false);
                }
            }
        }
        cells
    }

    /// Adds a cell of these tetrahedra, if it has few enough normals.
    fn add<L: Fn(usize, usize) -> bool>(
        &mut self,
        mesh: &Mesh<L>,
        members: &[usize],
        within: impl Fn(usize, usize) -> bool,
    ) -> bool {
        let first = self.normals.len();
        for (&tetrahedron, number) in members.iter().flat_map(|t| (0..4).map(move |number| (t, number))) {
            let counts = match mesh.neighbours[tetrahedron][number] {
                NO_NEIGHBOUR => !self.is_lowest(tetrahedron as u32, number as u8),
                beyond => !within(tetrahedron, (beyond / 4) as usize),
            };
            let normal = -mesh.fields[tetrahedron].barycentric[number].gradient.normalize();
            let differs = |known: &Vector3<f64>| (known - normal).norm() > EQUAL;
            if counts && self.normals[first..].iter().all(differs) {
                if self.normals.len() - first == MOST_NORMALS {
                    self.normals.truncate(first);
                    return false;
                }
                self.normals.push(normal);
            }
        }
        for &tetrahedron in members {
            self.of[tetrahedron] = [first as u32, self.normals.len() as u32];
        }
        true
    }

    /// Whether the field is linear from every point of a tetrahedron along a direction of length 1 to where the line leaves the
    /// mesh, and has its lowest value there.
    #[inline(always)]
    pub fn falls_linearly(&self, tetrahedron: u32, direction: &Vector3<f64>) -> bool {
        let [first, end] = self.of[tetrahedron as usize];
        self.normals[first as usize..end as usize].iter().all(|normal| normal.dot(direction) <= EQUAL)
    }

    /// Whether a face of a tetrahedron is on the boundary and has the lowest extent throughout.
    #[inline(always)]
    pub fn is_lowest(&self, tetrahedron: u32, face: u8) -> bool {
        self.lowest[tetrahedron as usize] >> face & 1 == 1
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.of.capacity() * size_of::<[u32; 2]>()
            + self.lowest.capacity()
            + self.normals.capacity() * size_of::<Vector3<f64>>()
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
        let (mesh, extent) = primitive_field(&Shape::Box { size: [0.4, 0.3, 0.2] }, 1.0).unwrap();
        let field = PressureField::new(mesh, extent).unwrap();
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
