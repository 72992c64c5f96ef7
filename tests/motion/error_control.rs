//! Error-controlled steps: errors that follow the accuracy, derivatives with the lengths of the substeps held,
//! and messages where no substep is short enough.

use nalgebra::Vector3;
use rayon::prelude::*;

use crate::jointed_scene;
use crate::moving_bodies::{CONTROLS, Pull, heap};
use crate::step_scenes::ball_on_box;

use isobar::check::{CheckSettings, Verdict, check_scene};
use isobar::contact::{ContactModel, ContactSettings, MaterialParameter, SurfaceRepresentation};
use isobar::multibody::{AppliedForces, Forces, Model, NoForces, Parameter, State, seeded};
use isobar::rollout::{
    Checkpoints, Controls, Loss, Moment, Rollout, SimulationError, SimulationSettings, loss_gradient,
    loss_gradient_forward, trajectory_gradient,
};
use isobar::scalar::Scalar;
use isobar::spatial::SpatialVelocity;
use isobar::step::{
    ControlledMethod, ErrorControlled, Integrator, SolverTolerance, StepError, SubstepLimit, VelocityLevel,
};

fn controlled(method: ControlledMethod, accuracy: f64) -> Integrator {
    Integrator::ErrorControlled(ErrorControlled { method, accuracy })
}

fn lagged() -> VelocityLevel {
    VelocityLevel { model: ContactModel::Lagged, ..Default::default() }
}

/// Solved until nothing improves: differences are told from derivatives far below the tolerance.
fn exact(model: ContactModel) -> VelocityLevel {
    VelocityLevel { model, tolerance: SolverTolerance { relative: 1e-15, max_iterations: 200 } }
}

/// The methods, with models that have a minimum and one that has none.
fn methods() -> [ControlledMethod; 6] {
    [
        ControlledMethod::Radau,
        ControlledMethod::BogackiShampine,
        ControlledMethod::DormandPrince,
        ControlledMethod::VelocityLevel(exact(ContactModel::Tamsi)),
        ControlledMethod::Extrapolated(exact(ContactModel::Lagged)),
        ControlledMethod::Extrapolated(exact(ContactModel::Sap)),
    ]
}

/// The state at the end, and the number of substeps.
fn end_of(model: &Model, state: &State, integrator: Integrator, until: f64) -> (State, usize) {
    let settings = SimulationSettings { integrator, time_step: 0.01 };
    let (mut last, mut substeps) = (state.clone(), 0);
    let rollout = Rollout::new(model, state, settings, until);
    let outcome = rollout.for_each(|report| {
        substeps += report.taken.as_ref().and_then(|t| t.substeps()).map_or(0, |s| s.substeps.len());
        last.clone_from(report.state);
    });
    outcome.expect("simulates");
    (last, substeps)
}

/// The largest difference of positions and of directions in two states of one body.
fn distance(a: &State, b: &State) -> f64 {
    let of_bodies = a.difference(b);
    of_bodies[3..6].iter().map(|x| x * x).sum::<f64>().sqrt()
        + 0.05 * of_bodies[..3].iter().map(|x| x.abs()).sum::<f64>()
}

/// A ball of Drake's benchmark that comes down turning, slides, and begins to roll.
#[test]
fn the_error_of_extrapolated_steps_falls_with_the_accuracy_over_five_decades() {
    let (model, mut state) = ball_on_box(0.07, SurfaceRepresentation::Triangles);
    let mut builder = model.into_builder();
    builder.contact.quadrature_order = Some(1);
    let model = builder.build().expect("a model");
    state.bodies[0].position.z = 0.052;
    state.bodies[0].velocity.translational.z = -0.3;
    let until = 0.12;
    let (reference, _) = end_of(&model, &state, controlled(ControlledMethod::DormandPrince, 1e-11), until);
    let accuracies = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7];
    let found: Vec<(f64, usize)> = accuracies
        .par_iter()
        .map(|&accuracy| {
            let method = controlled(ControlledMethod::Extrapolated(lagged()), accuracy);
            let (end, substeps) = end_of(&model, &state, method, until);
            (distance(&reference, &end), substeps)
        })
        .collect();
    println!("{found:?}");
    for (accuracy, (error, _)) in accuracies.iter().zip(&found) {
        assert!(*error < 15.0 * accuracy, "{accuracy:e}: {error:e}");
    }
    let slope = (found[0].0 / found[5].0).log10() / 5.0;
    assert!((slope - 1.0).abs() < 0.2, "{slope}");
    // Of order 2: ten times as accurate for about three times as many substeps.
    let growth = (found[5].1 as f64 / found[2].1 as f64).log10() / 3.0;
    assert!((growth - 0.5).abs() < 0.1, "{growth}");
}

