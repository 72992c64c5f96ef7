//! Masterjohn et al. (2021), Figure 1: the patch of a soft bubble on the handle of a spatula, with its pressure.

use std::time::Instant;

use isobar::Scene;
use isobar::contact::{ContactPair, SurfaceRepresentation, Workspace, contact, for_each_contact_polygon};
use isobar::multibody::SensorWorkspace;
use nalgebra::{Vector2, Vector3};

use crate::drawing::{Piece, View, bands, begun, colour_bar, finished, text};
use crate::page::{Failure, Figure, Page, Picture, Run, row, shown};

const SCENE: &str = include_str!("../../spatula/scene.toml");
/// Force of a bubble (N), and when the spatula rests between them (s).
const FORCE: f64 = 16.0;
const UNTIL: f64 = 1.0;
/// Lengths of the edges of a bubble's mesh: that of the scene file, and finer ones, m.
const RESOLUTIONS: [f64; 4] = [0.03, 0.015, 0.0075, 0.004];
/// Radius of the handle, m.
const HANDLE: f64 = 0.015;

/// A patch: its pieces laid flat along the handle and around it, what it sums up to, and the time of a step over its length.
struct Patch {
    pieces: Vec<Piece>,
    polygons: usize,
    triangles: usize,
    area: f64,
    force: f64,
    pressure: f64,
    real_time: f64,
}

fn patch(resolution: f64) -> Result<Patch, Failure> {
    let text = SCENE.replace("resolution = 0.03", &format!("resolution = {resolution:?}"));
    let scene = Scene::parse(&text, "spatula.toml")?;
    let begin = Instant::now();
    let trajectory = scene.rollout(UNTIL)?.simulate()?;
    let real_time = UNTIL / begin.elapsed().as_secs_f64();
    let mut frames = Vec::new();
    let end = &trajectory.states[trajectory.states.len() - 1];
    scene.model.body_frames(end, &mut frames);
    let body = |name: &str| scene.model.body_index(name).ok_or(format!("no body {name}"));
    let (spatula, bubble) = (body("spatula")?, body("left bubble")?);
    let geometry = |body: usize| {
        let geometry = &scene.model.bodies()[body].geometries[0];
        (&geometry.collider, frames[body].of_geometry(geometry).pose)
    };
    let (a, b) = (geometry(spatula), geometry(bubble));
    let pair = ContactPair::at_rest(a.0, a.1, b.0, b.1);
    let mut workspace = Workspace::default();
    let mut pieces = Vec::new();
    let into = frames[spatula].pose.inverse();
    for_each_contact_polygon(&pair, scene.model.contact(), &mut workspace, |polygon| {
        let flat = |v: &Vector3<f64>| {
            let x = into * *v;
            Vector2::new(x.x, HANDLE * x.z.atan2(-x.y))
        };
        let corners = polygon.vertices.iter().zip(polygon.pressures);
        pieces.push(Piece(corners.map(|(v, pressure)| (flat(v), *pressure)).collect()));
    });
    let mut faces = |surface| {
        let settings = isobar::contact::ContactSettings { surface, ..*scene.model.contact() };
        Ok::<_, Failure>(contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?)
    };
    let triangles = faces(SurfaceRepresentation::Triangles)?.faces;
    let sum = faces(SurfaceRepresentation::Polygons)?;
    let force = scene.model.contact_wrench(end, spatula, bubble, &mut SensorWorkspace::default());
    Ok(Patch {
        polygons: pieces.len(),
        pieces,
        triangles,
        area: sum.area,
        force: force.translational.y,
        pressure: sum.max_pressure,
        real_time,
    })
}

fn picture(patches: &[(f64, Patch)]) -> String {
    let highest = patches.iter().map(|(_, patch)| patch.pressure).fold(0.0, f64::max);
    let mut svg = begun(780, 230);
    for ((resolution, patch), column) in patches.iter().zip(0..) {
        let x = 170.0 + 340.0 * f64::from(column);
        let view = View { middle: Vector2::zeros(), at: [x, 130.0], scale: 4200.0 };
        bands(&mut svg, &view, &patch.pieces, highest);
        for piece in &patch.pieces {
            let corners: Vec<Vector2<f64>> = piece.0.iter().map(|corner| corner.0).collect();
            svg += &format!(
                "<path d=\"{}\" fill=\"none\" stroke=\"#fff\" stroke-width=\".6\"/>\n",
                view.path(&corners, true)
            );
        }
        text(
            &mut svg,
            [x, 24.0],
            13,
            "middle",
            &format!("edges of {} mm, {} polygons", 1e3 * resolution, patch.polygons),
        );
    }
    colour_bar(&mut svg, [690.0, 45.0], 1e-3 * highest, "kPa");
    finished(svg)
}

pub fn run(run: Run) -> Result<Page, Failure> {
    let resolutions = if run == Run::Full { &RESOLUTIONS[..] } else { &RESOLUTIONS[..1] };
    let patches = resolutions.iter().map(|&resolution| Ok((resolution, patch(resolution)?)));
    let mut patches = patches.collect::<Result<Vec<_>, Failure>>()?;
    let coarse = &patches[0].1;
    let mut rows = vec![
        row("force of a bubble across, N", format!("{FORCE} (commanded)"), coarse.force, 5e-3),
        row("triangles over polygons", "–", coarse.triangles as f64 / coarse.polygons as f64, 1e-3),
        row("area of the coarse patch, mm²", "–", 1e6 * coarse.area, 5e-3),
    ];
    let mut more = String::from(
        "| edges, mm | polygons | area, mm² | largest pressure, kPa | simulated s per s, one core |\n|---|---|---|---|---|\n",
    );
    for (resolution, patch) in &patches {
        let numbers = [1e6 * patch.area, 1e-3 * patch.pressure, patch.real_time].map(shown);
        more += &format!("| {} | {} | {} |\n", 1e3 * resolution, patch.polygons, numbers.join(" | "));
    }
    let mut result = String::new();
    if run == Run::Full {
        let fine = &patches[patches.len() - 1].1;
        rows.push(row(
            "area of the coarse patch over that of the finest",
            "1",
            coarse.area / fine.area,
            0.01,
        ));
        rows.push(row(
            "simulated seconds per second, coarse",
            "1: real time (Fig. 1)",
            coarse.real_time,
            0.5,
        ));
        result = format!(
            "A bubble that holds a spatula with {FORCE} N touches its handle along a patch that is longer than wide; {} polygons tell its area \
             within {:.0} % of {} polygons.",
            coarse.polygons,
            100.0 * (coarse.area / fine.area - 1.0).abs(),
            fine.polygons
        );
        patches.remove(1);
        patches.truncate(2);
    }
    Ok(Page {
        name: "bubble",
        title: "The patch of a soft bubble",
        source: "Masterjohn Fig. 1",
        result,
        figures: vec![Figure {
            suffix: "",
            caption: "The patch on the handle, laid flat, by its pressure, with its polygons: the mesh of the scene, and a fine one".into(),
            picture: Picture::Svg(picture(&patches)),
        }],
        rows,
        why: "The paper draws the patch and tells no numbers of it. Four triangles or so make a polygon here, seven in its Figure 4: a polygon of n \
              sides is a fan of n triangles, and most of these have three or four."
            .into(),
        more,
    })
}
