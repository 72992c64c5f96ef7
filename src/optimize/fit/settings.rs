//! How a fit is solved, and from how many starts.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The method of a fit. Both keep the parameters within their bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The method of Levenberg and Marquardt.
    #[default]
    LevenbergMarquardt,
    /// The quasi-Newton method L-BFGS-B.
    Lbfgs,
}

/// Settings of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct FitSettings {
    /// The method.
    #[serde(rename = "kind")]
    pub method: Method,
    /// Most iterations.
    pub max_iterations: u64,
    /// The fit ends when an iteration lowers, or is predicted to lower, the cost by less than this part
    /// of the cost. For measured data the default of 10⁻¹⁰, which leaves an error of about 10⁻⁵ standard
    /// errors, is rarely too large.
    pub cost_tolerance: f64,
    /// Several starts. The best result is kept, and how many came to it is told.
    #[cfg_attr(test, schemars(extend("x-default" = "one")))]
    pub starts: FitStarts,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            method: Method::default(),
            max_iterations: 100,
            cost_tolerance: 1e-10,
            starts: FitStarts::default(),
        }
    }
}

/// Several starts: the start values of the parameters, and others normally distributed around them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
#[cfg_attr(test, schemars(rename = "SeveralStarts"))]
pub struct FitStarts {
    /// The number of starts, including the start values.
    pub count: usize,
    /// Standard deviation around the start values: in these, so that 1 is as much as they are, and of parameters on a
    /// logarithmic scale in natural logarithms, so that 1 is a factor of 2.7. What is beyond a bound is as far within it.
    pub spread: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for FitStarts {
    fn default() -> Self {
        Self { count: 1, spread: 1.0, seed: 0 }
    }
}
