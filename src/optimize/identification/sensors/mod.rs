//! Residuals of a simulated motion of any model against what sensors recorded: poses and velocities of bodies,
//! positions and velocities of joints, forces of motors, forces and areas of contact, each at times of its own and with a
//! delay, a pose and offsets that may be parameters.
//!
//! A recording is simulated as a whole, from the scene's initial state at its start; as much of that state as is not
//! known exactly is estimated ([`super::initial_state`]). What a sensor measures is a function of the state
//! ([`quantity`], [`reading`]), taken between the ends of steps ([`interpolation`]).

mod comparison;
mod interpolation;
mod kind;
mod linear_readings;
mod quantity;
mod reading;
mod settings;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use nalgebra::{DMatrix, DVector};

pub use self::comparison::{ChannelError, ChannelPrediction};
use self::interpolation::{Weights, weights};
pub use self::kind::{ForcesOf, QuantityKind};
use self::linear_readings::{LinearReadings, Rows};
use self::reading::Reading;
pub(super) use self::settings::SensorParameter;
pub use self::settings::{Channel, Sensor};
use self::settings::{SensorNumbers, sensor_numbers};
use super::Loss;
use super::check_residuals;
use super::deviations::StateDeviations;
use super::initial_state::{TOLERANCE, WindowSystem, estimate};
use super::phase::{Phase, Phases};
use super::trajectory::WindowSubsteps;
use super::window_motion::{Sensitive, Steps, TapedSteps};
use crate::multibody::{AppliedForces, DifferentiatedModel, ForcesIn, Model, State};
use crate::optimize::data::Samples;
use crate::optimize::error::ProblemError;
use crate::rollout::{
    Command, Moment, MotionWarning, Quantity, Reader, Rollout, SimulationError, SimulationSettings,
};
use crate::scalar::Scalar;
use crate::step::{StepProblem, StepWorkspace, Substep};

/// What a recording of sensors consists of.
#[derive(Clone, Debug)]
pub struct SensorData {
    /// Where it came from, for messages.
    pub name: String,
    /// The samples of every channel of every sensor, in order; times count from the scene's initial state, s.
    pub samples: Vec<Samples>,
    /// The commands of the model's actuators.
    pub commands: Vec<Command>,
}

/// A recording of sensors, with the motion that it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct SensorRecording {
    name: String,
    sensors: Vec<Sensor>,
    channels: Vec<Recorded>,
    commands: Vec<Command>,
    /// The scene's initial state, and the directions of its tangent space that are estimated, each with its weight.
    start: State,
    estimated: Vec<(usize, f64)>,
    /// The time at which the simulation ends, a multiple of the time step, s.
    until: f64,
}

/// What was recorded of a quantity.
#[derive(Clone, Debug, PartialEq)]
struct Recorded {
    sensor: usize,
    /// Its index among the sensor's channels.
    channel: usize,
    kind: QuantityKind,
    /// What it is the sum of.
    quantities: Vec<Quantity>,
    weight: f64,
    loss: Loss,
    times: Vec<f64>,
    measured: Vec<Reading<f64>>,
    lines: Vec<u64>,
}

impl SensorRecording {
    /// A recording of sensors, of the motion of `model` from `start` under the data's commands. Standard deviations of
    /// the start say what of it is estimated.
    ///
    /// # Errors
    /// A sensor with numbers out of their range or of something that the model does not have, and samples that are not
    /// as many or of such a form as the sensors want.
    pub fn new(
        model: &Model,
        start: &State,
        sensors: Vec<Sensor>,
        data: SensorData,
        deviations: &StateDeviations,
        time_step: f64,
    ) -> Result<Self, ProblemError> {
        let SensorData { name, samples, commands } = data;
        if sensors.is_empty() {
            return Err(ProblemError::NoMeasurements);
        }
        let (found, expected) = (commands.len(), model.command_dimension());
        if found != expected {
            return Err(SimulationError::ControlDimension { found, expected }.into());
        }
        let expected: usize = sensors.iter().map(|sensor| sensor.channels.len()).sum();
        let is_whole = |s: &Samples| s.values.len() == s.times.len() && s.lines.len() == s.times.len();
        if samples.len() != expected || !samples.iter().all(is_whole) {
            let found = format!("{} lists", samples.len());
            let allowed = "one list for each channel, with as many values and lines as times";
            return Err(ProblemError::Setting { field: "samples", found, allowed });
        }
        let mut channels = Vec::new();
        let mut samples = samples.into_iter();
        for (index, sensor) in sensors.iter().enumerate() {
            sensor.check()?;
            for (place, channel) in sensor.channels.iter().enumerate() {
                let quantities = quantity::quantities(model, channel)?;
                let Samples { times, values, lines } = samples.next().unwrap_or_default();
                let measured = |(values, line): (Vec<f64>, &u64)| {
                    let values: Vec<f64> = values.iter().map(|value| value * channel.unit).collect();
                    Reading::measured(channel.quantity, &values).map_err(|length| ProblemError::Quaternion {
                        place: super::place(&name, Some(*line)),
                        length,
                    })
                };
                let measured = values.into_iter().zip(&lines).map(measured).collect::<Result<_, _>>()?;
                let weight = channel.sigma.recip();
                channels.push(Recorded {
                    sensor: index,
                    channel: place,
                    kind: channel.quantity,
                    quantities,
                    weight,
                    loss: channel.loss(),
                    times,
                    measured,
                    lines,
                });
            }
        }
        let end = channels.iter().filter_map(|channel| channel.times.last()).fold(0.0, |a: f64, b| a.max(*b));
        if end.is_nan() || end <= 0.0 {
            return Err(ProblemError::EmptyWindow { recording: name, from: 0.0, until: f64::INFINITY });
        }
        let until = (end / time_step - 1e-9).ceil().max(1.0) * time_step;
        // So many steps that they are too many are refused here.
        SimulationSettings { time_step, ..Default::default() }.schedule(until)?;
        let start = model.completed(start.clone());
        let estimated = deviations.weights(&start)?;
        Ok(Self { name, sensors, channels, commands, start, estimated, until })
    }

