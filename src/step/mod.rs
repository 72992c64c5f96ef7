//! One step of time.

mod complementarity;
mod dense_output;
mod derivative;
mod derivative_workspace;
mod error;
mod error_control;
mod jacobian_by_duals;
mod joint_motion;
mod joint_moves;
mod problem;
mod radau;
mod real_parts;
mod runge_kutta;
mod semi_implicit_euler;
mod step_force;
mod step_point;
mod tape;
mod velocity_level;

pub use complementarity::{ComplementarityMethod, PatchKind, RigidContact};
pub use dense_output::DenseOutput;
pub use derivative::{StepCotangent, StepJacobian};
pub use derivative_workspace::DerivativeWorkspace;
pub use error::StepError;
pub use error_control::{ControlledMethod, ErrorControlled, Substep, SubstepLimit, SubstepStatistics};
pub use problem::StepProblem;
pub use radau::RadauOrder;
pub(crate) use step_force::StepForces;
pub use tape::Tape;
pub(crate) use velocity_level::LoadedPatch;
pub use velocity_level::{Gliding, SolverStatistics, SolverTolerance, StepTiming, VelocityLevel};

use error_control::{Scratch, Search};
use real_parts::RealParts;
use runge_kutta::Tableau;

use crate::contact::ContactModel;
use crate::multibody::{ForceWorkspace, Model, State};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// The methods that advance a state over a step of fixed length.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Integrator {
    /// Semi-implicit Euler: updates the velocity first, then the pose with the new velocity. It is of
    /// order 1, evaluates the forces once, and keeps the energy of conservative motion bounded.
    SemiImplicitEuler,
    /// The classical Runge–Kutta method on the manifold of poses. It is of order 4 and evaluates the
    /// forces four times.
    RungeKutta4,
    /// The method of order 3 of Bogacki and Shampine. It evaluates the forces four times.
    BogackiShampine,
    /// The method of order 5 of Dormand and Prince. It evaluates the forces seven times.
    DormandPrince,
    /// A Radau IIA method of order 1, 3 or 5: implicit, with the contact surfaces of each of its stages. It is for
    /// references where contact or friction is stiff; a step takes the derivatives of all forces.
    Radau(RadauOrder),
    /// A method that is implicit in the velocities and uses the contact surface at the start of the
    /// step. It is of order 1, makes one contact query, and is stable for stiff contact and friction.
    VelocityLevel(VelocityLevel),
    /// A step between rigid geometries that finds where they touch, and with which force, together: nothing overlaps
    /// after it. It is of order 1, inelastic, and for free bodies. Forces other than those between rigid geometries act
    /// as they are at its start.
    Complementarity(ComplementarityMethod),
    /// As many shorter steps as an accuracy asks for.
    ErrorControlled(ErrorControlled),
}

impl Integrator {
    /// The order of convergence of a smooth motion in the length of the steps; of error-controlled steps in
    /// that of the substeps.
    pub fn order(self) -> i32 {
        match self {
            Self::SemiImplicitEuler | Self::VelocityLevel(_) | Self::Complementarity(_) => 1,
            Self::RungeKutta4 => 4,
            Self::BogackiShampine => 3,
            Self::DormandPrince => 5,
            Self::Radau(order) => order.number(),
            Self::ErrorControlled(control) => control.method.order(),
        }
    }

    /// The method of the steps of fixed length that a step consists of: the step itself unless its error is
    /// controlled.
    pub fn of_fixed_length(self) -> Self {
        match self {
            Self::ErrorControlled(control) => control.method.integrator(),
            fixed => fixed,
        }
    }

    /// The velocity-level method of a step or of its substeps; `None` if it is explicit.
    pub fn velocity_level_method(self) -> Option<VelocityLevel> {
        match self.of_fixed_length() {
            Self::VelocityLevel(method) => Some(method),
            _ => None,
        }
    }

    /// The same step by another velocity-level method; an explicit step stays what it is.
    #[must_use]
    pub fn with_velocity_level(self, method: VelocityLevel) -> Self {
        match self {
            Self::VelocityLevel(_) => Self::VelocityLevel(method),
            Self::ErrorControlled(control) => Self::ErrorControlled(ErrorControlled {
                method: control.method.with_velocity_level(method),
                ..control
            }),
            explicit => explicit,
        }
    }

    /// Whether it makes as many substeps as an accuracy asks for.
    pub fn is_error_controlled(self) -> bool {
        matches!(self, Self::ErrorControlled(_))
    }

    /// Whether forces act as they are, and no equations are solved for the velocities, in a step or its substeps.
    pub(crate) fn is_explicit(self) -> bool {
        let method = self.of_fixed_length();
        method == Self::SemiImplicitEuler || method.is_runge_kutta()
    }

