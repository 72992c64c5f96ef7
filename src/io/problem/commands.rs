//! Commands and controllers of a scene's actuators, and a design, in a file of their own, as `isobar optimize` writes them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem};
use crate::io::problem::controls::actuator_index;
use crate::io::problem::optimized_numbers::design;
use crate::io::scene::actuator_schema::CommandTable;
use crate::io::scene::actuator_tables::given_command;
use crate::io::scene::controller_schema::ControllerTable;
use crate::io::scene::controller_tables::SceneControllers;
use crate::io::scene::file::Scene;

/// The commands of some actuators.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandFileTable {
    actuators: Vec<NamedCommandTable>,
}

/// The command of one actuator.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedCommandTable {
    name: String,
    command: CommandTable,
}

/// Commands, controllers, and values of parameters of the model.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ControllerFileTable {
    #[serde(default)]
    actuators: Vec<NamedCommandTable>,
    controllers: Vec<ControllerTable>,
    #[serde(default)]
    model_parameters: BTreeMap<String, f64>,
}

#[derive(Debug, Serialize)]
struct WrittenControllers {
    controllers: Vec<ControllerTable>,
}

impl Scene {
    /// Takes controllers, and commands of some actuators, from a file such as the `controllers.toml` or `policy.json`
    /// that `isobar optimize` writes: tables `[[controllers]]` as in a scene, which take the place of all that the
    /// scene has, `[[actuators]]` as in [`Self::read_commands`], and `[model_parameters]`, values by the names that
    /// problem files have for them, which the model takes. A name that ends in `.json` is JSON, any other TOML.
    ///
    /// # Errors
    /// When the file cannot be read or is not valid, or names something that the scene does not have.
    pub fn read_controllers(&mut self, path: &Path) -> Result<(), FileError> {
        let document = Document::read(path)?;
        let ControllerFileTable { actuators, controllers, model_parameters } = document.contents()?;
        let field = FieldPath::root().key("controllers");
        SceneControllers::new(&controllers, &self.model, self.time_step, &field)
            .and_then(|feedback| {
                self.feedback = feedback;
                self.take_commands(&CommandFileTable { actuators })?;
                self.take_design(&model_parameters)
            })
            .map_err(|problem| document.located(problem))
    }

    /// The scene's controllers with these parameters, as the tables `[[controllers]]` of a TOML file, which
    /// [`Self::read_controllers`] reads; empty where the scene has none. The parameters are in the order of
    /// the controllers, as an optimization changes them.
    ///
    /// # Errors
    /// When TOML cannot express a value.
    pub fn controllers_text(&self, parameters: &[f64]) -> Result<String, toml::ser::Error> {
        let controllers = self.feedback.tables_with(parameters);
        if controllers.is_empty() {
            return Ok(String::new());
        }
        toml::to_string(&WrittenControllers { controllers })
    }

    /// Takes the commands from a TOML file such as the `commands.toml` that `isobar optimize` writes.
    /// The file has a table `[[actuators]]` with `name` and `command` for some of the scene's actuators.
    /// The others keep theirs.
    ///
    /// # Errors
    /// When the file cannot be read or is not valid, or names an actuator that the scene does not
    /// have or twice.
    pub fn read_commands(&mut self, path: &Path) -> Result<(), FileError> {
        let document = Document::read(path)?;
        self.take_commands(&document.contents()?).map_err(|problem| document.located(problem))
    }

    /// Gives the model, and the initial state, values of parameters by name.
    fn take_design(&mut self, values: &BTreeMap<String, f64>) -> Result<(), Problem> {
        if values.is_empty() {
            return Ok(());
        }
        let root = FieldPath::root();
        let names = values.keys().map(|name| std::iter::once(name.as_str()));
        let design = design(&self.model, names, &root)?;
        let values: Vec<f64> = values.values().copied().collect();
        (self.model, self.state) = design
            .at(&self.model, &self.state, &values)
            .map_err(|error| Problem::new(root.key("model_parameters"), error))?;
        Ok(())
    }

    fn take_commands(&mut self, table: &CommandFileTable) -> Result<(), Problem> {
        let field = FieldPath::root().key("actuators");
        for (i, t) in table.actuators.iter().enumerate() {
            let here = field.index(i);
            let index = actuator_index(&self.model, &t.name, &here.key("name"))?;
            if let Some(first) = table.actuators[..i].iter().position(|other| other.name == t.name) {
                let message =
                    format!("found `{}`, the name of actuators[{first}] too; each has one command", t.name);
                return Err(Problem::new(here.key("name"), message));
            }
            self.commands[index] = given_command(&t.command, &here.key("command"))?;
        }
        Ok(())
    }
}
