//! Directions of friction as unknowns of their own, for Newton's method on many contacts near
//! stiction.

use nalgebra::{Vector3, Vector6};

use super::discrete::{DiscretePatch, PointContacts, split};

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
        let part = |v: &Vector6<f64>, k: usize| Vector3::new(v[k], v[k + 1], v[k + 2]);
        for i in self.contacts.clone() {
            let (x, n, constants) = (&contacts.position[i], &contacts.normal[i], &contacts.constants[i]);
            let at = |v: &Vector6<f64>| split(&(part(v, 3) + part(v, 0).cross(x)), n);
            let ((v_n, v_t), (_, change)) = (at(v), at(dv));
            let (s, w) = (v_t.norm_squared(), &mut directions[i]);
            if let Some(rho) = self.law.slip_scale(constants, v_n, s) {
                *w = (v_t + change - *w * (v_t.dot(&change) / rho)) / rho;
            } else {
                let impulse = self.law.impulse(constants, v_n, s);
                let sticks = impulse.normal > 0.0 && self.law.friction > 0.0;
                let scale = if sticks { impulse.slip / (self.law.friction * impulse.normal) } else { 0.0 };
                *w = (v_t + change) * scale;
            }
            *w /= w.norm().max(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::ContactModel;
    use crate::contact::impulse::{FaceConstants, ImpulseLaw};
    use crate::spatial::RigidTransform;
    use approx::assert_relative_eq;
    use nalgebra::Matrix6;

    /// A patch of three contacts, and a velocity at which they slide or (SAP's first) stick.
    fn patch(model: ContactModel) -> (DiscretePatch, PointContacts, Vector6<f64>) {
        let contacts = PointContacts {
            position: vec![
                Vector3::new(0.0, 0.0, 0.01),
                Vector3::new(0.1, -0.05, 0.0),
                Vector3::new(-0.03, 0.08, 0.02),
            ],
            normal: vec![Vector3::z(), Vector3::new(0.6, 0.0, 0.8), Vector3::new(0.0, -0.28, 0.96)],
            constants: vec![FaceConstants { load: 3.0, stiffness: 4e3, dissipation: 0.5, history: 0.02 }; 3],
            ..PointContacts::default()
        };
        let law =
            ImpulseLaw { model, dt: 1e-3, stiction_velocity: 1e-2, friction: 0.5, relaxation_time: 2e-3 };
        let patch = DiscretePatch {
            law,
            contacts: 0..3,
            polygons: 0..0,
            x_wf: RigidTransform::identity(),
            a_is_o: true,
            inverse_inertia: Matrix6::zeros(),
            aligned: false,
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
