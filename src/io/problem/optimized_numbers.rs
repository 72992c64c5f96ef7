//! From the tables of a problem file to the numbers that are optimized beside commands: parameters of controllers, and of
//! the model and its initial state.

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::problem::controls::move_into;
use crate::io::problem::ensemble_schema::{NumberTable, VaryTable};
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::file::Scene;
use crate::multibody::Model;
use crate::optimize::ensemble::{Design, DesignVariable, TunedParameter};
use crate::optimize::identification::parameters_at;
use crate::optimize::trajectory::ControlRange;
use crate::shown::list;

/// The field of parameters of controllers.
const OF_CONTROLLERS: &str = "controller_parameters";

/// The field of parameters of the model.
const OF_MODEL: &str = "model_parameters";

/// The parameters of controllers that are optimized, with the values that they have in the scene, moved into their ranges.
pub(super) fn tuned_parameters(
    tables: &[NumberTable],
    scene: &Scene,
    root: &FieldPath,
    moved: &mut Vec<Problem>,
) -> Result<Vec<(TunedParameter, f64)>, Problem> {
    let names = scene.feedback.parameter_names();
    let mut tuned: Vec<(TunedParameter, f64)> = Vec::new();
    for (i, t) in tables.iter().enumerate() {
        let table = root.key(OF_CONTROLLERS).index(i);
        let Some((_, places)) = names.iter().find(|(name, _)| *name == t.name) else {
            let all = list(names.iter().map(|(name, _)| name.as_str()));
            let message =
                format!("found `{}`, no parameter of a controller of the scene; there are: {all}", t.name);
            return Err(Problem::new(table.key("name"), message));
        };
        if tuned.iter().any(|(other, _)| other.index == places.start) {
            return Err(twice(t, &table));
        }
        if !t.also.is_empty() {
            let message =
                "found for a parameter of a controller; only those of the model have others with their value";
            return Err(Problem::new(table.key("also"), message));
        }
        let range = range(t, &table)?;
        for index in places.clone() {
            let mut value = scene.controller_parameters()[index];
            check_log(t, value, &table)?;
            move_into(std::slice::from_mut(&mut value), &range, (&table, None), moved);
            let name = match places.len() {
                1 => t.name.clone(),
                _ => format!("{}[{}]", t.name, index - places.start),
            };
            tuned.push((TunedParameter { name, index, range, log: t.log }, value));
        }
    }
    Ok(tuned)
}

/// The parameters of the model that are optimized, with the values that they have in the scene, moved into their ranges.
pub(super) fn design_variables(
    tables: &[NumberTable],
    varied: &[VaryTable],
    scene: &Scene,
    root: &FieldPath,
    moved: &mut Vec<Problem>,
) -> Result<Vec<(DesignVariable, f64)>, Problem> {
    let mut variables: Vec<(DesignVariable, f64)> = Vec::new();
    for (i, t) in tables.iter().enumerate() {
        let table = root.key(OF_MODEL).index(i);
        if variables.iter().any(|(other, _)| other.name == t.name) {
            return Err(twice(t, &table));
        }
        let fields: Vec<&String> = varied.iter().flat_map(|vary| vary.field.all()).collect();
        if let Some(name) = names(t).find(|name| fields.iter().any(|field| field == name)) {
            let message =
                format!("found `{name}`, which `vary` changes; what is optimized is the same in all members");
            return Err(Problem::new(table.key(if name == t.name { "name" } else { "also" }), message));
        }
        let parameters =
            parameters_at(&scene.model, &t.name).map_err(|error| Problem::new(table.key("name"), error))?;
        let value = parameters.first().map(|parameter| parameter.value(&scene.model));
        let value = value.transpose().map_err(|error| Problem::new(table.key("name"), error))?;
        let mut value = value.unwrap_or(0.0);
        let range = range(t, &table)?;
        check_log(t, value, &table)?;
        move_into(std::slice::from_mut(&mut value), &range, (&table, None), moved);
        variables.push((DesignVariable { name: t.name.clone(), range, log: t.log }, value));
    }
    // Two names may be of the same parameter.
    design(&scene.model, tables.iter().map(names), root)?;
    Ok(variables)
}

