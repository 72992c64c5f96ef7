//! Quadrature rules on the triangle.

/// A quadrature point: barycentric coordinates and weight.
#[derive(Clone, Copy, Debug)]
pub struct TrianglePoint {
    /// Barycentric coordinates.
    pub barycentric: [f64; 3],
    /// Weight; the weights of a rule sum to 1.
    pub weight: f64,
}
const fn p(a: f64, b: f64, c: f64, weight: f64) -> TrianglePoint {
    TrianglePoint { barycentric: [a, b, c], weight }
}
const T: f64 = 1.0 / 3.0;
const S: f64 = 1.0 / 6.0;
const D: f64 = 2.0 / 3.0;
const ONE: [TrianglePoint; 1] = [p(T, T, T, 1.0)];
const TWO: [TrianglePoint; 3] = [p(S, S, D, T), p(S, D, S, T), p(D, S, S, T)];
/// The rule
pub fn triangle_rule(degree: u8) -> Option<&'static [TrianglePoint]> {
    match degree {
        1 => Some(&ONE),
        2 => Some(&TWO),
        _ => None,
    }
}
