//! Rigid bodies in velocity-level steps and in those of Radau: rest, sliding, impacts, forces, and derivatives.

use isobar::Scene;
use isobar::check::{CheckSettings, Verdict, check_scene};
use isobar::contact::ContactModel;
use isobar::multibody::{DifferentiatedModel, ForcesIn, Model, NoForces, State};
use isobar::rollout::{Rollout, SimulationSettings};
use isobar::spatial::rotation_exponential;
use isobar::step::{
    DerivativeWorkspace, Integrator, SolverTolerance, StepProblem, StepWorkspace, Tape, VelocityLevel,
};
use nalgebra::Vector3;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::folder::Folder;

const KINDS: [&str; 4] = ["lagged", "similar", "tamsi", "sap"];
const ALL: [&str; 10] =
    ["lagged", "similar", "tamsi", "sap", "ecp", "lcp", "ncp", "lagged, 1e-5", "sap, 1e-5", "radau, 1e-5"];
const G: f64 = 9.81;
const FLOOR: &str = "name = \"floor\"\nfixed = true\n[[bodies.geometries]]\nshape = { half_space = {} }\n";
const BOX: &str = "{ box = { size = [0.1, 0.08, 0.06] } }";
const BALL: &str = "{ sphere = { radius = 0.05, resolution = 0.03 } }";
const CAPSULE: &str = "{ capsule = { radius = 0.03, length = 0.1, resolution = 0.03 } }";
const CYLINDER: &str = "{ cylinder = { radius = 0.04, length = 0.1, resolution = 0.03 } }";

/// A body: its mass, shape, place, turn and velocities.
struct Piece {
    mass: f64,
    shape: &'static str,
    place: [f64; 3],
    turn: [f64; 3],
    velocity: [f64; 3],
    spin: [f64; 3],
}

impl Piece {
    fn at_rest(shape: &'static str, place: [f64; 3]) -> Self {
        Self { mass: 1.0, shape, place, turn: [0.0; 3], velocity: [0.0; 3], spin: [0.0; 3] }
    }

    fn text(&self, number: usize) -> String {
        let Self { mass, shape, place, turn, velocity, spin } = self;
        let q = isobar::spatial::Quaternion::from_matrix(&rotation_exponential(&Vector3::from(*turn)));
        let q = [q.w, q.v.x, q.v.y, q.v.z];
        format!(
            "name = \"b{number}\"\nmass = {mass:?}\ntranslation = {place:?}\nquaternion_wxyz = {q:?}\n\
             linear_velocity = {velocity:?}\nangular_velocity = {spin:?}\n[[bodies.geometries]]\nshape = {shape}\n"
        )
    }
}

/// Rigid bodies over a rigid floor, with a kind of step and perhaps an accuracy.
fn scene(folder: &Folder, kind: &str, time_step: f64, friction: f64, pieces: &[Piece]) -> Scene {
    let (kind, accuracy) = kind.split_once(", ").unwrap_or((kind, ""));
    let accuracy = if accuracy.is_empty() { String::new() } else { format!("accuracy = {accuracy}\n") };
    let mut text = format!(
        "[materials.m]\nfriction = {friction:?}\n[solver]\nkind = \"{kind}\"\ntime_step = {time_step:?}\n{accuracy}"
    );
    let bodies = pieces.iter().enumerate().map(|(number, piece)| piece.text(number));
    for body in std::iter::once(FLOOR.to_string()).chain(bodies) {
        text += &format!("[[bodies]]\n{body}material = \"m\"\nrigid = true\n");
    }
    Scene::load(folder.file("scene.toml", &text)).expect("a scene")
}

fn end(scene: &Scene, until: f64) -> State {
    let rollout = scene.rollout(until).expect("settings");
    rollout.simulate().expect("a motion").states.pop().expect("a state")
}

#[test]
fn a_block_slides_as_far_as_its_friction_lets_it_in_every_direction() {
    let folder = Folder::new("rigid-slides");
    for kind in ALL {
        for (number, time_step) in [1e-3, 2e-3, 5e-3].into_iter().enumerate() {
            let angle = 0.39 * number as f64;
            let velocity = [angle.cos(), angle.sin(), 0.0];
            let block = Piece { velocity, ..Piece::at_rest(BOX, [0.0, 0.0, 0.03]) };
            let body = end(&scene(&folder, kind, time_step, 0.5, &[block]), 0.5).bodies[0];
            // v²/(2 μ g), less what a step at the velocity after it takes.
            let of_step = if kind.contains(',') { 0.0 } else { 0.5 * time_step };
            let expected = 1.0 / (2.0 * 0.5 * G) - of_step;
            let slid = body.position.x.hypot(body.position.y);
            assert!((slid - expected).abs() < 0.01 * expected, "{kind} {time_step}: {slid}, not {expected}");
            let aside = body.position.y * angle.cos() - body.position.x * angle.sin();
            assert!(aside.abs() < 1e-3 * slid, "{kind} {time_step}: {aside} aside");
            // Contacts of Radau's steps are as soft as a tenth of the accuracy allows.
            let depth = if kind.contains("radau") { 1e-6 } else { 1e-7 };
            assert!((body.position.z - 0.03).abs() < depth, "{kind} {time_step}: {}", body.position.z);
            assert!(body.velocity.translational.norm() < 1e-6, "{kind} {time_step}");
        }
    }
}

