//! From the geometry tables of a scene file to geometries on a body.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::body_tables::{PoseFields, Range, number, vector};
use super::field_path::FieldPath;
use super::mesh_tables::{Meshes, convex_meshes, mesh_file, surface_mesh, volume_mesh};
use super::scene_error::Problem;
use super::schema::{GeometryTable, HalfSpaceTable, MaterialTable, ShapeTable};
use crate::contact::{Collider, ContactGeometry, Material};
use crate::field::{PressureField, RigidSurface, primitive_field};
use crate::geometry::{Shape, surface_mass_properties, volume_mass_properties};
use crate::multibody::{BodyGeometry, NamedMaterial};
use crate::spatial::MassProperties;

/// The resolution of a primitive where the scene gives none: this part of its radius, and for an
/// ellipsoid of its middle semi-axis. (A box has no curve to resolve.)
const DEFAULT_RESOLUTION: f64 = 0.25;

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
    let material = t.material.as_deref().map(|name| find_material(name, context, table)).transpose()?;
    if !t.rigid {
        check_compliant(t.material.as_deref(), context, table)?;
    }
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
    let field = table.key("shape");
    let (geometry, thickness, unit_mass) = match &t.shape {
        ShapeTable::HalfSpace(h) => {
            let (geometry, thickness) = half_space(h, t.rigid, &field.key("half_space"))?;
            (geometry, thickness, None)
        }
        shape => {
            let (geometry, mass) = bounded(shape, t.rigid, context, &field)?;
            (geometry, 0.0, Some(mass))
        }
    };
    let collider = Collider::new(Arc::new(geometry), parameters, thickness);
    Ok(BodyGeometry { x_bg, collider, material, unit_mass })
}

/// What to say of a geometry with tetrahedra in which the pressure vanishes.
pub(super) fn zero_gradient_warning(g: &BodyGeometry, body: &str, table: &FieldPath) -> Option<Problem> {
    let ContactGeometry::Compliant(field) = g.collider.geometry.as_ref() else { return None };
    let (zero, all) = (field.zero_tetrahedra(), field.tetrahedra().len());
    (zero > 0).then(|| {
        Problem::new(
            table.key("shape"),
            format_args!(
                "body `{body}`: in {zero} of {all} tetrahedra the extent is 0 at all four vertices, so they have no \
                 pressure gradient and bear no load; set split_zero_gradient = true to split them, or give a mesh \
                 (or an extent) with values above 0 inside"
            ),
        )
    })
}

/// The place of a material.
fn find_material(name: &str, context: &GeometryContext, table: &FieldPath) -> Result<usize, Problem> {
    context.materials.iter().position(|m| m.name == name).ok_or_else(|| {
        let known: Vec<&str> = context.materials.iter().map(|m| m.name.as_str()).collect();
        let known = if known.is_empty() {
            "the scene defines none".to_owned()
        } else {
            format!("the materials are {}", known.join(", "))
        };
        Problem::new(table.key("material"), format_args!("found `{name}`, which is no material; {known}"))
    })
}

/// Checks that a compliant geometry has a modulus.
fn check_compliant(
    material: Option<&str>,
    context: &GeometryContext,
    table: &FieldPath,
) -> Result<(), Problem> {
    let Some(name) = material else {
        return Err(Problem::new(
            table.clone(),
            "found neither a material nor rigid = true; a compliant geometry needs a material with a hydroelastic_modulus",
        ));
    };
    if context.tables[name].hydroelastic_modulus.is_none() {
        return Err(Problem::new(
            table.key("material"),
            format_args!(
                "found `{name}`, which has no hydroelastic_modulus; a compliant geometry needs one (or set rigid = true)"
            ),
        ));
    }
    Ok(())
}

/// A half-space and its thickness; a rigid one has none, and one that is given is not used.
fn half_space(t: &HalfSpaceTable, rigid: bool, table: &FieldPath) -> Result<(ContactGeometry, f64), Problem> {
    let field = table.key("thickness");
    let thickness = t.thickness.map(|x| number(x, Range::Positive, &field)).transpose()?;
    match (rigid, thickness) {
        (true, _) => Ok((ContactGeometry::RigidHalfSpace, 0.0)),
        (false, Some(thickness)) => Ok((ContactGeometry::CompliantHalfSpace, thickness)),
        (false, None) => Err(Problem::new(
            field,
            "is missing; a compliant half-space needs the depth in m at which its extent reaches 1",
        )),
    }
}

