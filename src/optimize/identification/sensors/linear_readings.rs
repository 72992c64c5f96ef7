//! What sensors say of a linearized motion, with its derivatives.

use std::cell::RefCell;
use std::collections::HashMap;

use nalgebra::{DMatrix, DVector};

use super::interpolation::{Weights, weights};
use super::kind::QuantityKind;
use super::reading::Reading;
use super::settings::{SensorNumbers, SensorParameter, sensor_numbers};
use super::{Recorded, RecordedChannels, commands_at, problem};
use crate::multibody::{
    DIRECTIONS, DifferentiatedModel, ForcesIn, Model, PairWorkspace, Parameter, ParameterError, SeededModel,
    State, for_each_tangent_chunk, seeded_models,
};
use crate::optimize::identification::samples::Rows;
use crate::optimize::identification::window_motion::{Sensitive, Steps};
use crate::rollout::{Moment, Quantity, Reader};
use crate::scalar::DualArray;
use crate::step::StepForces;

type Directional = DualArray<DIRECTIONS>;

/// The readings at the ends of steps with their derivatives along the state's tangent space, each made when it is first
/// asked for.
pub(super) struct LinearReadings<'a> {
    recording: &'a RecordedChannels,
    /// The numbers of all sensors, with derivatives with respect to those that are varied, some at a time.
    numbers: Vec<Vec<SensorNumbers<Directional>>>,
    /// How many of them are varied.
    sensors: usize,
    model: &'a DifferentiatedModel<'a>,
    motion: &'a [Sensitive],
    steps: Steps<'a>,
    applied: &'a dyn ForcesIn<Directional>,
    quantities: Vec<Vec<Quantity>>,
    /// The forces of steps among them.
    of_steps: Vec<Vec<Quantity>>,
    /// The model as a constant, and where contact or a drive is looked at with derivatives with respect to its parameters,
    /// some at a time.
    constant: Model<Directional>,
    seeded: Vec<SeededModel<DIRECTIONS>>,
    reader: Reader<Directional>,
    contacts: RefCell<PairWorkspace>,
    forces: RefCell<StepForces>,
    lifted: State<Directional>,
    made: HashMap<usize, Parts>,
}

/// The states at the start and at the end of a step.
type States<'s> = [&'s State<Directional>; 2];

/// The readings of all channels in a state.
struct Parts {
    /// With derivatives along parts of its tangent space.
    by_state: Vec<Part>,
    /// Of forces of the step that led to the state, with derivatives along parts of the tangent space at its start.
    by_before: Vec<Part>,
    /// With derivatives with respect to parts of the model's parameters, in the same state; none unless contact or a drive
    /// is looked at, since other quantities depend on the state alone.
    by_model: Vec<Part>,
}

/// The readings of all channels, with derivatives with respect to some of many numbers.
struct Part {
    columns: Vec<usize>,
    readings: Vec<Reading<Directional>>,
}

impl<'a> LinearReadings<'a> {
    /// Those of the channels of a recording on a motion of the model.
    ///
    /// # Errors
    /// A parameter that the model does not have.
    pub fn new(
        recording: &'a RecordedChannels,
        model: &'a DifferentiatedModel<'a>,
        motion: &'a [Sensitive],
        sensors: &[(&SensorParameter, f64)],
        (steps, applied): (Steps<'a>, &'a dyn ForcesIn<Directional>),
    ) -> Result<Self, ParameterError> {
        let is_of_contact = recording.channels.iter().any(|channel| channel.kind.is_of_contact());
        let is_wanted = |parameter: &Parameter| {
            is_of_contact || {
                use Parameter::{DriveDamping, DriveStiffness, EffortLimit};
                matches!(parameter, DriveStiffness { .. } | DriveDamping { .. } | EffortLimit { .. })
            }
        };
        let seeds = |first: usize| {
            let seeded = sensors.iter().enumerate().map(|(k, &(own, value))| {
                let direction = k.checked_sub(first).filter(|direction| *direction < DIRECTIONS);
                let variable = |direction| Directional::variable(value, direction);
                (own, direction.map_or_else(|| Directional::from(value), variable))
            });
            sensor_numbers(&recording.sensors, &seeded.collect::<Vec<_>>())
        };
        let quantities = recording.quantities(steps.settings);
        let is_of_step = |quantity: &Quantity| {
            matches!(quantity, Quantity::StepForce { .. } | Quantity::StepTorque { .. })
        };
        let of_steps = quantities.iter().map(|of| of.iter().copied().filter(is_of_step).collect()).collect();
        Ok(Self {
            recording,
            numbers: (0..sensors.len().max(1)).step_by(DIRECTIONS).map(seeds).collect(),
            sensors: sensors.len(),
            model,
            motion,
            steps,
            applied,
            quantities,
            of_steps,
            constant: Model::lift(model.model()),
            seeded: seeded_models(model.model(), model.parameters(), is_wanted)?,
            reader: Reader::default(),
            contacts: RefCell::default(),
            forces: RefCell::default(),
            lifted: State::default(),
            made: HashMap::new(),
        })
    }

