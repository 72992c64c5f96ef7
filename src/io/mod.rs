//! Files: scenes and robots in, trajectories out and in.

mod actuator_tables;
mod atomic;
mod body_names;
mod body_tables;
mod checkpoint_file;
mod document;
mod field_path;
mod file_error;
mod fit_file;
mod geometry_tables;
mod joint_schema;
mod joint_state;
mod joint_tables;
mod mesh_tables;
mod problem_controls;
mod problem_costs;
mod problem_file;
mod problem_schema;
mod purpose;
mod robot_tables;
mod scene;
mod scene_content;
mod schema;
mod strict;
mod trajectory;
pub mod urdf;

pub use atomic::write_atomically;
pub use checkpoint_file::CheckpointFile;
pub use file_error::FileError;
pub use fit_file::{FitFile, FitFileError, read_parameter_values};
pub use joint_state::{JointStateError, JointStateFile};
pub use problem_controls::OptimizedControl;
pub use problem_file::{OptimizedCommand, ProblemFile, ScatteredStarts};
pub use purpose::Purpose;
pub use scene::{Scene, SolverKind};
pub use trajectory::{
    BodyMotion, JointMotion, TrajectoryError, TrajectoryTable, read_trajectory, write_trajectory,
};
