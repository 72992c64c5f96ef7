//! The derivatives of steps against differences.

use isobar::contact::MaterialParameter;
use isobar::geometry::Shape;
use isobar::multibody::{
    AppliedForces, BodyState, DifferentiatedModel, ForceDependence, Forces, Model, ModelGradient, Parameter,
    State, seeded,
};
use isobar::scalar::Scalar;
use isobar::spatial::RigidTransform;
use isobar::step::{
    ComplementarityMethod, DerivativeWorkspace, Integrator, StepCotangent, StepError, StepProblem,
    StepWorkspace, Tape,
};
use nalgebra::Vector3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::hotz::shape;
use crate::properties::any_state;
use crate::scenes::on_plane;

/// A force and a torque as control values.
struct Wrench;

impl AppliedForces for Wrench {
    fn control_dimension(&self) -> usize {
        6
    }

    fn apply<T: Scalar>(&self, _: &Model<T>, _: &State<T>, _: f64, u: &[T], forces: &mut Forces<T>) {
        forces.bodies[0].rotational += Vector3::new(u[0], u[1], u[2]);
        forces.bodies[0].translational += Vector3::new(u[3], u[4], u[5]);
    }
}

const CONTROL: [f64; 6] = [0.1, -0.2, 0.15, 0.4, -0.3, 0.2];

/// What was found at states of one shape.
#[derive(Debug, Default)]
struct Found {
    states: usize,
    /// Steps that did not converge.
    failed: usize,
    /// Those where a derivative is refused.
    refused: usize,
    /// Columns of Jacobians where slopes differ on both sides.
    kinks: usize,
    /// Columns that have no slope on either side.
    unclear: usize,
    worst: f64,
}

fn shapes() -> [Shape; 4] {
    [
        Shape::Sphere { radius: 0.12 },
        Shape::Capsule { radius: 0.08, length: 0.2 },
        Shape::Cylinder { radius: 0.12, length: 0.2 },
        Shape::Box { size: [0.3, 0.2, 0.1] },
    ]
}

/// A body that stands, lies on its end or its face, and slides and turns.
fn standing(rng: &mut ChaCha8Rng, of: Shape) -> State {
    let height = match of {
        Shape::Sphere { radius } => radius,
        Shape::Capsule { radius, length } => radius + 0.5 * length,
        Shape::Cylinder { length, .. } => 0.5 * length,
        _ => 0.05,
    };
    let mut state = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::from_translation(
        Vector3::new(0.0, 0.0, height),
    ))]);
    let body = &mut state.bodies[0];
    body.velocity.translational = Vector3::new(rng.random_range(-0.4..0.4), rng.random_range(-0.4..0.4), 0.0);
    body.velocity.rotational.z = rng.random_range(-3.0..3.0);
    state
}

/// Checks states in contact along motions of a shape.
fn along_motions(method: ComplementarityMethod, of: Shape, states: usize) -> Found {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let model = on_plane(vec![shape(of, 1.3, "body")], 0.4, [1.1, 0.8, 0.05], 9.81);
    let integrator = Integrator::Complementarity(method);
    let mut workspace = StepWorkspace::default();
    let mut found = Found::default();
    for motion in 0..states {
        let mut state = if motion % 2 == 0 { any_state(&mut rng, 1) } else { standing(&mut rng, of) };
        for step in 0..60 {
            let problem = StepProblem { control: &CONTROL, ..StepProblem::new(&model, &state, 0.005) };
            let after = match integrator.step(&problem.under(&Wrench), &mut workspace) {
                Ok(after) => after,
                Err(error) => {
                    println!("{method:?} {of:?} motion {motion} step {step}: {error}");
                    found.failed += 1;
                    break;
                }
            };
            if step % 6 == 5 && !workspace.rigid_contacts().is_empty() {
                let before = found.worst;
                check(&model, &state, integrator, &mut found);
                if found.worst > before.max(1e-6) {
                    println!("{method:?} {of:?} motion {motion} step {step}: {:.1e}", found.worst);
                }
                if found.states == states {
                    return found;
                }
            }
            state = after;
        }
    }
    found
}

