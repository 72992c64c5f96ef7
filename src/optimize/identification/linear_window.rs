//! A window around parameters and a start, to first order: where its start goes as the parameters change, and what is
//! left of its residuals then.
//!
//! With the start x at which ½‖r(θ, x)‖² is least, what is left, as a function of the parameters θ alone, has the
//! derivative P ∂r/∂θ, with P the projection onto all that is at right angles to the columns of ∂r/∂x (variable
//! projection: G. H. Golub, V. Pereyra, *SIAM J. Numer. Anal.* 10, 1973, 413–432, in the approximation of L. Kaufman,
//! *BIT* 15, 1975, 49–57). The gradient of the cost is exact, and JᵀJ is that of all unknowns with those of the start
//! eliminated, so that standard errors contain what the starts leave open.
//!
//! At parameters nearby the start is expected at x − (∂r/∂x)⁺ (r + ∂r/∂θ δθ), the Gauss–Newton step of all unknowns
//! together. A fit linearizes there once, and takes further steps of the start only where that lowers the cost by more
//! than a small part: near the end starts cost a fit no iterations of their own. The cost is always that of a motion
//! that was simulated, so that where residuals have kinks (a contact that begins to slip) a fit still goes down.

use nalgebra::{DMatrix, DVector};

use super::initial_state::{WindowSystem, moved_along};
use crate::multibody::State;

/// A linearized window whose start is estimated.
#[derive(Clone, Debug)]
pub(super) struct LinearWindow {
    start: State,
    directions: Vec<usize>,
    /// Whether the step that it promises for the start alone did not lower the cost.
    pub is_stuck: bool,
    residuals: DVector<f64>,
    /// With respect to the parameters of the fit.
    by_parameters: DMatrix<f64>,
    /// ∂r/∂x = Q R, with as many columns as the start has directions.
    q: DMatrix<f64>,
    r: DMatrix<f64>,
}

impl LinearWindow {
    /// A window's system at a start, with its derivatives with respect to the parameters of the fit.
    pub fn new(start: State, system: WindowSystem, by_parameters: DMatrix<f64>) -> Self {
        let n = system.by_start.ncols();
        let qr = system.by_start.clone().qr();
        let (q, r) = (qr.q().columns(0, n).into_owned(), qr.r().rows(0, n).into_owned());
        let WindowSystem { residuals, directions, is_stuck, .. } = system;
        Self { start, directions, is_stuck, residuals, by_parameters, q, r }
    }

    pub fn residuals(&self) -> &DVector<f64> {
        &self.residuals
    }

    /// P ∂r/∂θ.
    pub fn projected_jacobian(&self) -> DMatrix<f64> {
        &self.by_parameters - &self.q * self.q.tr_mul(&self.by_parameters)
    }

    /// The start that explains the measurements best where the parameters have changed by this.
    pub fn start_at(&self, change: &DVector<f64>) -> State {
        let mut left = &self.by_parameters * change;
        if !self.is_stuck {
            left += &self.residuals;
        }
        let along = self.q.tr_mul(&left);
        // The start's own residuals give ∂r/∂x full rank.
        match self.r.solve_upper_triangular(&-along) {
            Some(step) => moved_along(&self.start, &self.directions, &step),
            None => self.start.clone(),
        }
    }
}
