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
    /// The largest coordinate in W of the vertices of features and of the origins of the geometries, m: what rounding
    /// is relative to.
    pub fn reach(&self, features: &Features) -> f64 {
        let vertices = |side: usize| -> &[u32] {
            match (features, side) {
                (Features::VertexOfA { vertex, .. }, 0) | (Features::VertexOfB { vertex, .. }, 1) => {
                    std::slice::from_ref(vertex)
                }
                (Features::VertexOfA { face, .. } | Features::VertexOfB { face, .. }, _) => match face {
                    Face::Triangle(corners) => corners,
                    Face::Plane => &[],
                },
                (Features::Edges { of_a, .. }, 0) => of_a,
                (Features::Edges { of_b, .. }, _) => of_b,
            }
        };
        let of_side = |(index, side): (usize, &Side<f64>)| {
            let own = vertices(index).iter().map(|&k| side.vertex(k).amax());
            own.fold(side.pose.translation.amax(), f64::max)
        };
        self.sides.iter().enumerate().map(of_side).fold(0.0, f64::max)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use num_dual::Dual64;
    use proptest::prelude::*;

    use crate::field::PressureField;
    use crate::geometry::Shape;
    use crate::spatial::rotation_from_rpy;

    /// Two boxes, the second turned and shifted by some numbers and a half-space with a skirt.
    fn gap<T: Scalar>(
        box_of_a: &ContactGeometry,
        b: &ContactGeometry,
        skirt: f64,
        features: &Features,
        by: [T; 6],
    ) -> T {
        let lifted = |x: [f64; 3]| Vector3::from(x).map(T::from);
        let rotation = rotation_from_rpy(0.3, -0.2, 0.5).map(T::from);
        let base = RigidTransform::new(rotation, lifted([0.02, -0.01, 0.13]));
        let moved = base.moved(&Vector3::new(by[0], by[1], by[2]), &Vector3::new(by[3], by[4], by[5]));
        let a = Side { geometry: box_of_a, vertices: None, skirt: 0.0, pose: moved };
        let pose = RigidTransform::new(rotation_from_rpy(0.1, 0.0, 0.2).map(T::from), lifted([0.0; 3]));
        let b = Side { geometry: b, vertices: None, skirt, pose };
        Placed { sides: [a, b] }.gap(features).unwrap_or(T::from(f64::NAN))
    }

    fn a_box() -> Arc<ContactGeometry> {
        let field = PressureField::of_shape(&Shape::Box { size: [0.1, 0.08, 0.06] }, 0.1).expect("a box");
        Arc::new(ContactGeometry::Compliant(field))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn gaps_follow_poses_as_differences_say(
            at in prop::array::uniform6(-0.1..0.1_f64),
            kind in 0..4_usize,
            corners in Just([0_u32, 1, 2, 3, 4, 5, 6, 7]).prop_shuffle(),
        ) {
            let of_a = a_box();
            let [i, j, k, l] = [corners[0], corners[1], corners[2], corners[3]];
            let (b, skirt, features) = match kind {
                0 => (a_box(), 0.0, Features::VertexOfA { vertex: i, face: Face::Triangle([j, k, l]) }),
                1 => (a_box(), 0.0, Features::VertexOfB { vertex: i, face: Face::Triangle([j, k, l]) }),
                2 => (a_box(), 0.0, Features::Edges { of_a: [i, j], of_b: [k, l] }),
                _ => {
                    let plane = Features::VertexOfA { vertex: i, face: Face::Plane };
                    (Arc::new(ContactGeometry::RigidHalfSpace), 0.01, plane)
                }
            };
            for direction in 0..6 {
                let seeded = std::array::from_fn(|m| {
                    if m == direction { Dual64::from(at[m]).derivative() } else { Dual64::from(at[m]) }
                });
                let claimed = gap(&of_a, &b, skirt, &features, seeded).eps;
                let along = |h: f64| {
                    let mut moved = at;
                    moved[direction] += h;
                    gap(&of_a, &b, skirt, &features, moved)
                };
                let h = 1e-4;
                let difference = (8.0 * (along(0.5 * h) - along(-0.5 * h)) - (along(h) - along(-h))) / (6.0 * h);
                // Edges that are nearly parallel have a normal that turns fast.
                let curved = (along(h) + along(-h) - 2.0 * along(0.0)).abs() / h;
                prop_assert!((claimed - difference).abs() < 1e-9 + 1e-4 * curved, "{claimed} {difference} {curved:e}");
            }
        }
    }

    #[test]
    fn features_without_a_normal_have_no_gap() {
        let (of_a, of_b) = (a_box(), a_box());
        let side =
            |geometry| Side { geometry, vertices: None, skirt: 0.0, pose: RigidTransform::<f64>::identity() };
        let placed = Placed { sides: [side(&*of_a), side(&*of_b)] };
        for features in [
            Features::VertexOfA { vertex: 0, face: Face::Triangle([1, 1, 2]) },
            Features::Edges { of_a: [0, 1], of_b: [0, 1] },
        ] {
            assert!(placed.gap(&features).is_none() && placed.situation(&features).is_none());
        }
    }
}
