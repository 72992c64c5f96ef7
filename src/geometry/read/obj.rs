//! Wavefront OBJ: its vertices and faces. All objects and groups of a file make one surface.
//!
//! Read line by line here, so that a fault can name its line and faces of different groups and
//! materials share their vertices.

use nalgebra::Vector3;

use super::fault::Fault;
use super::polygon::triangles_of;
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
pub(super) fn parse(bytes: &[u8]) -> Result<SurfaceMesh, Fault> {
    let mut text = String::from_utf8_lossy(bytes);
    if !text.contains('\n') {
        text = text.replace('\r', "\n").into();
    }
    let mut mesh = SurfaceMesh::default();
    let mut statement = String::new();
    for (index, content) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = index + 1;
        let content = content.split('#').next().unwrap_or_default().trim_end();
        if let Some(part) = content.strip_suffix('\\') {
            // It goes on in the next line.
            statement.push_str(part);
            statement.push(' ');
            continue;
        }
        statement.push_str(content);
        let mut words = statement.split_whitespace();
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
                mesh.triangles.extend(triangles_of(&corners, &mesh.vertices, line)?);
            }
            _ => {}
        }
        statement.clear();
    }
    Ok(mesh)
}
