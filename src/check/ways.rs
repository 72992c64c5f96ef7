//! Every way that a gradient is made, held against the derivatives in dual numbers that differences judge:
//! the tape of a step, composed Jacobians of steps, and the adjoint with each kind of checkpoints.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};

use super::beside::SPREAD;
use super::comparison::{Comparison, Verdict};
use super::report::{GradientReport, ReportRow, Way, component_name};
use super::scene::SceneCheck;
use super::varied::{CheckedValue, Varied};
use super::way_derivatives::{Weighted, row};
use crate::parallel::in_parallel;
use crate::rollout::{
    Checkpoints, Rollout, SimulationError, SimulationSettings, loss_gradient, loss_gradient_forward,
};
use crate::scalar::CHUNK;

/// A derivative that is made in another way agrees if it is off by less than this part of the largest
/// sensitivity that the same component has had. All ways of a scene start from the same states and differ by rounding
/// alone, which the balance of an implicit step multiplies by its stiffness, and explicit steps that are too long from step to step: by up
/// to 2·10⁻¹¹ in the scenes of examples and tests.
pub(super) const AGREEMENT: f64 = 1e-9;
/// What a derivative is off by less than this part of the largest sensitivity of any component is nothing: of a component that
/// depends on none of the parameters, ways may leave products of what has vanished.
const NOTHING: f64 = 1e-25;
/// The same where no component depends on any of them, in SI units.
const NOTHING_ALONE: f64 = 1e-40;

/// What the names of ways over all steps begin with.
const ALL_STEPS: &str = "all steps";
/// Components of the final state for which there is a sweep backward each.
const MOST_SWEEPS: usize = 12;
/// Weighted sums of the components where there are more.
const WEIGHTINGS: usize = 6;
/// From one weighting to the next.
const WEIGHT_TURN: usize = 131;
/// Starts beside the point at which ways that disagree are compared again, and how far they are, as a part of the
/// magnitudes that steps of the initial state are relative to.
const STARTS_BESIDE: usize = 2;
const PART_BESIDE: f64 = 1e-3;

/// Sums of components of a state, with their derivatives: a row for each, a column for each parameter.
#[derive(Clone)]
pub(super) struct Rows {
    pub names: Vec<[String; 2]>,
    pub derivatives: DMatrix<f64>,
    /// The largest sensitivity that each has had on the way. Friction may leave little of one, but rounding
    /// stays.
    pub largest: Vec<f64>,
}

/// Derivatives that were made in one way, and those that they are held against.
pub(super) struct MadeWay {
    pub name: String,
    pub found: DMatrix<f64>,
    pub expected: Arc<Rows>,
}

impl Rows {
    /// Weighted sums of the rows.
    fn weighted(&self, weightings: &[Vec<f64>], quantity: &str) -> Self {
        let rows = weightings.iter().map(|weights| DVector::from_column_slice(weights));
        let rows: Vec<_> = rows.map(|weights| self.derivatives.tr_mul(&weights).transpose()).collect();
        let names = (0..rows.len()).map(|i| [quantity.to_owned(), i.to_string()]).collect();
        let sum = |weights: &Vec<f64>| weights.iter().zip(&self.largest).map(|(w, l)| w.abs() * l).sum();
        let largest = weightings.iter().map(sum).collect();
        Self { names, derivatives: DMatrix::from_rows(&rows), largest }
    }
}

