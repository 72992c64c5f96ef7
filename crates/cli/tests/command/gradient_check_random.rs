//! Gradient checks of random scenes of every kind of step: a right derivative is never called
//! wrong, at aligned starts and in chatter either, and a wrong one is found. For more scenes see
//! `examples/gradient_check_study.rs`.

use isobar::check::{CheckSettings, GradientReport, Verdict, check_scene};
use isobar::io::Scene;
use isobar::rollout::SimulationError;
use rayon::prelude::*;

use crate::checked_scenes::{Drag, FAMILIES, KINDS, has_free_bodies, scene};
use crate::folder::Folder;

/// Steps of a rollout, a fifth of those of the study, whose first scenes these are.
const STEPS: usize = 2;

/// The report of a scene; none where its explicit steps are too long for it.
fn checked(seed: u64, wrong: bool) -> Option<GradientReport> {
    let folder = Folder::new("gradient-check-random");
    let path = folder.file("scene.toml", scene(seed).text);
    let loaded = Scene::load(&path).expect("a valid scene");
    let rollout = loaded.rollout(STEPS as f64 * loaded.time_step).expect("a valid solver");
    let drag = Drag { coefficient: if wrong { 20.0 } else { 0.0 }, wrong };
    // Places and meshes, which are many, in a part of the scenes.
    let shapes = !wrong && seed % 8 == 1;
    // Velocities, which drag depends on, and something that it does not.
    let only = if wrong { vec![".v".into(), "friction".into()] } else { Vec::new() };
    // As many as like may be undecided: nothing is looked at beside.
    let (vertices, undecided) = (usize::from(shapes), 1.0);
    let settings = CheckSettings { only, places: shapes, vertices, undecided, ..Default::default() };
    match check_scene(&rollout.under(&drag), &settings) {
        Ok(report) => Some(report),
        Err(SimulationError::NotFinite { .. }) => None,
        Err(error) => panic!("scene {seed}: {error}"),
    }
}

#[test]
fn right_derivatives_are_never_wrong() {
    // Every kind of step with every third family, every family with every third kind.
    let kinds = KINDS.len() as u64;
    let is_taken = |seed: &u64| (seed % kinds + seed / kinds).is_multiple_of(3);
    let chosen: Vec<u64> = (0..kinds * FAMILIES.len() as u64).filter(is_taken).collect();
    let count = chosen.len();
    let checked = |seed: u64| Some((seed, checked(seed, false)?));
    let (seeds, reports): (Vec<u64>, Vec<GradientReport>) =
        chosen.into_par_iter().filter_map(checked).unzip();
    assert!(10 * reports.len() >= 9 * count, "{} of {count} scenes", reports.len());
    let all = |verdict| reports.iter().map(|report| report.count(verdict)).sum::<usize>();
    let counts = [Verdict::Ok, Verdict::Zero, Verdict::Kink, Verdict::Noisy, Verdict::Wrong].map(all);
    println!("{count} scenes: ok/zero/kink/noisy/wrong {counts:?}");
    for (seed, report) in seeds.iter().zip(&reports) {
        let wrong: Vec<_> = report.rows.iter().filter(|r| r.comparison.verdict == Verdict::Wrong).collect();
        assert!(wrong.is_empty(), "scene {seed}: {wrong:#?}");
    }
    let [ok, _, kink, noisy, _] = counts;
    assert!(ok > 4 * (kink + noisy), "{counts:?}");
}

#[test]
fn a_wrong_derivative_is_found_in_every_kind_of_step_and_at_aligned_starts() {
    // One scene of each kind of step, the families by turns. Drag acts on free bodies.
    let families: Vec<usize> = (0..FAMILIES.len()).filter(|&f| has_free_bodies(f)).collect();
    let seeds: Vec<u64> =
        (0..KINDS.len()).map(|k| (k + KINDS.len() * families[k % families.len()]) as u64).collect();
    let found: Vec<(u64, usize, usize)> = seeds
        .into_par_iter()
        .filter_map(|seed| {
            let report = checked(seed, true)?;
            let wrong = |r: &&isobar::check::ReportRow| r.comparison.verdict == Verdict::Wrong;
            let by_velocity = report.rows.iter().filter(wrong).filter(|r| r.parameter.contains(".v")).count();
            let wrenches = report.rows.iter().filter(wrong).filter(|r| !r.quantity.contains("after")).count();
            Some((seed, by_velocity, wrenches))
        })
        .collect();
    assert!(found.len() + 1 >= KINDS.len(), "{found:?}");
    for (seed, by_velocity, wrenches) in found {
        assert!(by_velocity > 0, "scene {seed}: not found");
        assert_eq!(wrenches, 0, "scene {seed}: wrenches do not depend on drag");
    }
}