    /// Whether it is an explicit Runge–Kutta method of fixed steps.
    pub(crate) fn is_runge_kutta(self) -> bool {
        self.tableau().is_some()
    }

    /// The coefficients of an explicit Runge–Kutta method.
    fn tableau(self) -> Option<&'static Tableau> {
        match self {
            Self::RungeKutta4 => Some(&runge_kutta::CLASSICAL),
            Self::BogackiShampine => Some(&runge_kutta::BOGACKI_SHAMPINE),
            Self::DormandPrince => Some(&runge_kutta::DORMAND_PRINCE),
            Self::SemiImplicitEuler
            | Self::Radau(_)
            | Self::VelocityLevel(_)
            | Self::Complementarity(_)
            | Self::ErrorControlled(_) => None,
        }
    }

    /// A velocity-level step with a contact model, at the default tolerance.
    pub fn velocity_level(model: ContactModel) -> Self {
        Self::VelocityLevel(VelocityLevel { model, ..VelocityLevel::default() })
    }
}

/// Scratch memory that is reused from step to step. Use one per thread.
#[derive(Debug)]
pub struct StepWorkspace<T = f64> {
    forces: ForceWorkspace<T>,
    semi_implicit_euler: semi_implicit_euler::Memory<T>,
    runge_kutta: runge_kutta::Memory<T>,
    radau: radau::Memory<T>,
    velocity_level: velocity_level::Workspace,
    balance: velocity_level::Balance<T>,
    complementarity: complementarity::Memory,
    /// Of velocity-level steps, whether they land.
    real: RealParts,
    after: State,
    /// Of error-controlled steps: states within them, and the search for the lengths of substeps.
    substeps: Scratch<T>,
    search: Option<Box<Search>>,
    /// Whether velocity-level steps leave the polygons of contacts in it.
    keep: bool,
}

impl<T: Scalar> Default for StepWorkspace<T> {
    fn default() -> Self {
        Self {
            forces: ForceWorkspace::default(),
            semi_implicit_euler: semi_implicit_euler::Memory::default(),
            runge_kutta: runge_kutta::Memory::default(),
            radau: radau::Memory::default(),
            velocity_level: velocity_level::Workspace::default(),
            balance: velocity_level::Balance::default(),
            complementarity: complementarity::Memory::default(),
            real: RealParts::default(),
            after: State::default(),
            substeps: Scratch::default(),
            search: None,
            keep: false,
        }
    }
}

impl<T> StepWorkspace<T> {
    /// How the last error-controlled step went, with its substeps; `None` if there was none.
    pub fn substeps(&self) -> Option<&SubstepStatistics> {
        self.search.as_ref().map(|search| &search.statistics)
    }

    /// The next step is not one that a search takes.
    fn leave_search(&mut self) {
        if let Some(search) = &mut self.search {
            search.is_last = false;
        }
    }

    /// What the last velocity-level step was taken with: the last one of an error-controlled step too.
    fn last_velocity_level(&self) -> &velocity_level::Workspace {
        match &self.search {
            Some(search) if search.is_last => &search.workspace.velocity_level,
            _ => &self.velocity_level,
        }
    }

    /// The pairs of geometries that the contact model of the last velocity-level step lifts apart
    /// because they slide (see [`Gliding`]).
    pub fn gliding(&self) -> impl Iterator<Item = Gliding> {
        self.last_velocity_level().gliding()
    }

    /// The pairs of geometries (indices in [`Model::pairs`]) that have pushed on each other at the last
    /// evaluation of forces of a step by this method, with the magnitude of the force in N; none of methods
    /// that are implicit in these forces, or find substeps.
    pub(crate) fn contact_loads(&self, of: Integrator) -> impl Iterator<Item = (usize, f64)>
    where
        T: Scalar,
    {
        let is_explicit = of == Integrator::SemiImplicitEuler || of.is_runge_kutta();
        is_explicit.then(|| self.forces.contact_loads()).into_iter().flatten()
    }

    /// The patches of contact that the last velocity-level step began with.
    pub(crate) fn loaded_patches(&self) -> impl Iterator<Item = LoadedPatch> {
        self.last_velocity_level().loaded_patches()
    }

    /// The loads on each free body that the last velocity-level step began with, N and N m, without gravity.
    pub(crate) fn loads(&self) -> &[SpatialForce] {
        self.last_velocity_level().loads()
    }

