//! Elandt et al. (2019), Figures 2 and 3: the field of Laplace's equation in an angle, with a rigid box pressed in; and the field, an
//! elastic foundation and an overlap volume on the same pairs, with their work around a closed path.

use isobar::contact::{
    Collider, ContactPair, ContactSettings, Material, Workspace, contact, contact_energy,
    for_each_contact_polygon,
};
use isobar::field::{PressureField, RigidSurface, deep_core, laplace_extent, split_zero_gradient_tetrahedra};
use isobar::geometry::{Shape, VolumeMesh};
use isobar::spatial::{RigidTransform, rotation_from_rpy};
use nalgebra::{Vector2, Vector3};

use crate::drawing::{View, arrow, bands, begun, colour_bar, finished, section, text};
use crate::foundation::{self, Model};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

/// The angle: two arms of this length and width (m), so many cells across, and its length along y in cells.
const LENGTH: f64 = 0.1;
const CELLS: [usize; 2] = [6, 16];
const ALONG: usize = 12;
/// Where the extent is 1: deeper than this part of the largest depth, which takes in the middle of both arms.
const CORE: f64 = 0.8;
const MODULUS: f64 = 1e5;
/// The box, and where it is pressed in from above, leaning.
const BOX: [f64; 3] = [0.03, 0.05, 0.04];
const LEAN: f64 = 0.5;
/// How deep the box of the three models is, m.
const DEPTH: f64 = 0.01;

/// An angle in the plane y = 0, made of cubes with six tetrahedra each.
fn angle() -> VolumeMesh {
    let [wide, long] = CELLS;
    let h = LENGTH / long as f64;
    let (across, along) = (long + 1, ALONG + 1);
    let is_inside = |i: usize, k: usize| i < wide || k < wide;
    let mut numbers = vec![u32::MAX; across * across * along];
    let mut mesh = VolumeMesh { vertices: Vec::new(), tetrahedra: Vec::new() };
    // Kuhn's division: the same diagonals in all cubes.
    let paths = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for i in 0..long {
        for k in (0..long).filter(|&k| is_inside(i, k)) {
            for j in 0..ALONG {
                let mut number = |p: [usize; 3]| {
                    let slot = &mut numbers[(p[0] * along + p[1]) * across + p[2]];
                    if *slot == u32::MAX {
                        *slot = mesh.vertices.len() as u32;
                        let y = (p[1] as f64 - 0.5 * ALONG as f64) * h;
                        mesh.vertices.push(Vector3::new(p[0] as f64 * h, y, p[2] as f64 * h));
                    }
                    *slot
                };
                for path in paths {
                    let mut corner = [i, j, k];
                    let mut tetrahedron = [number(corner); 4];
                    for (step, axis) in path.into_iter().enumerate() {
                        corner[axis] += 1;
                        tetrahedron[step + 1] = number(corner);
                    }
                    // Odd orders of the axes turn it inside out.
                    if [[0, 2, 1], [1, 0, 2], [2, 1, 0]].contains(&path) {
                        tetrahedron.swap(2, 3);
                    }
                    mesh.tetrahedra.push(tetrahedron);
                }
            }
        }
    }
    mesh
}

fn laplace_field() -> Result<PressureField, Failure> {
    let mesh = angle();
    let core = deep_core(&mesh, CORE)?;
    let extent = laplace_extent(&mesh, &core)?;
    let split = split_zero_gradient_tetrahedra(&mesh, &extent);
    let extent = laplace_extent(&split.mesh, &deep_core(&split.mesh, CORE)?)?;
    Ok(PressureField::new(split.mesh, extent)?)
}

/// The box at a depth below the top of the upright arm, shifted and leaning more.
fn pose(depth: f64, shift: f64, lean: f64) -> RigidTransform {
    let middle =
        Vector3::new(0.5 * LENGTH * CELLS[0] as f64 / CELLS[1] as f64 + shift, 0.0, LENGTH - depth + 0.02);
    RigidTransform::new(rotation_from_rpy(0.0, LEAN + lean, 0.0), middle)
}

