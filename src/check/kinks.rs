//! Which differences count: those over steps along which the contacts stay the same; and what is
//! said where there are none.

use super::comparison::{CheckSettings, Comparison, NARROW, Verdict};
use super::contact_events::{Event, described};
use super::rounding::{Limits, settle_at_once, settle_known, settle_negligible};
use super::samples::Sampled;
use super::scene::{Quantities, SceneCheck};
use super::sensitivities::by_component;
use super::sides::is_neither;
use super::varied::{CheckedValue, Varied, settings_for};
use super::ways::AGREEMENT;

use crate::rollout::SimulationError;

/// What differences are limited by along one parameter, for each quantity.
struct Steps {
    /// The event that the largest steps are left out for, if any are.
    event: Vec<Option<Event>>,
    /// The first step of the trajectory at which meshes are aligned.
    aligned: Vec<Option<Event>>,
    /// The first step of differences that counts.
    first: Vec<usize>,
}

/// The claimed derivatives of all quantities where a parameter is moved by parts of its scale.
type Claims = Vec<(f64, Quantities<f64>)>;

/// The quantities around a parameter's value. Claims are judged by them without simulating again.
pub(super) struct Surroundings {
    varied: Varied,
    value: f64,
    sampled: Sampled,
    /// Found where a claim does not agree at once, with the noise of the samples.
    limits: Option<Steps>,
}

