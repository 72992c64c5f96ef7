//! The local vector–Jacobian product of a contact (reverse mode). From the derivatives of one number
//! with respect to the wrench it computes, in one pass over the surface, the derivatives with respect to
//! everything that the wrench depends on.
//!
//! The matrix of [`crate::contact::force::local_jacobian`] is contracted with the cotangent of the
//! wrench while it is computed, so that each polygon costs a few times its own evaluation.

use nalgebra::Vector3;

use crate::contact::force::local_jacobian::Gradients;
use crate::contact::force::skirt_onset::OnsetSlopes;
use crate::contact::force::traction::TractionLaw;
use crate::contact::force::wrench::{Integral, fan_rule};
use crate::contact::pair::material::PairMaterial;
use crate::contact::pair::query::Roles;
use crate::contact::settings::{ContactSettings, DissipationModel, SurfaceRepresentation};
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::polygon::{FIRST_OF_F, MAX_VERTICES, Polygon};
use crate::contact::surface::search::{Elements, for_each_known_polygon, for_each_polygon};
use crate::contact::surface::surface_polygon::{Fan, SurfacePolygon, solve_planes_transposed};
use crate::contact::surface::workspace::Workspace;
use crate::geometry::TrianglePoint;
use crate::spatial::SpatialForce;

/// The derivatives of one number with respect to what the wrench between two bodies depends on, in F's
/// frame.
pub(crate) struct LocalCotangent {
    /// The sums over the surface.
    pub integral: Integral<f64>,
    /// With respect to O's rotation about F's origin.
    pub rotation: Vector3<f64>,
    /// With respect to O's translation.
    pub translation: Vector3<f64>,
    /// With respect to the logarithms of O's and F's moduli at fixed combined dissipation.
    pub log_moduli: [f64; 2],
    /// With respect to the relative angular velocity.
    pub angular_velocity: Vector3<f64>,
    /// With respect to the relative velocity at F's origin.
    pub velocity: Vector3<f64>,
    /// With respect to the combined parameters, among them the dissipation (Hunt–Crossley) or the sum of
    /// both χ/E (strain rate).
    pub parameters: PairMaterial,
    /// With respect to the width of the pressure's onset; it is among those with respect to the moduli
    /// too.
    width: f64,
    /// Whether the meshes are exactly aligned somewhere on the surface, so that these may not be the
    /// derivative in any direction.
    pub aligned: bool,
}

/// The derivatives with respect to a polygon's vertices, its normal and its dissipation.
struct PolygonCotangent {
    position: [Vector3<f64>; MAX_VERTICES],
    pressure: [f64; MAX_VERTICES],
    normal: Vector3<f64>,
    dissipation: f64,
}

impl PolygonCotangent {
    fn zero() -> Self {
        Self {
            position: [Vector3::zeros(); MAX_VERTICES],
            pressure: [0.0; MAX_VERTICES],
            normal: Vector3::zeros(),
            dissipation: 0.0,
        }
    }

    /// Begins a polygon of `n` vertices.
    #[inline(always)]
    fn clear(&mut self, n: usize) {
        self.position[..n].fill(Vector3::zeros());
        self.pressure[..n].fill(0.0);
        self.normal = Vector3::zeros();
        self.dissipation = 0.0;
    }
}

/// The derivatives with respect to the position, the pressure and the area of a quadrature point.
struct PointCotangent {
    position: Vector3<f64>,
    pressure: f64,
    area: f64,
}

/// A pass over a contact surface.
struct Pass<'a> {
    roles: &'a Roles<'a, f64>,
    law: TractionLaw<f64>,
    settings: &'a ContactSettings,
    rule: &'a [TrianglePoint],
    /// The width of the pressure's onset, Pa.
    width: f64,
    /// The number's derivatives with respect to moment and force on O about F's origin, in F.
    by_wrench: SpatialForce,
    sum: LocalCotangent,
}

