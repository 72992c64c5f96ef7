//! Directions of friction as unknowns of their own, for Newton's method on many contacts near
//! stiction.

use nalgebra::{Vector3, Vector6};

use crate::contact::impulse::law_vectorized::Group;
use crate::contact::impulse::patch::Points;
use crate::contact::impulse::point_contacts::{DiscretePatch, PointContacts};
use crate::contact::lanes::{InLanes, LaneVector, Lanes, in_lanes};

/// [`DiscretePatch::turn_friction`].
struct TurnFriction<'a> {
    patch: &'a DiscretePatch,
    contacts: &'a PointContacts,
    v: &'a Vector6<f64>,
    dv: &'a Vector6<f64>,
    directions: &'a mut [Vector3<f64>],
}

impl InLanes for TurnFriction<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, one: L) {
        let Self { patch, contacts, v, dv, directions } = self;
        let (zero, number) = (one.splat(0.0), one.splat(1.0));
        for group in Group::all_of(patch.contacts.clone()) {
            let points = Points::new(one, contacts, &group);
            let ((v_n, v_t), (_, change)) = (points.slip(one, v), points.velocity(one, dv));
            let slopes = patch.slopes(contacts, &group, v_n, v_t.dot(v_t));
            let per_scale = slopes.per_scale;
            // Where friction is linear in the slip velocity.
            let linear = per_scale.less_equal(zero);
            let limit = patch.law.friction_of(&contacts.lists(), &group, one) * slopes.normal;
            let scale = (slopes.slip * limit.reciprocal()).zero_where(limit.less_equal(zero));
            let w = LaneVector::of(one, directions, group.indices);
            let turn = (v_t.dot(change) * per_scale).zero_where(linear);
            let w = (v_t + change - w.times(turn)).times(scale.select(linear, per_scale));
            let square = w.dot(w);
            let shorten = number.select(square.less_equal(number), square.sqrt().reciprocal());
            let [x, y, z] = w.times(shorten).0;
            let (x, y, z) = (x.numbers(), y.numbers(), z.numbers());
            for k in 0..group.count {
                directions[group.indices[k]] = Vector3::new(x[k], y[k], z[k]);
            }
        }
    }
}

impl DiscretePatch {
    /// Turns the directions of friction w as far as the change `dv` of the velocity from `v` asks
    /// for, with a part of length 1 at most.
    ///
    /// Friction is −S v_t = −μ γ_n w with ρ w = v_t, where ρ is the slip velocity or its
    /// regularized norm. Newton's method on v alone takes the radial stiffness of friction for
    /// zero and passes by v_t = 0, where it is largest. It converges in far fewer iterations if w
    /// is an unknown of its own and ρ w = v_t is made linear in both (Chan, Golub, Mulet 1999,
    /// SIAM J. Sci. Comput. 20(6); with this projection Hintermüller & Stadler 2006, 28(1)).
    pub fn turn_friction(
        &self,
        contacts: &PointContacts,
        v: &Vector6<f64>,
        dv: &Vector6<f64>,
        directions: &mut [Vector3<f64>],
    ) {
        in_lanes(TurnFriction { patch: self, contacts, v, dv, directions });
    }
}

#[cfg(test)]
pub(in crate::contact) mod tests {
    use super::*;
    use crate::contact::ContactModel;
    use crate::contact::impulse::face_velocity::split;
    use crate::contact::impulse::law::FaceConstants;
    use crate::contact::impulse::law::tests::law;
    use crate::contact::impulse::point_contacts::LoadSums;
    use crate::spatial::RigidTransform;
    use approx::assert_relative_eq;
    use nalgebra::Matrix6;

    /// A patch of three contacts, and a velocity at which they slide or (SAP's first) stick.
    pub fn patch(model: ContactModel) -> (DiscretePatch, PointContacts, Vector6<f64>) {
        let mut contacts = PointContacts {
            position: vec![
                Vector3::new(0.0, 0.0, 0.01),
                Vector3::new(0.1, -0.05, 0.0),
                Vector3::new(-0.03, 0.08, 0.02),
            ],
            normal: vec![Vector3::z(), Vector3::new(0.6, 0.0, 0.8), Vector3::new(0.0, -0.28, 0.96)],
            constants: vec![FaceConstants { load: 3.0, stiffness: 4e3, dissipation: 0.5, history: 0.02 }; 3],
            ..PointContacts::default()
        };
        let law = law(model);
        let regularize = |face| law.regularization(face);
        contacts.regularization = contacts.constants.iter().map(regularize).collect();
        let patch = DiscretePatch {
            law,
            contacts: 0..3,
            polygons: 0..0,
            features: 0..0,
            x_wf: RigidTransform::identity(),
            origin: Vector3::zeros(),
            a_is_o: true,
            inverse_inertia: Matrix6::zeros(),
            deflection_rate: None,
            aligned: false,
            is_rigid: false,
            sums: LoadSums::default(),
        };
        (patch, contacts, Vector6::new(0.3, -0.2, 0.5, 2e-3, 0.0, -0.02))
    }

    const CONVEX: [ContactModel; 3] = [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar];

    #[test]
    fn directions_of_the_velocity_give_the_derivative() {
        for model in CONVEX {
            let (patch, mut contacts, v) = patch(model);
            let (impulse, exact) = patch.impulse(&contacts, &v);
            // Directions that have followed at an unchanged velocity.
            let mut directions = vec![Vector3::zeros(); 3];
            patch.turn_friction(&contacts, &v, &Vector6::zeros(), &mut directions);
            contacts.friction_direction = directions;
            let (same, held) = patch.impulse(&contacts, &v);
            assert_eq!(impulse, same);
            assert_relative_eq!(exact, held, max_relative = 1e-12, epsilon = 1e-12 * exact.norm());
        }
    }

    #[test]
    fn directions_turn_as_their_equation_asks() {
        // At a small change of the velocity the linearized direction is the new one.
        for model in CONVEX {
            let (patch, contacts, v) = patch(model);
            let dv = Vector6::new(0.1, 0.3, -0.2, 0.1, -0.4, 0.2) * 1e-5;
            let mut turned = vec![Vector3::zeros(); 3];
            patch.turn_friction(&contacts, &v, &Vector6::zeros(), &mut turned);
            patch.turn_friction(&contacts, &v, &dv, &mut turned);
            let mut after = vec![Vector3::zeros(); 3];
            patch.turn_friction(&contacts, &(v + dv), &Vector6::zeros(), &mut after);
            for (a, b) in turned.iter().zip(&after) {
                assert!(a.norm() <= 1.0 + 1e-15);
                assert_relative_eq!(a, b, epsilon = 1e-5);
            }
        }
    }

    #[test]
    fn held_directions_keep_the_matrix_positive() {
        for model in CONVEX {
            let (patch, mut contacts, v) = patch(model);
            for turn in 0..20 {
                let angle = f64::from(turn);
                let w = Vector3::new(angle.cos(), angle.sin(), 0.0);
                contacts.friction_direction = contacts.normal.iter().map(|n| split(&w, n).1).collect();
                let (_, held) = patch.impulse(&contacts, &v);
                assert_relative_eq!(held, held.transpose(), epsilon = 1e-12 * held.norm());
                let least = held.symmetric_eigenvalues().min();
                assert!(least > -1e-12 * held.norm(), "{model:?}: {least:e}");
            }
        }
    }
}
