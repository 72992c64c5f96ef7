//! The residuals of an identification, and how least-squares methods ask for them.

use std::sync::Mutex;

use argmin::core::Error;

use super::fitted::{Estimated, Fineness, Starts, StartsOfAll};
use super::recorded_motion::WindowSubsteps;
use super::{Identification, Measurement};
use crate::multibody::{AppliedForces, State};
use crate::optimize::error::ProblemError;
use crate::optimize::least_squares::{Finer, HeldSubsteps, LinearResiduals, Residuals};
use crate::parallel::in_parallel;
use crate::rollout::{SimulationSettings, finer_settings};
use crate::scalar::Scalar;
use crate::step::{ErrorControlled, Integrator};

/// The residuals of all measurements, one after another.
fn joined<T>(parts: Vec<(&str, Vec<T>)>) -> Vec<T> {
    parts.into_iter().flat_map(|(_, residuals)| residuals).collect()
}

impl<A: AppliedForces> Identification<A> {
    /// The residuals of each measurement, with its name, where error-controlled steps have these substeps, if any.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn residuals_by_measurement<T: Scalar>(
        &self,
        parameters: &[T],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<Vec<(&str, Vec<T>)>, ProblemError> {
        let (model, state) = self.seeded(parameters)?;
        let at = self.trial(&model, parameters, &self.settings);
        let with_starts = self.with_held(substeps).into_iter().zip(self.present_starts());
        let all = in_parallel(with_starts, |((measurement, held), starts)| match measurement {
            Measurement::Motion(motion) => Ok((motion.name(), motion.residuals(&at, &starts, held)?)),
            Measurement::Indentation(test) => {
                let offset = self.targets.offset(parameters, test.table());
                Ok((test.name(), test.residuals(&model, &state, offset)?))
            }
        });
        all.into_iter().collect()
    }

    /// The measurements, with the substeps of their windows where they are held.
    pub(super) fn with_held<'h>(
        &self,
        substeps: Option<&'h HeldSubsteps>,
    ) -> Vec<(&Measurement, Option<WindowSubsteps<'h>>)> {
        let mut windows = substeps.map_or(&[][..], |held| &held.stretches);
        let with_own = |measurement| {
            let count = Measurement::windows(measurement).min(windows.len());
            let (own, later) = windows.split_at(count);
            windows = later;
            (measurement, Some(own).filter(|own| !own.is_empty()))
        };
        self.measurements.iter().map(with_own).collect()
    }
}

/// How much larger the accuracy of an easier problem is: a tenth of the substeps is enough for it.
const ROUGHER: f64 = 100.0;

impl<A: AppliedForces + Clone> Identification<A> {
    /// Settings for a rougher simulation of the same motions, which takes a tenth of the time; `None` of orders above the
    /// second, which would gain little, of steps of fixed length, and where there are no motions.
    fn rougher_settings(&self) -> Option<SimulationSettings> {
        self.measurements.iter().find(|measurement| measurement.windows() > 0)?;
        match self.settings.integrator {
            Integrator::ErrorControlled(control) if self.settings.integrator.order() <= 2 => {
                let control = ErrorControlled { accuracy: ROUGHER * control.accuracy, ..control };
                Some(SimulationSettings { integrator: Integrator::ErrorControlled(control), ..self.settings })
            }
            _ => None,
        }
    }

    /// The same with other settings, if any, measurements, and starts of their windows.
    fn altered(
        &self,
        settings: Option<SimulationSettings>,
        measurements: Vec<Measurement>,
        starts: StartsOfAll,
    ) -> Self {
        Self {
            model: self.model.clone(),
            state: self.state.clone(),
            settings: settings.unwrap_or(self.settings),
            applied: self.applied.clone(),
            targets: self.targets.clone(),
            starts: Mutex::new(Starts::recorded(starts)),
            measurements,
        }
    }
}

/// The residuals of the measurements. Where starts of windows are estimated, those of motions from the starts that
/// were estimated last ([`Identification::minimized_with_jacobian`]), which are constants here.
impl<A: AppliedForces + Clone> Residuals for Identification<A> {
    fn residuals<T: Scalar>(&self, parameters: &[T]) -> Result<Vec<T>, Error> {
        Ok(joined(self.residuals_by_measurement(parameters, None)?))
    }

