//! Boxes around points.

use nalgebra::Vector3;

/// Opposite corners of a box along the axes of the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Its least coordinates, m.
    pub low: Vector3<f64>,
    /// Its largest coordinates, m.
    pub high: Vector3<f64>,
}

impl Bounds {
    /// The box around points; `None` without any.
    pub(super) fn around(points: impl IntoIterator<Item = Vector3<f64>>) -> Option<Self> {
        points.into_iter().fold(None, |bounds: Option<Self>, point| {
            Some(bounds.map_or(Self { low: point, high: point }, |b| Self {
                low: b.low.inf(&point),
                high: b.high.sup(&point),
            }))
        })
    }

    pub(super) fn corners(&self) -> [Vector3<f64>; 8] {
        std::array::from_fn(|i| {
            Vector3::from_fn(|k, _| if i >> k & 1 == 0 { self.low[k] } else { self.high[k] })
        })
    }

    /// The length of its diagonal, m.
    pub fn diagonal(&self) -> f64 {
        (self.high - self.low).norm()
    }
}
