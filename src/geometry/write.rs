//! Writing meshes as legacy VTK text files, for viewers.

use std::io::{Error, ErrorKind, Result, Write};

use nalgebra::Vector3;

use super::mesh::{SurfaceMesh, VolumeMesh};

fn header(out: &mut impl Write, dataset: &str, vertices: &[Vector3<f64>]) -> Result<()> {
    writeln!(out, "# vtk DataFile Version 3.0\nisobar\nASCII\nDATASET {dataset}")?;
    writeln!(out, "POINTS {} double", vertices.len())?;
    // The shortest text that reads back as the same number.
    vertices.iter().try_for_each(|v| writeln!(out, "{:?} {:?} {:?}", v.x, v.y, v.z))
}

fn point_data(out: &mut impl Write, vertices: usize, fields: &[(&str, &[f64])]) -> Result<()> {
    if fields.is_empty() {
        return Ok(());
    }
    writeln!(out, "POINT_DATA {vertices}")?;
    for (name, values) in fields {
        if values.len() != vertices || name.is_empty() || name.contains(char::is_whitespace) {
            let message = format!(
                "field \"{name}\" has {} values; it must have {vertices} and a name without spaces",
                values.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        writeln!(out, "SCALARS {name} double 1\nLOOKUP_TABLE default")?;
        values.iter().try_for_each(|x| writeln!(out, "{x:?}"))?;
    }
    Ok(())
}

impl VolumeMesh {
    /// Writes the mesh and named values at its vertices (extent, pressure, …) as a legacy VTK
    /// unstructured grid; coordinates in metres, read back to the same bits.
    ///
    /// # Errors
    /// When writing fails, or a field has a name with spaces or not one value per vertex.
    pub fn write(&self, out: &mut impl Write, fields: &[(&str, &[f64])]) -> Result<()> {
        header(out, "UNSTRUCTURED_GRID", &self.vertices)?;
        let count = self.tetrahedra.len();
        writeln!(out, "CELLS {count} {}", 5 * count)?;
        self.tetrahedra.iter().try_for_each(|[a, b, c, d]| writeln!(out, "4 {a} {b} {c} {d}"))?;
        writeln!(out, "CELL_TYPES {count}")?;
        self.tetrahedra.iter().try_for_each(|_| writeln!(out, "10"))?;
        point_data(out, self.vertices.len(), fields)
    }
}

impl SurfaceMesh {
    /// Writes the mesh and named values at its vertices as legacy VTK polygons; coordinates in
    /// metres.
    ///
    /// # Errors
    /// When writing fails, or a field has a name with spaces or not one value per vertex.
    pub fn write(&self, out: &mut impl Write, fields: &[(&str, &[f64])]) -> Result<()> {
        header(out, "POLYDATA", &self.vertices)?;
        writeln!(out, "POLYGONS {} {}", self.triangles.len(), 4 * self.triangles.len())?;
        self.triangles.iter().try_for_each(|[a, b, c]| writeln!(out, "3 {a} {b} {c}"))?;
        point_data(out, self.vertices.len(), fields)
    }
}
