//! Which differences count: those over steps along which the contacts stay the same; and what is
//! said where there are none.

use super::comparison::{CheckSettings, Comparison, Verdict};
use super::contact_events::{Event, described};
use super::samples::{Sampled, kink_note};
use super::scene::{CheckedValue, Quantities, SceneCheck};
use super::varied::{Varied, settings_for, step_scale};
use crate::multibody::{AppliedForces, Parameter, TANGENT_DIMENSION};
use crate::rollout::SimulationError;

/// A sensitivity below this part of the quantity's largest is the rounding of sums that cancel.
const NEGLIGIBLE_SENSITIVITY: f64 = 1e-11;

/// A derivative is accurate to this part of the quantity's largest sensitivity. The linear system for
/// the derivatives of an implicit step multiplies rounding by the stiffness of contact and friction, and
/// differences of values with rounding that hardly changes have errors of the same size.
const KNOWN_SENSITIVITY: f64 = 1e-8;

/// How far beside a kink a derivative is checked again, one after the other, as parts of the
/// magnitudes that steps of the initial state are relative to.
const BESIDE: [f64; 3] = [1e-4, 1e-3, 1e-5];

/// The golden ratio's fraction, whose multiples are spread evenly.
const SPREAD: f64 = 0.618_033_988_749_894_9;

/// What differences are limited by along one parameter, for each quantity.
struct Limits {
    /// The event that the largest steps are left out for, if any are.
    event: Vec<Option<Event>>,
    /// The first step of the trajectory at which meshes are aligned.
    aligned: Vec<Option<Event>>,
}

/// Settles what is rounding: a derivative and a difference that are both negligible, and a derivative
/// that is off by no more than it is known to.
fn settle_rounding(c: &mut Comparison, negligible: f64, known: f64) {
    let unsettled = matches!(c.verdict, Verdict::Wrong | Verdict::Noisy);
    let no_difference = c.difference.abs() <= negligible.max(2.0 * c.difference_error);
    if unsettled && c.claimed.abs() <= negligible && no_difference {
        (c.verdict, c.note) = (Verdict::Zero, String::new());
    } else if c.verdict == Verdict::Wrong && (c.claimed - c.difference).abs() <= known {
        let note = format!("off by less than {KNOWN_SENSITIVITY:e} of the quantity's largest sensitivity");
        (c.verdict, c.note) = (Verdict::Noisy, note);
    }
}

