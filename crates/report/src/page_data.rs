//! The data of a page: a header in JSON that names arrays, and the arrays, compressed and as text.
//!
//! The bytes before compression are the length of the header (32 bits, little end first), the header,
//! zeros up to a multiple of eight bytes, and the arrays, each of which begins at a multiple of eight
//! bytes. They are compressed by gzip, which browsers undo, and written in base 64.

use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use nalgebra::Vector3;
use serde::Serialize;
use serde_json::{Value, json};

use super::arrow::drawn_force;
use super::bounds::Bounds;
use super::film::{Film, FramePolygon, FrameSurface, single};
use super::page_content::{Chart, Curve, CurveMode, Page, Table};
use super::plots::{Plot, Plots, Series};
use super::shapes::{PartField, PartKind};

/// The most vertices of contact surfaces in a page; of longer films every second, third, … frame has
/// contact surfaces.
const MOST_VERTICES: usize = 1_500_000;

/// The most tetrahedra of pressure fields in a page that is not asked for all: about a tenth of the smallest page.
const MOST_TETRAHEDRA: usize = 10_000;

/// Where an array lies in the binary part.
#[derive(Clone, Copy, Debug, Serialize)]
struct ArrayAt {
    at: usize,
    count: usize,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// The binary part of a page's data.
#[derive(Debug, Default)]
pub(super) struct PageData {
    binary: Vec<u8>,
    has_fields: bool,
    /// The last horizontal coordinates, which the curves of a plot share.
    shared: Option<(Vec<f64>, ArrayAt)>,
}

impl PageData {
    /// The data of a page as text.
    pub fn encode(page: &Page) -> io::Result<String> {
        let fields =
            page.recording.iter().flat_map(|recording| &recording.film.bodies).flat_map(|body| &body.parts);
        let tetrahedra: usize =
            fields.flat_map(|part| &part.field).map(|field| field.mesh.tetrahedra.len()).sum();
        let has_fields = page.has_fine_fields || tetrahedra <= MOST_TETRAHEDRA;
        let mut data = Self { has_fields, ..Self::default() };
        let (beside, names) = page.beside.map_or((None, [""; 2]), |(other, names)| (Some(other), names));
        let films = page.recording.into_iter().chain(beside).map(|recording| &recording.film).zip(names);
        let films: Vec<Value> = films
            .filter(|(film, _)| !film.frames.is_empty())
            .map(|(film, name)| data.film(film, name))
            .collect();
        let of_film = page.recording.map(|recording| charts(&recording.plots)).unwrap_or_default();
        let plots: Vec<Value> = of_film.iter().chain(&page.charts).map(|chart| data.chart(chart)).collect();
        let tables: Vec<Value> = page
            .tables
            .iter()
            .map(|Table { title, is_result, columns, rows }| {
                json!({"title": title, "is_result": is_result, "columns": columns, "rows": rows})
            })
            .collect();
        let header = json!({
            "title": page.title,
            "about": page.about,
            "warnings": page.warnings,
            "films": films,
            "plots": plots,
            "tables": tables,
            "version": page.version,
        });
        let header = serde_json::to_vec(&header)?;
        let length = u32::try_from(header.len()).map_err(io::Error::other)?;
        let end = 4 + header.len();
        let zeros = &[0; 8][..end.next_multiple_of(8) - end];
        packed(&[&length.to_le_bytes(), &header[..], zeros, &data.binary].concat())
    }

    fn array(&mut self, kind: &'static str, count: usize, bytes: impl IntoIterator<Item = u8>) -> ArrayAt {
        self.binary.resize(self.binary.len().next_multiple_of(8), 0);
        let at = self.binary.len();
        self.binary.extend(bytes);
        ArrayAt { at, count, kind }
    }

    fn f32(&mut self, values: impl IntoIterator<Item = f32>) -> ArrayAt {
        let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        self.array("f32", bytes.len() / 4, bytes)
    }

