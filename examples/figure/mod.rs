//! Figures of a few curves as SVG pictures, drawn by the crate plotters.

use std::error::Error;
use std::ops::Range;
use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Width and height of a plot with its legend, and the width of the legend.
const SIZE: [u32; 2] = [540, 360];
const LEGEND: u32 = 145;
/// Units that a pixel is divided into: plotters rounds what it draws to whole units.
const FINE: u32 = 4;
/// Colours that are told apart by everyone (Okabe and Ito 2008), without yellow.
const COLOURS: [(u8, u8, u8); 6] =
    [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (230, 159, 0)];

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

/// Draws plots one below the other.
pub fn draw(path: impl AsRef<Path>, plots: &[Plot]) -> Result<(), Box<dyn Error>> {
    let [width, height] = [SIZE[0], SIZE[1] * plots.len() as u32];
    let fine = [width, height].map(|size| FINE * size);
    let mut svg = String::new();
    {
        let picture = SVGBackend::with_string(&mut svg, fine.into()).into_drawing_area();
        picture.fill(&WHITE)?;
        for (area, plot) in picture.split_evenly((plots.len(), 1)).iter().zip(plots) {
            let points = || plot.curves.iter().flat_map(|curve| &curve.points);
            let [x_is_log, y_is_log] = plot.logarithmic;
            let x = range(points().map(|p| p.0), x_is_log);
            let y = range(points().map(|p| p.1), y_is_log);
            let log = |range: Range<f64>| range.clone().log_scale().with_key_points(ticks(&range));
            match plot.logarithmic {
                [false, false] => plot.draw(area, x, y)?,
                [false, true] => plot.draw(area, x, log(y))?,
                [true, false] => plot.draw(area, log(x), y)?,
                [true, true] => plot.draw(area, log(x), log(y))?,
            }
        }
        picture.present()?;
    }
    // Shown in pixels.
    let size = |[width, height]: [u32; 2]| format!("width=\"{width}\" height=\"{height}\"");
    std::fs::write(path, svg.replacen(&size(fine), &size([width, height]), 1))?;
    Ok(())
}

/// The values of an axis, with some space at both ends.
fn range(values: impl Iterator<Item = f64>, is_logarithmic: bool) -> Range<f64> {
    let scaled = values.map(|v| if is_logarithmic { v.log10() } else { v });
    let [low, high] = scaled.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], v| [a.min(v), b.max(v)]);
    let space = 0.05 * (high - low).max(1e-12);
    let [low, high] = [low - space, high + space];
    if is_logarithmic { 10f64.powf(low)..10f64.powf(high) } else { low..high }
}

/// What is marked on a logarithmic axis: decades, where there are many some of them, where few also 2 and 5.
fn ticks(range: &Range<f64>) -> Vec<f64> {
    let [low, high] = [range.start.log10(), range.end.log10()];
    let factors: &[f64] = if high - low > 1.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let every = ((high - low) / 8.0).ceil() as i32;
    let decades = (low.floor() as i32..=high.ceil() as i32).filter(|decade| decade % every == 0);
    let all = decades.flat_map(|decade| factors.iter().map(move |f| f * 10f64.powi(decade)));
    all.filter(|v| range.contains(v)).collect()
}

/// A value beside its mark.
fn label(v: &f64, is_logarithmic: bool) -> String {
    if is_logarithmic && !(1e-3..1e5).contains(v) {
        return format!("{v:.0e}");
    }
    // Without rounding errors, and without the sign of a negative zero.
    format!("{}", (v * 1e9).round() / 1e9 + 0.0)
}

impl Plot<'_> {
    fn draw<X, Y>(&self, area: &DrawingArea<SVGBackend, Shift>, x: X, y: Y) -> Result<(), Box<dyn Error>>
    where
        X: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
        Y: AsRangedCoord<Value = f64, CoordDescType: ValueFormatter<f64>>,
    {
        let px = |size: u32| (FINE * size) as i32;
        // Of what plotters takes for the size of a font four fifths are its size in SVG.
        let font = |size: u32| ("sans-serif", px(size) * 5 / 4);
        let (area, legend) = area.split_horizontally(px(SIZE[0] - LEGEND));
        let mut chart = ChartBuilder::on(&area)
            .caption(self.title, font(14))
            .margin(px(10))
            .x_label_area_size(px(42))
            .y_label_area_size(px(58))
            .build_cartesian_2d(x, y)?;
        let [x_is_log, y_is_log] = self.logarithmic;
        chart
            .configure_mesh()
            .max_light_lines(0)
            .bold_line_style(RGBColor(221, 221, 221).stroke_width(FINE))
            .axis_style(BLACK.stroke_width(FINE))
            .label_style(font(12))
            .axis_desc_style(font(12))
            .x_desc(self.x)
            .y_desc(self.y)
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&|v| label(v, x_is_log))
            .y_label_formatter(&|v| label(v, y_is_log))
            .set_all_tick_mark_size(px(4))
            .draw()?;
        let mut colours = COLOURS.iter().cycle();
        // Several references differ by the length of their dashes.
        let mut dashes = (1..).map(|n| px(5 * n));
        for (curve, line) in self.curves.iter().zip(0..) {
            let points = curve.points.iter().copied();
            let at = px(40 + 19 * line);
            let sample = [(0, at), (px(24), at)];
            if curve.reference
                && let Some(dash) = dashes.next()
            {
                let style = RGBColor(136, 136, 136).stroke_width(2 * FINE);
                chart.draw_series(DashedLineSeries::new(points, dash, px(4), style))?;
                legend.draw(&DashedPathElement::new(sample, dash, px(4), style))?;
            } else if let Some(&(r, g, b)) = colours.next() {
                let style = RGBColor(r, g, b).stroke_width(2 * FINE).filled();
                let marks = if curve.marks { 3 * FINE } else { 0 };
                chart.draw_series(LineSeries::new(points, style).point_size(marks))?;
                legend.draw(&PathElement::new(sample, style))?;
            }
            let name = font(12).into_text_style(&legend).pos(Pos::new(HPos::Left, VPos::Center));
            legend.draw(&Text::new(curve.name.as_str(), (px(30), at), name))?;
        }
        Ok(())
    }
}
