//! The impulse of one face with its derivatives with respect to all that it depends on, in closed form.

use crate::contact::ContactModel;
use crate::contact::impulse::arguments::{
    ByArgument, DISSIPATION, FRICTION, HISTORY, ImpulseDerivatives, LOAD, NONE, RELAXATION_TIME, SQUARE,
    STIFFNESS, VELOCITY, by_one, combine, times,
};
use crate::contact::impulse::law::{FaceConstants, ImpulseLaw, OwnImpulse, sap_regularization};
use crate::contact::own_law::{
    ByArguments, FIRST_OF_PAIR, FIRST_OWN, OWN_PARAMETERS, PRESSURE, SECOND_OF_PAIR, SPEED,
};

/// TAMSI's friction per slip velocity and normal impulse over μ, and its derivative with respect to s.
#[inline(always)]
fn tamsi_slip(s: f64, v_s: f64) -> (f64, f64) {
    if s >= v_s * v_s {
        let per_speed = 1.0 / s.sqrt();
        (per_speed, -0.5 * per_speed * (per_speed * per_speed))
    } else if s > 0.0 {
        let speed = s.sqrt();
        ((2.0 - speed / v_s) / v_s, -0.5 / (speed * v_s * v_s))
    } else {
        (2.0 / v_s, 0.0)
    }
}

/// The derivatives of γ_n and of S that are those of a law of the user's own alone.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct OwnDerivatives {
    /// With respect to the combined coefficient of static friction.
    pub by_static_friction: [f64; 2],
    /// With respect to the combined parameters of the law.
    pub by_parameters: [[f64; 2]; OWN_PARAMETERS],
}

/// The Hunt–Crossley impulse at the normal velocity `v` with its derivatives, that with respect to `v`
/// in the place of the normal velocity.
#[inline(always)]
fn hunt_crossley(dt: f64, face: &FaceConstants<f64>, v: f64) -> (f64, ByArgument) {
    let elastic = face.load - face.stiffness * v * dt;
    let damping = 1.0 - face.dissipation * v;
    if elastic <= 0.0 || damping <= 0.0 {
        return (0.0, NONE);
    }
    let mut by = NONE;
    by[VELOCITY] = -dt * (face.stiffness * dt * damping + face.dissipation * elastic);
    by[LOAD] = damping * dt;
    by[STIFFNESS] = -v * dt * damping * dt;
    by[DISSIPATION] = -v * elastic * dt;
    (elastic * damping * dt, by)
}

impl ImpulseLaw<f64> {
    /// [`Self::impulse`] with its derivatives.
    #[inline(always)]
    pub(in crate::contact) fn derivatives(
        &self,
        face: &FaceConstants<f64>,
        v_n: f64,
        s: f64,
    ) -> ImpulseDerivatives {
        let (mu, v_s) = (self.friction, self.stiction_velocity);
        match self.model {
            ContactModel::Lagged => {
                let (normal, normal_by) = hunt_crossley(self.dt, face, v_n);
                let per_scale = 1.0 / (s + v_s * v_s).sqrt();
                let damping = 1.0 - face.dissipation * face.history;
                let mut slip_by = NONE;
                let mut slip = 0.0;
                if damping > 0.0 {
                    let lagged = face.load * damping * self.dt;
                    let per_damping = -mu * face.load * self.dt * per_scale;
                    slip = mu * lagged * per_scale;
                    slip_by[SQUARE] = -0.5 * slip * (per_scale * per_scale);
                    slip_by[LOAD] = mu * damping * self.dt * per_scale;
                    slip_by[DISSIPATION] = per_damping * face.history;
                    slip_by[FRICTION] = lagged * per_scale;
                    slip_by[HISTORY] = per_damping * face.dissipation;
                }
                ImpulseDerivatives { normal, slip, normal_by, slip_by }
            }
            ContactModel::Similar => {
                let soft = (s + v_s * v_s).sqrt();
                let per_scale = 1.0 / soft;
                let (normal, mut normal_by) = hunt_crossley(self.dt, face, v_n - mu * (soft - v_s));
                normal_by[SQUARE] = -0.5 * mu * per_scale * normal_by[VELOCITY];
                normal_by[FRICTION] = -(soft - v_s) * normal_by[VELOCITY];
                let slip = mu * normal * per_scale;
                let mut slip_by = times(&normal_by, mu * per_scale);
                slip_by[SQUARE] -= 0.5 * slip * (per_scale * per_scale);
                slip_by[FRICTION] += normal * per_scale;
                ImpulseDerivatives { normal, slip, normal_by, slip_by }
            }
            ContactModel::Tamsi => {
                if let Some(own) = &self.own {
                    return self.own_derivatives(own, face, v_n, s).0;
                }
                let (normal, normal_by) = hunt_crossley(self.dt, face, v_n);
                let (per, per_by_square) = tamsi_slip(s, v_s);
                let mut slip_by = times(&normal_by, mu * per);
                slip_by[SQUARE] += mu * normal * per_by_square;
                slip_by[FRICTION] += normal * per;
                ImpulseDerivatives { normal, slip: mu * normal * per, normal_by, slip_by }
            }
            ContactModel::Sap => self.sap_derivatives(face, v_n, s),
        }
    }

