//! The impulse of a patch's point contacts as the velocity asks for it: its sum with its
//! derivative, its power along a change of the velocity, its cost, and what its contacts do.

use nalgebra::{Matrix3, Matrix6, Vector3, Vector6};

use super::discrete::{DiscretePatch, PointContacts, split};
use crate::spatial::cross_matrix;

/// How far a model lifts sliding bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Glide {
    /// Slip velocity, averaged over the normal impulse, m/s.
    pub slip_velocity: f64,
    /// The gap that the model opens at that velocity, m.
    pub gap: f64,
    /// The depth at which elastic forces alone would balance the normal impulse, m.
    pub depth: f64,
    /// The part of the normal impulse that acts between faces that have parted at the end of
    /// the step: without the gap they would bear nothing.
    pub across_gap: f64,
}

impl DiscretePatch {
    /// The normal impulse that a contact's friction is taken from, if it is held.
    #[inline(always)]
    fn frozen(contacts: &PointContacts, i: usize) -> Option<f64> {
        contacts.frozen_normal.get(i).copied()
    }

    /// The impulse on O about F's origin, and its negative derivative by the velocity: both rows
    /// and columns rotational, then translational. `v` is the velocity of O relative to F at F's
    /// origin, in F.
    ///
    /// Where directions of friction are held the derivative of friction is that of S ρ w instead,
    /// made symmetric: S (1 − ½ (w uᵀ + u wᵀ)) with u = v_t/ρ, see [`Self::turn_friction`].
    pub fn impulse(&self, contacts: &PointContacts, v: &Vector6<f64>) -> (Vector6<f64>, Matrix6<f64>) {
        let (angular, linear) = (Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]));
        let (mut torque, mut force) = (Vector3::zeros(), Vector3::zeros());
        // −∂γ/∂v of a contact is S 1 + n̂ aᵀ + v_t bᵀ with a and b in the plane of n̂ and v_t. As
        // functions of the relative motion n̂ and v_t become p = (x × n̂, n̂) and q alike; the sums
        // of S, S x and S x xᵀ make up the first part.
        let (mut slip, mut slip_x, mut slip_xx) = (0.0, Vector3::zeros(), Matrix3::zeros());
        let mut hessian = Matrix6::zeros();
        for i in self.contacts.clone() {
            let (x, n) = (&contacts.position[i], &contacts.normal[i]);
            let (v_n, v_t) = split(&(linear + angular.cross(x)), n);
            let frozen = Self::frozen(contacts, i);
            let slopes = self.law.slopes(&contacts.constants[i], v_n, v_t.norm_squared(), frozen);
            if slopes.normal == 0.0 && slopes.slip == 0.0 {
                continue;
            }
            let gamma = n * slopes.normal - v_t * slopes.slip;
            force += gamma;
            torque += x.cross(&gamma);
            let scaled = x * slopes.slip;
            slip += slopes.slip;
            slip_x += scaled;
            slip_xx += scaled * x.transpose();
            let wrench = |d: &Vector3<f64>| {
                let m = x.cross(d);
                Vector6::new(m.x, m.y, m.z, d.x, d.y, d.z)
            };
            let (p, q) = (wrench(n), wrench(&v_t));
            let a = p * (-slopes.normal_by[0] - slopes.slip) - q * (2.0 * slopes.normal_by[1]);
            let b = p * slopes.slip_by[0] + q * (2.0 * slopes.slip_by[1]);
            if let Some(w) = contacts.friction_direction.get(i)
                && let Some(rho) = self.law.slip_scale(&contacts.constants[i], v_n, v_t.norm_squared())
            {
                let turned = wrench(&(v_t - w * rho)) * (0.5 * slopes.slip / (rho * rho));
                hessian += turned * q.transpose() + q * turned.transpose();
            }
            for k in 0..6 {
                for i in 0..6 {
                    hessian[(i, k)] += p[i] * a[k] + q[i] * b[k];
                }
            }
        }
        // Lᵀ L with the velocity L = (−[x]× 1) of a point.
        let lever = cross_matrix(&slip_x);
        let square = slip_xx.trace();
        for k in 0..3 {
            for i in 0..3 {
                hessian[(i, k)] -= slip_xx[(i, k)];
                hessian[(i, 3 + k)] += lever[(i, k)];
                hessian[(3 + i, k)] -= lever[(i, k)];
            }
            hessian[(k, k)] += square;
            hessian[(3 + k, 3 + k)] += slip;
        }
        (Vector6::new(torque.x, torque.y, torque.z, force.x, force.y, force.z), hessian)
    }

    /// The power of the impulse along a change `dv` of the velocity from `v`, dvᵀ w(v), and its
    /// negative derivative along `dv`.
    pub fn along(&self, contacts: &PointContacts, v: &Vector6<f64>, dv: &Vector6<f64>) -> (f64, f64) {
        let part = |v: &Vector6<f64>, k: usize| Vector3::new(v[k], v[k + 1], v[k + 2]);
        let (angular, linear) = (part(v, 0), part(v, 3));
        let (d_angular, d_linear) = (part(dv, 0), part(dv, 3));
        let (mut power, mut curvature) = (0.0, 0.0);
        for i in self.contacts.clone() {
            let (x, n) = (&contacts.position[i], &contacts.normal[i]);
            let (v_n, v_t) = split(&(linear + angular.cross(x)), n);
            let (d_n, d_t) = split(&(d_linear + d_angular.cross(x)), n);
            let frozen = Self::frozen(contacts, i);
            let slopes = self.law.slopes(&contacts.constants[i], v_n, v_t.norm_squared(), frozen);
            let turning = v_t.dot(&d_t);
            power += slopes.normal * d_n - slopes.slip * turning;
            let d_normal = slopes.normal_by[0] * d_n + slopes.normal_by[1] * 2.0 * turning;
            let d_slip = slopes.slip_by[0] * d_n + slopes.slip_by[1] * 2.0 * turning;
            curvature -= d_normal * d_n - d_slip * turning - slopes.slip * d_t.norm_squared();
        }
        (power, curvature)
    }

    /// Calls `visit` with every contact's number in [`PointContacts`] and its normal impulse at
    /// the velocity `v`.
    pub fn for_each_normal(
        &self,
        contacts: &PointContacts,
        v: &Vector6<f64>,
        mut visit: impl FnMut(usize, f64),
    ) {
        let (angular, linear) = (Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]));
        for i in self.contacts.clone() {
            let (v_n, v_t) = split(&(linear + angular.cross(&contacts.position[i])), &contacts.normal[i]);
            visit(i, self.law.impulse(&contacts.constants[i], v_n, v_t.norm_squared()).normal);
        }
    }

    /// Calls `visit` with the slip velocity of every contact that bears load at the velocity `v`,
    /// and with its change along `dv`.
    pub fn for_each_slip(
        &self,
        contacts: &PointContacts,
        v: &Vector6<f64>,
        dv: &Vector6<f64>,
        visit: &mut impl FnMut(&Vector3<f64>, &Vector3<f64>),
    ) {
        let part = |v: &Vector6<f64>, k: usize| Vector3::new(v[k], v[k + 1], v[k + 2]);
        for i in self.contacts.clone() {
            let (x, n) = (&contacts.position[i], &contacts.normal[i]);
            let at = |v: &Vector6<f64>| split(&(part(v, 3) + part(v, 0).cross(x)), n);
            let (v_n, v_t) = at(v);
            if self.law.impulse(&contacts.constants[i], v_n, v_t.norm_squared()).normal > 0.0 {
                visit(&v_t, &at(dv).1);
            }
        }
    }

    /// What the model's gap under sliding is, at the velocity `v`; `None` for models without one,
    /// and where no contact bears load.
    pub fn glide(&self, contacts: &PointContacts, v: &Vector6<f64>) -> Option<Glide> {
        let time = self.law.gap_time()?;
        let (angular, linear) = (Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]));
        let (mut impulse, mut across, mut slip, mut stiffness) = (0.0, 0.0, 0.0, 0.0);
        for i in self.contacts.clone() {
            let (v_n, v_t) = split(&(linear + angular.cross(&contacts.position[i])), &contacts.normal[i]);
            let constants = &contacts.constants[i];
            let normal = self.law.impulse(constants, v_n, v_t.norm_squared()).normal;
            if normal > 0.0 {
                if constants.stiffness * v_n * time > constants.load {
                    across += normal;
                }
                impulse += normal;
                slip += normal * v_t.norm();
                stiffness += self.law.stiffness_at_rest(constants);
            }
        }
        if impulse == 0.0 {
            return None;
        }
        let slip_velocity = slip / impulse;
        let gap = time * self.law.friction * slip_velocity;
        let depth = impulse / (self.law.dt * stiffness);
        Some(Glide { slip_velocity, gap, depth, across_gap: across / impulse })
    }

    /// The cost of the patch's impulses, J; `None` for TAMSI.
    pub fn cost(&self, contacts: &PointContacts, v: &Vector6<f64>) -> Option<f64> {
        let (angular, linear) = (Vector3::new(v[0], v[1], v[2]), Vector3::new(v[3], v[4], v[5]));
        self.contacts.clone().try_fold(0.0, |sum, i| {
            let (v_n, v_t) = split(&(linear + angular.cross(&contacts.position[i])), &contacts.normal[i]);
            Some(sum + self.law.cost(&contacts.constants[i], v_n, v_t.norm_squared())?)
        })
    }
}
