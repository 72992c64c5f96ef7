//! What a claimed derivative is at a kink: that of one side, something between, or neither.

use serde::Serialize;

use super::comparison::Comparison;
use super::limits::Limit;

/// At a kink, the derivative that is claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// That from the left.
    Left,
    /// That from the right.
    Right,
    /// One between both.
    Between,
    /// That of another piece of the function, right beside the point, which no difference along the
    /// parameter comes to: of several pieces that meet in the point.
    Beside,
}

/// What one-sided differences say of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sided {
    /// It is one of these.
    Is(Side),
    /// It is neither one side's derivative nor between both.
    Neither,
    /// The derivatives of the sides are not known well enough to tell.
    Untold,
}

/// A claim may be beyond the sides by this many times the errors of their derivatives, where these are
/// small, and where they are not.
const RESERVE: f64 = 3.0;
const POOR_RESERVE: f64 = 10.0;
/// The derivatives of the sides are known well if their errors are below this part of what they differ by.
const KNOWN: f64 = 0.1;

/// Judges a claim by the derivatives of both sides.
pub(super) fn sided(claimed: f64, [left, right]: [Limit; 2], tolerance: f64) -> Sided {
    let error = left.error.max(right.error);
    if !(error.is_finite() && left.value.is_finite() && right.value.is_finite()) {
        return Sided::Untold;
    }
    let known = left.error + right.error <= KNOWN * (left.value - right.value).abs();
    let reserve = if known { RESERVE } else { POOR_RESERVE };
    let off = |side: Limit| (claimed - side.value).abs();
    let allowed = |side: Limit| tolerance * claimed.abs().max(side.value.abs()) + reserve * side.error;
    let (low, high) = if left.value < right.value { (left, right) } else { (right, left) };
    let beyond = claimed < low.value - allowed(low) || claimed > high.value + allowed(high);
    match () {
        () if beyond => Sided::Neither,
        () if !known => Sided::Untold,
        () if off(left) <= allowed(left) && off(left) <= off(right) => Sided::Is(Side::Left),
        () if off(right) <= allowed(right) => Sided::Is(Side::Right),
        () => Sided::Is(Side::Between),
    }
}

const NEITHER: &str = "claimed is neither";

/// Whether the derivatives of both sides were looked at, and the claim is neither.
pub(super) fn is_neither(c: &Comparison) -> bool {
    c.note.ends_with(NEITHER)
}

/// What a reader is told of it.
pub(super) fn described(sided: Sided, [left, right]: [f64; 2]) -> String {
    let what = match sided {
        Sided::Is(Side::Left) => "claimed is the left one",
        Sided::Is(Side::Right) => "claimed is the right one",
        Sided::Is(Side::Between) => "claimed lies between",
        Sided::Is(Side::Beside) => "claimed is that right beside",
        Sided::Neither => NEITHER,
        Sided::Untold => "not known well enough to tell which is claimed",
    };
    format!("left {left:.6e}, right {right:.6e}; {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_a_sides_between_or_neither_as_far_as_errors_tell() {
        let side = |value: f64, error: f64| Limit { value, error, level: 3 };
        let judged = |claimed: f64, error: f64| {
            let forward = sided(claimed, [side(-1.0, error), side(2.0, error)], 1e-5);
            let backward = sided(claimed, [side(2.0, error), side(-1.0, error)], 1e-5);
            let mirrored = match backward {
                Sided::Is(Side::Left) => Sided::Is(Side::Right),
                Sided::Is(Side::Right) => Sided::Is(Side::Left),
                other => other,
            };
            assert_eq!(forward, mirrored);
            forward
        };
        assert_eq!(judged(-1.0 - 5e-6, 1e-9), Sided::Is(Side::Left));
        assert_eq!(judged(2.0 + 1e-5, 1e-9), Sided::Is(Side::Right));
        assert_eq!(judged(0.3, 1e-9), Sided::Is(Side::Between));
        assert_eq!(judged(2.0001, 1e-9), Sided::Neither);
        assert_eq!(judged(-1.001, 1e-9), Sided::Neither);
        // What the errors allow is not wrong, and not told where they are large.
        assert_eq!(judged(2.02, 1e-2), Sided::Is(Side::Right));
        assert_eq!(judged(2.02, 1.0), Sided::Untold);
        assert_eq!(judged(0.0, 1.0), Sided::Untold);
        assert_eq!(judged(20.0, 1.0), Sided::Neither);
        assert_eq!(judged(0.0, f64::INFINITY), Sided::Untold);
    }
}
