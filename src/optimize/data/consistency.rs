//! Whether a recorded motion agrees with itself: velocities with what they should be the derivatives of.
//!
//! A file in another convention (quaternions as x, y, z, w, millimetres, degrees, milliseconds) is a motion that no
//! parameters explain, and a fit of it ends somewhere all the same. Recorded positions and velocities say the same
//! twice, so that most such mistakes show before anything is simulated.

use nalgebra::Vector3;

use super::recorded_state::RecordedState;
use crate::spatial::{Quaternion, rotation_between};

/// A mistake is named only where what is read is wrong by at least this part of the motion …
const WRONG: f64 = 0.3;

/// … and read otherwise it agrees to within this part.
const RIGHT: f64 = 0.15;

/// Samples further apart than this rotation, in rad, say nothing of how the body turned between them.
const LARGEST_TURN: f64 = 1.0;

/// Fewest pairs of samples that tell a mistake from chance.
const FEWEST_PAIRS: usize = 4;

/// What is wrong with a recorded motion.
pub(super) struct Contradiction {
    /// The column that names it.
    pub column: &'static str,
    /// What was found.
    pub found: &'static str,
    pub allowed: &'static str,
}

/// Sums over the pairs of successive samples of products of a displacement and the velocity times the interval.
#[derive(Clone, Copy, Default)]
struct Agreement {
    displacement_squared: f64,
    product: f64,
    velocity_squared: f64,
}

impl Agreement {
    fn add(&mut self, displacement: &Vector3<f64>, expected: &Vector3<f64>) {
        self.displacement_squared += displacement.norm_squared();
        self.product += displacement.dot(expected);
        self.velocity_squared += expected.norm_squared();
    }

    /// The part of the motion that is not `factor` times what the velocities say.
    fn error(&self, factor: f64) -> f64 {
        let motion = factor * factor * self.velocity_squared;
        let square = self.displacement_squared - 2.0 * factor * self.product + motion;
        // The larger of both motions, so that neither a body at rest nor one with no velocities seems wrong by much.
        let scale = self.displacement_squared.max(motion);
        if scale > 0.0 { (square.max(0.0) / scale).sqrt() } else { 0.0 }
    }
}

/// The mean velocity of a pair of samples times their interval.
fn expected(pair: &[RecordedState], velocity: impl Fn(&RecordedState) -> Vector3<f64>) -> Vector3<f64> {
    (velocity(&pair[0]) + velocity(&pair[1])) * (0.5 * (pair[1].time - pair[0].time))
}

/// The numbers of a quaternion in the order x, y, z, w, read as w, x, y, z.
fn reordered(q: &Quaternion) -> Quaternion {
    Quaternion::from_wxyz(q.v.z, q.w, q.v.x, q.v.y)
}

fn conjugate(q: &Quaternion) -> Quaternion {
    Quaternion { w: q.w, v: -q.v }
}

/// Another way to read the orientations or the angular velocities.
struct Reading {
    orientation: fn(&Quaternion) -> Quaternion,
    /// Whether the other frame is meant than the columns name.
    other_frame: bool,
    /// What a displacement is as a multiple of what the numbers of the velocity say.
    factor: f64,
    /// The column that is wrong; `None` for that of angular velocities.
    column: Option<&'static str>,
    found: &'static str,
    allowed: &'static str,
}

fn as_read(q: &Quaternion) -> Quaternion {
    *q
}

/// What the columns say.
const AS_READ: Reading =
    Reading { orientation: as_read, other_frame: false, factor: 1.0, column: None, found: "", allowed: "" };

const READINGS: [Reading; 4] = [
    Reading {
        orientation: reordered,
        other_frame: false,
        factor: 1.0,
        column: Some("qw"),
        found: "the orientations turn as the angular velocities say only if `qw`, `qx`, `qy`, `qz` hold x, y, z, w",
        allowed: "w, x, y, z",
    },
    Reading {
        orientation: conjugate,
        other_frame: false,
        factor: 1.0,
        column: Some("qw"),
        found: "the orientations turn as the angular velocities say only if the quaternions rotate world to body",
        allowed: "a rotation of body to world (with the signs of x, y, z changed)",
    },
    Reading {
        orientation: as_read,
        other_frame: true,
        factor: 1.0,
        column: None,
        found: "the orientations turn as the angular velocities say only if those are in the other frame",
        allowed: "in W as `wx_rad_s`, or in the body's frame as `wx_body_rad_s`",
    },
    Reading {
        orientation: as_read,
        other_frame: false,
        factor: std::f64::consts::PI / 180.0,
        column: None,
        found: "the orientations turn as the angular velocities say only if those are in degrees per second",
        allowed: "in rad/s",
    },
];

