//! What residuals tell of the model: whether they are white, in which phase of contact they are larger than the noise, and
//! whether single samples are wrong.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::outliers::{Outliers, far_rows, outliers};
use super::phase::{Phase, Phases};
use super::{Identification, Loss, LossKind, Measurement, Prediction, RecordedMotion};
use crate::multibody::{AppliedForces, BodyState, Model, State};
use crate::optimize::error::ProblemError;
use crate::optimize::whiteness::{Whiteness, ljung_box};
use crate::parallel::in_parallel;

/// What the residuals of a fit tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diagnostics {
    /// Each quantity of each measurement.
    pub quantities: Vec<QuantityDiagnostics>,
    /// Quantities with samples that are wrong one by one, where no loss takes care of them.
    pub outliers: Vec<Outliers>,
    /// What is striking, in words.
    pub remarks: Vec<String>,
}

/// What the residuals of one quantity of one measurement tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QuantityDiagnostics {
    /// The measurement.
    pub measurement: String,
    /// The quantity, with its sensor where it has one.
    pub quantity: String,
    /// Number of samples.
    pub samples: usize,
    /// Mean square of the differences over standard deviations: 1 if they are noise of the standard deviations given.
    pub mean_square: f64,
    /// Whether they are white; `None` of few samples.
    pub whiteness: Option<Whiteness>,
    /// The same mean square in each phase of contact that there is.
    pub phases: Vec<PhaseSquare>,
}

/// The residuals of a quantity in a phase of contact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PhaseSquare {
    /// The phase.
    pub phase: Phase,
    /// Number of samples.
    pub samples: usize,
    /// Mean square of the differences over standard deviations.
    pub mean_square: f64,
}

/// The residuals of a quantity.
struct Series {
    measurement: String,
    quantity: String,
    /// For each sample its differences over standard deviations.
    samples: Vec<Vec<f64>>,
    /// For each sample the phase of contact; empty of indentation tests.
    phases: Vec<Phase>,
    /// What of it an `outlier_limit` could be of: the quantity itself, or all quantities of recorded states; nothing
    /// where there is one already.
    row: Option<&'static str>,
}

/// All quantities of a recorded state.
const STATES: &str = "the recorded states (`[[trajectories]]`)";

/// Residuals that are white have a smaller probability in one of a hundred fits.
const RARE: f64 = 0.01;
/// What is this part of the noise in the mean square, or less, changes nothing, white or not.
const NEGLIGIBLE: f64 = 0.01;
/// Neighbours that are correlated by less are no more than what a fit does to noise.
const CORRELATED: f64 = 0.1;
/// A phase is not explained where its mean square is so many times that of the other phases.
const UNEXPLAINED: f64 = 2.0;
/// Standard errors of a mean square that chance explains.
const CHANCE: f64 = 5.0;
/// Most remarks of a kind.
const MOST_REMARKS: usize = 4;

impl<A: AppliedForces> Identification<A> {
    /// What the residuals at these parameters tell of the model. Times at which recorded states are compared are taken
    /// as a series over all windows of a recording.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn diagnostics(&self, parameters: &[f64]) -> Result<Diagnostics, ProblemError> {
        let (model, _) = self.seeded(parameters)?;
        let predictions = self.predictions(parameters)?;
        let tests = self.measurements().iter().zip(&predictions);
        let far_rows: Vec<String> = tests
            .filter_map(|(measurement, prediction)| match measurement {
                Measurement::Indentation(test) if test.loss() == Loss::Squares => far_row_remark(prediction),
                _ => None,
            })
            .collect();
        let (at, starts) = (self.trial(&model, parameters, &self.settings), self.present_starts());
        let all = self.measurements().iter().zip(starts).zip(predictions);
        let of_one = |((measurement, starts), prediction): ((&Measurement, Vec<State>), Prediction)| {
            Ok(match (measurement, prediction) {
                (Measurement::Motion(motion), prediction @ Prediction::Motion { .. }) => {
                    series_of_motion(&model, motion, &prediction)
                }
                (Measurement::Motion(motion), Prediction::Sensors { name, channels }) => {
                    let phases = motion.phases(&at, &starts)?;
                    let limited = measurement
                        .sensors()
                        .iter()
                        .flat_map(|s| &s.channels)
                        .map(|c| c.outlier_limit.is_some());
                    let with_phases = channels.into_iter().zip(phases).zip(limited);
                    let series = with_phases.map(|((channel, phases), is_limited)| Series {
                        measurement: name.clone(),
                        quantity: format!("{} ({})", channel.quantity, channel.sensor),
                        samples: (channel.differences.iter())
                            .map(|difference| difference.iter().map(|d| d / channel.sigma).collect())
                            .collect(),
                        phases,
                        row: (!is_limited).then_some(""),
                    });
                    series.collect()
                }
                (_, Prediction::Indentation { name, measured, standard_deviations, predicted, .. }) => {
                    let rows = predicted.iter().zip(&measured).zip(&standard_deviations);
                    let samples = rows.map(|((p, m), sigma)| vec![(p - m) / sigma]).collect();
                    let (quantity, phases) = ("force".to_owned(), Vec::new());
                    vec![Series { measurement: name, quantity, samples, phases, row: None }]
                }
                _ => Vec::new(),
            })
        };
        let series = in_parallel(all, of_one).into_iter();
        let series = series.collect::<Result<Vec<Vec<Series>>, ProblemError>>()?;
        let mut diagnostics = Diagnostics::of(&series.into_iter().flatten().collect::<Vec<_>>());
        diagnostics.remarks.extend(far_rows);
        Ok(diagnostics)
    }
}

