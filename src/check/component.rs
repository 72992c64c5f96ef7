//! One component of a function around a point: its derivative there by differences, what kind of point
//! it is, and what both say of a claim.

use super::comparison::{CheckSettings, Comparison, Differences, Verdict};
use super::limits::{Limit, limit};
use super::noise::NOISE_RESERVE;
use super::sides::{Sided, described, sided};

/// One component's values around the point, largest step first.
pub(super) struct Samples<'a> {
    /// The value at the point.
    pub center: f64,
    /// The steps to the right and to the left.
    pub steps: &'a [[f64; 2]],
    /// The values there.
    pub samples: Vec<(f64, f64)>,
    /// How far a value is from that of a smooth function, at most.
    pub rounding: f64,
    /// What a value of its magnitude rounds at, at least.
    pub least_rounding: f64,
    /// From one step to the next.
    pub ratio: f64,
}

/// What kind of point the samples surround.
enum Point {
    Smooth,
    Kink,
    /// The value jumps on one side.
    Jump,
    /// The value jumps on both sides: the slope at the point is that of something narrower than the
    /// smallest step.
    Apart,
    /// The function is far from linear even over the smallest step.
    Unsettled,
}

/// The note on [`Point::Unsettled`].
pub(super) const UNSETTLED: &str = "differences do not settle at the smallest steps: the value is extremely sensitive \
     to this parameter, as where time steps are too long for the friction or the stiffness";

/// Noise above this many roundings of a value is not rounding.
pub(super) const WANDERING: f64 = 1e3;
/// Second differences that at the smallest of four steps are at least this part of those at the
/// largest have not fallen: at a kink they fall in proportion to the step.
const NOT_FALLEN: f64 = 0.2;
/// A derivative is negligible if over the scale of its parameter, a hundred largest steps by default, it
/// changes the value by less than this many hundredths of its rounding.
const NEGLIGIBLE: f64 = 100.0;
/// A claim that is this many errors of the difference away from it, beyond the tolerance, is wrong: less may be chance, as
/// errors are estimates.
const DOUBT: f64 = 3.0;
/// Differences at smaller steps that are this many times closer to a claim than the derivative by differences speak for it.
const CLOSER: f64 = 10.0;
/// Change of a difference from one step to the next above which it has not settled.
const SETTLED: f64 = 0.05;

