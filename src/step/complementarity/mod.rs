//! Steps of rigid bodies by complementarity: where two rigid geometries touch there is a force or a distance, never
//! both.
//!
//! They are implicit in the velocities, of order 1, and inelastic: bodies that meet keep no velocity along the normal.
//! Distances are those after the step, so that nothing overlaps then, and a step adds no energy to free bodies that touch
//! with balls or corners which did not overlap before it. The methods are those of Hotz et al., *Calculation of Contact
//! Forces* (1999), and of Xie and Chakraborty, *Modeling and Prediction of Rigid Body Motion with Planar Non-Convex
//! Contact* (2019). Forces other than those between rigid geometries act as they are at the start of the step, as in
//! semi-implicit Euler steps.
//!
//! | file | what it does |
//! |---|---|
//! | `dynamics.rs` | the motion of a body over a step |
//! | `joints.rs` | the motion of the joints over a step |
//! | `data.rs` | the numbers of a step, in any scalar |
//! | `kinematics.rs` | where a step brings bodies and contacts |
//! | `equations.rs` | the equations, in any scalar |
//! | `row.rs` | how velocities between bodies follow theirs, and what impulses along them do |
//! | `normals.rs` | what impulses along normals do |
//! | `linear.rs` | the linear complementarity problems |
//! | `modes.rs` | what contacts with friction in cones do, and the equations with that held, in any scalar |
//! | `active_set.rs` | which modes hold |
//! | `relax.rs` | which modes contacts have in a softer problem |
//! | `held.rs` | the equations that hold at a solution |
//! | `methods.rs` | the methods |
//! | `search.rs` | which features touch, and the step with them |
//! | `vjp.rs` | the vector–Jacobian product of a step |
//! | `shared.rs` | which corners of a patch share its load |
//! | `report.rs` | where bodies touch, and how |
//!
//! The derivative of a step is that of its equations at the solution, with those distances and impulses that are 0
//! held at 0: the implicit function theorem on the active set. It has a kink where a contact closes or opens, sticks or
//! slips within the step: what comes out there is the derivative of the side that the solution is on.

mod accuracy;
mod active_set;
mod data;
mod dynamics;
mod equations;
mod held;
#[cfg(test)]
mod hotz_tests;
mod joints;
mod kinematics;
mod linear;
mod methods;
mod modes;
mod normals;
mod relax;
mod report;
mod row;
mod search;
mod shared;
mod vjp;

pub use report::{PatchKind, RigidContact};
pub(super) use vjp::{ComplementarityTape, vjp};

use nalgebra::DMatrix;

use self::data::{Place, StepData};
use self::equations::scaled_velocities;
use self::held::HeldEquations;
use self::joints::LawPoint;
use self::linear::LinearSolver;
use self::search::{Solved, solve_step};
use self::shared::hold_shared;
use super::jacobian_by_duals::jacobian_by_duals;
use super::real_parts::RealParts;
use super::step_point::StepPoint;
use super::{StepError, StepJacobian, StepProblem};
use crate::contact::check_features;
use crate::linear_algebra::MixedProblem;
use crate::multibody::{BodyState, ForceWorkspace, Model, State, forces_without_contact};
use crate::scalar::Scalar;

/// How the complementarity problem of a step between rigid bodies is posed and solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComplementarityMethod {
    /// Contacts that would close are bilateral and solved for by Newton's method; those that pull are released (Hotz
    /// §2.1, eq. 3). Friction is in polyhedral cones. Contacts that only close because of others are not seen.
    Bilateral,
    /// The nonlinear complementarity problem by Fischer's function (Hotz §2.1, eq. 4 and 5), with friction as `Lcp` has it.
    Ncp,
    /// The fixed point of linear complementarity problems, each solved by Lemke's algorithm (Hotz §2.2), with friction in
    /// polyhedral cones (Stewart and Trinkle 1996), from whose solution that with round cones is found.
    Lcp,
    /// Equivalent contact points (Xie and Chakraborty): one for each pair of geometries, with friction in an ellipsoid
    /// of force and moment.
    Ecp,
}

