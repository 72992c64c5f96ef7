//! The vector–Jacobian product of a step is the transpose of its derivative.

use crate::jointed_scene;
use crate::mechanisms::random;
use crate::moving_bodies::{CONTROLS, Pull, Thrust, heap};
use crate::{step_floating, step_scenes};
use nalgebra::{DMatrix, Vector3};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use isobar::contact::{ContactModel, ContactSettings, DissipationModel, SurfaceRepresentation};
use isobar::multibody::tree::JointKind;
use isobar::multibody::{
    AppliedForces, DifferentiatedModel, ForcesIn, Model, ModelGradient, NoForces, Parameter, ParameterError,
    State, seeded,
};
use isobar::scalar::DualArray;
use isobar::step::{
    DerivativeWorkspace, Integrator, SolverTolerance, StepCotangent, StepError, StepJacobian, StepProblem,
    StepWorkspace, Tape, VelocityLevel,
};

const MODELS: [ContactModel; 4] =
    [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];

fn integrators() -> impl Iterator<Item = Integrator> {
    let explicit = [Integrator::SemiImplicitEuler, Integrator::RungeKutta4];
    explicit.into_iter().chain(MODELS.map(Integrator::velocity_level))
}

/// The derivative of a step taken in dual numbers, one direction at a time.
fn jacobian_by_duals(
    integrator: Integrator,
    step: &StepProblem<'_>,
    after: &State,
    parameters: &[Parameter],
) -> StepJacobian {
    type Dual = DualArray<8>;
    let StepProblem {
        model: real_model,
        state: before,
        time,
        time_step,
        applied,
        control: real_control,
        substeps,
        ..
    } = *step;
    let applied = applied.differentiable();
    let column = |model: &Model<Dual>, state: &State<Dual>, control: &[Dual]| {
        let step = StepProblem { model, state, time, time_step, applied, control, substeps, asleep: &[] };
        let found = integrator.step(&step, &mut StepWorkspace::default()).expect("step");
        State::lift(after).difference(&found).iter().map(|x| x.eps[0]).collect::<Vec<f64>>()
    };
    let unit = |values: &[f64], k: usize| -> Vec<Dual> {
        let one = |(i, &x): (usize, &f64)| if i == k { Dual::variable(x, 0) } else { Dual::from(x) };
        values.iter().enumerate().map(one).collect()
    };
    let (model, state) = (Model::lift(real_model), State::<Dual>::lift(before));
    let control: Vec<Dual> = real_control.iter().map(|&c| Dual::from(c)).collect();
    let zeros = vec![0.0; before.tangent_dimension()];
    let matrix = |columns: Vec<Vec<f64>>| {
        DMatrix::from_fn(zeros.len(), columns.len(), |row, column| columns[column][row])
    };
    let by_parameter = |parameter: &Parameter| {
        if matches!(parameter, Parameter::InitialTangent { .. } | Parameter::InitialJoint { .. }) {
            return zeros.clone();
        }
        let value = Dual::variable(parameter.value(real_model).expect("valid"), 0);
        let (model, state) = seeded(real_model, before, &[(*parameter, value)]).expect("valid");
        column(&model, &state, &control)
    };
    StepJacobian {
        by_state: matrix(
            (0..zeros.len()).map(|k| column(&model, &state.moved(&unit(&zeros, k)), &control)).collect(),
        ),
        by_control: matrix(
            (0..control.len()).map(|k| column(&model, &state, &unit(real_control, k))).collect(),
        ),
        by_parameters: matrix(parameters.iter().map(by_parameter).collect()),
    }
}

/// A step with its derivative.
fn with_jacobian(
    integrator: Integrator,
    step: &StepProblem<'_>,
    differentiated: &DifferentiatedModel<'_>,
) -> (State, StepJacobian) {
    let mut tape = Tape::default();
    let after =
        integrator.step_taped(step, differentiated, &mut StepWorkspace::default(), &mut tape).expect("step");
    let jacobian = tape.jacobian(differentiated, step.applied, &mut DerivativeWorkspace::default());
    (after, jacobian.expect("differentiable"))
}

