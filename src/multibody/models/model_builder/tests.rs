//! What the builder refuses, and that what it builds is one truth for contact and gradients.

use super::*;
use crate::contact::{Collider, ContactModel, Deflection};
use crate::field::RigidSurface;
use crate::geometry::Shape;
use crate::multibody::tree::{BodyDescription, JointDescription, JointKind};
use crate::multibody::{
    BodyGeometry, BodyLoad, BodyState, Drive, DrivenCoordinate, LoadFrame, LoadHistory, LoadKind,
    MassProperties, MassSource, Parameter, SensorWorkspace, State, Transmission,
};
use crate::rollout::{Controls, Rollout, SimulationSettings, Trajectory};
use crate::spatial::RigidTransform;
use crate::step::{Integrator, StepError, StepProblem, StepWorkspace};
use nalgebra::Matrix3;

/// A material that no geometry should be left with.
const OTHER: Material = Material::new(1.0, 0.0, 0.0);
const GROUND_AND_BALL: BodyPair = BodyPair { a: 0, b: 1 };

fn mass() -> MassProperties {
    MassProperties { mass: 0.3, center_of_mass: Vector3::zeros(), inertia: Matrix3::identity() * 2e-4 }
}

fn material(name: &str, material: Material) -> NamedMaterial {
    NamedMaterial { name: name.into(), material }
}

/// A compliant ball on compliant ground, with colliders of another material than they name; a rigid
/// block without a material; and an arm on a hinge with an actuator.
fn parts() -> ModelBuilder {
    let ball = Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.03, OTHER).unwrap();
    let ball = BodyGeometry::new(ball).of_material(0);
    let block = Shape::Box { size: [0.1; 3] }.surface_mesh(0.1).unwrap();
    let ground = BodyGeometry::new(Collider::compliant_half_space(OTHER, 0.1)).of_material(1);
    let arm = BodyDescription { name: "arm".into(), mass: Some(mass()) };
    let kind = JointKind::Revolute { axis: Vector3::x() };
    let hinge = JointDescription::new("hinge", kind, None, "arm", RigidTransform::identity());
    let block = BodyGeometry::new(Collider::rigid(RigidSurface::new(block), Material::NONE));
    ModelBuilder {
        mechanism: Mechanism::new(vec![arm], vec![hinge]).unwrap(),
        bodies: vec![
            Body::fixed("ground", RigidTransform::identity(), vec![ground]),
            Body::free("ball", MassSource::Given(mass()), vec![ball]).unwrap(),
            Body::free("block", MassSource::Given(mass()), vec![block]).unwrap(),
            Body::link("arm", 0, vec![]),
        ],
        actuators: vec![Actuator {
            name: "turn".into(),
            drive: Drive::Velocity { damping: 1.0 },
            effort: 2.0,
            transmission: Transmission::Joints(vec![DrivenCoordinate { v: 0, q: 0, ratio: 1.0 }]),
        }],
        materials: vec![
            material("foam", Material::new(1e5, 0.5, 0.4)),
            material("rubber", Material::new(2e5, 0.3, 0.8)),
        ],
        ..ModelBuilder::default()
    }
}

fn push(body: usize) -> Actuator {
    let load = BodyLoad { body, kind: LoadKind::Torque, direction: Vector3::x(), frame: LoadFrame::World };
    Actuator::on_body("push", load, 1.0)
}

/// The coordinates that the first actuator drives.
fn coordinates(parts: &mut ModelBuilder) -> &mut Vec<DrivenCoordinate> {
    match &mut parts.actuators[0].transmission {
        Transmission::Joints(coordinates) => coordinates,
        Transmission::Body(load) => panic!("{load:?}"),
    }
}

fn built() -> Model {
    parts().build().unwrap()
}

/// The ball 5 mm deep in the ground while it slides, the block far away.
fn state(model: &Model) -> State {
    let at = |z: f64| BodyState::at_rest(&RigidTransform::from_translation([0.0, 0.0, z]));
    let mut ball = at(0.045);
    ball.velocity.translational = Vector3::new(0.3, 0.0, -0.1);
    State::new(vec![ball, at(3.0)], model.mechanism.neutral_state())
}

/// The force of the ground on the ball.
fn force(model: &Model) -> Vector3<f64> {
    let contact = model.pair_contact(&state(model), GROUND_AND_BALL, &mut SensorWorkspace::default());
    -contact.wrench_on_a.translational
}

