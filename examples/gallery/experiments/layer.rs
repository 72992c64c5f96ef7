//! Elandt et al. (2019), Figure 6: a rigid sinusoid is pressed into a layer of unit thickness. The force of the field,
//! a quadrature of the same model, and finite elements.

use std::f64::consts::TAU;

use isobar::contact::{Collider, ContactPair, ContactSettings, Material, Workspace, contact};
use isobar::field::RigidSurface;
use isobar::geometry::SurfaceMesh;
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;

use crate::figure::{Curve, Plot};
use crate::page::{Failure, Figure, Page, Picture, Run, row};

/// Wavelength, amplitudes, and the largest depth.
const WAVELENGTH: f64 = TAU / 3.0;
const AMPLITUDES: [f64; 3] = [0.0, 0.166, 0.333];
const DEPTH: f64 = 0.4;
/// Straight pieces that the sinusoid is made of: it misses the curve by 0.01 % of the amplitude.
const PIECES: usize = 200;
/// The finite elements of `docs/gallery/layer_fem.py`, of its finer mesh.
const FEM: &str = include_str!("../../../docs/gallery/layer_fem.csv");
/// The paper's statement: the field is so much below finite elements at the largest amplitude.
const BELOW: f64 = 0.23;

/// Height of the sinusoid over its lowest point.
fn height(amplitude: f64, x: f64) -> f64 {
    amplitude * (1.0 - (TAU * x / WAVELENGTH).cos())
}

/// One wavelength of the sinusoid, one unit deep, its lowest points at z = 0.
fn sinusoid(amplitude: f64) -> SurfaceMesh {
    let corners = (0..=PIECES).flat_map(|k| {
        let x = WAVELENGTH * k as f64 / PIECES as f64;
        let z = height(amplitude, x);
        [(0.0, z), (1.0, z), (0.0, 2.0), (1.0, 2.0)].map(|(y, z)| Vector3::new(x, y, z))
    });
    let mut triangles = Vec::new();
    let mut quadrilateral = |[a, b, c, d]: [u32; 4]| triangles.extend([[a, b, c], [a, c, d]]);
    for k in 0..PIECES as u32 {
        let [a, b] = [4 * k, 4 * k + 4];
        quadrilateral([a, a + 1, b + 1, b]); // below
        quadrilateral([a + 2, b + 2, b + 3, a + 3]); // above
        quadrilateral([a, b, b + 2, a + 2]); // y = 0
        quadrilateral([a + 1, a + 3, b + 3, b + 1]); // y = 1
    }
    quadrilateral([0, 2, 3, 1]);
    let last = 4 * PIECES as u32;
    quadrilateral([last, last + 1, last + 3, last + 2]);
    SurfaceMesh { vertices: corners.collect(), triangles }
}

/// The force over the depth, relative to that of a flat surface at the largest depth.
fn field(amplitude: f64, steps: usize) -> Result<Vec<(f64, f64)>, Failure> {
    let material = Material::new(1.0, 0.0, 0.0);
    // The layer is a half-space whose pressure reaches the modulus one unit below its surface.
    let layer = Collider::compliant_half_space(material, 1.0);
    let body = Collider::rigid(RigidSurface::new(sinusoid(amplitude)), material);
    let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
    let mut points = vec![(0.0, 0.0)];
    for step in 1..=steps {
        let depth = DEPTH * step as f64 / steps as f64;
        let pose = RigidTransform::from_translation(-Vector3::z() * depth);
        let pair = ContactPair::at_rest(&body, pose, &layer, RigidTransform::identity());
        let patch = contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
        points.push((depth, patch.wrench_on_a.translational.z / (WAVELENGTH * DEPTH)));
    }
    Ok(points)
}

