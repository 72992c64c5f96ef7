//! Elandt et al. (2019), §VII: how the time of a query grows with the faces m and the tetrahedra n.

use isobar::contact::{
    Collider, ContactPair, ContactSettings, Material, SurfaceRepresentation, Workspace, contact,
};
use isobar::field::{PressureField, RigidSurface, primitive_field};
use isobar::geometry::{Shape, VolumeMesh};
use isobar::spatial::RigidTransform;
use nalgebra::Vector3;

use crate::clock::thread_time;
use crate::figure::{Curve, Plot};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

/// A query: tetrahedra of both bodies, faces, and the least processor time of some repeats, s.
struct Query {
    tetrahedra: f64,
    faces: f64,
    seconds: f64,
}

fn query(
    a: &Collider,
    b: &Collider,
    apart: Vector3<f64>,
    turn: f64,
    tetrahedra: usize,
) -> Result<Query, Failure> {
    let settings = ContactSettings { surface: SurfaceRepresentation::Polygons, ..ContactSettings::default() };
    // Not in line with each other, as bodies are.
    let turn = isobar::spatial::rotation_from_rpy(0.7 * turn, 1.1 * turn, turn);
    let pair = ContactPair::at_rest(a, RigidTransform::new(turn, apart), b, RigidTransform::identity());
    let mut workspace = Workspace::default();
    let patch = contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
    let begin = thread_time();
    let mut seconds = f64::INFINITY;
    for repeat in 0..200 {
        let one = thread_time();
        contact(&pair, &settings, &mut workspace)?;
        seconds = seconds.min((thread_time() - one).as_secs_f64());
        if repeat > 3 && (thread_time() - begin).as_secs_f64() > 0.5 {
            break;
        }
    }
    Ok(Query { tetrahedra: tetrahedra as f64, faces: patch.faces as f64, seconds })
}

/// Two balls, of ever more tetrahedra each.
fn balls(levels: std::ops::RangeInclusive<u32>) -> Result<Vec<Query>, Failure> {
    let one = |level| {
        let mesh = VolumeMesh::icosphere(1.0, level);
        let count = mesh.tetrahedra.len();
        let extent = mesh.vertices.iter().map(|v| if v.norm() == 0.0 { 1.0 } else { 0.0 }).collect();
        let body = Collider::compliant(PressureField::new(mesh, extent)?, Material::new(1.0, 0.0, 0.0));
        query(&body, &body, Vector3::new(0.0, 0.0, 1.5), 0.02, 2 * count)
    };
    levels.map(one).collect()
}

/// A cube of so many cells of one size on a side, six tetrahedra each, in whose top a small rigid ball is pressed.
fn cube(cells: usize) -> Result<Query, Failure> {
    let points = cells + 1;
    let number = |p: [usize; 3]| ((p[0] * points + p[1]) * points + p[2]) as u32;
    let (mut vertices, mut extent, mut tetrahedra) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..points {
        for j in 0..points {
            for k in 0..points {
                vertices.push(Vector3::new(i as f64, j as f64, k as f64));
                let depth = [i, j, k].into_iter().map(|p| p.min(cells - p)).min().unwrap_or(0);
                // The same slope in cubes of all sizes.
                extent.push(depth as f64);
            }
        }
    }
    for cell in 0..cells.pow(3) {
        let first = [cell / (cells * cells), cell / cells % cells, cell % cells];
        for path in [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]] {
            let mut corner = first;
            let mut tetrahedron = [number(corner); 4];
            for (step, axis) in path.into_iter().enumerate() {
                corner[axis] += 1;
                tetrahedron[step + 1] = number(corner);
            }
            if [[0, 2, 1], [1, 0, 2], [2, 1, 0]].contains(&path) {
                tetrahedron.swap(2, 3);
            }
            tetrahedra.push(tetrahedron);
        }
    }
    let count = tetrahedra.len();
    let field = PressureField::new(VolumeMesh { vertices, tetrahedra }, extent)?;
    let body = Collider::compliant(field, Material::new(1.0, 0.0, 0.0));
    let ball = RigidSurface::new(Shape::Sphere { radius: 2.0 }.surface_mesh(0.7)?);
    let middle = (cells / 2) as f64;
    let apart = Vector3::new(middle + 0.1, middle + 0.2, cells as f64 + 1.4);
    query(&Collider::rigid(ball, Material::NONE), &body, apart, 0.02, count)
}

