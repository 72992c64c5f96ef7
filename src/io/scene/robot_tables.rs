//! From the robot tables of a scene file to bodies, joints and collision geometries.

use std::collections::BTreeMap;
use std::path::Path;

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::robot::{
    CollisionShape, Compliance, JointActuator, LinkGeometry, MimicJoints, RobotBase, RobotDescription,
    RobotOptions, disabled_collisions,
};
use crate::io::scene::actuator_schema::RobotDriveTable;
use crate::io::scene::body_tables::{PoseFields, Range, material, number};
use crate::io::scene::geometry_tables::{
    ContactShape, GeometryContext, body_geometry, check_compliant, find_material, half_space,
    overlap_warning, primitive, zero_gradient_warning,
};
use crate::io::scene::joint_schema::{
    BaseTable, CollisionKind, CollisionTable, Coordinates, NONE, RIGID, RobotTable,
};
use crate::io::scene::joint_tables::{InitialCoordinates, configuration, free_configuration, velocity};
use crate::io::scene::mesh_tables::link_mesh;
use crate::io::scene::pressure_law_tables::LayeredLaw;
use crate::io::scene::schema::MaterialTable;
use crate::io::scene::shape_schema::HalfSpaceTable;
use crate::io::scene::visuals::RobotVisuals;
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind};
use crate::multibody::{BodyGeometry, NamedMaterial};
use crate::shown::list;
use crate::spatial::{MassProperties, RigidTransform};

/// A robot of a scene. Its names have their prefix.
pub(in crate::io) struct SceneRobot {
    /// Its links.
    pub bodies: Vec<BodyDescription>,
    pub joints: Vec<JointDescription>,
    /// For each link what it collides with.
    pub geometries: Vec<Vec<BodyGeometry>>,
    /// Links that do not touch each other, by their indices.
    pub apart: Vec<[usize; 2]>,
    /// Whether gravity acts on none of its links.
    pub weightless: bool,
    /// Where its joints start.
    pub initial: Vec<InitialCoordinates>,
    /// The actuators of its file.
    pub actuators: Vec<JointActuator>,
    /// What is drawn of its links.
    pub visuals: RobotVisuals,
    /// What is allowed but hardly meant.
    pub warnings: Vec<Problem>,
    /// What is missing for motion, if anything.
    pub missing: Option<Problem>,
}

