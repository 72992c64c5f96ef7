//! Geometry of links, what they collide with, and where meshes are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nalgebra::Vector3;

use super::drake::Proximity;
use super::error::{self, MissingMesh};
use crate::geometry::Shape;
use crate::io::file_error::FileError;
use crate::spatial::RigidTransform;

/// A geometry that a link may collide with. It is data: contact makes use of it later.
#[derive(Clone, Debug, PartialEq)]
pub struct CollisionShape {
    /// Name of the body.
    pub body: String,
    /// Name of the geometry, if it has one.
    pub name: Option<String>,
    /// The classes that an MJCF file has it in, innermost first.
    pub classes: Vec<String>,
    /// Pose of the geometry's frame G in the body's frame.
    pub x_bg: RigidTransform,
    /// The geometry.
    pub geometry: LinkGeometry,
    /// What the file says of contact with it.
    pub proximity: Proximity,
}

/// A primitive, a mesh in a file, or a half-space.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LinkGeometry {
    /// A primitive shape.
    Primitive(Shape),
    /// A mesh.
    Mesh(MeshReference),
    /// What lies at z ≤ 0 of the geometry's frame, which SDF files call a plane.
    HalfSpace,
}

/// A mesh as the file of a robot names it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshReference {
    /// As the file names it.
    pub uri: String,
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// Where it was looked for.
    pub searched: Vec<PathBuf>,
    /// Factors of the coordinates.
    pub scale: Vector3<f64>,
    /// Whether the file declares it convex: its convex hull is meant.
    pub convex: bool,
}

impl CollisionShape {
    /// The file of a mesh that is to collide; `None` for what is no mesh.
    ///
    /// # Errors
    /// When the mesh is not there.
    pub fn mesh_file(&self) -> Result<Option<&Path>, MissingMesh> {
        match &self.geometry {
            LinkGeometry::Primitive(_) | LinkGeometry::HalfSpace => Ok(None),
            LinkGeometry::Mesh(MeshReference { file: Some(file), .. }) => Ok(Some(file)),
            LinkGeometry::Mesh(mesh) => Err(MissingMesh {
                body: self.body.clone(),
                uri: mesh.uri.clone(),
                searched: mesh.searched.clone(),
            }),
        }
    }
}

/// A shape as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::io) enum Geometry {
    Box { size: [f64; 3] },
    Cylinder { radius: f64, length: f64 },
    Capsule { radius: f64, length: f64 },
    Sphere { radius: f64 },
    Ellipsoid { semi_axes: [f64; 3] },
    Mesh { uri: String, scale: Option<[f64; 3]>, convex: bool },
    HalfSpace,
}

/// What a link collides with, or what is drawn of it, as it is written.
#[derive(Debug)]
pub(in crate::io) struct LinkShape {
    pub name: Option<String>,
    pub classes: Vec<String>,
    /// Pose of the geometry's frame G in the link's frame.
    pub x_bg: RigidTransform,
    pub geometry: Geometry,
    pub proximity: Proximity,
}

#[derive(Debug)]
pub(in crate::io) struct LinkShapes {
    pub link: String,
    pub collisions: Vec<LinkShape>,
    /// What is drawn of it, or what is wrong with that: a robot moves without.
    pub visuals: Vec<Result<LinkShape, String>>,
}

/// Where meshes are looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeshSearch<'a> {
    /// The file of the robot.
    pub file: &'a Path,
    /// Folders that are packages or hold packages.
    pub packages: &'a [PathBuf],
}

