//! Rigid triangles against tetrahedra: sections of the mesh by the triangles' planes.

use nalgebra::Vector3;

use crate::contact::surface::clip::{ON_FACE, on_face, snapped};
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
    pub fn new(mesh: &SurfaceMesh, i: u32, x_fo: &RigidTransform<f64>) -> Self {
        let v = seen_from_inside(mesh.triangles[i as usize]).map(|k| *x_fo * mesh.vertices[k as usize]);
        let inward = (v[1] - v[0]).cross(&(v[2] - v[0]));
        let length = inward.norm();
        if length <= 0.0 {
            let nowhere = LinearFunction { gradient: Vector3::zeros(), offset: 0.0 };
            return Self { number: i, corners: v, plane: nowhere, edges: [nowhere; 3] };
        }
        let through =
            |gradient: Vector3<f64>, x: &Vector3<f64>| LinearFunction { gradient, offset: -gradient.dot(x) };
        let normal = inward / length;
        let edges = [0, 1, 2].map(|k| {
            let along = v[(k + 1) % 3] - v[k];
            through(normal.cross(&along) / along.norm(), &v[k])
        });
        Self { number: i, corners: v, plane: through(normal, &v[0]), edges }
    }
}

/// The part of a rigid triangle in F's tetrahedron `j`; no vertices if there is none. `reach`
/// bounds the distance of both bodies' points from F's origin, metres.
///
/// It is the tetrahedron's section by the triangle's plane, clipped by the triangle's edges, and
/// not the triangle clipped by the tetrahedron's faces: a triangle at a small angle θ to a face
/// of the mesh meets it in a line whose place is known to rounding over θ. Two tetrahedra that
/// share the face would each find it elsewhere and leave a gap or an overlap. The section's
/// vertices lie on the edges of the mesh and are the same bits in all tetrahedra around them.
pub(in crate::contact) fn triangle_in_field(
    seen: &SeenTriangle,
    f: &PressureField,
    j: u32,
    reach: f64,
    polygon: &mut Polygon,
) {
    (polygon.o, polygon.f, polygon.len) = (seen.number, j, 0);
    let (mut outside, mut inside) = (false, true);
    for face in &f.tetrahedra()[j as usize].barycentric {
        let tolerance = on_face(face, reach);
        let d = seen.corners.map(|x| face.at(&x));
        outside |= d.iter().all(|d| *d < -tolerance);
        inside &= d.iter().all(|d| *d > tolerance);
    }
    if outside || seen.plane.gradient == Vector3::zeros() {
        return;
    }
    if inside {
        polygon.triangle(&seen.corners);
        return;
    }
    let v = f.mesh().tetrahedra[j as usize].map(|k| f.mesh().vertices[k as usize]);
    let value = snapped(v.map(|x| seen.plane.at(&x)), 4e-15 * reach);
    polygon.section(&v, &value, FIRST_OF_F);
    // The plane passes through a vertex of the mesh: that matters where the triangle does.
    polygon.aligned = false;
    for (k, edge) in seen.edges.iter().enumerate() {
        if polygon.len > 0 {
            polygon.clip(edge, k as u8, ON_FACE * reach, &Vector3::zeros(), Bound::None);
        }
    }
    polygon.aligned |= (0..4).any(|k| value[k] == 0.0 && polygon.position[..polygon.len].contains(&v[k]));
}
