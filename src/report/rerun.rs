//! Recordings for the viewer of rerun.io, which opens them beside data of other programs.
//!
//! In the tree of what is recorded `world` has the film and `plots` the plots. Shapes are written once, and
//! what changes over time in columns on the timeline `time`: a value for each frame.

use std::io::{self, Write};
use std::path::Path;

use re_sdk::log::TimeColumn;
use re_sdk::{RecordingStream, RecordingStreamBuilder, RecordingStreamResult, entity_path};
use re_types::archetypes::{Arrows3D, Mesh3D, Scalars, SeriesLines, Transform3D, ViewCoordinates};

use super::arrow::{drawn_force, force_scale};
use super::color::viridis;
use super::film::{Film, Frame, single, xyzw};
use super::plots::Plots;
use super::recorder::Recording;
use super::shapes::{FilmBody, Part, PartKind};
use crate::io::{FileError, OutputFile};

/// Frames whose contact surfaces are kept together in the file: a viewer loads all of them at once.
const SURFACES_TOGETHER: usize = 50;

/// The colour of forces, as in glTF.
const FORCE_COLOR: [u8; 3] = [217, 26, 26];

/// Writes a recording for the viewer of rerun.io (`.rrd`). The file appears when it is complete.
///
/// # Errors
/// When the file cannot be written.
pub fn write_rerun(path: &Path, recording: &Recording) -> Result<(), FileError> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let write = || {
        let mut file = OutputFile::create(path)?;
        file.write_all(&bytes(&name, recording).map_err(io::Error::other)?)?;
        file.finish()
    };
    write().map_err(|source| FileError::Write { path: path.to_owned(), source })
}

/// The bytes of the file.
fn bytes(name: &str, recording: &Recording) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    // Whatever the environment says that rerun reads: the user has asked for this file.
    let builder = RecordingStreamBuilder::new("isobar").recording_name(name).enabled(true);
    let (stream, storage) = builder.memory()?;
    send(&stream, recording)?;
    stream.flush_blocking()?;
    Ok(storage.drain_as_bytes()?)
}

/// Sends all of a recording.
fn send(stream: &RecordingStream, recording: &Recording) -> RecordingStreamResult<()> {
    let Recording { film, plots } = recording;
    stream.log_static("world", &ViewCoordinates::RIGHT_HAND_Z_UP())?;
    let times = times(film.frames.iter().map(|frame| frame.time));
    for (index, body) in film.bodies.iter().enumerate() {
        send_body(stream, film, index, body, &times)?;
    }
    let largest = film.max_pressure();
    for frames in film.frames.chunks(SURFACES_TOGETHER).filter(|_| largest > 0.0) {
        send_surfaces(stream, frames, largest)?;
    }
    if let Some(scale) = force_scale(film) {
        for pair in 0..film.pairs.len() {
            send_force(stream, film, pair, scale, &times)?;
        }
    }
    send_plots(stream, plots)
}

/// The times of values.
fn times(seconds: impl Iterator<Item = f64>) -> TimeColumn {
    TimeColumn::new_duration_secs("time", seconds)
}

/// Sends the shapes of a body, and its motion.
fn send_body(
    stream: &RecordingStream,
    film: &Film,
    index: usize,
    body: &FilmBody,
    times: &TimeColumn,
) -> RecordingStreamResult<()> {
    let path = entity_path!["world", "bodies", body.name.as_str()];
    // What collides is left out where there are visual meshes.
    let is_seen = |part: &&Part| !body.has_visuals() || part.kind == PartKind::Visual;
    for (number, part) in body.parts.iter().filter(is_seen).enumerate() {
        stream.log_static(path.join(&entity_path![number.to_string()]), &mesh(body, part))?;
    }
    let poses = || film.frames.iter().map(|frame| &frame.poses[index]);
    let motion = Transform3D::update_fields()
        .with_many_translation(poses().map(|pose| single(&pose.position)))
        .with_many_quaternion(poses().map(|pose| xyzw(&pose.orientation)));
    stream.send_columns(path, [times.clone()], motion.columns_of_unit_batches()?)
}

/// A part of a body. Triangles have corners of their own, so that each is lit as the plane that it is.
fn mesh(body: &FilmBody, part: &Part) -> Mesh3D {
    let corners = |triangle: &[u32; 3]| triangle.map(|k| part.surface.vertices[k as usize]);
    let triangles = || part.surface.triangles.iter().map(corners);
    let normals = triangles().flat_map(|[a, b, c]| {
        let across = (b - a).cross(&(c - a));
        [single(&across.try_normalize(0.0).unwrap_or(across)); 3]
    });
    let [r, g, b] = body.color;
    Mesh3D::new(triangles().flatten().map(|corner| single(&corner)))
        .with_vertex_normals(normals)
        .with_albedo_factor([r, g, b, (255.0 * part.opacity()) as u8])
}

/// Sends the contact surfaces of frames, coloured by pressure, of which the largest of all frames is given; where
/// nothing touches an empty one.
fn send_surfaces(stream: &RecordingStream, frames: &[Frame], largest: f64) -> RecordingStreamResult<()> {
    let surfaces = || frames.iter().map(|frame| &frame.surface);
    let color = |&pressure: &f32| {
        let [r, g, b] = viridis(f64::from(pressure) / largest).map(|x| (255.0 * x).round() as u8);
        [r, g, b]
    };
    let vertices: Vec<usize> = surfaces().map(|surface| surface.vertices.len()).collect();
    let triangles: Vec<Vec<[u32; 3]>> = surfaces().map(|surface| surface.triangles()).collect();
    let corners = Mesh3D::update_fields()
        .with_vertex_positions(surfaces().flat_map(|surface| surface.vertices.iter().copied()))
        .with_vertex_colors(surfaces().flat_map(|surface| surface.pressures.iter().map(color)))
        .columns(vertices)?;
    let lengths: Vec<usize> = triangles.iter().map(Vec::len).collect();
    let faces =
        Mesh3D::update_fields().with_triangle_indices(triangles.into_iter().flatten()).columns(lengths)?;
    let times = times(frames.iter().map(|frame| frame.time));
    stream.send_columns(entity_path!["world", "contact surfaces"], [times], corners.chain(faces))
}

