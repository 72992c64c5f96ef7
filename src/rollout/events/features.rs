//! Features of two boundary surfaces that touch, and the gap between them.
//!
//! Two surfaces of triangles that were apart meet in a vertex of one and a face of the other, or in an edge of
//! each. The gap is the distance of these along the normal that they touch with: the face's, or that of both
//! edges. It is positive while they are apart, and zero where they touch; with them as features it is a smooth
//! function of both poses and of the vertices, also beyond the touch.

use nalgebra::Vector3;

use crate::contact::ContactGeometry;
use crate::multibody::{BodyFrame, GeometryPair, Model};
use crate::scalar::{Scalar, lift_vector};
use crate::spatial::RigidTransform;

/// How far outside of a face or an edge, as a part of its size, a touch still lies on it.
const ON_FEATURE: f64 = 1e-6;

/// The sine of the angle between two edges below which they are parallel.
const PARALLEL: f64 = 1e-6;

/// A face of a geometry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Face {
    /// A triangle of its boundary: its vertices, counter-clockwise seen from outside.
    Triangle([u32; 3]),
    /// The plane of a half-space, raised by the thickness of its skirt if it has one.
    Plane,
}

/// The parts of two boundary surfaces that touch at an event, by the indices of the vertices of their meshes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Features {
    /// A vertex of geometry A on a face of geometry B.
    VertexOfA {
        /// The vertex of A.
        vertex: u32,
        /// The face of B.
        face: Face,
    },
    /// A vertex of geometry B on a face of geometry A.
    VertexOfB {
        /// The vertex of B.
        vertex: u32,
        /// The face of A.
        face: Face,
    },
    /// An edge of each geometry. The cross product of that of A with that of B, each from its first to its second
    /// vertex, points out of A.
    Edges {
        /// The edge of A.
        of_a: [u32; 2],
        /// The edge of B.
        of_b: [u32; 2],
    },
}

/// Two geometries at their places in W.
pub(super) struct Placed<'a, T> {
    sides: [Side<'a, T>; 2],
}

struct Side<'a, T> {
    geometry: &'a ContactGeometry,
    /// The vertices where they carry derivatives.
    vertices: Option<&'a [Vector3<T>]>,
    skirt: f64,
    pose: RigidTransform<T>,
}

impl<T: Scalar> Side<'_, T> {
    /// A vertex in W.
    fn vertex(&self, index: u32) -> Vector3<T> {
        let index = index as usize;
        let own = match self.vertices {
            Some(vertices) => vertices[index],
            None => lift_vector(&self.geometry.vertices()[index]),
        };
        self.pose * own
    }

    /// A point of a face, and its normal outward, of any length.
    fn plane(&self, face: Face) -> (Vector3<T>, Vector3<T>) {
        match face {
            Face::Triangle(corners) => {
                let [a, b, c] = corners.map(|k| self.vertex(k));
                (a, (b - a).cross(&(c - a)))
            }
            Face::Plane => {
                let normal = self.pose.rotation.column(2).into_owned();
                (self.pose.translation + normal * T::from(self.skirt), normal)
            }
        }
    }
}

/// How the features of two geometries lie, without derivatives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// The gap, m.
    pub gap: f64,
    /// Whether the place where they are nearest lies on both.
    pub is_on_both: bool,
    /// That place in W.
    pub point: Vector3<f64>,
    /// The unit normal out of the one with the face, or out of A.
    pub normal: Vector3<f64>,
}

impl<'a, T: Scalar> Placed<'a, T> {
    /// The geometries of a pair with the bodies at `frames`.
    pub fn new(model: &'a Model<T>, frames: &[BodyFrame<T>], pair: &GeometryPair) -> Self {
        let sides = pair.geometries().map(|(body, geometry)| {
            let own = &model.bodies()[body].geometries[geometry];
            let collider = &own.collider;
            Side {
                geometry: &collider.geometry,
                vertices: collider.vertices.as_deref(),
                skirt: collider.skirt,
                pose: frames[body].of_geometry(own).pose,
            }
        });
        Self { sides }
    }

