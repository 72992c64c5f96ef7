//! What is drawn of links. Nothing that is wrong here keeps a robot from moving: it is told where the link is
//! to be drawn.

use nalgebra::Vector3;

use super::collision::{LinkGeometry, LinkShape, LinkShapes, MeshSearch};
use crate::geometry::{LENGTH_RANGE, ReadMeshError, Shape, SurfaceMesh};
use crate::spatial::RigidTransform;

/// The formats of meshes that can be drawn.
pub(crate) const DRAWN_FORMATS: &str = ".obj, .ply, .stl, .vtk, .vtu and .msh";

/// Length of the edges around round primitives, in parts of their radius.
const RESOLUTION: f64 = 0.25;

/// Something that is drawn of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Visual {
    /// Name of the body.
    pub body: String,
    /// Its shape, or what is wrong with the element.
    pub shape: Result<VisualShape, String>,
}

/// A shape that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct VisualShape {
    /// Pose of the geometry's frame G in the body's frame.
    pub x_bg: RigidTransform,
    /// The geometry.
    pub geometry: LinkGeometry,
}

impl Visual {
    /// What messages call it: the mesh as the file names it.
    pub(crate) fn label(&self) -> String {
        match &self.shape {
            Ok(VisualShape { geometry: LinkGeometry::Mesh(mesh), .. }) => format!("`{}`", mesh.uri),
            Ok(VisualShape { geometry: LinkGeometry::Primitive(shape), .. }) => {
                format!("the {}", shape.name())
            }
            Ok(VisualShape { geometry: LinkGeometry::HalfSpace, .. }) => "the plane".to_owned(),
            Err(_) => "the visual element".to_owned(),
        }
    }

    /// The surface in the body's frame, for which the file of a mesh is read; or, in a few words, why it cannot
    /// be drawn.
    pub(crate) fn surface(&self) -> Result<SurfaceMesh, String> {
        let VisualShape { x_bg, geometry } = self.shape.as_ref().map_err(Clone::clone)?;
        let mut surface = match geometry {
            LinkGeometry::Primitive(shape) => {
                shape.surface_mesh(resolution(shape)).map_err(|error| error.to_string())?
            }
            LinkGeometry::HalfSpace => return Err("it has no bounds".to_owned()),
            LinkGeometry::Mesh(mesh) => {
                let file = mesh.file.as_deref().ok_or("not found")?;
                let mut surface = SurfaceMesh::read_triangles(file).map_err(|error| match error {
                    ReadMeshError::Extension { found, .. } => format!("{found} is not read"),
                    error => error.to_string(),
                })?;
                surface.stretch(&mesh.scale);
                surface
            }
        };
        surface.vertices.iter_mut().for_each(|vertex| *vertex = *x_bg * *vertex);
        let is_near = |vertex: &Vector3<f64>| vertex.iter().all(|x| x.abs() <= LENGTH_RANGE[1]);
        if !surface.vertices.iter().all(is_near) {
            return Err(format!("it reaches farther than {:e} m", LENGTH_RANGE[1]));
        }
        Ok(surface)
    }
}

/// The length of edges at which a primitive looks round.
fn resolution(shape: &Shape) -> f64 {
    let radius = match *shape {
        Shape::Sphere { radius } | Shape::Cylinder { radius, .. } | Shape::Capsule { radius, .. } => radius,
        Shape::Box { size } => size.into_iter().fold(f64::INFINITY, f64::min),
        Shape::Ellipsoid { semi_axes } => semi_axes.into_iter().fold(f64::INFINITY, f64::min),
    };
    RESOLUTION * radius
}

/// What is drawn of a robot's links, in the order of the file.
pub(super) fn visuals(links: &[LinkShapes], search: &MeshSearch) -> Vec<Visual> {
    let shape = |drawn: &LinkShape| {
        let x_bg = drawn.x_bg;
        if !x_bg.rotation.iter().chain(&x_bg.translation).all(|x| x.is_finite()) {
            return Err("its origin must be finite".to_owned());
        }
        Ok(VisualShape { x_bg, geometry: search.geometry(&drawn.geometry)? })
    };
    let of_link = |link: &LinkShapes| {
        let visual = |drawn: &Result<LinkShape, String>| Visual {
            body: link.link.clone(),
            shape: drawn.as_ref().map_err(Clone::clone).and_then(shape),
        };
        link.visuals.iter().map(visual).collect::<Vec<_>>()
    };
    links.iter().flat_map(of_link).collect()
}
