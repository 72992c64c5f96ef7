//! Files and the command: scenes, robots, problems, output, and what is refused.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

mod accuracy;
mod bad_input;
mod bouncing_ball;
mod bristles;
mod browser;
mod bubble_gripper;
mod check_files;
mod checkpoints;
mod computed_torque;
mod contact;
mod controllers;
mod designs;
mod drake_tags;
mod end_time;
mod energy_gains;
mod faults;
mod files_in_turn;
mod fit;
mod fit_compare;
mod fit_horizons;
mod fit_resume;
mod fuzz;
mod fuzz_files;
mod gradient;
mod gradient_check_ends;
mod gradient_check_kinks;
mod gradient_check_random;
mod gradient_check_scenes;
mod guide;
#[cfg(unix)]
mod guide_transcripts;
mod help;
mod init;
mod jointed_files;
mod loaded;
mod mesh_command;
mod mesh_scenes;
mod mistakes;
mod mjcf_actuators;
mod mjcf_robots;
mod motion_warnings;
mod mutation;
mod optimize_command;
mod outputs;
mod pressure_laws;
mod random_runs;
mod random_scenes;
mod readme;
mod recorded_files;
mod recordings;
mod reference;
mod robot_kinds;
mod robots;
mod scenes;
mod sdf_robots;
mod sdf_worlds;
mod skirt;
mod standard_input;
mod visuals;
#[cfg(unix)]
mod without_end;

#[path = "../../../../tests/support/checked_scenes.rs"]
mod checked_scenes;
#[path = "../../../../tests/support/folder.rs"]
mod folder;
#[path = "../../../../tests/support/press.rs"]
mod press;

/// The root of the repository, which paths of examples and references start at.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs the command at the root of the repository.
fn isobar<S: AsRef<OsStr>>(arguments: &[S]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_isobar"))
        .current_dir(ROOT)
        .args(arguments)
        .output()
        .expect("the command runs")
}

/// Runs the command: its exit code, what it prints, and what it says of errors.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = isobar(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}
