//! What a velocity-level step leaves behind for its derivatives.
//!
//! The velocities after the step solve φ(v; x, u, θ) = p − A v + Jᵀγ(v) = 0, so that dv = K⁻¹ ∂φ with K
//! = −∂φ/∂v, which Newton's method factorizes. A tape holds the factors of K and the derivatives of φ
//! with respect to all but v: a few matrices for each pair in contact, however many faces its surface
//! has.

use std::sync::OnceLock;

use nalgebra::{Matrix6, Vector6};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelExtend, ParallelIterator};

use super::body_sensitivity::BodySensitivity;
use super::bristle_sensitivity::BristleSensitivity;
use super::coupled_patch::CoupledPatch;
use super::inertia_sensitivity::{InertiaPart, InertiaSensitivity};
use super::inverse_inertia::{JointDirections, LinkInertia, has_link};
use super::joint_derivative::JointDerivatives;
use super::settings_of;
use super::shape_tape::ShapeTape;
use super::{VelocityLevel, Workspace};
use crate::contact::{ContactPair, world_impulse_jacobian};
use crate::linear_algebra::{Factors, Values};
use crate::multibody::tree::JointState;
use crate::multibody::{
    ContactSensitivity, JointKinematics, Motion, PlaceSensitivity, State, set_link_velocities, with_pair,
};
use crate::spatial::SpatialForce;
use crate::step::step_point::StepPoint;
use crate::step::{StepError, StepProblem};

/// About what a joint takes in the three kinematics of a tape, and how many matrices between
/// coordinates there are, for [`BalanceTape::bytes`].
const JOINT_BYTES: usize = 2500;
const MATRICES_OF_JOINTS: usize = 12;
/// How SAP's inverse inertia follows one coordinate.
const MATRIX_BYTES: usize = size_of::<Matrix6<f64>>();

/// How the impulse of one patch follows everything but the velocities after the step. Parts that
/// not every contact model has take memory only where there are any: a tape is kept for each step.
#[derive(Debug)]
pub(super) struct PatchSensitivity {
    /// With respect to poses and materials, with the velocities after the step.
    pub after: ContactSensitivity,
    /// With respect to poses and velocities before the step: for Lagged, and where static friction is another
    /// than dynamic friction.
    pub before: Option<Box<ContactSensitivity>>,
    /// With respect to the inverse inertia, and how that depends on the state and the masses: for SAP.
    pub inertia: Option<Box<InertiaSensitivity>>,
    /// With respect to the places of geometries on their bodies, where they are asked for.
    pub places: Option<Box<PlaceSensitivity>>,
    /// With respect to the deflection of bristles, and that of the deflection after the step, where there are
    /// bristles.
    pub bristles: Option<Box<BristleSensitivity>>,
}

impl PatchSensitivity {
    /// Both parts, that with the velocities after the step first.
    pub fn terms(&self) -> impl Iterator<Item = &ContactSensitivity> {
        std::iter::once(&self.after).chain(self.before.as_deref())
    }
}

/// The factors of K at the solution and the derivatives of φ with respect to all but the velocities
/// after the step.
#[derive(Debug, Default)]
pub(in crate::step) struct BalanceTape {
    pub(super) factors: Factors,
    /// For each body its index among the moving ones.
    pub(super) moving: Vec<Option<usize>>,
    pub(super) patches: Vec<PatchSensitivity>,
    pub(super) shapes: ShapeTape,
    /// Each body's part of φ without contact and applied forces.
    pub(super) bodies: Vec<BodySensitivity>,
    pub(super) joints: JointDerivatives,
    /// The joints with the velocities after the step and with those before it.
    pub(super) kinematics: [JointKinematics; 2],
    /// How far the step moved the joints' configuration.
    pub(super) joint_moves: Vec<f64>,
}

impl BalanceTape {
    /// About the memory that it holds, bytes: what grows with contacts, bodies and joints.
    pub fn bytes(&self) -> usize {
        let joints = self.joint_moves.len();
        let patches = self.patches.iter().map(|patch| {
            let before = patch.before.as_deref().map_or(0, size_of_val);
            let inertia = patch.inertia.as_deref().map_or(0, |i| size_of_val(i) + joints * MATRIX_BYTES);
            let places = patch.places.as_deref().map_or(0, size_of_val);
            let bristles = patch.bristles.as_deref().map_or(0, size_of_val);
            size_of_val(patch) + before + inertia + places + bristles
        });
        let patches: usize = patches.sum();
        let bodies = self.bodies.len() * size_of::<BodySensitivity>();
        let joints = joints * (JOINT_BYTES + MATRICES_OF_JOINTS * joints * size_of::<f64>());
        self.factors.bytes() + patches + self.shapes.bytes() + bodies + joints
    }
}

impl VelocityLevel {
    /// [`Self::find_impulses`], with the factors of K at the velocities after the step.
    pub(in crate::step) fn find_again(
        &self,
        step: &StepProblem<'_>,
        after: &State,
        workspace: &mut Workspace,
    ) -> Result<(), StepError> {
        self.find_impulses(step, after, workspace);
        let Workspace { problem, newton, .. } = workspace;
        let convex = self.model.is_convex() && problem.is_convex();
        let kind = if convex { Values::PositiveDefinite } else { Values::General };
        newton.factorize(problem, kind).map_err(|()| StepError::NotFinite { bodies: Vec::new() })
    }

    /// Makes the tape of a step that the workspace has taken and kept, or found again.
    pub(in crate::step) fn record(
        &self,
        at: &StepPoint<'_>,
        workspace: &mut Workspace,
        tape: &mut BalanceTape,
    ) {
        // The forces on links keep their directions when these move: the user's, and contact's.
        workspace.loads.reset(at.model.model());
        if !at.after.joints.v.is_empty() {
            let control = at.split_control().1;
            at.applied.add_to(at.model.model(), at.before, at.time, control, &mut workspace.loads);
        }
        self.record_under(at, workspace, tape);
    }

