//! Which bodies a scene has, by their names, and which pairs of them stay out of contact.

use std::collections::{BTreeMap, BTreeSet};

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{Problem, check_name};
use crate::io::scene::robot_tables::SceneRobot;
use crate::io::scene::schema::{BodyTable, SceneTable};
use crate::multibody::tree::Mechanism;
use crate::multibody::{Body, BodyPair, check_pair_count};

pub(in crate::io) struct BodyName {
    /// Its index in the model.
    pub index: usize,
    /// The table that it comes from.
    pub field: FieldPath,
}

/// The bodies of the scene and the links of its robots by their names.
pub(in crate::io) fn body_names(
    bodies: &[BodyTable],
    robots: &[SceneRobot],
) -> Result<BTreeMap<String, BodyName>, Problem> {
    let root = FieldPath::root();
    let field = root.key("bodies");
    if bodies.is_empty() && robots.is_empty() {
        return Err(Problem::new(field, "found no body; a scene needs at least one in `bodies` or `robots`"));
    }
    let mut names: BTreeMap<String, BodyName> = BTreeMap::new();
    for (index, body) in bodies.iter().enumerate() {
        let here = field.index(index);
        check_name(&body.name, &here.key("name"))?;
        if let Some(first) = names.get(&body.name) {
            return Err(Problem::new(
                here.key("name"),
                format_args!("found `{}`, the name of {} too; names must be unique", body.name, first.field),
            ));
        }
        if body.geometries.is_empty() && body.joint.is_none() {
            return Err(Problem::new(
                here.key("geometries"),
                format_args!("body `{}` has no geometry; it needs at least one", body.name),
            ));
        }
        names.insert(body.name.clone(), BodyName { index, field: here });
    }
    let mut index = bodies.len();
    for (i, robot) in robots.iter().enumerate() {
        let here = root.key("robots").index(i);
        for link in &robot.bodies {
            check_name(&link.name, &here.key("urdf"))?;
            if let Some(first) = names.get(&link.name) {
                return Err(Problem::new(
                    here.key("prefix"),
                    format_args!(
                        "the link `{}` has the name of a body of {}; names must be unique: give the robot another prefix",
                        link.name, first.field
                    ),
                ));
            }
            names.insert(link.name.clone(), BodyName { index, field: here.clone() });
            index += 1;
        }
    }
    Ok(names)
}

/// The indices of the fixed bodies that joints and robots name as their parents.
pub(in crate::io) fn carriers(
    table: &SceneTable,
    names: &BTreeMap<String, BodyName>,
) -> Result<BTreeSet<usize>, Problem> {
    let mut carriers = BTreeSet::new();
    let (root, robots) = (FieldPath::root(), table.robots.iter().enumerate());
    let of_bodies = table.bodies.iter().enumerate().filter_map(|(i, t)| {
        let parent = t.joint.as_ref()?.parent.as_ref()?;
        Some((parent, root.key("bodies").index(i).key("joint").key("parent")))
    });
    let of_robots =
        robots.filter_map(|(i, t)| Some((t.parent.as_ref()?, root.key("robots").index(i).key("parent"))));
    for (parent, field) in of_bodies.chain(of_robots) {
        let index = names.get(parent).ok_or_else(|| no_body(parent, names, &field))?.index;
        match table.bodies.get(index) {
            Some(body) if body.joint.is_none() && body.fixed => {
                carriers.insert(index);
            }
            Some(body) if body.joint.is_none() => {
                return Err(Problem::new(
                    field,
                    format_args!(
                        "found `{parent}`, which moves without a joint; give it joint = {{ type = \"free\" }} with its pose as joint.position"
                    ),
                ));
            }
            _ => {}
        }
    }
    Ok(carriers)
}

/// A name that no body has.
fn no_body(name: &str, names: &BTreeMap<String, BodyName>, field: &FieldPath) -> Problem {
    let known: Vec<&str> = names.keys().map(String::as_str).collect();
    Problem::new(
        field.clone(),
        format_args!("found `{name}`, which is no body; the bodies are {}", known.join(", ")),
    )
}

/// The pairs of bodies that the file leaves out of contact.
pub(in crate::io) fn excluded_pairs(
    table: &SceneTable,
    names: &BTreeMap<String, BodyName>,
) -> Result<Vec<BodyPair>, Problem> {
    let field = FieldPath::root().key("contact").key("excluded_pairs");
    let mut pairs = Vec::new();
    for (i, pair) in table.contact.excluded_pairs.iter().enumerate() {
        let mut indices = [0; 2];
        for (j, name) in pair.0.iter().enumerate() {
            indices[j] = names.get(name).ok_or_else(|| no_body(name, names, &field.index(i).index(j)))?.index;
        }
        indices.sort_unstable();
        let [a, b] = indices;
        if a == b {
            return Err(Problem::new(
                field.index(i),
                format_args!("found `{}` twice; a pair is two different bodies", pair.0[0]),
            ));
        }
        pairs.push(BodyPair { a, b });
    }
    Ok(pairs)
}

/// Leaves the links of a robot that does not touch itself out of contact with each other, as far as
/// they have geometries.
pub(in crate::io) fn exclude_within_robots(
    table: &SceneTable,
    robots: &[SceneRobot],
    excluded: &mut Vec<BodyPair>,
) -> Result<(), Problem> {
    let mut first = table.bodies.len();
    for (number, (t, robot)) in table.robots.iter().zip(robots).enumerate() {
        let links = first..first + robot.bodies.len();
        if !t.self_contact {
            let solid = links.clone().zip(&robot.geometries).filter(|(_, geometries)| !geometries.is_empty());
            let solid: Vec<usize> = solid.map(|(link, _)| link).collect();
            check_pair_count(solid.len().saturating_mul(solid.len() / 2)).map_err(|error| {
                Problem::new(FieldPath::root().key("robots").index(number).key("materials"), error)
            })?;
            for (i, &b) in solid.iter().enumerate() {
                excluded.extend(solid[..i].iter().map(|&a| BodyPair { a, b }));
            }
        }
        for [a, b] in &robot.apart {
            let (a, b) = (links.start + a, links.start + b);
            excluded.push(BodyPair { a: a.min(b), b: a.max(b) });
        }
        first = links.end;
    }
    Ok(())
}

/// Leaves pairs of bodies with geometries out of contact if one joint connects them or if they move as
/// one. `indices` are the indices of the bodies in the mechanism.
pub(in crate::io) fn exclude_connected(
    mechanism: &Mechanism,
    indices: &[Option<usize>],
    bodies: &[Body],
    excluded: &mut Vec<BodyPair>,
) {
    let parts = mechanism.rigid_parts();
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (body, index) in indices.iter().enumerate() {
        if let Some(index) = index.filter(|_| !bodies[body].geometries.is_empty()) {
            members.entry(parts.of_body[index]).or_default().push(body);
        }
    }
    for (part, own) in &members {
        for (i, &b) in own.iter().enumerate() {
            excluded.extend(own[..i].iter().map(|&a| BodyPair { a, b }));
        }
        let carrier = parts.carrier.get(part).and_then(|carrier| members.get(carrier));
        for &a in carrier.into_iter().flatten() {
            excluded.extend(own.iter().map(|&b| BodyPair::of(a, b)));
        }
    }
}
