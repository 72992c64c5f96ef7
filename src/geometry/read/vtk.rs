//! Legacy VTK, text, unstructured grid (the VTK file formats, versions 1 to 5.1).

use super::fault::Fault;
use super::listed_tetrahedra::ListedTetrahedra;
use super::text::{Words, wrong_type};
use crate::geometry::VolumeMesh;

/// VTK's number for a tetrahedron with four vertices.
const TETRAHEDRON: u32 = 10;

/// The vertices of each cell, and its line.
type Cells = Vec<(Vec<u32>, usize)>;

/// Cells in the layout of versions up to 4: each as its number of vertices, then those.
fn cells(words: &mut Words, count: usize) -> Result<Cells, Fault> {
    let mut cells = Vec::new();
    for _ in 0..count {
        let size: usize = words.number("the number of vertices of a cell")?;
        let line = words.line();
        let mut cell = Vec::new();
        for _ in 0..size {
            cell.push(words.number("a vertex number, counted from 0")?);
        }
        cells.push((cell, line));
    }
    Ok(cells)
}

/// Cells in the layout of version 5: where each cell starts, then all vertices.
fn cells_by_offsets(words: &mut Words, offsets: usize, connectivity: usize) -> Result<Cells, Fault> {
    words.expect("the type of the offsets")?;
    let mut ends = Vec::new();
    for _ in 0..offsets {
        ends.push(words.number::<usize>("an offset")?);
    }
    let word = words.expect("CONNECTIVITY")?;
    if !word.eq_ignore_ascii_case("CONNECTIVITY") {
        return Err(words.fault(word, "expected CONNECTIVITY"));
    }
    words.expect("the type of the connectivity")?;
    let mut all = Vec::new();
    for _ in 0..connectivity {
        let vertex = words.number("a vertex number, counted from 0")?;
        all.push((vertex, words.line()));
    }
    let mut cells = Vec::new();
    for pair in ends.windows(2) {
        let Some(cell) = all.get(pair[0]..pair[1]) else {
            let found = format!("a cell with the offsets {} to {}", pair[0], pair[1]);
            let expected = format!("offsets must ascend from 0 to {connectivity}");
            return Err(Fault::new(words.line(), found, expected));
        };
        let line = cell.first().map_or(words.line(), |c| c.1);
        cells.push((cell.iter().map(|c| c.0).collect(), line));
    }
    Ok(cells)
}

/// The tetrahedra of a file.
pub(super) fn parse(text: &str) -> Result<ListedTetrahedra, Fault> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    if !header.trim_start().starts_with("# vtk DataFile") {
        return Err(Fault::new(
            1,
            format!("{header:?}"),
            "expected a line like \"# vtk DataFile Version 3.0\"",
        ));
    }
    let format = lines.nth(1).unwrap_or_default().trim();
    if !format.eq_ignore_ascii_case("ASCII") {
        return Err(Fault::new(3, format!("\"{format}\""), "expected ASCII: binary files are not read"));
    }
    let mut words = Words::new(text, 3);
    let mut vertices = None;
    let mut connectivity: Option<Cells> = None;
    let mut types: Option<Vec<usize>> = None;
    while let Some(word) = words.next() {
        match word.to_ascii_uppercase().as_str() {
            "DATASET" => {
                let kind = words.expect("UNSTRUCTURED_GRID")?;
                if !kind.eq_ignore_ascii_case("UNSTRUCTURED_GRID") {
                    return Err(words.fault(kind, "expected UNSTRUCTURED_GRID"));
                }
            }
            "POINTS" => {
                let count: usize = words.number("the number of points")?;
                words.expect("the type of the coordinates")?;
                let mut points = Vec::new();
                for _ in 0..count {
                    points.push(words.point()?);
                }
                vertices = Some(points);
            }
            "CELLS" => {
                let first: usize = words.number("the number of cells")?;
                let second: usize = words.number("the size of the list of cells")?;
                connectivity = Some(if words.next_if("OFFSETS") {
                    cells_by_offsets(&mut words, first, second)?
                } else {
                    cells(&mut words, first)?
                });
            }
            "CELL_TYPES" => {
                let count: usize = words.number("the number of cells")?;
                let mut list = Vec::new();
                for _ in 0..count {
                    let kind: u32 = words.number("a cell type")?;
                    if kind != TETRAHEDRON {
                        return Err(wrong_type(words.line(), "cell", &kind.to_string(), TETRAHEDRON));
                    }
                    list.push(words.line());
                }
                types = Some(list);
            }
            "METADATA" => {
                // It ends at a blank line.
                words.skip_to_blank_line();
            }
            // What follows are values, not the mesh.
            "POINT_DATA" | "CELL_DATA" => break,
            _ => {
                let expected = "expected DATASET, POINTS, CELLS, CELL_TYPES, POINT_DATA or CELL_DATA";
                return Err(words.fault(word, expected));
            }
        }
    }
    let missing = |what: &str| {
        Fault::new(words.line(), format!("no {what} section"), "a mesh needs POINTS, CELLS and CELL_TYPES")
    };
    let vertices = vertices.ok_or_else(|| missing("POINTS"))?;
    let connectivity = connectivity.ok_or_else(|| missing("CELLS"))?;
    let types = types.ok_or_else(|| missing("CELL_TYPES"))?;
    if types.len() != connectivity.len() {
        let found = format!("{} cell types for {} cells", types.len(), connectivity.len());
        return Err(Fault::new(words.line(), found, "each cell needs one type"));
    }
    let mut mesh = VolumeMesh { vertices, tetrahedra: Vec::new() };
    let mut lines = Vec::new();
    for (cell, line) in connectivity {
        let corners: [u32; 4] = cell.as_slice().try_into().map_err(|_| {
            Fault::new(line, format!("a cell of {} vertices", cell.len()), "a tetrahedron must have four")
        })?;
        if let Some(vertex) = corners.iter().find(|&&v| v as usize >= mesh.vertices.len()) {
            let expected = format!("the file has {} points, counted from 0", mesh.vertices.len());
            return Err(Fault::new(line, format!("vertex {vertex}"), expected));
        }
        mesh.tetrahedra.push(corners);
        lines.push(line);
    }
    Ok(ListedTetrahedra { mesh, lines })
}
