//! The numbers that a model can be differentiated with respect to: what they are called and may be. Seeding
//! makes models that carry derivatives forward. The gradient of a model collects them in reverse.

pub(in crate::multibody) mod force_dependence;
pub(in crate::multibody) mod geometry_gradient;
pub(in crate::multibody) mod joint_gradient;
pub(in crate::multibody) mod model_gradient;
pub(in crate::multibody) mod parameter;
pub(in crate::multibody) mod parameter_error;
mod parameter_lists;
pub(in crate::multibody) mod parameter_name;
mod parameter_value;
pub(in crate::multibody) mod seeding;
mod shape_mass;
