//! What impulses along normals do, and the velocities along normals that go with them.
//!
//! A distance δ changes over a step by ∫ Wᵀ ẋ, with the wrench W(s) of a unit force along the normal with the bodies on their
//! way, 0 ≤ s ≤ 1, and their velocities, which are constant: those of free bodies are u and v, and bodies turn by s δt u. With
//!
//! > W̄ = ∫ W(s) ds
//!
//! δt W̄ᵀ v is the change of the distance exactly, so that an impulse p ⟂ δ that acts along W̄ does the work
//! p (δ − δ₀)/δt = −p δ₀/δt: none on what rests or rolls, and none that adds energy unless the features overlapped before
//! the step (δ₀ < 0). Along W at the end of the step, as the papers have it, it does up to ½ δt u² r p on a point at r. The
//! moment on a body is taken in its axes, and turned with it: that does the same work, as u is the same in all of them, and
//! leaves a body that turns about the normal its moment as it is at the end, as in the papers' equations.
//!
//! Edges over edges and circles have W at the end: their distance has kinks on the way, where edges are parallel and where a circle
//! is level (as of a cylinder that stands before the step and tilts in it), and derivatives would be those of a jump.

use nalgebra::{Matrix3, Vector3};

use super::data::{Contact, Place, StepData};
use super::kinematics::Kinematics;
use super::row::Row;
use crate::multibody::tree::Workspace;
use crate::scalar::Scalar;
use crate::spatial::{RigidTransform, mean_rotation_of, rotation_exponential};

/// Times and weights of Gauss's rule on 0 to 1: the error of the change of a distance is its seventh derivative over two
/// million, which is of the order of the turn to the seventh where features are flat.
const RULE: [(f64, f64); 3] =
    [(0.112_701_665_379_258_31, 5.0 / 18.0), (0.5, 4.0 / 9.0), (0.887_298_334_620_741_7, 5.0 / 18.0)];

/// The bodies at one time during the step.
struct Underway<T> {
    weight: T,
    /// What is left of the step, s.
    left: T,
    /// For each body of the model its pose, its centre of mass if it is free, and the turn that is left.
    bodies: Vec<(RigidTransform<T>, Vector3<T>, Matrix3<T>)>,
    links: Option<Box<Workspace<T>>>,
}

impl<T: Scalar> Underway<T> {
    fn at(data: &StepData<T>, kinematics: &Kinematics<T>, (time, weight): (f64, f64)) -> Self {
        let links =
            data.joints.as_ref().map(|joints| Box::new(joints.links(&kinematics.of_joints, data.dt, time)));
        let left = data.dt * (1.0 - time);
        let body = |(body, (place, pose)): (usize, (&Place<T>, &RigidTransform<T>))| match (
            place,
            &data.joints,
            &links,
        ) {
            (Place::Free(_), ..) => {
                let (velocity, center) = kinematics.motion(body);
                let turn = rotation_exponential(&(velocity.rotational * left));
                let back = turn.transpose();
                let center_then = center - velocity.translational * left;
                let origin = center_then + back * (pose.translation - center);
                (RigidTransform::new(back * pose.rotation, origin), center_then, turn)
            }
            (Place::Link(link), Some(joints), Some(links)) => {
                let pose = links.body_pose(&joints.mechanism, *link);
                (pose, pose.translation, Matrix3::identity())
            }
            _ => (*pose, pose.translation, Matrix3::identity()),
        };
        let bodies = data.places.iter().zip(&kinematics.poses).enumerate().map(body).collect();
        Self { weight: T::from(weight), left, bodies, links }
    }

    /// Adds the wrench of a contact at this time.
    fn add(&self, data: &StepData<T>, of_joints: &[T], contact: &Contact<T>, row: &mut Row<T>) {
        let bodies = data.patches[contact.patch].bodies;
        let [a, b] = bodies.map(|body| &self.bodies[body]);
        let gap = contact.gap.at(&a.0, &b.0);
        let force = gap.normal * self.weight;
        for (side, (_, center, turn)) in [a, b].into_iter().enumerate() {
            row.add_to_body(side, &(turn * (gap.point - center).cross(&force)), &force);
        }
        if let (Some(along), Some(joints), Some(links)) = (row.along_joints(), &data.joints, &self.links) {
            let mut forces = vec![T::from(0.0); along.len()];
            let still = Vector3::from_element(T::from(0.0));
            data.add_generalized_forces(links, bodies, &gap.point, [&force, &still], &mut forces);
            joints.turn(of_joints, self.left, &mut forces);
            along.iter_mut().zip(forces).for_each(|(a, f)| *a += f);
        }
    }
}

/// The mean of a normal in the axes of a body that turns under it, at the end of the step, and which normal that is.
type MeanNormal<T> = (usize, Vector3<T>);

