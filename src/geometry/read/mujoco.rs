//! MuJoCo's own surfaces, `.msh` as Gmsh's files: four counts, then vertices, normals and texture coordinates in single
//! precision, and triangles, all in the order of bytes of its machines.

use nalgebra::Vector3;

use super::fault::Fault;
use super::text::{Numbers, Words};
use crate::geometry::SurfaceMesh;

/// Bytes of a number of any kind.
const NUMBER: usize = 4;

/// The numbers of vertices, normals, texture coordinates and triangles of a file that has as many bytes as they need.
fn counts(bytes: &[u8]) -> Option<[usize; 4]> {
    let header = bytes.get(..4 * NUMBER)?;
    let counts: Vec<usize> =
        header.chunks_exact(NUMBER).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]) as usize).collect();
    let counts: [usize; 4] = counts.try_into().ok()?;
    let sizes = counts.iter().zip([3, 3, 2, 3]);
    let numbers = sizes.fold(4_usize, |sum, (count, each)| sum.saturating_add(count.saturating_mul(each)));
    (numbers.saturating_mul(NUMBER) == bytes.len()).then_some(counts)
}

/// The surface of a file; none where it is none of these.
pub(super) fn parse(bytes: &[u8]) -> Option<Result<SurfaceMesh, Fault>> {
    counts(bytes).map(|counts| surface(bytes, counts))
}

fn surface(bytes: &[u8], [vertices, _, _, triangles]: [usize; 4]) -> Result<SurfaceMesh, Fault> {
    let mut words = Words::of_numbers(&bytes[4 * NUMBER..], Numbers::LittleEndian);
    let vertices = (0..vertices)
        .map(|number| words.point(NUMBER).map_err(|fault| fault.of(format!("vertex {number}"))))
        .collect::<Result<Vec<Vector3<f64>>, _>>()?;
    let first = bytes.len() - triangles * 3 * NUMBER;
    let triangles = bytes[first..].chunks_exact(3 * NUMBER).enumerate().map(|(number, corners)| {
        let corner = |k: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| corners[k * NUMBER + byte]));
        let triangle = [0, 1, 2].map(corner);
        match triangle.iter().find(|&&corner| corner as usize >= vertices.len()) {
            None => Ok(triangle),
            Some(found) => Err(Fault::new(
                None,
                format!("vertex {found} in triangle {number}"),
                format!("there are {} vertices, from 0 on", vertices.len()),
            )),
        }
    });
    let triangles = triangles.collect::<Result<_, _>>()?;
    Ok(SurfaceMesh { triangles, vertices })
}