    fn at(&mut self, moment: usize) -> &Parts {
        let Self { motion, steps, applied, quantities, of_steps, constant, seeded, .. } = self;
        let Self { reader, contacts, forces, lifted, made, .. } = self;
        made.entry(moment).or_insert_with(|| {
            let commands = &commands_at(moment, steps)[..];
            let mut read =
                |quantities: &[Vec<Quantity>], model: &Model<Directional>, [before, state]: States<'_>| {
                    let at = Moment::instant(model, state, commands, contacts);
                    let step = moment.checked_sub(1).map(|step| {
                        let problem = problem(step, steps, (model, before, commands), *applied);
                        Moment::of_step(step, steps.settings.integrator, problem, state, (contacts, forces))
                    });
                    Reading::of_channels(quantities, &at, step.as_ref(), reader)
                };
            let (mut by_state, mut by_before, mut by_model) = (Vec::new(), Vec::new(), Vec::new());
            let of_before = &motion[moment.saturating_sub(1)].state;
            let (before, after) = (&State::lift(of_before), &State::lift(&motion[moment].state));
            for_each_tangent_chunk(&motion[moment].state, lifted, &mut |state, directions| {
                let readings = read(quantities, constant, [before, state]);
                by_state.push(Part { columns: directions.collect(), readings });
            });
            if moment > 0 && of_steps.iter().any(|of| !of.is_empty()) {
                for_each_tangent_chunk(of_before, lifted, &mut |state, directions| {
                    let readings = read(of_steps, constant, [state, after]);
                    by_before.push(Part { columns: directions.collect(), readings });
                });
            }
            for SeededModel { columns, model } in seeded.iter() {
                let readings = read(quantities, model, [before, after]);
                by_model.push(Part { columns: columns.clone(), readings });
            }
            Parts { by_state, by_before, by_model }
        })
    }

    /// The residuals of a sample of the channel with this index.
    pub fn rows(&mut self, index: usize, time: f64, measured: &Reading<f64>) -> Rows {
        let (recording, motion) = (self.recording, self.motion);
        let Recorded { sensor, channel, kind, weight, loss, .. } = recording.channels[index];
        let (dimension, of_model) = (kind.dimension(), self.model.parameters().len());
        let time_step = Directional::from(self.steps.settings.time_step);
        let of_numbers = |numbers: &Vec<SensorNumbers<Directional>>| {
            let own = &numbers[sensor];
            let weights = weights((-own.delay + time) / time_step, motion.len() - 1);
            (own.in_world(kind, measured), weights, own.offsets[channel])
        };
        let by_numbers: Vec<_> = self.numbers.iter().map(of_numbers).collect();
        let (in_world, Weights { first, weights, count }, offset) = by_numbers[0];
        let lifted = Reading::lift(&in_world.real());
        let mut rows = Rows {
            residuals: DVector::from_fn(dimension, |k, _| offset[k].re * weight),
            by_start: DMatrix::zeros(dimension, motion[first].by_start.ncols()),
            by_parameters: DMatrix::zeros(dimension, of_model + self.sensors),
        };
        // Of numbers of sensors some at a time, as many as there are directions.
        let add = |by_parameters: &mut DMatrix<f64>, (chunk, k): (usize, usize), number: Directional| {
            let columns = (of_model + chunk * DIRECTIONS..by_parameters.ncols()).zip(number.eps);
            columns.for_each(|(column, slope)| by_parameters[(k, column)] += slope * weight);
        };
        for (chunk, (_, _, offset)) in by_numbers.iter().enumerate() {
            (0..dimension).for_each(|k| add(&mut rows.by_parameters, (chunk, k), offset[k]));
        }
        for (moment, part) in (first..).zip(&weights[..count]) {
            let Parts { by_state, by_before, by_model } = self.at(moment);
            if let Some(Part { readings, .. }) = by_state.first() {
                let reading = Reading::<Directional>::lift(&readings[index].real());
                for (chunk, (in_world, weights, _)) in by_numbers.iter().enumerate() {
                    let deviation = reading.deviation(in_world);
                    for k in 0..dimension {
                        let number = weights.weights[moment - first] * deviation[k];
                        rows.residuals[k] += if chunk == 0 { number.re * weight } else { 0.0 };
                        add(&mut rows.by_parameters, (chunk, k), number);
                    }
                }
            }
            let add_direct = |by_parameters: &mut DMatrix<f64>| {
                for Part { columns, readings } in by_model {
                    let deviation = readings[index].deviation(&lifted);
                    for (k, deviation) in deviation[..dimension].iter().enumerate() {
                        for (&column, slope) in columns.iter().zip(deviation.eps) {
                            by_parameters[(k, column)] += part.re * weight * slope;
                        }
                    }
                }
            };
            if kind.is_of_contact() {
                add_direct(&mut rows.by_parameters);
            }
            let before = (moment.saturating_sub(1), by_before);
            for (moment, parts) in
                [(moment, by_state), before].into_iter().filter(|(_, parts)| !parts.is_empty())
            {
                let at = &motion[moment];
                let mut slopes = DMatrix::zeros(dimension, at.by_start.nrows());
                for Part { columns, readings } in parts {
                    let deviation = readings[index].deviation(&lifted);
                    for (k, deviation) in deviation[..dimension].iter().enumerate() {
                        let of_columns = columns.iter().zip(deviation.eps);
                        of_columns.for_each(|(&column, slope)| slopes[(k, column)] = slope);
                    }
                }
                rows.by_start.gemm(part.re * weight, &slopes, &at.by_start, 1.0);
                let mut by_model = rows.by_parameters.columns_mut(0, of_model);
                by_model.gemm(part.re * weight, &slopes, &at.by_parameters, 1.0);
            }
            if kind == QuantityKind::ActuatorForce {
                add_direct(&mut rows.by_parameters);
            }
        }
        let Rows { residuals, by_start, by_parameters } = &mut rows;
        loss.reduce_linear(residuals, [by_start, by_parameters]);
        rows
    }
}
