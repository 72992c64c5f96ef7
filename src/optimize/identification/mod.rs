//! Identification of a scene's parameters from measurements: the residuals of a model against
//! recorded trajectories and indentation tests.

mod cuts;
mod deep_starts;
mod deviations;
mod diagnostics;
mod excitation;
mod fitted;
mod horizons;
mod indentation;
mod initial_state;
mod linear_window;
mod loss;
mod nearness;
mod outliers;
mod parameter_path;
mod phase;
mod prediction;
mod recorded_motion;
mod recorded_states;
mod residuals;
mod samples;
mod sensors;
mod targets;
mod window_motion;

use std::sync::{Mutex, PoisonError};

use nalgebra::DMatrix;
use serde::Serialize;

pub use cuts::TimeWindow;
pub use deep_starts::DeepStart;
pub use deviations::{StandardDeviations, StartDeviations, StateDeviations};
pub use diagnostics::{Diagnostics, PhaseSquare, QuantityDiagnostics};
pub use horizons::{HorizonError, HorizonErrors, RecordingHorizons, TOUCH_MARGIN};
pub use indentation::IndentationTest;
pub use loss::{Loss, LossKind};
pub use outliers::Outliers;
pub use parameter_path::parameters_at;
pub use phase::Phase;
pub use prediction::{Prediction, UntouchedIndentation};
pub use recorded_motion::RecordedMotion;
pub use sensors::{Channel, ChannelError, ChannelPrediction, ForcesOf, QuantityKind, Sensor, SensorData};

use self::fitted::Starts;
use self::sensors::Trial;
use self::targets::{Target, Targets};
use crate::multibody::{AppliedForces, MassProperties, Model, NoForces, Parameter, ParameterError, State};
use crate::optimize::error::{LARGEST_RESIDUAL, ProblemError};
use crate::parallel::in_parallel;
use crate::rollout::{MotionWarning, SimulationSettings};
use crate::scalar::Scalar;
use crate::step::Integrator;

/// The file and line of a measurement, or its name if it is not from a file, for messages.
fn place(name: &str, line: Option<u64>) -> String {
    line.map_or_else(|| name.to_owned(), |line| format!("{name}, line {line}"))
}

/// Checks that residuals of one measured row can be squared.
fn check_residuals<T: Scalar>(residuals: &[T], name: &str, line: Option<u64>) -> Result<(), ProblemError> {
    // False for NaN.
    match residuals.iter().map(|r| r.real()).find(|r| r.is_nan() || r.abs() > LARGEST_RESIDUAL) {
        Some(residual) => Err(ProblemError::Residual { place: place(name, line), residual }),
        None => Ok(()),
    }
}

/// A measurement that a model is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Measurement {
    /// A recorded motion.
    Motion(RecordedMotion),
    /// Forces at depths of indentation.
    Indentation(IndentationTest),
}

impl Measurement {
    /// Where it comes from: the file, if it was read from one.
    pub fn name(&self) -> &str {
        match self {
            Self::Motion(motion) => motion.name(),
            Self::Indentation(test) => test.name(),
        }
    }

    /// The recorded motion, if it is one.
    pub(super) fn motion(&self) -> Option<&RecordedMotion> {
        match self {
            Self::Motion(motion) => Some(motion),
            Self::Indentation(_) => None,
        }
    }

    /// The states at the starts of windows, as far as they were recorded.
    fn recorded_starts(&self) -> Vec<State> {
        self.motion().map_or_else(Vec::new, RecordedMotion::recorded_starts)
    }

    /// Number of motions that are simulated by themselves.
    fn windows(&self) -> usize {
        self.motion().map_or(0, RecordedMotion::windows)
    }

    /// How many directions of the state at the start of each window are estimated.
    fn estimated_directions(&self) -> usize {
        self.motion().map_or(0, |motion| motion.estimated.len())
    }

