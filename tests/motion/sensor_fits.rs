//! Fits to recordings of sensors: derivatives of the residuals, and what a fit finds.

use isobar::io::Scene;
use isobar::optimize::data::Samples;
use isobar::optimize::fit::{FitSettings, fit};
use isobar::optimize::identification::{
    Channel, ForcesOf, Identification, LossKind, Measurement, QuantityKind, RecordedMotion, Sensor,
    SensorData, StateDeviations,
};
use isobar::optimize::least_squares::{Residuals, residuals_and_jacobian};
use isobar::optimize::parameters::{FitParameter, FitParameters};
use isobar::rollout::{Command, KnotInterpolation, KnotValues, Rollout};
use nalgebra::DVector;

/// A slide with a hinged arm that a motor turns, and a ball that the arm strikes.
const SCENE: &str = r#"
[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 0.5
friction = 0.4

[solver]
kind = "lagged"
time_step = 2e-3

[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = { thickness = 0.1 } }
material = "foam"

[[bodies]]
name = "ball"
translation = [0.026, 0.012, 0.0298]
rpy = [0.3, -0.2, 0.5]
mass = 0.1
linear_velocity = [-0.2, 0.05, 0.0]
[[bodies.geometries]]
shape = { sphere = { radius = 0.03, resolution = 0.02 } }
material = "foam"

[[bodies]]
name = "slide"
mass = 0.3
inertia = [[4e-4, 0, 0], [0, 5e-4, 0], [0, 0, 6e-4]]
[bodies.joint]
name = "track"
type = "prismatic"
axis = [1, 0, 0]
translation = [-0.02, 0.0, 0.1]
damping = 1.5
spring = { stiffness = 40.0, rest = 0.01 }

[[bodies]]
name = "arm"
mass = 0.15
[bodies.joint]
name = "hinge"
type = "revolute"
parent = "slide"
axis = [0, 1, 0]
damping = 0.01
position = -0.1
[[bodies.geometries]]
shape = { box = { size = [0.02, 0.05, 0.12] } }
translation = [0.0, 0.0, -0.02]
material = "foam"

[[actuators]]
name = "motor"
joints = ["hinge"]
drive = { position = { stiffness = 3.0, damping = 0.05 } }
command = 0.2
"#;

const NAMES: [&str; 15] = [
    "materials.foam.hydroelastic_modulus",
    "bodies.ball.mass",
    "bodies.slide.mass",
    "joints.track.damping",
    "joints.track.spring.stiffness",
    "joints.track.spring.rest",
    "actuators.motor.stiffness",
    "sensors.camera.delay",
    "sensors.encoders.channels[0].offset",
    "materials.foam.dissipation",
    "materials.foam.friction",
    "sensors.camera.position[0]",
    "sensors.camera.rotation[0]",
    "sensors.camera.rotation[1]",
    "sensors.camera.rotation[2]",
];
const TRUTH: [f64; 15] = [1e5, 0.1, 0.3, 1.5, 40.0, 0.01, 3.0, 0.0117, 0.02, 0.5, 0.4, 0.05, 0.3, -0.2, 0.6];
/// Of the camera's origin, what is known.
const CAMERA_HEIGHT: f64 = 0.4;
const UNTIL: f64 = 0.16;

fn scene(name: &str) -> Scene {
    Scene::parse(SCENE, name).unwrap()
}

fn channel(quantity: QuantityKind, of: &str, sigma: f64) -> Channel {
    Channel {
        quantity,
        of: of.into(),
        joint: None,
        by: None,
        forces: ForcesOf::default(),
        columns: None,
        unit: 1.0,
        sigma,
        outlier_limit: None,
        outlier_loss: LossKind::default(),
        offset: [0.0; 3],
    }
}

fn sensors() -> Vec<Sensor> {
    use QuantityKind::{ActuatorForce, AngularVelocity, JointPosition, JointVelocity, LinearVelocity};
    use QuantityKind::{ContactArea, ContactForce, ContactTorque, GripForce, Orientation, Position};
    let encoders = vec![
        channel(JointPosition, "hinge", 1e-3),
        channel(JointVelocity, "track", 1e-2),
        channel(ActuatorForce, "motor", 1e-2),
    ];
    let camera = vec![
        channel(Position, "ball", 1e-3),
        channel(Orientation, "ball", 1e-2),
        channel(LinearVelocity, "arm", 1e-2),
        channel(AngularVelocity, "arm", 1e-1),
        channel(Position, "arm", 1e-3),
        channel(Orientation, "arm", 1e-2),
    ];
    let by = |other: &str, channel: Channel| Channel { by: Some(other.into()), ..channel };
    let skin = vec![
        by("floor", channel(ContactForce, "ball", 1e-1)),
        Channel { forces: ForcesOf::State, ..by("floor", channel(ContactForce, "ball", 1e-1)) },
        channel(ContactTorque, "ball", 1e-3),
        by("arm", channel(GripForce, "ball", 1e-1)),
        by("floor", channel(ContactArea, "ball", 1e-6)),
    ];
    let sensor = |name: &str, delay, position, rotation, channels| Sensor {
        name: name.into(),
        delay,
        position,
        rotation,
        channels,
    };
    vec![
        sensor("encoders", 0.0, [0.0; 3], [0.0; 3], encoders),
        sensor("camera", 0.004, [0.0, 0.0, CAMERA_HEIGHT], [0.0; 3], camera),
        sensor("skin", 0.0, [0.0; 3], [0.0; 3], skin),
    ]
}

/// Samples that are all zero, or unit quaternions.
fn blank() -> Vec<Samples> {
    let of_channel = |channel: &Channel| {
        let columns = channel.quantity.columns().len();
        // The two sensors are not sampled at the ends of steps, nor at the same times.
        let interval = if columns == 1 { 0.0071 } else { 0.0113 };
        let times: Vec<f64> = (0..).map(|k| f64::from(k) * interval).take_while(|&t| t < UNTIL).collect();
        let mut value = vec![0.0; columns];
        if columns == 4 {
            value[0] = 1.0;
        }
        Samples { values: vec![value; times.len()], lines: vec![1; times.len()], times }
    };
    sensors().iter().flat_map(|sensor| &sensor.channels).map(of_channel).collect()
}

fn problem(scene: &Scene, samples: Vec<Samples>, start: &StateDeviations) -> Identification {
    problem_of(scene, sensors(), samples, start)
}

fn problem_of(
    scene: &Scene,
    sensors: Vec<Sensor>,
    samples: Vec<Samples>,
    start: &StateDeviations,
) -> Identification {
    let at = KnotValues { times: vec![0.0, 0.05, 0.1], values: vec![0.1, 0.9, 0.4] };
    let command = Command::new(KnotInterpolation::Linear, at).unwrap();
    let data = SensorData { name: "made up".into(), samples, commands: vec![command] };
    let (model, state, settings) = (&scene.model, &scene.state, scene.simulation_settings().unwrap());
    let recording =
        RecordedMotion::of_sensors(model, state, sensors, data, start, settings.time_step).unwrap();
    let measured = vec![Measurement::Motion(recording)];
    Identification::new(model.clone(), state.clone(), settings, isobar::multibody::NoForces, NAMES, measured)
        .unwrap()
}

/// What the model says, as samples, with noise of so many standard deviations that depends on nothing random.
fn simulated(scene: &Scene, noise: f64) -> Vec<Samples> {
    let blank = blank();
    let residuals = problem(scene, blank.clone(), &StateDeviations::default()).residuals(&TRUTH).unwrap();
    let mut next = residuals.into_iter().enumerate();
    let sensors = sensors();
    let of_camera = |sensor: &Sensor| sensor.name == "camera";
    let channels = sensors.iter().flat_map(|s| s.channels.iter().map(move |channel| (of_camera(s), channel)));
    // From the world's axes to the camera's, which the zeros of its blank samples are turned by too.
    let turned = nalgebra::Rotation3::new(nalgebra::Vector3::from_row_slice(&TRUTH[12..])).inverse();
    let mut all = Vec::new();
    for ((is_turned, channel), mut samples) in channels.zip(blank) {
        for value in &mut samples.values {
            let difference: Vec<f64> = (0..channel.quantity.dimension())
                .map(|_| {
                    let (k, residual) = next.next().unwrap();
                    (residual + noise * (7.3 * (k * k) as f64).sin() * 2f64.sqrt()) * channel.sigma
                })
                .collect();
            let difference = match is_turned {
                true => (turned * nalgebra::Vector3::from_row_slice(&difference)).as_slice().to_vec(),
                false => difference,
            };
            if channel.quantity == QuantityKind::Orientation {
                // The rotation vector from the identity.
                let turn = nalgebra::UnitQuaternion::from_scaled_axis(
                    DVector::from_vec(difference).fixed_rows::<3>(0).into_owned(),
                );
                *value = vec![turn.w, turn.i, turn.j, turn.k];
            } else {
                *value = difference;
            }
        }
        all.push(samples);
    }
    all
}

#[test]
fn jacobians_agree_with_duals_and_differences() {
    let scene = scene("jacobian");
    let mut sensors = sensors();
    let losses = [None, Some(LossKind::Huber), Some(LossKind::Cauchy), Some(LossKind::Charbonnier)];
    let channels = sensors.iter_mut().flat_map(|sensor| &mut sensor.channels);
    for (channel, loss) in channels.zip(losses.into_iter().cycle()) {
        channel.outlier_limit = loss.map(|_| 0.8);
        channel.outlier_loss = loss.unwrap_or_default();
    }
    let samples = simulated(&scene, 1.0);
    let problem = problem_of(&scene, sensors, samples, &StateDeviations::default());
    let at: Vec<f64> = TRUTH.iter().enumerate().map(|(k, x)| x * (1.0 + 0.03 * (k as f64).cos())).collect();
    let (values, jacobian) = problem.minimized_with_jacobian(&at, None).unwrap();
    let (plain, by_duals) = residuals_and_jacobian(&problem, &at).unwrap();
    for (a, b) in values.iter().zip(&plain) {
        assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "{a} {b}");
    }
    for (k, name) in NAMES.iter().enumerate() {
        let size = by_duals.column(k).norm();
        assert!(size > 0.0, "{name}");
        let off = (jacobian.column(k) - by_duals.column(k)).norm() / size;
        assert!(off < 1e-8, "{name}: {off:e} from that by duals");
        let h = 1e-6 * at[k];
        let moved = |h: f64| {
            let mut at = at.clone();
            at[k] += h;
            DVector::from_vec(problem.residuals(&at).unwrap())
        };
        let difference = (moved(h) - moved(-h)) / (2.0 * h);
        let off = (jacobian.column(k) - difference).norm() / size;
        assert!(off < 1e-5, "{name}: {off:e} from differences");
    }
}

