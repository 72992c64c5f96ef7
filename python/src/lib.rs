//! The compiled part of the Python package `isobar`.
//!
//! It has few, plain functions on arrays of numbers, one state a row in the order of the columns of trajectory files;
//! `python/isobar` makes of them what users see, and documents it. Every argument is checked here: what is wrong with it is a
//! Python exception, and no panic is reachable.

mod arrays;
mod before;
mod control;
mod derivatives;
mod failure;
mod files;
mod forces;
mod functions;
mod interruptible;
mod laws;
mod motion;
mod parameters;
mod patches;
mod scene;

use pyo3::prelude::*;

#[pymodule]
mod _isobar {
    #[pymodule_export]
    use crate::files::{best, fit, optimize, starts};
    #[pymodule_export]
    use crate::functions::{Function, handlers};
    #[pymodule_export]
    use crate::laws::Law;
    #[pymodule_export]
    use crate::motion::{Motion, gradients, rollouts};
    #[pymodule_export]
    use crate::scene::Scene;
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "as Python has it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
