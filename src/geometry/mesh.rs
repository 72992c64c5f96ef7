//! Triangle surface meshes and tetrahedral volume meshes.

use nalgebra::Vector3;

use crate::scalar::{Scalar, lift_vector, real_vector};

/// A closed triangle surface. Triangles are oriented counter-clockwise seen from outside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfaceMesh<T = f64> {
    /// Vertex positions in the geometry's frame, metres.
    pub vertices: Vec<Vector3<T>>,
    /// Vertex indices of each triangle; (v1 − v0) × (v2 − v0) points outward.
    pub triangles: Vec<[u32; 3]>,
}

/// A tetrahedral mesh. Tetrahedra are oriented so that (v1 − v0) × (v2 − v0) · (v3 − v0) > 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeMesh<T = f64> {
    /// Vertex positions in the geometry's frame, metres.
    pub vertices: Vec<Vector3<T>>,
    /// Vertex indices of each tetrahedron.
    pub tetrahedra: Vec<[u32; 4]>,
}

impl<T: Scalar> SurfaceMesh<T> {
    /// The corners of a triangle.
    pub fn corners(&self, triangle: usize) -> [Vector3<T>; 3] {
        self.triangles[triangle].map(|v| self.vertices[v as usize])
    }

    /// The mesh with its coordinates multiplied by `factor`, about the origin of its frame; the
    /// derivatives of the factor carry over to the vertices. The factor must be positive: a negative
    /// one would turn the mesh inside out.
    #[must_use]
    pub fn scaled(&self, factor: T) -> Self {
        Self {
            vertices: self.vertices.iter().map(|v| v * factor).collect(),
            triangles: self.triangles.clone(),
        }
    }
}

impl SurfaceMesh {
    /// The part of the surface that its largest triangle has; 1 without any.
    pub(crate) fn largest_part(&self) -> f64 {
        let areas = (0..self.triangles.len()).map(|i| {
            let [a, b, c] = self.corners(i);
            (b - a).cross(&(c - a)).norm()
        });
        let (largest, sum) =
            areas.fold((0.0_f64, 0.0), |(largest, sum), area| (largest.max(area), sum + area));
        if sum > 0.0 { largest / sum } else { 1.0 }
    }

    /// Multiplies the coordinates by factors, which may be negative: a mirrored mesh faces outward too.
    pub(crate) fn stretch(&mut self, factors: &Vector3<f64>) {
        self.vertices.iter_mut().for_each(|v| v.component_mul_assign(factors));
        if factors.product() < 0.0 {
            self.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
    }
}

impl<T: Scalar> VolumeMesh<T> {
    /// A constant mesh as scalars `T`.
    pub fn lift(mesh: &VolumeMesh<f64>) -> Self {
        Self {
            vertices: mesh.vertices.iter().map(lift_vector).collect(),
            tetrahedra: mesh.tetrahedra.clone(),
        }
    }

    /// The mesh without the derivatives of its vertices.
    pub(crate) fn real(&self) -> VolumeMesh {
        let vertices = self.vertices.iter().map(real_vector).collect();
        VolumeMesh { vertices, tetrahedra: self.tetrahedra.clone() }
    }

    /// The corners of a tetrahedron.
    pub fn corners(&self, tetrahedron: usize) -> [Vector3<T>; 4] {
        self.tetrahedra[tetrahedron].map(|v| self.vertices[v as usize])
    }

    /// The mesh with its coordinates multiplied by `factor`, about the origin of its frame; the
    /// derivatives of the factor carry over to the vertices. The factor must be positive: a negative
    /// one would turn the mesh inside out.
    #[must_use]
    pub fn scaled(&self, factor: T) -> Self {
        Self {
            vertices: self.vertices.iter().map(|v| v * factor).collect(),
            tetrahedra: self.tetrahedra.clone(),
        }
    }
}

/// The signed volume of a tetrahedron in m³: positive when (v1 − v0) × (v2 − v0) · (v3 − v0) is.
pub(crate) fn tetrahedron_volume<T: Scalar>(corners: &[Vector3<T>; 4]) -> T {
    let [a, b, c, d] = corners;
    (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
}

/// The vertices that elements use, in their order; the elements are renumbered to match. All
/// indices must be in range.
pub(super) fn drop_unused_vertices<T: Scalar, const N: usize>(
    vertices: &[Vector3<T>],
    elements: &mut [[u32; N]],
) -> Vec<Vector3<T>> {
    let mut new_index = vec![u32::MAX; vertices.len()];
    for &vertex in elements.iter().flatten() {
        new_index[vertex as usize] = 0;
    }
    let mut kept = Vec::new();
    for (vertex, position) in vertices.iter().enumerate() {
        if new_index[vertex] == 0 {
            new_index[vertex] = kept.len() as u32;
            kept.push(*position);
        }
    }
    for vertex in elements.iter_mut().flatten() {
        *vertex = new_index[*vertex as usize];
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use num_dual::Dual64;

    fn two_tetrahedra() -> VolumeMesh {
        let vertices = vec![
            Vector3::new(0.0, 0.0, 0.0),
            Vector3::new(1.0, 0.0, 0.0),
            Vector3::new(0.0, 1.0, 0.0),
            Vector3::new(0.0, 0.0, 1.0),
            Vector3::new(1.0, 1.0, 1.0),
        ];
        VolumeMesh { vertices, tetrahedra: vec![[0, 1, 2, 3], [1, 2, 3, 4]] }
    }

    #[test]
    fn scaling_carries_the_derivative_of_the_factor() {
        let mesh = VolumeMesh::<Dual64>::lift(&two_tetrahedra());
        let scaled = mesh.scaled(Dual64::new(2.0, 1.0));
        let volume = tetrahedron_volume(&scaled.corners(0));
        assert_relative_eq!(volume.re, 8.0 / 6.0, epsilon = 1e-15);
        assert_relative_eq!(volume.eps, 12.0 / 6.0, epsilon = 1e-15);
    }
}
