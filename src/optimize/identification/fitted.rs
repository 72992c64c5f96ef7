//! What a fit makes least: the residuals, with the starts of windows eliminated where these are estimated, and their
//! derivatives, by the Jacobians of steps.

use std::sync::{MutexGuard, PoisonError};

use argmin::core::Error;
use nalgebra::{DMatrix, DVector};

use super::initial_state::{MOST_FURTHER_STEPS, MOST_STEPS};
use super::linear_window::LinearWindow;
use super::{Identification, IndentationTest, Measurement, stacked};
use crate::contact::{LARGEST_QUADRATURE_ORDER, USUAL_QUADRATURE_ORDER};
use crate::multibody::{AppliedForces, DifferentiatedModel, State};
use crate::optimize::least_squares::{HeldSubsteps, LinearResiduals, Residuals, residuals_and_jacobian};
use crate::parallel::in_parallel;
use crate::rollout::SimulationSettings;
use crate::scalar::Scalar;

/// For each measurement the states at the starts of its windows.
pub(super) type StartsOfAll = Vec<Vec<State>>;

/// How finely measurements are simulated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fineness<'a> {
    pub settings: &'a SimulationSettings,
    /// The order of quadrature, if not the model's.
    pub order: Option<u8>,
}

/// The starts of windows: as recorded, until they have been estimated.
#[derive(Clone, Debug)]
pub(super) struct Starts {
    /// Those of the last Jacobian.
    present: StartsOfAll,
    linear: Option<Linear>,
    /// What was evaluated last: a Jacobian at the same parameters is there already.
    pub tried: Option<Evaluation>,
}

/// What the last Jacobian belongs to.
#[derive(Clone, Debug)]
struct Linear {
    parameters: Vec<f64>,
    substeps: Option<HeldSubsteps>,
    windows: Windows,
}

/// For each measurement the windows whose starts are estimated.
#[derive(Clone, Debug)]
enum Windows {
    Known(Vec<Vec<LinearWindow>>),
    /// Those of a fit that goes on after an interruption, until they are needed: of each whether its start is stuck
    /// ([`LinearWindow`]).
    Interrupted(Vec<bool>),
}

/// What a fit makes least and its derivative at some parameters, with what they were evaluated with.
#[derive(Clone, Debug)]
pub(super) struct Evaluation {
    parameters: Vec<f64>,
    substeps: Option<HeldSubsteps>,
    starts: StartsOfAll,
    pub linear: LinearResiduals,
    windows: Vec<Vec<LinearWindow>>,
}

impl Starts {
    /// Those that were recorded.
    pub fn recorded(present: StartsOfAll) -> Self {
        Self { present, linear: None, tried: None }
    }

    /// The starts that explain the measurements best at these parameters, to first order around the last Jacobian;
    /// `None` before the first.
    fn expected(&self, parameters: &[f64]) -> Option<StartsOfAll> {
        let Linear { parameters: at, windows: Windows::Known(windows), .. } = self.linear.as_ref()? else {
            return None;
        };
        let change = DVector::from_iterator(at.len(), parameters.iter().zip(at).map(|(a, b)| a - b));
        let of_one = |(present, windows): (&Vec<State>, &Vec<LinearWindow>)| match windows.is_empty() {
            true => present.clone(),
            false => windows.iter().map(|window| window.start_at(&change)).collect(),
        };
        Some(self.present.iter().zip(windows).map(of_one).collect())
    }
}

/// What becomes of the starts of windows that are estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Estimated {
    /// The best are looked for, in at most so many steps, and the derivative is at right angles to what they can change.
    Searched(usize),
    /// They stay, and the derivative is at right angles to what they can change.
    Eliminated,
    /// They are constants.
    Constant,
}

/// A measurement that was linearized: its residuals with derivatives, which are projected where starts are estimated; and
/// its windows whose starts are estimated.
type LinearMeasurement = (LinearResiduals, Vec<LinearWindow>);

