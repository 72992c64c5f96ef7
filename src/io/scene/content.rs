//! From the tables of a scene file to a model and its initial state.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use crate::contact::ContactSettings;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{Problem, check_name};
use crate::io::scene::actuator_tables::{DrivenRobot, actuators};
use crate::io::scene::bodies::{check_start, put_on_skirts};
use crate::io::scene::body_names::{
    BodyName, body_names, carriers, exclude_connected, exclude_within_robots, excluded_pairs,
};
use crate::io::scene::body_tables::{
    PoseFields, Range, check_mass_fields, contact_settings, free_body, link_mass, material, number, vector,
    velocity,
};
use crate::io::scene::computed_torque::under_computed_torque;
use crate::io::scene::controller_tables::SceneControllers;
use crate::io::scene::geometry_tables::{
    GeometryContext, geometries as table_geometries, overlap_warning, soft_part_warning,
    zero_gradient_warning,
};
use crate::io::scene::joint_tables::{InitialCoordinates, initial_state, joint, mechanism_problem};
use crate::io::scene::load_tables::loads;
use crate::io::scene::plausibility::{scene_angle_warnings, size_warnings, solver_warnings};
use crate::io::scene::robot_tables::{SceneRobot, UNIT_MASS, robot};
use crate::io::scene::schema::{BodyTable, SceneTable, SolverKind};
use crate::io::scene::shape_schema::ShapeTable;
use crate::io::scene::solver_tables::{ErrorControl, error_control, solver_tolerance};
use crate::io::scene::visuals::RobotVisuals;
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind, Mechanism, Workspace};
use crate::multibody::{
    Body, BodyGeometry, BodyPair, BodyState, Model, ModelBuilder, ModelError, Motion, NamedMaterial, State,
};
use crate::rollout::Command;
use crate::spatial::{RigidTransform, SpatialVelocity};
use crate::step::SolverTolerance;

/// What a scene's tables mean.
pub(in crate::io) struct Content {
    pub model: Model,
    pub state: State,
    pub commands: Vec<Command>,
    pub controllers: SceneControllers,
    pub time_step: f64,
    pub tolerance: SolverTolerance,
    pub error_control: Option<ErrorControl>,
    pub fixed: Vec<bool>,
    pub excluded: Vec<BodyPair>,
    pub visuals: Vec<RobotVisuals>,
    pub files: Vec<PathBuf>,
    pub skirt: f64,
    pub warnings: Vec<Problem>,
    /// What is missing for motion, such as a mass: with any of it all bodies are held.
    pub missing: Vec<Problem>,
}

