//! The impulse of a patch's point contacts at a velocity: its sum and the derivative of that, its power
//! along a change of the velocity, its cost, and the branch that each contact is in.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use crate::contact::impulse::face_velocity::split;
use crate::contact::impulse::law_vectorized::{FaceLists, Group, ImpulseSlopes};
use crate::contact::impulse::patch_matrix::{PointSum, TwistedSum};
use crate::contact::impulse::point_contacts::{DiscretePatch, PointContacts};
use crate::contact::lanes::{InLanes, LaneVector, Lanes, in_lanes};
use crate::spatial::{cross_matrix, from_quarters};

/// The relative motion at the origin, in F: its rotational and its translational part.
#[inline(always)]
pub(in crate::contact) fn parts(v: &Vector6<f64>) -> (Vector3<f64>, Vector3<f64>) {
    (Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]))
}

/// Four contacts of a patch.
pub(in crate::contact) struct Points<L> {
    position: LaneVector<L>,
    normal: LaneVector<L>,
    slip_shift: Option<LaneVector<L>>,
}

impl<L: Lanes> Points<L> {
    #[inline(always)]
    pub fn new(one: L, contacts: &PointContacts, group: &Group) -> Self {
        Self {
            position: LaneVector::of(one, &contacts.position, group.indices),
            normal: LaneVector::of(one, &contacts.normal, group.indices),
            slip_shift: (!contacts.slip_shift.is_empty())
                .then(|| LaneVector::of(one, &contacts.slip_shift, group.indices)),
        }
    }

    /// Their velocity by a relative motion: the part normal to the faces, and the tangential one
    /// (see [`split`]).
    #[inline(always)]
    pub fn velocity(&self, one: L, v: &Vector6<f64>) -> (L, LaneVector<L>) {
        let (angular, linear) = parts(v);
        let v = LaneVector::splat(one, &linear) + LaneVector::splat(one, &angular).cross(self.position);
        let v_n = v.dot(self.normal);
        let v_t = v - self.normal.times(v_n);
        (v_n, v_t - self.normal.times(v_t.dot(self.normal)))
    }

    /// The normal velocity and the slip velocity that their law takes at a relative motion: with bristles that
    /// is the tangential velocity with the shift of their deflection.
    #[inline(always)]
    pub fn slip(&self, one: L, v: &Vector6<f64>) -> (L, LaneVector<L>) {
        let (v_n, v_t) = self.velocity(one, v);
        match self.slip_shift {
            None => (v_n, v_t),
            Some(shift) => (v_n, v_t + shift),
        }
    }
}

/// slip 1 + a nᵀ + z tᵀ + t zᵀ, for a along n: xx, xy, xz, yy, yz, zz.
#[inline(always)]
fn contact_matrix<L: Lanes>(
    slip: L,
    a: LaneVector<L>,
    n: LaneVector<L>,
    t: LaneVector<L>,
    z: LaneVector<L>,
) -> [L; 6] {
    let (a, n, t, z) = (a.0, n.0, t.0, z.0);
    let (x, y) = (t[0] * z[0], t[1] * z[1]);
    let zz = t[2] * z[2];
    [
        slip + a[0] * n[0] + (x + x),
        a[0] * n[1] + (t[0] * z[1] + t[1] * z[0]),
        a[0] * n[2] + (t[0] * z[2] + t[2] * z[0]),
        slip + a[1] * n[1] + (y + y),
        a[1] * n[2] + (t[1] * z[2] + t[2] * z[1]),
        slip + a[2] * n[2] + (zz + zz),
    ]
}

/// [`DiscretePatch::impulse`].
struct Impulse<'a>(&'a DiscretePatch, &'a PointContacts, &'a Vector6<f64>);

