//! The contact models of velocity-level steps: the impulse that one face of a contact surface exerts
//! over a time step, as a function of the velocity after the step.
//!
//! A face of area A with pressure p and gradient g along its normal is a compliant point contact
//! (Masterjohn §IV): its elastic force at the end of a step of length δt is A p − δt k v_n with
//! the stiffness k = g A. With the normal velocity v_n (positive when the bodies separate) and
//! the slip velocity v_t the impulse is γ_n n̂ − S v_t; this file gives γ_n and S.

use serde::{Deserialize, Serialize};

use crate::contact::own_law::{DampingPoint, FrictionPoint, OWN_PARAMETERS, OwnLaw};
use crate::scalar::Scalar;

/// A contact model of velocity-level stepping.
///
/// Where static friction is higher than dynamic friction, all of them take the coefficient of each face from its
/// slip velocity before the step, so that it falls as in explicit steps and the convex ones stay convex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContactModel {
    /// Convex, with linear dissipation (relaxation time), and friction with a regularization that
    /// is relative to the bodies' inertia (Castro, Permenter, Han, arXiv 2110.10107). The
    /// Hunt–Crossley dissipation is not used.
    Sap,
    /// Convex, with Hunt–Crossley dissipation, and friction from the normal force that the
    /// velocities before the step would give (Castro, Han, Masterjohn, arXiv 2312.03908).
    #[default]
    Lagged,
    /// Convex, with Hunt–Crossley dissipation, and friction that agrees with the normal force of
    /// the same step at the price of a normal velocity reduced by μ‖v_t‖ (same source).
    Similar,
    /// Regularized Coulomb friction with the normal force of the same step: consistent, but not
    /// convex (Castro et al. 2020, arXiv 1909.05700).
    Tamsi,
}

impl ContactModel {
    /// Whether the model's step is the minimum of a convex function, so that it has exactly one
    /// solution.
    pub fn is_convex(self) -> bool {
        self != Self::Tamsi
    }
}

/// What the impulses of all faces of a pair have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ImpulseLaw<T> {
    pub model: ContactModel,
    /// Length of the step, s.
    pub dt: T,
    /// Regularization velocity of friction, m/s: the stiction velocity, or that of bristles (see
    /// [`crate::contact::impulse::bristles`]).
    pub stiction_velocity: T,
    /// The stiction velocity that the fall from static to dynamic friction is measured by, m/s.
    pub fall_velocity: T,
    /// Combined coefficient of dynamic friction; in the law of one face
    /// ([`Self::of_face`]) the face's coefficient of friction.
    pub friction: T,
    /// Combined coefficient of static friction where it is another one, and the law is not the user's own.
    pub static_friction: Option<T>,
    /// Combined relaxation time, s.
    pub relaxation_time: T,
    /// Whether SAP holds stiffnesses below those that a step can resolve, as Drake does ("near-rigid", arXiv 2110.10107,
    /// eq. 24). A small face bears as much as a large one then, and bodies at rest lie deeper in longer steps, so that
    /// they move where steps are cut.
    pub near_rigid: bool,
    /// See [`ContactSettings::sap_stiction`](crate::contact::ContactSettings::sap_stiction).
    pub sap_stiction: bool,
    /// The part of a law of the user's own; for TAMSI alone.
    pub own: Option<OwnImpulse<T>>,
}

/// What a law of the user's own adds to an [`ImpulseLaw`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnImpulse<T> {
    pub law: OwnLaw,
    /// Combined coefficient of static friction.
    pub static_friction: T,
    /// Combined parameters of the law.
    pub parameters: [T; OWN_PARAMETERS],
    /// The part of friction that acts while a solution is followed from none to all of it.
    pub part: f64,
}

