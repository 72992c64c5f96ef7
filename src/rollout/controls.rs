//! Control values of every step of a simulation.

use crate::scalar::Scalar;

/// Control values that are constant over each step, with a row for each step (see
/// [`crate::multibody::AppliedForces::control_dimension`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Controls<T = f64> {
    dimension: usize,
    values: Vec<T>,
}

impl<T> Controls<T> {
    /// No control values, for any number of steps.
    pub const fn none() -> Self {
        Self { dimension: 0, values: Vec::new() }
    }

    /// Makes control values from rows of `dimension` values each, one row after the other. Returns
    /// `None` if the values are not a whole number of rows.
    pub fn from_values(dimension: usize, values: Vec<T>) -> Option<Self> {
        let whole = if dimension == 0 { values.is_empty() } else { values.len().is_multiple_of(dimension) };
        whole.then_some(Self { dimension, values })
    }

    /// Number of values of each step.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of rows; 0 where the rows have no values.
    pub fn steps(&self) -> usize {
        self.values.len().checked_div(self.dimension).unwrap_or(0)
    }

    /// The values of a step, counted from 0.
    ///
    /// # Panics
    /// When there are values, but not for this step.
    pub fn row(&self, step: usize) -> &[T] {
        let first = step * self.dimension;
        &self.values[if self.dimension == 0 { 0..0 } else { first..first + self.dimension }]
    }

    /// The values of a step, counted from 0.
    ///
    /// # Panics
    /// When there are values, but not for this step.
    pub fn row_mut(&mut self, step: usize) -> &mut [T] {
        let first = step * self.dimension;
        &mut self.values[if self.dimension == 0 { 0..0 } else { first..first + self.dimension }]
    }

    /// The rows of the first steps, as many as there are.
    #[must_use]
    pub(crate) fn first(&self, steps: usize) -> Self
    where
        T: Clone,
    {
        let count = (steps * self.dimension).min(self.values.len());
        Self { dimension: self.dimension, values: self.values[..count].to_vec() }
    }

    /// The same rows with `f` applied to each value and its index among all values.
    pub(super) fn map<S>(&self, mut value: impl FnMut(usize, &T) -> S) -> Controls<S> {
        let values = self.values.iter().enumerate().map(|(i, u)| value(i, u)).collect();
        Controls { dimension: self.dimension, values }
    }

    /// All values, row after row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, row after row.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

impl<T: Scalar> Controls<T> {
    /// Zeros for this many steps.
    pub fn zeros(steps: usize, dimension: usize) -> Self {
        Self { dimension, values: vec![T::from(0.0); steps * dimension] }
    }
}
