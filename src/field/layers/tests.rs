use super::*;
use crate::field::{distance_extent, primitive_field};
use crate::geometry::any_shape;
use crate::geometry::kuhn_grid::kuhn_grid;
use crate::geometry::tetrahedron_volume;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Checks that the pieces fill the same volume with the same field and no vertex inside of an edge or face of another.
fn check(mesh: &VolumeMesh, extent: &[f64], levels: &[f64]) -> LayeredMesh {
    let layered = split_at_levels(mesh, extent, levels).unwrap();
    layered.mesh.validate().unwrap_or_else(|error| panic!("{levels:?}: {error}"));
    let volume = |mesh: &VolumeMesh| -> f64 {
        (0..mesh.tetrahedra.len()).map(|i| tetrahedron_volume(&mesh.corners(i))).sum()
    };
    let (before, after) = (volume(mesh), volume(&layered.mesh));
    assert!((before - after).abs() <= 1e-12 * before, "{before} {after}");
    // Where it does not conform there are faces without a neighbour inside.
    let surface = |mesh: &VolumeMesh| -> f64 {
        let surface = mesh.boundary();
        let area = |i| {
            let [a, b, c] = surface.corners(i);
            0.5 * (b - a).cross(&(c - a)).norm()
        };
        (0..surface.triangles.len()).map(area).sum()
    };
    let (before, after) = (surface(mesh), surface(&layered.mesh));
    assert!((before - after).abs() <= 1e-10 * before, "{before} {after}");
    assert_eq!(layered.extent[..extent.len()], *extent);
    assert_eq!(layered.mesh.vertices[..extent.len()], mesh.vertices);
    for (i, point) in layered.added.iter().enumerate() {
        let [a, b] = point.ends.map(|end| end as usize);
        assert!(a < extent.len() && b < extent.len() && point.fraction > 0.0 && point.fraction < 1.0);
        let value = layered.extent[extent.len() + i];
        assert!(levels.contains(&value));
        assert!(
            (extent[a] + (extent[b] - extent[a]) * point.fraction - value).abs() < 1e-14 * value.max(1.0)
        );
    }
    layered
}

/// The integral of the extent over the mesh, and of its square by the product rule of linear functions.
fn integrals(mesh: &VolumeMesh, extent: &[f64]) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for (i, corners) in mesh.tetrahedra.iter().enumerate() {
        let volume = tetrahedron_volume(&mesh.corners(i));
        let e = corners.map(|k| extent[k as usize]);
        let sum: f64 = e.iter().sum();
        sums[0] += volume * sum / 4.0;
        sums[1] += volume * (sum * sum + e.iter().map(|x| x * x).sum::<f64>()) / 20.0;
    }
    sums
}

