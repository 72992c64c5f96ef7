//! Contact between the bodies of a model: from contact patches to forces on bodies.

use nalgebra::{Matrix6, Vector3, Vector6};

use super::contact_sensitivity::{ContactSensitivity, shift_back};
use super::found_surfaces::FoundSurfaces;
use crate::contact::{
    ContactPair, ContactPatch, DifferentiatedIntegrals, KnownAnswer, LocalJacobian, RigidStart, Workspace,
    contact_energy, contact_jacobian, contact_lifted_under, contact_lifted_with, rigid_wrench,
};
use crate::multibody::models::pair::collider;
use crate::multibody::{BodyFrame, GeometryPair, Model};
use crate::parallel::threads;
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// With fewer pairs than this, distributing them over threads costs more than it saves.
const PAIRS_WORTH_THREADS: usize = 32;

/// What is known of a pair of geometries with first derivatives.
#[derive(Debug, Default)]
pub(super) struct KnownContact {
    wrench: KnownAnswer<LocalJacobian>,
    pub reading: KnownAnswer<DifferentiatedIntegrals>,
}

/// Scratch memory of the contact queries, one for each thread, reused from call to call.
#[derive(Debug, Default)]
pub struct PairWorkspace {
    threads: Vec<Workspace>,
    /// Where the surfaces lie that each thread has found.
    found: Vec<FoundSurfaces>,
    /// What is known of the contacts that were read last with first derivatives, in the order of the pairs.
    known: Vec<(GeometryPair, KnownContact)>,
}

impl PairWorkspace {
    /// The scratch of `count` threads.
    pub(super) fn of_threads(&mut self, count: usize) -> &mut [Workspace] {
        if self.threads.len() < count {
            self.threads.resize_with(count, Workspace::default);
        }
        &mut self.threads[..count]
    }

    /// The scratch of one thread, and what is known of a pair, for scalars that come to the same query again.
    pub(super) fn of_pair<T: Scalar>(
        &mut self,
        pair: &GeometryPair,
    ) -> (&mut Workspace, Option<&mut KnownContact>) {
        self.of_threads(1);
        let Self { threads, known, .. } = self;
        let known = (T::NDERIV == 1).then(|| {
            let place = known.binary_search_by_key(pair, |(of, _)| *of).unwrap_or_else(|place| {
                known.insert(place, (*pair, KnownContact::default()));
                place
            });
            &mut known[place].1
        });
        (threads[0].of_pair(pair.number()), known)
    }

    /// The scratch of `count` threads, and where they write down what they find.
    pub(in crate::multibody) fn of_recording_threads(
        &mut self,
        count: usize,
    ) -> (&mut [Workspace], &mut [FoundSurfaces]) {
        self.of_threads(count);
        self.found.resize_with(self.threads.len(), FoundSurfaces::default);
        self.found.iter_mut().for_each(FoundSurfaces::clear);
        (&mut self.threads[..count], &mut self.found[..count])
    }
}

/// Calls `query` with two geometries and their frames in W.
pub fn with_pair<T: Scalar, R>(
    model: &Model<T>,
    frames: &[BodyFrame<T>],
    pair: &GeometryPair,
    query: impl FnOnce(&ContactPair<T>) -> R,
) -> R {
    let (a, b) = (pair.bodies.a, pair.bodies.b);
    let ga = &model.bodies[a].geometries[pair.geometry_a];
    let gb = &model.bodies[b].geometries[pair.geometry_b];
    let (collider_a, collider_b) = (collider(ga, gb), collider(gb, ga));
    let (frame_a, frame_b) = (frames[a].of_geometry(ga), frames[b].of_geometry(gb));
    query(&ContactPair {
        a: &collider_a,
        x_wa: frame_a.pose,
        v_wa: frame_a.velocity,
        b: &collider_b,
        x_wb: frame_b.pose,
        v_wb: frame_b.velocity,
    })
}

/// From the origin of body A to that of its geometry, in W.
fn offset_a<T: Scalar>(model: &Model<T>, frames: &[BodyFrame<T>], pair: &GeometryPair) -> Vector3<T> {
    let a = pair.bodies.a;
    frames[a].pose.rotation * model.bodies[a].geometries[pair.geometry_a].x_bg.translation
}

/// The bodies at the start of a step, and its length, s: what the contacts of rigid bodies are found with.
#[derive(Debug)]
pub(in crate::multibody) struct StepStart<T = f64> {
    pub frames: Vec<BodyFrame<T>>,
    pub length: f64,
}