/// The same by the midpoint rule over the curve itself: pressure in proportion to depth, along the normal.
fn quadrature(amplitude: f64, depth: f64) -> f64 {
    const POINTS: usize = 100_000;
    let x = |k: usize| WAVELENGTH * (k as f64 + 0.5) / POINTS as f64;
    let sum: f64 = (0..POINTS).map(|k| (depth - height(amplitude, x(k))).max(0.0)).sum();
    sum / POINTS as f64 / DEPTH
}

/// A curve of the finite elements.
fn finite_elements(law: &str, amplitude: f64) -> Result<Vec<(f64, f64)>, Failure> {
    let lines: Vec<Vec<&str>> = FEM.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let finest = lines.last().ok_or("layer_fem.csv is empty")?[1];
    let mut points = Vec::new();
    for line in lines.iter().filter(|line| line[0] == law && line[1] == finest) {
        if line[2].parse::<f64>()? == amplitude {
            points.push((line[3].parse()?, line[4].parse()?));
        }
    }
    Ok(points)
}

fn value_at(points: &[(f64, f64)], x: f64) -> f64 {
    let after = points.iter().position(|p| p.0 >= x - 1e-9).unwrap_or(points.len() - 1).max(1);
    let ((a, u), (b, v)) = (points[after - 1], points[after]);
    u + (v - u) * (x - a) / (b - a)
}

/// The largest depth at which the field is so much below the finite elements.
fn depth_where_below(field: &[(f64, f64)], elements: &[(f64, f64)], part: f64) -> Option<f64> {
    let misses = |d: f64| 1.0 - value_at(field, d) / value_at(elements, d) - part;
    let grid: Vec<f64> = (1..400).map(|k| DEPTH * f64::from(k) / 400.0).collect();
    grid.windows(2).rev().find(|pair| misses(pair[0]) >= 0.0 && misses(pair[1]) < 0.0).map(|pair| pair[0])
}

fn curve(name: String, points: Vec<(f64, f64)>, reference: bool) -> Curve {
    Curve { name, points, reference, marks: false }
}

fn plots(fields: &[Vec<(f64, f64)>]) -> Result<Vec<Plot<'static>>, Failure> {
    let mut plots = Vec::new();
    for (law, title) in [
        ("small strain", "Finite elements (dashed): small strain"),
        ("logarithmic", "Finite elements (dashed): logarithmic strain"),
        ("neo-Hookean", "Finite elements (dashed): neo-Hookean"),
    ] {
        let mut curves = Vec::new();
        for (amplitude, field) in AMPLITUDES.iter().zip(fields) {
            curves.push(curve(format!("field, η = {amplitude}"), field.clone(), false));
        }
        for amplitude in AMPLITUDES {
            curves.push(curve(format!("elements, {amplitude}"), finite_elements(law, amplitude)?, true));
        }
        // What the paper says of the largest amplitude, if it is meant for the largest depth.
        let paper = vec![(DEPTH, value_at(&fields[2], DEPTH) / (1.0 - BELOW))];
        curves.push(Curve { name: "paper, 0.333".into(), points: paper, reference: false, marks: true });
        let (x, y) = ("depth d", "force");
        plots.push(Plot { title, x, y, logarithmic: [false; 2], curves });
    }
    Ok(plots)
}