fn picture(
    field: &PressureField,
    body: &Collider,
    soft: &Collider,
    at: &RigidTransform,
) -> Result<String, Failure> {
    let mut svg = begun(560, 470);
    let view = View { middle: Vector2::new(0.05, 0.065), at: [225.0, 235.0], scale: 3300.0 };
    // Beside the middle, where no vertices are.
    let (normal, beside) = (Vector3::y(), 1e-4);
    let flat = |p: &Vector3<f64>| Vector2::new(p.x, p.z);
    let mut pieces = Vec::new();
    for t in &field.mesh().tetrahedra {
        let corners = t.map(|v| (field.mesh().vertices[v as usize], field.extent()[v as usize]));
        let edges = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        let piece = section(edges.iter().map(|e| e.map(|k| corners[k])), &normal, beside, flat);
        if piece.0.len() > 2 {
            pieces.push(piece);
        }
    }
    bands(&mut svg, &view, &pieces, 1.0);
    let corners = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
    let outline = corners.map(|[x, z]| flat(&(*at * Vector3::new(x * BOX[0], 0.0, z * BOX[2]))));
    svg += &format!(
        "<path d=\"{}\" fill=\"#d7e3f4\" fill-opacity=\".75\" stroke=\"#1f4e9c\" stroke-width=\"2\"/>\n",
        view.path(&outline, true)
    );
    let pair = ContactPair::at_rest(body, *at, soft, RigidTransform::identity());
    let mut workspace = Workspace::default();
    let mut arrows = Vec::new();
    for_each_contact_polygon(&pair, &ContactSettings::default(), &mut workspace, |polygon| {
        let middle = polygon.vertices.iter().sum::<Vector3<f64>>() / polygon.vertices.len() as f64;
        let pressure = polygon.pressures.iter().sum::<f64>() / polygon.pressures.len() as f64;
        let h = LENGTH / CELLS[1] as f64;
        if middle.y.abs() < 0.5 * h {
            arrows.push((middle, polygon.normal * (pressure / MODULUS)));
        }
    });
    for (middle, traction) in arrows {
        let tail = view.place(&flat(&(middle - traction * 0.03)));
        arrow(&mut svg, tail, view.place(&flat(&middle)), "#e69f00", 1.5);
    }
    let patch = contact(&pair, &ContactSettings::default(), &mut workspace)?.ok_or("no contact")?;
    let force = patch.wrench_on_a.translational;
    let (tail, tip) = (patch.centroid, patch.centroid + force * (0.035 / force.norm()));
    arrow(&mut svg, view.place(&flat(&tail)), view.place(&flat(&tip)), "#009e73", 4.0);
    colour_bar(&mut svg, [470.0, 150.0], 1.0, "");
    text(&mut svg, [470.0, 138.0], 13, "start", "extent");
    text(&mut svg, [270.0, 90.0], 13, "start", &format!("force {:.1} N", force.norm()));
    Ok(finished(svg))
}

