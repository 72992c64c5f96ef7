//! The traction at a point of the contact surface (Elandt §V, eq. 2–7), and its derivatives.

use nalgebra::Vector3;

use crate::contact::force::friction::{friction_factor, friction_weights};
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
pub fn positive_part<T: Scalar>(x: T, width: f64) -> T {
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
    settings: ContactSettings,
}

/// Where O's and F's own dissipation enter the strain-rate form, 1/Pa each.
fn compliance<T: Scalar>(c: &Collider<T>, stiffness_length: T) -> T {
    if c.geometry.is_rigid() { T::from(0.0) } else { stiffness_length / c.material.hydroelastic_modulus }
}

impl<T: Scalar> TractionLaw<T> {
    /// The law between two bodies.
    pub fn new(roles: &Roles<T>, settings: &ContactSettings) -> Self {
        let (o, f) = (roles.o, roles.f);
        let pair =
            PairMaterial::combine(&o.material, o.geometry.is_rigid(), &f.material, f.geometry.is_rigid());
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

    /// The combined friction coefficients, static and dynamic.
    pub fn friction(&self) -> (T, T) {
        (self.pair.static_friction, self.pair.dynamic_friction)
    }

    /// The traction on O per unit of undamped pressure, where O moves with velocity `v` relative
    /// to F and `n` is the unit normal into O: φ (n − h v_t) with the damping factor
    /// φ = (1 − κ v_n)₊ and the friction factor h.
    #[inline]
    pub fn per_pressure(&self, n: &Vector3<T>, v: &Vector3<T>, dissipation: T) -> Vector3<T> {
        let v_n = v.dot(n);
        let v_t = v - n * v_n;
        let (static_friction, dynamic_friction) = self.friction();
        let h = friction_factor(v_t.dot(&v_t), static_friction, dynamic_friction, &self.settings);
        let damping = positive_part(T::from(1.0) - dissipation * v_n, self.settings.positive_part_width);
        (n - v_t * h) * damping
    }
}

/// The traction per unit of undamped pressure with its derivatives, as factors of the normal n,
/// the tangential velocity v_t, and products of them.
pub(crate) struct TractionDerivatives {
    /// The tangential velocity.
    pub v_t: Vector3<f64>,
    /// The traction per pressure: factors of n and v_t.
    pub value: [f64; 2],
    /// By the velocity: factors of n nᵀ, v_t nᵀ, v_t v_tᵀ and the identity.
    pub by_velocity: [f64; 4],
    /// By a change of the normal, which is at right angles to it: factors of n v_tᵀ, v_t v_tᵀ and
    /// the identity.
    pub by_normal: [f64; 3],
    /// By the dissipation κ: factors of n and v_t.
    pub by_dissipation: [f64; 2],
    /// By the static friction coefficient: factor of v_t.
    pub by_static_friction: f64,
    /// By the dynamic friction coefficient: factor of v_t.
    pub by_dynamic_friction: f64,
}

impl TractionLaw<f64> {
    /// [`Self::per_pressure`] with its derivatives, in closed form.
    #[inline(always)]
    pub fn derivatives(&self, n: &Vector3<f64>, v: &Vector3<f64>, dissipation: f64) -> TractionDerivatives {
        let v_n = v.dot(n);
        let v_t = v - n * v_n;
        let (static_friction, dynamic_friction) = self.friction();
        let [of_static, of_dynamic] =
            friction_weights(DualArray::<1>::variable(v_t.norm_squared(), 0), &self.settings);
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
    fn closed_form_derivatives_agree_with_dual_numbers() {
        type D = DualArray<9>;
        for (width, kappa) in [(0.0, 0.3), (0.5, 4.0)] {
            let law = TractionLaw {
                pair: PairMaterial {
                    dissipation: kappa,
                    relaxation_time: 0.0,
                    static_friction: 0.9,
                    dynamic_friction: 0.6,
                },
                strain_rate: 0.0,
                settings: ContactSettings {
                    positive_part_width: width,
                    stiction_velocity: 0.05,
                    ..Default::default()
                },
            };
            let n = Vector3::new(0.48, -0.6, 0.64);
            let v = Vector3::new(0.1, 0.25, -0.07);
            let exact = law.derivatives(&n, &v, kappa);
            let dual = TractionLaw {
                pair: PairMaterial {
                    dissipation: D::from(kappa),
                    relaxation_time: D::from(0.0),
                    static_friction: D::variable(0.9, 7),
                    dynamic_friction: D::variable(0.6, 8),
                },
                strain_rate: D::from(0.0),
                settings: law.settings,
            };
            let seed = |x: &Vector3<f64>, at: usize| Vector3::from_fn(|i, _| D::variable(x[i], at + i));
            let t = dual.per_pressure(&seed(&n, 0), &seed(&v, 3), D::variable(kappa, 6));
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
            let value = n * exact.value[0] + v_t * exact.value[1];
            let by_dissipation = n * exact.by_dissipation[0] + v_t * exact.by_dissipation[1];
            for row in 0..3 {
                assert_relative_eq!(t[row].re, value[row], epsilon = 1e-15);
                for k in 0..3 {
                    assert_relative_eq!(t[row].eps[3 + k], by_velocity[(row, k)], epsilon = 1e-12);
                }
                assert_relative_eq!(t[row].eps[6], by_dissipation[row], epsilon = 1e-12);
                assert_relative_eq!(t[row].eps[7], exact.by_static_friction * v_t[row], epsilon = 1e-12);
                assert_relative_eq!(t[row].eps[8], exact.by_dynamic_friction * v_t[row], epsilon = 1e-12);
            }
        }
    }
}