/// A shape with a volume, and its mass properties at unit density.
fn bounded(
    t: &ShapeTable,
    rigid: bool,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<(ContactGeometry, MassProperties), Problem> {
    let meshes = match t {
        ShapeTable::Sphere(s) => {
            let here = field.key("sphere");
            let radius = number(s.radius, Range::Positive, &here.key("radius"))?;
            primitive(&Shape::Sphere { radius }, s.resolution, radius, rigid, &here)?
        }
        ShapeTable::Box(b) => {
            let here = field.key("box");
            let size = vector(b.size, Range::Positive, &here.key("size"))?;
            primitive(&Shape::Box { size: size.into() }, b.resolution, size.min(), rigid, &here)?
        }
        ShapeTable::Cylinder(c) => {
            let here = field.key("cylinder");
            let radius = number(c.radius, Range::Positive, &here.key("radius"))?;
            let length = number(c.length, Range::Positive, &here.key("length"))?;
            primitive(&Shape::Cylinder { radius, length }, c.resolution, radius, rigid, &here)?
        }
        ShapeTable::Capsule(c) => {
            let here = field.key("capsule");
            let radius = number(c.radius, Range::Positive, &here.key("radius"))?;
            let length = number(c.length, Range::Positive, &here.key("length"))?;
            primitive(&Shape::Capsule { radius, length }, c.resolution, radius, rigid, &here)?
        }
        ShapeTable::Ellipsoid(e) => {
            let here = field.key("ellipsoid");
            let axes = vector(e.semi_axes, Range::Positive, &here.key("semi_axes"))?;
            let mut sorted = e.semi_axes.0;
            sorted.sort_by(f64::total_cmp);
            primitive(&Shape::Ellipsoid { semi_axes: axes.into() }, e.resolution, sorted[1], rigid, &here)?
        }
        ShapeTable::Mesh(m) => mesh_file(m, rigid, context.folder, &field.key("mesh"))?,
        ShapeTable::Convex(c) => convex_meshes(c, rigid, context.folder, &field.key("convex"))?,
        ShapeTable::VolumeMesh(m) => volume_mesh(m, rigid, &field.key("volume_mesh"))?,
        ShapeTable::SurfaceMesh(m) => surface_mesh(m, rigid, &field.key("surface_mesh"))?,
        ShapeTable::HalfSpace(_) => {
            return Err(Problem::new(field.key("half_space"), "found an unbounded shape; it has no mesh"));
        }
    };
    let problem = |error: &dyn std::fmt::Display| Problem::new(field.clone(), error);
    match meshes {
        Meshes::Compliant(mesh, extent) => {
            let properties = volume_mass_properties(&mesh).map_err(|e| problem(&e))?;
            let field = PressureField::new(mesh, extent).map_err(|e| problem(&e))?;
            Ok((ContactGeometry::Compliant(field), properties))
        }
        Meshes::Rigid(mesh) => {
            let properties = surface_mass_properties(&mesh).map_err(|e| problem(&e))?;
            Ok((ContactGeometry::Rigid(RigidSurface::new(mesh)), properties))
        }
    }
}

/// The mesh of a primitive; `size` is the length that the default resolution is a part of.
fn primitive(
    shape: &Shape,
    resolution: Option<f64>,
    size: f64,
    rigid: bool,
    table: &FieldPath,
) -> Result<Meshes, Problem> {
    let resolution = match resolution {
        Some(resolution) => number(resolution, Range::Positive, &table.key("resolution"))?,
        None => DEFAULT_RESOLUTION * size,
    };
    let made = if rigid {
        shape.surface_mesh(resolution).map(Meshes::Rigid)
    } else {
        primitive_field(shape, resolution).map(|(mesh, extent)| Meshes::Compliant(mesh, extent))
    };
    made.map_err(|error| Problem::new(table.clone(), error))
}