/// Sends the force of a pair as an arrow of so many metres for a newton, without arrows where it does not touch.
fn send_force(
    stream: &RecordingStream,
    film: &Film,
    pair: usize,
    scale: f64,
    times: &TimeColumn,
) -> RecordingStreamResult<()> {
    let (on, forces) = drawn_force(film, pair);
    if forces.iter().all(Option::is_none) {
        return Ok(());
    }
    let names = &film.pairs[pair];
    let name = format!("on {} by {}", names[on], names[1 - on]);
    let drawn = || forces.iter().flatten();
    let arrows = Arrows3D::update_fields()
        .with_vectors(drawn().map(|(_, force)| single(&(force * scale))))
        .with_origins(drawn().map(|(at, _)| single(at)))
        .with_colors(drawn().map(|_| FORCE_COLOR));
    let lengths: Vec<usize> = forces.iter().map(|force| usize::from(force.is_some())).collect();
    stream.send_columns(entity_path!["world", "forces", name], [times.clone()], arrows.columns(lengths)?)
}

/// Sends the plots: a value at each time that has one.
fn send_plots(stream: &RecordingStream, plots: &Plots) -> RecordingStreamResult<()> {
    for plot in &plots.plots {
        for series in &plot.series {
            let path = entity_path!["plots", format!("{} ({})", plot.title, plot.axis), series.name.as_str()];
            let known = || plots.times.iter().zip(&series.values).filter(|(_, value)| value.is_finite());
            stream.log_static(path.clone(), &SeriesLines::new().with_names([series.name.as_str()]))?;
            let values = Scalars::new(known().map(|(_, &value)| value)).columns_of_unit_batches()?;
            stream.send_columns(path, [times(known().map(|(&time, _)| time))], values)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use re_sdk::log::{Chunk, LogMsg};

    use super::*;
    use crate::io::Scene;
    use crate::report::Recorder;

    /// The chunks of a recording, by the entity that they are of.
    fn chunks(recording: &Recording) -> BTreeMap<String, Vec<Chunk>> {
        let (stream, storage) = RecordingStreamBuilder::new("test").enabled(true).memory().unwrap();
        send(&stream, recording).unwrap();
        let mut chunks = BTreeMap::<String, Vec<Chunk>>::new();
        for message in storage.take() {
            let LogMsg::ArrowMsg(_, message) = message else { continue };
            let chunk = Chunk::from_arrow_msg(&message).unwrap();
            chunks.entry(chunk.entity_path().to_string()).or_default().push(chunk);
        }
        chunks
    }

    /// The values of a component, a list for each row, in order of time.
    fn rows(chunks: &[Chunk], component: &str) -> Vec<Vec<[f32; 3]>> {
        let of_chunk = |chunk: &Chunk| {
            let rows: Vec<_> = chunk.iter_slices::<[f32; 3]>(component.into()).map(<[_]>::to_vec).collect();
            rows
        };
        chunks.iter().filter(|chunk| !chunk.is_static()).flat_map(of_chunk).collect()
    }

    #[test]
    fn a_recording_has_what_the_film_and_the_plots_have() {
        let scene = Scene::load("examples/fit_ball/scene.toml").unwrap();
        let mut recorder = Recorder::new(&scene.model, 0.002);
        scene.rollout(0.2).unwrap().for_each(|step| recorder.look(step)).unwrap();
        let recording = recorder.finish();
        let film = &recording.film;
        let touches: Vec<bool> = film.frames.iter().map(|frame| frame.contacts[0].is_some()).collect();
        assert!(touches.contains(&true) && touches.contains(&false));
        let chunks = chunks(&recording);

        let ball = &chunks["/world/bodies/ball"];
        assert_eq!(ball[0].timelines().keys().map(|name| name.as_str()).collect::<Vec<_>>(), ["time"]);
        let positions: Vec<[f32; 3]> = film.frames.iter().map(|f| single(&f.poses[0].position)).collect();
        assert_eq!(rows(ball, "Transform3D:translation").concat(), positions);
        let times: Vec<i64> = film.frames.iter().map(|frame| (1e9 * frame.time).round() as i64).collect();
        assert_eq!(ball[0].timelines().values().next().unwrap().times_raw(), &times[..]);
        let shape = &chunks["/world/bodies/ball/0"];
        assert!(shape.len() == 1 && shape[0].is_static());

        let surfaces = &chunks["/world/contact\\ surfaces"];
        assert_eq!(surfaces.len(), film.frames.len().div_ceil(SURFACES_TOGETHER));
        let vertices: Vec<_> = film.frames.iter().map(|frame| frame.surface.vertices.clone()).collect();
        assert_eq!(rows(surfaces, "Mesh3D:vertex_positions"), vertices);

        let (_, force) = chunks.iter().find(|(path, _)| path.starts_with("/world/forces")).unwrap();
        let drawn = rows(force, "Arrows3D:vectors");
        assert_eq!(drawn.iter().map(|row| !row.is_empty()).collect::<Vec<_>>(), touches);

        let plots = chunks.keys().filter(|path| path.starts_with("/plots")).count();
        assert_eq!(plots, recording.plots.plots.iter().map(|plot| plot.series.len()).sum::<usize>());
        assert!(bytes("test", &recording).unwrap().starts_with(b"RRF2"));
    }
}