    /// The sensors that recorded it.
    pub(crate) fn sensors(&self) -> &[Sensor] {
        let channels = self.motion().and_then(RecordedMotion::channels);
        channels.map_or(&[], |channels| &channels.sensors)
    }
}

fn sensors_of(measurements: &[Measurement]) -> &[Sensor] {
    measurements.iter().map(Measurement::sensors).find(|sensors| !sensors.is_empty()).unwrap_or_default()
}

/// The deviation of the model from one measurement, in SI units.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MeasurementError {
    /// Root mean squares over the recorded times that were compared.
    Motion {
        /// The recording.
        name: String,
        /// Recorded times compared.
        times: usize,
        /// Distance of positions, m.
        position: f64,
        /// Angle between orientations, rad.
        orientation: f64,
        /// Difference of velocities, m/s.
        linear_velocity: f64,
        /// Difference of angular velocities, rad/s.
        angular_velocity: f64,
    },
    /// Root mean square over the depths.
    Indentation {
        /// The table.
        name: String,
        /// Depths compared.
        depths: usize,
        /// Difference of forces, N.
        force: f64,
    },
    /// Of each channel of each sensor.
    Sensors {
        /// The recording.
        name: String,
        /// The channels.
        channels: Vec<ChannelError>,
    },
}

impl MeasurementError {
    /// Whether all numbers are finite; JSON has no others.
    fn is_finite(&self) -> bool {
        match self {
            Self::Motion { position, orientation, linear_velocity, angular_velocity, .. } => {
                [position, orientation, linear_velocity, angular_velocity].iter().all(|x| x.is_finite())
            }
            Self::Indentation { force, .. } => force.is_finite(),
            Self::Sensors { channels, .. } => channels.iter().all(|channel| channel.error.is_finite()),
        }
    }
}

/// A model with unknown parameters and the measurements that it should reproduce.
///
/// Its residuals are the differences divided by their standard deviations, measurement by measurement.
#[derive(Debug)]
pub struct Identification<A = NoForces> {
    model: Model,
    state: State,
    settings: SimulationSettings,
    applied: A,
    targets: Targets,
    measurements: Vec<Measurement>,
    starts: Mutex<Starts>,
}

/// With starts of its own, which are those of the original so far.
impl<A: Clone> Clone for Identification<A> {
    fn clone(&self) -> Self {
        let starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self {
            model: self.model.clone(),
            state: self.state.clone(),
            settings: self.settings,
            applied: self.applied.clone(),
            targets: self.targets.clone(),
            measurements: self.measurements.clone(),
            starts: Mutex::new(starts),
        }
    }
}