fn parameters_of(model: &Model) -> Vec<Parameter> {
    let mut parameters = Parameter::all(model);
    parameters.extend(Parameter::relaxation_times(model));
    parameters
}

/// Whether the derivative with respect to a parameter may be zero by cancellation of numbers of the
/// order of one: where a joint does not let a body turn, that with respect to its inertia is.
fn cancels(parameter: Option<&Parameter>) -> bool {
    matches!(parameter, Some(Parameter::Inertia { .. } | Parameter::CenterOfMass { .. }))
}

/// The size of the numbers that cancel within the derivatives with respect to a parameter: turned and
/// displaced the same mass resists as before, so that of what the elements of an inertia do, of the
/// order of the velocities over the inertia, little may be left.
fn cancelled(by_parameters: &DMatrix<f64>, parameters: &[Parameter], k: usize) -> f64 {
    let body = |parameter: &Parameter| match parameter {
        Parameter::Inertia { body, .. } | Parameter::CenterOfMass { body, .. } => Some(*body),
        _ => None,
    };
    let Some(own) = body(&parameters[k]) else { return 0.0 };
    let same = parameters
        .iter()
        .zip(by_parameters.column_iter())
        .filter(|(parameter, _)| body(parameter) == Some(own));
    same.map(|(_, column)| column.amax()).fold(1e-2, f64::max)
}

/// The largest difference between wᵀ·J and the vector–Jacobian product of w, relative to the sum of
/// the magnitudes that each number is summed from.
pub fn worst_error(
    integrator: Integrator,
    model: &Model,
    state: &State,
    applied: &dyn ForcesIn<f64>,
    control: &[f64],
    weights: &[f64],
) -> f64 {
    let parameters = parameters_of(model);
    let differentiated = DifferentiatedModel::new(
        model,
        &parameters,
        applied.differentiable().force_dependence(),
        control.len(),
    )
    .expect("valid parameters");
    let problem = StepProblem {
        model,
        state,
        time: 0.3,
        time_step: 1e-3,
        applied,
        control,
        substeps: None,
        asleep: &[],
    };
    let after = integrator.step(&problem, &mut StepWorkspace::default()).expect("step");
    let (mut tape, mut memory) = (Tape::default(), DerivativeWorkspace::default());
    let workspace = &mut StepWorkspace::default();
    let end = integrator.step_taped(&problem, &differentiated, workspace, &mut tape).expect("step");
    assert_eq!(end, after);
    let jacobian = tape.jacobian(&differentiated, applied, &mut memory).expect("step");
    // The tape of the same step made again.
    let mut again = Tape::default();
    integrator.tape(&problem, &after, &differentiated, workspace, &mut again).expect("step");
    let same = again.jacobian(&differentiated, applied, &mut memory).expect("step");
    assert_eq!(same, jacobian, "{integrator:?}");
    let dual = jacobian_by_duals(integrator, &problem, &after, &parameters);
    for (a, b) in [
        (&jacobian.by_state, &dual.by_state),
        (&jacobian.by_control, &dual.by_control),
        (&jacobian.by_parameters, &dual.by_parameters),
    ] {
        for (k, (x, y)) in a.column_iter().zip(b.column_iter()).enumerate() {
            let least =
                if b.ncols() != parameters.len() || !cancels(parameters.get(k)) { 1e-9 } else { 1e-4 };
            let error = (x - y).amax() / y.amax().max(least);
            assert!(error < 1e-9, "{integrator:?}: {error:e}");
        }
    }
    let mut by_state = weights.to_vec();
    let mut by_control = vec![0.0; control.len()];
    let mut by_model = ModelGradient::zero(&differentiated);
    let mut out = StepCotangent { state: &mut by_state, control: &mut by_control, model: &mut by_model };
    tape.vjp(&differentiated, applied, &mut memory, &mut out);
    // The initial state is not the step's: by the parameters that move it there is nothing to find.
    let nothing = vec![0.0; by_state.len()];
    let by_parameters = differentiated.by_parameters(&nothing, &by_model);
    let mut worst: f64 = 0.0;
    for (matrix, found) in [
        (&jacobian.by_state, &by_state),
        (&jacobian.by_control, &by_control),
        (&jacobian.by_parameters, &by_parameters),
    ] {
        assert_eq!(matrix.ncols(), found.len());
        for (k, (column, found)) in matrix.column_iter().zip(found).enumerate() {
            let products = || column.iter().zip(weights).map(|(j, w)| j * w);
            let (expected, size) = (products().sum::<f64>(), products().map(f64::abs).sum::<f64>());
            let of_parameters = matrix.ncols() == parameters.len();
            let least = if of_parameters { cancelled(matrix, &parameters, k).max(1e-12) } else { 1e-12 };
            worst = worst.max((found - expected).abs() / size.max(least));
        }
    }
    worst
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, rng_seed: RngSeed::Fixed(1), ..Default::default() })]

    #[test]
    fn vjp_is_that_of_the_jacobian(
        tangent in prop::collection::vec(-1.0..1.0f64, 36),
        weights in prop::collection::vec(-1.0..1.0f64, 36),
        control in prop::collection::vec(-1.0..1.0f64, CONTROLS),
        polygons in any::<bool>(),
        strain_rate in any::<bool>(),
    ) {
        let settings = ContactSettings {
            surface: if polygons { SurfaceRepresentation::Polygons } else { SurfaceRepresentation::Triangles },
            dissipation_model: if strain_rate { DissipationModel::StrainRate } else { DissipationModel::HuntCrossley },
            ..Default::default()
        };
        let (model, state) = heap(settings);
        let scales = [0.1, 0.004, 1.0, 0.2];
        let moves: Vec<f64> = tangent.iter().enumerate().map(|(i, t)| t * scales[i / 3 % 4]).collect();
        let state = state.moved(&moves);
        for integrator in integrators() {
            let pulled = worst_error(integrator, &model, &state, &Pull, &control, &weights);
            prop_assert!(pulled < 1e-12, "{integrator:?}, pulled: {pulled:e}");
            if matches!(integrator, Integrator::VelocityLevel(_)) {
                // The user's forces enter all of these in the same way.
                continue;
            }
            let thrust = worst_error(integrator, &model, &state, &Thrust, &control[..3], &weights);
            prop_assert!(thrust < 1e-12, "{integrator:?}, thrust: {thrust:e}");
            let free = worst_error(integrator, &model, &state, &NoForces, &[], &weights);
            prop_assert!(free < 1e-12, "{integrator:?}, free: {free:e}");
        }
    }
}

