//! Random mechanisms: branching trees with joints of all kinds.

use isobar::multibody::tree::{
    BodyDescription, BodyForce, JointDescription, JointKind, JointSpring, JointState, Mechanism,
};
use isobar::spatial::{MassProperties, Quaternion, RigidTransform, SpatialForce};
use nalgebra::{Matrix3, Vector3};
use rand::prelude::*;
use rand_chacha::ChaCha8Rng;

/// Random numbers from a seed.
pub fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub fn number(rng: &mut ChaCha8Rng) -> f64 {
    rng.random_range(-1.0..1.0)
}

pub fn numbers(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| number(rng)).collect()
}

pub fn vector(rng: &mut ChaCha8Rng) -> Vector3<f64> {
    Vector3::from_fn(|_, _| number(rng))
}

pub fn quaternion(rng: &mut ChaCha8Rng) -> Quaternion {
    Quaternion::from_wxyz(number(rng), number(rng), number(rng), number(rng))
}

pub fn pose(rng: &mut ChaCha8Rng) -> RigidTransform {
    RigidTransform::new(quaternion(rng).to_matrix(), vector(rng))
}

/// Mass properties of eight random points of mass.
pub fn mass(rng: &mut ChaCha8Rng) -> MassProperties {
    let parts: Vec<_> = (0..8)
        .map(|_| MassProperties {
            mass: rng.random_range(0.05..0.5),
            center_of_mass: vector(rng) * 0.5,
            inertia: Matrix3::zeros(),
        })
        .collect();
    MassProperties::composite(parts).expect("positive mass")
}

fn kind(rng: &mut ChaCha8Rng) -> JointKind {
    let axis = vector(rng).normalize();
    match rng.random_range(0..7) {
        0 => JointKind::Fixed,
        1 | 2 => JointKind::Revolute { axis },
        3 => JointKind::Prismatic { axis },
        4 => JointKind::Planar,
        5 => JointKind::Ball,
        _ => JointKind::Free,
    }
}

/// A mechanism of `count` bodies. With `root` the first joint is of that kind and all other
/// bodies hang on the first; without, any body may hang on the world. Drives with rotors are on
/// every third joint except on those on the world.
pub fn mechanism(rng: &mut ChaCha8Rng, count: usize, root: Option<JointKind>) -> Mechanism {
    let mut bodies = Vec::new();
    let mut joints = Vec::new();
    for i in 0..count {
        let parent = match (i, root) {
            (0, _) => None,
            (_, Some(_)) => Some(rng.random_range(0..i)),
            (_, None) => rng.random_range(0..=i).checked_sub(1),
        };
        let kind = match root {
            Some(root) if i == 0 => root,
            _ => kind(rng),
        };
        bodies.push(BodyDescription { name: format!("body {i}"), mass: Some(mass(rng)) });
        let parent_name = parent.map(|p| format!("body {p}"));
        let mut joint = JointDescription::new(
            format!("joint {i}"),
            kind,
            parent_name.as_deref(),
            format!("body {i}"),
            pose(rng),
        );
        if i % 2 == 1 {
            joint.x_mc = pose(rng);
        }
        if i % 3 == 1 && parent.is_some() {
            joint.rotor_inertia = rng.random_range(0.01..0.3);
            joint.damping = rng.random_range(0.1..1.0);
            if matches!(kind, JointKind::Revolute { .. } | JointKind::Prismatic { .. }) {
                joint.spring = Some(JointSpring { stiffness: rng.random_range(1.0..5.0), rest: number(rng) });
            }
        }
        joints.push(joint);
    }
    Mechanism::new(bodies, joints).expect("a tree")
}

/// A random state, far from the neutral one.
pub fn state(rng: &mut ChaCha8Rng, mechanism: &Mechanism) -> JointState {
    let neutral = mechanism.neutral_state();
    let mut q = neutral.q.clone();
    let delta: Vec<f64> = (0..mechanism.velocity_dimension()).map(|_| rng.random_range(-2.0..2.0)).collect();
    mechanism.move_configuration(&neutral.q, &delta, &mut q);
    mechanism.state(q, numbers(rng, mechanism.velocity_dimension()))
}

/// Forces on some of the bodies, on the last one twice.
pub fn forces(rng: &mut ChaCha8Rng, mechanism: &Mechanism) -> Vec<BodyForce> {
    let count = mechanism.bodies().len();
    (0..count)
        .step_by(2)
        .chain([count - 1, count - 1])
        .map(|body| BodyForce { body, force: SpatialForce::new(vector(rng), vector(rng)) })
        .collect()
}