/// Why the equations of a step were not solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Failure {
    /// A linear problem has no solution.
    Ray,
    /// The residual did not get small enough.
    NotConverged { iterations: usize, residual: f64 },
    /// The state, a mass or a force is not finite.
    NotFinite,
}

impl Failure {
    fn error(self, bodies: Vec<usize>) -> StepError {
        let (iterations, residual) = match self {
            Self::NotFinite => return StepError::NotFinite { bodies },
            Self::Ray => return StepError::NoImpulses { bodies },
            Self::NotConverged { iterations, residual } => (iterations, residual),
        };
        StepError::NotConverged { iterations, residual, allowed: data::RESIDUAL, bodies }
    }
}

/// What steps are taken with: memory that is reused.
#[derive(Debug, Default)]
pub(super) struct Memory {
    linear: LinearSolver,
    real: RealParts,
    control: Vec<f64>,
    forces: ForceWorkspace,
    /// The contacts of the last step.
    pub report: Vec<RigidContact>,
    /// The last step, as it was solved.
    solved: Option<Solved>,
}

/// Checks that there are distances of all rigid geometries of a model that can touch.
pub(super) fn check_distances<T: Scalar>(model: &Model<T>) -> Result<(), StepError> {
    for pair in model.rigid_pairs() {
        let [a, b] = pair.geometries().map(|(body, g)| &model.bodies()[body].geometries[g].collider.geometry);
        check_features(a, b).map_err(|why| StepError::NoDistance {
            shapes: why.to_string(),
            bodies: vec![pair.bodies.a, pair.bodies.b],
        })?;
    }
    Ok(())
}

/// The state after a step. It is solved in `f64`, and given the derivatives that its equations imply.
pub(super) fn step<T: Scalar>(
    method: ComplementarityMethod,
    step: &StepProblem<'_, T>,
    forces: &mut ForceWorkspace<T>,
    memory: &mut Memory,
    after: &mut State<T>,
) -> Result<(), StepError> {
    let StepProblem { model, state, time, time_step, applied, .. } = *step;
    let Memory { linear, real, control, forces: real_forces, report, solved: last } = memory;
    control.clear();
    control.extend(step.control.iter().map(|u| u.real()));
    let (real_model, real_state) = real.of(model, state);
    let control = &control[..];
    let problem = StepProblem {
        model: real_model,
        state: real_state,
        time,
        time_step,
        applied: applied.differentiable(),
        control,
        substeps: None,
        asleep: &[],
    };
    *last = None;
    let mut solved = solve_step(method, &problem, real_forces, linear, report)?;
    if T::NDERIV == 0 {
        solved.write_values(state, after);
    } else {
        hold_shared(&solved.data, &mut solved.solution);
        let inverse = solved.inverse().ok_or_else(|| solved.without_derivative())?;
        solved.write(step, &inverse, forces, after);
    }
    *last = Some(solved);
    Ok(())
}

/// What derivatives of a step need; of the one that the memory was last used for if it `is_taken`.
pub(super) fn keep(
    method: ComplementarityMethod,
    step: &StepProblem<'_>,
    memory: &mut Memory,
    is_taken: bool,
) -> Result<ComplementarityTape, StepError> {
    let Memory { linear, forces, report, solved, .. } = memory;
    let mut solved = match solved.take().filter(|_| is_taken) {
        Some(solved) => solved,
        None => solve_step(method, step, forces, linear, report)?,
    };
    hold_shared(&solved.data, &mut solved.solution);
    let inverse = solved.inverse().ok_or_else(|| solved.without_derivative())?;
    Ok(ComplementarityTape { solved, inverse })
}

/// The derivative of a step as matrices.
pub(super) fn jacobian_of(at: &StepPoint<'_>, tape: &ComplementarityTape) -> Result<StepJacobian, StepError> {
    let mut lifted = ForceWorkspace::default();
    jacobian_by_duals(at, |step| {
        let mut after = State::default();
        tape.solved.write(step, &tape.inverse, &mut lifted, &mut after);
        Ok(after)
    })
}

