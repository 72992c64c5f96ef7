//! Where extents come from, and gradients with respect to vertices that they follow.

use nalgebra::Vector3;

use super::distance::{check_count, distance_extent, distance_extent_vjp};
use super::error::FieldError;
use super::laplace::{laplace_extent, laplace_extent_vjp};
use super::pressure_law::PressureLaw;
use crate::geometry::VolumeMesh;
use crate::scalar::Scalar;

/// The rule by which the extents of a mesh follow its vertices.
#[derive(Clone, Debug, PartialEq)]
pub enum ExtentSource {
    /// These numbers, one for each vertex, wherever the vertices are.
    Given(Vec<f64>),
    /// The distance to the boundary over the largest: [`distance_extent`].
    Distance,
    /// Laplace's equation (Elandt et al. 2019, eq. 4): [`laplace_extent`].
    Laplace {
        /// The vertices where the extent is 1, for instance those of [`deep_core`](super::deep_core). They stay
        /// in the core as vertices move.
        core: Vec<u32>,
    },
    /// A pressure law of the extents that another rule gives: not the extents themselves but f(ε), which is what the
    /// field has at its vertices.
    Law {
        /// The rule for the extents.
        of: Box<ExtentSource>,
        /// The law.
        law: PressureLaw,
    },
}

impl ExtentSource {
    /// The extent of each vertex of a valid mesh, with the derivatives that those of the vertices imply; of a law its
    /// value f(ε).
    ///
    /// # Errors
    /// As [`distance_extent`], [`laplace_extent`] and [`PressureLaw::apply`], and when the number of given extents is not
    /// that of the vertices.
    pub fn extent<T: Scalar>(&self, mesh: &VolumeMesh<T>) -> Result<Vec<T>, FieldError> {
        match self {
            Self::Given(extent) => {
                check_count(mesh, extent)?;
                Ok(extent.iter().map(|&value| T::from(value)).collect())
            }
            Self::Distance => distance_extent(mesh),
            Self::Laplace { core } => laplace_extent(mesh, core),
            Self::Law { of, law } => {
                let extent = of.extent(mesh)?;
                law.check(extent.iter().map(Scalar::real))?;
                Ok(extent.into_iter().map(|value| law.value(value)).collect())
            }
        }
    }

    /// The derivative of Σ `by_extents`·ε with respect to each vertex of a valid mesh, in one sweep: zeros for
    /// given extents, else [`distance_extent_vjp`] or [`laplace_extent_vjp`]. Of a law it is the derivative of
    /// Σ `by_extents`·f(ε): that of its extents, with `by_extents` times the law's slope.
    ///
    /// # Errors
    /// As [`Self::extent`], and when the number of derivatives is not that of the vertices.
    pub fn vjp(&self, mesh: &VolumeMesh, by_extents: &[f64]) -> Result<Vec<Vector3<f64>>, FieldError> {
        match self {
            Self::Given(extent) => {
                check_count(mesh, extent)?;
                check_count(mesh, by_extents)?;
                Ok(vec![Vector3::zeros(); by_extents.len()])
            }
            Self::Distance => distance_extent_vjp(mesh, by_extents),
            Self::Laplace { core } => laplace_extent_vjp(mesh, core, by_extents),
            Self::Law { of, law } => {
                check_count(mesh, by_extents)?;
                let extent = of.extent(mesh)?;
                law.check(extent.iter().copied())?;
                let through: Vec<f64> =
                    extent.iter().zip(by_extents).map(|(&value, by)| by * law.slope(value)).collect();
                of.vjp(mesh, &through)
            }
        }
    }

