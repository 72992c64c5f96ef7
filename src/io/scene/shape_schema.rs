//! The schema of geometries in scene files. As in [`crate::io::scene::schema`], only the form is
//! checked.

#[cfg(test)]
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

#[cfg(test)]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use crate::io::strict::Exactly;

/// The resolution of a primitive where the scene gives none: this part of its radius, and for an
/// ellipsoid of its middle semi-axis. (A box has no curve to resolve.)
pub(in crate::io) const DEFAULT_RESOLUTION: f64 = 0.25;

/// A geometry with which a body touches others, `[[bodies.geometries]]`: a shape, its pose on the body,
/// and its material.
///
/// Compliant geometries (the default) have a pressure that grows from 0 at the surface to the material's
/// modulus inside, where the extent is 1, by `pressure_law` in between. Rigid geometries have no pressure field.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct GeometryTable {
    /// The shape.
    pub shape: ShapeTable,
    /// Position of its frame in the body's.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "default" = [0, 0, 0])))]
    pub translation: Option<Exactly<f64, 3>>,
    /// Orientation in the body's frame: a unit quaternion w, x, y, z.
    pub quaternion_wxyz: Option<Exactly<f64, 4>>,
    /// Orientation in the body's frame: angles of roll, pitch and yaw.
    #[cfg_attr(test, schemars(extend("x-unit" = "rad")))]
    pub rpy: Option<Exactly<f64, 3>>,
    /// Orientation in the body's frame: a rotation matrix, row by row.
    pub rotation_matrix: Option<Exactly<Exactly<f64, 3>, 3>>,
    /// Name of the material; needed unless the geometry is rigid.
    pub material: Option<String>,
    /// Whether the geometry is rigid. Only the friction of its material is then used.
    #[serde(default)]
    pub rigid: bool,
    /// How the pressure grows with the extent. Not allowed for rigid geometries; half-spaces have `"linear"` alone.
    #[cfg_attr(test, schemars(extend("default" = "linear")))]
    pub pressure_law: Option<PressureLawTable>,
}

/// How the pressure p of a compliant geometry grows with its extent ε: p = E f(ε), with the material's modulus E and a
/// function f that grows from f(0) = 0. The value is `"linear"`, or a table with one of the others, such as
/// `{ power = { exponent = 1.5 } }`.
///
/// The law is applied at the vertices of the mesh, and the pressure is linear in between. So that the mesh has vertices
/// between the boundary and the core, it is cut into layers, the kth of n from ((k−1)/n)² to (k/n)² of the largest extent:
/// thin at the boundary, where bodies that touch lightly meet. The pressure misses the law most within the first
/// layers, and by less the more of them there are, about in proportion to 1/n². Contact takes longer in more layers, as there
/// are more tetrahedra.
///
/// By default there are as many layers as it takes for the pressure to miss the law by at most 5 % of itself where the extent
/// is at least a tenth of the largest, 16 at most: 9 for the exponent 1.5, 15 for 2, 16 for 3, 6 for 0.5.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum PressureLawTable {
    /// f(ε) = ε: the pressure is proportional to the extent.
    Linear,
    /// f(ε) = ε^exponent.
    Power(PowerLawTable),
    /// A curve through points.
    Table(PointsLawTable),
}

/// A pressure law f(ε) = ε^exponent. Above 1 the body stiffens as it is pressed, below 1 it softens.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct PowerLawTable {
    /// The exponent, positive.
    pub exponent: f64,
    /// Number of layers that the mesh is cut into, 1 to 64.
    #[cfg_attr(test, schemars(extend("x-default" = "for a miss of 5 %")))]
    pub layers: Option<usize>,
}

/// A pressure law by points, with a monotone curve between them whose slope is continuous, and straight beyond the last
/// one: for measured curves, and for soft bodies with a stiff core, such as `points = [[0.0, 0.0], [0.7, 0.3], [1.0, 5.0]]`.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct PointsLawTable {
    /// The points, each an extent ε and the value f there, the pressure in units of the modulus. The first is [0, 0], both
    /// numbers grow from point to point, and the last extent is at least 1. The last value may be any.
    pub points: Vec<Exactly<f64, 2>>,
    /// Number of layers that the mesh is cut into, 1 to 64.
    #[cfg_attr(test, schemars(extend("x-default" = "for a miss of 5 %")))]
    pub layers: Option<usize>,
}

