//! Measured data.
