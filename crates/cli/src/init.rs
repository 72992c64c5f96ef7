//! `isobar init`: files to begin with, in which each field is explained.
//!
//! Their texts lie in `init/`. A problem and a fit come with the files that they name.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::Error;
use super::messages::{remark, text_output};
use super::schema::Kind;
use isobar::advice::{ElasticMaterial, Pressing, advise};
use isobar::io::reference::FileKind;
use isobar::io::{FileError, OutputFile, Scene};

/// Arguments of `isobar init`.
#[derive(Debug, Args)]
pub(super) struct InitArguments {
    /// The kind of file
    #[arg(value_enum)]
    kind: Kind,
    /// File to write, TOML; `-` for standard output. Without it scene.toml, problem.toml or fit.toml
    file: Option<PathBuf>,
    /// What the ball of a scene is made of, as in 'rubber 60 Shore A', 'steel' or, with Young's modulus in Pa and Poisson's
    /// ratio, '3e6, 0.49': its hydroelastic modulus is the one with the same force when it first lands
    #[arg(long, value_name = "MATERIAL")]
    elastic: Option<String>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
}

/// A file with its name and its text.
type NamedText = (&'static str, Cow<'static, str>);

/// A ball that is thrown on a table: the scene to begin with, and what a fit begins with.
const BALL: &str = include_str!("init/scene.toml");

/// What is written for a kind of file.
struct Template {
    /// The file itself, under the name that it has unless another is asked for.
    file: NamedText,
    /// The files that it names, which are written beside it.
    beside: Vec<NamedText>,
}

impl Template {
    fn of(kind: FileKind) -> Self {
        match kind {
            FileKind::Scene => Self { file: ("scene.toml", BALL.into()), beside: Vec::new() },
            FileKind::Problem => Self {
                file: ("problem.toml", include_str!("init/problem.toml").into()),
                beside: vec![("pusher.toml", include_str!("init/pusher.toml").into())],
            },
            FileKind::Fit => Self {
                file: ("fit.toml", include_str!("init/fit.toml").into()),
                beside: vec![
                    // With the accuracy that is a comment in a scene.
                    ("ball.toml", BALL.replacen("# accuracy", "accuracy", 1).into()),
                    ("throw.csv", include_str!("init/throw.csv").into()),
                ],
            },
        }
    }
}

/// The energy with which the ball of the scene lands, J.
const LANDING: f64 = 0.5 * 0.1 * (0.5 * 0.5 + 2.0 * 9.81 * 0.05);

/// The scene with its ball of an elastic material.
fn elastic_ball(name: &str) -> Result<String, Error> {
    let elastic = name.parse().map_err(|message| Error::Usage(format!("--elastic: {message}")))?;
    let text = BALL.replace("foam", "elastic");
    let scene = Scene::parse(&text, "scene.toml").map_err(Error::File)?;
    let settings = scene.simulation_settings()?;
    let pressed = |load: f64| {
        let material = ElasticMaterial { name: "elastic".to_owned(), elastic, thickness: None };
        let how = Pressing { load: Some(load), elastic: vec![material], ..Default::default() };
        let pair = advise(&scene.model, &scene.state, &settings, &how).pairs.pop();
        let moduli = pair.and_then(|pair| pair.elastic).map(|found| (found.penetration, found.moduli));
        moduli.and_then(|(depth, moduli)| Some((depth, moduli.first()?.hydroelastic_modulus)))
    };
    // By Hertz F grows with δ^1.5, so that the energy is 2/5 F δ, and grows with F^(5/3).
    let of_energy = |(depth, _): (f64, f64)| (LANDING / (0.4 * depth)).powf(0.6);
    let landed = pressed(1.0).and_then(|light| pressed(of_energy(light)));
    let Some((_, modulus)) = landed else {
        return Err(Error::Usage(format!(
            "--elastic: a ball of {name:?} is squeezed by half its size as it lands"
        )));
    };
    let said = format!(
        "# Stiffness in Pa: the pressure in the middle of a body, where it is largest. With this one the ball lands as hard as \
         one of\n# {name}; `isobar advise --elastic` gives that of other loads. Larger values need shorter steps with \
         explicit\n# solvers. Compliant geometries need it, there is no default.\nhydroelastic_modulus = {modulus:.1e}\n"
    );
    let (before, rest) = text.split_once("# Stiffness in Pa").unwrap_or((&text, ""));
    let (_, after) = rest.split_once("hydroelastic_modulus = 1e5\n").unwrap_or(("", rest));
    Ok(format!("{before}{said}{after}"))
}

