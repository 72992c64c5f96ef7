//! A contact surface as a set of compliant point contacts over a time step (Masterjohn §IV).
//!
//! The surface and its contacts are those of the start of the step; only the velocity at its end is unknown. All of it is
//! expressed in F's frame (see [`crate::contact::pair::query`]), and wrenches act on O about F's origin, those of a
//! [`DiscretePatch`] about a point of its own.

use std::ops::Range;

use nalgebra::{Matrix3, Matrix6, Vector3};

use crate::contact::ContactModel;
use crate::contact::features::Features;
use crate::contact::impulse::bristles::BristleLaw;
use crate::contact::impulse::law::{FaceConstants, ImpulseLaw, OwnImpulse};
use crate::contact::impulse::law_vectorized::Regularization;
use crate::contact::pair::material::PairMaterial;
use crate::contact::settings::{ContactSettings, FaceFilter};
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::polygon::Polygon;
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, SpatialVelocity, cross_matrix};

/// A polygon of the contact surface with its plane and the fields around it.
pub(crate) type FoundPolygon = (Polygon, Equilibrium);

/// The point contacts of any number of patches, as parallel lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct PointContacts {
    /// Position in F's frame, from [`DiscretePatch::origin`].
    pub position: Vec<Vector3<f64>>,
    /// Unit normal out of F, into O.
    pub normal: Vec<Vector3<f64>>,
    /// What the impulse depends on.
    pub constants: Vec<FaceConstants<f64>>,
    /// Coefficients of friction, of all contacts of pairs whose static friction is another than their dynamic
    /// friction ([`ImpulseLaw::static_friction`]); those of others have any number here, or none.
    pub friction: Vec<f64>,
    /// With bristles the shift z/(δt + τ) of each contact's slip velocity, m/s (see
    /// [`crate::contact::impulse::bristles`]); empty without.
    pub slip_shift: Vec<Vector3<f64>>,
    /// What SAP's impulse depends on; empty for other models.
    pub regularization: Vec<Regularization>,
    /// The polygons that the contacts come from.
    pub polygons: Vec<FoundPolygon>,
    /// The features of rigid bodies that the contacts come from, which derivatives take.
    pub features: Features,
    /// Whether the polygons are kept: derivatives take them.
    pub keep_polygons: bool,
    /// Normal impulses in N s that TAMSI's friction is taken from while they are held; empty
    /// otherwise.
    pub frozen_normal: Vec<f64>,
    /// For each contact the direction of friction w that is used in the negative derivative of the
    /// impulse ([`DiscretePatch::turn_friction`]). It is empty if the direction is that of the slip
    /// velocity.
    pub friction_direction: Vec<Vector3<f64>>,
}

impl PointContacts {
    /// Forgets all contacts, not the memory.
    pub fn clear(&mut self) {
        self.position.clear();
        self.normal.clear();
        self.constants.clear();
        self.friction.clear();
        self.slip_shift.clear();
        self.regularization.clear();
        self.polygons.clear();
        self.features.pairs.clear();
        self.frozen_normal.clear();
        self.friction_direction.clear();
    }

    /// Moves the contacts of another list behind these, with the patches that are made of them.
    pub fn append<'p>(&mut self, from: &mut Self, patches: impl Iterator<Item = &'p mut DiscretePatch>) {
        let [contacts, polygons, features] =
            [self.position.len(), self.polygons.len(), self.features.pairs.len()];
        if [contacts, features] == [0; 2] {
            std::mem::swap(self, from);
            return;
        }
        self.position.append(&mut from.position);
        self.normal.append(&mut from.normal);
        self.constants.append(&mut from.constants);
        if !from.friction.is_empty() {
            self.friction.resize(contacts, 0.0);
            self.friction.append(&mut from.friction);
        }
        self.slip_shift.append(&mut from.slip_shift);
        self.regularization.append(&mut from.regularization);
        self.polygons.append(&mut from.polygons);
        self.features.pairs.append(&mut from.features.pairs);
        for patch in patches {
            let moved = |range: &Range<usize>, by: usize| range.start + by..range.end + by;
            patch.contacts = moved(&patch.contacts, contacts);
            patch.polygons = moved(&patch.polygons, polygons);
            patch.features = moved(&patch.features, features);
        }
    }
}

/// What the contacts of a step have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiscreteSettings<'a, T = f64> {
    /// How the surface is found and cut into faces.
    pub contact: &'a ContactSettings<T>,
    pub model: ContactModel,
    /// Length of the step, s.
    pub dt: T,
    /// The mass of the heaviest body, kg, which the stiffness of rigid contacts is in proportion to; it carries no derivative.
    pub heaviest: f64,
}