/// The residuals of the quantities of a recorded motion.
fn series_of_motion(model: &Model, motion: &RecordedMotion, prediction: &Prediction) -> Vec<Series> {
    let Prediction::Motion { name, recorded, simulated, standard_deviations: sigma, .. } = prediction else {
        return Vec::new();
    };
    let mut finder = Phases::new(model, None);
    let phases: Vec<Phase> =
        simulated.iter().map(|body| finder.next(&model.completed(State::of_bodies(vec![*body])))).collect();
    let row = (sigma.loss == Loss::Squares).then_some(STATES);
    // In the order of a state's tangent.
    let quantities = [
        ("orientation", Some(sigma.orientation)),
        ("position", Some(sigma.position)),
        ("angular velocity", sigma.angular_velocity),
        ("velocity", sigma.linear_velocity),
    ];
    let state = |body: &BodyState| State::of_bodies(vec![*body]);
    let differences: Vec<Vec<f64>> =
        recorded.iter().zip(simulated).map(|(r, s)| state(r).difference(&state(s))).collect();
    let body = motion.states().map_or("", |states| &states.body);
    let of_quantity = |(k, (quantity, sigma)): (usize, (&str, Option<f64>))| {
        let sigma = sigma?;
        let part = |d: &Vec<f64>| d[3 * k..3 * k + 3].iter().map(|x| x / sigma).collect();
        Some(Series {
            measurement: name.clone(),
            quantity: format!("{quantity} of {body}"),
            samples: differences.iter().map(part).collect(),
            phases: phases.clone(),
            row,
        })
    };
    quantities.into_iter().enumerate().filter_map(of_quantity).collect()
}

/// The squared length.
fn square(sample: &[f64]) -> f64 {
    sample.iter().map(|r| r * r).sum()
}

/// The sum of squares, and how many numbers they are of.
#[derive(Clone, Copy, Default)]
struct Squares {
    sum: f64,
    numbers: usize,
    samples: usize,
}

impl Squares {
    fn add(&mut self, sample: &[f64]) {
        self.sum += square(sample);
        self.numbers += sample.len();
        self.samples += 1;
    }

    fn plus(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            numbers: self.numbers + other.numbers,
            samples: self.samples + other.samples,
        }
    }

    fn mean(self) -> f64 {
        self.sum / self.numbers.max(1) as f64
    }
}

/// For each phase the squares of samples in it.
fn by_phase(series: &Series) -> BTreeMap<Phase, Squares> {
    let mut all: BTreeMap<Phase, Squares> = BTreeMap::new();
    for (sample, phase) in series.samples.iter().zip(&series.phases) {
        all.entry(*phase).or_default().add(sample);
    }
    all
}

impl Diagnostics {
    fn of(all: &[Series]) -> Self {
        let quantities: Vec<QuantityDiagnostics> = all.iter().map(of_series).collect();
        let outliers = all_outliers(all);
        let mut remarks = whiteness_remarks(&quantities);
        remarks.extend(phase_remarks(all));
        remarks.extend(outliers.iter().map(outlier_remark));
        Self { quantities, outliers, remarks }
    }

    /// The largest long-run variance of the quantities whose residuals are not white; 0 if all are.
    pub fn long_run_variance(&self) -> f64 {
        let is_colored = colored(&self.quantities);
        let tested = self.quantities.iter().filter_map(|quantity| Some((quantity, quantity.whiteness?)));
        let colored = tested.filter(|(quantity, white)| is_colored(quantity, white));
        colored.map(|(_, white)| white.long_run_variance).fold(0.0, f64::max)
    }
}

/// Whether the residuals of a quantity among these are not white.
fn colored(quantities: &[QuantityDiagnostics]) -> impl Fn(&QuantityDiagnostics, &Whiteness) -> bool + use<> {
    let tested = quantities.iter().filter(|quantity| quantity.whiteness.is_some()).count();
    let level = RARE / tested.max(1) as f64;
    move |quantity, white| {
        quantity.mean_square > NEGLIGIBLE && white.p_value < level && white.neighbours > CORRELATED
    }
}