/// What the impulse of one face depends on besides the velocity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaceConstants<T> {
    /// Elastic force at the start of the step, N: A p. Below 0 for rigid bodies that have not met.
    pub load: T,
    /// Stiffness k, N/m: A g.
    pub stiffness: T,
    /// Hunt–Crossley dissipation, s/m.
    pub dissipation: T,
    /// A quantity from the start of the step that the contact model needs. For Lagged it is the normal
    /// velocity, m/s; for SAP the inverse effective mass w at the face, 1/kg; for TAMSI the pressure,
    /// Pa, which laws of the user's own may depend on. Similar has none.
    pub history: T,
}

/// The impulse γ = `normal` n̂ − `slip` v_t.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Impulse<T> {
    /// γ_n, N s.
    pub normal: T,
    /// Friction impulse per slip velocity, N s / (m/s).
    pub slip: T,
}

/// The part β of the time step below which SAP takes a contact's time scale for rigid.
const NEAR_RIGID: f64 = 1.0;
/// SAP's ratio σ of the regularization of friction to the inverse effective mass.
const SAP_FRICTION: f64 = 1e-3;

/// The Hunt–Crossley impulse δt (A p − δt k v)₊ (1 − d v)₊ (Masterjohn eq. 14–16).
#[inline(always)]
fn hunt_crossley<T: Scalar>(dt: T, face: &FaceConstants<T>, v: T) -> T {
    let elastic = face.load - face.stiffness * v * dt;
    let damping = T::from(1.0) - face.dissipation * v;
    if elastic.real() <= 0.0 || damping.real() <= 0.0 { T::from(0.0) } else { elastic * damping * dt }
}

/// The normal impulse δt A p (1 − d v)₊ that the model Lagged takes friction from, with the
/// normal velocity v before the step.
#[inline(always)]
fn lagged<T: Scalar>(dt: T, face: &FaceConstants<T>) -> T {
    let damping = T::from(1.0) - face.dissipation * face.history;
    if damping.real() <= 0.0 { T::from(0.0) } else { face.load * damping * dt }
}

/// TAMSI's friction per slip velocity and normal impulse over μ at a squared slip velocity: μ(r) v_t/|v_t| with
/// μ(r) = μ r (2 − r) below r = |v_t|/v_s = 1, μ above.
#[inline(always)]
pub(in crate::contact) fn tamsi_per_slip<T: Scalar>(s: T, v_s: T) -> T {
    let square = s.real();
    if square >= (v_s * v_s).real() {
        s.sqrt().recip()
    } else if square > 0.0 {
        (T::from(2.0) - s.sqrt() / v_s) / v_s
    } else {
        T::from(2.0) / v_s
    }
}

/// SAP's regularization of a face: 1/R_n in N s/(m/s), R_t in (m/s)/(N s), and the impulse v̂_n/R_n in N s that it
/// bears at rest (arXiv 2110.10107, §V). In this form a face without stiffness is no special case.
#[inline(always)]
pub(in crate::contact) fn sap_regularization<T: Scalar>(
    law: &ImpulseLaw<T>,
    face: &FaceConstants<T>,
) -> [T; 3] {
    let inverse_effective_mass = face.history;
    let period = law.relaxation_time + law.dt;
    let soft = face.stiffness * period * law.dt;
    let near_rigid = inverse_effective_mass
        * (NEAR_RIGID * NEAR_RIGID / (4.0 * std::f64::consts::PI * std::f64::consts::PI));
    let tangential = if law.sticks_by_inertia(face) {
        inverse_effective_mass * SAP_FRICTION
    } else {
        law.stiction_velocity / (face.load * law.dt)
    };
    if !law.near_rigid || soft.real() * near_rigid.real() <= 1.0 {
        [soft, tangential, face.load * law.dt]
    } else {
        let per_normal = near_rigid.recip();
        [per_normal, tangential, face.load / (face.stiffness * period) * per_normal]
    }
}

