//! From the cost tables of a problem file to the terms of an objective, and the quantities that constraints
//! are of too.

use nalgebra::Vector3;

use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem, check_name};
use crate::io::problem::controls::actuator_index;
use crate::io::problem::schema::{
    ComponentsTable, ConstraintTable, ContactTable, CoordinateTable, CostTable, OfBodyTable,
    OrientationTable, RelativeTable, TargetTable,
};
use crate::io::scene::body_tables::{PoseFields, Range, number};
use crate::io::scene::file::Scene;
use crate::io::scene::named::named;
use crate::multibody::Model;
use crate::multibody::tree::Joint;
use crate::optimize::ProblemError;
use crate::optimize::objective::{CostTerm, Objective, Quantity, Target};
use crate::step::Integrator;

/// The name and the term of one table.
pub(in crate::io) fn cost_term(
    t: &CostTable,
    (model, integrator): (&Model, Integrator),
    table: &FieldPath,
) -> Result<(String, CostTerm), Problem> {
    let named = NamedQuantity::read(&QuantityFields::from(t), &t.name, (model, integrator), table)?;
    let NamedQuantity { key, quantity, .. } = named;
    let is_number = quantity.dimension() == 1;
    let components = |c: ComponentsTable, field: &FieldPath| named.components(c, field);
    let field = table.key("target");
    let target = match &t.target {
        None => Target::constant(Vector3::zeros()),
        Some(TargetTable::Constant(c)) => Target::constant(components(*c, &field)?),
        Some(TargetTable::Path(path)) => {
            let values = path.values.iter().enumerate();
            let values = values.map(|(i, c)| components(*c, &field.key("values").index(i)));
            Target::new(path.times.clone(), values.collect::<Result<_, _>>()?).map_err(|error| {
                let field = match error {
                    ProblemError::TargetTime { index, .. } => field.key("times").index(index),
                    _ => field.key("values"),
                };
                Problem::new(field, error)
            })?
        }
    };
    let mut weight = components(t.weight, &table.key("weight"))?;
    if is_number {
        weight = Vector3::new(weight.x, 0.0, 0.0);
    }
    let term = CostTerm { quantity, target, weight, deviation: t.deviation, when: t.when };
    // By itself, so that what does not fit is known to be of this table.
    Objective::new(model, model.command_dimension(), vec![term.clone()]).map_err(|error| {
        let field = match error {
            ProblemError::Weight(_) => "weight",
            ProblemError::ControlAtEnd => "when",
            _ => key,
        };
        Problem::new(table.key(field), error)
    })?;
    Ok((named.name, term))
}

impl Scene {
    /// The quantity at the end of motions that a text names as results of `isobar optimize` name its cost, such as `position of ball` or
    /// `contact force of ball from floor`, or as the cost itself does: `position = { body = "ball" }`.
    ///
    /// # Errors
    /// What is wrong with it, in words, and what is allowed.
    pub fn quantity_at_end(&self, text: &str) -> Result<Quantity, String> {
        let settings = self.simulation_settings().map_err(|error| error.to_string())?;
        let of_steps = ["control", "step_force"];
        let allowed: Vec<&str> = QUANTITIES.split(", ").filter(|key| !of_steps.contains(key)).collect();
        let quoted = |name: &str| serde_json::Value::from(name.trim()).to_string();
        let in_words = |(key, of): (&str, &str)| {
            let key = key.trim().replace(' ', "_");
            let of = match of.split_once(" from ") {
                Some((on, from)) => format!("{{ on = {}, from = {} }}", quoted(on), quoted(from)),
                None if key.starts_with("joint_") => format!("{{ joint = {} }}", quoted(of)),
                None => format!("{{ body = {} }}", quoted(of)),
            };
            format!("{key} = {of}")
        };
        let toml = match text.contains('=') {
            true => Some(text.to_owned()),
            false => text.split_once(" of ").map(in_words),
        };
        let told = |error: FileError| match error {
            FileError::Invalid { field, message, .. } => format!("{field}: {message}"),
            error => error.to_string(),
        };
        let document = toml.map(|toml| Document::of_toml(&self.path, format!("{toml}\nweight = 1")));
        let document = document.transpose().map_err(told)?;
        let mut keys = document.iter().flat_map(Document::keys).filter(|key| *key != "weight");
        match (&document, keys.next(), keys.next()) {
            (Some(document), Some(key), None) if allowed.contains(&key) => {
                let table: CostTable = document.contents().map_err(told)?;
                let of = (&self.model, settings.integrator);
                let named = NamedQuantity::read(&(&table).into(), &None, of, &FieldPath::root());
                named
                    .map(|named| named.quantity)
                    .map_err(|Problem { field, message }| format!("{field}: {message}"))
            }
            _ => Err(format!(
                "it must be one of {}, such as `position of BODY` or `contact force of BODY from OTHER`, or \
                 written as in a cost of a problem, such as `position = {{ body = \"BODY\" }}`",
                allowed.join(", ")
            )),
        }
    }
}

