//! The scene file as it is written: one schema for TOML and JSON.
//!
//! Only names and types of fields are checked here. Ranges and references are checked where the tables
//! are turned into a model. The comments become the text of the reference that [`crate::io::reference`]
//! makes of these types, and are written for the authors of scenes.

use std::collections::BTreeMap;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(test)]
use crate::contact::ContactSettings;
use crate::contact::{DissipationModel, FaceFilter, FrictionRegularization, SurfaceRepresentation};
use crate::io::scene::actuator_schema::ActuatorTable;
use crate::io::scene::controller_schema::ControllerTable;
use crate::io::scene::joint_schema::{JointTable, RobotTable};
use crate::io::scene::load_schema::LoadTable;
use crate::io::scene::shape_schema::GeometryTable;
use crate::io::strict::{Exactly, map_without_duplicates};
#[cfg(test)]
use crate::step::SolverTolerance;

/// A scene says which bodies there are, how they move and what they are made of. It is a TOML or
/// JSON file; its name ends in `.toml` or `.json`. Files that it names are relative to it.
///
/// All numbers are in SI units, angles in radians. W is the world's frame; gravity is along −z
/// unless the scene says otherwise. Unknown fields are refused.
///
/// All bodies can touch each other, except two bodies that are both fixed, two bodies that one joint
/// connects or that move as one, the links of a robot with `self_contact = false`, and the pairs in
/// `contact.excluded_pairs`. Of two geometries that can touch at least one must be compliant, except with the solvers
/// `lcp`, `ncp` and `ecp`, and at most one may be a half-space.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct SceneTable {
    /// Acceleration of gravity in W.
    #[serde(default = "standard_gravity")]
    #[cfg_attr(test, schemars(extend("x-unit" = "m/s²")))]
    pub gravity: Exactly<f64, 3>,
    /// Materials by name.
    #[serde(default, deserialize_with = "map_without_duplicates")]
    pub materials: BTreeMap<String, MaterialTable>,
    /// How the scene is simulated.
    #[serde(default)]
    pub solver: SolverTable,
    /// How contact is computed, and between which bodies.
    #[serde(default)]
    pub contact: ContactTable,
    /// The bodies.
    #[serde(default)]
    pub bodies: Vec<BodyTable>,
    /// Robots from URDF, SDF and MJCF files.
    #[serde(default)]
    pub robots: Vec<RobotTable>,
    /// Drives of joints, each with its command.
    #[serde(default)]
    pub actuators: Vec<ActuatorTable>,
    /// Forces and torques on free bodies over time.
    #[serde(default)]
    pub loads: Vec<LoadTable>,
    /// Feedback controllers of actuators. `isobar simulate` and `isobar optimize` have them; fits and the check of a
    /// scene's derivatives leave them out.
    #[serde(default)]
    pub controllers: Vec<ControllerTable>,
}

fn standard_gravity() -> Exactly<f64, 3> {
    Exactly([0.0, 0.0, -9.81])
}

/// What a geometry is made of: a table `[materials.NAME]`.
///
/// The parameters of two materials A and B in contact are combined. Each coefficient of friction is 2
/// μ_A μ_B / (μ_A + μ_B): equal coefficients give the same coefficient, and friction vanishes if one of
/// them is 0. Dissipation is (E_B d_A + E_A d_B) / (E_A + E_B): each is weighted by the *other's*
/// modulus E, because the softer body deforms more. Relaxation times are added. The moduli are not
/// combined: the contact surface is where the pressures of both bodies are equal.
///
/// Modulus and dissipation of a rigid geometry are not used: the pair has those of the compliant
/// geometry. The friction of a rigid geometry is used; a rigid geometry without a material takes the
/// friction of whatever it touches.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct MaterialTable {
    /// Hydroelastic modulus: the pressure where the extent is 1, in the middle of a body, or what a geometry's
    /// pressure law is multiplied with. Needed by compliant geometries.
    #[cfg_attr(test, schemars(extend("x-unit" = "Pa")))]
    pub hydroelastic_modulus: Option<f64>,
    /// Hunt–Crossley dissipation d: the pressure is multiplied by (1 − d v)₊ where the bodies separate
    /// with velocity v. With `contact.dissipation_model = "strain_rate"` it is χ in s. The solver `sap`
    /// does not use it.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "s/m")))]
    pub dissipation: f64,
    /// Relaxation time of linear (Kelvin–Voigt) dissipation; used by the solver `sap` alone.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub relaxation_time: f64,
    /// Coefficient of static and dynamic friction, instead of `static_friction` and `dynamic_friction`.
    #[cfg_attr(test, schemars(extend("x-default" = "0")))]
    pub friction: Option<f64>,
    /// Coefficient of static friction, not below the coefficient of dynamic friction. Friction falls from
    /// the static to the dynamic coefficient around a slip velocity of 10 times `stiction_velocity`. Steps of
    /// implicit solvers take the coefficient from the slip velocity before the step.
    #[cfg_attr(test, schemars(extend("x-default" = "`dynamic_friction`")))]
    pub static_friction: Option<f64>,
    /// Coefficient of dynamic friction. The solvers `lcp`, `ncp` and `ecp` use it alone.
    #[cfg_attr(test, schemars(extend("x-default" = "`static_friction`")))]
    pub dynamic_friction: Option<f64>,
    /// Semi-axes e_t, e_o (both 1) and e_r (m) of the friction ellipsoid of the solver `ecp`: force p_t, p_o along two
    /// tangents and moment p_r about the normal satisfy (p_t/e_t)² + (p_o/e_o)² + (p_r/e_r)² ≤ (μ p_n)². Combined as
    /// coefficients of friction are.
    #[cfg_attr(test, schemars(extend("default" = [1, 1, 0])))]
    pub friction_ellipsoid: Option<Exactly<f64, 3>>,
}

