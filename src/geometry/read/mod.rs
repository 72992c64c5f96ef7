//! Reading meshes from files.

mod error;
mod fault;
mod listed_tetrahedra;
mod msh;
mod mujoco;
mod obj;
mod ply;
mod polygon;
mod stl;
mod text;
mod vtk;
mod vtu;

use std::collections::BTreeMap;
use std::path::Path;

use nalgebra::Vector3;

pub use self::error::ReadMeshError;
use self::fault::Fault;
use self::listed_tetrahedra::ListedTetrahedra;
use super::mend::{mended, share_vertices};
use super::mesh::{SurfaceMesh, VolumeMesh, drop_unused_vertices};
use super::validate::{check_indices, orientation};
use crate::input_file;

fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

fn wrong_extension(path: &Path, kind: &'static str, allowed: &'static str) -> ReadMeshError {
    let found = match extension(path) {
        e if e.is_empty() => "no extension".to_owned(),
        e => format!(".{e}"),
    };
    ReadMeshError::Extension { file: path.to_owned(), found, kind, allowed }
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadMeshError> {
    input_file::read_bytes(path).map_err(|source| ReadMeshError::Io { file: path.to_owned(), source })
}

impl SurfaceMesh {
    /// Reads a closed surface: Wavefront OBJ (`.obj`), STL (`.stl`) or PLY (`.ply`) in text or binary, or the
    /// boundary of a volume mesh (`.vtk`, `.vtu`, `.msh`); or MuJoCo's own surfaces (`.msh`). Coordinates are taken as metres.
    ///
    /// Polygons are split into triangles; vertices that no triangle uses are left out. Of a surface that
    /// is not closed as it is listed, vertices at equal places are merged, and triangles that come twice or have no area
    /// left out. Triangles that face inward are turned, which the log tells.
    ///
    /// # Errors
    /// When the file cannot be read, its content is not what the format prescribes, or the surface
    /// is not valid ([`SurfaceMesh::validate`]).
    pub fn read(path: impl AsRef<Path>) -> Result<SurfaceMesh, ReadMeshError> {
        let path = path.as_ref();
        let (mesh, notes) = Self::read_unclosed(path)?;
        mesh.validate().map_err(|source| ReadMeshError::Mesh { file: path.to_owned(), source })?;
        notes.iter().for_each(|note| log::warn!("{}: {note}", path.display()));
        Ok(mesh)
    }

    /// Reads a surface as [`SurfaceMesh::read`] does, but one that may be open: [`SurfaceMesh::fill`] closes small holes.
    /// Returns too what there is to tell of it, as how many triangles were turned.
    ///
    /// # Errors
    /// When the file cannot be read, its content is not what the format prescribes, or coordinates are not finite.
    pub fn read_unclosed(path: impl AsRef<Path>) -> Result<(SurfaceMesh, Vec<String>), ReadMeshError> {
        Self::read_triangles(path.as_ref()).map(mended)
    }

    /// Reads triangles as [`SurfaceMesh::read`] does, as they are listed: what is only drawn may have holes.
    pub(crate) fn read_triangles(path: &Path) -> Result<SurfaceMesh, ReadMeshError> {
        let mut mesh = match (Self::read_mujoco(path)?, extension(path).as_str()) {
            (Some(mesh), _) => mesh,
            (None, "vtk" | "vtu" | "msh") => VolumeMesh::read(path)?.boundary(),
            (None, _) => Self::read_listed(path)?,
        };
        let invalid = |source| ReadMeshError::Mesh { file: path.to_owned(), source };
        check_indices("triangle", &mesh.vertices, &mesh.triangles).map_err(invalid)?;
        mesh.vertices = drop_unused_vertices(&mesh.vertices, &mut mesh.triangles);
        Ok(mesh)
    }

    /// The surface of a file of MuJoCo's own; none of other files.
    fn read_mujoco(path: &Path) -> Result<Option<SurfaceMesh>, ReadMeshError> {
        if extension(path) != "msh" {
            return Ok(None);
        }
        mujoco::parse(&read_bytes(path)?).transpose().map_err(|fault| fault.in_file(path))
    }

    fn read_listed(path: &Path) -> Result<SurfaceMesh, ReadMeshError> {
        let parse = match extension(path).as_str() {
            "obj" => obj::parse,
            "ply" => ply::parse,
            "stl" => stl::parse,
            _ => {
                return Err(wrong_extension(
                    path,
                    "surface",
                    ".obj, .ply or .stl (or the boundary of a .vtk, .vtu or .msh)",
                ));
            }
        };
        parse(&read_bytes(path)?).map_err(|fault| fault.in_file(path))
    }
}

/// The vertices of a mesh in a file, whatever its elements are: those that elements use, or all where there are no
/// elements.
pub(crate) fn read_points(path: &Path) -> Result<Vec<Vector3<f64>>, ReadMeshError> {
    fn used<const N: usize>(vertices: Vec<Vector3<f64>>, mut elements: Vec<[u32; N]>) -> Vec<Vector3<f64>> {
        match elements.is_empty() {
            true => vertices,
            false => drop_unused_vertices(&vertices, &mut elements),
        }
    }
    if let Some(mesh) = SurfaceMesh::read_mujoco(path)? {
        return Ok(used(mesh.vertices, mesh.triangles));
    }
    match extension(path).as_str() {
        "vtk" | "vtu" | "msh" => {
            let ListedTetrahedra { mesh, .. } = VolumeMesh::read_listed(path)?;
            Ok(used(mesh.vertices, mesh.tetrahedra))
        }
        _ => {
            let mesh = SurfaceMesh::read_listed(path)?;
            Ok(used(mesh.vertices, mesh.triangles))
        }
    }
}

/// Each part of a file's surface that shares no vertices with another, in the order of their first vertices: programs
/// that cut meshes into convex pieces write each as an object, or solid, of its own.
pub(crate) fn read_pieces(path: &Path) -> Result<Vec<SurfaceMesh>, ReadMeshError> {
    let mesh = SurfaceMesh::read_triangles(path)?;
    // For each vertex one of lower number in the same part, itself if there is none.
    let mut lower: Vec<usize> = (0..mesh.vertices.len()).collect();
    fn lowest(lower: &mut [usize], mut v: usize) -> usize {
        while lower[v] != v {
            lower[v] = lower[lower[v]];
            v = lower[v];
        }
        v
    }
    for triangle in &mesh.triangles {
        let [a, b, c] = triangle.map(|v| lowest(&mut lower, v as usize));
        let least = a.min(b).min(c);
        [a, b, c].iter().for_each(|&v| lower[v] = least);
    }
    let mut pieces: BTreeMap<usize, SurfaceMesh> = BTreeMap::new();
    let mut number = Vec::with_capacity(mesh.vertices.len());
    for v in 0..mesh.vertices.len() {
        let piece = pieces.entry(lowest(&mut lower, v)).or_default();
        number.push(piece.vertices.len() as u32);
        piece.vertices.push(mesh.vertices[v]);
    }
    for triangle in &mesh.triangles {
        let piece = pieces.entry(lowest(&mut lower, triangle[0] as usize)).or_default();
        piece.triangles.push(triangle.map(|v| number[v as usize]));
    }
    Ok(pieces.into_values().collect())
}

impl VolumeMesh {
    /// Reads a tetrahedral mesh: VTK unstructured grid (legacy `.vtk`, XML `.vtu`) or Gmsh MSH 4.1 or 2 (`.msh`), in
    /// text or binary. Coordinates are taken as metres.
    ///
    /// Inverted tetrahedra are turned round, as programs differ in the order of vertices; vertices at equal places are
    /// merged, and those that no tetrahedron uses are left out. The others keep their order.
    ///
    /// # Errors
    /// When the file cannot be read, its content does not follow the format, it has cells with a volume other than
    /// tetrahedra, a tetrahedron has no volume, or the mesh is not valid ([`VolumeMesh::validate`]).
    pub fn read(path: impl AsRef<Path>) -> Result<VolumeMesh, ReadMeshError> {
        let path = path.as_ref();
        let ListedTetrahedra { mut mesh, lines } = Self::read_listed(path)?;
        let invalid = |source| ReadMeshError::Mesh { file: path.to_owned(), source };
        check_indices("tetrahedron", &mesh.vertices, &mesh.tetrahedra).map_err(invalid)?;
        share_vertices(&mesh.vertices, &mut mesh.tetrahedra);
        for (tetrahedron, &line) in lines.iter().enumerate() {
            match orientation(mesh.corners(tetrahedron)) {
                1 => {}
                -1 => mesh.tetrahedra[tetrahedron].swap(2, 3),
                _ => {
                    let found =
                        format!("tetrahedron {tetrahedron}, whose corners lie in a plane or coincide");
                    return Err(Fault::new(line, found, "every tetrahedron must have a volume").in_file(path));
                }
            }
        }
        mesh.vertices = drop_unused_vertices(&mesh.vertices, &mut mesh.tetrahedra);
        mesh.validate().map_err(invalid)?;
        Ok(mesh)
    }

    fn read_listed(path: &Path) -> Result<ListedTetrahedra, ReadMeshError> {
        let parse = match extension(path).as_str() {
            "vtk" => vtk::parse,
            "vtu" => vtu::parse,
            "msh" => msh::parse,
            _ => return Err(wrong_extension(path, "volume", ".vtk, .vtu or .msh")),
        };
        let bytes = read_bytes(path)?;
        parse(&bytes).map_err(|fault| match mujoco::parse(&bytes) {
            Some(_) if extension(path) == "msh" => {
                Fault::new(None, "a surface of MuJoCo's", "a volume mesh has tetrahedra").in_file(path)
            }
            _ => fault.in_file(path),
        })
    }
}

#[cfg(test)]
mod kinds;
#[cfg(test)]
mod tests;
