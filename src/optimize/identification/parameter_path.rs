//! From the name of a parameter in a fit or problem file to the parameters of a model.

use crate::contact::MaterialParameter;
use crate::multibody::{LoadPart, Model, Parameter, StopNumber};
use crate::optimize::error::ProblemError;
use crate::shown::list;

const MATERIAL_FIELDS: &str = "`hydroelastic_modulus`, `dissipation`, `relaxation_time`, `friction` (static and dynamic), `static_friction`, `dynamic_friction`, `e_t`, `e_o`, `e_r`";

const CONTACT_FIELDS: &str =
    "`stiction_velocity`, and `bristle_length` of a scene that has one, where compliant bodies can touch";

const BODY_FIELDS: &str = "`mass`, `inertia[ROW][COLUMN]`, `center_of_mass[AXIS]`, `pseudo_inertia[INDEX]`, `shift[AXIS]`, `turn[AXIS]` of a free one, \
     `geometries[INDEX].scale`, `geometries[INDEX].shift[AXIS]`, `geometries[INDEX].pressure_law.power.exponent`";

const GEOMETRY_FIELDS: &str =
    "`scale`, `shift[AXIS]`, and `pressure_law.power.exponent` of one whose law is a power";

/// The field of a geometry that has dots in it.
const EXPONENT: &str = "pressure_law.power.exponent";

const JOINT_FIELDS: &str = "`damping`, `friction` and `shift` of a joint with one coordinate (one that follows another joint has none: the other's are those of both), `stiction_velocity` of one with friction, `spring.stiffness` and `spring.rest` of one with a \
                            spring, `computed_torque.stiffness` and `computed_torque.damping` of one led by \
                            computed torque, `lower`, `upper`, `stop_stiffness` and `stop_dissipation` of one with stops, and `frame.shift[AXIS]`";

const ACTUATOR_FIELDS: &str =
    "`stiffness` and `damping` where its drive has them, `effort` where it has a limit";

const LOAD_FIELDS: &str = "`force[AXIS]` and `torque[AXIS]` where they are constant, `force.values[KNOT][AXIS]` where they have times, \
                           `force.mean[AXIS]`, `force.sine[AXIS]` and `force.cosine[AXIS]` where they have a period, and \
                           these of `torque`";

const PAIR_FIELDS: &str = "`friction` (static and dynamic), `static_friction`, `dynamic_friction`";

/// The numbers of `[0][2]` and the like; `None` if there are not `N` of them, all from 0 to 2.
fn axes_of<const N: usize>(text: &str) -> Option<[usize; N]> {
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let axes: Vec<usize> = inner.split("][").map(|axis| axis.parse().ok()).collect::<Option<_>>()?;
    axes.iter().all(|&axis| axis < 3).then(|| axes.try_into().ok()).flatten()
}

/// Names in backquotes, separated by commas.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    list(names.map(|name| format!("`{name}`")))
}

