//! What is refused.

use nalgebra::{Matrix3, Vector3};

use super::{BodyDescription, JointDescription, JointKind, JointLimits, JointSpring, Mechanism};
use crate::multibody::ModelError;
use crate::spatial::{MassProperties, MassPropertiesError, RigidTransform};

fn ball() -> MassProperties {
    MassProperties { mass: 1.0, center_of_mass: Vector3::x(), inertia: Matrix3::identity() * 0.1 }
}

fn body(name: &str, mass: Option<MassProperties>) -> BodyDescription {
    BodyDescription { name: name.into(), mass }
}

fn joint(name: &str, kind: JointKind, parent: Option<&str>, child: &str) -> JointDescription {
    JointDescription::new(name, kind, parent, child, RigidTransform::identity())
}

const HINGE: JointKind = JointKind::Revolute { axis: Vector3::new(0.0, 0.0, 1.0) };
const SLIDE: JointKind = JointKind::Prismatic { axis: Vector3::new(1.0, 0.0, 0.0) };

/// The error of a chain of two bodies, the second of which has this mass and joint.
fn refused(mass: Option<MassProperties>, second: JointDescription) -> ModelError {
    let bodies = vec![body("a", Some(ball())), body("b", mass)];
    Mechanism::new(bodies, vec![joint("first", HINGE, None, "a"), second]).expect_err("refused")
}

fn good() -> JointDescription {
    joint("second", HINGE, Some("a"), "b")
}

#[test]
fn names_and_trees() {
    assert!(matches!(
        refused(Some(ball()), JointDescription { parent: Some("c".into()), ..good() }),
        ModelError::UnknownBody { role: "parent", name, .. } if name == "c"
    ));
    assert!(matches!(
        refused(Some(ball()), JointDescription { child: "c".into(), ..good() }),
        ModelError::UnknownBody { role: "child", .. }
    ));
    assert!(matches!(
        refused(Some(ball()), JointDescription { child: "a".into(), ..good() }),
        ModelError::TwoParents { body, .. } if body == "a"
    ));
    assert!(matches!(
        refused(Some(ball()), JointDescription { parent: Some("b".into()), ..good() }),
        ModelError::Loop(joints) if joints == "`second`"
    ));
    assert!(matches!(
        refused(Some(ball()), JointDescription { name: "first".into(), ..good() }),
        ModelError::DuplicateName { what: "joints", .. }
    ));
    let alone = Mechanism::new(vec![body("a", Some(ball()))], vec![]).expect_err("refused");
    assert_eq!(alone, ModelError::Unconnected("a".into()));
    assert!(Mechanism::new(vec![], vec![]).is_ok());
}

#[test]
fn masses() {
    let point = MassProperties { inertia: Matrix3::zeros(), center_of_mass: Vector3::z(), ..ball() };
    assert!(
        matches!(refused(Some(point), good()), ModelError::ZeroInertia { joint, .. } if joint == "second")
    );
    assert!(matches!(refused(None, good()), ModelError::ZeroInertia { joint, .. } if joint == "second"));
    let negative = MassProperties { mass: -1.0, ..ball() };
    assert_eq!(
        refused(Some(negative), good()),
        ModelError::Mass { body: "b".into(), source: MassPropertiesError::Mass(-1.0) }
    );
    // Off the axis its place resists.
    let off = MassProperties { center_of_mass: Vector3::y(), ..point };
    assert!(Mechanism::new(vec![body("a", Some(off))], vec![joint("first", HINGE, None, "a")]).is_ok());
    // A point of mass is good where it is fixed to a body, and so is a body without any mass.
    let chain = |mass, kind| {
        let bodies = vec![body("a", Some(ball())), body("b", mass)];
        Mechanism::new(bodies, vec![joint("first", HINGE, None, "a"), joint("second", kind, Some("a"), "b")])
    };
    assert!(chain(Some(point), JointKind::Fixed).is_ok());
    assert!(chain(None, JointKind::Fixed).is_ok());
    // So is one that only carries others, or that a rotor drives.
    let carried = |kind| {
        let bodies = vec![body("a", None), body("b", Some(ball()))];
        Mechanism::new(bodies, vec![joint("first", kind, None, "a"), joint("second", HINGE, Some("a"), "b")])
    };
    assert!(carried(SLIDE).is_ok());
    // But two hinges about the same axis are one too many.
    assert!(matches!(carried(HINGE), Err(ModelError::ZeroInertia { joint, .. }) if joint == "first"));
    let rotor = JointDescription { rotor_inertia: 0.1, ..good() };
    let bodies = vec![body("a", Some(ball())), body("b", None)];
    assert!(Mechanism::new(bodies, vec![joint("first", HINGE, None, "a"), rotor]).is_ok());
}

#[test]
fn numbers_of_joints() {
    let limits = |lower, upper| JointLimits { lower, upper, ..JointLimits::default() };
    assert_eq!(
        refused(Some(ball()), JointDescription { limits: limits(2.0, 1.0), ..good() }),
        ModelError::LimitsReversed { joint: "second".into(), lower: 2.0, upper: 1.0 }
    );
    let spring = |stiffness, rest| Some(JointSpring { stiffness, rest });
    let turned = RigidTransform::new(Matrix3::identity() * 1.1, Vector3::zeros());
    let away = RigidTransform::from_translation([f64::NAN, 0.0, 0.0]);
    for (wrong, field) in [
        (JointDescription { limits: limits(f64::NAN, 1.0), ..good() }, "its range of positions"),
        (
            JointDescription { limits: limits(0.0, 1.0), kind: JointKind::Ball, ..good() },
            "its range of positions",
        ),
        (JointDescription { kind: JointKind::Revolute { axis: Vector3::zeros() }, ..good() }, "its axis"),
        (JointDescription { damping: -1.0, ..good() }, "its damping"),
        (JointDescription { rotor_inertia: f64::INFINITY, ..good() }, "its rotor inertia"),
        (JointDescription { spring: spring(-1.0, 0.0), ..good() }, "its spring's stiffness"),
        (JointDescription { spring: spring(1.0, f64::NAN), ..good() }, "its spring's rest position"),
        (JointDescription { spring: spring(1.0, 0.0), kind: JointKind::Ball, ..good() }, "its kind"),
        (JointDescription { x_pf: turned, ..good() }, "the rotation of its frame F"),
        (JointDescription { x_mc: away, ..good() }, "the position of its child"),
    ] {
        let error = refused(Some(ball()), wrong);
        assert!(matches!(&error, ModelError::JointValue { field: f, .. } if *f == field), "{error}");
    }
}