impl<T: Scalar> ImpulseLaw<T> {
    /// Whether SAP's friction of a face is regularized by the bodies' inertia, and not by the stiction velocity.
    #[inline(always)]
    pub(in crate::contact) fn sticks_by_inertia(&self, face: &FaceConstants<T>) -> bool {
        let by_inertia = face.history.real() * SAP_FRICTION * face.load.real() * self.dt.real();
        !self.sap_stiction || face.load.real() <= 0.0 || by_inertia >= self.stiction_velocity.real()
    }

    /// The impulse of a face at the normal velocity `v_n` and the squared slip velocity `s`.
    ///
    /// The impulse is not smooth where contact is made or broken and where SAP's or TAMSI's friction
    /// begins to slip; its second derivatives are not continuous where TAMSI's slip velocity vanishes.
    /// At each of these points the derivatives are one-sided. All of them are finite.
    #[inline(always)]
    pub fn impulse(&self, face: &FaceConstants<T>, v_n: T, s: T) -> Impulse<T> {
        let (mu, v_s) = (self.friction, self.stiction_velocity);
        let zero = Impulse { normal: T::from(0.0), slip: T::from(0.0) };
        match self.model {
            ContactModel::Lagged => {
                let slip = mu * lagged(self.dt, face) / (s + v_s * v_s).sqrt();
                Impulse { normal: hunt_crossley(self.dt, face, v_n), slip }
            }
            ContactModel::Similar => {
                let soft = (s + v_s * v_s).sqrt();
                let normal = hunt_crossley(self.dt, face, v_n - mu * (soft - v_s));
                Impulse { normal, slip: mu * normal / soft }
            }
            ContactModel::Tamsi => {
                let (normal, mu) = match &self.own {
                    None => (hunt_crossley(self.dt, face, v_n), mu),
                    Some(own) => (self.own_normal(own, face, v_n), self.own_friction(own, face, s)),
                };
                Impulse { normal, slip: mu * normal * tamsi_per_slip(s, v_s) }
            }
            ContactModel::Sap => {
                let [per_n, r_t, at_rest] = sap_regularization(self, face);
                // y = −R⁻¹(v − v̂), projected onto the friction cone in the norm of R.
                let y_n = at_rest - v_n * per_n;
                let y_r = s.real().sqrt() / r_t.real();
                let coupling = mu * r_t * per_n;
                if y_n.real() >= 0.0 && y_r <= mu.real() * y_n.real() {
                    Impulse { normal: y_n, slip: r_t.recip() }
                } else if y_n.real() > -coupling.real() * y_r {
                    // Here y_r, and with it s, is positive.
                    let speed = s.sqrt();
                    let normal = (y_n + coupling * speed / r_t) / (mu * coupling + 1.0);
                    Impulse { normal, slip: mu * normal / speed }
                } else {
                    zero
                }
            }
        }
    }
}

impl<T: Scalar> ImpulseLaw<T> {
    /// The normal impulse δt (A p − δt k v)₊ φ with the damping factor of a law of the user's own.
    pub(in crate::contact) fn own_normal(&self, own: &OwnImpulse<T>, face: &FaceConstants<T>, v_n: T) -> T {
        let elastic = face.load - face.stiffness * v_n * self.dt;
        if elastic.real() <= 0.0 {
            return T::from(0.0);
        }
        elastic * own.law.damping(&own.damping_point(face, v_n)) * self.dt
    }

    /// The coefficient of friction of a law of the user's own at a squared slip velocity.
    pub(in crate::contact) fn own_friction(&self, own: &OwnImpulse<T>, face: &FaceConstants<T>, s: T) -> T {
        own.law.friction(&self.own_friction_point(own, face, s)) * own.part
    }

    /// What that coefficient depends on.
    fn own_friction_point(&self, own: &OwnImpulse<T>, face: &FaceConstants<T>, s: T) -> FrictionPoint<T> {
        FrictionPoint {
            pressure: face.history,
            slip_speed: (s + self.stiction_velocity * self.stiction_velocity).sqrt(),
            static_friction: own.static_friction,
            dynamic_friction: self.friction,
            own: own.parameters,
        }
    }
}