#[test]
fn bodies_with_skirts_have_their_derivatives() {
    let control = [0.1, -0.2, 0.3, 0.4, 0.5];
    let weights: Vec<f64> = (0..36).map(|i| (1.7 * f64::from(i)).sin()).collect();
    for surface in [SurfaceRepresentation::Polygons, SurfaceRepresentation::Triangles] {
        let (model, state) = heap(ContactSettings { surface, ..Default::default() });
        let mut model = model.into_builder();
        for geometry in model.bodies.iter_mut().flat_map(|b| &mut b.geometries) {
            geometry.collider = geometry.collider.with_skirt(0.004).expect("a thin skirt");
        }
        let model = model.build().expect("compliant");
        // Deep, and raised off the ground to where most of what touches are skirts.
        for raised in [0.0, 0.006] {
            let mut state = state.clone();
            for body in &mut state.bodies {
                body.position.z += raised;
            }
            for integrator in integrators() {
                let error = worst_error(integrator, &model, &state, &Pull, &control, &weights);
                assert!(error < 1e-12, "{integrator:?}, raised by {raised}: {error:e}");
            }
        }
    }
}

#[test]
fn bodies_on_joints_have_their_derivatives() {
    let (model, state) =
        step_scenes::gripper(step_scenes::Held::Ball, 0.028, SurfaceRepresentation::Polygons);
    let squeeze = step_scenes::Squeeze(15.0);
    let integrator = Integrator::velocity_level(ContactModel::Lagged);
    let state = step_scenes::settled(&model, state, integrator, 1e-3, 20, &squeeze);
    let weights: Vec<f64> = (0..16).map(|i| (1.7 * f64::from(i)).sin()).collect();
    for integrator in integrators() {
        let error = worst_error(integrator, &model, &state, &squeeze, &[], &weights);
        // The fingers are stiff: forces that cancel round.
        assert!(error < 1e-10, "{integrator:?}: {error:e}");
    }
}

