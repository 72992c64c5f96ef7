//! Skirts: pressure fields that continue below zero outside of their bodies.
//!
//! Two bodies with skirts have a surface of equal pressure before they touch, on which a smoothed
//! contact law can act (see [`crate::contact::onset`]), so that there is a gradient that leads
//! them towards each other.

use nalgebra::{DMatrix, DVector, Vector3};

use super::error::FieldError;
use super::pressure_field::{PressureField, Skirt};
use crate::geometry::{VertexPlace, VolumeMesh, boundary_faces, vertex_places};

/// A vertex continues the field exactly if the extent of no tetrahedron around it misses by more
/// than this part of the skirt's.
const EXACT: f64 = 1e-9;
/// Singular values below this part of the largest are zero: directions in which the extent does
/// not change.
const NO_DIRECTION: f64 = 1e-9;
/// A vertex moves by at most this times the skirt's thickness to continue the field exactly: where
/// faces meet in a needle it would move far.
const FARTHEST: f64 = 8.0;

/// Most iterations of a singular value decomposition; a few are usual.
const LARGEST_ITERATION: usize = 1000;

/// Checks a thickness.
///
/// # Errors
/// When it is negative or not finite.
pub(crate) fn check_skirt(thickness: f64) -> Result<(), FieldError> {
    // Written so that NaN is caught too.
    let good = thickness >= 0.0 && thickness.is_finite();
    if good { Ok(()) } else { Err(FieldError::SkirtThickness { thickness }) }
}

impl PressureField {
    /// The same field with a skirt of this thickness in metres, or as it is for 0.
    ///
    /// The boundary's vertices move outward and their extent falls by s = thickness × (the mean slope of
    /// the extent at the boundary, weighted with area), the same s all over the boundary, so that the
    /// boundary stays an isobar, now of a negative pressure. A vertex moves to where the extents of all
    /// tetrahedra around it, continued linearly, have fallen by s: then the field inside the body does
    /// not change at all. There is such a place for the primitive shapes ([`super::primitive_field`])
    /// and at flat faces, edges and corners. On most other meshes there is no such point, because the
    /// slope differs from tetrahedron to tetrahedron. The vertex then moves by the thickness along the
    /// mean normal of the faces around it, and the field in the tetrahedra at the boundary changes a
    /// little: the zero of the extent lies near the boundary, not on it. Where that would turn tetrahedra over, which those of
    /// the boundary may be flat enough for, a layer of new ones is put around the body instead, and the field inside does not
    /// change. The skirt of a hollow body may overlap itself.
    ///
    /// # Errors
    /// When the thickness is negative or not finite, the field has a skirt, its extent does not
    /// grow inward, or the skirt is too thick for the body.
    pub fn with_skirt(&self, thickness: f64) -> Result<Self, FieldError> {
        check_skirt(thickness)?;
        if self.skirt().thickness > 0.0 {
            return Err(FieldError::SecondSkirt { thickness: self.skirt().thickness });
        }
        if thickness == 0.0 {
            return Ok(self.clone());
        }
        let slope = self.slope_at_boundary().ok_or(FieldError::Flat)?;
        let drop = thickness * slope;
        let largest = self.extent().iter().copied().fold(0.0, f64::max);
        if drop >= largest {
            return Err(FieldError::Thick { thickness, allowed: largest / slope });
        }
        let mesh = self.mesh();
        let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
        let gradients = self.gradients_at_vertices();
        let normals = vertex_normals(mesh);
        let mut moved = mesh.vertices.clone();
        let mut extent = self.extent().to_vec();
        for (i, _) in places.iter().enumerate().filter(|(_, place)| **place == VertexPlace::Boundary) {
            let exact = continuation(&gradients[i], drop, FARTHEST * thickness);
            moved[i] += exact.unwrap_or(normals[i] * thickness);
            extent[i] -= drop;
        }
        let moved = VolumeMesh { vertices: moved, tetrahedra: mesh.tetrahedra.clone() };
        let skirt = Skirt { thickness, extent: drop };
        if let Ok(field) = Self::build(moved, extent, skirt) {
            return Ok(field.with_exponent(self.exponent()));
        }
        let (mesh, new) = with_layer(mesh, &normals, thickness);
        let extent = self.extent().iter().copied().chain(std::iter::repeat_n(-drop, new)).collect();
        let field = Self::build(mesh, extent, skirt).map(|field| field.with_exponent(self.exponent()));
        field.map_err(|error| {
            let tetrahedron =
                if let FieldError::Volume { tetrahedron, .. } = error { tetrahedron } else { 0 };
            FieldError::TurnedOver { thickness, tetrahedron }
        })
    }