/// How the rotations between samples agree with angular velocities that were read in W or in the body's frame.
fn agreement_of_rotation(states: &[RecordedState], in_body: bool, reading: &Reading) -> (Agreement, usize) {
    let (mut sum, mut pairs) = (Agreement::default(), 0);
    for pair in states.windows(2) {
        let turned = [&pair[0], &pair[1]].map(|state| (reading.orientation)(&state.body.orientation));
        // In W; in the body's frame it is the same vector turned back.
        let turn = rotation_between(&turned[0], &turned[1]);
        let in_body_now = in_body != reading.other_frame;
        let turn = if in_body_now { turned[0].to_matrix().transpose() * turn } else { turn };
        // What the file says: angular velocities in the body's frame were turned into W as the orientations were read.
        let said = |state: &RecordedState| match in_body {
            true => state.body.orientation.to_matrix().transpose() * state.body.velocity.rotational,
            false => state.body.velocity.rotational,
        };
        let expected = expected(pair, said);
        if expected.norm() * reading.factor < LARGEST_TURN && turn.norm() < LARGEST_TURN {
            sum.add(&turn, &expected);
            pairs += 1;
        }
    }
    (sum, pairs)
}

/// The part of the rotation that angular velocities do not say; `None` where too few samples are near to each other.
fn error_of_rotation(states: &[RecordedState], in_body: bool, reading: &Reading) -> Option<f64> {
    let (sum, pairs) = agreement_of_rotation(states, in_body, reading);
    (pairs >= FEWEST_PAIRS).then(|| sum.error(reading.factor))
}

/// The mistake in orientations or angular velocities, if they contradict each other and agree when read otherwise.
fn wrong_rotation(states: &[RecordedState], in_body: bool) -> Option<Contradiction> {
    // Where samples are too far apart as they were read they may still be near as they were meant.
    if error_of_rotation(states, in_body, &AS_READ).is_some_and(|error| error < WRONG) {
        return None;
    }
    let error = |reading| error_of_rotation(states, in_body, reading);
    let rated = READINGS.iter().filter_map(|reading| Some((error(reading)?, reading)));
    let (error, best) = rated.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let angular = if in_body { "wx_body_rad_s" } else { "wx_rad_s" };
    let column = best.column.unwrap_or(angular);
    (error < RIGHT).then_some(Contradiction { column, found: best.found, allowed: best.allowed })
}

/// The mistake in units of positions, velocities or times.
fn wrong_translation(states: &[RecordedState]) -> Option<Contradiction> {
    let mut sum = Agreement::default();
    for pair in states.windows(2) {
        sum.add(
            &(pair[1].body.position - pair[0].body.position),
            &expected(pair, |state| state.body.velocity.translational),
        );
    }
    if states.len() <= FEWEST_PAIRS || sum.error(1.0) < WRONG {
        return None;
    }
    const UNITS: [(f64, &str, &str, &str); 4] = [
        (
            1e3,
            "px_m",
            "positions change 1000 times as fast as the velocities say: they seem to be in mm",
            "in m",
        ),
        (
            1e2,
            "px_m",
            "positions change 100 times as fast as the velocities say: they seem to be in cm",
            "in m",
        ),
        (
            1e-3,
            "vx_m_s",
            "velocities are 1000 times those of the positions: they seem to be in mm/s, or times in ms",
            "in m/s, and times in s",
        ),
        (
            1e-2,
            "vx_m_s",
            "velocities are 100 times those of the positions: they seem to be in cm/s",
            "in m/s",
        ),
    ];
    let unit = UNITS.into_iter().find(|(factor, ..)| sum.error(*factor) < RIGHT)?;
    let (_, column, found, allowed) = unit;
    Some(Contradiction { column, found, allowed })
}

