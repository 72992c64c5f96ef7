//! What is rounding alone: derivatives that are sums which cancel, and claims that are off by no more
//! than they round.

use super::comparison::{Comparison, Differences, Verdict};
use super::scene::{Quantities, SceneCheck};
use super::sensitivities::{Sensitivities, by_component};
use super::varied::CheckedValue;
use crate::parallel::in_parallel;
use crate::rollout::SimulationError;
use crate::scalar::CHUNK;

/// A sensitivity below this part of the vector's largest is the rounding of sums that cancel.
const NEGLIGIBLE_SENSITIVITY: f64 = 1e-11;

/// A derivative rounds to this part of the component's largest sensitivity at most. The linear system for
/// the derivatives of an implicit step multiplies rounding by the stiffness of contact and friction, and where
/// meshes are all but aligned it is for rounding to say on which piece of a function a point lies.
const KNOWN_SENSITIVITY: f64 = 1e-6;

/// The same where explicit steps are unstable: rounding grows from step to step. Before they are, claims vary by
/// far less when nothing is moved, which is the other limit.
const KNOWN_SENSITIVITY_IF_UNSTABLE: f64 = 1e-2;

/// Moves of a parameter, as parts of its scale, that no derivative follows but by rounding.
const MOVES: [f64; 4] = [1e-12, -1e-12, 3e-12, -2e-12];
/// A claim's rounding is at most this many times what it varies by over so few moves.
const MOVES_RESERVE: f64 = 4.0;

/// How much a derivative may be off and be rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Below it a derivative is 0.
    negligible: f64,
    /// What differences need to know of it.
    settled: f64,
    /// What it is known to at best.
    rounded: f64,
    /// What it may round to, at most.
    known: f64,
    /// What the value rounds to as the numbers that it follows do.
    value: f64,
}

impl Limits {
    /// Those of derivatives with respect to a parameter of this scale, from those of sensitivities.
    pub fn per(self, scale: f64) -> Self {
        let Self { negligible, settled, rounded, known, value } = self;
        let [negligible, settled, rounded, known] =
            [negligible, settled, rounded, known].map(|limit| limit / scale);
        Self { negligible, settled, rounded, known, value }
    }
}

/// Settles what differences know to be right to all digits that any way of making it has, so that no others are needed; whether it is.
pub(super) fn settle_at_once(c: &mut Comparison, Limits { negligible, rounded, .. }: Limits) -> bool {
    let is_zero = c.claimed.abs() <= negligible && c.difference.abs() + c.difference_error <= negligible;
    let is_right = (c.claimed - c.difference).abs() + c.difference_error <= rounded;
    // Between the derivatives of two sides a claim may be of neither.
    if !(is_zero || is_right) || c.verdict == Verdict::Kink {
        return false;
    }
    if !c.verdict.is_settled() {
        (c.verdict, c.side, c.note) =
            (if is_zero { Verdict::Zero } else { Verdict::Ok }, None, String::new());
        c.differences.clear();
    }
    true
}

/// Settles what is negligible against the component's other derivatives, whatever differences seem to
/// show: they round no better.
pub(super) fn settle_negligible(c: &mut Comparison, Limits { negligible, settled, .. }: Limits) {
    let is_small = |x: f64| x.abs() <= negligible;
    let no_difference = match c.verdict {
        Verdict::Ok | Verdict::Zero => return,
        Verdict::Noisy => {
            is_small(c.difference) || c.difference.abs() + 2.0 * c.difference_error <= UNKNOWN * settled
        }
        Verdict::Wrong | Verdict::Kink => is_small(c.difference) || c.one_sided.iter().all(|&x| is_small(x)),
    };
    if is_small(c.claimed) && no_difference {
        (c.verdict, c.side, c.note) = (Verdict::Zero, None, String::new());
        c.differences.clear();
    }
}

/// A derivative that differences know to this part of the component's largest sensitivity, and that agrees,
/// is right, however small it is.
const SETTLED_SENSITIVITY: f64 = 1e-9;
/// One that is negligible is so too if differences do not know that it is this many times as large.
const UNKNOWN: f64 = 10.0;
/// It agrees if it is off by less than this many times the error of the differences.
const SETTLED_RESERVE: f64 = 2.0;

/// A derivative that is off by less than this part of the component's largest sensitivity is right: every way
/// of making it, the implicit function theorem too, rounds by so much.
pub(super) const ROUNDED_SENSITIVITY: f64 = 1e-11;

