//! Draws the contact surface of an ellipsoid on the corner of a box, coloured by its pressure,
//! as an SVG picture.
//!
//! `cargo run --release --example contact_patch -- docs/contact_patch.svg`

#[path = "support/viridis.rs"]
mod viridis;

use std::fmt::Write;

use isobar::contact::{
    Collider, ContactPair, ContactSettings, Material, Workspace, contact, for_each_contact_polygon,
};
use isobar::geometry::{Shape, SurfaceMesh};
use isobar::spatial::{RigidTransform, rotation_from_rpy};
use nalgebra::{Vector2, Vector3};
use viridis::colour;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 500.0;
/// Bands of pressure that the colours distinguish.
const BANDS: usize = 14;

/// An orthographic camera.
struct Camera {
    right: Vector3<f64>,
    up: Vector3<f64>,
    /// From the picture towards the eye.
    back: Vector3<f64>,
    target: Vector3<f64>,
    /// Picture units per metre.
    scale: f64,
}

impl Camera {
    fn new(eye: Vector3<f64>, target: Vector3<f64>, scale: f64) -> Self {
        let back = (eye - target).normalize();
        let right = Vector3::z().cross(&back).normalize();
        Self { right, up: back.cross(&right), back, target, scale }
    }

    fn project(&self, p: &Vector3<f64>) -> Vector2<f64> {
        let d = p - self.target;
        let centre = Vector2::new(0.42 * WIDTH, 0.5 * HEIGHT);
        centre + Vector2::new(d.dot(&self.right), -d.dot(&self.up)) * self.scale
    }

    fn depth(&self, p: &Vector3<f64>) -> f64 {
        p.dot(&self.back)
    }

    fn path(&self, points: &[Vector3<f64>], closed: bool) -> String {
        path(points.iter().map(|p| self.project(p)), closed)
    }
}

fn path(points: impl Iterator<Item = Vector2<f64>>, closed: bool) -> String {
    let mut d = String::new();
    for (i, p) in points.enumerate() {
        let _ = write!(d, "{}{:.1} {:.1}", if i == 0 { "M" } else { "L" }, p.x, p.y);
    }
    if closed { d + "Z" } else { d }
}

/// The outline of a convex body in the picture: the convex hull of its projected vertices
/// (Andrew's monotone chain).
fn outline(camera: &Camera, mesh: &SurfaceMesh, pose: &RigidTransform) -> Vec<Vector2<f64>> {
    let mut points: Vec<_> = mesh.vertices.iter().map(|v| camera.project(&(*pose * *v))).collect();
    points.sort_by(|p, q| p.x.total_cmp(&q.x).then(p.y.total_cmp(&q.y)));
    let half = |points: &mut dyn Iterator<Item = &Vector2<f64>>| {
        let mut chain: Vec<Vector2<f64>> = Vec::new();
        for p in points {
            while let [.., a, b] = chain[..] {
                if (b - a).perp(&(p - b)) > 0.0 {
                    break;
                }
                chain.pop();
            }
            chain.push(*p);
        }
        chain.pop();
        chain
    };
    let mut hull = half(&mut points.iter());
    hull.extend(half(&mut points.iter().rev()));
    hull
}

/// A polygon of the contact surface with the pressures at its vertices.
struct Piece {
    vertices: Vec<Vector3<f64>>,
    pressures: Vec<f64>,
}

impl Piece {
    fn centre(&self) -> Vector3<f64> {
        self.vertices.iter().sum::<Vector3<f64>>() / self.vertices.len() as f64
    }