/// The model and state of a scene's tables.
pub(in crate::io) fn content(path: &Path, table: &SceneTable) -> Result<Content, Problem> {
    let root = FieldPath::root();
    let gravity = vector(table.gravity, Range::Finite, &root.key("gravity"))?;
    let time_step = number(table.solver.time_step, Range::Positive, &root.key("solver").key("time_step"))?;
    let tolerance = solver_tolerance(&table.solver, &root.key("solver"))?;
    let error_control = error_control(&table.solver, &root.key("solver"))?;
    let mut contact = contact_settings(&table.contact, &root.key("contact"))?;
    if let Some(control) = error_control {
        contact.sap_stiction = true;
        if table.solver.kind == SolverKind::Radau {
            contact.rigid_stiffness = ContactSettings::rigid_stiffness_for(control.accuracy);
        }
    }
    let mut materials = Vec::new();
    for (name, t) in &table.materials {
        let material = material(t, &root.key("materials").key(name))?;
        materials.push(NamedMaterial { name: name.clone(), material });
    }
    let context = GeometryContext {
        folder: path.parent().unwrap_or(Path::new("")),
        tables: &table.materials,
        materials: materials.into(),
        primitives: RefCell::default(),
        files: RefCell::default(),
        notes: RefCell::default(),
    };
    let robots = table.robots.iter().enumerate();
    let robots = robots
        .map(|(i, t)| robot(t, &context, &root.key("robots").index(i)))
        .collect::<Result<Vec<_>, Problem>>()?;
    let names = body_names(&table.bodies, &robots)?;
    let mut excluded = excluded_pairs(table, &names)?;
    exclude_within_robots(table, &robots, &mut excluded)?;

    let mut parts = Parts { warnings: solver_warnings(table), ..Parts::default() };
    parts.warnings.extend(scene_angle_warnings(table));
    let carriers = carriers(table, &names)?;
    for (i, t) in table.bodies.iter().enumerate() {
        parts.add_body(t, carriers.contains(&i), &context, &root.key("bodies").index(i))?;
    }
    let mut driven = Vec::with_capacity(robots.len());
    for (i, (robot, t)) in robots.iter().zip(&table.robots).enumerate() {
        let joints = robot.joints.iter().map(|joint| joint.name.clone()).collect();
        let weightless = robot.weightless || t.gravity_compensation;
        let field = root.key("robots").index(i);
        driven.push(DrivenRobot { table: t, field, joints, weightless, actuators: robot.actuators.clone() });
    }
    for (i, robot) in robots.into_iter().enumerate() {
        parts.add_robot(robot, &root.key("robots").index(i))?;
    }

    let materials = context.materials.into_inner();
    let mut files = context.files.into_inner();
    parts.warnings.extend(context.notes.into_inner());
    let mechanism = compensated(parts.mechanism(&names)?, &driven)?;
    let mechanism = under_computed_torque(mechanism, &driven)?;
    let table_of_joint = |name: &str| parts.joint_tables.get(name).cloned();
    let (joints, beyond) = initial_state(&mechanism, &parts.initial, table_of_joint);
    let free = parts.entries.iter().map(|e| (e.name().to_owned(), matches!(e, Entry::Free(..))));
    let free: Vec<_> = free.collect();
    let (actuators, commands) = actuators(&table.actuators, &driven, &free, &mechanism, &joints)?;
    let Parts { entries, visuals, mut warnings, missing, .. } = parts;
    let held = !missing.is_empty();
    let mut workspace = Workspace::new(&mechanism);
    mechanism.update_kinematics(&joints.q, &joints.v, &mut workspace);
    let mut state = State::new(Vec::new(), joints);
    let (mut bodies, mut fixed, mut indices) = (Vec::new(), Vec::new(), Vec::new());
    let of_mechanism: HashMap<&str, usize> =
        mechanism.bodies().iter().enumerate().map(|(i, body)| (body.name.as_str(), i)).collect();
    for entry in entries {
        let index = of_mechanism.get(entry.name()).copied();
        let is_fixed = match entry {
            Entry::Fixed(body, is_fixed) => {
                bodies.push(body);
                is_fixed
            }
            Entry::Free(body, start) if held => {
                bodies.push(Body {
                    motion: Motion::Fixed { x_wb: start.pose(), v_wb: start.velocity },
                    ..body
                });
                false
            }
            Entry::Free(body, start) => {
                bodies.push(body);
                state.bodies.push(start);
                false
            }
            Entry::Jointed(name, geometries) => {
                // Every jointed body is one of the mechanism.
                let link = index.unwrap_or_default();
                let moves = mechanism.bodies()[link].joint.is_some();
                bodies.push(if moves && !held {
                    Body::link(name, link, geometries)
                } else {
                    let x_wb = workspace.body_pose(&mechanism, link);
                    let v_wb = workspace.body_velocity(&mechanism, link);
                    Body { name, motion: Motion::Fixed { x_wb, v_wb }, geometries }
                });
                !moves
            }
        };
        fixed.push(is_fixed);
        indices.push(index);
    }
    check_start(&bodies, &state, |link| workspace.body_pose(&mechanism, link))?;
    exclude_connected(&mechanism, &indices, &bodies, &mut excluded);
    excluded.sort_unstable();
    excluded.dedup();
    warnings.extend(size_warnings(table, &bodies));
    let skirt = put_on_skirts(&mut bodies, table.contact.skirt, &root.key("contact").key("skirt"))?;
    warnings.extend(beyond);
    let builder =
        ModelBuilder { bodies, materials, gravity, contact, apart: excluded.clone(), ..Default::default() };
    let folder = path.parent().unwrap_or(Path::new(""));
    let (builder, commands) = if held {
        state = State::default();
        (builder, Vec::new())
    } else {
        let loads = loads(&table.loads, &builder.bodies, folder, &mut files)?;
        (ModelBuilder { mechanism, actuators, loads, ..builder }, commands)
    };
    let model = builder.build().map_err(|error| model_problem(&error))?;
    let state = model.completed(state);
    let controllers = match held {
        true => SceneControllers::default(),
        false => SceneControllers::new(&table.controllers, &model, time_step, &root.key("controllers"))?,
    };
    Ok(Content {
        model,
        state,
        commands,
        controllers,
        time_step,
        tolerance,
        error_control,
        fixed,
        excluded,
        visuals,
        files,
        skirt,
        warnings,
        missing,
    })
}