impl<A: AppliedForces> Identification<A> {
    /// The identification of the parameters of `model` that `names` stand for, one name for each
    /// parameter of the fit (see [`parameters_at`]). `applied` are forces on the free bodies.
    ///
    /// # Errors
    /// A name that the model does not have, two names that set the same parameter of the model, no
    /// measurements, or a recording with a gap.
    pub fn new<'n>(
        model: Model,
        state: State,
        settings: SimulationSettings,
        applied: A,
        names: impl IntoIterator<Item = &'n str>,
        measurements: Vec<Measurement>,
    ) -> Result<Self, ProblemError> {
        if measurements.is_empty() {
            return Err(ProblemError::NoMeasurements);
        }
        let sensors = sensors_of(&measurements);
        let mut targets: Vec<Target> = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for name in names {
            let found = Target::named(&model, sensors, name)?;
            if let Some(i) = targets.iter().position(|other| other.overlaps(&found)) {
                let (first, second) = (seen[i].to_string(), name.to_string());
                return Err(ProblemError::Overlap { first, second });
            }
            targets.push(found);
            seen.push(name);
        }
        let targets = Targets(targets);
        let motions = measurements.iter().filter_map(Measurement::motion);
        motions.filter_map(RecordedMotion::states).try_for_each(|s| s.check_gaps(settings.time_step))?;
        let present = measurements.iter().map(Measurement::recorded_starts).collect();
        let starts = Mutex::new(Starts::recorded(present));
        Ok(Self { model, state, settings, applied, targets, measurements, starts })
    }

    /// The same where further quantities take the values of parameters: each tie is the place of a parameter and the
    /// name of a quantity.
    ///
    /// # Errors
    /// A name that the model does not have, or a quantity that belongs to a parameter already.
    ///
    /// # Panics
    /// When there is no parameter at such a place.
    pub fn tied<'n>(
        mut self,
        ties: impl IntoIterator<Item = (usize, &'n str)>,
    ) -> Result<Self, ProblemError> {
        for (index, name) in ties {
            let found = Target::named(&self.model, sensors_of(&self.measurements), name)?;
            if self.targets.0.iter().any(|other| other.overlaps(&found)) {
                let (first, second) = ("another parameter".to_owned(), name.to_owned());
                return Err(ProblemError::Overlap { first, second });
            }
            self.targets.0[index].join(found);
        }
        Ok(self)
    }

    /// Checks that bodies can have the mass and inertia that values to start from give them; steps of a fit may pass through
    /// others.
    ///
    /// # Errors
    /// A value that makes no sense, or mass and inertia that no distribution of mass has.
    pub fn check_start(&self, initial: &[f64]) -> Result<(), ProblemError> {
        let impossible = |body, source| ProblemError::Impossible { body, source };
        let (model, _) = self.seeded(initial).map_err(|error| match error {
            ParameterError::Mass { body, source } => impossible(body, source),
            other => other.into(),
        })?;
        for parameter in self.targets.parameters() {
            let (Parameter::Mass { body } | Parameter::Inertia { body, .. }) = parameter else { continue };
            let mass = model.body_mass(body).map_or(Ok(()), MassProperties::validate);
            mass.map_err(|source| impossible(model.bodies()[body].name.clone(), source))?;
        }
        Ok(())
    }

    /// The measurements.
    pub fn measurements(&self) -> &[Measurement] {
        &self.measurements
    }

    /// The unit of each parameter.
    pub fn units(&self) -> Vec<&'static str> {
        let sensors = sensors_of(&self.measurements);
        self.targets.0.iter().map(|target| target.unit(&self.model, sensors)).collect()
    }

    /// The method of steps.
    pub fn integrator(&self) -> Integrator {
        self.settings.integrator
    }

    /// Takes steps by another method, as one that solves their equations more tightly.
    pub fn set_integrator(&mut self, integrator: Integrator) {
        self.settings.integrator = integrator;
    }

    fn seeded<T: Scalar>(&self, parameters: &[T]) -> Result<(Model<T>, State<T>), ParameterError> {
        self.targets.seeded(&self.model, &self.state, parameters)
    }

    /// A model with values of parameters as motions are compared with it.
    fn trial<'s, M, T: Scalar>(
        &'s self,
        model: &'s M,
        parameters: &[T],
        settings: &'s SimulationSettings,
    ) -> Trial<'s, M, T> {
        Trial { model, sensors: self.targets.of_sensors(parameters), settings, applied: &self.applied }
    }

    /// Windows whose starts are estimated, and all windows.
    pub fn estimated_starts(&self) -> [usize; 2] {
        self.measurements.iter().fold([0, 0], |[estimated, all], measurement| {
            let count = measurement.windows();
            [estimated + if measurement.estimated_directions() > 0 { count } else { 0 }, all + count]
        })
    }

    /// The warnings of the motions simulated with these parameters, each with the name of its
    /// measurement. Times count from the beginning of a window.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn motion_warnings(&self, parameters: &[f64]) -> Result<Vec<(String, MotionWarning)>, ProblemError> {
        let (model, _) = self.seeded(parameters)?;
        let at = self.trial(&model, parameters, &self.settings);
        let warnings = |(measurement, starts): (&Measurement, Vec<State>)| {
            let found = measurement.motion().map_or_else(|| Ok(Vec::new()), |m| m.warnings(&at, &starts))?;
            Ok(found.into_iter().map(|warning| (measurement.name().to_owned(), warning)).collect())
        };
        let all = in_parallel(self.measurements.iter().zip(self.present_starts()), warnings).into_iter();
        Ok(all.collect::<Result<Vec<Vec<_>>, ProblemError>>()?.concat())
    }

    /// The mass properties that pseudo-inertias among the parameters lead to, a line for each body, as a scene file has them.
    ///
    /// # Errors
    /// Values out of their range.
    pub fn found_masses(&self, parameters: &[f64]) -> Result<Vec<String>, ProblemError> {
        let (model, _) = self.seeded(parameters)?;
        let targets = self.targets.0.iter().flat_map(|target| &target.model);
        let mut bodies: Vec<usize> = targets
            .filter_map(|parameter| match *parameter {
                Parameter::PseudoInertia { body, .. } => Some(body),
                _ => None,
            })
            .collect();
        bodies.sort_unstable();
        bodies.dedup();
        let line = |body: usize| {
            let MassProperties { mass, center_of_mass: c, inertia } = model.body_mass(body)?;
            let row =
                |i: usize| format!("[{:e}, {:e}, {:e}]", inertia[(i, 0)], inertia[(i, 1)], inertia[(i, 2)]);
            let (name, rows) = (&model.bodies[body].name, [0, 1, 2].map(row).join(", "));
            let center = format!("[{:e}, {:e}, {:e}]", c.x, c.y, c.z);
            Some(format!("`{name}`: mass = {mass:e}, center_of_mass = {center}, inertia = [{rows}]"))
        };
        Ok(bodies.into_iter().filter_map(line).collect())
    }

    /// The deviation of the model with these parameters from each measurement.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn errors(&self, parameters: &[f64]) -> Result<Vec<MeasurementError>, ProblemError> {
        let (model, state) = self.seeded(parameters)?;
        let at = self.trial(&model, parameters, &self.settings);
        let error = |(measurement, starts): (&Measurement, Vec<State>)| {
            let error = match measurement {
                Measurement::Motion(motion) => motion.error(&at, &starts)?,
                Measurement::Indentation(test) => {
                    test.error(&model, &state, self.targets.offset(parameters, test.table()))?
                }
            };
            if error.is_finite() {
                return Ok(error);
            }
            Err(ProblemError::NotFinite { measurement: measurement.name().to_owned() })
        };
        in_parallel(self.measurements.iter().zip(self.present_starts()), error).into_iter().collect()
    }
}

/// Matrices below one another, with this many columns or fewer, where the others are zeros.
fn stacked<'m>(parts: impl Iterator<Item = &'m DMatrix<f64>> + Clone, columns: usize) -> DMatrix<f64> {
    let mut all = DMatrix::zeros(parts.clone().map(DMatrix::nrows).sum(), columns);
    let mut first = 0;
    for part in parts {
        all.view_mut((first, 0), part.shape()).copy_from(part);
        first += part.nrows();
    }
    all
}

/// The index of the body with this name.
fn body_index(model: &Model, name: &str) -> Result<usize, ProblemError> {
    model.body_index(name).ok_or_else(|| ProblemError::NoSuchBody {
        name: name.to_string(),
        found: parameter_path::listed(model.bodies.iter().map(|b| b.name.as_str())),
    })
}

/// Checks that a standard deviation or duration is positive.
fn positive(field: &'static str, value: f64) -> Result<f64, ProblemError> {
    if value > 0.0 && !value.is_nan() {
        return Ok(value);
    }
    Err(ProblemError::Setting { field, found: value.to_string(), allowed: "positive" })
}

fn root_mean_square(squares: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for square in squares {
        sum += square;
        count += 1;
    }
    (sum / f64::from(count.max(1))).sqrt()
}
