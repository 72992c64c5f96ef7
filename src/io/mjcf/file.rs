//! What all of a file is read with, and which of its sections are read.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::compiler::Compiler;
use super::layers::{Classes, Layers};
use super::wrong;
use crate::io::file_error::FileError;
use crate::xml::Element;

/// The sections that are read, or say nothing of the motion.
const SECTIONS: [&str; 14] = [
    "compiler",
    "default",
    "option",
    "asset",
    "worldbody",
    "contact",
    "equality",
    "actuator",
    "sensor",
    "keyframe",
    "size",
    "statistic",
    "visual",
    "custom",
];

/// A file with its settings, classes and meshes.
#[derive(Debug)]
pub(super) struct File<'a> {
    pub path: &'a Path,
    pub root: &'a Element,
    pub compiler: Compiler,
    pub classes: Classes<'a>,
    /// The meshes by their names.
    pub meshes: HashMap<String, &'a Element>,
}

/// What changes the motion and is not simulated, with those that have it.
#[derive(Debug, Default)]
pub(super) struct Ignored(BTreeMap<String, BTreeSet<String>>);

impl Ignored {
    pub fn add(&mut self, what: impl Into<String>, of: impl Into<String>) {
        self.0.entry(what.into()).or_default().insert(of.into());
    }

    /// A warning for each.
    pub fn warnings(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(what, of)| {
            let of: Vec<String> = of.into_iter().collect();
            format!("{what} is not simulated; it is given for {}", of.join(", "))
        })
    }
}

impl<'a> File<'a> {
    /// The settings of a file whose element this is.
    ///
    /// # Errors
    /// When it has a section that is not read, or a setting or class is not good.
    pub fn new(root: &'a Element, path: &'a Path) -> Result<Self, FileError> {
        for section in &root.children {
            match section.name.as_str() {
                name if SECTIONS.contains(&name) => {}
                "tendon" | "deformable" | "extension" => {
                    let is_read = |found: &Element| section.name == "tendon" && found.name == "fixed";
                    if let Some(found) = section.children.iter().find(|found| !is_read(found)) {
                        let message = format!(
                            "found in `{}`; no tendon but `fixed`, no flex, skin or plugin is simulated",
                            section.name
                        );
                        return Err(wrong(found, message));
                    }
                }
                _ => {
                    let allowed = SECTIONS.join(", ");
                    return Err(wrong(section, format!("found in `mujoco`; the sections are {allowed}")));
                }
            }
        }
        let mut meshes = HashMap::new();
        for asset in root.all("asset").flat_map(|assets| &assets.children) {
            let stem =
                || Some(Path::new(asset.attribute("file")?).file_stem()?.to_string_lossy().into_owned());
            let name = super::name(asset).or_else(stem);
            if let Some(name) = name.filter(|_| asset.name == "mesh")
                && meshes.insert(name.clone(), asset).is_some()
            {
                return Err(wrong(asset, format!("found a second mesh `{name}`; names are unique")));
            }
        }
        Ok(Self { path, root, compiler: Compiler::new(root)?, classes: Classes::new(root)?, meshes })
    }

    /// Adds what the options of the file change that is not simulated.
    ///
    /// # Errors
    /// When one of their numbers is none.
    pub fn options(&self, ignored: &mut Ignored) -> Result<(), FileError> {
        let options = Layers(self.root.all("option").collect());
        for name in ["density", "viscosity"] {
            if options.number_or(name, 0.0)? != 0.0 {
                ignored.add(format!("the fluid of `{name}`"), "the world");
            }
        }
        let flags = self.root.all("option").flat_map(|option| option.all("flag"));
        if flags.filter_map(|flag| flag.attribute("gravity")).any(|gravity| gravity == "disable") {
            ignored.add("that gravity is disabled", "the world");
        }
        let gravity = options.numbers("gravity")?.unwrap_or([0.0, 0.0, -9.81]);
        if gravity != [0.0, 0.0, -9.81] {
            ignored.add("`gravity` (a scene has its own)", "the world");
        }
        Ok(())
    }
}