/// Checks that what is optimized is in a member as it is in the scene: what `vary` changes under another name, such as the
/// friction of a material, would be overwritten.
pub(super) fn check_unvaried(
    tables: &[NumberTable],
    (member, nominal): (&Model, &Model),
    root: &FieldPath,
) -> Result<(), Problem> {
    for (i, t) in tables.iter().enumerate() {
        for (number, name) in names(t).enumerate() {
            let key = if number == 0 { "name" } else { "also" };
            let field = root.key(OF_MODEL).index(i).key(key);
            let parameters =
                parameters_at(member, name).map_err(|error| Problem::new(field.clone(), error))?;
            // Those of the initial state have no value in a model.
            let changed = parameters.iter().find_map(|parameter| {
                let (found, expected) = (parameter.value(member).ok()?, parameter.value(nominal).ok()?);
                (found.to_bits() != expected.to_bits()).then_some((found, expected))
            });
            if let Some((found, expected)) = changed {
                let message = format!(
                    "found `{name}`, which `vary` changes, from {expected} to {found} in a member; what is optimized \
                     is the same in all members"
                );
                return Err(Problem::new(field, message));
            }
        }
    }
    Ok(())
}

/// The names of all that takes the value of a number.
pub(super) fn names(t: &NumberTable) -> impl Iterator<Item = &str> {
    std::iter::once(t.name.as_str()).chain(t.also.iter().map(String::as_str))
}

/// What the variables of a design are in a model, each given by the names of its parameters.
pub(super) fn design<'n, N: Iterator<Item = &'n str>>(
    model: &Model,
    variables: impl Iterator<Item = N>,
    root: &FieldPath,
) -> Result<Design, Problem> {
    let of = |names: N| -> Result<Vec<_>, _> {
        let all = names.map(|name| parameters_at(model, name)).collect::<Result<Vec<_>, _>>()?;
        Ok(all.concat())
    };
    let parameters = variables.map(of).collect::<Result<Vec<_>, _>>();
    parameters
        .and_then(|all| Design::new(model, all))
        .map_err(|error| Problem::new(root.key(OF_MODEL), error))
}

fn twice(t: &NumberTable, table: &FieldPath) -> Problem {
    Problem::new(table.key("name"), format_args!("found `{}` twice; each is given once", t.name))
}

/// What a number may be, and its scale.
fn range(t: &NumberTable, table: &FieldPath) -> Result<ControlRange, Problem> {
    let bound = |value: Option<f64>, none: f64, key: &str| {
        value.map_or(Ok(none), |value| number(value, Range::Finite, &table.key(key)))
    };
    let least = if t.log { f64::MIN_POSITIVE } else { f64::NEG_INFINITY };
    let lower = bound(t.lower, least, "lower")?;
    let upper = bound(t.upper, f64::INFINITY, "upper")?;
    if lower > upper {
        let message = format!("found {lower}, above `upper`, which is {upper}; it must not exceed it");
        return Err(Problem::new(table.key("lower"), message));
    }
    let mut range = ControlRange::new(lower, upper);
    match (t.scale, t.log) {
        (Some(_), true) => {
            let message = "found beside `log`; a logarithm has no scale";
            return Err(Problem::new(table.key("scale"), message));
        }
        (Some(scale), false) => range.scale = number(scale, Range::Positive, &table.key("scale"))?,
        (None, _) => {}
    }
    if t.log && lower <= 0.0 {
        let message = format!("found {lower}; with `log` it must be positive");
        return Err(Problem::new(table.key("lower"), message));
    }
    Ok(range)
}

/// Refuses a logarithm of what is not positive in the scene.
fn check_log(t: &NumberTable, value: f64, table: &FieldPath) -> Result<(), Problem> {
    match t.log && value <= 0.0 {
        true => {
            let message =
                format!("found `true`, but the scene's value is {value}; a logarithm needs a positive one");
            Err(Problem::new(table.key("log"), message))
        }
        false => Ok(()),
    }
}
