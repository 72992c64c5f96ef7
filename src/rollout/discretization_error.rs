//! How far a simulation is from the motion that shorter and shorter steps tend to, estimated from
//! a second one with half the step (Richardson's extrapolation).

use serde::Serialize;

use super::simulate::Trajectory;
use crate::multibody::Model;
use crate::rollout::SimulationSettings;
use crate::spatial::rotation_between;
use crate::step::{ErrorControlled, Integrator};

/// The estimated error of one body or joint.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DiscretizationError {
    /// Name of the body or joint.
    pub name: String,
    /// The error in m of the position of a free body's origin, or of a joint's coordinates that are
    /// lengths: at the end, and the largest at any time.
    pub position: [f64; 2],
    /// The error in rad of a free body's orientation, or of a joint's coordinates that are angles: at
    /// the end, and the largest at any time.
    pub angle: [f64; 2],
}

/// Settings for a finer simulation of the same motion, to estimate errors with: half the step, or a tenth of
/// the accuracy where the error is controlled.
pub fn finer_settings(settings: &SimulationSettings) -> SimulationSettings {
    match settings.integrator {
        Integrator::ErrorControlled(control) => {
            let control = ErrorControlled { accuracy: 0.1 * control.accuracy, ..control };
            SimulationSettings { integrator: Integrator::ErrorControlled(control), ..*settings }
        }
        _ => SimulationSettings { time_step: 0.5 * settings.time_step, ..*settings },
    }
}

/// Estimates the errors of a trajectory from a finer one of the same motion (see [`finer_settings`]), for
/// each free body and each joint of the model.
///
/// An integrator of order p has an error of about 2ᵖ/(2ᵖ − 1) times the difference between the two; one whose
/// error is controlled has, for 2ᵖ, the part of the error that a tenth of the accuracy leaves, and positions are not said
/// to be better than that tenth, since the two may agree by chance. The
/// estimate holds as long as both simulations have the same contacts at nearly the same times. If a body
/// bounces in only one of them, the difference shows that the error is unknown. States of the same time are
/// compared, and the last with the last.
pub fn discretization_errors(
    model: &Model,
    integrator: Integrator,
    coarse: &Trajectory,
    fine: &Trajectory,
) -> Vec<DiscretizationError> {
    let (ratio, states_in_a_step, of_fine) = match integrator {
        Integrator::ErrorControlled(control) => (control.gain_of_a_tenth(), 1, 0.1 * control.accuracy),
        _ => (2f64.powi(integrator.order()), 2, 0.0),
    };
    let factor = ratio / (ratio - 1.0);
    let free = model.free_bodies().map(|(_, body, _)| body.name.clone());
    let joints = model.mechanism.joints_with_coordinates().map(|joint| joint.name.clone());
    let none = |name| DiscretizationError { name, position: [0.0; 2], angle: [0.0; 2] };
    let mut errors: Vec<DiscretizationError> = free.chain(joints).map(none).collect();
    let mut tangent = vec![0.0; 2 * model.mechanism.velocity_dimension()];
    let last = coarse.states.len().saturating_sub(1);
    for (index, state) in coarse.states.iter().enumerate() {
        let matching =
            if index == last { fine.states.last() } else { fine.states.get(states_in_a_step * index) };
        let Some(other) = matching else { continue };
        let bodies = state.bodies.iter().zip(&other.bodies).map(|(a, b)| {
            let turn = rotation_between(&a.orientation, &b.orientation);
            ((a.position - b.position).norm(), turn.norm())
        });
        state.joints.difference(&other.joints, &mut tangent);
        let of_joints = model.mechanism.joints_with_coordinates().map(|joint| {
            let mut sums = (0.0, 0.0);
            for (local, k) in joint.v.clone().enumerate() {
                let sum = if joint.kind.is_translation(local) { &mut sums.0 } else { &mut sums.1 };
                *sum += tangent[k] * tangent[k];
            }
            (sums.0.sqrt(), sums.1.sqrt())
        });
        for (error, (position, angle)) in errors.iter_mut().zip(bodies.chain(of_joints)) {
            let position = if position > 0.0 { factor * position + of_fine } else { 0.0 };
            for (both, now) in [(&mut error.position, position), (&mut error.angle, factor * angle)] {
                *both = [now, both[1].max(now)];
            }
        }
    }
    errors
}