#[test]
fn a_fit_with_an_uncertain_start_finds_what_made_the_recording() {
    let scene = scene("fit");
    let start = StateDeviations {
        position_sigma: Some(1e-3),
        joint_position_sigma: Some(1e-3),
        linear_velocity_sigma: Some(1e-2),
        ..Default::default()
    };
    let problem = problem(&scene, simulated(&scene, 0.0), &start);
    let unknown = |(name, truth): (&&str, f64)| FitParameter::new(*name, truth * 1.2);
    let parameters = FitParameters::new(NAMES.iter().zip(TRUTH).map(unknown).collect()).unwrap();
    let result = fit(&problem, &parameters, &FitSettings::default(), None).unwrap();
    for ((found, truth), name) in result.values().iter().zip(TRUTH).zip(NAMES) {
        assert!(
            (found / truth - 1.0).abs() < 1e-3,
            "{name}: {found} instead of {truth}, {}",
            result.termination
        );
    }
}

#[test]
fn names_that_sensors_and_joints_do_not_have_are_refused() {
    let scene = scene("names");
    let refused = |name: &str| {
        let data = SensorData { name: "made up".into(), samples: blank(), commands: scene.commands.clone() };
        let (model, state, settings) = (&scene.model, &scene.state, scene.simulation_settings().unwrap());
        let start = StateDeviations::default();
        let recording =
            RecordedMotion::of_sensors(model, state, sensors(), data, &start, settings.time_step).unwrap();
        let measured = vec![Measurement::Motion(recording)];
        let applied = isobar::multibody::NoForces;
        Identification::new(model.clone(), state.clone(), settings, applied, [name], measured)
            .map(|_| ())
            .expect_err(name)
            .to_string()
    };
    let with = |samples: Vec<Samples>, commands: Vec<Command>| {
        let data = SensorData { name: "made up".into(), samples, commands };
        let start = StateDeviations::default();
        let outcome = RecordedMotion::of_sensors(&scene.model, &scene.state, sensors(), data, &start, 2e-3);
        outcome.map(|_| ()).expect_err("not as many").to_string()
    };
    assert!(with(blank()[1..].to_vec(), scene.commands.clone()).contains("one list for each channel"));
    let text = with(blank(), Vec::new());
    assert!(text.contains('0') && text.contains('1'), "{text}");
    assert!(refused("sensors.lidar.delay").contains("no sensor `lidar`; the scene has `encoders`, `camera`"));
    assert!(refused("sensors.camera.channels[0].offset[3]").contains("counted from 0"));
    assert!(refused("sensors.camera.rotation[3]").contains("`sensors.NAME.rotation[AXIS]`"));
    let of_contact = |on: &str, by: Option<&str>, quantity| {
        let channel = Channel { by: by.map(str::to_owned), ..channel(quantity, on, 1.0) };
        let sensor = Sensor {
            name: "skin".into(),
            delay: 0.0,
            position: [0.0; 3],
            rotation: [0.0; 3],
            channels: vec![channel],
        };
        let samples = Samples { times: vec![0.0, 0.1], values: vec![vec![0.0; 3]; 2], lines: vec![1; 2] };
        let commands = scene.commands.clone();
        let data = SensorData { name: "made up".into(), samples: vec![samples], commands };
        let start = StateDeviations::default();
        let outcome =
            RecordedMotion::of_sensors(&scene.model, &scene.state, vec![sensor], data, &start, 2e-3);
        outcome.map(|_| ()).expect_err("no contact").to_string()
    };
    let refused_contact = of_contact("slide", None, QuantityKind::ContactForce);
    assert!(refused_contact.contains("`slide` and `any other` cannot touch"), "{refused_contact}");
    assert!(of_contact("ball", Some("slide"), QuantityKind::GripForce).contains("cannot touch"));
    assert!(of_contact("ball", Some("lid"), QuantityKind::GripForce).contains("no body `lid`"));
    assert!(of_contact("ball", Some("floor"), QuantityKind::Position).contains("`by` is `floor`"));
    assert!(refused("sensors.camera.gain").contains("it must be"));
    assert!(refused("joints.knee.damping").contains("no joint `knee`; the scene has `track`, `hinge`"));
    assert!(refused("joints.hinge.upper").contains("no `upper`"));
    assert!(refused("actuators.motor.effort").contains("no `effort`"));
    assert!(refused("actuators.motor.gain").contains("no `motor.gain`"));
}

