//! The derivatives of steps against differences.

use std::cell::Cell;

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
use crate::scenes::{self, STEP, Scene, on_plane};

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

/// A step under control values.
pub struct Case<'a, A> {
    pub model: &'a Model,
    pub integrator: Integrator,
    pub time_step: f64,
    pub applied: &'a A,
    pub control: &'a [f64],
    pub parameters: &'a [Parameter],
}

impl<A: AppliedForces> Case<'_, A> {
    pub fn step(&self, state: &State, workspace: &mut StepWorkspace) -> Result<State, StepError> {
        let problem =
            StepProblem { control: self.control, ..StepProblem::new(self.model, state, self.time_step) };
        self.integrator.step(&problem.under(self.applied), workspace)
    }
}

/// The parameters of a body on a plane.
fn parameters(method: ComplementarityMethod) -> Vec<Parameter> {
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
        Parameter::TimeStep,
    ];
    if method == ComplementarityMethod::Ecp {
        parameters.extend((0..3).map(|axis| material(MaterialParameter::FrictionEllipsoid(axis))));
    }
    parameters
}

/// What was found at states of one shape.
#[derive(Debug, Default)]
pub struct Found {
    pub states: usize,
    /// Steps that did not converge.
    pub failed: usize,
    /// Steps beside states that did not converge, where shorter differences are taken.
    pub beside: usize,
    /// Those where a derivative is refused.
    pub refused: usize,
    /// Columns of Jacobians where slopes differ on both sides.
    pub kinks: usize,
    /// Columns that have no slope on either side.
    pub unclear: usize,
    pub worst: f64,
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
    let control = [0.1, -0.2, 0.15, 0.4, -0.3, 0.2];
    let parameters = parameters(method);
    let parameters = &parameters[..];
    let control = &control[..];
    let case = Case { model: &model, integrator, time_step: 0.005, applied: &Wrench, control, parameters };
    let mut workspace = StepWorkspace::default();
    let mut found = Found::default();
    for motion in 0..states {
        let mut state = if motion % 2 == 0 { any_state(&mut rng, 1) } else { standing(&mut rng, of) };
        for step in 0..60 {
            let after = match case.step(&state, &mut workspace) {
                Ok(after) => after,
                Err(error) => {
                    println!("{method:?} {of:?} motion {motion} step {step}: {error}");
                    found.failed += 1;
                    break;
                }
            };
            if step % 6 == 5 && !workspace.rigid_contacts().is_empty() {
                let before = found.worst;
                check(&case, &state, &mut found);
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

/// Checks states in contact along the motion of a scene of the paper, as many at most, evenly.
fn along_scene(method: ComplementarityMethod, scene: &Scene, states: usize) -> Found {
    let integrator = Integrator::Complementarity(method);
    let mut workspace = StepWorkspace::default();
    let mut found = Found::default();
    let steps = (scene.duration / STEP).round() as usize;
    let mut state = scene.start.clone();
    let parameters = parameters(method);
    let parameters = &parameters[..];
    for step in 0..steps {
        let (force, torque) = (scene.load)(step as f64 * STEP);
        let control = [torque.x, torque.y, torque.z, force.x, force.y, force.z];
        let (model, control) = (&scene.model, &control[..]);
        let case = Case { model, integrator, time_step: STEP, applied: &Wrench, control, parameters };
        let after = case.step(&state, &mut workspace).expect("a step");
        // Of as many steps as have to be checked, those whose index enters another of the parts.
        let part = |step: usize| step * states / steps;
        if (step == 0 || part(step) != part(step - 1)) && !workspace.rigid_contacts().is_empty() {
            let before = found.worst;
            check(&case, &state, &mut found);
            if found.worst > before.max(1e-6) {
                println!("{method:?} {} step {step}: {:.1e}", scene.name, found.worst);
            }
        }
        state = after;
    }
    found
}

/// Checks states of all shapes and of the scenes of the paper: all steps converge, derivatives are those of one side, and none is
/// undecided. Steps of cylinders may say that they have no derivative.
fn study(method: ComplementarityMethod, states: usize) {
    let mut bad = 0;
    let of_shapes = shapes().map(|of| (format!("{of:?}"), along_motions(method, of, states)));
    let scenes = [scenes::desk(), scenes::tee(), scenes::dumbbell()];
    let of_scenes = scenes.map(|scene| (scene.name.to_owned(), along_scene(method, &scene, states)));
    for (name, found) in of_shapes.into_iter().chain(of_scenes) {
        println!("{method:?} {name}: {found:?}");
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
fn study_derivatives_of_ecp_at_200_states() {
    study(ComplementarityMethod::Ecp, 200);
}

#[test]
#[ignore = "takes minutes; what it measures is told in docs/rigid_contact.md"]
fn study_derivatives_of_lcp_at_200_states() {
    study(ComplementarityMethod::Lcp, 200);
}

#[test]
#[ignore = "takes minutes; what it measures is told in docs/rigid_contact.md"]
fn study_derivatives_of_ncp_at_200_states() {
    study(ComplementarityMethod::Ncp, 200);
}

/// Where a cylinder begins to tip, the lowest point of its rim goes far around with small velocities. The step is smooth all the
/// same, but for rounding.
#[test]
fn steps_are_smooth_where_a_cylinder_begins_to_tip() {
    use ComplementarityMethod::{Ecp, Lcp, Ncp};
    let scene = scenes::dumbbell();
    for method in [Ecp, Lcp, Ncp] {
        let (model, integrator) = (&scene.model, Integrator::Complementarity(method));
        let mut workspace = StepWorkspace::default();
        let mut step = |state: &State, step: usize| {
            let (force, torque) = (scene.load)(step as f64 * STEP);
            let control = &[torque.x, torque.y, torque.z, force.x, force.y, force.z][..];
            let case =
                Case { model, integrator, time_step: STEP, applied: &Wrench, control, parameters: &[] };
            case.step(state, &mut workspace).expect("a step")
        };
        let first = 5;
        let state = (0..first).fold(scene.start.clone(), |state, k| step(&state, k));
        let after = step(&state, first);
        let tilt = 2.0 * after.bodies[0].orientation.v.xy().norm();
        assert!(tilt > 1e-4 && tilt < 1e-3, "{tilt}");
        for column in 0..state.tangent_dimension() {
            let at = |k: i32| {
                let mut tangent = vec![0.0; state.tangent_dimension()];
                tangent[column] = 1e-12 * f64::from(k);
                after.difference(&step(&state.moved(&tangent), first))
            };
            let values: Vec<Vec<f64>> = (0..12).map(at).collect();
            for three in values.windows(3) {
                for i in 0..state.tangent_dimension() {
                    let curved = three[0][i] - 2.0 * three[1][i] + three[2][i];
                    assert!(curved.abs() < 1e-12, "{method:?} column {column}: {curved}");
                }
            }
        }
    }
}

/// The slopes at 0 of functions of a distance whose values at 0 are 0, by the values at a distance, a half and a quarter
/// of it, by extrapolation; `None` where the first two do not tell the same as the last two: where these are not of one smooth function.
fn slopes(at: impl Fn(f64) -> Option<Vec<f64>>, d: f64, largest: f64) -> Option<Vec<f64>> {
    let [whole, half, quarter] = [at(d)?, at(0.5 * d)?, at(0.25 * d)?];
    let limit = |whole: &[f64], half: &[f64], d: f64| -> Vec<f64> {
        whole.iter().zip(half).map(|(w, h)| (4.0 * h - w) / d).collect()
    };
    let (longer, shorter) = (limit(&whole, &half, d), limit(&half, &quarter, 0.5 * d));
    let same = longer.iter().zip(&shorter).all(|(a, b)| (a - b).abs() <= 1e-6 * largest);
    same.then(|| longer.iter().zip(&shorter).map(|(a, b)| (4.0 * b - a) / 3.0).collect())
}

/// Compares the derivatives at a state with differences. Where slopes on both sides differ (a kink), they have to be
/// those of one side.
pub fn check<A: AppliedForces>(case: &Case<A>, state: &State, found: &mut Found) {
    let Case { model, integrator, time_step, applied, control, parameters } = *case;
    let n = state.tangent_dimension();
    let differentiated =
        DifferentiatedModel::new(model, parameters, ForceDependence::default(), control.len())
            .expect("parameters");
    let problem = StepProblem { control, ..StepProblem::new(model, state, time_step) }.under(applied);
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
    let jacobian = tape.jacobian(&differentiated, applied, &mut derivatives).expect("a derivative");
    // The product with a vector is that with the matrix.
    let weights: Vec<f64> = (0..n).map(|i| 0.3 + 0.1 * i as f64).collect();
    let (mut by_state, mut by_control) = (weights.clone(), vec![0.0; control.len()]);
    let mut by_model = ModelGradient::zero(&differentiated);
    let mut out = StepCotangent { state: &mut by_state, control: &mut by_control, model: &mut by_model };
    tape.vjp(&differentiated, applied, &mut derivatives, &mut out);
    let by_parameters = differentiated.by_parameters(&by_state, &by_model);
    // How far a sum of derivatives times weights is off, over the size of its terms, which it rounds with.
    let off = |column: nalgebra::DVectorView<f64>, sum: f64| {
        let terms = column.iter().zip(&weights).map(|(a, b)| a * b);
        (terms.clone().sum::<f64>() - sum).abs() / (1.0 + terms.map(f64::abs).sum::<f64>())
    };
    for (k, &by) in by_state.iter().enumerate().take(n) {
        let off = off(jacobian.by_state.column(k), by);
        assert!(off < 1e-12, "column {k}: {by} is off by {off} of its terms");
    }
    for (k, &by) in by_parameters.iter().enumerate() {
        let off = off(jacobian.by_parameters.column(k), by);
        assert!(off < 1e-11, "parameter {k}: {by} is off by {off} of its terms");
    }
    let beside = Cell::new(0);
    let take = |tangent: &[f64], control: &[f64], values: &[(Parameter, f64)]| {
        let (model, _) = seeded(model, state, values).expect("a model");
        let state = state.moved(tangent);
        let moved = Case { model: &model, control, ..*case };
        match moved.step(&state, &mut StepWorkspace::default()) {
            Ok(moved) => Some(after.difference(&moved)),
            Err(error) => {
                println!("{integrator:?} at {tangent:?}, {control:?}, {values:?}: {error}");
                beside.set(beside.get() + 1);
                None
            }
        }
    };
    // Large numbers are changed by parts of themselves.
    let unit = |value: f64| value.abs().max(1.0);
    let first = n + control.len();
    let columns = first + parameters.len();
    for column in 0..columns {
        let at = |d: f64| {
            let (mut tangent, mut control, mut values) = (vec![0.0; n], control.to_vec(), Vec::new());
            match column {
                k if k < n => tangent[k] = d,
                k if k < first => control[k - n] += d,
                k => {
                    let parameter = parameters[k - first];
                    let value = parameter.value(model).expect("a value");
                    values.push((parameter, value + d * unit(value)));
                }
            }
            take(&tangent, &control, &values)
        };
        let claimed: Vec<f64> = match column {
            k if k < n => jacobian.by_state.column(k).iter().copied().collect(),
            k if k < first => jacobian.by_control.column(k - n).iter().copied().collect(),
            k => {
                let of = unit(parameters[k - first].value(model).expect("a value"));
                jacobian.by_parameters.column(k - first).iter().map(|x| x * of).collect()
            }
        };
        let largest = claimed.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let off = |slopes: &[f64]| {
            slopes.iter().zip(&claimed).map(|(a, b)| (a - b).abs() / largest).fold(0.0, f64::max)
        };
        // Shorter ones where a kink is near, longer ones where rounding is.
        let mut error: Option<f64> = None;
        for d in [8e-6, 2e-6, 5e-7, 1e-7, 2e-8, 3e-5, 1e-4, 3e-9] {
            let sides = [d, -d].map(|d| slopes(at, d, largest));
            let errors = sides.each_ref().map(|side| side.as_deref().map(off));
            let of_both = match (&sides, errors) {
                ([Some(plus), Some(minus)], [Some(of_plus), Some(of_minus)]) => {
                    let apart = plus.iter().zip(minus).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                    let both: Vec<f64> = plus.iter().zip(minus).map(|(a, b)| 0.5 * (a + b)).collect();
                    let is_kink = apart > 1e-5 * largest;
                    found.kinks += usize::from(is_kink);
                    Some(if is_kink { of_plus.min(of_minus) } else { off(&both) })
                }
                (_, [one, other]) => one.or(other),
            };
            error = error.into_iter().chain(of_both).reduce(f64::min);
            if error.is_some_and(|error| error < 3e-7) {
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
    found.beside += beside.get();
}
