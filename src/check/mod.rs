//! Gradient checks: a claimed derivative against differences of the function itself.
//!
//! [`compare_derivative`] judges the derivative of a vector along one input;
//! [`GradientReport`] gathers the verdicts in a table.

mod differences;
mod report;

pub use differences::{CheckSettings, Comparison, Verdict, compare_derivative};
pub use report::{GradientReport, ReportRow};