impl InLanes for Impulse<'_> {
    type Output = (Vector6<f64>, Matrix6<f64>);

    #[inline(always)]
    fn run<L: Lanes>(self, one: L) -> Self::Output {
        let Self(patch, contacts, v) = self;
        let mut force = LaneVector::splat(one, &Vector3::zeros());
        let mut torque = force;
        // −∂γ/∂v of a contact is S 1 + α n̂ n̂ᵀ + β n̂ v_tᵀ + β' v_t n̂ᵀ + δ v_t v_tᵀ, with β = β' but
        // for TAMSI. G = S 1 + α n̂ n̂ᵀ + z v_tᵀ + v_t zᵀ is its symmetric part.
        let (mut sum, mut twisted) = (PointSum::zero(one), TwistedSum::zero(one));
        let (zero, half) = (one.splat(0.0), one.splat(0.5));
        let convex = patch.law.model.is_convex();
        for group in Group::all_of(patch.contacts.clone()) {
            let points = Points::new(one, contacts, &group);
            let (x, n) = (points.position, points.normal);
            let (v_n, t) = points.slip(one, v);
            let slopes = patch.slopes(contacts, &group, v_n, t.dot(t));
            let gamma = n.times(slopes.normal) - t.times(slopes.slip);
            force = force + gamma;
            torque = torque + x.cross(gamma);
            let mut beta = slopes.slip_by[0];
            if !convex {
                // v_t n̂ᵀ − n̂ v_tᵀ = [n̂ × v_t]×.
                let twist = half * slopes.slip_by[0] + slopes.normal_by[1];
                twisted.add(x, n.cross(t).times(twist));
                beta = beta - twist;
            }
            let (mut z, mut along) = (n.times(beta), slopes.slip_by[1]);
            if !contacts.friction_direction.is_empty() {
                let w = LaneVector::of(one, &contacts.friction_direction, group.indices);
                let held = half * slopes.slip * slopes.per_scale;
                along = along + held * slopes.per_scale;
                z = z - w.times(held);
            }
            let alpha = zero - slopes.normal_by[0] - slopes.slip;
            sum.add(x, contact_matrix(slopes.slip, n.times(alpha), n, t, z + t.times(along)));
        }
        let mut hessian = sum.matrix();
        if !convex {
            twisted.add_to(&mut hessian);
        }
        let (torque, force) = (torque.sum(), force.sum());
        (Vector6::new(torque.x, torque.y, torque.z, force.x, force.y, force.z), hessian)
    }
}

/// [`DiscretePatch::along`].
struct Along<'a>(&'a DiscretePatch, &'a PointContacts, &'a Vector6<f64>, &'a Vector6<f64>);

impl InLanes for Along<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run<L: Lanes>(self, one: L) -> Self::Output {
        let Self(patch, contacts, v, dv) = self;
        let (mut power, mut curvature) = (one.splat(0.0), one.splat(0.0));
        for group in Group::all_of(patch.contacts.clone()) {
            let points = Points::new(one, contacts, &group);
            let ((v_n, v_t), (d_n, d_t)) = (points.slip(one, v), points.velocity(one, dv));
            let slopes = patch.slopes(contacts, &group, v_n, v_t.dot(v_t));
            let turning = v_t.dot(d_t);
            power = power + (slopes.normal * d_n - slopes.slip * turning);
            let by_square = turning + turning;
            let d_normal = slopes.normal_by[0] * d_n + slopes.normal_by[1] * by_square;
            let d_slip = slopes.slip_by[0] * d_n + slopes.slip_by[1] * by_square;
            curvature = curvature - (d_normal * d_n - d_slip * turning - slopes.slip * d_t.dot(d_t));
        }
        (power.sum(), curvature.sum())
    }
}

/// How the slip velocity v of a contact changes to v + dv.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlipChange {
    /// ‖v‖².
    pub before: f64,
    /// v·dv.
    pub along: f64,
    /// ‖dv‖².
    pub change: f64,
    /// ‖v + dv‖².
    pub after: f64,
}

/// [`DiscretePatch::least_of_slips`].
struct LeastOfSlips<'a, F> {
    patch: &'a DiscretePatch,
    contacts: &'a PointContacts,
    v: &'a Vector6<f64>,
    dv: &'a Vector6<f64>,
    least: f64,
    limit: F,
}

impl<F: Fn(&SlipChange) -> f64> InLanes for LeastOfSlips<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self, one: L) -> f64 {
        let Self { patch, contacts, v, dv, mut least, limit } = self;
        for group in Group::all_of(patch.contacts.clone()) {
            let points = Points::new(one, contacts, &group);
            let ((v_n, t), (_, change)) = (points.slip(one, v), points.velocity(one, dv));
            let (square, end) = (t.dot(t), t + change);
            let squares = square.numbers();
            let (v_n, along) = (v_n.numbers(), t.dot(change).numbers());
            let (change, after) = (change.dot(change).numbers(), end.dot(end).numbers());
            for k in 0..group.count {
                let (before, along, change, after) = (squares[k], along[k], change[k], after[k]);
                let limit = limit(&SlipChange { before, along, change, after });
                let constants = &contacts.constants[group.indices[k]];
                let law = || patch.law_of(contacts, group.indices[k]);
                if limit < least && law().impulse(constants, v_n[k], before).normal > 0.0 {
                    least = limit;
                }
            }
        }
        least
    }
}

impl PointContacts {
    /// What the contacts' impulses depend on.
    #[inline(always)]
    pub(in crate::contact) fn lists(&self) -> FaceLists<'_> {
        let Self { constants, friction, regularization, frozen_normal: frozen, .. } = self;
        FaceLists { constants, friction, regularization, frozen }
    }

    /// The normal velocity and the slip velocity that the law of one contact takes at a relative motion about
    /// the patch's origin, as [`Points::slip`] has them.
    pub(in crate::contact) fn slip(&self, index: usize, v: &Vector6<f64>) -> (f64, Vector3<f64>) {
        let (angular, linear) = parts(v);
        let (v_n, v_t) = split(&(linear + angular.cross(&self.position[index])), &self.normal[index]);
        (v_n, self.slip_shift.get(index).map_or(v_t, |shift| v_t + shift))
    }
}

