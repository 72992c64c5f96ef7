//! From the cost tables of a problem file to the terms of an objective, and the quantities that constraints
//! are of too.

use nalgebra::Vector3;

use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem, check_name};
use crate::io::problem::schema::{ComponentsTable, CostTable, TargetTable};
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::file::Scene;
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

impl Scene {
    /// The quantity at the end of motions that a text names as results of `isobar optimize` name its cost, such as `position of ball` or
    /// `contact force of ball from floor`, or as the cost itself does: `position = { body = "ball" }`.
    ///
    /// # Errors
    /// What is wrong with it, in words, and what is allowed.
    pub fn quantity_at_end(&self, text: &str) -> Result<Quantity, String> {
        let settings = self.simulation_settings().map_err(|error| error.to_string())?;
        let of_steps = ["control", "step_force"];
        let document = |toml: &str| Document::of_toml(&self.path, format!("{toml}\nweight = 1"));
        let told = |error: FileError| match error {
            FileError::Invalid { field, message, .. } => format!("{field}: {message}"),
            error => error.to_string(),
        };
        let empty: CostTable = document("").and_then(|document| document.contents()).map_err(told)?;
        let keys: Vec<&str> = empty.quantities().iter().map(|(key, _)| *key).collect();
        let allowed: Vec<&str> = keys.into_iter().filter(|key| !of_steps.contains(key)).collect();
        let quoted = |name: &str| serde_json::Value::from(name.trim()).to_string();
        let in_words = |(key, of): (&str, &str)| {
            let key = key.trim().replace(' ', "_");
            let of = match of.split_once(" from ") {
                Some((on, from)) => format!("{{ on = {}, from = {} }}", quoted(on), quoted(from)),
                None if key.starts_with("joint_") => format!("{{ joint = {} }}", quoted(of)),
                None => format!("{{ body = {} }}", quoted(of)),
            };
            format!("{key} = {of}")
        };
        let toml = match text.contains('=') {
            true => Some(text.to_owned()),
            false => text.split_once(" of ").map(in_words),
        };
        let document = toml.map(|toml| document(&toml)).transpose().map_err(told)?;
        let mut keys = document.iter().flat_map(Document::keys).filter(|key| *key != "weight");
        match (&document, keys.next(), keys.next()) {
            (Some(document), Some(key), None) if allowed.contains(&key) => {
                let table: CostTable = document.contents().map_err(told)?;
                let of = (&self.model, settings.integrator);
                let named = NamedQuantity::read(&table.quantities(), &None, of, &FieldPath::root());
                named
                    .map(|named| named.quantity)
                    .map_err(|Problem { field, message }| format!("{field}: {message}"))
            }
            _ => Err(format!(
                "it must be one of {}, such as `position of BODY` or `contact force of BODY from OTHER`, or \
                 written as in a cost of a problem, such as `position = {{ body = \"BODY\" }}`",
                allowed.join(", ")
            )),
        }
    }
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
        if matches!(quantity, Quantity::StepForce { .. }) && integrator.velocity_level_method().is_none() {
            let message = "it is known for the solvers `lagged`, `similar`, `sap` and `tamsi`; use `contact_force`, the \
                           force at an instant";
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
