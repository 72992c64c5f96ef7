//! Films as animated glTF 2.0 in one binary file, which browsers' viewers, Blender and slides open.
//!
//! Bodies move by animation. A mesh of glTF cannot change its topology, so that each contact surface is a
//! mesh of its own that is shown from its time until the next. Forces are arrows of one mesh.

use std::io::Write;
use std::path::Path;

use super::arrow::{arrow_mesh, drawn_force, turned_from_z};
use super::color::{linear, viridis};
use super::film::{Film, FrameSurface, single};
use super::shapes::{FilmBody, PartKind};
use crate::io::{FileError, OutputFile};
use crate::spatial::Quaternion;
use gltf_json::accessor::{ComponentType, GenericComponentType, Type};
use gltf_json::animation::{Channel, Interpolation, Property, Sampler, Target};
use gltf_json::buffer::Target as ViewTarget;
use gltf_json::extensions::material::Unlit;
use gltf_json::material::{AlphaMode, PbrBaseColorFactor, PbrMetallicRoughness, StrengthFactor};
use gltf_json::mesh::{Mode, Primitive, Semantic};
use gltf_json::scene::UnitQuaternion;
use gltf_json::validation::{Checked, USize64};
use gltf_json::{
    Accessor, Animation, Buffer, Extras, Index, Material, Mesh, Node, Root, Scene, Value, buffer,
};

/// The most contact surfaces of a file; of longer films every second, third, … frame has one.
const MOST_SURFACES: usize = 500;

/// How opaque bodies are in which contact surfaces lie.
const COMPLIANT_OPACITY: f32 = 0.5;

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

/// A glTF document with its binary part.
#[derive(Default)]
struct Gltf {
    root: Root,
    binary: Vec<u8>,
    channels: Vec<Channel>,
    samplers: Vec<Sampler>,
}

impl Gltf {
    /// Numbers in the binary part.
    fn view(&mut self, bytes: &[u8], target: Option<ViewTarget>) -> Index<buffer::View> {
        // All numbers are of four bytes at most, and so are the boundaries between views.
        self.binary.resize(self.binary.len().next_multiple_of(4), 0);
        let byte_offset = Some(USize64::from(self.binary.len()));
        self.binary.extend_from_slice(bytes);
        self.root.push(buffer::View {
            buffer: Index::new(0),
            byte_length: USize64::from(bytes.len()),
            byte_offset,
            byte_stride: None,
            name: None,
            target: target.map(Checked::Valid),
            extensions: None,
            extras: Extras::default(),
        })
    }

    fn accessor(
        &mut self,
        bytes: &[u8],
        count: usize,
        (component, type_): (ComponentType, Type),
        target: Option<ViewTarget>,
        range: Option<[Vec<f32>; 2]>,
    ) -> Index<Accessor> {
        let view = self.view(bytes, target);
        let [min, max] = range.map_or([None, None], |range| range.map(|ends| Some(Value::from(ends))));
        self.root.push(Accessor {
            buffer_view: Some(view),
            byte_offset: None,
            count: USize64::from(count),
            component_type: Checked::Valid(GenericComponentType(component)),
            type_: Checked::Valid(type_),
            min,
            max,
            name: None,
            normalized: component == ComponentType::U8,
            sparse: None,
            extensions: None,
            extras: Extras::default(),
        })
    }

    /// Vectors in the binary part, with their least and largest coordinates if viewers need them.
    fn vectors<const N: usize>(
        &mut self,
        values: &[[f32; N]],
        target: Option<ViewTarget>,
        with_range: bool,
    ) -> Index<Accessor> {
        let bytes: Vec<u8> = values.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        let type_ = match N {
            1 => Type::Scalar,
            3 => Type::Vec3,
            _ => Type::Vec4,
        };
        let end = |choose: fn(f32, f32) -> f32| {
            (0..N).map(|k| values.iter().map(|v| v[k]).reduce(choose).unwrap_or(0.0)).collect()
        };
        let range = with_range.then(|| [end(f32::min), end(f32::max)]);
        self.accessor(&bytes, values.len(), (ComponentType::F32, type_), target, range)
    }

    /// Times of an animation.
    fn times(&mut self, times: &[[f32; 1]]) -> Index<Accessor> {
        self.vectors(times, None, true)
    }

    fn material(&mut self, name: &str, [r, g, b]: [f64; 3], opacity: f32, is_lit: bool) -> Index<Material> {
        let [r, g, b] = [r, g, b].map(|x| linear(x) as f32);
        let unlit = (!is_lit).then_some(gltf_json::extensions::material::Material { unlit: Some(Unlit {}) });
        let alpha_mode = if opacity < 1.0 { AlphaMode::Blend } else { AlphaMode::Opaque };
        self.root.push(Material {
            name: Some(name.to_owned()),
            alpha_mode: Checked::Valid(alpha_mode),
            double_sided: true,
            pbr_metallic_roughness: PbrMetallicRoughness {
                base_color_factor: PbrBaseColorFactor([r, g, b, opacity]),
                metallic_factor: StrengthFactor(0.0),
                roughness_factor: StrengthFactor(0.8),
                ..PbrMetallicRoughness::default()
            },
            extensions: unlit,
            ..Material::default()
        })
    }

