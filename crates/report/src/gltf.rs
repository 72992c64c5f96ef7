//! Films as animated glTF 2.0 in one binary file, which browsers' viewers, Blender and slides open.
//!
//! Bodies move by animation. A mesh of glTF cannot change its topology, so that each contact surface is a
//! mesh of its own that is shown from its time until the next. Forces are arrows of one mesh.

use std::io::Write;
use std::path::Path;

use gltf_json::animation::{Interpolation, Property};
use gltf_json::scene::UnitQuaternion;
use gltf_json::{Accessor, Index, Node};

use super::arrow::{arrow_mesh, drawn_force, force_scale, turned_from_z};
use super::color::{linear, viridis};
use super::film::{Film, FrameSurface, single, xyzw};
use super::gltf_document::Gltf;
use super::shapes::{FilmBody, Part, PartKind};
use isobar::io::{FileError, OutputFile};

/// The most contact surfaces of a file; of longer films every second, third, … frame has one.
const MOST_SURFACES: usize = 500;

/// Writes a film as a binary glTF file (`.glb`), the vertical axis of the world upright. The file appears
/// when it is complete.
///
/// # Errors
/// When the file cannot be written.
pub fn write_gltf(path: &Path, film: &Film) -> Result<(), FileError> {
    let write = || {
        let mut file = OutputFile::create(path)?;
        file.write_all(&document(film)?)?;
        file.finish()
    };
    write().map_err(|source| FileError::Write { path: path.to_owned(), source })
}

/// The bytes of the file.
fn document(film: &Film) -> std::io::Result<Vec<u8>> {
    let mut gltf = Gltf::default();
    let times: Vec<[f32; 1]> = film.frames.iter().map(|frame| [frame.time as f32]).collect();
    let has_motion = times.windows(2).any(|pair| pair[1] > pair[0]);
    let times = if has_motion { Some(gltf.times(&times)) } else { None };
    let mut nodes = Vec::new();
    for (index, body) in film.bodies.iter().enumerate().filter(|(_, body)| !body.parts.is_empty()) {
        nodes.push(gltf.body(film, index, body, times));
    }
    nodes.extend(gltf.forces(film, times));
    nodes.extend(gltf.surfaces(film));
    gltf.bytes(nodes)
}

impl Gltf {
    /// A body with its motion. What is drawn of it hides what collides: that is a node of its own, without
    /// size.
    fn body(
        &mut self,
        film: &Film,
        index: usize,
        body: &FilmBody,
        times: Option<Index<Accessor>>,
    ) -> Index<Node> {
        let has_visuals = body.has_visuals();
        let is_seen = |part: &&Part| !has_visuals || part.kind == PartKind::Visual;
        let (seen, hidden): (Vec<&Part>, Vec<&Part>) = body.parts.iter().partition(is_seen);
        let mut node = self.parts(&body.name, body.color, &seen);
        if !hidden.is_empty() {
            let mut collision = self.parts(&format!("{} collision", body.name), body.color, &hidden);
            collision.scale = Some([0.0; 3]);
            node.children = Some(vec![self.add(collision)]);
        }
        if let Some(first) = film.frames.first() {
            node.translation = Some(single(&first.poses[index].position));
            node.rotation = Some(UnitQuaternion(xyzw(&first.poses[index].orientation)));
        }
        let node = self.add(node);
        if let Some(times) = times.filter(|_| !body.is_fixed) {
            let poses = || film.frames.iter().map(|frame| &frame.poses[index]);
            let positions: Vec<[f32; 3]> = poses().map(|pose| single(&pose.position)).collect();
            let rotations: Vec<[f32; 4]> = poses().map(|pose| xyzw(&pose.orientation)).collect();
            self.animate(node, Property::Translation, times, &positions, Interpolation::Linear);
            self.animate(node, Property::Rotation, times, &rotations, Interpolation::Linear);
        }
        node
    }

    /// A node with a mesh of parts of a body.
    fn parts(&mut self, name: &str, color: [u8; 3], parts: &[&Part]) -> Node {
        let color = color.map(|x| f64::from(x) / 255.0);
        let primitives = parts.iter().map(|part| {
            let material = self.material(name, color, part.opacity(), true);
            let positions: Vec<[f32; 3]> = part.surface.vertices.iter().map(single).collect();
            self.primitive(&positions, None, &part.surface.triangles, material)
        });
        let primitives = primitives.collect();
        self.node(name, primitives)
    }