/// Checks states of all shapes: all steps converge, derivatives are those of one side, and none is undecided. Steps of
/// cylinders may say that they have no derivative.
fn study(method: ComplementarityMethod, states: usize) {
    let mut bad = 0;
    for of in shapes() {
        let found = along_motions(method, of, states);
        println!("{method:?} {of:?}: {found:?}");
        bad += usize::from(found.worst > 1e-6 || found.unclear > 0 || found.failed > 0);
        bad += usize::from(50 * found.refused > states);
    }
    assert_eq!(bad, 0);
}

#[test]
fn derivatives_are_those_of_differences() {
    use ComplementarityMethod::{Ecp, Lcp, Ncp};
    for method in [Ecp, Lcp, Ncp] {
        study(method, 10);
    }
}

#[test]
#[ignore = "takes minutes; what it measures is told in docs/rigid_contact.md"]
fn derivatives_of_ecp_at_200_states() {
    study(ComplementarityMethod::Ecp, 200);
}

#[test]
#[ignore = "takes minutes; what it measures is told in docs/rigid_contact.md"]
fn derivatives_of_lcp_at_200_states() {
    study(ComplementarityMethod::Lcp, 200);
}

#[test]
#[ignore = "takes minutes; what it measures is told in docs/rigid_contact.md"]
fn derivatives_of_ncp_at_200_states() {
    study(ComplementarityMethod::Ncp, 200);
}

/// The slopes at 0 of functions of a distance whose values at 0 are 0, by the values at a distance, a half and a quarter
/// of it, by extrapolation; `None` where the first two do not tell the same as the last two: where these are not of one smooth function.
pub fn slopes(at: impl Fn(f64) -> Vec<f64>, d: f64, largest: f64) -> Option<Vec<f64>> {
    let [whole, half, quarter] = [at(d), at(0.5 * d), at(0.25 * d)];
    let limit = |whole: &[f64], half: &[f64], d: f64| -> Vec<f64> {
        whole.iter().zip(half).map(|(w, h)| (4.0 * h - w) / d).collect()
    };
    let (longer, shorter) = (limit(&whole, &half, d), limit(&half, &quarter, 0.5 * d));
    let same = longer.iter().zip(&shorter).all(|(a, b)| (a - b).abs() <= 1e-6 * largest);
    same.then(|| longer.iter().zip(&shorter).map(|(a, b)| (4.0 * b - a) / 3.0).collect())
}

