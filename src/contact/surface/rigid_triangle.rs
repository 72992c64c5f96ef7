//! Rigid triangles against tetrahedra: sections of the mesh by the triangles' planes.

use nalgebra::Vector3;

use crate::contact::lanes::Lanes;
use crate::contact::surface::clip::{Faces, ON_FACE, snapped};
use crate::contact::surface::polygon::{Bound, FIRST_OF_F, Polygon};
use crate::field::{LinearFunction, PressureField};
use crate::geometry::SurfaceMesh;
use crate::spatial::RigidTransform;

/// The vertices of a rigid triangle in the order that is counter-clockwise about the contact
/// normal, which points into the rigid body.
#[inline]
pub(in crate::contact) fn seen_from_inside([a, b, c]: [u32; 3]) -> [u32; 3] {
    [a, c, b]
}

/// A rigid triangle of O as F sees it.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct SeenTriangle {
    pub number: u32,
    /// Its vertices, counter-clockwise about the contact normal.
    pub corners: [Vector3<f64>; 3],
    /// Height above its plane, towards O, metres; 0 everywhere for a triangle without area.
    pub plane: LinearFunction,
    /// Distance in its plane from the line of each edge, positive inside, metres.
    pub edges: [LinearFunction; 3],
}

impl SeenTriangle {
    /// Triangle `i` of a mesh.
    #[inline(always)]
    pub fn new(mesh: &SurfaceMesh, i: u32, x_fo: &RigidTransform<f64>) -> Self {
        let nowhere = LinearFunction { gradient: Vector3::zeros(), offset: 0.0 };
        let mut v = [Vector3::zeros(); 3];
        for (k, vertex) in seen_from_inside(mesh.triangles[i as usize]).into_iter().enumerate() {
            v[k] = *x_fo * mesh.vertices[vertex as usize];
        }
        let mut seen = Self { number: i, corners: v, plane: nowhere, edges: [nowhere; 3] };
        let inward = (v[1] - v[0]).cross(&(v[2] - v[0]));
        let length = inward.norm();
        if length <= 0.0 {
            return seen;
        }
        let normal = inward / length;
        seen.plane = LinearFunction { gradient: normal, offset: -normal.dot(&v[0]) };
        for k in 0..3 {
            let along = v[(k + 1) % 3] - v[k];
            let gradient = normal.cross(&along) / along.norm();
            seen.edges[k] = LinearFunction { gradient, offset: -gradient.dot(&v[k]) };
        }
        seen
    }
}

/// The section of F's tetrahedron `j` by the plane where `plane` vanishes, with values within the tolerance of zero set to zero:
/// the tetrahedron's vertices, and the values there.
#[inline(always)]
pub(super) fn section_of_field(
    f: &PressureField,
    j: u32,
    plane: &LinearFunction,
    tolerance: f64,
    polygon: &mut Polygon,
) -> ([Vector3<f64>; 4], [f64; 4]) {
    let (mut v, mut value) = ([Vector3::zeros(); 4], [0.0; 4]);
    for (i, k) in f.mesh().tetrahedra[j as usize].into_iter().enumerate() {
        v[i] = f.mesh().vertices[k as usize];
        value[i] = plane.at(&v[i]);
    }
    let value = snapped(value, tolerance);
    polygon.section(&v, &value, FIRST_OF_F);
    (v, value)
}

/// The part of a rigid triangle in F's tetrahedron `j`; no vertices if there is none. `reach`
/// bounds the distance of both bodies' points from F's origin, metres.
///
/// It is the tetrahedron's section by the triangle's plane, clipped by the triangle's edges, and
/// not the triangle clipped by the tetrahedron's faces: a triangle at a small angle θ to a face
/// of the mesh meets it in a line whose place is known to rounding over θ. Two tetrahedra that
/// share the face would each find it elsewhere and leave a gap or an overlap. The section's
/// vertices lie on the edges of the mesh and are the same bits in all tetrahedra around them.
#[inline(always)]
pub(in crate::contact) fn triangle_in_field<L: Lanes>(
    one: L,
    seen: &SeenTriangle,
    f: &PressureField,
    j: u32,
    reach: f64,
    polygon: &mut Polygon,
) {
    (polygon.o, polygon.f, polygon.len) = (seen.number, j, 0);
    let faces = Faces::new(one, &f.tetrahedra()[j as usize].barycentric, reach);
    let (outside, inside) = faces.locate(&seen.corners);
    if outside || seen.plane.gradient == Vector3::zeros() {
        return;
    }
    if inside {
        polygon.triangle(&seen.corners);
        return;
    }
    let (v, value) = section_of_field(f, j, &seen.plane, 4e-15 * reach, polygon);
    // The plane passes through a vertex of the mesh: that matters where the triangle does.
    polygon.aligned = false;
    for (k, edge) in seen.edges.iter().enumerate() {
        if polygon.len > 0 {
            polygon.clip(edge, k as u8, ON_FACE * reach, &Vector3::zeros(), Bound::None);
        }
    }
    polygon.aligned |= (0..4).any(|k| value[k] == 0.0 && polygon.position[..polygon.len].contains(&v[k]));
}
