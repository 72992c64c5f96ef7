//! The derivatives of a scene against differences, in the midst of its motion.

use isobar::Scene;
use isobar::check::{CheckSettings, Verdict, check_scene};
use isobar::multibody::State;
use isobar::rollout::{Controls, Rollout};

use crate::page::{Failure, Row, row};

/// Steps that are differentiated.
pub const STEPS: usize = 3;

/// How many derivatives there are of wrenches, of one step and of a few, from the state at a time on, with respect to what has one of
/// these in its name, or to all that goes in, and how many of them differences refute: a row after words for where it is.
pub fn derivatives_by(scene: &Scene, time: f64, place: &str, only: &[&str]) -> Result<Row, Failure> {
    let states = scene.rollout(time)?.simulate()?.states;
    let times: Vec<f64> = (0..=STEPS).map(|k| time + k as f64 * scene.time_step).collect();
    let controls = Controls::of_commands(&scene.commands, &times);
    let [all, wrong] = checked_at(scene, &states[states.len() - 1], &controls, only)?;
    Ok(row(format!("derivatives {place} that differences refute, of {all}"), "0", wrong as f64, 0.0))
}

/// With respect to all that goes in.
pub fn derivatives(scene: &Scene, time: f64, place: &str) -> Result<Row, Failure> {
    derivatives_by(scene, time, place, &[])
}

/// Their numbers from a state on, by given controls.
pub fn checked_at(
    scene: &Scene,
    state: &State,
    controls: &Controls,
    only: &[&str],
) -> Result<[usize; 2], Failure> {
    // A little displaced, so that nothing is aligned.
    let displaced: Vec<f64> = (0..state.tangent_dimension()).map(|i| 1e-4 * (0.7 + i as f64).sin()).collect();
    let state = state.moved(&displaced);
    let until = STEPS as f64 * scene.time_step;
    let rollout =
        Rollout::new(&scene.model, &state, scene.simulation_settings()?, until).with_controls(controls);
    let only = only.iter().map(|name| (*name).to_owned()).collect();
    let settings = CheckSettings { only, places: false, vertices: 0, steps: 9, ..Default::default() };
    let report = check_scene(&rollout, &settings)?;
    Ok([report.rows.len(), report.count(Verdict::Wrong)])
}
