//! Gmsh MSH 4.1 and 2, text or binary (Gmsh reference manual, "MSH file format" and its legacy versions).

use std::collections::HashMap;

use super::fault::Fault;
use super::listed_tetrahedra::ListedTetrahedra;
use super::text::{Numbers, Words, wrong_type};
use crate::geometry::VolumeMesh;

/// Gmsh's number for a tetrahedron with four vertices.
const TETRAHEDRON: u64 = 4;

/// Bytes of an `int` and of a `size_t` or `double` in binary files.
const INT: usize = 4;
const SIZE: usize = 8;

/// The number of vertices of a tetrahedron, or of elements of dimension 0 to 2 that stand beside the tetrahedra
/// of a file and are left out: points, lines, triangles and quadrangles, and those of second order.
fn vertices_of(kind: u64, line: usize) -> Result<usize, Fault> {
    Ok(match kind {
        15 => 1,
        1 => 2,
        2 | 8 => 3,
        TETRAHEDRON | 3 => 4,
        9 => 6,
        16 => 8,
        10 => 9,
        _ => return Err(wrong_type(line, "element", kind, TETRAHEDRON)),
    })
}

/// The mesh of a file so far.
#[derive(Default)]
struct Listed {
    mesh: VolumeMesh,
    /// The vertices by Gmsh's numbers.
    index_of: HashMap<u64, u32>,
    /// The tetrahedra by these numbers, and their lines.
    tetrahedra: Vec<([u64; 4], usize)>,
}

impl Listed {
    fn add_node(&mut self, number: u64, words: &mut Words) -> Result<(), Fault> {
        self.mesh.vertices.push(words.point(SIZE)?);
        let index = (self.mesh.vertices.len() - 1) as u32;
        match self.index_of.insert(number, index) {
            Some(_) => Err(words.fault(&number.to_string(), "each node number may be given once")),
            None => Ok(()),
        }
    }

    /// Reads the vertices of an element whose numbers have `size` bytes.
    fn add_element(&mut self, kind: u64, size: usize, words: &mut Words) -> Result<(), Fault> {
        let line = words.line();
        let mut corners = [0; 4];
        for i in 0..vertices_of(kind, line)? {
            corners[i % 4] = words.index(size, "a node number")?;
        }
        if kind == TETRAHEDRON {
            self.tetrahedra.push((corners, line));
        }
        Ok(())
    }

    /// `$Nodes` of version 4.1, in blocks.
    fn nodes(&mut self, words: &mut Words) -> Result<(), Fault> {
        words.begin_numbers();
        let blocks = words.index(SIZE, "the number of blocks of nodes")?;
        words.skip_numbers(3, SIZE)?;
        for _ in 0..blocks {
            let dimension = words.index(INT, "the dimension of an entity")?;
            words.skip_numbers(1, INT)?;
            let parametric = words.index(INT, "0 or 1 for parametric coordinates")?;
            let count = words.index(SIZE, "the number of nodes of a block")?;
            let mut numbers = Vec::new();
            for _ in 0..count {
                numbers.push(words.index(SIZE, "a node number")?);
            }
            for number in numbers {
                self.add_node(number, words)?;
                words.skip_numbers(if parametric == 0 { 0 } else { dimension.min(3) }, SIZE)?;
            }
        }
        Ok(())
    }

    /// `$Elements` of version 4.1, in blocks.
    fn elements(&mut self, words: &mut Words) -> Result<(), Fault> {
        words.begin_numbers();
        let blocks = words.index(SIZE, "the number of blocks of elements")?;
        words.skip_numbers(3, SIZE)?;
        for _ in 0..blocks {
            words.skip_numbers(2, INT)?;
            let kind = words.index(INT, "an element type")?;
            vertices_of(kind, words.line())?;
            for _ in 0..words.index(SIZE, "the number of elements of a block")? {
                words.index(SIZE, "an element number")?;
                self.add_element(kind, SIZE, words)?;
            }
        }
        Ok(())
    }

    /// `$Nodes` of version 2.
    fn nodes_2(&mut self, words: &mut Words) -> Result<(), Fault> {
        let count: u64 = words.number("the number of nodes")?;
        words.begin_numbers();
        for _ in 0..count {
            let number = words.index(INT, "a node number")?;
            self.add_node(number, words)?;
        }
        Ok(())
    }