#[test]
fn mechanisms_in_contact_have_their_derivatives() {
    for surface in [SurfaceRepresentation::Polygons, SurfaceRepresentation::Triangles] {
        let (model, start) = jointed_scene::scene(surface);
        let control = [0.02, 0.5, 12.0, 0.01, 0.03, -0.2];
        let weights: Vec<f64> =
            (0..start.tangent_dimension()).map(|i| (1.7 * i as f64 + 0.3).sin()).collect();
        for integrator in integrators() {
            let error = worst_error(integrator, &model, &start, &jointed_scene::Feedback, &control, &weights);
            assert!(error < 1e-11, "{integrator:?}: {error:e}");
            let passive = worst_error(integrator, &model, &start, &NoForces, &control[..4], &weights);
            assert!(passive < 1e-11, "{integrator:?}: {passive:e}");
        }
    }
}

#[test]
fn mechanisms_that_spin_have_their_derivatives() {
    let x = JointKind::Revolute { axis: Vector3::x() };
    let joints = [
        (JointKind::Free, None),
        (x, Some(0)),
        (JointKind::Ball, Some(1)),
        (x, None),
        (JointKind::Ball, Some(3)),
    ];
    // Radians a step of 1 ms; the last are divided.
    for (seed, turn) in [(1, 0.02), (2, 0.4)] {
        let rng = &mut random(seed);
        let model = step_floating::model(rng, &joints);
        let start = step_floating::start(rng, &model, 0.5);
        let fast: Vec<f64> = start.joints.v.iter().map(|v| 1e3 * turn * v).collect();
        let joints = model.mechanism().state(start.joints.q.clone(), fast);
        let state = State::new(vec![], joints);
        let weights: Vec<f64> =
            (0..state.tangent_dimension()).map(|i| (1.7 * i as f64 + 0.3).sin()).collect();
        // The velocity-level kinds have this in common.
        for integrator in integrators().take(4) {
            let error = worst_error(integrator, &model, &state, &NoForces, &[], &weights);
            assert!(error < 1e-10, "{integrator:?}, {turn} rad: {error:e}");
        }
        for integrator in [Integrator::SemiImplicitEuler, Integrator::velocity_level(ContactModel::Lagged)] {
            agrees_with_differences(integrator, &model, &state);
        }
    }
}

/// The derivatives of a step of 1 ms without forces with respect to state and masses against
/// differences.
fn agrees_with_differences(integrator: Integrator, model: &Model, state: &State) {
    let parameters = parameters_of(model);
    let differentiated =
        DifferentiatedModel::new(model, &parameters, NoForces.dependence(), 0).expect("valid parameters");
    let step = |model: &Model, state: &State| {
        integrator.step(&StepProblem::new(model, state, 1e-3), &mut StepWorkspace::default()).expect("step")
    };
    let problem = StepProblem::new(model, state, 1e-3);
    let (after, jacobian) = with_jacobian(integrator, &problem, &differentiated);
    let n = state.tangent_dimension();
    let velocity = after.joints.v.iter().fold(1.0, |most: f64, v| most.max(v.abs()));
    for column in 0..n + parameters.len() {
        let parameter = column.checked_sub(n).map(|i| parameters[i]);
        if matches!(parameter, Some(Parameter::InitialJoint { .. })) {
            continue;
        }
        let exact = match parameter {
            None => jacobian.by_state.column(column),
            Some(_) => jacobian.by_parameters.column(column - n),
        };
        // Of configuration, velocity, and masses of the order of one.
        let h = if parameter.is_none() && column >= n / 2 { 1e-4 * velocity } else { 1e-4 };
        let moved = |h: f64| match parameter {
            None => {
                let mut tangent = vec![0.0; n];
                tangent[column] = h;
                after.difference(&step(model, &state.moved(&tangent)))
            }
            Some(parameter) => {
                let value = parameter.value(model).expect("valid") + h;
                let (model, _) = seeded(model, state, &[(parameter, value)]).expect("valid");
                after.difference(&step(&model, state))
            }
        };
        let [a, b, c, d] = [2.0, 1.0, -1.0, -2.0].map(|k| moved(k * h));
        for row in 0..n {
            let difference = (8.0 * (b[row] - c[row]) - (a[row] - d[row])) / (12.0 * h);
            // Rows of the configuration, and of the velocity.
            let half = if row < n / 2 { exact.rows(0, n / 2) } else { exact.rows(n / 2, n / 2) };
            let error = (difference - exact[row]).abs();
            let allowed = 1e-6 * half.amax().max(if row < n / 2 { 1e-3 } else { velocity });
            assert!(
                error <= allowed,
                "{integrator:?}, column {column} ({parameter:?}), row {row}: {difference} {}",
                exact[row]
            );
        }
    }
}