/// The row of the normal of a ball of a free body over a plane that does not move: the normal turns in the body's axes alone,
/// and the integral has a closed form, which is that of the last contact if they share their normal. `None` of other contacts.
fn row_over_plane<T: Scalar>(
    data: &StepData<T>,
    kinematics: &Kinematics<T>,
    k: usize,
    last: &mut Option<MeanNormal<T>>,
) -> Option<Row<T>> {
    let contact = &data.contacts[k];
    let bodies = data.patches[contact.patch].bodies;
    let (side, radius) = contact.gap.ball_over_plane()?;
    let (ball, plane) = (bodies[side], bodies[1 - side]);
    if !matches!((&data.places[ball], &data.places[plane]), (Place::Free(_), Place::Fixed(..))) {
        return None;
    }
    let gap = &kinematics.gaps[k];
    let (velocity, center) = kinematics.motion(ball);
    let up = if side == 0 { gap.normal } else { -gap.normal };
    let arm = gap.point + up * (radius + gap.distance * T::from(0.5)) - center;
    let (_, mean) = match last {
        Some(mean) if mean.0 == contact.normal_of => *mean,
        _ => {
            *last.insert((contact.normal_of, mean_rotation_of(&(velocity.rotational * data.dt), &gap.normal)))
        }
    };
    Some(Row::of_moments(data, bodies, |_| arm.cross(&mean), &gap.normal))
}

/// The rows of normals of contacts.
pub(super) fn normal_rows<T: Scalar>(
    data: &StepData<T>,
    kinematics: &Kinematics<T>,
    contacts: impl Iterator<Item = usize>,
) -> Vec<Row<T>> {
    let (mut underway, mut mean) = (None, None);
    let row = |k: usize| {
        if !data.contacts[k].gap.is_of_point() {
            return row_at_end(data, kinematics, k);
        }
        row_over_plane(data, kinematics, k, &mut mean)
            .unwrap_or_else(|| mean_row(data, kinematics, &mut underway, k))
    };
    contacts.map(row).collect()
}

/// The row of the distance at the end of the step.
pub(super) fn row_at_end<T: Scalar>(data: &StepData<T>, kinematics: &Kinematics<T>, k: usize) -> Row<T> {
    let (bodies, gap) = (data.patches[data.contacts[k].patch].bodies, &kinematics.gaps[k]);
    Row::of_force(data, kinematics, bodies, &gap.point, &gap.normal)
}

