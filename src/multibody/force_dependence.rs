//! What the user's forces depend on.

/// Which states the user's force on a body depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateDependence {
    /// None: it depends on time, control and model alone.
    None,
    /// That of the same body; forces on links and joints on those of the joints.
    SameBody,
    /// Those of any bodies and joints.
    #[default]
    AllBodies,
}

/// What the user's forces depend on besides time and control: derivatives by anything else are
/// not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForceDependence {
    /// The states that the force on a body depends on.
    pub state: StateDependence,
    /// Whether the forces depend on the model's numbers: materials, masses, gravity, geometries.
    pub model: bool,
}

impl Default for ForceDependence {
    /// On everything.
    fn default() -> Self {
        Self { state: StateDependence::AllBodies, model: true }
    }
}

impl ForceDependence {
    /// On time and control alone.
    pub const NONE: Self = Self { state: StateDependence::None, model: false };

    /// Whether there is a derivative by a state.
    pub fn has_state(&self) -> bool {
        self.state != StateDependence::None
    }
}