    /// `$Elements` of version 2, where each element has its tags. Those of a binary file come in runs.
    fn elements_2(&mut self, words: &mut Words) -> Result<(), Fault> {
        let count: u64 = words.number("the number of elements")?;
        words.begin_numbers();
        let (mut kind, mut tags, mut read) = (0, 0, 0);
        while read < count {
            let in_run = match words.numbers {
                Numbers::Text => 1,
                _ => {
                    kind = words.index(INT, "an element type")?;
                    let in_run = words.index(INT, "the number of elements of a run")?;
                    tags = words.index(INT, "the number of tags")?;
                    in_run
                }
            };
            for _ in 0..in_run {
                words.index(INT, "an element number")?;
                if words.numbers == Numbers::Text {
                    kind = words.index(INT, "an element type")?;
                    tags = words.index(INT, "the number of tags")?;
                }
                words.skip_numbers(tags, INT)?;
                self.add_element(kind, INT, words)?;
            }
            read += in_run.max(1);
        }
        Ok(())
    }
}

/// Whether a file is of version 2, after its first section, which says so and how its numbers are written.
fn is_version_2(words: &mut Words) -> Result<bool, Fault> {
    if !words.next_if("$MeshFormat") {
        return Err(Fault::new(1, "no $MeshFormat section", "a Gmsh file starts with it"));
    }
    let version = words.expect("the version of the format")?;
    if !["4.1", "2", "2.0", "2.1", "2.2"].contains(&version) {
        return Err(words.fault(version, "expected version 4.1 or 2.2 (in Gmsh: Mesh.MshFileVersion = 4.1)"));
    }
    let binary = words.expect("0 for a text file, 1 for a binary one")?;
    let size = words.expect("the size of a number")?;
    match (binary, size) {
        ("0", _) => {}
        ("1", "8") => {
            // The number 1 tells the order of bytes.
            words.numbers = Numbers::LittleEndian;
            words.begin_numbers();
            match words.index(INT, "the number 1")? {
                1 => {}
                0x0100_0000 => words.numbers = Numbers::BigEndian,
                other => return Err(words.fault(&other.to_string(), "expected the number 1 in binary")),
            }
        }
        ("1", size) => return Err(words.fault(size, "expected numbers of 8 bytes")),
        _ => return Err(words.fault(binary, "expected 0 for a text file or 1 for a binary one")),
    }
    words.keyword("$EndMeshFormat")?;
    Ok(version != "4.1")
}

/// The tetrahedra of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<ListedTetrahedra, Fault> {
    let mut words = Words::new(bytes);
    let old = is_version_2(&mut words)?;
    let mut listed = Listed::default();
    let mut sections = [false; 2];
    while let Some(section) = words.next() {
        let name = section.strip_prefix('$');
        let Some(name) = name.filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric())) else {
            return Err(words.fault(section, "expected the start of a section, like $Nodes"));
        };
        let end = format!("$End{name}");
        match (name, old) {
            ("Nodes" | "Elements", _)
                if std::mem::replace(&mut sections[usize::from(name == "Nodes")], true) =>
            {
                return Err(words.fault(section, "a file has one section of this name"));
            }
            ("Nodes", false) => listed.nodes(&mut words)?,
            ("Nodes", true) => listed.nodes_2(&mut words)?,
            ("Elements", false) => listed.elements(&mut words)?,
            ("Elements", true) => listed.elements_2(&mut words)?,
            _ if words.skip_past(&end) => continue,
            _ => return Err(Fault::new(words.line(), "the end of the file", format!("expected {end}"))),
        }
        words.keyword(&end)?;
    }
    if let Some(missing) = ["$Elements", "$Nodes"].iter().zip(sections).find(|(_, found)| !found) {
        let found = format!("no {} section", missing.0);
        return Err(Fault::new(words.line(), found, "a mesh needs $Nodes and $Elements"));
    }
    let Listed { mut mesh, index_of, tetrahedra } = listed;
    let mut lines = Vec::new();
    for (numbers, line) in tetrahedra {
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
