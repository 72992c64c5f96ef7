//! The traction at a point of the contact surface (Elandt §V, eq. 2–7), and its derivatives.

use nalgebra::Vector3;

use crate::contact::force::friction::{friction_factor, friction_weights, slip_quotient};
use crate::contact::own_law::{
    DampingPoint, FIRST_OF_PAIR, FIRST_OWN, FrictionPoint, OWN_PARAMETERS, OwnLaw, PRESSURE, SECOND_OF_PAIR,
    SPEED,
};
use crate::contact::pair::collider::Collider;
use crate::contact::pair::material::PairMaterial;
use crate::contact::pair::query::Roles;
use crate::contact::settings::{ContactSettings, DissipationModel};
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::scalar::{DualArray, Scalar};

/// The positive part of `x`, smoothed over |x| < `width` by a parabola so that its derivative
/// is continuous; exact outside, and everywhere if `width` is 0.
///
/// At width 0 the derivative at x = 0 is that from below, 0.
#[inline]
pub(crate) fn positive_part<T: Scalar>(x: T, width: f64) -> T {
    let value = x.real();
    if value >= width && value > 0.0 {
        x
    } else if value <= -width || width == 0.0 {
        T::from(0.0)
    } else {
        let lifted = x + width;
        lifted * lifted * (0.25 / width)
    }
}

/// What a traction depends on besides the contact surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TractionLaw<T> {
    pair: PairMaterial<T>,
    /// χ/E of both bodies, summed. for the strain-rate form; 1/(Pa/s).
    strain_rate: T,
    settings: ContactSettings<T>,
}

/// Where O's and F's own dissipation enter the strain-rate form, 1/Pa each.
fn compliance<T: Scalar>(c: &Collider<T>, stiffness_length: T) -> T {
    if c.geometry.is_rigid() { T::from(0.0) } else { stiffness_length / c.material.hydroelastic_modulus }
}

impl<T: Scalar> TractionLaw<T> {
    /// The law between two bodies.
    pub fn new(roles: &Roles<T>, settings: &ContactSettings<T>) -> Self {
        let (o, f) = (roles.o, roles.f);
        let pair = PairMaterial::of(o, f, settings.law);
        let strain_rate = compliance(o, o.material.dissipation) + compliance(f, f.material.dissipation);
        Self { pair, strain_rate, settings: *settings }
    }

    /// The dissipation κ, in s/m, of the factor (1 − κ v_n)₊ on one polygon.
    ///
    /// For Hunt–Crossley it is the combined dissipation. In the strain-rate form (Elandt eq. 3)
    /// the extent of body i at the contact surface grows at the rate ε̇_i = −g v_n / E_i, with g
    /// the gradients of both fields in series (Masterjohn eq. 14), so that
    /// κ = g (χ_O/E_O + χ_F/E_F).
    pub fn dissipation(&self, polygon: &SurfacePolygon<T>) -> T {
        match self.settings.dissipation_model {
            DissipationModel::HuntCrossley => self.pair.dissipation,
            DissipationModel::StrainRate => polygon.gradient_in_series() * self.strain_rate,
        }
    }

    /// The combined parameters.
    pub fn pair(&self) -> &PairMaterial<T> {
        &self.pair
    }

    /// χ/E of both bodies, summed.
    pub fn strain_rate(&self) -> T {
        self.strain_rate
    }

    /// The combined parameters as derivatives are taken with respect to them: in the strain-rate form
    /// with the sum of χ/E in the place of the dissipation.
    pub fn parameters(&self) -> PairMaterial<T> {
        match self.settings.dissipation_model {
            DissipationModel::HuntCrossley => self.pair,
            DissipationModel::StrainRate => PairMaterial { dissipation: self.strain_rate, ..self.pair },
        }
    }

    /// Whether the law is one of the user's own.
    pub fn is_own(&self) -> bool {
        self.settings.law.is_some()
    }

    /// The law with other coefficients of friction, static and dynamic.
    pub fn with_friction(self, static_friction: T, dynamic_friction: T) -> Self {
        Self { pair: PairMaterial { static_friction, dynamic_friction, ..self.pair }, ..self }
    }

    /// The settings.
    pub fn settings(&self) -> &ContactSettings<T> {
        &self.settings
    }

    /// The combined friction coefficients, static and dynamic.
    pub fn friction(&self) -> (T, T) {
        (self.pair.static_friction, self.pair.dynamic_friction)
    }

