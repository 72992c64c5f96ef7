//! The impulse over a velocity-level step with the first derivatives that its inputs carry,
//! through its local Jacobian.

use nalgebra::{Matrix6, Vector6};

use crate::contact::force::jvp::{add, infinitesimal, log_stiffness, pose_tangent};
use crate::contact::force::traction::TractionLaw;
use crate::contact::impulse::local_jacobian::LocalImpulseJacobian;
use crate::contact::impulse::point_contacts::DiscreteSettings;
use crate::contact::pair::query::Roles;
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity};

/// The impulse on O about F's origin in F. Its value and its negative derivative with respect to the
/// velocity after the step are `evaluated` (see
/// [`crate::contact::impulse::point_contacts::DiscretePatch::about_f`]), its other derivatives in
/// `local`. `before` and `after` are the velocities of O relative to F at F's origin, and with bristles
/// `deflection_rate` that of their deflection before the step.
#[allow(clippy::too_many_arguments, reason = "two states of a pair, and what is known of its impulse")]
pub(crate) fn impulse_lifted<T: Scalar>(
    roles: &Roles<T>,
    settings: &DiscreteSettings<T>,
    (value, hessian): &(Vector6<f64>, Matrix6<f64>),
    local: &LocalImpulseJacobian,
    inverse_inertia: &Matrix6<T>,
    before: &SpatialVelocity<T>,
    after: &SpatialVelocity<T>,
    deflection_rate: Option<&SpatialVelocity<T>>,
) -> SpatialForce<T> {
    let mut sum = SpatialForce::zero();
    add(&mut sum, |row| value[row], T::from(1.0));
    let [a, b, c, d, e, f] = pose_tangent(&roles.x_fo);
    let geometry = [a, b, c, d, e, f, log_stiffness(roles.o), log_stiffness(roles.f)];
    for (k, &step) in geometry.iter().enumerate() {
        add(&mut sum, |row| local.by_geometry[row][k], step);
    }
    let parts = |v: &SpatialVelocity<T>| {
        let (w, v) = (v.rotational, v.translational);
        [w.x, w.y, w.z, v.x, v.y, v.z]
    };
    for (k, (v1, v0)) in parts(after).into_iter().zip(parts(before)).enumerate() {
        add(&mut sum, |row| -hessian[(row, k)], infinitesimal(v1));
        add(&mut sum, |row| local.by_velocity_before[(row, k)], infinitesimal(v0));
    }
    if let (Some(rate), Some(bristles)) = (deflection_rate, &local.bristles) {
        for (k, rate) in parts(rate).into_iter().enumerate() {
            add(&mut sum, |row| bristles.by_rate[(row, k)], infinitesimal(rate));
        }
    }
    let parameters = TractionLaw::new(roles, settings.contact).parameters();
    parameters.for_each_with(&local.by_parameters, |parameter, by| {
        add(&mut sum, |row| by[row], infinitesimal(parameter));
    });
    let by_inverse_inertia = local.by_inverse_inertia.map(|by| by.matrix());
    for (index, lambda) in inverse_inertia.iter().enumerate() {
        add(&mut sum, |row| by_inverse_inertia[row][index], infinitesimal(*lambda));
    }
    sum
}