impl Samples<'_> {
    /// The largest of the values.
    pub fn largest(&self) -> f64 {
        self.samples.iter().fold(self.center.abs(), |a, s| a.max(s.0.abs()).max(s.1.abs()))
    }

    fn central(&self, k: usize) -> f64 {
        let (plus, minus) = self.samples[k];
        (plus - minus) / (self.steps[k][0] + self.steps[k][1])
    }

    fn one_sided(&self, k: usize) -> [f64; 2] {
        let (plus, minus) = self.samples[k];
        [(self.center - minus) / self.steps[k][1], (plus - self.center) / self.steps[k][0]]
    }

    /// The differences at each step.
    fn differences(&self) -> Vec<Differences> {
        let at_step = |k: usize| {
            let [backward, forward] = self.one_sided(k);
            let step = 0.5 * (self.steps[k][0] + self.steps[k][1]);
            Differences { step, central: self.central(k), forward, backward }
        };
        (0..self.samples.len()).map(at_step).collect()
    }

    /// The derivative by central differences.
    pub fn reference(&self) -> Limit {
        let n = self.samples.len();
        let rounding: Vec<f64> = self.steps.iter().map(|step| self.rounding / step[0]).collect();
        limit((0..n).map(|k| self.central(k)).collect(), &rounding, &[self.ratio * self.ratio])
    }

    /// The derivatives from the left and from the right. Where the value `jumps` they are those of the
    /// values beside the point.
    fn sides(&self, jumps: bool) -> [Limit; 2] {
        let last = self.samples.len() - usize::from(jumps);
        [1, 0].map(|side| {
            let value = |k: usize| if side == 0 { self.samples[k].0 } else { self.samples[k].1 };
            let slope = |k: usize| {
                let (from, at) = match jumps {
                    true => (value(k + 1), self.steps[k + 1][side]),
                    false => (self.center, 0.0),
                };
                let rise = if side == 0 { value(k) - from } else { from - value(k) };
                let step = self.steps[k][side] - at;
                (rise / step, 4.0 * self.rounding / step)
            };
            let (slopes, rounding): (Vec<f64>, Vec<f64>) = (0..last).map(slope).unzip();
            limit(slopes, &rounding, &[self.ratio, self.ratio * self.ratio])
        })
    }

    /// Whether differences at the smallest steps, though far above rounding, still change from
    /// each step to the next.
    fn unsettled(&self) -> bool {
        let n = self.samples.len();
        (n - 4..n).all(|k| {
            let (now, before) = (self.central(k), self.central(k - 1));
            let (plus, minus) = self.samples[k];
            (plus - minus).abs() > 1e3 * self.rounding && (now - before).abs() > SETTLED * now.abs()
        })
    }

    /// Whether the value at the point lies beside those around it however close they are: its second
    /// differences do not fall over the smallest steps, though they are above rounding. The slope at
    /// the point belongs to something narrower than the smallest step.
    fn lies_apart(&self, second: &[f64]) -> bool {
        let smallest = &second[second.len() - 4..];
        smallest.iter().all(|s| s.abs() > 2.0 * self.rounding)
            && smallest[3].abs() > NOT_FALLEN * smallest[0].abs()
    }

    /// Whether a slope as steep as claimed would end within the smallest step, while the values vary
    /// from step to step by far more than rounding, so that no digit of a difference is reliable. What
    /// looks like noise may then be that slope, and differences cannot decide.
    fn is_out_of_reach(&self, claimed: f64, difference: f64, error: f64) -> bool {
        if 10.0 * error < difference.abs() {
            return false;
        }
        let smallest = self.steps.last().map_or(0.0, |step| step[0]);
        let wanders = self.rounding > WANDERING * f64::EPSILON * self.largest();
        wanders && claimed.abs() * smallest >= self.rounding / (2.0 * NOISE_RESERVE)
    }

    /// Whether differences at smaller steps than the derivative was taken at, three in a row, are far closer to a claim than
    /// that derivative is, be they central or those to one side. Where the function changes at a distance, as where a contact gains a face, differences at larger
    /// steps may level off at another value, and what the change does to the smallest steps may look like noise there. Only
    /// differences that noise cannot bring so close count: it is read off the smallest steps, over which slopes come to less.
    fn is_confirmed_nearby(&self, c: &Comparison) -> bool {
        let close = (c.claimed - c.difference).abs() / CLOSER;
        let differences: [&dyn Fn(usize) -> f64; 3] =
            [&|k| self.central(k), &|k| self.one_sided(k)[0], &|k| self.one_sided(k)[1]];
        let smallest = self.samples.len() - 4..self.samples.len();
        differences.into_iter().any(|difference| {
            let off = |k: usize| (difference(k) - c.claimed).abs();
            let noise = smallest.clone().fold(0.0f64, |most, k| most.max(off(k) * self.steps[k][0]));
            let confirms = |k: usize| {
                let step = self.steps[k][0];
                step < c.step && off(k) <= close && noise <= close * step
            };
            (2..self.samples.len()).any(|k| (k - 2..=k).all(confirms))
        })
    }

    /// Smooth, kink or jump, from how second differences fall with the step.
    fn point(&self) -> Point {
        let n = self.samples.len();
        let significant = 100.0 * self.rounding;
        let jumps = |values: &dyn Fn(usize) -> f64| {
            let last = values(n - 1);
            last.abs() > significant && (n - 4..n).all(|k| (values(k) / last - 1.0).abs() < 0.1)
        };
        let to_right = jumps(&|k| self.samples[k].0 - self.center);
        let to_left = jumps(&|k| self.center - self.samples[k].1);
        match (to_left, to_right) {
            (true, true) => return Point::Apart,
            (true, false) | (false, true) => return Point::Jump,
            (false, false) => {}
        }
        let second: Vec<f64> =
            (0..n).map(|k| self.samples[k].0 - 2.0 * self.center + self.samples[k].1).collect();
        if self.unsettled() || self.lies_apart(&second) {
            return Point::Unsettled;
        }
        let expected = |k: usize| self.ratio.powf(k as f64);
        // The smallest steps at which s falls in proportion to h, four in a row.
        let in_proportion = |k: usize| {
            let fall = (second[k - 1] / second[k]).ln() / self.ratio.ln();
            second[k].abs() > significant && (0.75..1.25).contains(&fall)
        };
        let Some(last) = (3..n).rev().find(|&k| (k - 2..=k).all(in_proportion)) else {
            return Point::Smooth;
        };
        // Below them s must not fall faster: then the kink is at a distance, and x is smooth.
        for k in last + 1..n {
            let proportional = second[last].abs() / expected(k - last);
            let tail = second[k..].iter().fold(0.0f64, |a, b| a.max(b.abs()));
            if proportional > 10.0 * self.rounding && tail < 0.3 * proportional {
                return Point::Smooth;
            }
        }
        Point::Kink
    }

    /// Judges a claim, and keeps the differences where they do not settle it.
    pub fn judge(&self, claimed: f64, settings: &CheckSettings) -> Comparison {
        let mut judged = self.judged(claimed, settings);
        if !judged.verdict.is_settled() {
            judged.differences = self.differences();
        }
        judged
    }

    fn judged(&self, claimed: f64, settings: &CheckSettings) -> Comparison {
        let Limit { value: difference, error, level } = self.reference();
        let mut result = Comparison {
            value: self.center,
            claimed,
            difference,
            difference_error: error,
            one_sided: self.one_sided(level),
            relative_error: relative_error(claimed, difference),
            step: self.steps[level][0],
            verdict: Verdict::Ok,
            side: None,
            note: String::new(),
            differences: Vec::new(),
        };
        let unchanged = self.samples.iter().all(|s| s.0 == self.center && s.1 == self.center);
        (result.verdict, result.note) = if !claimed.is_finite() {
            (Verdict::Wrong, "the claimed derivative is not finite".into())
        } else if !self.center.is_finite()
            || self.samples.iter().any(|s| !s.0.is_finite() || !s.1.is_finite())
        {
            (Verdict::Noisy, "the function is not finite near this point".into())
        } else if !difference.is_finite() {
            (Verdict::Noisy, "the differences are not finite".into())
        } else if unchanged && claimed == 0.0 {
            (Verdict::Zero, String::new())
        } else {
            match self.point() {
                Point::Jump => {
                    self.judge_by_sides(&mut result, true, settings);
                    result.note = format!("the value jumps here: {}", result.note);
                    return result;
                }
                Point::Kink => {
                    self.judge_by_sides(&mut result, false, settings);
                    return result;
                }
                Point::Apart => (Verdict::Kink, "the value jumps here, on both sides".into()),
                Point::Unsettled => (Verdict::Noisy, UNSETTLED.into()),
                Point::Smooth => self.smooth_verdict(&result, settings.tolerance),
            }
        };
        result
    }

    /// Judges a claim by the derivatives from both sides, as at a kink.
    pub fn judge_by_sides(&self, c: &mut Comparison, jumps: bool, settings: &CheckSettings) {
        let sides = self.sides(jumps);
        let told = sided(c.claimed, sides, settings.tolerance);
        c.one_sided = sides.map(|side| side.value);
        c.difference = 0.5 * (c.one_sided[0] + c.one_sided[1]);
        c.difference_error = sides[0].error.max(sides[1].error);
        c.relative_error = relative_error(c.claimed, c.difference);
        (c.verdict, c.side) = match told {
            Sided::Is(side) => (Verdict::Kink, Some(side)),
            Sided::Neither => (Verdict::Wrong, None),
            Sided::Untold => (Verdict::Kink, None),
        };
        c.note = described(told, c.one_sided);
    }

    /// The verdict on a claim where the function is smooth.
    fn smooth_verdict(&self, c: &Comparison, tolerance: f64) -> (Verdict, String) {
        let (difference, error) = (c.difference, c.difference_error);
        let larger = c.claimed.abs().max(difference.abs());
        let discrepancy = (c.claimed - difference).abs();
        // Over the largest step the value changes by less than it rounds, and so it does as claimed.
        let rounds = self.rounding.min(WANDERING * self.least_rounding) / self.steps[0][0];
        if larger <= rounds {
            return (Verdict::Zero, String::new());
        }
        if error <= 10.0 * tolerance * larger {
            if discrepancy <= tolerance * larger + error {
                return (Verdict::Ok, String::new());
            }
            if discrepancy <= tolerance * larger + DOUBT * error {
                return (Verdict::Noisy, format!("differences are known to {error:.1e} only"));
            }
        } else if larger <= NEGLIGIBLE * rounds && discrepancy <= error.min(NEGLIGIBLE * rounds) {
            // As at a minimum: there is little to know, and what is known agrees.
            return (Verdict::Zero, String::new());
        } else if discrepancy <= 10.0 * error || !error.is_finite() {
            // The differences are poor; a claim far outside their error is wrong all the same.
            return (Verdict::Noisy, format!("differences are known to {error:.1e} only"));
        }
        if self.is_confirmed_nearby(c) {
            let note = "differences level off at two values: at smaller steps they agree with the claim";
            return (Verdict::Noisy, note.into());
        }
        match self.is_out_of_reach(c.claimed, difference, error) {
            true => (Verdict::Noisy, UNSETTLED.into()),
            false => (Verdict::Wrong, String::new()),
        }
    }
}

