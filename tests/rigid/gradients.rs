//! The derivatives of steps against differences.

use isobar::contact::MaterialParameter;
use isobar::geometry::Shape;
use isobar::multibody::{
    AppliedForces, DifferentiatedModel, ForceDependence, Forces, Model, ModelGradient, Parameter, State,
    seeded,
};
use isobar::scalar::Scalar;
use isobar::step::{
    ComplementarityMethod, DerivativeWorkspace, Integrator, StepCotangent, StepProblem, StepWorkspace, Tape,
};
use nalgebra::Vector3;
use rand::SeedableRng;
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

#[test]
fn derivatives_are_those_of_differences() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let shapes = [
        Shape::Box { size: [0.3, 0.2, 0.1] },
        Shape::Capsule { radius: 0.08, length: 0.2 },
        Shape::Cylinder { radius: 0.12, length: 0.2 },
    ];
    for method in [ComplementarityMethod::Ecp, ComplementarityMethod::Lcp] {
        for of in shapes {
            if matches!(of, Shape::Cylinder { .. }) && method != ComplementarityMethod::Ecp {
                // Which points of a rim carry changes by itself: see `docs/rigid_contact.md`.
                continue;
            }
            let model = on_plane(vec![shape(of, 1.3, "body")], 0.4, [1.1, 0.8, 0.05], 9.81);
            let (mut checked, mut kinks, mut touching) = (0, 0, 0);
            let mut worst: f64 = 0.0;
            for _ in 0..3 {
                let mut state = any_state(&mut rng, 1);
                for step in 0..60 {
                    let problem =
                        StepProblem { control: &CONTROL, ..StepProblem::new(&model, &state, 0.005) };
                    let problem = problem.under(&Wrench);
                    let integrator = Integrator::Complementarity(method);
                    let mut workspace = StepWorkspace::default();
                    let after = match integrator.step(&problem, &mut workspace) {
                        Ok(after) => after,
                        Err(error) => {
                            assert_ne!(method, ComplementarityMethod::Ecp, "{of:?}: {error}");
                            break;
                        }
                    };
                    if step % 4 == 3 && !workspace.rigid_contacts().is_empty() {
                        touching += 1;
                        match check(&model, &state, integrator) {
                            Some(error) => {
                                checked += 1;
                                worst = worst.max(error);
                                assert!(error < 1e-6, "{method:?} {of:?}: {error:e}");
                            }
                            None => kinks += 1,
                        }
                    }
                    state = after;
                }
            }
            println!(
                "{method:?} {of:?}: {checked} of {touching} states, {kinks} at kinks, worst {worst:.1e}"
            );
            assert!(checked > 10, "{checked}");
        }
    }
}

/// The largest error of the derivatives at a state, in parts of the largest one; `None` where differences from both
/// sides are not the same.
fn check(model: &Model, state: &State, integrator: Integrator) -> Option<f64> {
    let material = |parameter| Parameter::Material { material: 0, parameter };
    let mut parameters = vec![
        material(MaterialParameter::DynamicFriction),
        Parameter::Mass { body: 0 },
        Parameter::Gravity { axis: 2 },
        Parameter::GeometryScale { body: 0, geometry: 0 },
    ];
    if integrator == Integrator::Complementarity(ComplementarityMethod::Ecp) {
        parameters.extend((0..3).map(|axis| material(MaterialParameter::FrictionEllipsoid(axis))));
    }
    let differentiated =
        DifferentiatedModel::new(model, &parameters, ForceDependence::default(), 6).expect("parameters");
    let problem = StepProblem { control: &CONTROL, ..StepProblem::new(model, state, 0.005) }.under(&Wrench);
    let (mut workspace, mut tape) = (StepWorkspace::default(), Tape::default());
    let after = integrator.step_taped(&problem, &differentiated, &mut workspace, &mut tape).expect("a step");
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
    let mut worst: f64 = 0.0;
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
        let d = 2e-6;
        let (plus, minus) = (at(d), at(-d));
        let (plus_half, minus_half) = (at(0.5 * d), at(-0.5 * d));
        let claimed: Vec<f64> = match column {
            0..12 => jacobian.by_state.column(column).iter().copied().collect(),
            12..18 => jacobian.by_control.column(column - 12).iter().copied().collect(),
            _ => jacobian.by_parameters.column(column - 18).iter().copied().collect(),
        };
        let largest = claimed.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for (i, claim) in claimed.iter().enumerate() {
            // How far the slopes on both sides differ: in proportion to the distance where the step is smooth.
            let whole = (plus[i] + minus[i]) / d;
            let half = 2.0 * (plus_half[i] + minus_half[i]) / d;
            if (whole - 2.0 * half).abs() > 1e-5 * largest {
                return None;
            }
            let limit = (4.0 * (plus_half[i] - minus_half[i]) / d - 0.5 * (plus[i] - minus[i]) / d) / 3.0;
            worst = worst.max((limit - claim).abs() / largest);
        }
    }
    Some(worst)
}
