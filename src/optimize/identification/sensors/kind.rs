//! What fit files call the quantities that sensors measure, with their columns and units.

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

/// A quantity that sensors measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum QuantityKind {
    /// Position of a body's origin in the world, m: three columns.
    Position,
    /// Orientation of a body in the world: the four columns w, x, y, z of a unit quaternion.
    Orientation,
    /// Velocity of a body's origin, along the world's axes, m/s: three columns.
    LinearVelocity,
    /// Angular velocity of a body, along the world's axes, rad/s: three columns.
    AngularVelocity,
    /// Position of a joint with one coordinate, rad or m.
    JointPosition,
    /// Velocity of a joint with one coordinate, rad/s or m/s.
    JointVelocity,
    /// Force of an actuator on a joint that it drives, N m or N.
    ActuatorForce,
    /// Contact force on a body by another, along the world's axes, N: three columns. `forces` says whether that of a step or of
    /// the state.
    ContactForce,
    /// Moment of contact on a body by another about the body's origin, along the world's axes, N m: three columns.
    ContactTorque,
    /// Normal force of contact on a body by another, N: its part along the force that the pressure would have at rest. Of
    /// several bodies the sum.
    GripForce,
    /// Area of the contact of a body with another, m².
    ContactArea,
}

/// Which force of contact a sensor measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ForcesOf {
    /// That of the step that led to a state, its impulse divided by its length, with the solvers `lagged`, `similar`, `sap` and
    /// `tamsi`; at the start of the motion, and with other solvers, that of the state.
    #[default]
    Step,
    /// That of the pressure fields at the state, by the law that accelerations follow.
    State,
}

impl QuantityKind {
    /// Its name in a file, its columns and the unit of its deviations.
    fn row(self) -> (&'static str, &'static [&'static str], &'static str) {
        match self {
            Self::Position => ("position", &["px_m", "py_m", "pz_m"], "m"),
            Self::Orientation => ("orientation", &["qw", "qx", "qy", "qz"], "rad"),
            Self::LinearVelocity => ("linear_velocity", &["vx_m_s", "vy_m_s", "vz_m_s"], "m/s"),
            Self::AngularVelocity => ("angular_velocity", &["wx_rad_s", "wy_rad_s", "wz_rad_s"], "rad/s"),
            Self::JointPosition => ("joint_position", &["q"], "rad or m"),
            Self::JointVelocity => ("joint_velocity", &["v"], "rad/s or m/s"),
            Self::ActuatorForce => ("actuator_force", &["force"], "N m or N"),
            Self::ContactForce => ("contact_force", &["fx_N", "fy_N", "fz_N"], "N"),
            Self::ContactTorque => ("contact_torque", &["tx_N_m", "ty_N_m", "tz_N_m"], "N m"),
            Self::GripForce => ("grip_force", &["grip_N"], "N"),
            Self::ContactArea => ("contact_area", &["area_m2"], "m²"),
        }
    }

    /// Its name in a file.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The names of its columns in files of `isobar simulate`, after the name of the body or joint, or of two bodies that
    /// touch (`ball-table`), and a dot. Such files do not have forces of actuators, grip forces and areas.
    pub fn columns(self) -> &'static [&'static str] {
        self.row().1
    }

    /// The unit of its deviations.
    pub fn unit(self) -> &'static str {
        self.row().2
    }

    /// Number of independent numbers in a deviation from it: three of orientations, a rotation vector.
    pub fn dimension(self) -> usize {
        self.columns().len().min(3)
    }

    /// Whether it is of the contact of bodies.
    pub(super) fn is_of_contact(self) -> bool {
        matches!(self, Self::ContactForce | Self::ContactTorque | Self::GripForce | Self::ContactArea)
    }

    /// Whether it has one value for steps and one for states.
    pub(super) fn is_of_step_or_state(self) -> bool {
        matches!(self, Self::ContactForce | Self::ContactTorque)
    }

    /// Whether its numbers are along axes, so that they depend on where a sensor is.
    pub(super) fn is_of_frame(self) -> bool {
        self.columns().len() > 1
    }
}
