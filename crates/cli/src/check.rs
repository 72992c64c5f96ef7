//! `isobar check`: whether files are valid, without running them. They are loaded by what loads them for
//! the other commands, so that no file is good here and bad there.

mod contents;
mod folder;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::Error;
use super::contact::body_pairs;
use super::messages::{print_warnings, tell, text_output};
use super::outputs::print_json;
use super::robot::RobotArguments;
use contents::{Contents, Motion, SceneContents};
use folder::{MESHES, ends_in, files_in};
use isobar::geometry::SurfaceMesh;
use isobar::input_file;
use isobar::io::reference::FileKind;
use isobar::io::{FileError, FitFile, ProblemFile, Scene};

/// Arguments of `isobar check`.
#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// Files: scenes, problems and fits (TOML or JSON; `-` for standard input), robots (URDF, SDF, MJCF), meshes (OBJ, STL,
    /// VTK, MSH); or folders, of which all such files are checked
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print JSON: a list with an object for each file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    robot: RobotArguments,
}

/// What was found out about a file.
#[derive(Debug, Serialize)]
struct Report {
    file: String,
    good: bool,
    #[serde(flatten)]
    contents: Option<Contents>,
    warnings: Vec<String>,
    /// What is wrong with a bad file.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Checks every file and prints what became of each, in their order.
pub(super) fn run(arguments: &CheckArguments) -> Result<(), Error> {
    let mut reports = Vec::new();
    let mut files = Vec::new();
    for file in &arguments.files {
        match file.is_dir() {
            true => files.append(&mut files_in(file)?),
            false => files.push(file.clone()),
        }
    }
    for file in &files {
        let report = report(file, &arguments.robot);
        print_warnings(&report.warnings);
        if let Some(error) = &report.error {
            tell(format_args!("isobar: {error}"));
        }
        if let Some(contents) = report.contents.as_ref().filter(|_| !arguments.json) {
            writeln!(text_output(), "{}: {contents}", report.file)?;
        }
        reports.push(report);
    }
    if arguments.json {
        print_json(&reports)?;
    }
    match reports.iter().filter(|report| !report.good).count() {
        0 => Ok(()),
        count => Err(Error::BadFiles(count)),
    }
}

/// What is to be said of a file.
fn report(path: &Path, robot: &RobotArguments) -> Report {
    let mut warnings = Vec::new();
    let outcome = contents(path, robot, &mut warnings);
    let file = input_file::name(path).display().to_string();
    match outcome {
        Ok(contents) => Report { file, good: true, contents: Some(contents), warnings, error: None },
        Err(error) => Report { file, good: false, contents: None, warnings, error: Some(error.to_string()) },
    }
}

/// Loads a file; its warnings are kept where it turns out bad only later.
fn contents(path: &Path, robot: &RobotArguments, warnings: &mut Vec<String>) -> Result<Contents, Error> {
    if ends_in(path, &MESHES) {
        let read = SurfaceMesh::read_unclosed(path);
        let (mesh, notes) = read.map_err(|error| Error::Usage(error.to_string()))?;
        warnings.extend(notes.iter().map(|note| format!("warning: {}: {note}", path.display())));
        let open = mesh.validate().err().map(|error| error.to_string());
        return Ok(Contents::Mesh { triangles: mesh.triangles.len(), open });
    }
    if ends_in(path, &["urdf", "xml", "sdf"]) {
        let robot = robot.load(path)?;
        let file = path.display().to_string();
        // Files have many links of one name.
        warnings.extend(robot.warnings.into_iter().map(|told| match told.starts_with(&file) {
            true => told,
            false => format!("{file}: {told}"),
        }));
        let mechanism = &robot.mechanism;
        return Ok(Contents::Robot {
            name: robot.name,
            links: mechanism.bodies().len(),
            joints: mechanism.joints().len(),
        });
    }
    match FileKind::of(path).map_err(|error| without_kind(path, error))? {
        FileKind::Scene => {
            let scene = Scene::load(path)?;
            warnings.extend_from_slice(&scene.warnings);
            Ok(Contents::Scene(scene_contents(&scene)?))
        }
        FileKind::Problem => {
            let file = ProblemFile::load(path)?;
            warnings.extend_from_slice(&file.scene.warnings);
            Ok(Contents::Problem {
                scene: file.scene.path.display().to_string(),
                until: file.until,
                unknowns: file.whole_start().len(),
                costs: file.cost_names,
            })
        }
        FileKind::Fit => {
            let file = FitFile::load(path)?;
            warnings.extend_from_slice(file.warnings());
            // The measurements are read too.
            let problem = file.identification()?;
            warnings.extend(file.data_warnings(&problem)?);
            for candidate in file.candidates()?.iter().skip(1) {
                warnings.extend_from_slice(candidate.file.warnings());
                candidate.file.identification()?;
            }
            Ok(Contents::fit(&file, problem.measurements()))
        }
    }
}

/// What to say of a file whose kind is not known: every kind has its endings.
fn without_kind(path: &Path, error: FileError) -> FileError {
    match error {
        FileError::Extension { .. } => FileError::Invalid {
            path: path.to_owned(),
            line: None,
            field: "the name".to_owned(),
            message:
                "a scene, a problem and a fit must end in .toml or .json, a robot in .urdf, .xml or .sdf, a mesh in .obj, .ply, .stl, .vtk, .vtu or .msh"
                    .to_owned(),
        },
        error => error,
    }
}

/// What is in a scene. One that cannot be simulated may be meant for contact alone.
fn scene_contents(scene: &Scene) -> Result<SceneContents, Error> {
    let (motion, pairs) = match scene.simulation_settings() {
        Ok(settings) => {
            let mut pairs: Vec<_> = scene.model.pairs().iter().map(|pair| pair.bodies).collect();
            pairs.dedup();
            (Motion::of(scene, &settings), pairs.len())
        }
        Err(error) => (Motion::None { reason: contents::without_path(&error) }, body_pairs(scene)?.len()),
    };
    Ok(SceneContents { bodies: scene.model.bodies().len(), pairs, motion })
}
