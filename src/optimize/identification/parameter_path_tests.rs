use super::*;
use crate::contact::{Collider, Material};
use crate::field::RigidSurface;
use crate::geometry::Shape;
use crate::multibody::{
    Body, BodyGeometry, BodyPair, BodyState, Load, LoadFrame, LoadHistory, LoadKind, MassProperties,
    MassSource, ModelBuilder, NamedMaterial, NoForces, State,
};
use crate::optimize::data::{RecordedState, Recording};
use crate::optimize::identification::{
    Identification, Loss, Measurement, RecordedMotion, StandardDeviations, TimeWindow,
};
use crate::optimize::least_squares::{Residuals, residuals_and_jacobian};
use crate::rollout::{Rollout, SimulationSettings};
use crate::spatial::{Quaternion, RigidTransform, SpatialVelocity};
use crate::step::Integrator;
use nalgebra::{Matrix3, Vector3};

/// A rigid block, `block.a`, over a compliant half-space `table`, beside a `wall` without a material. Each material is
/// given by its index among `steel`, `wood` and `cork`.
fn model(block: Option<usize>, table: usize, wall: Option<usize>) -> Model {
    let materials = [("steel", 0.2), ("wood", 0.6), ("cork", 0.9)].map(|(name, friction)| NamedMaterial {
        name: name.into(),
        material: Material::new(1e6, 0.8, friction),
    });
    let own = |index: Option<usize>| index.map_or(Material::NONE, |index| materials[index].material);
    let geometry = |collider: Collider, material: Option<usize>| BodyGeometry {
        material,
        ..BodyGeometry::new(collider)
    };
    let shape = Shape::Box { size: [0.1, 0.08, 0.06] };
    let surface = || RigidSurface::new(shape.surface_mesh(1.0).unwrap());
    let mass = MassProperties {
        mass: 0.4,
        center_of_mass: Vector3::zeros(),
        inertia: Matrix3::from_diagonal(&Vector3::new(3e-4, 5e-4, 6e-4)),
    };
    let fixed = |name: &str, at: Vector3<f64>, collider: Collider, material: Option<usize>| {
        let pose = RigidTransform { translation: at, ..RigidTransform::identity() };
        Body::fixed(name, pose, vec![geometry(collider, material)])
    };
    let of_block = geometry(Collider::rigid(surface(), own(block)), block);
    let half_space = Collider::compliant_half_space(own(Some(table)), 0.1);
    let bodies = vec![
        Body::free("block.a", MassSource::Given(mass), vec![of_block]).unwrap(),
        fixed("table", Vector3::new(0.0, 0.0, 0.01), half_space, Some(table)),
        fixed("wall", Vector3::new(2.0, 0.0, 0.0), Collider::rigid(surface(), own(wall)), wall),
    ];
    // Both are rigid.
    let apart = vec![BodyPair { a: 0, b: 2 }];
    ModelBuilder { bodies, materials: materials.to_vec(), apart, ..Default::default() }.build().unwrap()
}

fn initial() -> State {
    let orientation = Quaternion::from_wxyz(0.95, 0.2, -0.2, 0.1).normalized();
    let velocity = SpatialVelocity::new(Vector3::new(1.0, -2.0, 0.5), Vector3::new(0.6, 0.2, -0.7));
    State::of_bodies(vec![BodyState { orientation, position: Vector3::new(0.0, 0.0, 0.075), velocity }])
}

fn settings() -> SimulationSettings {
    SimulationSettings { integrator: Integrator::SemiImplicitEuler, time_step: 5e-4 }
}

