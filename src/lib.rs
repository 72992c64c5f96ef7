//! # isobar
//!
//! Differentiable simulation of contact patches.
//!
//! Bodies that nominally overlap touch on the surface where their pressure fields are equal;
//! pressure, dissipation and friction are integrated over it. Everything is generic over a
//! [`scalar::Scalar`], so that every number that goes in can carry a derivative.
//!
//! Data flows one way through the modules, in this order: [`scalar`], [`spatial`],
//! [`geometry`], [`field`], [`contact`], [`multibody`],
//! [`step`], [`rollout`], [`optimize`], [`check`], [`io`], and the command on top of them.

// No panic is reachable from input: what can fail returns an error that says why.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod contact;
pub mod field;
pub mod geometry;
pub mod interruption;
pub mod io;
mod linear_algebra;
pub mod multibody;
pub mod optimize;
pub mod rollout;
pub mod scalar;
mod shown;
pub mod spatial;
pub mod step;