/// The mechanism with gravity acting on no robot that compensates it, or whose file has it so.
fn compensated(mut mechanism: Mechanism, robots: &[DrivenRobot]) -> Result<Mechanism, Problem> {
    let owner = |name: &str| robots.iter().find(|robot| robot.joints.iter().any(|joint| joint == name));
    for robot in robots.iter().filter(|robot| robot.weightless) {
        for joint in robot.joints.iter().filter_map(|name| mechanism.joint_index(name)).collect::<Vec<_>>() {
            let tree = mechanism.trees().iter().find(|tree| tree.joints.contains(&joint));
            let all = tree.map_or(0..0, |tree| tree.joints.clone());
            let others = mechanism.joints()[all].iter();
            let other = others
                .map(|joint| &joint.name)
                .find(|name| owner(name).is_none_or(|other| !other.weightless));
            if let Some(other) = other {
                let message = format!(
                    "joint `{other}` is of the same tree of bodies and not of a robot with `gravity_compensation`: gravity \
                     acts on a tree as a whole or not at all"
                );
                return Err(Problem::new(robot.field.key("gravity_compensation"), message));
            }
            mechanism = mechanism.with_gravity_compensation(joint);
        }
    }
    Ok(mechanism)
}

/// A body of the model before the joints are known.
enum Entry {
    /// It does not move; whether the file fixes it.
    Fixed(Body, bool),
    /// It moves freely from a state.
    Free(Body, BodyState),
    /// Joints carry it.
    Jointed(String, Vec<BodyGeometry>),
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Self::Fixed(body, _) | Self::Free(body, _) => &body.name,
            Self::Jointed(name, _) => name,
        }
    }
}

/// What the model and its mechanism are made from.
#[derive(Default)]
struct Parts {
    entries: Vec<Entry>,
    links: Vec<BodyDescription>,
    joints: Vec<JointDescription>,
    initial: Vec<InitialCoordinates>,
    /// Where the joint of each name stands.
    joint_tables: BTreeMap<String, FieldPath>,
    /// Names of bodies that do not move but carry joints, and their poses.
    carriers: Vec<(String, RigidTransform)>,
    /// What is drawn of robots.
    visuals: Vec<RobotVisuals>,
    warnings: Vec<Problem>,
    /// What is missing for motion: with any of it all bodies are held where they are. Joints that
    /// lack a mass move [`UNIT_MASS`] until it is known where bodies are.
    missing: Vec<Problem>,
}

impl Parts {
    /// Adds a body; `carries` says whether joints name it as their parent.
    fn add_body(
        &mut self,
        t: &BodyTable,
        carries: bool,
        context: &GeometryContext,
        table: &FieldPath,
    ) -> Result<(), Problem> {
        check_mass_fields(t, table)?;
        let mut geometries = Vec::new();
        for (j, g) in t.geometries.iter().enumerate() {
            let here = table.key("geometries").index(j);
            let made = table_geometries(g, context, &here)?;
            let shape = here.key("shape");
            for made in &made {
                self.warnings.extend(zero_gradient_warning(made, &t.name, &shape)?);
                // Other shapes are convex, and even.
                if let ShapeTable::Mesh(_) | ShapeTable::VolumeMesh(_) | ShapeTable::SurfaceMesh(_) = g.shape
                {
                    self.warnings.extend(soft_part_warning(made, &t.name, &shape));
                    self.warnings.extend(overlap_warning(made, &t.name, &shape));
                }
            }
            geometries.extend(made);
        }
        if t.joint.is_some() {
            return self.add_jointed(t, geometries, table);
        }
        let (orientation, position) = PoseFields::from(t).read(table)?;
        let velocity = velocity(t, table)?;
        let start = BodyState { orientation, position, velocity };
        if !t.fixed {
            match free_body(t, geometries.clone(), table) {
                Ok(body) => {
                    self.entries.push(Entry::Free(body, start));
                    return Ok(());
                }
                Err(problem) => self.missing.push(problem),
            }
        } else if velocity != SpatialVelocity::zero() {
            self.missing.push(Problem::new(
                table.clone(),
                format_args!("body `{}` is fixed but has a velocity; a fixed body must be at rest", t.name),
            ));
        }
        if carries {
            self.carriers.push((t.name.clone(), start.pose()));
        }
        let motion = Motion::Fixed { x_wb: start.pose(), v_wb: velocity };
        self.entries.push(Entry::Fixed(Body { name: t.name.clone(), motion, geometries }, t.fixed));
        Ok(())
    }