impl<A: AppliedForces> SceneCheck<'_, A> {
    /// The derivatives of all quantities with respect to one parameter, compared.
    pub(super) fn compare(
        &self,
        varied: Varied,
        value: f64,
        claimed: &[Vec<f64>],
        magnitudes: &[f64],
        settings: &CheckSettings,
    ) -> Result<Vec<Vec<Comparison>>, SimulationError> {
        let scale = step_scale(self.model, self.controls, &self.parts, &varied, value);
        let settings = &settings_for(&varied, settings);
        let mut f = |x: f64| self.values_or_none(varied, x);
        let mut sampled = Sampled::around(&mut f, value, scale, settings)?;
        let mut compared = sampled.judge(claimed, magnitudes, settings);
        if compared.iter().flatten().all(|c| c.verdict.is_settled()) {
            return Ok(compared);
        }
        sampled.measure_noise(&mut f)?;
        let limits = self.limit_steps(&mut sampled, varied, value, claimed.len())?;
        let again = sampled.judge(claimed, magnitudes, settings);
        for (quantity, (components, again)) in compared.iter_mut().zip(again).enumerate() {
            for (c, again) in components.iter_mut().zip(again).filter(|(c, _)| !c.verdict.is_settled()) {
                *c = again;
                if !c.verdict.is_settled() {
                    self.explain(c, quantity, &limits, sampled.has_enough(quantity), settings);
                }
            }
        }
        Ok(compared)
    }

    /// The quantities with a parameter at a value; none where a step fails.
    fn values_or_none(&self, varied: Varied, value: f64) -> Result<Quantities<f64>, SimulationError> {
        match self.evaluate(&[(varied, value)]) {
            Err(error) if error.is_failed_step() => Ok(Vec::new()),
            outcome => outcome,
        }
    }

    /// Lets only those steps of differences count over which nothing happens along the trajectory
    /// that does not happen at the point itself.
    fn limit_steps(
        &self,
        sampled: &mut Sampled,
        varied: Varied,
        value: f64,
        quantities: usize,
    ) -> Result<Limits, SimulationError> {
        let center = self.watched(varied, value)?;
        let spans: Vec<usize> = (0..quantities).map(|q| self.steps_before(q)).collect();
        let aligned = spans.iter().map(|&steps| center.first_aligned(steps)).collect();
        let (mut event, mut first) = (vec![None; quantities], vec![0; quantities]);
        for (level, sides) in sampled.arguments() {
            for x in sides {
                let beside = match self.watched(varied, x) {
                    Ok(events) => Some(events),
                    Err(error) if error.is_failed_step() => None,
                    Err(error) => return Err(error),
                };
                for (q, &steps) in spans.iter().enumerate() {
                    if event[q].is_some() {
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
            if event.iter().all(Option::is_some) {
                break;
            }
        }
        sampled.restrict(first);
        Ok(Limits { event, aligned })
    }

    /// Says why a derivative does not agree with differences, where that is known.
    fn explain(
        &self,
        c: &mut Comparison,
        quantity: usize,
        limits: &Limits,
        has_enough: bool,
        settings: &CheckSettings,
    ) {
        let steps = self.steps_before(quantity);
        let (event, aligned) = (limits.event[quantity], limits.aligned[quantity]);
        let unstable = self.instability.as_ref().filter(|unstable| unstable.step < steps);
        // What happens after steps have become unstable follows from that.
        let unstable = unstable.filter(|u| has_enough || event.is_none_or(|e| u.step <= e.step));
        let at = |event: &Event| described(self.model, event, self.time_step);
        let sides = kink_note(c.claimed, c.one_sided, settings.tolerance);
        match (c.verdict, unstable) {
            (Verdict::Noisy | Verdict::Kink, Some(unstable)) => {
                (c.verdict, c.note) = (Verdict::Noisy, unstable.described(self.time_step));
            }
            (Verdict::Wrong | Verdict::Noisy | Verdict::Kink, _) if !has_enough => {
                let event = aligned.or(event);
                let place = event.as_ref().map(at).unwrap_or_default();
                (c.verdict, c.note) = (Verdict::Kink, format!("{place}: {sides}"));
            }
            (Verdict::Wrong | Verdict::Kink, _) => {
                if let Some(event) = &aligned {
                    (c.verdict, c.note) = (Verdict::Kink, format!("{}: {sides}", at(event)));
                }
            }
            (Verdict::Noisy, _) => {
                if let Some(event) = &event {
                    c.note = format!("{}; larger steps meet {}", c.note, at(event));
                }
            }
            (Verdict::Ok | Verdict::Zero, _) => {}
        }
    }

    /// The largest sensitivity of each quantity to one of the parameters: its derivative times the
    /// parameter's scale.
    fn largest_sensitivities(
        &self,
        parameters: &[CheckedValue],
        compared: &[Vec<Vec<Comparison>>],
    ) -> Vec<f64> {
        let mut largest = vec![0.0; compared.first().map_or(0, Vec::len)];
        for (parameter, of_parameter) in parameters.iter().zip(compared) {
            let scale = self.scale_of(parameter);
            for (largest, components) in largest.iter_mut().zip(of_parameter) {
                let sensitivities = components.iter().map(|c| c.claimed.abs() * scale);
                *largest = sensitivities.filter(|s| s.is_finite()).fold(*largest, f64::max);
            }
        }
        largest
    }

    fn scale_of(&self, (varied, _, value): &CheckedValue) -> f64 {
        step_scale(self.model, self.controls, &self.parts, varied, *value)
    }

    /// Gives the verdict [`Verdict::Zero`] to derivatives that are rounding: by symmetry a force may
    /// not depend on a parameter at all, and yet its derivative is a sum that cancels to 10⁻¹⁶ only. What
    /// is off by rounding alone is [`Verdict::Noisy`].
    ///
    /// They are compared with the `largest` sensitivity of the quantity to any parameter.
    fn settle_negligible(
        &self,
        parameters: &[CheckedValue],
        compared: &mut [Vec<Vec<Comparison>>],
        largest: &[f64],
    ) {
        for (parameter, of_parameter) in parameters.iter().zip(compared) {
            let scale = self.scale_of(parameter);
            for (components, largest) in of_parameter.iter_mut().zip(largest) {
                let limit = NEGLIGIBLE_SENSITIVITY * largest / scale;
                for c in components {
                    settle_rounding(c, limit, KNOWN_SENSITIVITY * largest / scale);
                }
            }
        }
    }

    /// Settles what is rounding, and then what is beside kinks.
    pub(super) fn settle(
        &self,
        parameters: &[CheckedValue],
        compared: &mut [Vec<Vec<Comparison>>],
        settings: &CheckSettings,
    ) -> Result<(), SimulationError> {
        let largest = self.largest_sensitivities(parameters, compared);
        self.settle_negligible(parameters, compared, &largest);
        self.look_beside_kinks(parameters, compared, &largest, settings)
    }

    /// Checks derivatives at kinks once more at starts beside them: a kink is a reason why
    /// differences do not agree at the point itself only. What is wrong there too is wrong.
    fn look_beside_kinks(
        &self,
        parameters: &[CheckedValue],
        compared: &mut [Vec<Vec<Comparison>>],
        largest: &[f64],
        settings: &CheckSettings,
    ) -> Result<(), SimulationError> {
        let at_kink = |c: &Comparison| c.verdict == Verdict::Kink && !c.note.ends_with(RIGHT_BESIDE);
        for part in BESIDE {
            let open: Vec<usize> =
                (0..parameters.len()).filter(|&i| compared[i].iter().flatten().any(at_kink)).collect();
            if open.is_empty() {
                return Ok(());
            }
            let state = self.state.moved(&self.displacement(part));
            let beside = match self.started_at(&state) {
                Err(error) if error.is_failed_step() => continue,
                outcome => outcome?,
            };
            let again: Vec<CheckedValue> = open.iter().map(|&i| parameters[i].clone()).collect();
            let mut found = beside.compare_all(&again, settings)?;
            beside.settle_negligible(&again, &mut found, largest);
            for (&i, found) in open.iter().zip(&found) {
                let pairs = compared[i].iter_mut().flatten().zip(found.iter().flatten());
                for (c, found) in pairs.filter(|(c, _)| at_kink(c)) {
                    match found.verdict {
                        Verdict::Ok | Verdict::Zero => c.note += RIGHT_BESIDE,
                        Verdict::Wrong => {
                            c.verdict = Verdict::Wrong;
                            c.note = format!(
                                "{}; wrong beside it too, where it is {:.6e} and the difference {:.6e}",
                                c.note, found.claimed, found.difference
                            );
                        }
                        Verdict::Kink | Verdict::Noisy => {}
                    }
                }
            }
        }
        for c in compared.iter_mut().flatten().flatten().filter(|c| at_kink(c)) {
            c.note += "; not to be told beside it";
        }
        Ok(())
    }

    /// A move of the initial state by `part` of the magnitudes that steps are relative to, with
    /// nothing that a scene could be aligned with.
    fn displacement(&self, part: f64) -> Vec<f64> {
        let of_bodies = self.state.body_tangent_dimension();
        let move_along = |i: usize| {
            let parameter = match i.checked_sub(of_bodies) {
                Some(index) => Parameter::InitialJoint { index },
                None => Parameter::InitialTangent { body: 0, index: i % TANGENT_DIMENSION },
            };
            let scale =
                step_scale(self.model, self.controls, &self.parts, &Varied::Parameter(parameter), 0.0);
            let spread = ((i + 1) as f64 * SPREAD).fract() - 0.5;
            part * scale * (spread + 0.25f64.copysign(spread))
        };
        (0..self.state.tangent_dimension()).map(move_along).collect()
    }
}

/// What is added to the note of a kink beside which the derivative is right.
const RIGHT_BESIDE: &str = "; right beside it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_off_by_rounding_of_the_largest_sensitivity_is_not_wrong() {
        let settled = |claimed: f64, difference: f64, verdict: Verdict| {
            let mut comparison = Comparison {
                value: 1.0,
                claimed,
                difference,
                difference_error: 1e-13,
                one_sided: [difference; 2],
                relative_error: 1.0,
                step: 1e-6,
                verdict,
                note: String::new(),
            };
            settle_rounding(&mut comparison, 1e-11, 1e-8);
            comparison.verdict
        };
        assert_eq!(settled(3e-12, -2e-12, Verdict::Wrong), Verdict::Zero);
        assert_eq!(settled(3e-12, -2e-12, Verdict::Noisy), Verdict::Zero);
        assert_eq!(settled(3e-9, -2e-9, Verdict::Wrong), Verdict::Noisy);
        assert_eq!(settled(3e-9, -2e-9, Verdict::Kink), Verdict::Kink);
        // A derivative that is missing, and one that is off by more than rounding.
        assert_eq!(settled(0.0, 2e-8, Verdict::Wrong), Verdict::Wrong);
        assert_eq!(settled(1.0, 1.0 + 2e-8, Verdict::Wrong), Verdict::Wrong);
    }
}