impl<T> Default for StepStart<T> {
    fn default() -> Self {
        Self { frames: Vec::new(), length: 0.0 }
    }
}

impl<T: Scalar> StepStart<T> {
    /// Calls `query` with two rigid geometries at the start of the step, or now if it is not known.
    pub fn with_pair<R>(
        &self,
        model: &Model<T>,
        now: &[BodyFrame<T>],
        pair: &GeometryPair,
        query: impl FnOnce(&RigidStart<T>) -> R,
    ) -> R {
        let frames = if self.frames.is_empty() { now } else { &self.frames };
        let (length, heaviest) = (self.length, model.heaviest);
        with_pair(model, frames, pair, |pair| query(&RigidStart { pair, length, heaviest }))
    }
}

/// The wrench between one pair of geometries, on body A about its origin, in W.
#[inline(never)]
pub(in crate::multibody) fn pair_wrench<T: Scalar>(
    model: &Model<T>,
    (frames, start): (&[BodyFrame<T>], &StepStart<T>),
    pair: &GeometryPair,
    workspace: &mut Workspace,
    known: Option<&mut KnownAnswer<LocalJacobian>>,
) -> Option<SpatialForce<T>> {
    let wrench = if model.is_rigid_pair(pair) {
        let wrench = |query: &ContactPair<T>| {
            start
                .with_pair(model, frames, pair, |start| rigid_wrench(query, start, &model.contact, workspace))
        };
        // The pairs of a model can touch: it has checked them.
        with_pair(model, frames, pair, wrench).unwrap_or_default()
    } else {
        patch(model, frames, pair, workspace, known).map(|patch| patch.wrench_on_a)
    };
    Some(wrench?.shifted(&-offset_a(model, frames, pair)))
}

/// The number of threads that evaluate this many pairs, and how many pairs each takes.
pub(crate) fn shares(pairs: usize) -> (usize, usize) {
    let threads = if pairs < PAIRS_WORTH_THREADS { 1 } else { threads() };
    (threads, pairs.div_ceil(threads).max(1))
}

/// The contact of one pair of geometries.
fn patch<T: Scalar>(
    model: &Model<T>,
    frames: &[BodyFrame<T>],
    pair: &GeometryPair,
    workspace: &mut Workspace,
    known: Option<&mut KnownAnswer<LocalJacobian>>,
) -> Option<ContactPatch<T>> {
    // The pairs of a model can touch: it has checked them.
    with_pair(model, frames, pair, |query| match model.contact_varies {
        false => contact_lifted_with(query, &model.contact.real(), workspace, known),
        true => contact_lifted_under(query, &model.contact, workspace, known),
    })
    .unwrap_or_default()
}

/// The contact between two bodies, summed over their geometries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPairContact<T = f64> {
    /// Wrench on body A about the origin of A, in W.
    pub wrench_on_a: SpatialForce<T>,
    /// Area of the contact surfaces, m². With skirts (see [`crate::contact::Collider::with_skirt`])
    /// area, centroid and faces include the surface between the skirts, also before the bodies touch.
    pub area: T,
    /// Centroid of the contact surfaces in W, m; `None` where neither the bodies nor their skirts
    /// touch.
    pub centroid: Option<Vector3<T>>,
    /// Number of faces of the contact surfaces.
    pub faces: usize,
    /// Largest pressure that acts on the contact surfaces, Pa.
    pub max_pressure: f64,
}

impl<T: Scalar> Model<T> {
    /// The contact between two bodies, summed over `pairs` of their geometries (see
    /// [`Model::geometry_pairs`]), with the bodies at `frames`.
    pub fn body_pair_contact(
        &self,
        frames: &[BodyFrame<T>],
        pairs: &[GeometryPair],
        workspace: &mut PairWorkspace,
    ) -> BodyPairContact<T> {
        let zero = T::from(0.0);
        let mut sum = BodyPairContact {
            wrench_on_a: SpatialForce::zero(),
            area: zero,
            centroid: None,
            faces: 0,
            max_pressure: 0.0,
        };
        let mut moment = Vector3::from_element(zero);
        for pair in pairs {
            let (scratch, known) = workspace.of_pair::<T>(pair);
            let Some(patch) = patch(self, frames, pair, scratch, known.map(|k| &mut k.wrench)) else {
                continue;
            };
            sum.wrench_on_a += patch.wrench_on_a.shifted(&-offset_a(self, frames, pair));
            sum.area += patch.area;
            sum.faces += patch.faces;
            sum.max_pressure = sum.max_pressure.max(patch.max_pressure);
            moment += patch.centroid * patch.area;
            // With one patch its own centroid, to the last bit.
            let mean = if sum.centroid.is_none() { patch.centroid } else { moment * sum.area.recip() };
            sum.centroid = Some(mean);
        }
        sum
    }