    /// Adds a body that a joint carries.
    fn add_jointed(
        &mut self,
        t: &BodyTable,
        geometries: Vec<BodyGeometry>,
        table: &FieldPath,
    ) -> Result<(), Problem> {
        let Some(joint_table) = &t.joint else { return Ok(()) };
        let field = table.key("joint");
        let own = [
            ("fixed", t.fixed),
            ("translation", t.translation.is_some()),
            ("quaternion_wxyz", t.quaternion_wxyz.is_some()),
            ("rpy", t.rpy.is_some()),
            ("rotation_matrix", t.rotation_matrix.is_some()),
            ("linear_velocity", t.linear_velocity.is_some()),
            ("angular_velocity", t.angular_velocity.is_some()),
        ];
        if let Some((name, _)) = own.iter().find(|(_, given)| *given) {
            return Err(Problem::new(
                table.key(name),
                format_args!(
                    "found beside joint; the joint says where body `{}` is (joint.translation, joint.position, …) and how it moves",
                    t.name
                ),
            ));
        }
        let mass = link_mass(t, &geometries, table).unwrap_or_else(|problem| {
            self.missing.push(problem);
            Some(UNIT_MASS)
        });
        let (description, initial) = joint(joint_table, &t.name, &field)?;
        let named = if joint_table.name.is_some() { field.key("name") } else { field.clone() };
        check_name(&description.name, &named)?;
        self.add_joint(description, field, named)?;
        self.initial.push(initial);
        self.links.push(BodyDescription { name: t.name.clone(), mass });
        self.entries.push(Entry::Jointed(t.name.clone(), geometries));
        Ok(())
    }

    fn add_robot(&mut self, robot: SceneRobot, table: &FieldPath) -> Result<(), Problem> {
        for joint in robot.joints {
            self.add_joint(joint, table.clone(), table.key("prefix"))?;
        }
        let links = robot.bodies.iter().zip(robot.geometries);
        self.entries.extend(links.map(|(link, geometries)| Entry::Jointed(link.name.clone(), geometries)));
        self.links.extend(robot.bodies);
        self.initial.extend(robot.initial);
        self.visuals.push(robot.visuals);
        self.warnings.extend(robot.warnings);
        self.missing.extend(robot.missing);
        Ok(())
    }

    /// Adds a joint that stands at `table`; `named` is where its name comes from.
    fn add_joint(
        &mut self,
        joint: JointDescription,
        table: FieldPath,
        named: FieldPath,
    ) -> Result<(), Problem> {
        if let Some(first) = self.joint_tables.get(&joint.name) {
            return Err(Problem::new(
                named,
                format_args!(
                    "the joint `{}` has the name of that of {first}; names of joints must be unique (a robot can have a prefix)",
                    joint.name
                ),
            ));
        }
        self.joint_tables.insert(joint.name.clone(), table);
        self.joints.push(joint);
        Ok(())
    }

    /// The mechanism of all joints.
    fn mechanism(&mut self, names: &BTreeMap<String, BodyName>) -> Result<Mechanism, Problem> {
        // Fixed bodies first, so that joints keep their order.
        let (mut links, mut joints) = (Vec::new(), Vec::new());
        for (name, pose) in &self.carriers {
            // A fixed joint's name is not seen anywhere, but must be one of its own.
            let mut joint = name.clone();
            while self.joint_tables.contains_key(&joint) {
                joint.push('_');
            }
            links.push(BodyDescription { name: name.clone(), mass: None });
            joints.push(JointDescription::new(joint, JointKind::Fixed, None, name.clone(), *pose));
        }
        links.append(&mut self.links);
        joints.append(&mut self.joints);
        let table_of_body = |name: &str| names.get(name).map(|n| n.field.clone());
        let table_of_joint = |name: &str| self.joint_tables.get(name).cloned();
        let of_unit_masses = |links: &[BodyDescription]| {
            let unit = |link: &BodyDescription| BodyDescription { mass: Some(UNIT_MASS), ..link.clone() };
            Mechanism::new(links.iter().map(unit).collect(), joints.clone())
        };
        Mechanism::new(links.clone(), joints.clone()).or_else(|error| {
            let problem = mechanism_problem(&error, table_of_body, table_of_joint);
            match of_unit_masses(&links) {
                Ok(mechanism) => {
                    self.missing.push(problem);
                    Ok(mechanism)
                }
                Err(_) => Err(problem),
            }
        })
    }
}

/// What is wrong with a model, in the words of the scene file.
fn model_problem(error: &ModelError) -> Problem {
    let field = FieldPath::root().key("bodies");
    match error {
        ModelError::Pair { .. } | ModelError::TooManyPairs { .. } => {
            Problem::new(field, format_args!("{error} (contact.excluded_pairs lists such pairs)"))
        }
        _ => Problem::new(field, error),
    }
}
