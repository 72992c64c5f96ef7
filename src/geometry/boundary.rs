//! The boundary of a tetrahedral mesh.

use super::mesh::{SurfaceMesh, VolumeMesh, drop_unused_vertices};
use crate::scalar::Scalar;

/// The faces of a tetrahedron by its local vertices, counter-clockwise seen from outside. Face i
/// is the one opposite vertex i.
pub(crate) const TETRAHEDRON_FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// One face of a tetrahedron: its vertices in ascending order, by which neighbours are found,
/// and as its tetrahedron orients it, outward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FaceRecord {
    /// Vertices in ascending order.
    pub key: [u32; 3],
    /// The tetrahedron that the face belongs to.
    pub tetrahedron: u32,
    /// Its number there.
    pub face: u8,
    /// The face as seen from outside of its tetrahedron.
    pub outward: [u32; 3],
}

/// All faces of all tetrahedra, sorted so that equal ones are neighbours.
pub(super) fn sorted_faces(tetrahedra: &[[u32; 4]]) -> Vec<FaceRecord> {
    let mut faces = Vec::with_capacity(4 * tetrahedra.len());
    for (index, &tetrahedron) in tetrahedra.iter().enumerate() {
        for (face, corners) in TETRAHEDRON_FACES.iter().enumerate() {
            let outward = corners.map(|vertex| tetrahedron[vertex]);
            let mut key = outward;
            key.sort_unstable();
            faces.push(FaceRecord { key, tetrahedron: index as u32, face: face as u8, outward });
        }
    }
    faces.sort_unstable();
    faces
}

/// The faces that belong to one tetrahedron only, counter-clockwise seen from outside, in the
/// order of the tetrahedra.
///
/// The tetrahedra are positively oriented, as in [`VolumeMesh`].
pub(crate) fn boundary_faces(tetrahedra: &[[u32; 4]]) -> Vec<[u32; 3]> {
    let faces = sorted_faces(tetrahedra);
    let mut boundary: Vec<FaceRecord> =
        faces.chunk_by(|a, b| a.key == b.key).filter(|run| run.len() == 1).map(|run| run[0]).collect();
    boundary.sort_unstable_by_key(|face| (face.tetrahedron, face.key));
    boundary.into_iter().map(|face| face.outward).collect()
}

/// For each face of each tetrahedron 4 t + f, where t is the tetrahedron beyond it, and f the same face's number there;
/// [`NO_NEIGHBOUR`] on the boundary.
pub(crate) fn neighbours(tetrahedra: &[[u32; 4]]) -> Vec<[u32; 4]> {
    let mut neighbours = vec![[NO_NEIGHBOUR; 4]; tetrahedra.len()];
    for run in sorted_faces(tetrahedra).chunk_by(|a, b| a.key == b.key) {
        if let [a, b] = run {
            neighbours[a.tetrahedron as usize][usize::from(a.face)] = 4 * b.tetrahedron + u32::from(b.face);
            neighbours[b.tetrahedron as usize][usize::from(b.face)] = 4 * a.tetrahedron + u32::from(a.face);
        }
    }
    neighbours
}

/// No tetrahedron.
pub(crate) const NO_NEIGHBOUR: u32 = u32::MAX;

impl<T: Scalar> VolumeMesh<T> {
    /// The boundary of a volume mesh as a surface mesh: interior vertices are left out, the others
    /// keep their order.
    pub fn boundary(&self) -> SurfaceMesh<T> {
        let mut triangles = boundary_faces(&self.tetrahedra);
        let vertices = drop_unused_vertices(&self.vertices, &mut triangles);
        SurfaceMesh { vertices, triangles }
    }
}

/// Where a vertex lies with respect to the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VertexPlace {
    /// In no tetrahedron.
    Unused,
    /// In a tetrahedron, and in no boundary face.
    Interior,
    /// In a boundary face.
    Boundary,
}

/// The place of each of `vertex_count` vertices in a mesh of valid tetrahedra.
pub(crate) fn vertex_places(vertex_count: usize, tetrahedra: &[[u32; 4]]) -> Vec<VertexPlace> {
    let mut places = vec![VertexPlace::Unused; vertex_count];
    for &vertex in tetrahedra.iter().flatten() {
        places[vertex as usize] = VertexPlace::Interior;
    }
    for vertex in boundary_faces(tetrahedra).into_iter().flatten() {
        places[vertex as usize] = VertexPlace::Boundary;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::kuhn_grid::kuhn_grid;

    #[test]
    fn one_tetrahedron_is_its_four_faces() {
        let mut faces = boundary_faces(&[[7, 3, 5, 1]]);
        faces.sort_unstable();
        assert_eq!(faces, [[3, 5, 1], [7, 1, 5], [7, 3, 1], [7, 5, 3]]);
    }

    #[test]
    fn boundary_of_a_grid_is_closed_and_outward() {
        let n = 3;
        let mesh = kuhn_grid([n, n, n], 0.0, 1);
        let faces = boundary_faces(&mesh.tetrahedra);
        assert_eq!(faces.len(), 6 * n * n * 2);
        let mut volume = 0.0;
        let mut area = 0.0;
        for face in &faces {
            let [a, b, c] = face.map(|i| mesh.vertices[i as usize]);
            volume += a.dot(&b.cross(&c)) / 6.0;
            area += (b - a).cross(&(c - a)).norm() / 2.0;
        }
        // Divergence theorem: the outward faces enclose +1; a face turned over would change it.
        assert!((volume - 1.0).abs() < 1e-13, "{volume}");
        assert!((area - 6.0).abs() < 1e-13, "{area}");
        let mut edges: Vec<(u32, u32)> =
            faces.iter().flat_map(|f| [(f[0], f[1]), (f[1], f[2]), (f[2], f[0])]).collect();
        let mut reversed: Vec<(u32, u32)> = edges.iter().map(|&(a, b)| (b, a)).collect();
        edges.sort_unstable();
        reversed.sort_unstable();
        assert_eq!(edges, reversed);
    }

    #[test]
    fn vertices_know_their_place() {
        let mesh = kuhn_grid([2, 2, 2], 0.0, 1);
        let places = vertex_places(mesh.vertices.len() + 1, &mesh.tetrahedra);
        let count = |place| places.iter().filter(|&&p| p == place).count();
        assert_eq!(count(VertexPlace::Interior), 1);
        assert_eq!(count(VertexPlace::Boundary), 26);
        assert_eq!(count(VertexPlace::Unused), 1);
    }
}
