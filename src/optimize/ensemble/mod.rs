//! Ensembles: commands and controllers that have to serve many motions at once.
//!
//! Each member of an ensemble is a motion of its own: a model, an initial state, controllers with their errors of
//! sensors. The variables are shared: values of commands at knots, parameters of controllers, numbers of the models and
//! of the initial states (see [`Design`]), and the end of the motions (see [`FreeEnd`]). What is minimized is made of the members' costs by a [`Risk`]. With one member it
//! is the optimization of a controller or a design. [`optimize_trajectory`](super::trajectory::optimize_trajectory) solves
//! it.

mod interval;
mod problem;
mod risk;

pub use super::variables::{Design, DesignVariable, FreeEnd, KnotVariables, SharedVariables, TunedParameter};
pub use interval::{SuccessRate, success_rate};
pub use problem::{EnsembleMember, EnsembleProblem, EnsembleTask};
pub use risk::Risk;