    fn f64(&mut self, values: &[f64]) -> ArrayAt {
        self.array("f64", values.len(), values.iter().flat_map(|x| x.to_le_bytes()))
    }

    fn u32(&mut self, values: impl IntoIterator<Item = u32>) -> ArrayAt {
        let bytes: Vec<u8> = values.into_iter().flat_map(u32::to_le_bytes).collect();
        self.array("u32", bytes.len() / 4, bytes)
    }

    fn u16(&mut self, values: impl IntoIterator<Item = u16>) -> ArrayAt {
        let bytes: Vec<u8> = values.into_iter().flat_map(u16::to_le_bytes).collect();
        self.array("u16", bytes.len() / 2, bytes)
    }

    fn film(&mut self, film: &Film, name: &str) -> Value {
        let times: Vec<f64> = film.frames.iter().map(|frame| frame.time).collect();
        let times = self.f64(&times);
        // Links without a part are not seen.
        let seen = (0..film.bodies.len()).filter(|&index| !film.bodies[index].parts.is_empty());
        let bodies: Vec<Value> = seen.map(|index| self.body(film, index)).collect();
        let wrenches: Vec<Value> = (0..film.pairs.len()).filter_map(|pair| self.wrench(film, pair)).collect();
        json!({
            "name": name,
            "times": times,
            "bounds": corners(film.bounds().as_ref()),
            "bodies": bodies,
            "pairs": film.pairs,
            "patches": self.patches(film),
            "wrenches": wrenches,
        })
    }

    fn body(&mut self, film: &Film, index: usize) -> Value {
        let body = &film.bodies[index];
        let parts: Vec<Value> = body
            .parts
            .iter()
            .map(|part| {
                let kind = match part.kind {
                    PartKind::Compliant => "compliant",
                    PartKind::Rigid => "rigid",
                    PartKind::HalfSpace => "half_space",
                    PartKind::Visual => "visual",
                };
                let vertices = self.f32(part.surface.vertices.iter().flatten().map(|&x| x as f32));
                let triangles = self.u32(part.surface.triangles.iter().flatten().copied());
                let field = part.field.as_ref().filter(|_| self.has_fields).map(|field| self.field(field));
                json!({"kind": kind, "vertices": vertices, "triangles": triangles, "field": field})
            })
            .collect();
        let frames = if body.is_fixed { 1 } else { film.frames.len() };
        let poses = film.frames[..frames].iter().flat_map(|frame| {
            let (p, q) = (frame.poses[index].position, frame.poses[index].orientation);
            [p.x, p.y, p.z, q.w, q.v.x, q.v.y, q.v.z].map(|x| x as f32)
        });
        let poses = self.f32(poses);
        let [r, g, b] = body.color;
        let color = format!("#{r:02x}{g:02x}{b:02x}");
        json!({"name": body.name, "color": color, "fixed": body.is_fixed, "parts": parts, "poses": poses})
    }

    fn field(&mut self, PartField { mesh, pressures }: &PartField) -> Value {
        let corners = mesh.tetrahedra.iter().flatten();
        json!({
            "vertices": self.f32(mesh.vertices.iter().flatten().map(|&x| x as f32)),
            "tetrahedra": match u16::try_from(mesh.vertices.len()) {
                Ok(_) => self.u16(corners.map(|&k| k as u16)),
                Err(_) => self.u32(corners.copied()),
            },
            "pressures": self.f32(pressures.iter().map(|&p| p as f32)),
        })
    }