/// A shape: a table with exactly one of these, such as `{ sphere = { radius = 0.05 } }`.
///
/// Meshes of primitives are generated. `resolution` is the length of the mesh edges that follow a curve.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(in crate::io) enum ShapeTable {
    /// A ball around its frame's origin.
    Sphere(SphereTable),
    /// A box around its frame's origin.
    Box(BoxTable),
    /// A cylinder around its frame's origin, its axis along z.
    Cylinder(CylinderTable),
    /// A cylinder with half balls at both ends, around its frame's origin, its axis along z.
    Capsule(CapsuleTable),
    /// An ellipsoid around its frame's origin.
    Ellipsoid(EllipsoidTable),
    /// A cone or a truncated cone around its frame's origin, its axis along z. Rigid.
    Cone(ConeTable),
    /// A bolt: a cylinder around its frame's origin, its axis along z, with a conical tip below. Rigid.
    Bolt(BoltTable),
    /// A plate below z = 0 in its frame with a round hole around the z axis. Rigid.
    Hole(HoleTable),
    /// All of z ≤ 0 in its frame.
    HalfSpace(HalfSpaceTable),
    /// A mesh in a file.
    Mesh(MeshTable),
    /// The convex hull of points.
    Convex(ConvexTable),
    /// A mesh of tetrahedra in the scene itself.
    VolumeMesh(VolumeMeshTable),
    /// A closed mesh of triangles in the scene itself.
    SurfaceMesh(SurfaceMeshTable),
}

/// The default resolution of a primitive, in words.
#[cfg(test)]
fn resolution_of(length: &str) -> String {
    format!("{DEFAULT_RESOLUTION} of {length}")
}

/// A ball around its frame's origin.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct SphereTable {
    /// Radius.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub radius: f64,
    /// Length of the mesh's edges.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = resolution_of("the radius"))))]
    pub resolution: Option<f64>,
    /// Whether the mesh is widened until it has the volume of the shape, whose surface it then crosses. Else its vertices are on
    /// that surface, as Drake's are, and a coarse mesh is thinner.
    #[serde(default)]
    pub equal_volume: bool,
}

/// A box around its frame's origin.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct BoxTable {
    /// Lengths of the edges along x, y and z.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub size: Exactly<f64, 3>,
    /// Not used: a box has no curve to resolve, and its mesh is the same for any resolution.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = resolution_of("the shortest edge"))))]
    pub resolution: Option<f64>,
}

/// A cylinder around its frame's origin, its axis along z.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct CylinderTable {
    /// Radius.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub radius: f64,
    /// Length along z.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub length: f64,
    /// Length of the mesh's edges.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = resolution_of("the radius"))))]
    pub resolution: Option<f64>,
    /// Whether the mesh is widened until it has the volume of the shape, whose surface it then crosses. Else its vertices are on
    /// that surface, as Drake's are, and a coarse mesh is thinner.
    #[serde(default)]
    pub equal_volume: bool,
}

/// A cylinder with half balls at both ends, around its frame's origin, its axis along z.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct CapsuleTable {
    /// Radius.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub radius: f64,
    /// Length along z of the cylinder, without the half balls.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub length: f64,
    /// Length of the mesh's edges.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = resolution_of("the radius"))))]
    pub resolution: Option<f64>,
    /// Whether the mesh is widened until it has the volume of the shape, whose surface it then crosses. Else its vertices are on
    /// that surface, as Drake's are, and a coarse mesh is thinner.
    #[serde(default)]
    pub equal_volume: bool,
}