/// The parameters `names` of the model, compared with a block that does not move, over an impact.
fn identification(names: &[&str]) -> Result<Identification, ProblemError> {
    let state = initial();
    let at = |time: f64| RecordedState { time, body: state.bodies[0], line: None };
    let recording = Recording { name: "still".into(), states: [0.0, 0.03, 0.06].map(at).to_vec() };
    let sigma = StandardDeviations {
        position: 1e-2,
        orientation: 0.1,
        linear_velocity: Some(0.1),
        angular_velocity: Some(1.0),
        loss: Loss::Squares,
        starts: None,
    };
    let model = model(Some(0), 1, None);
    let motion = RecordedMotion::new(&model, "block.a", recording, &sigma, &TimeWindow::default()).unwrap();
    let measurements = vec![Measurement::Motion(motion)];
    Identification::new(model, state, settings(), NoForces, names.iter().copied(), measurements)
}

const NAMES: [&str; 4] = [
    "bodies.table.shift[2]",
    "pairs.block.a.table.friction",
    "materials.wood.hydroelastic_modulus",
    "bodies.block.a.geometries[0].shift[0]",
];

#[test]
fn shifts_and_the_friction_of_a_pair_have_units_and_the_derivatives_of_differences() {
    let problem = identification(&NAMES).unwrap();
    assert_eq!(problem.units(), ["m", "1", "Pa", "m"]);
    let at = [-2e-3, 0.35, 1e6, 3e-3];
    let (_, jacobian) = residuals_and_jacobian(&problem, &at).unwrap();
    for (k, step) in [1e-7, 1e-5, 10.0, 1e-7].into_iter().enumerate() {
        let beside = |sign: f64| {
            let mut values = at;
            values[k] += sign * step;
            problem.residuals(&values).unwrap()
        };
        let differences: Vec<f64> =
            beside(1.0).iter().zip(beside(-1.0)).map(|(up, down)| (up - down) / (2.0 * step)).collect();
        let largest = differences.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
        assert!(largest > 0.0, "{} matters", NAMES[k]);
        for (row, difference) in differences.iter().enumerate() {
            let derivative = jacobian[(row, k)];
            assert!(
                (derivative - difference).abs() < 1e-5 * largest,
                "{}: {derivative} {difference}",
                NAMES[k]
            );
        }
    }
}

#[test]
fn the_friction_of_a_pair_is_the_coefficient_between_the_two_and_a_shift_moves_the_body() {
    let end = |model: &Model, state: &State| {
        let motion = Rollout::new(model, state, settings(), 0.06).simulate().unwrap();
        motion.states.last().unwrap().bodies[0]
    };
    let set = |name: &str, value: f64| {
        let model = model(Some(0), 1, None);
        let values: Vec<_> =
            parameters_at(&model, name).unwrap().into_iter().map(|parameter| (parameter, value)).collect();
        model.with_parameters(&values).unwrap()
    };
    // 2 · 0.2 · 0.6 / 0.8 is what the two materials combine to.
    let model = model(Some(0), 1, None);
    let paired = end(&set("pairs.block.a.table.friction", 0.3), &initial());
    assert!((paired.position - end(&model, &initial()).position).norm() < 1e-12);
    let slippery = end(&set("pairs.block.a.table.friction", 0.05), &initial());
    assert!((paired.position - slippery.position).norm() > 1e-4);
    // Everything a centimetre higher is the same motion.
    let mut raised = initial();
    raised.bodies[0].position.z += 0.01;
    let shifted = end(&set("bodies.table.shift[2]", 0.01), &raised);
    let expected = end(&model, &initial()).position + Vector3::new(0.0, 0.0, 0.01);
    assert!((shifted.position - expected).norm() < 1e-9, "{shifted:?}");
}