#[test]
fn a_block_on_an_incline_sticks_or_slides_at_the_coefficient_of_friction() {
    let folder = Folder::new("rigid-incline");
    let friction = 0.4;
    for kind in ALL {
        for angle in [0.0, 0.6, 2.1, 4.0] {
            let moves = |steepness: f64| {
                let scene = scene(&folder, kind, 2e-3, friction, &[Piece::at_rest(BOX, [0.0, 0.0, 0.03])]);
                let mut builder = scene.model.clone().into_builder();
                let along = steepness * friction * G;
                builder.gravity = Vector3::new(along * f64::cos(angle), along * f64::sin(angle), -G);
                let model = builder.build().expect("a model");
                let settings = scene.simulation_settings().expect("settings");
                let state = end_of(&model, &scene.state, settings, 0.5);
                state.bodies[0].velocity.translational.norm()
            };
            // Regularized friction creeps with the stiction velocity v_s at most; that of `radau`, v/√(v² + v_s²), with 7 v_s.
            let creep = if kind.starts_with("radau") { 7.1e-3 } else { 2e-3 };
            assert!(moves(0.99) < creep, "{kind} {angle}: sticks, but moves at {} m/s", moves(0.99));
            for (beyond, allowed) in [(0.01, 0.05), (0.25, 0.02)] {
                // Slower than some 7 v_s.
                if kind.starts_with("radau") && beyond < 0.1 {
                    continue;
                }
                let (sliding, expected) = (moves(1.0 + beyond), beyond * friction * G * 0.5);
                let off = (sliding - expected).abs();
                assert!(off < allowed * expected, "{kind} {angle}: {sliding}, not {expected}");
            }
        }
    }
}

fn end_of(model: &Model, state: &State, settings: SimulationSettings, until: f64) -> State {
    Rollout::new(model, state, settings, until).simulate().expect("a motion").states.pop().expect("a state")
}

#[test]
fn a_stack_of_ten_boxes_rests_and_bears_its_weight() {
    let folder = Folder::new("rigid-stack");
    for kind in KINDS {
        let boxes: Vec<Piece> =
            (0..10).map(|i| Piece::at_rest(BOX, [0.0, 0.0, 0.03 + 0.06 * f64::from(i)])).collect();
        let scene = scene(&folder, kind, 5e-3, 0.5, &boxes);
        let mut forces = Vec::new();
        let rollout = scene.rollout(2.0).expect("settings");
        let mut last = State::default();
        let look = rollout.for_each(|report| {
            if report.steps == report.all_steps {
                forces = report.step_forces().expect("a step");
                last = report.state.clone();
            }
        });
        look.expect("a motion");
        for (i, body) in last.bodies.iter().enumerate() {
            let height = 0.03 + 0.06 * i as f64;
            assert!((body.position.z - height).abs() < 1e-6, "{kind} {i}: {}", body.position.z);
            let speed = body.velocity.translational.norm() + body.velocity.rotational.norm();
            assert!(speed < 1e-9, "{kind} {i}: {speed}");
        }
        // The floor's pair with the lowest box is the first.
        let weight = 10.0 * G;
        let on_floor = -forces[0].translational.z;
        assert!((on_floor - weight).abs() < 1e-6 * weight, "{kind}: {on_floor} N, not {weight} N");
    }
}

