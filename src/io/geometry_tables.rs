//! From the geometry tables of a scene file to geometries on a body.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::body_tables::{PoseFields, Range, number, vector};
use super::field_path::FieldPath;
use super::file_error::Problem;
use super::mesh_tables::{Meshes, convex_meshes, mesh_file, surface_mesh, volume_mesh};
use super::schema::MaterialTable;
use super::shape_schema::{GeometryTable, HalfSpaceTable, ShapeTable};
use crate::contact::{Collider, ContactGeometry, Material};
use crate::field::{PressureField, RigidSurface, primitive_field};
use crate::geometry::{Shape, surface_mass_properties, volume_mass_properties};
use crate::multibody::{BodyGeometry, NamedMaterial};
use crate::spatial::{MassProperties, RigidTransform};

/// The resolution of a primitive where the scene gives none: this part of its radius, and for an
/// ellipsoid of its middle semi-axis. (A box has no curve to resolve.)
pub(super) const DEFAULT_RESOLUTION: f64 = 0.25;

/// What geometries refer to.
pub(super) struct GeometryContext<'a> {
    /// The folder of the scene file, which files are relative to.
    pub folder: &'a Path,
    /// The materials as written.
    pub tables: &'a BTreeMap<String, MaterialTable>,
    /// The same materials, in the same order.
    pub materials: &'a [NamedMaterial],
}

/// A geometry of a body.
pub(super) fn geometry(
    t: &GeometryTable,
    context: &GeometryContext,
    table: &FieldPath,
) -> Result<BodyGeometry, Problem> {
    let x_bg = PoseFields::from(t).pose(table)?;
    let named = table.key("material");
    let material = t.material.as_deref().map(|name| find_material(name, context, &named)).transpose()?;
    if !t.rigid {
        match material {
            Some(material) => check_compliant(material, context, &named)?,
            None => {
                return Err(Problem::new(
                    table.clone(),
                    "found neither a material nor rigid = true; a compliant geometry needs a material with a hydroelastic_modulus",
                ));
            }
        }
    }
    let field = table.key("shape");
    let shape = match &t.shape {
        ShapeTable::HalfSpace(h) => half_space(h, t.rigid, &field.key("half_space"))?,
        shape => ContactShape::from_meshes(bounded(shape, t.rigid, context, &field)?, &field)?,
    };
    Ok(body_geometry(x_bg, shape, material, context))
}

/// What a geometry is in contact: the geometry itself, the thickness of a half-space, and the
/// mass properties at unit density of a bounded one.
pub(super) struct ContactShape {
    geometry: ContactGeometry,
    thickness: f64,
    unit_mass: Option<MassProperties>,
}

/// A geometry of a body from its parts.
pub(super) fn body_geometry(
    x_bg: RigidTransform,
    shape: ContactShape,
    material: Option<usize>,
    context: &GeometryContext,
) -> BodyGeometry {
    let parameters = material.map_or(
        Material {
            hydroelastic_modulus: 0.0,
            dissipation: 0.0,
            relaxation_time: 0.0,
            static_friction: 0.0,
            dynamic_friction: 0.0,
        },
        |i| context.materials[i].material,
    );
    let collider = Collider::new(Arc::new(shape.geometry), parameters, shape.thickness);
    BodyGeometry { x_bg, collider, material, unit_mass: shape.unit_mass }
}

/// What to say of a geometry with tetrahedra in which the pressure vanishes.
pub(super) fn zero_gradient_warning(g: &BodyGeometry, body: &str, shape: &FieldPath) -> Option<Problem> {
    let ContactGeometry::Compliant(field) = g.collider.geometry.as_ref() else { return None };
    let (zero, all) = (field.zero_tetrahedra(), field.tetrahedra().len());
    (zero > 0).then(|| {
        Problem::new(
            shape.clone(),
            format_args!(
                "body `{body}`: in {zero} of {all} tetrahedra the extent is 0 at all four vertices, so they have no \
                 pressure gradient and bear no load; set split_zero_gradient = true to split them, or give a mesh \
                 (or an extent) with values above 0 inside"
            ),
        )
    })
}