    /// An arrow for the force of each pair that touches at any time.
    fn forces(&mut self, film: &Film, times: Option<Index<Accessor>>) -> Vec<Index<Node>> {
        let Some(scale) = force_scale(film) else { return Vec::new() };
        let touching: Vec<usize> = (0..film.pairs.len())
            .filter(|&pair| film.frames.iter().any(|frame| frame.contacts[pair].is_some()))
            .collect();
        let material = self.material("force", [0.85, 0.1, 0.1], 1.0, false);
        let (positions, triangles) = arrow_mesh();
        let primitive = self.primitive(&positions, None, &triangles, material);
        let mesh = self.node("force", vec![primitive]).mesh;
        let mut nodes = Vec::new();
        for pair in touching {
            let (on, forces) = drawn_force(film, pair);
            let [a, b] = &film.pairs[pair];
            let (on, by) = if on == 0 { (a, b) } else { (b, a) };
            let mut place = [[0.0; 3]; 1].to_vec();
            let (mut turns, mut scales) = (vec![[0.0, 0.0, 0.0, 1.0]], vec![[0.0; 3]]);
            for force in &forces {
                // Without a force the arrow stays where it was, without size.
                let (at, turn, scale) = match force {
                    Some((at, force)) => {
                        (single(at), xyzw(&turned_from_z(force)), [(force.norm() * scale) as f32; 3])
                    }
                    None => (place[place.len() - 1], turns[turns.len() - 1], [0.0; 3]),
                };
                place.push(at);
                turns.push(turn);
                scales.push(scale);
            }
            let name = Some(format!("force on {on} by {by}"));
            let (translation, rotation) = (Some(place[1]), Some(UnitQuaternion(turns[1])));
            let node = Node { name, mesh, translation, rotation, scale: Some(scales[1]), ..Node::default() };
            let node = self.add(node);
            if let Some(times) = times {
                self.animate(node, Property::Translation, times, &place[1..], Interpolation::Step);
                self.animate(node, Property::Rotation, times, &turns[1..], Interpolation::Step);
                self.animate(node, Property::Scale, times, &scales[1..], Interpolation::Step);
            }
            nodes.push(node);
        }
        nodes
    }

    /// The contact surfaces, each shown from its frame until the next.
    fn surfaces(&mut self, film: &Film) -> Vec<Index<Node>> {
        let largest = film.max_pressure();
        let count = film.frames.iter().filter(|frame| !frame.surface.polygons.is_empty()).count();
        if count == 0 || largest == 0.0 {
            return Vec::new();
        }
        let every = film.frames.len().div_ceil(MOST_SURFACES);
        let shown: Vec<_> = film.frames.iter().step_by(every).collect();
        let material = self.material("contact surface", [1.0; 3], 1.0, false);
        let start = shown[0].time as f32;
        let mut nodes = Vec::new();
        for (k, frame) in shown.iter().enumerate() {
            if frame.surface.polygons.is_empty() {
                continue;
            }
            let (colors, triangles) = (colors(&frame.surface, largest), frame.surface.triangles());
            let primitive = self.primitive(&frame.surface.vertices, Some(&colors), &triangles, material);
            let mut node = self.node(&format!("contact at {} s", frame.time as f32), vec![primitive]);
            let time = frame.time as f32;
            let is_first = time <= start;
            let next = shown.get(k + 1).map(|next| next.time as f32).filter(|&next| next > time);
            if shown.len() > 1 {
                node.scale = Some([f32::from(u8::from(is_first)); 3]);
            }
            let node = self.add(node);
            let keys = [(!is_first).then_some((start, 0.0)), Some((time, 1.0)), next.map(|next| (next, 0.0))];
            let keys: Vec<(f32, f32)> = keys.into_iter().flatten().collect();
            if keys.len() > 1 {
                let times = self.times(&keys.iter().map(|&(time, _)| [time]).collect::<Vec<_>>());
                let scales: Vec<[f32; 3]> = keys.iter().map(|&(_, scale)| [scale; 3]).collect();
                self.animate(node, Property::Scale, times, &scales, Interpolation::Step);
            }
            nodes.push(node);
        }
        nodes
    }
}

/// The colour of each vertex of a contact surface.
fn colors(surface: &FrameSurface, largest: f64) -> Vec<[u8; 4]> {
    let color = |&pressure: &f32| {
        let [r, g, b] = viridis(f64::from(pressure) / largest).map(|x| (255.0 * linear(x)).round() as u8);
        [r, g, b, 255]
    };
    surface.pressures.iter().map(color).collect()
}
