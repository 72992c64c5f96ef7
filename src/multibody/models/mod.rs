//! What a model is made of, and what changes while it moves. Its bodies have masses and geometries;
//! actuators, loads and laws of joints act on it. The builder checks all parts and finds the pairs that can
//! touch.

pub(in crate::multibody) mod actuator;
pub(in crate::multibody) mod body;
pub(in crate::multibody) mod joint_law;
pub(in crate::multibody) mod load;
pub(in crate::multibody) mod load_history;
pub(in crate::multibody) mod mass;
pub(in crate::multibody) mod model;
pub(in crate::multibody) mod model_builder;
pub(in crate::multibody) mod pair;
mod size;
pub(in crate::multibody) mod state;
