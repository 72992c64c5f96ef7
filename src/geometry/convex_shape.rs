//! Bodies by their features: what rigid contact needs to know of a shape. They are convex, but for plates with a hole.

use std::collections::HashMap;

use nalgebra::Vector3;

use super::error::MeshError;
use super::mesh::SurfaceMesh;
use super::revolved::{Profile, Revolved};
use super::shape::Shape;

/// Triangles whose normals differ by less than this (1 − cosine) lie in one face.
const FLAT: f64 = 1e-9;

/// The convex hull of a body, in its own frame; or a plate with a hole.
#[derive(Clone, Debug)]
pub(crate) enum ConvexShape {
    /// A ball around the origin.
    Ball {
        /// Radius, m.
        radius: f64,
    },
    /// All points near a segment of the z axis.
    Capsule {
        /// Radius, m.
        radius: f64,
        /// Half the length of the segment, m.
        half_length: f64,
    },
    /// A cylinder, a cone or a bolt around the z axis.
    Revolved(Profile),
    /// A plate with a hole around the z axis.
    Hole(Profile),
    Polyhedron(ConvexHull),
}

/// A face of a convex hull.
#[derive(Clone, Debug)]
pub(crate) struct HullFace {
    /// Its corners in [`ConvexHull::vertices`], counter-clockwise seen from outside.
    pub corners: Vec<usize>,
    /// Its outward normal.
    pub normal: Vector3<f64>,
    /// Where it is along the normal, m.
    pub offset: f64,
}

/// A convex polyhedron, the hull of a mesh; triangles in one plane are one face.
#[derive(Clone, Debug)]
pub(crate) struct ConvexHull {
    /// Its corners.
    pub vertices: Vec<Vector3<f64>>,
    /// For each corner the vertex of the mesh that it is.
    pub of_mesh: Vec<usize>,
    pub faces: Vec<HullFace>,
    pub edges: Vec<[usize; 2]>,
    /// For each edge another corner of either face at it.
    pub beside_edges: Vec<[usize; 2]>,
    /// The part of it that the mesh fills.
    pub filled: f64,
}

impl ConvexHull {
    /// The hull of a mesh.
    ///
    /// # Errors
    /// When the vertices of the mesh span no volume.
    pub fn new(mesh: &SurfaceMesh) -> Result<Self, MeshError> {
        let hull = SurfaceMesh::convex_hull(&mesh.vertices)?;
        let mut of_mesh: Vec<usize> = Vec::with_capacity(hull.vertices.len());
        let mut next = 0;
        for corner in &hull.vertices {
            // Corners of the hull come in the order of the points.
            while next < mesh.vertices.len() && mesh.vertices[next] != *corner {
                next += 1;
            }
            of_mesh.push(next);
        }
        let size = hull.vertices.iter().map(Vector3::norm).fold(0.0, f64::max);
        let mut faces: Vec<HullFace> = Vec::new();
        let mut triangles: Vec<usize> = (0..hull.triangles.len()).collect();
        let area_normal = |t: usize| {
            let [a, b, c] = hull.corners(t);
            (b - a).cross(&(c - a))
        };
        // Large triangles know their normals best.
        triangles.sort_by(|a, b| area_normal(*b).norm().total_cmp(&area_normal(*a).norm()));
        for t in triangles {
            let normal = area_normal(t).normalize();
            let corners = hull.triangles[t].map(|i| i as usize);
            let in_plane = |face: &HullFace| {
                let near =
                    |&i: &usize| (face.normal.dot(&hull.vertices[i]) - face.offset).abs() < FLAT * size;
                face.normal.dot(&normal) > 0.5 && corners.iter().all(near)
            };
            match faces.iter_mut().find(|face| in_plane(face)) {
                Some(face) => face.corners.extend(corners),
                None => {
                    let offset = normal.dot(&hull.vertices[corners[0]]);
                    faces.push(HullFace { corners: corners.to_vec(), normal, offset });
                }
            }
        }
        let mut edges = Vec::new();
        let mut beside = HashMap::new();
        for face in &mut faces {
            face.corners.sort_unstable();
            face.corners.dedup();
            let middle = face.corners.iter().map(|&i| hull.vertices[i]).sum::<Vector3<f64>>()
                / face.corners.len() as f64;
            let x = (hull.vertices[face.corners[0]] - middle).normalize();
            let y = face.normal.cross(&x);
            let angle = |i: usize| {
                let from = hull.vertices[i] - middle;
                from.dot(&y).atan2(from.dot(&x))
            };
            face.corners.sort_by(|a, b| angle(*a).total_cmp(&angle(*b)));
            let count = face.corners.len();
            for k in 0..count {
                let (a, b) = (face.corners[k], face.corners[(k + 1) % count]);
                // Every edge is passed in both directions.
                let is_first = a < b;
                if is_first {
                    edges.push([a, b]);
                }
                beside.insert((a.min(b), a.max(b), is_first), face.corners[(k + 2) % count]);
            }
        }
        // Where rounding leaves a face out, the edge's own end.
        let corner = |&[a, b]: &[usize; 2], side| beside.get(&(a, b, side)).copied().unwrap_or(a);
        let beside_edges = edges.iter().map(|edge| [corner(edge, true), corner(edge, false)]).collect();
        let filled = mesh.volume().abs() / hull.volume().abs();
        Ok(Self { vertices: hull.vertices, of_mesh, faces, edges, beside_edges, filled })
    }
}

