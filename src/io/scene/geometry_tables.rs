//! From the geometry tables of a scene file to geometries on a body.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::Vector3;

use crate::contact::{Collider, ContactGeometry, Material};
use crate::field::{RigidSurface, SoftPart, primitive_field, soft_part};
use crate::geometry::{Revolved, Shape, doubly_counted};
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::scene::body_tables::{PoseFields, Range, number, vector};
use crate::io::scene::mesh_tables::{Meshes, Notes, convex_meshes, mesh_file, surface_mesh, volume_mesh};
use crate::io::scene::pressure_law_tables::LayeredLaw;
use crate::io::scene::schema::MaterialTable;
use crate::io::scene::shape_schema::{
    BoltTable, ConeTable, DEFAULT_RESOLUTION, GeometryTable, HalfSpaceTable, HoleTable, ShapeTable,
};
use crate::multibody::{BodyGeometry, NamedMaterial};
use crate::spatial::{MassProperties, RigidTransform};

/// What geometries refer to.
pub(in crate::io) struct GeometryContext<'a> {
    /// The folder of the scene file, which files are relative to.
    pub folder: &'a Path,
    /// The materials as written.
    pub tables: &'a BTreeMap<String, MaterialTable>,
    /// The same materials, in the same order, and after them those of robots' files.
    pub materials: RefCell<Vec<NamedMaterial>>,
    /// The primitives made so far, which geometries of the same shape share.
    pub primitives: RefCell<HashMap<PrimitiveKey, ContactShape>>,
    /// The files that geometries were read from.
    pub files: RefCell<Vec<PathBuf>>,
    /// What there is to tell of them.
    pub notes: Notes,
}

/// What tells primitives from others: the shape's kind and the bits of its lengths and of its
/// resolution, whether its mesh has its volume, whether it is rigid, and its pressure law.
pub(in crate::io) type PrimitiveKey = (std::mem::Discriminant<Shape>, [u64; 4], [bool; 2], Vec<u64>);

/// The geometry of a body that a table gives, or several: pieces.
pub(in crate::io) fn geometries(
    t: &GeometryTable,
    context: &GeometryContext,
    table: &FieldPath,
) -> Result<Vec<BodyGeometry>, Problem> {
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
    let law = LayeredLaw::of(t, table)?;
    let field = table.key("shape");
    let shapes = match &t.shape {
        ShapeTable::HalfSpace(h) => vec![half_space(h, t.rigid, &field.key("half_space"))?],
        ShapeTable::Convex(c) => {
            context.files.borrow_mut().extend(c.file.iter().map(|file| context.folder.join(file)));
            let meshes = convex_meshes(c, t.rigid, context.folder, &context.notes, &field.key("convex"))?;
            let shapes = meshes.into_iter().map(|meshes| ContactShape::from_meshes(meshes, &law, &field));
            shapes.collect::<Result<_, Problem>>()?
        }
        shape => vec![bounded(shape, t.rigid, &law, context, &field)?],
    };
    Ok(shapes.into_iter().map(|shape| body_geometry(x_bg, shape, material, context)).collect())
}

/// What a geometry is in contact: the geometry itself, the thickness of a half-space, the
/// mass properties at unit density of a bounded one, and the shape and resolution of a primitive.
#[derive(Clone)]
pub(in crate::io) struct ContactShape {
    geometry: Arc<ContactGeometry>,
    thickness: f64,
    unit_mass: Option<MassProperties>,
    primitive: Option<(Shape, f64)>,
}

/// A geometry of a body from its parts.
pub(in crate::io) fn body_geometry(
    x_bg: RigidTransform,
    shape: ContactShape,
    material: Option<usize>,
    context: &GeometryContext,
) -> BodyGeometry {
    let parameters = material.map_or(Material::NONE, |i| context.materials.borrow()[i].material);
    let collider = Collider::new(shape.geometry, parameters, shape.thickness);
    BodyGeometry { x_bg, collider, material, unit_mass: shape.unit_mass, primitive: shape.primitive }
}

