//! How a trajectory optimization is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The method of a trajectory optimization. All keep the controls within their bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrajectoryMethod {
    /// iLQR and L-BFGS by turns, after a look at offsets of the start.
    #[default]
    Auto,
    /// The iterative linear–quadratic regulator: linearizes the motion step by step.
    Ilqr,
    /// The quasi-Newton method L-BFGS-B: gradients alone.
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

/// How a trajectory optimization is done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrajectorySettings {
    /// The method.
    #[serde(rename = "kind")]
    pub method: TrajectoryMethod,
    /// Most iterations.
    pub max_iterations: u64,
    /// It ends when iterations lower, or promise to lower, the cost by less than this part of it.
    /// `None` is the method's own: 10⁻³ of [`TrajectoryMethod::Auto`], which then looks around as
    /// well, 10⁻⁸ of the others.
    pub cost_tolerance: Option<f64>,
    /// How much the first steps of iLQR and Levenberg–Marquardt are held back, relative to the
    /// Hessian's diagonal; positive. A larger one is more cautious, which spares rollouts where the
    /// start is far from any solution. `None` is the method's own: 0.5 where the method is chosen,
    /// 0 of iLQR alone and 10⁻³ of Levenberg–Marquardt. L-BFGS takes none.
    pub initial_damping: Option<f64>,
}

impl Default for TrajectorySettings {
    /// The method that chooses, at most 200 iterations, its own tolerance and damping.
    fn default() -> Self {
        Self {
            method: TrajectoryMethod::default(),
            max_iterations: 200,
            cost_tolerance: None,
            initial_damping: None,
        }
    }
}
