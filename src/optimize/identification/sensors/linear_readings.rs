//! What sensors say of a linearized motion, with its derivatives.

use std::collections::HashMap;
use std::ops::Range;

use nalgebra::{DMatrix, DVector};

use super::interpolation::{Weights, weights};
use super::quantity::{Observed, Quantity, Reading, readings};
use super::settings::{SensorParameter, sensor_numbers};
use super::{Recorded, SensorRecording};
use crate::multibody::tree::Mechanism;
use crate::multibody::{
    Actuator, DIRECTIONS, DifferentiatedModel, JointKinematics, JointLaw, Parameter, State,
    for_each_tangent_chunk,
};
use crate::optimize::identification::window_motion::Sensitive;
use crate::rollout::SimulationSettings;
use crate::scalar::DualArray;

type Directional = DualArray<DIRECTIONS>;

/// The residuals of one sample of a channel, and their derivatives.
pub(super) struct Rows {
    pub residuals: DVector<f64>,
    /// With respect to what is estimated of the start.
    pub by_start: DMatrix<f64>,
    /// With respect to the parameters of the model.
    pub by_model: DMatrix<f64>,
    /// With respect to the parameters of sensors.
    pub by_sensors: DMatrix<f64>,
}

/// The readings at the ends of steps with their derivatives along the state's tangent space, each made when it is first
/// asked for.
pub(super) struct LinearReadings<'a> {
    recording: &'a SensorRecording,
    model: &'a DifferentiatedModel<'a>,
    motion: &'a [Sensitive],
    settings: &'a SimulationSettings,
    quantities: Vec<Quantity>,
    mechanism: Mechanism<Directional>,
    actuators: Vec<Actuator<Directional>>,
    joints: JointKinematics<Directional>,
    lifted: State<Directional>,
    made: HashMap<usize, Vec<Part>>,
}

/// The readings of all channels in a state, with derivatives along a part of its tangent space.
struct Part {
    directions: Range<usize>,
    readings: Vec<Reading<Directional>>,
}

impl<'a> LinearReadings<'a> {
    /// Those of the channels of a recording on a motion of the model.
    pub fn new(
        recording: &'a SensorRecording,
        model: &'a DifferentiatedModel<'a>,
        motion: &'a [Sensitive],
        settings: &'a SimulationSettings,
    ) -> Self {
        Self {
            recording,
            model,
            motion,
            settings,
            quantities: recording.quantities(),
            mechanism: Mechanism::lift(&model.model().mechanism),
            actuators: model.model().actuators.iter().map(Actuator::lift).collect(),
            joints: JointKinematics::default(),
            lifted: State::default(),
            made: HashMap::new(),
        }
    }

    fn at(&mut self, moment: usize) -> &[Part] {
        let Self {
            recording, motion, settings, quantities, mechanism, actuators, joints, lifted, made, ..
        } = self;
        made.entry(moment).or_insert_with(|| {
            let commands = recording.commands_at(moment, settings);
            let mut parts = Vec::new();
            for_each_tangent_chunk(&motion[moment].state, lifted, |state, directions| {
                let at = Observed { mechanism, actuators, state, commands: &commands };
                parts.push(Part { directions, readings: readings(quantities, &at, joints) });
            });
            parts
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
        let Recorded { sensor, channel, quantity, weight, loss, .. } = recording.channels[index];
        let dimension = quantity.kind.dimension();
        let numbers = &sensor_numbers(&recording.sensors, sensors)[sensor];
        let position = (-Seeded::variable(numbers.delay, 0) + time) / Seeded::from(self.settings.time_step);
        let Weights { first, weights, count } = weights(position, recording.steps(self.settings));
        let offset = numbers.offsets[channel];
        let mut rows = Rows {
            residuals: DVector::from_fn(dimension, |k, _| offset[k] * weight),
            by_start: DMatrix::zeros(dimension, motion[first].by_start.ncols()),
            by_model: DMatrix::zeros(dimension, self.model.parameters().len()),
            by_sensors: DMatrix::zeros(dimension, sensors.len()),
        };
        let mut by_delay = [0.0; 3];
        for (moment, part) in (first..).zip(&weights[..count]) {
            let at = &motion[moment];
            let mut slopes = DMatrix::zeros(dimension, at.by_start.nrows());
            for (place, Part { directions, readings }) in self.at(moment).iter().enumerate() {
                let deviation = readings[index].deviation(measured);
                for (k, deviation) in deviation[..dimension].iter().enumerate() {
                    if place == 0 {
                        rows.residuals[k] += part.re * deviation.re * weight;
                        by_delay[k] += part.eps[0] * deviation.re * weight;
                    }
                    directions
                        .clone()
                        .zip(deviation.eps)
                        .for_each(|(column, slope)| slopes[(k, column)] = slope);
                }
            }
            rows.by_start.gemm(part.re * weight, &slopes, &at.by_start, 1.0);
            rows.by_model.gemm(part.re * weight, &slopes, &at.by_parameters, 1.0);
            self.add_drive(&mut rows.by_model, index, moment, part.re * weight);
        }
        for (column, (parameter, _)) in sensors.iter().enumerate() {
            let own = parameter.rates(&recording.sensors, sensor, channel);
            for k in 0..dimension {
                rows.by_sensors[(k, column)] = own.delay * by_delay[k] + own.offset[k] * weight;
            }
        }
        let Rows { residuals, by_start, by_model, by_sensors } = &mut rows;
        loss.reduce_linear(residuals, [by_start, by_model, by_sensors]);
        rows
    }

    /// Adds the derivatives of an actuator's force with respect to its own gains and limit.
    fn add_drive(&self, by_model: &mut DMatrix<f64>, index: usize, moment: usize, factor: f64) {
        let Some((actuator, at)) = self.quantities[index].actuator() else { return };
        let own = &self.model.model().actuators[actuator];
        let command = self.recording.commands_at(moment, self.settings)[actuator];
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
