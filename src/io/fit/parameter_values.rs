//! Values of parameters in JSON files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::io::document::read_text;
use crate::io::file_error::FileError;
use crate::io::fit::file::FitFile;

impl FitFile {
    /// Reads parameter values from JSON: `{"NAME": VALUE, …}`, or what `isobar fit --json` prints.
    ///
    /// # Errors
    /// A file that cannot be read, is of neither form, or holds a number that is not finite.
    pub fn read_parameter_values(path: &Path) -> Result<BTreeMap<String, f64>, FileError> {
        #[derive(Deserialize)]
        struct Named {
            name: String,
            value: f64,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Values {
            Fit { estimates: Vec<Named> },
            Plain(BTreeMap<String, f64>),
        }
        let text = read_text(path)?;
        match serde_json::from_str(&text) {
            Ok(Values::Plain(values)) => Ok(values),
            Ok(Values::Fit { estimates }) => Ok(estimates.into_iter().map(|e| (e.name, e.value)).collect()),
            Err(e) => Err(FileError::Invalid {
                path: path.to_owned(),
                line: (e.line() > 0).then_some(e.line()),
                field: "the file".into(),
                message: "not a list of parameters; allowed is {\"NAME\": VALUE, …} or the result of a fit"
                    .into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn values_are_read_by_name_or_from_a_result() {
        let folder = std::env::temp_dir().join(format!("isobar-fit-values-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("p.json"), "{\"a\": 1.5}").unwrap();
        assert_eq!(FitFile::read_parameter_values(&folder.join("p.json")).unwrap()["a"], 1.5);
        fs::write(
            folder.join("p.json"),
            "{\"estimates\": [{\"name\": \"b\", \"value\": 2, \"verdict\": \"x\"}]}",
        )
        .unwrap();
        assert_eq!(FitFile::read_parameter_values(&folder.join("p.json")).unwrap()["b"], 2.0);
        fs::write(folder.join("p.json"), "{\"a\": \"x\"}").unwrap();
        let refused = FitFile::read_parameter_values(&folder.join("p.json")).unwrap_err().to_string();
        assert!(refused.contains("not a list of parameters"), "{refused}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
