//! Recorded trajectories of bodies.

use std::io::Read;
use std::path::Path;

use nalgebra::Vector3;

use super::TIME_COLUMN as TIME;
use super::columns::Columns;
use super::consistency::contradiction;
use super::recorded_state::RecordedState;
use super::table::{Table, open};
use crate::multibody::BodyState;
use crate::optimize::data_error::DataError;
use crate::spatial::{Quaternion, SpatialVelocity};

/// The recorded motion of one body; times increase.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Where it came from, for messages.
    pub name: String,
    /// The states, two at least.
    pub states: Vec<RecordedState>,
}

impl Recording {
    /// The recording with its velocities shifted in time: the velocity recorded at a time t is taken as
    /// that of t − `delay`, in s. Velocities are interpolated between recorded times; after the last
    /// time the last velocity is used.
    ///
    /// Velocities that were made from positions by backward differences are half an interval late. A
    /// simulation that starts from these velocities has an error of the acceleration times that delay,
    /// which is large in an impact.
    #[must_use]
    pub fn with_velocities_delayed_by(mut self, delay: f64) -> Self {
        let recorded: Vec<(f64, SpatialVelocity)> =
            self.states.iter().map(|s| (s.time - delay, s.body.velocity)).collect();
        for state in &mut self.states {
            let after = recorded.partition_point(|(time, _)| *time <= state.time);
            // Before the first and after the last the nearest velocity is kept.
            let (before, after) = (after.saturating_sub(1), after.min(recorded.len() - 1));
            let ((t0, v0), (t1, v1)) = (recorded[before], recorded[after]);
            let part = if t1 > t0 { (state.time - t0) / (t1 - t0) } else { 0.0 };
            let between = |v0: Vector3<f64>, v1: Vector3<f64>| v0 + (v1 - v0) * part;
            state.body.velocity = SpatialVelocity {
                rotational: between(v0.rotational, v1.rotational),
                translational: between(v0.translational, v1.translational),
            };
        }
        self
    }
}

/// How far from 1 the length of a recorded quaternion may be; it is normalized.
const QUATERNION_TOLERANCE: f64 = 1e-2;

const POSITION: [&str; 3] = ["px_m", "py_m", "pz_m"];
const ORIENTATION: [&str; 4] = ["qw", "qx", "qy", "qz"];
const VELOCITY: [&str; 3] = ["vx_m_s", "vy_m_s", "vz_m_s"];
const ANGULAR_IN_WORLD: [&str; 3] = ["wx_rad_s", "wy_rad_s", "wz_rad_s"];
const ANGULAR_IN_BODY: [&str; 3] = ["wx_body_rad_s", "wy_body_rad_s", "wz_body_rad_s"];
/// The columns whose names may begin with that of the body.
const OF_BODY: [&[&str]; 5] = [&POSITION, &ORIENTATION, &VELOCITY, &ANGULAR_IN_WORLD, &ANGULAR_IN_BODY];

/// Where a recording comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordingSource<'a> {
    /// The file, for messages.
    pub path: &'a str,
    /// The body, whose name may stand before those of its columns.
    pub body: &'a str,
    /// What the file calls its columns.
    pub columns: &'a Columns,
}

impl Recording {
    /// The names that columns of a recording of a body may have; others stand for nothing.
    pub fn claimed_columns(body: &str) -> Vec<String> {
        let of_body = OF_BODY.concat();
        let prefixed = of_body.iter().map(|column| format!("{body}.{column}"));
        let plain = std::iter::once(TIME).chain(of_body.iter().copied());
        plain.map(str::to_owned).chain(prefixed).collect()
    }