impl Pass<'_> {
    /// Adds the force at a quadrature point of a polygon, and what the number depends on there.
    #[inline(always)]
    fn point<const OWN: bool>(
        &mut self,
        x: &Vector3<f64>,
        pressure: f64,
        area: f64,
        normal: &Vector3<f64>,
        dissipation: f64,
        by: &mut PolygonCotangent,
    ) -> PointCotangent {
        let spin = &self.roles.v_fo.rotational;
        let velocity = self.roles.v_fo.translational + spin.cross(x);
        let acting = OnsetSlopes::new(pressure, self.width);
        let (t, own) = self.law.derivatives::<OWN>(normal, &velocity, dissipation, acting.value);
        let load = acting.value * area;
        let (n, v_t) = (normal, &t.v_t);
        let along = |[by_n, by_v_t]: [f64; 2]| n * by_n + v_t * by_v_t;
        let value = along(t.value);
        let force = value * load;
        self.sum.integral.wrench_on_o += SpatialForce::new(x.cross(&force), force);
        let by_moment = &self.by_wrench.rotational;
        let by_force = self.by_wrench.translational + by_moment.cross(x);
        let by_load = by_force.dot(&value);
        let by_traction = by_force * load;
        let (by_n, by_v_t) = (by_traction.dot(n), by_traction.dot(v_t));
        // By the area times the pressure that acts, and by that pressure over the area.
        let mut by_acting = by_load;
        if let Some(own) = own {
            by_acting += by_force.dot(&along(own.by_pressure)) * acting.value;
            for (sum, [first, second]) in self.sum.parameters.own.iter_mut().zip(own.by_own) {
                *sum += by_n * first + by_v_t * second;
            }
        }
        self.sum.width += by_acting * area * acting.by_width;
        let [nn, tn, tt, one] = t.by_velocity;
        let by_velocity = n * (nn * by_n + tn * by_v_t) + v_t * (tt * by_v_t) + by_traction * one;
        self.sum.velocity += by_velocity;
        self.sum.angular_velocity += x.cross(&by_velocity);
        self.sum.parameters.static_friction += by_v_t * t.by_static_friction;
        self.sum.parameters.dynamic_friction += by_v_t * t.by_dynamic_friction;
        let [nt, tt, one] = t.by_normal;
        by.normal += v_t * (nt * by_n + tt * by_v_t) + by_traction * one;
        by.dissipation += by_n * t.by_dissipation[0] + by_v_t * t.by_dissipation[1];
        PointCotangent {
            position: force.cross(by_moment) + by_velocity.cross(spin),
            pressure: by_acting * area * acting.by_pressure,
            area: by_load * acting.value,
        }
    }

    /// Adds all quadrature points of a polygon: the derivatives with respect to its vertices.
    #[inline(always)]
    fn points<const OWN: bool>(
        &mut self,
        polygon: &SurfacePolygon<f64>,
        fan: &Fan<f64>,
        dissipation: f64,
        by: &mut PolygonCotangent,
    ) {
        let n = polygon.len;
        let normal = &polygon.normal;
        let (mut by_centroid, mut by_mean_pressure, mut by_area) = (Vector3::zeros(), 0.0, 0.0);
        match self.settings.surface {
            SurfaceRepresentation::Polygons => {
                let point = self.point::<OWN>(&fan.centroid, fan.pressure, fan.area, normal, dissipation, by);
                (by_centroid, by_mean_pressure, by_area) = (point.position, point.pressure, point.area);
            }
            SurfaceRepresentation::Triangles => {
                for i in 0..n {
                    let next = if i + 1 == n { 0 } else { i + 1 };
                    let mut by_triangle = 0.0;
                    for rule in self.rule {
                        let [c, a, b] = rule.barycentric;
                        let x = fan.centroid * c + polygon.position[i] * a + polygon.position[next] * b;
                        let p = fan.pressure * c + polygon.pressure[i] * a + polygon.pressure[next] * b;
                        let area = fan.triangle_area[i] * rule.weight;
                        let point = self.point::<OWN>(&x, p, area, normal, dissipation, by);
                        by_centroid += point.position * c;
                        by.position[i] += point.position * a;
                        by.position[next] += point.position * b;
                        by_mean_pressure += point.pressure * c;
                        by.pressure[i] += point.pressure * a;
                        by.pressure[next] += point.pressure * b;
                        by_triangle += point.area * rule.weight;
                    }
                    // Half of the triple product of two edges and the normal.
                    let (a, b) = (polygon.position[i] - fan.centroid, polygon.position[next] - fan.centroid);
                    let half = 0.5 * by_triangle;
                    let (by_a, by_b) = (b.cross(normal) * half, normal.cross(&a) * half);
                    by.normal += a.cross(&b) * half;
                    by.position[i] += by_a;
                    by.position[next] += by_b;
                    by_centroid -= by_a + by_b;
                }
            }
        }
        fan_vjp(polygon, fan, &by_centroid, by_mean_pressure, by_area, by);
    }

    /// From the derivatives with respect to a polygon to those with respect to the motion of O and the
    /// moduli.
    #[inline(always)]
    fn polygon(
        &mut self,
        found: &Polygon,
        equilibrium: &Equilibrium,
        polygon: &SurfacePolygon<f64>,
        by: &mut PolygonCotangent,
    ) {
        let gradients = Gradients::new(self.roles, found, equilibrium);
        let gradient_f = &equilibrium.pressure.gradient;
        // The gradients along the normal enter the strain-rate form.
        let (mut by_gradient_o, mut by_gradient_f) = (Vector3::zeros(), Vector3::zeros());
        match self.settings.dissipation_model {
            DissipationModel::HuntCrossley => self.sum.parameters.dissipation += by.dissipation,
            DissipationModel::StrainRate => {
                self.sum.parameters.dissipation += by.dissipation * polygon.gradient_in_series();
                let [by_o, by_f] =
                    series_slopes(polygon).map(|s| s * by.dissipation * self.law.strain_rate());
                if let Some(gradient_o) = &equilibrium.gradient_o {
                    by_gradient_o += polygon.normal * by_o;
                    by.normal += gradient_o * by_o;
                }
                by_gradient_f -= polygon.normal * by_f;
                by.normal -= gradient_f * by_f;
            }
        }
        let [log_o, log_f] = &mut self.sum.log_moduli;
        match &equilibrium.gradient_o {
            Some(gradient_o) => {
                // The normal is the direction of the difference of the gradients.
                let length = (gradient_o - gradient_f).norm();
                let across = by.normal - polygon.normal * polygon.normal.dot(&by.normal);
                let by_difference = across / length;
                by_gradient_o += by_difference;
                by_gradient_f -= by_difference;
                self.sum.rotation += gradient_o.cross(&by_gradient_o);
                *log_o += gradient_o.dot(&by_gradient_o);
            }
            None => self.sum.rotation += polygon.normal.cross(&by.normal),
        }
        *log_f += gradient_f.dot(&by_gradient_f);
        // Each vertex lies on three planes: see `differentiate` in the local Jacobian.
        let carried = equilibrium.gradient_o.unwrap_or(gradients.plane);
        let none = Vector3::zeros();
        let constraint = |name: u8| {
            if name < FIRST_OF_F {
                let m = gradients.of_o[usize::from(name)];
                (m, m)
            } else {
                (gradients.of_f[usize::from(name - FIRST_OF_F) % 4], none)
            }
        };
        for i in 0..polygon.len {
            let previous = if i == 0 { polygon.len - 1 } else { i - 1 };
            let (first, first_carried) = constraint(found.edge[previous]);
            let (second, second_carried) = constraint(found.edge[i]);
            let by_position = by.position[i] + gradient_f * by.pressure[i];
            let by_planes = solve_planes_transposed(&[gradients.plane, first, second], &by_position);
            let by_motion =
                carried * by_planes.x + first_carried * by_planes.y + second_carried * by_planes.z;
            self.sum.translation += by_motion;
            self.sum.rotation += polygon.position[i].cross(&by_motion);
            let p = polygon.pressure[i];
            if equilibrium.gradient_o.is_some() {
                *log_o -= p * by_planes.x;
                *log_f += p * by_planes.x;
            }
            *log_f += p * by.pressure[i];
        }
    }
}