/// Stands for masses that are missing, so that joints say where bodies are that do not move.
pub(in crate::io) const UNIT_MASS: MassProperties = MassProperties {
    mass: 1.0,
    center_of_mass: nalgebra::Vector3::new(0.0, 0.0, 0.0),
    inertia: nalgebra::Matrix3::new(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
};

/// Reads a robot.
pub(in crate::io) fn robot(
    t: &RobotTable,
    context: &GeometryContext,
    table: &FieldPath,
) -> Result<SceneRobot, Problem> {
    let (orientation, position) = PoseFields::from(t).read(table)?;
    if let (BaseTable::Free, Some(parent)) = (t.base, &t.parent) {
        return Err(Problem::new(
            table.key("parent"),
            format_args!("found `{parent}` beside base = \"free\"; a robot on a parent has base = \"fixed\""),
        ));
    }
    if t.gravity_compensation && matches!(t.base, BaseTable::Free) {
        let message = "found beside base = \"free\"; there is nothing that carries the weight of a free base";
        return Err(Problem::new(table.key("gravity_compensation"), message));
    }
    let base = match t.base {
        BaseTable::Fixed => RobotBase::Fixed { x_wb: RigidTransform::new(orientation.to_matrix(), position) },
        BaseTable::Free => RobotBase::Free,
    };
    let options = RobotOptions {
        package_path: t.packages.iter().map(|p| context.folder.join(p)).collect(),
        base,
        mimic: if t.independent_mimic_joints { MimicJoints::Independent } else { MimicJoints::Follow },
        keyframe: t.keyframe.clone(),
    };
    let path = context.folder.join(&t.urdf);
    context.files.borrow_mut().push(path.clone());
    let field = table.key("urdf");
    let mut robot =
        RobotDescription::load(&path, &options).map_err(|error| Problem::new(field.clone(), error))?;
    context.files.borrow_mut().append(&mut robot.files);
    // Alone first, so that messages name its file.
    let mut missing = None;
    if let Err(error) = robot.clone().robot(&path) {
        robot.bodies.iter_mut().for_each(|b| b.mass = Some(UNIT_MASS));
        let usable = robot.clone().robot(&path);
        let problem = Problem::new(field.clone(), error);
        match usable {
            Ok(_) => missing = Some(problem),
            Err(_) => return Err(problem),
        }
    }

    let replaced = t.joint_friction.map(|x| number(x, Range::AtLeastZero, &table.key("joint_friction")));
    if let Some(friction) = replaced.transpose()? {
        robot.joints.iter_mut().filter(|j| j.kind.is_single()).for_each(|j| j.friction = friction);
    }
    let mut initial = initial_coordinates(t, &robot.joints, table)?;
    if let (BaseTable::Free, Some(base)) = (t.base, robot.joints.first()) {
        let given = initial.iter_mut().find(|i| i.joint == base.name);
        if given.as_ref().is_some_and(|g| g.q.is_some()) {
            return Err(Problem::new(
                table.key("positions").key(&base.name),
                "found beside base = \"free\"; the pose of the base is given by the robot's translation and rotation",
            ));
        }
        let q = Some(free_configuration(&orientation, &position));
        match given {
            Some(given) => given.q = q,
            None => initial.push(InitialCoordinates { joint: base.name.clone(), q, v: None }),
        }
    }
    for (joint, start) in std::mem::take(&mut robot.initial) {
        let follows = robot.joints.iter().any(|other| other.name == joint && other.mimic.is_some());
        match initial.iter_mut().find(|given| given.joint == joint) {
            _ if follows => {}
            Some(given) => given.q = given.q.take().or(Some(start)),
            None => initial.push(InitialCoordinates { joint, q: Some(start), v: None }),
        }
    }
    let mut warnings: Vec<Problem> =
        robot.warnings.iter().map(|warning| Problem::new(field.clone(), warning)).collect();
    warnings.extend(locked_joints(t, &robot, table));
    let geometries = geometries(t, &robot, context, table, &mut warnings)?;

    let mut apart = robot.apart.clone();
    if let Some(srdf) = &t.srdf {
        let (path, field) = (context.folder.join(srdf), table.key("srdf"));
        context.files.borrow_mut().push(path.clone());
        let names: Vec<&str> = robot.bodies.iter().map(|body| body.name.as_str()).collect();
        apart.extend(disabled_collisions(&path, &names).map_err(|error| Problem::new(field, error))?);
    }
    let prefixed = |name: &mut String| name.insert_str(0, &t.prefix);
    robot.bodies.iter_mut().for_each(|b| prefixed(&mut b.name));
    for joint in &mut robot.joints {
        prefixed(&mut joint.name);
        prefixed(&mut joint.child);
        joint.parent.iter_mut().for_each(prefixed);
        joint.mimic.iter_mut().for_each(|mimic| prefixed(&mut mimic.joint));
        // What stood on the world stands on the parent, at the same pose.
        joint.parent = joint.parent.take().or_else(|| t.parent.clone());
    }
    initial.iter_mut().for_each(|i| prefixed(&mut i.joint));
    robot.visuals.iter_mut().for_each(|visual| prefixed(&mut visual.body));
    for actuator in &mut robot.actuators {
        prefixed(&mut actuator.name);
        actuator.joints.iter_mut().for_each(|(joint, _)| prefixed(joint));
    }
    let RobotDescription { name, bodies, joints, visuals, weightless, actuators, .. } = robot;
    let visuals = RobotVisuals { robot: name, visuals };
    Ok(SceneRobot {
        bodies,
        joints,
        geometries,
        apart,
        weightless,
        initial,
        actuators,
        visuals,
        warnings,
        missing,
    })
}

/// The initial coordinates by the joints' names in the robot's file.
fn initial_coordinates(
    t: &RobotTable,
    joints: &[JointDescription],
    table: &FieldPath,
) -> Result<Vec<InitialCoordinates>, Problem> {
    let moving = || joints.iter().filter(|j| j.kind != JointKind::Fixed);
    let find = |name: &str, field: &FieldPath| {
        moving().find(|j| j.name == name).ok_or_else(|| {
            let known = list(moving().map(|j| &j.name));
            let message = format!("is no joint that moves; there are {known}");
            Problem::new(field.clone(), message)
        })
    };
    type Read = fn(&JointKind, &str, &Coordinates, &FieldPath) -> Result<Vec<f64>, Problem>;
    let read = |key: &str, given: &BTreeMap<String, Coordinates>, read: Read| {
        let of_joint = |(name, x): (&String, &Coordinates)| {
            let field = table.key(key).key(name);
            let joint = find(name, &field)?;
            if let Some(mimic) = &joint.mimic {
                let message = format!("follows joint `{}`, which is given instead", mimic.joint);
                return Err(Problem::new(field, message));
            }
            let numbers = read(&joint.kind, name, x, &field)?;
            Ok((name.clone(), numbers))
        };
        given.iter().map(of_joint).collect::<Result<Vec<_>, Problem>>()
    };
    let mut initial: Vec<InitialCoordinates> = read("positions", &t.positions, configuration)?
        .into_iter()
        .map(|(joint, q)| InitialCoordinates { joint, q: Some(q), v: None })
        .collect();
    for (joint, v) in read("velocities", &t.velocities, velocity)? {
        match initial.iter_mut().find(|i| i.joint == joint) {
            Some(given) => given.v = Some(v),
            None => initial.push(InitialCoordinates { joint, q: None, v: Some(v) }),
        }
    }
    Ok(initial)
}

/// For each link its geometries: none without a material.
fn geometries(
    t: &RobotTable,
    robot: &RobotDescription,
    context: &GeometryContext,
    table: &FieldPath,
    warnings: &mut Vec<Problem>,
) -> Result<Vec<Vec<BodyGeometry>>, Problem> {
    let resolution = &table.key("resolution");
    t.resolution.map(|r| number(r, Range::Positive, resolution)).transpose()?;
    let named = named_materials(t, robot, context, table)?;
    let mut geometries = vec![Vec::new(); robot.bodies.len()];
    let mut silent = Vec::new();
    for shape in &robot.collisions {
        let Some(body) = robot.bodies.iter().position(|b| b.name == shape.body) else { continue };
        let names = names_of(shape, robot);
        let (material, field) = match names.iter().find_map(|name| Some((name, named.get(name)?))) {
            Some((_, None)) => continue,
            Some((name, Some(material))) => (*material, table.key("materials").key(name)),
            None => match file_material(&t.prefix, shape, context, &table.key("urdf"))? {
                Some(material) => (material, table.key("urdf")),
                None => {
                    silent.push(shape.body.as_str());
                    continue;
                }
            },
        };
        let rigid = matches!(material, ContactMaterial::Rigid(_));
        let made = contact_shape(t, shape, rigid, context, &field)?;
        let (ContactMaterial::Rigid(material) | ContactMaterial::Compliant(material)) = material;
        let made = body_geometry(shape.x_bg, made, material, context);
        warnings.extend(zero_gradient_warning(&made, &shape.body, &field)?);
        if let LinkGeometry::Mesh(_) = shape.geometry {
            warnings.extend(overlap_warning(&made, &shape.body, &field));
        }
        geometries[body].push(made);
    }
    silent.dedup();
    if !silent.is_empty() {
        let message = format!(
            "links that have collision geometry but no material touch nothing: {}; `materials` names those that do{}",
            list(&silent),
            if robot.collisions.iter().any(|shape| shape.classes.is_empty()) {
                ""
            } else {
                ", by link, geom or class"
            }
        );
        warnings.push(Problem::new(table.key("materials"), message));
    }
    Ok(geometries)
}

/// The names by which `materials` can name a geometry, the most special first: its own, that of its link, and those of
/// its classes. The name of a link is that of no geometry of another.
fn names_of<'r>(shape: &'r CollisionShape, robot: &RobotDescription) -> Vec<&'r str> {
    let is_link = |name: &&str| robot.bodies.iter().any(|body| body.name == *name);
    let own = shape.name.as_deref().filter(|name| !is_link(name));
    let classes = shape.classes.iter().map(String::as_str).filter(|name| !is_link(name));
    own.into_iter().chain([shape.body.as_str()]).chain(classes).collect()
}