    /// The pairs of rigid geometries (indices in [`Model::pairs`]) that pushed on each other in the last velocity-level step.
    pub(crate) fn pushing_rigid_pairs(&self) -> impl Iterator<Item = usize> {
        self.last_velocity_level().pushing_rigid_pairs()
    }

    /// Calls `visit` for each contact of the last step, of fixed length and at the level of velocities, with its pair in
    /// [`Model::pairs`] and the impulse on body A about its origin, in W, N s and N m s.
    fn for_each_impulse(&self, model: &Model, visit: &mut dyn FnMut(usize, SpatialForce<f64>)) {
        self.velocity_level.for_each_impulse(model, visit);
    }

    /// Calls `visit` for each face of the last step if that was a velocity-level step, with the index of
    /// its pair in [`Model::pairs`] and a number that identifies the face and the branch of its impulse.
    pub(crate) fn for_each_branch(&self, visit: impl FnMut(usize, u64)) {
        self.last_velocity_level().for_each_branch(visit);
    }

    /// Where rigid geometries have carried each other over the last step by complementarity.
    pub fn rigid_contacts(&self) -> &[RigidContact] {
        match &self.search {
            Some(search) if search.is_last => &search.rigid_contacts,
            _ => &self.complementarity.report,
        }
    }

    /// Statistics of the iteration of the last velocity-level step; of an error-controlled step those of the
    /// last one that it consists of.
    pub fn statistics(&self) -> &SolverStatistics {
        self.last_velocity_level().statistics()
    }

    /// The times that the parts of the last velocity-level step took.
    pub fn timing(&self) -> StepTiming {
        self.last_velocity_level().timing()
    }
}

