//! One number from the costs of all members.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What of the members' costs is minimized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Their mean.
    #[default]
    Mean,
    /// The largest. Its gradient is that of the member with the largest cost, and jumps where another takes over.
    Worst,
    /// A smooth bound of the largest: τ ln of the mean of exp(cost / τ), which is between mean and largest, for the
    /// temperature τ > 0 that is given, in the unit of the cost.
    SmoothWorst(f64),
    /// The conditional value at risk: the mean of the worst part of the members, which is given, between 0 and 1. A
    /// member on the edge counts in part. Its gradient jumps where members change places there. (R. T. Rockafellar,
    /// S. Uryasev, *Optimization of conditional value-at-risk*, Journal of Risk 2, 2000.)
    ConditionalValue(f64),
}

impl Risk {
    /// What is minimized, and its derivatives with respect to the members' costs; `None` for the derivatives of the
    /// mean, which are all the same.
    pub fn evaluate(self, costs: &[f64]) -> (f64, Option<Vec<f64>>) {
        let n = costs.len().max(1) as f64;
        match self {
            Self::Mean => (costs.iter().sum::<f64>() / n, None),
            Self::Worst => {
                // The first of the largest.
                let worst = (0..costs.len()).rev().max_by(|&a, &b| costs[a].total_cmp(&costs[b]));
                let mut weights = vec![0.0; costs.len()];
                worst.iter().for_each(|&i| weights[i] = 1.0);
                (worst.map_or(0.0, |i| costs[i]), Some(weights))
            }
            Self::SmoothWorst(temperature) => {
                let largest = costs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let shares: Vec<f64> = costs.iter().map(|c| ((c - largest) / temperature).exp()).collect();
                let sum: f64 = shares.iter().sum();
                let value = largest + temperature * (sum / n).ln();
                (value, Some(shares.iter().map(|share| share / sum).collect()))
            }
            Self::ConditionalValue(part) => {
                let mut order: Vec<usize> = (0..costs.len()).collect();
                order.sort_by(|&a, &b| costs[b].total_cmp(&costs[a]));
                // Members that count, the last of them in part.
                let count = (part * n).clamp(f64::MIN_POSITIVE, n);
                let mut weights = vec![0.0; costs.len()];
                for (place, &i) in order.iter().enumerate() {
                    weights[i] = (count - place as f64).clamp(0.0, 1.0) / count;
                }
                (order.iter().map(|&i| weights[i] * costs[i]).sum(), Some(weights))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: [f64; 5] = [1.0, 4.0, 2.5, 3.9, 0.2];

    #[test]
    fn values_are_those_of_their_definitions() {
        assert_eq!(Risk::Mean.evaluate(&COSTS).0, COSTS.iter().sum::<f64>() / 5.0);
        assert_eq!(Risk::Worst.evaluate(&COSTS), (4.0, Some(vec![0.0, 1.0, 0.0, 0.0, 0.0])));
        assert!((Risk::ConditionalValue(0.4).evaluate(&COSTS).0 - 3.95).abs() < 1e-15);
        // Half of the third.
        let half = (4.0 + 3.9 + 0.5 * 2.5) / 2.5;
        assert!((Risk::ConditionalValue(0.5).evaluate(&COSTS).0 - half).abs() < 1e-15);
        assert!((Risk::ConditionalValue(1.0).evaluate(&COSTS).0 - 11.6 / 5.0).abs() < 1e-15);
        let smooth = |t| Risk::SmoothWorst(t).evaluate(&COSTS).0;
        assert!(smooth(1e-3) < 4.0 && smooth(1e-3) > 3.99 && (smooth(1e6) - 2.32).abs() < 1e-5);
        assert_eq!(Risk::Worst.evaluate(&[2.0, 2.0]).1, Some(vec![1.0, 0.0]));
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        for risk in
            [Risk::Worst, Risk::SmoothWorst(0.7), Risk::ConditionalValue(0.5), Risk::ConditionalValue(0.1)]
        {
            let (_, weights) = risk.evaluate(&COSTS);
            for (i, weight) in weights.expect("derivatives").iter().enumerate() {
                let moved = |h: f64| {
                    let mut costs = COSTS;
                    costs[i] += h;
                    risk.evaluate(&costs).0
                };
                let h = 1e-5;
                assert!(((moved(h) - moved(-h)) / (2.0 * h) - weight).abs() < 1e-8, "{risk:?} {i}");
            }
        }
    }
}