    /// The mean slope of the extent in the tetrahedra at the boundary, 1/m, weighted with the area
    /// of their faces there; tetrahedra without a gradient do not count.
    fn slope_at_boundary(&self) -> Option<f64> {
        let mesh = self.mesh();
        let mut owner = std::collections::HashMap::new();
        for (t, corners) in mesh.tetrahedra.iter().enumerate() {
            for left_out in 0..4 {
                let mut face: Vec<u32> = (0..4).filter(|k| *k != left_out).map(|k| corners[k]).collect();
                face.sort_unstable();
                owner.insert([face[0], face[1], face[2]], t);
            }
        }
        let (mut sum, mut area) = (0.0, 0.0);
        for mut face in boundary_faces(&mesh.tetrahedra) {
            let [a, b, c] = face.map(|k| mesh.vertices[k as usize]);
            face.sort_unstable();
            let slope = owner.get(&face).map_or(0.0, |&t| self.tetrahedra()[t].extent.gradient.norm());
            if slope > 0.0 {
                let own = (b - a).cross(&(c - a)).norm();
                sum += own * slope;
                area += own;
            }
        }
        let mean = sum / area;
        (area > 0.0 && mean.is_finite()).then_some(mean)
    }

    /// For each vertex the gradients of the extent in the tetrahedra around it that have one.
    fn gradients_at_vertices(&self) -> Vec<Vec<Vector3<f64>>> {
        let mut gradients = vec![Vec::new(); self.mesh().vertices.len()];
        for (corners, field) in self.mesh().tetrahedra.iter().zip(self.tetrahedra()) {
            if field.extent.gradient != Vector3::zeros() {
                for &k in corners {
                    gradients[k as usize].push(field.extent.gradient);
                }
            }
        }
        gradients
    }
}

/// A mesh with a layer of tetrahedra around it, three on each face of the boundary, and the number of new vertices. They
/// lie off those of the boundary, along their normals.
fn with_layer(mesh: &VolumeMesh, normals: &[Vector3<f64>], thickness: f64) -> (VolumeMesh, usize) {
    let (mut vertices, mut tetrahedra) = (mesh.vertices.clone(), mesh.tetrahedra.clone());
    let mut outer = vec![None; mesh.vertices.len()];
    for mut face in boundary_faces(&mesh.tetrahedra) {
        // Neighbours cut the quadrilateral between them by the same diagonal: from the lower vertex of the face.
        let lowest = (0..3).min_by_key(|&i| face[i]).unwrap_or(0);
        face.rotate_left(lowest);
        let [a, b, c] = face;
        let [over_a, over_b, over_c] = face.map(|k| {
            *outer[k as usize].get_or_insert_with(|| {
                vertices.push(mesh.vertices[k as usize] + normals[k as usize] * thickness);
                vertices.len() as u32 - 1
            })
        });
        let between = if b < c { [a, b, over_c, over_b] } else { [a, over_b, c, over_c] };
        let under = if b < c { [a, b, c, over_c] } else { [a, b, c, over_b] };
        tetrahedra.extend([under, between, [a, over_a, over_b, over_c]]);
    }
    let new = vertices.len() - mesh.vertices.len();
    (VolumeMesh { vertices, tetrahedra }, new)
}

/// The shortest motion along which all these linear functions fall by `drop`, if there is one no
/// longer than `farthest`.
fn continuation(gradients: &[Vector3<f64>], drop: f64, farthest: f64) -> Option<Vector3<f64>> {
    let rows = DMatrix::from_fn(gradients.len(), 3, |i, k| gradients[i][k]);
    let largest = gradients.iter().map(Vector3::norm).fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    let wanted = DVector::from_element(gradients.len(), -drop);
    // The tolerance is that of `svd`, which would go on for ever where numbers overflow.
    let svd = rows.try_svd(true, true, 5.0 * f64::EPSILON, LARGEST_ITERATION)?;
    let solved = svd.solve(&wanted, NO_DIRECTION * largest).ok()?;
    let motion = Vector3::new(solved[0], solved[1], solved[2]);
    let missed = gradients.iter().map(|g| (g.dot(&motion) + drop).abs()).fold(0.0, f64::max);
    (missed <= EXACT * drop && motion.norm() <= farthest).then_some(motion)
}

