//! Tapes: a step together with what its derivatives need.

use super::derivative::StepCotangent;
use super::derivative_workspace::DerivativeWorkspace;
use super::error_control::SubstepTapes;
use super::jacobian_by_duals::{by_steps_in_duals, jacobian_by_duals};
use super::step_point::StepPoint;
use super::velocity_level::BalanceTape;
use super::{
    ErrorControlled, Integrator, StepError, StepJacobian, StepProblem, StepWorkspace, complementarity, radau,
    runge_kutta, semi_implicit_euler,
};
use crate::multibody::{DifferentiatedModel, ForcesIn, State};

/// The tape of a step: its states, and the data needed to differentiate the step without taking it
/// again.
///
/// It holds the step that [`Integrator::step_taped`] or [`Integrator::tape`] last wrote into it. A tape
/// can be reused: once its memory has grown to that of the largest step, writing allocates next to
/// nothing. Its size grows with the bodies and the pairs in contact, not with the faces of their
/// surfaces.
#[derive(Debug, Default)]
pub struct Tape {
    integrator: Integrator,
    time: f64,
    /// What the problem says, and how long the step is.
    time_step: f64,
    dt: f64,
    control: Vec<f64>,
    before: State,
    pub(super) after: State,
    /// Of an explicit step whether it was taken with the tape, and what it recorded then: the other
    /// method a surface and no rates.
    recorded: bool,
    explicit: runge_kutta::ExplicitTape,
    /// Of a velocity-level step; tapes of the others are small.
    balance: Option<Box<BalanceTape>>,
    /// Of a Radau step.
    radau: Option<radau::RadauTape>,
    /// Of a step by complementarity.
    complementarity: Option<complementarity::ComplementarityTape>,
    /// Of an error-controlled step.
    substeps: SubstepTapes,
    /// The derivatives of the state after the step with respect to each of the parameters that steps are taken in dual
    /// numbers for, one after the other; none where the rest of the tape has them.
    by_places: Vec<f64>,
}

impl Integrator {
    /// Takes a step as [`Self::step`] does, and writes its tape.
    ///
    /// `differentiated` is the step's model, with the parameters that derivatives will be asked for.
    ///
    /// # Errors
    /// The errors of [`Self::step`].
    pub fn step_taped(
        self,
        step: &StepProblem<'_>,
        differentiated: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
        tape: &mut Tape,
    ) -> Result<State, StepError> {
        if let Self::ErrorControlled(control) = self {
            self.check(step)?;
            return tape.write_substeps(control, step, differentiated, workspace);
        }
        let whole = self.fixed_step_taped(step, differentiated, workspace, tape);
        let control = match &whole {
            Ok(after) => self.landing(step, workspace, after),
            Err(error) => ErrorControlled::divided(self, error),
        };
        let Some(control) = control else { return whole };
        match (tape.write_substeps(control, step, differentiated, workspace), whole) {
            // Where a part does not converge, the whole step stays, or its error.
            (Err(_), Ok(_)) => self.fixed_step_taped(step, differentiated, workspace, tape),
            (Err(_), whole) => whole,
            (outcome, _) => outcome,
        }
    }

    /// [`Self::step_taped`] of a step whose error is not controlled; such a step is not taken.
    pub(super) fn fixed_step_taped(
        self,
        step: &StepProblem<'_>,
        differentiated: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
        tape: &mut Tape,
    ) -> Result<State, StepError> {
        self.check(step)?;
        tape.start(self, step);
        let mut after = State::default();
        workspace.leave_search();
        let StepWorkspace { forces, semi_implicit_euler, runge_kutta, velocity_level, balance, .. } =
            workspace;
        match self {
            Self::SemiImplicitEuler => {
                semi_implicit_euler::step(step, forces, semi_implicit_euler, &mut after);
                tape.explicit.surfaces[0].clone_from(&forces.surfaces);
            }
            Self::Radau(order) => {
                let memory = &mut workspace.radau;
                radau::step(order, step, memory, &mut after)?;
                tape.radau = Some(radau::RadauTape::new(order, step, &mut memory.solver)?);
            }
            Self::RungeKutta4 | Self::BogackiShampine | Self::DormandPrince | Self::ErrorControlled(_) => {
                if let Some(tableau) = self.tableau() {
                    let explicit = Some(&mut tape.explicit);
                    runge_kutta::step(tableau, step, forces, runge_kutta, explicit, &mut after);
                }
            }
            Self::Complementarity(method) => {
                let memory = &mut workspace.complementarity;
                complementarity::step(method, step, forces, memory, &mut after)?;
                tape.complementarity = Some(complementarity::keep(method, step, memory, true)?);
            }
            Self::VelocityLevel(method) => method.step(step, true, velocity_level, balance, &mut after)?,
        }
        tape.recorded = true;
        tape.finish(step, &after, differentiated, workspace)?;
        Ok(after)
    }

