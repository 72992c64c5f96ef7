//! What the file says of how it is to be read.

use super::layers::Layers;
use super::wrong;
use crate::io::file_error::FileError;
use crate::xml::Element;

/// The settings of `compiler`.
#[derive(Debug)]
pub(super) struct Compiler {
    pub degrees: bool,
    /// The axes of Euler angles in turn, and whether each is one of the fixed frame.
    pub euler: [(usize, bool); 3],
    /// Whether a range is a limit without being said so.
    pub autolimits: bool,
    /// Whether masses come from geoms always or never; `None` where a body has no `inertial`.
    pub inertia_from_geoms: Option<bool>,
    /// The groups of geoms that have mass, first and last.
    pub groups_with_mass: [f64; 2],
    /// Whether impossible moments of inertia are replaced by their mean.
    pub balance_inertia: bool,
    pub least_mass: f64,
    pub least_inertia: f64,
    pub total_mass: Option<f64>,
    /// The folder of meshes, relative to the file.
    pub mesh_folder: String,
    /// Whether the folders in the names of meshes are left out.
    pub strip_path: bool,
}

impl Compiler {
    /// The settings of a file. All its `compiler` elements count for all of it.
    ///
    /// # Errors
    /// When one is not known or not read.
    pub fn new(root: &Element) -> Result<Self, FileError> {
        let layers = Layers(root.all("compiler").collect());
        layers.word("coordinate", &[("local", ())])?;
        let mut euler = [(0, false), (1, false), (2, false)];
        if let Some((element, found)) = layers.find("eulerseq") {
            let axes: Option<Vec<_>> = found.chars().map(axis).collect();
            euler = axes.and_then(|axes| axes.try_into().ok()).ok_or_else(|| {
                wrong(element, format!("found eulerseq = {found:?}; it must be three of x, y, z, X, Y, Z"))
            })?;
        }
        let folder = layers.find("meshdir").or_else(|| layers.find("assetdir"));
        Ok(Self {
            degrees: layers.word("angle", &[("degree", true), ("radian", false)])?.unwrap_or(true),
            euler,
            autolimits: layers.truth("autolimits")?.unwrap_or(true),
            inertia_from_geoms: layers.truth("inertiafromgeom")?,
            groups_with_mass: layers.numbers("inertiagrouprange")?.unwrap_or([0.0, 5.0]),
            balance_inertia: layers.truth("balanceinertia")?.unwrap_or(false),
            least_mass: layers.number_or("boundmass", 0.0)?,
            least_inertia: layers.number_or("boundinertia", 0.0)?,
            total_mass: Some(layers.number_or("settotalmass", -1.0)?).filter(|mass| *mass > 0.0),
            mesh_folder: folder.map_or("", |(_, folder)| folder).to_owned(),
            strip_path: layers.truth("strippath")?.unwrap_or(false),
        })
    }

    /// An angle as the file has it, in radians.
    pub fn angle(&self, angle: f64) -> f64 {
        if self.degrees { angle.to_radians() } else { angle }
    }
}

/// An axis by its letter, and whether it is fixed.
fn axis(letter: char) -> Option<(usize, bool)> {
    let axis = "xyzXYZ".find(letter)?;
    Some((axis % 3, axis >= 3))
}
