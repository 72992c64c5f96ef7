//! Two rigid bodies as point contacts over a time step.
//!
//! Their contacts are the features that come near each other ([`crate::contact::features`]), those that have not met yet
//! among them. With a stiffness K the load of a contact at a distance φ is −K φ. So it pushes, with
//! δt (−K φ − δt K v_n)₊ (1 − d v_n)₊, where the bodies would overlap after the step, and leaves a small part of that. A spring
//! that is evaluated at the end of the step gives back no more energy than it has; what an overlap at the start has is bounded by
//! the velocity that it is undone with. K is in proportion to the mass m of the heaviest body, κ m ([`ContactSettings::rigid_stiffness`]): it does not follow the step, so
//! that shorter ones converge.

use nalgebra::{Matrix6, Vector3, Vector6};

use crate::contact::Collider;
use crate::contact::features::{FeaturePair, Gap};
use crate::contact::force::rigid::{
    DISSIPATION, DYNAMIC, Dual, STATIC, Spring, VELOCITY, add_shapes, gap, moving, near_features,
};
use crate::contact::force::traction::TractionLaw;
use crate::contact::impulse::face_velocity::split;
use crate::contact::impulse::law::{ContactModel, FaceConstants, ImpulseLaw};
use crate::contact::impulse::local_jacobian::{LocalImpulseJacobian, PairImpulse};
use crate::contact::impulse::point_contacts::{DiscretePatch, DiscreteSettings, LoadSums, PointContacts};
use crate::contact::pair::material::PairMaterial;
use crate::contact::pair::query::Roles;
use crate::contact::surface::shape_vjp::ShapeTerms;
use crate::scalar::{CHUNK, DualArray, Scalar, lift_vector};
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity};

/// Overlaps are undone with no more than this velocity, m/s, by the load at the start of the step.
const FASTEST: f64 = 0.01;
/// Steps that are shorter than this, in s, resolve impacts, which have a dissipation there: nothing leaves one faster than
/// its inverse, and so nearly with the velocity that it has after a longer step, 0. Those need none, and their equations
/// are easier to solve.
const BRIEF: f64 = 1e-4;

/// The law of the impulses between rigid bodies in a contact model. Friction is that of the normal force of the same step: a load at
/// the start of a step follows what is far below a micrometre, and a convex model throws up what slides on stiff ground.
fn law<T: Scalar>(
    settings: &DiscreteSettings<T>,
    pair: &PairMaterial<T>,
    model: ContactModel,
) -> ImpulseLaw<T> {
    ImpulseLaw {
        model,
        stiction_velocity: settings.contact.stiction_velocity,
        relaxation_time: T::from(0.0),
        near_rigid: false,
        own: None,
        ..settings.law(pair)
    }
}

fn spring<T>(settings: &DiscreteSettings<T>) -> Spring {
    Spring::new(settings.contact, settings.heaviest)
}

/// What the impulse of a contact at a distance depends on. Where its law is SAP's the effective mass is that of the heaviest body.
fn constants<T: Scalar>(law: &ImpulseLaw<T>, spring: Spring, distance: T) -> FaceConstants<T> {
    let stiffness = T::from(spring.stiffness());
    let is_brief = law.dt.real() < BRIEF && law.model != ContactModel::Sap;
    let deepest = if is_brief { T::from(spring.deepest()) } else { law.dt * FASTEST };
    let depth = if -distance.real() < deepest.real() { -distance } else { deepest };
    let dissipation = T::from(if is_brief { DISSIPATION } else { 0.0 });
    let history = T::from(spring.heaviest.recip());
    FaceConstants { load: stiffness * depth, stiffness, dissipation, history }
}