/// Work of the field's wrench along a closed path of the box (deeper, aside, leaning, back), over the energy at its deepest point, by
/// the trapezoidal rule.
fn work_around(body: &Collider, soft: &Collider, steps: usize) -> Result<f64, Failure> {
    let corners =
        [[0.004, 0.0, 0.0], [0.014, 0.0, 0.0], [0.014, 0.006, 0.3], [0.004, 0.006, 0.3], [0.004, 0.0, 0.0]];
    let at = |[depth, shift, lean]: [f64; 3]| pose(depth, shift, lean);
    let mut workspace = Workspace::default();
    let (mut work, mut highest) = (0.0, 0.0_f64);
    for leg in corners.windows(2) {
        let along = |s: f64| [0, 1, 2].map(|k| leg[0][k] + s * (leg[1][k] - leg[0][k]));
        let [depth, shift, lean] = [0, 1, 2].map(|k| leg[1][k] - leg[0][k]);
        let mut power = |s: f64| -> Result<f64, Failure> {
            let pair = ContactPair::at_rest(body, at(along(s)), soft, RigidTransform::identity());
            highest = highest.max(contact_energy(&pair));
            let wrench =
                contact(&pair, &ContactSettings::default(), &mut workspace)?.ok_or("no contact")?.wrench_on_a;
            let (force, moment) = (wrench.translational, wrench.rotational);
            Ok(force.x * shift - force.z * depth + moment.y * lean)
        };
        // Simpson's rule: the force has kinks where faces come and go.
        let h = 1.0 / steps as f64;
        for step in 0..steps {
            let s = step as f64 * h;
            work += h / 6.0 * (power(s)? + 4.0 * power(s + 0.5 * h)? + power(s + h)?);
        }
    }
    Ok(work / highest)
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let field = laplace_field()?;
    let soft = Collider::compliant(field.clone(), Material::new(MODULUS, 0.0, 0.0));
    let body = RigidSurface::new(Shape::Box { size: BOX }.surface_mesh(1.0)?);
    let body = Collider::rigid(body, Material::NONE);
    let at = pose(0.012, 0.0, 0.0);
    let pair = |pose| ContactPair::at_rest(&body, pose, &soft, RigidTransform::identity());
    let patch =
        contact(&pair(at), &ContactSettings::default(), &mut Workspace::default())?.ok_or("no contact")?;
    let force = patch.wrench_on_a.translational;
    // Against differences of the energy.
    let h = 1e-5;
    let slope = (contact_energy(&pair(pose(0.012 + h, 0.0, 0.0)))
        - contact_energy(&pair(pose(0.012 - h, 0.0, 0.0))))
        / (2.0 * h);
    let aside = (contact_energy(&pair(pose(0.012, -h, 0.0))) - contact_energy(&pair(pose(0.012, h, 0.0))))
        / (2.0 * h);
    let mut rows = vec![
        row("angle: force upward, N", format!("{slope:.4} (difference of the energy)"), force.z, 1e-4),
        row("angle: force along x, N", format!("{aside:.4} (difference of the energy)"), force.x, 1e-4),
    ];
    if run == Run::Full {
        let work = work_around(&body, &soft, 50)?;
        rows.push(row(
            "angle: work around a closed path / largest energy",
            "0 (§III, conservative)",
            work,
            1e-4,
        ));
    }
    let mut table = String::from(
        "| tilt of the box | force upward, N: field | elastic foundation | overlap volume | force aside: field | foundation | volume | torque, N m: field | foundation | volume |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for degrees in [0.0_f64, 15.0, 30.0, 45.0] {
        let all = [Model::Field, Model::Foundation, Model::Volume]
            .map(|model| foundation::wrench(model, DEPTH, degrees.to_radians()));
        let [field, springs, volume] = all;
        let (f, s, v) = (field?, springs?, volume?);
        let cell = |k: usize| format!("{} | {} | {}", shown(f[k]), shown(s[k]), shown(v[k]));
        table += &format!("| {degrees}° | {} | {} | {} |\n", cell(1), cell(0), cell(2));
        if degrees == 30.0 {
            // Two faces of a wedge, and its two ends.
            let (sin, cos) = degrees.to_radians().sin_cos();
            let exact = cos + sin + 2.0 * DEPTH / (3.0 * foundation::BOX[1]);
            let expected = format!("{exact:.4} (by hand)");
            rows.push(row("layer, tilt 30°: foundation / field, upward", expected, s[1] / f[1], 1e-6));
        }
    }
    if run == Run::Full {
        for (model, name, expected) in [
            (Model::Field, "field", "0 (§IV)"),
            (Model::Foundation, "elastic foundation", "–"),
            (Model::Volume, "overlap volume", "0 (on a flat layer)"),
        ] {
            let quantity = format!("layer: work around a closed path / largest energy, {name}");
            rows.push(row(quantity, expected, foundation::work_around(model)?, 1e-4));
        }
    }
    let figures = match run {
        Run::Full => vec![Figure {
            suffix: "",
            caption: "The extent in an angle by Laplace's equation, a rigid box, the pressure on it (orange) and the net force (green)".into(),
            picture: Picture::Svg(picture(&field, &body, &soft, &at)?),
        }],
        Run::Short => Vec::new(),
    };
    Ok(Page {
        name: "laplace",
        title: "A field by Laplace's equation, and other models beside it",
        source: "Elandt Figs 2, 3, §IV",
        result: "The force on a box in an angle is the slope of its energy, and none is won around a closed path. On a flat layer the field \
                 pushes up as the overlap's volume does, and an elastic foundation by up to half more."
            .into(),
        figures,
        rows,
        why: "The paper's figures have no numbers. On a flat layer the pressure is a depth, and the upward force is the overlap's volume times \
              its slope, as Archimedes has it. The foundation's springs push up on all faces of the box in the layer, however steep: on \
              its two lower faces and its ends. Where each point of the box has a spring of its own that keeps its area, as here, a \
              foundation has a potential too; the paper says that those whose springs are not tied to points of the bodies have none."
            .into(),
        more: table,
    })
}
