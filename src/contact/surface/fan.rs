//! Polygons of the contact surface as fans of triangles.

use nalgebra::Vector3;

use crate::contact::settings::SurfaceRepresentation;
use crate::contact::surface::polygon::MAX_VERTICES;
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::scalar::Scalar;

/// A polygon as a fan of triangles around its centroid (Elandt §VI-B.2).
///
/// Only triangles without area appear or vanish in it as a polygon gains or loses an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fan<T> {
    /// Area, m².
    pub area: T,
    /// Centroid of the polygon.
    pub centroid: Vector3<T>,
    /// Pressure at the centroid, Pa.
    pub pressure: T,
    /// Whether that is the centroid, not the mean of the vertices of a sliver.
    pub has_centroid: bool,
    /// Area of the triangle of the centroid and the edge from each vertex, m²; not computed
    /// where a polygon is one face.
    pub triangle_area: [T; MAX_VERTICES],
}

/// A polygon whose area is below this fraction of the square of its diameter has no meaningful
/// centroid: rounding moves it by more than its width. The mean of its vertices takes its place.
const SLIVER: f64 = 1e-9;

#[inline(always)]
fn triple_product<T: Scalar>(a: &Vector3<T>, b: &Vector3<T>, c: &Vector3<T>) -> T {
    (a.y * b.z - a.z * b.y) * c.x + (a.z * b.x - a.x * b.z) * c.y + (a.x * b.y - a.y * b.x) * c.z
}

impl<T: Scalar> Fan<T> {
    /// Divides a polygon, into triangles if it is to be.
    #[inline(always)]
    pub fn new(polygon: &SurfacePolygon<T>, surface: SurfaceRepresentation) -> Self {
        let n = polygon.len;
        let zero = T::from(0.0);
        let origin = polygon.position[0];
        let (mut double_area, mut moment, mut weighted) = (zero, Vector3::<T>::zeros(), zero);
        let mut size: f64 = 0.0;
        let mut from = polygon.position[1] - origin;
        let mut longest = |by: &Vector3<T>| {
            let square = by.map(|x| x.real()).norm_squared();
            if square > size {
                size = square;
            }
        };
        longest(&from);
        for i in 2..n {
            let to = polygon.position[i] - origin;
            let a = triple_product(&from, &to, &polygon.normal);
            double_area += a;
            moment += (from + to) * a;
            weighted += (polygon.pressure[i - 1] + polygon.pressure[i]) * a;
            longest(&to);
            from = to;
        }
        let has_centroid = double_area.real().abs() > SLIVER * size;
        let (centroid, pressure) = if has_centroid {
            let third = double_area.recip() * (1.0 / 3.0);
            (origin + moment * third, (weighted + double_area * polygon.pressure[0]) * third)
        } else {
            let share = T::from(1.0 / n as f64);
            let sum: Vector3<T> = polygon.position[..n].iter().fold(Vector3::zeros(), |s, x| s + x);
            let sum_pressure = polygon.pressure[..n].iter().fold(zero, |s, &p| s + p);
            (sum * share, sum_pressure * share)
        };
        let area = double_area * 0.5;
        let mut fan = Self { area, centroid, pressure, has_centroid, triangle_area: [zero; MAX_VERTICES] };
        if surface == SurfaceRepresentation::Polygons {
            return fan;
        }
        for i in 0..n {
            let next = if i + 1 == n { 0 } else { i + 1 };
            let (a, b) = (polygon.position[i] - centroid, polygon.position[next] - centroid);
            fan.triangle_area[i] = triple_product(&a, &b, &polygon.normal) * 0.5;
        }
        fan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn the_centre_of_a_polygon_is_its_centroid_and_of_a_sliver_the_mean_of_its_vertices() {
        let mut polygon = SurfacePolygon::<f64>::empty();
        polygon.len = 4;
        polygon.normal = Vector3::z();
        let set = |polygon: &mut SurfacePolygon<f64>, width: f64| {
            let corners = [[1.0, 1.0], [3.0, 1.0], [3.0, 1.0 + width], [1.0, 1.0 + width]];
            for (k, [x, y]) in corners.into_iter().enumerate() {
                polygon.position[k] = Vector3::new(x, y, 2.0);
                polygon.pressure[k] = 5.0 * x + 7.0 * y;
            }
            Fan::new(polygon, SurfaceRepresentation::Triangles)
        };
        for width in [4.0, 1e-6, 1e-10, 0.0] {
            let fan = set(&mut polygon, width);
            assert_eq!(fan.has_centroid, width > 1e-8);
            assert_relative_eq!(fan.centroid, Vector3::new(2.0, 1.0 + 0.5 * width, 2.0), max_relative = 1e-9);
            assert_relative_eq!(fan.pressure, 17.0 + 3.5 * width, max_relative = 1e-9);
            assert_relative_eq!(fan.area, 2.0 * width, epsilon = 1e-15);
            assert_relative_eq!(fan.triangle_area[..4].iter().sum::<f64>(), 2.0 * width, epsilon = 1e-15);
        }
    }
}
