//! From the knot and control tables of a problem file to knots, ranges and starts.

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::problem::schema::{ControlTable, ProblemKnotsTable, StartTable};
use crate::io::scene::actuator_tables::knots_command;
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::named::named;
use crate::multibody::Model;
use crate::optimize::trajectory::ControlRange;
use crate::rollout::{Command, ControlKnots, KnotInterpolation, SimulationError};
use crate::shown::list;

/// An actuator whose command is optimized.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimizedControl {
    /// The actuator's index in the model.
    pub actuator: usize,
    /// Its name.
    pub name: String,
    /// What its command may be.
    pub range: ControlRange,
}

/// The most numbers that all knots, samples or starts may have together: more are a mistake.
pub(in crate::io) const MOST_NUMBERS: usize = 1_000_000;

/// The knots of the commands.
pub(in crate::io) fn knots(
    t: &ProblemKnotsTable,
    until: f64,
    table: &FieldPath,
) -> Result<ControlKnots, Problem> {
    let interpolation = t.interpolation.kind();
    let (made, field) = match (t.count, &t.times) {
        (Some(count), None) => {
            let field = table.key("count");
            if count > MOST_NUMBERS {
                return Err(Problem::new(
                    field,
                    format_args!("found {count}; at most {MOST_NUMBERS} make sense"),
                ));
            }
            (ControlKnots::uniform(interpolation, count, until), field)
        }
        (None, Some(times)) => (ControlKnots::new(interpolation, times.clone()), table.key("times")),
        _ => return Err(Problem::new(table.clone(), "exactly one of `count` and `times` must be given")),
    };
    made.map_err(|error| {
        let field = match error {
            SimulationError::KnotTimes { index, .. } | SimulationError::KnotSpacing { index, .. }
                if t.times.is_some() =>
            {
                field.index(index)
            }
            _ => field,
        };
        Problem::new(field, error)
    })
}

/// The actuators whose commands are optimized.
pub(in crate::io) fn optimized_controls(
    tables: &[ControlTable],
    model: &Model,
    field: &FieldPath,
) -> Result<Vec<OptimizedControl>, Problem> {
    let mut made: Vec<OptimizedControl> = Vec::with_capacity(tables.len());
    for (i, t) in tables.iter().enumerate() {
        let table = field.index(i);
        let name = &t.actuator;
        let actuator = actuator_index(model, name, &table.key("actuator"))?;
        if made.iter().any(|control| control.actuator == actuator) {
            let message = format!("found `{name}` twice; an actuator has one command");
            return Err(Problem::new(table.key("actuator"), message));
        }
        let bound = |value: Option<f64>, none: f64, key: &str| {
            value.map_or(Ok(none), |value| number(value, Range::Finite, &table.key(key)))
        };
        let lower = bound(t.lower, f64::NEG_INFINITY, "lower")?;
        let upper = bound(t.upper, f64::INFINITY, "upper")?;
        if lower > upper {
            let message = format!("found {lower}, above `upper`, which is {upper}; it must not exceed it");
            return Err(Problem::new(table.key("lower"), message));
        }
        let mut range = ControlRange::new(lower, upper);
        if let Some(scale) = t.scale {
            range.scale = number(scale, Range::Positive, &table.key("scale"))?;
        }
        made.push(OptimizedControl { actuator, name: name.clone(), range });
    }
    if made.is_empty() {
        let names = list(model.actuators.iter().map(|a| a.name.as_str()));
        let message = format!("found none; at least one is needed (the scene's actuators: {names})");
        return Err(Problem::new(field.clone(), message));
    }
    Ok(made)
}

/// The command's values at the knots at the start, moved into its bounds, which is told.
pub(in crate::io) fn start_values(
    t: &ControlTable,
    control: &OptimizedControl,
    of_scene: &Command,
    (knots, until): (&ControlKnots, f64),
    table: &FieldPath,
    moved: &mut Vec<Problem>,
) -> Result<Vec<f64>, Problem> {
    let field = table.key("start");
    let count = knots.times().len();
    let mut values = match &t.start {
        None => sampled(of_scene, knots, until),
        Some(StartTable::Constant(value)) => vec![number(*value, Range::Finite, &field)?; count],
        Some(StartTable::Command(command)) => sampled(&knots_command(command, &field)?, knots, until),
        Some(StartTable::AtKnots(values)) => {
            if values.len() != count {
                let message =
                    format!("found {} values; there are {count} knots, each needs one", values.len());
                return Err(Problem::new(field, message));
            }
            for (i, value) in values.iter().enumerate() {
                number(*value, Range::Finite, &field.index(i))?;
            }
            values.clone()
        }
    };
    let given = t.start.is_some().then_some(&field);
    move_into(&mut values, &control.range, (table, given), moved);
    Ok(values)
}

/// Moves starts into their range, and tells the first that was not there: of the field that gives them, or else of a table for
/// which they are taken from the scene.
pub(super) fn move_into(
    values: &mut [f64],
    range: &ControlRange,
    (table, given): (&FieldPath, Option<&FieldPath>),
    moved: &mut Vec<Problem>,
) {
    let ControlRange { lower, upper, .. } = *range;
    if let Some(found) = values.iter().find(|value| !(lower..=upper).contains(*value)) {
        let of_scene = if given.is_none() { " in the scene, to start from" } else { "" };
        let message = format!("found {found}{of_scene}; it is moved to the range from {lower} to {upper}");
        moved.push(Problem::new(given.unwrap_or(table).clone(), message));
    }
    values.iter_mut().for_each(|value| *value = value.max(lower).min(upper));
}

/// A command at the knots; where they are held, in the middle of the time for which they are.
fn sampled(command: &Command, knots: &ControlKnots, until: f64) -> Vec<f64> {
    let times = knots.times();
    let at = |i: usize| match knots.interpolation() {
        KnotInterpolation::ZeroOrderHold => {
            let next = times.get(i + 1).copied().unwrap_or(until);
            command.at(0.5 * (times[i].max(0.0) + next))
        }
        KnotInterpolation::Linear | KnotInterpolation::Cubic => command.at(times[i]),
    };
    (0..times.len()).map(at).collect()
}

/// The index of the actuator with this name.
pub(in crate::io) fn actuator_index(model: &Model, name: &str, field: &FieldPath) -> Result<usize, Problem> {
    named(model.actuators.iter().map(|a| a.name.as_str()), "actuator", name, field)
}
