//! The cost of contacts of which a convex model's step is the minimum, four faces at a time.

use nalgebra::Vector6;

use crate::contact::ContactModel;
use crate::contact::impulse::law::{FaceConstants, ImpulseLaw};
use crate::contact::impulse::law_vectorized::{FaceLists, Group, each};
use crate::contact::impulse::patch::Points;
use crate::contact::impulse::point_contacts::{DiscretePatch, PointContacts};
use crate::contact::lanes::{InLanes, Lanes, Narrow, in_lanes};

/// Velocities at which an impulse vanishes are taken for out of reach from here on, m/s.
const OUT_OF_REACH: f64 = 1e3;

/// The integrals of the Hunt–Crossley impulse δt (f − δt k u)₊ (1 − d u)₊, with load f, stiffness k
/// and dissipation d, from the velocity u = v to where it vanishes; to 0 where that is out of reach, as with little
/// stiffness and damping.
#[inline(always)]
fn hunt_crossley_costs<L: Lanes>(dt: f64, face: &FaceConstants<L>, v: L) -> L {
    let (zero, one, dt, infinity) = (v.splat(0.0), v.splat(1.0), v.splat(dt), v.splat(f64::INFINITY));
    let (f, k, d) = (face.load, face.stiffness * dt, face.dissipation);
    let (rigid, undamped) = (k.less_equal(zero), d.less_equal(zero));
    let elastic_end = infinity.select(rigid, f * one.select(rigid, k).reciprocal());
    let damping_end = infinity.select(undamped, one.select(undamped, d).reciprocal());
    let end = elastic_end.select(elastic_end.less_equal(damping_end), damping_end);
    // ∫ (f − k u)(1 − d u) du, about the end, where the integrand is (a + k w)(b + d w), w = end − u.
    let (a, b, w) = (f - k * end, one - d * end, end - v);
    let mean = (a * d + b * k) * v.splat(0.5) + w * k * d * v.splat(1.0 / 3.0);
    let to_end = (dt * w * (a * b + w * mean)).zero_where(w.less_equal(zero));
    let until = v.select(v.less_equal(end), end);
    let mean = (k + f * d) * v.splat(-0.5) + until * k * d * v.splat(1.0 / 3.0);
    (zero - dt * until * (f + until * mean)).select(v.splat(OUT_OF_REACH).less_equal(end), to_end)
}

/// The integral of the Hunt–Crossley impulse δt (f − δt k u)₊ (1 − d u)₊, with load f, stiffness k
/// and dissipation d, from the velocity u = v to where it vanishes.
pub(crate) fn hunt_crossley_cost(dt: f64, load: f64, stiffness: f64, dissipation: f64, v: f64) -> f64 {
    let [load, stiffness, dissipation, history, v] =
        [load, stiffness, dissipation, 0.0, v].map(|x| Narrow::ANY.splat(x));
    hunt_crossley_costs(dt, &FaceConstants { load, stiffness, dissipation, history }, v).numbers()[0]
}

impl ImpulseLaw<f64> {
    /// The costs ℓ in J of the faces in lists, up to a number that the velocity does not change. Their negative
    /// gradients with respect to the velocity are the impulses. TAMSI has no cost; zero is returned.
    #[inline(always)]
    fn costs<L: Lanes>(&self, lists: &FaceLists, group: &Group, v_n: L, s: L) -> L {
        let (zero, v_s) = (v_n.splat(0.0), v_n.splat(self.stiction_velocity));
        let mu = self.friction_of(lists, group, v_n);
        match self.model {
            ContactModel::Lagged => {
                let face = lists.constants_of(group, v_n);
                let damping = v_n.splat(1.0) - face.dissipation * face.history;
                let lagged = (face.load * damping * v_n.splat(self.dt)).zero_where(damping.less_equal(zero));
                hunt_crossley_costs(self.dt, &face, v_n) + mu * lagged * ((s + v_s * v_s).sqrt() - v_s)
            }
            ContactModel::Similar => {
                let lifted = v_n - mu * ((s + v_s * v_s).sqrt() - v_s);
                hunt_crossley_costs(self.dt, &lists.constants_of(group, v_n), lifted)
            }
            ContactModel::Sap => self.sap_costs(lists, group, v_n, s),
            ContactModel::Tamsi => zero,
        }
    }

