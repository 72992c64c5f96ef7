//! The contact force of a velocity-level step that was taken, from the states at its ends.

use super::error_control::{ErrorControlled, Substep, repeat};
use super::velocity_level::Balance;
use super::{Integrator, StepProblem, StepWorkspace};
use crate::multibody::{ModelIdentity, State};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// What is known in `f64` of the last step whose contact forces were asked for.
#[derive(Debug, Default)]
pub struct StepForces {
    workspace: StepWorkspace,
    known: Option<(ModelIdentity, Integrator, [f64; 2])>,
    /// The states at the ends of that step, and those that are asked for.
    states: [State; 2],
    asked: [State; 2],
    /// How its parts were taken, where it consists of several; `None` where they cannot be found.
    parts: Option<Option<(ErrorControlled, Vec<Substep>)>>,
    control: Vec<f64>,
    /// Whether the state after the step has been asked for, or made a difference.
    pub(crate) were_read: bool,
}

impl StepForces {
    /// Finds the contacts of a step, and their impulses at the velocities after it, or the lengths of the parts that it consists of,
    /// unless that is known.
    fn find<T: Scalar>(&mut self, integrator: Integrator, step: &StepProblem<'_, T>, after: &State<T>) {
        let Self { workspace, known, states, asked, parts, control, .. } = self;
        let StepProblem { model, state: before, time, time_step, applied, substeps, .. } = *step;
        before.write_real(&mut asked[0]);
        after.write_real(&mut asked[1]);
        let key = Some((model.identity(), integrator, [time, step.length().real()]));
        if *known == key && states == asked {
            return;
        }
        *known = key;
        std::mem::swap(states, asked);
        control.clear();
        control.extend(step.control.iter().map(|u| u.real()));
        let mut real = std::mem::take(&mut workspace.real);
        let (model, state) = real.of(model, before);
        let applied = applied.differentiable();
        let step = StepProblem { model, state, time, time_step, applied, control, substeps, asleep: &[] };
        *parts = match integrator {
            Integrator::ErrorControlled(control) => Some(control),
            Integrator::VelocityLevel(method) => {
                let StepWorkspace { velocity_level, balance, after: moved, .. } = &mut *workspace;
                method.find_impulses(&step, &states[1], velocity_level);
                let is_whole = velocity_level.leads_to(&step, &states[1], balance, moved);
                (!is_whole).then(|| ErrorControlled::landing(method))
            }
            _ => None,
        }
        .map(|control| {
            let mut search = workspace.search.take().unwrap_or_default();
            let found = control.find_substeps(&step, &mut search);
            let parts = found.ok().map(|_| (control, search.statistics.substeps.clone()));
            workspace.search = Some(search);
            parts
        });
        workspace.real = real;
    }
}

impl Integrator {
    /// The wrench on body `on` about its origin, in W, that body `from` has exerted over a velocity-level step that led to the
    /// state `after`: the impulse of their contacts over the step, divided by its length, in N and N m. It is
    /// what the balance of momentum of the step was solved with (Masterjohn, arXiv 2110.10107, eq. 7). Where the step consists of
    /// several, since something lands in it or its error is controlled, theirs together, each about the origin at its start.
    /// `None` of other steps.
    ///
    /// Derivatives are with respect to both states, the control values and the model; where the step consists of several, it is the
    /// state before it alone that they pass through. They are those of a step: one-sided where a contact changes between
    /// sticking and slipping, or a face comes or goes, and with the lengths of its parts held.
    #[inline(never)]
    pub(crate) fn step_force<T: Scalar>(
        self,
        step: &StepProblem<'_, T>,
        after: &State<T>,
        (on, from): (usize, usize),
        memory: &mut StepForces,
    ) -> Option<SpatialForce<T>> {
        let kind = self.velocity_level_method()?.model;
        memory.find(self, step, after);
        memory.were_read |= memory.parts.is_none();
        let impulse = match &memory.parts {
            None => {
                let solved = memory.workspace.velocity_level.solved();
                Balance::default().impulse_between(kind, step, after, solved, (on, from))
            }
            Some(parts) => {
                let (ErrorControlled { method, .. }, parts) = parts.as_ref()?;
                let mut workspace = StepWorkspace { keep: true, ..StepWorkspace::default() };
                let (mut sum, mut number, mut end) = (SpatialForce::zero(), 0, State::default());
                let add = &mut |part: &StepProblem<'_, T>, after: &State<T>, taken: &StepWorkspace<T>| {
                    let solved = taken.velocity_level.solved();
                    let impulse = Balance::default().impulse_between(kind, part, after, solved, (on, from));
                    sum += impulse * T::from(method.weight_of_fixed_step(number));
                    number += 1;
                };
                repeat(*method, step, parts, &mut workspace, &mut end, add).ok()?;
                sum
            }
        };
        Some(impulse * step.length().recip())
    }
}
