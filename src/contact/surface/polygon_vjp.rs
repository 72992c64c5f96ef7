//! Reverse mode through one polygon: from the derivatives of a number with respect to the points that
//! forces act at to those with respect to the polygon's vertices, its normal and the fields' gradients.

use nalgebra::Vector3;

use crate::contact::settings::SurfaceRepresentation;
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::polygon::MAX_VERTICES;
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::geometry::TrianglePoint;

/// The derivatives of a number with respect to a polygon's vertices, the pressure there, and its normal.
pub(in crate::contact) struct PolygonCotangent {
    pub position: [Vector3<f64>; MAX_VERTICES],
    pub pressure: [f64; MAX_VERTICES],
    pub normal: Vector3<f64>,
}

/// The derivatives of a number with respect to a point that a force acts at: its position and its normal,
/// the pressure of the fields there and the area that belongs to it.
pub(in crate::contact) struct PointCotangent {
    pub position: Vector3<f64>,
    pub normal: Vector3<f64>,
    pub pressure: f64,
    pub area: f64,
}

impl PolygonCotangent {
    pub fn zero() -> Self {
        Self {
            position: [Vector3::zeros(); MAX_VERTICES],
            pressure: [0.0; MAX_VERTICES],
            normal: Vector3::zeros(),
        }
    }

    /// Begins a polygon of `n` vertices.
    #[inline(always)]
    fn clear(&mut self, n: usize) {
        self.position[..n].fill(Vector3::zeros());
        self.pressure[..n].fill(0.0);
        self.normal = Vector3::zeros();
    }

    /// Becomes the derivatives with respect to a polygon, given those with respect to each of its points,
    /// which `by_point` tells of a point's position, the pressure there and its area. The points are those
    /// of [`crate::contact::force::wrench::for_each_point`], in its order.
    #[inline(always)]
    pub fn set(
        &mut self,
        polygon: &SurfacePolygon<f64>,
        fan: &Fan<f64>,
        surface: SurfaceRepresentation,
        rule: &[TrianglePoint],
        mut by_point: impl FnMut(&Vector3<f64>, f64, f64) -> PointCotangent,
    ) {
        let n = polygon.len;
        self.clear(n);
        let (mut by_centroid, mut by_mean_pressure, mut by_area) = (Vector3::zeros(), 0.0, 0.0);
        match surface {
            SurfaceRepresentation::Polygons => {
                let point = by_point(&fan.centroid, fan.pressure, fan.area);
                self.normal += point.normal;
                (by_centroid, by_mean_pressure, by_area) = (point.position, point.pressure, point.area);
            }
            SurfaceRepresentation::Triangles => {
                for i in 0..n {
                    let next = if i + 1 == n { 0 } else { i + 1 };
                    let mut by_triangle = 0.0;
                    for rule in rule {
                        let [c, a, b] = rule.barycentric;
                        let x = fan.centroid * c + polygon.position[i] * a + polygon.position[next] * b;
                        let p = fan.pressure * c + polygon.pressure[i] * a + polygon.pressure[next] * b;
                        let point = by_point(&x, p, fan.triangle_area[i] * rule.weight);
                        self.normal += point.normal;
                        by_centroid += point.position * c;
                        self.position[i] += point.position * a;
                        self.position[next] += point.position * b;
                        by_mean_pressure += point.pressure * c;
                        self.pressure[i] += point.pressure * a;
                        self.pressure[next] += point.pressure * b;
                        by_triangle += point.area * rule.weight;
                    }
                    // Half of the triple product of two edges and the normal.
                    let (a, b) = (polygon.position[i] - fan.centroid, polygon.position[next] - fan.centroid);
                    let half = 0.5 * by_triangle;
                    let (by_a, by_b) = (b.cross(&polygon.normal) * half, polygon.normal.cross(&a) * half);
                    self.normal += a.cross(&b) * half;
                    self.position[i] += by_a;
                    self.position[next] += by_b;
                    by_centroid -= by_a + by_b;
                }
            }
        }
        fan_vjp(polygon, fan, &by_centroid, by_mean_pressure, by_area, self);
    }

    /// The derivatives with respect to the fields' gradients, through the normal and through those of O and of F along it,
    /// whose derivatives are `by_along`.
    #[inline(always)]
    pub fn through_gradients(
        &self,
        polygon: &SurfacePolygon<f64>,
        equilibrium: &Equilibrium,
        by_along: [f64; 2],
    ) -> GradientCotangent {
        let gradient_f = &equilibrium.pressure.gradient;
        let (mut of_o, mut of_f, mut normal) = (Vector3::zeros(), Vector3::zeros(), self.normal);
        if by_along != [0.0; 2] {
            let [by_o, by_f] = by_along;
            if let Some(gradient_o) = &equilibrium.gradient_o {
                of_o += polygon.normal * by_o;
                normal += gradient_o * by_o;
            }
            of_f -= polygon.normal * by_f;
            normal -= gradient_f * by_f;
        }
        let across = normal - polygon.normal * polygon.normal.dot(&normal);
        if let Some(gradient_o) = &equilibrium.gradient_o {
            // The normal is the direction of the difference of the gradients.
            let by_difference = across / (gradient_o - gradient_f).norm();
            of_o += by_difference;
            of_f -= by_difference;
        }
        GradientCotangent { of_o, of_f, normal: across }
    }
}

