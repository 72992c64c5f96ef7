//! Steps of fixed length and substeps, taken again with another length.
//!
//! A step of a part of the length, from the same state, is a solution of the same method: so events lie on the
//! motion that was simulated, and are where steps that end there would have them.

use super::super::checked_step::{checked_step_into, failed};
use super::super::error::SimulationError;
use crate::multibody::{State, TANGENT_DIMENSION};
use crate::step::{Integrator, StepError, StepProblem, StepWorkspace, Substep};

/// Distances of the lengths that differences are taken at, as parts of the length of the piece.
const SPACINGS: [f64; 7] = [0.04, 0.01, 2.5e-3, 6e-4, 1.5e-4, 4e-5, 1e-5];
/// A change from spacing to spacing, as a part of the rate, that no others are tried after.
const GOOD_CHANGE: f64 = 1e-9;
/// The least distance, as such a part, that there has to be room for; where there is not, lengths are longer by it.
const LEAST_ROOM: f64 = 1e-4;
/// The derivative of a function from its differences to values at 1, 2, … distances (of order 6).
const WEIGHTS: [f64; 6] = [6.0, -7.5, 20.0 / 3.0, -3.75, 1.2, -1.0 / 6.0];
/// The shortest length, s: 1/100 of what events are located to.
pub(super) const SHORTEST: f64 = 1e-14;

/// A step of fixed length, or a substep of an error-controlled step.
#[derive(Clone, Copy)]
pub(super) struct Piece<'s> {
    pub integrator: Integrator,
    /// The step, from the state at the start of the piece and with its whole length.
    pub problem: StepProblem<'s>,
    /// Of a substep the order of its method.
    pub order: Option<i32>,
    /// The number of the step in the simulation, from 1.
    pub number: usize,
}

impl Piece<'_> {
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
    /// order 6 to shorter lengths, of that of several spacings that agrees best with the spacings before and after it:
    /// stiff forces and faces that begin to push take short ones, and rounding long ones. Where there is no room for
    /// shorter lengths, at the very start of the piece, they are longer.
    pub fn rate(
        &self,
        length: f64,
        after: &State,
        workspace: &mut StepWorkspace,
    ) -> Result<Vec<f64>, SimulationError> {
        let whole = self.problem.time_step;
        let room = length / (WEIGHTS.len() as f64 + 0.5);
        let (room, sign) = if room >= LEAST_ROOM * whole { (room, -1.0) } else { (LEAST_ROOM * whole, 1.0) };
        let distance = |spacing: f64| sign * (spacing * whole).min(spacing / SPACINGS[0] * room);
        let mut before = self.differences(length, after, distance(SPACINGS[0]), workspace)?;
        let mut middle = self.differences(length, after, distance(SPACINGS[1]), workspace)?;
        let (mut best, mut least) = (middle.clone(), f64::INFINITY);
        for spacing in &SPACINGS[2..] {
            let next = self.differences(length, after, distance(*spacing), workspace)?;
            let change = relative_change(after, &before, &middle).max(relative_change(after, &middle, &next));
            if change < least {
                least = change;
                best.clone_from(&middle);
            }
            if least < GOOD_CHANGE {
                break;
            }
            (before, middle) = (middle, next);
        }
        match best.iter().all(|x| x.is_finite()) {
            true => Ok(best),
            false => {
                let bodies = (0..self.problem.model.bodies().len()).collect();
                Err(failed(&self.problem, self.number, StepError::NotFinite { bodies }))
            }
        }
    }

    /// The derivative of the state after `length` s from its differences to the states at multiples of `distance` from
    /// there.
    fn differences(
        &self,
        length: f64,
        after: &State,
        distance: f64,
        workspace: &mut StepWorkspace,
    ) -> Result<Vec<f64>, SimulationError> {
        let mut rate = vec![0.0; after.tangent_dimension()];
        let mut moved = State::default();
        for (k, weight) in WEIGHTS.iter().enumerate() {
            self.state_after(length + (k + 1) as f64 * distance, workspace, &mut moved)?;
            let change = after.difference(&moved);
            rate.iter_mut().zip(change).for_each(|(sum, x)| *sum += x * (weight / distance));
        }
        Ok(rate)
    }
}

/// The largest change of a rate of a state, as a part of the largest rate of its kind: of positions and of velocities.
fn relative_change(state: &State, before: &[f64], after: &[f64]) -> f64 {
    let (of_bodies, nv) = (state.body_tangent_dimension(), state.joints.v.len());
    // Deflections of bristles count as positions.
    let velocities = of_bodies + nv..of_bodies + 2 * nv;
    let is_velocity = |i: usize| {
        if i < of_bodies { i % TANGENT_DIMENSION >= TANGENT_DIMENSION / 2 } else { velocities.contains(&i) }
    };
    let of_kind = |velocity: bool| {
        let (mut change, mut largest) = (0.0_f64, 0.0_f64);
        let pairs = before.iter().zip(after).enumerate();
        for (_, (before, after)) in pairs.filter(|(i, _)| is_velocity(*i) == velocity) {
            change = change.max((after - before).abs());
            largest = largest.max(after.abs());
        }
        if largest > 0.0 { change / largest } else { 0.0 }
    };
    of_kind(false).max(of_kind(true))
}
