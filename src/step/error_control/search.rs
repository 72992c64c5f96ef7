//! The search for the lengths of substeps.

use std::cell::RefCell;

use super::super::radau::{Converged, OrderMemory, OrderSettings, Solver};
use super::super::real_parts::RealParts;
use super::super::velocity_level::Unforeseen;
use super::super::{RadauOrder, RigidContact, StepError, StepProblem, StepWorkspace};
use super::displacement::Displacement;
use super::length::{SHORTEST, factor, fitted, quantized};
use super::onset::{Missed, Onset, Part};
use super::statistics::{Substep, SubstepLimit, SubstepStatistics};
use super::substep::fixed_step;
use super::{ControlledMethod, ErrorControlled, extrapolation::extrapolate};
use crate::multibody::State;
use crate::scalar::Scalar;

/// The least accuracy, in parts of what positions are rounded to.
const ROUNDINGS: f64 = 4.0;
/// Velocities count with what they make in this time, s, but for those that step over vibrations.
const AFTER_IMPACT: f64 = 1.0;

/// The part of a substep that accelerations at its ends are taken over.
const AT_END: f64 = 1e-3;

/// Where contact grows, the two solutions of a substep may agree by chance. The error in its velocities is taken to be at least
/// this many times how much more they change in its second half than in its first; in a smooth motion the two are equal. A tenth
/// of this is enough for the motion. Derivatives with the lengths held need more, since they do not see how the instants of touch
/// and release move within substeps: with this they are right to 1 % over two bounces at an accuracy of 10⁻⁶.
const OF_BEND: f64 = 1.5;

/// Parts of a step that lands are not cut below this part of it,
const SHORTEST_LANDING: f64 = 1e-6;
/// and each time that so many have been tried, ten times as much is allowed: steps end, and a deep overlap is still cut.
const MANY_LANDINGS: usize = 1000;

/// What has no solution in this part of a step of fixed length has none in shorter ones.
const SHORTEST_PART: f64 = 1.0 / 256.0;

/// Most substeps of a step that are tried.
const MOST_TRIED: usize = 100_000;

/// The memory of the search, and its outcome.
#[derive(Debug, Default)]
pub(in crate::step) struct Search {
    /// How the step went, with the lengths of its substeps.
    pub statistics: SubstepStatistics,
    /// The state after the step.
    pub after: State,
    /// What the steps of fixed length are taken with, and whether the last step was.
    pub workspace: StepWorkspace,
    pub is_last: bool,
    /// The rigid contacts of the parts of a step by complementarity.
    pub rigid_contacts: Vec<RigidContact>,
    real: RealParts,
    control: Vec<f64>,
    before: State,
    /// In the middle of a substep of two halves, and after one step of its whole length (or by the embedded
    /// method).
    middle: State,
    whole: State,
    displacement: Displacement,
    onset: Onset,
}

/// A substep that was tried: its error, as a part of what is allowed, and where it comes from.
struct Attempt {
    error: f64,
    limit: SubstepLimit,
}

impl Search {
    /// Finds the lengths of the substeps of a step, and the state after it without derivatives.
    pub fn run<T: Scalar>(
        &mut self,
        method: ErrorControlled,
        step: &StepProblem<'_, T>,
    ) -> Result<(), StepError> {
        let StepProblem { model, state, time, time_step, applied, asleep, .. } = *step;
        let (mut real, mut control) = (std::mem::take(&mut self.real), std::mem::take(&mut self.control));
        control.clear();
        control.extend(step.control.iter().map(|u| u.real()));
        let ((model, state), applied) = (real.of(model, state), applied.differentiable());
        let problem =
            StepProblem { model, state, time, time_step, applied, control: &control, substeps: None, asleep };
        let outcome = self.search(method, &problem);
        (self.real, self.control) = (real, control);
        outcome
    }

