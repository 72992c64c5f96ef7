//! How the parameters of a pair follow those of its two materials.

use crate::contact::own_law::OWN_PARAMETERS;
use crate::contact::pair::collider::Collider;
use crate::contact::pair::material::{Material, PairMaterial};
use crate::contact::settings::{ContactSettings, DissipationModel};
use crate::scalar::DualArray;

/// The derivatives of a pair's combined parameters with respect to each body's own: of dissipation (in
/// the strain-rate form of the sum of both bodies' χ/E), relaxation time and friction by the same
/// parameter of A and of B, and of those of a law of the user's own. The field of the modulus holds that
/// of the combined dissipation by the body's modulus.
pub fn combination_derivatives(a: &Collider, b: &Collider, settings: &ContactSettings) -> [Material; 2] {
    const NUMBERS: usize = 8 + OWN_PARAMETERS;
    type Seeded = DualArray<{ 2 * NUMBERS }>;
    let rigid = [a.geometry.is_rigid(), b.geometry.is_rigid()];
    let seeded = |m: &Material, first: usize| {
        let mut at = first..;
        m.map(|x| Seeded::variable(x, at.next().unwrap_or(first)))
    };
    let (of_a, of_b) = (seeded(&a.material, 0), seeded(&b.material, NUMBERS));
    let combined = PairMaterial::combine(&of_a, rigid[0], &of_b, rigid[1], settings.law);
    [0, 1].map(|body| {
        let own = [&a.material, &b.material][body];
        let first = NUMBERS * body;
        // Every number by the body's number of the same place, that of the modulus apart.
        let mut at = first..;
        let mut by_same = |x: Seeded| at.next().map_or(0.0, |k| x.eps[k]);
        let mut by = combined.with_modulus(combined.dissipation).map(&mut by_same);
        if settings.dissipation_model == DissipationModel::StrainRate {
            (by.hydroelastic_modulus, by.dissipation) = if rigid[body] {
                (0.0, 0.0)
            } else {
                let inverse = own.hydroelastic_modulus.recip();
                (-own.dissipation * inverse * inverse, inverse)
            };
        }
        by
    })
}