/// A quantity of a table, with its key and its name in results.
pub(in crate::io) struct NamedQuantity {
    pub key: &'static str,
    pub name: String,
    pub quantity: Quantity,
}

impl NamedQuantity {
    /// The one quantity that a table has.
    pub fn read(
        t: &QuantityFields,
        name: &Option<String>,
        (model, integrator): (&Model, Integrator),
        table: &FieldPath,
    ) -> Result<Self, Problem> {
        let (key, of, quantity) = quantity(t, model, table)?;
        if matches!(quantity, Quantity::StepForce { .. })
            && !matches!(integrator, Integrator::VelocityLevel(_))
        {
            let message = "it is known for the solvers `lagged`, `similar`, `sap` and `tamsi` without `accuracy`; \
                           use `contact_force`, the force at an instant";
            return Err(Problem::new(table.key(key), message));
        }
        let name = match name {
            Some(name) => {
                check_name(name, &table.key("name"))?;
                name.clone()
            }
            None => format!("{} of {of}", key.replace('_', " ")),
        };
        Ok(Self { key, name, quantity })
    }

    /// Finite numbers for the components of the quantity.
    pub fn components(&self, c: ComponentsTable, field: &FieldPath) -> Result<Vector3<f64>, Problem> {
        if self.quantity.dimension() == 1 && matches!(c, ComponentsTable::Each(_)) {
            let message = format!("found three numbers; `{}` is one number", self.key);
            return Err(Problem::new(field.clone(), message));
        }
        let v = c.vector();
        for x in &v {
            number(*x, Range::Finite, field)?;
        }
        Ok(v)
    }
}

/// The fields of a table that say which quantity it is of.
pub(in crate::io) struct QuantityFields<'t> {
    control: &'t Option<String>,
    joint_position: &'t Option<CoordinateTable>,
    joint_velocity: &'t Option<CoordinateTable>,
    position: &'t Option<RelativeTable>,
    orientation: &'t Option<OrientationTable>,
    velocity: &'t Option<OfBodyTable>,
    angular_velocity: &'t Option<OfBodyTable>,
    contact_force: &'t Option<ContactTable>,
    step_force: &'t Option<ContactTable>,
    contact_area: &'t Option<ContactTable>,
    largest_pressure: &'t Option<ContactTable>,
    slip: &'t Option<ContactTable>,
    contact_torque: &'t Option<ContactTable>,
}

/// The fields of tables that have all of them.
macro_rules! quantity_fields {
    ($table:ty) => {
        impl<'t> From<&'t $table> for QuantityFields<'t> {
            fn from(t: &'t $table) -> Self {
                Self {
                    control: &t.control,
                    joint_position: &t.joint_position,
                    joint_velocity: &t.joint_velocity,
                    position: &t.position,
                    orientation: &t.orientation,
                    velocity: &t.velocity,
                    angular_velocity: &t.angular_velocity,
                    contact_force: &t.contact_force,
                    step_force: &t.step_force,
                    contact_area: &t.contact_area,
                    largest_pressure: &t.largest_pressure,
                    slip: &t.slip,
                    contact_torque: &t.contact_torque,
                }
            }
        }
    };
}

quantity_fields!(CostTable);
quantity_fields!(ConstraintTable);