    fn search(&mut self, method: ErrorControlled, step: &StepProblem<'_>) -> Result<(), StepError> {
        self.statistics.clear();
        // A step that failed may have left what it knew of its state.
        self.workspace.runge_kutta.forget();
        self.workspace.radau.solver.forget();
        let bodies = || (0..step.model.bodies.len()).collect();
        if !step.state.is_finite() {
            return Err(StepError::NotFinite { bodies: bodies() });
        }
        let (rounding, body) = self.displacement.rounding(step.model, step.state);
        if method.accuracy < ROUNDINGS * rounding {
            let bodies = vec![body];
            return Err(StepError::TooAccurate { accuracy: method.accuracy, rounding, bodies });
        }
        self.before.clone_from(step.state);
        let longest = step.time_step;
        let is_divided = matches!(method.method, ControlledMethod::Divided(_));
        self.rigid_contacts.clear();
        // That a divided step has no solution as a whole is known.
        let first = if is_divided { 0.5 * longest } else { longest };
        let (mut done, mut wished, mut order) = (0.0, first, method.method.order());
        let (mut orders, rules) = (OrderMemory::default(), OrderSettings::default());
        let mut shortest_rejected = f64::INFINITY;
        let (mut whole_is_known, mut after_rejection) = (false, false);
        loop {
            let (length, last) = fitted(wished, longest - done);
            let before = std::mem::take(&mut self.before);
            let part = StepProblem { state: &before, ..step.part(done, length) };
            let attempt = self.attempt(method, order, &part, (longest, after_rejection), whole_is_known);
            self.before = before;
            let Attempt { error, limit } = attempt?;
            let change = factor(error, method.method.error_order(order));
            whole_is_known = false;
            if error <= 1.0 {
                self.statistics.substeps.push(Substep { length, order });
                if is_divided {
                    self.rigid_contacts.extend_from_slice(self.workspace.rigid_contacts());
                }
                if last {
                    return Ok(());
                }
                done += length;
                std::mem::swap(&mut self.before, &mut self.after);
                if let Some(tableau) = method.method.integrator().tableau() {
                    self.workspace.runge_kutta.go_on(tableau, &self.before);
                }
                wished = quantized(longest, length * if after_rejection { change.min(1.0) } else { change });
                if let (Some(of_radau), Some(converged)) = self.radau(method.method, order) {
                    let contraction = converged.contraction;
                    order = orders.after_accepted(&rules, of_radau, contraction, wished / length).number();
                }
                after_rejection = false;
                continue;
            }
            after_rejection = true;
            self.statistics.rejected += 1;
            if length < shortest_rejected {
                (shortest_rejected, self.statistics.limit) = (length, Some(limit));
            }
            wished = quantized(longest, length * change);
            match method.method {
                ControlledMethod::BogackiShampine | ControlledMethod::DormandPrince => {
                    self.workspace.runge_kutta.start_again();
                }
                ControlledMethod::Radau => {
                    self.workspace.radau.solver.start_again();
                    if let (Some(of_radau), None) = self.radau(method.method, order) {
                        order = orders.after_failure(&rules, of_radau).number();
                        wished = quantized(longest, 0.5 * length);
                    }
                }
                ControlledMethod::Landing(_) | ControlledMethod::Divided(_) => {
                    if error.is_infinite() {
                        wished = 0.5 * length;
                    }
                }
                ControlledMethod::VelocityLevel(_) | ControlledMethod::Extrapolated(_) => {
                    if error.is_finite() && change > 0.25 {
                        // The first half was a step of the whole length of what is tried next.
                        std::mem::swap(&mut self.whole, &mut self.middle);
                        self.onset.halve();
                        (wished, whole_is_known) = (0.5 * length, true);
                    }
                }
            }
            let bodies = || limit.bodies(step.model);
            let least = match (method.method, limit) {
                (ControlledMethod::Landing(_) | ControlledMethod::Divided(_), SubstepLimit::NotConverged) => {
                    SHORTEST_PART * longest
                }
                _ => SHORTEST,
            };
            if wished < least {
                return Err(StepError::TooShort { length: wished, limit, bodies: bodies() });
            }
            if self.statistics.substeps.len() + self.statistics.rejected >= MOST_TRIED {
                let part = done / longest;
                return Err(StepError::TooManySubsteps { tried: MOST_TRIED, part, limit, bodies: bodies() });
            }
        }
    }

    /// The Radau method of this order, and how its iteration went in the last attempt; none for others.
    fn radau(&self, method: ControlledMethod, order: i32) -> (Option<RadauOrder>, Option<Converged>) {
        match method {
            ControlledMethod::Radau => (RadauOrder::of_number(order), self.workspace.radau.solver.converged),
            _ => (None, None),
        }
    }

