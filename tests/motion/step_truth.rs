//! Derivatives of velocity-level steps against differences of the step itself, at random states
//! in stick, slip, make and break.

use std::collections::BTreeMap;
use std::convert::Infallible;

use isobar::check::{CheckSettings, Verdict, compare_derivative};
use isobar::contact::{
    Collider, ContactModel, ContactSettings, DissipationModel, Material, SurfaceRepresentation,
};
use isobar::geometry::Shape;
use isobar::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, DifferentiatedModel, MassProperties, MassSource, Model,
    ModelBuilder, NamedMaterial, NoForces, Parameter, State, seeded,
};
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity, rotation_from_rpy};
use isobar::step::{
    DerivativeWorkspace, Integrator, SolverTolerance, StepProblem, StepWorkspace, Tape, VelocityLevel,
};
use nalgebra::{Matrix3, Vector3};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// States of each contact model.
const STATES: usize = 240;
const DT: f64 = 1e-3;

/// What the bodies do at the contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Regime {
    Stick,
    Slip,
    Make,
    Break,
}

const REGIMES: [Regime; 4] = [Regime::Stick, Regime::Slip, Regime::Make, Regime::Break];

fn material(name: &str, hydroelastic_modulus: f64, friction: f64) -> NamedMaterial {
    let material = Material::new(hydroelastic_modulus, 1.1, friction).with_relaxation_time(0.004);
    NamedMaterial { name: name.into(), material }
}

fn geometry(
    shape: &Shape,
    resolution: f64,
    x_bg: RigidTransform,
    place: usize,
    materials: &[NamedMaterial],
) -> BodyGeometry {
    let collider = Collider::of_shape(shape, resolution, materials[place].material).expect("valid shape");
    BodyGeometry::new(collider).at(x_bg).of_material(place)
}

/// A ball with an eccentric centre of mass on a free, heavy, tilted box.
fn model(settings: ContactSettings) -> Model {
    let materials = vec![material("ball", 1e5, 0.5), material("box", 4e5, 0.8)];
    let at = |x: f64, y: f64, z: f64| {
        RigidTransform::new(rotation_from_rpy(0.1, -0.2, 0.3), Vector3::new(x, y, z))
    };
    let ball = MassProperties {
        mass: 0.5,
        center_of_mass: Vector3::new(0.004, -0.003, 0.006),
        inertia: Matrix3::new(6e-4, 2e-5, -1e-5, 2e-5, 5e-4, 3e-5, -1e-5, 3e-5, 4.5e-4),
    };
    let block = MassProperties {
        mass: 4.0,
        center_of_mass: Vector3::new(0.01, 0.02, -0.01),
        inertia: Matrix3::from_diagonal(&Vector3::new(0.02, 0.03, 0.04)),
    };
    let sphere = geometry(&Shape::Sphere { radius: 0.05 }, 0.035, at(0.002, 0.001, -0.001), 0, &materials);
    let cuboid = geometry(&Shape::Box { size: [0.3, 0.25, 0.1] }, 0.1, at(0.01, 0.0, -0.05), 1, &materials);
    let bodies = vec![
        Body::free("ball", MassSource::Given(ball), vec![sphere]).expect("valid mass"),
        Body::free("box", MassSource::Given(block), vec![cuboid]).expect("valid mass"),
    ];
    let gravity = Vector3::new(0.4, -0.3, -9.7);
    let model = ModelBuilder { bodies, materials, gravity, contact: settings, ..Default::default() };
    model.build().expect("compliant")
}

/// A state in which the ball touches the box from above.
fn random_state(model: &Model, regime: Regime, skirt: f64, rng: &mut ChaCha8Rng) -> State {
    let mut vector = |size: f64| Vector3::from_fn(|_, _| rng.random_range(-1.0..1.0) * size);
    let orientation = |v: Vector3<f64>| Quaternion::from_wxyz(1.0, 0.0, 0.0, 0.0).rotated_by(&v);
    let box_state = BodyState {
        orientation: orientation(vector(0.3)),
        position: vector(0.1),
        velocity: SpatialVelocity::new(vector(0.1), vector(0.05)),
    };
    // In the frame of the box's geometry, whose top is at z = 0.05.
    let frame = box_state.pose() * model.bodies()[1].geometries[0].x_bg;
    let (place, turn, spin, slip) = (vector(0.06), vector(3.0), vector(1.0), vector(1.0));
    let depth = match regime {
        Regime::Stick | Regime::Slip => rng.random_range(0.002..0.008),
        Regime::Make | Regime::Break => rng.random_range(2e-4..2e-3),
    };
    // With skirts from a part of them before touch to as much after.
    let depth = if skirt > 0.0 { rng.random_range(-1.4..1.0) * skirt } else { depth };
    let top = frame * Vector3::new(place.x, place.y, 0.05 + 0.049 - depth);
    let (sliding, normal) = match regime {
        Regime::Stick => (2e-4, 1e-3),
        Regime::Slip => (0.4, 0.05),
        Regime::Make => (0.1, -0.3),
        Regime::Break => (0.1, 0.5),
    };
    let along =
        frame.rotation * Vector3::new(slip.x * sliding, slip.y * sliding, normal * (0.6 + 0.4 * slip.z));
    let lever = top - box_state.position;
    let carried = box_state.velocity.shifted(&lever).translational;
    let spin = if regime == Regime::Stick { box_state.velocity.rotational + spin * 2e-3 } else { spin };
    let ball_state = BodyState {
        orientation: orientation(turn),
        position: top,
        velocity: SpatialVelocity::new(spin, carried + along),
    };
    State::of_bodies(vec![ball_state, box_state])
}