    /// Makes the tape of a step that was taken before and led to the state `after`. This costs a
    /// fraction of [`Self::step_taped`] and gives the same derivatives up to rounding.
    ///
    /// # Errors
    /// When the balance of momentum is not finite at the state after the step, or the step cannot be taken again where
    /// that is needed.
    pub fn tape(
        self,
        step: &StepProblem<'_>,
        after: &State,
        differentiated: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
        tape: &mut Tape,
    ) -> Result<(), StepError> {
        tape.start(self, step);
        if let Self::ErrorControlled(control) = self {
            tape.substeps.write(control, step, differentiated, workspace)?;
            tape.after.assign(after);
            return Ok(());
        }
        if let Self::Radau(order) = self {
            let solver = &mut workspace.radau.solver;
            solver.solve(order, step)?;
            tape.radau = Some(radau::RadauTape::new(order, step, solver)?);
        }
        let mut found = Ok(());
        if let Self::Complementarity(method) = self {
            let memory = &mut workspace.complementarity;
            found = complementarity::keep(method, step, memory, false)
                .map(|of_step| tape.complementarity = Some(of_step));
        }
        if let Self::VelocityLevel(method) = self {
            found = method.find_again(step, after, &mut workspace.velocity_level);
        }
        if let Err(error) = found {
            let control = ErrorControlled::divided(self, &error).ok_or(error)?;
            return tape.write_substeps(control, step, differentiated, workspace).map(|_| ());
        }
        if let Self::VelocityLevel(method) = self {
            let StepWorkspace { velocity_level, balance, after: moved, .. } = workspace;
            if !velocity_level.leads_to(step, after, balance, moved) {
                let landing = ErrorControlled::landing(method);
                tape.write_substeps(landing, step, differentiated, workspace)?;
                return Ok(());
            }
        }
        tape.finish(step, after, differentiated, workspace)
    }
}

impl Tape {
    fn start(&mut self, integrator: Integrator, step: &StepProblem<'_>) {
        self.integrator = integrator;
        (self.time, self.time_step, self.dt) = (step.time, step.time_step, step.length());
        self.control.clear();
        self.control.extend_from_slice(step.control);
        self.before.assign(step.state);
        step.model.complete(&mut self.before);
        self.recorded = false;
        self.by_places.clear();
    }

    /// Becomes the tape of a step that is made of substeps; returns the state after it.
    fn write_substeps(
        &mut self,
        control: ErrorControlled,
        step: &StepProblem<'_>,
        differentiated: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
    ) -> Result<State, StepError> {
        self.start(Integrator::ErrorControlled(control), step);
        let after = self.substeps.write(control, step, differentiated, workspace)?;
        self.after.assign(&after);
        Ok(after)
    }

    /// Writes down the outcome of the step that the workspace has just taken.
    fn finish(
        &mut self,
        step: &StepProblem<'_>,
        after: &State,
        differentiated: &DifferentiatedModel<'_>,
        workspace: &mut StepWorkspace,
    ) -> Result<(), StepError> {
        self.after.assign(after);
        if let Integrator::VelocityLevel(method) = self.integrator {
            let at = StepPoint::new(step, after, differentiated);
            method.record(&at, &mut workspace.velocity_level, self.balance.get_or_insert_default());
        }
        match self.integrator {
            // All derivatives of these steps with joints are by dual numbers.
            Integrator::Complementarity(_) if step.model.mechanism.velocity_dimension() > 0 => Ok(()),
            fixed => {
                let at = StepPoint::new(step, after, differentiated);
                by_steps_in_duals(fixed, &at, &mut self.by_places)
            }
        }
    }

    /// Memory in bytes that the tape holds.
    pub(crate) fn bytes(&self) -> usize {
        let own = match self.integrator {
            Integrator::VelocityLevel(_) => {
                self.balance.as_deref().map_or(0, |balance| size_of_val(balance) + balance.bytes())
            }
            Integrator::ErrorControlled(_) => self.substeps.bytes(),
            Integrator::Radau(_) => self.radau.as_ref().map_or(0, radau::RadauTape::bytes),
            Integrator::Complementarity(_) => {
                self.complementarity.as_ref().map_or(0, complementarity::ComplementarityTape::bytes)
            }
            _ => self.explicit.bytes(),
        };
        let control = size_of_val(&*self.control) + size_of_val(&*self.by_places);
        size_of::<Self>() + self.before.bytes() + self.after.bytes() + control + own
    }

    /// The states at which the step evaluated forces, in order. For a Runge–Kutta step that was taken
    /// with the tape these are the states at its stages; otherwise it is the state before the step.
    pub(crate) fn stages(&self) -> Vec<State> {
        let (Some(method), true) = (self.integrator.tableau(), self.recorded) else {
            return vec![self.before.clone()];
        };
        let size = self.before.tangent_dimension();
        let at = |start: &&[f64]| {
            let mut tangent = vec![0.0; size];
            for (rate, part) in self.explicit.rates.chunks_exact(size.max(1)).zip(*start) {
                tangent.iter_mut().zip(rate).for_each(|(x, r)| *x += r * (part * self.dt));
            }
            self.before.moved(&tangent)
        };
        method.starts.iter().map(at).collect()
    }