impl Solved {
    /// The state after the step without derivatives, from the one before it.
    fn write_values<T: Scalar>(&self, before: &State<T>, after: &mut State<T>) {
        let Self { data, solution, .. } = self;
        let velocities = scaled_velocities(data, &solution.variables);
        let (of_bodies, of_joints) = velocities.split_at(dynamics::BODY * data.bodies.len());
        let bodies = data.bodies.iter().zip(of_bodies.chunks_exact(dynamics::BODY));
        after.bodies.clear();
        after.bodies.extend(bodies.map(|(body, v)| BodyState::lift(&body.after(v, data.dt))));
        match &data.joints {
            None => after.joints.clone_from(&before.joints),
            Some(joints) => {
                let lifted = |of: Vec<f64>| of.into_iter().map(T::from).collect::<Vec<T>>();
                let (moves, changes) = (joints.moves(of_joints, data.dt), joints.changes(of_joints));
                after.joints.set_moved(&before.joints, &lifted(moves), &lifted(changes));
            }
        }
    }

    /// The state after the step with its derivatives, by the inverse of the Jacobian of its equations.
    fn write<T: Scalar>(
        &self,
        step: &StepProblem<'_, T>,
        inverse: &DMatrix<f64>,
        forces: &mut ForceWorkspace<T>,
        after: &mut State<T>,
    ) {
        let StepProblem { model, state, time, applied, control, .. } = *step;
        let time_step = step.length();
        let total = forces_without_contact(model, state, time, applied, control, forces);
        let commands = &control[..model.command_dimension()];
        // About the velocities after the step: lines about others differ from laws in their derivatives.
        let laws = self.data.joints.as_ref().map_or_else(LawPoint::default, |joints| {
            let after = scaled_velocities(&self.data, &self.solution.variables);
            let velocities = after[dynamics::BODY * self.data.bodies.len()..].to_vec();
            LawPoint { velocities, slopes: joints.laws.slopes.clone() }
        });
        let mut data = StepData::new(model, state, total, commands, time_step, &laws);
        data.set_contacts(model, &self.found);
        data.scales = self.data.scales;
        let solution = &self.solution;
        let mut z: Vec<T> = solution.variables.iter().map(|&x| T::from(x)).collect();
        let mut residual = Vec::new();
        for _ in 0..T::NDERIV {
            solution.held.evaluate(&data, &z, &mut residual);
            // The value stays that of the solution.
            residual.iter_mut().for_each(|value| *value -= T::from(value.real()));
            for (row, z) in inverse.row_iter().zip(&mut z) {
                let change = row.iter().zip(&residual).fold(T::from(0.0), |sum, (m, r)| sum + *r * *m);
                *z -= change;
            }
        }
        let velocities = scaled_velocities(&data, &z);
        after.bodies.clear();
        let bodies = data.bodies.iter().zip(velocities.chunks_exact(dynamics::BODY));
        after.bodies.extend(bodies.map(|(body, v)| body.after(v, time_step)));
        match &data.joints {
            None => after.joints = state.joints.clone(),
            Some(joints) => {
                let v = &velocities[dynamics::BODY * data.bodies.len()..];
                after.joints.set_moved(&state.joints, &joints.moves(v, time_step), &joints.changes(v));
            }
        }
    }

    /// The error of a solution that has no derivative.
    fn without_derivative(&self) -> StepError {
        let bodies =
            (0..self.data.places.len()).filter(|&body| !matches!(self.data.places[body], Place::Fixed(..)));
        StepError::NoDerivative { bodies: bodies.collect() }
    }

    /// The inverse of the Jacobian of the equations that hold at the solution; `None` where there is none.
    fn inverse(&self) -> Option<DMatrix<f64>> {
        let Self { data, solution, has_derivative, .. } = self;
        if !has_derivative {
            return None;
        }
        let matrix = HeldEquations { data, held: &solution.held }.slopes(&solution.variables);
        matrix.try_inverse().filter(|inverse| inverse.iter().all(|x| x.is_finite()))
    }
}