impl<T: Scalar> DiscreteSettings<'_, T> {
    /// The law of bristles, if steps have them.
    pub fn bristles(&self) -> Option<BristleLaw<T>> {
        let length = self.contact.bristle_length.filter(|_| self.model == ContactModel::Lagged)?;
        Some(BristleLaw { length, stiction_velocity: self.contact.stiction_velocity, dt: self.dt })
    }

    /// The law of a pair's impulses.
    pub fn law(&self, pair: &PairMaterial<T>) -> ImpulseLaw<T> {
        let PairMaterial { static_friction, dynamic_friction: friction, .. } = *pair;
        let own = self.contact.law.filter(|_| !self.model.is_convex()).map(|law| OwnImpulse {
            law,
            static_friction,
            parameters: pair.own,
            part: 1.0,
        });
        // Coefficients that are equal may have derivatives that are not.
        let differs = T::NDERIV > 0 || static_friction.real() != friction.real();
        ImpulseLaw {
            model: self.model,
            dt: self.dt,
            stiction_velocity: self
                .bristles()
                .map_or(self.contact.stiction_velocity, |bristles| bristles.length / bristles.time()),
            fall_velocity: self.contact.stiction_velocity,
            friction,
            static_friction: (own.is_none() && differs).then_some(static_friction),
            relaxation_time: pair.relaxation_time,
            near_rigid: self.contact.face_filter == FaceFilter::Drake,
            sap_stiction: self.contact.sap_stiction,
            own,
        }
    }
}

/// The contacts of one pair of bodies.
#[derive(Clone, Debug)]
pub(crate) struct DiscretePatch {
    /// The law of the impulses.
    pub law: ImpulseLaw<f64>,
    /// Its contacts in [`PointContacts`].
    pub contacts: Range<usize>,
    /// Its polygons in [`PointContacts::polygons`].
    pub polygons: Range<usize>,
    /// Of rigid bodies its pairs of features in [`PointContacts::features`].
    pub features: Range<usize>,
    /// Pose of F in the world.
    pub x_wf: RigidTransform<f64>,
    /// The point of F, in its frame, that positions, velocities and impulses of the patch are about:
    /// one of its contacts. About the origin of a half-space, which may be far away, the moments of
    /// a stiff contact would be differences of much larger numbers.
    pub origin: Vector3<f64>,
    /// Whether A is O (else A is F).
    pub a_is_o: bool,
    /// The inverse inertia Λ that the pair's relative motion feels, for SAP; zero otherwise.
    pub inverse_inertia: Matrix6<f64>,
    /// With bristles the rate s/(δt + τ) of the pair's deflection at the start of the step, at F's origin, in F.
    pub deflection_rate: Option<SpatialVelocity>,
    /// Whether the meshes are aligned exactly somewhere.
    pub aligned: bool,
    /// Whether both bodies are rigid.
    pub is_rigid: bool,
    /// Sums over its contacts.
    pub sums: LoadSums,
}

/// Loads, stiffnesses and directions of a patch's contacts together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadSums {
    /// Sum of loads, N.
    pub load: f64,
    /// Sum of stiffnesses, N/m.
    pub stiffness: f64,
    /// Sum of loads along the normals out of F, in F, N.
    pub force: Vector3<f64>,
    /// Sum of loads times the middles of their polygons, in F, N m.
    pub moment: Vector3<f64>,
}

impl LoadSums {
    /// The mean over the stiffnesses of the depths at which contacts end, m: no more than their mean over loads.
    pub fn least_depth(&self) -> f64 {
        if self.stiffness > 0.0 { self.load / self.stiffness } else { 0.0 }
    }

    /// The mean of its normals over its loads.
    pub fn normal(&self) -> Vector3<f64> {
        if self.load > 0.0 { self.force / self.load } else { Vector3::zeros() }
    }
}

/// The inverse effective mass w at a contact at `x`, 1/kg: ‖L Λ Lᵀ‖/3 with the velocity L = (−\[x\]× 1)
/// of the point by the relative motion (arXiv 2110.10107, eq. 36).
#[inline(always)]
pub(crate) fn inverse_effective_mass<T: Scalar>(inverse_inertia: &Matrix6<T>, x: &Vector3<T>) -> T {
    let w = point_block(inverse_inertia, x);
    // Positive definite, so that the root is never of zero.
    w.iter().fold(T::from(0.0), |sum, &e| sum + e * e).sqrt() * (1.0 / 3.0)
}

/// L Λ Lᵀ.
#[inline(always)]
pub(crate) fn point_block<T: Scalar>(inverse_inertia: &Matrix6<T>, x: &Vector3<T>) -> Matrix3<T> {
    let lever = cross_matrix(x);
    let block =
        |row: usize, column: usize| Matrix3::from_fn(|i, k| inverse_inertia[(3 * row + i, 3 * column + k)]);
    let coupled = lever * block(0, 1);
    block(1, 1) - coupled - coupled.transpose() - lever * block(0, 0) * lever
}