fn of_series(series: &Series) -> QuantityDiagnostics {
    let mut squares = Squares::default();
    series.samples.iter().for_each(|sample| squares.add(sample));
    let dimension = series.samples.first().map_or(0, Vec::len);
    let component = |k: usize| series.samples.iter().map(|sample| sample[k]).collect();
    let components: Vec<Vec<f64>> = (0..dimension).map(component).collect();
    let phases = by_phase(series);
    QuantityDiagnostics {
        measurement: series.measurement.clone(),
        quantity: series.quantity.clone(),
        samples: series.samples.len(),
        mean_square: squares.mean(),
        whiteness: ljung_box(&components),
        phases: (phases.into_iter())
            .map(|(phase, squares)| PhaseSquare {
                phase,
                samples: squares.samples,
                mean_square: squares.mean(),
            })
            .collect(),
    }
}

/// Which quantities of which measurements are not white, the worst first.
fn whiteness_remarks(quantities: &[QuantityDiagnostics]) -> Vec<String> {
    let is_colored = colored(quantities);
    let tested = quantities.iter().filter_map(|quantity| Some((quantity, quantity.whiteness?)));
    let mut colored: Vec<_> = tested.filter(|(quantity, white)| is_colored(quantity, white)).collect();
    colored.sort_by(|a, b| b.1.neighbours.total_cmp(&a.1.neighbours));
    let one = |(quantity, white): &(&QuantityDiagnostics, Whiteness)| {
        format!(
            "the residuals of {} in {} are not white (Ljung-Box p = {:.1e}, neighbours are correlated by {:.2}): there \
             the model misses something, and standard errors are too small",
            quantity.quantity, quantity.measurement, white.p_value, white.neighbours
        )
    };
    let mut remarks: Vec<String> = colored.iter().take(MOST_REMARKS).map(one).collect();
    if colored.len() > MOST_REMARKS {
        remarks.push(format!(
            "nor are those of {} more quantities of measurements",
            colored.len() - MOST_REMARKS
        ));
    }
    remarks
}

