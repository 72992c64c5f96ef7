//! Volume, centre of mass and inertia by integration over a mesh.

use nalgebra::{Matrix3, Vector3};

use super::error::MeshError;
use super::mesh::{SurfaceMesh, VolumeMesh};
use crate::scalar::{Scalar, lift_vector, real_vector};
use crate::spatial::MassProperties;

/// The integrals of 1, x and x xᵀ over a union of tetrahedra, x measured from a fixed point.
struct Moments<T> {
    volume: T,
    first: Vector3<T>,
    second: Matrix3<T>,
}

impl<T: Scalar> Moments<T> {
    fn zero() -> Self {
        Self { volume: T::from(0.0), first: Vector3::zeros(), second: Matrix3::zeros() }
    }

    /// Adds the tetrahedron of the corners a, b, c and d, positive or inverted: over a simplex
    /// of volume V, ∫ x xᵀ = V/20 (Σ v vᵀ + s sᵀ) with s = Σ v.
    fn add(&mut self, a: &Vector3<T>, b: &Vector3<T>, c: &Vector3<T>, d: &Vector3<T>) {
        let volume = (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0;
        let sum = a + b + c + d;
        self.volume += volume;
        self.first += sum * (volume / 4.0);
        let squares = a * a.transpose() + b * b.transpose() + c * c.transpose() + d * d.transpose();
        self.second += (squares + sum * sum.transpose()) * (volume / 20.0);
    }

    fn properties(&self, origin: &Vector3<f64>) -> Result<MassProperties<T>, MeshError> {
        let volume = self.volume.real();
        // Written so that NaN fails.
        if !(volume > 0.0 && volume.is_finite()) {
            return Err(MeshError::Inward { volume });
        }
        let centre = self.first * self.volume.recip();
        let central = self.second - self.first * centre.transpose();
        let trace = central[(0, 0)] + central[(1, 1)] + central[(2, 2)];
        Ok(MassProperties {
            mass: self.volume,
            center_of_mass: centre + lift_vector(origin),
            inertia: Matrix3::from_diagonal_element(trace) - central,
        })
    }
}

/// A point amid the vertices: moments about it do not lose digits when the mesh is far from the
/// origin of its frame. It carries no derivatives, as the result does not depend on it.
fn middle<T: Scalar>(vertices: &[Vector3<T>]) -> Vector3<f64> {
    vertices.iter().map(real_vector).sum::<Vector3<f64>>() / vertices.len().max(1) as f64
}

fn surface_moments<T: Scalar>(mesh: &SurfaceMesh<T>, origin: &Vector3<f64>) -> Moments<T> {
    let shift = lift_vector(origin);
    let mut moments = Moments::zero();
    // The divergence theorem, written as the sum over the signed tetrahedra between the origin
    // and each triangle.
    for triangle in 0..mesh.triangles.len() {
        let [a, b, c] = mesh.corners(triangle).map(|v| v - shift);
        moments.add(&Vector3::zeros(), &a, &b, &c);
    }
    moments
}

impl<T: Scalar> SurfaceMesh<T> {
    /// The volume in m³ that a closed surface encloses; negative where it faces inward.
    pub fn volume(&self) -> T {
        surface_moments(self, &middle(&self.vertices)).volume
    }