/// The dampings, spring stiffnesses and gains of joints and actuators.
fn gains(model: &Model) -> Vec<Parameter> {
    let is_gain = |parameter: &Parameter| {
        matches!(
            parameter,
            Parameter::JointDamping { .. }
                | Parameter::SpringStiffness { .. }
                | Parameter::DriveStiffness { .. }
                | Parameter::DriveDamping { .. }
        )
    };
    Parameter::all(model).into_iter().filter(is_gain).collect()
}

#[test]
fn gains_of_joints_and_actuators_are_parameters() {
    let (model, state) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let found: Vec<(String, f64)> =
        gains(&model).iter().map(|i| (i.name(&model), i.value(&model).expect("a parameter"))).collect();
    let expected = [
        ("base.damping", 0.05),
        ("elbow.spring.stiffness", 3.0),
        ("turn.drive.stiffness", 60.0),
        ("turn.drive.damping", 2.0),
        ("bend.drive.damping", 4.0),
        ("push.drive.stiffness", 500.0),
        ("push.drive.damping", 5.0),
    ];
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
    let doubled: Vec<(Parameter, f64)> = gains(&model)
        .into_iter()
        .zip(&found)
        .map(|(parameter, (_, value))| (parameter, 2.0 * value))
        .collect();
    let (changed, _) = seeded(&model, &state, &doubled).expect("valid");
    for (parameter, value) in &doubled {
        assert_eq!(parameter.value(&changed), Ok(*value), "{parameter:?}");
    }
    // A ball joint has no spring, a force no gains, and there are no more joints and actuators.
    let absent = [
        Parameter::SpringStiffness { joint: 2 },
        Parameter::JointDamping { joint: 7 },
        Parameter::DriveStiffness { actuator: 1 },
        Parameter::DriveStiffness { actuator: 2 },
        Parameter::DriveDamping { actuator: 2 },
        Parameter::DriveDamping { actuator: 4 },
    ];
    for parameter in absent {
        assert_eq!(parameter.value(&model), Err(ParameterError::NoSuchParameter(parameter)));
        assert_eq!(
            seeded(&model, &state, &[(parameter, 1.0)]).err(),
            Some(ParameterError::NoSuchParameter(parameter))
        );
    }
    let negative =
        seeded(&model, &state, &[(Parameter::JointDamping { joint: 0 }, -1.0)]).expect_err("negative");
    assert_eq!(negative.to_string(), "base.damping is -1; it must be at least 0 and finite");
}

