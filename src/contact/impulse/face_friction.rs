//! The coefficient of friction of a face over a step.
//!
//! It falls from static to dynamic with the slip velocity at the face *before* the step, as the normal force
//! that the model Lagged takes friction from follows the normal velocity before the step (arXiv 2312.03908).
//! A coefficient that falls with the slip velocity after the step would make friction fall with the slip
//! velocity too: convex models would not be convex any more, and TAMSI's step could have several solutions. So
//! the coefficient is one number for a face and a step, and all that is known of the models stays true.
//! Steps converge to the continuous model, that of explicit steps, in the first order that they have anyway.
//!
//! Everything here is smooth in the slip velocity. Where the two coefficients are equal it does not count, but
//! the derivatives with respect to each of them do.

use nalgebra::Vector3;

use crate::contact::force::friction::tustin::static_part;
use crate::contact::impulse::arguments::ImpulseDerivatives;
use crate::contact::impulse::face_velocity::split;
use crate::contact::impulse::law::{FaceConstants, ImpulseLaw};
use crate::contact::impulse::law_vectorized::{FaceLists, Group, each};
use crate::contact::impulse::point_contacts::{DiscretePatch, PointContacts};
use crate::contact::lanes::Lanes;
use crate::scalar::{DualArray, Scalar};
use crate::spatial::SpatialVelocity;

impl<T: Scalar> ImpulseLaw<T> {
    /// The law of a face at `x` with the normal `n`: with the face's coefficient of friction. `before` is the
    /// relative velocity before the step, at the origin that `x` is from.
    #[inline(always)]
    pub fn of_face(&self, before: &SpatialVelocity<T>, x: &Vector3<T>, n: &Vector3<T>) -> Self {
        let Some(static_friction) = self.static_friction else { return *self };
        let (_, v_t) = split(&(before.translational + before.rotational.cross(x)), n);
        let part = static_part(v_t.dot(&v_t), self.fall_velocity);
        Self { friction: self.friction + (static_friction - self.friction) * part, ..*self }
    }
}

impl ImpulseLaw<f64> {
    /// The coefficients of friction of faces in lists.
    #[inline(always)]
    pub(in crate::contact) fn friction_of<L: Lanes>(&self, lists: &FaceLists, group: &Group, one: L) -> L {
        match self.static_friction {
            None => one.splat(self.friction),
            Some(_) => each(one, group.of(lists.friction), |friction| *friction),
        }
    }
}

impl DiscretePatch {
    /// The law of one of the patch's contacts, by its number in [`PointContacts`].
    #[inline(always)]
    pub(in crate::contact) fn law_of(&self, contacts: &PointContacts, index: usize) -> ImpulseLaw<f64> {
        match (self.law.static_friction, contacts.friction.get(index)) {
            (Some(_), Some(&friction)) => ImpulseLaw { friction, ..self.law },
            _ => self.law,
        }
    }
}

/// How the coefficient of friction of a face follows its slip velocity before the step.
pub(super) struct SlipBefore {
    /// The derivative with respect to the velocity.
    pub by_velocity: Vector3<f64>,
    /// With respect to the position of the face, and to a change of its normal, which is at right angles to it.
    pub by_position: Vector3<f64>,
    pub by_normal: Vector3<f64>,
}

/// The coefficient of friction of a face with its derivatives.
pub(super) struct FaceFriction {
    coefficient: f64,
    /// With respect to the combined coefficients of static and of dynamic friction.
    pub by_static: f64,
    pub by_dynamic: f64,
    /// With respect to the slip velocity before the step; `None` if the coefficient does not follow it.
    pub slip: Option<SlipBefore>,
}

