//! Gradients over rollouts, located events, and what optimizes with them.

mod adjoint;
mod event_derivatives;
mod event_scenes;
mod events;
mod examples_grasping;
mod following_extents;
mod geometry_gradients;
mod nonlinear_regression;
mod objective;
mod second_order;
mod trajectory_optimization;

#[path = "../support/common.rs"]
mod common;
#[path = "../support/jointed_scene.rs"]
mod jointed_scene;
#[path = "../support/moving_bodies.rs"]
mod moving_bodies;
#[path = "../support/step_scenes.rs"]
mod step_scenes;