/// Where bodies are, how they are turned, and what was spent.
struct Task;

impl Loss for Task {
    fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let effort = moment.control.iter().fold(T::from(0.0), |sum, &u| sum + u * u * 0.3);
        (effort + moment.state.bodies[0].position.z) * moment.dt
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let point = |i: usize| {
            let body = moment.state.bodies[i];
            body.orientation.to_matrix() * Vector3::new(0.3, 0.5, -0.2).map(T::from)
                + body.position
                + body.velocity.translational * T::from(0.01)
        };
        let last = moment.state.bodies.len() - 1;
        let of_joints = moment.state.joints.q.iter().fold(T::from(0.0), |sum, &q| sum * 0.7 + q);
        point(0).dot(&point(0)) + point(last).x + of_joints
    }
}

fn controls(dimension: usize, steps: usize) -> Controls {
    let value = |i: usize| 0.3 * (0.37 * i as f64).sin() + 0.1;
    Controls::from_values(dimension, (0..steps * dimension).map(value).collect()).expect("whole rows")
}

/// The adjoint against the forward sweep and dual numbers, and some derivatives against differences, of a
/// rollout whose steps have several substeps.
fn check_gradients(rollout: &Rollout<'_>, parameters: &[Parameter], every: usize) {
    let integrator = rollout.settings.integrator;
    let lengths = rollout.find_substeps().expect("simulates");
    assert!(lengths.iter().any(|list| list.len() > 1), "{integrator:?}: {lengths:?}");
    let adjoint = loss_gradient(rollout, &Task, parameters, Checkpoints::All).expect("simulates");
    let forward = loss_gradient_forward(rollout, &Task, parameters).expect("simulates");
    let again = loss_gradient(rollout, &Task, parameters, Checkpoints::Binomial(2)).expect("simulates");
    assert_eq!(again.by_parameters, adjoint.by_parameters, "{integrator:?}");
    assert_eq!(again.by_controls, adjoint.by_controls, "{integrator:?}");
    assert!((adjoint.value - forward.value).abs() < 1e-13 * adjoint.value.abs());
    for ((parameter, a), f) in parameters.iter().zip(&adjoint.by_parameters).zip(&forward.by_parameters) {
        // What is zero but for rounding has no digits.
        let largest = a.abs().max(f.abs());
        let error = if largest > 1e-15 { (a - f).abs() / largest } else { 0.0 };
        assert!(error < 1e-9, "{integrator:?} {}: {a:e} {f:e}", parameter.name(rollout.model));
    }
    for (a, f) in [
        (&adjoint.by_initial[..], &forward.by_initial[..]),
        (adjoint.by_controls.values(), forward.by_controls.values()),
    ] {
        let largest = f.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let error = a.iter().zip(f).fold(0.0, |most: f64, (a, f)| most.max((a - f).abs()));
        assert!(error < 1e-9 * largest, "{integrator:?}: {error:e} of {largest:e}");
    }
    // With the lengths held: as functions of the state they jump.
    let held = rollout.holding(&lengths);
    let both = [held, *rollout].map(|rollout| rollout.simulate().expect("simulates"));
    assert!(both[0] == both[1], "{integrator:?}: held substeps give the same bits");
    let n = rollout.initial.tangent_dimension();
    let value = |tangent: &[f64]| {
        let initial = rollout.initial.moved(tangent);
        let moved = Rollout { initial: &initial, ..held };
        let end = moved.simulate().expect("simulates").states.pop().expect("the end");
        let moment = Moment {
            step: 0,
            time: 0.0,
            dt: 0.0,
            model: rollout.model,
            state: &end,
            control: &[],
            contacts: &Default::default(),
            step_end: None,
        };
        Task.terminal(&moment)
    };
    let terminal = {
        struct Terminal;
        impl Loss for Terminal {
            fn running<T: Scalar>(&self, _: &Moment<T>) -> T {
                T::from(0.0)
            }
            fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
                Task.terminal(moment)
            }
        }
        loss_gradient(rollout, &Terminal, &[], Checkpoints::All).expect("simulates").by_initial
    };
    for direction in (0..n).step_by(every) {
        let mut tangent = vec![0.0; n];
        let along = |x: f64| {
            tangent[direction] = x;
            value(&tangent)
        };
        let (mut along, claimed) = (along, terminal[direction]);
        let errors = [1e-5, 3e-6, 1e-6, 3e-7].map(|h| {
            let difference = (8.0 * (along(0.5 * h) - along(-0.5 * h)) - (along(h) - along(-h))) / (6.0 * h);
            (difference - claimed).abs()
        });
        let error = errors.into_iter().fold(f64::INFINITY, f64::min);
        let largest = terminal.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        assert!(error < 1e-6 * largest, "{integrator:?} direction {direction}: {errors:?} of {largest:e}");
    }
}

