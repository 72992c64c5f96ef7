//! How far a step goes, and variables that the residuals stop depending on.
//!
//! Residuals may depend on a variable less and less the farther it goes: on friction, once everything sticks. The linear
//! model knows nothing of that and would send it thousands of times as far.

use argmin::core::Error;
use serde::{Deserialize, Serialize};

use super::{LevenbergMarquardt, LinearModel};
use crate::optimize::bounds::Bounds;
use crate::optimize::data_error::InvalidField;
use crate::optimize::least_squares::half_square;

/// No step leads farther than to so many times a variable's size, up or down, its start being the least.
const FARTHEST: f64 = 10.0;
/// From this factor from its start on a variable may be stopped.
const FAR: f64 = 3.0;
/// What a change of it by its own size changes must have fallen to this part of what it was, so that the variable has gone
/// where it does not count and did not only begin there.
const FALLEN: f64 = 0.5;

/// What is known of the variables for that.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stops {
    /// Of a variable that is a logarithm that of its start; the others are in units of their start.
    starts: Vec<Option<f64>>,
    /// By how much at most a change of each by its own size has changed the residuals.
    largest: Vec<f64>,
    stopped: Vec<bool>,
}

impl Stops {
    /// The same at the beginning of a run, which goes on from another one where variables are far from their starts.
    pub fn renewed(self, x: &[f64]) -> Result<Self, Error> {
        if self.starts.len() != x.len() {
            return Err(Error::msg(format!("starts of {} variables of {}", self.starts.len(), x.len())));
        }
        let largest = (0..x.len()).map(|i| if self.is_far(i, x[i]) { f64::MAX } else { 0.0 }).collect();
        Ok(Self { largest, stopped: vec![false; x.len()], ..self })
    }

    pub fn check(&self, variables: usize) -> Result<(), InvalidField> {
        let starts: Vec<f64> = self.starts.iter().map(|start| start.unwrap_or(0.0)).collect();
        InvalidField::check_numbers("solver.stops.starts", &starts, variables, f64::NEG_INFINITY)?;
        let stopped: Vec<f64> = self.stopped.iter().map(|&is| f64::from(u8::from(is))).collect();
        InvalidField::check_numbers("solver.stops.stopped", &stopped, variables, 0.0)?;
        InvalidField::check_numbers("solver.stops.largest", &self.largest, variables, 0.0)
    }

    fn is_far(&self, i: usize, x: f64) -> bool {
        self.starts[i].map_or(x.abs() > FAR, |start| (x - start).abs() > FAR.ln())
    }

    /// A change of a variable by its own size.
    fn size(&self, i: usize, x: f64) -> f64 {
        self.starts[i].map_or(x.abs().max(1.0), |_| 1.0)
    }
}

impl LevenbergMarquardt {
    /// Limits steps, and stops variables that the residuals stop depending on (default: neither). Of each variable that is a
    /// logarithm it takes that of its start; the others are in units of their start.
    #[must_use]
    pub fn with_stops(self, starts: Vec<Option<f64>>) -> Self {
        Self { stops: Some(Stops { starts, largest: Vec::new(), stopped: Vec::new() }), ..self }
    }

    /// The bounds that a step from there keeps: closer ones where it would go far, and none of its own way for what is stopped.
    pub(super) fn bounds_at(&self, x: &[f64]) -> Bounds {
        let Some(stops) = &self.stops else { return self.bounds.clone() };
        let of = |i: usize| {
            let reach = match stops.starts[i] {
                _ if stops.stopped[i] => 0.0,
                Some(_) => FARTHEST.ln(),
                None => (FARTHEST - 1.0) * stops.size(i, x[i]),
            };
            (self.bounds.moved_inside(i, x[i] - reach), self.bounds.moved_inside(i, x[i] + reach))
        };
        let (lower, upper) = (0..x.len()).map(of).unzip();
        Bounds::new(lower, upper).unwrap_or_else(|_| self.bounds.clone())
    }

    /// Finds which variables are stopped, by a Jacobian that was evaluated there. As the residuals become smaller, they
    /// may count again.
    pub(super) fn find_stops(&mut self, x: &[f64], model: &LinearModel) {
        let Some(stops) = &mut self.stops else { return };
        let freedom = model.residuals.len().saturating_sub(x.len());
        let deviation =
            if freedom == 0 { 0.0 } else { (2.0 * half_square(&model.residuals) / freedom as f64).sqrt() };
        for i in 0..x.len() {
            let effect = model.jacobian.column(i).norm() * stops.size(i, x[i]);
            stops.largest[i] = stops.largest[i].max(effect);
            // Its standard error would be as large as its value.
            let is_flat = effect <= deviation && effect <= FALLEN * stops.largest[i];
            stops.stopped[i] = is_flat && stops.is_far(i, x[i]);
        }
    }
}
