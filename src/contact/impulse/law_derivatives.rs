//! The impulse of one face with its derivatives with respect to all that it depends on: by evaluation in dual numbers.

use crate::contact::impulse::arguments::{
    ARGUMENTS, DISSIPATION, FRICTION, HISTORY, ImpulseDerivatives, LOAD, RELAXATION_TIME, SQUARE, STIFFNESS,
    VELOCITY,
};
use crate::contact::impulse::law::{FaceConstants, Impulse, ImpulseLaw, OwnImpulse, tamsi_per_slip};
use crate::contact::own_law::OWN_PARAMETERS;
use crate::scalar::DualArray;

/// What the impulse depends on with a law of the user's own besides: the combined coefficient of static friction,
/// and from the next index on the combined parameters of the law.
const STATIC_FRICTION: usize = ARGUMENTS;
const ALL_ARGUMENTS: usize = ARGUMENTS + 1 + OWN_PARAMETERS;

/// The derivatives of γ_n and of S that are those of a law of the user's own alone.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct OwnDerivatives {
    /// With respect to the combined coefficient of static friction.
    pub by_static_friction: [f64; 2],
    /// With respect to the combined parameters of the law.
    pub by_parameters: [[f64; 2]; OWN_PARAMETERS],
}

impl ImpulseLaw<f64> {
    /// [`Self::impulse`] with its derivatives with respect to the first `N` arguments.
    #[inline(always)]
    fn by_first<const N: usize>(&self, face: &FaceConstants<f64>, v_n: f64, s: f64) -> Impulse<DualArray<N>> {
        let variable = |value: f64, index: usize| match index < N {
            true => DualArray::variable(value, index),
            false => DualArray::constant(value),
        };
        let law = ImpulseLaw {
            friction: variable(self.friction, FRICTION),
            relaxation_time: variable(self.relaxation_time, RELAXATION_TIME),
            own: self.own.map(|own| OwnImpulse {
                law: own.law,
                static_friction: variable(own.static_friction, STATIC_FRICTION),
                parameters: std::array::from_fn(|k| variable(own.parameters[k], STATIC_FRICTION + 1 + k)),
                part: own.part,
            }),
            ..self.lift()
        };
        let face = FaceConstants {
            load: variable(face.load, LOAD),
            stiffness: variable(face.stiffness, STIFFNESS),
            dissipation: variable(face.dissipation, DISSIPATION),
            history: variable(face.history, HISTORY),
        };
        law.impulse(&face, variable(v_n, VELOCITY), variable(s, SQUARE))
    }

    /// [`Self::impulse`] with its derivatives.
    #[inline(always)]
    pub(in crate::contact) fn derivatives(
        &self,
        face: &FaceConstants<f64>,
        v_n: f64,
        s: f64,
    ) -> ImpulseDerivatives {
        let Impulse { normal, slip } = self.by_first::<ARGUMENTS>(face, v_n, s);
        ImpulseDerivatives { normal: normal.re, slip: slip.re, normal_by: normal.eps, slip_by: slip.eps }
    }

    /// γ_n with a law of the user's own, and its friction per slip velocity and normal impulse, with their derivatives
    /// with respect to the normal velocity and the squared slip velocity.
    #[inline(never)]
    pub(in crate::contact) fn own_factors(
        &self,
        face: &FaceConstants<f64>,
        v_n: f64,
        s: f64,
    ) -> Option<[DualArray<2>; 2]> {
        let law = self.lift();
        let own = law.own.as_ref()?;
        let [load, stiffness, dissipation, history] =
            [face.load, face.stiffness, face.dissipation, face.history].map(DualArray::constant);
        let face = FaceConstants { load, stiffness, dissipation, history };
        let s = DualArray::variable(s, SQUARE);
        let per = law.own_friction(own, &face, s) * tamsi_per_slip(s, law.stiction_velocity);
        Some([law.own_normal(own, &face, DualArray::variable(v_n, VELOCITY)), per])
    }

