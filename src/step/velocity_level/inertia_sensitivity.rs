//! How SAP's regularization follows the bodies: through the inverse inertia Λ that their relative
//! motion feels.
//!
//! A free body's part of Λ is differentiated in dual numbers, along its pose and its mass properties. It is in F's axes
//! and about F's origin, so that F's motion is the opposite one of the body. The links' part is [`LinkInertia`].

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use super::inverse_inertia::{LinkInertia, free_inverse_inertia};
use crate::contact::ByInverseInertia;
use crate::multibody::tree::{JointState, Workspace as JointWorkspace};
use crate::multibody::{BodyState, MassProperties, Model, ModelGradient, TANGENT_DIMENSION, add_link_mass};
use crate::scalar::DualArray;
use crate::spatial::{MASS_NUMBERS, RigidTransform, SpatialForce};

/// Directions of a body's pose.
const POSE: usize = 6;

/// How the part of Λ that one body has follows the body.
#[derive(Clone, Debug)]
pub(super) struct InertiaPart {
    tree: usize,
    /// With respect to a turn of the body about its origin and a move of it, both in W.
    by_pose: [Matrix6<f64>; POSE],
    /// With respect to the numbers of the mass properties, if they are asked for.
    by_mass: Option<Box<[Matrix6<f64>; MASS_NUMBERS]>>,
    /// From the body's origin to F's, in W.
    to_frame: Vector3<f64>,
}

/// The derivatives of a free body's part of Λ.
fn slopes<const N: usize>(
    mass: &MassProperties<DualArray<N>>,
    state: &BodyState<DualArray<N>>,
    x_wf: &RigidTransform,
) -> [Matrix6<f64>; N] {
    let lambda = free_inverse_inertia(mass, state, &RigidTransform::lift(x_wf));
    std::array::from_fn(|k| lambda.map(|x| x.eps[k]))
}

impl InertiaPart {
    /// That of the body of this tree; by the mass properties only if asked.
    pub fn new(
        tree: usize,
        mass: &MassProperties,
        state: &BodyState,
        x_wf: &RigidTransform,
        of_mass: bool,
    ) -> Self {
        let mut tangent = [DualArray::<POSE>::constant(0.0); TANGENT_DIMENSION];
        (0..POSE).for_each(|k| tangent[k].eps[k] = 1.0);
        let moved = BodyState::lift(state).moved(&tangent);
        Self {
            tree,
            by_pose: slopes(&MassProperties::lift(mass), &moved, x_wf),
            by_mass: of_mass.then(|| Box::new(slopes(&mass.seeded(0), &BodyState::lift(state), x_wf))),
            to_frame: x_wf.translation - state.position,
        }
    }
}

/// How the impulse of a patch follows Λ, and that the two bodies.
#[derive(Clone, Debug)]
pub(super) struct InertiaSensitivity {
    /// Of the impulse on A's geometry about its origin: for each row the derivatives with respect to Λ.
    pub by_lambda: [ByInverseInertia; 6],
    /// From the origin of body A to that of A's geometry, in W.
    pub lever: Vector3<f64>,
    /// The parts of Λ of free bodies.
    pub parts: [Option<InertiaPart>; 2],
    /// The part of links.
    pub links: Option<LinkInertia>,
    /// F's geometry, and from the axes of its body to those of W.
    pub geometry_f: (usize, usize),
    pub to_world_f: Matrix3<f64>,
    /// The tree of F's body.
    pub tree_f: Option<usize>,
    /// From the origin of F's body to F's, in W.
    pub offset_f: Vector3<f64>,
}

impl InertiaSensitivity {
    /// Adds the derivatives through Λ, given those with respect to the impulse on body A about its origin: to
    /// `by_motion` (twelve numbers for each moving body), to `by_q`, and to those with respect to the
    /// model.
    pub fn add_vjp(
        &self,
        model: &Model,
        joints: &JointState,
        by_wrench: &Vector6<f64>,
        scratch: &mut JointWorkspace,
        (by_motion, by_q): (&mut [f64], &mut [f64]),
        by_model: &mut ModelGradient,
    ) {
        // The impulse (m; f) on A's geometry about its origin is (m + r × f; f) on A.
        let m = by_wrench.fixed_rows::<3>(0).into_owned();
        let f = by_wrench.fixed_rows::<3>(3) + m.cross(&self.lever);
        let mut by_lambda = ByInverseInertia::ZERO;
        for (row, by) in self.by_lambda.iter().zip(m.iter().chain(f.iter())) {
            by_lambda.add(row, *by);
        }
        let by_lambda = by_lambda.matrix();
        for part in self.parts.iter().flatten() {
            let by = part.by_pose.map(|by| by.dot(&by_lambda));
            let own = &mut by_motion[part.tree * TANGENT_DIMENSION..];
            own.iter_mut().zip(by).for_each(|(sum, by)| *sum += by);
            if let Some(by_mass) = &part.by_mass {
                by_model.masses[part.tree].add_numbers(&by_mass.map(|by| by.dot(&by_lambda)));
            }
            let (by_turn, by_place) = (Vector3::new(by[0], by[1], by[2]), Vector3::new(by[3], by[4], by[5]));
            let of_frame = SpatialForce::new(part.to_frame.cross(&by_place) - by_turn, -by_place);
            self.add_frame(&of_frame, by_motion, by_model);
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
