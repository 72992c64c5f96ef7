//! Why a step could not be taken.

use super::error_control::SubstepLimit;
use crate::contact::ContactModel;
use crate::multibody::ParameterError;

/// Why a step could not be taken or differentiated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum StepError {
    /// The length of the step is not usable.
    #[error("the time step is {0} s; it must be positive and finite")]
    TimeStep(f64),
    /// There are fewer control values than commands of actuators.
    #[error("the step has {found} control values, but the model's actuators take {expected} commands")]
    Control {
        found: usize,
        /// The number of commands, which come first among them.
        expected: usize,
    },
    /// The accuracy of an error-controlled step is not usable.
    #[error("the accuracy is {0} m; it must be positive and finite")]
    Accuracy(f64),
    /// A substep of an error-controlled step would have to be shorter than is sensible.
    #[error("the error stays above the accuracy in substeps of {length:.1e} s: {limit}")]
    TooShort {
        /// The length of the substep, s.
        length: f64,
        /// Why it would have to be that short.
        limit: SubstepLimit,
        /// The bodies concerned, by their indices in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// An error-controlled step would take too many substeps.
    #[error(
        "{tried} substeps have come through {:.3} % of the step: {limit}; or take a shorter time step", 100.0 * .part
    )]
    TooManySubsteps {
        tried: usize,
        /// The part of the step that they have come through.
        part: f64,
        limit: SubstepLimit,
        /// The bodies concerned, by their indices in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// The accuracy of an error-controlled step is below rounding.
    #[error("the accuracy is {accuracy:.1e} m, but positions are rounded to {rounding:.1e} m; raise it")]
    TooAccurate {
        /// The accuracy, m.
        accuracy: f64,
        /// What positions are rounded to, m.
        rounding: f64,
        /// The body that is farthest from the origin, by its index in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// A contact model cannot take a law of the user's own.
    #[error(
        "steps of the contact model {0:?} minimize a cost that is made for their own damping and friction; a law of the user's own works in `tamsi` steps, and in the explicit `semi_implicit_euler` and `rk4`"
    )]
    OwnLaw(ContactModel),
    /// There are pairs of rigid geometries, between which there is no pressure.
    #[error(
        "two geometries that can touch are rigid, so there is no pressure between them; give one of them a material with a hydroelastic modulus instead of `rigid = true`, or take steps by `lagged`, `similar`, `tamsi`, `sap` or `radau`, or by complementarity (`ecp`, `lcp` or `ncp`)"
    )]
    RigidPair {
        /// Two bodies that have them, by their indices in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// Steps by complementarity have pairs of rigid geometries alone.
    #[error(
        "steps by complementarity have forces between rigid geometries alone, and one of these two is compliant; make it rigid (`rigid = true`), or take steps by `lagged`, `similar`, `tamsi` or `sap`, which have forces between all"
    )]
    CompliantPair {
        /// Two bodies that have them, by their indices in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// There is no distance of two rigid shapes.
    #[error(
        "there is no distance between the rigid shapes {shapes}; there is one between a half-space and any convex shape, and between convex shapes"
    )]
    NoDistance {
        /// The two shapes, or why one of them has no convex hull.
        shapes: String,
        /// The bodies, by their indices in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// Bristles are for another kind of step.
    #[error(
        "the model has bristles (`bristle_length`), which steps of the contact model `lagged` alone have; take these, with or without controlled error, or remove the bristles"
    )]
    Bristles,
    /// The iteration for the velocities after the step did not converge.
    #[error(
        "the velocities after the step did not converge: after {iterations} iterations the balance of momentum is violated by {residual:.3e} of its terms, {allowed:.1e} is allowed"
    )]
    NotConverged {
        iterations: usize,
        /// What is left of the balance of momentum, relative to its terms.
        residual: f64,
        allowed: f64,
        /// The bodies with the largest residual, by their indices in
        /// [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// A step by complementarity found no solution.
    #[error(
        "no impulses were found that hold these rigid bodies apart; take shorter steps, another of `ecp`, `lcp` and `ncp`, or `lagged` or `sap`, which take rigid bodies as well"
    )]
    NoImpulses {
        /// The bodies that move, by their indices in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// The iteration for the stages of an implicit Runge–Kutta step did not converge.
    #[error(
        "the stages of the step did not converge in {iterations} iterations: it is too long for contact or friction in it; take shorter steps, or steps of controlled error"
    )]
    StagesNotConverged { iterations: usize },
    /// The state or the forces at the start of the step are not finite.
    #[error("the state of the bodies, a force on them, or their mass matrix is not finite")]
    NotFinite {
        /// The bodies concerned, by their indices in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// The step has no derivative where it is.
    #[error(
        "the step has no derivative: a cylinder rocks on its rim so little that which point is lowest is rounding, or the equations of its contacts are singular; move it, or differentiate the steps before and after"
    )]
    NoDerivative {
        /// The bodies concerned, by their indices in [`crate::multibody::Model::bodies`].
        bodies: Vec<usize>,
    },
    /// The model cannot be made with derivatives with respect to a parameter.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

impl StepError {
    /// The bodies concerned, by their indices in [`crate::multibody::Model::bodies`].
    pub fn bodies(&self) -> &[usize] {
        match self {
            Self::TimeStep(_)
            | Self::Accuracy(_)
            | Self::Control { .. }
            | Self::OwnLaw(_)
            | Self::Bristles
            | Self::Parameter(_)
            | Self::StagesNotConverged { .. } => &[],
            Self::NotConverged { bodies, .. }
            | Self::NoImpulses { bodies }
            | Self::NotFinite { bodies }
            | Self::NoDerivative { bodies }
            | Self::RigidPair { bodies }
            | Self::CompliantPair { bodies }
            | Self::NoDistance { bodies, .. }
            | Self::TooShort { bodies, .. }
            | Self::TooManySubsteps { bodies, .. }
            | Self::TooAccurate { bodies, .. } => bodies,
        }
    }
}
