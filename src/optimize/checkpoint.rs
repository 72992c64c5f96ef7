//! An optimization that can go on where it was interrupted.
//!
//! After every iteration the solver and what it has come to are given to a [`CheckpointStore`]; a
//! run that finds something there goes on from it. Interrupted at any time it loses at most the
//! iteration it was in, and it goes on to the same bits: what is not saved (gradients, Jacobians,
//! motions) is evaluated again from the saved variables.

use std::sync::{Arc, PoisonError};

use argmin::core::checkpointing::{Checkpoint, CheckpointingFrequency};
use argmin::core::{Error, IterState, State};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::trajectory::{EvaluationCounter, Evaluations, Iterations, TrajectoryIteration};

/// Where checkpoints are kept: a file, or memory.
pub trait CheckpointStore {
    /// What was saved last; `None` where nothing was.
    ///
    /// # Errors
    /// When it cannot be read.
    fn load(&self) -> Result<Option<String>, Error>;

    /// Replaces what was saved last. If it fails or is interrupted, that must still be there.
    ///
    /// # Errors
    /// When it cannot be written.
    fn save(&self, text: &str) -> Result<(), Error>;
}

/// Nowhere to keep checkpoints: what a run without any has in the place of a store.
#[derive(Clone, Copy, Debug)]
pub enum NoStore {}

impl CheckpointStore for NoStore {
    fn load(&self) -> Result<Option<String>, Error> {
        match *self {}
    }

    fn save(&self, _: &str) -> Result<(), Error> {
        match *self {}
    }
}

impl<T: CheckpointStore> CheckpointStore for Arc<T> {
    fn load(&self) -> Result<Option<String>, Error> {
        (**self).load()
    }

    fn save(&self, text: &str) -> Result<(), Error> {
        (**self).save(text)
    }
}

/// Why a checkpoint cannot be gone on from.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It is not a checkpoint of this format.
    #[error("the checkpoint cannot be read ({0}): remove it to start anew")]
    Format(#[from] serde_json::Error),
    /// It belongs to something else.
    #[error("the checkpoint is of {field} `{found}`, this run is of `{expected}`: remove it to start anew")]
    Other {
        /// What differs.
        field: &'static str,
        /// What the checkpoint says.
        found: String,
        /// What this run is.
        expected: String,
    },
    /// It has another number of variables.
    #[error("the checkpoint has {found} variables, this run {expected}: remove it to start anew")]
    Variables {
        /// Variables of the checkpoint.
        found: usize,
        /// Variables of this run.
        expected: usize,
    },
}

/// The format of checkpoints; a change of meaning changes it.
const FORMAT: &str = "isobar optimization 2";

/// What a checkpoint belongs to.
#[derive(Deserialize)]
struct Header {
    format: String,
    method: String,
    problem: String,
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
    best_variables: Option<Vec<f64>>,
    best_cost: f64,
    best_iteration: u64,
    evaluations: Evaluations,
    history: Vec<TrajectoryIteration>,
    solver: S,
}

/// The checkpoints of one run, as argmin takes them.
#[derive(Debug)]
pub struct RunCheckpoint<T> {
    /// Where they are kept.
    pub store: T,
    /// The name of the method.
    pub method: String,
    /// What tells this problem from others, such as a digest of its definition.
    pub problem: String,
    /// Number of variables.
    pub variables: usize,
    /// Most iterations, those before an interruption included.
    pub max_iterations: u64,
    /// Counts evaluations; those before an interruption are added.
    pub counter: Arc<EvaluationCounter>,
    /// What the iterations came to; when a run goes on, first those before the interruption.
    pub iterations: Iterations,
}

impl<T: CheckpointStore> RunCheckpoint<T> {
    /// The saved run, if there is one and it belongs to this one.
    fn saved<S: DeserializeOwned>(&self) -> Result<Option<Saved<S>>, Error> {
        let Some(text) = self.store.load()? else { return Ok(None) };
        let header: Header = serde_json::from_str(&text).map_err(CheckpointError::from)?;
        for (field, found, expected) in [
            ("format", header.format, FORMAT),
            ("method", header.method, &self.method),
            ("problem", header.problem, &self.problem),
        ] {
            if found != expected {
                return Err(CheckpointError::Other { field, found, expected: expected.to_owned() }.into());
            }
        }
        let saved: Saved<S> = serde_json::from_str(&text).map_err(CheckpointError::from)?;
        let (found, expected) = (saved.variables.len(), self.variables);
        if found != expected {
            return Err(CheckpointError::Variables { found, expected }.into());
        }
        Ok(Some(saved))
    }
}

impl<T, S, J, R> Checkpoint<S, IterState<Vec<f64>, Vec<f64>, J, (), R, f64>> for RunCheckpoint<T>
where
    T: CheckpointStore,
    S: Serialize + DeserializeOwned + Clone,
    IterState<Vec<f64>, Vec<f64>, J, (), R, f64>: State<Param = Vec<f64>, Float = f64>,
{
    fn save(&self, solver: &S, state: &IterState<Vec<f64>, Vec<f64>, J, (), R, f64>) -> Result<(), Error> {
        let missing = || Error::msg("there are no variables to save");
        let saved = Saved {
            format: FORMAT.to_owned(),
            method: self.method.clone(),
            problem: self.problem.clone(),
            iteration: state.iter,
            variables: state.param.clone().ok_or_else(missing)?,
            cost: state.cost,
            best_variables: state.best_param.clone(),
            best_cost: state.best_cost,
            best_iteration: state.last_best_iter,
            evaluations: self.counter.read(),
            history: self.iterations.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            solver: solver.clone(),
        };
        self.store.save(&serde_json::to_string(&saved)?)
    }

    fn load(&self) -> Result<Option<(S, IterState<Vec<f64>, Vec<f64>, J, (), R, f64>)>, Error> {
        let Some(saved) = self.saved::<S>()? else { return Ok(None) };
        self.counter.add(&saved.evaluations);
        *self.iterations.lock().unwrap_or_else(PoisonError::into_inner) = saved.history;
        let mut state = IterState::<Vec<f64>, Vec<f64>, J, (), R, f64>::new();
        state.param = Some(saved.variables);
        (state.cost, state.prev_cost) = (saved.cost, saved.cost);
        state.best_param = saved.best_variables;
        (state.best_cost, state.prev_best_cost) = (saved.best_cost, saved.best_cost);
        (state.iter, state.last_best_iter) = (saved.iteration, saved.best_iteration);
        state.max_iters = self.max_iterations;
        Ok(Some((saved.solver, state)))
    }

    fn frequency(&self) -> CheckpointingFrequency {
        CheckpointingFrequency::Always
    }
}
