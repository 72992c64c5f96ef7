//! The boundary of a tetrahedral mesh.

/// The faces of a tetrahedron by its local vertices, counter-clockwise seen from outside. Face i
/// is the one opposite vertex i.
pub(crate) const TETRAHEDRON_FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// The faces that belong to exactly one tetrahedron, counter-clockwise seen from outside, in the
/// order of the tetrahedra.
///
/// The tetrahedra are positively oriented, as in [`VolumeMesh`](crate::geometry::VolumeMesh).
pub fn boundary_faces(tetrahedra: &[[u32; 4]]) -> Vec<[u32; 3]> {
    let face = |index: usize| TETRAHEDRON_FACES[index % 4].map(|vertex| tetrahedra[index / 4][vertex]);
    let mut keyed: Vec<([u32; 3], usize)> = (0..4 * tetrahedra.len())
        .map(|index| {
            let mut key = face(index);
            key.sort_unstable();
            (key, index)
        })
        .collect();
    keyed.sort_unstable();
    let mut single: Vec<usize> =
        keyed.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0].1).collect();
    single.sort_unstable();
    single.into_iter().map(face).collect()
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
pub fn vertex_places(vertex_count: usize, tetrahedra: &[[u32; 4]]) -> Vec<VertexPlace> {
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