/// The mean outward normal, weighted with area, of the boundary's faces around each vertex; zero
/// where they cancel and at vertices inside.
fn vertex_normals(mesh: &VolumeMesh) -> Vec<Vector3<f64>> {
    let mut normals = vec![Vector3::zeros(); mesh.vertices.len()];
    for face in boundary_faces(&mesh.tetrahedra) {
        let [a, b, c] = face.map(|k| mesh.vertices[k as usize]);
        for k in face {
            normals[k as usize] += (b - a).cross(&(c - a));
        }
    }
    for n in &mut normals {
        *n = n.try_normalize(0.0).unwrap_or_else(Vector3::zeros);
    }
    normals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{PressureLaw, distance_extent, primitive_field};
    use crate::geometry::Shape;
    use crate::geometry::kuhn_grid::kuhn_grid;

    fn primitive(shape: &Shape) -> PressureField {
        PressureField::of_shape(shape, 0.04).unwrap()
    }

    #[test]
    fn the_fields_of_primitives_continue_unchanged() {
        for shape in [
            Shape::Sphere { radius: 0.1 },
            Shape::Ellipsoid { semi_axes: [0.1, 0.08, 0.05] },
            Shape::Box { size: [0.2, 0.16, 0.12] },
            Shape::Box { size: [0.1, 0.1, 0.1] },
            Shape::Cylinder { radius: 0.05, length: 0.2 },
            Shape::Cylinder { radius: 0.05, length: 0.04 },
            Shape::Capsule { radius: 0.05, length: 0.1 },
        ] {
            let (mesh, extent) = primitive_field(&shape, 0.04).unwrap();
            let layered = PressureLaw::power(2.0).unwrap().field(mesh, extent, 5).unwrap();
            for field in [primitive(&shape), layered] {
                let skirted = field.with_skirt(0.004).unwrap();
                let s = skirted.skirt().extent;
                assert!(s > 0.0 && skirted.skirt().thickness == 0.004);
                for (old, new) in field.tetrahedra().iter().zip(skirted.tetrahedra()) {
                    let size = old.extent.gradient.norm();
                    let off = (new.extent.gradient - old.extent.gradient).norm() / size;
                    assert!(off < 1e-8, "{shape:?}: {off:e}");
                    assert!((new.extent.offset - old.extent.offset).abs() < 1e-8);
                    assert_eq!(new.isobaric.is_some(), old.isobaric.is_some());
                }
                for (old, new) in field.extent().iter().zip(skirted.extent()) {
                    assert_eq!(*new, if *old == 0.0 { -s } else { *old });
                }
            }
        }
    }

    #[test]
    fn a_box_grows_by_the_thickness_and_a_sphere_nearly() {
        let grown = |shape: &Shape| {
            let (a, b) = (primitive(shape), primitive(shape).with_skirt(0.003).unwrap());
            b.hierarchy().bounding_box().1 - a.hierarchy().bounding_box().1
        };
        let off = grown(&Shape::Box { size: [0.2, 0.16, 0.12] }) - Vector3::repeat(0.003);
        assert!(off.amax() < 1e-12, "{off}");
        let off = grown(&Shape::Sphere { radius: 0.1 }) - Vector3::repeat(0.003);
        assert!(off.amax() < 3e-4, "{off}");
    }

    #[test]
    fn other_meshes_get_a_constant_extent_around_them() {
        let mut mesh = kuhn_grid([5, 4, 4], 0.1, 2);
        mesh.vertices.iter_mut().for_each(|v| *v *= 0.1);
        let extent = distance_extent(&mesh).unwrap();
        let field = PressureField::new(mesh, extent).unwrap();
        let skirted = field.with_skirt(0.01).unwrap();
        let low = skirted.extent().iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(low, -skirted.skirt().extent);
        let grown = skirted.hierarchy().bounding_box().1 - field.hierarchy().bounding_box().1;
        assert!(grown.min() > 0.005 && grown.max() < 0.02, "{grown}");
        let double = {
            let vertices = skirted.mesh().vertices.iter().map(|v| v * 2.0).collect();
            skirted.reshaped(vertices, skirted.extent().to_vec(), 2.0).unwrap()
        };
        assert_eq!(double.skirt(), Skirt { thickness: 0.02, ..skirted.skirt() });
        assert_eq!(double.extent(), skirted.extent());
    }

    /// The law's levels cut flat tetrahedra off those that were split.
    #[test]
    fn a_box_with_flat_tetrahedra_gets_a_layer_around_it() {
        let mut mesh = kuhn_grid([9, 9, 4], 0.0, 1);
        mesh.vertices.iter_mut().for_each(|v| v.component_mul_assign(&Vector3::new(0.168, 0.168, 0.051)));
        let distance = distance_extent(&mesh).unwrap();
        let mesh = crate::field::split_zero_gradient_tetrahedra(&mesh, &distance).mesh;
        let core = crate::field::deep_core(&mesh, crate::field::DEFAULT_CORE_THRESHOLD).unwrap();
        let extent = crate::field::laplace_extent(&mesh, &core).unwrap();
        let layered = PressureLaw::power(2.0).unwrap().field(mesh, extent, 2).unwrap();
        let thickness = 0.005 * 0.168;
        let skirted = layered.with_skirt(thickness).unwrap();
        let inside = layered.tetrahedra().len();
        for (old, new) in layered.tetrahedra().iter().zip(skirted.tetrahedra()) {
            assert_eq!(old.extent, new.extent);
        }
        // The layer fills what is between the two boundaries, and has none inside.
        let faces = |field: &PressureField| boundary_faces(&field.mesh().tetrahedra).len();
        assert_eq!(faces(&skirted), faces(&layered));
        assert_eq!(skirted.tetrahedra().len(), inside + 3 * faces(&layered));
        let off_boundary = skirted.extent().iter().filter(|e| **e < 0.0).count();
        let on_it = skirted.extent().iter().filter(|e| **e == 0.0).count();
        assert_eq!(off_boundary, on_it);
        assert_eq!(skirted.zero_tetrahedra(), layered.zero_tetrahedra());
        let grown = skirted.hierarchy().bounding_box().1 - layered.hierarchy().bounding_box().1;
        assert!(grown.min() > 0.5 * thickness && grown.max() < 1.01 * thickness, "{grown}");
    }

    #[test]
    fn skirts_that_cannot_be_are_refused() {
        let field = primitive(&Shape::Sphere { radius: 0.1 });
        for thickness in [-1e-3, f64::NAN, f64::INFINITY] {
            assert!(matches!(field.with_skirt(thickness), Err(FieldError::SkirtThickness { .. })));
        }
        assert!(matches!(field.with_skirt(0.11), Err(FieldError::Thick { .. })));
        let skirted = field.with_skirt(0.01).unwrap();
        assert_eq!(skirted.with_skirt(0.01).unwrap_err(), FieldError::SecondSkirt { thickness: 0.01 });
        assert_eq!(field.with_skirt(0.0).unwrap().extent(), field.extent());
        let mesh = kuhn_grid([1, 1, 1], 0.0, 1);
        let flat = PressureField::new(mesh, vec![0.0; 8]).unwrap();
        assert_eq!(flat.with_skirt(0.01).unwrap_err(), FieldError::Flat);
    }

    #[test]
    fn a_skirt_thicker_than_a_slit_is_refused() {
        // Two walls that face each other across a slit one cell wide, joined at the bottom.
        let mut mesh = kuhn_grid([7, 4, 4], 0.0, 1);
        let size = mesh.vertices.iter().fold(Vector3::zeros(), |s: Vector3<f64>, v| s.sup(v));
        let slit = size.x / 7.0;
        mesh.tetrahedra.retain(|t| {
            let sum: Vector3<f64> = t.iter().map(|&v| mesh.vertices[v as usize]).sum();
            !(3.0..4.0).contains(&(sum.x / 4.0 / slit)) || sum.z < size.z
        });
        let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
        assert!(places.contains(&VertexPlace::Interior));
        let extent = distance_extent(&mesh).unwrap();
        let split = crate::field::split_zero_gradient_tetrahedra(&mesh, &extent);
        let field = PressureField::new(split.mesh, split.extent).unwrap();
        assert!(field.with_skirt(0.1 * slit).is_ok());
        let refused = field.with_skirt(0.9 * slit);
        assert!(
            matches!(refused, Err(FieldError::TurnedOver { .. } | FieldError::Thick { .. })),
            "{refused:?}"
        );
    }
}
