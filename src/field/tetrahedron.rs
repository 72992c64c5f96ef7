//! The extent on one tetrahedron.

use nalgebra::Vector3;

/// A linear function `gradient·x + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearFunction<T = f64> {
    /// Its gradient.
    pub gradient: Vector3<T>,
    /// Its value at the origin.
    pub offset: T,
}

impl LinearFunction<f64> {
    /// The value at `x`.
    #[inline(always)]
    pub fn at(&self, x: &Vector3<f64>) -> f64 {
        self.gradient.dot(x) + self.offset
    }
}

/// A face on which the extent is constant, so that the face's half-space is a bound on the
/// extent alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsobaricFace {
    /// The face: the one opposite this local vertex.
    pub face: u8,
    /// Whether the extent is larger inside the tetrahedron than on the face.
    pub lower_bound: bool,
    /// The extent on the face.
    pub level: f64,
}

/// What contact queries need of one tetrahedron, in the geometry's frame.
#[derive(Clone, Copy, Debug)]
pub struct TetrahedronField {
    /// Barycentric coordinates λ_i as linear functions of position; inside, all are ≥ 0, and
    /// λ_i = 0 is the face opposite vertex i.
    pub barycentric: [LinearFunction; 4],
    /// The extent ε as a linear function of position.
    pub extent: LinearFunction,
    /// The face of constant extent, if there is one.
    pub isobaric: Option<IsobaricFace>,
}

/// The barycentric coordinates of a tetrahedron as linear functions, and its volume.
pub(super) fn barycentric(v: &[Vector3<f64>; 4]) -> ([LinearFunction; 4], f64) {
    let (a, b, c) = (v[1] - v[0], v[2] - v[0], v[3] - v[0]);
    let six_volume = a.cross(&b).dot(&c);
    let inverse = 1.0 / six_volume;
    let g = [b.cross(&c) * inverse, c.cross(&a) * inverse, a.cross(&b) * inverse];
    let through = |gradient: Vector3<f64>, zero: &Vector3<f64>| LinearFunction {
        gradient,
        offset: -gradient.dot(zero),
    };
    let functions = [
        through(-(g[0] + g[1] + g[2]), &v[1]),
        through(g[0], &v[0]),
        through(g[1], &v[0]),
        through(g[2], &v[0]),
    ];
    (functions, six_volume / 6.0)
}
