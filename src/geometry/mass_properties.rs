//! Volume, centre of mass and inertia by integration over a mesh.

use nalgebra::{Matrix3, Vector3};

use super::error::MeshError;
use super::mesh::{SurfaceMesh, VolumeMesh};
use crate::scalar::{Scalar, lift_vector, real_vector};
use crate::spatial::MassProperties;

/// The integrals of 1, x and x xᵀ over a union of tetrahedra, x measured from a fixed point.
#[derive(Clone, Debug)]
pub(crate) struct Moments<T = f64> {
    pub volume: T,
    pub first: Vector3<T>,
    /// Symmetric.
    pub second: Matrix3<T>,
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

    /// The mass properties at a density of 1 kg/m³; `origin` is the fixed point.
    ///
    /// # Errors
    /// When the volume is not a positive number.
    pub fn properties(&self, origin: &Vector3<f64>) -> Result<MassProperties<T>, MeshError> {
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

impl Moments {
    /// The vector–Jacobian product of [`Self::add`]: given the derivatives of a number with respect to the
    /// sums, those with respect to the corners.
    fn add_vjp(&self, corners: [Vector3<f64>; 4]) -> [Vector3<f64>; 4] {
        let [a, b, c, d] = corners;
        let (p, q, r) = (b - a, c - a, d - a);
        let volume = p.cross(&q).dot(&r) / 6.0;
        let sum = a + b + c + d;
        let squares = corners.iter().fold(sum * sum.transpose(), |all, v| all + v * v.transpose());
        let by_volume = self.volume + self.first.dot(&sum) / 4.0 + self.second.dot(&squares) / 20.0;
        let (by_b, by_c, by_d) = (q.cross(&r) / 6.0, r.cross(&p) / 6.0, p.cross(&q) / 6.0);
        let of_volume = [-(by_b + by_c + by_d), by_b, by_c, by_d];
        let second = self.second + self.second.transpose();
        let shared = (self.first / 4.0 + second * sum / 20.0) * volume;
        std::array::from_fn(|k| of_volume[k] * by_volume + shared + second * corners[k] * (volume / 20.0))
    }
}

/// A point amid the vertices: moments about it do not lose digits when the mesh is far from the
/// origin of its frame. It carries no derivatives, as the result does not depend on it.
fn middle<T: Scalar>(vertices: &[Vector3<T>]) -> Vector3<f64> {
    vertices.iter().map(real_vector).sum::<Vector3<f64>>() / vertices.len().max(1) as f64
}

/// The signed tetrahedra whose union is a solid: of a volume mesh its own, of a closed surface those between a
/// fixed point and each triangle (the divergence theorem). Corners without an index are that point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Solid<'a> {
    /// Of a volume mesh.
    Tetrahedra(&'a [[u32; 4]]),
    /// Of a closed surface.
    Triangles(&'a [[u32; 3]]),
}

impl Solid<'_> {
    fn for_each(&self, mut visit: impl FnMut([Option<u32>; 4])) {
        match self {
            Self::Tetrahedra(all) => all.iter().for_each(|t| visit(t.map(Some))),
            Self::Triangles(all) => {
                all.iter().for_each(|t| visit([None, Some(t[0]), Some(t[1]), Some(t[2])]));
            }
        }
    }

    /// The moments about a point amid the vertices, and that point.
    pub fn moments<T: Scalar>(&self, vertices: &[Vector3<T>]) -> (Moments<T>, Vector3<f64>) {
        let origin = middle(vertices);
        let shift = lift_vector(&origin);
        let mut moments = Moments::zero();
        self.for_each(|corners| {
            let [a, b, c, d] =
                corners.map(|k| k.map_or_else(Vector3::zeros, |k| vertices[k as usize] - shift));
            moments.add(&a, &b, &c, &d);
        });
        (moments, origin)
    }

    /// The vector–Jacobian product of [`Self::moments`]: calls `add` with vertices and the derivatives of a
    /// number with respect to them, any number of times for each.
    pub fn moments_vjp(
        &self,
        vertices: &[Vector3<f64>],
        by: &Moments,
        mut add: impl FnMut(usize, &Vector3<f64>),
    ) {
        let origin = middle(vertices);
        self.for_each(|corners| {
            let points = corners.map(|k| k.map_or_else(Vector3::zeros, |k| vertices[k as usize] - origin));
            for (corner, by) in corners.into_iter().zip(by.add_vjp(points)) {
                if let Some(k) = corner {
                    add(k as usize, &by);
                }
            }
        });
    }
}

impl<T: Scalar> SurfaceMesh<T> {
    /// The volume in m³ that a closed surface encloses; negative where it faces inward.
    pub fn volume(&self) -> T {
        Solid::Triangles(&self.triangles).moments(&self.vertices).0.volume
    }

    /// The mass properties of the inside of a closed surface, which must be valid, at a density of
    /// 1 kg/m³: the mass is the volume's number.
    ///
    /// # Errors
    /// When the volume is not a positive number.
    pub fn mass_properties(&self) -> Result<MassProperties<T>, MeshError> {
        let (moments, origin) = Solid::Triangles(&self.triangles).moments(&self.vertices);
        moments.properties(&origin)
    }
}

impl<T: Scalar> VolumeMesh<T> {
    /// The mass properties of a volume mesh, which must be valid, at a density of 1 kg/m³: the mass is
    /// the volume's number.
    ///
    /// # Errors
    /// When the volume is not a positive number.
    pub fn mass_properties(&self) -> Result<MassProperties<T>, MeshError> {
        let (moments, origin) = Solid::Tetrahedra(&self.tetrahedra).moments(&self.vertices);
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
