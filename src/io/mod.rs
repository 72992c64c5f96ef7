//! Files: scenes and robots in, trajectories out and in.

mod actuator_schema;
mod actuator_tables;
mod atomic;
mod body_names;
mod body_tables;
mod checkpoint_file;
mod command_file;
mod document;
mod file_error;
mod fit_file;
mod fit_schema;
mod geometry_tables;
mod joint_schema;
mod joint_state;
mod joint_tables;
mod mesh_tables;
mod plausibility;
mod problem_controls;
mod problem_costs;
mod problem_file;
mod problem_memory;
mod problem_schema;
mod purpose;
pub mod reference;
mod robot_tables;
mod scene;
mod scene_bodies;
mod scene_content;
mod scene_summary;
mod schema;
mod shape_schema;
mod strict;
mod trajectory;
mod trajectory_forces;
mod trajectory_writer;
pub mod urdf;

pub use atomic::{OutputFile, check_writable, remove_unfinished_files, write_atomically};
pub use checkpoint_file::CheckpointFile;
pub use file_error::FileError;
pub use fit_file::{FitFile, FitFileError, read_parameter_values};
pub use joint_state::{JointStateError, JointStateFile};
pub use problem_controls::OptimizedControl;
pub use problem_file::{OptimizedCommand, ProblemFile, ScatteredStarts};
pub use purpose::Purpose;
pub use scene::{Scene, SceneMotion, SolverKind};
pub use scene_summary::{LoadedBody, SceneSummary};
pub use trajectory::{
    BodyMotion, ContactMotion, JointMotion, TrajectoryError, TrajectoryTable, read_trajectory,
};
pub use trajectory_writer::{TrajectoryWriter, write_trajectory};
