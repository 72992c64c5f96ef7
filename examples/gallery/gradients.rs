//! The derivatives of a scene against differences, in the midst of its motion.

use isobar::Scene;
use isobar::check::{CheckSettings, Verdict, check_scene};
use isobar::rollout::{Controls, Rollout};

use crate::page::Failure;

/// Steps that are differentiated.
const STEPS: usize = 3;

/// How many derivatives there are of wrenches, of one step and of a few with respect to all that goes in, from the state at a
/// time on, and how many of them differences refute.
pub fn checked(scene: &Scene, time: f64) -> Result<[usize; 2], Failure> {
    let states = scene.rollout(time)?.simulate()?.states;
    let state = &states[states.len() - 1];
    // A little displaced, so that nothing is aligned.
    let displaced: Vec<f64> = (0..state.tangent_dimension()).map(|i| 1e-4 * (0.7 + i as f64).sin()).collect();
    let state = state.moved(&displaced);
    let settings = scene.simulation_settings()?;
    let times: Vec<f64> = (0..=STEPS).map(|k| time + k as f64 * settings.time_step).collect();
    let controls = Controls::of_commands(&scene.commands, &times);
    let until = STEPS as f64 * settings.time_step;
    let rollout = Rollout::new(&scene.model, &state, settings, until).with_controls(&controls);
    let report =
        check_scene(&rollout, &CheckSettings { places: false, vertices: 0, steps: 9, ..Default::default() })?;
    Ok([report.rows.len(), report.count(Verdict::Wrong)])
}
