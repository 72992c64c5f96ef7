//! Finding the contact surface, the polygons on which two pressure fields are equal, and cutting it
//! into faces.

pub(in crate::contact) mod candidates;
pub(in crate::contact) mod clip;
pub(in crate::contact) mod contact_polygon;
pub(in crate::contact) mod element_cache;
pub(in crate::contact) mod equilibrium;
pub(in crate::contact) mod fan;
pub(in crate::contact) mod polygon;
pub(in crate::contact) mod polygon_vjp;
pub(in crate::contact) mod rigid_triangle;
pub(in crate::contact) mod search;
pub(in crate::contact) mod shape_vjp;
pub(in crate::contact) mod surface_polygon;
pub(in crate::contact) mod tetrahedron_pair;
pub(in crate::contact) mod vertex_planes;
pub(in crate::contact) mod workspace;
