//! How far TAMSI's Newton step may go (Castro et al. 2020, arXiv 1909.05700, §V).
//!
//! Friction changes most where the slip velocity of a contact passes by zero: there Newton's
//! linear model of it is worth nothing. The step ends where a contact comes closest to zero
//! within the regularized range, and where its slip velocity has turned by a given angle.

use super::problem::Problem;
use nalgebra::Vector3;

/// Slip velocities below this part of the stiction velocity are as good as zero.
const NEGLIGIBLE: f64 = 1e-2;
/// The cosine of the angle that a slip velocity may turn by, 60°.
const TURN: f64 = 0.5;

/// The part of the step `dv` from `v` that may be taken.
pub(super) fn step_limit(problem: &Problem, v: &[f64], dv: &[f64], stiction_velocity: f64) -> f64 {
    let mut limit: f64 = 1.0;
    problem.for_each_slip(v, dv, |slip, change| {
        limit = limit.min(contact_limit(slip, change, stiction_velocity));
    });
    limit
}

/// The part of a step that one contact allows, whose slip velocity would change from `v` to
/// `v + dv`.
fn contact_limit(v: &Vector3<f64>, dv: &Vector3<f64>, stiction_velocity: f64) -> f64 {
    let (before, change) = (v.norm(), dv.norm());
    let end = v + dv;
    let after = end.norm();
    if change <= NEGLIGIBLE * stiction_velocity || after <= NEGLIGIBLE * stiction_velocity {
        return 1.0;
    }
    if before <= NEGLIGIBLE * stiction_velocity {
        // From rest into slip: no further than the middle of the regularized range.
        return if after > stiction_velocity { 0.5 * stiction_velocity / change } else { 1.0 };
    }
    // Past zero: stop at the closest point, if friction is regularized there.
    let closest = -v.dot(dv) / (change * change);
    if closest > 0.0 && closest < 1.0 && before > stiction_velocity {
        let at = v + dv * closest;
        if at.norm() < stiction_velocity {
            return closest.max(NEGLIGIBLE);
        }
    }
    if before > stiction_velocity && v.dot(&end) < TURN * before * after {
        return turning_limit(v, dv).clamp(NEGLIGIBLE, 1.0);
    }
    1.0
}

/// Where v + α dv has turned by the largest angle: the smallest positive root of
/// (v·(v + α dv))² = cos² |v|² |v + α dv|².
fn turning_limit(v: &Vector3<f64>, dv: &Vector3<f64>) -> f64 {
    let (vv, vd, dd) = (v.norm_squared(), v.dot(dv), dv.norm_squared());
    let cos = TURN * TURN;
    let (a, b, c) = (vd * vd - cos * vv * dd, 2.0 * vv * vd * (1.0 - cos), vv * vv * (1.0 - cos));
    let discriminant = (b * b - 4.0 * a * c).max(0.0).sqrt();
    let q = -0.5 * (b + b.signum() * discriminant);
    let roots = [if a == 0.0 { f64::INFINITY } else { q / a }, if q == 0.0 { f64::INFINITY } else { c / q }];
    let positive = roots.into_iter().filter(|r| *r > 0.0);
    positive.fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn slip_stops_beside_zero_and_turns_by_at_most_sixty_degrees() {
        let v = Vector3::new(1.0, 0.0, 0.0);
        // Straight through zero.
        assert_relative_eq!(contact_limit(&v, &Vector3::new(-3.0, 0.0, 0.0), 0.01), 1.0 / 3.0);
        // To rest, and a small change.
        assert_eq!(contact_limit(&v, &-v, 0.01), 1.0);
        assert_eq!(contact_limit(&v, &Vector3::new(0.2, 0.3, 0.0), 0.01), 1.0);
        // Around zero.
        let dv = Vector3::new(-2.0, 1.0, 0.0);
        let alpha = contact_limit(&v, &dv, 0.01);
        let end: Vector3<f64> = v + dv * alpha;
        assert_relative_eq!(end.normalize().x, 0.5, epsilon = 1e-12);
        // From rest into slip.
        let limit = contact_limit(&Vector3::zeros(), &Vector3::new(0.0, 2.0, 0.0), 0.01);
        assert_relative_eq!(limit, 0.0025);
    }
}
