//! Gradient checks: a claimed derivative against differences of the function itself.
//!
//! [`compare_derivative`] judges the derivative of a vector along one parameter; [`check_scene`] does
//! so for all parameters of a scene, [`check_gradient`] for one number that depends on many;
//! [`GradientReport`] gathers the verdicts in a table.

mod comparison;
mod contact_events;
mod differences;
mod gradient;
mod instability;
mod kinks;
mod report;
mod samples;
mod scene;
mod tight;
mod varied;

pub use comparison::{CheckSettings, Comparison, Verdict};
pub use differences::compare_derivative;
pub use gradient::{CheckedParameter, check_gradient};
pub use report::{GradientReport, ReportRow};
pub use scene::check_scene;
#[cfg(feature = "cli")]
pub(crate) use tight::tightest_first;