impl<A: AppliedForces> Identification<A> {
    pub(super) fn locked(&self) -> MutexGuard<'_, Starts> {
        self.starts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The states at the starts of windows: those of the last Jacobian, before that those that were recorded.
    pub(super) fn present_starts(&self) -> StartsOfAll {
        self.locked().present.clone()
    }

    /// Takes these for the starts of windows: those of a Jacobian at these parameters, with these substeps and whether
    /// each start was stuck, or of none where there are no parameters.
    pub(super) fn replace_starts(
        &self,
        present: StartsOfAll,
        (parameters, stuck): (&[f64], Vec<bool>),
        substeps: Option<&HeldSubsteps>,
    ) {
        let (parameters, substeps) = (parameters.to_vec(), substeps.cloned());
        let linear = Linear { parameters, substeps, windows: Windows::Interrupted(stuck) };
        let linear = Some(linear).filter(|linear| !linear.parameters.is_empty());
        *self.locked() = Starts { present, linear, tried: None };
    }

    /// The parameters of the last Jacobian, and whether each start was stuck; nothing before the first.
    pub(super) fn last_linear(&self) -> (Vec<f64>, Vec<bool>) {
        let starts = self.locked();
        let Some(linear) = &starts.linear else { return Default::default() };
        let stuck = match &linear.windows {
            Windows::Known(windows) => windows.iter().flatten().map(|window| window.is_stuck).collect(),
            Windows::Interrupted(stuck) => stuck.clone(),
        };
        (linear.parameters.clone(), stuck)
    }
}

impl<A: AppliedForces + Clone> Identification<A> {
    /// Goes on from a Jacobian, whose starts are the present ones then.
    pub(super) fn take_linear(&self, evaluation: Evaluation) -> LinearResiduals {
        let Evaluation { parameters, substeps, starts, linear, windows } = evaluation;
        let last = Linear { parameters, substeps, windows: Windows::Known(windows) };
        *self.locked() = Starts { present: starts, linear: Some(last), tried: None };
        linear
    }

    /// Linearizes once more where a fit was interrupted after its last Jacobian, so that it goes on as if it had not been.
    fn renew_windows(&self) -> Result<(), Error> {
        let (last, mut starts) = {
            let before = self.locked();
            (before.linear.clone(), before.present.clone())
        };
        let Some(Linear { parameters, substeps, windows: Windows::Interrupted(stuck) }) = last else {
            return Ok(());
        };
        let held = substeps.as_ref();
        let (_, mut windows) =
            self.linearized(&parameters, self.fineness(), held, &mut starts, Estimated::Eliminated)?;
        let all = windows.iter_mut().flatten();
        all.zip(stuck).for_each(|(window, is_stuck)| window.is_stuck = is_stuck);
        self.locked().linear = Some(Linear { parameters, substeps, windows: Windows::Known(windows) });
        Ok(())
    }

    /// The first time, starts that are estimated are looked for; after a Jacobian they are those expected from it, or
    /// better ones.
    pub(super) fn evaluation(
        &self,
        parameters: &[f64],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<Evaluation, Error> {
        self.renew_windows()?;
        let is_same = |e: &mut Evaluation| e.parameters == parameters && e.substeps.as_ref() == substeps;
        let (expected, present) = {
            let mut before = self.locked();
            if let Some(tried) = before.tried.take_if(is_same) {
                return Ok(tried);
            }
            (before.expected(parameters), before.present.clone())
        };
        let most = if expected.is_some() { MOST_FURTHER_STEPS } else { MOST_STEPS };
        let (mut starts, search) = (expected.unwrap_or(present), Estimated::Searched(most));
        let (linear, windows) =
            self.linearized(parameters, self.fineness(), substeps, &mut starts, search)?;
        let (parameters, substeps) = (parameters.to_vec(), substeps.cloned());
        Ok(Evaluation { parameters, substeps, starts, linear, windows })
    }

    fn fineness(&self) -> Fineness<'_> {
        Fineness { settings: &self.settings, order: None }
    }

    /// An order of quadrature above the one that simulations have; `None` above the highest one.
    pub(super) fn higher_order(&self) -> Option<u8> {
        let order = self.model.contact().quadrature_order.unwrap_or(USUAL_QUADRATURE_ORDER);
        (order < LARGEST_QUADRATURE_ORDER).then_some(order + 1)
    }

