//! Whether bodies touch in a pose, or are nearer to each other than a margin.

use std::collections::BTreeMap;

use nalgebra::Vector3;

use crate::contact::ContactGeometry;
use crate::geometry::SurfaceDistance;
use crate::multibody::{BodyFrame, Model, PairWorkspace, State};
use crate::spatial::RigidTransform;

/// The boundary of a geometry, in the geometry's frame.
enum Surface {
    /// The plane z = 0 of a half-space below it.
    Plane,
    /// A closed surface; that of a skirt where the field has one.
    Closed { vertices: Vec<Vector3<f64>>, triangles: SurfaceDistance },
}

impl Surface {
    fn of(geometry: &ContactGeometry) -> Self {
        let Some(mesh) = geometry.surface_mesh() else { return Self::Plane };
        let triangles = SurfaceDistance::new(&mesh.vertices, &mesh.triangles);
        Self::Closed { vertices: mesh.vertices, triangles }
    }

    /// Whether a point outside is nearer than a margin in m.
    fn is_near(&self, point: &Vector3<f64>, margin: f64) -> bool {
        match self {
            Self::Plane => point.z < margin,
            Self::Closed { triangles, .. } => triangles.distance(point) < margin,
        }
    }

    /// Whether a vertex of `other`, whose frame has the pose `x` in this one's, is nearer than a margin in m.
    fn is_near_vertex_of(&self, other: &Self, x: &RigidTransform, margin: f64) -> bool {
        let is_near = |vertex: &Vector3<f64>| self.is_near(&(x.rotation * vertex + x.translation), margin);
        match other {
            Self::Plane => false,
            Self::Closed { vertices, .. } => vertices.iter().any(is_near),
        }
    }
}

/// Tells whether any two bodies of a model that can touch do so, or nearly.
///
/// They nearly touch where a vertex of one's surface is nearer to the surface of the other than the margin. Two edges
/// that cross are seen once they touch.
pub(super) struct Nearness<'m> {
    model: &'m Model,
    /// In m.
    margin: f64,
    /// The boundary of each geometry that can touch another, by its body and its index there.
    surfaces: BTreeMap<(usize, usize), Surface>,
    frames: Vec<BodyFrame>,
    workspace: PairWorkspace,
}

impl<'m> Nearness<'m> {
    /// For the pairs of a model, with a margin in m.
    pub fn new(model: &'m Model, margin: f64) -> Self {
        let mut surfaces = BTreeMap::new();
        for (body, index) in model.pairs.iter().flat_map(|pair| pair.geometries()) {
            let geometry = || Surface::of(&model.bodies[body].geometries[index].collider.geometry);
            surfaces.entry((body, index)).or_insert_with(geometry);
        }
        Self { model, margin, surfaces, frames: Vec::new(), workspace: PairWorkspace::default() }
    }

    /// Whether bodies touch or nearly touch in a state.
    pub fn is_found(&mut self, state: &State) -> bool {
        self.model.body_frames(state, &mut self.frames);
        let contact = self.model.body_pair_contact(&self.frames, &self.model.pairs, &mut self.workspace);
        contact.faces > 0 || self.model.pairs.iter().any(|pair| self.is_near(pair.geometries()))
    }

    fn is_near(&self, [a, b]: [(usize, usize); 2]) -> bool {
        let pose = |(body, index): (usize, usize)| {
            self.frames[body].of_geometry(&self.model.bodies[body].geometries[index]).pose
        };
        let x_ab = pose(a).inverse() * pose(b);
        let (surface_a, surface_b) = (&self.surfaces[&a], &self.surfaces[&b]);
        surface_a.is_near_vertex_of(surface_b, &x_ab, self.margin)
            || surface_b.is_near_vertex_of(surface_a, &x_ab.inverse(), self.margin)
    }
}
