//! What a step's contacts do not foresee: new overlap that stores more energy than the bodies have brought.
//!
//! A step knows the contacts at its start. Where a body lands within it, or more of it does, its depth at the end is up to
//! v δt, and stiff contact stores many times the kinetic energy there. Given back by the next step, it would throw the body off.
//! Such a step is cut (see [`crate::step::error_control`]), so that the contacts are known before that.

use nalgebra::{Matrix6, Vector3, Vector6};

use super::balance::Balance;
use super::coupled_patch::CoupledPatch;
use super::free_body::six;
use super::inverse_inertia::{LinkRows, PairInertia, pair_inverse_inertia};
use super::settings_of;
use super::{StepProblem, Workspace};
use crate::contact::{
    Collider, ContactModel, ContactPair, Deflection, FaceFilter, PatchEnergy, PointContacts, Roles,
    Workspace as PairScratch, contact_energy, find_contacts,
};
use crate::field::hierarchy::Hierarchy;
use crate::multibody::{
    BodyFrame, BodyState, BroadPhase, GeometryPair, JointKinematics, Model, State, with_pair,
};
use crate::spatial::RigidTransform;

/// The energy that may be stored unforeseen, in parts of the kinetic energy of the approach,
const OF_APPROACH: f64 = 0.5;
/// and of the whole relative motion.
const OF_MOTION: f64 = 0.01;
/// and of the relative spin, which a body has that pivots on a corner at rest.
const OF_SPIN: f64 = 1e-4;
/// What a fall over one step brings counts as brought by this part: less is no landing.
const RESTING: f64 = 1e-3;
/// States that differ by this part are the same, of rounding.
const SAME_STATE: f64 = 1e-13;
/// In a step a body goes far from this part of its narrowest width on.
const FAR: f64 = 0.25;
/// Faces that come nearer by no more than this part of the depth within a step are foreseen.
const NEARER: f64 = 0.25;

/// The contacts at the end of a step: memory that is reused.
#[derive(Debug, Default)]
pub(super) struct Landing {
    frames: Vec<BodyFrame>,
    joints: JointKinematics,
    broad_phase: BroadPhase,
    scratch: PairScratch,
    contacts: PointContacts,
    link_rows: LinkRows<f64>,
}

/// A landing that a step has not foreseen.
#[derive(Clone, Copy, Debug)]
pub(in crate::step) struct Unforeseen {
    /// The pair in [`Model::pairs`].
    pub pair: usize,
    /// The energy that is stored unforeseen, in parts of what is allowed.
    pub excess: f64,
}

/// The smaller radius of the geometries of a pair about the middles of their boxes, m; that of a half-space is infinite.
fn smaller_radius(model: &Model, pair: &GeometryPair) -> f64 {
    let of = |body: usize, geometry: usize| {
        let hierarchy = model.bodies[body].geometries[geometry].collider.geometry.hierarchy();
        hierarchy.map_or(f64::INFINITY, Hierarchy::span)
    };
    of(pair.bodies.a, pair.geometry_a).min(of(pair.bodies.b, pair.geometry_b))
}

