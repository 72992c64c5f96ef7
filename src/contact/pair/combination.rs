//! How the parameters of a pair follow those of its two materials.

use crate::contact::pair::collider::Collider;
use crate::contact::pair::material::{Material, PairMaterial};
use crate::contact::settings::{ContactSettings, DissipationModel};
use crate::scalar::DualArray;

/// The derivatives of a pair's combined parameters by each body's own: of dissipation (in the
/// strain-rate form of the sum of both bodies' χ/E), relaxation time and friction by the same
/// parameter of A and of B. The field of the modulus holds that of the combined dissipation by the
/// body's modulus.
pub fn combination_derivatives(a: &Collider, b: &Collider, settings: &ContactSettings) -> [Material; 2] {
    type Seeded = DualArray<10>;
    let rigid = [a.geometry.is_rigid(), b.geometry.is_rigid()];
    let seeded = |m: &Material, first: usize| Material {
        hydroelastic_modulus: Seeded::variable(m.hydroelastic_modulus, first),
        dissipation: Seeded::variable(m.dissipation, first + 1),
        relaxation_time: Seeded::variable(m.relaxation_time, first + 2),
        static_friction: Seeded::variable(m.static_friction, first + 3),
        dynamic_friction: Seeded::variable(m.dynamic_friction, first + 4),
    };
    let combined =
        PairMaterial::combine(&seeded(&a.material, 0), rigid[0], &seeded(&b.material, 5), rigid[1]);
    [0, 1].map(|body| {
        let own = [&a.material, &b.material][body];
        let first = 5 * body;
        let (by_modulus, by_dissipation) = match settings.dissipation_model {
            DissipationModel::HuntCrossley => {
                (combined.dissipation.eps[first], combined.dissipation.eps[first + 1])
            }
            DissipationModel::StrainRate if rigid[body] => (0.0, 0.0),
            DissipationModel::StrainRate => {
                let inverse = own.hydroelastic_modulus.recip();
                (-own.dissipation * inverse * inverse, inverse)
            }
        };
        Material {
            hydroelastic_modulus: by_modulus,
            dissipation: by_dissipation,
            relaxation_time: combined.relaxation_time.eps[first + 2],
            static_friction: combined.static_friction.eps[first + 3],
            dynamic_friction: combined.dynamic_friction.eps[first + 4],
        }
    })
}
