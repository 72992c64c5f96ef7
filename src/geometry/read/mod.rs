//! Reading meshes from files.

mod error;
mod fault;
mod listed_tetrahedra;
mod msh;
mod obj;
mod stl;
mod text;
mod vtk;

use std::path::Path;

pub use self::error::ReadMeshError;
use self::fault::Fault;
use self::listed_tetrahedra::ListedTetrahedra;
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
    /// Reads a closed surface: Wavefront OBJ (`.obj`), STL in text or binary (`.stl`), or the
    /// boundary of a volume mesh (`.vtk`, `.msh`). Coordinates are taken as metres.
    ///
    /// Polygons of an OBJ file are split into triangles by a fan from their first vertex; vertices at
    /// equal places are merged in STL, and in both vertices that no triangle uses are left out.
    ///
    /// # Errors
    /// When the file cannot be read, its content is not what the format prescribes, or the surface
    /// is not valid ([`SurfaceMesh::validate`]).
    pub fn read(path: impl AsRef<Path>) -> Result<SurfaceMesh, ReadMeshError> {
        let path = path.as_ref();
        let mesh = Self::read_triangles(path)?;
        mesh.validate().map_err(|source| ReadMeshError::Mesh { file: path.to_owned(), source })?;
        Ok(mesh)
    }

    /// Reads triangles as [`SurfaceMesh::read`] does, which need not be a closed surface: what is only drawn
    /// may have holes.
    pub(crate) fn read_triangles(path: &Path) -> Result<SurfaceMesh, ReadMeshError> {
        let mut mesh = match extension(path).as_str() {
            "obj" => obj::parse(&String::from_utf8_lossy(&read_bytes(path)?)).map_err(|f| f.in_file(path))?,
            "stl" => stl::parse(read_bytes(path)?).map_err(|(facet, source)| ReadMeshError::Facet {
                file: path.to_owned(),
                facet,
                source,
            })?,
            "vtk" | "msh" => VolumeMesh::read(path)?.boundary(),
            _ => {
                return Err(wrong_extension(
                    path,
                    "surface",
                    ".obj or .stl (or the boundary of a .vtk or .msh)",
                ));
            }
        };
        let invalid = |source| ReadMeshError::Mesh { file: path.to_owned(), source };
        check_indices("triangle", &mesh.vertices, &mesh.triangles).map_err(invalid)?;
        mesh.vertices = drop_unused_vertices(&mesh.vertices, &mut mesh.triangles);
        Ok(mesh)
    }
}

impl VolumeMesh {
    /// Reads a tetrahedral mesh: legacy VTK unstructured grid in text (`.vtk`) or Gmsh MSH 4.1 in
    /// text (`.msh`). Coordinates are taken as metres.
    ///
    /// Inverted tetrahedra are turned round, as programs differ in the order of vertices; vertices
    /// that no tetrahedron uses are left out, the others keep their order.
    ///
    /// # Errors
    /// When the file cannot be read, its content does not follow the format, it has cells other than
    /// tetrahedra, a tetrahedron has no volume, or the mesh is not valid ([`VolumeMesh::validate`]).
    pub fn read(path: impl AsRef<Path>) -> Result<VolumeMesh, ReadMeshError> {
        let path = path.as_ref();
        let parse = match extension(path).as_str() {
            "vtk" => vtk::parse,
            "msh" => msh::parse,
            _ => return Err(wrong_extension(path, "volume", ".vtk or .msh")),
        };
        let ListedTetrahedra { mut mesh, lines } =
            parse(&String::from_utf8_lossy(&read_bytes(path)?)).map_err(|f| f.in_file(path))?;
        let invalid = |source| ReadMeshError::Mesh { file: path.to_owned(), source };
        check_indices("tetrahedron", &mesh.vertices, &mesh.tetrahedra).map_err(invalid)?;
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
}

#[cfg(test)]
mod tests;
