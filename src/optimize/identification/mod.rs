//! Identification of a scene's parameters from measurements: the residuals of a model against
//! recorded trajectories and indentation tests.

mod horizons;
mod indentation;
mod nearness;
mod parameter_path;
mod prediction;
mod trajectory;

use argmin::core::Error;
use rayon::prelude::*;
use serde::Serialize;

pub use horizons::{HorizonError, HorizonErrors, RecordingHorizons, TOUCH_MARGIN};
pub use indentation::IndentationTest;
pub use parameter_path::parameters_at;
pub use prediction::{Prediction, UntouchedIndentation};
pub use trajectory::{RecordedMotion, StandardDeviations, TimeWindow};

use super::least_squares::{HeldSubsteps, Residuals};
use crate::multibody::{AppliedForces, Model, NoForces, Parameter, ParameterError, State, seeded};
use crate::optimize::error::{LARGEST_RESIDUAL, ProblemError};
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
    /// The recorded motion of a body.
    Motion(RecordedMotion),
    /// Forces at depths of indentation.
    Indentation(IndentationTest),
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
}

impl MeasurementError {
    /// Whether all numbers are finite; JSON has no others.
    fn is_finite(&self) -> bool {
        match self {
            Self::Motion { position, orientation, linear_velocity, angular_velocity, .. } => {
                [position, orientation, linear_velocity, angular_velocity].iter().all(|x| x.is_finite())
            }
            Self::Indentation { force, .. } => force.is_finite(),
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
    /// For each parameter of the fit, the parameters of the model that take its value.
    targets: Vec<Vec<Parameter>>,
    measurements: Vec<Measurement>,
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
        let mut targets: Vec<Vec<Parameter>> = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for name in names {
            let found = parameters_at(&model, name)?;
            if let Some(i) = targets.iter().position(|other| other.iter().any(|i| found.contains(i))) {
                let (first, second) = (seen[i].to_string(), name.to_string());
                return Err(ProblemError::Overlap { first, second });
            }
            targets.push(found);
            seen.push(name);
        }
        for measurement in &measurements {
            if let Measurement::Motion(motion) = measurement {
                motion.check_gaps(settings.time_step)?;
            }
        }
        Ok(Self { model, state, settings, applied, targets, measurements })
    }

    /// The measurements.
    pub fn measurements(&self) -> &[Measurement] {
        &self.measurements
    }

    /// The unit of each parameter.
    pub fn units(&self) -> Vec<&'static str> {
        let first =
            |targets: &Vec<Parameter>| targets.first().map_or("1", |i| parameter_path::unit(&self.model, i));
        self.targets.iter().map(first).collect()
    }

    /// The method of steps.
    pub(crate) fn integrator(&self) -> Integrator {
        self.settings.integrator
    }

    /// Takes steps by another method.
    pub(crate) fn set_integrator(&mut self, integrator: Integrator) {
        self.settings.integrator = integrator;
    }

    fn seeded<T: Scalar>(&self, parameters: &[T]) -> Result<(Model<T>, State<T>), ParameterError> {
        let values: Vec<(Parameter, T)> = self
            .targets
            .iter()
            .zip(parameters)
            .flat_map(|(targets, &value)| targets.iter().map(move |&parameter| (parameter, value)))
            .collect();
        seeded(&self.model, &self.state, &values)
    }