/// The middle of the smaller of two bodies, in F's frame, and its narrowest width, m; `None` between half-spaces.
fn smaller_middle(roles: &Roles<f64>) -> Option<(Vector3<f64>, f64)> {
    let of = |collider: &Collider, in_f: Option<&RigidTransform>| {
        let (middle, half) = collider.geometry.hierarchy()?.bounding_box();
        Some((in_f.map_or(middle, |pose| *pose * middle), 2.0 * half.min()))
    };
    let both = of(roles.o, Some(&roles.x_fo)).into_iter().chain(of(roles.f, None));
    both.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The kinetic energy of a relative spin about its own axis, J, with the inverse inertia that the relative motion feels.
fn spin_energy(spin: &Vector3<f64>, lambda: &Matrix6<f64>) -> f64 {
    let w = spin.dot(&(lambda.fixed_view::<3, 3>(0, 0) * spin));
    if w > 0.0 { 0.5 * spin.norm_squared().powi(2) / w } else { 0.0 }
}

/// Whether no part of a pair can come nearer within the step by more than a small part of its depth.
fn is_settled(
    contacts: &PointContacts,
    patch: &CoupledPatch,
    v: &Vector6<f64>,
    radius: f64,
    dt: f64,
) -> bool {
    let (patch, normal) = (&patch.contacts, patch.contacts.sums.normal());
    let (spin, linear) = (v.fixed_rows::<3>(0).into_owned(), v.fixed_rows::<3>(3).into_owned());
    let nearer = f64::max(-linear.dot(&normal), 0.0) + 2.0 * radius * spin.cross(&normal).norm();
    let is_little = |depth: f64| nearer * dt <= NEARER * depth;
    is_little(patch.sums.least_depth()) || is_little(patch.depth(contacts))
}

impl Workspace {
    /// Whether the step whose contacts and velocities have been found again led to this state, and not several, as where it
    /// lands.
    pub(in crate::step) fn leads_to(
        &self,
        step: &StepProblem<'_>,
        after: &State,
        balance: &mut Balance<f64>,
        moved: &mut State,
    ) -> bool {
        let StepProblem { model, state, .. } = *step;
        balance.set_motion(&self.free_motions, &self.newton.velocity, (model, model), state, step.length());
        balance.move_state(state, step.length(), moved);
        // States that carry derivatives round in another order.
        let near = |a: f64, b: f64| (a - b).abs() <= SAME_STATE * (1.0 + a.abs());
        let all_near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| near(*a, *b));
        let same = |a: &BodyState, b: &BodyState| {
            let (p, q) = (&a.orientation, &b.orientation);
            near(p.w, q.w)
                && all_near(p.v.as_slice(), q.v.as_slice())
                && all_near(a.position.as_slice(), b.position.as_slice())
        };
        moved.bodies.iter().zip(&after.bodies).all(|(a, b)| same(a, b))
            && all_near(&moved.joints.q, &after.joints.q)
    }

    /// The landing of the last step that is farthest beyond what is allowed, if there is one: `state` is that at the start of
    /// the step of `dt` s, `after` the one it led to.
    pub(in crate::step) fn unforeseen(
        &mut self,
        model: &Model,
        state: &State,
        after: &State,
        dt: f64,
    ) -> Option<Unforeseen> {
        if model.contact.face_filter == FaceFilter::Drake {
            return None;
        }
        let Self { problem, newton, moving, joints, landing, frames: frames_before, .. } = self;
        let Landing { frames, joints: joints_after, broad_phase, scratch, contacts, link_rows } = landing;
        model.update_frames(after, frames, joints_after);
        let settings = settings_of(model, ContactModel::Lagged, dt);
        let fall = model.gravity.norm() * dt;
        let mut farthest: Option<Unforeseen> = None;
        for &index in broad_phase.candidates(model, frames) {
            let pair = &model.pairs[index];
            let factors = &problem.joints.factors;
            let inertia = PairInertia { model, state, moving, joints: joints.of(&model.mechanism), factors };
            if !inertia.moves(pair) {
                continue;
            }
            let known = problem.patches.binary_search_by_key(&index, |patch| patch.pair).ok();
            let known = known.map(|k| &problem.patches[k]);
            let foreseen = match known {
                None => 0.0,
                Some(patch) => {
                    let v = problem.relative(patch, &newton.velocity, true);
                    if is_settled(&problem.contacts, patch, &v, smaller_radius(model, pair), dt) {
                        continue;
                    }
                    patch.contacts.stored_after(&problem.contacts, &v, dt)
                }
            };
            contacts.clear();
            let excess = with_pair(model, frames, pair, |query: &ContactPair| {
                let none = |_: &Roles<f64>| Matrix6::zeros();
                let scratch = scratch.of_pair(pair.number());
                let patch = find_contacts(query, &settings, &Deflection::zero(), none, scratch, contacts);
                let roles = Roles::new(query).ok()?;
                let (middle, width) = smaller_middle(&roles)?;
                let still = Vector6::zeros();
                let mut stored =
                    patch.as_ref().map_or(0.0, |patch| patch.stored_after(contacts, &still, 0.0));
                let at_middle = roles.v_fo.translational + roles.v_fo.rotational.cross(&middle);
                let speed = match known {
                    Some(CoupledPatch { contacts: patch, .. }) => {
                        // F may have turned far since.
                        let normal = patch.x_wf.rotation * patch.sums.normal();
                        f64::max(-(roles.x_wf.rotation * at_middle).dot(&normal), 0.0)
                    }
                    None => at_middle.norm(),
                };
                if speed * dt > FAR * width {
                    // The middle may have passed the surface: pressure grows on the way back.
                    let before = with_pair(model, frames_before, pair, contact_energy::<f64>);
                    stored = stored.max(contact_energy(query) - before);
                }
                if stored <= foreseen {
                    return None;
                }
                let lambda = pair_inverse_inertia(&inertia, pair, &roles, link_rows);
                let (spin, linear) = (&roles.v_fo.rotational, &roles.v_fo.translational);
                let energy = match &patch {
                    Some(patch) => {
                        let at_patch: Vector3<f64> = linear + spin.cross(&patch.origin);
                        patch.energy(contacts, &Vector6::from(six(spin, &at_patch)), &lambda)
                    }
                    None => PatchEnergy::of_point(&middle, &at_middle, &lambda),
                };
                if energy.inverse_mass <= 0.0 {
                    return None;
                }
                let of_fall = RESTING * 0.5 * fall * fall / energy.inverse_mass;
                let of_spin = OF_SPIN * spin_energy(spin, &lambda);
                let allowed = OF_APPROACH * energy.approach + OF_MOTION * energy.motion + of_spin + of_fall;
                Some((stored - foreseen) / allowed)
            });
            if let Some(excess) = excess.filter(|&x| x > farthest.map_or(1.0, |far| far.excess)) {
                farthest = Some(Unforeseen { pair: index, excess });
            }
        }
        farthest
    }
}