/// Forces over a step are told by steps by complementarity too.
#[test]
fn forces_of_steps_are_weight_and_friction() {
    let folder = Folder::new("rigid-forces");
    for kind in KINDS.into_iter().chain(["ecp", "lcp", "ncp"]) {
        let block = Piece { velocity: [1.0, 0.0, 0.0], ..Piece::at_rest(BOX, [0.0, 0.0, 0.03]) };
        let scene = scene(&folder, kind, 1e-3, 0.5, &[block]);
        let mut forces = Vec::new();
        let look = scene.rollout(0.05).expect("settings").for_each(|report| {
            forces = report.step_forces().unwrap_or_default();
        });
        look.expect("a motion");
        // On the floor about its origin: the weight, and friction along the motion.
        let [on_floor] = forces[..] else { panic!("{kind}: {forces:?}") };
        let force = on_floor.translational;
        assert!((force - Vector3::new(0.5 * G, 0.0, -G)).norm() < 1e-3 * G, "{kind}: {force}");
        let middle = 0.05 - 0.5 * 0.5 * G * 0.05 * 0.05;
        // Friction at the foot turns the load to the front: μ h.
        let ahead = on_floor.rotational.y / G;
        assert!((ahead - middle - 0.5 * 0.03).abs() < 2e-3, "{kind}: {ahead} m, not {middle} m");
    }
}

/// No box that falls, tumbles and comes to rest is ever higher in energy than at its start, or sinks in.
#[test]
fn random_drops_gain_no_energy() {
    let folder = Folder::new("rigid-drops");
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for number in 0..64 {
        let mut vector = |size: f64| std::array::from_fn::<f64, 3, _>(|_| size * rng.random_range(-1.0..1.0));
        let (turn, velocity, spin) = (vector(3.0), vector(0.5), vector(5.0));
        let shape = [BOX, CAPSULE, CYLINDER, BALL][number % 4];
        let time_step = [1e-3, 2e-3, 4e-3][number % 3];
        let drop = Piece { turn, velocity, spin, ..Piece::at_rest(shape, [0.0, 0.0, 0.2]) };
        let kind = if number < 60 { KINDS[number / 4 % 4] } else { "radau, 1e-5" };
        let scene = scene(&folder, kind, time_step, 0.5, &[drop]);
        let mass = *scene.model.body_mass(1).expect("a mass");
        let energy = |state: &State| {
            let body = &state.bodies[0];
            let v = body.velocity.shifted(&(body.orientation.to_matrix() * mass.center_of_mass));
            let center = body.pose() * mass.center_of_mass;
            let spin = body.orientation.to_matrix().transpose() * v.rotational;
            0.5 * mass.mass * v.translational.norm_squared()
                + 0.5 * spin.dot(&(mass.inertia * spin))
                + mass.mass * G * center.z
        };
        let start = energy(&scene.state);
        let states = scene.rollout(1.0).expect("settings").simulate().expect("a motion").states;
        let mut least = start;
        for state in &states {
            let now = energy(state);
            assert!(now - least < 0.02 * start, "{number} {kind} {time_step}: {least} J, then {now} J");
            least = least.min(now);
            assert!(state.bodies[0].position.z > 0.025, "{number} {kind}: sinks in");
        }
    }
}

/// Contacts do not follow the steps that they are cut into: motions of less and less accuracy agree to it.
#[test]
fn steps_of_an_accuracy_agree_to_it() {
    let folder = Folder::new("rigid-accuracy");
    for kind in KINDS.into_iter().chain(["radau"]) {
        let end_at = |accuracy: f64| {
            let drop = Piece { turn: [0.3, 0.2, 0.1], ..Piece::at_rest(BOX, [0.0, 0.0, 0.1]) };
            let scene = scene(&folder, &format!("{kind}, {accuracy:e}"), 0.01, 0.5, &[drop]);
            end(&scene, 0.5).bodies[0]
        };
        let reference = end_at(1e-6);
        // Contacts of Radau's steps are as soft as a tenth of the accuracy allows.
        let depth = if kind == "radau" { 1e-7 } else { 1e-8 };
        assert!((reference.position.z - 0.03).abs() < depth, "{kind}: {}", reference.position.z);
        for accuracy in [1e-3, 1e-4, 1e-5] {
            let off = (end_at(accuracy).position - reference.position).norm();
            // Substeps of velocity-level kinds are ten times better than asked for in these impacts.
            let part = if kind == "radau" { 1.0 } else { 0.1 };
            assert!(off < part * accuracy, "{kind}, {accuracy:e}: {off:e} m");
        }
    }
}

