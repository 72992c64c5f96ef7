//! Derivatives of one number with respect to the shapes of geometries and to their places on their bodies,
//! through contact.

use nalgebra::Vector3;

use crate::contact::{ContactGeometry, GeometryTerms};
use crate::multibody::Model;

/// The derivatives of one number with respect to the shape of a geometry and its place on its body, through
/// contact.
#[derive(Clone, Debug, PartialEq)]
pub struct GeometryGradient {
    /// The body, and the geometry in [`Body::geometries`](crate::multibody::Body::geometries).
    pub geometry: (usize, usize),
    /// With respect to the position of each vertex of its mesh, in the geometry's frame; empty for
    /// half-spaces.
    pub vertices: Vec<Vector3<f64>>,
    /// With respect to the extent at each vertex, while the vertices stay; empty for rigid geometries and
    /// half-spaces.
    pub extents: Vec<f64>,
    /// With respect to the thickness of a half-space, 1/m of the number's unit.
    pub thickness: f64,
    /// With respect to a turn of the geometry's frame about its own origin, in the body's axes.
    pub rotation: Vector3<f64>,
    /// With respect to a shift of the geometry's frame, in the body's axes.
    pub translation: Vector3<f64>,
}

impl ContactGeometry {
    /// The extents at the vertices of a compliant mesh.
    pub(crate) fn extents(&self) -> &[f64] {
        match self {
            Self::Compliant(field) => field.extent(),
            _ => &[],
        }
    }

    /// The exponent of the pressure law of a compliant mesh, if that is a power.
    pub(crate) fn exponent(&self) -> Option<f64> {
        match self {
            Self::Compliant(field) => field.exponent(),
            _ => None,
        }
    }
}

impl GeometryGradient {
    /// Zero derivatives.
    pub(super) fn zero(model: &Model, (body, geometry): (usize, usize)) -> Self {
        let shape = &model.bodies[body].geometries[geometry].collider.geometry;
        Self {
            geometry: (body, geometry),
            vertices: vec![Vector3::zeros(); shape.vertices().len()],
            extents: vec![0.0; shape.extents().len()],
            thickness: 0.0,
            rotation: Vector3::zeros(),
            translation: Vector3::zeros(),
        }
    }

    /// Becomes zero.
    pub(super) fn clear(&mut self) {
        self.vertices.fill(Vector3::zeros());
        self.extents.fill(0.0);
        self.thickness = 0.0;
        self.rotation = Vector3::zeros();
        self.translation = Vector3::zeros();
    }

    /// Adds the derivatives with respect to the shape.
    pub(super) fn add(&mut self, terms: &GeometryTerms) {
        self.thickness += terms.thickness;
        for term in &terms.vertices {
            let vertex = term.vertex as usize;
            self.vertices[vertex] += term.position;
            if let Some(sum) = self.extents.get_mut(vertex) {
                *sum += term.extent;
            }
        }
    }

    /// With respect to a factor on the size of the geometry about the origin of its frame, at 1.
    pub(super) fn by_scale(&self, model: &Model) -> f64 {
        let (body, geometry) = self.geometry;
        let collider = &model.bodies[body].geometries[geometry].collider;
        let vertices = collider.geometry.vertices().iter().zip(&self.vertices);
        vertices.map(|(v, by)| v.dot(by)).sum::<f64>() + self.thickness * collider.thickness
    }

    /// With respect to the exponent of the pressure law, where it is a power.
    pub(super) fn by_exponent(&self, model: &Model) -> f64 {
        let (body, geometry) = self.geometry;
        let shape = &model.bodies[body].geometries[geometry].collider.geometry;
        let inside = shape.extents().iter().zip(&self.extents).filter(|(extent, _)| **extent > 0.0);
        let through = inside.map(|(extent, by)| by * extent * extent.ln()).sum::<f64>();
        shape.exponent().map_or(0.0, |exponent| through / exponent)
    }
}
