//! From two overlapping bodies to the wrench between them, and its derivatives.
//!
//! | room and file | what it computes | from | held to |
//! |---|---|---|---|
//! | `pair/material`, `combination` | how two materials combine, and the derivatives of that | Drake's rules | `tests/contact/drake_cases`, `vjp` |
//! | `own_law` | a law of the user's own, in any scalar | | differences, `tests/contact/gradient_truth`, `tests/motion/own_laws` |
//! | `pair/query` | which body's frame a query is answered in | | invariance, `tests/contact/random_states` |
//! | `surface/polygon`, `clip`, `tetrahedron_pair`, `rigid_triangle` | the section of one element, clipped by another | Elandt §VI-B; Masterjohn §III-A | each other, on random elements |
//! | `surface/search` | all polygons of two bodies | Elandt Algorithm 1 | trying all pairs of elements |
//! | `surface/candidates` | which elements may share a polygon, kept from query to query | | a fresh search, on random motions |
//! | `surface/surface_polygon` | the polygons in any scalar, and their faces | | `tests/contact/continuity` |
//! | `surface/polygon_vjp`, `vertex_planes`, `shape_vjp` | reverse mode from points of the surface to its polygons, and from these to vertices, extents and thickness of both geometries | | dual numbers, `tests/motion/geometry_gradients` |
//! | `features` | the signed distance of two rigid bodies, by the features that come nearest | Hotz §2, δ | differences |
//! | `force/traction`, `friction` | pressure, damping and friction at a point | Elandt eq. 2–7; Hunt–Crossley | differences |
//! | `force/friction/tustin` | how friction falls from static to dynamic, for forces and impulses | Tustin's form of the Stribeck effect | differences |
//! | `force/wrench` | the traction over the surface | Elandt eq. 8 | Drake, `tests/contact/drake_cases` |
//! | `force/point_block` | the same at several points of a polygon side by side | | single points, to the last bit |
//! | `force/polygon_traction` | the traction on each polygon, for pictures | Elandt eq. 2–7 | `force/wrench` |
//! | `force/known_answer` | what is known of a pair with its derivatives, kept for the next chunk of directions | | `surface_reading` |
//! | `force/surface_reading` | what sensors and costs read off a surface: area, centroid, pressing force, slip, with the derivatives that its inputs carry | | dual numbers through the polygons, differences |
//! | `force/energy` | the potential energy, by volumes | Elandt eq. 1 | `wrench` is its slope, `tests/contact/energy` |
//! | `force/local_jacobian` (`polygon_derivatives`) | the wrench's derivatives with respect to relative pose and velocity, moduli and the traction's parameters | | dual numbers through `wrench` |
//! | `force/one_sided` | the same where meshes are aligned | | `tests/contact/aligned_states` |
//! | `force/jvp` | the wrench with the derivatives that its inputs carry | | `tests/contact/dual_types` |
//! | `force/local_vjp`, `vjp` | the vector–Jacobian product, in one pass | | `tests/contact/vjp` |
//! | `impulse/law` | the impulse of one face over a step: SAP, Lagged, Similar, TAMSI | Masterjohn §IV; arXiv 2110.10107, 2312.03908, 1909.05700 | Drake, `tests/motion/drake_steps` |
//! | `impulse/law_derivatives` (`arguments`), `law_vectorized`, `cost` | the same with derivatives, four faces at once, and the cost of which it is the slope | | `law` |
//! | `impulse/face_friction` | the coefficient of friction of a face, from the slip velocity before the step | `force/friction/tustin` | dual numbers, `tests/motion/static_friction` |
//! | `impulse/bristles` (`patch_sums`) | the deflection that friction of what sticks follows, after a step | LuGre | differences, `tests/motion/bristles` |
//! | `impulse/column`, `face_rule` | a face's stiffness: the pressure over the depth of the overlap along its normal; how polygons are cut into faces | | dual numbers, `tests/motion/geometry_gradients`, `passive_contact` |
//! | `impulse/stored`, `release` | the energy that faces store, and what a contact that ends gives back | | `tests/motion/passive_contact`, `controlled_bounces` |
//! | `impulse/point_contacts` | a surface as point contacts | Masterjohn §IV | `discrete_impulse` in any scalar |
//! | `impulse/rigid` | two rigid bodies as point contacts, with their derivatives | the features' distances | `tests/rigid/velocity_level` |
//! | `impulse/patch`, `patch_matrix`, `friction_direction` | a patch's impulse and matrix at a velocity | | differences |
//! | `impulse/local_jacobian` (`polygon_motion`, `inverse_inertia`), `jvp`, `world_jacobian` | the impulse's derivatives with respect to all that it depends on | | dual numbers, `tests/motion/step_truth` |
//! | `impulse/shape_vjp` | the vector–Jacobian product with respect to both shapes | | dual numbers, `tests/motion/geometry_gradients` |
//!
//! Elandt et al. 2019 and Masterjohn et al. 2021 are the papers that the README names. `docs/architecture.md`
//! says how the rooms hang together, and which files a new law touches.

