//! The impulse between two bodies over a step of velocity-level solvers: the surface as point contacts,
//! the contact models, and their derivatives.

mod arguments;
pub(in crate::contact) mod bristles;
mod column;
pub(in crate::contact) mod cost;
mod face_friction;
mod face_points;
mod face_rule;
mod face_velocity;
pub(in crate::contact) mod find;
pub(in crate::contact) mod friction_direction;
mod glide;
pub(in crate::contact) mod inverse_inertia;
pub(in crate::contact) mod jvp;
pub(in crate::contact) mod law;
pub(in crate::contact) mod law_derivatives;
pub(in crate::contact) mod law_vectorized;
pub(in crate::contact) mod local_jacobian;
pub(in crate::contact) mod patch;
pub(in crate::contact) mod patch_matrix;
pub(in crate::contact) mod patch_sums;
pub(in crate::contact) mod point_contacts;
pub(in crate::contact) mod polygon_motion;
pub(in crate::contact) mod release;
pub(in crate::contact) mod rigid;
pub(in crate::contact) mod shape_vjp;
pub(in crate::contact) mod stored;
pub(in crate::contact) mod surface_contacts;
pub(in crate::contact) mod world_jacobian;