    /// Triangles with a position, and a colour on request, at each vertex.
    fn primitive(
        &mut self,
        positions: &[[f32; 3]],
        colors: Option<&[[u8; 4]]>,
        triangles: &[[u32; 3]],
        material: Index<Material>,
    ) -> Primitive {
        let vertices = Some(ViewTarget::ArrayBuffer);
        let position = self.vectors(positions, vertices, true);
        let mut attributes = std::collections::BTreeMap::new();
        attributes.insert(Checked::Valid(Semantic::Positions), position);
        if let Some(colors) = colors {
            let kind = (ComponentType::U8, Type::Vec4);
            let color = self.accessor(colors.as_flattened(), colors.len(), kind, vertices, None);
            attributes.insert(Checked::Valid(Semantic::Colors(0)), color);
        }
        let bytes: Vec<u8> = triangles.iter().flatten().flat_map(|i| i.to_le_bytes()).collect();
        let kind = (ComponentType::U32, Type::Scalar);
        let indices =
            self.accessor(&bytes, 3 * triangles.len(), kind, Some(ViewTarget::ElementArrayBuffer), None);
        Primitive {
            attributes,
            extensions: None,
            extras: Extras::default(),
            indices: Some(indices),
            material: Some(material),
            mode: Checked::Valid(Mode::Triangles),
            targets: None,
        }
    }

    /// A mesh and a node that shows it.
    fn node(&mut self, name: &str, primitives: Vec<Primitive>) -> Node {
        let mesh = (!primitives.is_empty()).then(|| {
            let name = Some(name.to_owned());
            self.root.push(Mesh {
                name,
                primitives,
                weights: None,
                extensions: None,
                extras: Extras::default(),
            })
        });
        Node { name: Some(name.to_owned()), mesh, ..Node::default() }
    }

    /// Lets a property of a node follow values over time.
    fn animate<const N: usize>(
        &mut self,
        node: Index<Node>,
        property: Property,
        times: Index<Accessor>,
        values: &[[f32; N]],
        interpolation: Interpolation,
    ) {
        let output = self.vectors(values, None, false);
        let sampler = Index::new(self.samplers.len() as u32);
        self.samplers.push(Sampler {
            input: times,
            output,
            interpolation: Checked::Valid(interpolation),
            extensions: None,
            extras: Extras::default(),
        });
        let target =
            Target { node, path: Checked::Valid(property), extensions: None, extras: Extras::default() };
        self.channels.push(Channel { sampler, target, extensions: None, extras: Extras::default() });
    }

    /// A body with its motion.
    fn body(
        &mut self,
        film: &Film,
        index: usize,
        body: &FilmBody,
        times: Option<Index<Accessor>>,
    ) -> Index<Node> {
        let color = body.color.map(|x| f64::from(x) / 255.0);
        let primitives = body.parts.iter().map(|part| {
            let opacity = if part.kind == PartKind::Rigid { 1.0 } else { COMPLIANT_OPACITY };
            let material = self.material(&body.name, color, opacity, true);
            let positions: Vec<[f32; 3]> = part.surface.vertices.iter().map(single).collect();
            self.primitive(&positions, None, &part.surface.triangles, material)
        });
        let primitives = primitives.collect();
        let mut node = self.node(&body.name, primitives);
        if let Some(first) = film.frames.first() {
            node.translation = Some(single(&first.poses[index].position));
            node.rotation = Some(UnitQuaternion(xyzw(&first.poses[index].orientation)));
        }
        let node = self.root.push(node);
        if let Some(times) = times.filter(|_| !body.is_fixed) {
            let poses = || film.frames.iter().map(|frame| &frame.poses[index]);
            let positions: Vec<[f32; 3]> = poses().map(|pose| single(&pose.position)).collect();
            let rotations: Vec<[f32; 4]> = poses().map(|pose| xyzw(&pose.orientation)).collect();
            self.animate(node, Property::Translation, times, &positions, Interpolation::Linear);
            self.animate(node, Property::Rotation, times, &rotations, Interpolation::Linear);
        }
        node
    }