/// The ball's velocity after a step of 1 ms.
fn velocity_after_step(model: &Model, integrator: Integrator) -> Vector3<f64> {
    let start = state(model);
    let problem = StepProblem { control: &[0.0], ..StepProblem::new(model, &start, 1e-3) };
    integrator.step(&problem, &mut StepWorkspace::default()).unwrap().bodies[0].velocity.translational
}

#[test]
fn motions_and_materials_come_back_from_json() {
    let builder = parts();
    let model = ModelBuilder {
        contact: ContactSettings { bristle_length: Some(1e-5), ..builder.contact },
        ..builder
    };
    let model = model.build().unwrap();
    let controls = Controls::zeros(3, 1);
    let start = state(&model);
    let rollout = Rollout::new(&model, &start, SimulationSettings::default(), 3e-3).with_controls(&controls);
    let motion = rollout.simulate().unwrap();
    assert!(motion.states[3].bristles.iter().any(|bristle| *bristle != Deflection::zero()));
    let json = serde_json::to_string(&(&motion, &OTHER)).unwrap();
    assert_eq!(serde_json::from_str::<(Trajectory, Material)>(&json).unwrap(), (motion, OTHER));
}

#[test]
fn what_is_wrong_is_refused_with_its_message() {
    type Change = fn(&mut ModelBuilder);
    let cases: &[(Change, &str)] = &[
        (
            |m| m.bodies[1].geometries[0].material = Some(2),
            "body `ball`: geometry 0 names material 2; it must be below 2, the number of materials",
        ),
        (
            |m| m.materials[0].material.hydroelastic_modulus = 0.0,
            "body `ball`: geometry 0 is compliant, but the hydroelastic_modulus of its material is 0; it must be positive and finite",
        ),
        (
            |m| m.materials[0].material.hydroelastic_modulus = f64::NAN,
            "material `foam`: hydroelastic_modulus is NaN; it must be at least 0 and finite",
        ),
        (
            |m| m.materials[1].material.dissipation = -0.1,
            "material `rubber`: dissipation is -0.1; it must be at least 0 and finite",
        ),
        (
            |m| m.materials[1].material.relaxation_time = f64::INFINITY,
            "material `rubber`: relaxation_time is inf; it must be at least 0 and finite",
        ),
        (
            |m| m.materials[1].material.static_friction = 0.5,
            "material `rubber`: dynamic_friction is 0.8; it must be at most 0.5, as static_friction is",
        ),
        (
            |m| m.materials[1].material.own[2] = f64::NAN,
            "material `rubber`: own[2] is NaN; it must be finite",
        ),
        (
            |m| m.bodies[2].geometries[0].collider.material.dissipation = -1.0,
            "the material of geometry 0 of body `block`: dissipation is -1; it must be at least 0 and finite",
        ),
        (|m| m.gravity.y = f64::NAN, "a component of gravity is NaN; it must be finite"),
        (
            |m| m.contact.positive_part_width = -1.0,
            "the contact's positive_part_width is -1; it must be at least 0 and finite",
        ),
        (
            |m| m.contact.stiction_velocity = 0.0,
            "the contact's stiction_velocity is 0; it must be positive and finite",
        ),
        (
            |m| m.contact.quadrature_order = Some(6),
            "the contact's quadrature_order is 6; it must be 1, 2, 3, 4 or 5",
        ),
        (
            |m| m.apart.push(BodyPair { a: 1, b: 4 }),
            "bodies 1 and 4 are to be left out of contact; a pair is two different indices below 4, the number of bodies",
        ),
        (
            |m| m.apart.push(BodyPair { a: 1, b: 1 }),
            "bodies 1 and 1 are to be left out of contact; a pair is two different indices below 4, the number of bodies",
        ),
        (
            |m| m.bodies[2].name = "ground".into(),
            "bodies 0 and 2 are both called `ground`; names of bodies must be unique",
        ),
        (
            |m| m.bodies[3].motion = Motion::Link { link: 1 },
            "body `arm` is not a link that joints of the mechanism move",
        ),
        (
            |m| {
                let mass = MassProperties { mass: -1.0, ..mass() };
                m.bodies[1].motion = Motion::Free { source: MassSource::Given(mass), mass };
            },
            "body `ball`: ",
        ),
        (
            |m| {
                let half_space = m.bodies[0].geometries[0].clone();
                m.bodies[1].geometries.push(half_space);
            },
            "bodies `ground` and `ball` could touch, but ",
        ),
        (
            |m| m.actuators.push(m.actuators[0].clone()),
            "actuators 0 and 1 are both called `turn`; names of actuators must be unique",
        ),
        (
            |m| coordinates(m)[0].q = 1,
            "actuator `turn` drives velocity coordinate 0 with configuration coordinate 1; the mechanism has (0, 0)",
        ),
        (|m| coordinates(m).clear(), "actuator `turn` drives no coordinate; it needs at least one"),
        (
            |m| coordinates(m).push(DrivenCoordinate { v: 0, q: 0, ratio: -1.0 }),
            "actuator `turn` drives velocity coordinate 0 twice; a coordinate is driven once",
        ),
        (|m| coordinates(m)[0].ratio = f64::NAN, "actuator `turn`: a ratio is NaN; it must be finite"),
        (
            |m| m.actuators[0].drive = Drive::Velocity { damping: -1.0 },
            "actuator `turn`: its damping is -1; it must be at least 0 and finite",
        ),
        (|m| m.actuators[0] = push(0), "actuator `push` acts on no free body"),
        (
            |m| m.actuators[0] = Actuator { drive: Drive::Velocity { damping: 1.0 }, ..push(1) },
            "actuator `push` acts on a body, but its command is not the size of a force",
        ),
        (
            |m| {
                let load = Load {
                    name: "wind".into(),
                    body: 1,
                    kind: LoadKind::Torque,
                    frame: LoadFrame::World,
                    history: LoadHistory::Constant(Vector3::x()),
                };
                m.loads = vec![load.clone(), load];
            },
            "load 1 has the name of another one of its kind",
        ),
        (|m| m.actuators[0].effort = 0.0, "actuator `turn`: its largest effort is 0; it must be positive"),
    ];
    for (change, expected) in cases {
        let mut parts = parts();
        change(&mut parts);
        let found = parts.build().expect_err(expected).to_string();
        let agrees = if expected.ends_with(' ') { found.starts_with(expected) } else { found == *expected };
        assert!(agrees, "found `{found}`\nnot `{expected}`");
    }
    assert!(matches!(check_pair_count(LARGEST_PAIR_COUNT + 1), Err(ModelError::TooManyPairs { .. })));
}

