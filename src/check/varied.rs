//! What a gradient check varies, and by how much.

use std::ops::Range;

use super::comparison::CheckSettings;
use crate::contact::{ContactGeometry, MaterialParameter};
use crate::multibody::{Model, Parameter, StopNumber};
use crate::rollout::Controls;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Varied {
    /// A number of the model or the initial state.
    Parameter(Parameter),
    /// A number added to one of the control values of every step; its value is 0.
    Control(usize),
}

/// What is varied, with its name and the value that it is checked at.
pub(super) type CheckedValue = (Varied, String, f64);

/// Velocity coordinates of a joint that are all rotations or all translations.
#[derive(Clone)]
pub(super) struct JointPart {
    pub joint: usize,
    /// The coordinates.
    pub v: Range<usize>,
    /// Whether they are translations.
    pub is_translation: bool,
}

/// The coordinates of all joints, rotations and translations apart.
pub(super) fn joint_parts(model: &Model) -> Vec<JointPart> {
    let mut parts: Vec<JointPart> = Vec::new();
    for (joint, j) in model.mechanism.joints().iter().enumerate() {
        for v in j.v.clone() {
            let is_translation = j.kind.is_translation(v - j.v.start);
            match parts.last_mut() {
                Some(part) if part.joint == joint && part.is_translation == is_translation => {
                    part.v.end = v + 1;
                }
                _ => parts.push(JointPart { joint, v: v..v + 1, is_translation }),
            }
        }
    }
    parts
}

/// The magnitude that steps of a parameter are relative to.
pub(super) fn step_scale(
    model: &Model,
    controls: &Controls,
    parts: &[JointPart],
    varied: &Varied,
    value: f64,
) -> f64 {
    let parameter = match varied {
        Varied::Parameter(parameter) => parameter,
        Varied::Control(i) => {
            let rows = (0..controls.steps()).map(|step| controls.row(step)[*i].abs());
            let largest = rows.fold(0.0, f64::max);
            return if largest > 0.0 { largest } else { 1.0 };
        }
    };
    match *parameter {
        Parameter::InitialTangent { index, .. } => [0.1, 0.01, 1.0, 0.1][index / 3 % 4],
        Parameter::GeometryPose { axis, .. }
        | Parameter::FixedPose { axis, .. }
        | Parameter::JointFrame { axis, .. } => [0.1, 0.01][axis / 3 % 2],
        Parameter::JointAxis { .. } => 0.1,
        Parameter::InitialJoint { index } => {
            let nv = model.mechanism.velocity_dimension();
            let is_translation = is_translation(parts, index % nv.max(1));
            let [rotation, translation] = if index < nv { [0.1, 0.01] } else { [1.0, 0.1] };
            if is_translation { translation } else { rotation }
        }
        // Positions of joints, which may be 0.
        Parameter::SpringRest { joint }
        | Parameter::JointStop { joint, number: StopNumber::Lower | StopNumber::Upper } => {
            let v = model.mechanism.joints().get(joint).map(|joint| joint.v.start);
            if v.is_some_and(|v| is_translation(parts, v)) { 0.01 } else { 0.1 }
        }
        // No change of a component by less than the smallest principal moment makes the inertia
        // indefinite.
        Parameter::Inertia { body, .. } => {
            model.body_mass(body).map_or(value.abs(), |m| m.inertia.symmetric_eigenvalues().min())
        }
        // A radius of gyration: the centre may be the origin.
        Parameter::CenterOfMass { body, .. } | Parameter::PseudoInertia { body, index: 7.. } => {
            model.body_mass(body).map_or(value.abs(), |m| (m.inertia.trace() / (2.0 * m.mass)).sqrt())
        }
        Parameter::PseudoInertia { .. } => 1.0,
        Parameter::Gravity { .. } => model.gravity.norm().max(1.0),
        // No tetrahedron turns inside out.
        Parameter::MeshVertex { body, geometry, vertex, .. } => spacing(model, body, geometry, vertex),
        // Extents are 0 on the boundary.
        Parameter::Extent { body, geometry, .. } => largest_extent(model, body, geometry),
        // Single components are often 0.
        Parameter::Load { load, .. } => largest_value(model, load),
        // What a parameter of a law of the user's own is measured by is not known where it is 0.
        Parameter::Material { parameter: MaterialParameter::Own(_), .. } if value == 0.0 => 1.0,
        _ => value.abs(),
    }
}

/// Whether a velocity coordinate of the joints is a translation.
fn is_translation(parts: &[JointPart], v: usize) -> bool {
    parts.iter().any(|part| part.is_translation && part.v.contains(&v))
}

/// The largest of the values that a load over time is made of; 1 where all are 0.
fn largest_value(model: &Model, load: usize) -> f64 {
    let Some(history) = model.loads.get(load).map(|load| &load.history) else { return 1.0 };
    let parts = history.parts().into_iter().filter_map(|part| history.part(part));
    let largest = parts.map(|value| value.norm()).fold(0.0, f64::max);
    if largest > 0.0 { largest } else { 1.0 }
}

fn shape(model: &Model, body: usize, geometry: usize) -> Option<&ContactGeometry> {
    Some(&*model.bodies.get(body)?.geometries.get(geometry)?.collider.geometry)
}

/// The distance from a vertex to the nearest other one, m; 1 where there is none.
fn spacing(model: &Model, body: usize, geometry: usize, vertex: usize) -> f64 {
    let Some(vertices) = shape(model, body, geometry).map(ContactGeometry::vertices) else { return 1.0 };
    let distances = vertices.iter().map(|other| (other - vertices[vertex]).norm());
    let nearest = distances.filter(|d| *d > 0.0).fold(f64::INFINITY, f64::min);
    if nearest.is_finite() { nearest } else { 1.0 }
}

/// The largest extent of a geometry.
fn largest_extent(model: &Model, body: usize, geometry: usize) -> f64 {
    let extents = shape(model, body, geometry).map_or(&[][..], ContactGeometry::extents);
    extents.iter().copied().fold(0.0, f64::max)
}

/// Smallest relative step of gravity. It acts through the motion that it causes, and over short
/// rollouts smaller changes are lost in the rounding of positions.
const SMALLEST_STEP_OF_GRAVITY: f64 = 1e-6;

/// The settings for the differences by a parameter.
pub(super) fn settings_for(parameter: &Varied, settings: &CheckSettings) -> CheckSettings {
    let smallest = match parameter {
        Varied::Parameter(Parameter::Gravity { .. }) => SMALLEST_STEP_OF_GRAVITY.min(settings.largest_step),
        _ => settings.smallest_step,
    };
    CheckSettings { smallest_step: smallest.max(settings.smallest_step), ..settings.clone() }
}