/// The impulse on O about F's origin of one contact, with the velocities of O relative to F before and after the step.
fn impulse<T: Scalar>(
    (law, spring): (&ImpulseLaw<T>, Spring),
    Gap { distance, normal: n, point: x }: &Gap<T>,
    before: &SpatialVelocity<T>,
    after: &SpatialVelocity<T>,
) -> SpatialForce<T> {
    let constants = constants(law, spring, *distance);
    let (v_n, v_t) = split(&(after.translational + after.rotational.cross(x)), n);
    let impulse = law.of_face(before, x, n).impulse(&constants, v_n, v_t.dot(&v_t));
    let gamma = n * impulse.normal - v_t * impulse.slip;
    SpatialForce::new(x.cross(&gamma), gamma)
}

/// Adds the contacts between two rigid bodies, as [`find_contacts`](super::find::find_contacts) does.
pub(super) fn rigid_contacts(
    roles: &Roles<f64>,
    settings: &DiscreteSettings,
    contacts: &mut PointContacts,
) -> Option<DiscretePatch> {
    let before = &roles.v_fo;
    let first_features = contacts.features.pairs.len();
    near_features((roles.o, roles.f), &roles.x_fo, before, settings.dt, &mut contacts.features);
    let features = first_features..contacts.features.pairs.len();
    if features.is_empty() {
        return None;
    }
    let first = contacts.position.len();
    let law = law(settings, TractionLaw::new(roles, settings.contact).pair(), ContactModel::Tamsi);
    let mut sums = LoadSums::default();
    for pair in &contacts.features.pairs[features.clone()] {
        let Gap { distance, normal, point } = gap(pair, roles.o, roles.f, &roles.x_fo);
        let constants = constants(&law, spring(settings), distance);
        let of_face = law.of_face(before, &point, &normal);
        if law.static_friction.is_some() {
            contacts.friction.resize(contacts.position.len(), 0.0);
            contacts.friction.push(of_face.friction);
        }
        if settings.bristles().is_some() {
            contacts.slip_shift.push(Vector3::zeros());
        }
        let load = constants.load.max(0.0);
        sums.load += load;
        sums.stiffness += constants.stiffness;
        sums.force += normal * load;
        sums.moment += point * load;
        contacts.position.push(point);
        contacts.normal.push(normal);
        contacts.constants.push(constants);
    }
    let origin = contacts.position[first];
    contacts.position[first..].iter_mut().for_each(|x| *x -= origin);
    Some(DiscretePatch {
        law,
        contacts: first..contacts.position.len(),
        polygons: 0..0,
        features,
        x_wf: roles.x_wf,
        origin,
        a_is_o: roles.a_is_o,
        inverse_inertia: Matrix6::zeros(),
        deflection_rate: None,
        aligned: false,
        is_rigid: true,
        sums,
    })
}

/// The impulse on O about F's origin in F by a contact model with features that have been found, in scalars of any kind, as
/// [`discrete_impulse`](super::surface_contacts::discrete_impulse) has it with polygons.
pub(crate) fn rigid_impulse<T: Scalar>(
    roles: &Roles<T>,
    settings: &DiscreteSettings<T>,
    features: &[FeaturePair],
    model: ContactModel,
    before: &SpatialVelocity<T>,
    after: &SpatialVelocity<T>,
) -> SpatialForce<T> {
    let law = law(settings, TractionLaw::new(roles, settings.contact).pair(), model);
    features.iter().fold(SpatialForce::zero(), |sum, features| {
        let gap = gap(features, roles.o, roles.f, &roles.x_fo);
        sum + impulse((&law, spring(settings)), &gap, before, after)
    })
}

impl DiscretePatch {
    /// Gives contacts of rigid bodies the law of SAP, which is convex, if theirs is not; returns whether it was not.
    pub fn make_convex(&mut self, contacts: &mut PointContacts) -> bool {
        if !self.is_rigid || self.law.model.is_convex() {
            return false;
        }
        self.law.model = ContactModel::Sap;
        for i in self.contacts.clone() {
            let face = &mut contacts.constants[i];
            face.load = face.load.min(face.stiffness * self.law.dt * FASTEST);
            let own = self.law_of(contacts, i).regularization(&contacts.constants[i]);
            if contacts.regularization.len() <= i {
                contacts.regularization.resize(i + 1, own);
            }
            contacts.regularization[i] = own;
        }
        true
    }
}

