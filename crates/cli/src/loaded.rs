//! Loading a scene, and what to say of it: its warnings, and a table of what was loaded.

use std::path::Path;

use super::error::Error;
use super::messages::{print_warnings, remark};
use isobar::io::reference::FileKind;
use isobar::io::{FileError, LoadedBody, Scene, SceneSummary};

/// The most bodies, and pairs of them, that the table names.
const SHOWN: usize = 20;

/// Loads a scene, with its warnings on standard error.
pub(crate) fn load_scene(path: &Path) -> Result<Scene, Error> {
    let scene = Scene::load(path).map_err(|error| of_kind(path, FileKind::Scene, error))?;
    print_warnings(&scene.warnings);
    Ok(scene)
}

/// Why a file could not be loaded as one of a kind: where it is of another one, that alone.
pub(super) fn of_kind(path: &Path, wanted: FileKind, error: FileError) -> Error {
    match FileKind::of(path) {
        Ok(found) if found != wanted => Error::Kind { path: path.display().to_string(), found, wanted },
        _ => error.into(),
    }
}

/// What to say of a scene whose bodies have skirts of this thickness in metres.
pub(crate) fn skirt_line(thickness: f64) -> Option<String> {
    let millimetres = (thickness * 1e9).round() / 1e6;
    (thickness > 0.0).then(|| format!("with a skirt of {millimetres} mm: forces act before bodies touch"))
}

/// Prints what was loaded on standard error.
pub(super) fn print_loaded(summary: &SceneSummary) {
    for line in lines(summary) {
        remark(line);
    }
}

/// The lines of the table: a row for each body, then the pairs.
fn lines(summary: &SceneSummary) -> Vec<String> {
    let SceneSummary { bodies, pair_count, pairs } = summary;
    let titles =
        ["loaded", "moves", "size, m", "mass, kg", "triangles", "tetrahedra", "materials"].map(str::to_owned);
    let rows: Vec<[String; 7]> = std::iter::once(titles).chain(bodies.iter().take(SHOWN).map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |row: &[String; 7]| {
        let padded = row.iter().zip(widths).map(|(text, width)| format!("{text:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    if bodies.len() > SHOWN {
        lines.push(format!("… and {} bodies more", bodies.len() - SHOWN));
    }
    let named: Vec<String> = pairs.iter().take(SHOWN).map(|[a, b]| format!("{a} – {b}")).collect();
    let more = if *pair_count > SHOWN { format!(", … ({pair_count} in all)") } else { String::new() };
    let names = if named.is_empty() { "no bodies".to_owned() } else { named.join(", ") };
    lines.push(format!("can touch: {names}{more}"));
    lines
}

/// The fields of a body.
fn row(body: &LoadedBody) -> [String; 7] {
    let count = |n: usize| if n == 0 { "–".to_owned() } else { n.to_string() };
    let size = body.size.map(|size| size.map(short).join(" × "));
    let size = match (size, body.unbounded) {
        (Some(size), true) => format!("{size}, and unbounded"),
        (Some(size), false) => size,
        (None, true) => "unbounded".to_owned(),
        (None, false) => "–".to_owned(),
    };
    [
        body.name.clone(),
        body.moves.to_owned(),
        size,
        body.mass.map_or("–".to_owned(), short),
        count(body.triangles),
        count(body.tetrahedra),
        if body.materials.is_empty() { "–".to_owned() } else { body.materials.join(", ") },
    ]
}

/// A number with three digits.
fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.2e}").parse().unwrap_or(x);
    match rounded.abs() {
        usual if usual == 0.0 || (1e-3..1e6).contains(&usual) => format!("{rounded}"),
        _ => format!("{rounded:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (x, text) in
            [(0.1, "0.1"), (0.099999, "0.1"), (12.3456, "12.3"), (0.0, "0"), (4.9e-5, "4.9e-5"), (2e9, "2e9")]
        {
            assert_eq!(short(x), text);
        }
    }

    #[test]
    fn long_scenes_are_cut_short() {
        let body = |i: usize| LoadedBody {
            name: format!("b{i}"),
            moves: "free",
            size: Some([0.1, 0.2, 3e-5]),
            unbounded: false,
            mass: Some(0.25),
            triangles: 0,
            tetrahedra: 12,
            materials: vec!["foam".to_owned()],
        };
        let pairs = (1..30).map(|i| ["b0".to_owned(), format!("b{i}")]).collect();
        let summary = SceneSummary { bodies: (0..30).map(body).collect(), pair_count: 435, pairs };
        let lines = lines(&summary);
        assert_eq!(lines.len(), 1 + SHOWN + 2);
        assert_eq!(lines[0], "loaded  moves  size, m           mass, kg  triangles  tetrahedra  materials");
        assert_eq!(lines[1], "b0      free   0.1 × 0.2 × 3e-5  0.25      –          12          foam");
        assert_eq!(lines[1 + SHOWN], "… and 10 bodies more");
        assert!(lines[2 + SHOWN].ends_with("b0 – b20, … (435 in all)"), "{}", lines[2 + SHOWN]);
    }
}