/// Settles what differences do not know to many digits of its own, but to many of the component's largest
/// sensitivity; and what is off in digits that no way of making it has.
pub(super) fn settle_known(c: &mut Comparison, Limits { settled, rounded, .. }: Limits) {
    let off = (c.claimed - c.difference).abs();
    let agrees = off <= SETTLED_RESERVE * c.difference_error;
    let is_right = match c.verdict {
        Verdict::Noisy => agrees && off + c.difference_error <= settled,
        Verdict::Wrong => off + c.difference_error <= rounded,
        Verdict::Ok | Verdict::Zero | Verdict::Kink => false,
    };
    if is_right {
        (c.verdict, c.note) = (Verdict::Ok, String::new());
        c.differences.clear();
    }
}

/// Differences that are this many times closer to a claim than the derivative by differences speak for it, and those at the
/// smallest steps, which noise could bring so close at one of them, by this many.
const CLOSER: f64 = 10.0;
const FAR_CLOSER: f64 = 1e3;

/// Excuses a claim that differences confirm at other steps than the derivative was taken at. At three larger ones in a
/// row, over which it comes to no more than the value rounds: a value rounds alike at all steps below some length, so that
/// differences there can be steady, and those of another function. Or to both sides at the two smallest ones, where a contact
/// changes within the others.
fn settle_confirmed(c: &mut Comparison, Limits { value, .. }: Limits) {
    if c.verdict != Verdict::Wrong {
        return;
    }
    let discrepancy = (c.claimed - c.difference).abs();
    let is_close = |difference: f64, times: f64| (difference - c.claimed).abs() <= discrepancy / times;
    let at_larger = |d: &Differences| d.step > c.step && is_close(d.central, CLOSER);
    let at_smaller = |d: &Differences| {
        d.step < c.step && is_close(d.forward, FAR_CLOSER) && is_close(d.backward, FAR_CLOSER)
    };
    let rounds = discrepancy * c.step <= value;
    let larger = rounds && c.differences.windows(3).any(|three| three.iter().all(at_larger));
    let smallest = c.differences.last_chunk::<2>().is_some_and(|two| two.iter().all(at_smaller));
    c.note = match (larger, smallest) {
        (true, _) => {
            format!("differences agree at larger steps; over {:.1e} the value rounds by more", c.step)
        }
        (_, true) => {
            format!("differences agree at the smallest steps; something else changes within {:.1e}", c.step)
        }
        (false, false) => return,
    };
    (c.verdict, c.side) = (Verdict::Noisy, None);
}

/// Excuses a claim that is off by no more than it varies by when its parameter is moved by nothing.
fn settle_rounding(c: &mut Comparison, rounds: f64, Limits { known, .. }: Limits) {
    let rounds = MOVES_RESERVE * rounds;
    if c.verdict == Verdict::Wrong && (c.claimed - c.difference).abs() <= rounds.min(known) {
        c.verdict = Verdict::Noisy;
        c.note = format!("off by no more than the derivative itself rounds, {rounds:.1e}");
    }
}

