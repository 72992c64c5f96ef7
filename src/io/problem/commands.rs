//! Commands of a scene's actuators in a file of their own, as `isobar optimize` writes them.

use std::path::Path;

use serde::Deserialize;

use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem};
use crate::io::problem::controls::actuator_index;
use crate::io::scene::actuator_schema::CommandTable;
use crate::io::scene::actuator_tables::given_command;
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

impl Scene {
    /// Takes the commands from a TOML file such as the `commands.toml` that `isobar optimize` writes.
    /// The file has a table `[[actuators]]` with `name` and `command` for some of the scene's actuators.
    /// The others keep theirs.
    ///
    /// # Errors
    /// When the file cannot be read or is not valid, or names an actuator that the scene does not
    /// have or twice.
    pub fn read_commands(&mut self, path: &Path) -> Result<(), FileError> {
        let document = Document::read_toml(path)?;
        self.take_commands(&document.contents()?).map_err(|problem| document.located(problem))
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
