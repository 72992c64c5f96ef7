//! The extent of primitive shapes: zero on the boundary, one on the medial axis.

use nalgebra::Vector3;

use super::error::FieldError;
use super::layers::{graded_levels, split_at_levels};
use super::pressure_field::PressureField;
use crate::geometry::{MeshError, Shape, VertexPlace, VolumeMesh, vertex_places};

/// The extent ε of a shape at a point of it, in the shape's frame, before tessellation: the
/// distance to the boundary over its largest value (sphere, box, cylinder, capsule), and
/// 1 − ‖S⁻¹p‖ for the ellipsoid with the semi-axes S. Zero on the boundary, negative outside.
pub fn primitive_extent(shape: &Shape, point: &Vector3<f64>) -> f64 {
    let p = point;
    match *shape {
        Shape::Sphere { radius } => 1.0 - p.norm() / radius,
        Shape::Ellipsoid { semi_axes: s } => 1.0 - p.component_div(&Vector3::from(s)).norm(),
        Shape::Box { size } => {
            let half = Vector3::from(size) * 0.5;
            (half - p.abs()).min() / half.min()
        }
        Shape::Cylinder { radius, length } => {
            let half = 0.5 * length;
            let distance = (radius - p.xy().norm()).min(half - p.z.abs());
            (distance / radius.min(half)).min(1.0)
        }
        Shape::Capsule { radius, length } => {
            let half = 0.5 * length;
            let from_axis = Vector3::new(p.x, p.y, p.z - p.z.clamp(-half, half));
            1.0 - from_axis.norm() / radius
        }
    }
}

/// The volume mesh of a shape at a resolution in metres ([`Shape::volume_mesh`]) and the extent
/// of each of its vertices.
///
/// Each vertex of these meshes lies either on the boundary, where the extent is exactly 0, or on the
/// medial axis at the largest distance from the boundary, where the extent is exactly 1. On each
/// tetrahedron the extent is linear (Elandt §III; [`primitive_extent`] gives the same values).
///
/// # Errors
/// As [`Shape::volume_mesh`].
pub fn primitive_field(shape: &Shape, resolution: f64) -> Result<(VolumeMesh, Vec<f64>), MeshError> {
    let mesh = shape.volume_mesh(resolution)?;
    let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
    let extent = places.iter().map(|&p| if p == VertexPlace::Boundary { 0.0 } else { 1.0 }).collect();
    Ok((mesh, extent))
}

impl PressureField {
    /// The field of a shape, on its [volume mesh](Shape::volume_mesh) at a resolution in metres: [`primitive_field`].
    ///
    /// # Errors
    /// As [`Shape::volume_mesh`].
    pub fn of_shape(shape: &Shape, resolution: f64) -> Result<Self, FieldError> {
        let (mesh, extent) = primitive_field(shape, resolution)?;
        Self::new(mesh, extent)
    }

    /// The field of a shape with the pressure law of this one, which is of that shape too, at another resolution in
    /// metres.
    ///
    /// # Errors
    /// As [`Shape::volume_mesh`], and when this is no field of a shape.
    pub(crate) fn at_resolution(&self, shape: &Shape, resolution: f64) -> Result<Self, FieldError> {
        // The extent of a shape's vertices is 0 or 1, so those of the law's are its values at the ends of layers.
        let mut values: Vec<f64> = self.extent().iter().copied().filter(|value| *value >= 0.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let layers = values.len().saturating_sub(1);
        let (mesh, extent) = primitive_field(shape, resolution)?;
        let layered = split_at_levels(&mesh, &extent, &graded_levels(&extent, layers)?)?;
        let value = |extent: &f64| values[((layers as f64 * extent.sqrt()).round() as usize).min(layers)];
        let field = Self::new(layered.mesh, layered.extent.iter().map(value).collect())?;
        Ok(field.with_exponent(self.exponent()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::PressureLaw;

    fn shapes() -> Vec<Shape> {
        vec![
            Shape::Sphere { radius: 0.3 },
            Shape::Ellipsoid { semi_axes: [0.3, 0.2, 0.1] },
            Shape::Box { size: [0.3, 0.2, 0.1] },
            Shape::Box { size: [0.1, 0.2, 0.1] },
            Shape::Box { size: [0.1, 0.1, 0.1] },
            Shape::Cylinder { radius: 0.1, length: 0.3 },
            Shape::Cylinder { radius: 0.1, length: 0.2 },
            Shape::Cylinder { radius: 0.1, length: 0.05 },
            Shape::Capsule { radius: 0.1, length: 0.2 },
        ]
    }

    #[test]
    fn vertices_have_the_extent_of_the_shape() {
        for shape in shapes() {
            let (mesh, extent) = primitive_field(&shape, 0.05).unwrap();
            for (vertex, &value) in mesh.vertices.iter().zip(&extent) {
                assert!(value == 0.0 || value == 1.0);
                assert!((primitive_extent(&shape, vertex) - value).abs() < 1e-14, "{shape:?} {vertex}");
            }
        }
    }

    #[test]
    fn another_resolution_keeps_the_law() {
        let shape = Shape::Cylinder { radius: 0.1, length: 0.3 };
        let law = PressureLaw::power(1.5).unwrap();
        let made = |resolution: f64| {
            let (mesh, extent) = primitive_field(&shape, resolution).unwrap();
            law.field(mesh, extent, 4).unwrap()
        };
        let (fine, remade) = (made(0.02), made(0.05).at_resolution(&shape, 0.02).unwrap());
        assert_eq!((remade.mesh(), remade.extent()), (fine.mesh(), fine.extent()));
        assert_eq!(remade.exponent(), Some(1.5));
    }

    /// The largest difference between the piecewise linear field and the shape's at the
    /// centroids of the tetrahedra.
    fn largest_error(shape: &Shape, resolution: f64) -> f64 {
        let (mesh, extent) = primitive_field(shape, resolution).unwrap();
        let mut largest = 0.0_f64;
        for (index, tetrahedron) in mesh.tetrahedra.iter().enumerate() {
            let centroid = mesh.corners(index).iter().sum::<Vector3<f64>>() / 4.0;
            let linear = tetrahedron.iter().map(|&v| extent[v as usize]).sum::<f64>() / 4.0;
            largest = largest.max((linear - primitive_extent(shape, &centroid)).abs());
        }
        largest
    }

    #[test]
    fn the_field_is_exact_in_boxes_and_converges_in_the_others() {
        for shape in shapes() {
            let (coarse, fine) = (largest_error(&shape, 0.02), largest_error(&shape, 0.01));
            if matches!(shape, Shape::Box { .. }) {
                assert!(coarse < 1e-14, "{shape:?} {coarse}");
            } else {
                assert!(fine < 5e-3 && coarse / fine > 3.0, "{shape:?} {coarse} {fine}");
            }
        }
    }
}
