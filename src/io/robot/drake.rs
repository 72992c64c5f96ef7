//! What Drake's elements say, in URDF and SDF files alike: values are attributes there and text here.

use super::values::{child, parse_number};
use crate::xml::Element;

/// Whether a geometry gives way in contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compliance {
    /// It has a pressure field.
    Compliant,
    /// It keeps its shape.
    Rigid,
}

/// What the file of a robot says of contact with a geometry, by Drake's `proximity_properties`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Proximity {
    /// Whether it is compliant or rigid.
    pub compliance: Option<Compliance>,
    /// Hydroelastic modulus, Pa.
    pub hydroelastic_modulus: Option<f64>,
    /// Length of the edges of its mesh, m.
    pub resolution: Option<f64>,
    /// Hunt–Crossley dissipation, s/m.
    pub dissipation: Option<f64>,
    /// Relaxation time, s.
    pub relaxation_time: Option<f64>,
    /// Coefficient of dynamic friction.
    pub dynamic_friction: Option<f64>,
    /// Coefficient of static friction.
    pub static_friction: Option<f64>,
}

/// What an element says: its attribute of this name, or its text.
fn written<'a>(element: &'a Element, attribute: &str) -> &'a str {
    element.attribute(attribute).unwrap_or(&element.text).trim()
}

/// The number that a child of an element is, if it is there.
fn number(element: &Element, name: &str) -> Result<Option<f64>, String> {
    let parse = |found| parse_number(&format!("`{name}` is"), written(found, "value"));
    child(element, name)?.map(parse).transpose()
}

/// What is said of contact in a `collision` element.
pub(in crate::io) fn proximity(collision: &Element) -> Result<Proximity, String> {
    let Some(given) = child(collision, "drake:proximity_properties")? else {
        return Ok(Proximity::default());
    };
    let has = |name| given.all(name).next().is_some();
    let compliant = has("drake:compliant_hydroelastic") || has("drake:soft_hydroelastic");
    let compliance = match (compliant, has("drake:rigid_hydroelastic")) {
        (true, true) => {
            return Err("`drake:proximity_properties` says compliant and rigid; one is allowed".to_owned());
        }
        (true, false) => Some(Compliance::Compliant),
        (false, true) => Some(Compliance::Rigid),
        (false, false) => None,
    };
    Ok(Proximity {
        compliance,
        hydroelastic_modulus: number(given, "drake:hydroelastic_modulus")?,
        resolution: number(given, "drake:mesh_resolution_hint")?,
        dissipation: number(given, "drake:hunt_crossley_dissipation")?,
        relaxation_time: number(given, "drake:relaxation_time")?,
        dynamic_friction: number(given, "drake:mu_dynamic")?,
        static_friction: number(given, "drake:mu_static")?,
    })
}

/// The inertia of a rotor as its joint feels it, kg m² or kg, where an element gives it.
pub(in crate::io) fn reflected_inertia(element: &Element) -> Result<Option<f64>, String> {
    let gear_ratio = number(element, "drake:gear_ratio")?.unwrap_or(1.0);
    Ok(number(element, "drake:rotor_inertia")?.map(|inertia| inertia * gear_ratio * gear_ratio))
}

/// The pairs of links that do not touch, by the collision filter groups in an element.
pub(in crate::io) fn filtered_pairs(element: &Element) -> Result<Vec<[String; 2]>, String> {
    let groups = || element.all("drake:collision_filter_group");
    let find = |name: &str| {
        let group = groups().find(|group| group.attribute("name") == Some(name));
        group.ok_or_else(|| format!("found the collision filter group `{name}`, which is not there"))
    };
    let members = |group: &Element| -> Result<Vec<String>, String> {
        let mut links: Vec<String> =
            group.all("drake:member").map(|member| written(member, "link").to_owned()).collect();
        for inner in group.all("drake:member_group") {
            let inner = find(written(inner, "name"))?;
            links.extend(inner.all("drake:member").map(|member| written(member, "link").to_owned()));
        }
        Ok(links)
    };
    let mut pairs = Vec::new();
    for group in groups() {
        for ignored in group.all("drake:ignored_collision_filter_group") {
            let others = members(find(written(ignored, "name"))?)?;
            for link in members(group)? {
                pairs
                    .extend(others.iter().filter(|&other| *other != link).map(|o| [link.clone(), o.clone()]));
            }
        }
    }
    Ok(pairs)
}
