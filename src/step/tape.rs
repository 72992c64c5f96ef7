//! A step with what its derivatives take.

use super::derivative::{DerivativeWorkspace, StepCotangent, StepPoint, jacobian_by_duals};
use super::velocity_level::BalanceTape;
use super::{
    Integrator, StepError, StepJacobian, StepProblem, StepWorkspace, runge_kutta, semi_implicit_euler,
};
use crate::multibody::{AppliedForces, DifferentiatedModel, State};

/// The tape of a step: its states, and what it takes to differentiate it without taking it again.
///
/// It belongs to the step that [`Integrator::step_taped`] (or [`Integrator::tape`]) last wrote into
/// it, and is reused: once its memory has grown to the largest step, writing allocates next to
/// nothing. Its size grows with the bodies and the pairs in contact, not with the faces of their
/// surfaces.
#[derive(Debug, Default)]
pub struct Tape {
    integrator: Integrator,
    time: f64,
    dt: f64,
    control: Vec<f64>,
    before: State,
    after: State,
    /// The rates at the stages of a Runge–Kutta step; none if they are to be evaluated again.
    rates: Vec<f64>,
    balance: BalanceTape,
}

impl Integrator {
    /// [`Self::step`], together with its tape.
    ///
    /// `parameters` is the step's model, with the inputs that derivatives will be asked for.
    ///
    /// # Errors
    /// As of [`Self::step`].
    pub fn step_taped<A: AppliedForces>(
        self,
        step: &StepProblem<'_, A>,
        parameters: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
        tape: &mut Tape,
    ) -> Result<State, StepError> {
        self.check(step)?;
        tape.start(self, step);
        let forces = &mut workspace.forces;
        let after = match self {
            Self::SemiImplicitEuler => semi_implicit_euler::step(step, forces),
            Self::RungeKutta4 => runge_kutta::step(step, forces, Some(&mut tape.rates)),
            Self::VelocityLevel(method) => method.step(step, true, &mut workspace.velocity_level)?,
        };
        tape.finish(step, &after, parameters, workspace);
        Ok(after)
    }

    /// Makes the tape of a step that was taken before and led to the state `after`: for a fraction of
    /// the cost of [`Self::step_taped`], and with the same derivatives up to rounding.
    ///
    /// # Errors
    /// When the balance of momentum is not finite at the state after the step.
    pub fn tape<A: AppliedForces>(
        self,
        step: &StepProblem<'_, A>,
        after: &State,
        parameters: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
        tape: &mut Tape,
    ) -> Result<(), StepError> {
        tape.start(self, step);
        if let Self::VelocityLevel(method) = self {
            let at = StepPoint::new(step, after, parameters);
            method.find_again(&at, &mut workspace.velocity_level)?;
        }
        tape.finish(step, after, parameters, workspace);
        Ok(())
    }
}

impl Tape {
    fn start<A>(&mut self, integrator: Integrator, step: &StepProblem<'_, A>) {
        self.integrator = integrator;
        (self.time, self.dt) = (step.time, step.time_step);
        self.control.clear();
        self.control.extend_from_slice(step.control);
        self.before.assign(step.state);
        self.rates.clear();
    }

    /// Writes down the outcome of the step that the workspace has just taken.
    fn finish<A: AppliedForces>(
        &mut self,
        step: &StepProblem<'_, A>,
        after: &State,
        parameters: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
    ) {
        self.after.assign(after);
        if let Integrator::VelocityLevel(method) = self.integrator {
            let at = StepPoint::new(step, after, parameters);
            method.record(&at, &mut workspace.velocity_level, &mut self.balance);
        }
    }

    /// The memory that it holds, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let balance = match self.integrator {
            Integrator::VelocityLevel(_) => self.balance.bytes(),
            Integrator::SemiImplicitEuler | Integrator::RungeKutta4 => 0,
        };
        let numbers = (self.rates.len() + self.control.len()) * size_of::<f64>();
        size_of::<Self>() + self.before.bytes() + self.after.bytes() + numbers + balance
    }

    /// The states at which the step has evaluated forces, in the order of these; of a Runge–Kutta
    /// step that was taken with the tape those at its stages, otherwise that before the step.
    pub(crate) fn stages(&self) -> Vec<State> {
        let rates = self.rates.chunks_exact(self.before.tangent_dimension().max(1));
        let moved = rates.zip(runge_kutta::LATER_STAGES).map(|(rate, part)| {
            let tangent: Vec<f64> = rate.iter().map(|r| r * (part * self.dt)).collect();
            self.before.moved(&tangent)
        });
        std::iter::once(self.before.clone()).chain(moved).collect()
    }

    /// The derivative of the step with respect to the state before it, the control values and the
    /// inputs of the model, as matrices.
    ///
    /// `parameters` and `applied` are those that the tape was made with.
    ///
    /// # Errors
    /// When an explicit step cannot be taken in dual numbers, or the model cannot be made with
    /// derivatives with respect to an input.
    pub fn jacobian<A: AppliedForces>(
        &mut self,
        parameters: &DifferentiatedModel<'_>,
        applied: &A,
        workspace: &mut DerivativeWorkspace,
    ) -> Result<StepJacobian, StepError> {
        let Self { integrator, time, dt, control, before, after, balance, .. } = self;
        let at = StepPoint { model: parameters, before, after, time: *time, dt: *dt, applied, control };
        match integrator {
            Integrator::SemiImplicitEuler | Integrator::RungeKutta4 => jacobian_by_duals(*integrator, &at),
            Integrator::VelocityLevel(method) => {
                Ok(method.jacobian(&at, balance, &mut workspace.velocity_level))
            }
        }
    }

    /// The vector–Jacobian product of the step: carries the derivatives of one number from the
    /// state after the step to the state before it, and adds those with respect to control values
    /// and model. It costs the same however many inputs there are (two kinds of them apart, see
    /// [`DifferentiatedModel`]), and allocates next to nothing once the workspace has grown.
    ///
    /// `parameters` and `applied` are those that the tape was made with.
    ///
    /// # Panics
    /// When `out.state` does not have [`State::tangent_dimension`] numbers, or `out.model` does
    /// not belong to the model.
    pub fn vjp<A: AppliedForces>(
        &mut self,
        parameters: &DifferentiatedModel<'_>,
        applied: &A,
        workspace: &mut DerivativeWorkspace,
        out: &mut StepCotangent<'_>,
    ) {
        let Self { integrator, time, dt, control, before, after, rates, balance } = self;
        let at = StepPoint { model: parameters, before, after, time: *time, dt: *dt, applied, control };
        match integrator {
            Integrator::SemiImplicitEuler => semi_implicit_euler::vjp(&at, workspace, out),
            Integrator::RungeKutta4 => runge_kutta::vjp(&at, rates, workspace, out),
            Integrator::VelocityLevel(method) => {
                method.vjp(&at, balance, &mut workspace.velocity_level, out);
            }
        }
    }
}
