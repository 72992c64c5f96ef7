//! Differentiable simulation of contact patches.
//!
//! Bodies that nominally overlap touch on the surface where their pressure fields are equal;
//! pressure, dissipation and friction are integrated over it. Everything is generic over a
//! [`Scalar`], so that every number that goes in (a pose, a modulus, a mass, a mesh vertex) can carry a
//! derivative, and a wrench, a step or a whole trajectory has a gradient.
//!
//! # A first contact
//!
//! ```
//! use isobar::contact::Workspace;
//! use isobar::*;
//! use num_dual::Dual64;
//!
//! // A ball of 5 cm radius, meshed at 1 cm, has sunk 5 mm into a rigid floor that fills z ≤ 0.
//! let foam = Material::new(1e5, 1.0, 0.5);
//! let ball = Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.01, foam)?;
//! let floor = Collider::rigid_half_space(foam);
//! let (settings, mut workspace) = (ContactSettings::default(), Workspace::default());
//! let pose = RigidTransform::from_translation([0.0, 0.0, 0.045]);
//! let pair = ContactPair::at_rest(&ball, pose, &floor, RigidTransform::identity());
//! // The force on it in N, and how it follows height and modulus.
//! let (patch, jacobian) = contact_jacobian(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
//! assert!((patch.wrench_on_a.translational.z - 6.926).abs() < 1e-3);
//! assert!((jacobian.force_by_translation().m33 + 2753.0).abs() < 1.0);
//! assert!((jacobian.force_by_modulus().z - 6.926e-5).abs() < 1e-8);
//!
//! // Dual numbers carry derivatives with respect to any quantity through the same code: here that of the area.
//! let height = Dual64::from(0.045).derivative();
//! let pose = RigidTransform::from_translation([0.0.into(), 0.0.into(), height]);
//! let (ball, floor) = (Collider::lift(&ball), Collider::lift(&floor));
//! let pair = ContactPair::at_rest(&ball, pose, &floor, RigidTransform::identity());
//! let patch = contact(&pair, &settings, &mut workspace)?.ok_or("no contact")?;
//! assert!((patch.area.eps + 0.275).abs() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to find what
//!
//! | module | what you come there for |
//! |---|---|
//! | [`scalar`] | what a number must be able to do, and dual numbers with several derivatives |
//! | [`spatial`] | poses, velocities, wrenches, mass properties |
//! | [`geometry`] | shapes and meshes: made, read, checked, written |
//! | [`field`] | the pressure fields of bodies |
//! | [`mod@contact`] | the wrench between two bodies and its derivatives; materials; contact laws of your own |
//! | [`multibody`] | models of bodies, joints and actuators; states; forces of your own; the parameters of gradients |
//! | [`step`] | one time step of any kind, with its derivatives |
//! | [`rollout`] | simulations, losses and their gradients, events, controls, batches |
//! | [`optimize`] | fits to measurements, optimal controls |
//! | [`check`] | whether derivatives are right |
//! | [`advice`] | what to expect of a scene, and what to change in it |
//! | [`io`] | scene, problem, fit and robot files; trajectories |
//! | [`interruption`] | ending optimizations of this process early |
//!
//! The documentation of each item has an example: a wrench at [`contact::contact`], its Jacobian at
//! [`contact::contact_jacobian`], dual numbers at [`Scalar`], a simulation at [`Rollout`], the gradient
//! of a trajectory by the adjoint at [`rollout::loss_gradient`] and by dual numbers at
//! [`multibody::seeded`], losses at [`rollout::Loss`], forces at [`AppliedForces`], contact laws at
//! [`ContactLaw`], fits at [`optimize::fit::fit`], solvers of argmin at
//! [`optimize::WithGradient`], optimal controls at [`optimize::trajectory::optimize_trajectory`], and many simulations at a time at [`rollout::Batch`].
//!
//! Data flows one way through the modules, in the order of the table. What is used most is also here, at the
//! root of the crate. Motions to look at (recordings, pages, glTF, VTK) are the crate `isobar-report`, and the
//! command `isobar` is `isobar-cli`.

// No panic is reachable from input: what can fail returns an error that says why.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod advice;
pub mod check;
pub mod contact;
pub mod field;
pub mod geometry;
#[doc(hidden)]
pub mod input_file;
pub mod interruption;
pub mod io;
mod linear_algebra;
pub mod multibody;
pub mod optimize;
#[doc(hidden)]
pub mod parallel;
pub mod rollout;
pub mod scalar;
#[doc(hidden)]
pub mod shown;
pub mod spatial;
pub mod step;
mod xml;

/// The crate whose solvers and traits problems are for.
pub use argmin;
pub use check::check_gradient;
pub use contact::{
    Collider, ContactLaw, ContactPair, ContactSettings, Material, OwnLaw, contact, contact_jacobian,
};
pub use field::PressureField;
pub use geometry::Shape;
pub use io::Scene;
pub use multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, MassSource, Model, ModelBuilder, Parameter, State,
};
pub use rollout::{Checkpoints, Loss, Moment, Rollout, SimulationSettings, loss_gradient};
pub use scalar::Scalar;
pub use spatial::RigidTransform;
pub use step::{Integrator, StepProblem};

/// The Rust code of the guide, chapter by chapter, so that `cargo test --doc` compiles and runs it.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../docs/guide/src/derivatives.md")]
    mod derivatives {}
    #[doc = include_str!("../docs/guide/src/grasp.md")]
    mod grasp {}
    #[doc = include_str!("../docs/guide/src/own.md")]
    mod own {}
}