    /// The part of the polygon where the pressure is at least (`sign` = 1) or at most
    /// (`sign` = −1) `level`.
    fn part(&self, level: f64, sign: f64) -> Self {
        let mut part = Self { vertices: Vec::new(), pressures: Vec::new() };
        for i in 0..self.vertices.len() {
            let k = (i + 1) % self.vertices.len();
            let [p, q] = [i, k].map(|i| self.pressures[i]);
            let [inside, next_inside] = [p, q].map(|p| sign * (p - level) >= 0.0);
            if inside {
                part.vertices.push(self.vertices[i]);
                part.pressures.push(p);
            }
            if inside != next_inside {
                part.vertices.push(self.vertices[i].lerp(&self.vertices[k], (level - p) / (q - p)));
                part.pressures.push(level);
            }
        }
        part
    }
}

const MATERIAL: Material = Material::new(1e5, 0.0, 0.5);

fn compliant(shape: &Shape, resolution: f64) -> Result<Collider, Box<dyn std::error::Error>> {
    Ok(Collider::of_shape(shape, resolution, MATERIAL)?)
}

/// The six faces of a box, each with its outward normal, in the world.
fn box_faces(size: [f64; 3], pose: &RigidTransform) -> Vec<(Vector3<f64>, [Vector3<f64>; 4])> {
    let half = Vector3::from(size) * 0.5;
    let mut faces = Vec::new();
    for axis in 0..3 {
        for side in [-1.0, 1.0] {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|[a, b]| {
                let mut p = half;
                p[axis] *= side;
                p[u] *= a;
                p[v] *= b;
                *pose * p
            });
            faces.push((pose.rotation * Vector3::ith(axis, side), corners));
        }
    }
    faces
}

fn band_colour(band: usize) -> String {
    colour((band as f64 + 0.5) / BANDS as f64)
}

/// The box: its hidden edges dashed, its faces towards the eye shaded.
fn draw_box(svg: &mut String, camera: &Camera, size: [f64; 3], pose: &RigidTransform) -> std::fmt::Result {
    let faces = box_faces(size, pose);
    let (front, hidden): (Vec<_>, Vec<_>) = faces.iter().partition(|(n, _)| n.dot(&camera.back) > 0.0);
    for (_, corners) in &hidden {
        let d = camera.path(corners, true);
        writeln!(svg, "<path d=\"{d}\" fill=\"none\" stroke=\"#b8c0cc\" stroke-dasharray=\"5 5\"/>")?;
    }
    for (normal, corners) in &front {
        let light = normal.dot(&Vector3::new(0.35, -0.45, 0.82)).max(0.0);
        let grey = (205.0 + 40.0 * light) as u8;
        let (d, [r, g, b]) = (camera.path(corners, true), [grey, grey + 3, grey + 8]);
        writeln!(
            svg,
            "<path d=\"{d}\" fill=\"rgb({r},{g},{b})\" fill-opacity=\"0.75\" stroke=\"#5d6b7e\" stroke-width=\"1.6\"/>"
        )?;
    }
    Ok(())
}

/// The contact surface, divided along its isobars.
fn draw_patch(svg: &mut String, camera: &Camera, pieces: &[Piece], peak: f64) -> std::fmt::Result {
    // The strokes close the hairlines between neighbours.
    svg.push_str("<style>");
    for band in 0..BANDS {
        let fill = band_colour(band);
        write!(svg, ".b{band}{{fill:{fill};stroke:{fill};stroke-width:.6}}")?;
    }
    svg.push_str("</style>\n");
    let level = |band: usize| peak * band as f64 / BANDS as f64;
    for piece in pieces {
        for band in 0..BANDS {
            let part = piece.part(level(band), 1.0).part(level(band + 1), -1.0);
            if part.vertices.len() > 2 {
                let d = camera.path(&part.vertices, true);
                writeln!(svg, "<path class=\"b{band}\" d=\"{d}\"/>")?;
            }
        }
    }
    Ok(())
}

