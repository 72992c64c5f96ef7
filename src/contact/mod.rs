//! From two overlapping bodies to the wrench between them, and its derivatives.

mod force;
mod impulse;
mod pair;
mod settings;
mod surface;

pub use force::energy::contact_energy;
pub use force::friction::friction_factor;
pub use force::jvp::{ContactJacobian, contact_jacobian, contact_lifted};
pub use force::skirt_onset::onset;
pub use force::traction::positive_part;
pub use force::vjp::{ContactCotangent, contact_transposed};
pub use force::wrench::{ContactFace, ContactPatch, contact, for_each_face};
pub(crate) use impulse::cost::hunt_crossley_cost;
pub(crate) use impulse::inverse_inertia::ByInverseInertia;
pub(crate) use impulse::jvp::impulse_lifted;
pub use impulse::law::ContactModel;
pub(crate) use impulse::local_jacobian::PairImpulse;
pub(crate) use impulse::patch::SlipChange;
pub(crate) use impulse::point_contacts::{
    DiscretePatch, DiscreteSettings, PointContacts, discrete_impulse, find_contacts,
};
pub(crate) use impulse::world_jacobian::world_impulse_jacobian;
pub use pair::collider::{Collider, ContactGeometry};
pub use pair::combination::combination_derivatives;
pub use pair::material::{Material, PairMaterial};
pub(crate) use pair::query::Roles;
pub use pair::query::{ContactError, ContactPair, check_pair};
pub use settings::{
    ContactSettings, DissipationModel, FaceFilter, FrictionRegularization, SurfaceRepresentation,
};
pub use surface::contact_polygon::{ContactPolygon, for_each_contact_polygon};
pub use surface::workspace::Workspace;