/// How far two derivatives are apart, over the larger of them.
fn relative_error(claimed: f64, difference: f64) -> f64 {
    let larger = claimed.abs().max(difference.abs());
    if larger > 0.0 { (claimed - difference).abs() / larger } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences of one step, forward and backward, from the largest step on.
    fn judged(largest: f64, differences: &[[f64; 2]], rounding: f64, claimed: f64) -> Verdict {
        let ratio = 10f64.sqrt();
        let steps: Vec<[f64; 2]> =
            (0..differences.len()).map(|k| [largest / ratio.powi(k as i32); 2]).collect();
        let samples =
            differences.iter().zip(&steps).map(|([forward, backward], h)| (forward * h[0], -backward * h[1]));
        let samples = samples.collect();
        let (center, least_rounding) = (0.0, 1e-17);
        let all = Samples { center, steps: &steps, samples, rounding, least_rounding, ratio };
        all.judge(claimed, &CheckSettings::default()).verdict
    }

    #[test]
    fn a_claim_that_small_steps_confirm_is_not_wrong_for_what_happens_at_a_distance() {
        // Of the place of a box that is pushed, with respect to a vertex of it: a face joins its contact 1.7 µm away.
        let differences = [
            [7.938126499742089e-5, 7.561213677179735e-5],
            [7.880290503749373e-5, 7.615266297435225e-5],
            [7.857956262383863e-5, 7.632455983377206e-5],
            [7.837796340914442e-5, 7.637900914674333e-5],
            [7.789977394797078e-5, 7.639623078973919e-5],
            [7.64378456382605e-5, 7.640163025068004e-5],
            [7.640529008051523e-5, 7.640315345530813e-5],
            [7.640500855337354e-5, 7.640365723294142e-5],
            [7.64057174024957e-5, 7.640144415208169e-5],
            [7.640365722003568e-5, 7.640365722003568e-5],
            [7.640571737188626e-5, 7.640571737188626e-5],
            [7.648473651054723e-5, 7.634960446724238e-5],
            [7.649118278871469e-5, 7.649118278871469e-5],
            [7.702526403323033e-5, 7.56739436115947e-5],
            [7.691850577790182e-5, 7.691850577790182e-5],
        ];
        let verdict = |claimed| judged(5.196152422706629e-4, &differences, 1.2e-11, claimed);
        let right = 7.640421870879964e-5;
        assert!(matches!(verdict(right), Verdict::Ok | Verdict::Noisy), "{:?}", verdict(right));
        for wrong in [0.9 * right, 1.05 * right, -right, 0.0] {
            assert_eq!(verdict(wrong), Verdict::Wrong, "{wrong}");
        }
    }

    #[test]
    fn differences_that_noise_brings_to_a_claim_do_not_confirm_it() {
        // Of a velocity with respect to an inertia: the derivative is −5.98424e-4, and over the smallest steps but two values
        // change by a few roundings, which makes three differences in a row agree with a claim that is off by 1e-4 of it.
        let differences = [
            [-6.04885419530632e-4, -5.91986137193912e-4],
            [-6.00464672313228e-4, -5.96385753075371e-4],
            [-5.99069092943605e-4, -5.97779221955807e-4],
            [-5.98627935898723e-4, -5.98220130648639e-4],
            [-5.98488619774073e-4, -5.9835955634746e-4],
            [-5.98443507428077e-4, -5.98404010551555e-4],
            [-5.98427557507719e-4, -5.98417149166863e-4],
            [-5.98421564718898e-4, -5.98421564718898e-4],
            [-5.98410210272959e-4, -5.98410210272959e-4],
            [-5.98487392846434e-4, -5.98377679300541e-4],
            [-5.98479599211998e-4, -5.98479599211998e-4],
            [-5.97938825116969e-4, -5.99035960575899e-4],
            [-5.96744875736021e-4, -6.00214322687975e-4],
            [-5.92453147822318e-4, -6.0342450241162e-4],
            [-5.89805981832114e-4, -5.89805981832114e-4],
        ];
        let verdict = |claimed| judged(2e-6, &differences, 3e-17, claimed);
        assert_eq!(verdict(-5.984838789352371e-4), Verdict::Wrong);
        assert_eq!(verdict(-5.984240402e-4), Verdict::Ok);
    }

    #[test]
    fn wrong_claims_of_smooth_functions_are_confirmed_by_no_difference() {
        // Noise that differs from step to step, as large as it is said to be.
        let noise = |k: usize| ((k as f64 * 12.9898).sin() * 43758.5453).fract();
        for (number, relative) in [1e-2, 1e-3, 1e-4].into_iter().enumerate() {
            for start in 0..200 {
                let (largest, ratio, slope, size) = (1e-2, 10f64.sqrt(), 0.7, 1e-14);
                let differences: Vec<[f64; 2]> = (0..15)
                    .map(|k: i32| {
                        let (h, from) =
                            (largest / ratio.powi(k), 1000 * number + 40 * start + 2 * k as usize);
                        let at =
                            |x: f64, n: usize| slope * x + 0.3 * x * x - 0.2 * x.powi(3) + size * noise(n);
                        [at(h, from) / h, -at(-h, from + 1) / h]
                    })
                    .collect();
                let verdict = judged(largest, &differences, size, slope * (1.0 + relative));
                assert_eq!(verdict, Verdict::Wrong, "{relative} {start}");
                assert_eq!(judged(largest, &differences, size, slope), Verdict::Ok, "{relative} {start}");
            }
        }
    }
}
