//! What the iterative linear-quadratic regulator asks of a problem: stages with a state between
//! them.

use argmin::core::{CostFunction, Error};
use nalgebra::{DMatrix, DVector};

/// The motion of a stage to first order and its cost to second order, around a nominal motion.
#[derive(Clone, Debug, PartialEq)]
pub struct StageExpansion {
    /// The state after the stage by the one before it (n × n).
    pub by_state: DMatrix<f64>,
    /// The state after the stage by its variables (n × m).
    pub by_control: DMatrix<f64>,
    /// Gradient of the stage's cost with respect to the state before it (n), then the variables (m).
    pub gradient: DVector<f64>,
    /// Hessian of the stage's cost, or its Gauss–Newton approximation, in the same order.
    pub hessian: DMatrix<f64>,
}

/// A whole problem to second order around a nominal motion.
#[derive(Clone, Debug, PartialEq)]
pub struct Expansion {
    /// The stages.
    pub stages: Vec<StageExpansion>,
    /// Gradient of the cost of the end with respect to the state there (n).
    pub end_gradient: DVector<f64>,
    /// Hessian of the cost of the end, or its Gauss–Newton approximation (n × n).
    pub end_hessian: DMatrix<f64>,
}

/// A policy: the variables of stage i become uᵢ + kᵢ + Kᵢ (x ⊖ xᵢ), clamped to their bounds, with the
/// nominal variables uᵢ and the nominal state xᵢ.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The changes k of each stage (m).
    pub changes: Vec<DVector<f64>>,
    /// The gains K of each stage (m × n).
    pub gains: Vec<DMatrix<f64>>,
}

impl Policy {
    /// The variables of a stage, given the nominal ones, the tangent from the nominal state at its
    /// start to the one there, and bounds.
    pub fn variables(
        &self,
        stage: usize,
        nominal: &[f64],
        difference: &[f64],
        bounds: (&[f64], &[f64]),
    ) -> Vec<f64> {
        let mut change = self.changes[stage].clone();
        change.gemv(1.0, &self.gains[stage], &DVector::from_column_slice(difference), 1.0);
        let moved = nominal.iter().zip(change.iter()).map(|(u, d)| u + d);
        moved.zip(bounds.0.iter().zip(bounds.1)).map(|(u, (&l, &h))| u.max(l).min(h)).collect()
    }
}

/// A problem in stages: the variables of a stage change no state before that stage.
///
/// Its cost is that of rolling out from the initial state; variables are ordered stage after
/// stage, the same number each.
pub trait StagedProblem: CostFunction<Param = Vec<f64>, Output = f64> {
    /// Whether it has stages. One that has none can still be looked around in: it is neither expanded nor rolled out.
    fn has_stages(&self) -> bool {
        true
    }

    /// For each variable the control that it is a value of, counted from 0: what is moved together in a look around.
    fn controls(&self) -> Vec<usize>;

    /// Lower and upper bounds of all variables; infinite where there are none.
    fn bounds(&self) -> (&[f64], &[f64]);

    /// The expansion around the motion under these variables.
    ///
    /// # Errors
    /// When the motion cannot be computed or differentiated.
    fn expand(&self, variables: &[f64]) -> Result<Expansion, Error>;

    /// Rolls out with a policy around the motion under nominal variables. Returns the variables that
    /// it came to and their cost.
    ///
    /// # Errors
    /// When either motion cannot be computed.
    fn roll_out(&self, nominal: &[f64], policy: &Policy) -> Result<(Vec<f64>, f64), Error>;

    /// The costs of many points; `None` for a point that cannot be evaluated. Without another
    /// implementation one after the other.
    fn costs(&self, points: &[Vec<f64>]) -> Vec<Option<f64>> {
        points.iter().map(|x| self.cost(x).ok()).collect()
    }
}
