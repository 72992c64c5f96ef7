//! What is kept of a fit while it runs, so that one that is interrupted can go on.
//!
//! After every iteration the variables, the model's own unknowns and how many iterations led there go to a
//! [`CheckpointStore`]. A fit that goes on begins at what it finds there with the damping of a first step, so that it
//! comes to the same minimum, if not by the same way.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use argmin::core::Error;
use serde::{Deserialize, Serialize};

use crate::optimize::checkpoint::{CheckpointStore, InvalidField};
use crate::optimize::data_error::DataError;
use crate::optimize::least_squares::{FittedModel, Keeper};

/// Where a fit is kept, and what tells its problem from others.
#[derive(Clone)]
pub struct FitCheckpoint<'a> {
    /// Where it is kept.
    pub store: &'a dyn CheckpointStore,
    /// An identifier of the problem, such as a digest of its files. What was kept of another one is refused.
    pub problem: String,
}

impl fmt::Debug for FitCheckpoint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FitCheckpoint").field("problem", &self.problem).finish_non_exhaustive()
    }
}

/// What a fit is working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// The easier problem, whose solution it goes on from.
    Eased,
    /// The problem itself.
    Whole,
}

/// The format; a change of meaning changes it.
const FORMAT: &str = "isobar fit 1";

/// What is kept, in JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Saved {
    format: String,
    problem: String,
    pub stage: Stage,
    pub iterations: u64,
    cost: f64,
    pub variables: Vec<f64>,
    unknowns: Vec<f64>,
}

/// How far the present stage has come.
#[derive(Debug)]
struct Reached {
    stage: Stage,
    /// Iterations that led to the next point.
    iterations: u64,
    /// The least cost so far.
    cost: f64,
}

#[derive(Debug)]
pub(super) struct KeptFit<'a> {
    place: FitCheckpoint<'a>,
    reached: Mutex<Reached>,
}

impl<'a> KeptFit<'a> {
    /// One that begins.
    pub fn new(place: FitCheckpoint<'a>) -> Self {
        let reached = Mutex::new(Reached { stage: Stage::Eased, iterations: 0, cost: f64::INFINITY });
        Self { place, reached }
    }

    /// A solver starts on a stage at a point that so many iterations led to.
    pub fn begin(&self, stage: Stage, iterations: u64) {
        let begun = Reached { stage, iterations, cost: f64::INFINITY };
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = begun;
    }

    /// What was kept before, if anything. The model begins with its own unknowns.
    ///
    /// # Errors
    /// What is there cannot be read, or does not belong to this problem.
    pub fn load(
        &self,
        (lower, upper): (&[f64], &[f64]),
        model: &dyn FittedModel,
    ) -> Result<Option<Saved>, Error> {
        let store = self.place.store;
        let Some(text) = store.load()? else { return Ok(None) };
        let path = || store.name();
        let saved: Saved = serde_json::from_str(&text)
            .map_err(|source| DataError::CheckpointFormat { path: path(), source })?;
        let expected = [("format", &saved.format, FORMAT), ("problem", &saved.problem, &self.place.problem)];
        if let Some((field, found, expected)) = expected.into_iter().find(|(_, found, own)| found != own) {
            let (found, expected) = (found.clone(), expected.to_owned());
            return Err(DataError::OtherCheckpoint { path: path(), field, found, expected }.into());
        }
        let invalid = |source| DataError::CheckpointField { path: path(), source };
        InvalidField::check_count("variables", saved.variables.len(), lower.len()).map_err(invalid)?;
        for (i, &x) in saved.variables.iter().enumerate() {
            let field = format!("variables[{i}]");
            InvalidField::check_number(&field, x, lower[i], upper[i]).map_err(invalid)?;
        }
        if saved.stage == Stage::Whole && !model.start_from(&saved.unknowns) {
            let (field, found) = ("unknowns".to_owned(), format!("{} numbers", saved.unknowns.len()));
            let allowed = "as many finite numbers as the states at the starts have".to_owned();
            return Err(invalid(InvalidField { field, found, allowed }).into());
        }
        Ok(Some(saved))
    }
}

impl Keeper for KeptFit<'_> {
    fn keep(&self, variables: &[f64], cost: f64, unknowns: &dyn Fn() -> Vec<f64>) -> Result<(), Error> {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        // A trial of a line search that is no better is not where a fit should go on.
        if cost.is_nan() || cost >= reached.cost {
            return Ok(());
        }
        let saved = Saved {
            format: FORMAT.to_owned(),
            problem: self.place.problem.clone(),
            stage: reached.stage,
            iterations: reached.iterations,
            cost,
            variables: variables.to_vec(),
            unknowns: unknowns(),
        };
        self.place.store.save(&serde_json::to_string(&saved)?)?;
        (reached.cost, reached.iterations) = (cost, reached.iterations + 1);
        Ok(())
    }
}