/// Whether velocities count with what they make in a second: the same substeps have a lower accuracy then.
fn is_extrapolated(method: ControlledMethod) -> bool {
    matches!(method, ControlledMethod::Extrapolated(_))
}

#[test]
fn derivatives_are_those_of_the_accepted_substeps() {
    // As scenes with an accuracy have it.
    let contact = ContactSettings { stiction_velocity: 0.02, sap_stiction: true, ..Default::default() };
    let (model, initial) = heap(contact);
    let parameters: Vec<Parameter> = Parameter::all(&model).into_iter().step_by(11).collect();
    let (steps, time_step) = (2, 1e-3);
    let controls = controls(CONTROLS, steps);
    methods().into_par_iter().for_each(|method| {
        let accuracy = if is_extrapolated(method) { 1e-4 } else { 1e-6 };
        let settings = SimulationSettings { integrator: controlled(method, accuracy), time_step };
        let until = steps as f64 * time_step;
        let rollout = Rollout::new(&model, &initial, settings, until).under(&Pull).with_controls(&controls);
        check_gradients(&rollout, &parameters, 31);
        // In dual numbers too.
        let some: Vec<Parameter> = parameters.iter().copied().step_by(2).collect();
        let all = trajectory_gradient(&rollout, &some).expect("simulates").trajectory.states;
        let plain = rollout.simulate().expect("simulates").states;
        let off =
            plain.iter().zip(&all).flat_map(|(a, b)| a.difference(b)).fold(0.0, |m: f64, x| m.max(x.abs()));
        assert!(off < 1e-10, "{method:?}: {off:e}");
    });
}

#[test]
fn derivatives_are_right_with_joints_of_every_kind() {
    let (model, initial) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let parameters: Vec<Parameter> = Parameter::all(&model).into_iter().step_by(13).collect();
    let (steps, time_step) = (2, 1.5e-3);
    let controls = controls(model.command_dimension(), steps);
    let [radau, _, _, tamsi, extrapolated, _] = methods();
    [radau, tamsi, extrapolated].into_par_iter().for_each(|method| {
        let accuracy = if is_extrapolated(method) { 1e-3 } else { 1e-5 };
        let settings = SimulationSettings { integrator: controlled(method, accuracy), time_step };
        let until = steps as f64 * time_step;
        let rollout = Rollout::new(&model, &initial, settings, until).with_controls(&controls);
        check_gradients(&rollout, &parameters, 49);
    });
}

/// A force that is not a number from a time on, or that jumps from step to step.
struct Strange(f64);

impl AppliedForces for Strange {
    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, time: f64, _: &[T], forces: &mut Forces<T>) {
        if time > self.0 {
            forces.bodies[0].translational.x += T::from(f64::NAN);
        }
    }
}

#[test]
fn what_cannot_be_accurate_ends_with_a_message() {
    let (model, state) = ball_on_box(0.07, SurfaceRepresentation::Polygons);
    let simulate = |integrator, applied: &Strange| {
        let settings = SimulationSettings { integrator, time_step: 0.01 };
        Rollout::new(&model, &state, settings, 0.05).under(applied).simulate().map(|_| ())
    };
    for method in methods() {
        let name = format!("{method:?}");
        for accuracy in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refused = simulate(controlled(method, accuracy), &Strange(1.0));
            let Err(SimulationError::Step { source: StepError::Accuracy(_), .. }) = refused else {
                panic!("{name}: {refused:?}")
            };
        }
        let failed = simulate(controlled(method, 1e-6), &Strange(0.0123)).expect_err("no number");
        let SimulationError::Step { source: StepError::TooShort { limit, .. }, time, .. } = &failed else {
            panic!("{name}: {failed:?}")
        };
        assert_eq!((*limit, *time), (SubstepLimit::NotFinite, 0.01), "{name}");
        // Less than rounding.
        let failed = simulate(controlled(method, 1e-25), &Strange(1.0)).expect_err("too accurate");
        let message = failed.to_string();
        assert!(message.contains("`body 0`") && message.contains("rounded to"), "{name}: {message}");
    }
}

