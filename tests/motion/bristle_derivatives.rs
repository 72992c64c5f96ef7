//! Derivatives of steps with bristles: every way of making them, and differences, of bodies that stick, slide and
//! roll, on joints, and with a deflection at the start.

use nalgebra::{DMatrix, DVector};

use isobar::check::{CheckSettings, Verdict, compare_derivative};
use isobar::contact::{ContactModel, ContactSettings, DissipationModel, SurfaceRepresentation};
use isobar::multibody::{
    AppliedForces, DifferentiatedModel, Model, ModelGradient, NoForces, Parameter, State, seeded,
};
use isobar::rollout::{
    Checkpoints, Controls, Loss, Moment, Rollout, SimulationSettings, linearize, loss_gradient,
    loss_gradient_forward,
};
use isobar::scalar::{DualArray, Scalar};
use isobar::step::{
    ControlledMethod, DerivativeWorkspace, ErrorControlled, Integrator, SolverTolerance, StepCotangent,
    StepProblem, StepWorkspace, Tape, VelocityLevel,
};
use num_dual::HyperDual64;

use crate::moving_bodies::{CONTROLS, Pull, heap};
use crate::step_derivatives::worst_error;
use crate::step_scenes;

/// Steps that are solved so that their rounding does not show in differences.
fn exact() -> Integrator {
    let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
    Integrator::VelocityLevel(VelocityLevel { model: ContactModel::Lagged, tolerance })
}

fn with_bristles(model: Model, length: f64) -> Model {
    let mut builder = model.into_builder();
    builder.contact.bristle_length = Some(length);
    builder.build().expect("a positive length")
}

/// The heap, whose ball rolls and whose block leans, with bristles that are long enough for differences.
fn bristly_heap(surface: SurfaceRepresentation, dissipation_model: DissipationModel) -> (Model, State) {
    let settings = ContactSettings { surface, dissipation_model, ..Default::default() };
    let (model, state) = heap(settings);
    let model = with_bristles(model, 2e-5);
    let state = model.completed(state);
    (model, state)
}

/// Some numbers between −1 and 1.
fn numbers(count: usize, phase: f64) -> Vec<f64> {
    (0..count).map(|i| (1.7 * i as f64 + phase).sin()).collect()
}

/// The state a little displaced: bodies by as much as keeps them in contact, deflections by some lengths of bristles.
fn displaced(model: &Model, state: &State, by: &[f64], speed: f64) -> State {
    let length = model.contact().bristle_length.expect("bristles");
    let motion = state.motion_tangent_dimension();
    let bodies = state.body_tangent_dimension();
    let scale = |i: usize| match i {
        _ if i >= motion => {
            if (i - motion) % 6 < 3 {
                20.0 * length
            } else {
                length
            }
        }
        _ if i < bodies => [0.05, 1e-3, speed * 10.0, speed][i / 3 % 4],
        _ => 1e-4,
    };
    let tangent: Vec<f64> = by.iter().enumerate().map(|(i, x)| x * scale(i)).collect();
    state.moved(&tangent)
}

#[test]
fn products_and_matrices_are_those_of_dual_numbers() {
    let control = [0.1, -0.2, 0.3, 0.4, 0.5];
    assert_eq!(control.len(), CONTROLS);
    for (surface, dissipation) in [
        (SurfaceRepresentation::Polygons, DissipationModel::HuntCrossley),
        (SurfaceRepresentation::Triangles, DissipationModel::StrainRate),
    ] {
        let (model, start) = bristly_heap(surface, dissipation);
        let n = start.tangent_dimension();
        assert_eq!(n, 36 + 6 * model.pairs().len());
        for (k, speed) in [0.0, 3e-3, 0.2].into_iter().enumerate() {
            let state = displaced(&model, &start, &numbers(n, k as f64), speed);
            let error = worst_error(exact(), &model, &state, &Pull, &control, &numbers(n, 0.3));
            println!("{surface:?}, speed {speed}: {error:e}");
            assert!(error < 1e-11, "{surface:?}, {speed}: {error:e}");
        }
    }
}

