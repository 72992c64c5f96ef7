//! The scene file as it is written: one schema for TOML and JSON.
//!
//! Only the form is checked here (names and types of fields); ranges and references are checked
//! where the tables are turned into a model.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::joint_schema::{ActuatorTable, JointTable, RobotTable};
use super::strict::{Exactly, map_without_duplicates};
use crate::contact::{DissipationModel, FaceFilter, FrictionRegularization, SurfaceRepresentation};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SceneTable {
    #[serde(default = "standard_gravity")]
    pub gravity: Exactly<f64, 3>,
    #[serde(default, deserialize_with = "map_without_duplicates")]
    pub materials: BTreeMap<String, MaterialTable>,
    #[serde(default)]
    pub solver: SolverTable,
    #[serde(default)]
    pub contact: ContactTable,
    #[serde(default)]
    pub bodies: Vec<BodyTable>,
    #[serde(default)]
    pub robots: Vec<RobotTable>,
    #[serde(default)]
    pub actuators: Vec<ActuatorTable>,
}

fn standard_gravity() -> Exactly<f64, 3> {
    Exactly([0.0, 0.0, -9.81])
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MaterialTable {
    pub hydroelastic_modulus: Option<f64>,
    #[serde(default)]
    pub dissipation: f64,
    #[serde(default)]
    pub relaxation_time: f64,
    pub friction: Option<f64>,
    pub static_friction: Option<f64>,
    pub dynamic_friction: Option<f64>,
}

/// Which method a scene asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SolverKind {
    /// Semi-implicit Euler.
    #[default]
    SemiImplicitEuler,
    /// The classical Runge–Kutta method of order 4.
    Rk4,
    /// Radau IIA with error control.
    Radau,
    /// The convex semi-analytic primal formulation.
    Sap,
    /// The convex lagged model.
    Lagged,
    /// The convex similar model.
    Similar,
    /// The transition-aware modified semi-implicit method.
    Tamsi,
    /// Linear complementarity.
    Lcp,
    /// Nonlinear complementarity.
    Ncp,
    /// Geometrically implicit time stepping with the equivalent contact point.
    Ecp,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SolverTable {
    #[serde(default)]
    pub kind: SolverKind,
    #[serde(default = "default_time_step")]
    pub time_step: f64,
    pub relative_tolerance: Option<f64>,
    pub maximum_iterations: Option<usize>,
}

fn default_time_step() -> f64 {
    1e-3
}

impl Default for SolverTable {
    fn default() -> Self {
        Self {
            kind: SolverKind::default(),
            time_step: default_time_step(),
            relative_tolerance: None,
            maximum_iterations: None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContactTable {
    pub surface: Option<SurfaceRepresentation>,
    pub face_filter: Option<FaceFilter>,
    pub dissipation_model: Option<DissipationModel>,
    pub positive_part_width: Option<f64>,
    pub friction_regularization: Option<FrictionRegularization>,
    pub stiction_velocity: Option<f64>,
    pub quadrature_order: Option<u8>,
    /// Thickness of the skirt of every compliant geometry, m.
    #[serde(default)]
    pub skirt: f64,
    #[serde(default)]
    pub excluded_pairs: Vec<Exactly<String, 2>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BodyTable {
    pub name: String,
    #[serde(default)]
    pub fixed: bool,
    pub joint: Option<JointTable>,
    pub translation: Option<Exactly<f64, 3>>,
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    pub rpy: Option<Exactly<f64, 3>>,
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
    pub linear_velocity: Option<Exactly<f64, 3>>,
    pub angular_velocity: Option<Exactly<f64, 3>>,
    pub mass: Option<f64>,
    pub density: Option<f64>,
    pub inertia: Option<Exactly<Exactly<f64, 3>, 3>>,
    pub center_of_mass: Option<Exactly<f64, 3>>,
    #[serde(default)]
    pub geometries: Vec<GeometryTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GeometryTable {
    pub shape: ShapeTable,
    pub translation: Option<Exactly<f64, 3>>,
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    pub rpy: Option<Exactly<f64, 3>>,
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
    pub material: Option<String>,
    #[serde(default)]
    pub rigid: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShapeTable {
    Sphere(SphereTable),
    Box(BoxTable),
    Cylinder(CylinderTable),
    Capsule(CapsuleTable),
    Ellipsoid(EllipsoidTable),
    HalfSpace(HalfSpaceTable),
    Mesh(MeshTable),
    Convex(ConvexTable),
    VolumeMesh(VolumeMeshTable),
    SurfaceMesh(SurfaceMeshTable),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SphereTable {
    pub radius: f64,
    pub resolution: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoxTable {
    pub size: Exactly<f64, 3>,
    pub resolution: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CylinderTable {
    pub radius: f64,
    pub length: f64,
    pub resolution: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CapsuleTable {
    pub radius: f64,
    pub length: f64,
    pub resolution: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EllipsoidTable {
    pub semi_axes: Exactly<f64, 3>,
    pub resolution: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HalfSpaceTable {
    pub thickness: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeshTable {
    pub file: PathBuf,
    pub scale: Option<f64>,
    pub extent: Option<ExtentTable>,
    /// Whether tetrahedra with all four vertices on the boundary, which have no pressure
    /// gradient, are split at their centroids before the extent is computed.
    #[serde(default)]
    pub split_zero_gradient: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConvexTable {
    pub file: Option<PathBuf>,
    pub points: Option<Vec<Exactly<f64, 3>>>,
    pub scale: Option<f64>,
    pub extent: Option<ExtentTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VolumeMeshTable {
    pub vertices: Vec<Exactly<f64, 3>>,
    pub tetrahedra: Vec<Exactly<u32, 4>>,
    pub extent: Option<ExtentTable>,
    /// As in [`MeshTable`]. Not for an extent that is given: its tetrahedra stay as they are.
    #[serde(default)]
    pub split_zero_gradient: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SurfaceMeshTable {
    pub vertices: Vec<Exactly<f64, 3>>,
    pub triangles: Vec<Exactly<u32, 3>>,
    pub extent: Option<ExtentTable>,
}

/// Where the extent of a mesh comes from.
#[derive(Debug, Default, PartialEq)]
pub(super) enum ExtentTable {
    /// The normalized distance to the boundary.
    #[default]
    Distance,
    /// Laplace's equation.
    Laplace,
    /// One number for each vertex.
    Given(Vec<f64>),
}

impl<'de> Deserialize<'de> for ExtentTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ExtentVisitor;

        impl<'de> Visitor<'de> for ExtentVisitor {
            type Value = ExtentTable;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"distance\", \"laplace\", or a list with a number for each vertex")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<ExtentTable, E> {
                match name {
                    "distance" => Ok(ExtentTable::Distance),
                    "laplace" => Ok(ExtentTable::Laplace),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(name), &self)),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ExtentTable, A::Error> {
                let mut values = Vec::with_capacity(list.size_hint().unwrap_or(0).min(1 << 16));
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(ExtentTable::Given(values))
            }
        }

        deserializer.deserialize_any(ExtentVisitor)
    }
}
