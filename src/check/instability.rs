//! Finds where explicit steps are too long for friction or stiffness. A disturbance then grows from step
//! to step, faster than the scene's own motion changes, and differences grow with it.

use nalgebra::{DMatrix, DVector};

use crate::multibody::{DifferentiatedModel, Model, TANGENT_DIMENSION};
use crate::rollout::{Rollout, SimulationError};
use crate::step::{DerivativeWorkspace, Integrator, StepError, StepProblem, StepWorkspace, Tape};

/// A disturbance that grows by more than this in one step is one of the method.
const GROWTH: f64 = 1.1;
/// The number of products with the step's Jacobian from which the growth is found, and the number of
/// last products over which it is averaged: for a pair of complex eigenvalues it varies from product to
/// product.
const PRODUCTS: usize = 60;
const AVERAGED: usize = 30;

/// A step from which disturbances grow.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Instability {
    /// The step, counted from 0.
    pub step: usize,
    /// By how much in the step.
    pub growth: f64,
    /// Name of the body or joint that they move most.
    pub moves: String,
}

impl Instability {
    /// What a reader is told.
    pub fn described(&self, time_step: f64) -> String {
        let (time, growth) = (self.step as f64 * time_step, self.growth);
        format!(
            "steps are unstable from t = {time:.6} s, where a disturbance of {} grows {growth:.1}-fold in one step: friction chatters, or contact is too stiff for the step; raise contact.stiction_velocity, shorten the steps, or use a velocity-level solver",
            self.moves
        )
    }
}

/// The first step of an explicit method that is not stable, of a rollout of whole steps.
///
/// The growth is the largest magnitude of an eigenvalue of the step's derivative, by powers.
pub(super) fn first_instability(rollout: &Rollout<'_>) -> Result<Option<Instability>, SimulationError> {
    let Rollout { model, applied, settings, .. } = *rollout;
    let controls = rollout.control_rows()?;
    let steps = settings.schedule(rollout.until)?.steps();
    let (method, dt) = (settings.integrator, settings.time_step);
    if !matches!(method, Integrator::SemiImplicitEuler) && !method.is_runge_kutta() {
        return Ok(None);
    }
    let differentiated = DifferentiatedModel::new(
        model,
        &[],
        applied.differentiable().force_dependence(),
        applied.controls(),
    )?;
    let (mut workspace, mut derivatives) = (StepWorkspace::default(), DerivativeWorkspace::default());
    let mut tape = Tape::default();
    let mut state = rollout.start();
    for step in 0..steps {
        let (time, control) = (step as f64 * dt, controls.row(step));
        let problem = StepProblem {
            model,
            state: &state,
            time,
            time_step: dt,
            applied,
            control,
            substeps: None,
            asleep: &[],
        };
        let outcome = method
            .step_taped(&problem, &differentiated, &mut workspace, &mut tape)
            .and_then(|after| Ok((after, tape.jacobian(&differentiated, applied, &mut derivatives)?)));
        let (after, jacobian) = match outcome {
            Ok(both) => both,
            Err(StepError::Parameter(source)) => return Err(source.into()),
            // The simulation itself has taken these steps.
            Err(_) => return Ok(None),
        };
        let (growth, largest) = fastest_growth(&jacobian.by_state);
        if growth > GROWTH {
            return Ok(Some(Instability { step, growth, moves: named(model, largest) }));
        }
        state = after;
    }
    Ok(None)
}

/// How much the fastest disturbance grows in a step, and the direction that it is largest in.
fn fastest_growth(by_state: &DMatrix<f64>) -> (f64, usize) {
    let n = by_state.nrows();
    let mut disturbance = DVector::from_element(n, 1.0);
    let mut sum = 0.0;
    for product in 0..PRODUCTS {
        disturbance /= disturbance.norm();
        disturbance = by_state * disturbance;
        if product >= PRODUCTS - AVERAGED {
            sum += disturbance.norm().ln();
        }
    }
    if n == 0 || !sum.is_finite() {
        return (0.0, 0);
    }
    ((sum / AVERAGED as f64).exp(), disturbance.iamax())
}

/// The name of what moves along a direction of the tangent space.
fn named(model: &Model, direction: usize) -> String {
    let bodies = model.free_bodies().count();
    if direction < TANGENT_DIMENSION * bodies {
        let body = model.free_bodies().nth(direction / TANGENT_DIMENSION);
        return body.map(|(_, body, _)| body.name.clone()).unwrap_or_default();
    }
    let nv = model.mechanism.velocity_dimension().max(1);
    let v = (direction - TANGENT_DIMENSION * bodies) % nv;
    let joint = model.mechanism.joints().iter().find(|joint| joint.v.contains(&v));
    joint.map(|joint| format!("joint {}", joint.name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_the_largest_magnitude_of_an_eigenvalue() {
        // A turn that grows by 1.3, and a direction that falls alternating.
        let (sin, cos) = 0.7f64.sin_cos();
        let matrix = DMatrix::from_row_slice(
            3,
            3,
            &[1.3 * cos, -1.3 * sin, 0.2, 1.3 * sin, 1.3 * cos, 0.0, 0.0, 0.0, -0.9],
        );
        let (growth, largest) = fastest_growth(&matrix);
        assert!((growth - 1.3).abs() < 1e-6, "{growth}");
        assert!(largest < 2);
        let (growth, largest) = fastest_growth(&DMatrix::from_diagonal(&DVector::from(vec![0.5, -2.0])));
        assert!((growth - 2.0).abs() < 1e-12 && largest == 1);
    }
}