    /// Where it came from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The sensors.
    pub fn sensors(&self) -> &[Sensor] {
        &self.sensors
    }

    /// The state at the start, as in the scene.
    pub(super) fn start(&self) -> &State {
        &self.start
    }

    /// How many directions of the state at the start are estimated.
    pub(super) fn estimated_directions(&self) -> usize {
        self.estimated.len()
    }

    fn failed(&self, source: SimulationError) -> ProblemError {
        ProblemError::Recorded { recording: self.name.clone(), time: 0.0, source: Box::new(source) }
    }

    fn span(&self, step: usize, settings: &SimulationSettings) -> Range<f64> {
        step as f64 * settings.time_step..(step + 1) as f64 * settings.time_step
    }

    fn steps(&self, settings: &SimulationSettings) -> usize {
        ((self.until / settings.time_step).round() as usize).max(1)
    }

    /// The substeps of its steps.
    pub(super) fn substeps(
        &self,
        model: &Model,
        simulation: (&SimulationSettings, &impl AppliedForces),
        start: &State,
    ) -> Result<Vec<Vec<Substep>>, ProblemError> {
        let mut substeps = Vec::new();
        self.moments(model, simulation, start, None, &mut substeps)?;
        Ok(substeps)
    }

    /// The states after each step, the first one included.
    fn moments<T: Scalar>(
        &self,
        model: &Model<T>,
        (settings, applied): (&SimulationSettings, &impl AppliedForces),
        start: &State,
        held: Option<&[Vec<Substep>]>,
        taken: &mut Vec<Vec<Substep>>,
    ) -> Result<Vec<State<T>>, ProblemError> {
        let mut steps = Steps::new(settings, applied, held).under_commands(&self.commands);
        let mut workspace = StepWorkspace::default();
        let mut moments = vec![State::<T>::lift(start)];
        for step in 0..self.steps(settings) {
            let state = moments[step].clone();
            let span = self.span(step, settings);
            let after = steps.advance(model, state, span, &mut workspace, taken);
            moments.push(after.map_err(|source| self.failed(source))?);
        }
        Ok(moments)
    }

    /// The commands of the step that led to a state; for the first one, of the step that begins there.
    fn commands_at<T: Scalar>(&self, moment: usize, settings: &SimulationSettings) -> Vec<T> {
        let span = self.span(moment.saturating_sub(1), settings);
        let at = 0.5 * (span.start + span.end);
        self.commands.iter().map(|command| T::from(command.at(at))).collect()
    }

