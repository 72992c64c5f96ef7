//! What is kept of a fit while it runs, so that one that is interrupted goes on to the same result.
//!
//! A fit is solved in stages. What is kept is the checkpoint of the present stage's solver ([`RunCheckpoint`]) with the
//! linearization it has come to, the model's own unknowns, and where the stage began. The substeps that a stage holds
//! are found again from there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use argmin::core::Error;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::optimize::checkpoint::{CheckpointStore, InvalidField, ProblemCheckpoints, saved};
use crate::optimize::data_error::DataError;
use crate::optimize::least_squares::{FittedModel, HeldSubsteps};

/// What a fit is working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::optimize) enum Stage {
    /// The easier problem, whose solution it goes on from.
    Eased,
    /// The problem itself, with substeps that follow the parameters.
    Whole,
    /// The same with substeps that are held, in this round.
    Held(usize),
}

/// Where a stage began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::optimize) struct Begun {
    pub stage: Stage,
    /// The optimizer's variables, and how many iterations led to them.
    pub variables: Vec<f64>,
    pub iterations: u64,
    /// The model's own unknowns.
    pub unknowns: Vec<f64>,
}

/// The format; a change of meaning changes it.
const FORMAT: &str = "isobar fit 2";

/// What is kept, in JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    format: String,
    problem: String,
    begun: Begun,
    unknowns: Vec<f64>,
    solver: Box<RawValue>,
}

#[derive(Debug)]
pub(in crate::optimize) struct KeptFit {
    place: ProblemCheckpoints,
    /// What was kept before, until its stage is over.
    found: Mutex<Option<Saved>>,
    begun: Mutex<Option<Begun>>,
    /// The model's own unknowns at present.
    pub unknowns: Mutex<Vec<f64>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KeptFit {
    /// One that goes on from what was kept, if anything was.
    ///
    /// # Errors
    /// What is there cannot be read, or does not belong to this problem.
    pub fn new(place: ProblemCheckpoints, (lower, upper): (&[f64], &[f64])) -> Result<Self, Error> {
        let found: Option<Saved> = saved(&*place.store, [FORMAT, &place.problem], None)?;
        if let Some(Saved { begun, .. }) = &found {
            InvalidField::check_variables("begun.variables", &begun.variables, (lower, upper))
                .map_err(|source| DataError::CheckpointField { path: place.store.name(), source })?;
        }
        let (begun, unknowns) = (Mutex::new(None), Mutex::new(Vec::new()));
        Ok(Self { place, found: Mutex::new(found), begun, unknowns })
    }

    /// The identifier of the problem.
    pub fn problem(&self) -> &str {
        &self.place.problem
    }

    /// Where the stage began that was interrupted, if one was. Of the problem itself, the model has its own unknowns there.
    ///
    /// # Errors
    /// They are not of this model.
    pub fn interrupted(&self, model: &dyn FittedModel) -> Result<Option<Begun>, Error> {
        let begun = locked(&self.found).as_ref().map(|found| found.begun.clone());
        match &begun {
            Some(begun) if begun.stage != Stage::Eased => self.start(model, &begun.unknowns, None)?,
            _ => {}
        }
        Ok(begun)
    }

    fn start(
        &self,
        model: &dyn FittedModel,
        unknowns: &[f64],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<(), Error> {
        if model.start_from(unknowns, substeps) {
            return Ok(());
        }
        let (field, found) = ("unknowns".to_owned(), format!("{} numbers", unknowns.len()));
        let allowed = "as many finite numbers as the states at the starts have".to_owned();
        let source = InvalidField { field, found, allowed };
        Err(DataError::CheckpointField { path: self.place.store.name(), source }.into())
    }

    /// A solver starts on a stage of a model, with these substeps where it holds some, at variables that so many
    /// iterations led to. Where this stage was interrupted, the model goes on with its unknowns.
    ///
    /// # Errors
    /// They are not of this model.
    pub fn begin(
        &self,
        stage: Stage,
        (variables, iterations): (&[f64], u64),
        (model, substeps): (&dyn FittedModel, Option<&HeldSubsteps>),
    ) -> Result<(), Error> {
        let unknowns = model.unknowns();
        let mut found = locked(&self.found);
        *found = found.take().filter(|found| found.begun.stage == stage);
        if let Some(found) = &*found {
            self.start(model, &found.unknowns, substeps)?;
        }
        *locked(&self.unknowns) = model.unknowns();
        *locked(&self.begun) = Some(Begun { stage, variables: variables.to_vec(), iterations, unknowns });
        Ok(())
    }
}

/// The checkpoints of the present stage's solver.
impl CheckpointStore for KeptFit {
    fn load(&self) -> Result<Option<String>, Error> {
        Ok(locked(&self.found).as_ref().map(|found| found.solver.get().to_owned()))
    }

    fn name(&self) -> String {
        self.place.store.name()
    }

    fn save(&self, text: &str) -> Result<(), Error> {
        let Some(begun) = locked(&self.begun).clone() else { return Ok(()) };
        let saved = Saved {
            format: FORMAT.to_owned(),
            problem: self.place.problem.clone(),
            begun,
            unknowns: locked(&self.unknowns).clone(),
            solver: RawValue::from_string(text.to_owned())?,
        };
        self.place.store.save(&serde_json::to_string(&saved)?)
    }
}