    /// The wrench that contact exerts on a body about its origin, in W, summed over `pairs` of
    /// geometries one of which is always its own, with the bodies at `frames`.
    pub(crate) fn contact_wrench_on<'p>(
        &self,
        frames: &[BodyFrame<T>],
        body: usize,
        pairs: impl IntoIterator<Item = &'p GeometryPair>,
        workspace: &mut PairWorkspace,
    ) -> SpatialForce<T> {
        let mut sum = SpatialForce::zero();
        for pair in pairs {
            // As in `body_pair_contact`: what rigid bodies exert is known of steps.
            if self.is_rigid_pair(pair) {
                continue;
            }
            let (scratch, known) = workspace.of_pair::<T>(pair);
            let at = (frames, &StepStart::default());
            let Some(on_a) = pair_wrench(self, at, pair, scratch, known.map(|k| &mut k.wrench)) else {
                continue;
            };
            if pair.bodies.a == body {
                sum += on_a;
            } else {
                let to_b = frames[body].pose.translation - frames[pair.bodies.a].pose.translation;
                sum += -on_a.shifted(&to_b);
            }
        }
        sum
    }
}

impl Model {
    /// The energy in J that the pressure fields of two bodies store, summed over `pairs` of their
    /// geometries.
    pub fn body_pair_energy(&self, frames: &[BodyFrame], pairs: &[GeometryPair]) -> f64 {
        pairs.iter().map(|pair| with_pair(self, frames, pair, contact_energy)).sum()
    }
}

/// Derivatives of the wrench on body A about its origin, in W: rows moment, then force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPairJacobian {
    /// With respect to the pose of A: columns rotation of A about its origin, then translation, both in
    /// W.
    pub by_pose_a: Matrix6<f64>,
    /// With respect to the pose of B, likewise.
    pub by_pose_b: Matrix6<f64>,
    /// With respect to the hydroelastic modulus of A (of all its compliant geometries together), per Pa.
    pub by_modulus_a: Vector6<f64>,
    /// With respect to the hydroelastic modulus of B, likewise.
    pub by_modulus_b: Vector6<f64>,
    /// With respect to the combined dissipation of the pair.
    pub by_dissipation: Vector6<f64>,
    /// With respect to the combined friction of the pair.
    pub by_friction: Vector6<f64>,
}

impl BodyPairJacobian {
    /// Zero derivatives.
    fn zero() -> Self {
        Self {
            by_pose_a: Matrix6::zeros(),
            by_pose_b: Matrix6::zeros(),
            by_modulus_a: Vector6::zeros(),
            by_modulus_b: Vector6::zeros(),
            by_dissipation: Vector6::zeros(),
            by_friction: Vector6::zeros(),
        }
    }
}

impl Model {
    /// The derivatives of the contact between two bodies, summed over `pairs` of their geometries.
    pub fn body_pair_jacobian(
        &self,
        frames: &[BodyFrame],
        pairs: &[GeometryPair],
        workspace: &mut PairWorkspace,
    ) -> BodyPairJacobian {
        let mut sum = BodyPairJacobian::zero();
        let scratch = &mut workspace.of_threads(1)[0];
        for pair in pairs {
            let found = with_pair(self, frames, pair, |query| {
                contact_jacobian(query, &self.contact, scratch.of_pair(pair.number()))
            });
            // The pairs of a model can touch: it has checked them.
            if let Ok(Some((patch, jacobian))) = found {
                let of_bodies = ContactSensitivity::new(self, frames, pair, &patch.wrench_on_a, &jacobian);
                sum.by_pose_a += of_bodies.by_state_a.fixed_columns::<6>(0);
                sum.by_pose_b += of_bodies.by_state_b.fixed_columns::<6>(0);
                let about_body = shift_back(&offset_a(self, frames, pair));
                sum.by_modulus_a += about_body * jacobian.by_modulus_a;
                sum.by_modulus_b += about_body * jacobian.by_modulus_b;
                sum.by_dissipation += about_body * jacobian.by_parameters.dissipation;
                sum.by_friction += about_body * jacobian.by_friction();
            }
        }
        sum
    }
}
