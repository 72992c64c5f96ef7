//! Wavefront OBJ: its vertices and faces. All objects and groups of a file make one surface.
//!
//! Read line by line here, so that a fault can name its line and faces of different groups and
//! materials share their vertices.

use nalgebra::Vector3;

use super::fault::Fault;
use crate::geometry::SurfaceMesh;

/// The vertex that a word of a face, like `7`, `7/1` or `-1//2`, refers to.
fn vertex_index(word: &str, vertices: usize, line: usize) -> Result<u32, Fault> {
    let number = word.split('/').next().and_then(|n| n.parse::<i64>().ok());
    let index = match number {
        Some(n) if n > 0 => Some(n as u64 - 1),
        // Negative numbers count back from the last vertex so far.
        Some(n) if n < 0 => (vertices as u64).checked_sub(n.unsigned_abs()),
        _ => None,
    };
    index.filter(|&i| i < vertices as u64).map(|i| i as u32).ok_or_else(|| {
        Fault::new(
            line,
            format!("\"{word}\" in a face"),
            format!("expected a vertex from 1 to {vertices}, given above it"),
        )
    })
}

/// The surface of a file.
pub(super) fn parse(text: &str) -> Result<SurfaceMesh, Fault> {
    let mut mesh = SurfaceMesh { vertices: Vec::new(), triangles: Vec::new() };
    for (index, content) in text.lines().enumerate() {
        let line = index + 1;
        if content.trim_end().ends_with('\\') {
            return Err(Fault::new(
                line,
                "a line that continues on the next",
                "each statement must be on one line",
            ));
        }
        let mut words = content.split_whitespace();
        match words.next() {
            Some("v") => {
                let mut vertex = Vector3::zeros();
                for x in vertex.iter_mut() {
                    let word = words.next().unwrap_or("the end of the line");
                    *x = word.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| {
                        Fault::new(line, format!("\"{word}\""), "expected three coordinates, finite numbers")
                    })?;
                }
                mesh.vertices.push(vertex);
            }
            Some("f") => {
                let count = mesh.vertices.len();
                let corners =
                    words.map(|w| vertex_index(w, count, line)).collect::<Result<Vec<u32>, Fault>>()?;
                if corners.len() < 3 {
                    let found = format!("a face of {} vertices", corners.len());
                    return Err(Fault::new(line, found, "a face needs at least three"));
                }
                mesh.triangles.extend(corners[1..].windows(2).map(|w| [corners[0], w[0], w[1]]));
            }
            _ => {}
        }
    }
    Ok(mesh)
}
