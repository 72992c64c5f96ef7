//! What two bodies are to each other: their geometries and materials, how the materials combine, and
//! in which frame a query is answered.

pub(in crate::contact) mod collider;
pub(in crate::contact) mod combination;
pub(in crate::contact) mod material;
pub(in crate::contact) mod query;