    /// The derivatives of γ_n and S with a law of the user's own with respect to static friction and each of the
    /// law's parameters.
    #[inline(never)]
    pub(in crate::contact) fn own_derivatives(
        &self,
        face: &FaceConstants<f64>,
        v_n: f64,
        s: f64,
    ) -> OwnDerivatives {
        let Impulse { normal, slip } = self.by_first::<ALL_ARGUMENTS>(face, v_n, s);
        let by = |index: usize| [normal.eps[index], slip.eps[index]];
        OwnDerivatives {
            by_static_friction: by(STATIC_FRICTION),
            by_parameters: std::array::from_fn(|k| by(STATIC_FRICTION + 1 + k)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::ContactModel;
    use crate::contact::impulse::law::tests::{STATES, face, history, laws};
    use approx::assert_relative_eq;

    /// Faces that are soft, and one that is near rigid; one that parts so fast before the step that
    /// nothing is left of Lagged's friction; and one without stiffness.
    fn faces(model: ContactModel) -> [FaceConstants<f64>; 4] {
        let face = face(history(model));
        let rigid = FaceConstants { load: 60.0, stiffness: 8e5, ..face };
        [face, rigid, FaceConstants { history: 0.9, ..face }, FaceConstants { stiffness: 0.0, ..face }]
    }

    /// γ_n and S of a law and a face at all that the law's own part depends on, too.
    fn impulse(law: &ImpulseLaw<f64>, x: &[f64]) -> [f64; 2] {
        let own = law.own.map(|own| OwnImpulse {
            static_friction: x[STATIC_FRICTION],
            parameters: std::array::from_fn(|k| x[STATIC_FRICTION + 1 + k]),
            ..own
        });
        let law = ImpulseLaw { friction: x[FRICTION], relaxation_time: x[RELAXATION_TIME], own, ..*law };
        let face = FaceConstants {
            load: x[LOAD],
            stiffness: x[STIFFNESS],
            dissipation: x[DISSIPATION],
            history: x[HISTORY],
        };
        let found = law.impulse(&face, x[VELOCITY], x[SQUARE]);
        [found.normal, found.slip]
    }

    #[test]
    fn they_agree_with_differences() {
        for law in laws() {
            for face in faces(law.model) {
                for (v_n, v_t) in STATES {
                    let mut at = vec![v_n, v_t * v_t, face.load, face.stiffness, face.dissipation];
                    at.extend([law.friction, law.relaxation_time, face.history]);
                    let exact = law.derivatives(&face, v_n, v_t * v_t);
                    let mut by: Vec<[f64; 2]> =
                        exact.normal_by.into_iter().zip(exact.slip_by).map(|(n, s)| [n, s]).collect();
                    if let Some(own) = &law.own {
                        at.push(own.static_friction);
                        at.extend(own.parameters);
                        let found = law.own_derivatives(&face, v_n, v_t * v_t);
                        by.push(found.by_static_friction);
                        by.extend(found.by_parameters);
                        let [normal, per] = law.own_factors(&face, v_n, v_t * v_t).unwrap();
                        assert_relative_eq!(
                            normal.eps[VELOCITY],
                            exact.normal_by[VELOCITY],
                            max_relative = 1e-14
                        );
                        let slip = normal * per;
                        assert_relative_eq!(slip.re, exact.slip, max_relative = 1e-14);
                        assert_relative_eq!(slip.eps[SQUARE], exact.slip_by[SQUARE], max_relative = 1e-12);
                    }
                    for (k, by) in by.into_iter().enumerate() {
                        let step = 1e-5 * at[k].abs();
                        if step == 0.0 {
                            continue;
                        }
                        let (mut plus, mut minus) = (at.clone(), at.clone());
                        plus[k] += step;
                        minus[k] -= step;
                        let (plus, minus) = (impulse(&law, &plus), impulse(&law, &minus));
                        for (i, value) in [exact.normal, exact.slip].into_iter().enumerate() {
                            let difference = (plus[i] - minus[i]) / (2.0 * step);
                            let epsilon = 1e-9 * value.abs() / step;
                            assert_relative_eq!(by[i], difference, max_relative = 1e-6, epsilon = epsilon);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_law_of_the_users_own_counts() {
        let law = laws().pop().unwrap();
        for (v_n, v_t) in STATES {
            let [face, ..] = faces(law.model);
            let exact = law.derivatives(&face, v_n, v_t * v_t);
            let found = law.own_derivatives(&face, v_n, v_t * v_t);
            let counts = found.by_parameters.iter().all(|by| by[1] != 0.0);
            assert!(exact.normal == 0.0 || found.by_static_friction[1] != 0.0 && counts);
        }
    }
}