/// Two combs of so many teeth each, across each other: each tooth meets all of the other.
fn combs(teeth: usize) -> Result<Query, Failure> {
    let comb = |across: usize| -> Result<(Collider, usize), Failure> {
        let mut size = [1.0; 3];
        size[1 - across] = 2.0 * teeth as f64;
        let (tooth, along) = primitive_field(&Shape::Box { size }, 1.0)?;
        let mut mesh = VolumeMesh { vertices: Vec::new(), tetrahedra: Vec::new() };
        let mut extent = Vec::new();
        for k in 0..teeth {
            let first = mesh.vertices.len() as u32;
            let mut shift = Vector3::zeros();
            shift[across] = 2.0 * k as f64 - (teeth as f64 - 1.0);
            mesh.vertices.extend(tooth.vertices.iter().map(|v| v + shift));
            mesh.tetrahedra.extend(tooth.tetrahedra.iter().map(|t| t.map(|v| v + first)));
            extent.extend(&along);
        }
        let count = mesh.tetrahedra.len();
        Ok((Collider::compliant(PressureField::new(mesh, extent)?, Material::new(1.0, 0.0, 0.0)), count))
    };
    let ((a, n), (b, _)) = (comb(0)?, comb(1)?);
    query(&a, &b, Vector3::new(0.0, 0.0, 0.8), 1e-4, 2 * n)
}

/// The exponent of y ∝ x^k, by least squares on logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let [mx, my] = [logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n];
    let (over, under) =
        logs.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + (x - mx) * (y - my), b + (x - mx) * (x - mx)));
    over / under
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let pick = |all: &[Query], x: fn(&Query) -> f64, y: fn(&Query) -> f64| {
        // The largest ones, where what every query takes does not count.
        exponent(&all[all.len().saturating_sub(4)..].iter().map(|q| (x(q), y(q))).collect::<Vec<_>>())
    };
    let (tetrahedra, faces, seconds) = (|q: &Query| q.tetrahedra, |q: &Query| q.faces, |q: &Query| q.seconds);
    let mut rows = Vec::new();
    let mut table = String::from(
        "| bodies | tetrahedra n | faces m | time, µs | time a face, ns |\n|---|---|---|---|---|\n",
    );
    let mut curves = Vec::new();
    let mut result = String::new();
    if run == Run::Full {
        let of_balls = balls(1..=6)?;
        let of_combs = (1..=6).map(|k| combs(1 << k)).collect::<Result<Vec<_>, _>>()?;
        let of_cubes = [5, 8, 12, 20, 30, 46].into_iter().map(cube).collect::<Result<Vec<_>, _>>()?;
        rows.push(row(
            "balls: exponent of time against m",
            "1 (O(m log n))",
            pick(&of_balls, faces, seconds),
            0.3,
        ));
        rows.push(row(
            "cubes, m fixed: exponent of time against n",
            "0 (O(m log n))",
            pick(&of_cubes, tetrahedra, seconds),
            0.3,
        ));
        rows.push(row(
            "combs: exponent of m against n",
            "2 (worst case)",
            pick(&of_combs, tetrahedra, faces),
            0.05,
        ));
        rows.push(row(
            "combs: exponent of time against m",
            "1 (O(m log n))",
            pick(&of_combs, faces, seconds),
            0.3,
        ));
        result = format!(
            "Time grows with the faces to the power {:.2}. With the same faces it grows by a factor of {:.1} while the tetrahedra grow from \
             {} to {}.",
            pick(&of_balls, faces, seconds),
            of_cubes[of_cubes.len() - 1].seconds / of_cubes[0].seconds,
            of_cubes[0].tetrahedra,
            of_cubes[of_cubes.len() - 1].tetrahedra,
        );
        for (name, all) in [("balls", &of_balls), ("cubes, m fixed", &of_cubes), ("combs", &of_combs)] {
            for q in all {
                table += &format!(
                    "| {name} | {} | {} | {} | {} |\n",
                    q.tetrahedra,
                    q.faces,
                    shown(1e6 * q.seconds),
                    shown(1e9 * q.seconds / q.faces)
                );
            }
            let points = all.iter().map(|q| (q.tetrahedra, 1e6 * q.seconds)).collect();
            curves.push(Curve { name: name.into(), points, reference: false, marks: true });
        }
    }
    // After the exponents, the first of which the index shows.
    rows.push(row("faces of combs of 8 teeth over 8²", "–", combs(8)?.faces / 64.0, 1e-9));
    let plot =
        Plot { title: "Time of a query", x: "tetrahedra", y: "µs", logarithmic: [true, true], curves };
    Ok(Page {
        name: "cost",
        title: "How the time of a query grows",
        source: "Elandt §VII",
        result,
        figures: vec![Figure {
            suffix: "",
            caption: "Time over tetrahedra: two balls; a ball on ever larger cubes; two combs across each other".into(),
            picture: Picture::Plots(vec![plot]),
        }],
        rows,
        why: "The paper has no times. Its bound is for trees of boxes; the search here also leaves out boxes in which the pressures cannot be \
              equal, so that the time goes with the faces. Times are processor times of one machine, and exponents change by a tenth from run to run."
            .into(),
        more: table,
    })
}
