//! Derivatives with respect to where joints are and where their axes point, and to the length of steps with joints.

use crate::jointed_scene;
use isobar::contact::{ContactModel, SurfaceRepresentation};
use isobar::multibody::{Model, Parameter, State};
use isobar::optimize::objective::{CostTerm, Deviation, Objective, Quantity, Target, When};
use isobar::rollout::{
    Checkpoints, Controls, GaussNewton, HalfSquares, Rollout, SimulationSettings, loss_gradient,
    loss_gradient_forward, trajectory_gradient,
};
use isobar::step::{ControlledMethod, ErrorControlled, Integrator, SolverTolerance, VelocityLevel};
use nalgebra::Vector3;

/// The frames and axes of all joints, and the length of steps.
fn parameters(model: &Model) -> Vec<Parameter> {
    let is_of_joint = |p: &Parameter| matches!(p, Parameter::JointFrame { .. } | Parameter::JointAxis { .. });
    Parameter::places(model).into_iter().filter(is_of_joint).chain([Parameter::TimeStep]).collect()
}

/// Where bodies are and how fast they move at the end, and what they are pushed with on the way.
fn objective(model: &Model) -> Objective {
    let body = |name: &str| model.body_index(name).expect("a body");
    let term = |quantity, weight: f64, when| CostTerm {
        quantity,
        target: Target::constant(Vector3::new(0.2, -0.1, 0.3)),
        weight: Vector3::new(1.0, 2.0, 0.5) * weight,
        deviation: Deviation::Both,
        when,
    };
    let contact = |on, from| Quantity::ContactForce { on: body(on), from: body(from), expressed_in: None };
    let terms = vec![
        term(Quantity::Position { body: body("hand"), relative_to: None }, 3.0, When::End),
        term(Quantity::Velocity { body: body("weight"), relative_to: None }, 3.0, When::End),
        term(Quantity::AngularVelocity { body: body("ball"), relative_to: None }, 1.0, When::End),
        term(contact("ball", "left"), 1.0, When::Running),
        term(contact("right", "ball"), 1.0, When::Running),
    ];
    Objective::new(model, model.command_dimension(), terms).expect("it fits")
}

/// Every kind of step, solved as tightly as it can be.
pub(crate) fn integrators() -> Vec<Integrator> {
    let tolerance = SolverTolerance { relative: 1e-13, max_iterations: 200 };
    let velocity_level = |model| VelocityLevel { model, tolerance };
    let all = [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];
    let mut integrators: Vec<Integrator> =
        all.map(|model| Integrator::VelocityLevel(velocity_level(model))).into();
    let lagged = velocity_level(ContactModel::Lagged);
    for method in [ControlledMethod::Extrapolated(lagged), ControlledMethod::Radau] {
        integrators.push(Integrator::ErrorControlled(ErrorControlled { method, accuracy: 1e-3 }));
    }
    integrators.extend([Integrator::SemiImplicitEuler, Integrator::RungeKutta4]);
    integrators
}

#[test]
fn the_adjoint_forward_mode_and_differences_agree() {
    let (model, start) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let objective = objective(&model);
    let (loss, parameters) = (HalfSquares(&objective), parameters(&model));
    assert!(parameters.len() > 50);
    let steps = 2;
    let controls: Vec<f64> = (0..steps).flat_map(|i| [0.1, 0.2, 11.0 + i as f64, -0.3]).collect();
    let controls = Controls::from_values(4, controls).expect("whole rows");
    for (number, integrator) in integrators().into_iter().enumerate() {
        let settings = SimulationSettings { integrator, time_step: 5e-4 };
        let until = 5e-4 * steps as f64;
        let rollout = Rollout::new(&model, &start, settings, until).with_controls(&controls);
        // Substeps are held, as derivatives take them.
        let substeps = rollout.find_substeps().expect("runs");
        let rollout = match integrator.is_error_controlled() {
            true => rollout.holding(&substeps),
            false => rollout,
        };
        let adjoint = loss_gradient(&rollout, &loss, &parameters, Checkpoints::All).expect("runs");
        let forward = loss_gradient_forward(&rollout, &loss, &parameters).expect("runs");
        let size = adjoint.by_parameters.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        assert!(size > 1e-3, "{integrator:?}: nothing follows the joints");
        for (i, (x, y)) in adjoint.by_parameters.iter().zip(&forward.by_parameters).enumerate() {
            let off = (x - y).abs() / x.abs().max(1e-6 * size);
            assert!(off < 1e-7, "{integrator:?}: {:?}: {x} and {y}", parameters[i]);
        }
        // Differences of other parameters for each kind of step.
        let last = parameters.len() - 1;
        for i in (number..last).step_by(16).chain([last]) {
            let parameter = &parameters[i];
            let value = parameter.value(&model).expect("there");
            let at = |h: f64| {
                let model = model.with_parameters(&[(*parameter, value + h)]).expect("valid");
                let rollout = Rollout { model: &model, ..rollout };
                GaussNewton::new(rollout, &objective, &[]).expect("runs").value()
            };
            let h = 1e-6;
            let found = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            let claimed = adjoint.by_parameters[i];
            let noise = 1e-12 * adjoint.value / h;
            let off = (claimed - found).abs() - noise;
            assert!(
                off < 1e-4 * claimed.abs().max(1e-3 * size),
                "{integrator:?}: {parameter:?}: {claimed} {found}"
            );
        }
    }
}

