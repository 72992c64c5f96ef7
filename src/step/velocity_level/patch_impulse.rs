//! The impulse of contact between two bodies over a step, in scalars of any kind.

use nalgebra::{Matrix6, Vector3, Vector6};

use super::coupled_patch::CoupledPatch;
use crate::contact::{
    Collider, DiscreteSettings, PairImpulse, PointContacts, Roles, discrete_impulse, impulse_lifted,
    rigid_impulse,
};
use crate::multibody::{BodyFrame, Model, with_pair};
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity};

/// The impulse of a patch on body A about F's origin, in W, and where that is; `before` and `after` are
/// the bodies' frames with their velocities before and after the step, `deflection_rate` that of bristles before
/// it. Value and derivative with respect
/// to the velocity after the step are `evaluated`.
#[allow(clippy::too_many_arguments, reason = "two states of a pair, and what Newton's method found of it")]
pub(super) fn patch_impulse<T: Scalar>(
    model: &Model<T>,
    before: &[BodyFrame<T>],
    after: &[BodyFrame<T>],
    deflection_rate: Option<SpatialVelocity<T>>,
    patch: &CoupledPatch,
    settings: &DiscreteSettings<T>,
    contacts: &PointContacts,
    evaluated: &(Vector6<f64>, Matrix6<f64>),
    inverse_inertia: impl FnOnce(&Roles<T>) -> Matrix6<T>,
) -> Option<(SpatialForce<T>, Vector3<T>)> {
    let pair = &model.pairs[patch.pair];
    let after = with_pair(model, after, pair, |query| Some(Roles::of_step(query).ok()?.v_fo))?;
    with_pair(model, before, pair, |query| {
        let roles = Roles::of_step(query).ok()?;
        let lambda = inverse_inertia(&roles);
        let shaped = query.a.has_shape_derivatives() || query.b.has_shape_derivatives();
        let polygons = || &contacts.polygons[patch.contacts.polygons.clone()];
        let on_o = if roles.are_rigid() {
            let contact_model = patch.contacts.law.model;
            let features = &contacts.features.pairs[patch.contacts.features.clone()];
            rigid_impulse(&roles, settings, features, contact_model, &roles.v_fo, &after)
        } else if T::NDERIV == 1 && !shaped {
            // The velocities are constants, or those that the search for contacts saw.
            let (a, b) = (query.a.real(), query.b.real());
            let pair = query.real(&a, &b);
            let real = Roles::new(&pair).ok()?;
            let contact = &settings.contact.real();
            let local = PairImpulse {
                roles: &real,
                settings: &DiscreteSettings {
                    contact,
                    model: settings.model,
                    dt: settings.dt.real(),
                    heaviest: settings.heaviest,
                },
                patch: &patch.contacts,
                contacts,
                before: &real.v_fo,
                after: &after.real(),
            }
            .jacobian();
            let mut on_o = impulse_lifted(
                &roles,
                settings,
                &patch.contacts.about_f(evaluated),
                &local,
                &lambda,
                &roles.v_fo,
                &after,
                deflection_rate.as_ref(),
            );
            if model.contact_varies {
                // First derivatives add up: those with respect to the settings are of the formulas where all else stays.
                let (a, b) = (Collider::lift(&a), Collider::lift(&b));
                let still = pair.lift(&a, &b);
                let still = Roles::new(&still).ok()?;
                let lambda = lambda.map(|x| T::from(x.real()));
                let after = SpatialVelocity::lift(&after.real());
                let rate = deflection_rate.map(|rate| SpatialVelocity::lift(&rate.real()));
                let before = &still.v_fo;
                let by_settings =
                    discrete_impulse(&still, settings, polygons(), &lambda, before, &after, rate.as_ref());
                on_o += by_settings - SpatialForce::lift(&by_settings.real());
            }
            on_o
        } else {
            let rate = deflection_rate.as_ref();
            discrete_impulse(&roles, settings, polygons(), &lambda, &roles.v_fo, &after, rate)
        };
        let on_o = on_o.rotated(&roles.x_wf.rotation);
        Some((if roles.a_is_o { on_o } else { -on_o }, roles.x_wf.translation))
    })
}
