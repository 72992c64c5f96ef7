//! Derivatives of one number with respect to the numbers of joints, actuators and trees of joints.

/// The derivatives of one number with respect to the numbers of a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointGradient {
    /// With respect to the viscous damping.
    pub damping: f64,
    /// With respect to the Coulomb friction.
    pub friction: f64,
    /// With respect to the stiction velocity of the friction.
    pub stiction_velocity: f64,
    /// With respect to the stiffness of the spring.
    pub stiffness: f64,
    /// With respect to the position at which the spring is at rest.
    pub rest: f64,
    /// With respect to the lower and the upper end of the range.
    pub ends: [f64; 2],
    /// With respect to the stiffness of the stops.
    pub stop_stiffness: f64,
    /// With respect to the dissipation of the stops.
    pub stop_dissipation: f64,
}

/// The derivatives of one number with respect to the numbers of an actuator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DriveGradient {
    /// With respect to the gain on the position.
    pub stiffness: f64,
    /// With respect to the gain on the velocity.
    pub damping: f64,
    /// With respect to the largest force.
    pub effort: f64,
}

/// The derivatives of one number with respect to the gains of a tree under computed torque; 0 of other trees.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TreeGradient {
    /// With respect to the acceleration for each deviation from the command.
    pub stiffness: f64,
    /// With respect to the deceleration for each velocity.
    pub damping: f64,
}
