//! Contact between bodies of a model, and derivatives through bodies, steps and rollouts.

use nalgebra::Vector3;

use isobar::contact::MaterialParameter;
use isobar::geometry::Shape;
use isobar::multibody::{
    Body, BodyFrame, BodyPair, BodyState, ForceWorkspace, MassProperties, MassSource, Model, ModelBuilder,
    NamedMaterial, PairWorkspace, Parameter, State, seeded,
};
use isobar::rollout::{Rollout, SimulationSettings, trajectory_gradient};
use isobar::spatial::{Quaternion, RigidTransform, SpatialForce, SpatialVelocity};
use isobar::step::Integrator;

use crate::moving_bodies::{self, compliant, dumbbell, half_space};

/// Stiffer than those of the heap, and with the same friction at rest as in motion: with the heap's
/// static friction would have no influence here that differences can tell.
fn materials() -> Vec<NamedMaterial> {
    moving_bodies::materials([2e5, 5e5], 1.0)
}

/// The dumbbell moving over a fixed half-space, compliant or rigid.
fn dumbbell_over(ground: Option<usize>) -> (Model, State) {
    let materials = materials();
    let ground = vec![half_space(&materials, ground)];
    let ground = Body::fixed("ground", RigidTransform::identity(), ground);
    let gravity = Vector3::new(0.0, 0.3, -9.81);
    let bodies = vec![dumbbell(&materials), ground];
    let model = ModelBuilder { bodies, materials, gravity, ..Default::default() };
    let model = model.build().expect("compliant");
    let state = State::of_bodies(vec![BodyState {
        orientation: Quaternion::from_wxyz(0.9, 0.05, -0.08, 0.3),
        position: Vector3::new(0.2, -0.1, 0.048),
        velocity: SpatialVelocity::new(Vector3::new(0.4, -0.6, 0.9), Vector3::new(0.21, 0.13, -0.15)),
    }]);
    (model, state)
}

/// Six numbers of a wrench.
fn six(w: &SpatialForce) -> [f64; 6] {
    std::array::from_fn(|i| if i < 3 { w.rotational[i] } else { w.translational[i - 3] })
}

/// The size of moments and forces of a wrench, which errors are relative to.
fn sizes(w: &SpatialForce) -> [f64; 6] {
    let (m, f) = (w.rotational.norm(), w.translational.norm());
    [m, m, m, f, f, f]
}

#[test]
fn both_bodies_feel_the_same_contact_about_one_point() {
    let (model, state) = dumbbell_over(Some(1));
    // The ground set free: then it is the other half of the pair.
    let mut model = model.into_builder();
    let mass = MassProperties {
        mass: 5.0,
        center_of_mass: Vector3::zeros(),
        inertia: nalgebra::Matrix3::identity(),
    };
    let ground_state = BodyState {
        orientation: Quaternion::identity(),
        position: Vector3::new(0.03, -0.02, 0.001),
        velocity: SpatialVelocity::zero(),
    };
    let ground = half_space(&model.materials, Some(1));
    model.bodies[1] = Body::free("ground", MassSource::Given(mass), vec![ground]).expect("valid");
    let model = model.build().expect("compliant");
    let state = State::of_bodies(vec![state.bodies[0], ground_state]);
    let mut forces = vec![SpatialForce::zero(); 2];
    model.add_contact_forces(&state, &mut ForceWorkspace::default(), &mut forces);
    let about_world = |i: usize| forces[i].shifted(&-state.bodies[i].position);
    let (a, b) = (about_world(0), about_world(1));
    assert!(a.translational.z > 1.0, "they touch: {a:?}");
    assert!((a.translational + b.translational).norm() < 1e-15 * a.translational.norm());
    assert!((a.rotational + b.rotational).norm() < 1e-14 * a.translational.norm());
}

#[test]
fn a_rigid_geometry_without_material_takes_the_other_friction() {
    let (model, state) = dumbbell_over(None);
    let mut frames: Vec<BodyFrame> = Vec::new();
    model.body_frames(&state, &mut frames);
    let pairs = model.geometry_pairs(BodyPair { a: 0, b: 1 }).expect("compliant");
    // One pair at a time, so that one coefficient is the right one.
    for pair in &pairs {
        let material = model.bodies()[0].geometries[pair.geometry_a].material.expect("has one");
        let mut model_with = model.clone().into_builder();
        model_with.bodies[1].geometries[0].material = Some(material);
        let model_with = model_with.build().expect("compliant");
        let contact = |m: &Model| {
            m.body_pair_contact(&frames, std::slice::from_ref(pair), &mut PairWorkspace::default())
        };
        let (adopted, given) = (contact(&model), contact(&model_with));
        assert!(adopted.wrench_on_a.translational.xy().norm() > 0.1, "friction acts: {adopted:?}");
        assert_eq!(adopted, given);
    }
}

