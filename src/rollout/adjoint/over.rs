//! Gradients over a trajectory that was simulated before, all of whose states are at hand.

use super::{Feedback, LossGradient, Sweep, problem};
use crate::multibody::{Parameter, State};
use crate::parallel::in_parallel;
use crate::rollout::checked_step::step_failed;
use crate::rollout::error::SimulationError;
use crate::rollout::loss::DifferentiableLoss;
use crate::rollout::simulate::Rollout;
use crate::rollout::tapes::Tapes;
use crate::step::StepWorkspace;

/// Steps whose tapes are there at a time, and of these the ones that a thread makes one after the other.
const BLOCK: usize = 128;
const PART: usize = 16;

/// The gradients of losses, each under a feedback of its own. Tapes cost more than the sweeps over them, so that they
/// are made once for all losses, and on all threads.
pub(in crate::rollout) fn loss_gradients_over<F: Feedback>(
    rollout: &Rollout<'_>,
    states: &[State],
    losses: &[&dyn DifferentiableLoss],
    parameters: &[Parameter],
    feedbacks: &mut [F],
) -> Result<Vec<LossGradient>, SimulationError> {
    let schedule = rollout.schedule()?;
    let model = rollout.differentiated(parameters)?;
    let integrator = rollout.settings.integrator;
    // Before the sweeps, which have no use for what the thread keeps, and outliving them.
    let mut spare = Tapes::default();
    let mut sweeps = Vec::with_capacity(losses.len());
    for (&loss, feedback) in losses.iter().zip(feedbacks) {
        let mut sweep = Sweep::new(rollout, (&schedule, rollout.control_rows()?), &model, loss, feedback)?;
        (0..schedule.len()).for_each(|step| sweep.make_controls(step, &states[step]));
        sweep.end(&states[schedule.len()]);
        sweeps.push(sweep);
    }
    for first in (0..schedule.len()).step_by(BLOCK).rev() {
        let Some(Sweep { controls, .. }) = sweeps.first() else { break };
        let block: Vec<_> = (first..schedule.len().min(first + BLOCK)).map(|i| (i, spare.blank())).collect();
        let mut block = block.into_iter();
        let parts = std::iter::from_fn(|| Some(block.by_ref().take(PART).collect::<Vec<_>>()));
        let made = in_parallel(parts.take_while(|part| !part.is_empty()), |mut part| {
            let mut steps = StepWorkspace::default();
            for (step, tape) in &mut part {
                let problem = problem(rollout, &schedule, controls, &[], *step, &states[*step]);
                integrator
                    .tape(&problem, &states[*step + 1], &model, &mut steps, tape)
                    .map_err(|source| step_failed(rollout.model, schedule[*step], source))?;
            }
            Ok(part)
        });
        let made = made.into_iter().collect::<Result<Vec<_>, SimulationError>>()?;
        for (step, mut tape) in made.into_iter().flatten().rev() {
            for sweep in &mut sweeps {
                sweep.reverse_taped(step, &states[step], &states[step + 1], &mut tape);
            }
            spare.give_back(tape);
        }
    }
    sweeps.into_iter().map(Sweep::finished).collect()
}
