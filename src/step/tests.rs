use approx::assert_relative_eq;
use nalgebra::{Matrix3, Vector3};

use super::{Integrator, RadauOrder, StepError, StepProblem, StepWorkspace, VelocityLevel};
use crate::multibody::{
    AppliedForces, Body, BodyState, Forces, MassProperties, MassSource, Model, ModelBuilder, NoForces, State,
};
use crate::scalar::Scalar;
use crate::spatial::{Quaternion, SpatialVelocity};

/// An asymmetric body whose centre of mass is not its origin.
pub(super) fn top(gravity: Vector3<f64>) -> (Model, State) {
    let inertia = Matrix3::new(0.3, 0.02, -0.01, 0.02, 0.4, 0.03, -0.01, 0.03, 0.6);
    let mass = MassProperties { mass: 1.7, center_of_mass: Vector3::new(0.2, -0.1, 0.3), inertia };
    let body = Body::free("top", MassSource::Given(mass), vec![]).expect("valid mass");
    let model = ModelBuilder { bodies: vec![body], gravity, ..Default::default() };
    let model = model.build().expect("no pairs");
    let state = State::of_bodies(vec![BodyState {
        orientation: Quaternion::from_wxyz(0.4, 0.1, -0.7, 0.3),
        position: Vector3::new(1.0, 2.0, 3.0),
        velocity: SpatialVelocity::new(Vector3::new(1.1, -2.6, 2.0), Vector3::new(0.3, 0.2, 0.1)),
    }]);
    (model, state)
}

fn advance(integrator: Integrator, model: &Model, start: &State, until: f64, steps: usize) -> State {
    let dt = until / steps as f64;
    let mut workspace = StepWorkspace::default();
    let mut state = start.clone();
    for i in 0..steps {
        let (time, applied, control) = (i as f64 * dt, &NoForces, &[]);
        let step = StepProblem {
            model,
            state: &state,
            time,
            time_step: dt,
            applied,
            control,
            substeps: None,
            asleep: &[],
        };
        state = integrator.step(&step, &mut workspace).expect("explicit");
    }
    state
}