    /// The step of this number, under the commands of the state that it leads to.
    fn problem<'m, T>(
        &self,
        step: usize,
        settings: &SimulationSettings,
        (model, state, control): (&'m Model<T>, &'m State<T>, &'m [T]),
        (applied, held): (&'m dyn ForcesIn<T>, Option<&'m [Vec<Substep>]>),
    ) -> StepProblem<'m, T> {
        let Range { start: time, end } = self.span(step, settings);
        let substeps = held.and_then(|held| held.get(step)).map(Vec::as_slice);
        StepProblem { model, state, time, time_step: end - time, applied, control, substeps }
    }

    /// What each channel is the sum of: of steps that have an impulse their forces, unless those of states are measured.
    fn quantities(&self, settings: &SimulationSettings) -> Vec<Vec<Quantity>> {
        let has_impulse = settings.integrator.velocity_level_method().is_some();
        let of_channel = |recorded: &Recorded| {
            let channel = &self.sensors[recorded.sensor].channels[recorded.channel];
            let of_step = has_impulse && channel.forces == ForcesOf::Step;
            let quantity = |quantity: &Quantity| match *quantity {
                Quantity::ContactForce { on, from, .. } if of_step => Quantity::StepForce { on, from },
                Quantity::ContactTorque { on, from } if of_step => Quantity::StepTorque { on, from },
                other => other,
            };
            recorded.quantities.iter().map(quantity).collect()
        };
        self.channels.iter().map(of_channel).collect()
    }

    /// For each channel at each of its samples, what the model says less what was measured.
    fn deviations<T: Scalar>(
        &self,
        model: &Model<T>,
        sensors: &[(&SensorParameter, T)],
        simulation: (&SimulationSettings, &impl AppliedForces),
        start: &State,
        held: Option<&[Vec<Substep>]>,
    ) -> Result<Vec<Vec<[T; 3]>>, ProblemError> {
        let (settings, applied) = simulation;
        let moments = self.moments(model, simulation, start, held, &mut Vec::new())?;
        let (quantities, numbers) = (self.quantities(settings), sensor_numbers(&self.sensors, sensors));
        let (mut reader, contacts, forces) = (Reader::default(), RefCell::default(), RefCell::default());
        let read = |(moment, state): (usize, &State<T>)| {
            let commands: Vec<T> = self.commands_at(moment, settings);
            let at = Moment::instant(model, state, &commands, &contacts);
            let step = moment.checked_sub(1).map(|step| {
                let before = (model, &moments[step], &commands[..]);
                let problem = self.problem(step, settings, before, (applied, held));
                Moment::of_step(step, settings.integrator, problem, state, (&contacts, &forces))
            });
            Reading::of_channels(&quantities, &at, step.as_ref(), &mut reader)
        };
        let readings: Vec<Vec<Reading<T>>> = moments.iter().enumerate().map(read).collect();
        let of_channel = |(index, channel): (usize, &Recorded)| {
            let own = &numbers[channel.sensor];
            let SensorNumbers { delay, offsets, .. } = own;
            let at_sample = |(time, measured): (&f64, &Reading<f64>)| {
                let measured = own.in_world(channel.kind, measured);
                let position = (-*delay + *time) / T::from(settings.time_step);
                let Weights { first, weights, count } = weights(position, self.steps(settings));
                let mut sum: [T; 3] = offsets[channel.channel].into();
                for (k, &weight) in weights[..count].iter().enumerate() {
                    let deviation = readings[first + k][index].deviation(&measured);
                    sum.iter_mut().zip(deviation).for_each(|(sum, d)| *sum += weight * d);
                }
                sum
            };
            channel.times.iter().zip(&channel.measured).map(at_sample).collect()
        };
        Ok(self.channels.iter().enumerate().map(of_channel).collect())
    }

    /// Differences over standard deviations, from a state at the start.
    pub(super) fn residuals<T: Scalar>(
        &self,
        model: &Model<T>,
        sensors: &[(&SensorParameter, T)],
        simulation: (&SimulationSettings, &impl AppliedForces),
        start: &State,
        held: Option<&[Vec<Substep>]>,
    ) -> Result<Vec<T>, ProblemError> {
        let deviations = self.deviations(model, sensors, simulation, start, held)?;
        let mut residuals = Vec::new();
        for (channel, deviations) in self.channels.iter().zip(deviations) {
            let dimension = channel.kind.dimension();
            for (deviation, line) in deviations.iter().zip(&channel.lines) {
                let first = residuals.len();
                residuals.extend(deviation[..dimension].iter().map(|&d| d * channel.weight));
                channel.loss.reduce(&mut residuals[first..]);
                check_residuals(&residuals[first..], &self.name, Some(*line))?;
            }
        }
        Ok(residuals)
    }

    /// The residuals of the motion from a start, with those of the start itself first, and their derivatives; the last
    /// of those with respect to parameters belong to the sensors' parameters.
    fn system(
        &self,
        model: &DifferentiatedModel<'_>,
        sensors: &[(&SensorParameter, f64)],
        (settings, applied): (&SimulationSettings, &impl AppliedForces),
        start: &State,
        held: Option<&[Vec<Substep>]>,
    ) -> Result<WindowSystem, ProblemError> {
        let of_model = model.parameters().len();
        let directions: Vec<usize> = self.estimated.iter().map(|(direction, _)| *direction).collect();
        let mut motion = vec![Sensitive::start(model.model(), start, &directions, of_model)];
        let mut steps = Steps::new(settings, applied, held).under_commands(&self.commands);
        let mut memory = TapedSteps::default();
        for step in 0..self.steps(settings) {
            let mut at = motion[step].clone();
            let span = self.span(step, settings);
            steps
                .advance_linearized(model, &mut at, span, &mut memory)
                .map_err(|source| self.failed(source))?;
            motion.push(at);
        }
        let rows: usize = self.estimated.len()
            + self.channels.iter().map(|c| c.times.len() * c.kind.dimension()).sum::<usize>();
        let mut system = WindowSystem {
            of_start: self.estimated.len(),
            residuals: DVector::zeros(rows),
            by_start: DMatrix::zeros(rows, directions.len()),
            by_parameters: DMatrix::zeros(rows, of_model + sensors.len()),
            directions,
            is_stuck: false,
        };
        let off = self.start.difference(start);
        for (row, (direction, weight)) in self.estimated.iter().enumerate() {
            system.residuals[row] = off[*direction] * weight;
            system.by_start[(row, row)] = *weight;
        }
        let mut linear = LinearReadings::new(self, model, &motion, settings, (applied, held))?;
        let mut row = self.estimated.len();
        for (index, channel) in self.channels.iter().enumerate() {
            let dimension = channel.kind.dimension();
            for ((time, measured), line) in channel.times.iter().zip(&channel.measured).zip(&channel.lines) {
                let Rows { residuals, by_start, by_model, by_sensors } =
                    linear.rows(index, *time, measured, sensors);
                check_residuals(residuals.as_slice(), &self.name, Some(*line))?;
                system.residuals.rows_mut(row, dimension).copy_from(&residuals);
                system.by_start.rows_mut(row, dimension).copy_from(&by_start);
                let mut by_parameters = system.by_parameters.rows_mut(row, dimension);
                by_parameters.columns_mut(0, of_model).copy_from(&by_model);
                by_parameters.columns_mut(of_model, sensors.len()).copy_from(&by_sensors);
                row += dimension;
            }
        }
        Ok(system)
    }

    /// The system at the given start, or with `search`, where it is estimated, at that which explains the measurements
    /// best, which is looked for from the given one and replaces it.
    pub(super) fn estimated_system(
        &self,
        model: &DifferentiatedModel<'_>,
        sensors: &[(&SensorParameter, f64)],
        simulation: (&SimulationSettings, &impl AppliedForces),
        start: &mut State,
        (search, held): (bool, Option<WindowSubsteps<'_>>),
    ) -> Result<WindowSystem, ProblemError> {
        let held = held.and_then(|windows| windows.first()).map(Vec::as_slice);
        let evaluate = |at: &State| self.system(model, sensors, simulation, at, held);
        if !search || self.estimated.is_empty() {
            return evaluate(start);
        }
        let (found, system) = estimate(std::mem::take(start), TOLERANCE, evaluate)?;
        *start = found;
        Ok(system)
    }

    /// For each channel the phase of contact at each of its samples: of the contacts of its body, or of all where it is of
    /// a joint or an actuator.
    pub(super) fn phases(
        &self,
        model: &Model,
        sensors: &[(&SensorParameter, f64)],
        simulation: (&SimulationSettings, &impl AppliedForces),
        start: &State,
    ) -> Result<Vec<Vec<Phase>>, ProblemError> {
        let moments = self.moments(model, simulation, start, None, &mut Vec::new())?;
        let numbers = sensor_numbers(&self.sensors, sensors);
        let mut of_bodies: BTreeMap<Option<usize>, Vec<Phase>> = BTreeMap::new();
        let mut all = Vec::with_capacity(self.channels.len());
        for channel in &self.channels {
            let body = model.body_index(&self.sensors[channel.sensor].channels[channel.channel].of);
            let phases = of_bodies.entry(body).or_insert_with(|| {
                let mut phases = Phases::new(model, body);
                moments.iter().map(|state| phases.next(state)).collect()
            });
            let delay = numbers[channel.sensor].delay;
            let at = |time: &f64| {
                let moment = ((time - delay) / simulation.0.time_step).round().max(0.0) as usize;
                phases[moment.min(phases.len() - 1)]
            };
            all.push(channel.times.iter().map(at).collect());
        }
        Ok(all)
    }

    /// The warnings of the simulated motion.
    pub(super) fn warnings(
        &self,
        model: &Model,
        (settings, applied): (&SimulationSettings, &impl AppliedForces),
        start: &State,
    ) -> Result<Vec<MotionWarning>, ProblemError> {
        let rollout = Rollout::new(model, start, *settings, self.until).with_controls(&self.commands);
        let motion = crate::rollout::Motion::of(&rollout.under(applied));
        motion.outcome.map_err(|source| self.failed(source))?;
        Ok(motion.warnings)
    }
}