    /// The mass properties of the inside of a closed surface, which must be valid, at a density of
    /// 1 kg/m³: the mass is the volume's number.
    ///
    /// # Errors
    /// When the volume is not a positive number.
    pub fn mass_properties(&self) -> Result<MassProperties<T>, MeshError> {
        let origin = middle(&self.vertices);
        surface_moments(self, &origin).properties(&origin)
    }
}

impl<T: Scalar> VolumeMesh<T> {
    /// The mass properties of a volume mesh, which must be valid, at a density of 1 kg/m³: the mass is
    /// the volume's number.
    ///
    /// # Errors
    /// When the volume is not a positive number.
    pub fn mass_properties(&self) -> Result<MassProperties<T>, MeshError> {
        let origin = middle(&self.vertices);
        let shift = lift_vector(&origin);
        let mut moments = Moments::zero();
        for tetrahedron in 0..self.tetrahedra.len() {
            let [a, b, c, d] = self.corners(tetrahedron).map(|v| v - shift);
            moments.add(&a, &b, &c, &d);
        }
        moments.properties(&origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Shape;
    use approx::assert_relative_eq;
    use num_dual::Dual64;

    /// A mesh of no symmetry: a stretched and bent ball far from the origin of its frame.
    fn bent_ball() -> VolumeMesh {
        let mut mesh = Shape::Sphere { radius: 0.3 }.volume_mesh(0.2).unwrap();
        for v in &mut mesh.vertices {
            *v = Vector3::new(v.x + 0.4 * v.y * v.y, 1.3 * v.y + 0.2 * v.z, 0.8 * v.z + 0.3 * v.x)
                + Vector3::new(3.0, -2.0, 5.0);
        }
        mesh
    }

    fn numbers<T: Scalar>(p: &MassProperties<T>) -> Vec<T> {
        let mut all = vec![p.mass];
        all.extend(p.center_of_mass.iter());
        all.extend(p.inertia.iter());
        all
    }

    #[test]
    fn a_moved_box_by_the_parallel_axis_theorem() {
        let mut mesh = Shape::Box { size: [0.1, 0.2, 0.4] }.surface_mesh(1.0).unwrap();
        let offset = Vector3::new(100.0, -30.0, 7.0);
        mesh.vertices.iter_mut().for_each(|v| *v += offset);
        let p = mesh.mass_properties().unwrap();
        assert_relative_eq!(p.mass, 0.008, max_relative = 1e-11);
        assert_relative_eq!(p.center_of_mass, offset, epsilon = 1e-11);
        let i = 0.008 / 12.0;
        let expected = Matrix3::from_diagonal(&(Vector3::new(0.2, 0.17, 0.05) * i));
        assert_relative_eq!(p.inertia, expected, epsilon = 1e-11 * i);
    }

    #[test]
    fn volume_and_surface_agree() {
        let mesh = bent_ball();
        let inside = numbers(&mesh.mass_properties().unwrap());
        let around = numbers(&mesh.boundary().mass_properties().unwrap());
        for (a, b) in inside.iter().zip(&around) {
            assert_relative_eq!(a, b, max_relative = 1e-11, epsilon = 1e-16);
        }
    }

    #[test]
    fn derivatives_by_a_vertex_are_the_differences() {
        let mesh = bent_ball();
        let at = |x: f64, axis: usize| {
            let mut mesh = mesh.clone();
            mesh.vertices[5][axis] += x;
            numbers(&mesh.mass_properties().unwrap())
        };
        for axis in 0..3 {
            let mut dual = VolumeMesh::<Dual64>::lift(&mesh);
            dual.vertices[5][axis].eps = 1.0;
            let h = 1e-4;
            let (up, down) = (at(h, axis), at(-h, axis));
            let derivatives = numbers(&dual.mass_properties().unwrap());
            let surface = numbers(&dual.boundary().mass_properties().unwrap());
            for k in 0..derivatives.len() {
                let difference = (up[k] - down[k]) / (2.0 * h);
                assert_relative_eq!(derivatives[k].eps, difference, max_relative = 1e-6, epsilon = 1e-10);
                assert_relative_eq!(surface[k].eps, difference, max_relative = 1e-6, epsilon = 1e-10);
            }
        }
    }

    #[test]
    fn an_inward_surface_is_refused() {
        let mut mesh = Shape::Sphere { radius: 1.0 }.surface_mesh(0.5).unwrap();
        mesh.triangles.iter_mut().for_each(|t| t.swap(0, 1));
        assert!(matches!(mesh.mass_properties(), Err(MeshError::Inward { volume }) if volume < 0.0));
    }
}