impl<T: Scalar> OwnImpulse<T> {
    /// What the damping factor depends on.
    fn damping_point(&self, face: &FaceConstants<T>, v_n: T) -> DampingPoint<T> {
        DampingPoint {
            pressure: face.history,
            normal_velocity: v_n,
            dissipation: face.dissipation,
            own: self.parameters,
        }
    }
}

impl ImpulseLaw<f64> {
    /// The law as scalars `T`.
    pub fn lift<T: Scalar>(&self) -> ImpulseLaw<T> {
        ImpulseLaw {
            model: self.model,
            dt: T::from(self.dt),
            stiction_velocity: T::from(self.stiction_velocity),
            fall_velocity: T::from(self.fall_velocity),
            friction: T::from(self.friction),
            static_friction: self.static_friction.map(T::from),
            relaxation_time: T::from(self.relaxation_time),
            near_rigid: self.near_rigid,
            sap_stiction: self.sap_stiction,
            own: self.own.map(|own| OwnImpulse {
                law: own.law,
                static_friction: T::from(own.static_friction),
                parameters: own.parameters.map(T::from),
                part: own.part,
            }),
        }
    }

    /// The branch: which of the formulas of [`Self::impulse`] holds at a normal velocity and a squared
    /// slip velocity, and whether the face has a stiffness, which it loses with a kink where its pressure does not grow
    /// along the normal any more; for SAP also what regularizes friction. The impulse is not smooth where the branch changes.
    /// Below 64.
    pub fn branch(&self, face: &FaceConstants<f64>, v_n: f64, s: f64) -> u8 {
        let Impulse { normal, slip } = self.impulse(face, v_n, s);
        let mut branch = u8::from(normal > 0.0) + 2 * u8::from(slip > 0.0);
        branch += 16 * u8::from(face.stiffness > 0.0);
        if self.model == ContactModel::Sap {
            let [per_n, r_t, _] = sap_regularization(self, face);
            let soft = face.stiffness * (self.relaxation_time + self.dt) * self.dt;
            branch += 4 * u8::from(slip == r_t.recip()) + 8 * u8::from(per_n == soft);
            branch += 32 * u8::from(self.sticks_by_inertia(face));
        }
        branch
    }

    /// The time over which the model's normal impulse follows the slip velocity, s: in steady
    /// sliding it opens a gap of this times μ‖v_t‖. `None` for the models that do not.
    pub fn gap_time(&self) -> Option<f64> {
        match self.model {
            ContactModel::Similar => Some(self.dt),
            ContactModel::Sap => Some(self.dt + self.relaxation_time),
            ContactModel::Lagged | ContactModel::Tamsi => None,
        }
    }

    /// The stiffness of a face at rest, N/m: SAP's is smaller than the face's own where the time
    /// scale of the contact is near the step's.
    pub fn stiffness_at_rest(&self, face: &FaceConstants<f64>) -> f64 {
        match self.model {
            ContactModel::Sap => {
                let [per_normal, _, _] = sap_regularization(self, face);
                per_normal / (self.dt * (self.dt + self.relaxation_time))
            }
            ContactModel::Lagged | ContactModel::Similar | ContactModel::Tamsi => face.stiffness,
        }
    }
}

#[cfg(test)]
pub(in crate::contact) mod tests {
    use super::*;
    use crate::contact::own_law::tests::{Everything, OWN};
    use crate::scalar::DualArray;

    pub const MODELS: [ContactModel; 4] =
        [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];

    pub fn law(model: ContactModel) -> ImpulseLaw<f64> {
        ImpulseLaw {
            model,
            dt: 1e-3,
            stiction_velocity: 1e-2,
            fall_velocity: 1e-2,
            friction: 0.5,
            static_friction: None,
            relaxation_time: 2e-3,
            near_rigid: true,
            sap_stiction: false,
            own: None,
        }
    }

