//! How SAP's regularization follows the bodies: through the inverse inertia Λ that their relative
//! motion feels.
//!
//! In F's axes a free body's part of Λ is Q J Qᵀ + 1/m on the translations, with Q = (1; −\[d\]×),
//! the inverse inertia J about the centre of mass, and d from there to F's origin. The links' part
//! is [`LinkInertia`].

use nalgebra::{Matrix3, Matrix6, Vector3};

use super::inverse_inertia::LinkInertia;
use crate::contact::ByInverseInertia;
use crate::multibody::tree::{JointState, Workspace as JointWorkspace};
use crate::multibody::{BodyState, MassProperties, Model, ModelGradient, TANGENT_DIMENSION, add_link_mass};
use crate::spatial::{RigidTransform, SpatialForce};

/// The part of Λ that one body has.
#[derive(Clone, Debug)]
pub(super) struct InertiaPart {
    tree: usize,
    mass: f64,
    /// Inertia about the centre of mass in the body's axes, inverted, and J: that in F's.
    inverse_inertia: Matrix3<f64>,
    inverse_in_f: Matrix3<f64>,
    /// From the body's axes to F's.
    rotation: Matrix3<f64>,
    /// From the body's origin to its centre of mass, in W.
    center: Vector3<f64>,
    /// From the centre of mass to F's origin, in F.
    to_origin: Vector3<f64>,
}

impl InertiaPart {
    pub fn new(tree: usize, mass: &MassProperties, state: &BodyState, x_wf: &RigidTransform) -> Self {
        let to_world = state.orientation.to_matrix();
        let center = to_world * mass.center_of_mass;
        let inverse_inertia = mass.inertia.try_inverse().unwrap_or_else(Matrix3::zeros);
        let rotation = x_wf.rotation.tr_mul(&to_world);
        Self {
            tree,
            mass: mass.mass,
            inverse_inertia,
            inverse_in_f: rotation * inverse_inertia * rotation.transpose(),
            rotation,
            center,
            to_origin: x_wf.rotation.tr_mul(&(x_wf.translation - state.position - center)),
        }
    }
}

/// The derivatives of a number with respect to what a part of Λ depends on; vectors in F.
struct PartCotangent {
    /// With respect to J.
    inverse_inertia: Matrix3<f64>,
    /// With respect to 1/m.
    inverse_mass: f64,
    /// With respect to d.
    to_origin: Vector3<f64>,
    /// With respect to a turn of the body's axes in F at constant d.
    turn: Vector3<f64>,
}

/// The vector a with `[u]× : A B = u · a` for all u, from the rows of A and a symmetric matrix B.
fn axial_of_product(a: &[Vector3<f64>; 3], b: &Matrix3<f64>) -> Vector3<f64> {
    let element = |i: usize, k: usize| a[i].x * b[(k, 0)] + a[i].y * b[(k, 1)] + a[i].z * b[(k, 2)];
    Vector3::new(element(2, 1) - element(1, 2), element(0, 2) - element(2, 0), element(1, 0) - element(0, 1))
}

impl InertiaPart {
    /// From the derivatives with respect to Λ, a symmetric matrix.
    fn vjp(&self, by: &Matrix6<f64>) -> PartCotangent {
        let row =
            |i: usize, first: usize| Vector3::new(by[(i, first)], by[(i, first + 1)], by[(i, first + 2)]);
        let d = &self.to_origin;
        // The halves of the derivatives with respect to Λ times Q = (1; −[d]×), row by row, ...
        let upper = [0, 1, 2].map(|i| row(i, 0) - row(i, 3).cross(d));
        let lower = [3, 4, 5].map(|i| row(i, 0) - row(i, 3).cross(d));
        // ... and with dΛ = Q dJ Qᵀ those by J, Qᵀ of these.
        let by_j = [
            upper[0] + (lower[2] * d.y - lower[1] * d.z),
            upper[1] + (lower[0] * d.z - lower[2] * d.x),
            upper[2] + (lower[1] * d.x - lower[0] * d.y),
        ];
        PartCotangent {
            inverse_inertia: Matrix3::from_fn(|i, k| by_j[i][k]),
            inverse_mass: by[(3, 3)] + by[(4, 4)] + by[(5, 5)],
            // dQ = (0; −[dd]×), and dJ = φ×J − J φ× for a turn φ.
            to_origin: axial_of_product(&lower, &self.inverse_in_f) * -2.0,
            turn: axial_of_product(&by_j, &self.inverse_in_f) * 2.0,
        }
    }