    /// Reads a recorded trajectory of one body.
    ///
    /// Columns: `t_s` (increasing), `px_m py_m pz_m`, `qw qx qy qz` (unit quaternion, body to world),
    /// `vx_m_s vy_m_s vz_m_s`, and the angular velocity as `wx_rad_s wy_rad_s wz_rad_s` (world frame) or
    /// `wx_body_rad_s wy_body_rad_s wz_body_rad_s` (body frame). The names of all columns but the time
    /// may be preceded by the body's name and a dot, as in the files of
    /// [`Trajectory::write`](crate::rollout::Trajectory::write). Other columns stand for nothing
    /// ([`unclaimed_columns`](super::unclaimed_columns) finds them).
    ///
    /// # Errors
    /// See [`DataError`]. Positions and orientations that contradict the velocities, and agree with them once they are
    /// read in another order of the quaternion's numbers, in another unit or another frame, are refused.
    pub fn parse(input: impl Read, source: RecordingSource) -> Result<Recording, DataError> {
        let RecordingSource { path, body, columns } = source;
        let claimed = Self::claimed_columns(body);
        let claimed: Vec<&str> = claimed.iter().map(String::as_str).collect();
        let mut table = Table::read(input, path, &claimed, (columns, false))?;
        let (prefix, mut of_body) = (format!("{body}."), OF_BODY.concat());
        // What is called otherwise tells nothing of the others.
        of_body.retain(|column| !columns.contains_key(*column));
        if of_body.iter().all(|column| table.find(column).is_none()) {
            table.without_prefix(&prefix, &of_body);
        }
        if table.find(POSITION[0]).is_none() {
            return Err(table.missing(&format!("{0}` or `{prefix}{0}", POSITION[0])));
        }
        let time = table.require(TIME)?;
        let (p, q, v) =
            (table.require_all(POSITION)?, table.require_all(ORIENTATION)?, table.require_all(VELOCITY)?);
        let in_body = table.all_or_none(ANGULAR_IN_BODY)?;
        let in_world = table.all_or_none(ANGULAR_IN_WORLD)?;
        let (w, is_in_body) = match (in_world, in_body) {
            (Some(w), None) => (w, false),
            (None, Some(w)) => (w, true),
            (None, None) => return Err(table.missing("wx_rad_s` or `wx_body_rad_s")),
            (Some(_), Some(_)) => {
                return Err(DataError::Malformed {
                    path: path.into(),
                    message: "both `wx_rad_s` and `wx_body_rad_s` are given; one of them is allowed".into(),
                });
            }
        };
        table.at_least(2)?;
        let mut states: Vec<RecordedState> = Vec::with_capacity(table.rows.len());
        for (line, row) in &table.rows {
            let vector = |i: [usize; 3]| Vector3::new(row[i[0]], row[i[1]], row[i[2]]);
            let length = q.iter().map(|&i| row[i] * row[i]).sum::<f64>().sqrt();
            if (length - 1.0).abs() > QUATERNION_TOLERANCE {
                let found = format!("a quaternion of length {length}");
                return Err(table.field(*line, "qw", found, "of length 1 within 1 %"));
            }
            let orientation = Quaternion::from_wxyz(row[q[0]], row[q[1]], row[q[2]], row[q[3]]);
            let recorded = vector(w);
            let angular = if is_in_body { orientation.to_matrix() * recorded } else { recorded };
            let velocity = SpatialVelocity::new(angular, vector(v));
            let state = RecordedState {
                time: row[time],
                body: BodyState { position: vector(p), orientation, velocity },
                line: Some(*line),
            };
            if let Some(last) = states.last()
                && state.time <= last.time
            {
                let found = format!("{} after {}", state.time, last.time);
                return Err(table.field(*line, TIME, found, "increasing from line to line"));
            }
            states.push(state);
        }
        if let (Some(wrong), Some((line, _))) = (contradiction(&states, is_in_body), table.rows.first()) {
            return Err(table.field(*line, wrong.column, wrong.found.to_owned(), wrong.allowed));
        }
        Ok(Recording { name: path.into(), states })
    }