/// Writes the file and those that it names, and says what to do with it.
pub(super) fn run(arguments: &InitArguments) -> Result<(), Error> {
    let Template { file: (usual_name, mut text), beside } = Template::of(arguments.kind.0);
    match (&arguments.elastic, arguments.kind.0) {
        (Some(name), FileKind::Scene) => text = elastic_ball(name)?.into(),
        (Some(_), _) => {
            return Err(Error::Usage("--elastic: only a scene has a ball to be made of it".to_owned()));
        }
        (None, _) => {}
    }
    let path = arguments.file.as_deref().unwrap_or(Path::new(usual_name));
    if path.as_os_str() == "-" {
        let names: Vec<&str> = beside.iter().map(|(name, _)| *name).collect();
        if !names.is_empty() {
            let names = names.join(" and ");
            remark(format_args!("isobar: it names {names}, written beside it where a FILE is given"));
        }
        return Ok(io::stdout().lock().write_all(text.as_bytes())?);
    }
    check_name(path, &beside)?;
    let neighbours = beside.iter().map(|(name, text)| (path.with_file_name(name), &**text));
    let same = |(path, text): &(PathBuf, &str)| {
        // To read a pipe would wait for its writer.
        path.is_file() && fs::read(path).is_ok_and(|found| found == text.as_bytes())
    };
    let (there, mut files): (Vec<_>, Vec<_>) = neighbours.partition(same);
    // What names the others comes last: where it is, they are.
    files.push((path.to_owned(), &*text));
    if !arguments.force {
        // Links that lead nowhere exist too.
        if let Some((path, _)) = files.iter().find(|(path, _)| fs::symlink_metadata(path).is_ok()) {
            return Err(Error::Exists { path: path.display().to_string() });
        }
    }
    write_all(&files)?;
    let mut out = text_output();
    let names = |files: &[(PathBuf, &str)]| {
        files.iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    writeln!(out, "written: {}", names(&files))?;
    if !there.is_empty() {
        writeln!(out, "there already: {}", names(&there))?;
    }
    let path = path.display();
    Ok(match arguments.kind.0 {
        FileKind::Scene => writeln!(out, "next: isobar simulate {path} --until 1 --out motion.csv"),
        FileKind::Problem => writeln!(out, "next: isobar optimize {path} --out solution"),
        FileKind::Fit => writeln!(out, "next: isobar fit {path}"),
    }?)
}

/// Checks that the commands will take the file under its name, and that it is none of its neighbours.
fn check_name(path: &Path, beside: &[NamedText]) -> Result<(), Error> {
    let invalid = |message: &str| {
        let (path, message) = (path.to_owned(), message.to_owned());
        Error::File(FileError::Invalid { path, line: None, field: "the name".to_owned(), message })
    };
    if !path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
        return Err(invalid("it must end in .toml"));
    }
    match beside.iter().any(|(name, _)| path.file_name().is_some_and(|own| own.eq_ignore_ascii_case(name))) {
        true => Err(invalid("a file that is written beside it has this name; choose another one")),
        false => Ok(()),
    }
}

/// Writes files so that all of them appear, or none where there is no room or no permission.
fn write_all(files: &[(PathBuf, &str)]) -> Result<(), Error> {
    let failed = |path: &Path, source| Error::Write { path: path.display().to_string(), source };
    let mut written = Vec::new();
    for (path, text) in files {
        let write = || {
            let mut file = OutputFile::create(path)?;
            file.write_all(text.as_bytes())?;
            Ok(file)
        };
        written.push(write().map_err(|source| failed(path, source))?);
    }
    for (file, (path, _)) in written.into_iter().zip(files) {
        file.finish().map_err(|source| failed(path, source))?;
    }
    Ok(())
}