/// An ellipsoid around its frame's origin.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct EllipsoidTable {
    /// Semi-axes along x, y and z.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub semi_axes: Exactly<f64, 3>,
    /// Length of the mesh's edges.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = resolution_of("the middle semi-axis"))))]
    pub resolution: Option<f64>,
    /// Whether the mesh is widened until it has the volume of the shape, whose surface it then crosses. Else its vertices are on
    /// that surface, as Drake's are, and a coarse mesh is thinner.
    #[serde(default)]
    pub equal_volume: bool,
}

/// A rigid cone or truncated cone around its frame's origin, its axis along z, half its length above the origin and half below.
/// With the solvers `ecp`, `lcp` and `ncp` it touches half-spaces and holes as what it is; for all else it is its mesh.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct ConeTable {
    /// Radius at the lower end.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub radius: f64,
    /// Radius at the upper end, less than that at the lower one; 0 for a tip.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub top_radius: f64,
    /// Length along z.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub length: f64,
    /// Length of the mesh's edges.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = resolution_of("the radius"))))]
    pub resolution: Option<f64>,
}

/// A rigid bolt: a cylinder around its frame's origin, its axis along z, and a cone below it that narrows downward. With the
/// solvers `ecp`, `lcp` and `ncp` it touches half-spaces and holes as what it is; for all else it is its mesh.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct BoltTable {
    /// Radius of the cylinder.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub radius: f64,
    /// Length along z of the cylinder, without the cone.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub length: f64,
    /// Radius at the lower end of the cone, less than that of the cylinder; 0 for a tip.
    #[serde(default)]
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub tip_radius: f64,
    /// Length along z of the cone.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub tip_length: f64,
    /// Length of the mesh's edges.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = resolution_of("the radius"))))]
    pub resolution: Option<f64>,
}

/// A rigid plate below z = 0 in its frame with a round hole around the z axis, which may widen to a conical mouth above. With
/// the solvers `ecp`, `lcp` and `ncp` cylinders, cones and bolts touch it as what it is, and the plate has no end to the sides.
/// For all else it is its mesh, a round plate of the radius `plate_radius`, which is as thick as the hole is deep, and one radius
/// thicker below a bottom.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct HoleTable {
    /// Radius of the hole.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub radius: f64,
    /// Depth of its bottom below the face of the plate; or where it passes through, thickness of the plate.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub depth: f64,
    /// Whether the hole passes through the plate.
    #[serde(default)]
    pub through: bool,
    /// Radius of the mouth in the face of the plate, more than that of the hole; needed with `mouth_depth`.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = "no mouth")))]
    pub mouth_radius: Option<f64>,
    /// Depth of the mouth, less than that of the hole; needed with `mouth_radius`.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = "no mouth")))]
    pub mouth_depth: Option<f64>,
    /// Radius of the plate's mesh, more than that of the mouth.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = "2.5 radii of the mouth")))]
    pub plate_radius: Option<f64>,
    /// Length of the mesh's edges around the mouth.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = resolution_of("the radius"))))]
    pub resolution: Option<f64>,
}

/// All of z ≤ 0 in its frame: a floor or a wall.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct HalfSpaceTable {
    /// The depth at which the extent of a compliant half-space reaches 1. Needed if the half-space is
    /// compliant, not used if it is rigid.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub thickness: Option<f64>,
}

/// A mesh in a file: a closed surface (`.obj`, `.stl`, `.ply`) or a volume (`.vtk`, `.vtu`, Gmsh 4.1 or 2 `.msh`), in text
/// or binary. A compliant surface is filled with tetrahedra: from one inner point where that sees all of it, else by a
/// lattice, as `tetrahedra` says; a rigid volume is its boundary.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct MeshTable {
    /// The file, relative to the scene.
    pub file: PathBuf,
    /// Factor that converts all coordinates to metres: 0.001 for a mesh in millimetres.
    #[cfg_attr(test, schemars(extend("default" = 1.0)))]
    pub scale: Option<f64>,
    /// Where the extent comes from.
    #[cfg_attr(test, schemars(extend("default" = "distance")))]
    pub extent: Option<ExtentTable>,
    /// Whether tetrahedra with all four vertices on the boundary, which have no pressure
    /// gradient, are split at their centroids before the extent is computed.
    #[serde(default)]
    pub split_zero_gradient: bool,
    /// How a surface is filled by a lattice, whatever its shape: pieces that overlap are united and small holes closed; a
    /// rigid body is the boundary of that. Left out, this is done with `{}` for compliant surfaces that are open or that no
    /// inner point sees all of, and told.
    pub tetrahedra: Option<TetrahedraTable>,
}

