//! The variables of a problem, which the members of an ensemble share.

use argmin::core::Error;

use super::control_range::ControlRange;
use super::design::DesignVariable;
use super::free_end::{Ending, FreeEnd};
use crate::optimize::error::ProblemError;
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
    /// When there is none, a range makes no sense, or commands at knots have no derivative with respect to the end.
    pub fn new(
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
        if all.count() == 0 {
            return Err(ProblemError::NoControls);
        }
        let bound = |of: fn(&ControlRange) -> f64| -> Vec<f64> {
            all.from_values(&all.ranges().map(|(range, _)| of(range)).collect::<Vec<f64>>())
        };
        (all.lower, all.upper) = (bound(|range| range.lower), bound(|range| range.upper));
        Ok(all)
    }

    /// All that is not at knots, in the order of the variables: names, ranges, and whether the variable is the logarithm.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, &ControlRange, bool)> {
        let tuned = self.tuned.iter().map(|t| (t.name.as_str(), &t.range, t.log));
        tuned
            .chain(self.design.iter().map(|variable| (variable.name.as_str(), &variable.range, variable.log)))
            .chain(self.end.iter().map(|end| ("end_time", &end.range, false)))
    }

    /// The range of each variable, and whether it is the logarithm.
    pub fn ranges(&self) -> impl Iterator<Item = (&ControlRange, bool)> {
        let row = self.knots.iter().flat_map(|knots| &knots.optimized).map(|(_, range)| (range, false));
        let at_knots = row.cycle().take(self.knot_values());
        at_knots.chain(self.numbers().map(|(_, range, log)| (range, log)))
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
    pub(in crate::optimize) fn within(&self, x: &[f64]) -> Vec<f64> {
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
        let of = |(value, (range, log)): (&f64, (&ControlRange, bool))| match log {
            true => value.ln(),
            false => value / range.scale,
        };
        values.iter().zip(self.ranges()).map(of).collect()
    }

    /// The values in their units, within bounds where the variables are.
    ///
    /// # Panics
    /// When there is not one variable for each.
    pub fn values(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.count(), "all variables");
        self.first_values(x).collect()
    }

    /// The same of the first variables.
    pub(in crate::optimize) fn first_values(&self, x: &[f64]) -> impl Iterator<Item = f64> {
        let bounds = self.lower.iter().zip(&self.upper);
        x.iter().zip(self.ranges().zip(bounds)).map(|(&x, ((range, log), (&lower, &upper)))| {
            let value = if log { x.exp() } else { x * range.scale };
            // Rounding must not leave the bounds.
            let value = if x >= lower { value.max(range.lower) } else { value };
            if x <= upper { value.min(range.upper) } else { value }
        })
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
            gradient.extend(map_at(map, ending).vjp(&by_rows));
            if let (Some(by_end), Some(ending)) = (&mut by_end, ending) {
                *by_end += ending.through_controls(&values[..map.variables()], &by_rows);
            }
        }
        gradient.extend(self.tuned.iter().map(|t| by_parameters[t.index]));
        gradient.extend(by_design.iter().copied().chain(by_end));
        for (by, ((range, log), value)) in gradient.iter_mut().zip(self.ranges().zip(values)) {
            *by *= if log { *value } else { range.scale };
        }
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