/// The derivatives of a number with respect to the fields' gradients around a polygon, Pa/m.
pub(in crate::contact) struct GradientCotangent {
    /// With respect to O's gradient; zero where O is rigid.
    pub of_o: Vector3<f64>,
    /// With respect to F's gradient.
    pub of_f: Vector3<f64>,
    /// With respect to the normal, along the polygon: what is left to follow where O is rigid, and the
    /// normal is that of its surface. Otherwise it is in the other two.
    pub normal: Vector3<f64>,
}

/// The slopes of the gradients in series (see [`gradient_in_series`](super::surface_polygon::gradient_in_series)) by those of
/// O and of F.
pub(in crate::contact) fn series_slopes(o: Option<f64>, f: f64) -> [f64; 2] {
    match o {
        Some(o) if o > 0.0 && f > 0.0 => {
            let sum = o + f;
            [(f / sum) * (f / sum), (o / sum) * (o / sum)]
        }
        Some(o) if o == 0.0 && f > 0.0 => [0.5, 0.0],
        Some(o) if o > 0.0 && f == 0.0 => [0.0, 0.5],
        None if f > 0.0 => [0.0, 1.0],
        None if f == 0.0 => [0.0, 0.5],
        _ => [0.0, 0.0],
    }
}

/// The vector–Jacobian product of [`Fan::new`]: adds to `by` what the number depends on through the
/// polygon's centroid, the pressure there and the polygon's area.
#[inline(always)]
fn fan_vjp(
    polygon: &SurfacePolygon<f64>,
    fan: &Fan<f64>,
    by_centroid: &Vector3<f64>,
    by_mean_pressure: f64,
    by_area: f64,
    by: &mut PolygonCotangent,
) {
    let n = polygon.len;
    let mut by_double_area = 0.5 * by_area;
    let (mut by_moment, mut by_weighted) = (Vector3::zeros(), 0.0);
    if !fan.has_centroid {
        let share = 1.0 / n as f64;
        for i in 0..n {
            by.position[i] += by_centroid * share;
            by.pressure[i] += by_mean_pressure * share;
        }
    } else {
        let double_area = 2.0 * fan.area;
        let third = 1.0 / (3.0 * double_area);
        by_moment = by_centroid * third;
        by_weighted = by_mean_pressure * third;
        by.position[0] += by_centroid;
        by.pressure[0] += by_mean_pressure / 3.0;
        let from_origin = fan.centroid - polygon.position[0];
        by_double_area += (by_mean_pressure * (polygon.pressure[0] / 3.0 - fan.pressure)
            - from_origin.dot(by_centroid))
            / double_area;
    }
    let normal = &polygon.normal;
    let origin = polygon.position[0];
    for i in 2..n {
        let (from, to) = (polygon.position[i - 1] - origin, polygon.position[i] - origin);
        let cross = from.cross(&to);
        let a = cross.dot(normal);
        let pressures = polygon.pressure[i - 1] + polygon.pressure[i];
        let by_a = by_double_area + (from + to).dot(&by_moment) + pressures * by_weighted;
        let shared = by_moment * a;
        let (by_from, by_to) = (shared + to.cross(normal) * by_a, shared + normal.cross(&from) * by_a);
        by.normal += cross * by_a;
        by.position[i - 1] += by_from;
        by.position[i] += by_to;
        by.position[0] -= by_from + by_to;
        by.pressure[i - 1] += a * by_weighted;
        by.pressure[i] += a * by_weighted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::{DualArray, lift_vector};
    use approx::assert_relative_eq;

    #[test]
    fn the_vjp_of_a_fan_is_that_of_dual_numbers() {
        const N: usize = 5;
        type D = DualArray<{ 4 * N + 3 }>;
        let (by_centroid, by_mean_pressure, by_area) = (Vector3::new(0.3, -0.7, 0.4), 0.6, -1.3);
        // A polygon, and a sliver, which has no centroid.
        for width in [0.7, 1e-11] {
            let mut real = SurfacePolygon::<f64>::empty();
            let mut dual = SurfacePolygon::<D>::empty();
            (real.len, dual.len) = (N, N);
            real.normal = Vector3::new(0.48, -0.6, 0.64);
            let (long, wide) = (Vector3::new(0.8, 0.64, 0.0), Vector3::new(-0.4, 0.5, 0.76));
            for (k, [x, y]) in
                [[0.0, 0.0], [1.0, 0.1], [1.3, 0.6], [0.9, 1.1], [0.2, 0.8]].into_iter().enumerate()
            {
                real.position[k] = long * x + wide * (width * y);
                real.pressure[k] = 1.0 + 0.3 * x - 0.2 * y;
                dual.position[k] = lift_vector(&real.position[k]);
                (0..3).for_each(|i| dual.position[k][i].eps[3 * k + i] = 1.0);
                dual.pressure[k] = D::variable(real.pressure[k], 3 * N + k);
            }
            dual.normal = Vector3::from_fn(|i, _| D::variable(real.normal[i], 4 * N + i));
            let fan = Fan::new(&dual, SurfaceRepresentation::Polygons);
            assert_eq!(fan.has_centroid, width > 0.1);
            let number = fan.centroid.dot(&lift_vector(&by_centroid))
                + fan.pressure * by_mean_pressure
                + fan.area * by_area;
            let fan = Fan::new(&real, SurfaceRepresentation::Polygons);
            let mut by = PolygonCotangent::zero();
            by.clear(N);
            fan_vjp(&real, &fan, &by_centroid, by_mean_pressure, by_area, &mut by);
            let found = by.position[..N].iter().flatten().chain(&by.pressure[..N]).chain(&by.normal);
            for (found, expected) in found.zip(number.eps) {
                assert_relative_eq!(*found, expected, epsilon = 1e-12, max_relative = 1e-10);
            }
        }
    }
}
