//! Which modes contacts have in a softer problem, by sweeps over them (projected Gauss and Seidel).
//!
//! Contacts that give by a hundredth of what a body moves under the same impulse share their load as those that do not give,
//! but for a few that come to carry or cease to. Each sweep solves one contact after the other, its impulse along the normal
//! and its friction in the section of the cone. It finds modes where very many contacts carry, in whose problem rounding hides the
//! way of pivots.

use nalgebra::{Vector2, Vector3};

use super::data::StepData;
use super::equations::DIRECTIONS;
use super::linear::{LinearSolution, LinearSolver};
use super::modes::direction;
use super::normals::normal_rows;
use super::row::Row;

/// How far contacts give under an impulse, in units of the scales.
const COMPLIANCE: f64 = 1e-2;
/// Sweeps over all contacts.
const SWEEPS: usize = 1000;
/// Changes of impulses at which they end, in units of the scale.
const LEAST_CHANGE: f64 = 1e-10;
/// Slip below this part of the velocity scale is none.
const STILL: f64 = 1e-5;

/// A contact in a sweep.
struct Swept {
    rows: [Row; 3],
    responses: [Row; 3],
    /// What the velocities along the rows are besides those of the bodies.
    offsets: [f64; 3],
    friction: f64,
    impulses: [f64; 3],
}

/// The nearest point with |x| + |y| at most `most`, which is at least 0.
fn in_section(v: Vector2<f64>, most: f64) -> Vector2<f64> {
    let size = v.map(f64::abs);
    if size.sum() <= most {
        return v;
    }
    // Both are shortened by the same, the shorter one to 0 at least.
    let by = 0.5 * (size.sum() - most);
    let shorter = size.min();
    let shortened =
        if by <= shorter { size.add_scalar(-by) } else { size.map(|x| if x > shorter { most } else { 0.0 }) };
    Vector2::new(shortened.x.copysign(v.x), shortened.y.copysign(v.y))
}

/// The solution of the softer problem of the contacts that are `used`, with distances as at velocities.
pub(super) fn relaxed(
    data: &StepData,
    used: &[usize],
    frictional: &[usize],
    velocities: &[f64],
    linear: &LinearSolver,
) -> LinearSolution {
    let kinematics = data.kinematics(velocities);
    let impulse = data.scales.impulse;
    let normals = normal_rows(data, &kinematics, used.iter().copied());
    let mut swept: Vec<Swept> = used
        .iter()
        .zip(normals)
        .map(|(&k, normal)| {
            let (patch, gap) = (&data.patches[data.contacts[k].patch], &kinematics.gaps[k]);
            let frame = kinematics.frame(patch, &gap.normal);
            let slip = kinematics.relative_velocity(patch.bodies, &gap.point);
            let along =
                |axis: usize| Row::of_force(data, &kinematics, patch.bodies, &gap.point, &frame[axis]);
            let rows = [normal, along(0), along(1)];
            let value = [gap.distance / data.dt, frame[0].dot(&slip), frame[1].dot(&slip)];
            Swept {
                responses: rows.each_ref().map(|row| linear.response(row)),
                offsets: std::array::from_fn(|i| value[i] - rows[i].dot(velocities)),
                rows,
                friction: patch.friction,
                impulses: [0.0; 3],
            }
        })
        .collect();
    let mut v = linear.free().to_vec();
    let soft = COMPLIANCE * data.scales.velocity / impulse;
    for _ in 0..SWEEPS {
        let mut changed: f64 = 0.0;
        for contact in &mut swept {
            let Swept { rows, responses, offsets, friction, impulses } = contact;
            let along = |i: usize, v: &[f64]| rows[i].dot(v) + offsets[i];
            let own = |i: usize| rows[i].product(&responses[i], 1.0);
            let normal = (impulses[0] - (along(0, &v) + soft * impulses[0]) / (own(0) + soft)).max(0.0);
            changed = changed.max((normal - impulses[0]).abs());
            responses[0].add_to(&mut v, normal - impulses[0]);
            impulses[0] = normal;
            if *friction > 0.0 {
                // One step length for both tangents, so that the nearest point of the section is the right one.
                let largest = own(1).max(own(2));
                let free = Vector2::from_fn(|i, _| impulses[i + 1] - along(i + 1, &v) / largest);
                let next = in_section(free, *friction * normal);
                for i in 0..2 {
                    changed = changed.max((next[i] - impulses[i + 1]).abs());
                    responses[i + 1].add_to(&mut v, next[i] - impulses[i + 1]);
                    impulses[i + 1] = next[i];
                }
            }
        }
        if changed <= LEAST_CHANGE * impulse {
            break;
        }
    }
    let slips = frictional.iter().map(|&position| {
        let Swept { rows, offsets, .. } = &swept[position];
        let slip = [1, 2].map(|i| rows[i].dot(&v) + offsets[i]);
        let slip = slip.map(|x| if x.abs() <= STILL * data.scales.velocity { 0.0 } else { x });
        let frame = [Vector3::x(), Vector3::y(), Vector3::z()];
        let slip = Vector3::new(slip[0], slip[1], 0.0);
        std::array::from_fn::<_, DIRECTIONS, _>(|index| direction(&frame, index).dot(&slip))
    });
    LinearSolution {
        slips: slips.collect(),
        impulses: swept.iter().map(|contact| contact.impulses[0] / impulse).collect(),
        velocities: v,
        ..LinearSolution::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_of_a_section_goes_to_its_nearest_point() {
        let most = 1.0;
        for k in 0..40 {
            let angle = 0.157 * f64::from(k);
            for length in [0.3, 1.0, 2.5] {
                let v = Vector2::new(angle.cos(), angle.sin()) * length;
                let nearest = in_section(v, most);
                assert!(nearest.map(f64::abs).sum() <= most + 1e-12);
                for j in 0..400 {
                    let part = f64::from(j) / 100.0;
                    let (a, b) = (part.fract(), 1.0 - part.fract());
                    let corner = match part as usize {
                        0 => Vector2::new(b, a),
                        1 => Vector2::new(-a, b),
                        2 => Vector2::new(-b, -a),
                        _ => Vector2::new(a, -b),
                    };
                    assert!((v - nearest).norm() <= (v - corner).norm() + 1e-12);
                }
            }
        }
    }
}
