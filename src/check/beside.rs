//! Kinks are looked at once more beside the point: a kink is a reason why differences do not agree at the
//! point itself only.

use std::collections::BTreeSet;

use super::comparison::{CheckSettings, Comparison, NARROW, Verdict};
use super::component::UNSETTLED;
use super::contact_events::ALIGNED;
use super::report::{Beside, GradientReport, ReportRow};
use super::scene::{Compared, Quantities, SceneCheck};
use super::sensitivities::{Sensitivities, by_component};
use super::sides::Side;
use super::varied::{CheckedValue, Varied, step_scale};
use crate::multibody::{Model, Parameter, State, TANGENT_DIMENSION};
use crate::rollout::SimulationError;

/// How far beside a kink a derivative is checked again, one after the other, as parts of the
/// magnitudes that steps of the initial state are relative to.
const BESIDE: [f64; 7] = [1e-4, 1e-3, 1e-5, 1e-4, 1e-4, 1e-5, 1e-2];
/// The same of the starts beside that all derivatives are checked at, one after the other.
const STARTS: [f64; 2] = [1e-2, 1e-1];
/// From one direction beside to the next.
const TURN: usize = 7;

/// After as many looks beside, what is right there is left alone though its side is not told.
const LOOKS: usize = 4;
/// Differences that reach farther than this part of the way from the kink may be over the next one, and say nothing
/// against a derivative.
const REACH: f64 = 0.1;
/// Two derivatives are of the same piece of a function if they are closer than this part of the larger: over so
/// little that lies between them a piece changes by less.
const SAME: f64 = 1e-3;

/// The golden ratio's fraction, whose multiples are spread evenly.
pub(super) const SPREAD: f64 = 0.618_033_988_749_894_9;

