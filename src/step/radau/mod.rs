//! Radau IIA methods of one, two and three stages, of orders 1, 3 and 5.
//!
//! They are implicit Runge–Kutta methods of collocation type, whose last stage is the state after the step.
//! They are A-stable and damp what is infinitely stiff in one step, so that stiff contact and friction do not
//! limit the length of the step; unlike velocity-level steps they find the contact surfaces at every stage. They
//! follow Hairer and Wanner, *Solving Ordinary Differential Equations II*, IV.8, and *Stiff differential equations
//! solved by Radau methods* (1999), as does Elandt et al. §VIII. As in `runge_kutta` the unknown is the
//! tangent that leads from the state at the start of the step to the present one.
//!
//! | file | what it does |
//! |---|---|
//! | `coefficients.rs` | the numbers of the methods |
//! | `rates.rs` | the differential equation, and its Jacobian |
//! | `stages.rs` | the equations of a step, solved by simplified Newton iterations |
//! | `error_estimate.rs` | the error of a step |
//! | `orders.rs` | the order of the next step |
//! | `adjoint.rs`, `vjp.rs` | the derivative of a step |

mod adjoint;
mod coefficients;
mod error_estimate;
mod orders;
mod rates;
mod stages;
mod vjp;

pub use coefficients::RadauOrder;
pub(super) use error_estimate::estimate_power;
pub(super) use orders::{OrderMemory, OrderSettings};
pub(super) use stages::Converged;
pub(super) use vjp::{RadauTape, vjp};

use nalgebra::DMatrix;

use self::adjoint::StepDerivative;
use self::error_estimate::ErrorEstimate;
use self::rates::{RateJacobian, Rates};
use self::stages::{NewtonSettings, StageError, Stages, Step};
use super::real_parts::RealParts;
use super::{StepError, StepProblem};
use crate::multibody::{State, TANGENT_DIMENSION};
use crate::scalar::Scalar;

/// What the iteration may leave as the error of lengths in m (and angles in rad): derivatives are those of the
/// exact solution, and differences of steps are told from them.
const ALLOWED: f64 = 1e-10;
/// What it may leave of velocities, in as many m/s.
const ALLOWED_VELOCITY: f64 = 1e-8;
/// Both beside rigid pairs are smaller by this: what rests on them may lie some nanometres deep, and forces follow the depth.
const OF_RIGID: f64 = 1e-2;
/// The stiffness of rigid contacts, 1/s², with which bodies at rest lie a micrometre deep.
const SOFT: f64 = 1e7;
/// The part of both that the iteration ends at, and the most iterations.
const NEWTON: NewtonSettings =
    NewtonSettings { most_iterations: 20, accuracy: 1e-3, unjudged: 1, to_rounding: false };
/// Iterations beside rigid pairs: where two meet within a step, the first one moves them along, and the second, which sees their
/// force, is another problem's first.
const UNJUDGED_OF_RIGID: usize = 2;

/// The solution of a step in `f64`, and the memory of finding it.
#[derive(Debug, Default)]
pub(super) struct Solver {
    rates: Rates,
    jacobians: RateJacobian,
    jacobian: DMatrix<f64>,
    /// Whether the Jacobian and the rate at the start are those of the next step too.
    jacobian_is_known: bool,
    first_rate: Vec<f64>,
    stages: Stages,
    estimate: ErrorEstimate,
    /// How the last iteration went.
    pub converged: Option<Converged>,
    /// Whether the iteration goes on until rounding ends it: differences see what is left.
    pub to_rounding: bool,
}

impl Solver {
    /// The next step starts from the same state and under the same forces as the last one.
    pub fn start_again(&mut self) {
        self.jacobian_is_known = true;
    }

    /// Nothing is known of the state that the next step starts from.
    pub fn forget(&mut self) {
        self.jacobian_is_known = false;
    }