/// The parameters of a model that a parameter of a fit with this name sets, all to its own value.
///
/// Names follow the scene file: `materials.NAME.FIELD` with FIELD one of `hydroelastic_modulus`,
/// `dissipation`, `relaxation_time`, `static_friction`, `dynamic_friction`, `friction` (both of
/// them) or the name of a parameter of the model's own law, `bodies.NAME.mass`, `bodies.NAME.center_of_mass[AXIS]` and
/// `bodies.NAME.inertia[ROW][COLUMN]` where they are given,
/// `bodies.NAME.geometries[INDEX].scale` (1 leaves the geometry as it is), `bodies.NAME.geometries[INDEX].shift[AXIS]`
/// (in m along an axis of the body, 0 where it is in the model), `bodies.NAME.geometries[INDEX].pressure_law.power.exponent` of a law
/// that is a power, `bodies.NAME.shift[AXIS]` of a
/// fixed body or of a free one at the start (in m along an axis of W, 0 where it is), `bodies.NAME.turn[AXIS]` of a free
/// one at the start (a component of a rotation vector in W, rad), and `gravity[AXIS]`; rows, columns and axes are 0, 1 or 2.
///
/// `contact.stiction_velocity` and, where there is one, `contact.bristle_length` are the settings of contact.
///
/// `joints.NAME.FIELD` with FIELD `damping`, `friction`, `stiction_velocity` (of that friction), `shift` (of the position at the start), `frame.shift[AXIS]` (of
/// the joint with all that it carries, in m along an axis of the frame that carries it, 0 where it is), `spring.stiffness`,
/// `spring.rest`, `computed_torque.stiffness`, `computed_torque.damping` (of its robot), `lower`, `upper`, `stop_stiffness` or
/// `stop_dissipation`, and `actuators.NAME.FIELD` with FIELD
/// `stiffness`, `damping` or `effort` are those of joints and drives that have them.
///
/// `loads.NAME.FIELD`, or `loads[INDEX].FIELD` of a load without a name, with FIELD `force[AXIS]` of a constant force,
/// `force.values[KNOT][AXIS]` of one with times, `force.mean[AXIS]`, `force.sine[AXIS]` and `force.cosine[AXIS]` of a
/// periodic one, and the same of `torque`, are components of loads; knots count from 0.
///
/// `pairs.BODY.OTHER.FIELD` with FIELD `friction`, `static_friction` or `dynamic_friction` sets it in the materials of
/// both bodies. Two equal coefficients combine to themselves, so the value is the coefficient between the two. No
/// other body may have these materials.
///
/// # Errors
/// A name of another form, or of something that the model does not have.
pub fn parameters_at(model: &Model, path: &str) -> Result<Vec<Parameter>, ProblemError> {
    let form = || ProblemError::Path { path: path.to_string() };
    if let Some(axes) = path.strip_prefix("gravity") {
        let [axis] = axes_of(axes).ok_or_else(form)?;
        return Ok(vec![Parameter::Gravity { axis }]);
    }
    if let Some(field) = path.strip_prefix("contact.") {
        let all = Parameter::of_contact(model);
        let found = all.into_iter().find(|parameter| parameter.name(model) == path);
        let (path, field, allowed) = (path.to_string(), field.to_string(), CONTACT_FIELDS);
        return found.map(|parameter| vec![parameter]).ok_or(ProblemError::NoSuchField {
            path,
            field,
            allowed,
        });
    }
    if let Some(rest) = path.strip_prefix("joints.") {
        return Ok(vec![joint_parameter(model, path, rest)?]);
    }
    if let Some(rest) = path.strip_prefix("actuators.") {
        return Ok(vec![actuator_parameter(model, path, rest)?]);
    }
    if path.starts_with("loads.") || path.starts_with("loads[") {
        return Ok(vec![load_parameter(model, path)?]);
    }
    if let Some(rest) = path.strip_prefix("pairs.") {
        return pair_parameters(model, path, rest);
    }
    if let Some(rest) = path.strip_prefix("materials.") {
        let (name, field) = rest.rsplit_once('.').ok_or_else(form)?;
        let material = model.material_index(name).ok_or_else(|| ProblemError::NoSuchName {
            path: path.to_string(),
            kind: "material",
            name: name.to_string(),
            found: listed(model.materials.iter().map(|m| m.name.as_str())),
        })?;
        let own = model.contact.law.map_or(0, |law| law.parameters().len());
        let parameters: Vec<MaterialParameter> = match field {
            "friction" => vec![MaterialParameter::StaticFriction, MaterialParameter::DynamicFriction],
            _ => (MaterialParameter::BUILT_IN.into_iter().chain((0..own).map(MaterialParameter::Own)))
                .filter(|parameter| parameter.name(model.contact.law) == field)
                .collect(),
        };
        if parameters.is_empty() {
            return Err(ProblemError::NoSuchField {
                path: path.to_string(),
                field: field.to_string(),
                allowed: MATERIAL_FIELDS,
            });
        }
        return Ok(parameters
            .into_iter()
            .map(|parameter| Parameter::Material { material, parameter })
            .collect());
    }
    let rest = path.strip_prefix("bodies.").ok_or_else(form)?;
    let (rest, field) = match rest.strip_suffix(EXPONENT).and_then(|rest| rest.strip_suffix('.')) {
        Some(rest) => (rest, EXPONENT),
        None => rest.rsplit_once('.').ok_or_else(form)?,
    };
    let (name, geometry) = match rest.rsplit_once(".geometries[") {
        Some((name, index)) => {
            let index = index.strip_suffix(']').and_then(|i| i.parse::<usize>().ok()).ok_or_else(form)?;
            (name, Some(index))
        }
        None => (rest, None),
    };
    let body = model.body_index(name).ok_or_else(|| ProblemError::NoSuchName {
        path: path.to_string(),
        kind: "body",
        name: name.to_string(),
        found: listed(model.bodies.iter().map(|b| b.name.as_str())),
    })?;
    let no_such_field = |allowed| {
        Err(ProblemError::NoSuchField { path: path.to_string(), field: field.to_string(), allowed })
    };
    let given = |parameter: Parameter| match parameter.value(model) {
        Ok(_) => Ok(vec![parameter]),
        Err(_) => Err(ProblemError::MassNotGiven { path: path.to_string() }),
    };
    let (quantity, axes) = field.split_at(field.find('[').unwrap_or(field.len()));
    match (geometry, quantity) {
        (None, "mass" | "inertia" | "center_of_mass" | "pseudo_inertia")
            if !model.bodies[body].is_moving() =>
        {
            Err(ProblemError::NoMass { path: path.to_string() })
        }
        (None, "mass") if axes.is_empty() => Ok(vec![Parameter::Mass { body }]),
        (None, "inertia") => {
            let [row, column] = axes_of(axes).ok_or_else(form)?;
            given(Parameter::Inertia { body, row: row.min(column), column: row.max(column) })
        }
        (None, "center_of_mass") => {
            let [axis] = axes_of(axes).ok_or_else(form)?;
            given(Parameter::CenterOfMass { body, axis })
        }
        (None, "pseudo_inertia") => {
            let index = axes.strip_prefix('[').and_then(|axes| axes.strip_suffix(']')?.parse().ok());
            let found = index.map(|index| Parameter::PseudoInertia { body, index });
            let found = found.filter(|parameter| parameter.value(model).is_ok());
            found.map(|parameter| vec![parameter]).ok_or_else(|| ProblemError::NoSuchField {
                path: path.to_string(),
                field: field.to_string(),
                allowed: "`pseudo_inertia[INDEX]` with INDEX 0 to 9",
            })
        }
        (None, "shift" | "turn") if model.bodies[body].is_free() => {
            let [axis] = axes_of(axes).ok_or_else(form)?;
            Ok(vec![match quantity {
                "turn" => Parameter::initial_rotation(body, axis),
                _ => Parameter::initial_position(body, axis),
            }])
        }
        (None, "shift") if model.bodies[body].is_moving() => {
            Err(ProblemError::OnJoints { path: path.to_string() })
        }
        (None, "shift") => {
            let [axis] = axes_of(axes).ok_or_else(form)?;
            Ok(vec![Parameter::FixedPose { body, axis: 3 + axis }])
        }
        (None, _) => no_such_field(BODY_FIELDS),
        (Some(geometry), _) if geometry >= model.bodies[body].geometries.len() => {
            let found = model.bodies[body].geometries.len();
            Err(ProblemError::NoSuchGeometry { path: path.to_string(), found })
        }
        (Some(geometry), "scale") if axes.is_empty() => Ok(vec![Parameter::GeometryScale { body, geometry }]),
        (Some(geometry), "shift") => {
            let [axis] = axes_of(axes).ok_or_else(form)?;
            Ok(vec![Parameter::GeometryPose { body, geometry, axis: 3 + axis }])
        }
        (Some(geometry), EXPONENT) if Parameter::PressureExponent { body, geometry }.value(model).is_ok() => {
            Ok(vec![Parameter::PressureExponent { body, geometry }])
        }
        (Some(_), _) => no_such_field(GEOMETRY_FIELDS),
    }
}

