//! Robots from files: MJCF by their element, SDF by the ending of their names, else URDF.

use crate::input_file;
use std::path::Path;

use super::file_error::FileError;
use super::robot::{Robot, RobotDescription, RobotOptions, RobotParts, invalid};
use super::{mjcf, sdf, urdf};
use crate::xml;

/// How the one element of a file is read.
type Read = fn(&xml::Element, &Path, &RobotOptions) -> Result<RobotParts, FileError>;

impl Robot {
    /// Reads a robot from a URDF file, from an SDF file if its name ends in `.sdf`, or from an MJCF file, whose element is
    /// `mujoco`.
    ///
    /// Joints come in depth-first order, children of one link in the order of the file. Meshes of
    /// collision geometry may be absent, which is a warning. Of `transmission` the inertia of rotors is read, of `gazebo`
    /// whether gravity acts on a link; `plugin` and other elements outside the formats' cores are ignored.
    ///
    /// # Errors
    /// When the file cannot be read, is not of its format, or its links and joints do not make a tree
    /// with masses and limits that can be.
    pub fn load(path: &Path, options: &RobotOptions) -> Result<Self, FileError> {
        RobotDescription::load(path, options)?.robot(path)
    }

    /// Reads the text of such a file; `path` is its name, whose ending tells SDF, in messages, and the place
    /// from which relative names of other files start.
    ///
    /// # Errors
    /// As [`Robot::load`].
    pub fn parse(text: &str, path: &Path, options: &RobotOptions) -> Result<Self, FileError> {
        RobotDescription::parse(text, path, options)?.robot(path)
    }
}

impl RobotDescription {
    /// Reads a robot as [`Robot::load`] does. Whether its links and joints make a tree is checked of SDF files alone.
    ///
    /// # Errors
    /// When the file cannot be read or is not of its format.
    pub fn load(path: &Path, options: &RobotOptions) -> Result<Self, FileError> {
        let text = input_file::read_text(path)
            .map_err(|source| FileError::Read { path: path.to_owned(), source })?;
        Self::parse(&text, path, options)
    }

    /// Reads the text of a file as [`Robot::parse`] does.
    ///
    /// # Errors
    /// As [`RobotDescription::load`].
    pub fn parse(text: &str, path: &Path, options: &RobotOptions) -> Result<Self, FileError> {
        let is_sdf = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("sdf"));
        let (format, read): (&str, Read) =
            if is_sdf { (sdf::FORMAT, sdf::read) } else { (urdf::FORMAT, urdf::read) };
        let root = xml::parse(text.trim_start_matches('\u{feff}'));
        // Of what is no XML the first tag tells what it was meant to be.
        let is_mjcf = || {
            let tag = text.split('<').find(|tag| tag.starts_with(|c: char| c.is_alphabetic()));
            tag.is_some_and(|tag| tag.starts_with(mjcf::ROOT))
        };
        let root =
            root.map_err(|problem| invalid(path, if is_mjcf() { mjcf::FORMAT } else { format }, problem))?;
        if root.name == mjcf::ROOT {
            return mjcf::read(&root, path, options)?.describe(path, options);
        }
        if root.name == mjcf::PART {
            let message = "its element is `mujocoinclude`: it is a part that other files include, of which one is to be named";
            return Err(invalid(path, mjcf::FORMAT, (Some(root.line), message.to_owned())));
        }
        if let Some(keyframe) = &options.keyframe {
            let message = format!("found no keyframe `{keyframe}`; MJCF files alone have them");
            return Err(invalid(path, format, (None, message)));
        }
        if let Some((line, found)) = left_to_xacro(&root) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let message = format!(
                "found {found}; it is a file for xacro: run xacro first (`xacro {name} > robot.urdf`)"
            );
            return Err(invalid(path, format, (Some(line), message)));
        }
        read(&root, path, options)?.describe(path, options)
    }
}

/// The first element or attribute that xacro has to replace, and its line.
fn left_to_xacro(element: &xml::Element) -> Option<(usize, String)> {
    if element.name.starts_with("xacro:") {
        return Some((element.line, format!("`{}`", element.name)));
    }
    let attribute = element.attributes().find(|value| value.contains("${") || value.contains("$("));
    match attribute {
        Some(value) => Some((element.line, format!("{value:?}"))),
        None => element.children.iter().find_map(left_to_xacro),
    }
}
