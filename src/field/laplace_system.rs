//! Laplace's equation on a mesh by linear finite elements: its matrix, and its solution.

use nalgebra::{DVector, Matrix3, Vector3};
use nalgebra_sparse::{CooMatrix, CscMatrix, factorization::CscCholesky};

use super::error::FieldError;
use crate::geometry::{
    TETRAHEDRON_FACES, VertexPlace, VolumeMesh, dissection_order, tetrahedron_volume, vertex_places,
};
use crate::scalar::Scalar;

/// The two corners of each edge of a tetrahedron.
pub(super) const EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// Laplace's equation on a valid mesh with 1 at the core and 0 on the boundary, solved so that the
/// maximum principle holds.
///
/// # Errors
/// As [`laplace_extent`](super::laplace_extent).
pub(super) fn solve_with_core(mesh: &VolumeMesh, core: &[u32]) -> Result<Solution, FieldError> {
    let vertices = mesh.vertices.len();
    let places = vertex_places(vertices, &mesh.tetrahedra);
    if !places.contains(&VertexPlace::Interior) {
        return Err(FieldError::NoInteriorVertex { vertices });
    }
    if core.is_empty() {
        return Err(FieldError::EmptyCore);
    }
    let mut prescribed: Vec<Option<f64>> =
        places.iter().map(|&place| (place != VertexPlace::Interior).then_some(0.0)).collect();
    for &vertex in core {
        if places.get(vertex as usize) != Some(&VertexPlace::Interior) {
            return Err(FieldError::CoreVertex { vertex, vertices });
        }
        prescribed[vertex as usize] = Some(1.0);
    }
    let plain = solve(mesh, couplings(mesh), &prescribed)?;
    if violation(&plain.values, &places).is_none() {
        return Ok(plain);
    }
    let mut couplings = plain.couplings;
    for (_, coupling) in couplings.iter_mut().flatten() {
        *coupling = coupling.min(0.0);
    }
    let solution = Solution { only_negative: true, ..solve(mesh, couplings, &prescribed)? };
    match violation(&solution.values, &places) {
        None => Ok(solution),
        Some(error) => Err(error),
    }
}

/// The first interior vertex whose extent is not in (0, 1].
fn violation(extent: &[f64], places: &[VertexPlace]) -> Option<FieldError> {
    let fraction = |value: f64| value > 0.0 && value <= 1.0;
    extent
        .iter()
        .zip(places)
        .position(|(&value, &place)| place == VertexPlace::Interior && !fraction(value))
        .map(|vertex| FieldError::MaximumPrinciple { vertex, value: extent[vertex] })
}

/// For each vertex the others it shares an edge with, in order, and ∫ ∇φᵢ·∇φⱼ dV of the two hat
/// functions, m.
pub(super) type Couplings<T = f64> = Vec<Vec<(u32, T)>>;

/// The couplings of a mesh. Entries on the diagonal of the matrix are minus the sum of their row.
pub(super) fn couplings<T: Scalar>(mesh: &VolumeMesh<T>) -> Couplings<T> {
    let mut couplings = vec![Vec::new(); mesh.vertices.len()];
    for (t, tetrahedron) in mesh.tetrahedra.iter().enumerate() {
        let stiffness = element_stiffness(&mesh.corners(t));
        for (&v, row) in tetrahedron.iter().zip(stiffness) {
            let others = tetrahedron.iter().copied().zip(row);
            couplings[v as usize].extend(others.filter(|&(w, _)| w != v));
        }
    }
    for row in &mut couplings {
        row.sort_by_key(|&(w, _)| w);
        row.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
    }
    couplings
}

/// A solution of Laplace's equation, with what its derivatives need.
pub(super) struct Solution {
    /// The value at each vertex.
    pub values: Vec<f64>,
    /// The vertices whose value was solved for, in the order of the matrix.
    pub order: Vec<u32>,
    /// The factor of the matrix; `None` if all values are prescribed.
    pub factor: Option<CscCholesky<f64>>,
    /// The couplings that the matrix was made of.
    pub couplings: Couplings,
    /// Whether only negative couplings count.
    pub only_negative: bool,
}

