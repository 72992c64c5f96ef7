//! Two rigid bodies, convex ones or one in a hole: which of their features come nearest, and how far these are from each other.
//!
//! Which features those are is topology, found in `f64` ([`find_features`]); the distance of two of them is evaluated
//! in any scalar ([`LocalGap`]). It has a kink where another pair of features takes over, such as where a vertex leaves
//! a face over its edge: derivatives there are those of the features that were found.

#[cfg(test)]
mod bolt_tests;
mod circle;
mod find;
mod gap;
mod manifold;
mod point_polyhedron;
mod prepare;
mod revolved;

pub(crate) use find::{Features, are_apart, check_features, find_features, is_still_over, reach};
pub(crate) use gap::{Gap, LocalGap};
#[cfg(test)]
pub(crate) use gap::{GapKind, tests::kinds as kinds_of_gaps};
pub(crate) use prepare::FeaturePair;
pub(crate) use revolved::Rim;
