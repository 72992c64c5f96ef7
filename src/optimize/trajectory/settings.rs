//! Settings of a trajectory optimization.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The method of a trajectory optimization. All keep the controls within their bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrajectoryMethod {
    /// iLQR and L-BFGS in turns, after a survey of constant offsets of the start.
    #[default]
    Auto,
    /// The iterative linear–quadratic regulator: linearizes the motion step by step.
    Ilqr,
    /// The quasi-Newton method L-BFGS-B, which uses gradients alone.
    Lbfgs,
    /// The method of Levenberg and Marquardt on all residuals at once.
    LevenbergMarquardt,
}

impl TrajectoryMethod {
    /// Its name, as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Ilqr => "ilqr",
            Self::Lbfgs => "lbfgs",
            Self::LevenbergMarquardt => "levenberg_marquardt",
        }
    }

    /// Its tolerance of the cost where none is given.
    pub(super) fn standard_tolerance(self) -> f64 {
        match self {
            Self::Auto => 1e-3,
            Self::Ilqr | Self::Lbfgs | Self::LevenbergMarquardt => 1e-8,
        }
    }
}

/// Settings of a trajectory optimization.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrajectorySettings {
    /// The method.
    #[serde(rename = "kind")]
    pub method: TrajectoryMethod,
    /// Most iterations.
    pub max_iterations: u64,
    /// The optimization ends when iterations lower, or are predicted to lower, the cost by less than
    /// this part of the cost. `None` takes the default of the method: 10⁻³ for
    /// [`TrajectoryMethod::Auto`], which then also looks around the end, and 10⁻⁸ for the others.
    pub cost_tolerance: Option<f64>,
    /// How much the first steps of iLQR and Levenberg–Marquardt are held back, relative to the Hessian's
    /// diagonal; positive. A larger value is more cautious, which saves rollouts if the start is far
    /// from any solution. `None` takes the default of the method: 0.5 for `Auto`, 0 for iLQR alone and
    /// 10⁻³ for Levenberg–Marquardt. L-BFGS does not use it.
    pub initial_damping: Option<f64>,
}

impl Default for TrajectorySettings {
    /// The method `Auto` with at most 200 iterations and the method's own tolerance and damping.
    fn default() -> Self {
        Self {
            method: TrajectoryMethod::default(),
            max_iterations: 200,
            cost_tolerance: None,
            initial_damping: None,
        }
    }
}
