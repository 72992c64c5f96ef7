//! Points of one polygon that tractions are evaluated at side by side, as many as wide registers hold.
//!
//! Side by side are the same points of the quadrature rule on several triangles of a fan. Every number is made by the operations of
//! [`Fan`] and of [`TractionLaw::per_pressure`], in their order, and the forces are summed in the order of [`for_each_point`]: to the
//! last bit the sum is that over single points.

use nalgebra::Vector3;

use crate::contact::force::friction::friction_factors;
use crate::contact::force::skirt_onset::onset;
use crate::contact::force::traction::{TractionLaw, positive_part};
use crate::contact::force::wrench::{Integral, for_each_point};
use crate::contact::lanes::{InLanes, LANES, LaneVector, Lanes};
use crate::contact::pair::query::Roles;
use crate::contact::settings::SurfaceRepresentation;
use crate::contact::surface::equilibrium::Equilibrium;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::polygon::{MAX_VERTICES, Polygon};
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::geometry::{LARGEST_TRIANGLE_RULE, TrianglePoint};
use crate::scalar::{Scalar, real_vector};
use crate::spatial::{SpatialForce, SpatialVelocity};

/// The integral over one polygon, which is added to the sum.
pub(super) struct OnPolygon<'a, T> {
    pub roles: &'a Roles<'a, T>,
    pub law: &'a TractionLaw<T>,
    pub surface: SurfaceRepresentation,
    pub rule: &'a [TrianglePoint],
    /// The width of the onset of the pressure, Pa.
    pub width: T,
    pub found: (&'a Polygon, &'a Equilibrium),
    pub polygon: &'a mut SurfacePolygon<T>,
    pub block: &'a mut PointBlock,
    pub sum: &'a mut Integral<T>,
}

impl<T: Scalar> InLanes for OnPolygon<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, one: L) {
        let Self { roles, law, surface, rule, width, found, polygon, block, sum } = self;
        polygon.set(roles, found.0, found.1);
        // Numbers with derivatives fill no registers side by side.
        let by_fours = T::NDERIV == 0 && surface == SurfaceRepresentation::Triangles && !law.is_own();
        let fan = Fan::new(polygon, if by_fours { SurfaceRepresentation::Polygons } else { surface });
        sum.add_surface(polygon, fan.area, &fan.centroid, surface);
        let dissipation = law.dissipation(polygon);
        let of = OfPolygon { law, v_fo: &roles.v_fo, normal: &polygon.normal, dissipation, width };
        let sum = &mut sum.wrench_on_o;
        if by_fours {
            block.add_wrench(one, &of, (polygon, &fan), rule, sum);
        } else {
            for_each_point(polygon, &fan, surface, rule, |x, p, area| *sum += of.wrench_at(x, p, area));
        }
    }
}

/// What the forces at the points of a polygon have in common.
struct OfPolygon<'a, T> {
    law: &'a TractionLaw<T>,
    /// Velocity of O relative to F at F's origin, in F.
    v_fo: &'a SpatialVelocity<T>,
    /// Unit normal out of F.
    normal: &'a Vector3<T>,
    dissipation: T,
    width: T,
}

/// Memory for the sums over polygons.
#[derive(Default)]
pub(super) struct PointBlock {
    /// x, y, z and the fields' pressure at the vertices; the first one again after the last, and then any numbers.
    vertex: [[f64; MAX_VERTICES + 2 * LANES]; 4],
    /// Moments about F's origin and forces at each point of the rule.
    wrench: [[[f64; LANES]; 6]; LARGEST_TRIANGLE_RULE],
}

impl PointBlock {
    /// Adds the wrench on O of the forces at the points of a fan's triangles, about F's origin.
    #[inline(always)]
    fn add_wrench<T: Scalar, L: Lanes>(
        &mut self,
        one: L,
        of: &OfPolygon<T>,
        (polygon, fan): (&SurfacePolygon<T>, &Fan<T>),
        rule: &[TrianglePoint],
        sum: &mut SpatialForce<T>,
    ) {
        let len = polygon.len.min(MAX_VERTICES);
        for i in 0..len {
            for axis in 0..3 {
                self.vertex[axis][i] = polygon.position[i][axis].real();
            }
            self.vertex[3][i] = polygon.pressure[i].real();
        }
        for numbers in &mut self.vertex {
            numbers[len] = numbers[0];
        }
        let (c, n) = (real_vector(&fan.centroid), LaneVector::splat(one, &real_vector(of.normal)));
        let (centroid, centre) = (LaneVector::splat(one, &c), [c.x, c.y, c.z, fan.pressure.real()]);
        for first in (0..len).step_by(LANES) {
            let (mut from, mut to) = ([one; 4], [one; 4]);
            for (axis, v) in self.vertex.iter().enumerate() {
                let i = first.min(MAX_VERTICES);
                from[axis] = one.with([v[i], v[i + 1], v[i + 2], v[i + 3]]);
                to[axis] = one.with([v[i + 1], v[i + 2], v[i + 3], v[i + 4]]);
            }
            let a = LaneVector([from[0], from[1], from[2]]) - centroid;
            let b = LaneVector([to[0], to[1], to[2]]) - centroid;
            let triangle = a.cross(b).dot(n) * one.splat(0.5);
            for (wrench, point) in self.wrench.iter_mut().zip(rule) {
                let [c, a, b] = point.barycentric;
                let mut x = from;
                for axis in 0..4 {
                    x[axis] =
                        one.splat(centre[axis] * c) + from[axis] * one.splat(a) + to[axis] * one.splat(b);
                }
                of.write_wrenches(&x, triangle * one.splat(point.weight), wrench);
            }
            for k in 0..(len - first).min(LANES) {
                for wrench in &self.wrench[..rule.len().min(LARGEST_TRIANGLE_RULE)] {
                    for axis in 0..3 {
                        sum.rotational[axis] += wrench[axis][k];
                        sum.translational[axis] += wrench[3 + axis][k];
                    }
                }
            }
        }
    }
}

