//! Pictures from the side: a bolt at several times, and the hole cut open through its axis.

use std::fmt::Write as _;
use std::path::Path;

use isobar::multibody::BodyState;

use crate::bolt::{BoltMotion, BoltScene};

/// Pixels per metre, and the size of what is seen of each time: half its width, and from which height to which, m.
const SCALE: f64 = 3900.0;
const HALF: f64 = 0.0215;
const FROM: f64 = -0.056;
const TO: f64 = 0.068;
/// Pixels between pictures, and over them.
const GAP: f64 = 10.0;
const HEAD: f64 = 44.0;
/// Points of a circle.
const POINTS: usize = 96;

/// Draws the bolt at times in s, one beside the other, with crosses where it touches the plate.
pub fn draw(
    path: impl AsRef<Path>,
    title: &str,
    scene: &BoltScene,
    motion: &BoltMotion,
    times: &[f64],
) -> std::io::Result<()> {
    let (width, height) = (2.0 * HALF * SCALE, (TO - FROM) * SCALE);
    let (whole, tall) = (GAP + (width + GAP) * times.len() as f64, HEAD + height + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {whole:.0} {tall:.0}\" width=\"{whole:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\"><rect width=\"100%\" height=\"100%\" fill=\"white\"/>\
         <text x=\"{GAP}\" y=\"18\" font-size=\"13\">{title}</text>\n"
    );
    for (k, time) in times.iter().enumerate() {
        let index = ((time / scene.time_step).round() as usize).min(motion.states.len() - 1);
        let left = GAP + (width + GAP) * k as f64;
        let x = |p: f64| left + (p + HALF) * SCALE;
        let y = |p: f64| HEAD + (TO - p) * SCALE;
        let outline = |points: &[[f64; 2]]| {
            let points: Vec<String> =
                points.iter().map(|p| format!("{:.2} {:.2}", x(p[0]), y(p[1]))).collect();
            points.join("L")
        };
        // The plate: on both sides of the hole, down to the end of the picture.
        for side in [1.0, -1.0] {
            let mut cut: Vec<[f64; 2]> =
                scene.hole.iter().map(|p| [side * p[0].min(HALF), p[1].max(FROM)]).collect();
            cut.extend([[0.0, FROM], [side * HALF, FROM]]);
            let _ = writeln!(svg, "<path d=\"M{}Z\" fill=\"#bbb\" stroke=\"#bbb\"/>", outline(&cut));
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{}Z\" fill=\"#0072b2\" fill-opacity=\"0.3\" stroke=\"#0072b2\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{time:.3} s</text>",
            outline(&silhouette(&scene.bolt, &motion.states[index])),
            x(0.0),
            HEAD - 6.0
        );
        for contact in &motion.contacts[index] {
            let (a, b) = (x(contact.point.x) - 4.0, y(contact.point.z) - 4.0);
            let _ = writeln!(
                svg,
                "<path d=\"M{a:.1} {b:.1}l8 8m0 -8l-8 8\" stroke=\"#d55e00\" stroke-width=\"2\"/>"
            );
        }
    }
    svg.push_str("</svg>\n");
    std::fs::write(path, svg)
}

/// What a convex body of revolution covers, seen along y: the hull of its circles.
fn silhouette(corners: &[[f64; 2]], state: &BodyState) -> Vec<[f64; 2]> {
    let pose = state.pose();
    let mut points = Vec::new();
    for &[radius, height] in corners {
        points.extend((0..POINTS).map(|k| {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / POINTS as f64).sin_cos();
            let p = pose * nalgebra::Vector3::new(radius * cos, radius * sin, height);
            [p.x, p.z]
        }));
    }
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    // The lower side from left to right, then the upper one back (Andrew 1979).
    let half = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut hull: Vec<[f64; 2]> = Vec::new();
        for p in points {
            while let [.., a, b] = hull[..]
                && (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) <= 0.0
            {
                hull.pop();
            }
            hull.push(p);
        }
        hull
    };
    let mut hull = half(&mut points.iter().copied());
    hull.extend(half(&mut points.iter().rev().copied()));
    hull
}
