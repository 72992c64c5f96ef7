//! Free rotation: implicit steps and semi-implicit Euler keep angular momentum to rounding and
//! energy with it, at any turn a step.

use crate::step_scenes::{MODELS, moving};
use isobar::multibody::{Body, MassProperties, MassSource, Model, ModelBuilder, State};
use isobar::spatial::Quaternion;
use isobar::step::{Integrator, StepProblem, StepWorkspace};
use nalgebra::{Matrix3, Vector3};

/// Angular momentum about the centre of mass in W, and the position and velocity of that.
fn motion(model: &Model, state: &State) -> [Vector3<f64>; 3] {
    let (_, _, mass) = model.free_bodies().next().expect("a body");
    let body = &state.bodies[0];
    let r = body.orientation.to_matrix();
    let offset = r * mass.center_of_mass;
    let w = body.velocity.rotational;
    [
        r * mass.inertia * r.transpose() * w,
        body.position + offset,
        body.velocity.translational + w.cross(&offset),
    ]
}

#[test]
fn a_free_body_keeps_momentum_and_energy() {
    let integrators = MODELS.map(Integrator::velocity_level);
    for integrator in integrators.into_iter().chain([Integrator::SemiImplicitEuler]) {
        for center_of_mass in [Vector3::zeros(), Vector3::new(0.02, -0.01, 0.03)] {
            for turn_in_step in [0.06, 0.3, 1.0] {
                let inertia = Matrix3::new(1e-3, 1e-4, -2e-4, 1e-4, 2e-3, 3e-4, -2e-4, 3e-4, 2.7e-3);
                let mass = MassProperties { mass: 1.0, center_of_mass, inertia };
                let spin = Vector3::new(30.0, 30.0, 1.0);
                let dt = turn_in_step / spin.norm();
                let linear = Vector3::new(0.3, 0.1, -0.2);
                let start = moving(Quaternion::identity(), Vector3::zeros(), spin, linear);
                let body = Body::free("body", MassSource::Given(mass), Vec::new()).expect("a valid mass");
                let (bodies, gravity) = (vec![body], Vector3::zeros());
                let model = ModelBuilder { bodies, gravity, ..Default::default() };
                let model = model.build().expect("a valid model");
                let mut state = State { bodies: vec![start], ..State::default() };
                let energy = model.mechanical_energy(&state);
                let [momentum, center, velocity] = motion(&model, &state);
                let mut workspace = StepWorkspace::default();
                let steps = 2000;
                for step in 1..=steps {
                    state = integrator
                        .step(&StepProblem::new(&model, &state, dt), &mut workspace)
                        .expect("a step without forces");
                    let [l, c, v] = motion(&model, &state);
                    let case = format!("{integrator:?}, {turn_in_step} rad a step, step {step}");
                    let rounding = 1e-15 * (10.0 + f64::from(step));
                    assert!((l - momentum).norm() < rounding * momentum.norm(), "{case}: {l} {momentum}");
                    assert!((v - velocity).norm() < rounding * spin.norm(), "{case}: {v} {velocity}");
                    let way = center + velocity * (dt * f64::from(step));
                    // Every step rounds the position.
                    assert!((c - way).norm() < rounding * (1.0 + way.norm()), "{case}: {c} {way}");
                    let change = model.mechanical_energy(&state) / energy - 1.0;
                    assert!(change.abs() < 10.0 * rounding, "{case}: energy changes by {change}");
                }
            }
        }
    }
}
