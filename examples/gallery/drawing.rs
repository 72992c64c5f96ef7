//! Pieces of surfaces and sections, divided into bands of colour, as SVG.

use std::fmt::Write;

use nalgebra::{Vector2, Vector3};

use crate::viridis::colour;

/// Bands that colours distinguish.
const BANDS: usize = 12;
/// Where a picture shows its plane: the point in the middle, its place in pixels, and pixels per metre; y points up.
#[derive(Clone, Copy)]
pub struct View {
    pub middle: Vector2<f64>,
    pub at: [f64; 2],
    pub scale: f64,
}

impl View {
    pub fn place(&self, point: &Vector2<f64>) -> [f64; 2] {
        let d = (point - self.middle) * self.scale;
        [self.at[0] + d.x, self.at[1] - d.y]
    }

    /// A line through points, as the data of an SVG path.
    pub fn path(&self, points: &[Vector2<f64>], closed: bool) -> String {
        let mut data = String::new();
        for (k, point) in points.iter().enumerate() {
            let [x, y] = self.place(point);
            let _ = write!(data, "{}{x:.1} {y:.1}", if k == 0 { "M" } else { "L" });
        }
        if closed { data + "Z" } else { data }
    }
}

/// A convex polygon in the plane of a picture, with a value at each corner.
#[derive(Clone)]
pub struct Piece(pub Vec<(Vector2<f64>, f64)>);

impl Piece {
    /// The part where the value is at least (`sign` 1) or at most (−1) a level.
    fn part(&self, level: f64, sign: f64) -> Self {
        let mut part = Vec::new();
        for (k, (point, value)) in self.0.iter().enumerate() {
            let (next, other) = &self.0[(k + 1) % self.0.len()];
            let [inside, next_inside] = [value, other].map(|v| sign * (v - level) >= 0.0);
            if inside {
                part.push((*point, *value));
            }
            if inside != next_inside {
                part.push((point.lerp(next, (level - value) / (other - value)), level));
            }
        }
        Self(part)
    }
}

/// Draws pieces in bands of colour, with the highest value at the top.
pub fn bands(svg: &mut String, view: &View, pieces: &[Piece], highest: f64) {
    let level = |band: usize| highest * band as f64 / BANDS as f64;
    for band in 0..BANDS {
        let mut data = String::new();
        for piece in pieces {
            let part = piece.part(level(band), 1.0);
            let part = if band + 1 < BANDS { part.part(level(band + 1), -1.0) } else { part };
            if part.0.len() > 2 {
                let points: Vec<Vector2<f64>> = part.0.iter().map(|p| p.0).collect();
                data += &view.path(&points, true);
            }
        }
        let fill = colour((band as f64 + 0.5) / BANDS as f64);
        // The strokes close the hairlines between neighbours.
        if !data.is_empty() {
            let _ =
                writeln!(svg, "<path d=\"{data}\" fill=\"{fill}\" stroke=\"{fill}\" stroke-width=\".5\"/>");
        }
    }
}

/// The colours with their values beside them.
pub fn colour_bar(svg: &mut String, at: [f64; 2], highest: f64, unit: &str) {
    let [x, top] = at;
    let height = 150.0 / BANDS as f64;
    for band in 0..BANDS {
        let y = top + 150.0 - height * (band as f64 + 1.0);
        let fill = colour((band as f64 + 0.5) / BANDS as f64);
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y:.1}\" width=\"14\" height=\"{:.1}\" fill=\"{fill}\"/>",
            height + 0.3
        );
    }
    for k in 0..=3 {
        let (value, y) = (highest * f64::from(k) / 3.0, top + 150.0 * (1.0 - f64::from(k) / 3.0));
        text(svg, [x + 20.0, y + 4.0], 12, "start", &format!("{value:.1} {unit}"));
    }
}

pub fn text(svg: &mut String, at: [f64; 2], size: u32, anchor: &str, words: &str) {
    let [x, y] = at;
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"#222\">{words}</text>"
    );
}

/// An arrow between two places.
pub fn arrow(svg: &mut String, from: [f64; 2], to: [f64; 2], colour: &str, width: f64) {
    let ([x, y], [u, v]) = (from, to);
    let along = Vector2::new(u - x, v - y);
    let Some(unit) = along.try_normalize(1e-9) else { return };
    let (side, head) = (Vector2::new(-unit.y, unit.x), (3.5 * width).min(0.5 * along.norm()));
    let tip = Vector2::new(u, v);
    let [a, b] = [1.0, -1.0].map(|s| tip - unit * head + side * (0.5 * s * head));
    let back = tip - unit * (0.8 * head);
    let _ = writeln!(
        svg,
        "<path d=\"M{x:.1} {y:.1}L{:.1} {:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\
         <path d=\"M{u:.1} {v:.1}L{:.1} {:.1}L{:.1} {:.1}Z\" fill=\"{colour}\"/>",
        back.x, back.y, a.x, a.y, b.x, b.y
    );
}

/// An empty picture; [`finished`] ends it.
pub fn begun(width: u32, height: u32) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" stroke-linejoin=\"round\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    )
}

pub fn finished(svg: String) -> String {
    svg + "</svg>\n"
}

/// The polygon in which a plane through a point cuts a convex body given by its edges, with a linear function's
/// values; corners in order around the middle.
pub fn section(
    edges: impl Iterator<Item = [(Vector3<f64>, f64); 2]>,
    normal: &Vector3<f64>,
    offset: f64,
    onto: impl Fn(&Vector3<f64>) -> Vector2<f64>,
) -> Piece {
    let mut corners = Vec::new();
    for [(a, u), (b, v)] in edges {
        let [d, e] = [a.dot(normal) - offset, b.dot(normal) - offset];
        if (d < 0.0) != (e < 0.0) {
            let part = d / (d - e);
            corners.push((onto(&a.lerp(&b, part)), u + (v - u) * part));
        }
    }
    let middle = corners.iter().map(|c| c.0).sum::<Vector2<f64>>() / corners.len().max(1) as f64;
    let angle = |p: &Vector2<f64>| (p.y - middle.y).atan2(p.x - middle.x);
    corners.sort_by(|a, b| angle(&a.0).total_cmp(&angle(&b.0)));
    Piece(corners)
}
