//! The variables that the members of an ensemble share.

use crate::optimize::error::ProblemError;
use crate::optimize::trajectory::ControlRange;
use crate::rollout::{Controls, KnotMap};

/// Values of control values at knots.
#[derive(Clone, Debug, PartialEq)]
pub struct KnotVariables {
    /// From values at knots to rows; its dimension is the number of `optimized` control values.
    pub map: KnotMap,
    /// The control values, by their indices in the row of a step, with their ranges.
    pub optimized: Vec<(usize, ControlRange)>,
}

/// A parameter of the controllers that is optimized.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedParameter {
    /// Its name.
    pub name: String,
    /// Its index among the parameters of all controllers.
    pub index: usize,
    /// What it may be, and its scale.
    pub range: ControlRange,
    /// Whether its logarithm is the variable; then the scale does not matter, and its bounds are positive.
    pub log: bool,
}

/// The variables: values at knots, knot after knot, then parameters of controllers.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedVariables {
    knots: Option<KnotVariables>,
    tuned: Vec<TunedParameter>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl SharedVariables {
    /// Variables of both kinds.
    ///
    /// # Errors
    /// When there is none, or a range makes no sense.
    pub fn new(knots: Option<KnotVariables>, tuned: Vec<TunedParameter>) -> Result<Self, ProblemError> {
        let knots = knots.filter(|knots| !knots.optimized.is_empty());
        if knots.is_none() && tuned.is_empty() {
            return Err(ProblemError::NoControls);
        }
        for (index, range) in knots.iter().flat_map(|knots| &knots.optimized) {
            range.check(*index)?;
        }
        for t in &tuned {
            t.range.check(t.index)?;
            if t.log && t.range.lower <= 0.0 {
                let (name, field, found) = (t.name.clone(), "lower", t.range.lower);
                return Err(ProblemError::LogOfNonPositive { name, field, found });
            }
        }
        let mut all = Self { knots, tuned, lower: Vec::new(), upper: Vec::new() };
        all.lower = all.of_ranges(|range| range.lower);
        all.upper = all.of_ranges(|range| range.upper);
        Ok(all)
    }

    fn of_ranges(&self, of: fn(&ControlRange) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = Vec::new();
        if let Some(knots) = &self.knots {
            (0..knots.map.knots())
                .for_each(|_| values.extend(knots.optimized.iter().map(|(_, range)| of(range))));
        }
        values.extend(self.tuned.iter().map(|t| of(&t.range)));
        self.from_values(&values)
    }

    /// Number of values at knots.
    pub fn knot_values(&self) -> usize {
        self.knots.as_ref().map_or(0, |knots| knots.map.variables())
    }

    /// The knots.
    pub fn knots(&self) -> Option<&KnotVariables> {
        self.knots.as_ref()
    }

    /// The parameters of controllers.
    pub fn tuned(&self) -> &[TunedParameter] {
        &self.tuned
    }

    /// Number of variables.
    pub fn count(&self) -> usize {
        self.knot_values() + self.tuned.len()
    }

    /// Lower and upper bounds of the variables.
    pub fn bounds(&self) -> (&[f64], &[f64]) {
        (&self.lower, &self.upper)
    }

    /// The variables at values in their units.
    ///
    /// # Panics
    /// When there is not one for each.
    pub fn from_values(&self, values: &[f64]) -> Vec<f64> {
        assert_eq!(values.len(), self.count(), "one value for each variable");
        let (at_knots, parameters) = values.split_at(self.knot_values());
        let ranges = self.knots.iter().flat_map(|knots| &knots.optimized).map(|(_, range)| range).cycle();
        let at_knots = at_knots.iter().zip(ranges).map(|(value, range)| value / range.scale);
        let of =
            |(t, &value): (&TunedParameter, &f64)| if t.log { value.ln() } else { value / t.range.scale };
        at_knots.chain(self.tuned.iter().zip(parameters).map(of)).collect()
    }

    /// The values in their units, within bounds where the variables are.
    ///
    /// # Panics
    /// When there is not one variable for each.
    pub fn values(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.count(), "all variables");
        let (at_knots, parameters) = x.split_at(self.knot_values());
        let bounded = |i: usize, value: f64, range: &ControlRange| {
            // Rounding must not leave the bounds.
            let value = if x[i] >= self.lower[i] { value.max(range.lower) } else { value };
            if x[i] <= self.upper[i] { value.min(range.upper) } else { value }
        };
        let ranges = self.knots.iter().flat_map(|knots| &knots.optimized).map(|(_, range)| range).cycle();
        let at_knots = at_knots.iter().zip(ranges).map(|(x, range)| (x * range.scale, range));
        let parameters = parameters.iter().zip(&self.tuned);
        let parameters = parameters.map(|(x, t)| (if t.log { x.exp() } else { x * t.range.scale }, &t.range));
        let all = at_knots.chain(parameters).enumerate();
        all.map(|(i, (value, range))| bounded(i, value, range)).collect()
    }

    /// Puts values into the control values of every step.
    pub(super) fn put_controls(&self, values: &[f64], controls: &mut Controls) {
        let Some(KnotVariables { map, optimized }) = &self.knots else { return };
        let rows = map.controls(&values[..map.variables()]);
        for step in 0..controls.steps() {
            let row = controls.row_mut(step);
            optimized.iter().zip(rows.row(step)).for_each(|((index, _), value)| row[*index] = *value);
        }
    }

    /// Puts values into the parameters of controllers.
    pub fn put_parameters(&self, values: &[f64], parameters: &mut [f64]) {
        let values = &values[self.knot_values()..];
        self.tuned.iter().zip(values).for_each(|(t, value)| parameters[t.index] = *value);
    }

    /// The derivatives with respect to the variables, from those with respect to control values and parameters.
    pub(super) fn gradient(&self, values: &[f64], by_controls: &Controls, by_parameters: &[f64]) -> Vec<f64> {
        let mut gradient = Vec::with_capacity(self.count());
        if let Some(KnotVariables { map, optimized }) = &self.knots {
            let mut by_rows = Controls::zeros(by_controls.steps(), optimized.len());
            for step in 0..by_controls.steps() {
                let row = by_controls.row(step);
                by_rows
                    .row_mut(step)
                    .iter_mut()
                    .zip(optimized)
                    .for_each(|(by, (index, _))| *by = row[*index]);
            }
            let scales = optimized.iter().map(|(_, range)| range.scale).cycle();
            gradient.extend(map.vjp(&by_rows).iter().zip(scales).map(|(by, scale)| by * scale));
        }
        let values = &values[self.knot_values()..];
        gradient.extend(self.tuned.iter().zip(values).map(|(t, value)| {
            let slope = if t.log { *value } else { t.range.scale };
            by_parameters[t.index] * slope
        }));
        gradient
    }
}