impl SceneCheck<'_> {
    /// Evaluates the quantities around a parameter's value.
    pub(super) fn surroundings(
        &self,
        parameter: &CheckedValue,
        settings: &CheckSettings,
    ) -> Result<Surroundings, SimulationError> {
        let (scale, (varied, _, value)) = (self.scale_of(parameter), parameter);
        let (varied, value) = (*varied, *value);
        let settings = &settings_for(&varied, settings);
        let sampled = Sampled::around(&mut |x| self.values_or_none(varied, x), value, scale, settings)?;
        Ok(Surroundings { varied, value, sampled, limits: None })
    }

    /// The claimed derivatives of all quantities with respect to one parameter, compared.
    pub(super) fn compare(
        &self,
        around: &mut Surroundings,
        claimed: &[Vec<f64>],
        (magnitudes, rounding): (&[f64], &[Vec<Limits>]),
        settings: &CheckSettings,
    ) -> Result<Vec<Vec<Comparison>>, SimulationError> {
        let Surroundings { varied, value, sampled, limits } = around;
        sampled.restrict(Vec::new());
        let values = &mut |x| self.values_or_none(*varied, x);
        let parameter = (*varied, String::new(), *value);
        let scale = self.scale_of(&parameter);
        let settle =
            |c: &mut Comparison, (q, i): (usize, usize)| settle_at_once(c, rounding[q][i].per(scale));
        let mut compared = sampled.judge_completed(values, claimed, magnitudes, settings, &settle)?;
        // What is small beside the component's other derivatives needs no noise to be told.
        for (c, limits) in by_component(&mut compared, rounding) {
            settle_negligible(c, limits.per(scale));
            settle_known(c, limits.per(scale));
        }
        if compared.iter().flatten().all(|c| c.verdict.is_settled()) {
            return Ok(compared);
        }
        let limits = match limits {
            Some(limits) => limits,
            None => {
                let asked: Vec<bool> = claimed.iter().map(|components| !components.is_empty()).collect();
                limits.insert(self.limits(sampled, *varied, *value, &asked)?)
            }
        };
        let mut claims = Claims::new();
        sampled.restrict(limits.first.clone());
        let mut again = sampled.judge(claimed, magnitudes, settings);
        let is_clear = |(q, (before, again)): (usize, (&Vec<Comparison>, &Vec<Comparison>))| {
            let may_jump = !sampled.has_enough(q) || limits.aligned[q].is_some();
            let mut pairs = before.iter().zip(again);
            pairs.all(|(c, again)| c.verdict.is_settled() || (!may_jump && again.is_clear(settings)))
        };
        if !compared.iter().zip(&again).enumerate().all(is_clear) && !sampled.knows_noise() {
            sampled.measure_noise(&mut |x| self.values_or_none(*varied, x))?;
            again = sampled.judge(claimed, magnitudes, settings);
        }
        for (quantity, (components, again)) in compared.iter_mut().zip(again).enumerate() {
            let magnitude = magnitudes.get(quantity).copied().unwrap_or(0.0);
            let (count, has_enough) = (components.len(), sampled.has_enough(quantity));
            // Whether derivatives may jump at the point itself.
            let may_jump = !has_enough || limits.aligned[quantity].is_some();
            for (i, (c, again)) in components.iter_mut().zip(again).enumerate() {
                if c.verdict.is_settled() {
                    continue;
                }
                *c = again;
                if may_jump && matches!(c.verdict, Verdict::Wrong | Verdict::Noisy) && c.claimed.is_finite() {
                    let mut by_sides = c.clone();
                    sampled.judge_by_sides(&mut by_sides, (quantity, i), (count, magnitude), settings);
                    // What differences cannot tell, sides do not make wrong.
                    if c.verdict == Verdict::Wrong || by_sides.side.is_some() {
                        *c = by_sides;
                    }
                }
                if !c.verdict.is_settled() {
                    self.explain(c, quantity, limits, has_enough);
                }
                if c.verdict == Verdict::Wrong
                    && self.is_right_around(c, &parameter, (quantity, i), settings.tolerance, &mut claims)?
                {
                    (c.verdict, c.side) = (Verdict::Kink, None);
                    c.note = says_more(c, &format!("right on both sides of it: {NARROW}"));
                }
            }
        }
        Ok(compared)
    }

    /// Whether derivatives at a distance to both sides of a parameter's value, as far as differences reach, agree on their mean
    /// with the difference. A mistake would be there as well as at the point.
    fn is_right_around(
        &self,
        c: &Comparison,
        parameter: &CheckedValue,
        (quantity, component): (usize, usize),
        tolerance: f64,
        claims: &mut Claims,
    ) -> Result<bool, SimulationError> {
        let part = c.step / self.scale_of(parameter);
        let off_here = (c.claimed - c.difference).abs();
        let mut claimed = |part: f64| {
            let known = claims.iter().position(|(at, _)| *at == part);
            let known = match known {
                Some(known) => known,
                None => {
                    let all = self.claimed(std::slice::from_ref(parameter), part)?.swap_remove(0);
                    claims.push((part, all));
                    claims.len() - 1
                }
            };
            Ok::<_, SimulationError>(claims[known].1[quantity][component])
        };
        // What is claimed is this derivative indeed, and not one by another way.
        if (claimed(0.0)? - c.claimed).abs() > AGREEMENT * c.claimed.abs() {
            return Ok(false);
        }
        for away in AROUND {
            let mean = match (claimed(-away * part), claimed(away * part)) {
                (Err(error), _) | (_, Err(error)) if error.is_failed_step() => return Ok(false),
                (left, right) => 0.5 * (left? + right?),
            };
            let (off, larger) = ((mean - c.difference).abs(), mean.abs().max(c.difference.abs()));
            if off <= tolerance * larger + ERRORS * c.difference_error && CLOSER * off <= off_here {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The quantities with a parameter at a value; none where a step fails.
    fn values_or_none(&self, varied: Varied, value: f64) -> Result<Quantities<f64>, SimulationError> {
        match self.evaluate(self.applied, &[(varied, value)]) {
            Err(error) if error.is_failed_step() => Ok(Vec::new()),
            outcome => outcome,
        }
    }

    /// Those steps of differences over which nothing happens along the trajectory that does not happen
    /// at the point itself, for the quantities that are asked for.
    fn limits(
        &self,
        sampled: &Sampled,
        varied: Varied,
        value: f64,
        asked: &[bool],
    ) -> Result<Steps, SimulationError> {
        let center = self.watched(&[(varied, value)])?;
        let quantities = asked.len();
        let spans: Vec<usize> = (0..quantities).map(|q| self.steps_before(q)).collect();
        let aligned = spans.iter().map(|&steps| center.first_aligned(steps)).collect();
        let (mut event, mut first) = (vec![None; quantities], vec![0; quantities]);
        for (level, sides) in sampled.arguments() {
            for x in sides {
                let beside = match self.watched(&[(varied, x)]) {
                    Ok(events) => Some(events),
                    Err(error) if error.is_failed_step() => None,
                    Err(error) => return Err(error),
                };
                for (q, &steps) in spans.iter().enumerate() {
                    if event[q].is_some() || !asked[q] {
                        continue;
                    }
                    event[q] = match &beside {
                        Some(events) => center.first_difference(events, steps),
                        None => Some(Event::failed(steps)),
                    };
                    if event[q].is_some() {
                        first[q] = level + 1;
                    }
                }
            }
            if event.iter().zip(asked).all(|(event, asked)| event.is_some() || !asked) {
                break;
            }
        }
        Ok(Steps { event, aligned, first })
    }

    /// Adds to the note why a derivative does not agree with differences, where that is known.
    fn explain(&self, c: &mut Comparison, quantity: usize, limits: &Steps, has_enough: bool) {
        let steps = self.steps_before(quantity);
        let (event, aligned) = (limits.event[quantity], limits.aligned[quantity]);
        let unstable = self.instability.as_ref().filter(|unstable| unstable.step < steps);
        // What happens after steps have become unstable follows from that.
        let unstable = unstable.filter(|u| has_enough || event.is_none_or(|e| u.step <= e.step));
        let place = |event: Event| described(self.model, &event, self.time_step);
        // What may make derivatives jump at the point itself.
        let at_point = aligned.or(event.filter(|_| !has_enough)).map(place);
        match (unstable, at_point) {
            (Some(unstable), place)
                if c.is_undecided() || (c.verdict == Verdict::Wrong && place.is_some()) =>
            {
                (c.verdict, c.side, c.note) = (Verdict::Noisy, None, unstable.described(self.time_step));
            }
            (_, Some(place)) if c.verdict == Verdict::Noisy => c.note = says_more(c, &place),
            (_, Some(place)) => {
                c.note = format!("{place}: {}", c.note);
                // Where pieces meet, whether a claim that is neither side's is wrong is told beside: it may be that of a
                // piece which is narrower than the smallest step.
                if aligned.is_some() || sides_differ(c) {
                    c.verdict = Verdict::Kink;
                }
            }
            (_, None) if c.verdict == Verdict::Noisy => {
                if let Some(event) = event {
                    c.note = says_more(c, &format!("larger steps meet {}", place(event)));
                }
            }
            // A kink that no event is known of, as of which of its feet a body rests on: told beside too.
            (_, None) if c.verdict == Verdict::Wrong && is_neither(c) && sides_differ(c) => {
                c.verdict = Verdict::Kink;
            }
            (_, None) => {}
        }
    }
}

/// The note of a comparison with more to say.
fn says_more(c: &Comparison, more: &str) -> String {
    match c.note.as_str() {
        "" => more.to_owned(),
        note => format!("{note}; {more}"),
    }
}

/// How far to both sides derivatives are looked at, in steps that the difference was taken at.
const AROUND: [f64; 3] = [1.0, 10.0, 100.0];
/// They agree with the difference where they are closer to it than this many of its errors, which are estimates,
const ERRORS: f64 = 3.0;
/// and this many times closer than the claim at the point.
const CLOSER: f64 = 10.0;

/// The derivatives of the sides differ if it is by more than this part of how far a claim is from both.
const DIFFERENT: f64 = 2e-3;

/// Whether the derivatives of the sides differ, as far as a claim that is neither goes: where a set of faces
/// changes and they do not, the function has a derivative.
fn sides_differ(c: &Comparison) -> bool {
    let [left, right] = c.one_sided;
    let off = (c.claimed - left).abs().min((c.claimed - right).abs());
    (left - right).abs() > DIFFERENT * off
}
