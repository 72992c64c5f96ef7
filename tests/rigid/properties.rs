//! What every step keeps: nothing overlaps, nothing pulls, energy does not grow.

use isobar::geometry::Shape;
use isobar::multibody::{Body, BodyState, MassProperties, MassSource, Model, State};
use isobar::spatial::{RigidTransform, SpatialVelocity, rotation_exponential};
use isobar::step::{ComplementarityMethod, Integrator, StepProblem, StepWorkspace};
use nalgebra::{Matrix3, Vector3};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::hotz::shape;
use crate::scenes::on_plane;

/// How far a point of a body is from its centre of mass at most, m.
const REACH: f64 = 0.2;

fn vector(rng: &mut ChaCha8Rng, size: f64) -> Vector3<f64> {
    Vector3::from_fn(|_, _| rng.random_range(-size..size))
}

/// A body over the plane, about to touch it, in any orientation and motion.
pub fn any_state(rng: &mut ChaCha8Rng, count: usize) -> State {
    let body = |i: usize, rng: &mut ChaCha8Rng| {
        let place = vector(rng, 0.05) + Vector3::new(0.0, 0.0, 0.2 + 0.35 * i as f64);
        let pose = RigidTransform::new(rotation_exponential(&vector(rng, 1.5)), place);
        let velocity = SpatialVelocity::new(vector(rng, 2.0), vector(rng, 0.5));
        BodyState { velocity, ..BodyState::at_rest(&pose) }
    };
    State::of_bodies((0..count).map(|i| body(i, rng)).collect())
}

fn energy(model: &Model, state: &State) -> f64 {
    let of = |(body, s): (usize, &BodyState)| {
        let mass = model.body_mass(body).expect("a mass");
        let rotation = s.pose().rotation;
        let offset = rotation * mass.center_of_mass;
        let v = s.velocity.shifted(&offset).translational;
        let w = rotation.transpose() * s.velocity.rotational;
        let height = (s.position + offset).z;
        0.5 * mass.mass * v.norm_squared() + 0.5 * w.dot(&(mass.inertia * w)) + mass.mass * 9.81 * height
    };
    state.bodies.iter().enumerate().map(of).sum()
}

fn shapes() -> Vec<Vec<Shape>> {
    let cuboid = Shape::Box { size: [0.3, 0.2, 0.1] };
    let ball = Shape::Sphere { radius: 0.12 };
    let capsule = Shape::Capsule { radius: 0.08, length: 0.2 };
    let cylinder = Shape::Cylinder { radius: 0.12, length: 0.2 };
    vec![vec![cuboid], vec![ball], vec![capsule], vec![cylinder]]
}

/// A body whose mass is not where its shape is.
fn off_center(of: Shape, name: &str) -> Body {
    let body = shape(of, 1.0, name);
    let axes = rotation_exponential(&Vector3::new(0.4, -0.9, 0.3));
    let inertia = axes * Matrix3::from_diagonal(&Vector3::new(0.004, 0.009, 0.011)) * axes.transpose();
    let mass = MassProperties { mass: 1.0, center_of_mass: Vector3::new(0.02, -0.01, 0.03), inertia };
    Body::free(name, MassSource::Given(mass), body.geometries).expect("a valid body")
}

