//! How residuals depend on the parameters of a model directly, with the states of a motion held: a sweep backward over
//! a motion has what passes through the states alone.

use argmin::core::Error;

use crate::multibody::{Model, Parameter, ParameterError, SEEDS, State, seeded};
use crate::rollout::{Controls, Moment, Trajectory, TrajectoryResiduals};
use crate::scalar::DualArray;

/// The derivatives of half of the sum of squares of residuals with respect to parameters of the model that the
/// residuals depend on directly: with the states of a motion held.
pub(super) fn direct_derivatives<R: TrajectoryResiduals>(
    (model, initial): (&Model, &State),
    residuals: &R,
    parameters: &[Parameter],
    (trajectory, controls): (&Trajectory, &Controls),
) -> Result<Vec<f64>, Error> {
    type Dual = DualArray<SEEDS>;
    let mut by = Vec::with_capacity(parameters.len());
    for chunk in parameters.chunks(SEEDS) {
        let values = chunk.iter().enumerate().map(|(k, parameter)| {
            // The state is held: what moves it at the start is no part of the model.
            let moves_state =
                matches!(parameter, Parameter::InitialTangent { .. } | Parameter::InitialJoint { .. });
            let value = parameter.value(model)?;
            Ok((*parameter, if moves_state { Dual::from(value) } else { Dual::variable(value, k) }))
        });
        let values = values.collect::<Result<Vec<_>, ParameterError>>()?;
        let (model, _) = seeded(model, initial, &values)?;
        let (mut sum, mut out) = ([0.0; SEEDS], Vec::new());
        let last = trajectory.times.len() - 1;
        for (step, (&time, state)) in trajectory.times.iter().zip(&trajectory.states).enumerate() {
            let state = State::<Dual>::lift(state);
            let control: Vec<Dual> = match step < last {
                true => controls.row(step).iter().map(|&u| Dual::from(u)).collect(),
                false => Vec::new(),
            };
            let dt = trajectory.times.get(step + 1).map_or(0.0, |next| next - time);
            let moment = Moment { step, time, dt, model: &model, state: &state, control: &control };
            out.clear();
            match step < last {
                true => residuals.running(&moment, &mut out),
                false => residuals.terminal(&moment, &mut out),
            }
            for r in &out {
                sum.iter_mut().zip(r.eps).for_each(|(sum, eps)| *sum += r.re * eps);
            }
        }
        by.extend_from_slice(&sum[..chunk.len()]);
    }
    Ok(by)
}
