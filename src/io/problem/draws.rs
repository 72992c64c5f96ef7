//! What varies from member to member, and what is drawn for each.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::document::named_path::Replacement;
use crate::io::file_error::Problem;
use crate::io::problem::ensemble_schema::{DistributionTable, ListedTable, NormalTable, VaryTable};
use crate::io::scene::body_tables::{Range, number};
use crate::shown::shown;

/// The field that stands for the scene file.
const SCENE: &str = "scene";

/// Members that are optimized for, or those that the result is tried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) enum Draws {
    Training,
    Test,
}

impl Draws {
    /// A number that tells every member of both kinds from the others.
    pub fn stream(self, member: usize) -> u64 {
        2 * member as u64 + u64::from(self == Self::Test)
    }

    /// What messages call a member.
    pub fn name(self, member: usize) -> String {
        format!("{} {member}", if self == Self::Test { "test member" } else { "member" })
    }
}

/// A number drawn, or an element of a list.
enum Drawn {
    Number(f64),
    Text(String),
}

/// How a draw acts on a number of the scene.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Action {
    Put,
    Multiply,
    Add,
}

/// What varies, checked.
#[derive(Clone, Debug)]
pub(in crate::io) struct Variation {
    fields: Vec<String>,
    distribution: DistributionTable,
    action: Action,
    table: FieldPath,
}

/// What varies, from the tables of a problem.
pub(in crate::io) fn variations(tables: &[VaryTable], field: &FieldPath) -> Result<Vec<Variation>, Problem> {
    tables.iter().enumerate().map(|(i, t)| variation(t, &field.index(i))).collect()
}

fn variation(t: &VaryTable, table: &FieldPath) -> Result<Variation, Problem> {
    let (distribution, action, key) = match (&t.value, &t.factor, &t.offset) {
        (Some(value), None, None) => (value, Action::Put, "value"),
        (None, Some(factor), None) => (factor, Action::Multiply, "factor"),
        (None, None, Some(offset)) => (offset, Action::Add, "offset"),
        _ => {
            let message = "exactly one of `value`, `factor` and `offset` must be given";
            return Err(Problem::new(table.clone(), message));
        }
    };
    let fields = t.field.all().to_vec();
    if fields.is_empty() {
        return Err(Problem::new(table.key("field"), "found none; at least one field is needed"));
    }
    let here = table.key(key);
    let ends = |ends: [f64; 2], range: Range, key: &str| {
        let here = here.key(key);
        for (i, end) in ends.into_iter().enumerate() {
            number(end, range, &here.index(i))?;
        }
        match ends[0] <= ends[1] {
            true => Ok(()),
            false => Err(Problem::new(
                here,
                format_args!("found {} above {}; the lower end comes first", ends[0], ends[1]),
            )),
        }
    };
    match distribution {
        DistributionTable::Uniform(e) => ends(e.0, Range::Finite, "uniform")?,
        DistributionTable::LogUniform(e) => ends(e.0, Range::Positive, "log_uniform")?,
        DistributionTable::Normal(NormalTable { mean, deviation }) => {
            number(*mean, Range::Finite, &here.key("normal").key("mean"))?;
            number(*deviation, Range::AtLeastZero, &here.key("normal").key("deviation"))?;
        }
        DistributionTable::List(elements) => {
            let here = here.key("list");
            if elements.is_empty() {
                return Err(Problem::new(here, "found none; at least one element is needed"));
            }
            for (i, element) in elements.iter().enumerate() {
                match element {
                    ListedTable::Number(x) => drop(number(*x, Range::Finite, &here.index(i))?),
                    ListedTable::Text(text) if action != Action::Put => {
                        let message = format!("found `{}`; a text can only be a `value`", shown(text));
                        return Err(Problem::new(here.index(i), message));
                    }
                    ListedTable::Text(_) => {}
                }
            }
        }
    }
    let texts_only = |t: &DistributionTable| match t {
        DistributionTable::List(all) => all.iter().all(|x| matches!(x, ListedTable::Text(_))),
        _ => false,
    };
    if fields.iter().any(|field| field == SCENE) && (fields.len() > 1 || !texts_only(distribution)) {
        let message = "the scene file varies by itself, by a `value` with a `list` of names of files";
        return Err(Problem::new(table.clone(), message));
    }
    Ok(Variation { fields, distribution: distribution.clone(), action, table: table.clone() })
}