/// What hangs on a joint that is moved moves with it, and nothing follows a turn of an axis about itself.
#[test]
fn shifts_carry_and_turns_about_the_axis_do_nothing() {
    let (model, start) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let base = model.mechanism().joint_index("base").expect("a joint");
    let axis = |axis| Parameter::JointAxis { joint: base, axis };
    let moved = |parameter, value| model.with_parameters(&[(parameter, value)]).expect("valid");
    let hand = model.body_index("hand").expect("a body");
    let position = |model: &Model, state: &State| {
        let mut frames = Vec::new();
        model.body_frames(state, &mut frames);
        frames[hand].pose.translation
    };
    let before = position(&model, &start);
    let shifted = moved(Parameter::JointFrame { joint: base, axis: 4 }, 0.25);
    assert!((position(&shifted, &start) - before - Vector3::y() * 0.25).norm() < 1e-15);
    // The axis of the base, in W, is z turned by 0.02 about x.
    let direction = Vector3::new(0.0, -0.02_f64.sin(), 0.02_f64.cos());
    let values: Vec<(Parameter, f64)> = (0..3).map(|k| (axis(k), 0.3 * direction[k])).collect();
    let same = model.with_parameters(&values).expect("valid");
    assert!((position(&same, &start) - before).norm() < 1e-14);
    // Where the joint is at 0, what it carries stays.
    let mut neutral = start.clone();
    let q = model.mechanism().joints()[base].q.start;
    let there = neutral.joints.q[q];
    assert!(there != 0.0);
    neutral.joints.q[q] = 0.0;
    let tilted = moved(axis(1), 0.3);
    assert!((position(&tilted, &neutral) - position(&model, &neutral)).norm() < 1e-14);
    assert!((position(&tilted, &start) - before).norm() > 1e-5);
    // A simulation in dual numbers says so too.
    let settings = SimulationSettings { integrator: Integrator::RungeKutta4, time_step: 1e-3 };
    let controls = Controls::zeros(1, 4);
    let rollout = Rollout::new(&model, &start, settings, 1e-3).with_controls(&controls);
    let all = [axis(0), axis(1), axis(2)];
    let found = trajectory_gradient(&rollout, &all).expect("runs").derivatives;
    let along = &found[1] * nalgebra::DVector::from_column_slice(direction.as_slice());
    assert!(along.amax() < 1e-10 * found[1].amax(), "{}", along.amax());
}

#[test]
fn joints_that_are_not_there_are_refused() {
    let (model, _) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let count = model.mechanism().joints().len();
    let wrist = (0..count).find(|&j| !model.mechanism().joints()[j].kind.is_spherical()).expect("a joint");
    for parameter in [
        Parameter::JointFrame { joint: count, axis: 0 },
        Parameter::JointFrame { joint: 0, axis: 6 },
        Parameter::JointAxis { joint: wrist, axis: 3 },
    ] {
        assert!(parameter.value(&model).is_err(), "{parameter:?}");
    }
    let ball = (0..count).find(|&j| model.mechanism().joints()[j].kind.is_spherical()).expect("a wrist");
    assert!(Parameter::JointAxis { joint: ball, axis: 0 }.value(&model).is_err());
}
