//! Which point contacts two bodies have over a step.

use nalgebra::Matrix6;

use crate::contact::force::traction::TractionLaw;
use crate::contact::impulse::bristles::Deflection;
use crate::contact::impulse::point_contacts::{DiscretePatch, DiscreteSettings, PointContacts};
use crate::contact::impulse::rigid::rigid_contacts;
use crate::contact::impulse::surface_contacts::contacts_of;
use crate::contact::pair::query::{ContactPair, Roles};
use crate::contact::surface::workspace::Workspace;

/// Adds the contacts between two bodies to `contacts`; `None` if there are none. The velocities
/// of `pair` are those before the step, and so is the `deflection` of its bristles, which is not used where
/// steps have none. `inverse_inertia` is asked for Λ, in F's frame and about its origin, by SAP
/// alone.
pub(crate) fn find_contacts(
    pair: &ContactPair,
    settings: &DiscreteSettings,
    deflection: &Deflection,
    inverse_inertia: impl FnOnce(&Roles<f64>) -> Matrix6<f64>,
    workspace: &mut Workspace,
    contacts: &mut PointContacts,
) -> Option<DiscretePatch> {
    let roles = Roles::of_step(pair).ok()?;
    if roles.are_rigid() {
        return rigid_contacts(&roles, settings, contacts);
    }
    let rate = settings.bristles().map(|law| law.rate(deflection));
    contacts_of(
        &roles,
        &TractionLaw::new(&roles, settings.contact),
        settings,
        rate,
        inverse_inertia,
        workspace,
        contacts,
    )
}