impl Variation {
    /// What is drawn for a member. `index` is the variation's own, so that each has random numbers of its own.
    fn draw(&self, seed: u64, draws: Draws, member: usize, index: usize) -> Drawn {
        // A generator for each draw: members and variations can be added without changing the others.
        let mut key = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut mixed = key.next_u64();
        for part in [draws.stream(member), index as u64] {
            mixed = Xoshiro256PlusPlus::seed_from_u64(mixed ^ part).next_u64();
        }
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(mixed);
        // In (0, 1], with 53 bits.
        let mut uniform = || ((generator.next_u64() >> 11) as f64 + 1.0) * 2.0_f64.powi(-53);
        match &self.distribution {
            DistributionTable::Uniform(ends) => {
                Drawn::Number(ends.0[0] + uniform() * (ends.0[1] - ends.0[0]))
            }
            DistributionTable::LogUniform(ends) => {
                let [low, high] = ends.0.map(f64::ln);
                Drawn::Number((low + uniform() * (high - low)).exp().clamp(ends.0[0], ends.0[1]))
            }
            DistributionTable::Normal(NormalTable { mean, deviation }) => {
                let radius = (-2.0 * uniform().ln()).sqrt();
                Drawn::Number(mean + deviation * radius * (std::f64::consts::TAU * uniform()).cos())
            }
            DistributionTable::List(elements) => match &elements[member % elements.len()] {
                ListedTable::Number(x) => Drawn::Number(*x),
                ListedTable::Text(text) => Drawn::Text(text.clone()),
            },
        }
    }
}

/// The scene file of a member, if it is another one.
pub(in crate::io) fn drawn_scene(
    variations: &[Variation],
    seed: u64,
    draws: Draws,
    member: usize,
) -> Option<(String, FieldPath)> {
    variations.iter().enumerate().find_map(|(index, variation)| {
        match variation.draw(seed, draws, member, index) {
            Drawn::Text(file) if variation.fields[0] == SCENE => Some((file, variation.table.clone())),
            _ => None,
        }
    })
}

/// Puts what is drawn for a member into its scene: where, and by which table. The problem is one of the problem file.
pub(in crate::io) fn put_draws(
    variations: &[Variation],
    seed: u64,
    draws: Draws,
    member: usize,
    scene: &mut Document,
) -> Result<Vec<(FieldPath, FieldPath)>, Problem> {
    let mut put = Vec::new();
    for (index, variation) in variations.iter().enumerate() {
        let drawn = variation.draw(seed, draws, member, index);
        for path in variation.fields.iter().filter(|field| *field != SCENE) {
            let wrong = |message: String| Problem::new(variation.table.key("field"), message);
            let field =
                scene.field(path).map_err(|why| wrong(format!("{why}, in the scene `{}`", shown(path))))?;
            let replacement = match (&drawn, variation.action) {
                (Drawn::Text(text), _) => Replacement::Text(text.clone()),
                (Drawn::Number(x), Action::Put) => Replacement::Number(*x),
                (Drawn::Number(x), action) => {
                    let own = scene.number(&field);
                    let own = own.ok_or_else(|| {
                        wrong(format!("found `{}`, which is no number in the scene", shown(path)))
                    })?;
                    Replacement::Number(if action == Action::Multiply { own * x } else { own + x })
                }
            };
            scene.replace(&field, &replacement);
            put.push((field, variation.table.clone()));
        }
    }
    Ok(put)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(distribution: DistributionTable) -> Variation {
        let (fields, table) = (vec!["x".to_owned()], FieldPath::root());
        Variation { fields, distribution, action: Action::Put, table }
    }

    fn numbers(variation: &Variation, draws: Draws) -> Vec<f64> {
        let number = |member| match variation.draw(3, draws, member, 1) {
            Drawn::Number(x) => x,
            Drawn::Text(_) => f64::NAN,
        };
        (0..2000).map(number).collect()
    }

    #[test]
    fn draws_are_those_of_their_distributions_and_test_draws_are_others() {
        use crate::io::strict::Exactly;
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let uniform = numbers(&of(DistributionTable::Uniform(Exactly([2.0, 4.0]))), Draws::Training);
        // Four standard errors.
        assert!((mean(&uniform) - 3.0).abs() < 4.0 * 0.578 / 2000f64.sqrt());
        assert!(uniform.iter().all(|x| (2.0..=4.0).contains(x)));
        let log = numbers(&of(DistributionTable::LogUniform(Exactly([1e-2, 1e2]))), Draws::Training);
        assert!((mean(&log.iter().map(|x| x.ln()).collect::<Vec<_>>())).abs() < 4.0 * 2.66 / 2000f64.sqrt());
        let normal = of(DistributionTable::Normal(NormalTable { mean: 1.0, deviation: 0.5 }));
        let (training, test) = (numbers(&normal, Draws::Training), numbers(&normal, Draws::Test));
        assert!((mean(&training) - 1.0).abs() < 4.0 * 0.5 / 2000f64.sqrt());
        let products: Vec<f64> = training.iter().zip(&test).map(|(a, b)| (a - 1.0) * (b - 1.0)).collect();
        assert!(mean(&products).abs() < 4.0 * 0.25 / 2000f64.sqrt());
        let list = of(DistributionTable::List(vec![ListedTable::Number(5.0), ListedTable::Number(7.0)]));
        assert_eq!(numbers(&list, Draws::Test)[..4], [5.0, 7.0, 5.0, 7.0]);
    }
}