#[test]
fn names_that_cannot_be_are_refused() {
    let own = model(Some(0), 1, None);
    let refused = |model: &Model, name: &str| parameters_at(model, name).unwrap_err().to_string();
    let of_start = identification(&["bodies.block.a.shift[2]"]).unwrap_err().to_string();
    assert!(of_start.contains("a fit takes the start of a motion from its recordings"), "{of_start}");
    assert!(refused(&own, "bodies.table.turn[2]").contains("no `turn[2]`"));
    assert!(refused(&own, "bodies.table.geometries[1].shift[0]").contains("geometr"));
    assert!(refused(&own, "bodies.table.shift[3]").contains("it must be `materials.NAME.FIELD`"));
    assert!(refused(&own, "bodies.table.lift").contains("`shift[AXIS]`"));
    assert!(refused(&own, "pairs.block.a.floor.friction").contains("`block.a.floor` are not two bodies"));
    assert!(refused(&own, "pairs.table.table.friction").contains("are not two bodies"));
    assert!(refused(&own, "pairs.block.a.table.dissipation").contains("no `dissipation`"));
    assert!(refused(&own, "pairs.block.a.wall.friction").contains("body `wall` has no material of its own"));
    let shared = model(Some(0), 1, Some(1));
    let message = refused(&shared, "pairs.block.a.table.friction");
    assert!(message.contains("body `wall` has the material `wood` too"), "{message}");
    // Two bodies may share one: the value is the same.
    let one = model(Some(2), 2, None);
    assert_eq!(
        parameters_at(&one, "pairs.table.block.a.friction"),
        parameters_at(&one, "materials.cork.friction")
    );
    let parts = parameters_at(&own, "pairs.table.block.a.static_friction").unwrap();
    assert_eq!(parts.len(), 2);
    let twice = Identification::new(
        own,
        initial(),
        settings(),
        NoForces,
        ["materials.steel.friction", "pairs.block.a.table.dynamic_friction"],
        identification(&NAMES).unwrap().measurements().to_vec(),
    );
    assert!(twice.unwrap_err().to_string().contains("set the same quantity"));
}

#[test]
fn values_of_loads_are_called_after_the_fields_of_the_file() {
    let load = |name: &str, kind, history| Load {
        name: name.into(),
        body: 0,
        kind,
        frame: LoadFrame::World,
        history,
    };
    let force = LoadKind::Force { point: Vector3::zeros() };
    let knots = LoadHistory::Knots { times: vec![0.0, 1.0], values: vec![Vector3::x(); 2], linear: true };
    let zero = Vector3::zeros();
    let periodic = LoadHistory::Periodic { period: 1.0, mean: zero, sine: zero, cosine: zero };
    let loads = vec![
        load("push.a", force, LoadHistory::Constant(Vector3::x())),
        load("push.a", LoadKind::Torque, periodic),
        load("loads[1]", force, knots),
    ];
    let model = ModelBuilder { loads, ..model(Some(0), 1, None).into_builder() }.build().unwrap();
    for (path, load, part, axis, name) in [
        ("loads.push.a.force[2]", 0, LoadPart::Constant, 2, "push.a.force[2]"),
        ("loads.push.a.torque.sine[0]", 1, LoadPart::Sine, 0, "push.a.torque.sine[0]"),
        ("loads.push.a.torque.mean[1]", 1, LoadPart::Mean, 1, "push.a.torque.mean[1]"),
        ("loads[1].force.values[1][0]", 2, LoadPart::Knot(1), 0, "loads[1].force.values[1][0]"),
    ] {
        let parameter = Parameter::Load { load, part, axis };
        assert_eq!(parameters_at(&model, path).unwrap(), [parameter]);
        assert_eq!(parameter.name(&model), name);
    }
    assert_eq!(Parameter::Load { load: 1, part: LoadPart::Mean, axis: 0 }.unit(&model), "N m");
    for (path, part) in [
        ("loads.pull.force[2]", "no load `pull`; the scene has `push.a`, `loads[1]`"),
        ("loads.push.a.force[3]", "no `force[3]`"),
        ("loads.push.a.force.mean[0]", "no `force.mean[0]`"),
        ("loads[1].force.values[2][0]", "no `force.values[2][0]`"),
        ("loads[1].torque[0]", "no `torque[0]`"),
        ("loads[0].force[0]", "no load `loads[0]`"),
    ] {
        let message = parameters_at(&model, path).unwrap_err().to_string();
        assert!(message.contains(part), "{path}: {message}");
    }
}