/// A ball thrown at a wall in one long step: no solution of the step knows of the wall before it is there.
#[test]
fn a_contact_that_begins_within_a_substep_is_not_missed() {
    let (model, mut state) = ball_on_box(0.07, SurfaceRepresentation::Polygons);
    state.bodies[0].position.z = 0.1;
    state.bodies[0].velocity.translational.z = -2.0;
    let depth = |integrator| {
        let settings = SimulationSettings { integrator, time_step: 0.026 };
        let end = Rollout::new(&model, &state, settings, 0.026).simulate().expect("simulates").states;
        end[1].bodies[0].position.z
    };
    let [whole, reference] =
        [Integrator::VelocityLevel(lagged()), controlled(ControlledMethod::DormandPrince, 1e-8)].map(depth);
    // The whole step ends as deep as without contact; two halves of it would agree with it.
    assert!(whole < reference - 1e-4, "{whole} {reference}");
    for method in [ControlledMethod::VelocityLevel(lagged()), ControlledMethod::Extrapolated(lagged())] {
        let end = depth(controlled(method, 1e-5));
        let allowed = if matches!(method, ControlledMethod::Extrapolated(_)) { 3e-5 } else { 1e-4 };
        assert!((end - reference).abs() < allowed, "{method:?}: {end} {reference}");
    }
}

#[test]
fn controlled_gradients_pass_the_check_of_a_scene() {
    let (model, initial) = ball_on_box(0.07, SurfaceRepresentation::Polygons);
    for method in [ControlledMethod::Extrapolated(lagged()), ControlledMethod::DormandPrince] {
        let settings = SimulationSettings { integrator: controlled(method, 1e-5), time_step: 4e-3 };
        let rollout = Rollout::new(&model, &initial, settings, 0.008).under(&NoForces);
        let checked = CheckSettings { vertices: 0, places: false, ..Default::default() };
        let report = check_scene(&rollout, &checked).expect("simulates");
        assert_eq!(report.count(Verdict::Wrong), 0, "{method:?}: {report}");
        assert!(report.count(Verdict::Ok) > 50, "{method:?}: {report}");
    }
}

/// The energy of a ball that bounces without dissipation, over its fall: kept by methods of high order, and
/// not growing with dissipation by more than the error.
#[test]
fn energy_is_kept_without_dissipation_and_does_not_grow_with_it() {
    let bouncing = |dissipation: f64| {
        let (model, mut state) = ball_on_box(0.07, SurfaceRepresentation::Triangles);
        state.bodies[0].position.z = 0.06;
        state.bodies[0].velocity = SpatialVelocity::zero();
        let values: Vec<(Parameter, f64)> = Parameter::all(&model)
            .into_iter()
            .filter_map(|parameter| match parameter {
                Parameter::Material { parameter: MaterialParameter::Dissipation, .. } => {
                    Some((parameter, dissipation))
                }
                Parameter::Material {
                    parameter: MaterialParameter::StaticFriction | MaterialParameter::DynamicFriction,
                    ..
                } => Some((parameter, 0.0)),
                _ => None,
            })
            .collect();
        let (model, state) = seeded(&model, &state, &values).expect("valid");
        (model, state)
    };
    let energies = |(model, state): &(Model, State), integrator| {
        let settings = SimulationSettings { integrator, time_step: 0.01 };
        let motion = Rollout::new(model, state, settings, 1.0).simulate().expect("simulates");
        let mut frames = Vec::new();
        let mut elastic = |state: &State| {
            model.body_frames(state, &mut frames);
            model.mechanical_energy(state) + model.body_pair_energy(&frames, model.pairs())
        };
        motion.states.iter().map(&mut elastic).collect::<Vec<f64>>()
    };
    let fall = 0.5 * 9.81 * 0.01;
    let kept = bouncing(0.0);
    for (method, allowed) in [(ControlledMethod::Radau, 1e-6), (ControlledMethod::DormandPrince, 1e-5)] {
        let list = energies(&kept, controlled(method, 1e-9));
        let off = list.iter().fold(0.0, |most: f64, e| most.max((e - list[0]).abs()));
        println!("{method:?}: {:.1e} of the fall", off / fall);
        assert!(off < allowed * fall, "{method:?}: {off:e}");
    }
    let damped = bouncing(0.5);
    // Of order 2 a step is a difference of two that lose energy: it may win as much as its error.
    for (method, allowed) in [
        (ControlledMethod::Radau, 1e-6),
        (ControlledMethod::VelocityLevel(lagged()), 1e-6),
        (ControlledMethod::Extrapolated(lagged()), 1e-3),
    ] {
        let list = energies(&damped, controlled(method, 1e-6));
        let grown = list.windows(2).fold(0.0, |most: f64, pair| most.max(pair[1] - pair[0]));
        println!("{method:?}: grows by {:.1e} of the fall", grown / fall);
        assert!(grown < allowed * fall, "{method:?}: grows by {grown:e} of {fall:e}");
        assert!(list[list.len() - 1] < list[0] - 0.1 * fall, "{method:?}");
    }
}
