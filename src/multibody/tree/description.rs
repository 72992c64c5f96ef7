//! Bodies and joints as they are described before the tree is known.

use super::joint::JointKind;
use crate::scalar::Scalar;
use crate::spatial::{MassProperties, RigidTransform};

/// A body of a mechanism, as it is described before the tree is known.
#[derive(Clone, Debug)]
pub struct BodyDescription {
    /// Its name, unique in the mechanism.
    pub name: String,
    /// Its mass properties in its own frame; `None` without mass.
    pub mass: Option<MassProperties>,
}

/// The range of a joint's position, and how much its drive can do.
///
/// Simulations enforce the range, by compliant stops; speed and effort are what the maker of the
/// drive states. The limit that is enforced is the actuator's own; in a scene file it is, unless
/// given there, the effort of the joints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointLimits<T = f64> {
    /// Least position, rad or m; −∞ without a limit.
    pub lower: T,
    /// Largest position, rad or m; ∞ without a limit.
    pub upper: T,
    /// Largest speed, rad/s or m/s; ∞ without a limit.
    pub velocity: f64,
    /// Largest force of the drive, N m or N; ∞ without a limit.
    pub effort: f64,
    /// Stiffness of the stops at both ends of the range, N m/rad or N/m.
    pub stiffness: T,
    /// Hunt–Crossley dissipation of the stops, s/rad or s/m.
    pub dissipation: T,
}

impl Default for JointLimits {
    /// No limits; stops, where a range is set, of 10⁵ N m/rad or N/m and 1 s/rad or s/m.
    fn default() -> Self {
        Self {
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            velocity: f64::INFINITY,
            effort: f64::INFINITY,
            stiffness: 1e5,
            dissipation: 1.0,
        }
    }
}

impl<T: Scalar> JointLimits<T> {
    /// Constant limits as scalars `T`.
    pub fn lift(limits: &JointLimits) -> Self {
        let JointLimits { lower, upper, velocity, effort, stiffness, dissipation } = *limits;
        let [lower, upper] = [lower, upper].map(T::from);
        let [stiffness, dissipation] = [stiffness, dissipation].map(T::from);
        Self { lower, upper, velocity, effort, stiffness, dissipation }
    }

    /// The limits without their derivatives.
    pub fn real(&self) -> JointLimits {
        JointLimits {
            lower: self.lower.real(),
            upper: self.upper.real(),
            velocity: self.velocity,
            effort: self.effort,
            stiffness: self.stiffness.real(),
            dissipation: self.dissipation.real(),
        }
    }
}

/// A linear spring on a joint's position: force −stiffness (q − rest).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointSpring<T = f64> {
    /// Stiffness, N m/rad or N/m.
    pub stiffness: T,
    /// Position without force, rad or m.
    pub rest: T,
}

/// A joint, as it is described before the tree is known.
#[derive(Clone, Debug)]
pub struct JointDescription {
    /// Its name, unique in the mechanism.
    pub name: String,
    /// How the child can move. Axes need not have unit length.
    pub kind: JointKind,
    /// Name of the parent body; `None` for the world.
    pub parent: Option<String>,
    /// Name of the child body.
    pub child: String,
    /// Pose of the joint's frame F in the parent's frame.
    pub x_pf: RigidTransform,
    /// Pose of the child's frame in the joint's frame M.
    pub x_mc: RigidTransform,
    /// Its limits; of revolute and prismatic joints only.
    pub limits: JointLimits,
    /// Viscous damping of each velocity coordinate, N m s/rad or N s/m.
    pub damping: f64,
    /// Inertia of the drive's rotor as the joint feels it (times the square of the gear ratio),
    /// added to each velocity coordinate, kg m² or kg.
    pub rotor_inertia: f64,
    /// A spring; on revolute and prismatic joints only.
    pub spring: Option<JointSpring>,
    /// Coulomb friction, N m or N: the joint resists sliding with the force
    /// −friction v/√(v² + stiction_velocity²). On revolute and prismatic joints only.
    pub friction: f64,
    /// The velocity at which the friction is regularized, rad/s or m/s: where less than the friction pulls
    /// at the joint, it creeps at about this speed.
    pub stiction_velocity: f64,
    /// The joint that it follows; revolute and prismatic joints only. Then it has no coordinate of its
    /// own. Its friction, damping, rotor and spring act on that of the joint it follows and are counted
    /// there; its range is not enforced.
    pub mimic: Option<Mimic>,
}

/// How a joint follows another: its position is `multiplier` q + `offset`, with the position q of the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Mimic {
    /// Name of the joint that is followed, a revolute or prismatic one. It may follow another in turn.
    pub joint: String,
    /// The factor; not 0.
    pub multiplier: f64,
    /// The position where the other is at 0, rad or m.
    pub offset: f64,
}

/// The velocity at which friction of joints is regularized where none is given, rad/s or m/s.
pub const STICTION_VELOCITY: f64 = 1e-3;

impl JointDescription {
    /// A joint whose frame M is the child's frame, without limits, damping, rotor, spring
    /// or friction, that follows no other.
    pub fn new(
        name: impl Into<String>,
        kind: JointKind,
        parent: Option<&str>,
        child: impl Into<String>,
        x_pf: RigidTransform,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            parent: parent.map(str::to_owned),
            child: child.into(),
            x_pf,
            x_mc: RigidTransform::identity(),
            limits: JointLimits::default(),
            damping: 0.0,
            rotor_inertia: 0.0,
            spring: None,
            friction: 0.0,
            stiction_velocity: STICTION_VELOCITY,
            mimic: None,
        }
    }
}