pub(super) fn distance(a: &State, b: &State) -> f64 {
    a.difference(b).iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[test]
fn torque_free_top_keeps_energy_and_momentum_at_fourth_order() {
    let (model, start) = top(Vector3::zeros());
    let (energy, momentum) = (model.mechanical_energy(&start), model.angular_momentum(&start));
    let errors = |steps| {
        let end = advance(Integrator::RungeKutta4, &model, &start, 2.0, steps);
        let energy_error: f64 = model.mechanical_energy(&end) - energy;
        (energy_error.abs(), (model.angular_momentum(&end) - momentum).norm())
    };
    let (coarse, fine) = (errors(40), errors(80));
    // These two are kept one order better than the state or at the same order.
    assert!(coarse.0 / fine.0 > 14.0, "energy {} {}", coarse.0, fine.0);
    assert!(coarse.1 / fine.1 > 14.0, "momentum {} {}", coarse.1, fine.1);
    let best = errors(1000);
    assert!(best.0 < 1e-10 * energy && best.1 < 1e-10 * momentum.norm(), "{best:?}");
}

#[test]
fn integrators_have_their_orders() {
    let (model, start) = top(Vector3::new(0.0, 0.0, -9.81));
    let reference = advance(Integrator::RungeKutta4, &model, &start, 1.0, 4000);
    let reference_of_fifth = advance(Integrator::DormandPrince, &model, &start, 1.0, 2000);
    assert!(distance(&reference, &reference_of_fifth) < 1e-11);
    for (integrator, steps, order) in [
        (Integrator::RungeKutta4, 50, 4.0),
        (Integrator::SemiImplicitEuler, 1000, 1.0),
        (Integrator::BogackiShampine, 60, 3.0),
        (Integrator::DormandPrince, 30, 5.0),
        (Integrator::Radau(RadauOrder::First), 1000, 1.0),
        (Integrator::Radau(RadauOrder::Third), 40, 3.0),
        (Integrator::Radau(RadauOrder::Fifth), 15, 5.0),
    ] {
        let error = |n| distance(&reference, &advance(integrator, &model, &start, 1.0, n));
        let measured = (error(steps) / error(2 * steps)).log2();
        assert!((measured - order).abs() < 0.15, "{integrator:?}: order {measured}");
    }
}

#[test]
fn thrown_body_follows_the_parabola() {
    let gravity = Vector3::new(0.5, 0.0, -9.81);
    let (model, start) = top(gravity);
    let center = |s: &State| s.bodies[0].pose() * Vector3::new(0.2, -0.1, 0.3);
    let offset = center(&start) - start.bodies[0].position;
    let velocity = start.bodies[0].velocity.shifted(&offset).translational;
    let parabola = center(&start) + velocity * 0.8 + gravity * 0.32;
    let end = advance(Integrator::RungeKutta4, &model, &start, 0.8, 2000);
    assert_relative_eq!(center(&end), parabola, epsilon = 1e-11);
    // Semi-implicit Euler is off by exactly g·t·dt/2, rotation or not.
    let end = advance(Integrator::SemiImplicitEuler, &model, &start, 0.8, 100);
    assert_relative_eq!(center(&end), parabola + gravity * (0.8 * 0.008 / 2.0), epsilon = 1e-12);
}

/// A spring from the body's origin to W's origin, with a force that depends on time.
struct Spring;

impl AppliedForces for Spring {
    fn apply<T: Scalar>(&self, _: &Model<T>, state: &State<T>, time: f64, _: &[T], forces: &mut Forces<T>) {
        for (body, force) in state.bodies.iter().zip(&mut forces.bodies) {
            force.translational -= body.position * T::from(4.0);
            force.translational.x += T::from((3.0 * time).sin());
        }
    }
}

#[test]
fn applied_forces_enter_at_their_time() {
    let inertia = Matrix3::from_diagonal(&Vector3::new(0.3, 0.4, 0.6));
    let mass = MassProperties { mass: 1.0, center_of_mass: Vector3::zeros(), inertia };
    let body = Body::free("bob", MassSource::Given(mass), vec![]).expect("valid mass");
    let model = ModelBuilder { bodies: vec![body], gravity: Vector3::zeros(), ..Default::default() };
    let model = model.build().expect("no pairs");
    let mut state = State::of_bodies(vec![BodyState::at_rest(&crate::spatial::RigidTransform::identity())]);
    let (steps, until) = (400, 1.0_f64);
    let dt = until / f64::from(steps);
    let mut workspace = StepWorkspace::default();
    for i in 0..steps {
        let (model, time, applied) = (&model, f64::from(i) * dt, &Spring);
        let step = StepProblem {
            model,
            state: &state,
            time,
            time_step: dt,
            applied,
            control: &[],
            substeps: None,
            asleep: &[],
        };
        state = Integrator::RungeKutta4.step(&step, &mut workspace).expect("explicit");
    }
    // x'' + 4x = sin 3t from rest: x = (3/10) sin 2t − (1/5) sin 3t.
    let expected = 0.3 * (2.0 * until).sin() - 0.2 * (3.0 * until).sin();
    assert_relative_eq!(state.bodies[0].position.x, expected, epsilon = 1e-10);
}

#[test]
fn steps_without_a_positive_finite_length_are_refused() {
    let (model, state) = top(Vector3::zeros());
    for integrator in [
        Integrator::SemiImplicitEuler,
        Integrator::RungeKutta4,
        Integrator::VelocityLevel(VelocityLevel::default()),
    ] {
        for dt in [0.0, -1e-3, f64::NAN, f64::INFINITY] {
            let error = integrator.step(&StepProblem::new(&model, &state, dt), &mut StepWorkspace::default());
            assert!(matches!(error, Err(StepError::TimeStep(found)) if found.to_bits() == dt.to_bits()));
        }
    }
}
