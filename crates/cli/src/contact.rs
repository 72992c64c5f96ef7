//! `isobar contact`: the contact between the bodies of a scene.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use nalgebra::{Matrix6, Vector3, Vector6};
use serde::Serialize;

use super::contact_surface::{Face, faces, row_at};
use super::loaded::print_loaded;
use super::messages::text_output;
use super::outputs::{check_outputs, print_json};
use super::{Error, is_zero, load_scene, skirt_line};
use isobar::contact::Workspace;
use isobar::io::{Scene, SceneSummary};
use isobar::multibody::{
    BodyFrame, BodyPair, BodyPairContact, BodyPairJacobian, GeometryPair, PairWorkspace, may_touch,
};
use isobar_report::{FrameSurface, write_contact_surface};

/// Arguments of `isobar contact`.
#[derive(Debug, Args)]
pub(super) struct ContactArguments {
    /// Scene file, TOML or JSON; `-` for standard input
    scene: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also print the derivatives of the wrench with respect to pose, moduli, dissipation and friction
    #[arg(long)]
    derivatives: bool,
    /// Bodies as in this motion of the scene, CSV as `isobar simulate` writes it: at its end, or at --time
    #[arg(long, value_name = "TRAJECTORY")]
    at: Option<PathBuf>,
    /// The time of the state, s; the nearest state of the trajectory is taken
    #[arg(long, value_name = "SECONDS", requires = "at")]
    time: Option<f64>,
    /// Also print each face: its centroid, area, pressure, and traction on A
    #[arg(long)]
    faces: bool,
    /// Also write the contact surfaces to this file, VTK (.vtu), with pressure, traction and slip
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// All that is printed.
#[derive(Debug, Serialize)]
struct Report {
    /// The time of the state of a trajectory, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    /// Thickness of the skirts, m.
    #[serde(skip_serializing_if = "is_zero")]
    skirt: f64,
    loaded: SceneSummary,
    pairs: Vec<PairReport>,
}

/// What is printed of a pair of bodies. SI units, world frame.
#[derive(Debug, Serialize)]
struct PairReport {
    a: String,
    b: String,
    force_on_a: [f64; 3],
    torque_on_a: [f64; 3],
    /// The force and the torque on A in the trajectory, where it has them: those of a step that led to the state, say.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_force_on_a: Option<[f64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_torque_on_a: Option<[f64; 3]>,
    area: f64,
    faces: usize,
    centroid: Option<[f64; 3]>,
    max_pressure: f64,
    energy: f64,
    #[serde(flatten)]
    derivatives: Option<DerivativesReport>,
    /// The faces, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    face_list: Option<Vec<Face>>,
}

/// Derivatives of (torque on A about A's origin; force on A).
#[derive(Debug, Serialize)]
struct DerivativesReport {
    wrench_by_pose_a: [[f64; 6]; 6],
    wrench_by_modulus_a: [f64; 6],
    wrench_by_modulus_b: [f64; 6],
    wrench_by_dissipation: [f64; 6],
    wrench_by_friction: [f64; 6],
}

impl PairReport {
    /// Whether all numbers are finite; JSON has no others.
    fn is_finite(&self) -> bool {
        let scalars = [self.area, self.max_pressure, self.energy];
        let vectors = self.force_on_a.iter().chain(&self.torque_on_a).chain(self.centroid.iter().flatten());
        scalars.iter().chain(vectors).all(|x| x.is_finite())
            && self.derivatives.as_ref().is_none_or(DerivativesReport::is_finite)
    }
}

/// Rows of a 6×6 matrix. Adding zero turns −0 into 0.
fn rows(m: &Matrix6<f64>) -> [[f64; 6]; 6] {
    std::array::from_fn(|i| std::array::from_fn(|j| m[(i, j)] + 0.0))
}

fn six(v: &Vector6<f64>) -> [f64; 6] {
    std::array::from_fn(|i| v[i] + 0.0)
}

fn three(v: &Vector3<f64>) -> [f64; 3] {
    std::array::from_fn(|i| v[i] + 0.0)
}

impl DerivativesReport {
    fn is_finite(&self) -> bool {
        let columns = [
            self.wrench_by_modulus_a,
            self.wrench_by_modulus_b,
            self.wrench_by_dissipation,
            self.wrench_by_friction,
        ];
        self.wrench_by_pose_a.iter().chain(&columns).flatten().all(|x| x.is_finite())
    }