#[test]
fn pair_jacobian_is_the_derivative_of_the_wrench_about_the_body() {
    for ground in [Some(1), None] {
        let (model, state) = dumbbell_over(ground);
        let pairs = model.geometry_pairs(BodyPair { a: 0, b: 1 }).expect("compliant");
        let mut workspace = PairWorkspace::default();
        let mut frames: Vec<BodyFrame> = Vec::new();
        model.body_frames(&state, &mut frames);
        let value = model.body_pair_contact(&frames, &pairs, &mut workspace);
        assert!(value.faces > 10, "they touch");
        let jacobian = model.body_pair_jacobian(&frames, &pairs, &mut workspace);
        let sizes = sizes(&value.wrench_on_a);
        // Moves of either body at constant velocity of its origin.
        for (body, by_pose) in [(0, &jacobian.by_pose_a), (1, &jacobian.by_pose_b)] {
            for column in 0..6 {
                let mut at = |h: f64| {
                    let mut moved = frames.clone();
                    let mut tangent = [Vector3::zeros(), Vector3::zeros()];
                    tangent[column / 3][column % 3] = h;
                    moved[body].pose = moved[body].pose.moved(&tangent[0], &tangent[1]);
                    six(&model.body_pair_contact(&moved, &pairs, &mut workspace).wrench_on_a)
                };
                let h = 1e-7;
                let (plus, minus) = (at(h), at(-h));
                let scale = if column < 3 { 1.0 } else { 20.0 };
                for row in 0..6 {
                    let difference = (plus[row] - minus[row]) / (2.0 * h);
                    let error = (by_pose[(row, column)] - difference).abs();
                    assert!(
                        error < 1e-5 * scale * sizes[row],
                        "{ground:?} body {body} ({row}, {column}): {} {difference}",
                        by_pose[(row, column)]
                    );
                }
            }
        }
        // Each body's modulus, for one pair of geometries at a time.
        for pair in &pairs {
            let pair = std::slice::from_ref(pair);
            let jacobian = model.body_pair_jacobian(&frames, pair, &mut workspace);
            for (body, geometry, by_modulus) in
                [(0, pair[0].geometry_a, &jacobian.by_modulus_a), (1, 0, &jacobian.by_modulus_b)]
            {
                let mut at = |h: f64| {
                    // A material of its own, as other geometries may have the same.
                    let mut model = model.clone().into_builder();
                    let place = model.materials.len();
                    let geometry = &mut model.bodies[body].geometries[geometry];
                    if let Some(material) = &mut geometry.material {
                        let mut own = model.materials[*material].clone();
                        own.material.hydroelastic_modulus += h;
                        model.materials.push(own);
                        *material = place;
                    }
                    let model = model.build().expect("compliant");
                    six(&model.body_pair_contact(&frames, pair, &mut workspace).wrench_on_a)
                };
                let (plus, minus) = (at(10.0), at(-10.0));
                for row in 0..6 {
                    let difference = (plus[row] - minus[row]) / 20.0;
                    let error = (by_modulus[row] - difference).abs();
                    assert!(error < 1e-6 * sizes[row] / 2e5, "{ground:?} body {body}: {error}");
                }
            }
        }
    }
}