    /// The four models, SAP whose friction sticks up to the stiction velocity, and TAMSI with a law of the user's own.
    pub fn laws() -> Vec<ImpulseLaw<f64>> {
        let mut laws = MODELS.map(law).to_vec();
        let law = OwnLaw::new(&Everything);
        let own = OwnImpulse { law, static_friction: 0.8, parameters: OWN, part: 0.7 };
        laws.push(ImpulseLaw { sap_stiction: true, near_rigid: false, ..laws[0] });
        laws.push(ImpulseLaw { own: Some(own), ..laws[3] });
        laws
    }

    pub fn face(history: f64) -> FaceConstants<f64> {
        FaceConstants { load: 0.3, stiffness: 4e3, dissipation: 1.5, history }
    }

    /// History of a face: an inverse effective mass for SAP, a pressure for TAMSI, a velocity for the others.
    pub fn history(model: ContactModel) -> f64 {
        match model {
            ContactModel::Sap => 30.0,
            ContactModel::Tamsi => 2e4,
            ContactModel::Lagged | ContactModel::Similar => -0.02,
        }
    }

    /// Velocities in stick, slip, separation, and near-separation.
    pub const STATES: [(f64, f64); 6] =
        [(-0.04, 3e-3), (-0.05, 0.2), (0.03, 0.02), (0.06, 0.4), (0.2, 0.05), (-0.3, 1e-5)];

    #[test]
    fn branches_tell_the_formulas_apart() {
        let branches = |model: ContactModel, stiffness: f64| {
            let face = FaceConstants { stiffness, ..face(history(model)) };
            // Held, slipping, and parted.
            [(-0.04, 1e-12), (-0.04, 4.0), (5.0, 1e-12)].map(|(v_n, s)| law(model).branch(&face, v_n, s))
        };
        assert_eq!(branches(ContactModel::Sap, 4e3), [63, 59, 56]);
        // Near rigid.
        assert_eq!(branches(ContactModel::Sap, 8e5), [55, 51, 48]);
        // Lagged's friction is that of the velocity before.
        assert_eq!(branches(ContactModel::Lagged, 4e3), [19, 19, 18]);
        assert_eq!(branches(ContactModel::Similar, 4e3), [19, 19, 16]);
        assert_eq!(branches(ContactModel::Tamsi, 4e3), [19, 19, 16]);
        // Without stiffness.
        assert_eq!(branches(ContactModel::Tamsi, 0.0), [3, 3, 0]);
    }

    #[test]
    fn friction_obeys_coulomb() {
        for model in MODELS {
            let (law, face) = (law(model), face(history(model)));
            for (v_n, v_t) in STATES {
                let Impulse { normal, slip } = law.impulse(&face, v_n, v_t * v_t);
                assert!(normal >= 0.0);
                // Lagged friction is bounded by the normal force before the step.
                let bound = match model {
                    ContactModel::Lagged => lagged(law.dt, &face),
                    _ => normal,
                };
                assert!(slip * v_t <= 0.5 * bound * (1.0 + 1e-12), "{model:?}");
            }
        }
    }

    #[test]
    fn at_rest_all_derivatives_are_finite() {
        type D = DualArray<6>;
        for real in laws() {
            let model = real.model;
            for v_n in [-0.1, 0.0, 0.075, 1.0] {
                let law = ImpulseLaw {
                    friction: D::variable(0.5, 0),
                    relaxation_time: D::variable(0.0, 1),
                    near_rigid: real.near_rigid,
                    ..real.lift()
                };
                let face = FaceConstants {
                    load: D::variable(0.3, 2),
                    stiffness: D::variable(4e3, 3),
                    dissipation: D::variable(0.0, 4),
                    history: D::from(history(model)),
                };
                let got = law.impulse(&face, D::from(v_n), D::variable(0.0, 5));
                let numbers = got.normal.eps.iter().chain(&got.slip.eps);
                assert!(numbers.chain([&got.normal.re, &got.slip.re]).all(|x| x.is_finite()), "{model:?}");
            }
        }
    }
}
