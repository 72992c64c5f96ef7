//! Triangle surface meshes and tetrahedral volume meshes.

use nalgebra::Vector3;

/// A closed triangle surface. Triangles are oriented counter-clockwise seen from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct SurfaceMesh<T = f64> {
    /// Vertex positions in the geometry's frame, metres.
    pub vertices: Vec<Vector3<T>>,
    /// Vertex indices of each triangle; (v1 − v0) × (v2 − v0) points outward.
    pub triangles: Vec<[u32; 3]>,
}

/// A tetrahedral mesh. Tetrahedra are oriented so that (v1 − v0) × (v2 − v0) · (v3 − v0) > 0.
#[derive(Clone, Debug, PartialEq)]
pub struct VolumeMesh<T = f64> {
    /// Vertex positions in the geometry's frame, metres.
    pub vertices: Vec<Vector3<T>>,
    /// Vertex indices of each tetrahedron.
    pub tetrahedra: Vec<[u32; 4]>,
}