/// The parameter that the name `joints.` and `rest` sets.
fn joint_parameter(model: &Model, path: &str, rest: &str) -> Result<Parameter, ProblemError> {
    let stop = |number| move |joint| Parameter::JointStop { joint, number };
    let joints = model.mechanism.joints();
    // Of a joint with other coordinates than one there is no such parameter, which is told as that of no joint.
    let place =
        |joint: usize| Some(&joints[joint].v).filter(|v| v.len() == 1).map_or(usize::MAX, |v| v.start);
    // The gains of a tree are called after any of its joints.
    let trees = model.mechanism.trees();
    let tree =
        |joint: usize| trees.iter().position(|tree| tree.joints.contains(&joint)).unwrap_or(usize::MAX);
    let frame = |axis: usize| move |joint| Parameter::JointFrame { joint, axis: 3 + axis };
    let fields: [(&str, &dyn Fn(usize) -> Parameter); 15] = [
        (".frame.shift[0]", &frame(0)),
        (".frame.shift[1]", &frame(1)),
        (".frame.shift[2]", &frame(2)),
        (".shift", &|joint| Parameter::InitialJoint { index: place(joint) }),
        (".computed_torque.stiffness", &|joint| Parameter::TreeStiffness { tree: tree(joint) }),
        (".computed_torque.damping", &|joint| Parameter::TreeDamping { tree: tree(joint) }),
        (".damping", &|joint| Parameter::JointDamping { joint }),
        (".friction", &|joint| Parameter::JointFriction { joint }),
        (".stiction_velocity", &|joint| Parameter::JointStictionVelocity { joint }),
        (".spring.stiffness", &|joint| Parameter::SpringStiffness { joint }),
        (".spring.rest", &|joint| Parameter::SpringRest { joint }),
        (".lower", &stop(StopNumber::Lower)),
        (".upper", &stop(StopNumber::Upper)),
        (".stop_stiffness", &stop(StopNumber::Stiffness)),
        (".stop_dissipation", &stop(StopNumber::Dissipation)),
    ];
    let names = || joints.iter().map(|joint| joint.name.as_str());
    part_parameter(model, path, rest, &fields, ("joint", names().collect()), JOINT_FIELDS)
}