impl FaceFriction {
    /// That of a face as [`ImpulseLaw::of_face`] takes it.
    #[inline(always)]
    pub fn new(law: &ImpulseLaw<f64>, before: &SpatialVelocity, x: &Vector3<f64>, n: &Vector3<f64>) -> Self {
        let coefficient = law.friction;
        if law.own.is_some() {
            // It follows static friction in a way of its own.
            return Self { coefficient, by_static: 0.0, by_dynamic: 1.0, slip: None };
        }
        let (v_n, v_t) = split(&(before.translational + before.rotational.cross(x)), n);
        let square = DualArray::<1>::variable(v_t.norm_squared(), 0);
        let part = static_part(square, law.fall_velocity.into());
        let (by_static, by_dynamic) = (part.re, 1.0 - part.re);
        let Some(static_friction) = law.static_friction else {
            return Self { coefficient, by_static, by_dynamic, slip: None };
        };
        let higher = static_friction - coefficient;
        let by_velocity = v_t * (2.0 * higher * part.eps[0]);
        // The velocity is v + ω × x, and its tangential part turns with the normal.
        let by_position = by_velocity.cross(&before.rotational);
        let slip = Some(SlipBefore { by_velocity, by_position, by_normal: by_velocity * -v_n });
        Self { coefficient: coefficient + higher * part.re, by_static, by_dynamic, slip }
    }

