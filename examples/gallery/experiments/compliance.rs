//! Elandt et al. (2019), Figure 1: a ball on a half-space of three compliances.

use std::f64::consts::{FRAC_PI_2, TAU};

use isobar::contact::{
    Collider, ContactPair, ContactPatch, ContactSettings, Material, Workspace, contact,
    for_each_contact_polygon,
};
use isobar::geometry::Shape;
use isobar::spatial::RigidTransform;
use nalgebra::{Vector2, Vector3};

use crate::drawing::{Piece, View, bands, begun, colour_bar, finished, text};
use crate::page::{Failure, Figure, Page, Picture, Run, row};
use crate::viridis::colour;

/// Radius of the ball, thickness of the half-space, and how deep they overlap, m.
const RADIUS: f64 = 0.05;
const THICKNESS: f64 = 0.05;
const DEPTH: f64 = 0.015;
/// Modulus of the ball, Pa, and that of the half-space over it.
const MODULUS: f64 = 1e5;
const RATIOS: [f64; 3] = [0.1, 1.0, 10.0];
const RESOLUTION: f64 = 0.005;

/// The surface in the plane of the axis: distance from the axis, height, and pressure. On a ray from the ball's middle, at an
/// angle to the vertical, both pressures are linear.
fn surface(ratio: f64, angle: f64) -> [f64; 3] {
    let height = RADIUS - DEPTH;
    let slope = ratio / THICKNESS;
    let r = (1.0 + slope * height) / (1.0 / RADIUS + slope * angle.cos());
    [r * angle.sin(), height - r * angle.cos(), MODULUS * (1.0 - r / RADIUS)]
}

/// The angle at which the surface ends: where the sphere meets the plane.
fn end() -> f64 {
    ((RADIUS - DEPTH) / RADIUS).acos()
}

/// Force and largest pressure of the smooth bodies, by quadrature over the surface.
fn quadrature(ratio: f64) -> f64 {
    const POINTS: usize = 20_000;
    let at = |k: usize| surface(ratio, end() * k as f64 / POINTS as f64);
    let ring = |k: usize| {
        let ([a, _, p], [b, _, q]) = (at(k), at(k + 1));
        0.5 * (p + q) * 0.5 * TAU * (b * b - a * a)
    };
    (0..POINTS).map(ring).sum()
}

struct Pressed {
    ratio: f64,
    patch: ContactPatch,
    /// The contact surface from above.
    pieces: Vec<Piece>,
    /// In the plane of the axis: the polygons that it cuts, as lines with a pressure.
    lines: Vec<[(Vector2<f64>, f64); 2]>,
}

fn press(ratio: f64, resolution: f64) -> Result<Pressed, Failure> {
    let (shape, material) = (Shape::Sphere { radius: RADIUS }, Material::new(MODULUS, 0.0, 0.0));
    let ball = Collider::of_shape(&shape, resolution, material)?;
    let ground = Collider::compliant_half_space(Material::new(ratio * MODULUS, 0.0, 0.0), THICKNESS);
    let pose = RigidTransform::from_translation(Vector3::z() * (RADIUS - DEPTH));
    let pair = ContactPair::at_rest(&ball, pose, &ground, RigidTransform::identity());
    let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
    let patch = contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
    let (mut pieces, mut lines) = (Vec::new(), Vec::new());
    for_each_contact_polygon(&pair, &settings, &mut workspace, |polygon| {
        let corners: Vec<_> =
            polygon.vertices.iter().copied().zip(polygon.pressures.iter().copied()).collect();
        pieces.push(Piece(corners.iter().map(|(v, p)| (v.xy(), *p)).collect()));
        // Beside the plane, whose points are corners of the mesh.
        let beside = 1e-6;
        let mut cut = Vec::new();
        for (k, (a, p)) in corners.iter().enumerate() {
            let (b, q) = &corners[(k + 1) % corners.len()];
            let [d, e] = [a.y - beside, b.y - beside];
            if (d < 0.0) != (e < 0.0) {
                let (point, part) = (a.lerp(b, d / (d - e)), d / (d - e));
                cut.push((Vector2::new(point.x, point.z), p + (q - p) * part));
            }
        }
        if let [a, b] = cut[..] {
            lines.push([a, b]);
        }
    });
    Ok(Pressed { ratio, patch, pieces, lines })
}