    /// The residuals that [`Residuals::residuals_holding`] has, with the derivative as a fit composes it from derivatives of
    /// steps: the starts of windows, estimated ones too, are constants.
    ///
    /// # Errors
    /// Values out of their range, or a simulation that fails.
    pub fn residuals_with_composed_jacobian(
        &self,
        parameters: &[f64],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<LinearResiduals, Error> {
        let mut starts = self.present_starts();
        Ok(self.linearized(parameters, self.fineness(), substeps, &mut starts, Estimated::Constant)?.0)
    }

    /// Residuals and derivatives at these starts of windows, or at the best of those that are
    /// estimated, which are looked for from them and replace them; and for each measurement the windows whose starts are estimated.
    pub(super) fn linearized(
        &self,
        parameters: &[f64],
        Fineness { settings, order }: Fineness<'_>,
        substeps: Option<&HeldSubsteps>,
        starts: &mut StartsOfAll,
        estimated: Estimated,
    ) -> Result<(LinearResiduals, Vec<Vec<LinearWindow>>), Error> {
        let (mut model, _) = self.seeded(parameters)?;
        model.contact.quadrature_order = order.or(model.contact.quadrature_order);
        let search = if let Estimated::Searched(most) = estimated { most } else { 0 };
        let columns = self.targets.parameters();
        let differentiated = DifferentiatedModel::new(&model, &columns, self.applied.dependence(), 0)?;
        let at = self.trial(&differentiated, parameters, settings);
        let part = |((measurement, held), starts): ((&Measurement, Option<_>), &mut Vec<State>)| {
            let systems = match measurement {
                Measurement::Motion(motion) => motion.systems(&at, starts, search, held)?,
                Measurement::Indentation(test) => {
                    let test = IndentationResiduals { of: self, test };
                    return Ok((residuals_and_jacobian(&test, parameters)?, Vec::new()));
                }
            };
            let is_estimated = estimated != Estimated::Constant && measurement.estimated_directions() > 0;
            let gathered = |by_model: &DMatrix<f64>| self.targets.gathered(by_model, parameters);
            let (mut residuals, mut jacobians, mut windows) = (Vec::new(), Vec::new(), Vec::new());
            for (system, start) in systems.into_iter().zip(&*starts) {
                let by_parameters = gathered(&system.by_parameters);
                if is_estimated {
                    let window = LinearWindow::new(start.clone(), system, by_parameters);
                    residuals.extend_from_slice(window.residuals().as_slice());
                    jacobians.push(window.projected_jacobian());
                    windows.push(window);
                } else {
                    // Those of starts that are estimated are no residuals of the measurement.
                    let first = system.of_start;
                    residuals.extend_from_slice(&system.residuals.as_slice()[first..]);
                    jacobians.push(by_parameters.remove_rows(0, first));
                }
            }
            Ok(((residuals, stacked(jacobians.iter(), parameters.len())), windows))
        };
        let parts = in_parallel(self.with_held(substeps).into_iter().zip(starts), part).into_iter();
        let parts = parts.collect::<Result<Vec<LinearMeasurement>, Error>>()?;
        let (linear, windows): (Vec<LinearResiduals>, _) = parts.into_iter().unzip();
        let (residuals, jacobians): (Vec<_>, Vec<_>) = linear.into_iter().unzip();
        Ok(((residuals.concat(), stacked(jacobians.iter(), parameters.len())), windows))
    }
}

/// An indentation test alone, as a function of the parameters of a fit.
struct IndentationResiduals<'a, A> {
    of: &'a Identification<A>,
    test: &'a IndentationTest,
}

impl<A: AppliedForces> Residuals for IndentationResiduals<'_, A> {
    fn residuals<T: Scalar>(&self, parameters: &[T]) -> Result<Vec<T>, Error> {
        let (model, state) = self.of.seeded(parameters)?;
        let offset = self.of.targets.offset(parameters, self.test.table());
        Ok(self.test.residuals(&model, &state, offset)?)
    }
}
