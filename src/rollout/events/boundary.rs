//! The boundary of a geometry where its pressure field begins, and which of its features may touch.

use std::collections::BTreeMap;

use super::features::{Face, Features};
use crate::contact::{ContactGeometry, Elements};
use crate::geometry::boundary_faces;

/// Most pairs of features that are looked at.
const MOST_CANDIDATES: usize = 4_000_000;

/// The boundary of a geometry: of a compliant one that of the tetrahedra that have a pressure, as far as the
/// pressure there is its lowest.
#[derive(Debug)]
pub(super) struct Boundary {
    /// The vertices of each element of the mesh: four of a tetrahedron, three of a triangle; none of a half-space.
    elements: Vec<Vec<u32>>,
    faces: Vec<[u32; 3]>,
    /// The faces around each vertex of the boundary.
    around: BTreeMap<u32, Vec<usize>>,
    is_plane: bool,
}

impl Boundary {
    /// The boundary of a geometry.
    pub fn new(geometry: &ContactGeometry) -> Self {
        let (elements, faces): (Vec<Vec<u32>>, Vec<[u32; 3]>) = match geometry {
            ContactGeometry::Compliant(field) => {
                let (tetrahedra, extent) = (&field.mesh().tetrahedra, field.extent());
                let has_pressure = |t: &&[u32; 4]| t.iter().any(|&k| extent[k as usize] > 0.0);
                let active: Vec<[u32; 4]> = tetrahedra.iter().filter(has_pressure).copied().collect();
                let lowest = -field.skirt().extent;
                let begins_here = |face: &[u32; 3]| face.iter().all(|&k| extent[k as usize] <= lowest);
                let faces = boundary_faces(&active).into_iter().filter(begins_here).collect();
                (tetrahedra.iter().map(|t| t.to_vec()).collect(), faces)
            }
            ContactGeometry::Rigid(surface) => {
                let triangles = &surface.mesh().triangles;
                (triangles.iter().map(|t| t.to_vec()).collect(), triangles.clone())
            }
            ContactGeometry::CompliantHalfSpace | ContactGeometry::RigidHalfSpace => (Vec::new(), Vec::new()),
        };
        let mut around: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (i, face) in faces.iter().enumerate() {
            face.iter().for_each(|&k| around.entry(k).or_default().push(i));
        }
        Self { elements, faces, around, is_plane: geometry.is_half_space() }
    }

    /// The vertices of the boundary that belong to some elements, the faces around these, and their edges.
    fn near(&self, elements: impl Iterator<Item = u32>) -> Near {
        if self.is_plane {
            return Near { vertices: Vec::new(), faces: vec![Face::Plane], edges: Vec::new() };
        }
        let mut vertices: Vec<u32> = elements
            .filter_map(|element| self.elements.get(element as usize))
            .flatten()
            .copied()
            .filter(|vertex| self.around.contains_key(vertex))
            .collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut faces: Vec<usize> =
            vertices.iter().filter_map(|vertex| self.around.get(vertex)).flatten().copied().collect();
        faces.sort_unstable();
        faces.dedup();
        let triangles = || faces.iter().map(|&i| self.faces[i]);
        let mut edges: Vec<[u32; 2]> = triangles()
            .flat_map(|[a, b, c]| [[a, b], [b, c], [c, a]])
            .map(|[a, b]| [a.min(b), a.max(b)])
            .collect();
        edges.sort_unstable();
        edges.dedup();
        Near { faces: triangles().map(Face::Triangle).collect(), vertices, edges }
    }
}

/// What of a boundary is near a small overlap.
struct Near {
    vertices: Vec<u32>,
    faces: Vec<Face>,
    edges: Vec<[u32; 2]>,
}

/// The features that may touch where the contact surface of two geometries lies in these elements, first of A, then
/// of B: vertices with faces first, in increasing order; none if there are too many.
pub(super) fn candidates([a, b]: &[Boundary; 2], elements: &[Elements]) -> Vec<Features> {
    let a = a.near(elements.iter().map(|pair| pair[0]));
    let b = b.near(elements.iter().map(|pair| pair[1]));
    let count = a.vertices.len() * b.faces.len() + b.vertices.len() * a.faces.len();
    if count + a.edges.len() * b.edges.len() > MOST_CANDIDATES {
        return Vec::new();
    }
    let mut all = Vec::with_capacity(count + a.edges.len() * b.edges.len());
    for &vertex in &a.vertices {
        all.extend(b.faces.iter().map(|&face| Features::VertexOfA { vertex, face }));
    }
    for &vertex in &b.vertices {
        all.extend(a.faces.iter().map(|&face| Features::VertexOfB { vertex, face }));
    }
    for &of_a in &a.edges {
        all.extend(b.edges.iter().map(|&of_b| Features::Edges { of_a, of_b }));
    }
    all
}