#[test]
fn links_have_their_derivatives() {
    let (model, state) =
        step_scenes::gripper(step_scenes::Held::Ball, 0.028, SurfaceRepresentation::Polygons);
    let model = with_bristles(model, 2e-5);
    let squeeze = step_scenes::Squeeze(15.0);
    let state = step_scenes::settled(&model, state, exact(), 1e-3, 20, &squeeze);
    let n = state.tangent_dimension();
    assert_eq!(n, 16 + 6 * model.pairs().len());
    let deflected = state.bristles.iter().filter(|s| s.translation.norm() > 1e-8).count();
    assert!(deflected >= 2, "{:?}", state.bristles);
    for speed in [0.0, 0.01] {
        let state = displaced(&model, &state, &numbers(n, 0.6), speed);
        let error = worst_error(exact(), &model, &state, &squeeze, &[], &numbers(n, 0.1));
        println!("links, speed {speed}: {error:e}");
        assert!(error < 1e-9, "{error:e}");
    }
}

/// The Jacobian of a step by its tape.
fn jacobian(model: &Model, state: &State, applied: &impl AppliedForces, control: &[f64]) -> DMatrix<f64> {
    let differentiated =
        DifferentiatedModel::new(model, &[], applied.dependence(), control.len()).expect("no parameters");
    let step = StepProblem { control, ..StepProblem::new(model, state, 1e-3).under(applied) };
    let mut tape = Tape::default();
    exact().step_taped(&step, &differentiated, &mut StepWorkspace::default(), &mut tape).expect("a step");
    let found = tape.jacobian(&differentiated, applied, &mut DerivativeWorkspace::default());
    found.expect("differentiable").by_state
}

#[test]
fn matrices_agree_with_differences() {
    let (heap, start) = bristly_heap(SurfaceRepresentation::Polygons, DissipationModel::HuntCrossley);
    let control = [0.1, -0.2, 0.3, 0.4, 0.5];
    for speed in [0.0, 3e-3, 0.2] {
        let n = start.tangent_dimension();
        let state = displaced(&heap, &start, &numbers(n, 0.8), speed);
        let exact_jacobian = jacobian(&heap, &state, &Pull, &control);
        let after = |tangent: &[f64]| {
            let moved = state.moved(tangent);
            let step =
                StepProblem { control: &control, ..StepProblem::new(&heap, &moved, 1e-3).under(&Pull) };
            exact().step(&step, &mut StepWorkspace::default()).expect("a step")
        };
        let reference = after(&vec![0.0; n]);
        let mut worst = 0.0_f64;
        for k in 0..n {
            // Of several steps, the one that agrees best: faces come and go, and short ones round.
            let errors = [3e-6, 1e-6, 3e-7, 1e-7, 3e-8, 1e-8].map(|h: f64| {
                let h = if k >= 36 { 1e-2 * h } else { h };
                let at = |h: f64| {
                    let mut tangent = vec![0.0; n];
                    tangent[k] = h;
                    DVector::from(reference.difference(&after(&tangent)))
                };
                let difference = (at(h) - at(-h)) / (2.0 * h);
                let column = exact_jacobian.column(k);
                // Velocities and deflections each by their own magnitude.
                let relative = |rows: std::ops::Range<usize>| {
                    let length = rows.len();
                    let error =
                        (difference.rows(rows.start, length) - column.rows(rows.start, length)).amax();
                    error / column.rows(rows.start, length).amax().max(1e-9)
                };
                relative(0..36).max(relative(36..n))
            });
            let least = errors.into_iter().fold(f64::INFINITY, f64::min);
            assert!(least < 1e-5, "speed {speed}, direction {k}: {errors:?}");
            worst = worst.max(least);
        }
        println!("speed {speed}: differences within {worst:e}");
    }
}

/// A number that everything at the end counts in, deflections too, and on the way.
#[derive(Clone, Copy, Debug)]
struct End;

