//! What the impulse of one face depends on, and lists of derivatives with respect to that.

use nalgebra::Vector3;

/// What a face's impulse depends on.
pub(in crate::contact) const ARGUMENTS: usize = 8;

/// The indices of the arguments in a list of derivatives: normal velocity, squared slip velocity, load,
/// stiffness, dissipation, friction, relaxation time, history.
pub(in crate::contact) const VELOCITY: usize = 0;
pub(in crate::contact) const SQUARE: usize = 1;
pub(in crate::contact) const LOAD: usize = 2;
pub(in crate::contact) const STIFFNESS: usize = 3;
pub(in crate::contact) const DISSIPATION: usize = 4;
pub(in crate::contact) const FRICTION: usize = 5;
pub(in crate::contact) const RELAXATION_TIME: usize = 6;
pub(in crate::contact) const HISTORY: usize = 7;

/// Derivatives with respect to all arguments.
pub(super) type ByArgument = [f64; ARGUMENTS];

/// The impulse γ = `normal` n̂ − `slip` v_t with its derivatives.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct ImpulseDerivatives {
    /// γ_n, N s.
    pub normal: f64,
    /// Friction impulse per slip velocity, N s / (m/s).
    pub slip: f64,
    /// ∂γ_n.
    pub normal_by: ByArgument,
    /// The derivatives of `slip`.
    pub slip_by: ByArgument,
}

impl ImpulseDerivatives {
    /// The derivative of γ with respect to one argument, at a normal and a slip velocity.
    #[inline(always)]
    pub fn by(&self, argument: usize, normal: &Vector3<f64>, v_t: &Vector3<f64>) -> Vector3<f64> {
        normal * self.normal_by[argument] - v_t * self.slip_by[argument]
    }
}
