//! What sensors say of a linearized motion, with its derivatives.

use std::cell::RefCell;
use std::collections::HashMap;

use nalgebra::{DMatrix, DVector};

use super::interpolation::{Weights, weights};
use super::reading::Reading;
use super::settings::{SensorParameter, sensor_numbers};
use super::{Recorded, RecordedChannels, commands_at, problem};
use crate::multibody::{
    DIRECTIONS, DifferentiatedModel, ForcesIn, JointLaw, Model, PairWorkspace, Parameter, ParameterError,
    SeededModel, State, for_each_tangent_chunk, seeded_models,
};
use crate::optimize::identification::recorded_motion::Rows;
use crate::optimize::identification::window_motion::{Sensitive, Steps};
use crate::rollout::{Moment, Quantity, Reader};
use crate::scalar::DualArray;
use crate::step::StepForces;

type Directional = DualArray<DIRECTIONS>;

/// The readings at the ends of steps with their derivatives along the state's tangent space, each made when it is first
/// asked for.
pub(super) struct LinearReadings<'a> {
    recording: &'a RecordedChannels,
    model: &'a DifferentiatedModel<'a>,
    motion: &'a [Sensitive],
    steps: Steps<'a>,
    applied: &'a dyn ForcesIn<Directional>,
    quantities: Vec<Vec<Quantity>>,
    /// The forces of steps among them.
    of_steps: Vec<Vec<Quantity>>,
    /// The model as a constant, and where contact is looked at with derivatives with respect to its parameters, some at a
    /// time.
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
    /// With derivatives with respect to parts of the model's parameters, in the same state; none unless contact is looked
    /// at, since other quantities depend on the state alone, or are seen to elsewhere.
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
        steps: Steps<'a>,
        applied: &'a dyn ForcesIn<Directional>,
    ) -> Result<Self, ParameterError> {
        let is_of_contact = recording.channels.iter().any(|channel| channel.kind.is_of_contact());
        let quantities = recording.quantities(steps.settings);
        let is_of_step = |quantity: &Quantity| {
            matches!(quantity, Quantity::StepForce { .. } | Quantity::StepTorque { .. })
        };
        let of_steps = quantities.iter().map(|of| of.iter().copied().filter(is_of_step).collect()).collect();
        Ok(Self {
            recording,
            model,
            motion,
            steps,
            applied,
            quantities,
            of_steps,
            constant: Model::lift(model.model()),
            seeded: seeded_models(model.model(), model.parameters(), |_| is_of_contact)?,
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
    pub fn rows(
        &mut self,
        index: usize,
        time: f64,
        measured: &Reading<f64>,
        sensors: &[(&SensorParameter, f64)],
    ) -> Rows {
        type Seeded = DualArray<1>;
        let (recording, motion) = (self.recording, self.motion);
        let Recorded { sensor, channel, kind, weight, loss, .. } = recording.channels[index];
        let dimension = kind.dimension();
        let numbers = &sensor_numbers(&recording.sensors, sensors)[sensor];
        let rates: Vec<_> =
            sensors.iter().map(|(own, _)| own.rates(&recording.sensors, sensor, channel)).collect();
        let in_world = &numbers.in_world(kind, measured);
        let lifted = Reading::lift(in_world);
        let position =
            (-Seeded::variable(numbers.delay, 0) + time) / Seeded::from(self.steps.settings.time_step);
        let Weights { first, weights, count } = weights(position, motion.len() - 1);
        let offset = numbers.offsets[channel];
        let of_model = self.model.parameters().len();
        let mut rows = Rows {
            residuals: DVector::from_fn(dimension, |k, _| offset[k] * weight),
            by_start: DMatrix::zeros(dimension, motion[first].by_start.ncols()),
            by_parameters: DMatrix::zeros(dimension, of_model + sensors.len()),
        };
        let mut by_delay = [0.0; 3];
        let of_pose = rates.iter().any(|rates| rates.pose.is_some());
        let posed = of_pose.then(|| numbers.seeded_pose().in_world(kind, measured));
        let mut by_pose = [[0.0; 6]; 3];
        for (moment, part) in (first..).zip(&weights[..count]) {
            let Parts { by_state, by_before, by_model } = self.at(moment);
            if let Some(Part { readings, .. }) = by_state.first() {
                let deviation = readings[index].deviation(&lifted);
                for (k, deviation) in deviation[..dimension].iter().enumerate() {
                    rows.residuals[k] += part.re * deviation.re * weight;
                    by_delay[k] += part.eps[0] * deviation.re * weight;
                }
            }
            if let (Some(posed), Some(Part { readings, .. })) = (&posed, by_state.first()) {
                let deviation = Reading::lift(&readings[index].real()).deviation(posed);
                for (by_pose, deviation) in by_pose.iter_mut().zip(&deviation[..dimension]) {
                    by_pose
                        .iter_mut()
                        .zip(deviation.eps)
                        .for_each(|(sum, slope)| *sum += part.re * slope * weight);
                }
            }
            for Part { columns, readings } in by_model.iter().filter(|_| kind.is_of_contact()) {
                let deviation = readings[index].deviation(&lifted);
                for (k, deviation) in deviation[..dimension].iter().enumerate() {
                    for (&column, slope) in columns.iter().zip(deviation.eps) {
                        rows.by_parameters[(k, column)] += part.re * weight * slope;
                    }
                }
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
            self.add_drive(&mut rows.by_parameters, index, moment, part.re * weight);
        }
        for (column, own) in rates.iter().enumerate() {
            for k in 0..dimension {
                let by_own_pose = own.pose.map_or(0.0, |number| by_pose[k][number]);
                rows.by_parameters[(k, of_model + column)] =
                    own.delay * by_delay[k] + own.offset[k] * weight + by_own_pose;
            }
        }
        let Rows { residuals, by_start, by_parameters } = &mut rows;
        loss.reduce_linear(residuals, [by_start, by_parameters]);
        rows
    }

    /// Adds the derivatives of an actuator's force with respect to its own gains and limit.
    fn add_drive(&self, by_model: &mut DMatrix<f64>, index: usize, moment: usize, factor: f64) {
        let [Quantity::ActuatorForce { actuator, coordinate }] = self.quantities[index][..] else { return };
        let own = &self.model.model().actuators[actuator];
        let at = own.coordinates()[coordinate];
        let command: f64 = commands_at(moment, &self.steps)[actuator];
        let joints = &self.motion[moment].state.joints;
        let slopes = own.law(&at, command).number_slopes(JointLaw::force, joints.q[at.q], joints.v[at.v]);
        for (column, parameter) in self.model.parameters().iter().enumerate() {
            let slope = match *parameter {
                Parameter::DriveStiffness { actuator: other } if other == actuator => slopes[0],
                Parameter::DriveDamping { actuator: other } if other == actuator => slopes[1],
                Parameter::EffortLimit { actuator: other } if other == actuator => slopes[2],
                _ => continue,
            };
            by_model[(0, column)] += factor * slope;
        }
    }
}