impl Loss for End {
    fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
        moment.state.bodies[0].position.x * (10.0 * moment.dt)
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let mut sum = T::from(0.0);
        let weight = |k: usize| (1.7 * k as f64 + 0.4).sin();
        for (k, body) in moment.state.bodies.iter().enumerate() {
            let axis = body.orientation.to_matrix() * nalgebra::Vector3::new(0.3, -0.5, 0.8).map(T::from);
            sum += axis.x * weight(7 * k) + body.position.dot(&body.position) * weight(7 * k + 1);
            sum += body.velocity.translational.dot(&axis) * (0.1 * weight(7 * k + 2));
        }
        for (k, s) in moment.state.bristles.iter().enumerate() {
            for (i, x) in s.numbers().into_iter().enumerate() {
                let x = x * if i < 3 { 1e3 } else { 3e4 };
                sum += (x + x * x) * weight(6 * k + i);
            }
        }
        sum
    }
}

fn close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    let largest = b.iter().fold(1e-12_f64, |m, x| m.max(x.abs()));
    assert_eq!(a.len(), b.len());
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * largest, "{what}, {k}: {a} {b}");
    }
}

#[test]
fn sweeps_agree_and_checkpoints_change_nothing() {
    let lagged = VelocityLevel { model: ContactModel::Lagged, ..Default::default() };
    let controlled = |method, accuracy| Integrator::ErrorControlled(ErrorControlled { method, accuracy });
    for integrator in [
        exact(),
        controlled(ControlledMethod::VelocityLevel(lagged), 1e-6),
        // Velocities count for a second.
        controlled(ControlledMethod::Extrapolated(lagged), 1e-4),
    ] {
        let (model, start) = bristly_heap(SurfaceRepresentation::Polygons, DissipationModel::HuntCrossley);
        let mut parameters = Parameter::all(&model);
        parameters.extend(Parameter::places(&model));
        let controls = Controls::zeros(4, CONTROLS);
        let settings = SimulationSettings { integrator, time_step: 1e-3 };
        let of = |initial: &State, checkpoints: Checkpoints| {
            let rollout =
                Rollout::new(&model, initial, settings, 0.004).under(&Pull).with_controls(&controls);
            loss_gradient(&rollout, &End, &parameters, checkpoints).expect("a gradient")
        };
        let all = of(&start, Checkpoints::All);
        let rollout = Rollout::new(&model, &start, settings, 0.004).under(&Pull).with_controls(&controls);
        let forward = loss_gradient_forward(&rollout, &End, &parameters).expect("a gradient");
        close(&all.by_initial, &forward.by_initial, 1e-9, "initial");
        close(&all.by_parameters, &forward.by_parameters, 1e-9, "parameters");
        assert!(all.by_initial[36..].iter().any(|x| x.abs() > 1e-3));
        for checkpoints in [Checkpoints::SquareRoot, Checkpoints::Binomial(3)] {
            let same = of(&start, checkpoints);
            assert_eq!(same.by_initial, all.by_initial);
            assert_eq!(same.by_parameters, all.by_parameters);
        }
        // A state that says nothing of bristles has none deflected.
        let silent = State { bristles: Vec::new(), ..start.clone() };
        let same = of(&silent, Checkpoints::All);
        assert_eq!((&same.by_initial, same.value), (&all.by_initial, all.value));
        let largest = all.by_parameters.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        // And dual numbers carry them, those of the first order and those of the second.
        let every = if integrator == exact() { 5 } else { 29 };
        let some: Vec<_> = parameters.iter().zip(&all.by_parameters).step_by(every).collect();
        for eight in some.chunks(8) {
            let seed = |(k, (parameter, _)): (usize, &(&Parameter, &f64))| {
                (**parameter, DualArray::<8>::variable(parameter.value(&model).expect("exists"), k))
            };
            let seeds: Vec<_> = eight.iter().enumerate().map(seed).collect();
            let (dual, initial) = seeded(&model, &start, &seeds).expect("valid");
            let of_duals = loss_in(&dual, &initial, settings, &rollout);
            assert!((of_duals.re - all.value).abs() <= 1e-12 * all.value.abs());
            for ((parameter, expected), found) in eight.iter().zip(of_duals.eps) {
                // What is zero, such as that of a plane moved along itself, rounds with what cancels.
                let allowed = 1e-8 * expected.abs() + 1e-12 * largest;
                assert!((found - *expected).abs() < allowed, "{parameter:?}: {found} {expected}, {largest}");
            }
        }
        let parameter = Parameter::initial_velocity(0, 0);
        let twice = [(parameter, HyperDual64::new(0.0, 1.0, 1.0, 0.0))];
        let (dual, initial) = seeded(&model, &start, &twice).expect("valid");
        let second = loss_in(&dual, &initial, settings, &rollout).eps1eps2;
        let first = |h: f64| {
            let mut moved = start.clone();
            moved.bodies[0].velocity.translational.x += h;
            let substeps = rollout.find_substeps().expect("a simulation");
            let moved = Rollout { initial: &moved, ..rollout }.holding(&substeps);
            let gradient = loss_gradient(&moved, &End, &[parameter], Checkpoints::All);
            gradient.expect("a gradient").by_parameters[0]
        };
        let h = 1e-6;
        let difference = (first(h) - first(-h)) / (2.0 * h);
        assert!((second - difference).abs() < 1e-4 * difference.abs().max(1.0), "{second} {difference}");
    }
}

