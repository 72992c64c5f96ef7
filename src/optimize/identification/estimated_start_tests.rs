use super::*;
use crate::contact::LARGEST_QUADRATURE_ORDER;
use crate::parallel::in_parallel;

/// Numbers of a normal distribution, the same ones each time.
fn normal(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    move || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

/// What the model does, with errors of 1 mm, 5 mrad, 2 cm/s and 20 mrad/s in every recorded state.
fn noisy_recording(seed: u64) -> Recording {
    let (mut recording, mut next) = (recording(0.0), normal(seed));
    for state in &mut recording.states {
        let mut vector = |sigma: f64| Vector3::from_fn(|_, _| sigma * next());
        state.body.position += vector(1e-3);
        state.body.orientation = state.body.orientation.rotated_by(&vector(5e-3));
        state.body.velocity.translational += vector(0.02);
        state.body.velocity.rotational += vector(0.02);
    }
    recording
}

/// What is known of such a recording.
fn noisy_sigma(estimated: bool) -> StandardDeviations {
    let starts =
        StartDeviations { position: 1e-3, orientation: 5e-3, linear_velocity: 0.02, angular_velocity: 0.02 };
    StandardDeviations {
        position: 1e-3,
        orientation: 5e-3,
        linear_velocity: Some(0.02),
        angular_velocity: Some(0.02),
        loss: Loss::Squares,
        starts: estimated.then_some(starts),
    }
}

/// The identification of modulus and dissipation from such a recording.
pub(super) fn noisy_identification(seed: u64, horizon: f64, estimated: bool) -> Identification<Pad> {
    let model = model(None);
    let measured =
        Measurement::Motion(noisy_motion(&model, noisy_recording(seed), horizon, &noisy_sigma(estimated)));
    noisy_problem(model, vec![measured])
}

fn noisy_motion(
    model: &Model,
    recording: Recording,
    horizon: f64,
    sigma: &StandardDeviations,
) -> RecordedMotion {
    let window = TimeWindow { horizon, ..Default::default() };
    RecordedMotion::new(model, "block", recording, sigma, &window).unwrap()
}

fn noisy_problem(model: Model, measured: Vec<Measurement>) -> Identification<Pad> {
    let (state, settings) = (state_of(&start()), EXPLICIT);
    Identification::new(model, state, settings, Pad, NAMES[..2].iter().copied(), measured).unwrap()
}

pub(super) fn unknown(modulus: f64, dissipation: f64) -> FitParameters {
    FitParameters::new(vec![
        FitParameter::new(NAMES[0], modulus).bounded(10.0, 1e6).logarithmic(),
        FitParameter::new(NAMES[1], dissipation).bounded(-2.0, 5.0),
    ])
    .unwrap()
}

#[test]
fn each_recorded_state_belongs_to_one_window_where_starts_are_estimated() {
    let problem = noisy_identification(1, 0.1, true);
    let Measurement::Motion(motion) = &problem.measurements()[0] else { panic!() };
    assert_eq!(motion.states().unwrap().windows, [0..10, 10..20, 20..30, 30..41]);
    assert_eq!((problem.eliminated(), problem.estimated_starts()), (4 * 12, [4, 4]));
    // All 41 states, 12 numbers each.
    assert_eq!(problem.minimized(&[2000.0, 0.3], None).unwrap().len(), 41 * 12);
    // A window has something to say besides where it starts, however short.
    let short = noisy_identification(1, 1e-3, true);
    let Measurement::Motion(motion) = &short.measurements()[0] else { panic!() };
    assert!(motion.windows.iter().all(|window| window.times.len() >= 2), "{:?}", motion.windows);
}

#[test]
fn the_gradient_with_estimated_starts_is_that_of_the_least_cost() {
    for horizon in [0.1, f64::INFINITY] {
        let problem = noisy_identification(3, horizon, true);
        let at = [1900.0, 0.34];
        // Each Jacobian takes the starts a step nearer to the best ones.
        for k in 1..6 {
            problem.minimized_with_jacobian(&at.map(|x| x * (1.0 + 1e-9 * f64::from(k))), None).unwrap();
        }
        let (residuals, jacobian) = problem.minimized_with_jacobian(&at, None).unwrap();
        let cost =
            |p: [f64; 2]| problem.minimized(&p, None).unwrap().iter().map(|r| 0.5 * r * r).sum::<f64>();
        let gradient = jacobian.tr_mul(&DVector::from_vec(residuals));
        for i in 0..2 {
            let moved = |s: f64| {
                let mut p = at;
                p[i] *= 1.0 + s;
                cost(p)
            };
            let difference = (moved(1e-4) - moved(-1e-4)) / (2e-4 * at[i]);
            assert!((difference / gradient[i] - 1.0).abs() < 1e-4, "{difference} {}", gradient[i]);
        }
    }
}

#[test]
fn errors_are_as_large_as_the_standard_errors_only_where_starts_are_estimated() {
    let parameters = unknown(1900.0, 0.25);
    // The root mean square of the errors over the standard errors: 1, were there many.
    let ratio = |estimated: bool| {
        let squares = |seed: u64| {
            let problem = noisy_identification(seed, 0.1, estimated);
            let settings = FitSettings { cost_tolerance: 1e-6, ..Default::default() };
            let result = fit(&problem, &parameters, &settings, None).unwrap();
            // With starts that are off some residuals are not explained, and the fit may end at a kink.
            assert!(result.converged || !estimated, "{}", result.termination);
            let estimates = result.uncertainty.estimates.into_iter().zip([2000.0, 0.3]);
            estimates
                .map(|(estimate, truth)| {
                    ((estimate.value - truth) / estimate.standard_error.unwrap()).powi(2)
                })
                .sum::<f64>()
        };
        (in_parallel(1..=4u64, squares).into_iter().sum::<f64>() / 8.0).sqrt()
    };
    let [estimated, recorded] = [true, false].map(ratio);
    assert!((0.5..1.6).contains(&estimated), "{estimated}");
    assert!(recorded > 1.6, "{recorded}");
}

#[test]
fn what_finer_steps_change_is_told() {
    // First-order steps of 1 ms made this recording, and half of that would take a modulus that is 22 N/m higher.
    let problem = noisy_identification(7, f64::INFINITY, true);
    let parameters = unknown(1950.0, 0.28);
    let result = fit(&problem, &parameters, &FitSettings::default(), None).unwrap();
    let [modulus, dissipation] = &result.uncertainty.estimates[..] else { panic!("{result:?}") };
    let finer = SimulationSettings { time_step: 5e-4, ..EXPLICIT };
    let again = Identification { settings: finer, ..noisy_identification(7, f64::INFINITY, true) };
    let again = fit(&again, &parameters, &FitSettings::default(), None).unwrap();
    for (estimate, fitted) in result.uncertainty.estimates.iter().zip(again.values()) {
        let (change, error) = (estimate.change_with_finer_steps.unwrap(), estimate.standard_error.unwrap());
        assert!((fitted - estimate.value - change).abs() < 0.25 * error, "{estimate:?} {fitted}");
    }
    for estimate in [modulus, dissipation] {
        assert!(matches!(estimate.identifiability, Identifiability::DependsOnSteps { .. }), "{estimate:?}");
    }
}

#[test]
fn what_a_finer_quadrature_changes_is_told() {
    let with_order = |order: u8| {
        let mut problem = noisy_identification(7, f64::INFINITY, true);
        problem.model.contact.quadrature_order = Some(order);
        fit(&problem, &unknown(1950.0, 0.28), &FitSettings::default(), None).unwrap()
    };
    let [one, two] = [1, 2].map(with_order);
    for (estimate, fitted) in one.uncertainty.estimates.iter().zip(two.values()) {
        let (change, error) =
            (estimate.change_with_finer_quadrature.unwrap(), estimate.standard_error.unwrap());
        assert!(
            change != 0.0 && (fitted - estimate.value - change).abs() < 0.25 * error,
            "{estimate:?} {fitted}"
        );
    }
    let last = with_order(LARGEST_QUADRATURE_ORDER);
    assert!(
        last.uncertainty.estimates.iter().all(|estimate| estimate.change_with_finer_quadrature.is_none())
    );
}

#[test]
fn what_need_not_be_fine_has_a_hundredth_of_the_accuracy() {
    let mut problem = noisy_identification(2, 0.05, true);
    assert!(problem.rougher().is_none() && problem.eased().is_none());
    let controlled = |method, accuracy| Integrator::ErrorControlled(ErrorControlled { method, accuracy });
    let method = Integrator::velocity_level(ContactModel::Lagged).velocity_level_method().unwrap();
    problem.set_integrator(controlled(ControlledMethod::Extrapolated(method), 1e-5));
    let rough = controlled(ControlledMethod::Extrapolated(method), 100.0 * 1e-5);
    for easier in [problem.rougher(), problem.eased()] {
        let easier = easier.expect("motions that may be rougher");
        assert_eq!(easier.integrator(), rough);
        assert_eq!(easier.measurements(), problem.measurements());
    }
    problem.set_integrator(controlled(ControlledMethod::Radau, 1e-5));
    assert!(problem.rougher().is_none());
}

#[test]
fn a_fit_from_far_away_begins_with_short_windows() {
    let problem = noisy_identification(2, f64::INFINITY, true);
    let eased = problem.eased().unwrap();
    let Measurement::Motion(motion) = &eased.measurements()[0] else { panic!() };
    assert_eq!((motion.windows(), motion.estimates_starts()), (10, false));
    assert_eq!(motion.states().unwrap().compared().count(), 40);
    assert!(eased.eased().is_none() && noisy_identification(2, 0.05, true).eased().is_none());
    let fitted = |modulus: f64, dissipation: f64| {
        let parameters = unknown(modulus, dissipation);
        let problem = noisy_identification(2, f64::INFINITY, true);
        let result = fit(&problem, &parameters, &FitSettings::default(), None).unwrap();
        assert!(result.converged, "{}", result.termination);
        (result.values(), result.uncertainty)
    };
    let ((near, uncertainty), (far, _)) = (fitted(1950.0, 0.28), fitted(200.0, 3.0));
    for (i, estimate) in uncertainty.estimates.iter().enumerate() {
        let error = estimate.standard_error.unwrap();
        assert!((near[i] - far[i]).abs() < 1e-3 * error, "{near:?} {far:?}");
    }
}

/// One recorded state in twenty is wrong altogether: the tracker was elsewhere.
#[test]
fn wrong_samples_move_no_parameter_by_a_standard_error_where_the_loss_says_so() {
    let fitted = |loss: Loss, is_corrupted: bool| {
        let sigma = StandardDeviations { loss, ..noisy_sigma(true) };
        let model = model(None);
        let motion = |seed: u64| {
            let (mut recording, mut next) = (noisy_recording(seed), normal(100 + seed));
            let corrupted = recording.states.iter_mut().skip(seed as usize).step_by(20);
            for state in corrupted.filter(|_| is_corrupted) {
                let mut vector = |size: f64| Vector3::from_fn(|_, _| size * next());
                state.body.position += vector(0.05);
                state.body.orientation = state.body.orientation.rotated_by(&vector(0.3));
                state.body.velocity.translational += vector(1.0);
                state.body.velocity.rotational += vector(3.0);
            }
            Measurement::Motion(noisy_motion(&model, recording, f64::INFINITY, &sigma))
        };
        let problem = noisy_problem(model.clone(), (1..=3).map(motion).collect());
        let settings = FitSettings { cost_tolerance: 1e-6, max_iterations: 30, ..Default::default() };
        let result = fit(&problem, &unknown(1900.0, 0.25), &settings, None).unwrap();
        let errors = result.uncertainty.estimates.iter().map(|estimate| estimate.standard_error.unwrap());
        (result.values(), errors.collect::<Vec<f64>>())
    };
    let (clean, errors) = fitted(Loss::Squares, false);
    let moved = |loss: Loss| {
        let (values, _) = fitted(loss, true);
        (0..2).map(|i| (values[i] - clean[i]).abs() / errors[i]).fold(0.0, f64::max)
    };
    let limit = 5.0;
    let [squares, huber, cauchy] = [Loss::Squares, Loss::Huber { limit }, Loss::Cauchy { limit }].map(moved);
    assert!(squares > 3.0, "{squares}");
    // What counts by its length still pulls a little.
    assert!(huber < 2.0 && cauchy < 1.0, "{huber} {cauchy}");
}

#[test]
fn sentences_on_what_to_record_say_what_the_data_lack() {
    use Identifiability as Of;
    let problem = noisy_identification(1, 0.1, false);
    let estimate = |name: &str, identifiability| Estimate {
        name: name.to_owned(),
        value: 1.0,
        standard_error: None,
        interval: None,
        change_with_finer_steps: None,
        change_with_finer_quadrature: None,
        identifiability,
    };
    let (uncertain, mass) =
        (Of::TooUncertain { relative_standard_error: 0.8, correlated_with: None }, "bodies.block.mass");
    let estimates = [
        estimate("materials.pad.dissipation", Of::NoDependence),
        estimate("materials.pad.hydroelastic_modulus", uncertain),
        estimate(mass, Of::AtLeast { limit: 0.1 }),
        estimate("bodies.block.inertia[0][0]", Of::AtMost { limit: 2.0 }),
        // Nothing is said of what is known, or depends on no motion.
        estimate(mass, Of::Identified),
        estimate("gravity[2]", Of::NoDependence),
    ];
    let found = problem.what_to_record(&estimates);
    let starts = [
        "materials.pad.dissipation: the data do not depend on it; let it hit",
        "materials.pad.hydroelastic_modulus: the data depend on it too little; press it deeper",
        "bodies.block.mass: the data bound it from below only; record a force",
        "bodies.block.inertia[0][0]: the data bound it from above only; let it turn",
    ];
    assert_eq!(found.len(), starts.len(), "{found:?}");
    found.iter().zip(starts).for_each(|(found, start)| assert!(found.starts_with(start), "{found}"));
}
