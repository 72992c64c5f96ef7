//! Gradient checks: a claimed derivative against differences of the function itself.
//!
//! [`compare_derivative`] judges the derivative of a vector along one parameter; [`check_scene`] does
//! so for all parameters of a scene, and holds every way that a gradient is made against that;
//! [`check_gradient`] is for one number that depends on many, [`check_jacobian`] for many that do;
//! [`GradientReport`] gathers the verdicts in a table. [`assert_gradient`] is for tests.

mod assertion;
mod beside;
mod comparison;
mod component;
mod contact_events;
mod differences;
mod gradient;
mod gradient_ways;
mod influential;
mod instability;
mod kinks;
mod limits;
mod noise;
mod parameters;
mod quantities;
mod report;
mod report_text;
mod rounding;
mod samples;
mod scene;
mod sensitivities;
mod sides;
mod tight;
mod varied;
mod way_derivatives;
mod ways;

pub use assertion::assert_gradient;
pub use comparison::{CheckSettings, Comparison, Differences, Verdict};
pub use differences::compare_derivative;
pub use gradient::{CheckedParameter, check_gradient, check_jacobian};
#[doc(hidden)]
pub use gradient_ways::{GradientWay, compare_gradients, compare_jacobians, settle_small_terms};
pub use report::{Beside, GradientReport, ReportRow, Way};
#[doc(hidden)]
pub use report_text::{ADVICE, Advice};
pub use scene::check_scene;
pub use sides::Side;
#[doc(hidden)]
pub use tight::tightest_first;