impl ConvexShape {
    /// The hull of a rigid body: exact for balls, capsules and bodies of revolution, whose meshes are not.
    ///
    /// # Errors
    /// When the vertices of the mesh span no volume.
    pub fn new(shape: Option<&Shape>, mesh: &SurfaceMesh) -> Result<Self, MeshError> {
        Ok(match shape {
            Some(&Shape::Sphere { radius }) => Self::Ball { radius },
            Some(&Shape::Capsule { radius, length }) => Self::Capsule { radius, half_length: 0.5 * length },
            Some(&Shape::Cylinder { radius, length }) => Self::Revolved(Profile::cylinder(radius, length)),
            Some(Shape::Box { .. } | Shape::Ellipsoid { .. }) | None => {
                Self::Polyhedron(ConvexHull::new(mesh)?)
            }
        })
    }

    /// That of a body of revolution.
    pub fn revolved(body: &Revolved) -> Self {
        match body {
            Revolved::Hole { .. } => Self::Hole(body.profile()),
            Revolved::Cone { .. } | Revolved::Bolt { .. } => Self::Revolved(body.profile()),
        }
    }

    /// The radius of a ball around the origin that holds the body, m; infinite for a plate.
    pub fn reach(&self) -> f64 {
        match self {
            Self::Ball { radius } => *radius,
            Self::Capsule { radius, half_length } => radius + half_length,
            Self::Revolved(profile) => profile.reach(),
            Self::Hole(_) => f64::INFINITY,
            Self::Polyhedron(hull) => hull.vertices.iter().map(Vector3::norm).fold(0.0, f64::max),
        }
    }

    /// Its name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ball { .. } => "sphere",
            Self::Capsule { .. } => "capsule",
            Self::Revolved(profile) | Self::Hole(profile) => profile.name,
            Self::Polyhedron(_) => "polyhedron",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_the_features_of_a_box() {
        let shape = Shape::Box { size: [0.3, 0.2, 0.1] };
        let mesh = shape.surface_mesh(0.05).expect("a valid shape");
        let hull = ConvexHull::new(&mesh).expect("a hull");
        assert_eq!((hull.vertices.len(), hull.faces.len(), hull.edges.len()), (8, 6, 12));
        for face in &hull.faces {
            assert_eq!(face.corners.len(), 4);
            let [a, b, c] = [0, 1, 2].map(|k| hull.vertices[face.corners[k]]);
            assert!((b - a).cross(&(c - b)).normalize().dot(&face.normal) > 1.0 - 1e-12);
            assert!(
                (face.offset - face.normal.map(f64::abs).dot(&Vector3::new(0.15, 0.1, 0.05))).abs() < 1e-15
            );
        }
        for (corner, &of_mesh) in hull.vertices.iter().zip(&hull.of_mesh) {
            assert_eq!(mesh.vertices[of_mesh], *corner);
        }
    }

    #[test]
    fn the_hull_of_a_t_has_the_edges_of_eulers_formula() {
        // A bar with a stem: the hull has five corners below and five above.
        let outline = [
            [-0.2, 0.0],
            [0.2, 0.0],
            [0.2, 0.1],
            [0.05, 0.1],
            [0.05, 0.4],
            [-0.05, 0.4],
            [-0.05, 0.1],
            [-0.2, 0.1],
        ];
        let points: Vec<_> =
            outline.iter().flat_map(|[x, y]| [0.0, 0.05].map(|z| Vector3::new(*x, *y, z))).collect();
        let mesh = SurfaceMesh { vertices: points, triangles: Vec::new() };
        let hull = ConvexHull::new(&mesh).expect("a hull");
        assert_eq!((hull.vertices.len(), hull.faces.len()), (12, 8));
        assert_eq!(hull.vertices.len() + hull.faces.len(), hull.edges.len() + 2);
    }
}