fn picture(all: &[Pressed]) -> String {
    let mut svg = begun(780, 420);
    let highest = all.iter().map(|one| one.patch.max_pressure).fold(0.0, f64::max);
    for (one, column) in all.iter().zip(0..) {
        let x = 115.0 + 220.0 * f64::from(column);
        text(&mut svg, [x, 24.0], 13, "middle", &format!("E ground / E ball = {}", one.ratio));
        let view = View { middle: Vector2::new(0.0, 0.0), at: [x, 125.0], scale: 1900.0 };
        let circle: Vec<_> = (-60..=60)
            .map(|k| {
                let angle = FRAC_PI_2 * f64::from(k) / 60.0 * 0.98;
                Vector2::new(RADIUS * angle.sin(), RADIUS - DEPTH - RADIUS * angle.cos())
            })
            .collect();
        let ground = [Vector2::new(-0.055, 0.0), Vector2::new(0.055, 0.0)];
        for (line, stroke) in [(view.path(&circle, false), "#777"), (view.path(&ground, false), "#777")] {
            svg +=
                &format!("<path d=\"{line}\" fill=\"none\" stroke=\"{stroke}\" stroke-dasharray=\"4 3\"/>\n");
        }
        for [(a, p), (b, q)] in &one.lines {
            let stroke = colour(0.5 * (p + q) / highest);
            let line = view.path(&[*a, *b], false);
            svg += &format!("<path d=\"{line}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"3.5\"/>\n");
        }
        let above = View { at: [x, 275.0], ..view };
        bands(&mut svg, &above, &one.pieces, highest);
        let force = one.patch.wrench_on_a.translational.z;
        text(&mut svg, [x, 385.0], 13, "middle", &format!("{force:.1} N"));
    }
    text(&mut svg, [10.0, 60.0], 11, "start", "section");
    text(&mut svg, [10.0, 215.0], 11, "start", "from above");
    colour_bar(&mut svg, [680.0, 190.0], 1e-3 * highest, "kPa");
    finished(svg)
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let all: Vec<Pressed> = RATIOS.iter().map(|&r| press(r, RESOLUTION)).collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    let mut worst: f64 = 0.0;
    for one in &all {
        let (force, exact) = (one.patch.wrench_on_a.translational.z, quadrature(one.ratio));
        worst = worst.max((force / exact - 1.0).abs());
        let quantity = format!("force, N, E ground / E ball = {}", one.ratio);
        rows.push(row(quantity, format!("{exact:.2} (smooth ball, by quadrature)"), force, 1e-4));
    }
    for one in &all {
        // The middle of the surface, which is on the axis.
        let lowest = one.lines.iter().flatten().map(|c| c.0.y).fold(f64::INFINITY, f64::min);
        let [_, height, _] = surface(one.ratio, 0.0);
        let quantity = format!("lowest point of the surface, mm, E ground / E ball = {}", one.ratio);
        rows.push(row(quantity, format!("{:.3} (smooth ball)", 1e3 * height), 1e3 * lowest, 1e-3));
    }
    let figures = match run {
        Run::Full => vec![Figure {
            suffix: "",
            caption: "The contact surface of a ball on a half-space in section and from above, coloured by pressure".into(),
            picture: Picture::Svg(picture(&all)),
        }],
        Run::Short => Vec::new(),
    };
    Ok(Page {
        name: "compliance",
        title: "A ball on a half-space of three compliances",
        source: "Elandt Fig. 1",
        result: format!(
            "The surface follows the stiffer body: the ball where the ground is soft, the plane where it is stiff, and in between \
             where both are alike. Forces are those of the smooth bodies within {:.2} %.",
            100.0 * worst
        ),
        figures,
        rows,
        why: format!(
            "The paper's figure has no numbers. What is left is the mesh: flat faces of {} mm lie inside the ball.",
            1e3 * RESOLUTION
        ),
        more: String::new(),
    })
}
