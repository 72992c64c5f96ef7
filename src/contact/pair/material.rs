//! Contact materials and how two of them combine.

use crate::scalar::Scalar;

/// The contact parameters of one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material<T = f64> {
    /// Hydroelastic modulus E_h in Pa: the pressure where the extent is 1. Not used by rigid
    /// bodies.
    pub hydroelastic_modulus: T,
    /// Dissipation: d in s/m (Hunt–Crossley) or χ in s (strain rate). Not used by rigid bodies.
    pub dissipation: T,
    /// Relaxation time τ_d in s of linear (Kelvin–Voigt) dissipation, which takes the place of
    /// Hunt–Crossley's in steps with the contact model SAP; not used elsewhere.
    pub relaxation_time: T,
    /// Coefficient of static friction.
    pub static_friction: T,
    /// Coefficient of dynamic friction.
    pub dynamic_friction: T,
}

impl<T: Scalar> Material<T> {
    /// A constant material as scalars `T`.
    pub fn lift(m: &Material<f64>) -> Self {
        Self {
            hydroelastic_modulus: T::from(m.hydroelastic_modulus),
            dissipation: T::from(m.dissipation),
            relaxation_time: T::from(m.relaxation_time),
            static_friction: T::from(m.static_friction),
            dynamic_friction: T::from(m.dynamic_friction),
        }
    }

    /// The material without its derivatives.
    pub fn real(&self) -> Material<f64> {
        Material {
            hydroelastic_modulus: self.hydroelastic_modulus.real(),
            dissipation: self.dissipation.real(),
            relaxation_time: self.relaxation_time.real(),
            static_friction: self.static_friction.real(),
            dynamic_friction: self.dynamic_friction.real(),
        }
    }
}

/// The parameters of a pair of bodies in contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairMaterial<T = f64> {
    /// Combined Hunt–Crossley dissipation, s/m.
    pub dissipation: T,
    /// Sum of the relaxation times, s.
    pub relaxation_time: T,
    /// Combined coefficient of static friction.
    pub static_friction: T,
    /// Combined coefficient of dynamic friction.
    pub dynamic_friction: T,
}

/// 2 μ_A μ_B / (μ_A + μ_B), and 0 where both are 0.
fn combine_friction<T: Scalar>(a: T, b: T) -> T {
    let sum = a + b;
    if sum.real() > 0.0 { a * b * 2.0 / sum } else { T::from(0.0) }
}

impl<T: Scalar> PairMaterial<T> {
    /// Combines two materials as Drake does: each body's dissipation is weighted by the
    /// *other's* modulus (the softer body deforms more), friction by its harmonic mean. The
    /// dissipation of a rigid body does not count; relaxation times add up.
    pub fn combine(a: &Material<T>, a_is_rigid: bool, b: &Material<T>, b_is_rigid: bool) -> Self {
        let dissipation = match (a_is_rigid, b_is_rigid) {
            (false, false) => {
                let (ea, eb) = (a.hydroelastic_modulus, b.hydroelastic_modulus);
                (eb * a.dissipation + ea * b.dissipation) / (ea + eb)
            }
            (false, true) => a.dissipation,
            (true, _) => b.dissipation,
        };
        Self {
            dissipation,
            relaxation_time: a.relaxation_time + b.relaxation_time,
            static_friction: combine_friction(a.static_friction, b.static_friction),
            dynamic_friction: combine_friction(a.dynamic_friction, b.dynamic_friction),
        }
    }
}