    /// [`Self::record`] with the user's forces in the workspace.
    fn record_under(&self, at: &StepPoint<'_>, workspace: &mut Workspace, tape: &mut BalanceTape) {
        let model = at.model.model();
        let Workspace { problem, newton, frames, moving, free_motions, after, loads, .. } = workspace;
        let BalanceTape { patches, bodies, joints, kinematics, joint_moves, shapes, .. } = tape;
        tape.factors.clone_from(newton.factor.factors());
        tape.moving.clone_from(moving);
        joint_moves.clear();
        joint_moves.extend(at.after.joints.v.iter().map(|v| v * at.dt));
        joint_moves.iter_mut().zip(&free_motions.joints.extra_moves).for_each(|(x, extra)| *x += extra);
        after.clone_from(frames);
        bodies.clear();
        let of_masses = at.model.asks_for_free_masses();
        let states = model.free_bodies().zip(&at.before.bodies).zip(&at.after.bodies);
        joints.velocity.clone_from(&at.after.joints.v);
        let [kinematics_after, kinematics_before] = kinematics;
        let JointState { q, v, .. } = &at.before.joints;
        set_link_velocities(model, kinematics_after, q, &joints.velocity, after);
        kinematics_before.update(&model.mechanism, q, v);
        for (((index, _, mass), before), state) in states {
            after[index].velocity = state.velocity;
            let (after, gravity, dt) = (&state.velocity, &model.gravity, at.dt);
            bodies.push(BodySensitivity::new(mass, before, after, gravity, dt, of_masses));
        }

        let settings = settings_of(model, self.model, at.dt);
        let directions = OnceLock::new();
        let frames_after = &after[..];
        let of_patch = |(patch, impulse): (&CoupledPatch, &(Vector6<f64>, Matrix6<f64>))| {
            let (impulse, after) = (&patch.contacts.about_f(impulse), frames_after);
            let pair = &model.pairs[patch.pair];
            let found = with_pair(model, frames, pair, |query: &ContactPair| {
                with_pair(model, after, pair, |query_after: &ContactPair| {
                    let (contacts, found) = (&patch.contacts, &problem.contacts);
                    world_impulse_jacobian(query, query_after, &settings, contacts, found, impulse)
                })
            });
            let found = found?;
            // The velocities after the step are unknowns, not inputs.
            let mut by_poses = ContactSensitivity::new(model, after, pair, &found.impulse_on_a, &found.after);
            // Those of links follow their configuration, though.
            let sides =
                [(pair.bodies.a, &mut by_poses.by_state_a), (pair.bodies.b, &mut by_poses.by_state_b)];
            for (body, by_state) in sides {
                if !matches!(model.bodies[body].motion, Motion::Link { .. }) {
                    by_state.fixed_columns_mut::<6>(6).fill(0.0);
                }
            }
            let places = at.model.asks_for_geometry_of(pair).then(|| {
                let mut places = Box::new(PlaceSensitivity::new(frames, pair));
                places.add(model, after, &found.impulse_on_a, &found.after);
                if let Some(before) = &found.before {
                    places.add(model, frames, &SpatialForce::zero(), before);
                }
                places
            });
            let before = found.before.map(|jacobian| {
                let none = SpatialForce::zero();
                Box::new(ContactSensitivity::of_motion(model, frames, pair, &none, &jacobian))
            });
            let inertia = found.by_inverse_inertia.map(|by_lambda| {
                let bodies = [pair.bodies.a, pair.bodies.b];
                let f = if patch.contacts.a_is_o { 1 } else { 0 };
                let geometry_a = &model.bodies[bodies[0]].geometries[pair.geometry_a];
                let origin = frames[bodies[0]].pose * geometry_a.x_bg.translation;
                let x_wf = patch.contacts.x_wf;
                Box::new(InertiaSensitivity {
                    by_lambda,
                    lever: origin - frames[bodies[0]].pose.translation,
                    parts: bodies.map(|b| {
                        let (mass, tree) = (model.bodies[b].mass()?, moving[b]?);
                        Some(InertiaPart::new(tree, mass, &at.before.bodies[tree], &x_wf, of_masses))
                    }),
                    links: has_link(model, pair).then(|| {
                        let (mechanism, joints) = (at.model.constant_joints(), &at.before.joints);
                        let new = || JointDirections::new(mechanism, joints, at.dt);
                        LinkInertia::new(model, pair, directions.get_or_init(new), &x_wf)
                    }),
                    geometry_f: pair.geometries()[f],
                    to_world_f: frames[bodies[f]].pose.rotation,
                    tree_f: moving[bodies[f]],
                    offset_f: x_wf.translation - frames[bodies[f]].pose.translation,
                })
            });
            let bristles = found.bristles.map(|bristles| {
                let (indexed, of_places) = ((patch.pair, pair), at.model.asks_for_geometry_of(pair));
                Box::new(BristleSensitivity::new(model, after, indexed, of_places, &bristles))
            });
            Some(PatchSensitivity { after: by_poses, before, inertia, places, bristles })
        };
        patches.clear();
        if problem.is_shared() {
            let solved = problem.patches.par_iter().zip(&newton.by_patch);
            patches.par_extend(solved.filter_map(of_patch));
        } else {
            patches.extend(problem.patches.iter().zip(&newton.by_patch).filter_map(of_patch));
        }
        joints.evaluate(at, moving, patches.iter().map(|patch| &patch.after), loads);
        shapes.record(at.model, problem, [frames, after]);
    }
}