/// What a recorded motion contradicts itself in, if it is a mistake with a name; `in_body` says that its angular
/// velocities were read in the body's frame. Recordings that only are noisy have none.
pub(super) fn contradiction(states: &[RecordedState], in_body: bool) -> Option<Contradiction> {
    wrong_translation(states).or_else(|| wrong_rotation(states, in_body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multibody::BodyState;
    use crate::spatial::SpatialVelocity;
    use proptest::prelude::*;

    /// A flight with a steady spin, sampled every 5 ms.
    fn flight(
        velocity: Vector3<f64>,
        spin: Vector3<f64>,
        start: &Quaternion,
        noise: f64,
    ) -> Vec<RecordedState> {
        let at = |k: u32| {
            let time = 0.005 * f64::from(k);
            let wobble = Vector3::new(f64::from(k * 7 % 5) - 2.0, f64::from(k * 3 % 5) - 2.0, 1.0) * noise;
            let fall = Vector3::new(0.0, 0.0, -9.81);
            RecordedState {
                time,
                body: BodyState {
                    position: velocity * time + fall * (0.5 * time * time) + wobble * 2e-5,
                    orientation: start.rotated_by(&(spin * time + wobble * 1e-4)),
                    velocity: SpatialVelocity::new(spin, velocity + fall * time),
                },
                line: None,
            }
        };
        (0..40).map(at).collect()
    }

    fn told(states: &[RecordedState], in_body: bool) -> Option<String> {
        contradiction(states, in_body).map(|c| format!("{}: {}, {}", c.column, c.found, c.allowed))
    }

    fn changed(states: &[RecordedState], change: impl Fn(&mut RecordedState)) -> Vec<RecordedState> {
        let mut states = states.to_vec();
        states.iter_mut().for_each(change);
        states
    }

    /// As a reader makes it of a file that holds other numbers in the columns of the quaternion, with angular
    /// velocities in the body's frame.
    fn misread(states: &[RecordedState], reading: fn(&Quaternion) -> Quaternion) -> Vec<RecordedState> {
        changed(states, |state| {
            let in_body = state.body.orientation.to_matrix().transpose() * state.body.velocity.rotational;
            state.body.orientation = reading(&state.body.orientation);
            state.body.velocity.rotational = state.body.orientation.to_matrix() * in_body;
        })
    }

    /// The inverse of `reordered`: x, y, z, w in the places of w, x, y, z.
    fn written_last(q: &Quaternion) -> Quaternion {
        Quaternion::from_wxyz(q.v.x, q.v.y, q.v.z, q.w)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn mistakes_are_named_and_good_recordings_pass(
            v in prop::array::uniform3(-1.0..1.0f64),
            axis in prop::array::uniform3(-1.0..1.0f64),
            speed in 2.0..15.0f64,
            turn in prop::array::uniform3(-2.0..2.0f64),
            noise in 0.0..1.0f64,
        ) {
            let axis = Vector3::from(axis);
            prop_assume!(axis.norm() > 0.2 && Vector3::from(v).norm() > 0.3);
            let start = Quaternion::identity().rotated_by(&Vector3::from(turn));
            let states = flight(Vector3::from(v), axis.normalize() * speed, &start, noise);
            for in_body in [false, true] {
                prop_assert_eq!(told(&states, in_body), None);
            }
            let names = |states: &[RecordedState], in_body, what: &str| {
                let told = told(states, in_body).unwrap_or_default();
                prop_assert!(told.contains(what), "{} is not told of: {}", what, told);
                Ok(())
            };
            // Quaternions read in another way turn as fast, about another axis, which may be near the right one by chance.
            for (wrong, in_body, what) in [
                (misread(&states, written_last), true, "hold x, y, z, w"),
                (changed(&states, |s| s.body.orientation = written_last(&s.body.orientation)), false, "hold x, y, z, w"),
                (misread(&states, conjugate), true, "world to body"),
            ] {
                if error_of_rotation(&wrong, in_body, &AS_READ).is_some_and(|error| error > WRONG) {
                    names(&wrong, in_body, what)?;
                }
            }
            names(&changed(&states, |s| s.body.position *= 1e3), false, "in mm")?;
            names(&changed(&states, |s| s.body.velocity.translational *= 1e3), false, "in mm/s, or times in ms")?;
            names(&changed(&states, |s| s.time *= 1e3), false, "times in ms")?;
            names(&changed(&states, |s| s.body.velocity.rotational *= 180.0 / std::f64::consts::PI), true, "in degrees")?;
        }
    }

    #[test]
    fn velocities_in_the_other_frame_are_told_of_where_the_frames_differ() {
        let start = Quaternion::identity().rotated_by(&Vector3::new(1.5, 0.3, -0.4));
        let states = flight(Vector3::new(1.0, 0.0, 0.0), Vector3::new(0.5, 3.0, 4.0), &start, 0.0);
        // In the body's frame, read as in W.
        let wrong = changed(&states, |s| {
            s.body.velocity.rotational =
                s.body.orientation.to_matrix().transpose() * s.body.velocity.rotational;
        });
        assert!(told(&wrong, false).unwrap().contains("in the other frame"));
    }

    #[test]
    fn rest_and_few_samples_say_nothing() {
        let still = flight(Vector3::zeros(), Vector3::zeros(), &Quaternion::identity(), 1.0);
        let still = changed(&still, |s| {
            s.body.velocity.translational = Vector3::zeros();
            s.body.position = Vector3::new(0.0, 0.0, s.time * 1e-9);
        });
        assert_eq!(told(&still, true), None);
        let short = flight(Vector3::x(), Vector3::x(), &Quaternion::identity(), 0.0);
        assert_eq!(told(&changed(&short[..4], |s| s.body.position *= 1e3), true), None);
    }
}