    /// The force on the body of a pair that moves; `None` where the two never touch.
    fn wrench(&mut self, film: &Film, pair: usize) -> Option<Value> {
        let (on, forces) = drawn_force(film, pair);
        if forces.iter().all(Option::is_none) {
            return None;
        }
        let [a, b] = &film.pairs[pair];
        let (a, b) = if on == 0 { (a, b) } else { (b, a) };
        let none = [f32::NAN; 3];
        let points =
            self.f32(forces.iter().flat_map(|force| force.as_ref().map_or(none, |(at, _)| single(at))));
        let values =
            self.f32(forces.iter().flat_map(|force| force.as_ref().map_or(none, |(_, force)| single(force))));
        Some(json!({"a": a, "b": b, "point": points, "force_on_a": values}))
    }

    /// The contact surfaces, in 16 bits a number: that is a 65,000th of the box around them.
    fn patches(&mut self, film: &Film) -> Option<Value> {
        let total: usize = film.frames.iter().map(|frame| frame.surface.vertices.len()).sum();
        if total == 0 {
            return None;
        }
        let every = total.div_ceil(MOST_VERTICES);
        let shown: Vec<_> = film.frames.iter().step_by(every).map(|frame| &frame.surface).collect();
        let vertices = || shown.iter().flat_map(|surface| &surface.vertices);
        let bounds = Bounds::around(vertices().map(|v| (*v).map(f64::from).into()))?;
        let size = bounds.high - bounds.low;
        let largest = film.max_pressure();
        let quantized = |x: f64, size: f64| if size > 0.0 { (65535.0 * x / size).round() as u16 } else { 0 };
        let mut first = vec![0];
        for surface in &shown {
            first.push(first[first.len() - 1] + surface.polygons.len() as u32);
        }
        let first_polygon = self.u32(first);
        let lengths: Vec<u8> =
            shown.iter().flat_map(|surface| surface.polygons.iter().map(|p| p.vertices)).collect();
        let lengths = self.array("u8", lengths.len(), lengths);
        let positions = vertices().flat_map(|v| {
            std::array::from_fn::<_, 3, _>(|k| quantized(f64::from(v[k]) - bounds.low[k], size[k]))
        });
        let positions = self.u16(positions);
        let pressures = shown.iter().flat_map(|surface| &surface.pressures);
        let pressures = self.u16(pressures.map(|&p| quantized(f64::from(p), largest)));
        let pairs = shown.iter().flat_map(|surface| &surface.polygons).map(|polygon| polygon.pair as u16);
        let pairs = self.u16(pairs);
        let [tractions, slips] = [tangential_tractions, slips].map(|of| {
            let (largest, parts): (Vec<f32>, Vec<Vec<u8>>) =
                shown.iter().map(|surface| in_parts(&of(surface))).unzip();
            let count = parts.iter().map(Vec::len).sum();
            json!({"largest": self.f32(largest), "parts": self.array("i8", count, parts.concat())})
        });
        Some(json!({
            "every": every,
            "first_polygon": first_polygon,
            "lengths": lengths,
            "bounds": corners(Some(&bounds)),
            "vertices": positions,
            "pressures": pressures,
            "max_pressure": largest,
            "pairs": pairs,
            "tractions": tractions,
            "slips": slips,
        }))
    }

    fn chart(&mut self, chart: &Chart) -> Value {
        let series: Vec<Value> = chart.curves.iter().map(|curve| self.curve(curve)).collect();
        let [x, y] = &chart.axes;
        json!({
            "title": chart.title,
            "x": x,
            "y": y,
            "log_x": chart.is_logarithmic_along,
            "log_y": chart.is_logarithmic,
            "time": chart.is_over_time,
            "series": series,
            "note": chart.note,
        })
    }