impl DiscretePatch {
    /// The map of a velocity at F's origin to that at the patch's.
    fn velocity_map(&self) -> Matrix6<f64> {
        let (one, zero) = (Matrix3::identity(), Matrix3::zeros());
        from_quarters(one, zero, -cross_matrix(&self.origin), one)
    }

    /// An impulse and its negative derivative with respect to the velocity, as [`Self::impulse`] gives
    /// them, both about F's origin.
    pub fn about_f(&self, (impulse, matrix): &(Vector6<f64>, Matrix6<f64>)) -> (Vector6<f64>, Matrix6<f64>) {
        let map = self.velocity_map();
        (map.tr_mul(impulse), map.tr_mul(matrix) * map)
    }

    /// The impulse on O about F's origin, at the velocity of O relative to F there, in F.
    pub fn impulse_at_f(&self, contacts: &PointContacts, v: &Vector6<f64>) -> Vector6<f64> {
        let map = self.velocity_map();
        map.tr_mul(&self.impulse(contacts, &(map * v)).0)
    }

    /// The impulses of contacts with their derivatives; those of TAMSI with the normal impulses
    /// that its friction is taken from, if they are held.
    #[inline(always)]
    pub(in crate::contact) fn slopes<L: Lanes>(
        &self,
        contacts: &PointContacts,
        group: &Group,
        v_n: L,
        s: L,
    ) -> ImpulseSlopes<L> {
        self.law.slopes(&contacts.lists(), group, v_n, s)
    }

    /// The impulse on O about the patch's origin, and its negative derivative with respect to the
    /// velocity: both rows and columns rotational, then translational. `v` is the velocity of O relative
    /// to F at the patch's origin, in F.
    ///
    /// Where directions of friction are held the derivative of friction is that of S ρ w instead,
    /// made symmetric: S (1 − ½ (w uᵀ + u wᵀ)) with u = v_t/ρ, see [`Self::turn_friction`].
    pub fn impulse(&self, contacts: &PointContacts, v: &Vector6<f64>) -> (Vector6<f64>, Matrix6<f64>) {
        in_lanes(Impulse(self, contacts, v))
    }

    /// The power of the impulse along a change `dv` of the velocity from `v`, dvᵀ w(v), and its
    /// negative derivative along `dv`.
    pub fn along(&self, contacts: &PointContacts, v: &Vector6<f64>, dv: &Vector6<f64>) -> (f64, f64) {
        in_lanes(Along(self, contacts, v, dv))
    }

    /// Calls `visit` with every contact's number in [`PointContacts`] and its normal impulse at
    /// the velocity `v`.
    pub fn for_each_normal(
        &self,
        contacts: &PointContacts,
        v: &Vector6<f64>,
        mut visit: impl FnMut(usize, f64),
    ) {
        for i in self.contacts.clone() {
            let (v_n, v_t) = contacts.slip(i, v);
            let law = self.law_of(contacts, i);
            visit(i, law.impulse(&contacts.constants[i], v_n, v_t.norm_squared()).normal);
        }
    }

    /// Calls `visit` with every contact's number in the patch and its branch of the impulse at the
    /// velocity `v` (see [`crate::contact::impulse::law::ImpulseLaw::branch`]); between rigid bodies with those alone that
    /// push, as others are found or not without a difference.
    pub fn for_each_branch(
        &self,
        contacts: &PointContacts,
        v: &Vector6<f64>,
        mut visit: impl FnMut(usize, u8),
    ) {
        let mut number = 0;
        for i in self.contacts.clone() {
            let (v_n, v_t) = contacts.slip(i, v);
            let (law, face, s) = (self.law_of(contacts, i), &contacts.constants[i], v_t.norm_squared());
            if !self.is_rigid || law.impulse(face, v_n, s).normal > 0.0 {
                visit(number, law.branch(face, v_n, s));
                number += 1;
            }
        }
    }

    /// The smallest of `least` and the values of `limit` for all contacts that bear load at the velocity
    /// `v`. `limit` is given how the contact's slip velocity changes along `dv`.
    pub fn least_of_slips(
        &self,
        contacts: &PointContacts,
        v: &Vector6<f64>,
        dv: &Vector6<f64>,
        least: f64,
        limit: impl Fn(&SlipChange) -> f64,
    ) -> f64 {
        in_lanes(LeastOfSlips { patch: self, contacts, v, dv, least, limit })
    }
}

#[cfg(test)]
mod tests;