mod features;
mod force;
mod impulse;
mod lanes;
mod own_law;
mod pair;
mod settings;
mod surface;

pub(crate) use features::{
    FeaturePair, Features, Gap, LocalGap, Rim, are_apart, check_features, find_features, is_still_over, reach,
};
#[cfg(test)]
pub(crate) use features::{GapKind, kinds_of_gaps};
pub use force::energy::contact_energy;
pub use force::jvp::{ContactJacobian, contact_jacobian, contact_lifted};
pub(crate) use force::jvp::{contact_lifted_under, contact_lifted_with};
pub(crate) use force::known_answer::KnownAnswer;
pub(crate) use force::local_jacobian::LocalJacobian;
pub use force::polygon_traction::{PolygonTraction, for_each_polygon_traction};
pub(crate) use force::rigid::{RigidStart, rigid_wrench};
pub use force::skirt_onset::onset;
pub(crate) use force::surface_reading::{DifferentiatedIntegrals, SurfaceReading, surface_reading};
pub(crate) use force::vjp::contact_vjp_over;
pub use force::vjp::{ContactCotangent, contact_vjp};
pub use force::wrench::{ContactFace, ContactPatch, contact, for_each_face};
pub use impulse::bristles::Deflection;
pub(crate) use impulse::bristles::{DEFLECTION_DIMENSION, PatchSums};
pub(crate) use impulse::cost::hunt_crossley_cost;
pub(crate) use impulse::find::find_contacts;
pub(crate) use impulse::inverse_inertia::ByInverseInertia;
pub(crate) use impulse::jvp::impulse_lifted;
pub use impulse::law::ContactModel;
pub(crate) use impulse::local_jacobian::PairImpulse;
pub(crate) use impulse::patch::SlipChange;
pub(crate) use impulse::patch_sums::patch_sums;
pub(crate) use impulse::point_contacts::{DiscretePatch, DiscreteSettings, PointContacts};
pub(crate) use impulse::release::Release;
pub(crate) use impulse::rigid::rigid_impulse;
pub(crate) use impulse::stored::PatchEnergy;
pub(crate) use impulse::surface_contacts::discrete_impulse;
pub(crate) use impulse::world_jacobian::{BristlesInWorld, world_impulse_jacobian};
pub use own_law::{ContactLaw, DampingPoint, FrictionPoint, OWN_PARAMETERS, OwnLaw};
pub use pair::collider::{Collider, ContactGeometry};
pub use pair::combination::combination_derivatives;
pub use pair::material::{Material, MaterialParameter, PairMaterial};
pub(crate) use pair::material::{combine_ellipsoids, combine_friction};
pub(crate) use pair::query::Roles;
pub use pair::query::{ContactError, ContactPair, check_pair};
pub use settings::{
    ContactSettings, DissipationModel, FaceFilter, FrictionRegularization, SurfaceRepresentation,
};
pub(crate) use settings::{LARGEST_QUADRATURE_ORDER, USUAL_QUADRATURE_ORDER};
pub use surface::contact_polygon::{ContactPolygon, for_each_contact_polygon};
pub(crate) use surface::search::Elements;
pub(crate) use surface::shape_vjp::{GeometryTerms, ShapeTerms};
pub use surface::workspace::Workspace;
