//! How far TAMSI's Newton step may go (Castro et al. 2020, arXiv 1909.05700, §V).
//!
//! Friction changes most where the slip velocity of a contact passes by zero: there Newton's
//! linear model of it is worth nothing. The step ends where a contact comes closest to zero
//! within the regularized range, and where its slip velocity has turned by a given angle.

use super::problem::Problem;
use crate::contact::SlipChange;

/// Slip velocities below this part of the stiction velocity are as good as zero.
const NEGLIGIBLE: f64 = 1e-2;
/// The cosine of the angle that a slip velocity may turn by, 60°.
const TURN: f64 = 0.5;

/// The part of the step `dv` from `v` that may be taken.
pub(super) fn step_limit(problem: &Problem, v: &[f64], dv: &[f64], stiction_velocity: f64) -> f64 {
    problem.least_of_slips(v, dv, |slip| contact_limit(slip, stiction_velocity))
}

/// The part of a step that one contact allows. Nearly all allow all of it, and are told by squares.
#[inline(always)]
fn contact_limit(slip: &SlipChange, stiction_velocity: f64) -> f64 {
    let SlipChange { before, along, change, after } = *slip;
    let regularized = stiction_velocity * stiction_velocity;
    let negligible = NEGLIGIBLE * NEGLIGIBLE * regularized;
    if change <= negligible || after <= negligible {
        return 1.0;
    }
    if before <= negligible {
        // From rest into slip: no further than the middle of the regularized range.
        return if after > regularized { 0.5 * stiction_velocity / change.sqrt() } else { 1.0 };
    }
    if before <= regularized {
        return 1.0;
    }
    // Past zero: stop at the closest point, at v·dv + α dv² = 0, if friction is regularized there.
    if along < 0.0 && -along < change && (before - regularized) * change < along * along {
        return (-along / change).max(NEGLIGIBLE);
    }
    // v·(v + dv).
    let turned = before + along;
    if turned < 0.0 || turned * turned < TURN * TURN * before * after {
        return turning_limit(before, along, change).clamp(NEGLIGIBLE, 1.0);
    }
    1.0
}

/// Where v + α dv has turned by the largest angle: the smallest positive root of
/// (v·(v + α dv))² = cos² |v|² |v + α dv|². Of v and dv the squares and the product are given.
fn turning_limit(vv: f64, vd: f64, dd: f64) -> f64 {
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
    use nalgebra::Vector3;

    #[test]
    fn slip_stops_beside_zero_and_turns_by_at_most_sixty_degrees() {
        let v = Vector3::new(1.0, 0.0, 0.0);
        let limit = |v: &Vector3<f64>, dv: Vector3<f64>| {
            let (before, along, change) = (v.dot(v), v.dot(&dv), dv.dot(&dv));
            contact_limit(&SlipChange { before, along, change, after: (v + dv).norm_squared() }, 0.01)
        };
        // Straight through zero.
        assert_relative_eq!(limit(&v, Vector3::new(-3.0, 0.0, 0.0)), 1.0 / 3.0);
        // To rest, and a small change.
        assert_eq!(limit(&v, -v), 1.0);
        assert_eq!(limit(&v, Vector3::new(0.2, 0.3, 0.0)), 1.0);
        // Around zero.
        let dv = Vector3::new(-2.0, 1.0, 0.0);
        // ... at any speed, also where it would end close before zero.
        for (speed, dv) in [(1.0, dv), (3.0, dv), (0.2, dv), (1.0, Vector3::new(-0.997, 0.009, 0.0))] {
            let (v, dv) = (v * speed, dv * speed);
            let end: Vector3<f64> = v + dv * limit(&v, dv);
            assert_relative_eq!(end.normalize().x, 0.5, epsilon = 1e-9);
        }
        // Where friction is regularized nothing is cut, but from rest into slip.
        assert_eq!(limit(&(v * 5e-3), Vector3::new(-2.0, 1.0, 0.0)), 1.0);
        assert_relative_eq!(limit(&Vector3::zeros(), Vector3::new(0.0, 2.0, 0.0)), 0.0025);
    }
}
