//! Pictures from above: a body at several times, where it touches, and its equivalent contact point.

use std::fmt::Write as _;
use std::path::Path;

use isobar::multibody::BodyState;
use nalgebra::Vector3;

use crate::scenes::{Motion, STEP};

/// Pixels.
const WIDTH: f64 = 540.0;
const MARGIN: f64 = 44.0;

/// Outlines of a body in its frame, those of its parts that can touch: closed, or a segment of two points.
pub type Outlines = Vec<Vec<Vector3<f64>>>;

/// Draws a motion from above at times in s.
pub fn draw(
    path: impl AsRef<Path>,
    title: &str,
    motion: &Motion,
    times: &[f64],
    outlines: impl Fn(&BodyState) -> Outlines,
) -> std::io::Result<()> {
    let index = |time: f64| ((time / STEP).round() as usize).min(motion.states.len() - 1);
    let shapes: Vec<(usize, Outlines)> = times
        .iter()
        .map(|&time| {
            let i = index(time);
            let pose = motion.states[i].pose();
            let place = |outline: Vec<Vector3<f64>>| outline.into_iter().map(|p| pose * p).collect();
            (i, outlines(&motion.states[i]).into_iter().map(place).collect())
        })
        .collect();
    let centers: Vec<Vector3<f64>> = motion.states.iter().map(|s| s.position).collect();
    let points = || shapes.iter().flat_map(|(_, outlines)| outlines.iter().flatten()).chain(&centers);
    let low = [0, 1].map(|k| points().map(|p| p[k]).fold(f64::INFINITY, f64::min));
    let high = [0, 1].map(|k| points().map(|p| p[k]).fold(f64::NEG_INFINITY, f64::max));
    let scale = (WIDTH - 2.0 * MARGIN) / (high[0] - low[0]);
    let height = (high[1] - low[1]) * scale + 2.0 * MARGIN;
    let x = |p: f64| MARGIN + (p - low[0]) * scale;
    let y = |p: f64| height - MARGIN - (p - low[1]) * scale;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\
         <text x=\"{MARGIN}\" y=\"20\" font-size=\"13\">{title}</text>\n"
    );
    // A scale of 0.1 m.
    let (left, below) = (MARGIN, height - 14.0);
    let _ = writeln!(
        svg,
        "<path d=\"M{left:.1} {below:.1}h{:.1}\" stroke=\"black\" stroke-width=\"2\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">0.1 m</text>",
        0.1 * scale,
        left + 0.1 * scale + 6.0,
        below + 4.0
    );
    let path_of_center: Vec<String> =
        centers.iter().map(|p| format!("{:.1} {:.1}", x(p.x), y(p.y))).collect();
    let _ = writeln!(
        svg,
        "<path d=\"M{}\" fill=\"none\" stroke=\"#0072b2\" stroke-dasharray=\"4 3\"/>",
        path_of_center.join("L")
    );
    for (i, outlines) in &shapes {
        for outline in outlines {
            let corners: Vec<String> =
                outline.iter().map(|p| format!("{:.1} {:.1}", x(p.x), y(p.y))).collect();
            let _ = writeln!(
                svg,
                "<path d=\"M{}Z\" fill=\"#888\" fill-opacity=\"0.25\" stroke=\"black\"/>",
                corners.join("L")
            );
        }
        let center = motion.states[*i].position;
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"none\" stroke=\"#0072b2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" paint-order=\"stroke\" stroke=\"white\" stroke-width=\"3\">{:.2} s</text>",
            x(center.x),
            y(center.y),
            x(center.x) + 10.0,
            y(center.y) + 16.0,
            *i as f64 * STEP
        );
        for contact in &motion.contacts[*i] {
            let (a, b) = (x(contact.point.x), y(contact.point.y));
            let _ = writeln!(
                svg,
                "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"#d55e00\" stroke-width=\"2\"/>",
                a - 4.0,
                b - 4.0
            );
        }
    }
    svg.push_str("</svg>\n");
    std::fs::write(path, svg)
}
