//! Derivatives with respect to the stiction velocity, the bristle length and the length of steps.

use isobar::contact::{ContactModel, ContactSettings, FrictionRegularization};
use isobar::geometry::Shape;
use isobar::multibody::{Body, BodyState, MassSource, Model, ModelBuilder, Parameter, State, seeded};
use isobar::optimize::identification::parameters_at;
use isobar::optimize::objective::{CostTerm, Deviation, Objective, Quantity, Target, When};
use isobar::rollout::{
    Checkpoints, GaussNewton, HalfSquares, Rollout, SimulationSettings, loss_gradient, loss_gradient_forward,
};
use isobar::scalar::DualArray;
use isobar::spatial::{MassProperties, RigidTransform};
use isobar::step::{Integrator, SolverTolerance, VelocityLevel};
use nalgebra::{Matrix3, Vector3};

use crate::joint_frames::integrators;
use crate::moving_bodies::{compliant, heap, materials};
use crate::own_law::rubber;

/// How fast bodies move at the end, and the forces between them on the way.
fn objective(model: &Model) -> Objective {
    let term = |quantity, weight: f64, when| CostTerm {
        quantity,
        target: Target::constant(Vector3::new(0.02, -0.01, 0.03)),
        weight: Vector3::new(1.0, 2.0, 0.5) * weight,
        deviation: Deviation::Both,
        when,
    };
    let [dumbbell, block, ground] =
        ["dumbbell", "block", "ground"].map(|name| model.body_index(name).expect("a body"));
    let terms = vec![
        term(Quantity::Velocity { body: dumbbell, relative_to: None }, 1.0, When::End),
        term(Quantity::AngularVelocity { body: block, relative_to: None }, 0.1, When::End),
        term(Quantity::ContactForce { on: dumbbell, from: ground, expressed_in: None }, 0.1, When::Running),
    ];
    Objective::new(model, 0, terms).expect("it fits")
}

/// The derivatives of the cost by a sweep backward, by one forward, and by differences.
fn agree(contact: ContactSettings, integrator: Integrator) {
    let (model, start) = heap(contact);
    let (objective, mut parameters) = (objective(&model), Parameter::of_contact(&model));
    assert_eq!(parameters.len(), 1 + usize::from(contact.bristle_length.is_some()));
    parameters.push(Parameter::TimeStep);
    let settings = SimulationSettings { integrator, time_step: 2e-4 };
    let rollout = Rollout::new(&model, &start, settings, 0.001);
    let substeps = rollout.find_substeps().expect("runs");
    let rollout = match integrator.is_error_controlled() {
        true => rollout.holding(&substeps),
        false => rollout,
    };
    let loss = HalfSquares(&objective);
    let adjoint = loss_gradient(&rollout, &loss, &parameters, Checkpoints::All).expect("runs").by_parameters;
    let forward = loss_gradient_forward(&rollout, &loss, &parameters).expect("runs").by_parameters;
    for (i, &parameter) in parameters.iter().enumerate() {
        let name = format!("{integrator:?}, {contact:?}: {}", parameter.name(&model));
        let value = parameter.value(&model).expect("there");
        let at = |h: f64| {
            let model = model.with_parameters(&[(parameter, value + h)]).expect("valid");
            let rollout = Rollout { model: &model, ..rollout };
            GaussNewton::new(rollout, &objective, &[]).expect("runs").value()
        };
        let h = 1e-4 * value;
        let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        let (a, f) = (adjoint[i], forward[i]);
        // SAP's friction is regularized by the bodies' inertia.
        let is_sap =
            matches!(integrator, Integrator::VelocityLevel(VelocityLevel { model: ContactModel::Sap, .. }));
        // But the fall from static to dynamic friction is measured by the stiction velocity.
        assert!(a.abs() > if is_sap { 1e-9 } else { 1e-5 }, "{name}: {a:e}");
        assert!((a - f).abs() <= 1e-9 * f.abs(), "{name}: {a:e}, {f:e}");
        assert!((a - difference).abs() <= 1e-6 * a.abs() + 1e-10 / value, "{name}: {a:e}, {difference:e}");
    }
}

fn tight(model: ContactModel) -> Integrator {
    let tolerance = SolverTolerance { relative: 1e-15, max_iterations: 200 };
    Integrator::VelocityLevel(VelocityLevel { model, tolerance })
}

