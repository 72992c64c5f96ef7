//! The numbers on the pages in docs/gallery are those that a fresh run gives: of each page the rows that take a moment.

#[path = "../../examples/rigid_contact/bolt.rs"]
#[allow(dead_code, reason = "the tests do not use all of the example")]
mod bolt_scene;
#[path = "../../benches/clock/mod.rs"]
mod clock;
#[path = "../../examples/coin/coin.rs"]
#[allow(dead_code, reason = "the tests do not use all of the example")]
mod coin_scene;
#[path = "../../examples/rigid_contact/scenes.rs"]
#[allow(dead_code, reason = "the tests do not use all of the example")]
mod desk_scene;
#[path = "../../examples/gallery/drawing.rs"]
#[allow(dead_code, reason = "nothing is drawn here")]
mod drawing;
#[path = "../../examples/gallery/experiments/mod.rs"]
mod experiments;
#[path = "../../examples/figure/mod.rs"]
#[allow(dead_code, reason = "nothing is drawn here")]
mod figure;
#[path = "../../examples/gallery/film.rs"]
#[allow(dead_code, reason = "nothing is drawn here")]
mod film;
#[path = "../../examples/gallery/foundation.rs"]
mod foundation;
#[path = "../../examples/gallery/gradients.rs"]
#[allow(dead_code, reason = "the full run alone checks derivatives")]
mod gradients;
#[path = "../../examples/gallery/kinds.rs"]
mod kinds;
#[path = "../../examples/gallery/page.rs"]
#[allow(dead_code, reason = "no page is written here")]
mod page;
#[path = "../../examples/support/film.rs"]
#[allow(dead_code, reason = "nothing is drawn here")]
mod solid_film;
#[path = "../../examples/support/viridis.rs"]
#[allow(dead_code, reason = "nothing is drawn here")]
mod viridis;

use experiments::EXPERIMENTS;
use page::{Row, Run, table};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gallery");

/// Half of the last of the four digits that a page shows, relative to the number.
const SHOWN: f64 = 5e-4;

#[test]
fn pages_have_the_numbers_of_a_fresh_run() {
    for experiment in &EXPERIMENTS {
        let text = std::fs::read_to_string(format!("{FOLDER}/{}.md", experiment.name)).expect("a page");
        let committed = table(&text);
        let fresh =
            (experiment.run)(Run::Short).unwrap_or_else(|error| panic!("{}: {error}", experiment.name));
        assert!(!fresh.rows.is_empty(), "{}: no rows", experiment.name);
        for Row { quantity, value, tolerance, .. } in &fresh.rows {
            let line = committed.iter().find(|cells| cells[0] == *quantity);
            let [.., shown] = line.unwrap_or_else(|| panic!("{}: no row \"{quantity}\"", experiment.name));
            let shown: f64 = shown.parse().unwrap_or_else(|_| panic!("{quantity}: \"{shown}\""));
            let allowed = tolerance * value.abs().max(1.0) + SHOWN * value.abs();
            assert!(
                (shown - value).abs() <= allowed,
                "{}: {quantity}: {shown}, not {value}",
                experiment.name
            );
        }
    }
}

#[test]
fn the_index_has_all_pages() {
    let index = std::fs::read_to_string(format!("{FOLDER}/README.md")).expect("an index");
    for experiment in &EXPERIMENTS {
        let link = format!("({}.md)", experiment.name);
        assert!(index.contains(&link), "{link}");
    }
}
