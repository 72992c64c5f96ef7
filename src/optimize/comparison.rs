//! Which of several models predicts best what it was not fitted to.
//!
//! A model with more parameters always explains the data better that it was fitted to. Models are therefore compared by
//! what they predict of measurements that were left out (M. Stone, *Cross-validatory choice and assessment of statistical
//! predictions*, Journal of the Royal Statistical Society B 36, 1974). Measurements are left out as a whole, since the
//! errors within one recording are not independent.

use serde::Serialize;

use super::uncertainty::student_quantile;

/// The measurements that are left out in each of `folds` rounds, of `count`: every `folds`-th one. There are as many rounds
/// as measurements if those are fewer.
pub fn folds(count: usize, folds: usize) -> Vec<Vec<usize>> {
    let folds = folds.min(count);
    (0..folds).map(|first| (first..count).step_by(folds).collect()).collect()
}

/// Smaller mean squares count as this one: predictions to a thousandth of a standard deviation are as good as exact.
const SMALLEST_SCORE: f64 = 1e-6;

/// How well a model predicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rated {
    /// The place of the model in the list that was given.
    #[serde(skip)]
    pub index: usize,
    /// The geometric mean over the measurements of the mean square of a measurement's residuals (differences over
    /// standard deviations).
    pub score: f64,
    /// How many times that is the score of the best model.
    pub ratio: f64,
    /// The 95 % interval of the ratio; from 0 to infinity if there is one measurement.
    pub ratio_interval: [f64; 2],
}

impl Rated {
    /// Whether the data do not tell the model from the best one: the interval of the ratio holds 1.
    pub fn is_as_good(&self) -> bool {
        self.ratio_interval[0] <= 1.0
    }
}

/// Orders models by how well they predict, the best first. `scores` are those of each model, one for each measurement, in
/// the same order; smaller ones are better. Models with a score that is not finite are left out.
///
/// Scores are compared by their ratios in the same measurement, since errors grow in a motion by factors: with differences
/// the recordings that nothing predicts would decide. The interval is that of the mean of the logarithms of these ratios,
/// by Student's distribution. Since the models of different rounds were fitted to data that overlap it is a little too
/// narrow.
pub fn rated(scores: &[Vec<f64>]) -> Vec<Rated> {
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len().max(1) as f64;
    // NaN stays NaN, unlike with `max`.
    let logarithm = |score: &f64| if *score < SMALLEST_SCORE { SMALLEST_SCORE.ln() } else { score.ln() };
    let logarithms: Vec<Vec<f64>> = scores.iter().map(|all| all.iter().map(logarithm).collect()).collect();
    let means = logarithms.iter().map(|all| mean(all)).enumerate();
    let usable: Vec<(usize, f64)> = means.filter(|(_, mean)| mean.is_finite()).collect();
    let Some(&(best, _)) = usable.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else { return Vec::new() };
    let rate = |(index, score): (usize, f64)| {
        let pairs = logarithms[index].iter().zip(&logarithms[best]);
        let differences: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
        let (count, difference) = (differences.len(), mean(&differences));
        let squares: f64 = differences.iter().map(|d| (d - difference).powi(2)).sum();
        let freedom = count.saturating_sub(1);
        let half_width = match (index == best, freedom) {
            (true, _) => 0.0,
            (false, 0) => f64::INFINITY,
            (false, freedom) => student_quantile(freedom) * (squares / (freedom * count) as f64).sqrt(),
        };
        let ratio_interval = [difference - half_width, difference + half_width].map(f64::exp);
        Rated { index, score: score.exp(), ratio: difference.exp(), ratio_interval }
    };
    let mut all: Vec<Rated> = usable.into_iter().map(rate).collect();
    all.sort_by(|a, b| a.score.total_cmp(&b.score));
    all
}

/// The place in the order of the model to take: of those that the data do not tell from the best the one with the fewest
/// parameters, and among these the better one. `parameters` are the numbers of parameters in the order that was given to
/// [`rated`].
pub fn simplest(rated: &[Rated], parameters: &[usize]) -> Option<usize> {
    let as_good = rated.iter().enumerate().filter(|(_, rated)| rated.is_as_good());
    as_good.min_by_key(|(_, rated)| parameters[rated.index]).map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimize::gaussian::gaussian;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_measurement_is_left_out_once(count in 0usize..30, rounds in 1usize..9) {
            let all = folds(count, rounds);
            prop_assert_eq!(all.len(), rounds.min(count));
            let mut left_out = all.concat();
            left_out.sort_unstable();
            prop_assert_eq!(left_out, (0..count).collect::<Vec<_>>());
            let sizes = || all.iter().map(Vec::len);
            prop_assert!(sizes().max().unwrap_or(0) <= sizes().min().unwrap_or(0) + 1);
        }
    }

    #[test]
    fn a_simpler_model_is_taken_where_it_does_as_well() {
        // The first is a little worse by chance, the third by much, the last cannot be rated.
        let scores = [
            vec![1.0, 1.2, 0.9, 1.1, 1.05],
            vec![1.1, 0.9, 1.0, 0.9, 1.1],
            vec![2.0, 2.2, 1.9, 2.1, 2.0],
            vec![f64::NAN, 0.0, 0.0, 0.0, 0.0],
        ];
        let order = rated(&scores);
        assert_eq!(order.iter().map(|r| r.index).collect::<Vec<_>>(), [1, 0, 2]);
        assert!(order[0].is_as_good() && order[1].is_as_good() && !order[2].is_as_good());
        let product = |all: &[f64]| all.iter().product::<f64>().powf(0.2);
        assert!((order[1].ratio - product(&scores[0]) / product(&scores[1])).abs() < 1e-12);
        // With parameters of 5, 3, 1, 1: the best is simpler than the first, the third does not do as well.
        assert_eq!(simplest(&order, &[5, 3, 1, 1]), Some(0));
        assert_eq!(simplest(&order, &[2, 3, 1, 1]), Some(1));
        assert_eq!(simplest(&[], &[]), None);
    }

    #[test]
    fn one_measurement_tells_nothing() {
        let order = rated(&[vec![1.0], vec![9.0]]);
        assert!(order[1].is_as_good() && order[1].ratio_interval[1].is_infinite());
    }

    #[test]
    fn intervals_of_ratios_hold_the_true_one() {
        // Two models whose scores differ by a factor of e^0.3, with noise in common.
        let (rounds, count) = (2000, 8);
        let holds = |round: usize| {
            let noise = gaussian(5, round, 3 * count);
            let [a, b]: [Vec<f64>; 2] = [0, 1].map(|model| {
                let own = |k: usize| 0.2 * noise[(1 + model) * count + k];
                let one = |k: usize| (2.0 * noise[k] + own(k) + 0.3 * model as f64).exp();
                (0..count).map(one).collect()
            });
            let order = rated(&[a, b]);
            let (sign, worse) = (if order[0].index == 0 { 1.0 } else { -1.0 }, &order[1]);
            let [low, high] = worse.ratio_interval.map(f64::ln);
            (low..=high).contains(&(sign * 0.3))
        };
        let part = (0..rounds).filter(|&round| holds(round)).count() as f64 / rounds as f64;
        // Four standard errors of 0.5 %.
        assert!((part - 0.95).abs() < 0.02, "{part}");
    }
}
