//! How often gradient checks of random scenes are right: the verdicts of many scenes of every kind
//! of step.
//!
//! ```sh
//! cargo run --release --example gradient_check_study -- 1000
//! ```
//!
//! All derivatives are right, so that every row that says otherwise is a false alarm and is
//! printed with the number of its scene. With `planted` as a second argument each body is
//! slowed by a drag whose derivative is off by a hundredth, and scenes in which no row says so are
//! printed. A third argument is the number of the first scene.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use isobar::check::{CheckSettings, GradientReport, Verdict, check_scene};
use isobar::io::Scene;
use rayon::prelude::*;

#[path = "../tests/support/checked_scenes.rs"]
mod checked_scenes;
#[path = "../tests/support/folder.rs"]
mod folder;

use checked_scenes::{CheckedScene, Drag, FAMILIES, KINDS, has_free_bodies};

/// Steps of a rollout.
const STEPS: usize = 10;
/// The verdicts, in the order of the table.
const VERDICTS: [Verdict; 5] = [Verdict::Ok, Verdict::Zero, Verdict::Kink, Verdict::Noisy, Verdict::Wrong];

/// The check of one scene; what it failed for if it did.
fn checked(scene: &CheckedScene, planted: bool) -> Result<GradientReport, String> {
    let folder = folder::Folder::new("gradient-check-study");
    let path = folder.file("scene.toml", &scene.text);
    let loaded = Scene::load(&path).map_err(|e| e.to_string())?;
    let rollout = loaded.rollout(STEPS as f64 * loaded.time_step).map_err(|e| e.to_string())?;
    let check = CheckSettings::default();
    let report = match planted {
        true => check_scene(&rollout.under(&Drag { coefficient: 20.0, wrong: true }), &check),
        false => check_scene(&rollout, &check),
    };
    report.map_err(|e| e.to_string())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let count: u64 = arguments.first().map_or(Ok(60), |a| a.parse())?;
    let planted = arguments.get(1).is_some_and(|a| a == "planted");
    let first: u64 = arguments.get(2).map_or(Ok(0), |a| a.parse())?;
    let start = Instant::now();
    let results: Vec<_> = (first..first + count)
        .into_par_iter()
        .map(|seed| {
            let scene = checked_scenes::scene(seed);
            let report = checked(&scene, planted);
            if let Ok(report) = &report {
                let wrong = report.rows.iter().filter(|r| r.comparison.verdict == Verdict::Wrong);
                for row in wrong.take(if planted { 0 } else { 3 }) {
                    let c = &row.comparison;
                    println!(
                        "scene {seed}, {} {}: {} {} by {}: {:e}, difference {:e} ± {:.0e} (one-sided {:e}, {:e}), {}",
                        KINDS[scene.kind], FAMILIES[scene.family], row.quantity, row.component, row.parameter,
                        c.claimed, c.difference, c.difference_error, c.one_sided[0], c.one_sided[1], c.note
                    );
                }
            }
            (seed, scene, report)
        })
        .collect();
    let mut table: BTreeMap<(usize, usize), [usize; 7]> = BTreeMap::new();
    let (mut undecided, mut over_budget, mut worst_way) = (0, 0, 0.0_f64);
    for (seed, scene, report) in &results {
        let row = table.entry((scene.kind, scene.family)).or_default();
        row[0] += 1;
        match report {
            Ok(report) => {
                for (count, verdict) in row[1..].iter_mut().zip(VERDICTS) {
                    *count += report.count(verdict);
                }
                let is_right = report.count(Verdict::Wrong) == 0;
                row[6] += usize::from(!is_right);
                undecided += report.undecided();
                over_budget += usize::from(report.is_undecided());
                report.ways.iter().for_each(|way| worst_way = worst_way.max(way.worst));
                if planted && is_right && has_free_bodies(scene.family) {
                    println!("scene {seed}: {} {}: not found", KINDS[scene.kind], FAMILIES[scene.family]);
                }
            }
            Err(error) => println!("scene {seed}: {} {}: {error}", KINDS[scene.kind], FAMILIES[scene.family]),
        }
    }
    println!(
        "{:20} {:20} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>12}",
        "kind", "family", "scenes", "ok", "zero", "kink", "noisy", "wrong", "with a wrong"
    );
    let mut sum = [0; 7];
    for ((kind, family), row) in table {
        let [scenes, ok, zero, kink, noisy, wrong, alarms] = row;
        println!(
            "{:20} {:20} {scenes:>6} {ok:>8} {zero:>8} {kink:>8} {noisy:>8} {wrong:>8} {alarms:>12}",
            KINDS[kind], FAMILIES[family]
        );
        sum.iter_mut().zip(row).for_each(|(s, r)| *s += r);
    }
    let [scenes, ok, zero, kink, noisy, wrong, alarms] = sum;
    println!("{:41} {scenes:>6} {ok:>8} {zero:>8} {kink:>8} {noisy:>8} {wrong:>8} {alarms:>12}", "all");
    println!(
        "{undecided} undecided (noisy, and kinks whose sides are not told); {over_budget} scenes have more than may be; \
         ways of making gradients agree to {worst_way:.1e}; {:.1} s",
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
