//! PLY, text or binary (Turk 1994): vertices and faces; other elements and properties are passed.

use nalgebra::Vector3;

use super::fault::Fault;
use super::polygon::triangles_of;
use super::text::{Numbers, Words};
use crate::geometry::SurfaceMesh;

/// A property of an element: its name, the bytes of a number in a binary file, and those of the count of a list.
struct Property {
    name: String,
    size: usize,
    count_size: Option<usize>,
}

/// An element: its name, how many there are, and their properties.
type Element = (String, u64, Vec<Property>);

fn size_of(words: &mut Words) -> Result<usize, Fault> {
    let word = words.expect("a type of numbers")?;
    Ok(match word {
        "char" | "uchar" | "int8" | "uint8" => 1,
        "short" | "ushort" | "int16" | "uint16" => 2,
        "int" | "uint" | "float" | "int32" | "uint32" | "float32" => 4,
        "double" | "float64" => 8,
        _ => return Err(words.fault(word, "expected a type of numbers, such as float or uchar")),
    })
}

/// The elements that the header announces; how numbers are written is set.
fn header(words: &mut Words) -> Result<Vec<Element>, Fault> {
    words.keyword("ply")?;
    words.keyword("format")?;
    let format = words.expect("ascii or a binary format")?;
    let numbers = match format {
        "ascii" => Numbers::Text,
        "binary_little_endian" => Numbers::LittleEndian,
        "binary_big_endian" => Numbers::BigEndian,
        _ => return Err(words.fault(format, "expected ascii, binary_little_endian or binary_big_endian")),
    };
    words.expect("the version of the format")?;
    let mut elements: Vec<Element> = Vec::new();
    loop {
        let word = words.expect("end_header")?;
        match (word, elements.last_mut()) {
            ("comment" | "obj_info", _) => drop(words.rest_of_line()),
            ("element", _) => {
                let name = words.expect("the name of an element")?.to_owned();
                elements.push((name, words.number("the number of elements")?, Vec::new()));
            }
            ("property", Some((.., properties))) => {
                let count_size = if words.next_if("list") { Some(size_of(words)?) } else { None };
                let size = size_of(words)?;
                let name = words.expect("the name of a property")?.to_owned();
                properties.push(Property { name, size, count_size });
            }
            ("end_header", _) => break,
            _ => return Err(words.fault(word, "expected element, property, comment or end_header")),
        }
    }
    words.rest_of_line();
    words.numbers = numbers;
    Ok(elements)
}

/// The surface of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<SurfaceMesh, Fault> {
    let mut words = Words::new(bytes);
    let elements = header(&mut words)?;
    let mut mesh = SurfaceMesh::default();
    let mut faces = Vec::new();
    for (element, count, properties) in &elements {
        if properties.is_empty() {
            continue;
        }
        for _ in 0..*count {
            let mut vertex = Vector3::zeros();
            for Property { name, size, count_size } in properties {
                let axis = ["x", "y", "z"].iter().position(|axis| axis == name);
                match (element.as_str(), axis, count_size) {
                    ("vertex", Some(axis), None) => vertex[axis] = words.coordinate(*size)?,
                    ("face", _, Some(count_size)) if name.starts_with("vertex_ind") => {
                        let corners = words.index(*count_size, "the number of vertices of a face")?;
                        let line = words.line();
                        let mut face = Vec::new();
                        for _ in 0..corners {
                            face.push(words.index(*size, "a vertex number, counted from 0")?);
                        }
                        faces.push((face, line));
                    }
                    (_, _, Some(count_size)) => {
                        let count = words.index(*count_size, "the length of a list")?;
                        words.skip_numbers(count, *size)?;
                    }
                    _ => words.skip_numbers(1, *size)?,
                }
            }
            if element == "vertex" {
                mesh.vertices.push(vertex);
            }
        }
    }
    for (face, line) in faces {
        if let Some(vertex) = face.iter().find(|&&v| v >= mesh.vertices.len() as u64) {
            let expected = format!("the file has {} vertices, counted from 0", mesh.vertices.len());
            return Err(Fault::new(line, format!("vertex {vertex}"), expected));
        }
        let corners: Vec<u32> = face.into_iter().map(|v| v as u32).collect();
        mesh.triangles.extend(triangles_of(&corners, &mesh.vertices, line)?);
    }
    Ok(mesh)
}