/// What a geometry of a link is in contact, with the index of its material.
#[derive(Clone, Copy)]
enum ContactMaterial {
    Rigid(Option<usize>),
    Compliant(Option<usize>),
}

/// The materials that the scene gives links, geometries or classes; none for those that touch nothing.
fn named_materials<'t>(
    t: &'t RobotTable,
    robot: &RobotDescription,
    context: &GeometryContext,
    table: &FieldPath,
) -> Result<BTreeMap<&'t str, Option<ContactMaterial>>, Problem> {
    let check_link = |link: &str, field: &FieldPath| {
        if robot.bodies.iter().any(|b| b.name == link) {
            return Ok(());
        }
        let known = list(robot.bodies.iter().map(|b| &b.name));
        Err(Problem::new(field.clone(), format!("is no link; the links are {known}")))
    };
    if let Some(CollisionTable::Some(kinds)) = &t.collision {
        let field = table.key("collision");
        kinds.keys().try_for_each(|link| check_link(link, &field.key(link)))?;
    }
    let mut named = BTreeMap::new();
    for (link, material) in &t.materials {
        let field = table.key("materials").key(link);
        let is_named = robot.collisions.iter().any(|shape| names_of(shape, robot).contains(&link.as_str()));
        if !is_named {
            check_link(link, &field)?;
        }
        let found = if material == RIGID {
            Some(ContactMaterial::Rigid(None))
        } else if material == NONE {
            None
        } else {
            let index = find_material(material, context, &field)?;
            check_compliant(index, context, &field)?;
            Some(ContactMaterial::Compliant(Some(index)))
        };
        if !is_named {
            let mut known: Vec<&str> = robot.collisions.iter().map(|c| c.body.as_str()).collect();
            known.dedup();
            let message = format!("the link has no collision geometry; those that have are {}", list(&known));
            return Err(Problem::new(field, message));
        }
        named.insert(link.as_str(), found);
    }
    Ok(named)
}

