//! What a contact query computes, and with which laws.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contact::own_law::OwnLaw;
use crate::scalar::Scalar;

/// How the contact surface is cut into faces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SurfaceRepresentation {
    /// Each polygon is a fan of triangles around its centroid (Elandt §VI-B.2).
    #[default]
    Triangles,
    /// Each polygon is one face (Masterjohn §III-B).
    Polygons,
}

/// Which faces count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FaceFilter {
    /// All faces count. This is the model of the papers, which is conservative and continuous.
    #[default]
    None,
    /// Faces whose normal is more than 5π/8 from a body's pressure increase are dropped, as Drake does, and in
    /// velocity-level steps those along whose normal a pressure does not grow.
    /// This is neither conservative nor continuous and meant for comparison.
    Drake,
}

/// How the pressure depends on the rate of approach (Elandt eq. 2–3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DissipationModel {
    /// p = p₀ (1 − d·v_n)₊ with the combined dissipation d in s/m.
    #[default]
    HuntCrossley,
    /// p = p₀ (1 + χ_A ε̇_A + χ_B ε̇_B)₊ with each body's dissipation χ in s and the rate of
    /// its extent ε̇ = −g v_n / E, g the gradient of the two fields in series.
    StrainRate,
}

/// How Coulomb's law is regularized to a function of the slip velocity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FrictionRegularization {
    /// v_t / √(|v_t|² + v_s²).
    #[default]
    Smooth,
    /// (2/π) atan(|v_t|/v_s) v_t/|v_t|: Drake's for continuous hydroelastic contact.
    Atan,
    /// Drake's Stribeck curve: rises to μ_s at v_s, falls to μ_d at 3 v_s.
    Stribeck,
}

/// The [`ContactSettings::quadrature_order`] where none is given, but for velocity-level steps on meshes that are not coarse.
pub(crate) const USUAL_QUADRATURE_ORDER: u8 = 2;

/// The largest [`ContactSettings::quadrature_order`].
pub(crate) const LARGEST_QUADRATURE_ORDER: u8 = 5;

/// The default of [`ContactSettings::rigid_stiffness`], 1/s².
pub(crate) const STIFFEST: f64 = 1e9;
/// The least that is taken for an accuracy, with which bodies at rest lie 0.1 mm deep.
const SOFTEST: f64 = 1e5;

/// What a contact query computes, and with which laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactSettings<T = f64> {
    /// How the contact surface is cut into faces.
    pub surface: SurfaceRepresentation,
    /// Which faces count.
    pub face_filter: FaceFilter,
    /// How the pressure depends on the rate of approach.
    pub dissipation_model: DissipationModel,
    /// Half-width of the smooth positive part of the dissipation factor (dimensionless); 0 is
    /// the exact positive part.
    pub positive_part_width: f64,
    /// How friction depends on the slip velocity.
    pub friction_regularization: FrictionRegularization,
    /// Regularization velocity v_s of friction, m/s; positive.
    pub stiction_velocity: T,
    /// Whether the friction of SAP sticks up to μ v_s where that is more than what its own regularization allows. That one
    /// shrinks with the step, and shorter and shorter steps then see a force that jumps. Without effect on other models. Scenes
    /// that give SAP an accuracy have it: steps whose error is controlled do not converge without.
    pub sap_stiction: bool,
    /// κ: the stiffness of the contacts of two rigid bodies over the mass of the heaviest body, 1/s². What rests on them lies up to
    /// g/κ deep. The default, 10⁹, keeps it below 10 nm. Scenes of the solver `radau` take the least with which that is below
    /// a tenth of their accuracy: its steps find contacts at every stage, and have less stiffness to follow then. Velocity-level
    /// steps would follow vibrations. It carries no derivative. Positive.
    pub rigid_stiffness: f64,
    /// The bristle length ℓ, m: with it what sticks stays where it is, instead of creeping at a part of the
    /// stiction velocity v_s. It is damped over the time ℓ/v_s. Each pair of geometries then has a [`Deflection`](crate::contact::Deflection) in the
    /// state. Steps of the contact model Lagged alone have bristles. Positive.
    pub bristle_length: Option<T>,
    /// Degree of polynomial that the quadrature on fan triangles integrates exactly, 1 to 5; `None` for 1 in velocity-level
    /// steps, which is one point a triangle, and 2 elsewhere and between coarse meshes (both have a triangle above a 25th of
    /// their surface). Polygons always use their centroid.
    pub quadrature_order: Option<u8>,
    /// A law of the user's own that replaces Hunt–Crossley's damping factor and Coulomb's coefficient of
    /// friction, if there is one. Friction is regularized as [`Self::friction_regularization`] says,
    /// except that the smooth form replaces the Stribeck curve.
    pub law: Option<OwnLaw>,
}

impl Default for ContactSettings {
    fn default() -> Self {
        Self {
            surface: SurfaceRepresentation::Triangles,
            face_filter: FaceFilter::None,
            dissipation_model: DissipationModel::HuntCrossley,
            positive_part_width: 0.0,
            friction_regularization: FrictionRegularization::Smooth,
            stiction_velocity: 1e-3,
            sap_stiction: false,
            rigid_stiffness: STIFFEST,
            bristle_length: None,
            quadrature_order: None,
            law: None,
        }
    }
}

impl ContactSettings {
    /// [`Self::rigid_stiffness`], 1/s², for steps that may be off by a length in m.
    pub fn rigid_stiffness_for(accuracy: f64) -> f64 {
        (100.0 / accuracy).clamp(SOFTEST, STIFFEST)
    }
}

impl<T: Copy> ContactSettings<T> {
    /// The same settings with `f` applied to the numbers that may carry derivatives.
    pub fn map<U>(&self, mut f: impl FnMut(T) -> U) -> ContactSettings<U> {
        let Self {
            surface,
            face_filter,
            dissipation_model,
            positive_part_width,
            friction_regularization,
            stiction_velocity,
            sap_stiction,
            rigid_stiffness,
            bristle_length,
            quadrature_order,
            law,
        } = *self;
        ContactSettings {
            surface,
            face_filter,
            dissipation_model,
            positive_part_width,
            friction_regularization,
            stiction_velocity: f(stiction_velocity),
            sap_stiction,
            rigid_stiffness,
            bristle_length: bristle_length.map(f),
            quadrature_order,
            law,
        }
    }
}

impl<T: Scalar> ContactSettings<T> {
    /// The same settings without derivatives.
    pub(crate) fn real(&self) -> ContactSettings {
        self.map(|x| x.real())
    }
}

impl ContactSettings {
    /// The same settings in another scalar, without derivatives.
    pub(crate) fn lift<T: Scalar>(&self) -> ContactSettings<T> {
        self.map(T::from)
    }
}