    /// SAP's costs ½ γᵀ R γ, without the constant ½ v̂_n²/R_n, which is infinite without stiffness.
    #[inline(always)]
    fn sap_costs<L: Lanes>(&self, lists: &FaceLists, group: &Group, v_n: L, s: L) -> L {
        let (zero, half, mu) = (v_n.splat(0.0), v_n.splat(0.5), self.friction_of(lists, group, v_n));
        let faces = group.of(lists.regularization);
        let at_rest = each(v_n, faces, |f| f.at_rest);
        let per_normal = each(v_n, faces, |f| f.per_normal);
        let tangential = each(v_n, faces, |f| f.tangential);
        let (y_n, speed) = (at_rest - v_n * per_normal, s.sqrt());
        let pushed = mu * speed;
        let pulled = (zero - y_n).zero_where(zero.less_equal(y_n));
        let sticks = (speed + pulled).less_equal(mu * y_n * tangential);
        let parted = y_n.less_equal(zero - pushed * per_normal);
        let lifted = v_n - pushed;
        let slides = half
            * each(v_n, faces, |f| f.sliding)
            * (lifted * (per_normal * lifted - at_rest - at_rest) - mu * mu * tangential * at_rest * at_rest);
        let sticking = half * s * tangential.reciprocal() - v_n * (at_rest - half * per_normal * v_n);
        // There is stiffness where it parts, or no load.
        let one = v_n.splat(1.0);
        let stiff = one.select(per_normal.less_equal(zero), per_normal);
        let apart = zero - half * at_rest * at_rest * stiff.reciprocal();
        sticking.select(sticks, apart.select(parted, slides)).zero_where(group.beyond(v_n))
    }
}

/// [`DiscretePatch::cost`].
struct Cost<'a>(&'a DiscretePatch, &'a PointContacts, &'a Vector6<f64>);

impl InLanes for Cost<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<L: Lanes>(self, one: L) -> f64 {
        let Self(patch, contacts, v) = self;
        let mut sum = one.splat(0.0);
        for group in Group::all_of(patch.contacts.clone()) {
            let (v_n, v_t) = Points::new(one, contacts, &group).slip(one, v);
            sum = sum + patch.law.costs(&contacts.lists(), &group, v_n, v_t.dot(v_t));
        }
        sum.sum()
    }
}

impl DiscretePatch {
    /// The cost of the patch's impulses in J, up to a number that the velocity does not change; `None` for TAMSI.
    pub fn cost(&self, contacts: &PointContacts, v: &Vector6<f64>) -> Option<f64> {
        self.law.model.is_convex().then(|| in_lanes(Cost(self, contacts, v)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::impulse::friction_direction::tests::patch;
    use crate::contact::impulse::law::tests::{MODELS, STATES, face, history, law};
    use approx::assert_relative_eq;

    #[test]
    fn impulses_are_the_negative_gradient_of_the_cost() {
        for model in MODELS.into_iter().filter(|m| m.is_convex()) {
            let law = law(model);
            let (soft, rigid) =
                (face(history(model)), FaceConstants { stiffness: 8e5, ..face(history(model)) });
            let undamped = FaceConstants { dissipation: 0.0, ..soft };
            let no_stiffness = FaceConstants { stiffness: 0.0, ..soft };
            let a_load = FaceConstants { stiffness: 0.0, ..undamped };
            for face in [soft, rigid, undamped, no_stiffness, a_load] {
                let (constants, regularization) = ([face], [law.regularization(&face)]);
                let (constants, regularization) = (&constants, &regularization);
                let lists = FaceLists { constants, friction: &[], regularization, frozen: &[] };
                let one = Group { indices: [0; 4], count: 1 };
                let cost = |v_n: f64, v_t: f64| {
                    let [v_n, s] = [v_n, v_t * v_t].map(|x| Narrow::ANY.splat(x));
                    let [cost, others @ ..] = law.costs(&lists, &one, v_n, s).numbers();
                    assert_eq!(others, [0.0; 3]);
                    cost
                };
                for (v_n, v_t) in STATES {
                    let h = 1e-7;
                    let got = law.impulse(&face, v_n, v_t * v_t);
                    let normal = -(cost(v_n + h, v_t) - cost(v_n - h, v_t)) / (2.0 * h);
                    let tangential = -(cost(v_n, v_t + h) - cost(v_n, v_t - h)) / (2.0 * h);
                    assert_relative_eq!(got.normal, normal, max_relative = 1e-5, epsilon = 1e-10);
                    assert_relative_eq!(-got.slip * v_t, tangential, max_relative = 1e-5, epsilon = 1e-10);
                }
            }
        }
    }

    #[test]
    fn a_patch_has_the_cost_of_its_contacts() {
        for model in MODELS {
            let (mut patch, contacts, v) = patch(model);
            let all = patch.cost(&contacts, &v);
            assert_eq!(all.is_some(), model.is_convex());
            let one_by_one = (0..3).map(|i| {
                patch.contacts = i..i + 1;
                patch.cost(&contacts, &v)
            });
            if let (Some(all), Some(sum)) = (all, one_by_one.sum::<Option<f64>>()) {
                assert!(all.is_finite() && all != 0.0);
                assert_relative_eq!(all, sum, max_relative = 1e-14);
            }
        }
    }
}
