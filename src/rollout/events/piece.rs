//! Steps of fixed length and substeps, taken again with another length.
//!
//! A step of a part of the length, from the same state, is a solution of the same method: so events lie on the
//! motion that was simulated, and are where steps that end there would have them.

use super::super::checked_step::{checked_step_into, failed};
use super::super::error::SimulationError;
use crate::multibody::{AppliedForces, State};
use crate::step::{Integrator, StepProblem, StepWorkspace, Substep};

/// Distance of the lengths that differences are taken at, as a part of the length of the piece.
const SPACING: f64 = 0.04;
/// The least such distance for which lengths are shorter rather than longer than the one that is asked for.
const LEAST_SPACING: f64 = 1e-3;
/// The derivative of a function from its differences to values at 1, 2, … distances (of order 6).
const WEIGHTS: [f64; 6] = [6.0, -7.5, 20.0 / 3.0, -3.75, 1.2, -1.0 / 6.0];
/// The shortest length, s: 1/100 of what events are located to.
pub(super) const SHORTEST: f64 = 1e-14;

/// A step of fixed length, or a substep of an error-controlled step.
#[derive(Clone, Copy)]
pub(super) struct Piece<'s, A> {
    pub integrator: Integrator,
    /// The step, from the state at the start of the piece and with its whole length.
    pub problem: StepProblem<'s, A>,
    /// Of a substep the order of its method.
    pub order: Option<i32>,
    /// The number of the step in the simulation, from 1.
    pub number: usize,
}

impl<A: AppliedForces> Piece<'_, A> {
    /// The state `length` s after its start; for 0 the one at its start.
    pub fn state_after(
        &self,
        length: f64,
        workspace: &mut StepWorkspace,
        after: &mut State,
    ) -> Result<(), SimulationError> {
        if length <= 0.0 {
            after.clone_from(self.problem.state);
            return Ok(());
        }
        let length = length.max(SHORTEST);
        let held = self.order.map(|order| [Substep { length, order }]);
        let problem = StepProblem {
            time_step: length,
            substeps: held.as_ref().map(<[Substep; 1]>::as_slice),
            ..self.problem
        };
        checked_step_into(self.integrator, &problem, self.number, workspace, after)
    }

    /// How fast the state after `length` s, `after`, changes with the length, in its tangent space: by differences of
    /// order 6 to shorter lengths. Where there is no room for these, at the very start of the piece, they are longer.
    pub fn rate(
        &self,
        length: f64,
        after: &State,
        workspace: &mut StepWorkspace,
    ) -> Result<Vec<f64>, SimulationError> {
        let whole = self.problem.time_step;
        let room = length / (WEIGHTS.len() as f64 + 0.5);
        let distance =
            if room >= LEAST_SPACING * whole { -room.min(SPACING * whole) } else { LEAST_SPACING * whole };
        let mut rate = vec![0.0; after.tangent_dimension()];
        let mut moved = State::default();
        for (k, weight) in WEIGHTS.iter().enumerate() {
            self.state_after(length + (k + 1) as f64 * distance, workspace, &mut moved)?;
            let change = after.difference(&moved);
            rate.iter_mut().zip(change).for_each(|(sum, x)| *sum += x * (weight / distance));
        }
        match rate.iter().all(|x| x.is_finite()) {
            true => Ok(rate),
            false => {
                let bodies = (0..self.problem.model.bodies().len()).collect();
                Err(failed(&self.problem, self.number, crate::step::StepError::NotFinite { bodies }))
            }
        }
    }
}
