//! What the user's forces depend on.

/// The states that the user's force on a body depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateDependence {
    /// No state: the force depends on time, control values and model alone.
    None,
    /// The force on a body depends on the state of the same body; forces on links and joints depend on
    /// the state of the joints.
    SameBody,
    /// The states of any bodies and joints.
    #[default]
    AllBodies,
}

/// The quantities that the user's forces depend on besides time and control values. Derivatives with
/// respect to other quantities are not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForceDependence {
    /// The states that the force on a body depends on.
    pub state: StateDependence,
    /// Whether the forces depend on the model's numbers: materials, masses, gravity, geometries.
    pub model: bool,
}

impl Default for ForceDependence {
    /// The forces depend on everything.
    fn default() -> Self {
        Self { state: StateDependence::AllBodies, model: true }
    }
}

impl ForceDependence {
    /// The forces depend on time and control values alone.
    pub const NONE: Self = Self { state: StateDependence::None, model: false };

    /// Whether there is a derivative with respect to a state.
    pub fn has_state(&self) -> bool {
        self.state != StateDependence::None
    }
}