impl SceneCheck<'_> {
    /// Derivatives with respect to each parameter, compared with differences as far as they are asked for: of which parameter,
    /// and of which quantity. What is rounding is settled, and then what is beside kinks. The largest sensitivities come with
    /// them, at least those that are `known`.
    pub(super) fn compare_settled(
        &self,
        parameters: &[CheckedValue],
        is_asked: &dyn Fn(usize, usize) -> bool,
        known: &Sensitivities,
        settings: &CheckSettings,
    ) -> Result<(Compared, Sensitivities), SimulationError> {
        let mut claimed = self.claims(parameters)?;
        let mut largest = self.largest_claims(parameters, &claimed, known)?;
        keep_asked(&mut claimed, is_asked);
        let mut compared = self.compare_all(parameters, &claimed, &largest, settings)?;
        self.add_differences(parameters, &compared, &mut largest);
        self.settle_small(parameters, &mut compared, &largest)?;
        self.look_beside_kinks(parameters, &mut compared, &largest, settings)?;
        Ok((compared, largest))
    }

    /// Checks derivatives at kinks once more at starts beside them. What is wrong there too is wrong. Several
    /// pieces of a function may meet in a point, as where meshes are aligned or damping ends at all faces
    /// at once, and a claim that is neither side's be that of a piece which no difference along the parameter
    /// comes to: then it is the derivative right beside the point ([`Side::Beside`]). What is right beside
    /// it but another derivative, or not to be told there, remains undecided.
    pub(super) fn look_beside_kinks(
        &self,
        parameters: &[CheckedValue],
        compared: &mut [Vec<Vec<Comparison>>],
        largest: &Sensitivities,
        settings: &CheckSettings,
    ) -> Result<(), SimulationError> {
        let is_told = |c: &Comparison| [RIGHT_BESIDE, NARROW].iter().any(|end| c.note.ends_with(end));
        let at_kink = |c: &Comparison| c.verdict == Verdict::Kink && !is_told(c);
        for (direction, part) in BESIDE.into_iter().enumerate() {
            let open: Vec<usize> =
                (0..parameters.len()).filter(|&i| compared[i].iter().flatten().any(at_kink)).collect();
            if open.is_empty() {
                return Ok(());
            }
            let start = self.moved(direction, part)?;
            let beside = match self.started_at(&start) {
                Err(error) if error.is_failed_step() => continue,
                outcome => outcome?,
            };
            let again: Vec<CheckedValue> = open.iter().map(|&i| parameters[i].clone()).collect();
            let again = beside.at_its_own(&again, self.model)?;
            let mut claimed = beside.claims(&again)?;
            keep_asked(&mut claimed, &|k, q| compared[open[k]][q].iter().any(at_kink));
            let mut found = beside.compare_all(&again, &claimed, largest, settings)?;
            beside.settle_small(&again, &mut found, largest)?;
            for (&i, found) in open.iter().zip(&found) {
                let (varied, _, value) = &parameters[i];
                let away = part * step_scale(self.model, self.controls, &self.parts, varied, *value);
                for (c, found) in by_component(&mut compared[i], found).filter(|(c, _)| at_kink(c)) {
                    match found.verdict {
                        Verdict::Ok | Verdict::Zero => {
                            if c.side.is_none() && is_same(c, found) {
                                c.side = Some(Side::Beside);
                            }
                            if c.side.is_some() || direction + 1 >= LOOKS {
                                c.note += RIGHT_BESIDE;
                            }
                        }
                        Verdict::Wrong if found.step <= REACH * away => {
                            (c.verdict, c.side) = (Verdict::Wrong, None);
                            c.note = format!(
                                "{}; wrong beside it too, where it is {:.6e} and the difference {:.6e}",
                                c.note, found.claimed, found.difference
                            );
                        }
                        Verdict::Wrong | Verdict::Kink | Verdict::Noisy => {}
                    }
                }
            }
        }
        for c in compared.iter_mut().flatten().flatten().filter(|c| at_kink(c)) {
            c.note += "; not to be told beside it";
        }
        Ok(())
    }

    /// Where more derivatives are undecided than may be, as meshes are aligned or bodies just touch, and none is wrong, checks the
    /// vectors that have undecided components at a start beside, at which no fewer bodies touch. Where that does not pass there is
    /// a second one: what is wrong at both is wrong.
    pub(super) fn add_start_beside(
        &self,
        (parameters, compared): (&[CheckedValue], &Compared),
        largest: &Sensitivities,
        settings: &CheckSettings,
        report: &mut GradientReport,
    ) -> Result<(), SimulationError> {
        // Where steps are too long, or a value follows its parameters too steeply, another start says nothing of this one.
        let is_unsettled = |row: &&ReportRow| {
            let note = &row.comparison.note;
            note.starts_with(UNSETTLED) && !note.contains(ALIGNED)
        };
        let unsettled = report.rows.iter().filter(is_unsettled).count();
        let is_of_start = self.instability.is_none() && !report.exceeds(unsettled);
        if report.count(Verdict::Wrong) > 0 || !report.is_undecided() || !is_of_start {
            return Ok(());
        }
        let is_undecided = |vector: &Vec<Comparison>| vector.iter().any(Comparison::is_undecided);
        let open: Vec<usize> =
            (0..parameters.len()).filter(|&i| compared[i].iter().any(is_undecided)).collect();
        let again: Vec<CheckedValue> = open.iter().map(|&i| parameters[i].clone()).collect();
        let is_asked = |k: usize, q: usize| is_undecided(&compared[open[k]][q]);
        let is_wrong = |row: &ReportRow| row.comparison.verdict == Verdict::Wrong;
        let mut wrong_before: Option<Vec<ReportRow>> = None;
        for (direction, part) in STARTS.into_iter().enumerate() {
            let starts = [self.moved(direction, part)?, self.moved(direction, -part)?];
            let mut best: Option<(usize, SceneCheck<'_>)> = None;
            for start in &starts {
                let (contacts, beside) = match self
                    .started_at(start)
                    .and_then(|beside| Ok((beside.watched(&[])?.contacts(), beside)))
                {
                    Err(error) if error.is_failed_step() => continue,
                    outcome => outcome?,
                };
                if best.as_ref().is_none_or(|(most, _)| contacts > *most) {
                    best = Some((contacts, beside));
                }
            }
            let Some((_, beside)) = best else { continue };
            let again = beside.at_its_own(&again, self.model)?;
            let (found, _) = beside.compare_settled(&again, &is_asked, largest, settings)?;
            let found = beside.report(&again, &found, settings);
            let (derivatives, undecided, zero) =
                (found.rows.len(), found.undecided(), found.count(Verdict::Zero));
            let mut wrong: Vec<ReportRow> = found.rows.into_iter().filter(is_wrong).collect();
            let all = wrong.len();
            if let Some(before) = &wrong_before {
                wrong.retain(|row| before.iter().any(|other| row.is_of_same(other)));
                for row in &wrong {
                    let quantity = format!("{}, at starts beside", row.quantity);
                    report.rows.push(ReportRow { quantity, ..row.clone() });
                }
            }
            // What is wrong at one start alone is not decided.
            let undecided = undecided + all - if wrong_before.is_some() { wrong.len() } else { 0 };
            report.beside = Some(Beside { part, derivatives, undecided, zero });
            if all == 0 && !report.exceeds(undecided) {
                return Ok(());
            }
            wrong_before = Some(wrong);
        }
        Ok(())
    }

    /// The initial state, and the vertices of rigid bodies that touch others, moved by `part` of the magnitudes that steps
    /// are relative to. A body on flat feet is at a kink of their lengths in whatever state it starts.
    pub(super) fn moved(&self, direction: usize, part: f64) -> Result<(Model, State), SimulationError> {
        let mut vertices: Vec<Parameter> = Vec::new();
        let rigid = self.model.rigid_pairs().flat_map(|pair| pair.geometries());
        for (body, geometry) in rigid.collect::<BTreeSet<_>>() {
            vertices.extend(Parameter::vertices(self.model, body, geometry));
        }
        let of_vertex = |(i, parameter): (usize, Parameter)| {
            let value = parameter.value(self.model)?;
            let scale =
                step_scale(self.model, self.controls, &self.parts, &Varied::Parameter(parameter), value);
            Ok((parameter, value + part * scale * generic(i, direction)))
        };
        let values = vertices.into_iter().enumerate().map(of_vertex);
        let values = values.collect::<Result<Vec<(Parameter, f64)>, SimulationError>>()?;
        let state = self.state.moved(&self.displacement(direction, part));
        Ok((self.model.with_parameters(&values)?, state))
    }

    /// Parameters that are checked at their values in another model, at those in this one.
    pub(super) fn at_its_own(
        &self,
        parameters: &[CheckedValue],
        other: &Model,
    ) -> Result<Vec<CheckedValue>, SimulationError> {
        let of_parameter = |(varied, name, value): &CheckedValue| {
            let value = match varied {
                Varied::Parameter(parameter) if parameter.value(other) == Ok(*value) => {
                    parameter.value(self.model)?
                }
                _ => *value,
            };
            Ok((*varied, name.clone(), value))
        };
        parameters.iter().map(of_parameter).collect()
    }

    /// A move of the initial state by `part` of the magnitudes that steps are relative to, in one of several
    /// directions with nothing that a scene could be aligned with.
    fn displacement(&self, direction: usize, part: f64) -> Vec<f64> {
        let move_along = |i: usize| part * self.scale_along(i) * generic(i, direction);
        (0..self.state.tangent_dimension()).map(move_along).collect()
    }

    /// The magnitude that steps along a direction of the initial state's tangent space are relative to.
    pub(super) fn scale_along(&self, direction: usize) -> f64 {
        let parameter = match direction.checked_sub(self.state.body_tangent_dimension()) {
            Some(index) => Parameter::InitialJoint { index },
            None => Parameter::InitialTangent { body: 0, index: direction % TANGENT_DIMENSION },
        };
        step_scale(self.model, self.controls, &self.parts, &Varied::Parameter(parameter), 0.0)
    }
}

/// Leaves of claims those that are asked for, by parameter and quantity: of the others no component is compared.
fn keep_asked(claimed: &mut [Quantities<f64>], is_asked: &dyn Fn(usize, usize) -> bool) {
    for (parameter, quantities) in claimed.iter_mut().enumerate() {
        let quantities = quantities.iter_mut().enumerate();
        quantities.filter(|(q, _)| !is_asked(parameter, *q)).for_each(|(_, claimed)| claimed.clear());
    }
}

/// A number between 1/4 and 3/4, or between −3/4 and −1/4, that has nothing to do with those of other `i` or directions.
fn generic(i: usize, direction: usize) -> f64 {
    let spread = ((1 + i + TURN * direction) as f64 * SPREAD).fract() - 0.5;
    spread + 0.25f64.copysign(spread)
}

/// Whether a claim at a kink is the derivative of the piece right beside it.
fn is_same(at_kink: &Comparison, beside: &Comparison) -> bool {
    let (a, b) = (at_kink.claimed, beside.claimed);
    (a - b).abs() <= SAME * a.abs().max(b.abs())
}

/// What is added to the note of a kink beside which the derivative is right.
const RIGHT_BESIDE: &str = "; right beside it";