/// The derivative of a step by state, control and gains, by central differences of fourth order.
#[test]
fn mechanisms_in_contact_agree_with_differences() {
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    let tight = MODELS.map(|model| Integrator::VelocityLevel(VelocityLevel { model, tolerance }));
    let (model, start) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let feedback = &jointed_scene::Feedback;
    let control = [0.02, 0.5, 12.0, 0.01, 0.03, -0.2];
    let parameters = gains(&model);
    let differentiated = DifferentiatedModel::new(&model, &parameters, feedback.dependence(), control.len())
        .expect("valid parameters");
    for integrator in [Integrator::SemiImplicitEuler, Integrator::RungeKutta4].into_iter().chain(tight) {
        let problem = StepProblem { time: 0.3, ..StepProblem::new(&model, &start, 1e-3).under(feedback) };
        let step = |model: &Model, state: &State, control: &[f64]| {
            let moved = StepProblem { model, state, control, ..problem };
            integrator.step(&moved, &mut StepWorkspace::default()).expect("step")
        };
        let problem = StepProblem { control: &control, ..problem };
        let (after, jacobian) = with_jacobian(integrator, &problem, &differentiated);
        let n = start.tangent_dimension();
        for column in 0..n + control.len() + parameters.len() {
            let parameter = column.checked_sub(n + control.len()).map(|i| parameters[i]);
            let value = parameter.map_or(0.0, |parameter| parameter.value(&model).expect("valid"));
            let moved = |h: f64| {
                let (mut tangent, mut control) = (vec![0.0; n], control);
                let changed = match parameter {
                    Some(parameter) => seeded(&model, &start, &[(parameter, value + h)]).expect("valid").0,
                    None => model.clone(),
                };
                if column < n {
                    tangent[column] = h;
                } else if parameter.is_none() {
                    control[column - n] += h;
                }
                after.difference(&step(&changed, &start.moved(&tangent), &control))
            };
            let h = match (column < n, parameter) {
                (true, _) => 2e-7,
                (false, None) => 1e-4,
                (false, Some(_)) => 1e-3,
            };
            let [a, b, c, d] = [2.0, 1.0, -1.0, -2.0].map(|k| moved(k * h));
            let exact = match (column < n, parameter) {
                (true, _) => jacobian.by_state.column(column),
                (false, None) => jacobian.by_control.column(column - n),
                (false, Some(_)) => jacobian.by_parameters.column(column - n - control.len()),
            };
            // Beyond its largest effort a drive does not follow its command.
            let size = exact.amax().max(1e-4);
            for row in 0..n {
                let difference = (8.0 * (b[row] - c[row]) - (a[row] - d[row])) / (12.0 * h);
                let error = (difference - exact[row]).abs() / size;
                assert!(
                    error < 1e-6,
                    "{integrator:?}, column {column}, row {row}: {difference} {}",
                    exact[row]
                );
            }
        }
    }
}

#[test]
fn touching_flush_and_at_rest_all_derivatives_are_finite() {
    for (name, surface) in
        [("triangles", SurfaceRepresentation::Triangles), ("polygons", SurfaceRepresentation::Polygons)]
    {
        // A stack whose boxes lie flat on each other, in mesh planes, without slip.
        for depth in [0.0, 1e-9, 1e-4] {
            let (model, state) = step_scenes::flat_stack(depth, surface);
            for integrator in integrators() {
                let error = |matrix: &DMatrix<f64>| matrix.iter().filter(|x| !x.is_finite()).count();
                let mut parameters = parameters_of(&model);
                parameters.extend(Parameter::places(&model));
                parameters.extend(Parameter::vertices(&model, 0, 0));
                parameters.extend(Parameter::extents(&model, 0, 0));
                let differentiated = DifferentiatedModel::new(&model, &parameters, NoForces.dependence(), 0)
                    .expect("valid parameters");
                let problem = StepProblem::new(&model, &state, 1e-3);
                let (after, jacobian) = with_jacobian(integrator, &problem, &differentiated);
                assert!(after.is_finite());
                let bad = error(&jacobian.by_state) + error(&jacobian.by_parameters);
                assert_eq!(bad, 0, "{integrator:?}, {name}, depth {depth}");
            }
        }
    }
}

#[test]
fn steps_with_fewer_control_values_than_commands_are_refused() {
    let (model, state) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let expected = model.command_dimension();
    for integrator in [
        Integrator::SemiImplicitEuler,
        Integrator::RungeKutta4,
        Integrator::velocity_level(ContactModel::Lagged),
    ] {
        let control = vec![0.0; expected - 1];
        let problem = StepProblem { control: &control, ..StepProblem::new(&model, &state, 1e-3) };
        let refused = integrator.step(&problem, &mut StepWorkspace::default());
        let found = control.len();
        assert_eq!(refused.unwrap_err(), StepError::Control { found, expected });
    }
}