    /// The impulse of the face with its derivatives.
    #[inline(always)]
    pub fn derivatives(
        &self,
        law: &ImpulseLaw<f64>,
        face: &FaceConstants<f64>,
        v_n: f64,
        s: f64,
    ) -> ImpulseDerivatives {
        if self.slip.is_none() {
            return law.derivatives(face, v_n, s);
        }
        ImpulseLaw { friction: self.coefficient, ..*law }.derivatives(face, v_n, s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::ContactModel;
    use crate::contact::impulse::friction_direction::tests::patch;
    use crate::contact::impulse::law::tests::{MODELS, law, laws};
    use approx::assert_relative_eq;
    use nalgebra::{Matrix6, Vector6};

    /// A law of which static friction is higher than dynamic friction.
    fn falling(model: ContactModel) -> ImpulseLaw<f64> {
        ImpulseLaw { static_friction: Some(0.8), ..law(model) }
    }

    #[test]
    fn derivatives_are_those_of_dual_numbers() {
        type D = DualArray<13>;
        let seed = |v: Vector3<f64>, at: usize| Vector3::from_fn(|i, _| D::variable(v[i], at + i));
        let (x, n) = (Vector3::new(0.3, -0.2, 0.5), Vector3::new(0.48, -0.6, 0.64));
        // At rest, in the middle of the fall, and past it.
        for scale in [0.0, 0.3, 3.0] {
            let spin = Vector3::new(0.4, -0.3, 0.2) * scale;
            let before = SpatialVelocity::new(spin, Vector3::new(0.05, 0.12, -0.07) * scale);
            let law = falling(ContactModel::Lagged);
            let mut seeded = law.lift::<D>();
            seeded.static_friction = Some(D::variable(0.8, 0));
            seeded.friction = D::variable(law.friction, 1);
            let dual_before = SpatialVelocity::new(spin.map(D::from), seed(before.translational, 8));
            // The normal turns in its tangent plane: along (0.8, 0, −0.6) and (0.36, 0.8, 0.48).
            let tangents = [Vector3::new(0.8, 0.0, -0.6), Vector3::new(0.36, 0.8, 0.48)];
            let turn = tangents.map(|t| t.map(D::from));
            let turned = n.map(D::from) + turn[0] * D::variable(0.0, 11) + turn[1] * D::variable(0.0, 12);
            let expected = seeded.of_face(&dual_before, &seed(x, 2), &turned).friction;
            let got = FaceFriction::new(&law, &before, &x, &n);
            let slip = got.slip.expect("two coefficients");
            assert_relative_eq!(got.coefficient, expected.re, max_relative = 1e-15);
            assert_eq!(got.coefficient, law.of_face(&before, &x, &n).friction);
            let mut by = vec![got.by_static, got.by_dynamic];
            by.extend(slip.by_position.iter());
            by.extend([0.0; 3]);
            by.extend(slip.by_velocity.iter());
            by.extend(tangents.map(|t| t.dot(&slip.by_normal)));
            for (k, by) in by.into_iter().enumerate() {
                assert_relative_eq!(by, expected.eps[k], max_relative = 1e-12, epsilon = 1e-15);
                assert!(scale != 0.3 || by != 0.0 || (5..8).contains(&k), "{k}");
            }
        }
    }

    #[test]
    fn one_coefficient_is_unchanged_and_has_the_derivatives_of_two() {
        let before = SpatialVelocity::new(Vector3::zeros(), Vector3::new(0.05, 0.02, 0.0));
        let (x, n) = (Vector3::zeros(), Vector3::z());
        for law in laws() {
            let got = FaceFriction::new(&law, &before, &x, &n);
            assert_eq!(got.coefficient, law.friction);
            assert_eq!(law.of_face(&before, &x, &n).friction, law.friction);
            assert!(got.slip.is_none());
            assert_relative_eq!(got.by_static + got.by_dynamic, 1.0, max_relative = 1e-15);
            assert_eq!(got.by_static == 0.0, law.own.is_some());
        }
    }

    /// Each contact is one of a patch with its coefficient.
    #[test]
    fn a_patch_is_the_sum_of_contacts_with_coefficients_of_their_own() {
        let coefficients = [0.5, 0.62, 0.79];
        let dv = nalgebra::Vector6::new(0.2, -0.1, 0.3, 0.05, -0.02, 0.04);
        for model in MODELS {
            let (mut patch, mut contacts, v) = patch(model);
            patch.law = falling(model);
            contacts.friction = coefficients.to_vec();
            for i in 0..3 {
                contacts.regularization[i] =
                    patch.law_of(&contacts, i).regularization(&contacts.constants[i]);
            }
            let (impulse, matrix) = patch.impulse(&contacts, &v);
            let (power, curvature) = patch.along(&contacts, &v, &dv);
            let cost = patch.cost(&contacts, &v);
            let (mut sum, mut matrices) = (Vector6::zeros(), Matrix6::zeros());
            let (mut along, mut costs, mut turned) = ([0.0; 2], 0.0, vec![Vector3::zeros(); 3]);
            let mut normals = Vec::new();
            let mut single = patch.clone();
            for (i, friction) in coefficients.into_iter().enumerate() {
                single.law = ImpulseLaw { friction, static_friction: None, ..patch.law };
                single.contacts = i..i + 1;
                let (w, m) = single.impulse(&contacts, &v);
                sum += w;
                matrices += m;
                let (power, curvature) = single.along(&contacts, &v, &dv);
                along[0] += power;
                along[1] += curvature;
                costs += single.cost(&contacts, &v).unwrap_or(0.0);
                single.turn_friction(&contacts, &v, &dv, &mut turned);
                single.for_each_normal(&contacts, &v, |i, normal| normals.push((i, normal)));
            }
            assert_relative_eq!(impulse, sum, epsilon = 1e-14 * impulse.norm());
            assert_relative_eq!(matrix, matrices, epsilon = 1e-14 * matrix.norm());
            assert_relative_eq!(power, along[0], max_relative = 1e-12);
            assert_relative_eq!(curvature, along[1], max_relative = 1e-12);
            assert_relative_eq!(cost.unwrap_or(0.0), costs, max_relative = 1e-13);
            let mut directions = vec![Vector3::zeros(); 3];
            patch.turn_friction(&contacts, &v, &dv, &mut directions);
            for (a, b) in directions.iter().zip(&turned) {
                assert_relative_eq!(a, b, epsilon = 1e-14);
            }
            let mut same = Vec::new();
            patch.for_each_normal(&contacts, &v, |i, normal| same.push((i, normal)));
            assert_eq!(same, normals);
            // Another coefficient, another impulse.
            contacts.friction[1] += 0.1;
            assert_ne!(patch.impulse(&contacts, &v).0, impulse);
        }
    }
}