/// The quantity of a table, with its key and what it is of.
fn quantity(
    t: &QuantityFields,
    model: &Model,
    table: &FieldPath,
) -> Result<(&'static str, String, Quantity), Problem> {
    let body = |name: &str, key: &str, part: &str| {
        let field = table.key(key).key(part);
        named(model.bodies.iter().map(|b| b.name.as_str()), "body", name, &field)
    };
    let other =
        |name: &Option<String>, key| name.as_deref().map(|name| body(name, key, "relative_to")).transpose();
    let pair = |contact: &ContactTable, key| {
        let (on, from) = (body(&contact.on, key, "on")?, body(&contact.from, key, "from")?);
        Ok((format!("{} from {}", contact.on, contact.from), on, from))
    };
    let mut found = Vec::new();
    if let Some(name) = t.control {
        let index = actuator_index(model, name, &table.key("control"))?;
        found.push(("control", name.clone(), Quantity::Control { index }));
    }
    if let Some(of) = t.joint_position {
        let key = "joint_position";
        let index = coordinate(of, model, |joint| joint.q.clone(), &table.key(key))?;
        found.push((key, of.joint.clone(), Quantity::JointPosition { index }));
    }
    if let Some(of) = t.joint_velocity {
        let key = "joint_velocity";
        let index = coordinate(of, model, |joint| joint.v.clone(), &table.key(key))?;
        found.push((key, of.joint.clone(), Quantity::JointVelocity { index }));
    }
    if let Some(of) = t.position {
        let key = "position";
        let (body, relative_to) = (body(&of.body, key, "body")?, other(&of.relative_to, key)?);
        found.push((key, of.body.clone(), Quantity::Position { body, relative_to }));
    }
    if let Some(of) = t.orientation {
        let key = "orientation";
        let (body, relative_to) = (body(&of.body, key, "body")?, other(&of.relative_to, key)?);
        let fields = PoseFields::of_orientation(of.quaternion_wxyz, of.rpy, of.rotation_matrix);
        let (target, _) = fields.read(&table.key(key))?;
        found.push((key, of.body.clone(), Quantity::Orientation { body, relative_to, target }));
    }
    if let Some(of) = t.velocity {
        let body = body(&of.body, "velocity", "body")?;
        found.push(("velocity", of.body.clone(), Quantity::Velocity { body }));
    }
    if let Some(of) = t.angular_velocity {
        let body = body(&of.body, "angular_velocity", "body")?;
        found.push(("angular_velocity", of.body.clone(), Quantity::AngularVelocity { body }));
    }
    type OfPair = fn(usize, usize) -> Quantity;
    let of_pairs: [(_, _, OfPair); 6] = [
        ("contact_force", t.contact_force, |on, from| Quantity::ContactForce { on, from }),
        ("step_force", t.step_force, |on, from| Quantity::StepForce { on, from }),
        ("contact_area", t.contact_area, |on, from| Quantity::ContactArea { on, from }),
        ("largest_pressure", t.largest_pressure, |on, from| Quantity::LargestPressure { on, from }),
        ("slip", t.slip, |on, from| Quantity::Slip { on, from }),
        ("contact_torque", t.contact_torque, |on, from| Quantity::ContactTorque { on, from }),
    ];
    for (key, contact, make) in of_pairs {
        if let Some(contact) = contact {
            let (of, on, from) = pair(contact, key)?;
            found.push((key, of, make(on, from)));
        }
    }
    match found.len() {
        1 => Ok(found.swap_remove(0)),
        0 => Err(Problem::new(
            table.clone(),
            format_args!("no quantity; exactly one is needed of {QUANTITIES}"),
        )),
        _ => {
            let keys: Vec<&str> = found.iter().map(|(key, ..)| *key).collect();
            let keys = keys.join(", ");
            Err(Problem::new(
                table.clone(),
                format_args!("found {keys}; exactly one is needed of {QUANTITIES}"),
            ))
        }
    }
}

/// All quantities that a cost or a constraint may be of.
const QUANTITIES: &str = "control, joint_position, joint_velocity, position, orientation, velocity, \
                          angular_velocity, contact_force, step_force, contact_area, largest_pressure, slip, contact_torque";

/// The index of a joint's coordinate among those of all joints.
fn coordinate(
    of: &CoordinateTable,
    model: &Model,
    range: fn(&Joint) -> std::ops::Range<usize>,
    field: &FieldPath,
) -> Result<usize, Problem> {
    let joints = model.mechanism.joints();
    let joint =
        named(joints.iter().map(|j| j.name.as_str()), "joint that moves", &of.joint, &field.key("joint"))?;
    if let Some(follows) = &joints[joint].follows {
        let message = format!(
            "found `{}`, which follows joint `{}`: name that one",
            of.joint, joints[follows.joint].name
        );
        return Err(Problem::new(field.key("joint"), message));
    }
    let range = range(&joints[joint]);
    if of.coordinate >= range.len() {
        let message =
            format!("found {}; joint `{}` has {}, counted from 0", of.coordinate, of.joint, range.len());
        return Err(Problem::new(field.key("coordinate"), message));
    }
    Ok(range.start + of.coordinate)
}