/// The scale of a parameter of the model that is not a move of the initial state.
fn scale(parameter: &Parameter, model: &Model) -> f64 {
    match parameter {
        Parameter::Gravity { .. } => 1.0,
        Parameter::CenterOfMass { .. } => 0.01,
        _ => parameter.value(model).expect("exists").abs(),
    }
}

#[test]
fn steps_follow_their_parameters() {
    check_steps(STATES, 0.0);
}

#[test]
fn steps_before_and_at_touch_follow_their_parameters() {
    check_steps(96, 0.002);
}

/// Checks this number of states of each contact model, with skirts of this thickness in metres.
fn check_steps(states: usize, skirt: f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut report = BTreeMap::new();
    for contact_model in [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi]
    {
        let tolerance = SolverTolerance { relative: 1e-14, max_iterations: 200 };
        let integrator = Integrator::VelocityLevel(VelocityLevel { model: contact_model, tolerance });
        for number in 0..states {
            let regime = REGIMES[number % 4];
            let settings = ContactSettings {
                surface: [SurfaceRepresentation::Triangles, SurfaceRepresentation::Polygons][number / 4 % 2],
                dissipation_model: if number % 16 == 9 {
                    DissipationModel::StrainRate
                } else {
                    Default::default()
                },
                ..Default::default()
            };
            let mut model = model(settings).into_builder();
            for geometry in model.bodies.iter_mut().flat_map(|b| &mut b.geometries) {
                geometry.collider = geometry.collider.with_skirt(skirt).expect("a thin skirt");
            }
            let model = model.build().expect("compliant");
            let before = random_state(&model, regime, skirt, &mut rng);
            let mut parameters: Vec<Parameter> = Parameter::all(&model)
                .into_iter()
                .filter(|i| !matches!(i, Parameter::InitialTangent { .. }))
                .collect();
            parameters.extend(Parameter::relaxation_times(&model));
            let step = |model: &Model, state: &State| {
                integrator.step(&StepProblem::new(model, state, DT), &mut StepWorkspace::default())
            };
            let differentiated = DifferentiatedModel::new(&model, &parameters, NoForces.dependence(), 0)
                .expect("valid parameters");
            let (mut tape, problem) = (Tape::default(), StepProblem::new(&model, &before, DT));
            integrator
                .step_taped(&problem, &differentiated, &mut StepWorkspace::default(), &mut tape)
                .expect("converges");
            let jacobian = tape
                .jacobian(&differentiated, &NoForces, &mut DerivativeWorkspace::default())
                .expect("differentiable");
            // Along one random direction, in turn of the state alone and of everything.
            let tangent_scales = [0.05, 1e-3, 0.1, 0.02];
            let tangent: Vec<f64> =
                (0..24).map(|i| rng.random_range(-1.0..1.0) * tangent_scales[i / 3 % 4]).collect();
            let weight = if number / 8 % 2 == 0 { 0.0 } else { 0.1 };
            let values: Vec<f64> =
                parameters.iter().map(|i| rng.random_range(-1.0..1.0) * weight * scale(i, &model)).collect();
            let claimed: Vec<f64> = (0..24)
                .filter(|row| row % 12 >= 6)
                .map(|row| {
                    let by_state: f64 = (0..24).map(|k| jacobian.by_state[(row, k)] * tangent[k]).sum();
                    let by_parameters: f64 =
                        (0..parameters.len()).map(|k| jacobian.by_parameters[(row, k)] * values[k]).sum();
                    by_state + by_parameters
                })
                .collect();
            let velocities = |x: f64| {
                let moved = before.moved(&tangent.iter().map(|t| t * x).collect::<Vec<_>>());
                let seeds: Vec<(Parameter, f64)> = parameters
                    .iter()
                    .zip(&values)
                    .map(|(parameter, v)| (*parameter, parameter.value(&model).expect("exists") + v * x))
                    .collect();
                let (model, state) = seeded(&model, &moved, &seeds).expect("valid parameters");
                let after = step(&model, &state).expect("converges");
                let parts = after.bodies.iter().map(|b| b.velocity);
                Ok::<_, Infallible>(
                    parts
                        .flat_map(|v| [v.rotational, v.translational])
                        .flat_map(|v| [v.x, v.y, v.z])
                        .collect(),
                )
            };
            let settings = CheckSettings { tolerance: 1e-6, ..Default::default() };
            let Ok(compared) = compare_derivative(velocities, 0.0, 1.0, &claimed, &settings);
            for comparison in compared {
                if comparison.verdict == Verdict::Wrong {
                    println!("{contact_model:?} {regime:?} {number}: {comparison:?}");
                }
                let key = (format!("{contact_model:?}"), regime, format!("{:?}", comparison.verdict));
                let (count, worst) = report.entry(key).or_insert((0, 0.0_f64));
                *count += 1;
                if comparison.verdict == Verdict::Ok {
                    *worst = worst.max(comparison.relative_error);
                }
            }
        }
    }
    for (key, (count, worst)) in &report {
        println!("{key:?}: {count}, {worst:.1e}");
    }
    let count = |verdict: &str, regimes: &[Regime]| -> usize {
        let chosen = report.iter().filter(|((_, regime, v), _)| v == verdict && regimes.contains(regime));
        chosen.map(|(_, (count, _))| count).sum()
    };
    assert_eq!(count("Wrong", &REGIMES), 0);
    let smooth = [Regime::Stick, Regime::Slip];
    let total = 4 * states / 2 * 12;
    let ok = count("Ok", &smooth);
    assert!(ok > total * 9 / 10, "{ok} of {total} could be compared");
}
