//! A glTF document under way: meshes, nodes, animations and the numbers that they refer to, and the file
//! that they make.

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

use super::color::linear;

/// A glTF document with its binary part.
#[derive(Default)]
pub(super) struct Gltf {
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
    pub fn times(&mut self, times: &[[f32; 1]]) -> Index<Accessor> {
        self.vectors(times, None, true)
    }

    pub fn material(
        &mut self,
        name: &str,
        [r, g, b]: [f64; 3],
        opacity: f32,
        is_lit: bool,
    ) -> Index<Material> {
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
    pub fn primitive(
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
    pub fn node(&mut self, name: &str, primitives: Vec<Primitive>) -> Node {
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

    pub fn add(&mut self, node: Node) -> Index<Node> {
        self.root.push(node)
    }

    /// Lets a property of a node follow values over time.
    pub fn animate<const N: usize>(
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

    /// The file: its header, the document, the binary part.
    pub fn bytes(mut self, nodes: Vec<Index<Node>>) -> std::io::Result<Vec<u8>> {
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