    /// The traction on O per unit of the undamped pressure that acts, `pressure`. O moves with velocity
    /// `v` relative to F, and `n` is the unit normal into O. The traction is φ (n − h v_t) with the
    /// damping factor φ = (1 − κ v_n)₊ and the friction factor h, or with those of a law of the user's
    /// own.
    #[inline]
    pub fn per_pressure(&self, n: &Vector3<T>, v: &Vector3<T>, dissipation: T, pressure: T) -> Vector3<T> {
        let v_n = v.dot(n);
        let v_t = v - n * v_n;
        if let Some(law) = self.settings.law {
            let s = v_t.dot(&v_t);
            let damping = law.damping(&self.damping_point(pressure, v_n, dissipation));
            let h = law.friction(&self.friction_point(pressure, s)) * slip_quotient(s, &self.settings);
            return (n - v_t * h) * damping;
        }
        let (static_friction, dynamic_friction) = self.friction();
        let h = friction_factor(v_t.dot(&v_t), static_friction, dynamic_friction, &self.settings);
        let damping = positive_part(T::from(1.0) - dissipation * v_n, self.settings.positive_part_width);
        (n - v_t * h) * damping
    }
}

impl<T: Scalar> TractionLaw<T> {
    /// What an own law's damping factor depends on.
    fn damping_point(&self, pressure: T, normal_velocity: T, dissipation: T) -> DampingPoint<T> {
        DampingPoint { pressure, normal_velocity, dissipation, own: self.pair.own }
    }

    /// What an own law's coefficient of friction depends on, at the square `s` of the slip speed.
    fn friction_point(&self, pressure: T, s: T) -> FrictionPoint<T> {
        let slip_speed = (s + self.settings.stiction_velocity * self.settings.stiction_velocity).sqrt();
        let (static_friction, dynamic_friction) = self.friction();
        FrictionPoint { pressure, slip_speed, static_friction, dynamic_friction, own: self.pair.own }
    }
}

/// The traction per unit of undamped pressure with its derivatives, as factors of the normal n,
/// the tangential velocity v_t, and products of them.
pub(crate) struct TractionDerivatives {
    /// The tangential velocity.
    pub v_t: Vector3<f64>,
    /// The traction per pressure: factors of n and v_t.
    pub value: [f64; 2],
    /// With respect to the velocity: factors of n nᵀ, v_t nᵀ, v_t v_tᵀ and the identity.
    pub by_velocity: [f64; 4],
    /// With respect to a change of the normal, which is at right angles to it: factors of n v_tᵀ, v_t
    /// v_tᵀ and the identity.
    pub by_normal: [f64; 3],
    /// With respect to the dissipation κ: factors of n and v_t.
    pub by_dissipation: [f64; 2],
    /// With respect to the static friction coefficient: factor of v_t.
    pub by_static_friction: f64,
    /// With respect to the dynamic friction coefficient: factor of v_t.
    pub by_dynamic_friction: f64,
}

/// What the traction per unit of undamped pressure depends on besides, with a law of the user's own: factors
/// of the normal n and the tangential velocity v_t.
pub(crate) struct OwnTractionDerivatives {
    /// With respect to the pressure.
    pub by_pressure: [f64; 2],
    /// With respect to each of the law's own parameters.
    pub by_own: [[f64; 2]; OWN_PARAMETERS],
}

impl TractionLaw<f64> {
    /// The law in another scalar, without derivatives.
    pub fn lift<T: Scalar>(&self) -> TractionLaw<T> {
        let Self { pair, strain_rate, settings } = self;
        TractionLaw { pair: pair.map(T::from), strain_rate: T::from(*strain_rate), settings: settings.lift() }
    }

    /// [`Self::per_pressure`] with its derivatives, in closed form. `OWN` says whether the law is the
    /// user's own; code that only such a law needs is compiled out of other loops.
    #[inline(always)]
    pub fn derivatives<const OWN: bool>(
        &self,
        n: &Vector3<f64>,
        v: &Vector3<f64>,
        dissipation: f64,
        pressure: f64,
    ) -> (TractionDerivatives, Option<OwnTractionDerivatives>) {
        if OWN && let Some(law) = self.settings.law {
            let (derivatives, own) = self.with_own(law, n, v, dissipation, pressure);
            return (derivatives, Some(own));
        }
        (self.built_in_derivatives(n, v, dissipation), None)
    }