/// They are no pairs of pressure fields: steps that know those alone refuse them.
#[test]
fn pairs_of_rigid_bodies_are_known() {
    let mut parts = parts();
    let fields = built().pairs().len();
    let block = parts.bodies[2].geometries[0].clone();
    parts.bodies[1].geometries.push(block);
    let model = parts.build().expect("a model");
    assert_eq!(built().rigid_pairs().len(), 0);
    assert_eq!(model.rigid_pairs().len(), 1);
    assert_eq!(model.rigid_pairs().next().unwrap().bodies, BodyPair::of(1, 2));
    assert_eq!(model.pairs().len(), fields + 2, "the blocks, and the block and the ground");
    let start = state(&model);
    let step = StepProblem { control: &[0.0], ..StepProblem::new(&model, &start, 1e-3) };
    let refused = Integrator::SemiImplicitEuler.step(&step, &mut StepWorkspace::default());
    assert_eq!(refused, Err(StepError::RigidPair { bodies: vec![1, 2] }));
}

#[test]
fn the_materials_of_the_model_are_those_of_its_colliders() {
    let model = built();
    assert_eq!(model.gravity(), &Vector3::new(0.0, 0.0, -9.81));
    for (body, index) in [(0, 1), (1, 0)] {
        let collider = &model.bodies()[body].geometries[0].collider;
        assert_eq!(collider.material, model.materials()[index].material);
    }
    // Their own do not matter, whatever they were, and parameters of own laws may be negative.
    let mut parts = parts();
    parts.bodies[1].geometries[0].collider.material.hydroelastic_modulus = f64::NAN;
    parts.materials[0].material.own[2] = -1.0;
    assert_eq!(parts.build().unwrap().bodies()[1].geometries[0].collider.material.own[2], -1.0);
    // That of a geometry that names none stays.
    assert_eq!(model.bodies()[2].geometries[0].collider.material, Material::NONE);
}

#[test]
fn a_material_that_a_collider_has_of_its_own_is_one_of_the_model() {
    let mut parts = parts();
    // Its friction counts beside that of foam, as if it had been named.
    let (own, mut named) = (Material::new(2e5, 0.3, 0.2), parts.clone());
    parts.bodies[0].geometries[0].material = None;
    parts.bodies[0].geometries[0].collider.material = own;
    named.materials[1].material = own;
    let model = parts.build().unwrap();
    assert_eq!(force(&model), force(&named.build().unwrap()));
    assert!(force(&model).x < -1e-3, "{}", force(&model));
    let names = |model: &Model| model.materials().iter().map(|m| m.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&model), ["foam", "rubber", "ground 0"]);
    assert_eq!(names(&model.into_builder().build().unwrap()), ["foam", "rubber", "ground 0"]);
}