impl SceneCheck<'_> {
    /// Compares the derivatives that every other way gives, and adds a row for the worst of those that
    /// disagree in each way. Where meshes are aligned ways may differ by which of several pieces of a function
    /// rounding lets them be on: what agrees at a start beside is not wrong, but undecided.
    pub(super) fn add_ways(
        &self,
        parameters: &[CheckedValue],
        report: &mut GradientReport,
    ) -> Result<(), SimulationError> {
        let mut compared = self.compare_ways(parameters)?;
        for direction in 0..STARTS_BESIDE {
            let is_open = |row: &Option<ReportRow>| {
                row.as_ref().is_some_and(|row| row.comparison.verdict == Verdict::Wrong)
            };
            if !compared.iter().any(|(_, row)| is_open(row)) {
                break;
            }
            let start = self.moved(direction, PART_BESIDE)?;
            let compare =
                |check: SceneCheck<'_>| check.compare_ways(&check.at_its_own(parameters, self.model)?);
            let beside = match self.started_at(&start).and_then(compare) {
                Err(error) if error.is_failed_step() => continue,
                outcome => outcome?,
            };
            for ((_, row), (way, _)) in compared.iter_mut().zip(beside) {
                if let Some(row) = row.as_mut().filter(|_| way.disagreeing == 0) {
                    row.comparison.verdict = Verdict::Kink;
                    row.comparison.note += "; all agree right beside it";
                }
            }
        }
        let unstable = self.instability.as_ref().filter(|unstable| unstable.step + 1 < self.steps);
        for (way, mut row) in compared {
            if let (Some(unstable), Some(row)) = (unstable, row.as_mut()) {
                // Rounding grows from step to step. What disagrees after one step is wrong all the same.
                if way.way.starts_with(ALL_STEPS) {
                    row.comparison.verdict = Verdict::Noisy;
                    row.comparison.note += &format!("; {}", unstable.described(self.time_step));
                }
            }
            report.ways.push(way);
            report.rows.extend(row);
        }
        Ok(())
    }

    /// Compares the derivatives that every other way gives; with a row where they disagree.
    fn compare_ways(
        &self,
        parameters: &[CheckedValue],
    ) -> Result<Vec<(Way, Option<ReportRow>)>, SimulationError> {
        let scales: Vec<f64> = parameters.iter().map(|parameter| self.scale_of(parameter)).collect();
        let made = self.made_in_every_way(parameters, &scales)?;
        let names: Vec<&str> = parameters.iter().map(|(_, name, _)| name.as_str()).collect();
        Ok(made.iter().map(|way| compare_way(way, &names, &scales)).collect())
    }

    /// The derivatives that every other way gives, of as many components or weighted sums as it is good for.
    pub(super) fn made_in_every_way(
        &self,
        parameters: &[CheckedValue],
        scales: &[f64],
    ) -> Result<Vec<MadeWay>, SimulationError> {
        if parameters.is_empty() || self.state.tangent_dimension() == 0 {
            return Ok(Vec::new());
        }
        let by_dual_numbers = self.by_dual_numbers(parameters)?;
        // Parameters come before control values.
        let (mut list, mut controls) = (Vec::new(), Vec::new());
        for (varied, ..) in parameters {
            match varied {
                Varied::Parameter(parameter) => list.push(*parameter),
                Varied::Control(i) => controls.push(*i),
            }
        }
        let of = (&list[..], &controls[..]);
        let until = self.steps as f64 * self.time_step;
        self.with_tightest(|integrator| {
            let [mut after_one, mut after_all] = by_dual_numbers.clone();
            let mut ways = Vec::new();
            let mut add = |name: &str, found: DMatrix<f64>, expected: &Arc<Rows>| {
                ways.push(MadeWay { name: name.to_owned(), found, expected: Arc::clone(expected) });
            };
            let settings = SimulationSettings { integrator, time_step: self.time_step };
            let rollout = Rollout::new(self.model, self.state, settings, until);
            let rollout = rollout.under(self.applied).with_controls(self.controls).holding(&self.substeps);
            let [one, composed] = self.by_step_jacobians(integrator, of, scales)?;
            (after_one.largest, after_all.largest) = (one.1, composed.1);
            let (after_one, after_all) = (Arc::new(after_one), Arc::new(after_all));
            add("one step, Jacobian", one.0, &after_one);
            add("one step, vector–Jacobian products", self.by_step_vjp(integrator, of)?, &after_one);
            add(&format!("{ALL_STEPS}, Jacobians of steps"), composed.0, &after_all);
            let n = after_all.derivatives.nrows();
            let sums = format!("weighted sum of the state after {} steps", self.steps);
            let weightings = weightings(&after_all.largest);
            let weighted = Arc::new(after_all.weighted(&weightings, &sums));
            let gradient = loss_gradient_forward(&rollout, &Weighted(&weightings[0]), &list)?;
            let first = Arc::new(after_all.weighted(&weightings[..1], &sums));
            add(
                &format!("{ALL_STEPS}, forward sweep"),
                DMatrix::from_rows(&[row(gradient, &controls)]),
                &first,
            );
            let units = (0..n).map(|i| (0..n).map(|k| if i == k { 1.0 } else { 0.0 }).collect()).collect();
            let (weightings, expected): (Vec<Vec<f64>>, &Arc<Rows>) =
                if n <= MOST_SWEEPS { (units, &after_all) } else { (weightings, &weighted) };
            for (checkpoints, kept) in [
                (Checkpoints::All, "all states kept"),
                (Checkpoints::SquareRoot, "√N states kept"),
                (Checkpoints::Every(3), "every third state kept"),
                (Checkpoints::Binomial(2), "two states kept"),
            ] {
                let sweep = |weights: &Vec<f64>| {
                    Ok(row(loss_gradient(&rollout, &Weighted(weights), &list, checkpoints)?, &controls))
                };
                let rows = in_parallel(&weightings, sweep).into_iter();
                let rows = rows.collect::<Result<Vec<_>, SimulationError>>()?;
                add(&format!("{ALL_STEPS}, adjoint, {kept}"), DMatrix::from_rows(&rows), expected);
            }
            Ok(ways)
        })
    }

    /// The derivatives that differences judge, of the states after one step and after all, at the model's
    /// own values.
    fn by_dual_numbers(&self, parameters: &[CheckedValue]) -> Result<[Rows; 2], SimulationError> {
        let own: Vec<CheckedValue> = parameters
            .iter()
            .map(|(varied, name, value)| {
                let value = match varied {
                    Varied::Parameter(parameter) => parameter.value(self.model)?,
                    Varied::Control(_) => *value,
                };
                Ok((*varied, name.clone(), value))
            })
            .collect::<Result<_, SimulationError>>()?;
        let claimed = in_parallel(own.chunks(CHUNK), |chunk| self.claimed(chunk, 0.0));
        let claimed = claimed.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
        let states = 2 * self.pairs.len();
        let n = self.state.tangent_dimension();
        let column = |quantities: &Vec<Vec<f64>>| DVector::from_vec(quantities[states..].concat());
        let columns: Vec<DVector<f64>> = claimed.iter().map(column).collect();
        let all = DMatrix::from_columns(&columns);
        let sizes = claimed.first().map(|quantities| quantities[states..].iter().map(Vec::len));
        let names: Vec<[String; 2]> = self.names()[states..]
            .iter()
            .zip(sizes.into_iter().flatten())
            .flat_map(|(name, size)| (0..size).map(move |i| [name.clone(), component_name(i)]))
            .collect();
        Ok([0, 1].map(|when| Rows {
            names: names.iter().skip(when * n).take(n).cloned().collect(),
            derivatives: all.rows(when * n, n).into_owned(),
            largest: Vec::new(),
        }))
    }
}

