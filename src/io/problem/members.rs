//! The members of the ensemble of a problem file.

use crate::optimize::ensemble::{EnsembleMember, EnsembleProblem, EnsembleTask};
use crate::optimize::objective::Objective;
use crate::rollout::ControlLaw;

/// A member of the ensemble of a problem file.
pub(in crate::io) type Member = EnsembleMember<ControlLaw, Objective>;

/// The ensemble of a problem file: with controllers or `[[vary]]`, or both.
#[derive(Debug)]
pub struct ProblemEnsemble {
    /// What is optimized, and what all members have in common.
    pub task: EnsembleTask,
    /// The members that are optimized for.
    pub training: Vec<Member>,
    /// Others that the result is tried on.
    pub test: Vec<Member>,
    /// For each member of the test what a success is: that no deviation from these targets is left.
    pub success: Vec<Objective>,
    /// Values of the variables to start from: values at knots, then parameters of controllers and of the model, then the end.
    pub start: Vec<f64>,
    /// For each variable of the design the names of all that take its value, as problem files have them.
    pub design_names: Vec<Vec<String>>,
    /// What the file says of members, which tells the ensemble from others of the same scene.
    pub(in crate::io) definition: String,
}

impl ProblemEnsemble {
    /// The problem of the members that are optimized for.
    pub fn problem(&self) -> EnsembleProblem<'_, ControlLaw, Objective> {
        EnsembleProblem::new(&self.task, &self.training)
    }

    /// Those that the result is tried on.
    pub fn test_problem(&self) -> EnsembleProblem<'_, ControlLaw, Objective> {
        EnsembleProblem::new(&self.task, &self.test)
    }
}
