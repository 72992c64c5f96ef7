//! Films as series of VTK files: a `.pvd` file that ParaView and PyVista open, and the `.vtu` files that it
//! names, in a folder beside it.
//!
//! Of each frame there are the surfaces of the bodies, the contact surfaces with pressure, traction and
//! slip, and the wrenches; of the first one also the pressure fields inside compliant bodies.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use quick_xml::Writer;
use quick_xml::events::BytesText;

use super::film::{Film, Frame, FrameSurface, single};
use super::shapes::PartKind;
use isobar::io::{FileError, OutputFile};

/// The numbers of VTK's cell types.
const VERTEX: u8 = 1;
const TRIANGLE: u8 = 5;
const POLYGON: u8 = 7;
const TETRAHEDRON: u8 = 10;

/// Writes a film as a `.pvd` file and the folder of `.vtu` files that it names: of `lift.pvd` it is
/// `lift_vtk`. Lengths are in m, pressures and tractions in Pa, forces in N, in the frame of the world.
/// `.vtu` files of an earlier film in the folder are replaced.
///
/// # Errors
/// When a file cannot be written; those of this film that were, are removed then.
pub fn write_vtk(path: &Path, film: &Film) -> Result<(), FileError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| FileError::Write { path, source }
    };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = format!("{stem}_vtk");
    let folder = path.with_file_name(&name);
    let is_new = !folder.exists();
    fs::create_dir_all(&folder).map_err(failed(&folder))?;
    remove_series(&folder).map_err(failed(&folder))?;
    let mut written = Vec::new();
    let outcome = write_series(&folder, film, &mut written)
        .and_then(|parts| write_file(path, |out| write_collection(out, &name, &parts)));
    if outcome.is_err() {
        // What cannot be removed now is replaced by the next film.
        written.iter().for_each(|file| drop(fs::remove_file(file)));
        if is_new {
            let _ = fs::remove_dir(&folder);
        }
    }
    outcome
}

/// Writes contact surfaces as one `.vtu` file, with pressure, area, traction and slip as in a series.
///
/// # Errors
/// When the file cannot be written.
pub fn write_contact_surface(path: &Path, surface: &FrameSurface) -> Result<(), FileError> {
    write_file(path, |out| contact(surface).write(out))
}

