//! STL, text or binary. Vertices at the same place are merged.

use std::collections::HashMap;
use std::io::{Cursor, Error, ErrorKind};

use nalgebra::Vector3;

use crate::geometry::SurfaceMesh;

/// Bytes of a binary file before its facets, and of a facet.
const BINARY_HEADER: usize = 84;
const BINARY_FACET: usize = 50;

/// Whether the length of a file is what a binary one says of itself.
fn is_binary(bytes: &[u8]) -> bool {
    let Some(&[a, b, c, d]) = bytes.get(80..84) else { return false };
    let facets = u32::from_le_bytes([a, b, c, d]) as usize;
    bytes.len() - BINARY_HEADER == facets * BINARY_FACET
}

/// The surface of a file, or the facet, counted from 0, at which it could not be read.
pub(super) fn parse(mut bytes: Vec<u8>) -> Result<SurfaceMesh, (usize, Error)> {
    if is_binary(&bytes) {
        // Some programs write "solid" there, which is the mark of a text file.
        bytes[..80].fill(0);
    }
    let mut cursor = Cursor::new(bytes);
    let reader = stl_io::create_stl_reader(&mut cursor).map_err(|source| (0, source))?;
    let mut mesh = SurfaceMesh { vertices: Vec::new(), triangles: Vec::new() };
    let mut index_of = HashMap::new();
    for (facet, triangle) in reader.enumerate() {
        let corners = triangle.map_err(|source| (facet, source))?.vertices;
        mesh.triangles.push([0; 3]);
        for (k, corner) in corners.iter().enumerate() {
            if !corner.0.iter().all(|x| x.is_finite()) {
                let message = format!("found the vertex {:?}; coordinates must be finite numbers", corner.0);
                return Err((facet, Error::new(ErrorKind::InvalidData, message)));
            }
            // Adding zero makes −0 and 0 the same.
            let key = corner.0.map(|x| (x + 0.0).to_bits());
            let index = *index_of.entry(key).or_insert_with(|| {
                mesh.vertices.push(Vector3::from(corner.0).map(f64::from));
                (mesh.vertices.len() - 1) as u32
            });
            mesh.triangles[facet][k] = index;
        }
    }
    Ok(mesh)
}
