//! An optimization that can go on where it was interrupted.
//!
//! After every iteration the solver and what it has come to are given to a [`CheckpointStore`]; a run
//! that finds something there goes on from it. A run that is interrupted at any time loses at most its
//! current iteration, and continues to the same bits: gradients, Jacobians and motions are not saved but
//! evaluated again from the saved variables, and counted once.

use std::fmt;
use std::sync::{Arc, PoisonError};

use argmin::core::checkpointing::{Checkpoint, CheckpointingFrequency};
use argmin::core::{Error, IterState, State};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::evaluations::Evaluations;
use super::history::{History, TrajectoryIteration};
use crate::optimize::data_error::DataError;
pub use crate::optimize::data_error::InvalidField;

/// Where checkpoints are kept: a file, or memory.
pub trait CheckpointStore: Send + Sync {
    /// What was saved last; `None`, or nothing, where nothing was.
    ///
    /// # Errors
    /// When it cannot be read.
    fn load(&self) -> Result<Option<String>, Error>;

    /// What messages call it, such as the name of a file.
    fn name(&self) -> String {
        "the checkpoint".to_owned()
    }

    /// Replaces what was saved last. If it fails or is interrupted, that must still be there.
    ///
    /// # Errors
    /// When it cannot be written.
    fn save(&self, text: &str) -> Result<(), Error>;
}

impl fmt::Debug for dyn CheckpointStore + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// The store of a run's checkpoints, and the identifier of its problem.
#[derive(Clone, Debug)]
pub struct ProblemCheckpoints {
    /// Where they are kept.
    pub store: Arc<dyn CheckpointStore>,
    /// An identifier of this problem, such as a digest of its definition. A checkpoint with another
    /// identifier is refused.
    pub problem: String,
}

impl InvalidField {
    /// Checks that a number is finite and within limits, both allowed themselves.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn check_number(field: &str, x: f64, least: f64, most: f64) -> Result<(), Self> {
        if x.is_finite() && x >= least && x <= most {
            return Ok(());
        }
        let allowed = match (least, most) {
            (f64::NEG_INFINITY, f64::INFINITY) => "finite".to_owned(),
            (_, f64::INFINITY) => format!("finite and at least {least}"),
            _ => format!("between {least} and {most}"),
        };
        Err(Self { field: field.to_owned(), found: x.to_string(), allowed })
    }

    /// Checks that there are so many numbers, all of them finite and not below `least`.
    ///
    /// # Errors
    /// When there are not.
    pub(super) fn check_numbers(field: &str, x: &[f64], count: usize, least: f64) -> Result<(), Self> {
        Self::check_count(field, x.len(), count)?;
        let check =
            |(i, &x): (usize, &f64)| Self::check_number(&format!("{field}[{i}]"), x, least, f64::INFINITY);
        x.iter().enumerate().try_for_each(check)
    }

    /// Checks that there are so many numbers.
    ///
    /// # Errors
    /// When there are not.
    pub(super) fn check_count(field: &str, found: usize, count: usize) -> Result<(), Self> {
        if found == count {
            return Ok(());
        }
        let (found, allowed) = (format!("{found} entries"), format!("{count} entries"));
        Err(Self { field: field.to_owned(), found, allowed })
    }

    /// Checks that these are variables within bounds.
    ///
    /// # Errors
    /// When they are not.
    pub(super) fn check_variables(
        field: &str,
        x: &[f64],
        (lower, upper): (&[f64], &[f64]),
    ) -> Result<(), Self> {
        Self::check_count(field, x.len(), lower.len())?;
        for (i, &x) in x.iter().enumerate() {
            Self::check_number(&format!("{field}[{i}]"), x, lower[i], upper[i])?;
        }
        Ok(())
    }
}

/// A solver whose state a checkpoint keeps.
pub trait Resumable {
    /// Whether this state, read from a file, can belong to a run with these bounds of its variables.
    ///
    /// # Errors
    /// The first field that cannot.
    fn check(&self, bounds: (&[f64], &[f64])) -> Result<(), InvalidField>;

