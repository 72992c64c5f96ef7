//! What a simulation's steps were too long for: printed once for each pair of bodies.

use std::collections::BTreeSet;

use super::simulate::{Sample, Samples};
use crate::contact::{PairMaterial, Workspace, contact};
use crate::multibody::{BodyFrame, BodyPair, GeometryPair, Model, NoForces, with_pair};
use crate::rollout::SimulationSettings;
use crate::step::{Integrator, StepWorkspace};

/// An explicit method is unstable where friction changes a slip velocity by more than this times
/// itself over a step.
const EXPLICIT_LIMIT: f64 = 2.0;

/// The warnings about a simulation, of which some states are looked at.
pub(super) fn step_warnings(model: &Model, samples: &Samples, settings: &SimulationSettings) -> Vec<String> {
    let dt = settings.time_step;
    let mut workspace = StepWorkspace::default();
    let (mut scratch, mut frames) = (Workspace::default(), Vec::new());
    let (mut named, mut warnings) = (BTreeSet::new(), Vec::new());
    let mut warn = |bodies: BodyPair, text: String| {
        if named.insert(bodies) {
            let [a, b] = [bodies.a, bodies.b].map(|i| &model.bodies[i].name);
            warnings.push(format!("warning: `{a}` and `{b}`: {text}"));
        }
    };
    for Sample { time, state, commands } in &samples.all {
        let time = *time;
        match settings.integrator {
            Integrator::VelocityLevel(_) => {
                let step =
                    settings.integrator.step(model, state, time, dt, &NoForces, commands, &mut workspace);
                if step.is_err() {
                    continue;
                }
                for glide in workspace.gliding() {
                    let text = format!(
                        "sliding at {:.2e} m/s this solver holds them {:.2e} m apart, more than the {:.2e} m that they overlap at rest, so that contact and friction are lost (t = {time} s); use \"lagged\" or \"tamsi\", or shorter steps",
                        glide.slip_velocity, glide.gap, glide.depth
                    );
                    warn(model.pairs[glide.pair].bodies, text);
                }
            }
            Integrator::SemiImplicitEuler | Integrator::RungeKutta4 => {
                model.body_frames(state, &mut frames);
                for pair in &model.pairs {
                    if let Some(ratio) = friction_ratio(model, &frames, pair, dt, &mut scratch) {
                        let text = format!(
                            "friction is too stiff for the step: μ N Δt / (m v_s) = {ratio:.1} at t = {time} s, above {EXPLICIT_LIMIT} sticking contact chatters; raise contact.stiction_velocity, shorten the steps, or use a velocity-level solver"
                        );
                        warn(pair.bodies, text);
                    }
                }
            }
        }
    }
    warnings
}

/// μ N δt / (m v_s) of a pair that sticks, where it is above the limit of explicit methods; m is
/// the reduced mass of both bodies, of which those on joints count as immovable.
fn friction_ratio(
    model: &Model,
    frames: &[BodyFrame],
    pair: &GeometryPair,
    dt: f64,
    scratch: &mut Workspace,
) -> Option<f64> {
    let v_s = model.contact.stiction_velocity;
    let BodyPair { a, b } = pair.bodies;
    with_pair(model, frames, pair, |query| {
        let patch = contact(query, &model.contact, scratch)?;
        let rigid = [query.a, query.b].map(|c| c.geometry.is_rigid());
        let material = PairMaterial::combine(&query.a.material, rigid[0], &query.b.material, rigid[1]);
        let velocity = |i: usize| {
            frames[i].velocity.shifted(&(patch.centroid - frames[i].pose.translation)).translational
        };
        // Faster sliding is not stiff.
        if (velocity(a) - velocity(b)).norm() > v_s {
            return None;
        }
        let mobility: f64 = [a, b].iter().filter_map(|&i| Some(1.0 / model.bodies[i].mass()?.mass)).sum();
        let force = patch.wrench_on_a.translational.norm();
        let ratio = material.static_friction * force * dt * mobility / v_s;
        (ratio > EXPLICIT_LIMIT).then_some(ratio)
    })
}