/// The place of a material.
pub(super) fn find_material(
    name: &str,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<usize, Problem> {
    context.materials.iter().position(|m| m.name == name).ok_or_else(|| {
        let known: Vec<&str> = context.materials.iter().map(|m| m.name.as_str()).collect();
        let known = if known.is_empty() {
            "the scene defines none".to_owned()
        } else {
            format!("the materials are {}", known.join(", "))
        };
        Problem::new(field.clone(), format_args!("found `{name}`, which is no material; {known}"))
    })
}

/// Checks that the material of a compliant geometry has a modulus.
pub(super) fn check_compliant(
    material: usize,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<(), Problem> {
    let name = &context.materials[material].name;
    if context.tables[name].hydroelastic_modulus.is_none() {
        return Err(Problem::new(
            field.clone(),
            format_args!(
                "found `{name}`, which has no hydroelastic_modulus; a compliant geometry needs one (or set rigid = true)"
            ),
        ));
    }
    Ok(())
}

/// A half-space; a rigid one has no thickness, and one that is given is not used.
fn half_space(t: &HalfSpaceTable, rigid: bool, table: &FieldPath) -> Result<ContactShape, Problem> {
    let field = table.key("thickness");
    let thickness = t.thickness.map(|x| number(x, Range::Positive, &field)).transpose()?;
    let shape = |geometry, thickness| ContactShape { geometry, thickness, unit_mass: None };
    match (rigid, thickness) {
        (true, _) => Ok(shape(ContactGeometry::RigidHalfSpace, 0.0)),
        (false, Some(thickness)) => Ok(shape(ContactGeometry::CompliantHalfSpace, thickness)),
        (false, None) => Err(Problem::new(
            field,
            "is missing; a compliant half-space needs the depth in m at which its extent reaches 1",
        )),
    }
}

/// The meshes of a shape with a volume.
fn bounded(
    t: &ShapeTable,
    rigid: bool,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<Meshes, Problem> {
    match t {
        ShapeTable::Sphere(s) => {
            let here = field.key("sphere");
            let radius = number(s.radius, Range::Positive, &here.key("radius"))?;
            primitive(&Shape::Sphere { radius }, s.resolution, rigid, &here)
        }
        ShapeTable::Box(b) => {
            let here = field.key("box");
            let size = vector(b.size, Range::Positive, &here.key("size"))?;
            primitive(&Shape::Box { size: size.into() }, b.resolution, rigid, &here)
        }
        ShapeTable::Cylinder(c) => {
            let here = field.key("cylinder");
            let radius = number(c.radius, Range::Positive, &here.key("radius"))?;
            let length = number(c.length, Range::Positive, &here.key("length"))?;
            primitive(&Shape::Cylinder { radius, length }, c.resolution, rigid, &here)
        }
        ShapeTable::Capsule(c) => {
            let here = field.key("capsule");
            let radius = number(c.radius, Range::Positive, &here.key("radius"))?;
            let length = number(c.length, Range::Positive, &here.key("length"))?;
            primitive(&Shape::Capsule { radius, length }, c.resolution, rigid, &here)
        }
        ShapeTable::Ellipsoid(e) => {
            let here = field.key("ellipsoid");
            let axes = vector(e.semi_axes, Range::Positive, &here.key("semi_axes"))?;
            primitive(&Shape::Ellipsoid { semi_axes: axes.into() }, e.resolution, rigid, &here)
        }
        ShapeTable::Mesh(m) => mesh_file(m, rigid, context.folder, &field.key("mesh")),
        ShapeTable::Convex(c) => convex_meshes(c, rigid, context.folder, &field.key("convex")),
        ShapeTable::VolumeMesh(m) => volume_mesh(m, rigid, &field.key("volume_mesh")),
        ShapeTable::SurfaceMesh(m) => surface_mesh(m, rigid, &field.key("surface_mesh")),
        ShapeTable::HalfSpace(_) => {
            Err(Problem::new(field.key("half_space"), "found an unbounded shape; it has no mesh"))
        }
    }
}

impl ContactShape {
    /// The shape that meshes make.
    pub fn from_meshes(meshes: Meshes, field: &FieldPath) -> Result<Self, Problem> {
        let problem = |error: &dyn std::fmt::Display| Problem::new(field.clone(), error);
        let (geometry, properties) = match meshes {
            Meshes::Compliant(mesh, extent) => {
                let properties = volume_mass_properties(&mesh).map_err(|e| problem(&e))?;
                let field = PressureField::new(mesh, extent).map_err(|e| problem(&e))?;
                (ContactGeometry::Compliant(field), properties)
            }
            Meshes::Rigid(mesh) => {
                let properties = surface_mass_properties(&mesh).map_err(|e| problem(&e))?;
                (ContactGeometry::Rigid(RigidSurface::new(mesh)), properties)
            }
        };
        Ok(Self { geometry, thickness: 0.0, unit_mass: Some(properties) })
    }
}

/// The length that the default resolution of a primitive is a part of.
fn resolved_length(shape: &Shape) -> f64 {
    match *shape {
        Shape::Sphere { radius } | Shape::Cylinder { radius, .. } | Shape::Capsule { radius, .. } => radius,
        Shape::Box { size: [x, y, z] } => x.min(y).min(z),
        Shape::Ellipsoid { semi_axes } => {
            let mut sorted = semi_axes;
            sorted.sort_by(f64::total_cmp);
            sorted[1]
        }
    }
}

/// The mesh of a primitive.
pub(super) fn primitive(
    shape: &Shape,
    resolution: Option<f64>,
    rigid: bool,
    table: &FieldPath,
) -> Result<Meshes, Problem> {
    let resolution = match resolution {
        Some(resolution) => number(resolution, Range::Positive, &table.key("resolution"))?,
        None => DEFAULT_RESOLUTION * resolved_length(shape),
    };
    let made = if rigid {
        shape.surface_mesh(resolution).map(Meshes::Rigid)
    } else {
        primitive_field(shape, resolution).map(|(mesh, extent)| Meshes::Compliant(mesh, extent))
    };
    made.map_err(|error| Problem::new(table.clone(), error))
}