    /// What a run that goes on from this state evaluates again, since it is not kept, and counts then.
    fn evaluated_again(&self) -> Evaluations {
        Evaluations::default()
    }
}

/// The format of checkpoints; a change of meaning changes it.
const FORMAT: &str = "isobar optimization 2";

/// What a checkpoint belongs to.
#[derive(Deserialize)]
struct Header {
    format: String,
    method: Option<String>,
    problem: String,
}

/// What was saved, if anything was, and it has this format and belongs to this problem, and to this method where there
/// are several.
pub(super) fn saved<S: DeserializeOwned>(
    store: &dyn CheckpointStore,
    [format, problem]: [&str; 2],
    method: Option<&str>,
) -> Result<Option<S>, Error> {
    let Some(text) = store.load()?.filter(|text| !text.is_empty()) else { return Ok(None) };
    let malformed = |source| DataError::CheckpointFormat { path: store.name(), source };
    let header: Header = serde_json::from_str(&text).map_err(malformed)?;
    let of_method = method.map(|method| ("method", header.method.unwrap_or_default(), method));
    for (field, found, expected) in [("format", header.format, format)]
        .into_iter()
        .chain(of_method)
        .chain([("problem", header.problem, problem)])
    {
        if found != expected {
            let (path, expected) = (store.name(), expected.to_owned());
            return Err(DataError::OtherCheckpoint { path, field, found, expected }.into());
        }
    }
    Ok(Some(serde_json::from_str(&text).map_err(malformed)?))
}

/// A checkpoint, in JSON.
#[derive(Serialize, Deserialize)]
struct Saved<S> {
    format: String,
    method: String,
    problem: String,
    iteration: u64,
    variables: Vec<f64>,
    cost: f64,
    evaluations: Evaluations,
    history: Vec<TrajectoryIteration>,
    solver: S,
}

impl<S: Resumable> Saved<S> {
    /// Whether a run within these bounds can have come to this.
    fn check(&self, bounds: (&[f64], &[f64])) -> Result<(), InvalidField> {
        InvalidField::check_variables("variables", &self.variables, bounds)?;
        InvalidField::check_number("cost", self.cost, f64::NEG_INFINITY, f64::INFINITY)?;
        let (found, expected) = (self.history.len(), self.iteration.saturating_add(1));
        if found as u64 != expected {
            let (found, allowed) =
                (format!("{found} entries"), format!("{expected} entries, one more than `iteration`"));
            return Err(InvalidField { field: "history".to_owned(), found, allowed });
        }
        for (i, entry) in self.history.iter().enumerate() {
            let field = |name: &str| format!("history[{i}].{name}");
            InvalidField::check_number(&field("iteration"), entry.iteration as f64, i as f64, i as f64)?;
            InvalidField::check_number(&field("cost"), entry.cost, f64::NEG_INFINITY, f64::INFINITY)?;
            let norm = entry.gradient_norm.unwrap_or(0.0);
            InvalidField::check_number(&field("gradient_norm"), norm, 0.0, f64::INFINITY)?;
            if !entry.variables.is_empty() {
                InvalidField::check_variables(&field("variables"), &entry.variables, bounds)?;
            }
        }
        self.solver.check(bounds)
    }
}

/// The checkpoints of one run, as argmin takes them.
#[derive(Debug)]
pub(super) struct RunCheckpoint {
    kept: ProblemCheckpoints,
    method: String,
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// The cost of the saved variables, as the problem has it: what a checkpoint says of it is not
    /// relied on. `None` for what the checkpoint says.
    cost: Option<f64>,
    max_iterations: u64,
    /// When a run goes on, evaluations and iterations before the interruption take the place of what is there.
    history: History,
}

impl RunCheckpoint {
    /// Those of a method with bounds of its variables and at most so many iterations, those before an interruption
    /// included.
    pub(super) fn new(
        kept: ProblemCheckpoints,
        method: String,
        (lower, upper): (Vec<f64>, Vec<f64>),
        max_iterations: u64,
        history: History,
    ) -> Self {
        Self { kept, method, lower, upper, cost: None, max_iterations, history }
    }

