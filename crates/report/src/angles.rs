//! Orientations as curves: angles of roll, pitch and yaw that do not jump.

use std::f64::consts::{PI, TAU};

use isobar::spatial::Quaternion;

/// The angles of an orientation, R = R_z(yaw) R_y(pitch) R_x(roll), rad, that are nearest to those before: whole
/// turns are counted, and of the two triples that mean the same the nearer one is taken, so that curves go on
/// through half a turn, and through a quarter turn of pitch.
pub(super) fn continued_rpy(orientation: &Quaternion, before: Option<[f64; 3]>) -> [f64; 3] {
    let angles @ [roll, pitch, yaw] = orientation.to_rpy();
    let Some(before) = before else { return angles };
    let near = |angles: [f64; 3]| -> [f64; 3] {
        std::array::from_fn(|k| angles[k] + TAU * ((before[k] - angles[k]) / TAU).round())
    };
    let distance = |angles: &[f64; 3]| angles.iter().zip(&before).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let (one, other) = (near(angles), near([roll + PI, PI - pitch, yaw + PI]));
    if distance(&other) < distance(&one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;
    use isobar::spatial::{rotation_exponential, rotation_from_rpy};
    use nalgebra::Vector3;

    #[test]
    fn curves_go_on_through_turns_and_mean_the_orientation() {
        for axis in [Vector3::x(), Vector3::y(), Vector3::z(), Vector3::new(0.2, 0.9, -0.1).normalize()] {
            let mut before = None;
            for i in 0..200 {
                let rotation = rotation_exponential(&(axis * (0.07 * f64::from(i))));
                let angles = continued_rpy(&Quaternion::from_matrix(&rotation), before);
                let again = rotation_from_rpy(angles[0], angles[1], angles[2]);
                assert_relative_eq!(again, rotation, epsilon = 1e-7);
                if let Some(before) = before {
                    let step = angles
                        .iter()
                        .zip(before)
                        .map(|(a, b): (&f64, f64)| (a - b).abs())
                        .fold(0.0, f64::max);
                    assert!(step < 0.75, "about {axis}: {before:?} {angles:?}");
                }
                before = Some(angles);
            }
        }
    }
}