/// A chip of 2 g that hits a block of 60 kg as it spins: rounding of its velocities, times the stiffness of their contact, is more
/// than what balances are solved to elsewhere.
#[test]
fn what_is_light_meets_what_is_heavy() {
    let folder = Folder::new("rigid-masses");
    let chip = "{ box = { size = [0.01, 0.006, 0.008] } }";
    let mut rng = ChaCha8Rng::seed_from_u64(52);
    for _ in 0..100 {
        let mut random = |most: f64| std::array::from_fn(|_| rng.random_range(-most..most));
        let (turn, spin) = (random(2.0), random(150.0));
        let chip = Piece { mass: 0.002, turn, spin, ..Piece::at_rest(chip, [0.03, 0.02, 0.08]) };
        let block = Piece { mass: 60.0, ..Piece::at_rest(BOX, [0.0, 0.0, 0.03]) };
        let pieces = [block, Piece { velocity: [0.3, 0.2, -2.0], ..chip }];
        let chip = end(&scene(&folder, "lagged", 4e-3, 0.5, &pieces), 0.2).bodies[1];
        assert!(chip.position.z > 0.0, "{turn:?} {spin:?}: {}", chip.position.z);
    }
}

/// Contacts of each kind of features, in general position, with one that has not met among them.
fn general_scenes() -> Vec<(&'static str, Vec<Piece>)> {
    let moving = |shape, place, turn| Piece {
        turn,
        velocity: [0.1, 0.2, -0.3],
        spin: [0.3, 0.2, 0.4],
        ..Piece::at_rest(shape, place)
    };
    let lowest = |turn: [f64; 3]| {
        let down = rotation_exponential(&Vector3::from(turn)).row(2).abs();
        down[0] * 0.05 + down[1] * 0.04 + down[2] * 0.03
    };
    let turn = [0.6, 0.4, 0.2];
    let between: f64 = 0.08;
    vec![
        ("a corner on a plane", vec![moving(BOX, [0.0, 0.0, lowest(turn) - 1e-7], turn)]),
        ("a corner above a plane", vec![moving(BOX, [0.0, 0.0, lowest(turn) + 2e-4], turn)]),
        (
            "a ball on a rod",
            vec![
                Piece { turn: [1.5, 0.05, 0.2], ..Piece::at_rest(CAPSULE, [0.0, 0.0, 0.5]) },
                moving(BALL, [0.01, 0.02, 0.5 + (between * between - 4e-4).sqrt() + 1e-4], turn),
            ],
        ),
        (
            "an edge on an edge",
            vec![
                Piece { turn: [0.785, 0.0, 0.0], ..Piece::at_rest(BOX, [0.0, 0.0, 0.5]) },
                moving(BOX, [0.003, 0.004, 0.5 + 0.1061], [0.02, 0.785, 0.05]),
            ],
        ),
        ("the rim of a cylinder", vec![moving(CYLINDER, [0.0, 0.0, 0.0604], [0.3, 0.25, 0.2])]),
        (
            "a ball on a box",
            vec![
                Piece { turn: [0.04, 0.06, 0.2], ..Piece::at_rest(BOX, [0.0, 0.0, 0.5]) },
                moving(BALL, [0.011, 0.007, 0.5803], turn),
            ],
        ),
    ]
}

#[test]
fn derivatives_are_those_of_the_steps() {
    let folder = Folder::new("rigid-derivatives");
    for kind in ["lagged", "sap", "radau, 1e-4", "lagged, 1e-3"] {
        // Each of the many steps of an accuracy costs as much as one of the others.
        let (count, until) = match kind {
            "lagged, 1e-3" => (1, 6e-3),
            "radau, 1e-4" => (2, 2e-3),
            _ => (usize::MAX, 6e-3),
        };
        for (name, pieces) in general_scenes().into_iter().take(count) {
            let scene = scene(&folder, kind, 2e-3, 0.5, &pieces);
            let rollout = scene.rollout(until).expect("settings");
            // Faces of more than three corners have a kink with respect to these.
            let vertices = if name == "a ball on a box" { 0 } else { 2 };
            // As many as like may be undecided: nothing is looked at beside.
            let settings = CheckSettings { vertices, undecided: 1.0, ..Default::default() };
            let report = check_scene(&rollout, &settings).expect("a check");
            let wrong = report.rows.iter().find(|row| row.comparison.verdict == Verdict::Wrong);
            assert!(wrong.is_none(), "{kind}, {name}: {wrong:?}");
            let (ok, all) = (report.count(Verdict::Ok), report.rows.len());
            // An instant of touch within a substep of Radau's is a kink.
            let least = if kind.starts_with("radau") { 0.4 } else { 0.5 };
            assert!(ok as f64 > least * all as f64, "{kind}, {name}: {ok} of {all} could be compared");
        }
    }
}

