//! From the controller tables of a scene file to controllers that sample, measure with errors and command with delay, and
//! the parameters of their laws.

use std::ops::Range as Span;

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{Problem, check_name};
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::control_law_tables::LawTables;
use crate::io::scene::controller_schema::{ControllerTable, LawTable, NoiseTable, SlipTable};
use crate::multibody::Model;
use crate::rollout::{ControlLaw, Controller, Quantity, SampledController, SensorNoise};

/// The controllers of a scene or of a file of their own.
#[derive(Clone, Debug, Default)]
pub(in crate::io) struct SceneControllers {
    /// The tables, with all that files may leave out.
    pub tables: Vec<ControllerTable>,
    /// The controllers, in the same order.
    pub controllers: Vec<SampledController<ControlLaw>>,
    /// Their parameters, one controller after the other.
    pub parameters: Vec<f64>,
}

impl SceneControllers {
    /// The controllers of tables, for a model that is simulated in steps of this length in s.
    pub fn new(
        tables: &[ControllerTable],
        model: &Model,
        time_step: f64,
        field: &FieldPath,
    ) -> Result<Self, Problem> {
        let mut all = Self { tables: tables.to_vec(), ..Self::default() };
        for (i, (given, t)) in tables.iter().zip(&mut all.tables).enumerate() {
            let here = field.index(i);
            let name = &given.name;
            check_name(name, &here.key("name"))?;
            if let Some(first) = tables[..i].iter().position(|t| t.name == *name) {
                let message =
                    format!("found `{name}`, the name of controllers[{first}] too; names must be unique");
                return Err(Problem::new(here.key("name"), message));
            }
            let law = LawTables { model }.law(&mut t.law, &here.key("law"))?;
            let parameters = parameter_groups(&mut t.law);
            all.parameters.extend(parameters.iter().flat_map(|(_, values)| values.iter().copied()));
            all.controllers.push(sampled(t, law, i, time_step, &here)?);
        }
        Ok(all)
    }

    /// The names of all parameters or groups of them, and where each is among [`Self::parameters`].
    pub fn parameter_names(&self) -> Vec<(String, Span<usize>)> {
        let mut names = Vec::new();
        let mut first = 0;
        for t in &self.tables {
            for (group, values) in parameter_groups(&mut t.law.clone()) {
                names.push((format!("controllers.{}.{group}", t.name), first..first + values.len()));
                first += values.len();
            }
        }
        names
    }

    /// The tables with these parameters.
    pub fn tables_with(&self, parameters: &[f64]) -> Vec<ControllerTable> {
        let mut tables = self.tables.clone();
        let mut rest = parameters.iter();
        for t in &mut tables {
            for (_, values) in parameter_groups(&mut t.law) {
                values.iter_mut().zip(&mut rest).for_each(|(value, &parameter)| *value = parameter);
            }
        }
        tables
    }
}

/// The parameters of a law by their names, in the order in which its controller has them.
fn parameter_groups(law: &mut LawTable) -> Vec<(&'static str, &mut [f64])> {
    let one = std::slice::from_mut;
    match law {
        LawTable::Knots(t) => vec![("values", &mut t.values[..])],
        LawTable::Pid(t) => vec![
            ("proportional", one(&mut t.proportional)),
            ("integral", one(&mut t.integral)),
            ("derivative", one(&mut t.derivative)),
            ("target", &mut t.target[..]),
        ],
        LawTable::GripForce(t) => {
            let mut groups = vec![
                ("set_point", t.set_point.values_mut()),
                ("proportional", one(&mut t.proportional)),
                ("integral", one(&mut t.integral)),
                ("feedforward", one(&mut t.feedforward)),
            ];
            groups.extend(t.slip.as_mut().into_iter().flat_map(slip_groups));
            groups
        }
        LawTable::SlipReflex(t) => slip_groups(&mut t.slip).into(),
        LawTable::LinearFeedback(_) => Vec::new(),
        LawTable::NeuralNetwork(t) => vec![
            ("hidden_weights", &mut t.hidden_weights[..]),
            ("hidden_offsets", &mut t.hidden_offsets[..]),
            ("output_weights", &mut t.output_weights[..]),
            ("output_offsets", &mut t.output_offsets[..]),
        ],
    }
}

fn slip_groups(t: &mut SlipTable) -> [(&'static str, &mut [f64]); 2] {
    let one = std::slice::from_mut;
    [("slip.gain", one(&mut t.gain)), ("slip.release", one(&mut t.release))]
}

/// A law with its sampling.
fn sampled(
    t: &ControllerTable,
    law: ControlLaw,
    index: usize,
    time_step: f64,
    table: &FieldPath,
) -> Result<SampledController<ControlLaw>, Problem> {
    let steps = |time: f64, range: Range, key: &str| {
        let steps = number(time, range, &table.key(key))? / time_step;
        // The least and the greatest that make sense.
        if (steps - steps.round()).abs() > 1e-6 * steps.max(1.0) || steps > 1e6 {
            let message = format!(
                "found {time}; it must be a whole number of steps of {time_step} s, at most a million"
            );
            return Err(Problem::new(table.key(key), message));
        }
        Ok(steps.round() as usize)
    };
    let period = steps(t.period.unwrap_or(time_step), Range::Positive, "period")?.max(1);
    let delay = steps(t.delay, Range::AtLeastZero, "delay")?;
    if matches!(t.law, LawTable::LinearFeedback(_)) && period > 1 {
        let message =
            "found more than a step; linear feedback samples at every step, since its knots are interpolated";
        return Err(Problem::new(table.key("period"), message));
    }
    let noise =
        t.noise.as_ref().map(|noise| sensor_noise(noise, &law, index, &table.key("noise"))).transpose()?;
    Ok(SampledController { controller: law, period, delay, noise })
}

fn sensor_noise(
    t: &NoiseTable,
    law: &ControlLaw,
    index: usize,
    field: &FieldPath,
) -> Result<SensorNoise, Problem> {
    for (key, value) in
        [("position", t.position), ("velocity", t.velocity), ("force", t.force), ("area", t.area)]
    {
        number(value, Range::AtLeastZero, &field.key(key))?;
    }
    let deviation = |observed: &Quantity| match observed {
        Quantity::JointPosition { .. }
        | Quantity::Position { .. }
        | Quantity::Orientation { .. }
        | Quantity::ContactCentroid { .. } => t.position,
        Quantity::ContactArea { .. } => t.area,
        Quantity::ContactForce { .. } | Quantity::NormalForce { .. } => t.force,
        _ => t.velocity,
    };
    let of = |x: f64, count: usize| std::iter::repeat_n(x, count);
    let observed = law.observed().iter();
    let mut deviations: Vec<f64> =
        observed.flat_map(|observed| of(deviation(observed), observed.dimension())).collect();
    if let Some(state) = law.nominal().and_then(|nominal| nominal.states.first()) {
        // Positions and velocities of bodies, then of joints.
        let halves = |count: usize| of(t.position, count).chain(of(t.velocity, count));
        deviations.extend(state.bodies.iter().flat_map(|_| halves(6)).chain(halves(state.joints.v.len())));
    }
    // Controllers with the same seed have errors of their own.
    Ok(SensorNoise { seed: t.seed, deviations }.of_stream(index as u64))
}