impl SceneCheck<'_> {
    /// How much sensitivities may be off and be rounding.
    pub(super) fn limits_of_rounding(&self, largest: &Sensitivities) -> Vec<Vec<Limits>> {
        let known = match self.instability {
            Some(_) => KNOWN_SENSITIVITY_IF_UNSTABLE,
            None => KNOWN_SENSITIVITY,
        };
        let of_vector = |vector: &Vec<f64>| {
            // A component rounds with the others of its vector.
            let most = vector.iter().copied().fold(0.0, f64::max);
            let of_component = |largest: &f64| Limits {
                negligible: NEGLIGIBLE_SENSITIVITY * most,
                settled: SETTLED_SENSITIVITY * largest,
                rounded: ROUNDED_SENSITIVITY * largest,
                known: known * largest,
                value: f64::EPSILON * largest,
            };
            vector.iter().map(of_component).collect()
        };
        largest.iter().map(of_vector).collect()
    }

    /// Gives the verdict [`Verdict::Zero`] to derivatives that are rounding: by symmetry a force may
    /// not depend on a parameter at all, and yet its derivative is a sum that cancels to 10⁻¹⁶ only. What
    /// is off by its own rounding alone is [`Verdict::Noisy`].
    ///
    /// Each is measured by the `largest` sensitivity of the same component to any parameter, and its
    /// rounding by how the claim varies when nothing is moved.
    pub(super) fn settle_small(
        &self,
        parameters: &[CheckedValue],
        compared: &mut [Vec<Vec<Comparison>>],
        largest: &Sensitivities,
    ) -> Result<(), SimulationError> {
        let limits = self.limits_of_rounding(largest);
        let mut open = Vec::new();
        for (i, (parameter, of_parameter)) in parameters.iter().zip(compared.iter_mut()).enumerate() {
            let mut is_open = false;
            let scale = self.scale_of(parameter);
            for (c, limits) in by_component(of_parameter, &limits) {
                let limits = limits.per(scale);
                settle_negligible(c, limits);
                settle_known(c, limits);
                settle_confirmed(c, limits);
                is_open |= c.verdict == Verdict::Wrong && (c.claimed - c.difference).abs() <= limits.known;
            }
            open.extend(is_open.then_some(i));
        }
        let moved: Vec<CheckedValue> = open.iter().map(|&i| parameters[i].clone()).collect();
        for (&i, rounds) in open.iter().zip(self.rounding_of_claims(&moved)?) {
            let scale = self.scale_of(&parameters[i]);
            for (q, components) in compared[i].iter_mut().enumerate() {
                for ((c, limits), rounds) in components.iter_mut().zip(&limits[q]).zip(&rounds[q]) {
                    settle_rounding(c, *rounds, limits.per(scale));
                }
            }
        }
        Ok(())
    }

    /// How much the derivatives with respect to each parameter vary when it is moved by nothing.
    fn rounding_of_claims(
        &self,
        parameters: &[CheckedValue],
    ) -> Result<Vec<Quantities<f64>>, SimulationError> {
        let of_chunk = |chunk: &[CheckedValue]| {
            let claimed = self.claimed(chunk, 0.0)?;
            let mut most: Vec<Quantities<f64>> = claimed.clone();
            most.iter_mut().flatten().flatten().for_each(|x| *x = 0.0);
            for part in MOVES {
                let moved = match self.claimed(chunk, part) {
                    Err(error) if error.is_failed_step() => continue,
                    outcome => outcome?,
                };
                let pairs = claimed.iter().flatten().flatten().zip(moved.iter().flatten().flatten());
                for (most, (a, b)) in most.iter_mut().flatten().flatten().zip(pairs) {
                    *most = most.max((a - b).abs());
                }
            }
            Ok::<_, SimulationError>(most)
        };
        let all = in_parallel(parameters.chunks(CHUNK), of_chunk);
        Ok(all.into_iter().collect::<Result<Vec<_>, _>>()?.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { negligible: 1e-11, settled: 1e-9, rounded: 1e-11, known: 1e-8, value: 1e-15 };

    fn comparison(claimed: f64, difference: f64, difference_error: f64, verdict: Verdict) -> Comparison {
        Comparison {
            value: 1.0,
            claimed,
            difference,
            difference_error,
            one_sided: [difference; 2],
            relative_error: 1.0,
            step: 1e-6,
            verdict,
            side: None,
            note: String::new(),
            differences: Vec::new(),
        }
    }

    #[test]
    fn what_is_negligible_against_the_components_largest_sensitivity_is_zero() {
        let settled = |claimed: f64, difference: f64, error: f64, verdict: Verdict| {
            let mut c = comparison(claimed, difference, error, verdict);
            settle_negligible(&mut c, LIMITS);
            c.verdict
        };
        assert_eq!(settled(3e-12, -2e-12, 1e-13, Verdict::Wrong), Verdict::Zero);
        assert_eq!(settled(3e-12, -2e-12, 1e-13, Verdict::Noisy), Verdict::Zero);
        assert_eq!(settled(3e-12, -2e-12, 1e-13, Verdict::Kink), Verdict::Zero);
        assert_eq!(settled(0.0, 3e-10, 1e-9, Verdict::Noisy), Verdict::Zero);
        // A derivative that is missing, and one that differences say nothing of.
        assert_eq!(settled(0.0, 2e-8, 1e-13, Verdict::Wrong), Verdict::Wrong);
        assert_eq!(settled(0.0, 2e-8, 1.0, Verdict::Noisy), Verdict::Noisy);
        assert_eq!(settled(3e-9, -2e-9, 1e-13, Verdict::Kink), Verdict::Kink);
    }

    #[test]
    fn what_differences_know_to_nine_digits_of_the_largest_sensitivity_is_right() {
        let settled = |claimed: f64, difference: f64, error: f64, verdict: Verdict| {
            let mut c = comparison(claimed, difference, error, verdict);
            settle_known(&mut c, LIMITS);
            c.verdict
        };
        assert_eq!(settled(3.2e-8, 3.21e-8, 1e-10, Verdict::Noisy), Verdict::Ok);
        // Known to that much and off by more than its error; or not known.
        assert_eq!(settled(3.2e-8, 3.25e-8, 1e-10, Verdict::Noisy), Verdict::Noisy);
        assert_eq!(settled(3.2e-8, 3.21e-8, 1e-9, Verdict::Noisy), Verdict::Noisy);
        // What is known better is wrong where it is off by more than any way rounds.
        assert_eq!(settled(3.2e-8, 3.2008e-8, 1e-13, Verdict::Wrong), Verdict::Ok);
        assert_eq!(settled(3.2e-8, 3.202e-8, 1e-13, Verdict::Wrong), Verdict::Wrong);
    }

    #[test]
    fn steady_differences_over_which_the_value_rounds_do_not_refute_what_larger_steps_confirm() {
        // Of the velocity of a box that a gripper closes on, with respect to the friction of its table.
        let differences = [
            (5.00e-03, 1.697700e-08),
            (1.58e-03, 1.697717e-08),
            (5.00e-04, 1.697647e-08),
            (1.58e-04, 1.697577e-08),
            (5.00e-05, 1.697983e-08),
            (1.58e-05, 1.703164e-08),
            (5.00e-06, 1.725781e-08),
            (1.58e-06, 1.623253e-08),
            (5.00e-07, 1.852078e-08),
            (1.58e-07, 1.755965e-08),
            (5.00e-08, -2.276391e-08),
            (1.58e-08, 3.614376e-08),
            (5.00e-09, 3.621235e-08),
            (1.58e-09, 3.545119e-08),
            (5.00e-10, 3.816392e-08),
        ];
        let settled = |claimed: f64, value: f64| {
            let mut c = comparison(claimed, 3.621235e-8, 1e-10, Verdict::Wrong);
            c.step = 5e-9;
            let at = |(step, central): (f64, f64)| Differences {
                step,
                central,
                forward: central,
                backward: central,
            };
            c.differences = differences.map(at).to_vec();
            settle_confirmed(&mut c, Limits { value, ..LIMITS });
            c.verdict
        };
        assert_eq!(settled(1.6976636e-8, 1e-15), Verdict::Noisy);
        // A value that does not round by so much, and a claim that no steps confirm.
        assert_eq!(settled(1.6976636e-8, 1e-17), Verdict::Wrong);
        assert_eq!(settled(1.3e-8, 1e-15), Verdict::Wrong);
    }

    #[test]
    fn steady_differences_do_not_refute_what_the_smallest_steps_confirm() {
        // Of the turning of a box that lies on a table, with respect to the height of one of its corners: its contact changes
        // within 1e-9 m, and a hundred times farther away.
        let smallest = [(5.2e-9, 6.4335e-5), (1.6e-9, 4.1798e-5), (5.2e-10, 3.5705e-5)];
        let settled = |claimed: f64, last: [f64; 2]| {
            let mut c = comparison(claimed, 6.731622e-5, 5.5e-7, Verdict::Wrong);
            let smallest = smallest.into_iter().chain([(1.6e-10, last[0]), (5.2e-11, last[1])]);
            let at = |(step, central)| Differences { step, central, forward: central, backward: central };
            c.differences = smallest.map(at).collect();
            settle_confirmed(&mut c, LIMITS);
            c.verdict
        };
        assert_eq!(settled(3.2923933e-5, [3.2924248e-5, 3.2924018e-5]), Verdict::Noisy);
        // Another claim, and one that the last step alone confirms.
        assert_eq!(settled(3.4e-5, [3.2924248e-5, 3.2924018e-5]), Verdict::Wrong);
        assert_eq!(settled(3.2923933e-5, [3.4e-5, 3.2924018e-5]), Verdict::Wrong);
    }

    #[test]
    fn a_claim_is_excused_by_its_own_rounding_only() {
        let settled = |claimed: f64, difference: f64, rounds: f64| {
            let mut c = comparison(claimed, difference, 1e-13, Verdict::Wrong);
            settle_rounding(&mut c, rounds, LIMITS);
            c.verdict
        };
        assert_eq!(settled(3e-9, -2e-9, 2e-9), Verdict::Noisy);
        assert_eq!(settled(3e-9, -2e-9, 1e-10), Verdict::Wrong);
        // However much it varies, there is an end to rounding.
        assert_eq!(settled(1.0, 1.0 + 2e-8, 1.0), Verdict::Wrong);
    }
}
