//! A contact law of a user's own that depends on all that it can depend on.
#![allow(dead_code, reason = "not every program that includes this module uses all of it")]

use isobar::contact::{ContactLaw, DampingPoint, FrictionPoint, OwnLaw};
use isobar::scalar::Scalar;

/// Dissipation that grows with the pressure, friction that falls with speed and pressure.
#[derive(Debug)]
pub struct Rubber;

/// [`Rubber`] as models hold it.
pub fn rubber() -> OwnLaw {
    OwnLaw::new(&Rubber)
}

/// Parameters of [`Rubber`].
pub const OWN: [f64; 4] = [0.4, 1.5, 0.3, 0.5];

impl ContactLaw for Rubber {
    fn parameters(&self) -> &'static [&'static str] {
        &["hardening", "decay", "viscosity", "fading"]
    }

    fn damping_factor<T: Scalar>(&self, at: &DampingPoint<T>) -> T {
        (-(at.normal_velocity * at.dissipation * (at.own[0] * at.pressure * 1e-4 + 1.0))).exp()
    }

    fn friction_coefficient<T: Scalar>(&self, at: &FrictionPoint<T>) -> T {
        let falling = (-(at.slip_speed * at.own[1])).exp();
        let coefficient = at.dynamic_friction + (at.static_friction - at.dynamic_friction) * falling;
        coefficient / (at.own[3] * at.pressure * 1e-4 + 1.0) + at.own[2] * at.slip_speed
    }

    fn combine<T: Scalar>(&self, parameter: usize, a: T, b: T) -> T {
        // In series for the first, else their mean.
        if parameter == 0 { a * b / (a + b) } else { (a + b) * 0.5 }
    }
}