    /// An arrow for the force of each pair that touches at any time. The largest force is a fifth of the
    /// scene's diagonal long.
    fn forces(&mut self, film: &Film, times: Option<Index<Accessor>>) -> Vec<Index<Node>> {
        let (largest, Some(bounds)) = (film.max_force(), film.bounds()) else { return Vec::new() };
        let touching: Vec<usize> = (0..film.pairs.len())
            .filter(|&pair| film.frames.iter().any(|frame| frame.contacts[pair].is_some()))
            .collect();
        if largest == 0.0 || touching.is_empty() {
            return Vec::new();
        }
        let size = 0.2 * bounds.diagonal();
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
                        let length = force.norm() / largest * size;
                        let width = size.min(length) as f32;
                        (single(at), xyzw(&turned_from_z(force)), [width, width, length as f32])
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
            let node = self.root.push(node);
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
            let (colors, triangles) = (colors(&frame.surface, largest), triangles(&frame.surface));
            let primitive = self.primitive(&frame.surface.vertices, Some(&colors), &triangles, material);
            let mut node = self.node(&format!("contact at {} s", frame.time as f32), vec![primitive]);
            let time = frame.time as f32;
            let is_first = time <= start;
            let next = shown.get(k + 1).map(|next| next.time as f32).filter(|&next| next > time);
            if shown.len() > 1 {
                node.scale = Some([f32::from(u8::from(is_first)); 3]);
            }
            let node = self.root.push(node);
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

    /// The file: its header, the document, the binary part.
    fn bytes(mut self, nodes: Vec<Index<Node>>) -> std::io::Result<Vec<u8>> {
        // glTF's y axis points up, as z does here: a quarter turn about x.
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let world = self.root.push(Node {
            name: Some("world".to_owned()),
            rotation: Some(UnitQuaternion([-half, 0.0, 0.0, half])),
            children: (!nodes.is_empty()).then_some(nodes),
            ..Node::default()
        });
        let scene = Scene { nodes: vec![world], name: None, extensions: None, extras: Extras::default() };
        let scene = self.root.push(scene);
        self.root.scene = Some(scene);
        if !self.channels.is_empty() {
            let (channels, samplers) = (self.channels, self.samplers);
            let name = Some("motion".to_owned());
            self.root.push(Animation {
                channels,
                samplers,
                name,
                extensions: None,
                extras: Extras::default(),
            });
        }
        if self.root.materials.iter().any(|material| material.extensions.is_some()) {
            self.root.extensions_used.push("KHR_materials_unlit".to_owned());
        }
        self.root.asset.generator = Some(format!("isobar {}", env!("CARGO_PKG_VERSION")));
        if !self.binary.is_empty() {
            self.binary.resize(self.binary.len().next_multiple_of(4), 0);
            let byte_length = USize64::from(self.binary.len());
            self.root.push(Buffer {
                byte_length,
                name: None,
                uri: None,
                extensions: None,
                extras: Extras::default(),
            });
        }
        let mut json = gltf_json::serialize::to_vec(&self.root)?;
        json.resize(json.len().next_multiple_of(4), b' ');
        let chunks = [(&b"JSON"[..], json), (&b"BIN\0"[..], self.binary)];
        let chunks = chunks.iter().filter(|(_, chunk)| !chunk.is_empty());
        let length = 12 + chunks.clone().map(|(_, chunk)| 8 + chunk.len()).sum::<usize>();
        let count = |bytes: usize| {
            let message = "the film is too long for a glTF file of 4 GB; take fewer frames";
            u32::try_from(bytes)
                .map(u32::to_le_bytes)
                .map_err(|_| std::io::Error::new(std::io::ErrorKind::FileTooLarge, message))
        };
        let mut file = [&b"glTF"[..], &2_u32.to_le_bytes(), &count(length)?].concat();
        for (kind, chunk) in chunks {
            file.extend_from_slice(&count(chunk.len())?);
            file.extend_from_slice(kind);
            file.extend_from_slice(chunk);
        }
        Ok(file)
    }
}

/// A quaternion in glTF's order.
fn xyzw(q: &Quaternion) -> [f32; 4] {
    [q.v.x as f32, q.v.y as f32, q.v.z as f32, q.w as f32]
}

/// The colour of each vertex of a contact surface.
fn colors(surface: &FrameSurface, largest: f64) -> Vec<[u8; 4]> {
    let color = |&pressure: &f32| {
        let [r, g, b] = viridis(f64::from(pressure) / largest).map(|x| (255.0 * linear(x)).round() as u8);
        [r, g, b, 255]
    };
    surface.pressures.iter().map(color).collect()
}

/// The polygons of a contact surface as triangles.
fn triangles(surface: &FrameSurface) -> Vec<[u32; 3]> {
    let fan = |range: std::ops::Range<usize>| {
        (range.start + 1..range.end.saturating_sub(1))
            .map(move |i| [range.start as u32, i as u32, i as u32 + 1])
    };
    surface.ranges().flat_map(|(_, range)| fan(range)).collect()
}
