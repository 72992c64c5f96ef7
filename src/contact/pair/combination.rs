//! How the parameters of a pair follow those of its two materials.

use crate::contact::own_law::OwnLaw;
use crate::contact::pair::collider::Collider;
use crate::contact::pair::material::{Material, PairMaterial};
use crate::contact::settings::{ContactSettings, DissipationModel};
use crate::scalar::{DualArray, Scalar};

impl<T: Scalar> PairMaterial<T> {
    /// What the materials of two bodies combine to.
    pub(crate) fn of(a: &Collider<T>, b: &Collider<T>, law: Option<OwnLaw>) -> Self {
        Self::combine(&a.material, a.geometry.is_rigid(), &b.material, b.geometry.is_rigid(), law)
    }
}

/// The derivatives of a pair's combined parameters with respect to each body's own: of dissipation (in
/// the strain-rate form of the sum of both bodies' χ/E), relaxation time and friction by the same
/// parameter of A and of B, and of those of a law of the user's own. The field of the modulus holds that
/// of the combined dissipation by the body's modulus.
pub fn combination_derivatives(a: &Collider, b: &Collider, settings: &ContactSettings) -> [Material; 2] {
    // A combined parameter follows the same one of each body, and of the others the moduli alone: so that all of a
    // body but its modulus share a direction.
    const MODULI: usize = 2;
    type Seeded = DualArray<4>;
    let rigid = [a.geometry.is_rigid(), b.geometry.is_rigid()];
    let seeded = |m: &Material, body: usize| {
        let modulus = Seeded::variable(m.hydroelastic_modulus, MODULI + body);
        Material { hydroelastic_modulus: modulus, ..m.map(|x| Seeded::variable(x, body)) }
    };
    let (of_a, of_b) = (seeded(&a.material, 0), seeded(&b.material, 1));
    let combined = PairMaterial::combine(&of_a, rigid[0], &of_b, rigid[1], settings.law);
    [0, 1].map(|body| {
        let own = [&a.material, &b.material][body];
        let by_modulus = combined.dissipation.eps[MODULI + body];
        let mut by = combined.map(|x| x.eps[body]).with_modulus(by_modulus);
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