#[test]
fn quantities_that_are_tied_have_the_sum_of_their_derivatives() {
    let scene = scene("ties");
    let with = |names: &[&str]| {
        let data = SensorData { name: "made up".into(), samples: blank(), commands: scene.commands.clone() };
        let (model, state, settings) = (&scene.model, &scene.state, scene.simulation_settings().unwrap());
        let start = StateDeviations::default();
        let recording =
            RecordedMotion::of_sensors(model, state, sensors(), data, &start, settings.time_step).unwrap();
        let measured = vec![Measurement::Motion(recording)];
        let (applied, names) = (isobar::multibody::NoForces, names.iter().copied());
        Identification::new(model.clone(), state.clone(), settings, applied, names, measured).unwrap()
    };
    let all = ["joints.track.damping", "joints.hinge.damping", "sensors.camera.delay", "sensors.skin.delay"];
    let tied = with(&[all[0], all[2]]).tied([(0, all[1]), (1, all[3])]).unwrap();
    let (_, single) = with(&all).minimized_with_jacobian(&[0.7, 0.7, 0.004, 0.004], None).unwrap();
    let (_, sums) = tied.minimized_with_jacobian(&[0.7, 0.004], None).unwrap();
    for (column, parts) in [(0, [0, 1]), (1, [2, 3])] {
        let expected = single.column(parts[0]) + single.column(parts[1]);
        assert!(single.column(parts[1]).norm() > 0.0);
        assert!((sums.column(column) - &expected).norm() < 1e-12 * expected.norm());
    }
    assert_eq!(tied.units(), ["N m s/rad or N s/m", "s"]);
    let twice = with(&all[..1]).tied([(0, all[0])]).map(|_| ()).unwrap_err().to_string();
    assert!(twice.contains("set the same quantity"), "{twice}");
}

