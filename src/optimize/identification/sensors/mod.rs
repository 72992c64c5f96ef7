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
mod trial;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use nalgebra::{DMatrix, DVector};

pub use self::comparison::{ChannelError, ChannelPrediction};
use self::interpolation::{Weights, weights};
pub use self::kind::{ForcesOf, QuantityKind};
use self::linear_readings::LinearReadings;
use self::reading::Reading;
pub(super) use self::settings::SensorParameter;
pub use self::settings::{Channel, Sensor};
use self::settings::{SensorNumbers, sensor_numbers};
pub(super) use self::trial::Trial;
use super::Loss;
use super::check_residuals;
use super::deviations::StateDeviations;
use super::phase::{Phase, Phases};
use super::samples::{Rows, Sample};
use super::window_motion::{Sensitive, Steps};
use crate::multibody::{DifferentiatedModel, ForcesIn, Model, State};
use crate::optimize::data::Samples;
use crate::optimize::error::ProblemError;
use crate::rollout::{Command, Moment, Quantity, Reader, SimulationSettings};
use crate::scalar::Scalar;
use crate::step::StepProblem;

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

/// What sensors recorded of a motion.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RecordedChannels {
    pub sensors: Vec<Sensor>,
    channels: Vec<Recorded>,
    /// The directions of the start that are estimated, each with its weight.
    estimated: Vec<(usize, f64)>,
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

fn span(step: usize, settings: &SimulationSettings) -> Range<f64> {
    step as f64 * settings.time_step..(step + 1) as f64 * settings.time_step
}

/// The commands of the step that led to a state; for the first one, of the step that begins there.
fn commands_at<T: Scalar>(moment: usize, steps: &Steps<'_>) -> Vec<T> {
    let span = span(moment.saturating_sub(1), steps.settings);
    let at = 0.5 * (span.start + span.end);
    steps.commands.iter().map(|command| T::from(command.at(at))).collect()
}

/// The step of this number, under the commands of the state that it leads to.
fn problem<'m, T>(
    step: usize,
    steps: &Steps<'m>,
    (model, state, control): (&'m Model<T>, &'m State<T>, &'m [T]),
    applied: &'m dyn ForcesIn<T>,
) -> StepProblem<'m, T> {
    let Range { start: time, end } = span(step, steps.settings);
    let substeps = steps.held.and_then(|held| held.get(step)).map(Vec::as_slice);
    StepProblem { model, state, time, time_step: end - time, applied, control, substeps, asleep: &[] }
}

impl RecordedChannels {
    /// What sensors recorded of the motion of `model` from `start`, as
    /// [`RecordedMotion::of_sensors`](super::RecordedMotion::of_sensors) has it; and when the last of it was.
    pub fn new(
        model: &Model,
        start: &State,
        sensors: Vec<Sensor>,
        (name, samples): (&str, Vec<Samples>),
        deviations: &StateDeviations,
    ) -> Result<(Self, f64), ProblemError> {
        if sensors.is_empty() {
            return Err(ProblemError::NoMeasurements);
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
                        place: super::place(name, Some(*line)),
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
            let (from, until) = (0.0, f64::INFINITY);
            return Err(ProblemError::EmptyWindow { recording: name.to_owned(), from, until });
        }
        let estimated = deviations.weights(start)?;
        Ok((Self { sensors, channels, estimated }, end))
    }

