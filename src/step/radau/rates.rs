//! The rate of the tangent that leads from the state at the start of a step to another one, and its Jacobian.

use nalgebra::DMatrix;

use super::super::StepProblem;
use super::super::runge_kutta::rate_into;
use crate::multibody::{ForceWorkspace, JointAcceleration, Model, ModelIdentity, State, total_forces};
use crate::scalar::{CHUNK, DualArray, Scalar};

/// What the rate is evaluated with: memory that is reused.
#[derive(Debug)]
pub(in crate::step) struct Rates<T = f64> {
    forces: ForceWorkspace<T>,
    acceleration: JointAcceleration<T>,
    state: State<T>,
    rate: Vec<T>,
}

impl<T: Scalar> Default for Rates<T> {
    fn default() -> Self {
        let (forces, acceleration) = (ForceWorkspace::default(), JointAcceleration::default());
        Self { forces, acceleration, state: State::default(), rate: Vec::new() }
    }
}

impl<T: Scalar> Rates<T> {
    /// The rate of a tangent from the state at the start of a step, at a time during it.
    pub fn at(&mut self, step: &StepProblem<'_, T>, time: f64, tangent: &[T]) -> &[T] {
        let StepProblem { model, state: before, applied, control, .. } = *step;
        let Self { forces: workspace, acceleration, state, rate } = self;
        state.set_moved(before, tangent);
        workspace.start_step(model, before, step.length().real());
        let time = step.force_time(time);
        let (forces, kinematics) = total_forces(model, state, time, applied, control, workspace);
        let commands = &control[..model.command_dimension()];
        let vdot = acceleration.evaluate(model, &state.joints, forces, commands, kinematics);
        rate_into(model, state, tangent, forces.bodies.iter(), vdot, rate);
        rate
    }
}

/// The Jacobian of the rate, in dual numbers: memory that is reused.
#[derive(Debug, Default)]
pub(in crate::step) struct RateJacobian {
    model: Option<(ModelIdentity, Model<DualArray<CHUNK>>)>,
    before: State<DualArray<CHUNK>>,
    rates: Rates<DualArray<CHUNK>>,
    tangent: Vec<DualArray<CHUNK>>,
    control: Vec<DualArray<CHUNK>>,
}

impl RateJacobian {
    /// Writes the derivatives of the rate with respect to the tangent, at one, into `jacobian`.
    pub fn evaluate(
        &mut self,
        step: &StepProblem<'_>,
        time: f64,
        tangent: &[f64],
        jacobian: &mut DMatrix<f64>,
    ) {
        let identity = step.model.identity();
        let cached = self.model.take().filter(|(of, _)| *of == identity);
        let (_, model) = self.model.insert(cached.unwrap_or_else(|| (identity, Model::lift(step.model))));
        self.before.assign(step.state);
        self.control.clear();
        self.control.extend(step.control.iter().map(|&u| DualArray::from(u)));
        self.tangent.clear();
        self.tangent.extend(tangent.iter().map(|&x| DualArray::from(x)));
        let n = tangent.len();
        jacobian.resize_mut(n, n, 0.0);
        for first in (0..n).step_by(CHUNK) {
            let last = n.min(first + CHUNK);
            (first..last).for_each(|i| self.tangent[i] = DualArray::variable(tangent[i], i - first));
            let problem = StepProblem {
                model,
                state: &self.before,
                time: step.time,
                time_step: step.time_step,
                applied: step.applied.differentiable(),
                control: &self.control,
                substeps: None,
                asleep: &[],
            };
            let rate = self.rates.at(&problem, time, &self.tangent);
            for (row, x) in rate.iter().enumerate() {
                (first..last).for_each(|column| jacobian[(row, column)] = x.eps[column - first]);
            }
            (first..last).for_each(|i| self.tangent[i] = DualArray::from(tangent[i]));
        }
    }
}