    /// Reads a file with a recorded trajectory of the body with this name; see [`Recording::parse`].
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn read(path: &Path, body: &str, columns: &Columns) -> Result<Recording, DataError> {
        let name = path.display().to_string();
        Recording::parse(open(path)?, RecordingSource { path: &name, body, columns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    const HEADER: &str =
        "t_s,px_m,py_m,pz_m,qw,qx,qy,qz,vx_m_s,vy_m_s,vz_m_s,wx_body_rad_s,wy_body_rad_s,wz_body_rad_s\n";

    const SOURCE: RecordingSource =
        RecordingSource { path: "toss.csv", body: "die", columns: &Columns::new() };

    fn recording(rows: &str) -> Result<Recording, DataError> {
        Recording::parse(format!("# made up\n{HEADER}{rows}").as_bytes(), SOURCE)
    }

    fn refused(rows: &str) -> String {
        recording(rows).unwrap_err().to_string()
    }

    #[test]
    fn angular_velocities_are_turned_into_the_world_frame() {
        // A quarter turn about z: the body's x axis is the world's y axis.
        let h = 0.5f64.sqrt();
        let rows = format!("0,1,2,3,{h},0,0,{h},4,5,6,7,8,9\n0.01,1,2,3,{h},0,0,{h},4,5,6,7,8,9\n");
        let in_body = recording(&rows).unwrap();
        assert_relative_eq!(
            in_body.states[0].body.velocity.rotational,
            Vector3::new(-8.0, 7.0, 9.0),
            epsilon = 1e-14
        );
        assert_relative_eq!(in_body.states[1].body.position, Vector3::new(1.0, 2.0, 3.0));
        let header = HEADER.replace("_body", "");
        let in_world = Recording::parse(format!("{header}{rows}").as_bytes(), SOURCE).unwrap();
        assert_relative_eq!(in_world.states[0].body.velocity.rotational, Vector3::new(7.0, 8.0, 9.0));
    }

    #[test]
    fn columns_may_begin_with_the_name_of_the_body() {
        let row = |x: f64| format!("{},1,0,0,0,4,5,6,7,8,9", [x, 2.0, 3.0].map(|p| p.to_string()).join(","));
        let rows = format!("0,{}\n0.1,{}\n", row(1.0), row(1.5));
        let plain = recording(&rows).unwrap();
        let named: Vec<String> = HEADER
            .trim()
            .split(',')
            .map(|c| if c == "t_s" { c.into() } else { format!("die.{c}") })
            .collect();
        let others = "other.px_m,die-other.fx_N";
        let with_others = rows.replace('\n', ",x,8\n");
        let text = format!("{},{others}\n{with_others}", named.join(","));
        let without_lines = |mut recording: Recording| {
            recording.states.iter_mut().for_each(|state| state.line = None);
            recording
        };
        let named = Recording::parse(text.as_bytes(), SOURCE).unwrap();
        assert_eq!(without_lines(named), without_lines(plain));
        let of_other = Recording::parse(text.as_bytes(), RecordingSource { body: "cube", ..SOURCE });
        let message = of_other.unwrap_err().to_string();
        assert!(
            message.starts_with("toss.csv: no column `px_m` or `cube.px_m`; the columns found are"),
            "{message}"
        );
    }

    #[test]
    fn late_velocities_are_moved_to_their_own_times() {
        let row = |t: f64| {
            // Velocities linear in the time that they belong to, 0.05 s before.
            let own = t - 0.05;
            format!("{t},0,0,0,1,0,0,0,{},2,3,{},5,6\n", 10.0 * own, -own)
        };
        let late = recording(&[0.0, 0.1, 0.2, 0.4].map(row).concat()).unwrap();
        let moved = late.clone().with_velocities_delayed_by(0.05);
        for (state, expected) in moved.states.iter().zip([0.0, 0.1, 0.2]) {
            assert_relative_eq!(
                state.body.velocity.translational,
                Vector3::new(10.0 * expected, 2.0, 3.0),
                epsilon = 1e-12
            );
            assert_relative_eq!(state.body.velocity.rotational.x, -expected, epsilon = 1e-12);
        }
        assert_eq!(moved.states[3].body.velocity.translational, late.states[3].body.velocity.translational);
        assert_eq!(late.clone().with_velocities_delayed_by(0.0), late);
    }

    #[test]
    fn bad_recordings_are_refused_with_file_line_and_column() {
        let good = "0.0,1,2,3,1,0,0,0,4,5,6,7,8,9\n";
        assert_eq!(refused(&format!("{good}0.1,1,2\n")), "toss.csv, line 4: 3 fields, the header has 14");
        assert_eq!(
            refused(&format!("{good}{}", good.replace("0.0,", "0.0,x"))),
            "toss.csv, line 4, column `px_m`: `x1`, it must be a finite number"
        );
        assert!(refused(&format!("{good}{}", good.replace("3,1", "NaN,1"))).contains("column `pz_m`: `NaN`"));
        assert!(refused(&format!("{good}{good}")).contains("`t_s`: 0 after 0, it must be increasing"));
        assert!(refused(good).contains("1 rows"));
        let long = good.replace("3,1,", "3,2,");
        assert!(refused(&format!("{long}{long}")).contains("length 2"));
        let parse = |text: String| Recording::parse(text.as_bytes(), SOURCE).unwrap_err().to_string();
        assert!(
            parse(HEADER.replace("qy", "q_y"))
                .starts_with("toss.csv: no column `qy`; the columns found are `t_s`")
        );
        assert!(parse(HEADER.replace("wy_body", "ww_body")).contains("no column `wy_body_rad_s`"));
        assert!(parse(HEADER.replace("_body", "_base")).contains("no column `wx_rad_s` or `wx_body_rad_s`"));
        assert!(parse(HEADER.replace("py_m", "px_m")).contains("`px_m` appears twice"));
        let both = HEADER.replace('\n', ",wx_rad_s,wy_rad_s,wz_rad_s\n");
        assert!(parse(both).contains("one of them is allowed"));
        let missing =
            Recording::read(Path::new("no/such/file.csv"), "die", SOURCE.columns).unwrap_err().to_string();
        assert!(missing.starts_with("no/such/file.csv: cannot be read"));
    }
}