/// What to say of a geometry with tetrahedra in which the pressure vanishes.
///
/// # Errors
/// Most of them are so.
pub(in crate::io) fn zero_gradient_warning(
    g: &BodyGeometry,
    body: &str,
    shape: &FieldPath,
) -> Result<Option<Problem>, Problem> {
    let ContactGeometry::Compliant(field) = g.collider.geometry.as_ref() else { return Ok(None) };
    let (zero, all) = (field.zero_tetrahedra(), field.tetrahedra().len());
    let told = Problem::new(
        shape.clone(),
        format_args!(
            "body `{body}`: in {zero} of {all} tetrahedra the extent is 0 at all four vertices, so they have no \
             pressure gradient and bear no load; set split_zero_gradient = true to split them, or give a mesh \
             (or an extent) with values above 0 inside"
        ),
    );
    match zero {
        _ if 2 * zero > all => Err(told),
        0 => Ok(None),
        _ => Ok(Some(told)),
    }
}

/// What to say of a field that is far softer at some places than at others.
pub(in crate::io) fn soft_part_warning(g: &BodyGeometry, body: &str, shape: &FieldPath) -> Option<Problem> {
    let ContactGeometry::Compliant(field) = g.collider.geometry.as_ref() else { return None };
    let SoftPart { part, factor, softest: at, is_fan } = soft_part(field)?;
    let why = match is_fan {
        true => {
            "as a surface filled from one point is where long parts lead away from it; fill it with tetrahedra = {}, or give \
             several geometries that are convex"
        }
        false => {
            "as a mesh is where it has too few vertices between the surfaces of a part; give a finer one"
        }
    };
    let factor = if factor < 1e3 { format!("{factor:.1}") } else { "over 1000".to_owned() };
    Some(Problem::new(
        shape.clone(),
        format_args!(
            "body `{body}`: the pressure field is {factor} times softer over {:.0} % of the surface than elsewhere, \
             most at [{:.3}, {:.3}, {:.3}], {why}",
            100.0 * part,
            at.x,
            at.y,
            at.z
        ),
    ))
}

/// The least part of a volume that is told when it is counted twice.
const LEAST_OVERLAP: f64 = 1e-4;

/// What to say of a mesh that overlaps itself.
pub(in crate::io) fn overlap_warning(g: &BodyGeometry, body: &str, shape: &FieldPath) -> Option<Problem> {
    let [more, less] = match g.collider.geometry.as_ref() {
        ContactGeometry::Compliant(field) => doubly_counted(&field.mesh().boundary()),
        ContactGeometry::Rigid(surface) => doubly_counted(surface.mesh()),
        _ => return None,
    };
    let volume = g.unit_mass?.mass;
    (more + less > LEAST_OVERLAP).then(|| {
        let what = match less > more {
            true => "lies inside the surface turned inside out, and counts as less than nothing",
            false => "lies in several parts of the mesh at once, and counts for each",
        };
        Problem::new(
            shape.clone(),
            format_args!(
                "body `{body}`: the mesh overlaps itself: {:.1e} m³, {:.1} % of its volume of {volume:.3e} m³, {what}, in \
                 mass and in contact; unite its parts with tetrahedra = {{}}, or give a geometry for each",
                more.max(less) * volume,
                100.0 * more.max(less)
            ),
        )
    })
}

