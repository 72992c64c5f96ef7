//! Why a step could not be taken.

/// Why a step could not be taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// The length of the step is not usable.
    #[error("the time step is {0} s; it must be positive and finite")]
    TimeStep(f64),
    /// The iteration for the velocities after the step did not converge.
    #[error(
        "the velocities after the step did not converge: after {iterations} iterations the balance of momentum is violated by {residual:.3e} of its terms, {allowed:.1e} is allowed"
    )]
    NotConverged {
        /// Iterations taken.
        iterations: usize,
        /// What is left of the balance of momentum, relative to its terms.
        residual: f64,
        /// What is allowed.
        allowed: f64,
        /// The bodies with the largest residual, by their place in
        /// [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// The state or the forces at the start of the step are not finite.
    #[error("the state of the bodies, a force on them, or their mass matrix is not finite")]
    NotFinite {
        /// The bodies concerned, by their place in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
}

impl StepError {
    /// The bodies concerned, by their place in [`crate::multibody::Model::bodies`].
    pub fn bodies(&self) -> &[usize] {
        match self {
            Self::TimeStep(_) => &[],
            Self::NotConverged { bodies, .. } | Self::NotFinite { bodies } => bodies,
        }
    }
}