#[test]
fn every_kind_of_step_follows_the_stiction_velocity_and_its_length() {
    for integrator in integrators() {
        agree(ContactSettings { stiction_velocity: 0.03, ..Default::default() }, integrator);
    }
    let kinds = [Integrator::SemiImplicitEuler, Integrator::RungeKutta4];
    for friction_regularization in [FrictionRegularization::Atan, FrictionRegularization::Stribeck] {
        let contact =
            ContactSettings { friction_regularization, stiction_velocity: 0.03, ..Default::default() };
        kinds.iter().for_each(|&kind| agree(contact, kind));
    }
}

#[test]
fn laws_of_the_users_own_and_bristles_follow_it_too() {
    let own = ContactSettings { stiction_velocity: 0.03, law: Some(rubber()), ..Default::default() };
    for integrator in [Integrator::SemiImplicitEuler, Integrator::RungeKutta4, tight(ContactModel::Tamsi)] {
        agree(own, integrator);
    }
    let bristles = ContactSettings { bristle_length: Some(2e-5), ..own };
    agree(ContactSettings { law: None, ..bristles }, tight(ContactModel::Lagged));
}

/// A box that slides on one of the same footprint: where meshes are aligned, derivatives with respect to all else are the
/// same, to the bit, whether one with respect to the stiction velocity is carried along or not.
#[test]
fn derivatives_at_aligned_meshes_do_not_change_by_their_company() {
    let materials = materials([4e4, 8e4], 1.2);
    let cube = |material| {
        let pose = RigidTransform::identity();
        compliant(&Shape::Box { size: [0.1; 3] }, 0.1, pose, &materials, material)
    };
    let mass =
        MassProperties { mass: 0.4, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() * 7e-4 };
    let upper = Body::free("upper", MassSource::Given(mass), vec![cube(0)]).expect("valid mass");
    let lower = Body::fixed("lower", RigidTransform::identity(), vec![cube(1)]);
    let contact = ContactSettings { stiction_velocity: 0.03, ..Default::default() };
    let builder = ModelBuilder { bodies: vec![upper, lower], materials, contact, ..Default::default() };
    let model = builder.build().expect("compliant");
    let mut start = BodyState::at_rest(&RigidTransform::from_translation([0.0, 0.0, 0.099]));
    start.velocity.translational.x = 0.02;
    let start = State::of_bodies(vec![start]);
    let shift = (Parameter::initial_position(0, 0), DualArray::<8>::variable(0.0, 0));
    let stiction = (Parameter::StictionVelocity, DualArray::variable(0.03, 1));
    for integrator in [Integrator::SemiImplicitEuler, tight(ContactModel::Lagged), tight(ContactModel::Tamsi)]
    {
        let settings = SimulationSettings { integrator, time_step: 2e-4 };
        let [alone, together] = [&[shift][..], &[shift, stiction]].map(|values| {
            let (model, start) = seeded(&model, &start, values).expect("valid");
            let mut states = Rollout::new(&model, &start, settings, 2e-4).simulate().expect("runs").states;
            let velocity = states.pop().expect("an end").bodies[0].velocity;
            [velocity.rotational, velocity.translational]
        });
        let by = |of: &[Vector3<DualArray<8>>; 2], k: usize| -> Vec<f64> {
            of.iter().flat_map(|v| v.iter().map(move |x| x.eps[k])).collect()
        };
        assert_eq!(by(&alone, 0), by(&together, 0), "{integrator:?}");
        assert!(by(&together, 0).iter().any(|x| *x != 0.0) && by(&together, 1).iter().any(|x| *x != 0.0));
    }
}

#[test]
fn they_have_names_in_files_and_only_values_that_can_be() {
    let (model, _) = heap(ContactSettings { bristle_length: Some(1e-5), ..Default::default() });
    let named = |path: &str| parameters_at(&model, path).map_err(|error| error.to_string());
    assert_eq!(named("contact.stiction_velocity"), Ok(vec![Parameter::StictionVelocity]));
    assert_eq!(named("contact.bristle_length"), Ok(vec![Parameter::BristleLength]));
    let error = named("contact.quadrature_order").unwrap_err();
    assert!(error.contains("stiction_velocity"), "{error}");
    let (plain, _) = heap(ContactSettings::default());
    assert!(parameters_at(&plain, "contact.bristle_length").is_err());
    assert!(Parameter::BristleLength.value(&plain).is_err());
    for bad in [0.0, -1e-3, f64::NAN] {
        let error = plain.with_parameters(&[(Parameter::StictionVelocity, bad)]).unwrap_err().to_string();
        assert!(error.contains("contact.stiction_velocity"), "{error}");
    }
    let changed = plain.with_parameters(&[(Parameter::StictionVelocity, 2e-3)]).expect("valid");
    assert_eq!(changed.contact().stiction_velocity, 2e-3);
}
