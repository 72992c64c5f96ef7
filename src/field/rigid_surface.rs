//! The surface of a rigid body.

use std::sync::OnceLock;

use nalgebra::Vector3;

use super::hierarchy::Hierarchy;
use crate::geometry::{ConvexShape, MeshError, Shape, SurfaceMesh};
use crate::scalar::Scalar;

/// A closed triangle surface, ready for contact queries.
#[derive(Clone, Debug)]
pub struct RigidSurface {
    mesh: SurfaceMesh,
    hierarchy: Hierarchy,
    /// The shape that the mesh stands for, if it has a name.
    shape: Option<Shape>,
    /// Its size relative to that of the shape.
    scale: f64,
    /// The hull, made when it is first asked for.
    hull: OnceLock<Result<ConvexShape, MeshError>>,
}

impl RigidSurface {
    /// A rigid surface from a valid closed mesh (see the validation in [`crate::geometry`];
    /// indices must be in range).
    pub fn new(mesh: SurfaceMesh) -> Self {
        let hierarchy = Hierarchy::build(mesh.triangles.len(), |i, points| {
            // A rigid triangle is there at every pressure.
            points.extend(mesh.triangles[i].map(|k| (mesh.vertices[k as usize], f64::NAN)));
        });
        Self { mesh, hierarchy, shape: None, scale: 1.0, hull: OnceLock::new() }
    }

    /// A rigid surface whose mesh stands for a shape. Between two rigid bodies spheres, capsules and cylinders
    /// are then what they are, and not their meshes.
    pub fn of_shape(shape: Shape, mesh: SurfaceMesh) -> Self {
        Self { shape: Some(shape), ..Self::new(mesh) }
    }

    /// The surface with other vertices.
    pub(crate) fn reshaped(&self, vertices: Vec<Vector3<f64>>) -> Self {
        let scale = self.scale * self.enlargement(&vertices);
        let mesh = SurfaceMesh { vertices, triangles: self.mesh.triangles.clone() };
        Self { shape: self.shape, scale, ..Self::new(mesh) }
    }

    /// By how much vertices enlarge the mesh about the origin of its frame: the factor that comes nearest to them.
    fn enlargement<T: Scalar>(&self, vertices: &[Vector3<T>]) -> T {
        let (mut product, mut square) = (T::from(0.0), 0.0);
        for (moved, own) in vertices.iter().zip(&self.mesh.vertices) {
            product += moved.dot(&own.map(T::from));
            square += own.norm_squared();
        }
        if square > 0.0 { product / T::from(square) } else { T::from(1.0) }
    }

    /// The size of the shape that the mesh stands for, relative to that of [`Self::convex_shape`], where the vertices
    /// are these, which carry derivatives.
    pub(crate) fn size_at<T: Scalar>(&self, vertices: Option<&[Vector3<T>]>) -> T {
        let enlargement = vertices.map_or(T::from(1.0), |vertices| self.enlargement(vertices));
        enlargement * T::from(self.scale)
    }

    /// The mesh.
    pub fn mesh(&self) -> &SurfaceMesh {
        &self.mesh
    }

    /// The bounding-volume hierarchy over the triangles.
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The convex hull of the body: that of the shape in its first size, or that of the mesh.
    ///
    /// # Errors
    /// When the vertices of the mesh span no volume.
    pub(crate) fn convex_shape(&self) -> Result<&ConvexShape, &MeshError> {
        self.hull.get_or_init(|| ConvexShape::new(self.shape.as_ref(), &self.mesh)).as_ref()
    }
}
