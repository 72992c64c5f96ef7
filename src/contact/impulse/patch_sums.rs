//! The sums over the faces of a patch that its bristles follow.

use crate::contact::force::skirt_onset::onset;
use crate::contact::force::wrench::for_each_point;
use crate::contact::impulse::bristles::PatchSums;
use crate::contact::impulse::face_rule::FaceRule;
use crate::contact::impulse::point_contacts::{DiscretePatch, FoundPolygon, PointContacts};
use crate::contact::impulse::surface_contacts::{SMALLEST_AREA, SMALLEST_ONSET, counts};
use crate::contact::pair::query::Roles;
use crate::contact::settings::ContactSettings;
use crate::contact::surface::fan::Fan;
use crate::contact::surface::surface_polygon::SurfacePolygon;
use crate::scalar::Scalar;
use crate::spatial::SpatialVelocity;

/// The sums over the faces of a patch that bristles follow, in scalars of any kind, over polygons that have been
/// found. `after` is the velocity of O relative to F at F's origin after the step.
pub(crate) fn patch_sums<T: Scalar>(
    roles: &Roles<T>,
    settings: &ContactSettings<T>,
    polygons: &[FoundPolygon],
    after: &SpatialVelocity<T>,
) -> PatchSums<T> {
    let rule = FaceRule::new(&roles.parts, settings);
    let (width, _) = roles.onset_width();
    let mut sums = PatchSums::zero();
    let mut polygon = SurfacePolygon::empty();
    for (found, equilibrium) in polygons {
        polygon.set(roles, found, equilibrium);
        if !counts(&polygon, settings.face_filter) {
            continue;
        }
        let fan = Fan::new(&polygon, rule.surface);
        for_each_point(&polygon, &fan, rule.surface, rule.points, |x, p, a| {
            let (p, slope) = onset(p, width);
            if a.real() > SMALLEST_AREA && slope.real() > SMALLEST_ONSET {
                sums.add_face(p * a, x, &polygon.normal, after);
            }
        });
    }
    sums
}

impl DiscretePatch {
    /// The sums over the patch's contacts.
    pub fn sums(&self, contacts: &PointContacts, after: &SpatialVelocity) -> PatchSums<f64> {
        let mut sums = PatchSums::zero();
        for i in self.contacts.clone() {
            let x = contacts.position[i] + self.origin;
            sums.add_face(contacts.constants[i].load, &x, &contacts.normal[i], after);
        }
        sums
    }
}
