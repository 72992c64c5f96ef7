//! The geoms of bodies as they are written.

use nalgebra::Vector3;

use super::file::File;
use super::layers::Layers;
use super::meshes;
use super::pose::pose;
use super::wrong;
use crate::io::file_error::FileError;
use crate::io::robot::{Geometry, LinkShape, Proximity};
use crate::spatial::{RigidTransform, rotation_to};
use crate::xml::Element;

/// The types of geoms.
const TYPES: [&str; 9] =
    ["sphere", "capsule", "cylinder", "box", "ellipsoid", "plane", "mesh", "hfield", "sdf"];

/// The groups that are drawn.
const DRAWN_GROUPS: std::ops::RangeInclusive<f64> = 0.0..=2.0;

/// A geom of a body.
#[derive(Debug)]
pub(super) struct Geom<'a> {
    pub layers: Layers<'a>,
    /// Its class and those that it is in.
    classes: Vec<&'a str>,
    /// Its pose in the body's frame, as the file has it.
    pub x_bg: RigidTransform,
    pub size: [f64; 3],
    pub kind: &'static str,
    pub group: f64,
    /// Which others it collides with: bits of its own, and bits of others that it meets.
    pub mask: [u32; 2],
}

impl<'a> Geom<'a> {
    /// Reads a geom in a frame of its body.
    ///
    /// # Errors
    /// When its numbers or its class are not good.
    pub fn new(
        file: &File<'a>,
        element: &'a Element,
        x_frame: &RigidTransform,
        childclass: Option<&'a str>,
    ) -> Result<Self, FileError> {
        let layers = file.classes.layers(element, &["geom"], childclass)?;
        let kind = layers.word("type", &TYPES.map(|name| (name, name)))?.unwrap_or("sphere");
        let mut size = layers.overlaid("size", [0.0; 3], 1)?;
        let mut x_bg = pose(&layers, &file.compiler)?;
        if let Some([a, b, c, d, e, f]) = layers.numbers("fromto")? {
            let (from, to) = (Vector3::new(a, b, c), Vector3::new(d, e, f));
            let along = from - to;
            let round = matches!(kind, "capsule" | "cylinder");
            if !round && !matches!(kind, "box" | "ellipsoid") {
                let message =
                    format!("found fromto for a {kind}; it is for a capsule, cylinder, box or ellipsoid");
                return Err(wrong(element, message));
            }
            let turn = rotation_to(&along)
                .ok_or_else(|| wrong(element, "the two points of fromto must be finite and not the same"))?;
            x_bg = RigidTransform::new(turn, (from + to) / 2.0);
            let half = along.norm() / 2.0;
            size = if round { [size[0], half, 0.0] } else { [size[0], size[0], half] };
        }
        // Bits of a signed number, as the format has them.
        let bits = |name| Ok::<u32, FileError>(layers.number_or(name, 1.0)? as i64 as u32);
        Ok(Self {
            classes: file.classes.chain(element, childclass)?,
            x_bg: *x_frame * x_bg,
            size,
            kind,
            group: layers.number_or("group", 0.0)?,
            mask: [bits("contype")?, bits("conaffinity")?],
            layers,
        })
    }

    /// Its element.
    pub fn element(&self) -> &'a Element {
        self.layers.element()
    }

    /// Whether it collides with anything; else it is only seen.
    pub fn collides(&self) -> bool {
        self.mask != [0; 2]
    }

    pub fn is_drawn(&self) -> bool {
        DRAWN_GROUPS.contains(&self.group) && self.kind != "plane"
    }

    /// Its shape.
    ///
    /// # Errors
    /// When it is of a type that is not read.
    pub fn shape(&self, file: &File<'a>) -> Result<LinkShape, FileError> {
        let [a, b, c] = self.size;
        let mut x_bg = self.x_bg;
        let is_fitted = self.layers.find("mesh").is_some() && self.kind != "mesh";
        let geometry = match self.kind {
            kind if is_fitted => {
                let message =
                    format!("found a {kind} fitted to a mesh; it must have type = \"mesh\", or a size");
                return Err(wrong(self.element(), message));
            }
            "sphere" => Geometry::Sphere { radius: a },
            "capsule" => Geometry::Capsule { radius: a, length: 2.0 * b },
            "cylinder" => Geometry::Cylinder { radius: a, length: 2.0 * b },
            "box" => Geometry::Box { size: self.size.map(|half| 2.0 * half) },
            "ellipsoid" => Geometry::Ellipsoid { semi_axes: [a, b, c] },
            "plane" => Geometry::HalfSpace,
            "mesh" => {
                let mesh = meshes::of_geom(file, &self.layers)?;
                x_bg = x_bg * mesh.x;
                Geometry::Mesh { uri: mesh.uri, scale: Some(mesh.scale), convex: true }
            }
            other => {
                let allowed = TYPES[..7].join(", ");
                let message = format!("found type = \"{other}\"; the shapes that are read are {allowed}");
                return Err(wrong(self.element(), message));
            }
        };
        let [friction, ..] = self.layers.overlaid("friction", [1.0, 0.005, 0.0001], 1)?;
        // Nothing of `solref` is a modulus: the time that it gives depends on the mass that is pushed.
        let proximity = Proximity {
            dynamic_friction: Some(friction),
            static_friction: Some(friction),
            ..Proximity::default()
        };
        let name = super::name(self.element());
        let classes = self.classes.iter().map(|class| (*class).to_owned()).collect();
        Ok(LinkShape { name, classes, x_bg, geometry, proximity })
    }
}
