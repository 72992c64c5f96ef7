//! Gmsh MSH 4.1, text (Gmsh reference manual, "MSH file format").

use std::collections::HashMap;

use super::fault::Fault;
use super::listed_tetrahedra::ListedTetrahedra;
use super::text::{Words, wrong_type};
use crate::geometry::VolumeMesh;

/// Gmsh's number for a tetrahedron with four vertices.
const TETRAHEDRON: u32 = 4;

/// Number of vertices of the elements of dimension 0 to 2 that stand beside the tetrahedra of a
/// file: lines, triangles, quadrangles and points, which are left out.
fn vertices_of_lower_element(kind: u32) -> Option<usize> {
    match kind {
        15 => Some(1),
        1 => Some(2),
        2 => Some(3),
        3 => Some(4),
        _ => None,
    }
}

/// The vertices and, by Gmsh's number, their indices.
fn nodes(words: &mut Words, mesh: &mut VolumeMesh) -> Result<HashMap<u64, u32>, Fault> {
    let blocks: usize = words.number("the number of blocks of nodes")?;
    for what in ["the number of nodes", "the smallest node number", "the largest node number"] {
        words.number::<u64>(what)?;
    }
    let mut index_of = HashMap::new();
    for _ in 0..blocks {
        let dimension: usize = words.number("the dimension of an entity")?;
        words.number::<i64>("the number of an entity")?;
        let parametric: u32 = words.number("0 or 1 for parametric coordinates")?;
        let count: usize = words.number("the number of nodes of a block")?;
        let mut numbers = Vec::new();
        for _ in 0..count {
            numbers.push(words.number::<u64>("a node number")?);
        }
        for number in numbers {
            mesh.vertices.push(words.point()?);
            for _ in 0..if parametric == 0 { 0 } else { dimension.min(3) } {
                words.number::<f64>("a parametric coordinate")?;
            }
            if index_of.insert(number, (mesh.vertices.len() - 1) as u32).is_some() {
                return Err(words.fault(&number.to_string(), "each node number may be given once"));
            }
        }
    }
    Ok(index_of)
}

/// The tetrahedra by Gmsh's node numbers, and their lines.
fn elements(words: &mut Words) -> Result<Vec<([u64; 4], usize)>, Fault> {
    let blocks: usize = words.number("the number of blocks of elements")?;
    for what in ["the number of elements", "the smallest element number", "the largest element number"] {
        words.number::<u64>(what)?;
    }
    let mut tetrahedra = Vec::new();
    for _ in 0..blocks {
        words.number::<u32>("the dimension of an entity")?;
        words.number::<i64>("the number of an entity")?;
        let kind: u32 = words.number("an element type")?;
        let line = words.line();
        let count: usize = words.number("the number of elements of a block")?;
        let lower = vertices_of_lower_element(kind);
        if kind != TETRAHEDRON && lower.is_none() {
            return Err(wrong_type(line, "element", &kind.to_string(), TETRAHEDRON));
        }
        for _ in 0..count {
            words.number::<u64>("an element number")?;
            let line = words.line();
            let mut corners = [0; 4];
            for corner in corners.iter_mut().take(lower.unwrap_or(4)) {
                *corner = words.number("a node number")?;
            }
            if kind == TETRAHEDRON {
                tetrahedra.push((corners, line));
            }
        }
    }
    Ok(tetrahedra)
}

/// The tetrahedra of a file.
pub(super) fn parse(text: &str) -> Result<ListedTetrahedra, Fault> {
    let mut words = Words::new(text, 0);
    let mut mesh = VolumeMesh { vertices: Vec::new(), tetrahedra: Vec::new() };
    let mut index_of = None;
    let mut listed = None;
    if !words.next_if("$MeshFormat") {
        return Err(Fault::new(1, "no $MeshFormat section", "a Gmsh file starts with it"));
    }
    let version = words.expect("the version of the format")?;
    if version != "4.1" {
        return Err(words.fault(version, "expected version 4.1 (in Gmsh: Mesh.MshFileVersion = 4.1)"));
    }
    let binary = words.expect("0 for a text file")?;
    if binary != "0" {
        return Err(words
            .fault(binary, "expected 0, a text file: binary ones are not read (in Gmsh: Mesh.Binary = 0)"));
    }
    words.expect("the size of a number")?;
    let mut section = "$MeshFormat";
    loop {
        let end = format!("$End{}", &section[1..]);
        let known = ["$MeshFormat", "$Nodes", "$Elements"].contains(&section);
        loop {
            let word = words.expect(&end)?;
            if word == end {
                break;
            }
            if known {
                return Err(words.fault(word, format!("expected {end}")));
            }
        }
        let Some(next) = words.next() else { break };
        if !next.starts_with('$') {
            return Err(words.fault(next, "expected the start of a section, like $Nodes"));
        }
        section = next;
        match section {
            "$Nodes" => {
                mesh.vertices.clear();
                index_of = Some(nodes(&mut words, &mut mesh)?);
            }
            "$Elements" => listed = Some(elements(&mut words)?),
            _ => {}
        }
    }
    let missing = |what: &str| {
        Fault::new(words.line(), format!("no {what} section"), "a mesh needs $Nodes and $Elements")
    };
    let index_of = index_of.ok_or_else(|| missing("$Nodes"))?;
    let listed = listed.ok_or_else(|| missing("$Elements"))?;
    let mut lines = Vec::new();
    for (numbers, line) in listed {
        let mut corners = [0; 4];
        for (corner, number) in corners.iter_mut().zip(numbers) {
            *corner = *index_of.get(&number).ok_or_else(|| {
                Fault::new(line, format!("node {number}"), "expected the number of a node in $Nodes")
            })?;
        }
        mesh.tetrahedra.push(corners);
        lines.push(line);
    }
    if lines.is_empty() {
        return Err(Fault::new(
            words.line(),
            "no tetrahedra",
            "a volume mesh needs elements of type 4 (in Gmsh: mesh in 3D and save all elements)",
        ));
    }
    Ok(ListedTetrahedra { mesh, lines })
}