/// The loss of a rollout in scalars of any kind, under as many controls as another has, which are zero.
fn loss_in<T: Scalar>(
    model: &Model<T>,
    initial: &State<T>,
    settings: SimulationSettings,
    like: &Rollout<'_>,
) -> T {
    let rows = like.control_rows().expect("settings");
    let controls = Controls::<T>::zeros(rows.steps(), rows.dimension());
    let substeps = like.find_substeps().expect("a simulation");
    let rollout = Rollout::new(model, initial, settings, like.until).under(&Pull).with_controls(&controls);
    let rollout = if substeps[0].is_empty() { rollout } else { rollout.holding(&substeps) };
    let states = rollout.simulate().expect("a simulation").states;
    let mut sum = T::from(0.0);
    for state in &states[..states.len() - 1] {
        let moment = Moment {
            step: 0,
            time: 0.0,
            dt: settings.time_step,
            model,
            state,
            control: &[],
            contacts: &Default::default(),
            step_end: None,
        };
        sum += End.running(&moment);
    }
    let state = &states[states.len() - 1];
    sum + End.terminal(&Moment {
        step: 0,
        time: like.until,
        dt: 0.0,
        model,
        state,
        control: &[],
        contacts: &Default::default(),
        step_end: None,
    })
}

#[test]
fn shapes_and_places_have_their_derivatives() {
    for surface in [SurfaceRepresentation::Polygons, SurfaceRepresentation::Triangles] {
        let (model, start) = bristly_heap(surface, DissipationModel::HuntCrossley);
        let n = start.tangent_dimension();
        let state = displaced(&model, &start, &numbers(n, 0.4), 0.05);
        let mut parameters = Parameter::places(&model);
        parameters.extend(Parameter::vertices(&model, 0, 0).into_iter().step_by(7));
        parameters.extend(Parameter::vertices(&model, 0, 1).into_iter().step_by(3));
        parameters.extend(Parameter::extents(&model, 0, 0).into_iter().step_by(5));
        parameters.extend(Parameter::vertices(&model, 2, 0).into_iter().step_by(40));
        let settings = SimulationSettings { integrator: exact(), time_step: 1e-3 };
        let controls = Controls::zeros(3, CONTROLS);
        let rollout = Rollout::new(&model, &state, settings, 0.003).under(&Pull).with_controls(&controls);
        let backward = loss_gradient(&rollout, &End, &parameters, Checkpoints::All).expect("a gradient");
        let forward = loss_gradient_forward(&rollout, &End, &parameters).expect("a gradient");
        close(&backward.by_parameters, &forward.by_parameters, 1e-9, "shapes");
        let mut counted = 0;
        for (i, parameter) in parameters.iter().enumerate().step_by(3) {
            let value = parameter.value(&model).expect("exists");
            let seeds = [(*parameter, DualArray::<8>::variable(value, 0))];
            let (dual, initial) = seeded(&model, &state, &seeds).expect("valid");
            let expected = loss_in(&dual, &initial, settings, &rollout).eps[0];
            let found = backward.by_parameters[i];
            let scale = expected.abs().max(1e-3);
            assert!((found - expected).abs() < 1e-8 * scale, "{parameter:?}: {found} {expected}");
            counted += usize::from(expected.abs() > 1e-6);
        }
        assert!(counted > 10, "{counted}");
    }
}

