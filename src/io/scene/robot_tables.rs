//! From the robot tables of a scene file to bodies, joints and collision geometries.

use std::collections::BTreeMap;
use std::path::Path;

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::robot::{
    CollisionShape, LinkGeometry, MimicJoints, RobotBase, RobotDescription, RobotOptions, disabled_collisions,
};
use crate::io::scene::actuator_schema::RobotDriveTable;
use crate::io::scene::body_tables::{PoseFields, Range, number};
use crate::io::scene::geometry_tables::{
    ContactShape, GeometryContext, body_geometry, check_compliant, find_material, primitive,
    zero_gradient_warning,
};
use crate::io::scene::joint_schema::{BaseTable, Coordinates, RIGID, RobotTable};
use crate::io::scene::joint_tables::{InitialCoordinates, configuration, free_configuration, velocity};
use crate::io::scene::mesh_tables::link_mesh;
use crate::io::scene::pressure_law_tables::LayeredLaw;
use crate::io::scene::visuals::RobotVisuals;
use crate::multibody::BodyGeometry;
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind};
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
    /// Where its joints start.
    pub initial: Vec<InitialCoordinates>,
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
    };
    let path = context.folder.join(&t.urdf);
    context.files.borrow_mut().push(path.clone());
    let field = table.key("urdf");
    let mut robot =
        RobotDescription::load(&path, &options).map_err(|error| Problem::new(field.clone(), error))?;
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
    let mut warnings: Vec<Problem> =
        robot.warnings.iter().map(|warning| Problem::new(field.clone(), warning)).collect();
    warnings.extend(locked_joints(t, &robot, table));
    let geometries = geometries(t, &robot, context, table, &mut warnings)?;

    let apart = match &t.srdf {
        None => Vec::new(),
        Some(srdf) => {
            let (path, field) = (context.folder.join(srdf), table.key("srdf"));
            context.files.borrow_mut().push(path.clone());
            let names: Vec<&str> = robot.bodies.iter().map(|body| body.name.as_str()).collect();
            disabled_collisions(&path, &names).map_err(|error| Problem::new(field, error))?
        }
    };
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
    let RobotDescription { name, bodies, joints, visuals, .. } = robot;
    let visuals = RobotVisuals { robot: name, visuals };
    Ok(SceneRobot { bodies, joints, geometries, apart, initial, visuals, warnings, missing })
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
            let known: Vec<&str> = moving().map(|j| j.name.as_str()).collect();
            let message = format!("is no joint that moves; there are {}", list(&known));
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

/// Names for a message.
fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
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
    let mut geometries = vec![Vec::new(); robot.bodies.len()];
    for (link, material) in &t.materials {
        let field = table.key("materials").key(link);
        let Some(body) = robot.bodies.iter().position(|b| b.name == *link) else {
            let known: Vec<&str> = robot.bodies.iter().map(|b| b.name.as_str()).collect();
            let message = format!("is no link; the links are {}", list(&known));
            return Err(Problem::new(field, message));
        };
        let rigid = material == RIGID;
        let material = if rigid {
            None
        } else {
            let index = find_material(material, context, &field)?;
            check_compliant(index, context, &field)?;
            Some(index)
        };
        for shape in robot.collisions.iter().filter(|c| c.body == *link) {
            let made = contact_shape(shape, t.resolution, rigid, context, &field)?;
            let made = body_geometry(shape.x_bg, made, material, context);
            warnings.extend(zero_gradient_warning(&made, link, &field));
            geometries[body].push(made);
        }
        if geometries[body].is_empty() {
            let mut known: Vec<&str> = robot.collisions.iter().map(|c| c.body.as_str()).collect();
            known.dedup();
            let message = format!("the link has no collision geometry; those that have are {}", list(&known));
            return Err(Problem::new(field, message));
        }
    }
    warnings.extend(silent_links(t, robot, table));
    Ok(geometries)
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

/// What to say of links that could collide but have no material.
fn silent_links(t: &RobotTable, robot: &RobotDescription, table: &FieldPath) -> Option<Problem> {
    let mut silent: Vec<&str> = robot.collisions.iter().map(|c| c.body.as_str()).collect();
    silent.dedup();
    silent.retain(|link| !t.materials.contains_key(*link));
    (!silent.is_empty()).then(|| {
        let message = format!(
            "links that have collision geometry but no material touch nothing: {}; `materials` names those that do",
            list(&silent)
        );
        Problem::new(table.key("materials"), message)
    })
}

/// What a link's collision geometry is in contact.
fn contact_shape(
    shape: &CollisionShape,
    resolution: Option<f64>,
    rigid: bool,
    context: &GeometryContext,
    field: &FieldPath,
) -> Result<ContactShape, Problem> {
    let law = LayeredLaw::default();
    let file = shape.mesh_file().map_err(|error| Problem::new(field.clone(), error))?;
    match (&shape.geometry, file) {
        (LinkGeometry::Primitive(primitive_shape), _) => {
            primitive(primitive_shape, resolution, rigid, &law, context, field)
        }
        (LinkGeometry::Mesh(mesh), file) => {
            let file = file.unwrap_or(Path::new(&mesh.uri));
            context.files.borrow_mut().push(file.to_owned());
            ContactShape::from_meshes(link_mesh(file, &mesh.scale, rigid, field)?, &law, field)
        }
    }
}