/// The slopes of the gradients in series (see [`SurfacePolygon::gradient_in_series`]) by those of
/// O and of F.
fn series_slopes(polygon: &SurfacePolygon<f64>) -> [f64; 2] {
    let f = polygon.gradient_f;
    match polygon.gradient_o {
        Some(o) if o > 0.0 && f > 0.0 => {
            let sum = o + f;
            [(f / sum) * (f / sum), (o / sum) * (o / sum)]
        }
        None if f > 0.0 => [0.0, 1.0],
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

/// The sums over the contact surface, and the derivatives of a number with respect to what they depend
/// on, from its derivatives `by_wrench` with respect to moment and force on O about F's origin, in F.
/// `known` are the elements that the surface lies in, where it has been found before.
pub(crate) fn local_vjp(
    roles: &Roles<f64>,
    by_wrench: &SpatialForce,
    settings: &ContactSettings,
    workspace: &mut Workspace,
    known: Option<&[Elements]>,
) -> LocalCotangent {
    let (width, width_is_of_o) = roles.onset_width();
    let mut pass = Pass {
        roles,
        law: TractionLaw::new(roles, settings),
        settings,
        rule: fan_rule(settings),
        width,
        by_wrench: *by_wrench,
        sum: LocalCotangent {
            integral: Integral::new(width),
            rotation: Vector3::zeros(),
            translation: Vector3::zeros(),
            log_moduli: [0.0; 2],
            angular_velocity: Vector3::zeros(),
            velocity: Vector3::zeros(),
            parameters: PairMaterial::filled(0.0),
            width: 0.0,
            aligned: false,
        },
    };
    let mut polygon = SurfacePolygon::empty();
    let mut by = PolygonCotangent::zero();
    let visit = |found: &Polygon, equilibrium: &Equilibrium| {
        pass.sum.aligned |= found.aligned;
        polygon.set_real(found, equilibrium);
        let fan = Fan::new(&polygon, settings.surface);
        pass.sum.integral.add_surface(&polygon, fan.area, &fan.centroid, settings.surface);
        let dissipation = pass.law.dissipation(&polygon);
        by.clear(polygon.len);
        if pass.law.is_own() {
            pass.points::<true>(&polygon, &fan, dissipation, &mut by);
        } else {
            pass.points::<false>(&polygon, &fan, dissipation, &mut by);
        }
        pass.polygon(found, equilibrium, &polygon, &mut by);
    };
    let (filter, memory) = (settings.face_filter, &mut workspace.search);
    match known {
        None => for_each_polygon(roles, filter, memory, visit),
        Some(known) => for_each_known_polygon(roles, filter, memory, known, visit),
    }
    pass.sum.log_moduli[usize::from(!width_is_of_o)] += pass.sum.width * width;
    pass.sum
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