/// The material that the file gives a geometry, which joins those of the scene under the name of its link; `None`
/// without, or where a modulus is missing.
fn file_material(
    prefix: &str,
    shape: &CollisionShape,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<Option<ContactMaterial>, Problem> {
    let given = &shape.proximity;
    let compliant = match given.compliance {
        None => return Ok(None),
        Some(Compliance::Compliant) if given.hydroelastic_modulus.is_none() => return Ok(None),
        Some(compliance) => compliance == Compliance::Compliant,
    };
    let written = MaterialTable {
        hydroelastic_modulus: given.hydroelastic_modulus,
        dissipation: given.dissipation.unwrap_or(0.0),
        relaxation_time: given.relaxation_time.unwrap_or(0.0),
        // Drake has 1 where the file says none.
        friction: given.static_friction.or(given.dynamic_friction).is_none().then_some(1.0),
        static_friction: given.static_friction,
        dynamic_friction: given.dynamic_friction,
        friction_ellipsoid: None,
    };
    let name = format!("{prefix}{}", shape.body);
    let material = material(&written, &FieldPath::root()).map_err(|Problem { field: wrong, message }| {
        let link = &shape.body;
        Problem::new(
            field.clone(),
            format_args!("link `{link}`, drake:proximity_properties, {wrong}: {message}"),
        )
    })?;
    let mut materials = context.materials.borrow_mut();
    let own = materials.iter().skip(context.tables.len());
    let same = own.clone().position(|m| m.material == material && m.name.starts_with(&name));
    let index = same.map_or(materials.len(), |index| context.tables.len() + index);
    if index == materials.len() {
        let mut name = name;
        while materials.iter().any(|other| other.name == name) {
            name.push('_');
        }
        materials.push(NamedMaterial { name, material });
    }
    Ok(Some(if compliant {
        ContactMaterial::Compliant(Some(index))
    } else {
        ContactMaterial::Rigid(Some(index))
    }))
}

/// What to say of joints whose friction is more than the effort of their drives.
fn locked_joints(t: &RobotTable, robot: &RobotDescription, table: &FieldPath) -> Option<Problem> {
    // Computed torque has no limits of effort.
    if matches!(t.drive, None | Some(RobotDriveTable::ComputedTorque(_))) {
        return None;
    }
    let locked = robot.joints.iter().filter(|j| j.friction > 0.0 && j.friction >= j.limits.effort);
    let names: Vec<&str> = locked.map(|j| j.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        let message = format!(
            "joints whose friction is not less than the effort of their drives do not move: {}; `joint_friction` replaces \
             the friction of the file",
            list(&names)
        );
        Problem::new(table.key("drive"), message)
    })
}

/// What a link's collision geometry is in contact.
fn contact_shape(
    t: &RobotTable,
    shape: &CollisionShape,
    rigid: bool,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<ContactShape, Problem> {
    let law = LayeredLaw::default();
    let file = shape.mesh_file().map_err(|error| Problem::new(field.clone(), error))?;
    match &shape.geometry {
        LinkGeometry::Primitive(primitive_shape) => {
            let resolution = t.resolution.or(shape.proximity.resolution);
            primitive(primitive_shape, (resolution, false), rigid, &law, context, field)
        }
        LinkGeometry::HalfSpace if rigid => half_space(&HalfSpaceTable { thickness: None }, true, field),
        LinkGeometry::HalfSpace => Err(Problem::new(
            field.clone(),
            format_args!(
                "link `{}` collides with a plane, which has no thickness, and so is rigid; a compliant half_space is a \
                 body of the scene",
                shape.body
            ),
        )),
        LinkGeometry::Mesh(mesh) => {
            let kind = match &t.collision {
                Some(CollisionTable::All(kind)) => Some(kind),
                Some(CollisionTable::Some(kinds)) => kinds.get(&shape.body),
                None => None,
            };
            let convex = kind.map_or(mesh.convex, |kind| *kind == CollisionKind::Convex);
            let file = file.unwrap_or(Path::new(&mesh.uri));
            context.files.borrow_mut().push(file.to_owned());
            let meshes = link_mesh(file, &mesh.scale, convex, rigid, &context.notes, field)?;
            ContactShape::from_meshes(meshes, &law, field)
        }
    }
}
