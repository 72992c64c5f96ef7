//! The force between two bodies at an instant: its value, its Jacobian, and the products with it that
//! forward and reverse differentiation take.

pub(in crate::contact) mod energy;
pub(in crate::contact) mod friction;
pub(in crate::contact) mod jvp;
pub(in crate::contact) mod known_answer;
pub(in crate::contact) mod local_jacobian;
pub(in crate::contact) mod local_vjp;
pub(in crate::contact) mod one_sided;
mod point_block;
pub(in crate::contact) mod polygon_derivatives;
pub(in crate::contact) mod polygon_traction;
pub(in crate::contact) mod rigid;
pub(in crate::contact) mod skirt_onset;
pub(in crate::contact) mod surface_reading;
pub(in crate::contact) mod traction;
pub(in crate::contact) mod vjp;
pub(in crate::contact) mod wrench;