/// The row of the normal of any contact of a point, with the bodies underway as they are first needed.
fn mean_row<T: Scalar>(
    data: &StepData<T>,
    kinematics: &Kinematics<T>,
    underway: &mut Option<[Underway<T>; 3]>,
    k: usize,
) -> Row<T> {
    let underway = underway.get_or_insert_with(|| RULE.map(|time| Underway::at(data, kinematics, time)));
    let contact = &data.contacts[k];
    let mut row = Row::zero(data, data.patches[contact.patch].bodies);
    underway.iter().for_each(|time| time.add(data, &kinematics.of_joints, contact, &mut row));
    row
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::data::{Patch, Scales};
    use super::super::dynamics::{BodyStep, tests::any_body};
    use super::*;
    use crate::contact::{GapKind, LocalGap, kinds_of_gaps};
    use crate::scalar::DualArray;
    use crate::spatial::{SpatialForce, SpatialVelocity};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    const STEP: f64 = 0.01;

    /// Two free bodies, or one over a body that does not move, with a gap between them.
    pub fn data(rng: &mut ChaCha8Rng, gap: LocalGap, is_fixed: [bool; 2]) -> StepData {
        let mut body = || {
            let (mass, mut body) = any_body(rng);
            // About as they are in the tests of gaps, so that these have a distance.
            body.position.z += 0.7;
            BodyStep::new(&mass, &Vector3::zeros(), &body, &SpatialForce::zero(), STEP)
        };
        let mut bodies = Vec::new();
        let places = is_fixed.map(|is_fixed| {
            if is_fixed {
                let pose = RigidTransform::from_translation([0.1, 0.0, -0.2]);
                return Place::Fixed(pose, SpatialVelocity::zero());
            }
            bodies.push(body());
            Place::Free(bodies.len() - 1)
        });
        let axes = [Vector3::x(), Vector3::y()];
        let patch = Patch { pair: 0, bodies: [0, 1], friction: 0.3, ellipsoid: [1.0; 3], axes };
        StepData {
            dt: STEP,
            scales: Scales { velocity: 1.0, approach: 1.0, impulse: 1.0, length: 1.0 },
            bodies,
            joints: None,
            places: places.to_vec(),
            contacts: vec![Contact { patch: 0, normal_of: 0, gap }],
            patches: vec![patch],
        }
    }

    #[test]
    fn velocities_along_normals_are_changes_of_distances() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (mut seen, mut worst) = ([0; 8], [0.0_f64; 8]);
        for (case, kind) in kinds_of_gaps().into_iter().enumerate() {
            for flipped in [false, true] {
                for is_fixed in [[false, false], [true, false], [false, true]] {
                    for _ in 0..10 {
                        let gap = LocalGap { kind: kind.clone(), flipped };
                        let data = data(&mut rng, gap, is_fixed);
                        let v: Vec<f64> = (0..data.velocity_count())
                            .map(|k| rng.random_range(-1.0..1.0) * if k % 6 < 3 { 1.0 } else { 0.1 })
                            .collect();
                        let kinematics = data.kinematics(&v);
                        let before = data.kinematics(&vec![0.0; v.len()]).gaps[0];
                        let change = kinematics.gaps[0].distance - before.distance;
                        let row = mean_row(&data, &kinematics, &mut None, 0);
                        let off = (STEP * row.dot(&v) - change).abs();
                        if before.normal.dot(&kinematics.gaps[0].normal) < 0.99 {
                            // Balls that pass each other and edges that are nearly parallel have normals that turn
                            // by any angle.
                            continue;
                        }
                        worst[case] = worst[case].max(off);
                        seen[case] += 1;
                    }
                }
            }
        }
        println!("{seen:?} {worst:?}");
        assert!(seen.iter().all(|seen| *seen > 20), "{seen:?}");
        assert!(worst.iter().all(|worst| *worst < 1e-9), "{worst:?}");
    }

    #[test]
    fn the_closed_form_over_a_plane_is_the_integral() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let kind = kinds_of_gaps().swap_remove(0);
        for flipped in [false, true] {
            for _ in 0..50 {
                let is_fixed = if flipped { [true, false] } else { [false, true] };
                let real = data(&mut rng, LocalGap { kind: kind.clone(), flipped }, is_fixed);
                let data = real.map(DualArray::<6>::from);
                let v: Vec<_> = (0..6).map(|k| DualArray::variable(rng.random_range(-4.0..4.0), k)).collect();
                let kinematics = data.kinematics(&v);
                let closed = row_over_plane(&data, &kinematics, 0, &mut None).expect("a ball over a plane");
                let mean = mean_row(&data, &kinematics, &mut None, 0);
                for k in 0..6 {
                    let unit: Vec<_> = (0..6).map(|i| DualArray::from(f64::from(i == k))).collect();
                    let off = closed.dot(&unit) - mean.dot(&unit);
                    assert!(off.re.abs() < 1e-13 && off.eps.iter().all(|x| x.abs() < 1e-12), "{off:?}");
                }
            }
        }
    }

    #[test]
    fn contacts_over_one_plane_have_the_rows_that_each_has_alone() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let kind = kinds_of_gaps().swap_remove(0);
        let mut data = data(&mut rng, LocalGap { kind, flipped: false }, [false, true]);
        let mut other = data.contacts[0].clone();
        let GapKind::PointPlane { point, .. } = &mut other.gap.kind else { panic!("a ball over a plane") };
        *point += Vector3::new(0.1, -0.2, 0.05);
        data.contacts.push(other.clone());
        data.contacts.push(Contact { normal_of: 2, ..other });
        let v = [0.3, -2.0, 1.2, 0.4, 0.1, -0.3];
        let kinematics = data.kinematics(&v);
        let rows = normal_rows(&data, &kinematics, 0..3);
        let frames = kinematics.frames(&data, 0..3);
        assert_eq!(frames[1], frames[2]);
        assert_eq!(kinematics.gaps[1].distance, kinematics.gaps[2].distance);
        assert_eq!(kinematics.gaps[1].point, kinematics.gaps[2].point);
        for k in 0..6 {
            let unit: [f64; 6] = std::array::from_fn(|i| f64::from(i == k));
            assert_eq!(rows[1].dot(&unit), rows[2].dot(&unit));
        }
    }

    #[test]
    fn a_body_that_turns_about_the_normal_has_the_moment_at_the_end() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let kind = kinds_of_gaps().swap_remove(0);
        let data = data(&mut rng, LocalGap { kind, flipped: false }, [false, true]);
        let normal = data.kinematics(&[0.0; 6]).gaps[0].normal;
        let v = [normal * 3.0, Vector3::new(0.2, -0.1, 0.3)].map(|v| [v.x, v.y, v.z]).concat();
        let kinematics = data.kinematics(&v);
        let at_end = row_at_end(&data, &kinematics, 0);
        let row = &normal_rows(&data, &kinematics, 0..1)[0];
        for k in 0..6 {
            let unit: [f64; 6] = std::array::from_fn(|i| f64::from(i == k));
            assert!((row.dot(&unit) - at_end.dot(&unit)).abs() < 1e-15);
        }
    }
}