impl Solution {
    /// Replaces a right side by the solution: L Lᵀ x = b, with the factor in real numbers.
    pub(super) fn divide<T: Scalar>(&self, right: &mut [T]) {
        let Some(factor) = &self.factor else { return };
        // Each column begins with its diagonal.
        let (begins, rows, values) = factor.l().csc_data();
        for j in 0..right.len() {
            let own = right[j] / values[begins[j]];
            right[j] = own;
            for k in begins[j] + 1..begins[j + 1] {
                right[rows[k]] -= own * values[k];
            }
        }
        for j in (0..right.len()).rev() {
            let mut left = right[j];
            for k in begins[j] + 1..begins[j + 1] {
                left -= right[rows[k]] * values[k];
            }
            right[j] = left / values[begins[j]];
        }
    }

    /// Whether a coupling was part of the matrix.
    pub(super) fn counts(&self, coupling: f64) -> bool {
        !self.only_negative || coupling < 0.0
    }

    /// Whether the coupling of two vertices that share an edge was part of the matrix.
    pub(super) fn has_coupling(&self, v: u32, w: u32) -> bool {
        let row = &self.couplings[v as usize];
        row.binary_search_by_key(&w, |&(other, _)| other).is_ok_and(|i| self.counts(row[i].1))
    }
}

/// The piecewise linear function of least ∫|∇ε|² dV that has the prescribed values; where nothing
/// is prescribed on the boundary its normal derivative is 0.
fn solve(
    mesh: &VolumeMesh,
    couplings: Couplings,
    prescribed: &[Option<f64>],
) -> Result<Solution, FieldError> {
    let mut values: Vec<f64> = prescribed.iter().map(|v| v.unwrap_or(0.0)).collect();
    let order = elimination_order(&mesh.vertices, &couplings, prescribed);
    if order.is_empty() {
        return Ok(Solution { values, order, factor: None, couplings, only_negative: false });
    }
    let mut row = vec![None; values.len()];
    for (i, &vertex) in order.iter().enumerate() {
        row[vertex as usize] = Some(i);
    }
    let mut matrix = CooMatrix::new(order.len(), order.len());
    let mut right = DVector::zeros(order.len());
    for (r, &v) in order.iter().enumerate() {
        let mut diagonal = 0.0;
        for &(w, coupling) in &couplings[v as usize] {
            diagonal -= coupling;
            match row[w as usize] {
                Some(c) => matrix.push(r, c, coupling),
                None => right[r] -= coupling * values[w as usize],
            }
        }
        matrix.push(r, r, diagonal);
    }
    let factor = CscCholesky::factor(&CscMatrix::from(&matrix)).map_err(|_| FieldError::Factorization)?;
    let solution = factor.solve(&right);
    for (i, &vertex) in order.iter().enumerate() {
        // Next to core vertices alone the solution is 1 up to rounding.
        let value = solution[i];
        values[vertex as usize] = if (value - 1.0).abs() < 1e-12 { 1.0 } else { value };
    }
    Ok(Solution { values, order, factor: Some(factor), couplings, only_negative: false })
}

/// ∫ ∇λᵢ·∇λⱼ dV over a tetrahedron, λ its barycentric coordinates, m.
fn element_stiffness<T: Scalar>(p: &[Vector3<T>; 4]) -> [[T; 4]; 4] {
    let six_volumes = (p[1] - p[0]).cross(&(p[2] - p[0])).dot(&(p[3] - p[0]));
    // ∇λᵢ is minus the outward normal of the face opposite vertex i, twice its area long, over six
    // times the volume.
    let normal = TETRAHEDRON_FACES.map(|[a, b, c]| (p[b] - p[a]).cross(&(p[c] - p[a])));
    normal.map(|n| normal.map(|m| n.dot(&m) / (six_volumes * 6.0)))
}