    /// The derivatives of a traction with a law of the user's own: φ (n − μ q v_t) with its damping
    /// factor φ, its coefficient of friction μ and the regularization q.
    #[inline(never)]
    fn with_own(
        &self,
        law: OwnLaw,
        n: &Vector3<f64>,
        v: &Vector3<f64>,
        dissipation: f64,
        pressure: f64,
    ) -> (TractionDerivatives, OwnTractionDerivatives) {
        let v_n = v.dot(n);
        let v_t = v - n * v_n;
        let s = v_t.norm_squared();
        let point = self.friction_point(pressure, s);
        let damping = law.damping_slopes(&self.damping_point(pressure, v_n, dissipation));
        let friction = law.friction_slopes(&point);
        let q = slip_quotient(DualArray::<1>::variable(s, 0), &self.settings.lift());
        let (phi, mu) = (damping.re, friction.re);
        let h = mu * q.re;
        // The slip speed grows by ds/(2 r).
        let h_slope = friction.eps[SPEED] / (2.0 * point.slip_speed) * q.re + mu * q.eps[0];
        let by_v_n = [phi * h + damping.eps[SPEED], -h * damping.eps[SPEED]];
        let slip = 2.0 * h_slope * phi;
        let by = |phi_by: f64, mu_by: f64| [phi_by, -phi_by * h - phi * q.re * mu_by];
        let derivatives = TractionDerivatives {
            v_t,
            value: [phi, -phi * h],
            by_velocity: [by_v_n[0], by_v_n[1], -slip, -phi * h],
            by_normal: [by_v_n[0], by_v_n[1] + slip * v_n, phi * (1.0 + h * v_n)],
            by_dissipation: by(damping.eps[FIRST_OF_PAIR], 0.0),
            by_static_friction: -friction.eps[FIRST_OF_PAIR] * q.re * phi,
            by_dynamic_friction: -friction.eps[SECOND_OF_PAIR] * q.re * phi,
        };
        let own = OwnTractionDerivatives {
            by_pressure: by(damping.eps[PRESSURE], friction.eps[PRESSURE]),
            by_own: std::array::from_fn(|k| by(damping.eps[FIRST_OWN + k], friction.eps[FIRST_OWN + k])),
        };
        (derivatives, own)
    }