    fn new(j: &BodyPairJacobian) -> Self {
        Self {
            wrench_by_pose_a: rows(&j.by_pose_a),
            wrench_by_modulus_a: six(&j.by_modulus_a),
            wrench_by_modulus_b: six(&j.by_modulus_b),
            wrench_by_dissipation: six(&j.by_dissipation),
            wrench_by_friction: six(&j.by_friction),
        }
    }
}

/// Loads the scene, computes and prints.
pub(super) fn run(arguments: &ContactArguments) -> Result<(), Error> {
    let mut scene = load_scene(&arguments.scene)?;
    let mut inputs = scene.files.clone();
    inputs.extend(arguments.at.clone());
    check_outputs(&arguments.out.iter().cloned().collect::<Vec<_>>(), &inputs)?;
    let (mut time, mut forces) = (None, Vec::new());
    if let Some(file) = &arguments.at {
        let row = row_at(&scene, file, arguments.time)?;
        (time, scene.state, forces) = (Some(row.time), row.state, row.forces);
    }
    let pairs = body_pairs(&scene)?;
    let rigid = scene.model.rigid_pairs().map(|pair| pair.bodies);
    let mut touching: Vec<BodyPair> = pairs.iter().map(|(bodies, _)| *bodies).chain(rigid).collect();
    touching.sort_unstable();
    let loaded = scene.summary(touching);
    if !arguments.json {
        print_loaded(&loaded);
    }
    let mut surface = FrameSurface::default();
    let mut pairs = contacts(&scene, &pairs, arguments, &mut surface)?;
    for (of_bodies, on_a) in scene.model.pairs_by_bodies().zip(&forces) {
        let BodyPair { a, b } = of_bodies[0].bodies;
        let names = [a, b].map(|body| &scene.model.bodies()[body].name);
        if let Some(pair) = pairs.iter_mut().find(|pair| [&pair.a, &pair.b] == names) {
            pair.recorded_force_on_a = Some(three(&on_a.translational));
            pair.recorded_torque_on_a = Some(three(&on_a.rotational));
        }
    }
    if let Some(file) = &arguments.out {
        write_contact_surface(file, &surface)?;
    }
    let report = Report { time, skirt: scene.skirt, loaded, pairs };
    match arguments.json {
        true => print_json(&report),
        false => Ok(print_text(&mut text_output(), &report)?),
    }
}

/// [`Scene::body_pairs`], with the file in the error.
pub(super) fn body_pairs(scene: &Scene) -> Result<Vec<(BodyPair, Vec<GeometryPair>)>, Error> {
    scene.body_pairs().map_err(|source| Error::Model { path: scene.path.display().to_string(), source })
}

/// Computes the contact of the pairs of bodies.
fn contacts(
    scene: &Scene,
    pairs: &[(BodyPair, Vec<GeometryPair>)],
    arguments: &ContactArguments,
    surface: &mut FrameSurface,
) -> Result<Vec<PairReport>, Error> {
    let model = &scene.model;
    let mut frames: Vec<BodyFrame> = Vec::new();
    model.body_frames(&scene.state, &mut frames);
    let (mut workspace, mut of_surface) = (PairWorkspace::default(), Workspace::default());
    let mut reports = Vec::new();
    for (index, (bodies, geometries)) in pairs.iter().enumerate() {
        // Most of many bodies are far from each other, which is told sooner by their boxes.
        let near = geometries.iter().copied().filter(|pair| may_touch(model, &frames, pair));
        let geometries: &[GeometryPair] = &near.collect::<Vec<_>>();
        let contact: BodyPairContact = model.body_pair_contact(&frames, geometries, &mut workspace);
        let pair = PairReport {
            a: model.bodies()[bodies.a].name.clone(),
            b: model.bodies()[bodies.b].name.clone(),
            force_on_a: three(&contact.wrench_on_a.translational),
            torque_on_a: three(&contact.wrench_on_a.rotational),
            recorded_force_on_a: None,
            recorded_torque_on_a: None,
            area: contact.area,
            faces: contact.faces,
            centroid: contact.centroid.as_ref().map(three),
            max_pressure: contact.max_pressure,
            // A sum of nothing is −0.
            energy: model.body_pair_energy(&frames, geometries) + 0.0,
            derivatives: arguments.derivatives.then(|| {
                DerivativesReport::new(&model.body_pair_jacobian(&frames, geometries, &mut workspace))
            }),
            face_list: arguments.faces.then(|| faces(model, &frames, geometries, &mut of_surface)),
        };
        if arguments.out.is_some() {
            surface.add(model, &frames, index as u32, geometries, &mut of_surface);
        }
        if !pair.is_finite() {
            return Err(Error::NotFinite { path: scene.path.display().to_string(), a: pair.a, b: pair.b });
        }
        reports.push(pair);
    }
    Ok(reports)
}

/// A line of six numbers.
fn line(out: &mut dyn Write, label: &str, values: &[f64]) -> std::io::Result<()> {
    write!(out, "  {label:<22}")?;
    for value in values {
        write!(out, " {value:>14.6e}")?;
    }
    writeln!(out)
}

fn print_text(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    if report.pairs.is_empty() {
        return writeln!(out, "no pair of bodies with a pressure between them");
    }
    if let Some(time) = report.time {
        writeln!(out, "at t = {time} s")?;
    }
    if let Some(line) = skirt_line(report.skirt) {
        writeln!(out, "{line}")?;
    }
    for pair in &report.pairs {
        write!(out, "{} – {}", pair.a, pair.b)?;
        writeln!(out, "{}", if pair.faces == 0 { ": they do not touch" } else { "" })?;
        line(out, "force on A, N", &pair.force_on_a)?;
        line(out, "torque on A, N m", &pair.torque_on_a)?;
        if let (Some(force), Some(torque)) = (&pair.recorded_force_on_a, &pair.recorded_torque_on_a) {
            line(out, "force in the file, N", force)?;
            line(out, "torque in it, N m", torque)?;
        }
        line(out, "area, m²", &[pair.area])?;
        writeln!(out, "  {:<22} {:>14}", "faces", pair.faces)?;
        match &pair.centroid {
            Some(centroid) => line(out, "centroid, m", centroid)?,
            None => writeln!(out, "  {:<22} {:>14}", "centroid, m", "–")?,
        }
        line(out, "largest pressure, Pa", &[pair.max_pressure])?;
        line(out, "energy, J", &[pair.energy])?;
        if let Some(d) = &pair.derivatives {
            writeln!(out, "  derivatives of (torque on A, force on A), N m and N")?;
            for (i, row) in d.wrench_by_pose_a.iter().enumerate() {
                line(out, if i == 0 { "by pose of A" } else { "" }, row)?;
            }
            line(out, "by modulus of A", &d.wrench_by_modulus_a)?;
            line(out, "by modulus of B", &d.wrench_by_modulus_b)?;
            line(out, "by dissipation", &d.wrench_by_dissipation)?;
            line(out, "by friction", &d.wrench_by_friction)?;
        }
        if let Some(faces) = pair.face_list.as_ref().filter(|faces| !faces.is_empty()) {
            print_faces(out, faces)?;
        }
    }
    Ok(())
}

/// A table of faces.
fn print_faces(out: &mut dyn Write, faces: &[Face]) -> std::io::Result<()> {
    let titles = ["x, m", "y, m", "z, m", "area, m²", "pressure, Pa", "t_x, Pa", "t_y, Pa", "t_z, Pa"];
    writeln!(out, "  faces: centroid, area, pressure, traction on A")?;
    let titles: Vec<String> = titles.iter().map(|title| format!("{title:>13}")).collect();
    writeln!(out, "  {:>4} {}", "", titles.join(" "))?;
    for (i, face) in faces.iter().enumerate() {
        write!(out, "  {i:>4}")?;
        let numbers = face.centroid.iter().chain([&face.area, &face.pressure]).chain(&face.traction_on_a);
        for x in numbers {
            write!(out, " {:>13.5e}", x + 0.0)?;
        }
        writeln!(out)?;
    }
    Ok(())
}