/// Steps that have too few iterations for their own law end with the convex one, and are differentiated with it, by those as well
/// that find them again.
#[test]
fn derivatives_are_those_of_the_law_that_a_step_ended_with() {
    let folder = Folder::new("rigid-convex-law");
    let mut ended = 0;
    for (name, pieces) in general_scenes() {
        let scene = scene(&folder, "lagged", 2e-3, 0.5, &pieces);
        let settings = scene.simulation_settings().expect("settings");
        let method = |max_iterations: usize| {
            let tolerance = SolverTolerance { max_iterations, ..Default::default() };
            Integrator::VelocityLevel(VelocityLevel { model: ContactModel::Lagged, tolerance })
        };
        let rollout = |iterations: usize| {
            let settings = SimulationSettings { integrator: method(iterations), ..settings };
            Rollout::new(&scene.model, &scene.state, settings, 2e-3)
        };
        let end = |iterations: usize| {
            let motion = rollout(iterations).simulate().ok()?;
            Some(motion.states.last()?.bodies.last()?.velocity)
        };
        let own = end(100).expect("a motion");
        let differs = |&iterations: &usize| {
            let of = end(iterations);
            of.is_some_and(|v| (v.rotational - own.rotational).norm() > 1e-6 * own.rotational.norm())
        };
        let Some(iterations) = (1..20).find(differs) else { continue };
        let settings = CheckSettings { vertices: 0, undecided: 1.0, ..Default::default() };
        let report = check_scene(&rollout(iterations), &settings).expect("a check");
        let wrong = report.rows.iter().find(|row| row.comparison.verdict == Verdict::Wrong);
        assert!(wrong.is_none(), "{name}, {iterations}: {wrong:?}");
        let (ok, all) = (report.count(Verdict::Ok), report.rows.len());
        assert!(ok * 2 > all, "{name}, {iterations}: {ok} of {all} could be compared");
        let step = StepProblem::new(&scene.model, &scene.state, 2e-3);
        let integrator = method(iterations);
        let forces: &dyn ForcesIn<f64> = &NoForces;
        let dependence = forces.differentiable().force_dependence();
        let model = DifferentiatedModel::new(&scene.model, &[], dependence, 0).expect("a model");
        let (mut taken, mut again) = (Tape::default(), Tape::default());
        let after =
            integrator.step_taped(&step, &model, &mut StepWorkspace::default(), &mut taken).expect("a step");
        integrator.tape(&step, &after, &model, &mut StepWorkspace::default(), &mut again).expect("the step");
        let [taken, again] = [taken, again].map(|mut tape| {
            tape.jacobian(&model, forces, &mut DerivativeWorkspace::default()).expect("a Jacobian").by_state
        });
        let off = (&again - &taken).amax();
        assert!(off < 1e-6 * taken.amax(), "{name}, {iterations}: {off} of {}", taken.amax());
        ended += 1;
    }
    assert!(ended > 0, "no step ended with the convex law");
}

/// Gaps and slips are exactly 0: the derivatives are those of a side, and numbers.
#[test]
fn derivatives_at_exact_rest_are_finite_and_none_is_wrong() {
    let folder = Folder::new("rigid-rest");
    for kind in KINDS.into_iter().chain(["radau, 1e-5"]) {
        let scene = scene(&folder, kind, 2e-3, 0.5, &[Piece::at_rest(BOX, [0.0, 0.0, 0.03])]);
        let rollout = scene.rollout(6e-3).expect("settings");
        let settings = CheckSettings { undecided: 1.0, ..Default::default() };
        let report = check_scene(&rollout, &settings).expect("a check");
        for row in &report.rows {
            assert!(row.comparison.claimed.is_finite(), "{kind}: {row:?}");
            assert_ne!(row.comparison.verdict, Verdict::Wrong, "{kind}: {row:?}");
        }
    }
}

/// As steps get shorter, these and those by complementarity have the same motion.
#[test]
fn short_steps_agree_with_complementarity() {
    let folder = Folder::new("rigid-agreement");
    let drop = || Piece {
        turn: [0.3, 0.2, 0.1],
        velocity: [0.3, 0.1, 0.0],
        ..Piece::at_rest(BOX, [0.0, 0.0, 0.08])
    };
    let off = |kind: &str, time_step: f64| {
        // It has landed on a corner, and falls over.
        let other = end(&scene(&folder, "ncp", time_step, 0.0, &[drop()]), 0.1).bodies[0];
        let one = end(&scene(&folder, kind, time_step, 0.0, &[drop()]), 0.1).bodies[0];
        (one.position - other.position).norm()
    };
    for kind in KINDS {
        let (coarse, fine) = (off(kind, 2e-3), off(kind, 2.5e-4));
        println!("{kind}: {coarse:.1e} m apart at 2 ms, {fine:.1e} m at 0.25 ms");
        assert!(fine < 0.4 * coarse && fine < 5e-4, "{kind}: {coarse}, then {fine}");
    }
}
