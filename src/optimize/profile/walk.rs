//! The walk along a parameter: from the minimum outward, with the others fitted again at each point, to where the cost
//! reaches the level.

use argmin::core::Error;
use serde::Serialize;

use crate::interruption;
use crate::optimize::fit::{Fit, FitSettings, solve};
use crate::optimize::least_squares::{
    Finer, FittedModel, HeldSubsteps, LeastSquares, LinearResiduals, half_square,
};
use crate::optimize::parameters::{FitParameter, FitParameters};

/// A point of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProfilePoint {
    /// The value that the parameter is held at, in its unit.
    pub value: f64,
    /// The cost with the others fitted.
    pub cost: f64,
    /// √(2 (cost − least cost)) / s, with the sign of the side: of a linear model the distance in standard errors.
    pub distance: f64,
}

/// How a profile ends on a side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileEnd {
    /// The cost reaches the level: the interval ends.
    Reached,
    /// A bound of the parameter comes first.
    AtBound,
    /// The cost stays below the level as far as was looked.
    Flat,
    /// The model cannot be evaluated farther out, or the command was stopped.
    Failed(String),
}

/// Points from the minimum to the level on a side, if the cost is what its curvature says.
const POINTS: f64 = 3.0;
/// Most points on a side.
const MOST_POINTS: usize = 40;
/// How far to look, in the half-width that the standard error gives.
const FARTHEST: f64 = 30.0;
/// The same where there is no standard error or it is large: in logarithms (a factor of a million), and in values.
const FARTHEST_LOGARITHM: f64 = 13.8;
const FARTHEST_VALUES: f64 = 100.0;
/// How closely the level is met.
const LEVEL_TOLERANCE: f64 = 1e-3;
/// Most points to meet it.
const MOST_REFINEMENTS: usize = 8;
/// Shorter steps that are tried where the model cannot be evaluated.
const SHORTER_STEPS: usize = 4;

/// One side of a profile.
pub(super) struct Side {
    pub points: Vec<ProfilePoint>,
    pub end: ProfileEnd,
    /// Where the interval ends.
    pub limit: Option<f64>,
}

/// A model with one parameter held.
struct Holding<'a> {
    model: &'a dyn FittedModel,
    index: usize,
    value: f64,
}

impl Holding<'_> {
    fn whole(&self, others: &[f64]) -> Vec<f64> {
        let mut all = others.to_vec();
        all.insert(self.index, self.value);
        all
    }
}

impl FittedModel for Holding<'_> {
    fn residuals(&self, others: &[f64]) -> Result<Vec<f64>, Error> {
        self.model.residuals(&self.whole(others))
    }

    fn find_substeps(&self, others: &[f64]) -> Result<HeldSubsteps, Error> {
        self.model.find_substeps(&self.whole(others))
    }

    fn minimized(&self, others: &[f64], substeps: Option<&HeldSubsteps>) -> Result<Vec<f64>, Error> {
        self.model.minimized(&self.whole(others), substeps)
    }

    fn minimized_with_jacobian(
        &self,
        others: &[f64],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<LinearResiduals, Error> {
        let (residuals, jacobian) = self.model.minimized_with_jacobian(&self.whole(others), substeps)?;
        Ok((residuals, jacobian.remove_column(self.index)))
    }

    fn eased(&self) -> Option<Box<dyn FittedModel + '_>> {
        None
    }

    fn has_costly_jacobian(&self) -> bool {
        false
    }

    fn is_never_negative(&self, index: usize) -> bool {
        self.model.is_never_negative(index + usize::from(index >= self.index))
    }

    fn eliminated(&self) -> usize {
        self.model.eliminated()
    }

    fn unknowns(&self) -> Vec<f64> {
        self.model.unknowns()
    }

    fn start_from(&self, unknowns: &[f64], substeps: Option<&HeldSubsteps>) -> bool {
        self.model.start_from(unknowns, substeps)
    }

    fn minimized_with_finer(&self, _: Finer, _: &[f64]) -> Option<Result<LinearResiduals, Error>> {
        None
    }
}

/// A point of a walk: the variable of the parameter, those of the others, and how far from the minimum it is.
#[derive(Clone)]
pub(super) struct At {
    variable: f64,
    pub others: Vec<f64>,
    pub distance: f64,
}

impl At {
    /// The variables of the others on the line from `self` through `to`, at a variable of the parameter.
    fn toward(&self, to: &Self, variable: f64) -> Vec<f64> {
        let part = (variable - self.variable) / (to.variable - self.variable);
        self.others.iter().zip(&to.others).map(|(a, b)| a + part * (b - a)).collect()
    }
}

/// A walk along a parameter.
pub(super) struct Walk<'a> {
    pub model: &'a dyn FittedModel,
    pub own: &'a FitParameter,
    /// Those that are fitted again, if there are any.
    pub others: Option<FitParameters>,
    /// The index of the parameter among all.
    pub index: usize,
    pub held: Option<&'a HeldSubsteps>,
    /// Of the fits at the points.
    pub settings: FitSettings,
    /// The least cost.
    pub cost: f64,
    /// That of the residuals at the minimum.
    pub variance: f64,
    /// The distance at which the interval ends.
    pub level: f64,
}