    /// A stretch for each window of the recorded motions, in the order of the measurements.
    fn find_substeps(&self, parameters: &[f64]) -> Result<HeldSubsteps, Error> {
        let mut stretches = Vec::new();
        if self.settings.integrator.is_error_controlled() {
            let (model, _) = self.seeded(parameters)?;
            let at = self.trial(&model, parameters, &self.settings);
            for (measurement, starts) in self.measurements.iter().zip(self.present_starts()) {
                if let Measurement::Motion(motion) = measurement {
                    stretches.extend(motion.substeps(&at, &starts)?);
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
        Ok(joined(self.residuals_by_measurement(parameters, Some(substeps))?))
    }

    /// Where starts are estimated, with the Jacobian that a fit will ask for next, so that both belong to the same starts.
    fn minimized(&self, parameters: &[f64], substeps: Option<&HeldSubsteps>) -> Result<Vec<f64>, Error> {
        if self.eliminated() == 0 {
            return Ok(joined(self.residuals_by_measurement(parameters, substeps)?));
        }
        let evaluation = self.evaluation(parameters, substeps)?;
        let residuals = evaluation.linear.0.clone();
        self.locked().tried = Some(evaluation);
        Ok(residuals)
    }

    fn minimized_with_jacobian(
        &self,
        parameters: &[f64],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<LinearResiduals, Error> {
        Ok(self.take_linear(self.evaluation(parameters, substeps)?))
    }

    /// That of motions is; with starts that are estimated the residuals already need most of it.
    fn has_costly_jacobian(&self) -> bool {
        let has_motion = self.measurements.iter().any(|measurement| measurement.windows() > 0);
        has_motion && self.estimated_starts()[0] == 0
    }

    fn is_never_negative(&self, index: usize) -> bool {
        self.targets.0[index].model.first().is_some_and(|parameter| parameter.is_never_negative(&self.model))
    }

    fn eliminated(&self) -> usize {
        self.measurements.iter().map(|m| m.windows() * m.estimated_directions()).sum()
    }

    /// With short windows, and with fewer substeps.
    fn eased(&self) -> Option<Self> {
        let rougher = self.rougher_settings();
        let eased = |measurement: &Measurement| Some(Measurement::Motion(measurement.motion()?.eased()?));
        let eased: Vec<_> = self.measurements.iter().map(eased).collect();
        let is_eased = rougher.is_some() || eased.iter().any(Option::is_some);
        let with_own = eased.into_iter().zip(&self.measurements);
        let measurements: Vec<_> =
            with_own.map(|(eased, own)| eased.unwrap_or_else(|| own.clone())).collect();
        let present = measurements.iter().map(Measurement::recorded_starts).collect();
        is_eased.then(|| self.altered(rougher, measurements, present))
    }

    /// With fewer substeps.
    fn rougher(&self) -> Option<Self> {
        Some(self.altered(Some(self.rougher_settings()?), self.measurements.clone(), self.present_starts()))
    }

    /// The numbers of the states at the starts of windows where these are estimated; after a Jacobian its parameters, and
    /// for each of the windows 1 where its start was stuck, otherwise 0.
    fn unknowns(&self) -> Vec<f64> {
        if self.eliminated() == 0 {
            return Vec::new();
        }
        let with_starts = self.measurements.iter().zip(self.present_starts());
        let estimated = with_starts.filter(|(measurement, _)| measurement.estimated_directions() > 0);
        let of_one = |mut start: State| start.numbers_mut().map(|x| *x).collect::<Vec<f64>>();
        let starts = estimated.flat_map(|(_, starts)| starts).flat_map(of_one);
        let (parameters, stuck) = self.last_linear();
        starts.chain(parameters).chain(stuck.into_iter().map(|is| f64::from(u8::from(is)))).collect()
    }

    fn start_from(&self, unknowns: &[f64], substeps: Option<&HeldSubsteps>) -> bool {
        let mut rest = unknowns.iter().copied();
        let mut present: Vec<_> = self.measurements.iter().map(Measurement::recorded_starts).collect();
        let with_starts = self.measurements.iter().zip(&mut present);
        let estimated = with_starts.filter(|(measurement, _)| measurement.estimated_directions() > 0);
        for number in estimated.flat_map(|(_, starts)| starts).flat_map(State::numbers_mut) {
            let Some(found) = rest.next() else { return false };
            *number = found;
        }
        let last: Vec<f64> = rest.collect();
        let (parameters, stuck) = last.split_at(last.len().min(self.targets.0.len()));
        let is_whole = [0, self.targets.0.len() + self.estimated_starts()[0]].contains(&last.len())
            && unknowns.iter().all(|x| x.is_finite());
        if is_whole {
            self.replace_starts(present, (parameters, stuck.iter().map(|&is| is != 0.0).collect()), substeps);
        }
        is_whole
    }

    /// With half the step, or a tenth of the accuracy where the error of steps is controlled; or with a higher order of
    /// quadrature, if there is one that counts.
    fn minimized_with_finer(
        &self,
        what: Finer,
        parameters: &[f64],
    ) -> Option<Result<LinearResiduals, Error>> {
        self.measurements.iter().find(|measurement| measurement.windows() > 0)?;
        let (settings, order) = match what {
            Finer::Steps => (finer_settings(&self.settings), None),
            Finer::Quadrature => (self.settings, Some(self.higher_order()?)),
        };
        let (mut starts, fineness) = (self.present_starts(), Fineness { settings: &settings, order });
        let linearized = self.linearized(parameters, fineness, None, &mut starts, Estimated::Eliminated);
        Some(linearized.map(|(linear, _)| linear))
    }
}
