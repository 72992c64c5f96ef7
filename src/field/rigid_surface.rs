//! The surface of a rigid body.

use std::sync::OnceLock;

use nalgebra::Vector3;

use super::hierarchy::Hierarchy;
use crate::geometry::{ConvexShape, MeshError, Revolved, Shape, SurfaceMesh};
use crate::scalar::Scalar;

/// What a mesh stands for.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// Itself.
    Mesh,
    Shape(Shape),
    /// A body of revolution.
    Revolved(Revolved),
}

/// A closed triangle surface, ready for contact queries.
#[derive(Clone, Debug)]
pub struct RigidSurface {
    mesh: SurfaceMesh,
    hierarchy: Hierarchy,
    /// What the mesh stands for.
    origin: Origin,
    /// Its size relative to that of the shape.
    scale: f64,
    largest_part: f64,
    /// The hull of what it stands for and that of the mesh, made when they are first asked for.
    hull: OnceLock<Result<ConvexShape, MeshError>>,
    mesh_hull: OnceLock<Result<ConvexShape, MeshError>>,
}

impl RigidSurface {
    /// A rigid surface from a valid closed mesh (see the validation in [`crate::geometry`];
    /// indices must be in range).
    pub fn new(mesh: SurfaceMesh) -> Self {
        let hierarchy = Hierarchy::build(mesh.triangles.len(), |i, points| {
            // A rigid triangle is there at every pressure.
            points.extend(mesh.triangles[i].map(|k| (mesh.vertices[k as usize], f64::NAN)));
        });
        let largest_part = mesh.largest_part();
        let (hull, mesh_hull) = (OnceLock::new(), OnceLock::new());
        Self { mesh, hierarchy, origin: Origin::Mesh, scale: 1.0, largest_part, hull, mesh_hull }
    }

    /// A rigid surface whose mesh stands for a shape. Between two rigid bodies spheres, capsules and cylinders
    /// are then what they are, and not their meshes.
    pub fn of_shape(shape: Shape, mesh: SurfaceMesh) -> Self {
        Self { origin: Origin::Shape(shape), ..Self::new(mesh) }
    }

    /// A rigid surface whose mesh stands for a body of revolution (see [`Revolved::surface_mesh`]), which is between two
    /// rigid bodies what it is, and not its mesh: the plate around a hole has no end there.
    pub fn of_revolved(body: Revolved, mesh: SurfaceMesh) -> Self {
        Self { origin: Origin::Revolved(body), ..Self::new(mesh) }
    }

    /// The part of the surface that its largest triangle has.
    pub(crate) fn largest_part(&self) -> f64 {
        self.largest_part
    }

    /// The surface with other vertices.
    pub(crate) fn reshaped(&self, vertices: Vec<Vector3<f64>>) -> Self {
        let scale = self.scale * self.enlargement(&vertices);
        let mesh = SurfaceMesh { vertices, triangles: self.mesh.triangles.clone() };
        Self { origin: self.origin, scale, ..Self::new(mesh) }
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

    /// The convex hull of the body, or the plate with a hole that it is: that of the shape in its first size, or that of the
    /// mesh.
    ///
    /// # Errors
    /// When the vertices of the mesh span no volume.
    pub(crate) fn convex_shape(&self) -> Result<&ConvexShape, &MeshError> {
        let make = || match &self.origin {
            Origin::Mesh => ConvexShape::new(None, &self.mesh),
            Origin::Shape(shape) => ConvexShape::new(Some(shape), &self.mesh),
            Origin::Revolved(body) => Ok(ConvexShape::revolved(body)),
        };
        self.hull.get_or_init(make).as_ref()
    }

    /// The convex hull of the mesh, whatever it stands for.
    ///
    /// # Errors
    /// When the vertices span no volume.
    pub(crate) fn mesh_hull(&self) -> Result<&ConvexShape, &MeshError> {
        self.mesh_hull.get_or_init(|| ConvexShape::new(None, &self.mesh)).as_ref()
    }
}