/// The method of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SolverKind {
    /// Semi-implicit Euler: explicit and of first order, for soft contact.
    SemiImplicitEuler,
    /// The classical Runge–Kutta method: explicit and of order 4, for soft contact where energy must be
    /// conserved.
    Rk4,
    /// The method of Bogacki and Shampine: explicit and of order 3. With `accuracy`.
    BogackiShampine,
    /// The method of Dormand and Prince: explicit and of order 5, for references. With `accuracy`.
    DormandPrince,
    /// Radau IIA methods of orders 1, 3 and 5: implicit, for references where contact or friction is stiff.
    /// Needs `accuracy`.
    Radau,
    /// The convex semi-analytic primal formulation: implicit, with linear dissipation.
    Sap,
    /// The convex lagged model: implicit. The default. It takes rigid pairs, as the next two, `sap` and `radau` do.
    #[default]
    Lagged,
    /// The convex similar model: implicit.
    Similar,
    /// The transition-aware modified semi-implicit method: implicit, not convex, with friction in
    /// exact proportion to the normal force.
    Tamsi,
    /// Linear complementarity problems between rigid geometries: implicit, inelastic, with friction in a round
    /// cone at each point. Not with `accuracy`.
    Lcp,
    /// A nonlinear complementarity problem between rigid geometries: as `lcp`.
    Ncp,
    /// Equivalent contact points between rigid geometries: implicit, inelastic, with one friction force and moment for
    /// each pair of geometries, in the `friction_ellipsoid` of their materials. Not with `accuracy`.
    Ecp,
}

impl SolverKind {
    /// Whether it finds the forces between rigid geometries by complementarity.
    pub(in crate::io) fn is_complementarity(self) -> bool {
        matches!(self, Self::Lcp | Self::Ncp | Self::Ecp)
    }

    /// Its name in a scene file.
    pub fn name(self) -> &'static str {
        match self {
            Self::SemiImplicitEuler => "semi_implicit_euler",
            Self::Rk4 => "rk4",
            Self::BogackiShampine => "bogacki_shampine",
            Self::DormandPrince => "dormand_prince",
            Self::Radau => "radau",
            Self::Sap => "sap",
            Self::Lagged => "lagged",
            Self::Similar => "similar",
            Self::Tamsi => "tamsi",
            Self::Lcp => "lcp",
            Self::Ncp => "ncp",
            Self::Ecp => "ecp",
        }
    }
}

/// How a scene is simulated: the table `[solver]`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct SolverTable {
    /// The method of a step.
    #[serde(default)]
    pub kind: SolverKind,
    /// Length of a step: the interval at which commands may change and states are written. With `accuracy` it is
    /// the longest one.
    #[serde(default = "default_time_step")]
    #[cfg_attr(test, schemars(extend("x-unit" = "s")))]
    pub time_step: f64,
    /// How far a point of a body may be off after each of the substeps that a step is then made of: they
    /// are as short as that asks for. Without it a step is taken at once. Not for `semi_implicit_euler` and
    /// `rk4`.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub accuracy: Option<f64>,
    /// With `accuracy`, the order of implicit steps: 1, or 2 by extrapolation.
    #[cfg_attr(test, schemars(extend("default" = 2)))]
    pub order: Option<u8>,
    /// Largest residual of the balance of momentum after an implicit step, relative to its terms.
    #[cfg_attr(test, schemars(extend("default" = SolverTolerance::default().relative)))]
    pub relative_tolerance: Option<f64>,
    /// Most iterations of an implicit step.
    #[cfg_attr(test, schemars(extend("default" = SolverTolerance::default().max_iterations)))]
    pub max_iterations: Option<usize>,
}

fn default_time_step() -> f64 {
    1e-3
}

impl Default for SolverTable {
    fn default() -> Self {
        Self {
            kind: SolverKind::default(),
            time_step: default_time_step(),
            accuracy: None,
            order: None,
            relative_tolerance: None,
            max_iterations: None,
        }
    }
}