impl MeshSearch<'_> {
    /// The places where a mesh may be, in the order in which they are looked at.
    ///
    /// `package://NAME/REST` is `NAME/REST` in each folder of the search path, or `REST` if the
    /// folder itself is called NAME; and then the same in each folder above the robot's file. `model://`
    /// is the same. Other names are relative to the robot's file.
    pub fn places(&self, uri: &str) -> Vec<PathBuf> {
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let Some(rest) = uri.strip_prefix("package://").or_else(|| uri.strip_prefix("model://")) else {
            return vec![folder.join(uri.strip_prefix("file://").unwrap_or(uri))];
        };
        let (name, inside) = rest.split_once('/').unwrap_or((rest, ""));
        let above = folder.ancestors().map(Path::to_owned);
        let folders: Vec<PathBuf> = self.packages.iter().cloned().chain(above).collect();
        let mut places = Vec::new();
        for folder in folders {
            if folder.file_name().is_some_and(|n| n == name) {
                places.push(folder.join(inside));
            }
            places.push(folder.join(rest));
        }
        places
    }

    /// Looks for a mesh.
    pub fn find(&self, uri: &str, scale: Option<[f64; 3]>, convex: bool) -> MeshReference {
        let searched = self.places(uri);
        let file = searched.iter().find(|p| p.is_file()).cloned();
        let scale = Vector3::from(scale.unwrap_or([1.0; 3]));
        MeshReference { uri: uri.to_owned(), file, searched, scale, convex }
    }

    /// The geometry of a link, or what is wrong with it.
    pub fn geometry(&self, geometry: &Geometry) -> Result<LinkGeometry, String> {
        let shape = match geometry {
            Geometry::Box { size } => Shape::Box { size: *size },
            Geometry::Cylinder { radius, length } => Shape::Cylinder { radius: *radius, length: *length },
            Geometry::Capsule { radius, length } => Shape::Capsule { radius: *radius, length: *length },
            Geometry::Sphere { radius } => Shape::Sphere { radius: *radius },
            Geometry::Ellipsoid { semi_axes } => Shape::Ellipsoid { semi_axes: *semi_axes },
            Geometry::HalfSpace => return Ok(LinkGeometry::HalfSpace),
            Geometry::Mesh { uri, scale, convex } => {
                let mesh = self.find(uri, *scale, *convex);
                if !mesh.scale.iter().all(|s| s.is_finite() && *s != 0.0) {
                    let found = mesh.scale.as_slice();
                    return Err(format!("its scale is {found:?}; it must be finite and not 0"));
                }
                return Ok(LinkGeometry::Mesh(mesh));
            }
        };
        shape.validate().map_err(|error| error.to_string())?;
        Ok(LinkGeometry::Primitive(shape))
    }
}

/// What links collide with, in the order of the file.
pub(super) fn collisions(
    links: &[LinkShapes],
    search: &MeshSearch,
) -> Result<Vec<CollisionShape>, FileError> {
    let mut shapes = Vec::new();
    for LinkShapes { link, collisions, .. } in links {
        let wrong = |message: &str| error::element(search.file, format!("link `{link}`"), message.to_owned());
        for LinkShape { name, classes, x_bg, geometry, proximity } in collisions {
            if !x_bg.rotation.iter().chain(&x_bg.translation).all(|x| x.is_finite()) {
                return Err(wrong("the origin of its collision geometry must be finite"));
            }
            let geometry = search
                .geometry(geometry)
                .map_err(|message| wrong(&format!("its collision geometry: {message}")))?;
            let (body, name, classes) = (link.clone(), name.clone(), classes.clone());
            let (x_bg, proximity) = (*x_bg, *proximity);
            shapes.push(CollisionShape { body, name, classes, x_bg, geometry, proximity });
        }
    }
    Ok(shapes)
}

/// A warning that names the meshes which links collide with and that are not found, if there are such.
pub(super) fn absent_meshes(links: &[LinkShapes], search: &MeshSearch) -> Option<String> {
    let named = links.iter().flat_map(|link| &link.collisions).filter_map(|shape| match &shape.geometry {
        Geometry::Mesh { uri, .. } => Some(uri.as_str()),
        _ => None,
    });
    let named: BTreeSet<&str> = named.collect();
    let absent: Vec<&str> =
        named.into_iter().filter(|uri| search.find(uri, None, false).file.is_none()).collect();
    (!absent.is_empty()).then(|| format!("meshes that are not found: {}", absent.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_looked_for_on_the_path_and_above_the_file() {
        let packages = [PathBuf::from("/a/robots"), PathBuf::from("/b/arm")];
        let search = MeshSearch { file: Path::new("/c/arm/urdf/arm.urdf"), packages: &packages };
        let expected = [
            "/a/robots/arm/m/x.obj",
            "/b/arm/m/x.obj",
            "/b/arm/arm/m/x.obj",
            "/c/arm/urdf/arm/m/x.obj",
            "/c/arm/m/x.obj",
            "/c/arm/arm/m/x.obj",
            "/c/arm/m/x.obj",
            "/arm/m/x.obj",
        ];
        assert_eq!(search.places("package://arm/m/x.obj"), expected.map(PathBuf::from));
        assert_eq!(search.places("model://arm/m/x.obj"), search.places("package://arm/m/x.obj"));
        assert_eq!(search.places("../m/x.obj"), [PathBuf::from("/c/arm/urdf/../m/x.obj")]);
        assert_eq!(search.places("file:///m/x.obj"), [PathBuf::from("/m/x.obj")]);
    }
}
