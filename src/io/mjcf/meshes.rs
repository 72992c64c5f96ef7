//! The meshes that geoms name, and what they weigh.

use std::path::Path;

use nalgebra::{Matrix3, Vector3};

use super::file::File;
use super::layers::Layers;
use super::wrong;
use crate::geometry::{MeshError, SurfaceMesh, VolumeMesh};
use crate::io::file_error::FileError;
use crate::shown::list;
use crate::spatial::{MassProperties, Quaternion, RigidTransform};

/// A mesh in a file.
#[derive(Debug)]
pub(super) struct Mesh {
    pub uri: String,
    pub scale: [f64; 3],
    /// The pose of the scaled vertices' frame in the geom's.
    pub x: RigidTransform,
    inertia: Inertia,
}

/// How a mesh encloses its volume.
#[derive(Clone, Copy, Debug)]
enum Inertia {
    /// All tetrahedra between its triangles and a point count as positive.
    Legacy,
    Exact,
    /// Its hull's.
    Convex,
    /// None: its surface has mass.
    Shell,
}

/// The mesh that a geom names.
///
/// # Errors
/// When there is none, or it is not in a file.
pub(super) fn of_geom(file: &File, geom: &Layers) -> Result<Mesh, FileError> {
    let named = geom.find("mesh").map(|(_, name)| name);
    let name = named.ok_or_else(|| wrong(geom.element(), "it has no attribute `mesh`; it needs one"))?;
    let Some(&asset) = file.meshes.get(name) else {
        let mut known: Vec<&str> = file.meshes.keys().map(String::as_str).collect();
        known.sort_unstable();
        let known = list(known);
        return Err(wrong(
            geom.element(),
            format!("found the mesh `{name}`, which is not there; there are {known}"),
        ));
    };
    let layers = file.classes.layers(asset, &["mesh"], None)?;
    let Some((_, path)) = layers.find("file") else {
        return Err(wrong(
            asset,
            "it has no attribute `file`; vertices in the file of the robot are not read",
        ));
    };
    let base = Path::new(path).file_name().unwrap_or_default();
    let path = if file.compiler.strip_path { Path::new(base) } else { Path::new(path) };
    let scale = layers.overlaid("scale", [1.0; 3], 3)?;
    let away = Vector3::from(layers.numbers("refpos")?.unwrap_or([0.0; 3]));
    let turn = match layers.numbers("refquat")? {
        Some([w, x, y, z]) if [w, x, y, z] != [0.0; 4] => Quaternion::from_wxyz(w, x, y, z).to_matrix(),
        Some(_) => return Err(wrong(asset, "refquat is 0 0 0 0; it must not be zero")),
        None => Matrix3::identity(),
    };
    // The scale is that of the turned vertices.
    if scale != [scale[0]; 3] && turn != Matrix3::identity() {
        return Err(wrong(
            asset,
            "found refquat and different scales along the axes; one of them is allowed",
        ));
    }
    let back = turn.transpose();
    let words = [
        ("legacy", Inertia::Legacy),
        ("exact", Inertia::Exact),
        ("convex", Inertia::Convex),
        ("shell", Inertia::Shell),
    ];
    Ok(Mesh {
        uri: Path::new(&file.compiler.mesh_folder).join(path).to_string_lossy().into_owned(),
        scale,
        x: RigidTransform::new(back, -(back * away.component_mul(&Vector3::from(scale)))),
        inertia: layers.word("inertia", &words)?.unwrap_or(Inertia::Legacy),
    })
}

/// The mass properties of a mesh in the geom's frame at 1 kg/m³. Its file is read.
///
/// # Errors
/// When the file cannot be read, or it encloses no volume.
pub(super) fn mass_properties(file: &File, geom: &Layers) -> Result<MassProperties, FileError> {
    let mesh = of_geom(file, geom)?;
    let wrong = |message: String| {
        let uri = &mesh.uri;
        wrong(geom.element(), format!("its mass is that of the mesh `{uri}`: {message}"))
    };
    let place = file.path.parent().unwrap_or(Path::new("")).join(&mesh.uri);
    let mut surface = SurfaceMesh::read_triangles(&place).map_err(|error| wrong(error.to_string()))?;
    surface.stretch(&mesh.scale.into());
    let own = match mesh.inertia {
        Inertia::Exact => surface.mass_properties(),
        Inertia::Convex => {
            SurfaceMesh::convex_hull(&surface.vertices).and_then(|hull| hull.mass_properties())
        }
        Inertia::Legacy => legacy(&surface),
        Inertia::Shell => {
            return Err(wrong("found inertia = \"shell\"; masses of surfaces are not read".to_owned()));
        }
    };
    Ok(own.map_err(|error| wrong(error.to_string()))?.seen_from(&mesh.x))
}

/// The mass properties of a surface, which may be open, at 1 kg/m³, as MuJoCo has them: the centre of mass is that of the
/// tetrahedra between its triangles and their centroid, mass and inertia are those of the tetrahedra with that centre.
fn legacy(surface: &SurfaceMesh) -> Result<MassProperties, MeshError> {
    let (mut sum, mut area) = (Vector3::zeros(), 0.0);
    for t in 0..surface.triangles.len() {
        let [a, b, c] = surface.corners(t);
        let twice = (b - a).cross(&(c - a)).norm();
        sum += (a + b + c) * (twice / 3.0);
        area += twice;
    }
    let centre = around(surface, &(sum / area)).mass_properties()?.center_of_mass;
    let own = around(surface, &centre).mass_properties()?;
    let away = own.center_of_mass - centre;
    let steiner = Matrix3::identity() * away.dot(&away) - away * away.transpose();
    Ok(MassProperties { center_of_mass: centre, inertia: own.inertia + steiner * own.mass, ..own })
}

/// The tetrahedra between the triangles of a surface and a point; none is inverted.
fn around(surface: &SurfaceMesh, apex: &Vector3<f64>) -> VolumeMesh {
    let mut vertices = surface.vertices.clone();
    let last = vertices.len() as u32;
    vertices.push(*apex);
    let tetrahedra = (0..surface.triangles.len()).map(|t| {
        let ([a, b, c], [p, q, r]) = (surface.triangles[t], surface.corners(t).map(|corner| corner - apex));
        if p.dot(&q.cross(&r)) >= 0.0 { [last, a, b, c] } else { [last, a, c, b] }
    });
    VolumeMesh { tetrahedra: tetrahedra.collect(), vertices }
}