/// The index of a material.
pub(in crate::io) fn find_material(
    name: &str,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<usize, Problem> {
    context.tables.keys().position(|known| known == name).ok_or_else(|| {
        let known: Vec<&str> = context.tables.keys().map(String::as_str).collect();
        let known = if known.is_empty() {
            "the scene defines none".to_owned()
        } else {
            format!("the materials are {}", known.join(", "))
        };
        Problem::new(field.clone(), format_args!("found `{name}`, which is no material; {known}"))
    })
}

/// Checks that the material of a compliant geometry has a modulus.
pub(in crate::io) fn check_compliant(
    material: usize,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<(), Problem> {
    let name = &context.materials.borrow()[material].name;
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
pub(in crate::io) fn half_space(
    t: &HalfSpaceTable,
    rigid: bool,
    table: &FieldPath,
) -> Result<ContactShape, Problem> {
    let field = table.key("thickness");
    let thickness = t.thickness.map(|x| number(x, Range::Positive, &field)).transpose()?;
    let shape = |geometry, thickness| {
        let geometry = Arc::new(geometry);
        ContactShape { geometry, thickness, unit_mass: None, primitive: None }
    };
    match (rigid, thickness) {
        (true, _) => Ok(shape(ContactGeometry::RigidHalfSpace, 0.0)),
        (false, Some(thickness)) => Ok(shape(ContactGeometry::CompliantHalfSpace, thickness)),
        (false, None) => Err(Problem::new(
            field,
            "is missing; a compliant half-space needs the depth in m at which its extent reaches 1",
        )),
    }
}

/// A shape with a volume.
fn bounded(
    t: &ShapeTable,
    rigid: bool,
    law: &LayeredLaw,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<ContactShape, Problem> {
    let primitive = |shape: &Shape, mesh, here: &FieldPath| primitive(shape, mesh, rigid, law, context, here);
    let meshes = match t {
        ShapeTable::Sphere(s) => {
            let here = field.key("sphere");
            let radius = number(s.radius, Range::Positive, &here.key("radius"))?;
            return primitive(&Shape::Sphere { radius }, (s.resolution, s.equal_volume), &here);
        }
        ShapeTable::Box(b) => {
            let here = field.key("box");
            let size = vector(b.size, Range::Positive, &here.key("size"))?;
            return primitive(&Shape::Box { size: size.into() }, (b.resolution, false), &here);
        }
        ShapeTable::Cylinder(c) => {
            let here = field.key("cylinder");
            let radius = number(c.radius, Range::Positive, &here.key("radius"))?;
            let length = number(c.length, Range::Positive, &here.key("length"))?;
            return primitive(&Shape::Cylinder { radius, length }, (c.resolution, c.equal_volume), &here);
        }
        ShapeTable::Capsule(c) => {
            let here = field.key("capsule");
            let radius = number(c.radius, Range::Positive, &here.key("radius"))?;
            let length = number(c.length, Range::Positive, &here.key("length"))?;
            return primitive(&Shape::Capsule { radius, length }, (c.resolution, c.equal_volume), &here);
        }
        ShapeTable::Ellipsoid(e) => {
            let here = field.key("ellipsoid");
            let axes = vector(e.semi_axes, Range::Positive, &here.key("semi_axes"))?;
            return primitive(
                &Shape::Ellipsoid { semi_axes: axes.into() },
                (e.resolution, e.equal_volume),
                &here,
            );
        }
        ShapeTable::Cone(t) => return cone(t, rigid, &field.key("cone")),
        ShapeTable::Bolt(t) => return bolt(t, rigid, &field.key("bolt")),
        ShapeTable::Hole(t) => return hole(t, rigid, &field.key("hole")),
        ShapeTable::Mesh(m) => {
            context.files.borrow_mut().push(context.folder.join(&m.file));
            mesh_file(m, rigid, context.folder, &context.notes, &field.key("mesh"))
        }
        ShapeTable::VolumeMesh(m) => volume_mesh(m, rigid, &field.key("volume_mesh")),
        ShapeTable::SurfaceMesh(m) => surface_mesh(m, rigid, &context.notes, &field.key("surface_mesh")),
        ShapeTable::HalfSpace(_) | ShapeTable::Convex(_) => Err(Problem::new(
            field.clone(),
            "found an unbounded shape, or several; it has no mesh of its own",
        )),
    };
    ContactShape::from_meshes(meshes?, law, field)
}

fn cone(t: &ConeTable, rigid: bool, table: &FieldPath) -> Result<ContactShape, Problem> {
    let radius = number(t.radius, Range::Positive, &table.key("radius"))?;
    let top_radius = number(t.top_radius, Range::AtLeastZero, &table.key("top_radius"))?;
    let length = number(t.length, Range::Positive, &table.key("length"))?;
    let shape = Revolved::Cone { radius, top_radius, length };
    revolved(shape, radius, t.resolution, None, rigid, table)
}

fn bolt(t: &BoltTable, rigid: bool, table: &FieldPath) -> Result<ContactShape, Problem> {
    let radius = number(t.radius, Range::Positive, &table.key("radius"))?;
    let length = number(t.length, Range::Positive, &table.key("length"))?;
    let tip_radius = number(t.tip_radius, Range::AtLeastZero, &table.key("tip_radius"))?;
    let tip_length = number(t.tip_length, Range::Positive, &table.key("tip_length"))?;
    let shape = Revolved::Bolt { radius, length, tip_radius, tip_length };
    revolved(shape, radius, t.resolution, None, rigid, table)
}

fn hole(t: &HoleTable, rigid: bool, table: &FieldPath) -> Result<ContactShape, Problem> {
    let radius = number(t.radius, Range::Positive, &table.key("radius"))?;
    let depth = number(t.depth, Range::Positive, &table.key("depth"))?;
    let (mouth_radius, mouth_depth) = match (t.mouth_radius, t.mouth_depth) {
        (None, None) => (radius, 0.0),
        (Some(wide), Some(deep)) => (
            number(wide, Range::Positive, &table.key("mouth_radius"))?,
            number(deep, Range::Positive, &table.key("mouth_depth"))?,
        ),
        (Some(_), None) => {
            return Err(Problem::new(
                table.key("mouth_depth"),
                "is missing; a mouth has a radius and a depth",
            ));
        }
        (None, Some(_)) => {
            return Err(Problem::new(
                table.key("mouth_radius"),
                "is missing; a mouth has a radius and a depth",
            ));
        }
    };
    let plate = t.plate_radius.map(|x| number(x, Range::Positive, &table.key("plate_radius"))).transpose()?;
    let shape = Revolved::Hole { radius, depth, through: t.through, mouth_radius, mouth_depth };
    revolved(shape, radius, t.resolution, plate, rigid, table)
}

/// A body of revolution, whose default resolution is a part of a radius.
fn revolved(
    shape: Revolved,
    radius: f64,
    resolution: Option<f64>,
    plate_radius: Option<f64>,
    rigid: bool,
    table: &FieldPath,
) -> Result<ContactShape, Problem> {
    if !rigid {
        let name = shape.name();
        return Err(Problem::new(
            table.clone(),
            format_args!(
                "found a {name} that is compliant; there is no pressure field of one, so set rigid = true, or give its mesh"
            ),
        ));
    }
    let resolution = match resolution {
        Some(resolution) => number(resolution, Range::Positive, &table.key("resolution"))?,
        None => DEFAULT_RESOLUTION * radius,
    };
    let problem = |error: &dyn std::fmt::Display| Problem::new(table.clone(), error);
    let mesh = shape.surface_mesh(resolution, plate_radius).map_err(|e| problem(&e))?;
    let properties = mesh.mass_properties().map_err(|e| problem(&e))?;
    let surface = RigidSurface::of_revolved(shape, mesh);
    let geometry = Arc::new(ContactGeometry::Rigid(surface));
    Ok(ContactShape { geometry, thickness: 0.0, unit_mass: Some(properties), primitive: None })
}

impl ContactShape {
    /// The shape that meshes make, with a pressure law if they are compliant.
    pub fn from_meshes(meshes: Meshes, law: &LayeredLaw, field: &FieldPath) -> Result<Self, Problem> {
        let problem = |error: &dyn std::fmt::Display| Problem::new(field.clone(), error);
        let (geometry, properties) = match meshes {
            Meshes::Compliant(mesh, extent) => {
                let properties = mesh.mass_properties().map_err(|e| problem(&e))?;
                let field = law.field(mesh, extent).map_err(|e| problem(&e))?;
                (ContactGeometry::Compliant(field), properties)
            }
            Meshes::Rigid(mesh) => {
                let properties = mesh.mass_properties().map_err(|e| problem(&e))?;
                (ContactGeometry::Rigid(RigidSurface::new(mesh)), properties)
            }
        };
        Ok(Self {
            geometry: Arc::new(geometry),
            thickness: 0.0,
            unit_mass: Some(properties),
            primitive: None,
        })
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

/// The lengths of a shape, and zeros for those that it has not.
fn lengths(shape: &Shape) -> [f64; 3] {
    match *shape {
        Shape::Sphere { radius } => [radius, 0.0, 0.0],
        Shape::Cylinder { radius, length } | Shape::Capsule { radius, length } => [radius, length, 0.0],
        Shape::Box { size } => size,
        Shape::Ellipsoid { semi_axes } => semi_axes,
    }
}

/// Widens the mesh of a shape until it has its volume: one with straight sides across these alone.
fn fill_volume(meshes: &mut Meshes, shape: &Shape) {
    let (volume, vertices) = match meshes {
        Meshes::Compliant(mesh, _) => (mesh.boundary().volume(), &mut mesh.vertices),
        Meshes::Rigid(mesh) => (mesh.volume(), &mut mesh.vertices),
    };
    let ratio = shape.volume() / volume;
    let scale = match shape {
        Shape::Sphere { .. } | Shape::Ellipsoid { .. } => Vector3::repeat(ratio.cbrt()),
        Shape::Box { .. } | Shape::Cylinder { .. } | Shape::Capsule { .. } => {
            Vector3::new(ratio.sqrt(), ratio.sqrt(), 1.0)
        }
    };
    vertices.iter_mut().for_each(|vertex| vertex.component_mul_assign(&scale));
}

/// A primitive, the same for all that have equal lengths, resolutions and pressure laws.
pub(in crate::io) fn primitive(
    shape: &Shape,
    (resolution, equal_volume): (Option<f64>, bool),
    rigid: bool,
    law: &LayeredLaw,
    context: &GeometryContext,
    table: &FieldPath,
) -> Result<ContactShape, Problem> {
    let resolution = match resolution {
        Some(resolution) => number(resolution, Range::Positive, &table.key("resolution"))?,
        None => DEFAULT_RESOLUTION * resolved_length(shape),
    };
    let [a, b, c] = lengths(shape);
    let key = (
        std::mem::discriminant(shape),
        [a, b, c, resolution].map(f64::to_bits),
        [equal_volume, rigid],
        law.key(),
    );
    if let Some(made) = context.primitives.borrow().get(&key) {
        return Ok(made.clone());
    }
    let meshes = if rigid {
        shape.surface_mesh(resolution).map(Meshes::Rigid)
    } else {
        primitive_field(shape, resolution).map(|(mesh, extent)| Meshes::Compliant(mesh, extent))
    };
    let mut meshes = meshes.map_err(|error| Problem::new(table.clone(), error))?;
    if equal_volume {
        fill_volume(&mut meshes, shape);
    }
    let mut made = ContactShape::from_meshes(meshes, law, table)?;
    made.primitive = (!equal_volume).then_some((*shape, resolution));
    if let ContactGeometry::Rigid(surface) = &*made.geometry {
        let surface = RigidSurface::of_shape(*shape, surface.mesh().clone());
        made.geometry = Arc::new(ContactGeometry::Rigid(surface));
    }
    context.primitives.borrow_mut().insert(key, made.clone());
    Ok(made)
}