#[test]
fn the_grip_is_the_normal_part_of_the_force() {
    // The ball falls a little, strikes the floor and slides on it.
    let scene = scene("grip");
    let residual = |quantity| {
        let of_state = quantity == QuantityKind::ContactForce;
        let forces = if of_state { ForcesOf::State } else { ForcesOf::Step };
        let channel = Channel { by: Some("floor".into()), forces, ..channel(quantity, "ball", 1.0) };
        let columns = quantity.columns().len();
        let sensor = Sensor {
            name: "skin".into(),
            delay: 0.0,
            position: [0.0; 3],
            rotation: [0.0; 3],
            channels: vec![channel],
        };
        let times: Vec<f64> = (0..16).map(|k| 0.01 * f64::from(k)).collect();
        let samples = Samples { values: vec![vec![0.0; columns]; 16], lines: vec![1; 16], times };
        let commands = scene.commands.clone();
        let data = SensorData { name: "made up".into(), samples: vec![samples], commands };
        let (model, state, settings) = (&scene.model, &scene.state, scene.simulation_settings().unwrap());
        let recording =
            RecordedMotion::of_sensors(model, state, vec![sensor], data, &StateDeviations::default(), 2e-3)
                .unwrap();
        let measured = vec![Measurement::Motion(recording)];
        let (applied, name) = (isobar::multibody::NoForces, ["bodies.ball.mass"]);
        let problem =
            Identification::new(model.clone(), state.clone(), settings, applied, name, measured).unwrap();
        let residuals: Vec<f64> = problem.residuals(&[0.1]).unwrap();
        residuals.chunks(columns).map(<[f64]>::to_vec).collect::<Vec<_>>()
    };
    let (forces, grips) = (residual(QuantityKind::ContactForce), residual(QuantityKind::GripForce));
    let areas = residual(QuantityKind::ContactArea);
    let largest = (0..forces.len()).max_by(|&a, &b| forces[a][2].total_cmp(&forces[b][2])).unwrap();
    // The floor's normal is vertical; what friction adds is not part of the grip.
    let (force, grip) = (&forces[largest], grips[largest][0]);
    assert!(force[2] > 0.5 && (grip - force[2]).abs() < 0.02 * force[2], "{grip} {force:?}");
    for ((force, grip), area) in forces.iter().zip(&grips).zip(&areas) {
        let length = force.iter().map(|f| f * f).sum::<f64>().sqrt();
        assert!(grip[0].abs() <= length * (1.0 + 1e-12), "{grip:?} {force:?}");
        assert_eq!(force[2] != 0.0, area[0] > 0.0);
        assert_eq!(force[2] != 0.0, grip[0] != 0.0);
    }
}

