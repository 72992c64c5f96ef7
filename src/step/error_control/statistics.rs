//! How error-controlled steps went.

use std::fmt;

use super::super::runge_kutta::Tableau;
use super::super::{Integrator, RadauOrder, StepWorkspace};
use crate::multibody::Model;

/// A substep of an error-controlled step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Substep {
    /// Its length, s.
    pub length: f64,
    /// The order of its method.
    pub order: i32,
}

/// Why a substep could not be longer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SubstepLimit {
    /// The error of a body, by its index in [`crate::multibody::Model::bodies`].
    Error {
        /// The body.
        body: usize,
    },
    /// A contact that begins within it, by the index of its pair in [`crate::multibody::Model::pairs`].
    Onset {
        /// The pair.
        pair: usize,
    },
    /// A contact that ends within it, by the index of its pair.
    Release {
        /// The pair.
        pair: usize,
    },
    /// The velocities after it did not converge.
    NotConverged,
    /// The state after it, or the forces in it, are not finite.
    NotFinite,
}

impl SubstepLimit {
    /// The bodies concerned, by their indices in [`Model::bodies`].
    pub(super) fn bodies(self, model: &Model) -> Vec<usize> {
        match self {
            Self::Error { body } => vec![body],
            Self::Onset { pair } | Self::Release { pair } => {
                let bodies = model.pairs[pair].bodies;
                vec![bodies.a, bodies.b]
            }
            Self::NotConverged | Self::NotFinite => Vec::new(),
        }
    }
}

impl fmt::Display for SubstepLimit {
    /// What is the matter, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error { .. } => {
                "two solutions of the motion do not agree, however short they are; a force may jump, or the accuracy be below rounding: raise it"
            }
            Self::Onset { .. } => {
                "a contact begins with a force that is not small however short the step is; the bodies may have been put into one another"
            }
            Self::Release { .. } => "a contact ends with a force that is not small however short the step is",
            Self::NotConverged => "the velocities after it do not converge; loosen solver.relative_tolerance or raise the accuracy",
            Self::NotFinite => "the forces or the state after it are not finite",
        })
    }
}

/// How an error-controlled step went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubstepStatistics {
    /// Its substeps.
    pub substeps: Vec<Substep>,
    /// Substeps that were tried and not accepted.
    pub rejected: usize,
    /// Newton iterations of implicit methods.
    pub iterations: usize,
    /// Factorizations of matrices of the whole model: one for each iteration of velocity-level methods, one or two
    /// for each substep that Radau methods try.
    pub factorizations: usize,
    /// Evaluations of the forces by explicit and Radau methods, and searches for contacts by velocity-level
    /// methods.
    pub evaluations: usize,
    /// Why the shortest substep was not longer; `None` if no substep was rejected.
    pub limit: Option<SubstepLimit>,
}

impl SubstepStatistics {
    /// The length of the shortest substep, s; infinite without any.
    pub fn shortest(&self) -> f64 {
        self.substeps.iter().map(|substep| substep.length).fold(f64::INFINITY, f64::min)
    }

    /// Those of a step whose substeps are held.
    pub(super) fn hold(&mut self, substeps: &[Substep]) {
        self.clear();
        self.substeps.extend_from_slice(substeps);
    }

    pub(super) fn clear(&mut self) {
        self.substeps.clear();
        (self.rejected, self.iterations, self.factorizations, self.evaluations) = (0, 0, 0, 0);
        self.limit = None;
    }

    /// Counts a step of fixed length that was tried.
    pub(super) fn count(&mut self, integrator: Integrator, workspace: &StepWorkspace) {
        match integrator {
            Integrator::Radau(order) => {
                let converged = workspace.radau.solver.converged;
                let iterations = converged.map_or(0, |converged| converged.iterations);
                self.iterations += iterations;
                self.evaluations += iterations * order.stages();
                self.factorizations += if order == RadauOrder::Fifth { 2 } else { 1 };
            }
            Integrator::VelocityLevel(_) => {
                let iterations = workspace.velocity_level.statistics().iterations;
                self.iterations += iterations;
                self.factorizations += iterations;
                self.evaluations += 1;
            }
            explicit => self.evaluations += explicit.tableau().map_or(1, Tableau::stages),
        }
    }
}
