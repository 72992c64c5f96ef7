//! Files and the command: scenes, robots, problems, output, and what is refused.

mod bad_input;
mod bouncing_ball;
mod contact;
mod fit;
mod gradient_check_scenes;
mod jointed_files;
mod mesh_scenes;
mod optimize_command;
mod random_scenes;
mod readme;
mod robots;
mod scenes;

#[path = "../support/folder.rs"]
mod folder;