impl Integrator {
    /// Refuses lengths of a step that are not positive and finite, too few commands, bristles in steps that have none, and laws of
    /// the user's own in a convex contact model.
    fn check<T: Scalar>(self, step: &StepProblem<'_, T>) -> Result<(), StepError> {
        let dt = step.time_step;
        if !(dt > 0.0 && dt.is_finite()) {
            return Err(StepError::TimeStep(dt));
        }
        let (found, expected) = (step.control.len(), step.model.command_dimension());
        if found < expected {
            return Err(StepError::Control { found, expected });
        }
        if let Self::ErrorControlled(control) = self {
            control.check()?;
        }
        self.check_model(step.model)?;
        let lagged = |method: VelocityLevel| method.model == ContactModel::Lagged;
        if step.model.contact.bristle_length.is_some() && !self.velocity_level_method().is_some_and(lagged) {
            return Err(StepError::Bristles);
        }
        match (self.velocity_level_method(), step.model.contact.law) {
            (Some(VelocityLevel { model, .. }), Some(_)) if model.is_convex() => {
                Err(StepError::OwnLaw(model))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the method takes the pairs of rigid geometries of a model, and its joints.
    pub(crate) fn check_model<T: Scalar>(self, model: &Model<T>) -> Result<(), StepError> {
        let bodies = |pair: &crate::multibody::GeometryPair| vec![pair.bodies.a, pair.bodies.b];
        match (self, model.rigid_pairs().next()) {
            (Self::Complementarity(_), _) => {
                let compliant = model.pairs.iter().find(|pair| !model.is_rigid_pair(pair));
                let refused = compliant.map(|pair| StepError::CompliantPair { bodies: bodies(pair) });
                refused.map_or_else(|| complementarity::check_distances(model), Err)
            }
            (_, None) => Ok(()),
            (_, Some(_)) if !self.is_explicit() => complementarity::check_distances(model),
            (_, Some(pair)) => Err(StepError::RigidPair { bodies: bodies(pair) }),
        }
    }

    /// The state after a step.
    ///
    /// # Errors
    /// As of [`Self::step_into`].
    pub fn step<T: Scalar>(
        self,
        step: &StepProblem<'_, T>,
        workspace: &mut StepWorkspace<T>,
    ) -> Result<State<T>, StepError> {
        let mut after = State::default();
        self.step_into(step, workspace, &mut after)?;
        Ok(after)
    }

    /// [`Self::step`] into a state that is there already. Once the memory of workspace and state has
    /// grown to what the model and its contacts take, this allocates nothing, in dual numbers too
    /// (with the exception of dual numbers with ball and free joints, and of what the user's forces
    /// allocate).
    ///
    /// # Errors
    /// An error is returned if the length of the step is not positive and finite, if there are fewer control values
    /// than commands of the model's actuators, if an implicit method
    /// does not converge, if the model has pairs of rigid geometries that the method does not take, if its contact model is convex but the model has a law of the user's own, if the model
    /// has bristles but its contact model is another than Lagged, or if the state or the forces are not finite. Explicit methods do not check the latter and return a
    /// state that is not finite. The state is unspecified after an error.
    #[inline(never)]
    pub fn step_into<T: Scalar>(
        self,
        step: &StepProblem<'_, T>,
        workspace: &mut StepWorkspace<T>,
        after: &mut State<T>,
    ) -> Result<(), StepError> {
        self.check(step)?;
        let (control, whole) = match self {
            Self::ErrorControlled(control) => (control, None),
            fixed => {
                workspace.leave_search();
                let whole = fixed.fixed_step_into(step, workspace, after);
                let control = match &whole {
                    Ok(()) => fixed.landing(step, workspace, after),
                    Err(error) => ErrorControlled::divided(fixed, error),
                };
                match control {
                    Some(control) => (control, Some(whole)),
                    None => return whole,
                }
            }
        };
        let mut search = workspace.search.take().unwrap_or_default();
        let outcome = control.step_into(step, &mut search, workspace, after);
        workspace.search = Some(search);
        match (outcome, whole) {
            // Where a part does not converge, the whole step stays, or its error.
            (Err(_), Some(whole)) => {
                workspace.leave_search();
                whole
            }
            (outcome, _) => outcome,
        }
    }

    /// Calls `visit` for each contact of a velocity-level step that has just been taken with `workspace`, with its pair in
    /// [`Model::pairs`] and the impulse on body A about its origin, in W, N s and N m s: several times for a pair where the step
    /// consists of substeps, whose impulses add up. Returns whether there are impulses: not of explicit steps.
    pub(crate) fn for_each_impulse(
        self,
        step: &StepProblem<'_>,
        workspace: &StepWorkspace,
        visit: &mut dyn FnMut(usize, SpatialForce<f64>),
    ) -> bool {
        let Some(method) = self.velocity_level_method() else { return false };
        let search = workspace.search.as_ref().filter(|search| search.is_last);
        let control = match (self, search) {
            (Self::ErrorControlled(control), _) => control,
            (_, Some(_)) => ErrorControlled::landing(method),
            (_, None) => {
                workspace.for_each_impulse(step.model, visit);
                return true;
            }
        };
        let Some(search) = search else { return false };
        let (substeps, mut number) = (&search.statistics.substeps, 0);
        let outcome = control.for_each_fixed_step(
            step,
            substeps,
            &mut StepWorkspace::default(),
            &mut |_, _, of_part| {
                let weight = control.method.weight_of_fixed_step(number);
                number += 1;
                of_part.for_each_impulse(step.model, &mut |pair, impulse| visit(pair, impulse * weight));
            },
        );
        outcome.is_ok()
    }

    /// What a velocity-level step becomes where it lands without having foreseen it: the last step of the workspace, which
    /// led to the state `after`.
    fn landing<T: Scalar>(
        self,
        step: &StepProblem<'_, T>,
        workspace: &mut StepWorkspace<T>,
        after: &State<T>,
    ) -> Option<ErrorControlled> {
        let Self::VelocityLevel(method) = self else { return None };
        if step.model.pairs.is_empty() {
            return None;
        }
        let StepWorkspace { velocity_level, real, after: of_after, .. } = workspace;
        let (model, state) = real.of(step.model, step.state);
        after.write_real(of_after);
        velocity_level.unforeseen(model, state, of_after, step.length().real())?;
        Some(ErrorControlled::landing(method))
    }

    /// [`Self::step_into`] of a step whose error is not controlled; such a step is not taken.
    #[inline(never)]
    fn fixed_step_into<T: Scalar>(
        self,
        step: &StepProblem<'_, T>,
        workspace: &mut StepWorkspace<T>,
        after: &mut State<T>,
    ) -> Result<(), StepError> {
        let StepWorkspace {
            forces,
            semi_implicit_euler,
            runge_kutta,
            radau,
            velocity_level,
            balance,
            complementarity,
            keep,
            ..
        } = workspace;
        // Velocity-level steps alone have them.
        after.bristles.clear();
        match self {
            Self::SemiImplicitEuler => semi_implicit_euler::step(step, forces, semi_implicit_euler, after),
            Self::VelocityLevel(method) => method.step(step, *keep, velocity_level, balance, after)?,
            Self::Radau(order) => radau::step(order, step, radau, after)?,
            Self::Complementarity(method) => {
                complementarity::step(method, step, forces, complementarity, after)?;
            }
            Self::RungeKutta4 | Self::BogackiShampine | Self::DormandPrince | Self::ErrorControlled(_) => {
                if let Some(tableau) = self.tableau() {
                    runge_kutta::step(tableau, step, forces, runge_kutta, None, after);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