fn draw_colour_bar(svg: &mut String, peak: f64) -> std::fmt::Result {
    let (x, top, bar, width) = (690.0, 110.0, 280.0, 18.0);
    let step = bar / BANDS as f64;
    for band in 0..BANDS {
        let y = top + bar - step * (band as f64 + 1.0);
        let (height, class) = (step + 0.3, format!("b{band}"));
        writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y:.1}\" width=\"{width}\" height=\"{height:.1}\"/>"
        )?;
    }
    svg.push_str("<g font-size=\"14\" fill=\"#333a45\">\n");
    writeln!(svg, "<text x=\"{x}\" y=\"{}\">pressure</text>", top - 18.0)?;
    for k in 0..=4 {
        let fraction = f64::from(k) / 4.0;
        let (y, left) = (top + bar * (1.0 - fraction), x + width);
        let value = peak * fraction * 1e-3;
        writeln!(svg, "<path d=\"M{left} {y:.1}h6\" stroke=\"#333a45\"/>")?;
        writeln!(svg, "<text x=\"{}\" y=\"{:.1}\">{value:.1} kPa</text>", left + 12.0, y + 5.0)?;
    }
    svg.push_str("</g>\n");
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| "contact_patch.svg".into());

    let size = [0.20, 0.20, 0.12];
    let egg_shape = Shape::Ellipsoid { semi_axes: [0.13, 0.085, 0.075] };
    let (egg, block) = (compliant(&egg_shape, 0.012)?, compliant(&Shape::Box { size }, 1.0)?);
    let x_egg = RigidTransform::new(rotation_from_rpy(0.25, 0.32, 0.62), Vector3::new(0.072, -0.07, 0.092));
    let x_block = RigidTransform::identity();
    let pair = ContactPair::at_rest(&egg, x_egg, &block, x_block);
    let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
    let patch = contact(&pair, &settings, &mut workspace)?.ok_or("the bodies do not touch")?;
    let mut pieces = Vec::new();
    for_each_contact_polygon(&pair, &settings, &mut workspace, |p| {
        pieces.push(Piece { vertices: p.vertices.to_vec(), pressures: p.pressures.to_vec() });
    });

    let camera = Camera::new(Vector3::new(0.75, -1.0, 0.85), Vector3::new(0.015, -0.02, 0.015), 1620.0);
    // The farthest first.
    pieces.sort_by(|p, q| camera.depth(&p.centre()).total_cmp(&camera.depth(&q.centre())));

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"Helvetica, Arial, sans-serif\" stroke-linejoin=\"round\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    draw_box(&mut svg, &camera, size, &x_block)?;
    // The ellipsoid: shaded like a glass, its outline on top of everything.
    let egg_outline = path(outline(&camera, &egg_shape.surface_mesh(0.012)?, &x_egg).into_iter(), true);
    svg += "<defs><radialGradient id=\"glass\" cx=\"0.38\" cy=\"0.28\" r=\"0.8\">\
            <stop offset=\"0\" stop-color=\"#ffffff\" stop-opacity=\"0.1\"/>\
            <stop offset=\"0.7\" stop-color=\"#9db4d6\" stop-opacity=\"0.28\"/>\
            <stop offset=\"1\" stop-color=\"#6f8dbd\" stop-opacity=\"0.55\"/></radialGradient></defs>\n";
    writeln!(svg, "<path d=\"{egg_outline}\" fill=\"url(#glass)\" stroke=\"none\"/>")?;
    draw_patch(&mut svg, &camera, &pieces, patch.max_pressure)?;
    writeln!(svg, "<path d=\"{egg_outline}\" fill=\"none\" stroke=\"#3f5f96\" stroke-width=\"1.8\"/>")?;
    draw_colour_bar(&mut svg, patch.max_pressure)?;
    svg += "</svg>\n";
    std::fs::write(&file, svg)?;
    println!(
        "{file}: {} polygons, {:.1} cm², {:.1} N, at most {:.1} kPa",
        pieces.len(),
        patch.area * 1e4,
        patch.wrench_on_a.translational.norm(),
        patch.max_pressure * 1e-3
    );
    Ok(())
}
