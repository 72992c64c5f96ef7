//! Mechanisms, steps, rollouts, and the optimization of trajectories.

mod adjoint;
mod bristle_derivatives;
mod bristles;
mod computed_torque;
mod constraints;
mod contact_settings;
mod continuous_limit;
mod controlled_bounces;
mod controllers;
mod design;
mod drake_steps;
mod ensembles;
mod error_control;
mod event_derivatives;
mod event_scenes;
mod events;
mod examples_grasping;
mod followers;
mod following_extents;
mod free_end;
mod geometry_gradients;
mod joint_frames;
mod mechanism;
mod mechanism_allocation;
mod multibody_contact;
mod nonlinear_regression;
mod objective;
mod own_laws;
mod passive_contact;
mod receding_horizon;
mod second_order;
mod sensor_fits;
mod sensors;
mod sleep;
mod static_friction;
mod step_allocation;
mod step_at_rest;
mod step_coin;
mod step_derivatives;
mod step_floating;
mod step_force;
mod step_random;
mod step_spin;
mod step_stability;
mod step_timing;
mod step_truth;
mod trajectory_optimization;

#[path = "../support/common.rs"]
mod common;
#[path = "../support/folder.rs"]
mod folder;
#[path = "../support/jointed_scene.rs"]
mod jointed_scene;
#[path = "../support/mechanisms.rs"]
mod mechanisms;
#[path = "../support/moving_bodies.rs"]
mod moving_bodies;
#[path = "../support/own_law.rs"]
mod own_law;
#[path = "../../examples/plain_scenes/scenes.rs"]
mod plain_scenes;
#[path = "../support/press.rs"]
mod press;
#[path = "../support/step_scenes.rs"]
mod step_scenes;