/// Energy is kept or lost in every step, whatever the inertia and the centre of mass, of bodies that touch a plane with balls or
/// corners. Rims are circles whose impulses act as they are at the end: the point that touches at r moves less than its
/// velocity there by half of the turn, so that an impulse adds at most this work.
#[test]
fn nothing_pulls_and_energy_does_not_grow() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut workspace = StepWorkspace::default();
    let (mut contacts, mut steps, mut kept) = (0, 0, 0);
    let rate = |state: &State| state.bodies[0].velocity.rotational.norm();
    for shapes in shapes() {
        let bodies = shapes.iter().enumerate().map(|(i, s)| off_center(*s, &format!("{i}"))).collect();
        let model = on_plane(bodies, 0.4, [1.0, 1.0, 0.05], 9.81);
        for method in [ComplementarityMethod::Ecp, ComplementarityMethod::Lcp, ComplementarityMethod::Ncp] {
            for motion in 0..4 {
                let mut state = any_state(&mut rng, shapes.len());
                let time_step: f64 = [0.005, 0.02][motion % 2];
                for step in 0..(0.5 / time_step).round() as usize {
                    let (before, turned) = (energy(&model, &state), rate(&state));
                    let problem = StepProblem::new(&model, &state, time_step);
                    let after = Integrator::Complementarity(method).step(&problem, &mut workspace);
                    state =
                        after.unwrap_or_else(|error| panic!("{shapes:?} {method:?} step {step}: {error}"));
                    let gained = energy(&model, &state) - before;
                    let mut allowed = 1e-10;
                    if matches!(shapes[..], [Shape::Cylinder { .. }]) {
                        let turned = turned.max(rate(&state));
                        let pushed: f64 = workspace.rigid_contacts().iter().map(|c| c.normal_impulse).sum();
                        allowed += 0.5 * time_step * turned.powi(2) * REACH * pushed;
                    }
                    assert!(
                        gained <= allowed,
                        "{shapes:?} {method:?} motion {motion} step {step}: {gained:e}, {allowed:e}"
                    );
                    steps += 1;
                    kept += usize::from(gained > -1e-10 && !workspace.rigid_contacts().is_empty());
                    for contact in workspace.rigid_contacts() {
                        contacts += 1;
                        assert!(contact.normal_impulse > 0.0);
                        let friction = contact.friction_impulse.norm();
                        assert!(friction <= 0.4 * contact.normal_impulse * (1.0 + 1e-9));
                        assert!(contact.friction_impulse.dot(&contact.normal).abs() < 1e-12);
                    }
                }
            }
        }
    }
    println!("{steps} steps, {contacts} contacts, {kept} steps that touch and keep their energy");
    assert!(contacts > 1000, "{contacts}");
    // What rests or rolls loses none.
    assert!(kept > 100, "{kept}");
}

#[test]
fn cylinders_that_rock_on_their_rims_converge() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut workspace = StepWorkspace::default();
    let cylinder = Shape::Cylinder { radius: 0.12, length: 0.2 };
    let model = on_plane(vec![shape(cylinder, 1.3, "body")], 0.4, [1.1, 0.8, 0.05], 9.81);
    let starts: Vec<State> = (0..12).map(|_| any_state(&mut rng, 1)).collect();
    for method in [ComplementarityMethod::Ecp, ComplementarityMethod::Lcp, ComplementarityMethod::Ncp] {
        for (motion, start) in starts.iter().enumerate() {
            let mut state = start.clone();
            for step in 0..60 {
                let problem = StepProblem::new(&model, &state, 0.005);
                let after = Integrator::Complementarity(method).step(&problem, &mut workspace);
                state =
                    after.unwrap_or_else(|error| panic!("{method:?} motion {motion} step {step}: {error}"));
            }
        }
    }
}

/// Where patches are about to slip, or have just stopped, steps by `ecp` are solved as a whole.
#[test]
fn boxes_that_fall_on_each_other_are_stepped_as_a_whole() {
    let sizes = [[0.1, 0.08, 0.06], [0.04, 0.05, 0.2], [0.3, 0.3, 0.03]];
    let mut rng = ChaCha8Rng::seed_from_u64(103);
    let mut place = |i: usize| {
        let [shift, turn] = [0.03, 0.05].map(|size| vector(&mut rng, size));
        let velocity = SpatialVelocity::new(vector(&mut rng, 2.0), vector(&mut rng, 0.3));
        let middle = Vector3::new(shift.x, shift.y, 0.2 + 0.22 * i as f64);
        let pose = RigidTransform::new(rotation_exponential(&turn), middle);
        BodyState { velocity, ..BodyState::at_rest(&pose) }
    };
    let mut state = State::of_bodies((0..4).map(&mut place).collect());
    let bodies = (0..4).map(|i| shape(Shape::Box { size: sizes[i % 3] }, 1.0, &format!("box {i}"))).collect();
    let model = on_plane(bodies, 0.5, [1.0, 1.0, 0.05], 9.81);
    let mut workspace = StepWorkspace::default();
    for step in 0..250 {
        let problem = StepProblem::new(&model, &state, 2e-3);
        let after = Integrator::Complementarity(ComplementarityMethod::Ecp).step(&problem, &mut workspace);
        state = after.unwrap_or_else(|error| panic!("step {step}: {error}"));
        assert!(workspace.substeps().is_none(), "step {step} was divided");
    }
}
