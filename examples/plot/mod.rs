//! Plots of a few curves as SVG pictures.
#![allow(dead_code, reason = "each example uses its own part of this module")]

use std::fmt::Write;

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 360.0;
/// Left, right, top and bottom margin.
const MARGIN: [f64; 4] = [70.0, 150.0, 34.0, 52.0];
const COLOURS: [&str; 8] =
    ["#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"];

/// Points that belong together.
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Points (x, y).
    pub points: Vec<(f64, f64)>,
    /// A reference: dashed, grey, without marks.
    pub reference: bool,
    /// Whether points are marked.
    pub marks: bool,
}

/// A plot with a logarithmic or linear axis each.
pub struct Plot<'a> {
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    /// Whether x and y are logarithmic.
    pub logarithmic: [bool; 2],
    pub curves: Vec<Curve>,
}

/// One axis: from values to pixels.
struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    pixels: [f64; 2],
}

impl Axis {
    fn new(values: impl Iterator<Item = f64> + Clone, logarithmic: bool, pixels: [f64; 2]) -> Self {
        let scaled = values.map(|v| if logarithmic { v.log10() } else { v });
        let low = scaled.clone().fold(f64::INFINITY, f64::min);
        let high = scaled.fold(f64::NEG_INFINITY, f64::max);
        let space = 0.05 * (high - low).max(1e-12);
        Self { low: low - space, high: high + space, logarithmic, pixels }
    }

    fn at(&self, value: f64) -> f64 {
        let v = if self.logarithmic { value.log10() } else { value };
        self.pixels[0] + (v - self.low) / (self.high - self.low) * (self.pixels[1] - self.pixels[0])
    }

    /// Values to mark, with their labels.
    fn ticks(&self) -> Vec<(f64, String)> {
        if self.logarithmic {
            let decades = self.low.floor() as i32..=self.high.ceil() as i32;
            let wide = self.high - self.low > 1.5;
            let factors: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let all = decades.flat_map(|d| factors.iter().map(move |f| f * 10f64.powi(d)));
            let inside = all.filter(|v| (self.low..=self.high).contains(&v.log10()));
            return inside.map(|v| (v, label(v))).collect();
        }
        let raw = (self.high - self.low) / 5.0;
        let unit = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * unit).find(|s| *s >= raw).unwrap_or(raw);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|i| (i as f64 * step, label(i as f64 * step))).collect()
    }
}

fn label(v: f64) -> String {
    if v == 0.0 || (1e-3..1e5).contains(&v.abs()) {
        format!("{}", (v * 1e9).round() / 1e9)
    } else {
        format!("{v:.0e}")
    }
}

impl Plot<'_> {
    /// The plot as an SVG document.
    pub fn svg(&self) -> String {
        let points = || self.curves.iter().flat_map(|c| c.points.iter());
        let right = WIDTH - MARGIN[1];
        let bottom = HEIGHT - MARGIN[3];
        let x = Axis::new(points().map(|p| p.0), self.logarithmic[0], [MARGIN[0], right]);
        let y = Axis::new(points().map(|p| p.1), self.logarithmic[1], [bottom, MARGIN[2]]);
        let mut out = String::new();
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>"
        );
        let text = |out: &mut String, x: f64, y: f64, anchor: &str, s: &str| {
            let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{s}</text>");
        };
        let centre = 0.5 * (MARGIN[0] + right);
        text(&mut out, centre, 20.0, "middle", self.title);
        text(&mut out, centre, HEIGHT - 12.0, "middle", self.x);
        let height = 0.5 * (MARGIN[2] + bottom);
        let _ = writeln!(
            out,
            "<text x=\"16\" y=\"{height}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {height})\">{}</text>",
            self.y
        );
        for (v, name) in x.ticks() {
            let at = x.at(v);
            let _ =
                writeln!(out, "<path d=\"M{at:.1} {}V{bottom}\" stroke=\"#ddd\" fill=\"none\"/>", MARGIN[2]);
            text(&mut out, at, bottom + 16.0, "middle", &name);
        }
        for (v, name) in y.ticks() {
            let at = y.at(v);
            let _ =
                writeln!(out, "<path d=\"M{} {at:.1}H{right}\" stroke=\"#ddd\" fill=\"none\"/>", MARGIN[0]);
            text(&mut out, MARGIN[0] - 6.0, at + 4.0, "end", &name);
        }
        let _ = writeln!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"black\"/>",
            MARGIN[0],
            MARGIN[2],
            right - MARGIN[0],
            bottom - MARGIN[2]
        );
        for (i, curve) in self.curves.iter().enumerate() {
            let colour = if curve.reference { "#888" } else { COLOURS[i % COLOURS.len()] };
            let dash = if curve.reference { " stroke-dasharray=\"5 4\"" } else { "" };
            let mut d = String::new();
            for (k, p) in curve.points.iter().enumerate() {
                let _ = write!(d, "{}{:.1} {:.1}", if k == 0 { "M" } else { "L" }, x.at(p.0), y.at(p.1));
            }
            let _ = writeln!(
                out,
                "<path d=\"{d}\" stroke=\"{colour}\" stroke-width=\"1.6\" fill=\"none\"{dash}/>"
            );
            if curve.marks {
                for p in &curve.points {
                    let _ = writeln!(
                        out,
                        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                        x.at(p.0),
                        y.at(p.1)
                    );
                }
            }
            let line = MARGIN[2] + 12.0 + 18.0 * i as f64;
            let _ = writeln!(
                out,
                "<path d=\"M{} {}h18\" stroke=\"{colour}\" stroke-width=\"2\" fill=\"none\"{dash}/>",
                right + 8.0,
                line - 4.0
            );
            text(&mut out, right + 30.0, line, "start", &curve.name);
        }
        out + "</svg>\n"
    }
}

/// Plots one below the other in one SVG document.
pub fn stack(plots: &[Plot]) -> String {
    let height = HEIGHT * plots.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\">\n"
    );
    for (i, plot) in plots.iter().enumerate() {
        let place = format!("<svg y=\"{}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" ", HEIGHT * i as f64);
        out += &plot.svg().replacen("<svg ", &place, 1);
    }
    out + "</svg>\n"
}