/// Compares the derivatives at a state with differences. Where slopes on both sides differ (a kink), they have to be
/// those of one side.
fn check(model: &Model, state: &State, integrator: Integrator, found: &mut Found) {
    let material = |parameter| Parameter::Material { material: 0, parameter };
    let mut parameters = vec![
        material(MaterialParameter::DynamicFriction),
        Parameter::Mass { body: 0 },
        Parameter::Gravity { axis: 2 },
        Parameter::GeometryScale { body: 0, geometry: 0 },
        Parameter::GeometryPose { body: 0, geometry: 0, axis: 1 },
        Parameter::GeometryPose { body: 0, geometry: 0, axis: 5 },
        Parameter::FixedPose { body: 1, axis: 0 },
        Parameter::FixedPose { body: 1, axis: 5 },
    ];
    if integrator == Integrator::Complementarity(ComplementarityMethod::Ecp) {
        parameters.extend((0..3).map(|axis| material(MaterialParameter::FrictionEllipsoid(axis))));
    }
    let differentiated =
        DifferentiatedModel::new(model, &parameters, ForceDependence::default(), 6).expect("parameters");
    let problem = StepProblem { control: &CONTROL, ..StepProblem::new(model, state, 0.005) }.under(&Wrench);
    let (mut workspace, mut tape) = (StepWorkspace::default(), Tape::default());
    found.states += 1;
    let after = match integrator.step_taped(&problem, &differentiated, &mut workspace, &mut tape) {
        Err(StepError::NoDerivative { .. }) => {
            found.refused += 1;
            return;
        }
        after => after.expect("a step"),
    };
    let mut derivatives = DerivativeWorkspace::default();
    let jacobian = tape.jacobian(&differentiated, &Wrench, &mut derivatives).expect("a derivative");
    // The product with a vector is that with the matrix.
    let weights: Vec<f64> = (0..12).map(|i| 0.3 + 0.1 * f64::from(i)).collect();
    let (mut by_state, mut by_control) = (weights.clone(), vec![0.0; 6]);
    let mut by_model = ModelGradient::zero(&differentiated);
    let mut out = StepCotangent { state: &mut by_state, control: &mut by_control, model: &mut by_model };
    tape.vjp(&differentiated, &Wrench, &mut derivatives, &mut out);
    let by_parameters = differentiated.by_parameters(&by_state, &by_model);
    let product =
        |column: nalgebra::DVectorView<f64>| -> f64 { column.iter().zip(&weights).map(|(a, b)| a * b).sum() };
    for k in 0..12 {
        assert!(
            (product(jacobian.by_state.column(k)) - by_state[k]).abs() < 1e-12 * (1.0 + by_state[k].abs())
        );
    }
    for (k, by) in by_parameters.iter().enumerate() {
        assert!((product(jacobian.by_parameters.column(k)) - by).abs() < 1e-11 * (1.0 + by.abs()));
    }
    let take = |tangent: &[f64], control: &[f64], values: &[(Parameter, f64)]| {
        let (model, _) = seeded(model, state, values).expect("a model");
        let state = state.moved(tangent);
        let problem = StepProblem { control, ..StepProblem::new(&model, &state, 0.005) }.under(&Wrench);
        let moved = integrator.step(&problem, &mut StepWorkspace::default()).expect("a step");
        after.difference(&moved)
    };
    let columns = 12 + 6 + parameters.len();
    for column in 0..columns {
        let at = |d: f64| {
            let (mut tangent, mut control, mut values) = (vec![0.0; 12], CONTROL, Vec::new());
            match column {
                0..12 => tangent[column] = d,
                12..18 => control[column - 12] += d,
                _ => {
                    let parameter = parameters[column - 18];
                    values.push((parameter, parameter.value(model).expect("a value") + d));
                }
            }
            take(&tangent, &control, &values)
        };
        let claimed: Vec<f64> = match column {
            0..12 => jacobian.by_state.column(column).iter().copied().collect(),
            12..18 => jacobian.by_control.column(column - 12).iter().copied().collect(),
            _ => jacobian.by_parameters.column(column - 18).iter().copied().collect(),
        };
        let largest = claimed.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let off = |slopes: &[f64]| {
            slopes.iter().zip(&claimed).map(|(a, b)| (a - b).abs() / largest).fold(0.0, f64::max)
        };
        // Shorter ones where a kink is near.
        let mut error = None;
        for d in [8e-6, 2e-6, 5e-7, 1e-7, 2e-8] {
            let sides = [d, -d].map(|d| slopes(at, d, largest));
            let errors = sides.each_ref().map(|side| side.as_deref().map(off));
            error = match (&sides, errors) {
                ([Some(plus), Some(minus)], [Some(of_plus), Some(of_minus)]) => {
                    let apart = plus.iter().zip(minus).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    let both: Vec<f64> = plus.iter().zip(minus).map(|(a, b)| 0.5 * (a + b)).collect();
                    let is_kink = apart > 1e-5 * largest;
                    found.kinks += usize::from(is_kink);
                    Some(if is_kink { of_plus.min(of_minus) } else { off(&both) })
                }
                (_, [one, other]) => one.or(other),
            };
            if error.is_some() {
                break;
            }
        }
        match error {
            Some(error) => found.worst = found.worst.max(error),
            None => found.unclear += 1,
        }
        if error.is_none_or(|error| error > 1e-6) {
            println!("{integrator:?} column {column}: {error:?}");
        }
    }
}
