//! Legacy VTK, unstructured grid, text or binary (the VTK file formats, versions 1 to 5.1).

use nalgebra::Vector3;

use super::fault::Fault;
use super::listed_tetrahedra::ListedTetrahedra;
use super::text::{Numbers, Words, wrong_type};
use crate::geometry::VolumeMesh;

/// VTK's number for a tetrahedron with four vertices.
const TETRAHEDRON: u64 = 10;
/// Its numbers for cells without a volume, which are left out: points, lines, triangles, polygons and
/// quadrangles, and those of second order.
const FLAT: [u64; 15] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 21, 22, 23, 28, 30];

/// The vertices of each cell, and its line.
pub(super) type Cells = Vec<(Vec<u64>, usize)>;

/// The bytes that a number of a type takes in a binary file.
fn size_of(words: &mut Words) -> Result<usize, Fault> {
    let word = words.expect("the type of numbers")?;
    Ok(match word.to_ascii_lowercase().as_str() {
        "bit" | "char" | "unsigned_char" | "vtktypeint8" | "vtktypeuint8" => 1,
        "short" | "unsigned_short" | "vtktypeint16" | "vtktypeuint16" => 2,
        "int" | "unsigned_int" | "float" | "vtkidtype" | "vtktypeint32" | "vtktypeuint32" => 4,
        "long" | "unsigned_long" | "double" | "vtktypeint64" | "vtktypeuint64" | "string" => 8,
        _ => return Err(words.fault(word, "expected a type of numbers, such as float or vtktypeint64")),
    })
}

/// Cells in the layout of versions up to 4: each as its number of vertices, then those.
fn cells(words: &mut Words, count: u64) -> Result<Cells, Fault> {
    words.begin_numbers();
    let mut cells = Vec::new();
    for _ in 0..count {
        let size = words.index(4, "the number of vertices of a cell")?;
        let line = words.line();
        let mut cell = Vec::new();
        for _ in 0..size {
            cell.push(words.index(4, "a vertex number, counted from 0")?);
        }
        cells.push((cell, line));
    }
    Ok(cells)
}

/// Cells in the layout of version 5: where each cell starts, then all vertices.
fn cells_by_offsets(words: &mut Words, offsets: u64, connectivity: u64) -> Result<Cells, Fault> {
    let size = size_of(words)?;
    words.begin_numbers();
    let mut ends = Vec::new();
    for _ in 0..offsets {
        ends.push(words.index(size, "an offset")? as usize);
    }
    words.keyword("CONNECTIVITY")?;
    let size = size_of(words)?;
    words.begin_numbers();
    let mut all = Vec::new();
    for _ in 0..connectivity {
        let vertex = words.index(size, "a vertex number, counted from 0")?;
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

/// Passes arrays that belong to no point or cell, such as the time.
fn skip_field(words: &mut Words) -> Result<(), Fault> {
    words.expect("the name of a field")?;
    let arrays: u64 = words.number("the number of arrays")?;
    for _ in 0..arrays {
        words.expect("the name of an array")?;
        let components: u64 = words.number("the number of components")?;
        let count = components.saturating_mul(words.number("the number of tuples")?);
        let of_strings = words.clone().next_if("string");
        let size = size_of(words)?;
        words.begin_numbers();
        if of_strings {
            words.skip_strings(count)?;
        } else {
            words.skip_numbers(count, size)?;
        }
        if words.next_if("METADATA") {
            words.skip_to_blank_line();
        }
    }
    Ok(())
}

/// The tetrahedra of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<ListedTetrahedra, Fault> {
    let mut words = Words::new(bytes);
    let header = words.rest_of_line();
    if !header.trim_start().to_ascii_lowercase().starts_with("# vtk datafile") {
        return Err(Fault::new(
            1,
            format!("{header:?}"),
            "expected a line like \"# vtk DataFile Version 3.0\"",
        ));
    }
    // The title, which may be anything.
    words.rest_of_line();
    let format = words.rest_of_line();
    words.numbers = match format.trim() {
        f if f.eq_ignore_ascii_case("ASCII") => Numbers::Text,
        f if f.eq_ignore_ascii_case("BINARY") => Numbers::BigEndian,
        f => return Err(words.fault(f, "expected ASCII or BINARY")),
    };
    let mut vertices = None;
    let mut connectivity: Option<Cells> = None;
    let mut types: Option<Vec<(u64, usize)>> = None;
    while let Some(word) = words.next() {
        match word.to_ascii_uppercase().as_str() {
            "DATASET" => words.keyword("UNSTRUCTURED_GRID")?,
            "POINTS" => {
                let count: u64 = words.number("the number of points")?;
                let size = match words.expect("the type of the coordinates")? {
                    kind if kind.eq_ignore_ascii_case("float") => 4,
                    kind if kind.eq_ignore_ascii_case("double") || words.numbers == Numbers::Text => 8,
                    kind => return Err(words.fault(kind, "expected float or double in a binary file")),
                };
                words.begin_numbers();
                let mut points = Vec::new();
                for _ in 0..count {
                    points.push(words.point(size)?);
                }
                vertices = Some(points);
            }
            "CELLS" => {
                let first = words.number("the number of cells")?;
                let second = words.number("the size of the list of cells")?;
                connectivity = Some(if words.next_if("OFFSETS") {
                    cells_by_offsets(&mut words, first, second)?
                } else {
                    cells(&mut words, first)?
                });
            }
            "CELL_TYPES" => {
                let count: u64 = words.number("the number of cells")?;
                words.begin_numbers();
                let mut list = Vec::new();
                for _ in 0..count {
                    list.push((words.index(4, "a cell type")?, words.line()));
                }
                types = Some(list);
            }
            "FIELD" => skip_field(&mut words)?,
            // It ends at a blank line.
            "METADATA" => words.skip_to_blank_line(),
            // What follows are values, not the mesh.
            "POINT_DATA" | "CELL_DATA" => break,
            _ => {
                let expected = "expected DATASET, POINTS, CELLS, CELL_TYPES, FIELD, POINT_DATA or CELL_DATA";
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
    listed(vertices, connectivity, types)
}

/// The tetrahedra among cells that each have a type.
///
/// # Errors
/// When a cell has a volume and is no tetrahedron, or a vertex is not there.
pub(super) fn listed(
    vertices: Vec<Vector3<f64>>,
    cells: Cells,
    types: Vec<(u64, usize)>,
) -> Result<ListedTetrahedra, Fault> {
    let mut mesh = VolumeMesh { vertices, tetrahedra: Vec::new() };
    let mut lines = Vec::new();
    for ((cell, line), (kind, line_of_kind)) in cells.into_iter().zip(types) {
        if FLAT.contains(&kind) {
            continue;
        }
        if kind != TETRAHEDRON {
            return Err(wrong_type(line_of_kind, "cell", kind, TETRAHEDRON));
        }
        if let Some(vertex) = cell.iter().find(|&&v| v >= mesh.vertices.len() as u64) {
            let expected = format!("the file has {} points, counted from 0", mesh.vertices.len());
            return Err(Fault::new(line, format!("vertex {vertex}"), expected));
        }
        let [a, b, c, d] = cell[..] else {
            let found = format!("a cell of {} vertices", cell.len());
            return Err(Fault::new(line, found, "a tetrahedron must have four"));
        };
        mesh.tetrahedra.push([a, b, c, d].map(|v| v as u32));
        lines.push(line);
    }
    Ok(ListedTetrahedra { mesh, lines })
}
