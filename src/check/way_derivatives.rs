//! The derivatives of the states after one step and after all, with respect to the parameters of a check, by
//! the tapes of steps.

use nalgebra::{DMatrix, RowDVector};

use super::scene::SceneCheck;
use crate::multibody::{DifferentiatedModel, ModelGradient, Parameter, State};
use crate::rollout::{
    DifferentiableLoss, LossGradient, LossWorkspace, Moment, MomentGradient, SimulationError,
    checked_step_taped,
};
use crate::step::{
    DerivativeWorkspace, Integrator, StepCotangent, StepError, StepProblem, StepWorkspace, Tape,
};

/// A weighted sum of the components of the final state, in its tangent space at that state.
pub(super) struct Weighted<'w>(pub &'w [f64]);

impl DifferentiableLoss for Weighted<'_> {
    fn add_running(&self, _: &Moment, _: &mut MomentGradient, _: &mut LossWorkspace) -> f64 {
        0.0
    }

    fn add_terminal(&self, _: &Moment, by: &mut MomentGradient, _: &mut LossWorkspace) -> f64 {
        by.state.iter_mut().zip(self.0).for_each(|(by, weight)| *by += weight);
        0.0
    }
}

/// The derivatives of a state, and the largest sensitivity that each of its directions has had by then.
type Sensitive = (DMatrix<f64>, Vec<f64>);

/// The failure of the derivative of a step.
fn not_differentiated(error: StepError, step: usize, time_step: f64) -> SimulationError {
    match error {
        StepError::Parameter(source) => source.into(),
        source => {
            let (time, bodies) = (step as f64 * time_step, String::new());
            SimulationError::Step { time, step: step + 1, bodies, source }
        }
    }
}

impl SceneCheck<'_> {
    fn differentiated(&self, parameters: &[Parameter]) -> Result<DifferentiatedModel<'_>, SimulationError> {
        let dependence = self.applied.differentiable().force_dependence();
        Ok(DifferentiatedModel::new(self.model, parameters, dependence, self.controls.dimension())?)
    }

    /// Takes the first `steps` steps, and hands the tape of each to `visit`.
    fn taped(
        &self,
        integrator: Integrator,
        model: &DifferentiatedModel<'_>,
        steps: usize,
        mut visit: impl FnMut(usize, &mut Tape) -> Result<(), SimulationError>,
    ) -> Result<(), SimulationError> {
        let (mut workspace, mut tape) = (StepWorkspace::default(), Tape::default());
        let mut state: State = self.state.clone();
        for step in 0..steps {
            let (time_step, applied) = (self.time_step, self.applied);
            let (time, control) = (step as f64 * time_step, self.controls.row(step));
            let (model_here, substeps) = (self.model, self.held_substeps(step));
            let problem = StepProblem {
                model: model_here,
                state: &state,
                time,
                time_step,
                applied,
                control,
                substeps,
                asleep: &[],
            };
            state = checked_step_taped(integrator, &problem, step + 1, model, &mut workspace, &mut tape)?;
            visit(step, &mut tape)?;
        }
        Ok(())
    }

    /// The derivatives of the states after one step and after all, by the Jacobian of each step: a row for
    /// each direction of the state's tangent space, a column for each parameter and then for a shift of
    /// each of these control values; and the largest sensitivity that each direction has had by then, to these and to the initial
    /// state: what depends on none of the parameters has its magnitude from there.
    pub(super) fn by_step_jacobians(
        &self,
        integrator: Integrator,
        (parameters, controls): (&[Parameter], &[usize]),
        scales: &[f64],
    ) -> Result<[Sensitive; 2], SimulationError> {
        let model = self.differentiated(parameters)?;
        let (n, count) = (self.state.tangent_dimension(), parameters.len());
        let mut by_all = DMatrix::zeros(n, count + controls.len());
        for (column, parameter) in parameters.iter().enumerate() {
            if let Some(direction) = parameter.initial_tangent(self.model) {
                by_all[(direction, column)] = 1.0;
            }
        }
        let moved = self.state.motion_tangent_dimension();
        let start_scales: Vec<f64> = (0..moved).map(|direction| self.scale_along(direction)).collect();
        let mut by_start = DMatrix::identity(n, moved);
        let mut largest = vec![0.0; n];
        let note = |largest: &mut Vec<f64>, by_all: &DMatrix<f64>, by_start: &DMatrix<f64>| {
            for (derivatives, scales) in [(by_all, scales), (by_start, &start_scales[..])] {
                for (row, largest) in largest.iter_mut().enumerate() {
                    let of = |(k, s): (usize, &f64)| derivatives[(row, k)].abs() * s;
                    let sensitivities = scales.iter().enumerate().map(of);
                    *largest = sensitivities.filter(|s| s.is_finite()).fold(*largest, f64::max);
                }
            }
        };
        note(&mut largest, &by_all, &by_start);
        let mut after_one = (by_all.clone(), largest.clone());
        let mut derivatives = DerivativeWorkspace::default();
        self.taped(integrator, &model, self.steps, |step, tape| {
            let jacobian = tape
                .jacobian(&model, self.applied, &mut derivatives)
                .map_err(|error| not_differentiated(error, step, self.time_step))?;
            by_all = &jacobian.by_state * &by_all;
            by_start = &jacobian.by_state * &by_start;
            let mut of_parameters = by_all.columns_mut(0, count);
            of_parameters += &jacobian.by_parameters;
            let mut of_controls = by_all.columns_mut(count, controls.len());
            of_controls += jacobian.by_control.select_columns(controls);
            note(&mut largest, &by_all, &by_start);
            if step == 0 {
                after_one = (by_all.clone(), largest.clone());
            }
            Ok(())
        })?;
        Ok([after_one, (by_all, largest)])
    }

    /// The derivatives of the state after one step by the vector–Jacobian product of each of its components.
    pub(super) fn by_step_vjp(
        &self,
        integrator: Integrator,
        (parameters, controls): (&[Parameter], &[usize]),
    ) -> Result<DMatrix<f64>, SimulationError> {
        let model = self.differentiated(parameters)?;
        let n = self.state.tangent_dimension();
        let mut rows = Vec::with_capacity(n);
        let mut derivatives = DerivativeWorkspace::default();
        self.taped(integrator, &model, 1, |_, tape| {
            for component in 0..n {
                let mut state = vec![0.0; n];
                state[component] = 1.0;
                let mut control = vec![0.0; self.controls.dimension()];
                let mut by_model = ModelGradient::zero(&model);
                let mut out =
                    StepCotangent { state: &mut state, control: &mut control, model: &mut by_model };
                tape.vjp(&model, self.applied, &mut derivatives, &mut out);
                let by_parameters = model.by_parameters(&state, &by_model);
                let by_controls = controls.iter().map(|i| control[*i]);
                rows.push(RowDVector::from_vec(by_parameters.into_iter().chain(by_controls).collect()));
            }
            Ok(())
        })?;
        Ok(DMatrix::from_rows(&rows))
    }
}

/// The derivatives with respect to the parameters and to a shift of each of these control values.
pub(super) fn row(gradient: LossGradient, controls: &[usize]) -> RowDVector<f64> {
    let by = &gradient.by_controls;
    let shift = |i: &usize| (0..by.steps()).map(|step| by.row(step)[*i]).sum();
    RowDVector::from_vec([gradient.by_parameters, controls.iter().map(shift).collect()].concat())
}