    /// Friction per slip velocity and normal impulse with a law of the user's own, and its derivative
    /// with respect to the squared slip velocity.
    pub(in crate::contact) fn own_slip_per_normal(&self, face: &FaceConstants<f64>, s: f64) -> [f64; 2] {
        let Some(own) = &self.own else { return [0.0; 2] };
        let point = self.own_friction_point(own, face, s);
        let friction = own.law.friction_slopes(&point) * own.part;
        let (per, per_by_square) = tamsi_slip(s, self.stiction_velocity);
        // The slip speed √(s + v_s²) grows by ds over twice itself.
        let by_square = 0.5 * friction.eps[SPEED] / point.slip_speed;
        [friction.re * per, friction.re * per_by_square + by_square * per]
    }

    /// The derivatives with a law of the user's own, and those of γ_n and S with respect to static
    /// friction and each of the law's parameters.
    #[inline(never)]
    pub(in crate::contact) fn own_derivatives(
        &self,
        own: &OwnImpulse<f64>,
        face: &FaceConstants<f64>,
        v_n: f64,
        s: f64,
    ) -> (ImpulseDerivatives, OwnDerivatives) {
        let dt = self.dt;
        let point = self.own_friction_point(own, face, s);
        let friction = own.law.friction_slopes(&point) * own.part;
        let mut damping = own.law.damping_slopes(&own.damping_point(face, v_n));
        let mut elastic = face.load - face.stiffness * v_n * dt;
        let mut normal_by = NONE;
        if elastic > 0.0 {
            normal_by[VELOCITY] = dt * (elastic * damping.eps[SPEED] - face.stiffness * dt * damping.re);
            normal_by[LOAD] = damping.re * dt;
            normal_by[STIFFNESS] = -v_n * dt * damping.re * dt;
            normal_by[DISSIPATION] = elastic * damping.eps[FIRST_OF_PAIR] * dt;
            normal_by[HISTORY] = elastic * damping.eps[PRESSURE] * dt;
        } else {
            (elastic, damping) = (0.0, ByArguments::constant(0.0));
        }
        let normal = elastic * damping.re * dt;
        let (per, _) = tamsi_slip(s, self.stiction_velocity);
        let mu = friction.re;
        let mut slip_by = times(&normal_by, mu * per);
        let [per_normal, per_normal_by_square] = self.own_slip_per_normal(face, s);
        slip_by[SQUARE] += normal * per_normal_by_square;
        slip_by[FRICTION] += normal * per * friction.eps[SECOND_OF_PAIR];
        slip_by[HISTORY] += normal * per * friction.eps[PRESSURE];
        let derivatives = ImpulseDerivatives { normal, slip: normal * per_normal, normal_by, slip_by };
        let by_own = OwnDerivatives {
            by_static_friction: [0.0, normal * per * friction.eps[FIRST_OF_PAIR]],
            by_parameters: std::array::from_fn(|k| {
                let by = elastic * damping.eps[FIRST_OWN + k] * dt;
                [by, by * mu * per + normal * per * friction.eps[FIRST_OWN + k]]
            }),
        };
        (derivatives, by_own)
    }

