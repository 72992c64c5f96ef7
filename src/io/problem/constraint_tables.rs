//! From the constraint tables of a problem file to constraints.

use nalgebra::Vector3;

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::problem::costs::NamedQuantity;
use crate::io::problem::schema::ConstraintTable;
use crate::io::scene::body_tables::{Range, number};
use crate::multibody::Model;
use crate::optimize::ProblemError;
use crate::optimize::constraints::{Allowed, Constraint, Constraints};
use crate::rollout::SimulationError;
use crate::step::Integrator;

/// The tolerance of a constraint where none is given, over its scale.
const TOLERANCE: f64 = 1e-3;

/// The constraints of a file, and their names.
pub(in crate::io) fn constraints(
    tables: &[ConstraintTable],
    (model, integrator): (&Model, Integrator),
) -> Result<(Constraints, Vec<String>), Problem> {
    let field = FieldPath::root().key("constraints");
    let (mut all, mut names) = (Vec::new(), Vec::new());
    for (i, t) in tables.iter().enumerate() {
        let table = field.index(i);
        let (NamedQuantity { key, name, .. }, constraint) = constraint(t, (model, integrator), &table)?;
        // By itself, so that what does not fit is known to be of this table.
        Constraints::new(model, model.command_dimension(), vec![constraint.clone()]).map_err(|error| {
            let field = match error {
                ProblemError::ControlAtEnd => table.key("when"),
                ProblemError::Simulation(SimulationError::NoContact { .. }) => table.key(key),
                _ => table.clone(),
            };
            Problem::new(field, error)
        })?;
        all.push(constraint);
        names.push(name);
    }
    let all = Constraints::new(model, model.command_dimension(), all);
    Ok((all.map_err(|error| Problem::new(field, error))?, names))
}

/// The quantity and the constraint of one table.
fn constraint(
    t: &ConstraintTable,
    of: (&Model, Integrator),
    table: &FieldPath,
) -> Result<(NamedQuantity, Constraint), Problem> {
    let named = NamedQuantity::read(&t.quantities(), &t.name, of, table)?;
    let bounds = [("lower", t.lower), ("upper", t.upper), ("equal", t.equal)];
    let mut given = Vec::new();
    for (key, bound) in bounds {
        if let Some(bound) = bound {
            given.push((key, named.components(bound, &table.key(key))?));
        }
    }
    let of = |wanted: &str| given.iter().find(|(key, _)| *key == wanted).map(|(_, bound)| *bound);
    let refused = |found: &str| {
        let message =
            format!("found {found}; allowed are `equal`, `length`, or one or both of `lower` and `upper`");
        Err(Problem::new(table.clone(), message))
    };
    let allowed = match (t.length, of("equal"), of("lower"), of("upper")) {
        (Some(most), None, None, None) => {
            let field = table.key("length");
            if named.quantity.dimension() == 1 {
                let message =
                    format!("found at `{}`, which is one number; it has `lower` and `upper`", named.key);
                return Err(Problem::new(field, message));
            }
            Allowed::Length { most: number(most, Range::Positive, &field)? }
        }
        (None, Some(value), None, None) => Allowed::Between { lower: value, upper: value },
        (None, None, None, None) => return refused("no bound"),
        (None, None, lower, upper) => {
            let lower = lower.unwrap_or(Vector3::repeat(f64::NEG_INFINITY));
            let upper = upper.unwrap_or(Vector3::repeat(f64::INFINITY));
            if let Some(axis) = (0..named.quantity.dimension()).find(|&axis| lower[axis] > upper[axis]) {
                let (lower, upper) = (lower[axis], upper[axis]);
                let message = format!("found {lower}, above upper = {upper}; it must not exceed it");
                return Err(Problem::new(table.key("lower"), message));
            }
            Allowed::Between { lower, upper }
        }
        _ => return refused("bounds that do not go together"),
    };
    let dimension = named.quantity.dimension();
    let components = given.iter().flat_map(|(_, bound)| bound.iter().take(dimension)).chain(&t.length);
    let largest = components.fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let scale = t.scale.map_or(Ok(if largest > 0.0 { largest } else { 1.0 }), |scale| {
        number(scale, Range::Positive, &table.key("scale"))
    })?;
    let tolerance = t.tolerance.map_or(Ok(TOLERANCE * scale), |tolerance| {
        number(tolerance, Range::Positive, &table.key("tolerance"))
    })?;
    let constraint = Constraint { quantity: named.quantity, allowed, when: t.when, scale, tolerance };
    Ok((named, constraint))
}
