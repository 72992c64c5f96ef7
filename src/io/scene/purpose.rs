//! What scenes are loaded for.

/// What a scene is loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Contact at the poses and velocities of the file. No body needs a mass: all of them are
    /// held, also those that joints carry, with their velocities, and the state is empty.
    Contact,
    /// Motion: every body that moves freely needs a mass, and every joint something to move.
    Simulation,
}