/// How contact is computed, and between which bodies: the table `[contact]`.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct ContactTable {
    /// How the contact surface is cut into faces.
    #[cfg_attr(test, schemars(extend("default" = ContactSettings::default().surface)))]
    pub surface: Option<SurfaceRepresentation>,
    /// Which faces count.
    #[cfg_attr(test, schemars(extend("default" = ContactSettings::default().face_filter)))]
    pub face_filter: Option<FaceFilter>,
    /// How the pressure depends on the rate of approach.
    #[cfg_attr(test, schemars(extend("default" = ContactSettings::default().dissipation_model)))]
    pub dissipation_model: Option<DissipationModel>,
    /// Half-width of the smooth positive part in the dissipation factor, in units of that factor;
    /// 0 is the exact positive part. Explicit solvers only.
    #[cfg_attr(test, schemars(extend("default" = ContactSettings::default().positive_part_width)))]
    pub positive_part_width: Option<f64>,
    /// How friction depends on the slip velocity. Implicit solvers have `smooth` alone.
    #[cfg_attr(test, schemars(extend("default" = ContactSettings::default().friction_regularization)))]
    pub friction_regularization: Option<FrictionRegularization>,
    /// Stiction velocity v_s, at which friction reaches nearly its full value. A body that should stick
    /// creeps at a fraction of it.
    #[cfg_attr(test, schemars(extend("x-unit" = "m/s", "default" = ContactSettings::default().stiction_velocity)))]
    pub stiction_velocity: Option<f64>,
    /// Bristle length ℓ. With it friction at rest follows a deflection instead of a velocity, and what sticks stays
    /// where it is: it gives by about ℓ as its load comes, and creeps no more. The stiction velocity v_s damps
    /// it over the time ℓ/v_s. 1e-6 is good. For the solver `lagged` alone, with or without `accuracy`; the state
    /// then has six numbers more for each pair of geometries that can touch.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub bristle_length: Option<f64>,
    /// Degree of polynomial that the quadrature on triangles integrates exactly, 1 to 5. The default is 1 for the implicit
    /// solvers (one point a triangle) and 2 for the others, and between coarse meshes (both have a triangle above a 25th of
    /// their surface). Polygons are integrated at their centroids.
    pub quadrature_order: Option<u8>,
    /// Thickness of the skirt of every compliant geometry; 0 is none. In the skirt the pressure
    /// continues below zero outside of the surface, and a smooth part of it acts, so that forces and
    /// gradients begin before bodies touch. It helps optimizations whose bodies start apart.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub skirt: f64,
    /// Pairs of names of bodies (or links of robots) that do not touch each other.
    #[serde(default)]
    pub excluded_pairs: Vec<Exactly<String, 2>>,
}

/// A body, `[[bodies]]`. It moves freely unless it is `fixed` or has a `joint`. The joint determines the
/// pose and the velocity of a body, which then has none of its own.
///
/// A body that moves needs `mass` or `density`. A body with a joint can do without both if other bodies
/// on it have mass. The mass is spread evenly over the volume of the geometries, which gives centre of
/// mass and inertia, unless `inertia` is given. Skirts and rigidity do not change the mass properties.
///
/// The orientation is given by at most one of `quaternion_wxyz`, `rpy` and `rotation_matrix`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct BodyTable {
    /// Its name. No other body and no link of a robot may have the same.
    pub name: String,
    /// Whether the body is fixed.
    #[serde(default)]
    pub fixed: bool,
    /// The joint that carries it.
    pub joint: Option<JointTable>,
    /// Position of its frame in W.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "default" = [0, 0, 0])))]
    pub translation: Option<Exactly<f64, 3>>,
    /// Orientation in W: a unit quaternion w, x, y, z.
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    /// Orientation in W: angles of roll, pitch and yaw; R = R_z(yaw) R_y(pitch) R_x(roll).
    #[cfg_attr(test, schemars(extend("x-unit" = "rad")))]
    pub rpy: Option<Exactly<f64, 3>>,
    /// Orientation in W: a rotation matrix, row by row.
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
    /// Velocity of its frame's origin in W at the start.
    #[cfg_attr(test, schemars(extend("x-unit" = "m/s", "default" = [0, 0, 0])))]
    pub linear_velocity: Option<Exactly<f64, 3>>,
    /// Angular velocity in W at the start.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad/s", "default" = [0, 0, 0])))]
    pub angular_velocity: Option<Exactly<f64, 3>>,
    /// Mass.
    #[cfg_attr(test, schemars(extend("x-unit" = "kg")))]
    pub mass: Option<f64>,
    /// Mass per volume of its geometries, instead of the mass. Volumes that overlap count twice.
    #[cfg_attr(test, schemars(extend("x-unit" = "kg/m³")))]
    pub density: Option<f64>,
    /// Inertia about the centre of mass in the axes of the body's frame, row by row.
    #[cfg_attr(test, schemars(extend("x-unit" = "kg m²", "x-default" = "of the geometries")))]
    pub inertia: Option<Exactly<Exactly<f64, 3>, 3>>,
    /// Centre of mass in the body's frame. Allowed only together with `inertia`.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = "of the geometries")))]
    pub center_of_mass: Option<Exactly<f64, 3>>,
    /// The geometries with which the body touches others. At least one is needed unless the body has a
    /// joint.
    #[serde(default)]
    pub geometries: Vec<GeometryTable>,
}