    /// Tries a substep of a step that is `longest` s long, by a method of this order.
    fn attempt(
        &mut self,
        control: ErrorControlled,
        order: i32,
        step: &StepProblem<'_>,
        (longest, after_rejection): (f64, bool),
        whole_is_known: bool,
    ) -> Result<Attempt, StepError> {
        let ErrorControlled { method, accuracy } = control;
        let failed = |limit| Ok(Attempt { error: f64::INFINITY, limit });
        let damp_twice = self.statistics.substeps.is_empty() || after_rejection;
        match self.solutions(control, order, step, (longest, damp_twice), whole_is_known) {
            Err(
                StepError::NotConverged { .. }
                | StepError::StagesNotConverged { .. }
                | StepError::NoImpulses { .. },
            ) => return failed(SubstepLimit::NotConverged),
            Err(StepError::NotFinite { .. }) => return failed(SubstepLimit::NotFinite),
            outcome => outcome?,
        }
        if let ControlledMethod::Landing(_) | ControlledMethod::Divided(_) = method {
            let Self { after, workspace, .. } = self;
            if !after.is_finite() {
                return failed(SubstepLimit::NotFinite);
            }
            let none = Attempt { error: 0.0, limit: SubstepLimit::NotFinite };
            if let ControlledMethod::Divided(_) = method {
                return Ok(none);
            }
            let StepProblem { model, state, .. } = *step;
            let unforeseen = workspace.velocity_level.unforeseen(model, state, after, step.length());
            let tried = self.statistics.substeps.len() + self.statistics.rejected;
            let unforeseen = unforeseen.filter(|_| step.time_step > SHORTEST_LANDING * longest);
            return Ok(unforeseen.map_or(none, |Unforeseen { pair, excess }| Attempt {
                error: excess * 0.1_f64.powi((tried / MANY_LANDINGS) as i32),
                limit: SubstepLimit::Onset { pair },
            }));
        }
        let Self { after, middle, whole, displacement, onset, workspace, .. } = self;
        if !after.is_finite() || !whole.is_finite() {
            return failed(SubstepLimit::NotFinite);
        }
        let is_velocity_level = method.integrator().velocity_level_method().is_some();
        let time = match method {
            // Those of order 1 are for long steps: they do not resolve vibrations that are smaller than the accuracy.
            ControlledMethod::VelocityLevel(_) => 0.0,
            // It steps over vibrations that are smaller too where weights are borne: a stiff body that slides would take a hundred
            // times the substeps.
            ControlledMethod::Radau if is_borne(displacement, &mut workspace.radau.solver, step, after) => {
                longest
            }
            // What an impact leaves of an error is in the velocities.
            _ => longest.max(AFTER_IMPACT),
        };
        let (distance, body) = displacement.largest(step.model, [whole, after], time);
        let mut attempt = Attempt { error: distance / accuracy, limit: SubstepLimit::Error { body } };
        if is_velocity_level && attempt.error <= 1.0 {
            let missed = onset.missed(step.model, after, (step.length(), time));
            if let Some((moved, pair)) = missed.filter(|(moved, _)| *moved > distance) {
                attempt = Attempt { error: moved / accuracy, limit: SubstepLimit::Onset { pair } };
            }
            let Missed { speed, pair } = onset.released();
            let error = speed * (step.length() + time) / accuracy;
            if error > attempt.error {
                attempt = Attempt { error, limit: SubstepLimit::Release { pair } };
            }
        }
        if matches!(method, ControlledMethod::Extrapolated(_)) {
            if attempt.error <= 1.0 {
                let (bend, body) = displacement.bend(step.model, [step.state, middle, after]);
                let error = OF_BEND * bend * time / accuracy;
                if error > attempt.error {
                    attempt = Attempt { error, limit: SubstepLimit::Error { body } };
                }
            }
            extrapolate(whole, after);
        }
        Ok(attempt)
    }

    /// Both solutions of a substep: in `after` the better one, but not yet extrapolated, in `whole` the other.
    fn solutions(
        &mut self,
        ErrorControlled { method, accuracy }: ErrorControlled,
        order: i32,
        step: &StepProblem<'_>,
        (longest, damp_twice): (f64, bool),
        whole_is_known: bool,
    ) -> Result<(), StepError> {
        let Self { statistics, after, workspace, middle, whole, displacement, onset, .. } = self;
        let integrator = method.of_order(order);
        let mut take = |part: Option<Part>, step: &StepProblem<'_>, after: &mut State| {
            let outcome = fixed_step(integrator, step, workspace, after);
            statistics.count(integrator, workspace);
            if let (Some(part), Ok(())) = (part, &outcome) {
                onset.note(part, step.model, &workspace.velocity_level);
            }
            outcome
        };
        match method {
            ControlledMethod::BogackiShampine | ControlledMethod::DormandPrince => {
                take(None, step, after)?;
                if let Some(tableau) = integrator.tableau() {
                    workspace.runge_kutta.embedded_into(tableau, step.state, step.length(), whole);
                }
            }
            ControlledMethod::Radau => {
                take(None, step, after)?;
                let displacement = RefCell::new(displacement);
                let measure = |error: &[f64]| {
                    let states = [&*after, &after.moved(error)];
                    displacement.borrow_mut().largest(step.model, states, longest).0 / accuracy
                };
                let error = workspace.radau.solver.estimated_error(step, damp_twice, &measure);
                whole.set_moved(after, error);
            }
            ControlledMethod::Landing(_) | ControlledMethod::Divided(_) => take(None, step, after)?,
            ControlledMethod::VelocityLevel(_) | ControlledMethod::Extrapolated(_) => {
                let half = 0.5 * step.time_step;
                if !whole_is_known {
                    take(Some(Part::Whole), step, whole)?;
                }
                take(Some(Part::First), &step.part(0.0, half), middle)?;
                take(Some(Part::Second), &StepProblem { state: middle, ..step.part(half, half) }, after)?;
            }
        }
        Ok(())
    }
}

/// Whether weights are borne during a substep of `radau` and at its ends: in the substep in which a body touches, or leaves, the
/// force may make up for its weight on average.
fn is_borne(
    displacement: &mut Displacement,
    solver: &mut Solver,
    step: &StepProblem<'_>,
    after: &State,
) -> bool {
    let (StepProblem { model, state, .. }, length) = (*step, step.length());
    displacement.is_borne(model, [state, after], length) && {
        let shortly = AT_END * length;
        let [start, end] = solver.shortly_after_ends(step, shortly);
        displacement.is_borne(model, [state, &start], shortly)
            && displacement.is_borne(model, [after, &end], shortly)
    }
}