impl Walk<'_> {
    /// The point at a variable of the parameter, with the others looked for from the given ones.
    pub fn at(&self, variable: f64, start: Vec<f64>) -> Result<(At, f64), Error> {
        let value = self.own.physical(variable);
        let holding = Holding { model: self.model, index: self.index, value };
        let (others, mut cost) = match &self.others {
            None => (Vec::new(), half_square(&holding.minimized(&[], self.held)?)),
            Some(parameters) => {
                let (lower, upper) = parameters.bounds();
                let bounds = lower.iter().zip(&upper);
                let inside = start.iter().zip(bounds).map(|(x, (l, u))| x.max(*l).min(*u)).collect();
                let problem = LeastSquares::of(&holding, parameters);
                let problem = self.held.map_or(problem, |held| problem.holding(held));
                let ended = solve(problem, &self.settings, inside, None, None)?;
                (ended.variables, ended.cost)
            }
        };
        if let Some(prior) = self.own.prior {
            cost += 0.5 * ((value - prior.value) / prior.sigma).powi(2);
        }
        if interruption::is_requested() {
            return Err(Error::msg("the command was stopped"));
        }
        if !cost.is_finite() {
            return Err(Error::msg(format!("the cost is {cost}")));
        }
        let excess = 2.0 * (cost - self.cost) / self.variance;
        Ok((At { variable, others, distance: excess.abs().sqrt() * excess.signum() }, cost))
    }

    /// The minimum, the first step along the parameter and the change of the others with it, and how far to look.
    fn beginning(&self, parameters: &FitParameters, result: &Fit) -> Result<(At, f64, Vec<f64>, f64), Error> {
        let (index, log) = (self.index, self.own.log);
        let values = result.values();
        let mut variables = parameters.variables(&values)?;
        let factors: Vec<f64> =
            parameters.values(&variables)?.into_iter().map(|(_, factor)| factor).collect();
        let estimates = &result.uncertainty.estimates;
        let errors: Vec<Option<f64>> =
            estimates.iter().zip(&factors).map(|(e, factor)| Some(e.standard_error? / factor)).collect();
        let variable = variables.remove(index);
        let magnitude = if log { 1.0 } else { variable.abs().max(1.0) };
        let most = if log { FARTHEST_LOGARITHM } else { FARTHEST_VALUES * magnitude };
        let (first, farthest) = match errors[index] {
            Some(error) => {
                let first = (error * self.level / POINTS).min(0.1 * most);
                (first, (FARTHEST * self.level * error).min(most))
            }
            None => (0.1 * magnitude, most),
        };
        let slope = |j: usize| match (errors[j], errors[index]) {
            (Some(other), Some(own)) => result.uncertainty.correlation[index][j] * other / own,
            _ => 0.0,
        };
        let slopes = (0..values.len()).filter(|&j| j != index).map(slope).collect();
        Ok((At { variable, others: variables, distance: 0.0 }, first, slopes, farthest))
    }

    /// The side of the profile in a direction.
    pub fn side(&self, parameters: &FitParameters, result: &Fit, direction: f64) -> Result<Side, Error> {
        let (minimum, mut step, slopes, farthest) = self.beginning(parameters, result)?;
        let bound = self.own.to_scaled(if direction < 0.0 { self.own.lower } else { self.own.upper });
        let within = |variable: f64| if direction < 0.0 { variable.max(bound) } else { variable.min(bound) };
        let mut points = Vec::new();
        let point = |at: &At, cost: f64| ProfilePoint {
            value: self.own.physical(at.variable),
            cost,
            distance: direction * at.distance,
        };
        let (mut before, mut last): (Option<At>, At) = (None, minimum.clone());
        let mut failures = 0;
        let end = loop {
            if last.variable == within(last.variable + direction * step) {
                break ProfileEnd::AtBound;
            }
            if points.len() >= MOST_POINTS || (last.variable - minimum.variable).abs() >= farthest {
                break ProfileEnd::Flat;
            }
            let variable = within(last.variable + direction * step);
            let guess = match &before {
                Some(before) => before.toward(&last, variable),
                None => {
                    let change = variable - last.variable;
                    last.others.iter().zip(&slopes).map(|(x, slope)| x + change * slope).collect()
                }
            };
            let (next, cost) =
                match self.at(variable, guess).or_else(|_| self.at(variable, last.others.clone())) {
                    Ok(found) => found,
                    Err(_) if failures < SHORTER_STEPS && !interruption::is_requested() => {
                        failures += 1;
                        step /= 4.0;
                        continue;
                    }
                    Err(error) => break ProfileEnd::Failed(error.to_string()),
                };
            points.push(point(&next, cost));
            if next.distance >= self.level {
                let limit = self.crossing(last, next, |at, cost| points.push(point(at, cost)));
                return Ok(Side { points, end: ProfileEnd::Reached, limit: Some(self.own.physical(limit)) });
            }
            let moved = (next.variable - last.variable).abs();
            let rate = (next.distance - last.distance) / moved;
            let wanted = if rate > 0.0 { self.level / POINTS / rate } else { f64::INFINITY };
            step = wanted.clamp(0.5 * moved, 2.5 * moved);
            before = Some(std::mem::replace(&mut last, next));
        };
        Ok(Side { points, end, limit: None })
    }

    /// The variable at which the distance is that of the level, between a point below it and one at or above it.
    fn crossing(&self, mut below: At, mut above: At, mut note: impl FnMut(&At, f64)) -> f64 {
        let linear = |below: &At, above: &At| {
            let part = (self.level - below.distance) / (above.distance - below.distance);
            below.variable + part * (above.variable - below.variable)
        };
        let near = |at: &At| (at.distance - self.level).abs() <= LEVEL_TOLERANCE * self.level;
        for _ in 0..MOST_REFINEMENTS {
            if near(&below) || near(&above) {
                break;
            }
            let variable = linear(&below, &above);
            let Ok((middle, cost)) = self.at(variable, below.toward(&above, variable)) else { break };
            note(&middle, cost);
            if middle.distance >= self.level {
                above = middle;
            } else {
                below = middle;
            }
        }
        linear(&below, &above)
    }
}
