//! The contact force of a velocity-level step that was taken, from the states at its ends.

use super::balance::{Balance, Solved};
use super::{VelocityLevel, Workspace};
use crate::multibody::{Model, ModelIdentity, State};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;
use crate::step::StepProblem;

/// What is known in `f64` of the last step whose contact forces were asked for.
#[derive(Debug, Default)]
pub struct StepForces {
    workspace: Workspace,
    known: Option<(ModelIdentity, VelocityLevel, f64)>,
    /// The states at the ends of that step, and those that are asked for.
    states: [State; 2],
    asked: [State; 2],
    /// Whether they have been asked for.
    pub(crate) were_read: bool,
}

impl StepForces {
    /// Finds the contacts of a step, and their impulses at the velocities after it, unless that is known.
    fn find<T: Scalar>(
        &mut self,
        method: VelocityLevel,
        model: &Model<T>,
        (before, after): (&State<T>, &State<T>),
        dt: f64,
    ) {
        let Self { workspace, known, states, asked, .. } = self;
        before.write_real(&mut asked[0]);
        after.write_real(&mut asked[1]);
        let key = Some((model.identity(), method, dt));
        if *known == key && states == asked {
            return;
        }
        let mut real = std::mem::take(&mut workspace.real);
        let (real_model, real_before) = real.of(model, before);
        workspace.forces.reset(real_model);
        workspace.commands.clear();
        workspace.commands.resize(real_model.command_dimension(), 0.0);
        workspace.problem.contacts.keep_polygons = true;
        workspace.assemble(real_model, real_before, method.model, dt);
        workspace.newton.evaluate_patches(&workspace.problem, &asked[1]);
        workspace.real = real;
        *known = key;
        std::mem::swap(states, asked);
    }
}

impl VelocityLevel {
    /// The wrench on body `on` about its origin, in W, that body `from` has exerted over a step of length `dt` in s from
    /// one state to another: the impulse of their contacts over the step, divided by its length, in N and N m. It is
    /// what the balance of momentum of the step was solved with (Masterjohn, arXiv 2110.10107, eq. 7).
    ///
    /// Where something lands in the step, so that it consists of several, that of the contacts at its start alone.
    ///
    /// Derivatives are with respect to both states and the model. They are those of a step: one-sided where a contact
    /// changes between sticking and slipping, or a face comes or goes.
    pub(crate) fn step_force<T: Scalar>(
        self,
        model: &Model<T>,
        (before, after): (&State<T>, &State<T>),
        dt: f64,
        (on, from): (usize, usize),
        memory: &mut StepForces,
    ) -> SpatialForce<T> {
        memory.were_read = true;
        let step = StepProblem::new(model, before, dt);
        let length = step.length();
        memory.find(self, model, (before, after), length.real());
        let Workspace { problem, newton, moving, .. } = &memory.workspace;
        let solved = Solved { problem, newton, moving };
        let impulse = Balance::default().impulse_between(self.model, &step, after, solved, (on, from));
        let rate = length.recip();
        SpatialForce::new(impulse.rotational * rate, impulse.translational * rate)
    }
}