impl PairImpulse<'_> {
    /// The contacts of rigid bodies.
    fn features(&self) -> &[FeaturePair] {
        &self.contacts.features.pairs[self.patch.features.clone()]
    }

    /// The derivatives of the impulse between rigid bodies; those with respect to the moduli are 0.
    pub(super) fn rigid_jacobian(&self) -> LocalImpulseJacobian {
        let Self { roles, settings, patch, before, after, .. } = *self;
        let (x_fo, before) = moving(&roles.x_fo, before);
        let after = SpatialVelocity::lift(after);
        let (static_friction, friction) = TractionLaw::new(roles, settings.contact).friction();
        let law = ImpulseLaw {
            friction: Dual::variable(friction, DYNAMIC),
            static_friction: Some(Dual::variable(static_friction, STATIC)),
            ..patch.law.lift()
        };
        let (o, f) = (Collider::lift(roles.o), Collider::lift(roles.f));
        let mut jacobian = LocalImpulseJacobian::zero();
        for features in self.features() {
            let gap = gap(features, &o, &f, &x_fo);
            let wrench = impulse((&law, spring(settings)), &gap, &before, &after);
            let (torque, force) = (wrench.rotational, wrench.translational);
            let rows = [torque.x, torque.y, torque.z, force.x, force.y, force.z];
            let by = |direction: usize| Vector6::from_fn(|row, _| rows[row].eps[direction]);
            jacobian.by_parameters.static_friction += by(STATIC);
            jacobian.by_parameters.dynamic_friction += by(DYNAMIC);
            for (row, number) in rows.iter().enumerate() {
                for k in 0..6 {
                    jacobian.by_geometry[row][k] += number.eps[k];
                    jacobian.by_velocity_before[(row, k)] += number.eps[VELOCITY + k];
                }
            }
        }
        jacobian
    }

    /// Adds the derivatives of a number with respect to the shapes of rigid bodies, given those with respect to the impulse on O
    /// about F's origin, in F.
    pub(super) fn rigid_shape_vjp(&self, by_impulse: &SpatialForce, terms: &mut ShapeTerms) {
        type Chunk = DualArray<CHUNK>;
        let Self { roles, settings, patch, before, after, .. } = *self;
        let (law, x_fo) = (patch.law.lift::<Chunk>(), RigidTransform::lift(&roles.x_fo));
        let (before, after) = (SpatialVelocity::lift(before), SpatialVelocity::lift(after));
        let (torque, force) = (lift_vector(&by_impulse.rotational), lift_vector(&by_impulse.translational));
        let along = |features: &FeaturePair, o: &Collider<Chunk>, f: &Collider<Chunk>| {
            let gap = gap(features, o, f, &x_fo);
            let wrench = impulse((&law, spring(settings)), &gap, &before, &after);
            wrench.rotational.dot(&torque) + wrench.translational.dot(&force)
        };
        add_shapes(roles, self.features(), terms, along);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::{ContactPair, ContactSettings, Material};
    use crate::field::RigidSurface;
    use crate::geometry::Shape;
    use crate::spatial::rotation_exponential;

    /// A turned box whose lowest corner is in another one, under the law that steps begin with and the one of those that fail.
    #[test]
    fn impulses_and_derivatives_of_both_laws_agree_with_differences() {
        let mesh = Shape::Box { size: [0.1, 0.08, 0.06] }.surface_mesh(0.1).unwrap();
        let cube = Collider::rigid(RigidSurface::new(mesh), Material::new(1.0, 0.0, 0.5));
        let (a, b) = (&cube, &cube);
        let turn = rotation_exponential(&Vector3::new(0.6, 0.4, 0.2));
        let x_wa = RigidTransform::new(turn, Vector3::new(0.004, 0.003, 0.03 + lowest(&turn) - 1e-6));
        let x_wb = RigidTransform::identity();
        let velocity =
            |k: f64| SpatialVelocity::new(Vector3::new(0.3, 0.2, 0.4) * k, Vector3::new(0.1, 0.2, -0.3) * k);
        let pair = ContactPair { a, x_wa, v_wa: velocity(1.0), b, x_wb, v_wb: SpatialVelocity::zero() };
        let roles = Roles::of_step(&pair).unwrap();
        let v = roles.v_fo;
        let after = SpatialVelocity::new(v.rotational * 0.7, v.translational * 0.4);
        let contact = ContactSettings::default();
        let settings =
            DiscreteSettings { contact: &contact, model: ContactModel::Lagged, dt: 2e-3, heaviest: 1.3 };
        let mut contacts = PointContacts::default();
        let mut patch = rigid_contacts(&roles, &settings, &mut contacts).unwrap();
        for model in [ContactModel::Tamsi, ContactModel::Sap] {
            if model == ContactModel::Sap {
                assert!(patch.make_convex(&mut contacts) && !patch.make_convex(&mut contacts));
            }
            let on_o = |x_fo: RigidTransform, before: &SpatialVelocity, after: &SpatialVelocity| {
                let roles = Roles { x_fo, ..roles };
                let features = &contacts.features.pairs;
                let w = rigid_impulse(&roles, &settings, features, model, before, after);
                let (m, f) = (w.rotational, w.translational);
                Vector6::new(m.x, m.y, m.z, f.x, f.y, f.z)
            };
            let six = |v: &SpatialVelocity| {
                let (w, u) = (v.rotational, v.translational);
                Vector6::new(w.x, w.y, w.z, u.x, u.y, u.z)
            };
            let value = on_o(roles.x_fo, &v, &after);
            assert!(value.norm() > 1e-3, "{value}");
            let of_patch = patch.impulse_at_f(&contacts, &six(&after));
            assert!((of_patch - value).norm() < 1e-12 * value.norm(), "{model:?}: {of_patch} {value}");
            let pair = PairImpulse {
                roles: &roles,
                settings: &settings,
                patch: &patch,
                contacts: &contacts,
                before: &v,
                after: &after,
            };
            let jacobian = pair.rigid_jacobian();
            for k in 0..6 {
                let unit = |axis: usize, h: f64| Vector3::from_fn(|i, _| if i == axis { h } else { 0.0 });
                let parts = |h: f64| match k {
                    0..3 => (unit(k, h), Vector3::zeros()),
                    _ => (Vector3::zeros(), unit(k - 3, h)),
                };
                let by_pose = |h: f64| {
                    let (turn, shift) = parts(h);
                    let rotation = rotation_exponential(&turn);
                    let x = roles.x_fo;
                    let place = rotation * x.translation + shift;
                    on_o(RigidTransform::new(rotation * x.rotation, place), &v, &after)
                };
                let by_velocity = |h: f64| {
                    let (w, u) = parts(h);
                    on_o(roles.x_fo, &SpatialVelocity::new(v.rotational + w, v.translational + u), &after)
                };
                let h = 1e-8;
                let of_pose = Vector6::from_fn(|row, _| jacobian.by_geometry[row][k]);
                let of_velocity: Vector6<f64> = jacobian.by_velocity_before.column(k).into_owned();
                for (name, by, claimed) in [
                    ("pose", &by_pose as &dyn Fn(f64) -> Vector6<f64>, of_pose),
                    ("velocity", &by_velocity, of_velocity),
                ] {
                    let difference = (by(h) - by(-h)) / (2.0 * h);
                    let off = (difference - claimed).norm();
                    assert!(off < 1e-5 * claimed.norm() + 1e-7, "{model:?} {name} {k}: {off} of {claimed}");
                }
            }
        }
    }

    fn lowest(turn: &nalgebra::Matrix3<f64>) -> f64 {
        turn.row(2).abs().dot(&Vector3::new(0.05, 0.04, 0.03).transpose())
    }
}
