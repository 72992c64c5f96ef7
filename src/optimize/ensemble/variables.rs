//! The variables that the members of an ensemble share.

use argmin::core::Error;

use super::design::DesignVariable;
use super::free_end::{Ending, FreeEnd};
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

/// The variables: values at knots, knot after knot, then parameters of controllers, then those of the design, then the end
/// of the motions.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedVariables {
    knots: Option<KnotVariables>,
    tuned: Vec<TunedParameter>,
    design: Vec<DesignVariable>,
    end: Option<FreeEnd>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl SharedVariables {
    /// Variables of all kinds.
    ///
    /// # Errors
    /// When there is none, or a range makes no sense.
    pub fn new(
        knots: Option<KnotVariables>,
        tuned: Vec<TunedParameter>,
        design: Vec<DesignVariable>,
    ) -> Result<Self, ProblemError> {
        let all = Self::of(knots, tuned, design, None)?;
        match all.count() {
            0 => Err(ProblemError::NoControls),
            _ => Ok(all),
        }
    }

    /// Variables of all kinds, with the end of the motions among them. There may be no others.
    ///
    /// # Errors
    /// When a range makes no sense, or commands at knots have no derivative with respect to the end.
    pub fn with_free_end(
        knots: Option<KnotVariables>,
        tuned: Vec<TunedParameter>,
        design: Vec<DesignVariable>,
        end: FreeEnd,
    ) -> Result<Self, ProblemError> {
        Self::of(knots, tuned, design, Some(end))
    }

    fn of(
        knots: Option<KnotVariables>,
        tuned: Vec<TunedParameter>,
        design: Vec<DesignVariable>,
        end: Option<FreeEnd>,
    ) -> Result<Self, ProblemError> {
        let knots = knots.filter(|knots| !knots.optimized.is_empty());
        if let Some(end) = &end {
            end.check(knots.is_some())?;
        }
        for (index, range) in knots.iter().flat_map(|knots| &knots.optimized) {
            range.check(*index)?;
        }
        for t in &tuned {
            t.range.check(t.index)?;
            check_log(&t.name, &t.range, t.log)?;
        }
        for (index, variable) in design.iter().enumerate() {
            let wrong = |e: ProblemError| ProblemError::Design { index, message: e.to_string() };
            variable.range.check(index).map_err(wrong)?;
            check_log(&variable.name, &variable.range, variable.log)?;
        }
        let mut all = Self { knots, tuned, design, end, lower: Vec::new(), upper: Vec::new() };
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
        values.extend(self.numbers().map(|(_, range, _)| of(range)));
        self.from_values(&values)
    }

    /// All that is not at knots, in the order of the variables: names, ranges, and whether the variable is the logarithm.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, &ControlRange, bool)> {
        let tuned = self.tuned.iter().map(|t| (t.name.as_str(), &t.range, t.log));
        tuned
            .chain(self.design.iter().map(|variable| (variable.name.as_str(), &variable.range, variable.log)))
            .chain(self.end.iter().map(|end| ("end_time", &end.range, false)))
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

    /// The variables of the design.
    pub fn design(&self) -> &[DesignVariable] {
        &self.design
    }

    /// The end of the motions, where it is a variable: the last one.
    pub fn free_end(&self) -> Option<&FreeEnd> {
        self.end.as_ref()
    }

    /// Number of variables.
    pub fn count(&self) -> usize {
        self.knot_values() + self.tuned.len() + self.design.len() + usize::from(self.end.is_some())
    }

    /// Refuses a list that does not have one entry for each variable.
    pub(in crate::optimize) fn check_count(&self, found: usize) -> Result<(), Error> {
        let expected = self.count();
        let what = if expected == self.knot_values() { "controls at knots" } else { "variables" };
        match found == expected {
            true => Ok(()),
            false => Err(Error::msg(format!("{found} values for {expected} {what}"))),
        }
    }

    /// For each variable the control that it is a value of, counted from 0; all that is not at knots counts as one more.
    pub(in crate::optimize) fn controls(&self) -> Vec<usize> {
        let at_knots = self.knots.as_ref().map_or(0, |knots| knots.optimized.len());
        let of =
            |i: usize| if i < self.knot_values() { i % at_knots } else { at_knots + i - self.knot_values() };
        (0..self.count()).map(of).collect()
    }

    /// Lower and upper bounds of the variables.
    pub fn bounds(&self) -> (&[f64], &[f64]) {
        (&self.lower, &self.upper)
    }

    /// The variables with all that is not at knots moved into its bounds.
    ///
    /// # Panics
    /// When there is not one variable for each.
    pub(super) fn within(&self, x: &[f64]) -> Vec<f64> {
        let moved = |i: usize| match i < self.knot_values() {
            true => x[i],
            false => x[i].max(self.lower[i]).min(self.upper[i]),
        };
        (0..self.count()).map(moved).collect()
    }

    /// The variables at values in their units.
    ///
    /// # Panics
    /// When there is not one for each.
    pub fn from_values(&self, values: &[f64]) -> Vec<f64> {
        assert_eq!(values.len(), self.count(), "one value for each variable");
        let (at_knots, numbers) = values.split_at(self.knot_values());
        let ranges = self.knots.iter().flat_map(|knots| &knots.optimized).map(|(_, range)| range).cycle();
        let at_knots = at_knots.iter().zip(ranges).map(|(value, range)| value / range.scale);
        let of = |((_, range, log), &value): ((&str, &ControlRange, bool), &f64)| match log {
            true => value.ln(),
            false => value / range.scale,
        };
        at_knots.chain(self.numbers().zip(numbers).map(of)).collect()
    }

    /// The values in their units, within bounds where the variables are.
    ///
    /// # Panics
    /// When there is not one variable for each.
    pub fn values(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.count(), "all variables");
        let (at_knots, numbers) = x.split_at(self.knot_values());
        let first = at_knots.len();
        let numbers = numbers.iter().zip(self.numbers()).enumerate().map(|(i, (x, (_, range, log)))| {
            let value = if log { x.exp() } else { x * range.scale };
            self.bounded(first + i, *x, value, range)
        });
        self.values_at_knots(at_knots).chain(numbers).collect()
    }

    /// The values at the first knots in their units, within bounds where the variables are.
    pub(in crate::optimize) fn values_at_knots(&self, x: &[f64]) -> impl Iterator<Item = f64> {
        let ranges = self.knots.iter().flat_map(|knots| &knots.optimized).map(|(_, range)| range).cycle();
        let values = x.iter().zip(ranges).enumerate();
        values.map(|(i, (x, range))| self.bounded(i, *x, x * range.scale, range))
    }

    /// The value of a variable, which rounding must not take out of the bounds.
    fn bounded(&self, index: usize, x: f64, value: f64, range: &ControlRange) -> f64 {
        let value = if x >= self.lower[index] { value.max(range.lower) } else { value };
        if x <= self.upper[index] { value.min(range.upper) } else { value }
    }

    /// Puts values into the control values of every step, by the map of an end of the motions where there is one.
    pub(in crate::optimize) fn put_controls(
        &self,
        values: &[f64],
        ending: Option<&Ending>,
        controls: &mut Controls,
    ) {
        let Some(KnotVariables { map, optimized }) = &self.knots else { return };
        let rows = map_at(map, ending).controls(&values[..map.variables()]);
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

    /// The values of the design.
    pub fn design_values<'v>(&self, values: &'v [f64]) -> &'v [f64] {
        &values[self.knot_values() + self.tuned.len()..][..self.design.len()]
    }

    /// The end of the motions in s, where it is a variable.
    pub fn end_time(&self, values: &[f64]) -> Option<f64> {
        self.end.as_ref().and(values.last().copied())
    }

    /// The derivatives with respect to the variables, from those with respect to control values, parameters of the
    /// controllers, values of the design, and the end where the control values are held.
    pub(in crate::optimize) fn gradient(
        &self,
        values: &[f64],
        by_controls: &Controls,
        (by_parameters, by_design): (&[f64], &[f64]),
        ending: Option<(&Ending, f64)>,
    ) -> Vec<f64> {
        let mut gradient = Vec::with_capacity(self.count());
        let mut by_end = ending.map(|(_, by_end)| by_end);
        if let Some(KnotVariables { map, optimized }) = &self.knots {
            let ending = ending.map(|(ending, _)| ending);
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
            let by_values = map_at(map, ending).vjp(&by_rows);
            gradient.extend(by_values.iter().zip(scales).map(|(by, scale)| by * scale));
            if let (Some(by_end), Some(ending)) = (&mut by_end, ending) {
                *by_end += ending.through_controls(&values[..map.variables()], &by_rows);
            }
        }
        let by_numbers = self.tuned.iter().map(|t| by_parameters[t.index]);
        let by_numbers = by_numbers.chain(by_design.iter().copied()).chain(by_end);
        let slopes = self.numbers().zip(&values[self.knot_values()..]);
        let slopes = slopes.map(|((_, range, log), value)| if log { *value } else { range.scale });
        gradient.extend(by_numbers.zip(slopes).map(|(by, slope)| by * slope));
        gradient
    }
}

/// The map from values at knots to rows: that of an end where there is one.
fn map_at<'m>(map: &'m KnotMap, ending: Option<&'m Ending>) -> &'m KnotMap {
    ending.and_then(|ending| ending.maps.as_ref()).map_or(map, |[map, _]| map)
}

/// Refuses a logarithm where the lower bound is not positive.
fn check_log(name: &str, range: &ControlRange, log: bool) -> Result<(), ProblemError> {
    match log && range.lower <= 0.0 {
        true => {
            let (name, field, found) = (name.to_owned(), "lower", range.lower);
            Err(ProblemError::LogOfNonPositive { name, field, found })
        }
        false => Ok(()),
    }
}
