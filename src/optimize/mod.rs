//! Optimization: parameters, least squares, and what the data say about the result.

pub mod automatic;
mod bounds;
mod box_quadratic;
pub mod checkpoint;
pub mod comparison;
pub mod constraints;
pub mod data;
mod data_error;
pub mod ensemble;
mod error;
mod evaluations;
pub mod fit;
mod gaussian;
mod history;
pub mod identification;
pub mod ilqr;
pub mod lbfgsb;
pub mod least_squares;
pub mod levenberg_marquardt;
pub mod multi_start;
pub mod objective;
mod optimized;
pub mod parameters;
pub mod profile;
pub mod progress;
pub mod randomized_smoothing;
pub mod solver;
pub mod surroundings;
pub mod survey;
pub mod termination;
pub mod trajectory;
pub mod uncertainty;
mod variables;
pub mod whiteness;

pub use error::ProblemError;