/// The sinusoids at the largest depth.
fn section() -> Plot<'static> {
    let x = |k: usize| WAVELENGTH * (k as f64 / 50.0 - 1.0);
    let mut curves: Vec<Curve> = AMPLITUDES
        .iter()
        .map(|&a| {
            let points = (0..=100).map(|k| (x(k), 1.0 - DEPTH + height(a, x(k)))).collect();
            curve(format!("η = {a}"), points, false)
        })
        .collect();
    curves.push(curve("layer".into(), vec![(x(0), 1.0), (x(100), 1.0)], true));
    curves.push(curve("its base".into(), vec![(x(0), 0.0), (x(100), 0.0)], true));
    Plot { title: "The sinusoids at d = 0.4", x: "x", y: "z", logarithmic: [false; 2], curves }
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let steps = if run == Run::Full { 40 } else { 1 };
    let fields: Vec<_> = AMPLITUDES.iter().map(|&a| field(a, steps)).collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    let mut worst: f64 = 0.0;
    for (amplitude, points) in AMPLITUDES.iter().zip(&fields) {
        let by_quadrature = quadrature(*amplitude, DEPTH);
        let expected = format!("{by_quadrature:.4} (quadrature of the model)");
        rows.push(row(format!("force at d = 0.4, η = {amplitude}"), expected, value_at(points, DEPTH), 1e-4));
        for &(depth, force) in &points[1..] {
            worst = worst.max((force / quadrature(*amplitude, depth) - 1.0).abs());
        }
    }
    if run == Run::Full {
        rows.push(row("largest difference from the quadrature over all depths, %", "0", 100.0 * worst, 0.05));
    }
    let last = &fields[2];
    let implied = value_at(last, DEPTH) / (1.0 - BELOW);
    let mut table = String::from(
        "| finite elements, η = 0.333 | force at d = 0.4 | field below it at d = 0.4 | at d = 0.2 | 23 % below at d = | at d = 0.4, in units of the layer's stiffness at first |\n|---|---|---|---|---|---|\n",
    );
    let mut at_end = Vec::new();
    for law in ["small strain", "logarithmic", "neo-Hookean"] {
        let elements = finite_elements(law, 0.333)?;
        let below = |d: f64| 100.0 * (1.0 - value_at(last, d) / value_at(&elements, d));
        let depth = depth_where_below(last, &elements, BELOW).map_or("–".into(), |d| format!("{d:.2}"));
        let force = value_at(&elements, DEPTH);
        at_end.push(force);
        // A flat surface at the smallest depth stands for small strain.
        let flat = finite_elements(law, 0.0)?;
        let first = value_at(&flat, 0.01) * DEPTH / 0.01;
        let by_stiffness = 100.0 * (1.0 - value_at(last, DEPTH) * first / force);
        table += &format!(
            "| {law} | {force:.3} | {:.0} % | {:.0} % | {depth} | {by_stiffness:.0} % |\n",
            below(DEPTH),
            below(0.2)
        );
    }
    rows.push(row(
        "finite elements (small strain), d = 0.4, η = 0.333",
        format!("{implied:.3} (§VIII-A: the field is 23 % below, if at d = 0.4)"),
        at_end[0],
        1e-3,
    ));
    let figures = if run == Run::Full {
        let mut all = vec![section()];
        all.extend(plots(&fields)?);
        let caption = "Forces over depth, relative to that of a flat surface at d = 0.4".into();
        vec![Figure { suffix: "", caption, picture: Picture::Plots(all) }]
    } else {
        Vec::new()
    };
    Ok(Page {
        name: "layer",
        title: "A sinusoid pressed into a layer",
        source: "Elandt Fig. 6",
        result: format!(
            "The field's forces at d = 0.4 are {:.3}, {:.3} and {:.3} for amplitudes 0, 0.166 and 0.333, within {:.2} % of a \
             quadrature of the same model at all depths.",
            value_at(&fields[0], DEPTH),
            value_at(&fields[1], DEPTH),
            value_at(&fields[2], DEPTH),
            100.0 * worst
        ),
        figures,
        rows,
        why: "The paper says that field and elements agree for a flat surface, and that the field is 23 % below at η = 0.333, without a \
              depth or an elastic law. Our elements agree with a linear field for a flat surface at small strain alone, and there the \
              field is 23 % below them at half the depth; at d = 0.4 the layer bears on most of the sinusoid, and less is missing. With \
              large strains a flat surface stiffens more than the sinusoid does, whose mean depth is less, and relative to it the \
              elements bear less, with the neo-Hookean law less than the field. With the field as stiff as the layer is at first (the last \
              column) the logarithmic law comes near the paper's statement, but then a flat surface does not agree. Which it \
              was is not clear from the paper. \
              The field misses what Poisson's ratio does: the layer rises beside the contact."
            .into(),
        more: table,
    })
}