/// The lattice that a surface is filled by.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct TetrahedraTable {
    /// Length of its cubes, and so of the longest edges inside.
    #[cfg_attr(test, schemars(extend("x-unit" = "m", "x-default" = "by the thickness of the body, some thousand tetrahedra")))]
    pub size: Option<f64>,
}

/// The convex hull of points; exactly one of `file` and `points` is given.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct ConvexTable {
    /// A mesh file, relative to the scene, whose vertices are the points, whatever its triangles are.
    pub file: Option<PathBuf>,
    /// Whether each part of the file that shares no vertices with another has a hull of its own, as programs write that cut
    /// meshes into convex pieces (CoACD, V-HACD). Each is a geometry of the body then.
    #[serde(default)]
    pub pieces: bool,
    /// The points.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub points: Option<Vec<Exactly<f64, 3>>>,
    /// Factor that converts all coordinates to metres.
    #[cfg_attr(test, schemars(extend("default" = 1.0)))]
    pub scale: Option<f64>,
    /// Where the extent comes from.
    #[cfg_attr(test, schemars(extend("default" = "distance")))]
    pub extent: Option<ExtentTable>,
}

/// A mesh of tetrahedra in the scene itself.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct VolumeMeshTable {
    /// The vertices.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub vertices: Vec<Exactly<f64, 3>>,
    /// Four vertices of each tetrahedron, counted from 0, so that its volume is positive.
    pub tetrahedra: Vec<Exactly<u32, 4>>,
    /// Where the extent comes from.
    #[cfg_attr(test, schemars(extend("default" = "distance")))]
    pub extent: Option<ExtentTable>,
    /// The same as for a mesh in a file. Not allowed together with an extent that is given by numbers.
    #[serde(default)]
    pub split_zero_gradient: bool,
}

/// A closed mesh of triangles in the scene itself.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(in crate::io) struct SurfaceMeshTable {
    /// The vertices.
    #[cfg_attr(test, schemars(extend("x-unit" = "m")))]
    pub vertices: Vec<Exactly<f64, 3>>,
    /// Three vertices of each triangle, counted from 0, anticlockwise seen from outside.
    pub triangles: Vec<Exactly<u32, 3>>,
    /// Where the extent comes from, once the surface is filled.
    #[cfg_attr(test, schemars(extend("default" = "distance")))]
    pub extent: Option<ExtentTable>,
    /// The same as for a mesh in a file.
    pub tetrahedra: Option<TetrahedraTable>,
}

/// Where the extent of a mesh comes from.
#[derive(Debug, Default, PartialEq)]
pub(in crate::io) enum ExtentTable {
    /// The normalized distance to the boundary.
    #[default]
    Distance,
    /// Laplace's equation.
    Laplace,
    /// One number for each vertex.
    Given(Vec<f64>),
}

#[cfg(test)]
impl JsonSchema for ExtentTable {
    fn schema_name() -> Cow<'static, str> {
        "Extent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The extent of a mesh, 0 on its boundary and 1 deepest inside: by the distance to the \
                            boundary (divided by the largest), by Laplace's equation (between the boundary and the \
                            deep core), or a number of at least 0 for each vertex of a volume mesh. Numbers may be greater \
                            than 1: the pressure there is more than the modulus, as in a core that is stiffer than \
                            what lies around it.",
            "anyOf": [
                { "type": "string", "enum": ["distance", "laplace"] },
                { "type": "array", "items": { "type": "number" } },
            ],
        })
    }
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