    /// [`Self::derivatives`] of the built-in laws.
    #[inline(always)]
    fn built_in_derivatives(
        &self,
        n: &Vector3<f64>,
        v: &Vector3<f64>,
        dissipation: f64,
    ) -> TractionDerivatives {
        let v_n = v.dot(n);
        let v_t = v - n * v_n;
        let (static_friction, dynamic_friction) = self.friction();
        let [of_static, of_dynamic] =
            friction_weights(DualArray::<1>::variable(v_t.norm_squared(), 0), &self.settings.lift());
        let h = static_friction * of_static.re + dynamic_friction * of_dynamic.re;
        let h_slope = static_friction * of_static.eps[0] + dynamic_friction * of_dynamic.eps[0];
        let damping = positive_part(
            DualArray::<1>::variable(1.0 - dissipation * v_n, 0),
            self.settings.positive_part_width,
        );
        let (phi, phi_slope) = (damping.re, damping.eps[0]);
        // The traction is φ (n − h v_t). v_n enters through the damping φ and through
        // v_t = v − n v_n, v_t also through h.
        let by_v_n = [phi * h - dissipation * phi_slope, h * dissipation * phi_slope];
        let slip = 2.0 * h_slope * phi;
        TractionDerivatives {
            v_t,
            value: [phi, -phi * h],
            by_velocity: [by_v_n[0], by_v_n[1], -slip, -phi * h],
            by_normal: [by_v_n[0], by_v_n[1] + slip * v_n, phi * (1.0 + h * v_n)],
            by_dissipation: [-v_n * phi_slope, v_n * phi_slope * h],
            by_static_friction: -of_static.re * phi,
            by_dynamic_friction: -of_dynamic.re * phi,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::FrictionRegularization;
    use crate::contact::own_law::tests::{Everything, OWN};
    use approx::assert_relative_eq;
    use nalgebra::Matrix3;

    #[test]
    fn positive_part_is_smooth_and_exact_outside() {
        assert_eq!(positive_part(0.7, 0.2), 0.7);
        assert_eq!(positive_part(-0.7, 0.2), 0.0);
        assert_eq!(positive_part(-0.1, 0.0), 0.0);
        assert_eq!(positive_part(0.0, 0.0), 0.0);
        for x in [-0.2, -0.1, 0.0, 0.15, 0.2] {
            let h = 1e-6;
            let difference = (positive_part(x + h, 0.2) - positive_part(x - h, 0.2)) / (2.0 * h);
            let exact = positive_part(DualArray::<1>::variable(x, 0), 0.2).eps[0];
            assert_relative_eq!(exact, difference, epsilon = 1e-5);
        }
    }

    #[test]
    fn at_rest_a_law_of_the_users_own_has_finite_derivatives() {
        type D = DualArray<3>;
        for regularization in [FrictionRegularization::Smooth, FrictionRegularization::Atan] {
            let settings = ContactSettings {
                friction_regularization: regularization,
                law: Some(OwnLaw::new(&Everything)),
                ..Default::default()
            };
            let pair = PairMaterial { own: OWN, ..PairMaterial::filled(0.5) };
            let law = TractionLaw { pair, strain_rate: 0.0, settings };
            let (n, zero) = (Vector3::new(0.48, -0.6, 0.64), Vector3::zeros());
            for p in [0.0, 3e4] {
                let (t, own) = law.derivatives::<true>(&n, &zero, 0.5, p);
                let own = own.expect("a law of the user's own");
                let numbers = (t.by_velocity.iter().chain(&t.by_normal)).chain(own.by_own.iter().flatten());
                assert!(numbers.chain(&own.by_pressure).all(|x| x.is_finite()));
                let dual = TractionLaw {
                    pair: pair.map(D::from),
                    strain_rate: D::from(0.0),
                    settings: settings.lift(),
                };
                let v = Vector3::from_fn(|i, _| D::variable(0.0, i));
                let by = dual.per_pressure(&n.map(D::from), &v, D::from(0.5), D::from(p));
                let [a, _, _, d] = t.by_velocity;
                let exact = n * n.transpose() * a + Matrix3::identity() * d;
                for row in 0..3 {
                    for k in 0..3 {
                        assert_relative_eq!(by[row].eps[k], exact[(row, k)], max_relative = 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn closed_form_derivatives_agree_with_dual_numbers() {
        type D = DualArray<14>;
        let own_law = Some(OwnLaw::new(&Everything));
        for (width, kappa, law) in [(0.0, 0.3, None), (0.5, 4.0, None), (0.0, 0.3, own_law)] {
            let settings = ContactSettings {
                positive_part_width: width,
                stiction_velocity: 0.05,
                law,
                ..Default::default()
            };
            let pair = PairMaterial {
                dissipation: kappa,
                relaxation_time: 0.0,
                static_friction: 0.9,
                dynamic_friction: 0.6,
                own: OWN,
            };
            let law = TractionLaw { pair, strain_rate: 0.0, settings };
            let n = Vector3::new(0.48, -0.6, 0.64);
            let v = Vector3::new(0.1, 0.25, -0.07);
            let p = 3e4;
            let (exact, own) = if settings.law.is_some() {
                law.derivatives::<true>(&n, &v, kappa, p)
            } else {
                law.derivatives::<false>(&n, &v, kappa, p)
            };
            let mut dual_pair = pair.map(D::from);
            dual_pair.static_friction = D::variable(0.9, 7);
            dual_pair.dynamic_friction = D::variable(0.6, 8);
            dual_pair.own = std::array::from_fn(|k| D::variable(OWN[k], 10 + k));
            let dual = TractionLaw { pair: dual_pair, strain_rate: D::from(0.0), settings: settings.lift() };
            let seed = |x: &Vector3<f64>, at: usize| Vector3::from_fn(|i, _| D::variable(x[i], at + i));
            let t = dual.per_pressure(&seed(&n, 0), &seed(&v, 3), D::variable(kappa, 6), D::variable(p, 9));
            let v_t = exact.v_t;
            let [a, b, c, d] = exact.by_velocity;
            let by_velocity = n * n.transpose() * a
                + v_t * n.transpose() * b
                + v_t * v_t.transpose() * c
                + Matrix3::identity() * d;
            let [a, b, c] = exact.by_normal;
            let by_normal = (n * v_t.transpose() * a + v_t * v_t.transpose() * b) + Matrix3::identity() * c;
            let across = Matrix3::identity() - n * n.transpose();
            let dual_by_normal = Matrix3::from_fn(|row, k| t[row].eps[k]);
            assert_relative_eq!(dual_by_normal * across, by_normal * across, epsilon = 1e-12);
            let along = |[first, second]: [f64; 2]| n * first + v_t * second;
            let value = along(exact.value);
            let by_dissipation = along(exact.by_dissipation);
            for row in 0..3 {
                assert_relative_eq!(t[row].re, value[row], epsilon = 1e-15);
                for k in 0..3 {
                    assert_relative_eq!(t[row].eps[3 + k], by_velocity[(row, k)], epsilon = 1e-12);
                }
                assert_relative_eq!(t[row].eps[6], by_dissipation[row], epsilon = 1e-12);
                assert_relative_eq!(t[row].eps[7], exact.by_static_friction * v_t[row], epsilon = 1e-12);
                assert_relative_eq!(t[row].eps[8], exact.by_dynamic_friction * v_t[row], epsilon = 1e-12);
            }
            assert_eq!(own.is_some(), settings.law.is_some());
            let Some(own) = own else { continue };
            for row in 0..3 {
                assert_relative_eq!(t[row].eps[9], along(own.by_pressure)[row], max_relative = 1e-11);
                for (k, by) in own.by_own.into_iter().enumerate() {
                    assert_relative_eq!(t[row].eps[10 + k], along(by)[row], max_relative = 1e-11);
                    assert!(along(by)[row] != 0.0);
                }
            }
        }
    }
}