    /// [`Self::derivatives`] of SAP.
    #[inline(always)]
    fn sap_derivatives(&self, face: &FaceConstants<f64>, v_n: f64, s: f64) -> ImpulseDerivatives {
        let mu = self.friction;
        let [per_n, r_t, at_rest] = sap_regularization(self, face);
        let (per_t, period) = (1.0 / r_t, self.relaxation_time + self.dt);
        let log_t = 1.0 / face.history;
        // R_t is proportional to w, or to one over the load.
        let r_t_by = if self.sticks_by_inertia(face) {
            by_one(HISTORY, log_t)
        } else {
            by_one(LOAD, -1.0 / face.load)
        };
        // Of 1/R_n: it is the face's own unless that is near rigid.
        let (mut per_n_by, mut y_by) = (NONE, NONE);
        if per_n == face.stiffness * period * self.dt {
            per_n_by[STIFFNESS] = period * self.dt;
            per_n_by[RELAXATION_TIME] = face.stiffness * self.dt;
            y_by[LOAD] = self.dt;
        } else {
            per_n_by[HISTORY] = -per_n * log_t;
            y_by[LOAD] = per_n / (face.stiffness * period);
            y_by[STIFFNESS] = -at_rest / face.stiffness;
            y_by[RELAXATION_TIME] = -at_rest / period;
            y_by[HISTORY] = -at_rest * log_t;
        }
        let y_n = at_rest - v_n * per_n;
        let mut y_by = combine(&y_by, 1.0, &per_n_by, -v_n);
        y_by[VELOCITY] -= per_n;
        let (speed, ratio) = (s.sqrt(), mu * r_t * per_n);
        if y_n >= 0.0 && speed * per_t <= mu * y_n {
            let slip_by = times(&r_t_by, -per_t);
            return ImpulseDerivatives { normal: y_n, slip: per_t, normal_by: y_by, slip_by };
        }
        let pushed = mu * speed * per_n;
        if y_n <= -pushed {
            return ImpulseDerivatives { normal: 0.0, slip: 0.0, normal_by: NONE, slip_by: NONE };
        }
        // γ_n = (y_n + μ ‖v_t‖/R_n)/(1 + μ² R_t/R_n), S = μ γ_n/‖v_t‖: it slides, at a positive speed.
        let (per_speed, sliding) = (1.0 / speed, 1.0 / (1.0 + mu * ratio));
        let normal = (y_n + pushed) * sliding;
        let slip = mu * normal * per_speed;
        let held = normal * mu * ratio;
        let mut normal_by = combine(&y_by, sliding, &per_n_by, sliding * mu * (speed - normal * mu * r_t));
        normal_by[SQUARE] += sliding * 0.5 * mu * per_n * per_speed;
        normal_by[FRICTION] += sliding * (speed * per_n - 2.0 * normal * ratio);
        let normal_by = combine(&normal_by, 1.0, &r_t_by, -sliding * held);
        let mut slip_by = times(&normal_by, mu * per_speed);
        slip_by[SQUARE] -= 0.5 * slip * (per_speed * per_speed);
        slip_by[FRICTION] += normal * per_speed;
        ImpulseDerivatives { normal, slip, normal_by, slip_by }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::impulse::arguments::ARGUMENTS;
    use crate::contact::impulse::law::tests::{STATES, face, history, laws};
    use crate::scalar::DualArray;
    use approx::assert_relative_eq;

    type Dual = DualArray<ARGUMENTS>;

    /// Faces that are soft, and one that is near rigid; one that parts so fast before the step that
    /// nothing is left of Lagged's friction; and one without stiffness.
    fn faces(model: ContactModel) -> [FaceConstants<f64>; 4] {
        let face = face(history(model));
        let rigid = FaceConstants { load: 60.0, stiffness: 8e5, ..face };
        [face, rigid, FaceConstants { history: 0.9, ..face }, FaceConstants { stiffness: 0.0, ..face }]
    }

    #[test]
    fn they_are_those_of_dual_numbers() {
        for law in laws() {
            let seeded = ImpulseLaw {
                friction: Dual::variable(law.friction, FRICTION),
                relaxation_time: Dual::variable(law.relaxation_time, RELAXATION_TIME),
                ..law.lift()
            };
            for face in faces(law.model) {
                let constants = FaceConstants {
                    load: Dual::variable(face.load, LOAD),
                    stiffness: Dual::variable(face.stiffness, STIFFNESS),
                    dissipation: Dual::variable(face.dissipation, DISSIPATION),
                    history: Dual::variable(face.history, HISTORY),
                };
                for (v_n, v_t) in STATES.into_iter().chain([(-0.01, 0.0), (0.2, 0.0)]) {
                    let s = v_t * v_t;
                    let got = law.derivatives(&face, v_n, s);
                    let (v_n, s) = (Dual::variable(v_n, VELOCITY), Dual::variable(s, SQUARE));
                    let expected = seeded.impulse(&constants, v_n, s);
                    for (value, by, expected) in
                        [(got.normal, got.normal_by, expected.normal), (got.slip, got.slip_by, expected.slip)]
                    {
                        assert_relative_eq!(value, expected.re, max_relative = 1e-14);
                        for k in 0..ARGUMENTS {
                            let epsilon = 1e-13 * (expected.re.abs() + expected.eps[k].abs());
                            assert_relative_eq!(
                                by[k],
                                expected.eps[k],
                                epsilon = epsilon,
                                max_relative = 1e-11
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn those_by_a_law_of_the_users_own_are_those_of_dual_numbers() {
        const OWN: usize = OWN_PARAMETERS + 1;
        type D = DualArray<OWN>;
        let law = laws().pop().unwrap();
        let own = law.own.unwrap();
        let mut seeded = law.lift::<D>();
        let seeds = seeded.own.as_mut().unwrap();
        seeds.static_friction = D::variable(own.static_friction, 0);
        seeds.parameters = std::array::from_fn(|k| D::variable(own.parameters[k], k + 1));
        for face in faces(law.model) {
            let constants = FaceConstants {
                load: D::from(face.load),
                stiffness: D::from(face.stiffness),
                dissipation: D::from(face.dissipation),
                history: D::from(face.history),
            };
            for (v_n, v_t) in STATES.into_iter().chain([(-0.01, 0.0)]) {
                let (_, got) = law.own_derivatives(&own, &face, v_n, v_t * v_t);
                let expected = seeded.impulse(&constants, D::from(v_n), D::from(v_t * v_t));
                let by = std::iter::once(got.by_static_friction).chain(got.by_parameters);
                for (k, [normal, slip]) in by.enumerate() {
                    assert_relative_eq!(normal, expected.normal.eps[k], max_relative = 1e-12);
                    assert_relative_eq!(slip, expected.slip.eps[k], max_relative = 1e-12);
                    assert!(expected.normal.re == 0.0 || slip != 0.0);
                }
            }
        }
    }

    #[test]
    fn they_agree_with_differences() {
        for law in laws() {
            for face in faces(law.model) {
                for (v_n, v_t) in STATES {
                    let at = [
                        v_n,
                        v_t * v_t,
                        face.load,
                        face.stiffness,
                        face.dissipation,
                        law.friction,
                        law.relaxation_time,
                        face.history,
                    ];
                    let impulse = |x: [f64; ARGUMENTS]| {
                        let law =
                            ImpulseLaw { friction: x[FRICTION], relaxation_time: x[RELAXATION_TIME], ..law };
                        let face = FaceConstants {
                            load: x[LOAD],
                            stiffness: x[STIFFNESS],
                            dissipation: x[DISSIPATION],
                            history: x[HISTORY],
                        };
                        let found = law.impulse(&face, x[VELOCITY], x[SQUARE]);
                        [found.normal, found.slip]
                    };
                    let exact = law.derivatives(&face, v_n, v_t * v_t);
                    for k in 0..ARGUMENTS {
                        let step = 1e-5 * at[k].abs();
                        if step == 0.0 {
                            continue;
                        }
                        let (mut plus, mut minus) = (at, at);
                        plus[k] += step;
                        minus[k] -= step;
                        let (plus, minus) = (impulse(plus), impulse(minus));
                        let both = [(exact.normal, exact.normal_by[k]), (exact.slip, exact.slip_by[k])];
                        for (i, (value, by)) in both.into_iter().enumerate() {
                            let difference = (plus[i] - minus[i]) / (2.0 * step);
                            let epsilon = 1e-9 * value.abs() / step;
                            assert_relative_eq!(by, difference, max_relative = 1e-6, epsilon = epsilon);
                        }
                    }
                }
            }
        }
    }
}