fn assert_same_function(mesh: &VolumeMesh, extent: &[f64], layered: &LayeredMesh) {
    let (before, after) = (integrals(mesh, extent), integrals(&layered.mesh, &layered.extent));
    for (a, b) in before.into_iter().zip(after) {
        assert!((a - b).abs() <= 1e-12 * a.abs(), "{before:?} {after:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn primitives_are_cut_into_valid_meshes(shape in any_shape(), layers in 1..12usize) {
        let (mesh, extent) = primitive_field(&shape, f64::MAX).unwrap();
        let layered = check(&mesh, &extent, &graded_levels(&extent, layers).unwrap());
        assert_same_function(&mesh, &extent, &layered);
        prop_assert!(layered.mesh.tetrahedra.len() <= 6 * layers * mesh.tetrahedra.len());
        for corners in &layered.mesh.tetrahedra {
            let e = corners.map(|k| layered.extent[k as usize]);
            let [low, high] = [e.into_iter().fold(9.0, f64::min), e.into_iter().fold(0.0, f64::max)];
            prop_assert!((high.sqrt() - low.sqrt()) * (layers as f64) < 1.0 + 1e-9, "{e:?} of {layers}");
        }
    }

    #[test]
    fn any_extents_at_any_levels(
        cells in proptest::array::uniform3(1usize..4), seed: u64, flat in 0.0..0.6f64,
        steps in proptest::collection::vec(0.002..0.5f64, 0..6),
    ) {
        let mesh = kuhn_grid(cells, 0.1, seed);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let levels: Vec<f64> = steps.iter().scan(0.0, |sum, step| { *sum += step; Some(*sum) }).collect();
        let mut value = || match random.random_range(0.0..1.0) {
            // Exactly on a level, and so close that the vertex stands for the cut.
            x if x < flat && !levels.is_empty() => {
                let level = levels[random.random_range(0..levels.len())];
                level * (1.0 + [0.0, 1e-12, -1e-4][random.random_range(0..3)])
            }
            _ => random.random_range(0.0..1.5),
        };
        let extent: Vec<f64> = mesh.vertices.iter().map(|_| value()).collect();
        let largest = extent.iter().copied().fold(0.0, f64::max);
        prop_assume!(steps.iter().all(|step| *step >= CLOSEST * largest));
        let layered = check(&mesh, &extent, &levels);
        assert_same_function(&mesh, &extent, &layered);
    }
}

#[test]
fn a_distance_extent_is_cut_at_its_levels() {
    let mesh = kuhn_grid([4, 4, 4], 0.1, 3);
    let extent = distance_extent(&mesh).unwrap();
    for layers in [1, 2, 3, 5] {
        let layered = check(&mesh, &extent, &graded_levels(&extent, layers).unwrap());
        assert_same_function(&mesh, &extent, &layered);
        assert_eq!(layered.added.is_empty(), layers == 1);
    }
}

#[test]
fn one_level_cuts_a_tetrahedron_into_four() {
    let mesh = VolumeMesh {
        vertices: vec![Vector3::zeros(), Vector3::x(), Vector3::y(), Vector3::z()],
        tetrahedra: vec![[0, 1, 2, 3]],
    };
    let layered = check(&mesh, &[0.0, 0.0, 0.0, 2.0], &[0.5]);
    assert_eq!((layered.added.len(), layered.mesh.tetrahedra.len()), (3, 4));
    assert!(layered.added.iter().all(|point| point.fraction == 0.25));
    let layered = check(&mesh, &[0.0, 2.0, 0.0, 2.0], &[0.5, 1.0, 1.5]);
    assert_eq!((layered.added.len(), layered.mesh.tetrahedra.len()), (12, 3 + 6 + 6 + 3));
    // Through a vertex, close to it, and along an edge: fewer vertices are added.
    for (extent, added, tetrahedra) in [
        ([0.0, 0.5, 0.0, 1.0], 2, 3),
        ([0.0, 0.51, 0.0, 1.0], 2, 3),
        ([0.0, 0.5, 0.5, 1.0], 1, 2),
        ([0.5, 0.5, 0.5, 1.0], 0, 1),
    ] {
        let layered = check(&mesh, &extent, &[0.5]);
        assert_eq!((layered.added.len(), layered.mesh.tetrahedra.len()), (added, tetrahedra), "{extent:?}");
    }
}

#[test]
fn derivatives_pass_to_the_old_vertices() {
    let mesh = kuhn_grid([2, 3, 2], 0.1, 5);
    let extent: Vec<f64> = (0..mesh.vertices.len()).map(|i| (1.7 * i as f64).sin().abs()).collect();
    let layered = split_at_levels(&mesh, &extent, &[0.3, 0.6]).unwrap();
    let weight = |i: usize| Vector3::from_fn(|k, _| (0.7 * (3 * i + k) as f64).cos());
    // A function of the vertices that are there after old ones have moved.
    let value = |vertex: usize, by: Vector3<f64>, extent_by: f64| {
        let (mut x, mut e) = (layered.mesh.vertices.clone(), layered.extent.clone());
        (x[vertex], e[vertex]) = (x[vertex] + by, e[vertex] + extent_by);
        for (i, p) in layered.added.iter().enumerate() {
            let [a, b] = p.ends.map(|end| end as usize);
            x[extent.len() + i] = x[a].lerp(&x[b], p.fraction);
            e[extent.len() + i] = e[a] + (e[b] - e[a]) * p.fraction;
        }
        let one = |i: usize| weight(i).dot(&x[i]) * e[i];
        (0..x.len()).map(one).sum::<f64>()
    };
    let count = layered.extent.len();
    let by_vertices: Vec<_> = (0..count).map(|i| weight(i) * layered.extent[i]).collect();
    let by_extents: Vec<_> = (0..count).map(|i| weight(i).dot(&layered.mesh.vertices[i])).collect();
    let (by_old, by_old_extents) = layered.vjp(&by_vertices, &by_extents).unwrap();
    assert_eq!((by_old.len(), by_old_extents.len()), (extent.len(), extent.len()));
    let h = 1e-5;
    for vertex in 0..extent.len() {
        for axis in 0..3 {
            let by = Vector3::ith(axis, h);
            let difference = (value(vertex, by, 0.0) - value(vertex, -by, 0.0)) / (2.0 * h);
            assert!((difference - by_old[vertex][axis]).abs() < 1e-8);
        }
        let difference =
            (value(vertex, Vector3::zeros(), h) - value(vertex, Vector3::zeros(), -h)) / (2.0 * h);
        assert!((difference - by_old_extents[vertex]).abs() < 1e-8);
    }
    let error = FieldError::ExtentCount { vertices: count, extents: 1 };
    assert_eq!(layered.vjp(&by_vertices, &[1.0]), Err(error));
    let error = FieldError::CoordinateCount { vertices: count, derivatives: 0 };
    assert_eq!(layered.vjp(&[], &by_extents), Err(error));
}

#[test]
fn levels_and_layers_that_cannot_be_are_refused() {
    let mesh = kuhn_grid([1, 1, 1], 0.0, 1);
    let extent: Vec<f64> = (0..8).map(f64::from).map(|i| i / 7.0).collect();
    let refused = |levels: &[f64]| split_at_levels(&mesh, &extent, levels).unwrap_err();
    assert_eq!(refused(&[0.0]), FieldError::Level { level: 0, value: 0.0, least: 1e-4 });
    assert_eq!(refused(&[0.5, 0.5]), FieldError::Level { level: 1, value: 0.5, least: 0.5001 });
    assert!(matches!(refused(&[0.5, 0.2]), FieldError::Level { level: 1, .. }));
    assert!(matches!(refused(&[f64::NAN]), FieldError::Level { level: 0, .. }));
    assert_eq!(split_at_levels(&mesh, &extent, &[1.0, 2.0]).unwrap().mesh, mesh);
    let error = FieldError::ExtentCount { vertices: 8, extents: 1 };
    assert_eq!(split_at_levels(&mesh, &[0.5], &[0.1]), Err(error));
    for layers in [0, LARGEST_LAYER_COUNT + 1] {
        assert_eq!(graded_levels(&extent, layers), Err(FieldError::LayerCount { layers }));
    }
    assert_eq!(graded_levels(&[0.0; 4], 3), Ok(Vec::new()));
    let error = FieldError::ExtentValue { vertex: 0, value: -1.0 };
    assert_eq!(graded_levels(&[-1.0], 3), Err(error));
}
