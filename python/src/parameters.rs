//! The parameters of scenes by name.

use isobar::Parameter;
use isobar::multibody::Model;
use isobar::optimize::identification::parameters_at;

use crate::failure::Failure;

/// Most names that a message lists.
const SHOWN: usize = 40;

/// What a scene has names for, meshes and knots of loads apart: every parameter, with its name.
pub fn named(model: &Model) -> impl Iterator<Item = (Parameter, String)> {
    let [few, _] = Parameter::beyond_all(model);
    Parameter::all(model).into_iter().chain(few).map(|parameter| (parameter, parameter.name(model)))
}

/// The parameters that a name stands for: that of `isobar gradient-check`, or of a fit file, where it may be several that
/// have one value.
pub fn of_name(model: &Model, name: &str) -> Result<Vec<Parameter>, Failure> {
    if let Some((parameter, _)) = named(model).find(|(_, known)| known == name) {
        return Ok(vec![parameter]);
    }
    if let Ok(found) = parameters_at(model, name) {
        return Ok(found);
    }
    let [_, many] = Parameter::beyond_all(model);
    if let Some(parameter) = many.into_iter().find(|parameter| parameter.name(model) == name) {
        return Ok(vec![parameter]);
    }
    let known: Vec<String> = named(model).map(|(_, name)| name).take(SHOWN).collect();
    let allowed = format!("a name of `Scene.parameters`, or of a fit file: {}, …", known.join(", "));
    Err(Failure::argument("parameters", format_args!("{name:?}"), &allowed))
}

/// Parameters that derivatives are asked for by name.
pub struct Wanted {
    /// All of them.
    pub parameters: Vec<Parameter>,
    /// How many belong to each name.
    counts: Vec<usize>,
}

impl Wanted {
    /// Those of several names.
    pub fn new(model: &Model, names: &[String]) -> Result<Self, Failure> {
        let found = names.iter().map(|name| of_name(model, name)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { counts: found.iter().map(Vec::len).collect(), parameters: found.concat() })
    }

    /// The number of each parameter, from those of the names.
    pub fn of_names(&self, numbers: &[f64]) -> Vec<f64> {
        let each = self.counts.iter().zip(numbers);
        each.flat_map(|(&count, &number)| std::iter::repeat_n(number, count)).collect()
    }

    /// The derivative by each name, from those by each parameter: all that have one name change together.
    pub fn by_name(&self, by_parameters: &[f64]) -> Vec<f64> {
        let mut rest = by_parameters;
        let sum = |&count: &usize| {
            let (own, others) = rest.split_at(count.min(rest.len()));
            rest = others;
            own.iter().sum()
        };
        self.counts.iter().map(sum).collect()
    }
}
