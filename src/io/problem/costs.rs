//! From the cost tables of a problem file to the terms of an objective, and the quantities that constraints
//! are of too.

use nalgebra::Vector3;

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{Problem, check_name};
use crate::io::problem::schema::{ComponentsTable, CostTable, TargetTable};
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::quantity_tables::Of;
use crate::multibody::Model;
use crate::optimize::ProblemError;
use crate::optimize::objective::{CostTerm, Objective, Quantity, Target};
use crate::step::Integrator;

/// The name and the term of one table.
pub(in crate::io) fn cost_term(
    t: &CostTable,
    (model, integrator): (&Model, Integrator),
    table: &FieldPath,
) -> Result<(String, CostTerm), Problem> {
    let named = NamedQuantity::read(&t.quantities(), &t.name, (model, integrator), table)?;
    let NamedQuantity { key, quantity, .. } = named;
    let is_number = quantity.dimension() == 1;
    let components = |c: ComponentsTable, field: &FieldPath| named.components(c, field);
    let field = table.key("target");
    let target = match &t.target {
        None => Target::constant(Vector3::zeros()),
        Some(TargetTable::Constant(c)) => Target::constant(components(*c, &field)?),
        Some(TargetTable::Path(path)) => {
            let values = path.values.iter().enumerate();
            let values = values.map(|(i, c)| components(*c, &field.key("values").index(i)));
            Target::new(path.times.clone(), values.collect::<Result<_, _>>()?).map_err(|error| {
                let field = match error {
                    ProblemError::TargetTime { index, .. } => field.key("times").index(index),
                    _ => field.key("values"),
                };
                Problem::new(field, error)
            })?
        }
    };
    let mut weight = components(t.weight, &table.key("weight"))?;
    if is_number {
        weight = Vector3::new(weight.x, 0.0, 0.0);
    }
    let term = CostTerm { quantity, target, weight, deviation: t.deviation, when: t.when };
    // By itself, so that what does not fit is known to be of this table.
    Objective::new(model, model.command_dimension(), vec![term.clone()]).map_err(|error| {
        let field = match error {
            ProblemError::Weight(_) => "weight",
            ProblemError::ControlAtEnd => "when",
            _ => key,
        };
        Problem::new(table.key(field), error)
    })?;
    Ok((named.name, term))
}

/// A quantity of a table, with its key and its name in results.
pub(in crate::io) struct NamedQuantity {
    pub key: &'static str,
    pub name: String,
    pub quantity: Quantity,
}

impl NamedQuantity {
    /// The one quantity that a table has.
    pub fn read(
        given: &[(&'static str, Option<Of<'_>>)],
        name: &Option<String>,
        (model, integrator): (&Model, Integrator),
        table: &FieldPath,
    ) -> Result<Self, Problem> {
        let found: Vec<_> = given.iter().filter_map(|(key, of)| Some((*key, of.as_ref()?))).collect();
        let [(key, of)] = found[..] else {
            let listed = |keys: &mut dyn Iterator<Item = &'static str>| keys.collect::<Vec<_>>().join(", ");
            let found = match found.is_empty() {
                true => "no quantity".to_owned(),
                false => format!("found {}", listed(&mut found.iter().map(|(key, _)| *key))),
            };
            let allowed = listed(&mut given.iter().map(|(key, _)| *key));
            let message = format!("{found}; exactly one is needed of {allowed}");
            return Err(Problem::new(table.clone(), message));
        };
        let (of, quantity) = of.read(model, &table.key(key))?;
        if matches!(quantity, Quantity::StepForce { .. })
            && !matches!(integrator, Integrator::VelocityLevel(_))
        {
            let message = "it is known for the solvers `lagged`, `similar`, `sap` and `tamsi` without `accuracy`; \
                           use `contact_force`, the force at an instant";
            return Err(Problem::new(table.key(key), message));
        }
        let name = match name {
            Some(name) => {
                check_name(name, &table.key("name"))?;
                name.clone()
            }
            None => format!("{} of {of}", key.replace('_', " ")),
        };
        Ok(Self { key, name, quantity })
    }

    /// Finite numbers for the components of the quantity.
    pub fn components(&self, c: ComponentsTable, field: &FieldPath) -> Result<Vector3<f64>, Problem> {
        if self.quantity.dimension() == 1 && matches!(c, ComponentsTable::Each(_)) {
            let message = format!("found three numbers; `{}` is one number", self.key);
            return Err(Problem::new(field.clone(), message));
        }
        let v = c.vector();
        for x in &v {
            number(*x, Range::Finite, field)?;
        }
        Ok(v)
    }
}
