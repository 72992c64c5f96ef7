//! Files: scenes and robots in, trajectories out and in.

mod atomic;
mod digest;
mod document;
mod file_error;
mod file_kind;
mod fit;
mod mjcf;
mod motion;
mod problem;
pub mod reference;
pub mod robot;
mod robot_file;
mod scene;
mod sdf;
mod strict;
mod urdf;

pub use atomic::OutputFile;
#[doc(hidden)]
pub use atomic::{check_writable, remove_unfinished_files, write_atomically};
pub use file_error::FileError;
pub use fit::Candidate;
pub use fit::file::FitFile;
pub use motion::joint_state::JointStateFile;
#[doc(hidden)]
pub use motion::row::{state_columns, state_from_numbers, state_numbers};
pub use motion::trajectory::{BodyMotion, BristleMotion, ContactMotion, JointMotion, TrajectoryTable};
pub use motion::writer::TrajectoryWriter;
pub use problem::checkpoint::CheckpointFile;
pub use problem::controls::OptimizedControl;
pub use problem::file::{OptimizedCommand, ProblemFile};
pub use problem::members::ProblemEnsemble;
pub use problem::optimize::best_optimum;
#[doc(hidden)]
pub use problem::policy::policy_tables;
pub use problem::schema::ScatteredStarts;
pub use scene::file::{Scene, SolverKind};
pub use scene::solver_tables::ErrorControl;
pub use scene::summary::{LoadedBody, SceneSummary};
pub use scene::visuals::{RobotVisuals, VisualMesh, VisualMeshes};