/// Sensors say of the true motion what `isobar simulate` writes of it, in steps in which something lands too.
#[test]
fn forces_of_steps_are_those_that_a_simulation_has() {
    for kind in ["\"lagged\"", "\"sap\"", "\"lagged\"\naccuracy = 1e-5", "\"radau\"\naccuracy = 1e-6"] {
        let text = SCENE.replace("\"lagged\"\ntime_step = 2e-3", &format!("{kind}\ntime_step = 5e-3"));
        assert_ne!(text, SCENE);
        let scene = Scene::parse(&text, "scene").unwrap();
        // A command with a knot within a step.
        let knots = KnotValues { times: vec![0.0, 0.033, 0.1], values: vec![0.1, 0.9, 0.4] };
        let commands = vec![Command::new(KnotInterpolation::Linear, knots).unwrap()];
        let (model, state, settings) = (&scene.model, &scene.state, scene.simulation_settings().unwrap());
        let rollout = Rollout::new(model, state, settings, 0.06).with_controls(&commands);
        let pair = model.pairs_by_bodies().position(|pairs| {
            let names = [pairs[0].bodies.a, pairs[0].bodies.b].map(|body| &model.bodies()[body].name[..]);
            names == ["floor", "ball"] || names == ["ball", "floor"]
        });
        let pair = pair.expect("they can touch");
        let (mut times, mut wrenches) = (Vec::new(), Vec::new());
        let (mut frames, mut pressed) = (Vec::new(), 0);
        let run = rollout.for_each(|step| {
            if step.steps == 0 {
                return;
            }
            let wrench = step.step_forces().map(|forces| forces[pair]).unwrap_or_else(|| {
                model.body_frames(step.state, &mut frames);
                let pairs = model.pairs_by_bodies().nth(pair).expect("there is one");
                model.body_pair_contact(&frames, pairs, &mut Default::default()).wrench_on_a
            });
            pressed += usize::from(wrench.translational.z.abs() > 0.1);
            times.push(step.time);
            wrenches.push(wrench);
        });
        run.expect("it runs");
        assert!(pressed > 3, "{kind}: {pressed} of {} steps", times.len());
        let lines = vec![1; times.len()];
        let samples = |values: &dyn Fn(usize) -> Vec<f64>| Samples {
            values: (0..times.len()).map(values).collect(),
            lines: lines.clone(),
            times: times.clone(),
        };
        let first = model.pairs_by_bodies().nth(pair).expect("there is one")[0].bodies.a;
        let first = model.bodies()[first].name.clone();
        let other = if first == "ball" { "floor" } else { "ball" };
        let by = |quantity| Channel { by: Some(other.into()), ..channel(quantity, &first, 1.0) };
        let channels = vec![by(QuantityKind::ContactForce), by(QuantityKind::ContactTorque)];
        let zero = [0.0; 3];
        let sensor = Sensor { name: "skin".into(), delay: 0.0, position: zero, rotation: zero, channels };
        let of_force = samples(&|k| wrenches[k].translational.as_slice().to_vec());
        let of_moment = samples(&|k| wrenches[k].rotational.as_slice().to_vec());
        let data = SensorData { name: "made up".into(), samples: vec![of_force, of_moment], commands };
        let exact = StateDeviations::default();
        let recording =
            RecordedMotion::of_sensors(model, state, vec![sensor], data, &exact, settings.time_step).unwrap();
        let (applied, name) = (isobar::multibody::NoForces, ["bodies.ball.mass"]);
        let measured = vec![Measurement::Motion(recording)];
        let problem =
            Identification::new(model.clone(), state.clone(), settings, applied, name, measured).unwrap();
        let residuals: Vec<f64> = problem.residuals(&[0.1]).unwrap();
        let largest = residuals.iter().fold(0.0, |m: f64, r| m.max(r.abs()));
        assert!(largest < 1e-9, "{kind}: {largest:e} N");
        let (values, jacobian) = problem.minimized_with_jacobian(&[0.11], None).unwrap();
        let (_, by_duals) = residuals_and_jacobian(&problem, &[0.11]).unwrap();
        assert!(values.iter().any(|r| r.abs() > 1e-3));
        let off = (&jacobian - &by_duals).norm() / by_duals.norm();
        assert!(off < 1e-8, "{kind}: {off:e} from that by duals");
        let moved = |h: f64| problem.residuals(&[0.11 + h]).unwrap();
        let differences: Vec<f64> =
            moved(1e-8).iter().zip(moved(-1e-8)).map(|(a, b)| (a - b) / 2e-8).collect();
        let off = (by_duals.column(0) - DVector::from_vec(differences)).norm() / by_duals.norm();
        assert!(off < 1e-4, "{kind}: {off:e} from differences");
    }
}