    /// Adds the derivatives with respect to the mass properties.
    fn add_mass(&self, by: &PartCotangent, mass: &mut MassProperties) {
        mass.mass -= by.inverse_mass / (self.mass * self.mass);
        let body = self.rotation.transpose() * by.inverse_inertia * self.rotation;
        let inertia = self.inverse_inertia * body * self.inverse_inertia;
        mass.inertia -= (inertia + inertia.transpose()) * 0.5;
        // d = Rᵀ(x_F − x − R_b c)
        mass.center_of_mass -= self.rotation.tr_mul(&by.to_origin);
    }
}

/// How the impulse of a patch follows Λ, and that the two bodies.
#[derive(Clone, Debug)]
pub(super) struct InertiaSensitivity {
    /// Of the impulse on A's geometry about its origin: for each row the derivatives with respect to Λ.
    pub by_lambda: [ByInverseInertia; 6],
    /// From the origins of the bodies A and B to that of A's geometry, in W.
    pub levers: [Vector3<f64>; 2],
    /// The two bodies' trees.
    pub trees: [Option<usize>; 2],
    /// The parts of Λ of free bodies.
    pub parts: [Option<InertiaPart>; 2],
    /// The part of links.
    pub links: Option<LinkInertia>,
    /// Pose of F in W.
    pub x_wf: RigidTransform,
    /// F's geometry, and from the axes of its body to those of W.
    pub geometry_f: (usize, usize),
    pub to_world_f: Matrix3<f64>,
    /// The tree of F's body.
    pub tree_f: Option<usize>,
    /// From the origin of F's body to F's, in W.
    pub offset_f: Vector3<f64>,
}

impl InertiaSensitivity {
    /// Adds the derivatives through Λ, given those with respect to the impulses on the moving bodies: to
    /// `by_motion` (twelve numbers for each moving body), to `by_q`, and to those with respect to the
    /// model.
    pub fn add_vjp(
        &self,
        model: &Model,
        joints: &JointState,
        by_force: &[SpatialForce],
        scratch: &mut JointWorkspace,
        (by_motion, by_q): (&mut [f64], &mut [f64]),
        by_model: &mut ModelGradient,
    ) {
        // The impulse (m; f) on A's geometry about its origin is (m + r_A×f; f) on A, and the
        // opposite of (m + r_B×f; f) on B.
        let (mut by_moment, mut by_impulse) = (Vector3::zeros(), Vector3::zeros());
        for ((tree, lever), sign) in self.trees.iter().zip(&self.levers).zip([1.0, -1.0]) {
            let Some(tree) = tree else { continue };
            let by = &by_force[*tree];
            by_moment += by.rotational * sign;
            by_impulse += (by.translational + by.rotational.cross(lever)) * sign;
        }
        let (m, f) = (by_moment, by_impulse);
        let mut by_lambda = ByInverseInertia::ZERO;
        for (row, by) in self.by_lambda.iter().zip([m.x, m.y, m.z, f.x, f.y, f.z]) {
            by_lambda.add(row, by);
        }
        let by_lambda = by_lambda.matrix();
        let r = &self.x_wf.rotation;
        for part in self.parts.iter().flatten() {
            let by = part.vjp(&by_lambda);
            if by_model.of_free_bodies {
                part.add_mass(&by, &mut by_model.masses[part.tree]);
            }
            let by_place = r * by.to_origin;
            let own = &mut by_motion[part.tree * TANGENT_DIMENSION..];
            let by_turn = r * by.turn - part.center.cross(&by_place);
            for i in 0..3 {
                own[i] += by_turn[i];
                own[3 + i] -= by_place[i];
            }
            let by_turn = -(r * (by.turn + part.to_origin.cross(&by.to_origin)));
            self.add_frame(&SpatialForce::new(by_turn, by_place), by_motion, by_model);
        }
        if let Some(links) = &self.links {
            let by_frame = links.add_vjp(&by_lambda, by_q);
            if by_model.of_springs {
                links.add_passive(&model.mechanism, &by_lambda, &mut by_model.joints);
                links.add_gains(&model.mechanism, &by_lambda, &mut by_model.trees);
            }
            self.add_frame(&by_frame, by_motion, by_model);
            if by_model.of_links {
                links.for_each_mass(&model.mechanism, joints, &by_lambda, scratch, |link, by| {
                    add_link_mass(model, by_model, link, by);
                });
            }
        }
    }

    /// Adds derivatives with respect to the turn of F about its origin and its place to those with
    /// respect to the motion of F's body, and to those with respect to its place on the body.
    fn add_frame(&self, by: &SpatialForce, by_motion: &mut [f64], by_model: &mut ModelGradient) {
        by_model.add_place(self.geometry_f, &self.to_world_f, &by.rotational, &by.translational);
        let Some(f) = self.tree_f else { return };
        let of_f = &mut by_motion[f * TANGENT_DIMENSION..];
        let by_turn = by.rotational + self.offset_f.cross(&by.translational);
        for i in 0..3 {
            of_f[i] += by_turn[i];
            of_f[3 + i] += by.translational[i];
        }
    }
}
