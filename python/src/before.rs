//! Steps: what they begin with, how they are taken and differentiated.

use std::sync::Arc;

use isobar::io::state_numbers;
use isobar::multibody::{DifferentiatedModel, ForcesIn, State};
use isobar::rollout::SimulationSettings;
use isobar::step::{StepJacobian, StepProblem};
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::forces::OwnForces;
use crate::parameters::Wanted;
use crate::scene::{Scene, Workspace};

/// What a step begins with.
pub struct Before<'s> {
    pub scene: &'s Scene,
    pub state: State,
    pub control: Vec<f64>,
    pub time: f64,
    pub settings: SimulationSettings,
    pub applied: &'s dyn ForcesIn<f64>,
}

impl Before<'_> {
    /// Does something under forces of Python's besides, if there are any; what they raise is raised.
    pub fn under<R>(self, forces: Option<Py<PyAny>>, work: impl FnOnce(&Before<'_>) -> R) -> PyResult<R> {
        let Some(function) = forces else { return Ok(work(&self)) };
        let forces = OwnForces::new(Arc::clone(&self.scene.scene), function);
        let result = work(&Before { applied: &forces, ..self });
        forces.raised().map(|()| result)
    }

    pub fn problem(&self) -> StepProblem<'_> {
        let Self { scene, state, control, time, settings, applied } = self;
        StepProblem {
            model: &scene.scene.model,
            state,
            time: *time,
            time_step: settings.time_step,
            applied: *applied,
            control,
            substeps: None,
            asleep: &[],
        }
    }

    /// The numbers of the state after the step.
    pub fn step(&self) -> Result<Vec<f64>, Failure> {
        let Self { scene, settings, .. } = self;
        let after =
            scene.with_workspace(|memory| settings.integrator.step(&self.problem(), &mut memory.step));
        Ok(state_numbers(&scene.scene.model, &scene.finite(after)?))
    }

    /// The state after the step, which may be known, and its derivatives.
    pub fn linearized(
        &self,
        wanted: &Wanted,
        after: Option<&State>,
    ) -> Result<(State, StepJacobian), Failure> {
        let (Self { scene, control, settings, .. }, forces) = (self, self.applied);
        let dependence = forces.differentiable().force_dependence();
        let model =
            DifferentiatedModel::new(&scene.scene.model, &wanted.parameters, dependence, control.len())
                .map_err(Failure::input)?;
        scene.with_workspace(|Workspace { step, tape, derivatives }| {
            let (problem, integrator) = (self.problem(), settings.integrator);
            let after = match after {
                None => integrator.step_taped(&problem, &model, step, tape),
                Some(after) => integrator.tape(&problem, after, &model, step, tape).map(|()| after.clone()),
            };
            let after = scene.finite(after)?;
            let jacobian = tape.jacobian(&model, forces, derivatives);
            Ok((after, jacobian.map_err(|error| scene.failed(&error))?))
        })
    }
}