    /// The gradient of a loss with respect to the vertices of a mesh, the extents following them: dL/dx =
    /// ∂L/∂x + (dε/dx)ᵀ ∂L/∂ε, from the derivatives with respect to vertices and extents as numbers of their own.
    ///
    /// `by_vertices` are the derivatives with respect to the coordinates of the vertices, three for each, as of
    /// [`Parameter::vertices`](crate::multibody::Parameter::vertices), and `by_extents` those with respect to the
    /// extents, as of [`Parameter::extents`](crate::multibody::Parameter::extents). The result is in the geometry's
    /// frame, in units of the loss per metre. The mesh must be the one whose extents this rule gave. That of a field
    /// with a skirt is not: skirts move the vertices of the boundary.
    ///
    /// Kinks are those of [`distance_extent`] and [`laplace_extent`].
    ///
    /// # Errors
    /// As [`Self::vjp`], and when there are not three derivatives for each vertex.
    ///
    /// # Examples
    /// The sum of all extents grows as an inner vertex moves away from the nearest face:
    /// ```
    /// use isobar::field::{ExtentSource, FieldError};
    /// use isobar::geometry::VolumeMesh;
    /// use nalgebra::Vector3;
    ///
    /// // A tetrahedron cut into seven around two vertices, 0.2 m and 0.1 m deep.
    /// let mut vertices = vec![Vector3::zeros(), Vector3::x(), Vector3::y(), Vector3::z()];
    /// vertices.push(Vector3::new(0.22, 0.22, 0.2));
    /// vertices.push(Vector3::new(0.3, 0.3, 0.1));
    /// let tetrahedra = vec![
    ///     [4, 1, 2, 3], [0, 4, 2, 3], [0, 1, 4, 3],
    ///     [5, 1, 2, 4], [0, 5, 2, 4], [0, 1, 5, 4], [0, 1, 2, 5],
    /// ];
    /// let mesh: VolumeMesh = VolumeMesh { vertices, tetrahedra };
    /// let source = ExtentSource::Distance;
    /// let extent = source.extent(&mesh)?;
    /// assert!((extent[5] - 0.1 / 0.2).abs() < 1e-15);
    /// // Of a loss that is ε₅, with no part of its own in the vertices.
    /// let gradient = source.vertex_gradient(&mesh, &[0.0; 18], &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0])?;
    /// // Up by 1 m the distance 0.1 m grows by 1 m, over the largest, 0.2 m.
    /// assert!((gradient[5] - Vector3::new(0.0, 0.0, 5.0)).norm() < 1e-12);
    /// # Ok::<(), FieldError>(())
    /// ```
    pub fn vertex_gradient(
        &self,
        mesh: &VolumeMesh,
        by_vertices: &[f64],
        by_extents: &[f64],
    ) -> Result<Vec<Vector3<f64>>, FieldError> {
        let (vertices, derivatives) = (mesh.vertices.len(), by_vertices.len());
        if derivatives != 3 * vertices {
            return Err(FieldError::CoordinateCount { vertices, derivatives });
        }
        let mut gradient = self.vjp(mesh, by_extents)?;
        for (sum, own) in gradient.iter_mut().zip(by_vertices.chunks_exact(3)) {
            *sum += Vector3::from_column_slice(own);
        }
        Ok(gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::deep_core;
    use crate::geometry::kuhn_grid::kuhn_grid;
    use crate::geometry::{VertexPlace, vertex_places};
    use crate::scalar::DualArray;
    use num_dual::HyperDual64;
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// A cube all of whose vertices are moved a little, also those on the boundary, which gets dents.
    fn crumpled(cells: [usize; 3], seed: u64) -> VolumeMesh {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut mesh = kuhn_grid(cells, 0.0, 0);
        for coordinate in mesh.vertices.iter_mut().flat_map(|v| v.iter_mut()) {
            *coordinate += random.random_range(-0.08..0.08) / 5.0;
        }
        mesh
    }

    /// A crumpled cube, sheared until linear elements leave [0, 1].
    fn sheared(seed: u64) -> VolumeMesh {
        let mut mesh = crumpled([4, 4, 4], seed);
        for p in &mut mesh.vertices {
            *p = Vector3::new(p.x + 2.0 * p.y, p.y - 1.5 * p.z, p.z * 0.3);
        }
        mesh
    }

    fn sources(mesh: &VolumeMesh, threshold: f64) -> [ExtentSource; 4] {
        let laplace = ExtentSource::Laplace { core: deep_core(mesh, threshold).unwrap() };
        let of = |source: &ExtentSource, law| ExtentSource::Law { of: Box::new(source.clone()), law };
        let stiff_core = vec![[0.0, 0.0], [0.5, 0.2], [0.7, 0.5], [1.0, 3.0]];
        [
            of(&ExtentSource::Distance, PressureLaw::table(stiff_core).unwrap()),
            of(&laplace, PressureLaw::power(0.5).unwrap()),
            ExtentSource::Distance,
            laplace,
        ]
    }

    /// Meshes with the rules for their extents; of some the positive couplings are dropped.
    fn cases() -> Vec<(VolumeMesh, ExtentSource)> {
        let of = |mesh: VolumeMesh, threshold| sources(&mesh, threshold).map(|source| (mesh.clone(), source));
        let cubes = (0..2).flat_map(|seed| of(crumpled([4, 5, 4], seed), 0.8));
        cubes.chain((0..2).flat_map(|seed| of(sheared(seed), 1.0))).collect()
    }

    fn random(count: usize, seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        (0..count).map(|_| random.random_range(-1.0..1.0)).collect()
    }

    /// Σ `by_extent`·ε.
    fn weighted<T: Scalar>(source: &ExtentSource, mesh: &VolumeMesh<T>, by_extent: &[f64]) -> T {
        let extent = source.extent(mesh).unwrap();
        extent.into_iter().zip(by_extent).fold(T::from(0.0), |sum, (e, &by)| sum + e * by)
    }

    fn largest(vectors: &[Vector3<f64>]) -> f64 {
        vectors.iter().map(Vector3::amax).fold(0.0, f64::max)
    }

    /// The derivative of Σ `by_extent`·ε with respect to each coordinate, in forward mode.
    fn forward(source: &ExtentSource, mesh: &VolumeMesh, by_extent: &[f64]) -> Vec<Vector3<f64>> {
        let of_vertex = |vertex: usize| {
            let mut lifted = VolumeMesh::<DualArray<3>>::lift(mesh);
            for axis in 0..3 {
                lifted.vertices[vertex][axis].eps[axis] = 1.0;
            }
            let sum = weighted(source, &lifted, by_extent);
            assert_eq!(
                sum.re,
                weighted(source, mesh, by_extent),
                "the real part is that without derivatives"
            );
            Vector3::from(sum.eps)
        };
        (0..mesh.vertices.len()).map(of_vertex).collect()
    }

    #[test]
    fn some_of_the_cases_drop_couplings() {
        use super::super::laplace_system::solve_with_core;
        let dropping = cases().into_iter().filter(|(mesh, source)| {
            let ExtentSource::Laplace { core } = source else { return false };
            solve_with_core(mesh, core).unwrap().only_negative
        });
        assert_eq!(dropping.count(), 2);
    }

    #[test]
    fn the_vector_jacobian_product_is_that_of_dual_numbers() {
        for (mesh, source) in cases() {
            let by_extent = random(mesh.vertices.len(), 3);
            let reverse = source.vjp(&mesh, &by_extent).unwrap();
            let forward = forward(&source, &mesh, &by_extent);
            let size = largest(&forward);
            assert!(size > 1.0);
            for (vertex, (a, b)) in reverse.iter().zip(&forward).enumerate() {
                assert!((a - b).amax() < 1e-10 * size, "{source:?} {vertex}: {a} {b}");
            }
        }
    }

    #[test]
    fn differences_agree() {
        for (mesh, source) in cases() {
            let by_extent = random(mesh.vertices.len(), 4);
            let claimed = source.vjp(&mesh, &by_extent).unwrap();
            let size = largest(&claimed);
            let h = 1e-6;
            for (vertex, claim) in claimed.iter().enumerate() {
                for axis in 0..3 {
                    let moved = |by: f64| {
                        let mut mesh = mesh.clone();
                        mesh.vertices[vertex][axis] += by;
                        weighted(&source, &mesh, &by_extent)
                    };
                    let difference = (moved(h) - moved(-h)) / (2.0 * h);
                    let error = (difference - claim[axis]).abs();
                    assert!(error < 1e-6 * size, "{source:?} {vertex} {axis}: {error:e} of {size}");
                }
            }
        }
    }

    #[test]
    fn second_derivatives_are_those_of_differences_of_first_ones() {
        for (mesh, source) in cases() {
            let by_extent = random(mesh.vertices.len(), 5);
            let directions = |seed| -> Vec<Vector3<f64>> {
                random(3 * mesh.vertices.len(), seed).chunks(3).map(Vector3::from_column_slice).collect()
            };
            let (u, w) = (directions(6), directions(7));
            let mut lifted = VolumeMesh::<HyperDual64>::lift(&mesh);
            for (vertex, p) in lifted.vertices.iter_mut().enumerate() {
                for axis in 0..3 {
                    (p[axis].eps1, p[axis].eps2) = (u[vertex][axis], w[vertex][axis]);
                }
            }
            let claimed = weighted(&source, &lifted, &by_extent).eps1eps2;
            let slope = |by: f64| {
                let mut mesh = mesh.clone();
                mesh.vertices.iter_mut().zip(&w).for_each(|(p, w)| *p += w * by);
                let gradient = source.vjp(&mesh, &by_extent).unwrap();
                gradient.iter().zip(&u).map(|(g, u)| g.dot(u)).sum::<f64>()
            };
            let h = 1e-6;
            let difference = (slope(h) - slope(-h)) / (2.0 * h);
            assert!(claimed.abs() > 1.0);
            assert!(
                (difference - claimed).abs() < 1e-6 * claimed.abs(),
                "{source:?}: {difference} {claimed}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Extents do not change as a mesh is moved, turned or enlarged.
        #[test]
        fn similar_meshes_have_the_same_extents(
            cells in proptest::array::uniform3(2usize..6), seed: u64,
            threshold in 0.3..1.0f64, center in proptest::array::uniform3(-2.0..2.0f64),
        ) {
            let mesh = crumpled(cells, seed);
            let center = Vector3::from(center);
            let by_extent = random(mesh.vertices.len(), seed);
            for source in sources(&mesh, threshold) {
                let gradient = source.vjp(&mesh, &by_extent).unwrap();
                let arms = || mesh.vertices.iter().map(|p| p - center);
                let size: f64 = gradient.iter().zip(arms()).map(|(g, arm)| g.norm() * arm.norm().max(1.0)).sum();
                let shift: Vector3<f64> = gradient.iter().sum();
                let growth: f64 = gradient.iter().zip(arms()).map(|(g, arm)| g.dot(&arm)).sum();
                let turn: Vector3<f64> = gradient.iter().zip(arms()).map(|(g, arm)| arm.cross(g)).sum();
                prop_assert!(shift.norm() <= 1e-12 * size, "{source:?}: {shift} of {size}");
                prop_assert!(growth.abs() <= 1e-12 * size, "{source:?}: {growth} of {size}");
                prop_assert!(turn.norm() <= 1e-12 * size, "{source:?}: {turn} of {size}");
            }
        }
    }

    #[test]
    fn ties_have_the_derivative_of_one_of_the_tied() {
        // In the first one vertex is deepest, in the second eight are.
        for cells in [4, 5] {
            let mesh = kuhn_grid([cells; 3], 0.0, 0);
            for source in sources(&mesh, 0.6) {
                let by_extent = random(mesh.vertices.len(), 8);
                let reverse = source.vjp(&mesh, &by_extent).unwrap();
                assert!(largest(&reverse) > 1.0);
                assert!(reverse.iter().all(|g| g.iter().all(|x| x.is_finite())));
                for (a, b) in reverse.iter().zip(forward(&source, &mesh, &by_extent)) {
                    assert!((a - b).amax() < 1e-12 * largest(&reverse));
                }
            }
        }
        // As far from three faces: the derivative is that of one.
        let mesh = kuhn_grid([4; 3], 0.0, 0);
        let vertex = 25 + 5 + 1;
        let mut by_extent = vec![0.0; mesh.vertices.len()];
        by_extent[vertex] = 1.0;
        let gradient = distance_extent_vjp(&mesh, &by_extent).unwrap();
        let toward_one = [Vector3::x(), Vector3::y(), Vector3::z()].map(|axis| axis * 2.0);
        assert!(toward_one.iter().any(|g| (g - gradient[vertex]).norm() < 1e-14), "{}", gradient[vertex]);
    }

    #[test]
    fn extents_of_boundary_and_deepest_vertex_do_not_follow() {
        let mesh = crumpled([4, 4, 4], 9);
        for source in sources(&mesh, 1.0) {
            let extent = source.extent(&mesh).unwrap();
            let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
            let core = extent.iter().copied().fold(0.0, f64::max);
            let fixed = |v: usize| places[v] == VertexPlace::Boundary || extent[v] == core;
            let by_extent = (0..places.len()).map(|v| f64::from(u8::from(fixed(v)))).collect::<Vec<_>>();
            assert_eq!(by_extent.iter().sum::<f64>(), 99.0);
            assert_eq!(largest(&source.vjp(&mesh, &by_extent).unwrap()), 0.0);
            assert_eq!(largest(&forward(&source, &mesh, &by_extent)), 0.0);
        }
    }

    #[test]
    fn gradients_are_sums_of_both_ways() {
        let mesh = crumpled([3, 3, 4], 1);
        let count = mesh.vertices.len();
        let (by_vertices, by_extents) = (random(3 * count, 1), random(count, 2));
        for source in sources(&mesh, 0.9).into_iter().chain([ExtentSource::Given(vec![0.5; count])]) {
            let through = source.vjp(&mesh, &by_extents).unwrap();
            assert_eq!(largest(&through) > 0.0, !matches!(source, ExtentSource::Given(_)));
            let gradient = source.vertex_gradient(&mesh, &by_vertices, &by_extents).unwrap();
            for ((sum, own), through) in gradient.iter().zip(by_vertices.chunks(3)).zip(through) {
                assert_eq!(*sum, through + Vector3::from_column_slice(own));
            }
            let extents = FieldError::ExtentCount { vertices: count, extents: 3 };
            assert_eq!(source.vjp(&mesh, &[1.0; 3]), Err(extents));
            let derivatives = FieldError::CoordinateCount { vertices: count, derivatives: count };
            assert_eq!(source.vertex_gradient(&mesh, &by_extents, &by_extents), Err(derivatives));
        }
        let missing = ExtentSource::Given(Vec::new());
        let error = FieldError::ExtentCount { vertices: count, extents: 0 };
        assert_eq!(missing.extent(&mesh), Err(error.clone()));
        assert_eq!(missing.vjp(&mesh, &by_extents), Err(error));
        let no_core = ExtentSource::Laplace { core: Vec::new() };
        assert_eq!(no_core.vjp(&mesh, &by_extents), Err(FieldError::EmptyCore));
    }
}