/// Weights of sums of components: each is divided by its component's largest sensitivity.
fn weightings(largest: &[f64]) -> Vec<Vec<f64>> {
    let weight = |(i, largest): (usize, &f64), k: usize| {
        let spread = ((1 + i + k * WEIGHT_TURN) as f64 * SPREAD).fract() - 0.5;
        if *largest > 0.0 { (spread + 0.5f64.copysign(spread)) / largest } else { 1.0 }
    };
    (0..WEIGHTINGS).map(|k| largest.iter().enumerate().map(|at| weight(at, k)).collect()).collect()
}

/// Compares what a way gives with what was held against differences.
pub(super) fn compare_way(
    MadeWay { name, found, expected }: &MadeWay,
    parameters: &[&str],
    scales: &[f64],
) -> (Way, Option<ReportRow>) {
    let mut worst = (0, 0, 0.0_f64);
    let mut disagreeing = 0;
    let most = expected.largest.iter().fold(0.0, |most: f64, x| most.max(*x));
    let nothing = NOTHING_ALONE.max(NOTHING * most);
    for row in 0..found.nrows() {
        let largest = expected.largest[row];
        for (column, scale) in scales.iter().enumerate() {
            let off = (found[(row, column)] - expected.derivatives[(row, column)]).abs() * scale;
            // Not a number is as far off as can be.
            let off = match off {
                off if off <= nothing => 0.0,
                off if off.is_nan() => f64::INFINITY,
                off => off / largest,
            };
            disagreeing += usize::from(off > AGREEMENT);
            if off > worst.2 {
                worst = (row, column, off);
            }
        }
    }
    let (row, column, off) = worst;
    let [quantity, component] = expected.names.get(row).cloned().unwrap_or_default();
    let parameter = parameters.get(column).copied().unwrap_or_default().to_owned();
    let disagreement = || {
        let (way, dual) = (found[(row, column)], expected.derivatives[(row, column)]);
        let larger = way.abs().max(dual.abs());
        let note = format!(
            "{name}: {disagreeing} of {} derivatives disagree, this one by {off:.1e} of the component's largest sensitivity",
            found.len()
        );
        let comparison = Comparison {
            value: 0.0,
            claimed: way,
            difference: dual,
            difference_error: 0.0,
            one_sided: [dual; 2],
            relative_error: if larger > 0.0 { (way - dual).abs() / larger } else { 0.0 },
            step: 0.0,
            verdict: Verdict::Wrong,
            side: None,
            note,
            differences: Vec::new(),
        };
        let (quantity, component) = (format!("{quantity} ({name})"), component.clone());
        ReportRow { quantity, component, parameter: parameter.clone(), comparison }
    };
    let row = (disagreeing > 0).then(disagreement);
    let (way, compared) = (name.to_owned(), found.len());
    (Way { way, compared, disagreeing, worst: off, quantity, component, parameter }, row)
}