    fn curve(&mut self, curve: &Curve) -> Value {
        let x = match &self.shared {
            Some((values, x)) if *values == curve.x => *x,
            _ => {
                let x = self.f64(&curve.x);
                self.shared = Some((curve.x.clone(), x));
                x
            }
        };
        let y = self.f32(curve.y.iter().map(|&y| y as f32));
        let mode = match curve.mode {
            CurveMode::Lines => "lines",
            CurveMode::Markers => "markers",
            CurveMode::Steps => "steps",
        };
        let [low, high] = match &curve.interval {
            Some(ends) => ends.each_ref().map(|end| Some(self.f32(end.iter().map(|&y| y as f32)))),
            None => [None, None],
        };
        let (name, color) = (&curve.name, curve.color);
        json!({"name": name, "mode": mode, "color": color, "x": x, "y": y, "low": low, "high": high})
    }
}

/// Bytes, compressed and as text.
pub(super) fn packed(bytes: &[u8]) -> io::Result<String> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(bytes)?;
    Ok(BASE64_STANDARD.encode(gzip.finish()?))
}

/// The part of the traction on A along each polygon, Pa.
fn tangential_tractions(surface: &FrameSurface) -> Vec<Vector3<f32>> {
    let along = |(polygon, range): (&FramePolygon, std::ops::Range<usize>)| {
        let [a, b, c] = [0, 1, 2].map(|corner| Vector3::from(surface.vertices[range.start + corner]));
        let traction = Vector3::from(polygon.traction_on_a);
        let normal = (b - a).cross(&(c - a)).try_normalize(0.0);
        normal.map_or(traction, |normal| traction - normal * normal.dot(&traction))
    };
    surface.ranges().map(along).collect()
}

/// The slip of each polygon, m/s.
fn slips(surface: &FrameSurface) -> Vec<Vector3<f32>> {
    surface.polygons.iter().map(|polygon| polygon.slip.into()).collect()
}

/// The length of the longest of some vectors, and their components in 127ths of it, as bytes.
fn in_parts(vectors: &[Vector3<f32>]) -> (f32, Vec<u8>) {
    let largest = vectors.iter().map(|vector| vector.norm()).filter(|x| x.is_finite()).fold(0.0, f32::max);
    let part = |x: &f32| if largest > 0.0 { (127.0 * x / largest).round() as i8 } else { 0 };
    (
        largest,
        vectors
            .iter()
            .flat_map(|vector| vector.iter().map(part).collect::<Vec<_>>())
            .map(|x| x.cast_unsigned())
            .collect(),
    )
}

/// Opposite corners of a box; a cube of 1 m without one.
fn corners(bounds: Option<&Bounds>) -> [[f64; 3]; 2] {
    bounds.map_or([[-0.5; 3], [0.5; 3]], |bounds| [bounds.low.into(), bounds.high.into()])
}

/// The plots of a recording as charts. Curves that are 0 throughout, such as those of pairs that never
/// touch, are left out beside others.
fn charts(plots: &Plots) -> Vec<Chart> {
    if plots.times.len() < 2 {
        return Vec::new();
    }
    let chart = |plot: &Plot| {
        let moves = |series: &&Series| series.values.iter().any(|&y| y != 0.0);
        let mut shown: Vec<_> = plot.series.iter().filter(moves).collect();
        if shown.is_empty() {
            shown = plot.series.iter().take(1).collect();
        }
        let curve = |series: &&Series| {
            let (times, values) = (&plots.times, &series.values);
            // What holds since the frame before is drawn from there on, up to the last frame.
            let (mode, points): (_, Vec<(f64, f64)>) = if plot.is_stepwise {
                let since = times.iter().copied().zip(values[1..].iter().chain(values.last()).copied());
                (CurveMode::Steps, since.collect())
            } else {
                (CurveMode::Lines, times.iter().copied().zip(values.iter().copied()).collect())
            };
            let (x, y) = points.into_iter().filter(|(_, value)| value.is_finite()).unzip();
            Curve { name: series.name.clone(), mode, x, y, ..Curve::default() }
        };
        Chart {
            title: plot.title.clone(),
            axes: ["time, s".to_owned(), plot.axis.clone()],
            is_over_time: true,
            curves: shown.iter().map(curve).collect(),
            ..Chart::default()
        }
    };
    plots.plots.iter().map(chart).collect()
}