impl<T: Scalar> OfPolygon<'_, T> {
    /// The wrench of the force at a point with that pressure of the fields and the area that it stands for.
    #[inline(always)]
    fn wrench_at(&self, x: &Vector3<T>, pressure: T, area: T) -> SpatialForce<T> {
        let (acting, _) = onset(pressure, self.width);
        let v = self.v_fo.translational + self.v_fo.rotational.cross(x);
        let traction = self.law.per_pressure(self.normal, &v, self.dissipation, acting);
        let force = traction * (acting * area);
        SpatialForce::new(x.cross(&force), force)
    }

    /// [`Self::wrench_at`] several points at once, written as moments and forces.
    #[inline(always)]
    fn write_wrenches<L: Lanes>(&self, &[x, y, z, pressure]: &[L; 4], area: L, out: &mut [[f64; LANES]; 6]) {
        let (one, x) = (area, LaneVector([x, y, z]));
        let real = |v: &Vector3<T>| LaneVector::splat(one, &real_vector(v));
        let (u, w, n) = (real(&self.v_fo.translational), real(&self.v_fo.rotational), real(self.normal));
        let mut acting = pressure;
        if self.width.real() != 0.0 {
            acting = one.with(pressure.numbers().map(|p| onset(p, self.width.real()).0));
        }
        let v = u + w.cross(x);
        let v_n = v.dot(n);
        let v = v - n.times(v_n);
        let mut damping = one.splat(1.0) - one.splat(self.dissipation.real()) * v_n;
        let settings = self.law.settings();
        let width = one.splat(settings.positive_part_width);
        if damping.greater(one.splat(0.0)) & !width.greater(damping) != (1 << LANES) - 1 {
            damping = one.with(damping.numbers().map(|d| positive_part(d, settings.positive_part_width)));
        }
        let (of_static, of_dynamic) = self.law.friction();
        let square = v.dot(v).numbers().map(T::from);
        let h = one.with(friction_factors(&square, of_static, of_dynamic, settings).map(|h| h.real()));
        let force = (n - v.times(h)).times(damping).times(acting * area);
        let moment = x.cross(force);
        for axis in 0..3 {
            (out[axis], out[3 + axis]) = (moment.0[axis].numbers(), force.0[axis].numbers());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use crate::contact::lanes::Narrow;
    use crate::contact::settings::{ContactSettings, FrictionRegularization as Regularization};
    use crate::contact::{Collider, ContactPair, Material};
    use crate::geometry::{Shape, triangle_rule};
    use crate::spatial::RigidTransform;

    proptest! {
        /// Side by side the forces are those of single points, to the last bit.
        #[test]
        fn forces_side_by_side_are_those_one_by_one(
            numbers in prop::collection::vec(-1.0..1.0, 4 * MAX_VERTICES),
            len in 3..=MAX_VERTICES,
            degree in 1..=5_u8,
            velocity in prop::array::uniform6(-2.0..2.0),
            scale in prop_oneof![Just(0.0), -6.0..0.0],
            friction in prop_oneof![Just([0.0, 0.0]), Just([0.5, 0.5]), Just([0.6, 0.5])],
            regularization in prop_oneof![
                Just(Regularization::Smooth), Just(Regularization::Atan), Just(Regularization::Stribeck)
            ],
            dissipation in prop_oneof![Just(0.0), 0.0..3.0],
            positive_part_width in prop_oneof![Just(0.0), 0.0..0.5],
            width in prop_oneof![Just(0.0), 0.0..1.0],
        ) {
            let [of_static, of_dynamic] = friction;
            let material = Material::new(1e5, dissipation, of_dynamic).with_static_friction(of_static);
            let ball = Collider::of_shape(&Shape::Sphere { radius: 0.1 }, 0.1, material).expect("a ball");
            let still = RigidTransform::identity();
            let pair = ContactPair::at_rest(&ball, still, &ball, still);
            let roles = Roles::new(&pair).expect("compliant");
            let settings = ContactSettings {
                friction_regularization: regularization, positive_part_width, ..Default::default()
            };
            let law = TractionLaw::new(&roles, &settings);
            let v = Vector3::from_column_slice(&velocity[..3]) * 10f64.powf(scale);
            let w = Vector3::from_column_slice(&velocity[3..]) * 10f64.powf(scale);
            let normal = Vector3::new(0.3, -0.5, 0.8).normalize();
            let v_fo = SpatialVelocity::new(w, v);
            let of = OfPolygon { law: &law, v_fo: &v_fo, normal: &normal, dissipation, width };
            let mut polygon = SurfacePolygon::empty();
            (polygon.len, polygon.normal) = (len, normal);
            for (i, vertex) in numbers.chunks(4).enumerate() {
                polygon.position[i] = Vector3::new(vertex[0], vertex[1], vertex[2]);
                polygon.pressure[i] = vertex[3];
            }
            let (mut block, mut sum, mut expected) = (PointBlock::default(), SpatialForce::zero(), SpatialForce::zero());
            let (surface, rule) = (SurfaceRepresentation::Triangles, triangle_rule(degree).expect("a rule"));
            let fan = Fan::new(&polygon, surface);
            block.add_wrench(Narrow::ANY, &of, (&polygon, &fan), rule, &mut sum);
            for_each_point(&polygon, &fan, surface, rule, |x, p, area| {
                expected += of.wrench_at(x, p, area);
            });
            prop_assert_eq!(sum, expected);
        }
    }
}
