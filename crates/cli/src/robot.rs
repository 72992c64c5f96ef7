//! How commands read a robot that is no part of a scene.

use std::path::{Path, PathBuf};

use clap::Args;

use isobar::io::FileError;
use isobar::io::robot::{MimicJoints, Robot, RobotOptions};

/// The arguments by which the file of a robot is read.
#[derive(Debug, Args)]
pub(super) struct RobotArguments {
    /// Folder that is a ROS package or holds them, for `package://` names of meshes; can be repeated;
    /// not for scenes
    #[arg(long = "package-path", value_name = "FOLDER")]
    package_path: Vec<PathBuf>,
    /// Read joints that mimic others as independent ones; not for scenes
    #[arg(long)]
    independent_mimic_joints: bool,
}

impl RobotArguments {
    /// Reads a robot, its root link fixed at the world's origin.
    pub fn load(&self, path: &Path) -> Result<Robot, FileError> {
        let mimic =
            if self.independent_mimic_joints { MimicJoints::Independent } else { MimicJoints::Follow };
        let options = RobotOptions { package_path: self.package_path.clone(), mimic, ..Default::default() };
        Robot::load(path, &options)
    }
}