    /// Solves the equations of a step.
    pub fn solve(&mut self, order: RadauOrder, step: &StepProblem<'_>) -> Result<(), StepError> {
        let (StepProblem { state, time, .. }, length) = (*step, step.length());
        let n = state.tangent_dimension();
        let zeros = vec![0.0; n];
        let Self { rates, jacobians, jacobian, jacobian_is_known, first_rate, stages, .. } = self;
        if !std::mem::take(jacobian_is_known) {
            jacobians.evaluate(step, time, &zeros, jacobian);
            first_rate.clear();
            first_rate.extend_from_slice(rates.at(step, time, &zeros));
        }
        let velocities = velocity_directions(state);
        let (part, unjudged, to_rounding) = match step.model.rigid_pairs().len() {
            0 => (1.0, NEWTON.unjudged, self.to_rounding),
            // Where derivatives follow depths of nanometres they differ by 1e-7 if rounding ends the iteration.
            _ => {
                let is_soft = step.model.contact().rigid_stiffness <= SOFT;
                (OF_RIGID, UNJUDGED_OF_RIGID, is_soft && self.to_rounding)
            }
        };
        let (allowed, allowed_velocity) = (ALLOWED * part, ALLOWED_VELOCITY * part);
        let norm = |x: &[f64]| {
            let parts = x
                .iter()
                .zip(&velocities)
                .map(|(x, velocity)| x.abs() / if *velocity { allowed_velocity } else { allowed });
            parts.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
        };
        self.converged = None;
        let solved = stages.factorize(order, length, jacobian).and_then(|()| {
            stages.increments_mut().fill(0.0);
            let start = Step { time, length, state: &zeros, rate: first_rate };
            let mut rate =
                |time: f64, y: &[f64], out: &mut [f64]| out.copy_from_slice(rates.at(step, time, y));
            stages.solve(&mut rate, &start, &norm, &NewtonSettings { unjudged, to_rounding, ..NEWTON })
        });
        match solved {
            Ok(converged) => {
                self.converged = Some(converged);
                Ok(())
            }
            Err(error) => Err(failure(error, step)),
        }
    }

    /// The increments of the stages, one after the other: the tangents that lead to their states.
    pub fn increments(&self) -> &[f64] {
        self.stages.increments()
    }

    /// Where the rates at the start of the last step and at its end, without what is stiff, lead to in so many seconds.
    pub fn shortly_after_ends(&mut self, step: &StepProblem<'_>, time: f64) -> [State; 2] {
        let n = step.state.tangent_dimension();
        let Self { rates, first_rate, stages, .. } = self;
        let end = stages.increments()[stages.increments().len() - n..].to_vec();
        let last_rate = rates.at(step, step.time + step.length(), &end).to_vec();
        [(vec![0.0; n], first_rate.clone()), (end, last_rate)].map(|(mut tangent, mut rate)| {
            // Nothing is damped where nothing has been factorized.
            let _ = stages.damp(&mut rate);
            tangent.iter_mut().zip(rate).for_each(|(x, rate)| *x += rate * time);
            step.state.moved(&tangent)
        })
    }

    /// Estimates the error of the last step, in the tangent space of the state after it. With `damp_twice` the
    /// estimate is damped again where `measure` finds it above 1: in the first step and after rejections.
    pub fn estimated_error(
        &mut self,
        step: &StepProblem<'_>,
        damp_twice: bool,
        measure: &impl Fn(&[f64]) -> f64,
    ) -> &[f64] {
        let (StepProblem { state, time, .. }, length) = (*step, step.length());
        let zeros = vec![0.0; state.tangent_dimension()];
        let Self { rates, first_rate, stages, estimate, .. } = self;
        let start = Step { time, length, state: &zeros, rate: first_rate };
        let mut rate = |time: f64, y: &[f64], out: &mut [f64]| out.copy_from_slice(rates.at(step, time, y));
        estimate.evaluate(stages, &mut rate, &start, measure, damp_twice);
        estimate.error()
    }
}

