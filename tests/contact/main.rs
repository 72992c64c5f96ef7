//! Contact: patches, wrenches and their derivatives against analytic cases, invariants, Drake and exact
//! geometry.

mod aligned_states;
mod analytic;
mod continuity;
mod drake_cases;
mod dual_types;
mod energy;
mod gradient_truth;
mod pressure_law;
mod random_states;
mod resources;
mod skirt;
mod vjp;

#[path = "../support/common.rs"]
mod common;
#[path = "../support/moving_bodies.rs"]
mod moving_bodies;
#[path = "../support/own_law.rs"]
mod own_law;
#[path = "../support/truth.rs"]
mod truth;