    /// The warnings of the motions simulated with these parameters, each with the name of its
    /// measurement. Times count from the beginning of a window.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn motion_warnings(&self, parameters: &[f64]) -> Result<Vec<(String, MotionWarning)>, ProblemError> {
        let (model, _) = self.seeded(parameters)?;
        let warnings = |measurement: &Measurement| match measurement {
            Measurement::Motion(motion) => {
                let found = motion.warnings(&model, &self.settings, &self.applied)?;
                Ok(found.into_iter().map(|warning| (motion.recording().name.clone(), warning)).collect())
            }
            Measurement::Indentation(_) => Ok(Vec::new()),
        };
        let all: Result<Vec<Vec<_>>, ProblemError> = self.measurements.par_iter().map(warnings).collect();
        Ok(all?.concat())
    }

    /// The deviation of the model with these parameters from each measurement.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn errors(&self, parameters: &[f64]) -> Result<Vec<MeasurementError>, ProblemError> {
        let (model, state) = self.seeded(parameters)?;
        let error = |measurement: &Measurement| {
            let error = match measurement {
                Measurement::Motion(motion) => motion.error(&model, &self.settings, &self.applied)?,
                Measurement::Indentation(test) => test.error(&model, &state)?,
            };
            if error.is_finite() {
                return Ok(error);
            }
            let (MeasurementError::Motion { name, .. } | MeasurementError::Indentation { name, .. }) = error;
            Err(ProblemError::NotFinite { measurement: name })
        };
        self.measurements.par_iter().map(error).collect()
    }
}

impl<A: AppliedForces> Identification<A> {
    /// The residuals of each measurement, with its name.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn residuals_by_measurement<T: Scalar>(
        &self,
        parameters: &[T],
    ) -> Result<Vec<(&str, Vec<T>)>, ProblemError> {
        self.residuals_of_all(parameters, None)
    }

    /// The residuals of each measurement, with its name, where error-controlled steps have these substeps.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn residuals_by_measurement_holding<T: Scalar>(
        &self,
        parameters: &[T],
        substeps: &HeldSubsteps,
    ) -> Result<Vec<(&str, Vec<T>)>, ProblemError> {
        self.residuals_of_all(parameters, Some(substeps))
    }

    fn residuals_of_all<T: Scalar>(
        &self,
        parameters: &[T],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<Vec<(&str, Vec<T>)>, ProblemError> {
        let (model, state) = self.seeded(parameters)?;
        let mut windows = substeps.map_or(&[][..], |held| &held.stretches);
        let with_windows: Vec<_> = self
            .measurements
            .iter()
            .map(|measurement| {
                let count = match measurement {
                    Measurement::Motion(motion) => motion.windows().min(windows.len()),
                    Measurement::Indentation(_) => 0,
                };
                let (own, later) = windows.split_at(count);
                windows = later;
                (measurement, Some(own).filter(|own| !own.is_empty()))
            })
            .collect();
        with_windows
            .into_par_iter()
            .map(|(measurement, held)| match measurement {
                Measurement::Motion(motion) => {
                    let residuals = motion.residuals(&model, &self.settings, &self.applied, held)?;
                    Ok((motion.recording().name.as_str(), residuals))
                }
                Measurement::Indentation(test) => Ok((test.name(), test.residuals(&model, &state)?)),
            })
            .collect()
    }
}

/// The residuals of all measurements, one after another.
fn joined<T>(parts: Vec<(&str, Vec<T>)>) -> Vec<T> {
    parts.into_iter().flat_map(|(_, residuals)| residuals).collect()
}

impl<A: AppliedForces> Residuals for Identification<A> {
    fn residuals<T: Scalar>(&self, parameters: &[T]) -> Result<Vec<T>, Error> {
        Ok(joined(self.residuals_by_measurement(parameters)?))
    }

    /// A stretch for each window of the recorded motions, in the order of the measurements.
    fn find_substeps(&self, parameters: &[f64]) -> Result<HeldSubsteps, Error> {
        let mut stretches = Vec::new();
        if self.settings.integrator.is_error_controlled() {
            let (model, _) = self.seeded(parameters)?;
            for measurement in &self.measurements {
                if let Measurement::Motion(motion) = measurement {
                    stretches.extend(motion.substeps(&model, &self.settings, &self.applied)?);
                }
            }
        }
        Ok(HeldSubsteps { stretches })
    }

    fn residuals_holding<T: Scalar>(
        &self,
        parameters: &[T],
        substeps: &HeldSubsteps,
    ) -> Result<Vec<T>, Error> {
        Ok(joined(self.residuals_by_measurement_holding(parameters, substeps)?))
    }
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
