//! Trajectories as CSV, written row after row.

use std::io::{self, Write};
use std::path::Path;

use crate::io::atomic::OutputFile;
use crate::io::file_error::FileError;
use crate::io::motion::forces::ContactForces;
use crate::io::motion::row::{state_columns, state_numbers};
use crate::io::motion::trajectory::TIME;
use crate::multibody::{Model, State};
use crate::rollout::{StepReport, Trajectory};
use crate::spatial::SpatialForce;

/// Writes the states of a model as rows of a table, in full precision: `t_s`, then thirteen columns
/// for each free body, then the coordinates `q` and `v` of each joint.
///
/// With bristles (see [`ContactSettings::bristle_length`](crate::contact::ContactSettings::bristle_length)) there are
/// six columns more for each pair of geometries that can touch: `A-B.bristle_rx_rad`, `bristle_ry_rad`,
/// `bristle_rz_rad` and `A-B.bristle_x_m`, `bristle_y_m`, `bristle_z_m` of bodies A and B, or `A-B[0].bristle_rx_rad`, …
/// where the bodies have several pairs of geometries (see [`Deflection`](crate::contact::Deflection)).
///
/// On request there are six columns more for each pair of bodies A and B that can touch: `A-B.fx_N`,
/// `fy_N`, `fz_N`, the force on A in W, and `A-B.tx_N_m`, `ty_N_m`, `tz_N_m`, its moment about the
/// origin of A. The forces of each state are those of the pressure fields, with dissipation and friction
/// at the velocities of that state (see [`Model::pair_contact`]), or with [`Self::write_report`] those of the implicit step that led
/// to it: its impulse divided by its length. Both differ where velocities change much.
#[derive(Debug)]
pub struct TrajectoryWriter<'m, W: Write> {
    model: &'m Model,
    forces: Option<ContactForces<'m>>,
    csv: csv::Writer<W>,
    /// The fields of one row.
    row: Vec<String>,
}

impl<'m, W: Write> TrajectoryWriter<'m, W> {
    /// A table to which its head is written; with the forces of contacts if they are asked for.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(model: &'m Model, with_forces: bool, to: W) -> io::Result<Self> {
        let forces = with_forces.then(|| ContactForces::new(model));
        let mut csv = csv::Writer::from_writer(to);
        let mut row = vec![TIME.to_owned()];
        row.extend(state_columns(model));
        row.extend(forces.iter().flat_map(ContactForces::titles));
        csv.write_record(&row).map_err(io_error)?;
        Ok(Self { model, forces, csv, row })
    }

    /// Writes the row of one state, with as many digits as it takes to read the same bits back.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, time: f64, state: &State) -> io::Result<()> {
        self.write_row(time, state, None)
    }

    /// Writes the row of the state that a simulation has come to, with the forces of the step if that is implicit.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_report(&mut self, report: &StepReport<'_>) -> io::Result<()> {
        let of_step = self.forces.is_some().then(|| report.step_forces()).flatten();
        self.write_row(report.time, report.state, of_step.as_deref())
    }

    fn write_row(
        &mut self,
        time: f64,
        state: &State,
        of_step: Option<&[SpatialForce<f64>]>,
    ) -> io::Result<()> {
        let Self { model, forces, csv, row } = self;
        row.clear();
        // The shortest digits that name this number and no other.
        row.push(format!("{time:?}"));
        row.extend(state_numbers(model, state).iter().map(|x| format!("{x:?}")));
        let numbers = forces.iter_mut().flat_map(|forces| forces.numbers(state, of_step));
        row.extend(numbers.map(|x| format!("{x:?}")));
        csv.write_record(row).map_err(io_error)
    }

    /// What the table was written to, when all of it is there.
    ///
    /// # Errors
    /// When the last of it cannot be written.
    pub fn finish(self) -> io::Result<W> {
        self.csv.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

/// What happened to a file, of the kind that it is: as another error that would be lost, and a reader that has seen enough no
/// longer be known.
fn io_error(error: csv::Error) -> io::Error {
    let text = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => source,
        _ => io::Error::other(text),
    }
}

impl Trajectory {
    /// Writes the trajectory of a model as [`TrajectoryWriter`] does. The file appears when it is complete.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>, model: &Model) -> Result<(), FileError> {
        let path = path.as_ref();
        let write = || {
            let mut writer = TrajectoryWriter::new(model, false, OutputFile::create(path)?)?;
            for (time, state) in self.times.iter().zip(&self.states) {
                writer.write(*time, state)?;
            }
            writer.finish()?.finish()
        };
        write().map_err(|source| FileError::Write { path: path.to_owned(), source })
    }
}