    /// The gap between features, m, or none where they have no normal: a face without area, or edges that are
    /// parallel.
    pub fn gap(&self, features: &Features) -> Option<T> {
        let [a, b] = &self.sides;
        let (between, normal) = match *features {
            Features::VertexOfA { vertex, face } => {
                let (point, normal) = b.plane(face);
                (a.vertex(vertex) - point, normal)
            }
            Features::VertexOfB { vertex, face } => {
                let (point, normal) = a.plane(face);
                (b.vertex(vertex) - point, normal)
            }
            Features::Edges { of_a, of_b } => {
                let ([p, p_end], [q, q_end]) = (of_a.map(|k| a.vertex(k)), of_b.map(|k| b.vertex(k)));
                (q - p, (p_end - p).cross(&(q_end - q)))
            }
        };
        let square = normal.dot(&normal);
        (square.real() > 0.0).then(|| between.dot(&normal) / square.sqrt())
    }
}

impl Placed<'_, f64> {
    /// The largest coordinate in W of the vertices of features, m: what rounding is relative to.
    pub fn reach(&self, features: &Features) -> f64 {
        let [a, b] = &self.sides;
        let face = |side: &Side<f64>, face| match face {
            Face::Triangle(corners) => corners.map(|k| side.vertex(k).amax()).into_iter().fold(0.0, f64::max),
            Face::Plane => side.pose.translation.amax(),
        };
        let edge = |side: &Side<f64>, edge: [u32; 2]| {
            edge.map(|k| side.vertex(k).amax()).into_iter().fold(0.0, f64::max)
        };
        match *features {
            Features::VertexOfA { vertex, face: of_b } => a.vertex(vertex).amax().max(face(b, of_b)),
            Features::VertexOfB { vertex, face: of_a } => b.vertex(vertex).amax().max(face(a, of_a)),
            Features::Edges { of_a, of_b } => edge(a, of_a).max(edge(b, of_b)),
        }
    }

    /// How features lie; none where they have no normal.
    pub fn situation(&self, features: &Features) -> Option<Situation> {
        let [a, b] = &self.sides;
        match *features {
            Features::VertexOfA { vertex, face } => vertex_and_face(a.vertex(vertex), b, face),
            Features::VertexOfB { vertex, face } => vertex_and_face(b.vertex(vertex), a, face),
            Features::Edges { of_a, of_b } => edges(of_a.map(|k| a.vertex(k)), of_b.map(|k| b.vertex(k))),
        }
    }
}

/// How a vertex and a face lie.
fn vertex_and_face(x: Vector3<f64>, side: &Side<f64>, face: Face) -> Option<Situation> {
    let (point, normal) = side.plane(face);
    let square = normal.norm_squared();
    if square <= 0.0 {
        return None;
    }
    let is_on_both = match face {
        Face::Plane => true,
        Face::Triangle(corners) => {
            let v = corners.map(|k| side.vertex(k));
            (0..3).all(|k| {
                let (from, to) = (v[(k + 1) % 3], v[(k + 2) % 3]);
                (to - from).cross(&(x - from)).dot(&normal) >= -ON_FEATURE * square
            })
        }
    };
    let normal = normal / square.sqrt();
    Some(Situation { gap: (x - point).dot(&normal), is_on_both, point: x, normal })
}

/// How two edges lie, each given by its ends.
fn edges([p, p_end]: [Vector3<f64>; 2], [q, q_end]: [Vector3<f64>; 2]) -> Option<Situation> {
    let (along_p, along_q, between) = (p_end - p, q_end - q, q - p);
    let normal = along_p.cross(&along_q);
    let square = normal.norm_squared();
    if square <= PARALLEL * PARALLEL * along_p.norm_squared() * along_q.norm_squared() {
        return None;
    }
    // Where the nearest points lie, as parts of each edge.
    let s = between.cross(&along_q).dot(&normal) / square;
    let t = between.cross(&along_p).dot(&normal) / square;
    let inside = -ON_FEATURE..=1.0 + ON_FEATURE;
    let normal = normal / square.sqrt();
    Some(Situation {
        gap: between.dot(&normal),
        is_on_both: inside.contains(&s) && inside.contains(&t),
        point: p + along_p * s,
        normal,
    })
}