    /// The saved run, if there is one and it belongs to this one.
    fn saved<S: DeserializeOwned + Resumable>(&self) -> Result<Option<Saved<S>>, Error> {
        let found: Option<Saved<S>> =
            saved(&*self.kept.store, [FORMAT, &self.kept.problem], Some(&self.method))?;
        if let Some(saved) = &found {
            saved
                .check((&self.lower, &self.upper))
                .map_err(|source| DataError::CheckpointField { path: self.kept.store.name(), source })?;
        }
        Ok(found)
    }

    /// Evaluates the cost of the saved variables, if there are any, so that a false one does no
    /// harm.
    ///
    /// # Errors
    /// When the checkpoint is not one of this run, or the cost of its variables is no finite number.
    pub(super) fn evaluate<S: DeserializeOwned + Resumable>(
        &mut self,
        cost: impl FnOnce(&Vec<f64>) -> Result<f64, Error>,
    ) -> Result<(), Error> {
        let Some(saved) = self.saved::<S>()? else { return Ok(()) };
        let of_variables = |found: String| DataError::CheckpointField {
            path: self.kept.store.name(),
            source: InvalidField {
                field: "variables".to_owned(),
                found,
                allowed: "variables with a finite cost".to_owned(),
            },
        };
        let cost = cost(&saved.variables)
            .map_err(|error| of_variables(format!("variables without a cost ({error})")))?;
        if !cost.is_finite() {
            return Err(of_variables(format!("variables of the cost {cost}")).into());
        }
        self.cost = Some(cost);
        Ok(())
    }
}

impl<S, J, R> Checkpoint<S, IterState<Vec<f64>, Vec<f64>, J, (), R, f64>> for RunCheckpoint
where
    S: Serialize + DeserializeOwned + Clone + Resumable,
    IterState<Vec<f64>, Vec<f64>, J, (), R, f64>: State<Param = Vec<f64>, Float = f64>,
{
    fn save(&self, solver: &S, state: &IterState<Vec<f64>, Vec<f64>, J, (), R, f64>) -> Result<(), Error> {
        // From the end of the iteration before, a run that goes on comes to the same end.
        if state.terminated() {
            return Ok(());
        }
        let missing = || Error::msg("there are no variables to save");
        let saved = Saved {
            format: FORMAT.to_owned(),
            method: self.method.clone(),
            problem: self.kept.problem.clone(),
            iteration: state.iter,
            variables: state.param.clone().ok_or_else(missing)?,
            cost: state.cost,
            evaluations: self.history.counter.read().without(&solver.evaluated_again()),
            history: self.history.iterations.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            solver: solver.clone(),
        };
        self.kept.store.save(&serde_json::to_string(&saved)?)
    }

    fn load(&self) -> Result<Option<(S, IterState<Vec<f64>, Vec<f64>, J, (), R, f64>)>, Error> {
        let Some(mut saved) = self.saved::<S>()? else { return Ok(None) };
        let cost = self.cost.unwrap_or(saved.cost);
        if let Some(last) = saved.history.last_mut() {
            last.cost = cost;
        }
        let mut evaluations = saved.evaluations;
        if saved.iteration >= self.max_iterations {
            // No iteration follows that would.
            evaluations = evaluations.with(&saved.solver.evaluated_again());
        }
        self.history.counter.set(&evaluations);
        *self.history.iterations.lock().unwrap_or_else(PoisonError::into_inner) = saved.history;
        let mut state = IterState::<Vec<f64>, Vec<f64>, J, (), R, f64>::new();
        state.best_param = Some(saved.variables.clone());
        state.param = Some(saved.variables);
        (state.cost, state.prev_cost, state.best_cost, state.prev_best_cost) = (cost, cost, cost, cost);
        (state.iter, state.last_best_iter) = (saved.iteration, saved.iteration);
        state.max_iters = self.max_iterations;
        Ok(Some((saved.solver, state)))
    }

    fn frequency(&self) -> CheckpointingFrequency {
        CheckpointingFrequency::Always
    }
}
