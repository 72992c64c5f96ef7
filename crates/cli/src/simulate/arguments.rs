//! Arguments of `isobar simulate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// Which forces are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ForcesOf {
    /// Those of the pressure fields at a state
    State,
    /// Those of the step that led to it
    Step,
}

/// Arguments of `isobar simulate`.
#[derive(Debug, Args)]
pub(crate) struct SimulateArguments {
    /// Scene file, TOML or JSON; `-` for standard input
    pub scene: PathBuf,
    /// End of the simulation, s
    #[arg(long)]
    pub until: f64,
    /// Trajectory file to write, CSV; `-` for standard output, with the summary on standard error.
    /// Without it only the summary is printed
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Write every Nth state only, besides the first and the last
    #[arg(long, value_name = "N", default_value = "1")]
    pub every: NonZeroUsize,
    /// Commands of actuators, TOML as `isobar optimize` writes it, in place of those of the scene
    #[arg(long, value_name = "FILE")]
    pub commands: Option<PathBuf>,
    /// Controllers, commands of actuators and parameters of the model, TOML or JSON as `isobar optimize` writes
    /// them, in place of those of the scene
    #[arg(long, value_name = "FILE", conflicts_with = "commands")]
    pub controller: Option<PathBuf>,
    /// Also write the contact wrench of each pair of bodies that can touch: A-B.fx_N, ..., A-B.tz_N_m,
    /// on A about A's origin in the world frame: that of the implicit step that led to each state, its impulse divided
    /// by its length, or that of the pressure fields at the state's poses and velocities. The first
    /// state and those of explicit steps have the latter. Recordings show the same
    #[arg(long, value_name = "OF", num_args = 0..=1, require_equals = true, default_missing_value = "step")]
    pub forces: Option<ForcesOf>,
    /// Also record the motion with its contact surfaces and forces, to look at it; can be repeated. The
    /// name tells the format: .html a page for a browser, .glb animated glTF, .pvd VTK
    #[arg(long, value_name = "FILE")]
    pub record: Vec<PathBuf>,
    /// Time between the frames of a recording, s. Without it there are 300 of them, or 30 in a second where
    /// that is more
    #[arg(long, value_name = "SECONDS", requires = "record")]
    pub record_every: Option<f64>,
    /// Leave free bodies out that have been at rest for half a second, slower than this in m/s, until something touches them:
    /// faster in scenes where most lie still. What creeps more slowly stops, and no forces are found between bodies that sleep
    #[arg(long, value_name = "SPEED", num_args = 0..=1, require_equals = true, default_missing_value = "0.001")]
    pub sleep: Option<f64>,
    /// Estimate how far the steps are from exact ones, by a second simulation with half the step, or with
    /// a tenth of the accuracy; both are kept in memory
    #[arg(long)]
    pub error: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}