    /// The derivative of the step with respect to the state before it, the control values and the
    /// parameters of the model, as matrices.
    ///
    /// `differentiated` and `applied` are those that the tape was made with.
    ///
    /// # Errors
    /// When an explicit step cannot be taken in dual numbers, or the model cannot be made with
    /// derivatives with respect to a parameter.
    pub fn jacobian(
        &mut self,
        differentiated: &DifferentiatedModel<'_>,
        applied: &dyn ForcesIn<f64>,
        workspace: &mut DerivativeWorkspace,
    ) -> Result<StepJacobian, StepError> {
        let applied = applied.differentiable();
        let Self {
            integrator,
            time,
            time_step,
            dt,
            control,
            before,
            after,
            balance,
            substeps,
            complementarity,
            by_places,
            ..
        } = self;
        let (time, time_step, dt) = (*time, *time_step, *dt);
        let at = StepPoint { model: differentiated, before, after, time, time_step, dt, applied, control };
        let mut jacobian = match integrator {
            Integrator::VelocityLevel(method) => {
                method.jacobian(&at, balance.get_or_insert_default(), &mut workspace.velocity_level)
            }
            Integrator::ErrorControlled(_) => return substeps.jacobian(differentiated, applied, workspace),
            Integrator::Complementarity(method) => match complementarity {
                Some(tape) => complementarity::jacobian_of(&at, tape)?,
                None => {
                    let step = StepProblem {
                        model: differentiated.model(),
                        state: before,
                        time,
                        time_step,
                        applied,
                        control,
                        substeps: None,
                        asleep: &[],
                    };
                    let memory = &mut complementarity::Memory::default();
                    complementarity::jacobian_of(&at, &complementarity::keep(*method, &step, memory, false)?)?
                }
            },
            _ => {
                let mut steps = StepWorkspace::default();
                return jacobian_by_duals(&at, |step| integrator.step(step, &mut steps));
            }
        };
        for (column, values) in columns_by_places(differentiated, by_places, before) {
            jacobian.by_parameters.column_mut(column).copy_from_slice(values);
        }
        Ok(jacobian)
    }

    /// The vector–Jacobian product of the step. In `out` it replaces the derivatives of one number with
    /// respect to the state after the step by those with respect to the state before it, and adds the
    /// derivatives with respect to control values and model. It costs the same however many parameters
    /// there are (two kinds of them apart, see [`DifferentiatedModel`]), and allocates next to nothing
    /// once the workspace has grown.
    ///
    /// `differentiated` and `applied` are those that the tape was made with.
    ///
    /// # Panics
    /// When `out.state` does not have [`State::tangent_dimension`] numbers, or `out.model` does
    /// not belong to the model.
    pub fn vjp(
        &mut self,
        differentiated: &DifferentiatedModel<'_>,
        applied: &dyn ForcesIn<f64>,
        workspace: &mut DerivativeWorkspace,
        out: &mut StepCotangent<'_>,
    ) {
        let applied = applied.differentiable();
        let Self {
            integrator,
            time,
            time_step,
            dt,
            control,
            before,
            after,
            recorded,
            explicit,
            balance,
            substeps,
            radau,
            complementarity,
            by_places,
        } = self;
        for (column, values) in columns_by_places(differentiated, by_places, before) {
            let by: f64 = values.iter().zip(out.state.iter()).map(|(x, by)| x * by).sum();
            out.model.direct[column] += by;
        }
        let explicit = recorded.then_some(&*explicit);
        let (time, time_step, dt) = (*time, *time_step, *dt);
        let at = StepPoint { model: differentiated, before, after, time, time_step, dt, applied, control };
        match integrator {
            Integrator::SemiImplicitEuler => {
                semi_implicit_euler::vjp(&at, explicit.map(|tape| &tape.surfaces[0]), workspace, out);
            }
            Integrator::RungeKutta4 | Integrator::BogackiShampine | Integrator::DormandPrince => {
                if let Some(tableau) = integrator.tableau() {
                    runge_kutta::vjp(tableau, &at, explicit, workspace, out);
                }
            }
            Integrator::Radau(order) => {
                if let Some(tape) = radau {
                    radau::vjp(*order, &at, tape, workspace, out);
                }
            }
            Integrator::Complementarity(_) => {
                if let Some(tape) = complementarity {
                    complementarity::vjp(&at, tape, workspace, out);
                }
            }
            Integrator::ErrorControlled(_) => substeps.vjp(differentiated, applied, workspace, out),
            Integrator::VelocityLevel(method) => {
                method.vjp(&at, balance.get_or_insert_default(), &mut workspace.velocity_level, out);
            }
        }
    }
}

/// The parameters that steps are taken in dual numbers for, by their indices among all, each with its part of the
/// derivatives of the state after a step.
fn columns_by_places<'t>(
    differentiated: &'t DifferentiatedModel<'_>,
    by_places: &'t [f64],
    before: &State,
) -> impl Iterator<Item = (usize, &'t [f64])> {
    let columns = differentiated.seen_by_steps().iter().flat_map(|seeded| seeded.columns.iter().copied());
    columns.zip(by_places.chunks_exact(before.tangent_dimension().max(1)))
}