/// The derivative of Σ wₑ kₑ with respect to the corners of a tetrahedron, k = V ∇λᵢ·∇λⱼ the coupling along an
/// edge and w its factor.
///
/// As corner m moves by u, dV = V ∇λₘ·u and d∇λᵢ = −∇λₘ (∇λᵢ·u). With the symmetric matrix
/// M = Σ wₑ (∇λᵢ ∇λⱼᵀ + ∇λⱼ ∇λᵢᵀ) the sum is V tr M / 2, and its derivative V (tr M / 2 − M) ∇λₘ.
pub(super) fn coupling_vjp(corners: &[Vector3<f64>; 4], by_coupling: &[f64; 6]) -> [Vector3<f64>; 4] {
    let volume = tetrahedron_volume(corners);
    let gradients = TETRAHEDRON_FACES.map(|[a, b, c]| {
        let normal = (corners[b] - corners[a]).cross(&(corners[c] - corners[a]));
        normal / (-6.0 * volume)
    });
    let mut products = Matrix3::zeros();
    for ([i, j], &by) in EDGES.into_iter().zip(by_coupling) {
        let product = gradients[i] * gradients[j].transpose() * by;
        products += product + product.transpose();
    }
    let half_trace = 0.5 * products.trace();
    gradients.map(|gradient| (gradient * half_trace - products * gradient) * volume)
}

/// The vertices without prescribed value in an order that keeps the factor sparse.
fn elimination_order(
    vertices: &[Vector3<f64>],
    couplings: &[Vec<(u32, f64)>],
    prescribed: &[Option<f64>],
) -> Vec<u32> {
    let free: Vec<u32> = (0..vertices.len() as u32).filter(|&v| prescribed[v as usize].is_none()).collect();
    let mut local = vec![None; vertices.len()];
    for (i, &v) in free.iter().enumerate() {
        local[v as usize] = Some(i as u32);
    }
    let neighbours: Vec<Vec<u32>> = free
        .iter()
        .map(|&v| {
            let row = couplings[v as usize].iter();
            row.filter_map(|&(w, _)| local[w as usize]).collect()
        })
        .collect();
    let positions: Vec<_> = free.iter().map(|&v| vertices[v as usize]).collect();
    dissection_order(&positions, &neighbours).into_iter().map(|i| free[i as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{deep_core, laplace_extent};
    use crate::geometry::kuhn_grid::kuhn_grid;

    #[test]
    fn slab_with_free_sides_is_linear() {
        let mesh = kuhn_grid([5, 4, 6], 0.1, 5);
        let prescribed: Vec<_> =
            mesh.vertices.iter().map(|p| (p.x == 0.0 || p.x == 1.0).then_some(p.x)).collect();
        let values = solve(&mesh, couplings(&mesh), &prescribed).unwrap().values;
        for (value, p) in values.iter().zip(&mesh.vertices) {
            assert!((value - p.x).abs() < 1e-13);
        }
    }

    /// Needle-shaped tetrahedra: the plain elements leave [0, 1] here, the extent does not.
    #[test]
    fn obtuse_meshes_obey_the_maximum_principle_too() {
        let mut left = 0;
        for seed in 0..8 {
            let mut mesh = kuhn_grid([5, 5, 5], 0.1, seed);
            for p in &mut mesh.vertices {
                *p = Vector3::new(p.x + 2.0 * p.y, p.y - 1.5 * p.z, p.z * 0.3);
            }
            let places = vertex_places(mesh.vertices.len(), &mesh.tetrahedra);
            let core = deep_core(&mesh, 1.0).unwrap();
            let prescribed: Vec<_> = (0..places.len())
                .map(|v| match places[v] {
                    _ if core.contains(&(v as u32)) => Some(1.0),
                    VertexPlace::Interior => None,
                    _ => Some(0.0),
                })
                .collect();
            let plain = solve(&mesh, couplings(&mesh), &prescribed).unwrap().values;
            left += usize::from(violation(&plain, &places).is_some());
            let extent = laplace_extent(&mesh, &core).unwrap();
            assert_eq!(violation(&extent, &places), None);
        }
        assert!(left > 0);
    }
}
