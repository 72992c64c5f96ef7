//! Optimization: parameters, least squares, and what the data say about the result.

mod bounds;
pub mod box_quadratic;
pub mod data;
pub mod fit;
pub mod identification;
pub mod ilqr;
pub mod lbfgs;
pub mod least_squares;
pub mod levenberg_marquardt;
pub mod parameters;
pub mod trajectory;
pub mod uncertainty;