/// The parameter that the name `actuators.` and `rest` sets.
fn actuator_parameter(model: &Model, path: &str, rest: &str) -> Result<Parameter, ProblemError> {
    let fields: [(&str, &dyn Fn(usize) -> Parameter); 3] = [
        (".stiffness", &|actuator| Parameter::DriveStiffness { actuator }),
        (".damping", &|actuator| Parameter::DriveDamping { actuator }),
        (".effort", &|actuator| Parameter::EffortLimit { actuator }),
    ];
    let names = model.actuators.iter().map(|actuator| actuator.name.as_str()).collect();
    part_parameter(model, path, rest, &fields, ("actuator", names), ACTUATOR_FIELDS)
}

/// The parameter that a name of a load's value sets.
fn load_parameter(model: &Model, path: &str) -> Result<Parameter, ProblemError> {
    // Loads without a name in their file are called after their place in it, which is a path by itself.
    let own_path =
        |name: &str| if name.starts_with("loads[") { name.to_owned() } else { format!("loads.{name}") };
    // Names may have dots in them; a force and a torque may have the same.
    let rest_of = |name: &str| path.strip_prefix(&own_path(name))?.strip_prefix('.');
    let mut found = None;
    for (load, l) in model.loads.iter().enumerate() {
        let Some(rest) = rest_of(&l.name) else { continue };
        found = Some(rest);
        let Some(field) = rest.strip_prefix(l.kind.name()) else { continue };
        let (field, axes) = field.split_at(field.find('[').unwrap_or(field.len()));
        let (part, axes) = match field {
            "" => (LoadPart::Constant, axes),
            ".mean" => (LoadPart::Mean, axes),
            ".sine" => (LoadPart::Sine, axes),
            ".cosine" => (LoadPart::Cosine, axes),
            ".values" => {
                let knot = axes.strip_prefix('[').and_then(|axes| axes.split_once(']'));
                let Some((knot, axes)) = knot else { continue };
                let Ok(knot) = knot.parse() else { continue };
                (LoadPart::Knot(knot), axes)
            }
            _ => continue,
        };
        let Some([axis]) = axes_of(axes) else { continue };
        let parameter = Parameter::Load { load, part, axis };
        if parameter.value(model).is_ok() {
            return Ok(parameter);
        }
    }
    match found {
        Some(field) => Err(ProblemError::NoSuchField {
            path: path.to_owned(),
            field: field.to_owned(),
            allowed: LOAD_FIELDS,
        }),
        None => {
            let mut names: Vec<&str> = model.loads.iter().map(|load| load.name.as_str()).collect();
            names.dedup();
            let rest = path.strip_prefix("loads.").unwrap_or(path);
            Err(ProblemError::NoSuchName {
                path: path.to_owned(),
                kind: "load",
                name: rest
                    .split(".force")
                    .next()
                    .and_then(|r| r.split(".torque").next())
                    .unwrap_or(rest)
                    .to_owned(),
                found: listed(names.into_iter()),
            })
        }
    }
}

