//! Models of the same measurements that a fit file compares.

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::FileError;
use crate::io::fit::file::{FitFile, scene_of};
use crate::io::fit::schema::CandidateTable;
use crate::optimize::parameters::FitParameters;

/// The name of the model of a fit file without its candidates.
const AS_GIVEN: &str = "as given";

/// A model of the measurements of a fit file.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// The fit of this model: its scene, its parameters and how it starts.
    pub file: FitFile,
    /// The same model where predictions start as the fit file without candidates says.
    pub prediction: FitFile,
}

impl FitFile {
    /// The models that are compared: the fit file without its candidates, and these, in their order.
    ///
    /// # Errors
    /// A scene that is not valid, a parameter that makes no sense or is not there to be left out, or two candidates with
    /// the same name.
    pub fn candidates(&self) -> Result<Vec<Candidate>, FileError> {
        let given = Candidate { name: AS_GIVEN.to_owned(), file: self.clone(), prediction: self.clone() };
        let mut all = vec![given];
        for (i, table) in self.table.candidates.iter().enumerate() {
            let field = FieldPath::root().key("candidates").index(i);
            if all.iter().any(|other| other.name == table.name) {
                let message = format_args!("found \"{}\", the name of another one", table.name);
                return Err(self.invalid(&field.key("name"), message));
            }
            all.push(self.candidate(table, &field)?);
        }
        Ok(all)
    }

    fn candidate(&self, table: &CandidateTable, field: &FieldPath) -> Result<Candidate, FileError> {
        let mut prediction = self.clone();
        prediction.candidate = Some(field.clone());
        if let Some(scene) = &table.scene {
            prediction.scene = scene_of(&self.document, &field.key("scene"), scene)?;
        }
        let mut parameters = self.parameters.as_slice().to_vec();
        for (i, name) in table.without.iter().enumerate() {
            let count = parameters.len();
            parameters.retain(|parameter| parameter.name != *name);
            if parameters.len() == count {
                let message = format_args!("found \"{name}\", which is no parameter of the fit");
                return Err(self.invalid(&field.key("without").index(i), message));
            }
        }
        for own in &table.parameters {
            match parameters.iter_mut().find(|parameter| parameter.name == own.name) {
                Some(parameter) => *parameter = own.clone(),
                None => parameters.push(own.clone()),
            }
        }
        prediction.parameters =
            FitParameters::new(parameters).map_err(|error| self.invalid(&field.key("parameters"), error))?;
        let mut file = prediction.clone();
        if let Some(starts) = table.starts {
            file.table.trajectories.iter_mut().for_each(|trajectory| trajectory.starts = Some(starts));
        }
        Ok(Candidate { name: table.name.clone(), file, prediction })
    }
}
