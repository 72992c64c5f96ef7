//! What to record so that data determine a parameter that they hardly depend on.

use super::{Identification, parameters_at};
use crate::contact::MaterialParameter;
use crate::multibody::{AppliedForces, Parameter};
use crate::optimize::uncertainty::{Estimate, Identifiability};

impl<A: AppliedForces> Identification<A> {
    /// For each parameter that data say nothing of, or too little, or bound from one side only, a sentence on what to record: a
    /// motion in which forces depend on it.
    pub fn what_to_record(&self, estimates: &[Estimate]) -> Vec<String> {
        let sentence = |estimate: &Estimate| {
            let found = match estimate.identifiability {
                Identifiability::NoDependence => "do not depend on it",
                Identifiability::TooUncertain { .. } => "depend on it too little",
                Identifiability::AtLeast { .. } => "bound it from below only",
                Identifiability::AtMost { .. } => "bound it from above only",
                _ => return None,
            };
            let parameters = parameters_at(&self.model, &estimate.name).ok()?;
            let wanted = excitation(parameters.first()?)?;
            Some(format!("{}: the data {found}; {wanted}", estimate.name))
        };
        estimates.iter().filter_map(sentence).collect()
    }
}

/// What shows a parameter.
fn excitation(parameter: &Parameter) -> Option<&'static str> {
    use MaterialParameter as Of;
    Some(match parameter {
        Parameter::Material { parameter, .. } => match parameter {
            Of::HydroelasticModulus => {
                "press it deeper, or record the force beside the depth: a stiff contact is hardly seen in a motion"
            }
            Of::Dissipation => "let it hit at several speeds: bodies at rest do not depend on it",
            Of::StaticFriction | Of::DynamicFriction => {
                "let it slide, on a slope or by a push or a throw: what sticks or rolls bounds friction from below alone"
            }
            Of::FrictionEllipsoid(_) => "let it slide along several directions and spin on the spot",
            Of::RelaxationTime | Of::Own(_) => return None,
        },
        Parameter::Mass { .. } | Parameter::PseudoInertia { index: 0, .. } => {
            "record a force, or a collision with a body of known mass: free fall does not depend on it"
        }
        Parameter::Inertia { .. } | Parameter::PseudoInertia { index: 1..7, .. } => {
            "let it turn about several axes while contact or joints turn it"
        }
        Parameter::PseudoInertia { index: 7.., .. } | Parameter::CenterOfMass { .. } => {
            "let it turn while it is held, pushed or thrown"
        }
        Parameter::JointDamping { .. } => "move the joint at several speeds",
        Parameter::JointFriction { .. } | Parameter::JointStictionVelocity { .. } => {
            "move the joint slowly, both ways, and let it stop"
        }
        Parameter::SpringStiffness { .. } | Parameter::SpringRest { .. } => {
            "record the joint at several positions"
        }
        Parameter::JointStop { .. } => "drive the joint against the stop",
        Parameter::EffortLimit { .. } => "ask the actuator for more than it can give",
        Parameter::PressureExponent { .. } => "press it to several depths",
        Parameter::GeometryScale { .. } | Parameter::GeometryPose { .. } | Parameter::MeshVertex { .. } => {
            "let it touch where this changes its surface, from several sides"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multibody::StopNumber;
    use MaterialParameter as Of;

    #[test]
    fn each_kind_of_parameter_has_its_motion() {
        let material = |parameter| Parameter::Material { material: 0, parameter };
        for (parameter, motion) in [
            (material(Of::HydroelasticModulus), Some("press it deeper")),
            (material(Of::Dissipation), Some("several speeds: bodies at rest")),
            (material(Of::StaticFriction), Some("let it slide, on a slope")),
            (material(Of::DynamicFriction), Some("let it slide, on a slope")),
            (material(Of::FrictionEllipsoid(0)), Some("spin on the spot")),
            (material(Of::RelaxationTime), None),
            (Parameter::Mass { body: 0 }, Some("a body of known mass")),
            (Parameter::Inertia { body: 0, row: 0, column: 1 }, Some("turn about several axes")),
            (Parameter::CenterOfMass { body: 0, axis: 2 }, Some("held, pushed or thrown")),
            (Parameter::JointDamping { joint: 0 }, Some("move the joint at several speeds")),
            (Parameter::JointFriction { joint: 0 }, Some("both ways, and let it stop")),
            (Parameter::JointStictionVelocity { joint: 0 }, Some("both ways, and let it stop")),
            (Parameter::SpringStiffness { joint: 0 }, Some("the joint at several positions")),
            (Parameter::SpringRest { joint: 0 }, Some("the joint at several positions")),
            (Parameter::JointStop { joint: 0, number: StopNumber::Upper }, Some("against the stop")),
            (Parameter::EffortLimit { actuator: 0 }, Some("more than it can give")),
            (Parameter::GeometryScale { body: 0, geometry: 0 }, Some("touch where this changes its surface")),
            (Parameter::PressureExponent { body: 0, geometry: 0 }, Some("several depths")),
            (Parameter::GeometryPose { body: 0, geometry: 0, axis: 5 }, Some("from several sides")),
            (Parameter::Gravity { axis: 2 }, None),
        ] {
            let found = excitation(&parameter);
            assert_eq!(found.is_some(), motion.is_some(), "{parameter:?}: {found:?}");
            assert!(found.unwrap_or("").contains(motion.unwrap_or("")), "{parameter:?}: {found:?}");
        }
    }
}