#[test]
fn losses_agree_with_differences() {
    let (model, start) = bristly_heap(SurfaceRepresentation::Polygons, DissipationModel::HuntCrossley);
    let n = start.tangent_dimension();
    let state = displaced(&model, &start, &numbers(n, 0.4), 0.02);
    let settings = SimulationSettings { integrator: exact(), time_step: 1e-3 };
    let controls = Controls::zeros(4, CONTROLS);
    let rollout = Rollout::new(&model, &state, settings, 0.004).under(&Pull).with_controls(&controls);
    let parameters = Parameter::all(&model);
    let mut right = 0;
    let gradient = loss_gradient(&rollout, &End, &parameters, Checkpoints::All).expect("a gradient");
    for (parameter, claim) in parameters.iter().zip(gradient.by_parameters).step_by(2) {
        let value = parameter.value(&model).expect("exists");
        let at = |x: f64| -> Result<Vec<f64>, std::convert::Infallible> {
            let (model, state) = seeded(&model, &state, &[(*parameter, x)]).expect("valid");
            Ok(vec![loss_in(&model, &state, settings, &rollout)])
        };
        let scale = if value == 0.0 { 1e-3 } else { value.abs() };
        let Ok(found) = compare_derivative(at, value, scale, &[claim], &CheckSettings::default());
        assert!(found[0].verdict != Verdict::Wrong, "{parameter:?}: {claim}, {found:?}");
        right += usize::from(found[0].verdict == Verdict::Ok);
    }
    assert!(right > 20, "{right}");
}

#[test]
fn linearizations_have_directions_for_bristles() {
    struct Nothing;
    impl isobar::rollout::TrajectoryResiduals for Nothing {
        fn running<T: Scalar>(&self, moment: &Moment<T>, out: &mut Vec<T>) {
            out.extend(moment.state.bristles.iter().map(|s| s.translation.x * 1e5));
        }
        fn terminal<T: Scalar>(&self, moment: &Moment<T>, out: &mut Vec<T>) {
            out.extend(moment.state.bristles.iter().flat_map(|s| s.numbers()));
        }
    }
    let (model, start) = bristly_heap(SurfaceRepresentation::Polygons, DissipationModel::HuntCrossley);
    let settings = SimulationSettings { integrator: exact(), time_step: 1e-3 };
    let rollout = Rollout::new(&model, &start, settings, 0.002);
    let trajectory = rollout.simulate().expect("a simulation");
    let found = linearize(&rollout, &Nothing, &trajectory).expect("differentiable");
    let n = start.tangent_dimension();
    for (k, step) in found.steps.iter().enumerate() {
        assert_eq!(step.by_state.shape(), (n, n));
        let expected = jacobian(&model, &trajectory.states[k], &NoForces, &[]);
        assert_eq!(step.by_state, expected);
        assert_eq!(step.residuals.by_state[(0, 36 + 3)], 1e5);
        assert_eq!(step.residuals.by_state.column(36 + 4).amax(), 0.0);
    }
    assert_eq!(found.end.by_state.columns(36, n - 36), DMatrix::identity(n - 36, n - 36));
    // What a product says is what the matrix says.
    let differentiated = DifferentiatedModel::new(&model, &[], NoForces.dependence(), 0).expect("none");
    let (mut tape, mut by_model) = (Tape::default(), ModelGradient::zero(&differentiated));
    let step = StepProblem::new(&model, &trajectory.states[1], 1e-3);
    exact().step_taped(&step, &differentiated, &mut StepWorkspace::default(), &mut tape).expect("a step");
    let mut by_state = numbers(n, 0.2);
    let expected = found.steps[1].by_state.tr_mul(&DVector::from(by_state.clone()));
    let mut out = StepCotangent { state: &mut by_state, control: &mut [], model: &mut by_model };
    tape.vjp(&differentiated, &NoForces, &mut DerivativeWorkspace::default(), &mut out);
    close(&by_state, expected.as_slice(), 1e-11, "product");
}
