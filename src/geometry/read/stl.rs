//! STL, text or binary. Vertices at the same place are merged within a solid; normals are not read.

use std::collections::HashMap;

use nalgebra::Vector3;

use super::fault::Fault;
use super::text::{Numbers, Words};
use crate::geometry::SurfaceMesh;
use crate::geometry::mend::place;

/// Bytes of a binary file before its facets, and of a facet.
const BINARY_HEADER: usize = 84;
const BINARY_FACET: usize = 50;

/// Whether a file is text. Some programs write "solid", the mark of a text file, into binary ones too.
fn is_text(bytes: &[u8], announced: Option<usize>) -> bool {
    let start = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii_start();
    let has = |word: &[u8]| bytes.windows(word.len()).any(|w| w.eq_ignore_ascii_case(word));
    announced != Some(bytes.len())
        && start.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"solid"))
        && (has(b"facet") || has(b"endsolid"))
}

/// The surface of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<SurfaceMesh, Fault> {
    let count = bytes.get(80..84).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]) as usize);
    let announced = count.map(|facets| BINARY_HEADER + facets * BINARY_FACET);
    let mut facets = Facets::default();
    if is_text(bytes, announced) {
        facets.read_text(&mut Words::new(bytes))?;
        return Ok(facets.mesh);
    }
    let (Some(count), Some(announced)) = (count, announced.filter(|&length| length <= bytes.len())) else {
        let found = format!("{} bytes that are no text with `solid` and `facet`", bytes.len());
        let expected = match announced {
            Some(length) => format!("a binary file with this header has {length}"),
            None => format!("a binary file has at least {BINARY_HEADER}"),
        };
        return Err(Fault::new(None, found, expected));
    };
    let chunks = bytes[BINARY_HEADER..announced].chunks_exact(BINARY_FACET);
    for (index, facet) in (0..count).zip(chunks) {
        let mut words = Words::of_numbers(&facet[12..48], Numbers::LittleEndian);
        for _ in 0..3 {
            let corner = words.point(4).map_err(|fault| fault.of(format!("facet {index}")))?;
            facets.add_corner(corner);
        }
    }
    Ok(facets.mesh)
}

/// The facets of a file so far.
#[derive(Default)]
struct Facets {
    mesh: SurfaceMesh,
    /// The vertices of the solid by the bits of their coordinates.
    index_of: HashMap<[u64; 3], u32>,
    /// The corners of the facet that is read.
    corners: Vec<u32>,
}

impl Facets {
    fn read_text(&mut self, words: &mut Words) -> Result<(), Fault> {
        while let Some(word) = words.next() {
            match word.to_ascii_lowercase().as_str() {
                "solid" | "endsolid" => {
                    // The rest of the line is its name.
                    words.rest_of_line();
                    self.index_of.clear();
                }
                "facet" => {
                    // A word and the three numbers of the normal, whatever they are.
                    for _ in 0..4 {
                        if words.clone().next_if("outer") {
                            break;
                        }
                        words.expect("outer loop")?;
                    }
                    words.keyword("outer")?;
                    words.keyword("loop")?;
                    for _ in 0..3 {
                        words.keyword("vertex")?;
                        // The format has single precision, in which vertices of neighbours are the same.
                        self.add_corner(words.point(4)?.map(|x| f64::from(x as f32)));
                    }
                    words.keyword("endloop")?;
                    words.keyword("endfacet")?;
                }
                _ => return Err(words.fault(word, "expected solid, facet or endsolid")),
            }
        }
        Ok(())
    }

    fn add_corner(&mut self, corner: Vector3<f64>) {
        let vertices = &mut self.mesh.vertices;
        let index = *self.index_of.entry(place(&corner)).or_insert_with(|| {
            vertices.push(corner);
            (vertices.len() - 1) as u32
        });
        self.corners.push(index);
        if let [a, b, c] = self.corners[..] {
            self.mesh.triangles.push([a, b, c]);
            self.corners.clear();
        }
    }
}