#[test]
fn a_changed_material_changes_the_motion() {
    let model = built();
    let mut changed = model.clone().into_builder();
    changed.materials[0].material.hydroelastic_modulus = 2e5;
    let changed = changed.build().unwrap();
    let (before, after) = (force(&model), force(&changed));
    assert!(before.z > 0.5 && after.z > 1.2 * before.z, "{before} {after}");
    for integrator in [Integrator::SemiImplicitEuler, Integrator::velocity_level(ContactModel::Lagged)] {
        let speeds = [&model, &changed].map(|m| velocity_after_step(m, integrator).z);
        assert!(speeds[1] > speeds[0] + 1e-4, "{integrator:?}: {speeds:?}");
    }
    // Built again as they are, the parts are the same model.
    let again = model.clone().into_builder().build().unwrap();
    assert_eq!(force(&again), force(&model));
}

#[test]
fn parameters_are_set_in_materials_and_in_contact() {
    let model = built();
    let friction = [MaterialParameter::StaticFriction, MaterialParameter::DynamicFriction];
    let modulus = MaterialParameter::HydroelasticModulus;
    let mut values = vec![(Parameter::Material { material: 0, parameter: modulus }, 2e5)];
    values.extend(friction.map(|parameter| (Parameter::Material { material: 1, parameter }, 0.0)));
    values.extend([(Parameter::Gravity { axis: 2 }, -1.6), (Parameter::Mass { body: 1 }, 0.7)]);
    let changed = model.with_parameters(&values).unwrap();
    for (parameter, value) in &values {
        assert_eq!(parameter.value(&changed), Ok(*value));
    }
    assert_eq!(changed.bodies()[0].geometries[0].collider.material, changed.materials()[1].material);
    assert_eq!(changed.pairs(), model.pairs());
    let (before, after) = (force(&model), force(&changed));
    assert!(after.z > 1.2 * before.z, "{before} {after}");
    assert!(before.x < -0.3 * before.z && after.x.abs() < 0.1 * after.z, "{before} {after}");
    // The same by the builder.
    let mut parts = model.clone().into_builder();
    parts.materials[0].material.hydroelastic_modulus = 2e5;
    let rubber = &mut parts.materials[1].material;
    (rubber.static_friction, rubber.dynamic_friction) = (0.0, 0.0);
    assert_eq!(force(&parts.build().unwrap()), force(&changed));
    // Refused: moves of the initial state, what is not there, what is out of range.
    let refused = |parameter, value| model.with_parameters(&[(parameter, value)]).unwrap_err().to_string();
    assert_eq!(
        refused(Parameter::InitialTangent { body: 1, index: 5 }, 0.0),
        "ball.pz is a move of the initial state, not a parameter of the model; change the state that the motion starts from"
    );
    assert!(
        refused(Parameter::InitialJoint { index: 1 }, 0.0).starts_with("hinge.v is a move of the initial")
    );
    assert!(refused(Parameter::Mass { body: 0 }, 1.0).starts_with("the model has no parameter"));
    assert!(refused(Parameter::Mass { body: 1 }, -1.0).starts_with("ball.mass is -1"));
}

#[test]
fn a_model_that_is_built_again_has_the_same_pairs() {
    let mut parts = parts();
    assert_eq!(parts.clone().build().unwrap().pairs().len(), 3);
    // In either order, and twice.
    parts.apart = vec![BodyPair { a: 2, b: 1 }, BodyPair { a: 1, b: 2 }];
    let model = parts.build().unwrap();
    assert_eq!(
        model.pairs().iter().map(|p| p.bodies).collect::<Vec<_>>(),
        [GROUND_AND_BALL, BodyPair { a: 0, b: 2 }]
    );
    let again = model.clone().into_builder().build().unwrap();
    assert_eq!(again.pairs(), model.pairs());
    assert_eq!(again.actuators(), model.actuators());
    let parts = model.with_parameters(&[(Parameter::Gravity { axis: 0 }, 1.0)]).unwrap().into_builder();
    assert_eq!(parts.apart, [BodyPair { a: 1, b: 2 }]);
    assert_eq!(parts.build().unwrap().pairs(), again.pairs());
}