/// A file of the series: its time, its name in the folder, and the name of what it has.
type Part = (f64, String, &'static str);

/// The names that the files of a series begin with.
const PARTS: [&str; 4] = ["bodies", "contact", "forces", "fields"];

/// Removes the files of an earlier series.
fn remove_series(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_suffix(".vtu").and_then(|name| name.split_once('_'));
        let is_part = number.is_some_and(|(part, number)| {
            PARTS.contains(&part) && number.bytes().all(|digit| digit.is_ascii_digit())
        });
        if is_part {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes the files of all frames.
fn write_series(folder: &Path, film: &Film, written: &mut Vec<PathBuf>) -> Result<Vec<Part>, FileError> {
    let mut parts = Vec::new();
    for (index, frame) in film.frames.iter().enumerate() {
        let mut grids = vec![
            ("bodies", bodies(film, frame)),
            ("contact", contact(&frame.surface)),
            ("forces", forces(frame)),
        ];
        if index == 0 {
            grids.push(("fields", fields(film, frame)));
        }
        for (kind, grid) in grids {
            let name = format!("{kind}_{index:05}.vtu");
            let file = folder.join(&name);
            write_file(&file, |out| grid.write(out))?;
            written.push(file);
            parts.push((frame.time, name, kind));
        }
    }
    Ok(parts)
}

/// Writes a file as a whole.
fn write_file(path: &Path, write: impl FnOnce(&mut OutputFile) -> io::Result<()>) -> Result<(), FileError> {
    let all = || {
        let mut file = OutputFile::create(path)?;
        write(&mut file)?;
        file.finish()
    };
    all().map_err(|source| FileError::Write { path: path.to_owned(), source })
}

/// Writes the file that names the others.
fn write_collection(out: &mut OutputFile, folder: &str, parts: &[Part]) -> io::Result<()> {
    document(out, "Collection", |xml| {
        xml.create_element("Collection").write_inner_content(|xml| {
            for (time, name, kind) in parts {
                let index = PARTS.iter().position(|part| part == kind).unwrap_or_default();
                xml.create_element("DataSet")
                    .with_attributes([
                        ("timestep", format!("{time:?}").as_str()),
                        ("part", index.to_string().as_str()),
                        ("name", kind),
                        ("file", format!("{folder}/{name}").as_str()),
                    ])
                    .write_empty()?;
            }
            Ok(())
        })?;
        Ok(())
    })
}

/// Writes a VTK document.
fn document<'w>(
    out: &'w mut OutputFile,
    kind: &str,
    content: impl FnOnce(&mut Writer<&'w mut OutputFile>) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\"?>")?;
    let mut xml = Writer::new(out);
    xml.create_element("VTKFile")
        .with_attributes([
            ("type", kind),
            ("version", "1.0"),
            ("byte_order", "LittleEndian"),
            ("header_type", "UInt64"),
        ])
        .write_inner_content(content)?;
    writeln!(xml.get_mut())
}

/// Numbers of one kind, as bytes.
struct Numbers {
    kind: &'static str,
    bytes: Vec<u8>,
}

impl Numbers {
    fn f32(values: impl IntoIterator<Item = f32>) -> Self {
        Self { kind: "Float32", bytes: values.into_iter().flat_map(f32::to_le_bytes).collect() }
    }

    fn f64(values: impl IntoIterator<Item = f64>) -> Self {
        Self { kind: "Float64", bytes: values.into_iter().flat_map(f64::to_le_bytes).collect() }
    }

    fn u8(bytes: Vec<u8>) -> Self {
        Self { kind: "UInt8", bytes }
    }

    fn i64(values: impl IntoIterator<Item = i64>) -> Self {
        Self { kind: "Int64", bytes: values.into_iter().flat_map(i64::to_le_bytes).collect() }
    }
}

/// An array with a name.
struct Array {
    name: &'static str,
    components: usize,
    numbers: Numbers,
}

impl Array {
    fn write<W: Write>(&self, xml: &mut Writer<W>) -> io::Result<()> {
        // In binary arrays their size comes first.
        let mut bytes = (self.numbers.bytes.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.numbers.bytes);
        xml.create_element("DataArray")
            .with_attributes([
                ("type", self.numbers.kind),
                ("Name", self.name),
                ("NumberOfComponents", self.components.to_string().as_str()),
                ("format", "binary"),
            ])
            .write_text_content(BytesText::from_escaped(BASE64_STANDARD.encode(bytes)))?;
        Ok(())
    }
}

/// An unstructured grid.
#[derive(Default)]
struct Grid {
    points: Vec<[f32; 3]>,
    connectivity: Vec<i64>,
    /// Where the points of each cell end.
    offsets: Vec<i64>,
    types: Vec<u8>,
    point_data: Vec<Array>,
    cell_data: Vec<Array>,
}

impl Grid {
    /// Adds a cell.
    fn cell(&mut self, kind: u8, points: impl IntoIterator<Item = usize>) {
        self.connectivity.extend(points.into_iter().map(|point| point as i64));
        self.offsets.push(self.connectivity.len() as i64);
        self.types.push(kind);
    }

    /// Writes the grid.
    fn write(self, out: &mut OutputFile) -> io::Result<()> {
        let Self { points, connectivity, offsets, types, point_data, cell_data } = self;
        let (count, cells) = (points.len().to_string(), types.len().to_string());
        let points = Array { name: "points", components: 3, numbers: Numbers::f32(points.into_flattened()) };
        let of_cells = [
            Array { name: "connectivity", components: 1, numbers: Numbers::i64(connectivity) },
            Array { name: "offsets", components: 1, numbers: Numbers::i64(offsets) },
            Array { name: "types", components: 1, numbers: Numbers::u8(types) },
        ];
        let sections = [
            ("Points", &[points][..]),
            ("Cells", &of_cells),
            ("PointData", &point_data),
            ("CellData", &cell_data),
        ];
        document(out, "UnstructuredGrid", |xml| {
            xml.create_element("UnstructuredGrid").write_inner_content(|xml| {
                xml.create_element("Piece")
                    .with_attributes([("NumberOfPoints", count.as_str()), ("NumberOfCells", cells.as_str())])
                    .write_inner_content(|xml| {
                        for (name, arrays) in sections {
                            xml.create_element(name).write_inner_content(|xml| {
                                arrays.iter().try_for_each(|array| array.write(xml))
                            })?;
                        }
                        Ok(())
                    })?;
                Ok(())
            })?;
            Ok(())
        })
    }
}

/// The surfaces of the bodies; the number of each body in the film tells them apart, and whether a surface
/// is only drawn (1) or collides (0).
fn bodies(film: &Film, frame: &Frame) -> Grid {
    let (mut grid, mut numbers, mut visual) = (Grid::default(), Vec::new(), Vec::new());
    for (index, (body, pose)) in film.bodies.iter().zip(&frame.poses).enumerate() {
        let to_world = pose.transform();
        for part in &body.parts {
            let first = grid.points.len();
            grid.points.extend(part.surface.vertices.iter().map(|v| single(&(to_world * *v))));
            for triangle in &part.surface.triangles {
                grid.cell(TRIANGLE, triangle.map(|k| first + k as usize));
                numbers.push(index as i64);
                visual.push(u8::from(part.kind == PartKind::Visual));
            }
        }
    }
    grid.cell_data = vec![
        Array { name: "body", components: 1, numbers: Numbers::i64(numbers) },
        Array { name: "visual", components: 1, numbers: Numbers::u8(visual) },
    ];
    grid
}

/// The pressure fields inside compliant bodies.
fn fields(film: &Film, frame: &Frame) -> Grid {
    let (mut grid, mut numbers, mut pressures) = (Grid::default(), Vec::new(), Vec::new());
    for (index, (body, pose)) in film.bodies.iter().zip(&frame.poses).enumerate() {
        let to_world = pose.transform();
        for field in body.parts.iter().filter_map(|part| part.field.as_ref()) {
            let first = grid.points.len();
            grid.points.extend(field.mesh.vertices.iter().map(|v| single(&(to_world * *v))));
            pressures.extend_from_slice(&field.pressures);
            for tetrahedron in &field.mesh.tetrahedra {
                grid.cell(TETRAHEDRON, tetrahedron.map(|k| first + k as usize));
                numbers.push(index as i64);
            }
        }
    }
    grid.point_data = vec![Array { name: "pressure", components: 1, numbers: Numbers::f64(pressures) }];
    grid.cell_data = vec![Array { name: "body", components: 1, numbers: Numbers::i64(numbers) }];
    grid
}

fn contact(surface: &FrameSurface) -> Grid {
    let mut grid = Grid { points: surface.vertices.clone(), ..Grid::default() };
    for (_, range) in surface.ranges() {
        grid.cell(POLYGON, range);
    }
    let polygons = || surface.polygons.iter();
    let pressures = Numbers::f32(surface.pressures.iter().copied());
    grid.point_data = vec![Array { name: "pressure", components: 1, numbers: pressures }];
    let pairs = Numbers::i64(polygons().map(|polygon| i64::from(polygon.pair)));
    let areas = Numbers::f32(polygons().map(|polygon| polygon.area));
    let tractions = Numbers::f32(polygons().flat_map(|polygon| polygon.traction_on_a));
    let slips = Numbers::f32(polygons().flat_map(|polygon| polygon.slip));
    grid.cell_data = vec![
        Array { name: "pair", components: 1, numbers: pairs },
        Array { name: "area", components: 1, numbers: areas },
        Array { name: "traction_on_a", components: 3, numbers: tractions },
        Array { name: "slip", components: 3, numbers: slips },
    ];
    grid
}

/// The wrench on A of each pair that touches, at the centroid of its contact surface.
fn forces(frame: &Frame) -> Grid {
    let touching =
        || frame.contacts.iter().enumerate().filter_map(|(pair, contact)| Some((pair, contact.as_ref()?)));
    let points = touching().map(|(_, contact)| single(&contact.centroid)).collect();
    let mut grid = Grid { points, ..Grid::default() };
    for point in 0..grid.points.len() {
        grid.cell(VERTEX, [point]);
    }
    let pairs = Numbers::i64(touching().map(|(pair, _)| pair as i64));
    let vector = |v: nalgebra::Vector3<f64>| [v.x, v.y, v.z];
    let forces = Numbers::f64(touching().flat_map(|(_, contact)| vector(contact.on_a.translational)));
    let moments = Numbers::f64(touching().flat_map(|(_, contact)| vector(contact.on_a.rotational)));
    grid.point_data = vec![
        Array { name: "pair", components: 1, numbers: pairs },
        Array { name: "force_on_a", components: 3, numbers: forces },
        Array { name: "moment_on_a", components: 3, numbers: moments },
    ];
    grid
}