/// A rollout's derivative with respect to every parameter of the model against central differences.
#[test]
fn trajectory_gradient_agrees_with_central_differences() {
    let (model, state) = dumbbell_over(Some(1));
    let parameters = Parameter::all(&model);
    assert_eq!(parameters.len(), 12 + 2 * 4 + 1 + 3 + 3);
    for integrator in [Integrator::SemiImplicitEuler, Integrator::RungeKutta4] {
        let settings = SimulationSettings { integrator, time_step: 1e-3 };
        let until = 8e-3;
        let gradient = trajectory_gradient(&Rollout::new(&model, &state, settings, until), &parameters)
            .expect("simulates");
        let plain = Rollout::new(&model, &state, settings, until).simulate().expect("simulates");
        let end = plain.states.last().expect("a state");
        let dual_end = gradient.trajectory.states.last().expect("a state");
        assert!(end.difference(dual_end).iter().all(|x| x.abs() < 1e-12));
        let derivative = gradient.derivatives.last().expect("a derivative");
        for (column, parameter) in parameters.iter().enumerate() {
            let value = parameter.value(&model).expect("exists");
            let unit = if value == 0.0 { 1.0 } else { value };
            let size = derivative.column(column).amax();
            let at = |x: f64| {
                let (model, state) = seeded(&model, &state, &[(*parameter, value + x)]).expect("in range");
                let t = Rollout::new(&model, &state, settings, until).simulate().expect("simulates");
                end.difference(t.states.last().expect("a state"))
            };
            // Friction turns within a millimetre a second, so no one step size suits all parameters:
            // the best central difference counts, for all rows together.
            let error = |h: f64| {
                let (plus, minus) = (at(h * unit), at(-h * unit));
                let errors = (0..12).map(|row| {
                    let difference = (plus[row] - minus[row]) / (2.0 * h * unit);
                    (derivative[(row, column)] - difference).abs()
                });
                errors.fold(0.0, f64::max)
            };
            let best =
                [1e-4, 1e-5, 1e-6, 3e-7, 1e-7, 3e-8].map(error).into_iter().fold(f64::INFINITY, f64::min);
            assert!(size > 0.0, "{} has an influence", parameter.name(&model));
            assert!(best < 1e-5 * size, "{integrator:?} {}: {best} of {size}", parameter.name(&model));
        }
    }
}

#[test]
fn seeding_at_the_present_values_changes_nothing() {
    let (model, state) = dumbbell_over(Some(1));
    let values: Vec<(Parameter, f64)> =
        Parameter::all(&model).into_iter().map(|i| (i, i.value(&model).expect("exists"))).collect();
    let settings = SimulationSettings { integrator: Integrator::SemiImplicitEuler, time_step: 1e-3 };
    let (again, start) = seeded(&model, &state, &values).expect("in range");
    let run = |m: &Model, s: &State| Rollout::new(m, s, settings, 0.01).simulate().expect("simulates");
    let (a, b) = (run(&model, &state), run(&again, &start));
    let end = a.states.len() - 1;
    assert!(a.states[end].difference(&b.states[end]).iter().all(|x| x.abs() < 1e-13));
    // Out of range or not there: refused.
    let bad = [
        (Parameter::Mass { body: 0 }, -1.0),
        (Parameter::Material { parameter: MaterialParameter::HydroelasticModulus, material: 0 }, f64::NAN),
        (Parameter::Material { parameter: MaterialParameter::DynamicFriction, material: 7 }, 0.1),
        (Parameter::InitialTangent { body: 1, index: 0 }, 0.0),
        (Parameter::GeometryScale { body: 0, geometry: 0 }, 0.0),
    ];
    for value in bad {
        assert!(seeded(&model, &state, &[value]).is_err(), "{value:?}");
    }
}

#[test]
fn the_sum_over_many_pairs_has_the_same_bits_whatever_the_threads() {
    let sphere =
        || compliant(&Shape::Sphere { radius: 0.05 }, 0.06, RigidTransform::identity(), &materials(), 0);
    let mut bodies = Vec::new();
    let mut state = State::of_bodies(Vec::new());
    for i in 0..9 {
        bodies.push(
            Body::free(format!("ball {i}"), MassSource::Density(100.0), vec![sphere()]).expect("volume"),
        );
        let x = f64::from(i);
        state.bodies.push(BodyState {
            orientation: Quaternion::from_wxyz(1.0, 0.1 * x, 0.2, -0.05 * x),
            position: Vector3::new(0.04 * (i % 3) as f64, 0.041 * (i / 3) as f64, 0.003 * x),
            velocity: SpatialVelocity::new(Vector3::new(0.1, x, 0.0), Vector3::new(0.01 * x, 0.0, 0.1)),
        });
    }
    let (materials, gravity) = (materials(), Vector3::zeros());
    let model = ModelBuilder { bodies, materials, gravity, ..Default::default() };
    let model = model.build().expect("compliant");
    assert_eq!(model.pairs().len(), 36, "enough for several threads");
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut forces = vec![SpatialForce::zero(); 9];
        pool.install(|| model.add_contact_forces(&state, &mut ForceWorkspace::default(), &mut forces));
        forces.iter().flat_map(six).map(f64::to_bits).collect::<Vec<_>>()
    };
    let one = run(1);
    assert!(one.iter().any(|&b| f64::from_bits(b) != 0.0));
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}
