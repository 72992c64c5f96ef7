//! The report that observers of a simulation receive.

use crate::contact::ContactModel;
use crate::multibody::{BodyPair, ForcesIn, GeometryPair, Model, State};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;
use crate::step::{
    Gliding, Integrator, LoadedPatch, SolverStatistics, StepProblem, StepWorkspace, SubstepStatistics,
};

/// A state of a simulation, and the step that led to it.
#[derive(Debug)]
pub struct StepReport<'a, T = f64> {
    /// The model.
    pub model: &'a Model<T>,
    /// Steps taken so far: 0 at the initial state.
    pub steps: usize,
    /// Steps of the whole simulation.
    pub all_steps: usize,
    /// Time, s.
    pub time: f64,
    /// The state.
    pub state: &'a State<T>,
    /// The step that led to this state; `None` at the initial state.
    pub taken: Option<TakenStep<'a, T>>,
}

/// A step that has just been taken.
#[derive(Debug)]
pub struct TakenStep<'a, T = f64> {
    /// Its method.
    pub integrator: Integrator,
    /// Time at its start, s.
    pub start: f64,
    /// Its length, s.
    pub time_step: f64,
    /// The state at its start.
    pub before: &'a State<T>,
    /// Its control values.
    pub control: &'a [T],
    /// The user's forces.
    pub(super) applied: &'a dyn ForcesIn<T>,
    pub(super) workspace: &'a StepWorkspace<T>,
    pub(super) asleep: &'a [bool],
}

impl<'a, T> TakenStep<'a, T> {
    fn is_velocity_level(&self) -> bool {
        self.integrator.velocity_level_method().is_some()
    }

    /// How the substeps of the step went; `None` if its error is not controlled.
    pub fn substeps(&self) -> Option<&'a SubstepStatistics> {
        self.integrator.is_error_controlled().then(|| self.workspace.substeps()).flatten()
    }

    /// Statistics of the iteration of the step, or of the last one that an error-controlled step consists of;
    /// `None` for an explicit step.
    pub fn statistics(&self) -> Option<&'a SolverStatistics> {
        self.is_velocity_level().then(|| self.workspace.statistics())
    }

    /// The pairs of geometries that the contact model lifts apart because they slide; empty for an
    /// explicit step.
    pub fn gliding(&self) -> impl Iterator<Item = Gliding> + use<'a, T> {
        let workspace = self.workspace;
        self.is_velocity_level().then(|| workspace.gliding()).into_iter().flatten()
    }

    /// The contact model of an implicit step of fixed length.
    pub(super) fn implicit_method(&self) -> Option<ContactModel> {
        let method =
            self.integrator.velocity_level_method().filter(|_| !self.integrator.is_error_controlled());
        method.map(|method| method.model)
    }

    /// The patches of contact that an implicit step began with.
    pub(super) fn implicit_loads(&self) -> impl Iterator<Item = LoadedPatch> + use<'a, T> {
        self.workspace.loaded_patches()
    }

    /// The pairs of geometries (by their index in [`Model::pairs`]) that pushed on each other explicitly at the
    /// last evaluation of their forces, with the magnitude of the force in N, in an explicit step.
    pub(super) fn explicit_loads(&self) -> impl Iterator<Item = (usize, f64)> + use<'a, T>
    where
        T: Scalar,
    {
        self.workspace.contact_loads(self.integrator)
    }

    /// The loads on each free body at the start of a velocity-level step, N and N m, without gravity.
    pub(super) fn loads(&self) -> &'a [SpatialForce] {
        self.workspace.loads()
    }

    /// Calls `visit` with the bodies of each contact that acted in the step, as often as geometries of theirs touched.
    /// Returns whether it did: steps with several evaluations of forces do not keep the contacts of all of them.
    pub(super) fn for_each_contact(&self, model: &Model<T>, visit: &mut dyn FnMut(BodyPair)) -> bool
    where
        T: Scalar,
    {
        let of = |pair: usize| model.pairs[pair].bodies;
        match self.integrator {
            Integrator::VelocityLevel(_) => {
                self.implicit_loads().for_each(|patch| visit(of(patch.pair)));
                self.workspace.pushing_rigid_pairs().for_each(|pair| visit(of(pair)));
            }
            Integrator::SemiImplicitEuler => {
                self.explicit_loads().for_each(|(pair, _)| visit(of(pair)));
            }
            Integrator::Complementarity(_) => {
                self.workspace.rigid_contacts().iter().for_each(|contact| visit(contact.pair.bodies));
            }
            _ => return false,
        }
        true
    }
}

impl StepReport<'_> {
    /// The forces of contact over the step: for each two bodies in [`Model::pairs_by_bodies`] the wrench on A about its
    /// origin, in W, N and N m, which is the impulse of the step divided by its length. `None` at the initial state, and for
    /// explicit steps.
    pub fn step_forces(&self) -> Option<Vec<SpatialForce<f64>>> {
        let model = self.model;
        let TakenStep { integrator, start, time_step, before, control, applied, workspace, asleep } =
            *self.taken.as_ref()?;
        let step = StepProblem {
            model,
            state: before,
            time: start,
            time_step,
            applied,
            control,
            substeps: None,
            asleep,
        };
        let mut forces = vec![SpatialForce::zero(); model.pairs.len()];
        let rate = 1.0 / step.length();
        let is_rigid = matches!(integrator, Integrator::Complementarity(_));
        if is_rigid {
            let mut frames = Vec::new();
            model.body_frames(self.state, &mut frames);
            for contact in workspace.rigid_contacts() {
                let Ok(pair) = model.pairs.binary_search(&contact.pair) else { continue };
                let impulse = contact.normal * contact.normal_impulse + contact.friction_impulse;
                let moment = contact.normal * contact.friction_moment;
                let to_origin = frames[contact.pair.bodies.a].pose.translation - contact.point;
                forces[pair] += SpatialForce::new(moment, impulse).shifted(&to_origin) * rate;
            }
        }
        let add = &mut |pair: usize, impulse| forces[pair] += impulse * rate;
        (is_rigid || integrator.for_each_impulse(&step, workspace, add)).then(|| {
            let mut of_pairs = forces.iter();
            let sum = |pairs: &[GeometryPair]| {
                of_pairs.by_ref().take(pairs.len()).fold(SpatialForce::zero(), |sum, force| sum + *force)
            };
            model.pairs_by_bodies().map(sum).collect()
        })
    }
}
