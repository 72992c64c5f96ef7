//! Points of one polygon that tractions are evaluated at side by side, as many as wide registers hold.
//!
//! Every number is made by the operations of [`TractionLaw::per_pressure`], in their order, and the forces are summed in the order
//! of the points: to the last bit the sum is that over single points.

use nalgebra::Vector3;

use crate::contact::force::friction::friction_factors;
use crate::contact::force::skirt_onset::onset;
use crate::contact::force::traction::{TractionLaw, positive_part};
use crate::scalar::Scalar;
use crate::spatial::{SpatialForce, SpatialVelocity};

/// Points in a block.
pub(super) const LANES: usize = 4;

/// A number at every point.
pub(super) type Lanes<T> = [T; LANES];

/// Points with the fields' pressure and the area that each stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointBlock<T> {
    position: [Lanes<T>; 3],
    pressure: Lanes<T>,
    area: Lanes<T>,
    pub len: usize,
}

/// What the forces at the points of a polygon have in common.
pub(super) struct OfPolygon<'a, T> {
    pub law: &'a TractionLaw<T>,
    /// Velocity of O relative to F at F's origin, in F.
    pub v_fo: &'a SpatialVelocity<T>,
    /// Unit normal out of F.
    pub normal: &'a Vector3<T>,
    pub dissipation: T,
    /// The width of the onset of the pressure, Pa.
    pub width: T,
}

impl<T: Scalar> PointBlock<T> {
    /// A block without points.
    pub fn empty() -> Self {
        let zero = [T::from(0.0); LANES];
        Self { position: [zero; 3], pressure: zero, area: zero, len: 0 }
    }

    /// Adds a point to a block that is not full.
    #[inline(always)]
    pub fn push(&mut self, x: &Vector3<T>, pressure: T, area: T) {
        let k = self.len % LANES;
        for axis in 0..3 {
            self.position[axis][k] = x[axis];
        }
        (self.pressure[k], self.area[k]) = (pressure, area);
        self.len = k + 1;
    }

    /// Adds the wrench on O of the forces at the points, about F's origin, and forgets the points.
    #[inline(always)]
    pub fn add_wrench(&mut self, of: &OfPolygon<T>, wrench: &mut SpatialForce<T>) {
        let mut acting = self.pressure;
        if of.width.real() != 0.0 {
            acting = acting.map(|p| onset(p, of.width).0);
        }
        // Numbers with derivatives fill no registers side by side.
        let force = match T::NDERIV == 0 && !of.law.is_own() {
            true => self.forces(of, &acting),
            false => self.forces_one_by_one(of, &acting),
        };
        for k in 0..self.len {
            let at = |lanes: &[Lanes<T>; 3]| Vector3::new(lanes[0][k], lanes[1][k], lanes[2][k]);
            let (x, force) = (at(&self.position), at(&force));
            *wrench += SpatialForce::new(x.cross(&force), force);
        }
        self.len = 0;
    }

    fn forces_one_by_one(&self, of: &OfPolygon<T>, acting: &Lanes<T>) -> [Lanes<T>; 3] {
        let mut forces = [[T::from(0.0); LANES]; 3];
        for k in 0..self.len {
            let x = Vector3::from(self.position.map(|lanes| lanes[k]));
            let v = of.v_fo.translational + of.v_fo.rotational.cross(&x);
            let traction = of.law.per_pressure(of.normal, &v, of.dissipation, acting[k]);
            let force = traction * (acting[k] * self.area[k]);
            (0..3).for_each(|axis| forces[axis][k] = force[axis]);
        }
        forces
    }

    /// The same at all points at once, those that there are not included.
    #[inline(always)]
    fn forces(&self, of: &OfPolygon<T>, acting: &Lanes<T>) -> [Lanes<T>; 3] {
        let zero = [T::from(0.0); LANES];
        let (u, w, n) = (&of.v_fo.translational, &of.v_fo.rotational, of.normal);
        let [x, y, z] = &self.position;
        let (mut v, mut square, mut damping) = ([zero; 3], zero, zero);
        for k in 0..LANES {
            let v_k = [
                u.x + (w.y * z[k] - w.z * y[k]),
                u.y + (w.z * x[k] - w.x * z[k]),
                u.z + (w.x * y[k] - w.y * x[k]),
            ];
            let v_n = v_k[0] * n.x + v_k[1] * n.y + v_k[2] * n.z;
            for axis in 0..3 {
                v[axis][k] = v_k[axis] - n[axis] * v_n;
            }
            square[k] = v[0][k] * v[0][k] + v[1][k] * v[1][k] + v[2][k] * v[2][k];
            damping[k] = T::from(1.0) - of.dissipation * v_n;
        }
        let settings = of.law.settings();
        let width = settings.positive_part_width;
        let positive = damping.iter().fold(true, |all, d| all & (d.real() >= width) & (d.real() > 0.0));
        if !positive {
            damping = damping.map(|d| positive_part(d, width));
        }
        let (of_static, of_dynamic) = of.law.friction();
        let h = friction_factors(&square, of_static, of_dynamic, settings);
        let mut force = [zero; 3];
        for axis in 0..3 {
            for k in 0..LANES {
                force[axis][k] = (n[axis] - v[axis][k] * h[k]) * damping[k] * (acting[k] * self.area[k]);
            }
        }
        force
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use crate::contact::pair::query::Roles;
    use crate::contact::settings::{ContactSettings, FrictionRegularization as Regularization};
    use crate::contact::{Collider, ContactPair, Material};
    use crate::geometry::Shape;
    use crate::spatial::RigidTransform;

    proptest! {
        /// Side by side the forces are those of single points, to the last bit.
        #[test]
        fn forces_side_by_side_are_those_one_by_one(
            numbers in prop::array::uniform20(-1.0..1.0),
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
            let mut block = PointBlock::empty();
            for point in numbers.chunks(5) {
                block.push(&Vector3::new(point[0], point[1], point[2]), point[3], point[4]);
                let acting = block.pressure.map(|p| onset(p, width).0);
                let (at_once, one_by_one) = (block.forces(&of, &acting), block.forces_one_by_one(&of, &acting));
                for axis in 0..3 {
                    prop_assert_eq!(&at_once[axis][..block.len], &one_by_one[axis][..block.len]);
                }
            }
        }
    }
}