/// The parameter of a part with a name and one of the fields, each with how a parameter is made of the part's index.
fn part_parameter(
    model: &Model,
    path: &str,
    rest: &str,
    fields: &[(&str, &dyn Fn(usize) -> Parameter)],
    (kind, names): (&'static str, Vec<&str>),
    allowed: &'static str,
) -> Result<Parameter, ProblemError> {
    let no_such_field =
        |field: &str| ProblemError::NoSuchField { path: path.to_string(), field: field.to_string(), allowed };
    // Names may have dots in them.
    let found = fields.iter().find_map(|(field, make)| Some((rest.strip_suffix(field)?, field, make)));
    let (name, field, make) = found.ok_or_else(|| no_such_field(rest))?;
    let index = names.iter().position(|own| *own == name).ok_or_else(|| ProblemError::NoSuchName {
        path: path.to_string(),
        kind,
        name: name.to_string(),
        found: listed(names.iter().copied()),
    })?;
    let parameter = make(index);
    parameter.value(model).map_err(|_| no_such_field(field.trim_start_matches('.')))?;
    Ok(parameter)
}

/// The parameters that the name `pairs.` and `rest` sets.
fn pair_parameters(model: &Model, path: &str, rest: &str) -> Result<Vec<Parameter>, ProblemError> {
    let path = || path.to_string();
    let (names, field) = rest.rsplit_once('.').ok_or_else(|| ProblemError::Path { path: path() })?;
    let fields = match field {
        "friction" => vec![MaterialParameter::StaticFriction, MaterialParameter::DynamicFriction],
        "static_friction" => vec![MaterialParameter::StaticFriction],
        "dynamic_friction" => vec![MaterialParameter::DynamicFriction],
        _ => {
            let field = field.to_string();
            return Err(ProblemError::NoSuchField { path: path(), field, allowed: PAIR_FIELDS });
        }
    };
    // Names may have dots in them.
    let pair = names.match_indices('.').find_map(|(at, _)| {
        let bodies = [model.body_index(&names[..at])?, model.body_index(&names[at + 1..])?];
        (bodies[0] != bodies[1]).then_some(bodies)
    });
    let pair = pair.ok_or_else(|| ProblemError::NoSuchPair {
        path: path(),
        names: names.to_string(),
        found: listed(model.bodies.iter().map(|b| b.name.as_str())),
    })?;
    let mut materials = Vec::new();
    for body in pair {
        let geometries = &model.bodies[body].geometries;
        let own: Option<Vec<usize>> = geometries.iter().map(|geometry| geometry.material).collect();
        let own = own.filter(|own| !own.is_empty()).ok_or_else(|| {
            let body = model.bodies[body].name.clone();
            ProblemError::NoOwnMaterial { path: path(), body }
        })?;
        materials.extend(own);
    }
    materials.sort_unstable();
    materials.dedup();
    for (_, body) in model.bodies.iter().enumerate().filter(|(body, _)| !pair.contains(body)) {
        let mut shared = body.geometries.iter().filter_map(|geometry| geometry.material);
        if let Some(material) = shared.find(|material| materials.contains(material)) {
            let (material, body) = (model.materials[material].name.clone(), body.name.clone());
            return Err(ProblemError::SharedMaterial { path: path(), material, body });
        }
    }
    let of_material = |material| {
        fields.iter().map(move |&parameter| Parameter::Material { material, parameter }).collect::<Vec<_>>()
    };
    Ok(materials.into_iter().flat_map(of_material).collect())
}

#[cfg(test)]
#[path = "parameter_path_tests.rs"]
mod tests;