/// Which quantities are not explained in which phase of contact, over all measurements.
fn phase_remarks(all: &[Series]) -> Vec<String> {
    let mut pooled: BTreeMap<&str, BTreeMap<Phase, Squares>> = BTreeMap::new();
    for series in all {
        let own = pooled.entry(&series.quantity).or_default();
        for (phase, squares) in by_phase(series) {
            let sum = own.entry(phase).or_default();
            *sum = sum.plus(squares);
        }
    }
    let mut found = Vec::new();
    for (quantity, phases) in &pooled {
        for phase in Phase::ALL {
            let Some(own) = phases.get(&phase) else { continue };
            let others = phases.iter().filter(|(other, _)| **other != phase);
            let others = others.fold(Squares::default(), |sum, (_, squares)| sum.plus(*squares));
            // Of noise alone the mean square is 1 with a standard error of √(2/n).
            let chance = 1.0 + CHANCE * (2.0 / own.numbers.max(1) as f64).sqrt();
            let elsewhere = if others.numbers > 0 { others.mean() } else { 1.0 };
            if own.mean() > UNEXPLAINED * elsewhere && own.mean() > chance {
                found.push((own.mean() / elsewhere, quantity, phase, own.mean(), elsewhere));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let one = |(_, quantity, phase, own, elsewhere): &(f64, &&str, Phase, f64, f64)| {
        format!(
            "{quantity} is not explained {phase}: the mean square of its residuals is {own:.2} there and {elsewhere:.2} \
             elsewhere"
        )
    };
    found.iter().take(MOST_REMARKS).map(one).collect()
}

/// The outliers of all quantities, or rows of quantities, that an `outlier_limit` could be of.
fn all_outliers(all: &[Series]) -> Vec<Outliers> {
    // For each what its samples consist of, and their squared lengths.
    let mut rows: BTreeMap<&str, (usize, Vec<f64>)> = BTreeMap::new();
    for (k, series) in all.iter().enumerate() {
        let Some(row) = series.row else { continue };
        let name = if row.is_empty() { series.quantity.as_str() } else { row };
        let squares = series.samples.iter().map(|sample| square(sample));
        let dimension = series.samples.first().map_or(0, Vec::len);
        // Quantities of the same states follow one another.
        let begins = k.checked_sub(1).is_none_or(|before| {
            let before = &all[before];
            row.is_empty() || before.row != series.row || before.measurement != series.measurement
        });
        let (numbers, lengths) = rows.entry(name).or_default();
        if begins {
            *numbers = dimension;
            lengths.extend(squares);
        } else {
            *numbers += dimension;
            let first = lengths.len() - series.samples.len();
            lengths[first..].iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
        }
    }
    rows.iter().filter_map(|(name, (dimension, squares))| outliers(name, squares, *dimension)).collect()
}

/// What to say of rows of an indentation test that are far off the others.
fn far_row_remark(prediction: &Prediction) -> Option<String> {
    let Prediction::Indentation { name, depths, measured, standard_deviations, predicted } = prediction
    else {
        return None;
    };
    let (rows, limit) = far_rows(measured, predicted, standard_deviations)?;
    let row = |&k: &usize| format!("{} N at {} m", measured[k], depths[k]);
    let listed: Vec<String> = rows.iter().take(MOST_REMARKS).map(row).collect();
    let more = if rows.len() > MOST_REMARKS { ", …" } else { "" };
    let (count, all, listed) = (rows.len(), measured.len(), listed.join(", "));
    Some(format!(
        "{count} of {all} rows of {name} are far off the others ({listed}{more}): try `outlier_limit = {limit}` and \
         `outlier_loss = \"cauchy\"` in its table"
    ))
}

fn outlier_remark(found: &Outliers) -> String {
    let Outliers { quantity, count, samples, outlier_limit, outlier_loss } = found;
    let loss = match outlier_loss {
        LossKind::Charbonnier => "charbonnier",
        LossKind::Huber => "huber",
        LossKind::Cauchy => "cauchy",
    };
    let mut text =
        format!("{count} of {samples} samples of {quantity} are farther off than noise is, one by one: ");
    // Writing to a text cannot fail.
    let _ = write!(text, "try `outlier_limit = {outlier_limit}` and `outlier_loss = \"{loss}\"` there");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::gaussian::gaussian;

    fn series(quantity: &str, run: usize, row: Option<&'static str>) -> Series {
        let noise = gaussian(21, run, 600);
        let phases = [Phase::BeforeTouch, Phase::Impact, Phase::Sliding, Phase::AfterTouch];
        Series {
            measurement: "a.csv".into(),
            quantity: quantity.into(),
            samples: noise.chunks(3).map(<[f64]>::to_vec).collect(),
            phases: (0..200).map(|k| phases[k / 50]).collect(),
            row,
        }
    }

    #[test]
    fn of_noise_nothing_is_said() {
        let all: Vec<Series> = (0..8).map(|run| series("position of ball", run, Some(""))).collect();
        let found = Diagnostics::of(&all);
        assert_eq!(found.remarks, Vec::<String>::new());
        assert_eq!(found.quantities.len(), 8);
        for quantity in &found.quantities {
            assert!((quantity.mean_square - 1.0).abs() < 5.0 * (2.0_f64 / 600.0).sqrt());
            assert_eq!(quantity.phases.iter().map(|phase| phase.samples).collect::<Vec<_>>(), [50; 4]);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_quantity_and_phase() {
        let mut all: Vec<Series> = ["position of ball", "orientation of ball"]
            .map(|quantity| series(quantity, 1, Some(STATES)))
            .into();
        // A sliding that the model does not follow.
        for (k, sample) in all[0].samples.iter_mut().enumerate().skip(100).take(50) {
            sample[1] += 5.0 * (0.1 * k as f64).sin();
        }
        let found = Diagnostics::of(&all);
        assert_eq!(found.remarks.len(), 2, "{:?}", found.remarks);
        assert!(found.remarks[0].contains("position of ball in a.csv are not white"), "{:?}", found.remarks);
        assert!(found.remarks[1].starts_with("position of ball is not explained while sliding"));
        // What is far below the noise does not matter.
        all.iter_mut().flat_map(|series| &mut series.samples).flatten().for_each(|x| *x *= 1e-3);
        assert_eq!(Diagnostics::of(&all).remarks, Vec::<String>::new());
        // Single states that are wrong, in one quantity of two.
        let mut all: Vec<Series> = ["position of ball", "orientation of ball"]
            .map(|quantity| series(quantity, 1, Some(STATES)))
            .into();
        (0..10).for_each(|k| all[1].samples[20 * k + 3][0] += 50.0);
        let found = Diagnostics::of(&all);
        assert_eq!((found.outliers.len(), found.outliers[0].count), (1, 10));
        let remark = found.remarks.last().expect("one");
        assert!(remark.contains("outlier_loss = \"cauchy\"") && remark.contains(STATES), "{remark}");
        // Six numbers a state: √16.8.
        assert!((found.outliers[0].outlier_limit - 4.1).abs() < 0.5, "{remark}");
        all.iter_mut().for_each(|series| series.row = None);
        assert!(Diagnostics::of(&all).outliers.is_empty());
    }
}
