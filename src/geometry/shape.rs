//! The primitive shapes and the sizes they may have.

use super::error::{LARGEST_ASPECT_RATIO, LARGEST_TETRAHEDRON_COUNT, LENGTH_RANGE, MeshError};
use super::mesh::{SurfaceMesh, VolumeMesh};
use super::{capsule, cuboid, cylinder, ellipsoid, sphere};

/// A primitive shape, centred on the origin of its frame.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape {
    /// A ball.
    Sphere {
        /// Radius, metres.
        radius: f64,
    },
    /// A box with its edges along the axes.
    Box {
        /// Full edge lengths along x, y, z, metres.
        size: [f64; 3],
    },
    /// A circular cylinder around the z axis.
    Cylinder {
        /// Radius, metres.
        radius: f64,
        /// Length along z, metres.
        length: f64,
    },
    /// A circular cylinder around the z axis between two half-balls.
    Capsule {
        /// Radius, metres.
        radius: f64,
        /// Length of the cylindrical part along z, metres.
        length: f64,
    },
    /// An ellipsoid with its axes along the frame's.
    Ellipsoid {
        /// Half the lengths of the axes along x, y, z, metres.
        semi_axes: [f64; 3],
    },
}

impl Shape {
    /// The shape's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sphere { .. } => "sphere",
            Self::Box { .. } => "box",
            Self::Cylinder { .. } => "cylinder",
            Self::Capsule { .. } => "capsule",
            Self::Ellipsoid { .. } => "ellipsoid",
        }
    }

    /// The names and values of the shape's lengths.
    fn lengths(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Self::Sphere { radius } => vec![("radius", radius)],
            Self::Box { size: [x, y, z] } => {
                vec![("size along x", x), ("size along y", y), ("size along z", z)]
            }
            Self::Cylinder { radius, length } | Self::Capsule { radius, length } => {
                vec![("radius", radius), ("length", length)]
            }
            Self::Ellipsoid { semi_axes: [x, y, z] } => {
                vec![("semi-axis along x", x), ("semi-axis along y", y), ("semi-axis along z", z)]
            }
        }
    }

    /// Checks the shape's sizes.
    ///
    /// # Errors
    /// When a length is NaN or outside of [`LENGTH_RANGE`], or two lengths differ by more than
    /// [`LARGEST_ASPECT_RATIO`].
    pub fn validate(&self) -> Result<(), MeshError> {
        let shape = self.name();
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0_f64);
        for (field, value) in self.lengths() {
            if !(LENGTH_RANGE[0]..=LENGTH_RANGE[1]).contains(&value) {
                return Err(MeshError::Length { shape, field, value });
            }
            smallest = smallest.min(value);
            largest = largest.max(value);
        }
        if largest > smallest * LARGEST_ASPECT_RATIO {
            return Err(MeshError::AspectRatio { shape, largest, smallest });
        }
        Ok(())
    }

    /// The volume, m³.
    pub fn volume(&self) -> f64 {
        let ball = 4.0 / 3.0 * std::f64::consts::PI;
        match *self {
            Self::Sphere { radius } => ball * radius.powi(3),
            Self::Box { size: [x, y, z] } => x * y * z,
            Self::Cylinder { radius, length } => std::f64::consts::PI * radius * radius * length,
            Self::Capsule { radius, length } => {
                std::f64::consts::PI * radius * radius * length + ball * radius.powi(3)
            }
            Self::Ellipsoid { semi_axes: [x, y, z] } => ball * x * y * z,
        }
    }

    /// A tetrahedral mesh of the shape with its medial axis resolved, in the shape's frame:
    /// vertices lie on the boundary or on the medial axis, and each tetrahedron has both kinds.
    ///
    /// `resolution` is the target length in metres of the mesh edges that follow a curve; edges
    /// of curved surfaces are about that long at most. Flat and straight parts are not divided,
    /// because a mesh as coarse as the shape allows represents its pressure field there
    /// exactly; so a box has the same mesh at any resolution. The mesh is inscribed: its volume
    /// converges to the shape's at second order in the resolution.
    ///
    /// # Errors
    /// When the shape is not valid, the resolution is not a positive number, or so small that
    /// the mesh would have more than [`LARGEST_TETRAHEDRON_COUNT`] tetrahedra.
    pub fn volume_mesh(&self, resolution: f64) -> Result<VolumeMesh, MeshError> {
        self.validate()?;
        let shape = self.name();
        if !(resolution > 0.0 && resolution.is_finite()) {
            return Err(MeshError::Resolution { shape, value: resolution });
        }
        let tetrahedra = match *self {
            Self::Sphere { radius } => sphere::tetrahedron_count(radius, resolution),
            Self::Box { .. } => cuboid::TETRAHEDRA_AT_MOST,
            Self::Cylinder { radius, .. } => cylinder::tetrahedron_count(radius, resolution),
            Self::Capsule { radius, .. } => capsule::tetrahedron_count(radius, resolution),
            Self::Ellipsoid { semi_axes } => ellipsoid::tetrahedron_count(semi_axes, resolution),
        };
        if tetrahedra > LARGEST_TETRAHEDRON_COUNT as f64 {
            return Err(MeshError::TooFine { shape, resolution, tetrahedra });
        }
        Ok(match *self {
            Self::Sphere { radius } => {
                VolumeMesh::icosphere(radius, sphere::icosphere_level(radius, resolution))
            }
            Self::Box { size } => cuboid::volume_mesh(size),
            Self::Cylinder { radius, length } => cylinder::volume_mesh(radius, length, resolution),
            Self::Capsule { radius, length } => capsule::volume_mesh(radius, length, resolution),
            Self::Ellipsoid { semi_axes } => ellipsoid::volume_mesh(semi_axes, resolution),
        })
    }

    /// The boundary of [`Shape::volume_mesh`] as a closed surface, in the shape's frame;
    /// `resolution` in metres has the same meaning.
    ///
    /// # Errors
    /// As [`Shape::volume_mesh`].
    pub fn surface_mesh(&self, resolution: f64) -> Result<SurfaceMesh, MeshError> {
        Ok(self.volume_mesh(resolution)?.boundary())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::geometry::{VertexPlace, vertex_places};
    use crate::spatial::MassProperties;
    use approx::assert_relative_eq;
    use nalgebra::{Matrix3, Vector3};
    use proptest::prelude::*;
    use std::f64::consts::PI;

    fn diagonal(x: f64, y: f64, z: f64) -> Matrix3<f64> {
        Matrix3::from_diagonal(&Vector3::new(x, y, z))
    }

    /// Volume and inertia at unit density about the centre, from the textbook formulas.
    fn analytic(shape: &Shape) -> (f64, Matrix3<f64>) {
        match *shape {
            Shape::Sphere { radius: r } => {
                let v = 4.0 / 3.0 * PI * r.powi(3);
                (v, Matrix3::identity() * (0.4 * v * r * r))
            }
            Shape::Box { size: [x, y, z] } => {
                let v = x * y * z;
                (v, diagonal(y * y + z * z, x * x + z * z, x * x + y * y) * (v / 12.0))
            }
            Shape::Cylinder { radius: r, length: l } => {
                let v = PI * r * r * l;
                let transverse = v * (3.0 * r * r + l * l) / 12.0;
                (v, diagonal(transverse, transverse, 0.5 * v * r * r))
            }
            Shape::Capsule { radius: r, length: l } => {
                let (vc, vs) = (PI * r * r * l, 4.0 / 3.0 * PI * r.powi(3));
                let transverse =
                    vc * (r * r / 4.0 + l * l / 12.0) + vs * (0.4 * r * r + 0.375 * r * l + l * l / 4.0);
                (vc + vs, diagonal(transverse, transverse, 0.5 * vc * r * r + 0.4 * vs * r * r))
            }
            Shape::Ellipsoid { semi_axes: [a, b, c] } => {
                let v = 4.0 / 3.0 * PI * a * b * c;
                (v, diagonal(b * b + c * c, a * a + c * c, a * a + b * b) * (v / 5.0))
            }
        }
    }

    fn errors(shape: &Shape, p: &MassProperties) -> [f64; 2] {
        let (volume, inertia) = analytic(shape);
        [(p.mass / volume - 1.0).abs(), (p.inertia - inertia).norm() / inertia.norm()]
    }

    #[test]
    fn volume_and_inertia_converge_at_second_order() {
        for shape in [
            Shape::Sphere { radius: 0.3 },
            Shape::Ellipsoid { semi_axes: [0.3, 0.2, 0.1] },
            Shape::Cylinder { radius: 0.3, length: 1.0 },
            Shape::Cylinder { radius: 0.3, length: 0.6 },
            Shape::Cylinder { radius: 0.3, length: 0.2 },
            Shape::Capsule { radius: 0.3, length: 0.5 },
        ] {
            let at = |h: f64| {
                let mesh = shape.volume_mesh(h).unwrap();
                errors(&shape, &mesh.mass_properties().unwrap())
            };
            // Radii over a power of two give whole numbers of edges, up to the ceiling.
            let (coarse, fine) = (at(0.3 * PI / 32.0 * 1.001), at(0.3 * PI / 64.0 * 1.001));
            for k in 0..2 {
                let order = (coarse[k] / fine[k]).log2();
                assert!((1.9..2.1).contains(&order), "{shape:?}: order {order}, {coarse:?} {fine:?}");
                assert!(fine[k] < 4e-3, "{shape:?}: {fine:?}");
            }
        }
    }

    #[test]
    fn a_box_is_exact() {
        let shape = Shape::Box { size: [0.3, 0.2, 0.5] };
        let properties = shape.volume_mesh(1.0).unwrap().mass_properties().unwrap();
        assert!(errors(&shape, &properties).iter().all(|&e| e < 1e-14));
        assert_relative_eq!(properties.center_of_mass, Vector3::zeros(), epsilon = 1e-15);
    }

    #[test]
    fn bad_shapes_are_refused() {
        let length = |shape: Shape| match shape.validate() {
            Err(MeshError::Length { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(length(Shape::Sphere { radius: -1.0 }), "radius");
        assert_eq!(length(Shape::Sphere { radius: f64::NAN }), "radius");
        assert_eq!(length(Shape::Box { size: [1.0, 0.0, 1.0] }), "size along y");
        assert_eq!(length(Shape::Capsule { radius: 1.0, length: f64::INFINITY }), "length");
        assert_eq!(length(Shape::Ellipsoid { semi_axes: [1.0, 1.0, 1e-12] }), "semi-axis along z");
        let needle = Shape::Box { size: [1e-4, 1.0, 1e4] };
        assert!(matches!(needle.validate(), Err(MeshError::AspectRatio { .. })));
        for resolution in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Shape::Sphere { radius: 1.0 }.volume_mesh(resolution);
            assert!(matches!(error, Err(MeshError::Resolution { .. })));
        }
        for shape in [
            Shape::Sphere { radius: 1.0 },
            Shape::Cylinder { radius: 1.0, length: 1.0 },
            Shape::Capsule { radius: 1.0, length: 1.0 },
            Shape::Ellipsoid { semi_axes: [1.0, 0.5, 0.5] },
        ] {
            for resolution in [1e-8, f64::MIN_POSITIVE] {
                assert!(matches!(shape.volume_mesh(resolution), Err(MeshError::TooFine { .. })));
            }
        }
    }

    pub(crate) fn any_shape() -> impl Strategy<Value = Shape> {
        let length = || (-3.0..3.0_f64).prop_map(|x| 10.0_f64.powf(x));
        prop_oneof![
            length().prop_map(|radius| Shape::Sphere { radius }),
            [length(), length(), length()].prop_map(|size| Shape::Box { size }),
            (length(), length()).prop_map(|(a, b)| Shape::Box { size: [a, b, a] }),
            // Nearly square, on either side of where the medial axis changes its kind.
            (length(), -12.0..-2.0_f64)
                .prop_map(|(a, e)| Shape::Box { size: [a, a * (1.0 + 10.0_f64.powf(e)), a] }),
            (length(), length()).prop_map(|(radius, length)| Shape::Cylinder { radius, length }),
            (length(), -12.0..-2.0_f64, any::<bool>()).prop_map(|(radius, e, longer)| {
                let change = if longer { 10.0_f64.powf(e) } else { -10.0_f64.powf(e) };
                Shape::Cylinder { radius, length: 2.0 * radius * (1.0 + change) }
            }),
            (length(), length()).prop_map(|(radius, length)| Shape::Capsule { radius, length }),
            [length(), length(), length()].prop_map(|semi_axes| Shape::Ellipsoid { semi_axes }),
        ]
    }

    proptest! {
        #[test]
        fn every_mesh_is_valid(shape in any_shape(), fraction in 0.05..3.0_f64) {
            let size = shape.lengths().iter().map(|l| l.1).fold(0.0, f64::max);
            let curved = match shape {
                Shape::Cylinder { radius, .. } | Shape::Capsule { radius, .. } => radius,
                _ => size,
            };
            let mesh = shape.volume_mesh(fraction * curved).unwrap();
            mesh.validate().unwrap();
            let surface = shape.surface_mesh(fraction * curved).unwrap();
            surface.validate().unwrap();
            let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
            for tetrahedron in &mesh.tetrahedra {
                let on_boundary = tetrahedron.iter().filter(|&&v| places[v as usize] == VertexPlace::Boundary).count();
                prop_assert!((1..=3).contains(&on_boundary));
            }
            let inside = mesh.mass_properties().unwrap();
            let around = surface.mass_properties().unwrap();
            prop_assert!((inside.mass / around.mass - 1.0).abs() < 1e-10);
            prop_assert!((inside.inertia - around.inertia).norm() < 1e-9 * inside.inertia.norm());
            prop_assert!(inside.mass <= analytic(&shape).0 * (1.0 + 1e-12));
        }
    }
}