    /// The directions of the start that are estimated.
    pub fn estimated(&self) -> Vec<usize> {
        self.estimated.iter().map(|(direction, _)| *direction).collect()
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

    /// For each sample of each channel what the model says less what was measured, where the states after each step, the
    /// first one included, are these.
    pub fn deviations<T: Scalar>(
        &self,
        at: &Trial<'_, Model<T>, T>,
        moments: &[State<T>],
        steps: &Steps<'_>,
    ) -> Vec<Vec<T>> {
        let Trial { model, settings, applied, .. } = *at;
        let (quantities, numbers) = (self.quantities(settings), sensor_numbers(&self.sensors, &at.sensors));
        let (mut reader, contacts, forces) = (Reader::default(), RefCell::default(), RefCell::default());
        let read = |(moment, state): (usize, &State<T>)| {
            let commands: Vec<T> = commands_at(moment, steps);
            let at = Moment::instant(model, state, &commands, &contacts);
            let step = moment.checked_sub(1).map(|step| {
                let problem = problem(step, steps, (model, &moments[step], &commands[..]), applied);
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
                let Weights { first, weights, count } = weights(position, moments.len() - 1);
                let mut sum: [T; 3] = offsets[channel.channel].into();
                for (k, &weight) in weights[..count].iter().enumerate() {
                    let deviation = readings[first + k][index].deviation(&measured);
                    sum.iter_mut().zip(deviation).for_each(|(sum, d)| *sum += weight * d);
                }
                sum[..channel.kind.dimension()].to_vec()
            };
            channel.times.iter().zip(&channel.measured).map(at_sample).collect::<Vec<_>>()
        };
        self.channels.iter().enumerate().flat_map(of_channel).collect()
    }

    /// How each sample of each channel counts.
    pub fn samples(&self) -> Vec<Sample> {
        let of_channel = |channel: &Recorded| {
            let (weights, loss) = ([channel.weight, 0.0, 0.0, 0.0], channel.loss);
            channel
                .lines
                .iter()
                .map(move |&line| Sample { weights, loss, line: Some(line) })
                .collect::<Vec<_>>()
        };
        self.channels.iter().flat_map(of_channel).collect()
    }

    /// The residuals of the start of the motion, as far as it is estimated.
    pub fn start_rows(&self, recorded: &State, start: &State) -> Option<Rows> {
        let (off, rows) = (recorded.difference(start), self.estimated.len());
        let weights = DVector::from_iterator(rows, self.estimated.iter().map(|(_, weight)| *weight));
        let of_start = self.estimated.iter().map(|(direction, weight)| off[*direction] * weight);
        Some(Rows {
            residuals: DVector::from_iterator(rows, of_start),
            by_start: DMatrix::from_diagonal(&weights),
            by_parameters: DMatrix::zeros(rows, 0),
        })
    }

    /// The residuals of the samples of a motion.
    pub fn rows(
        &self,
        name: &str,
        at: &Trial<'_, DifferentiatedModel<'_>>,
        motion: &[Sensitive],
        steps: Steps<'_>,
    ) -> Result<Vec<Rows>, ProblemError> {
        let mut linear =
            LinearReadings::new(self, at.model, motion, &at.sensors, (steps, at.applied.differentiable()))?;
        let mut all = Vec::new();
        for (index, channel) in self.channels.iter().enumerate() {
            for ((time, measured), line) in channel.times.iter().zip(&channel.measured).zip(&channel.lines) {
                let rows = linear.rows(index, *time, measured);
                check_residuals(rows.residuals.as_slice(), name, Some(*line))?;
                all.push(rows);
            }
        }
        Ok(all)
    }

    /// For each channel the phase of contact at each of its samples: of the contacts of its body, or of all where it is of
    /// a joint or an actuator. The states after each step, the first one included, are these.
    pub fn phases(&self, at: &Trial<'_>, moments: &[State]) -> Vec<Vec<Phase>> {
        let numbers = sensor_numbers(&self.sensors, &at.sensors);
        let mut of_bodies: BTreeMap<Option<usize>, Vec<Phase>> = BTreeMap::new();
        let of_channel = |channel: &Recorded| {
            let body = at.model.body_index(&self.sensors[channel.sensor].channels[channel.channel].of);
            let phases = of_bodies.entry(body).or_insert_with(|| {
                let mut phases = Phases::new(at.model, body);
                moments.iter().map(|state| phases.next(state)).collect()
            });
            let delay = numbers[channel.sensor].delay;
            let at_sample = |time: &f64| {
                let moment = ((time - delay) / at.settings.time_step).round().max(0.0) as usize;
                phases[moment.min(phases.len() - 1)]
            };
            channel.times.iter().map(at_sample).collect()
        };
        self.channels.iter().map(of_channel).collect()
    }
}