/// Which directions of a state's tangent space are velocities.
fn velocity_directions(state: &State) -> Vec<bool> {
    let bodies = (0..state.body_tangent_dimension()).map(|i| i % TANGENT_DIMENSION >= 6);
    let nv = state.joints.v.len();
    bodies.chain((0..2 * nv).map(|i| i >= nv)).collect()
}

/// Why a step could not be taken, in the words of other steps.
fn failure(error: StageError, step: &StepProblem<'_>) -> StepError {
    match error {
        StageError::Diverged { iterations } => StepError::StagesNotConverged { iterations },
        StageError::Singular | StageError::Shape | StageError::NotFinite => {
            StepError::NotFinite { bodies: (0..step.model.bodies.len()).collect() }
        }
    }
}

/// What a step is taken with: memory that is reused.
#[derive(Debug)]
pub(super) struct Memory<T> {
    pub solver: Solver,
    real: RealParts,
    control: Vec<f64>,
    /// The rates with derivatives.
    rates: Rates<T>,
}

impl<T: Scalar> Default for Memory<T> {
    fn default() -> Self {
        Self {
            solver: Solver::default(),
            real: RealParts::default(),
            control: Vec::new(),
            rates: Rates::default(),
        }
    }
}

/// The state after a step. The stages are found in `f64`, and given the derivatives that their equations imply.
pub(super) fn step<T: Scalar>(
    order: RadauOrder,
    step: &StepProblem<'_, T>,
    memory: &mut Memory<T>,
    after: &mut State<T>,
) -> Result<(), StepError> {
    let StepProblem { model, state, time, time_step, applied, .. } = *step;
    let Memory { solver, real, control, rates } = memory;
    control.clear();
    control.extend(step.control.iter().map(|u| u.real()));
    let (real_model, real_state) = real.of(model, state);
    let problem = StepProblem {
        model: real_model,
        state: real_state,
        time,
        time_step,
        applied: applied.differentiable(),
        control: &control[..],
        substeps: None,
        asleep: &[],
    };
    let length = step.length();
    solver.solve(order, &problem)?;
    let n = state.tangent_dimension();
    let mut increments: Vec<T> = solver.increments().iter().map(|&z| T::from(z)).collect();
    if T::NDERIV > 0 {
        let Solver { stages, jacobians, .. } = solver;
        let derivative = derivative_at(order, &problem, stages.increments(), jacobians)?;
        let coefficients = order.coefficients();
        for _ in 0..T::NDERIV {
            let mut residual = increments.clone();
            for (j, node) in coefficients.nodes.iter().enumerate() {
                let rate = rates.at(step, time + node * length.real(), &increments[j * n..(j + 1) * n]);
                for (i, row) in coefficients.matrix.iter().enumerate() {
                    let by = length * row[j];
                    let to = residual[i * n..(i + 1) * n].iter_mut();
                    to.zip(rate).for_each(|(r, &rate)| *r -= rate * by);
                }
            }
            // The value stays that of the solution.
            residual.iter_mut().for_each(|r| *r -= T::from(r.real()));
            let correction = derivative.corrected(&residual);
            increments.iter_mut().zip(correction).for_each(|(z, change)| *z -= change);
        }
    }
    after.set_moved(state, &increments[increments.len() - n..]);
    Ok(())
}

/// The derivative of the equations of a step at their solution.
fn derivative_at(
    order: RadauOrder,
    step: &StepProblem<'_>,
    increments: &[f64],
    jacobians: &mut RateJacobian,
) -> Result<StepDerivative, StepError> {
    let n = step.state.tangent_dimension();
    let mut at_stages = Vec::with_capacity(order.stages());
    for (j, node) in order.coefficients().nodes.iter().enumerate() {
        let mut jacobian = DMatrix::zeros(n, n);
        let time = step.time + node * step.length();
        jacobians.evaluate(step, time, &increments[j * n..(j + 1) * n], &mut jacobian);
        at_stages.push(jacobian);
    }
    let derivative = StepDerivative::new(order, step.length(), &at_stages);
    derivative.ok_or_else(|| failure(StageError::Singular, step))
}

#[cfg(test)]
mod tests;
