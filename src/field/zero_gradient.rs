//! Tetrahedra in which a pressure field vanishes, and their repair.

use crate::geometry::{SurfaceDistance, VolumeMesh, boundary_faces};
use nalgebra::Vector3;

/// The tetrahedra whose four extents are all 0, as where all four vertices lie on the boundary.
///
/// The pressure and its gradient are 0 throughout them, so they bear no load in contact.
/// Tetrahedra of a core, where the extent is 1 throughout, are not meant.
pub fn zero_gradient_tetrahedra(mesh: &VolumeMesh, extent: &[f64]) -> Vec<usize> {
    (0..mesh.tetrahedra.len())
        .filter(|&t| mesh.tetrahedra[t].iter().all(|&v| extent[v as usize] == 0.0))
        .collect()
}

/// A mesh after its tetrahedra without gradient have been split.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitMesh {
    /// The mesh: the old vertices, then one for each tetrahedron split.
    pub mesh: VolumeMesh,
    /// The extent of each vertex.
    pub extent: Vec<f64>,
    /// How many tetrahedra were split.
    pub split_count: usize,
}

/// Splits each tetrahedron without gradient in four at its centroid, which gets a positive extent.
///
/// The faces stay as they are, so the mesh stays conforming and its boundary unchanged. The extent
/// of a new vertex is its distance to the boundary relative to the deepest vertex, on the scale of
/// the extents given: ε = (d / max d) max ε, with max ε = 1 where all were 0. For an extent that is
/// normalized distance or Laplace's solution, computing it anew on the split mesh gives a field
/// that follows its rule exactly. Between two tetrahedra that were split side by side the pressure
/// still falls to 0 on their common face.
///
/// The mesh must be valid and have an extent for each vertex.
pub fn split_zero_gradient_tetrahedra(mesh: &VolumeMesh, extent: &[f64]) -> SplitMesh {
    let flat = zero_gradient_tetrahedra(mesh, extent);
    let mut result = SplitMesh { mesh: mesh.clone(), extent: extent.to_vec(), split_count: flat.len() };
    if flat.is_empty() {
        return result;
    }
    for &t in &flat {
        let old = mesh.tetrahedra[t];
        let new = result.mesh.vertices.len() as u32;
        let sum: Vector3<f64> = old.iter().map(|&v| mesh.vertices[v as usize]).sum();
        result.mesh.vertices.push(sum / 4.0);
        let part = |corner: usize| {
            let mut part = old;
            part[corner] = new;
            part
        };
        result.mesh.tetrahedra[t] = part(0);
        result.mesh.tetrahedra.extend([part(1), part(2), part(3)]);
    }
    let boundary = SurfaceDistance::new(&mesh.vertices, &boundary_faces(&mesh.tetrahedra));
    let depth = |vertex: &Vector3<f64>| boundary.distance(vertex);
    let old_depth = mesh
        .vertices
        .iter()
        .zip(extent)
        .map(|(vertex, &e)| if e > 0.0 { depth(vertex) } else { 0.0 })
        .fold(0.0, f64::max);
    let added: Vec<f64> = result.mesh.vertices[mesh.vertices.len()..].iter().map(depth).collect();
    let deepest = added.iter().copied().fold(old_depth, f64::max);
    let largest = match extent.iter().copied().fold(0.0, f64::max) {
        0.0 => 1.0,
        largest => largest,
    };
    result.extent.extend(added.iter().map(|d| d / deepest * largest));
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::distance_extent;
    use crate::geometry::VertexPlace;
    use crate::geometry::kuhn_grid::kuhn_grid;
    use crate::geometry::vertex_places;
    use std::path::Path;

    fn volumes(mesh: &VolumeMesh) -> Vec<f64> {
        mesh.tetrahedra
            .iter()
            .map(|t| {
                let [a, b, c, d] = t.map(|v| mesh.vertices[v as usize]);
                (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
            })
            .collect()
    }

    /// What must hold for any mesh and its normalized distance.
    fn check(mesh: &VolumeMesh, extent: &[f64]) -> usize {
        let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
        let flat = zero_gradient_tetrahedra(mesh, extent);
        let on_boundary = |t: &[u32; 4]| t.iter().all(|&v| places[v as usize] == VertexPlace::Boundary);
        let expected: Vec<usize> =
            (0..mesh.tetrahedra.len()).filter(|&t| on_boundary(&mesh.tetrahedra[t])).collect();
        assert_eq!(flat, expected);

        let split = split_zero_gradient_tetrahedra(mesh, extent);
        assert_eq!(split.split_count, flat.len());
        assert_eq!(split.extent.len(), split.mesh.vertices.len());
        assert_eq!(split.mesh.tetrahedra.len(), mesh.tetrahedra.len() + 3 * flat.len());
        assert!(zero_gradient_tetrahedra(&split.mesh, &split.extent).is_empty());
        assert!(split.extent.iter().all(|e| (0.0..=1.0).contains(e)));
        assert_eq!(split.extent[..extent.len()], *extent);
        // The same body with the same boundary, and no tetrahedron turned over.
        let (before, after) = (volumes(mesh), volumes(&split.mesh));
        let (sum_before, sum_after): (f64, f64) = (before.iter().sum(), after.iter().sum());
        assert!((sum_before - sum_after).abs() < 1e-13 * sum_before);
        assert!(after.iter().all(|&v| v > 0.0));
        let sorted = |mesh: &VolumeMesh| {
            let mut faces = boundary_faces(&mesh.tetrahedra);
            for face in &mut faces {
                let least = (0..3).min_by_key(|&i| face[i]).unwrap();
                face.rotate_left(least);
            }
            faces.sort_unstable();
            faces
        };
        assert_eq!(sorted(mesh), sorted(&split.mesh));
        // Computed anew the distance is positive in the same places.
        let anew = distance_extent(&split.mesh).unwrap();
        assert!(zero_gradient_tetrahedra(&split.mesh, &anew).is_empty());
        flat.len()
    }

    #[test]
    fn a_thin_slab_has_no_gradient_until_it_is_split() {
        let mesh = kuhn_grid([3, 4, 1], 0.0, 1);
        assert_eq!(check(&mesh, &vec![0.0; mesh.vertices.len()]), 72);
    }

    #[test]
    fn an_l_shape_is_repaired_at_its_edges() {
        let mut mesh = kuhn_grid([6, 6, 4], 0.1, 9);
        mesh.tetrahedra.retain(|t| {
            let sum: Vector3<f64> = t.iter().map(|&v| mesh.vertices[v as usize]).sum();
            sum.x < 2.0 || sum.y < 2.0
        });
        // The cut leaves vertices that no tetrahedron uses.
        assert!(check(&mesh, &distance_extent(&mesh).unwrap()) > 0);
    }

    #[test]
    fn a_mesh_with_gradients_everywhere_is_returned_as_it_is() {
        let mesh = VolumeMesh {
            vertices: vec![
                Vector3::new(1.0, 1.0, 1.0),
                Vector3::new(-1.0, -1.0, 1.0),
                Vector3::new(-1.0, 1.0, -1.0),
                Vector3::new(1.0, -1.0, -1.0),
                Vector3::zeros(),
            ],
            tetrahedra: vec![[4, 1, 2, 3], [0, 4, 2, 3], [0, 1, 4, 3], [0, 1, 2, 4]],
        };
        let extent = [0.0, 0.0, 0.0, 0.0, 1.0];
        let split = split_zero_gradient_tetrahedra(&mesh, &extent);
        assert_eq!((split.mesh, split.split_count), (mesh, 0));
    }

    /// The points and tetrahedra of a legacy VTK file, as the recorded models have them.
    fn read_model(path: &Path) -> VolumeMesh {
        let text = std::fs::read_to_string(path).unwrap();
        let section = |name: &str, columns: usize| {
            let mut lines = text.lines().skip_while(|l| !l.starts_with(name));
            let header = lines.next().unwrap();
            let count: usize = header.split_whitespace().nth(1).unwrap().parse().unwrap();
            let numbers = lines
                .flat_map(str::split_whitespace)
                .take(count * columns)
                .map(|word| word.parse::<f64>().unwrap());
            numbers.collect::<Vec<f64>>()
        };
        let points = section("POINTS", 3);
        let cells = section("CELLS", 5);
        VolumeMesh {
            vertices: points.chunks(3).map(Vector3::from_column_slice).collect(),
            tetrahedra: cells
                .chunks(5)
                .map(|c| [c[1] as u32, c[2] as u32, c[3] as u32, c[4] as u32])
                .collect(),
        }
    }

    #[test]
    #[ignore = "needs the recordings and models in ../shared/data"]
    fn recorded_models_are_repaired() {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/models");
        for name in [
            "wsg_50/bubble.vtk",
            "veggies/yellow_bell_pepper_no_stem_low.vtk",
            "dishes/evo_bowl_coarse3k.vtk",
        ] {
            let mesh = read_model(&models.join(name));
            let extent = match distance_extent(&mesh) {
                Ok(extent) => extent,
                Err(_) => vec![0.0; mesh.vertices.len()],
            };
            let inside = extent.iter().filter(|&&e| e > 0.0).count();
            let count = check(&mesh, &extent);
            println!("{name}: {inside} interior, {count} of {} split", mesh.tetrahedra.len());
        }
    }
}
