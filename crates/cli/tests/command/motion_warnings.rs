//! What goes wrong in a simulation without an error is noticed while it happens.

use crate::folder::Folder;
use isobar::io::Scene;
use isobar::rollout::{MotionWarning, WarningCause};

use crate::{isobar, text};

/// A ball over a body, simulated.
#[derive(Clone, Copy)]
struct Case<'a> {
    kind: &'a str,
    time_step: f64,
    modulus: f64,
    height: f64,
    velocity: [f64; 3],
    /// About the vertical, rad/s.
    spin: f64,
    ground: &'a str,
}

const HALF_SPACE: &str = "shape = { half_space = {} }\nrigid = true";
/// A plate of 1 cm, its upper side at z = 0.
const PLATE: &str =
    "shape = { box = { size = [0.4, 0.4, 0.01] } }\ntranslation = [0, 0, -0.005]\nrigid = true";

const CALM: Case = Case {
    kind: "lagged",
    time_step: 1e-3,
    modulus: 1e6,
    height: 0.03,
    velocity: [0.0; 3],
    spin: 0.0,
    ground: HALF_SPACE,
};

impl Case<'_> {
    fn scene(&self) -> String {
        let Self { kind, time_step, modulus, height, velocity, spin, ground } = self;
        format!(
            "[materials.foam]\nhydroelastic_modulus = {modulus:e}\ndissipation = 1.0\nfriction = 0.5\n\
             [solver]\nkind = \"{kind}\"\ntime_step = {time_step:e}\n\
             [[bodies]]\nname = \"ball\"\nmass = 0.05\ntranslation = [0, 0, {height}]\n\
             linear_velocity = {velocity:?}\nangular_velocity = [0, 0, {spin}]\n[[bodies.geometries]]\n\
             shape = {{ sphere = {{ radius = 0.02, resolution = 0.01 }} }}\nmaterial = \"foam\"\n\
             [[bodies]]\nname = \"ground\"\nfixed = true\n[[bodies.geometries]]\n{ground}\n"
        )
    }

    fn warnings(&self, until: f64) -> Vec<MotionWarning> {
        let folder = Folder::new("warnings");
        let path = folder.file("scene.toml", self.scene());
        let scene = Scene::load(&path).expect("a valid scene");
        let motion = scene.rollout(until).expect("implemented").motion();
        motion.outcome.expect("a simulation");
        motion.warnings
    }
}

fn only(warnings: &[MotionWarning]) -> &MotionWarning {
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    &warnings[0]
}

#[test]
fn a_calm_motion_is_not_warned_of() {
    for kind in ["lagged", "similar", "sap", "tamsi", "semi_implicit_euler", "rk4"] {
        let time_step = if kind.contains("euler") || kind == "rk4" { 1.5e-5 } else { 1e-3 };
        for ground in [HALF_SPACE, PLATE] {
            let warnings = Case { kind, time_step, modulus: 1e5, ground, ..CALM }.warnings(0.2);
            assert_eq!(warnings, [], "{kind}");
        }
    }
}

#[test]
fn stiff_contact_of_explicit_steps_is_noticed_when_it_begins() {
    for kind in ["semi_implicit_euler", "rk4"] {
        let warnings = Case { kind, modulus: 1e8, ..CALM }.warnings(0.5);
        let of_stiffness = |w: &&MotionWarning| matches!(w.cause, WarningCause::StiffContact { .. });
        assert_eq!(warnings.iter().filter(of_stiffness).count(), 1, "{warnings:#?}");
        let first = warnings.first().expect("a warning");
        let WarningCause::StiffContact { stiffness, turn, dt, longest } = first.cause else {
            panic!("{first}")
        };
        // ω² = k/m: the ground pushes through the ball's middle.
        assert!((turn - 1e-3 * (stiffness / 0.05).sqrt()).abs() < 0.02 * turn, "{first}");
        assert!(turn > 1.0 && dt == 1e-3 && (longest * turn - dt).abs() < 1e-12, "{first}");
        // The fall of 1 cm takes 45 ms.
        assert!((0.04..0.06).contains(&first.time), "{first}");
        assert_eq!(first.bodies, ["ball", "ground"]);
    }
}

#[test]
fn friction_too_stiff_for_explicit_steps_is_noticed() {
    let case = Case {
        kind: "semi_implicit_euler",
        time_step: 5e-4,
        modulus: 1e5,
        height: 0.0195,
        velocity: [0.05, 0.0, 0.0],
        ..CALM
    };
    let warnings = case.warnings(0.1);
    let stiff = |w: &&MotionWarning| matches!(w.cause, WarningCause::StiffFriction { .. });
    assert_eq!(warnings.iter().filter(stiff).count(), 1, "{warnings:#?}");
    let warning = warnings.iter().find(stiff).expect("a warning");
    let WarningCause::StiffFriction { ratio, limit } = warning.cause else { panic!("{warning}") };
    // μ N δt / (m v_s) with about its weight for N, and 2/7 of its mass for m: it rolls.
    assert!(limit == 2.0 && (4.0..12.0).contains(&ratio), "{warning}");
    // Not while it slides at 5 cm/s, which takes about 10 ms to end.
    assert!((0.005..0.04).contains(&warning.time), "{warning}");
}

#[test]
fn sliding_that_holds_bodies_apart_is_noticed() {
    let case = Case { time_step: 1e-2, height: 0.0195, velocity: [3.0, 0.0, 0.0], ..CALM };
    for (kind, gap_time) in [("similar", 1e-2), ("sap", 1e-2)] {
        let warnings = Case { kind, ..case }.warnings(0.3);
        let gliding = |w: &&MotionWarning| matches!(w.cause, WarningCause::Gliding { .. });
        assert_eq!(warnings.iter().filter(gliding).count(), 1, "{kind}: {warnings:#?}");
        let warning = warnings.iter().find(gliding).expect("a warning");
        let WarningCause::Gliding { slip_velocity, gap, depth } = warning.cause else { panic!("{warning}") };
        // μ v δt, more than it overlaps.
        assert!(
            (gap - 0.5 * slip_velocity * gap_time).abs() < 1e-3 * gap && gap > depth && depth > 0.0,
            "{warning}"
        );
        assert!((1.0..3.0).contains(&slip_velocity), "{warning}");
        assert!((0.01..0.03).contains(&warning.time), "{warning}");
        assert_eq!(warning.bodies, ["ball", "ground"]);
    }
    let gliding = |w: &MotionWarning| matches!(w.cause, WarningCause::Gliding { .. });
    for kind in ["lagged", "tamsi"] {
        assert!(!Case { kind, ..case }.warnings(0.3).iter().any(gliding), "{kind}");
    }
}

#[test]
fn what_passes_a_surface_is_noticed_in_that_step() {
    // Implicit steps are cut where a body would end in a half-space; a thin plate is passed between two states.
    for (ground, kinds) in [(HALF_SPACE, &["semi_implicit_euler"][..]), (PLATE, &["lagged", "tamsi", "sap"])]
    {
        for kind in kinds {
            let case =
                Case { kind, time_step: 1e-2, height: 0.06, velocity: [0.0, 0.0, -10.0], ground, ..CALM };
            // A half-space has no middle; the plate's goes through the ball as the ball's through it.
            let pairs: &[[&str; 2]] = match ground {
                HALF_SPACE => &[["ball", "ground"]],
                _ => &[["ball", "ground"], ["ground", "ball"]],
            };
            let warnings = case.warnings(0.1);
            let told: Vec<_> = warnings.iter().map(|w| w.bodies.each_ref().map(String::as_str)).collect();
            assert_eq!(told, pairs);
            for passed in warnings {
                assert!(matches!(passed.cause, WarningCause::Passed { way, .. } if way > 0.05), "{passed}");
                assert!((passed.time - 0.01).abs() < 1e-9, "{passed}");
            }
        }
    }
    // A wall that is turned: beyond x = −0.06.
    let wall = "shape = { half_space = {} }\nrigid = true\ntranslation = [-0.06, 0, 0]\n\
                rotation_matrix = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]";
    let kind = "semi_implicit_euler";
    let case = Case { kind, time_step: 1e-2, height: 0.0, velocity: [-10.0, 0.0, 0.0], ground: wall, ..CALM };
    let warnings = case.warnings(0.02);
    let passed = only(&warnings);
    assert!(matches!(passed.cause, WarningCause::Passed { way, .. } if (way - 0.1).abs() < 1e-3), "{passed}");
}

#[test]
fn implicit_steps_do_not_pass_a_half_space() {
    for kind in ["lagged", "similar", "sap", "tamsi"] {
        for height in [0.03, 0.06, 0.09] {
            let case = Case { kind, time_step: 1e-2, height, velocity: [0.0, 0.0, -10.0], ..CALM };
            let folder = Folder::new("landing");
            let scene = Scene::load(folder.file("scene.toml", case.scene())).expect("a valid scene");
            let motion = scene.rollout(0.1).expect("implemented").motion();
            motion.outcome.expect("a simulation");
            let lowest = motion.trajectory.states.iter().map(|state| state.bodies[0].position.z);
            let lowest = lowest.fold(f64::INFINITY, f64::min);
            assert!(lowest > 0.0, "{kind} {height}: {lowest}");
            let passed = |w: &MotionWarning| matches!(w.cause, WarningCause::Passed { .. });
            assert!(!motion.warnings.iter().any(passed), "{kind} {height}: {:#?}", motion.warnings);
        }
    }
}

/// It touches with an edge, which turns it far within the step that it lands in.
#[test]
fn a_tilted_prism_does_not_pass_a_half_space() {
    let corner = |k: usize| {
        let (sine, cosine) = (k as f64 * std::f64::consts::FRAC_PI_3).sin_cos();
        format!("[{x:.5}, {y:.5}, 0], [{x:.5}, {y:.5}, 0.02]", x = 0.02 * cosine, y = 0.02 * sine)
    };
    let corners = (0..6).map(corner).collect::<Vec<_>>().join(", ");
    let scene = |kind: &str| {
        format!(
            "[materials.m]\nhydroelastic_modulus = 1e7\ndissipation = 1.0\nfriction = 0.5\n\
             [solver]\nkind = \"{kind}\"\ntime_step = 0.02\n\
             [[bodies]]\nname = \"prism\"\ndensity = 1000\ntranslation = [0, 0, 0.002691]\nrpy = [0, 0.14, 0]\n\
             linear_velocity = [0, 0, -2.2]\n[[bodies.geometries]]\n\
             shape = {{ convex = {{ points = [{corners}] }} }}\nmaterial = \"m\"\n\
             [[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\n\
             shape = {{ half_space = {{}} }}\nrigid = true\n"
        )
    };
    for kind in ["lagged", "similar", "sap", "tamsi"] {
        let folder = Folder::new("tilted");
        let scene = Scene::load(folder.file("scene.toml", scene(kind))).expect("a valid scene");
        let motion = scene.rollout(0.1).expect("implemented").motion();
        motion.outcome.expect("a simulation");
        let lowest = motion.trajectory.states.iter().map(|state| state.bodies[0].position.z);
        assert!(lowest.clone().all(|z| z > 0.0), "{kind}: {:?}", lowest.collect::<Vec<_>>());
    }
}

#[test]
fn a_step_that_goes_far_into_a_body_is_noticed() {
    for kind in ["lagged", "similar", "sap", "tamsi"] {
        let fast = Case { kind, time_step: 1e-2, height: 0.055, velocity: [0.0, 0.0, -2.0], ..CALM };
        let warnings = fast.warnings(0.02);
        let far = only(&warnings);
        let WarningCause::LongStep { way, depth, longest } = far.cause else { panic!("{far}") };
        let last = 1e-2 * (2.0 + 2.0 * 9.81e-2);
        // It lands within the step.
        assert!(way < last && way > 0.7 * last && depth > 0.019 && depth < 0.02, "{far}");
        assert!((longest - 0.5e-2 * depth / way).abs() < 1e-12, "{far}");
        assert!((far.time - 0.02).abs() < 1e-9 && far.bodies == ["ball", "ground"], "{far}");
        // Over one that it just stands above it may go as fast as it likes.
        let along = Case { height: 0.05, velocity: [3.0, 0.0, 0.0], ..fast };
        assert_eq!(along.warnings(0.02), []);
        assert_eq!(Case { time_step: 1e-3, ..fast }.warnings(0.05), []);
    }
}

#[test]
fn a_turn_that_is_far_for_a_step_is_noticed() {
    // 0.8 rad a step where it touches, told once; and high above the ground.
    let spinning = Case { time_step: 1e-2, height: 0.0199, spin: 80.0, ..CALM };
    let warnings = spinning.warnings(0.03);
    let far = only(&warnings);
    let WarningCause::LongStep { way, longest, .. } = far.cause else { panic!("{far}") };
    assert!((longest - 6.25e-3).abs() < 1e-4 && (way - 0.016).abs() < 1e-3, "{far}");
    assert_eq!(Case { height: 0.06, ..spinning }.warnings(0.02), []);
    // Slow turning does not add up.
    assert_eq!(Case { spin: 20.0, ..spinning }.warnings(0.1), []);
}

#[test]
fn a_body_pressed_through_slowly_is_noticed() {
    // So soft that its weight presses it through the plate, in contact all the time.
    // It comes out below; each of the two is told once.
    let warnings = Case { modulus: 20.0, height: 0.0195, ground: PLATE, ..CALM }.warnings(0.3);
    let passed = warnings.iter().filter(|w| matches!(w.cause, WarningCause::Passed { .. }));
    let told: Vec<_> = passed.map(|w| w.bodies.each_ref().map(String::as_str)).collect();
    assert_eq!(told, [["ground", "ball"], ["ball", "ground"]], "{warnings:#?}");
}

#[test]
fn deep_overlap_at_the_start_is_said_with_depth_and_force() {
    let warnings = Case { height: 0.012, ..CALM }.warnings(1e-3);
    let deep = only(&warnings);
    let WarningCause::DeepStart { depth, size, force } = deep.cause else { panic!("{deep}") };
    assert!((depth - 0.008).abs() < 2e-3 && (size - 0.04).abs() < 1e-9 && force > 10.0, "{deep}");
    // Balls that hold each other's middle: that is not told besides.
    let ball = "shape = { sphere = { radius = 0.02, resolution = 0.01 } }\nmaterial = \"foam\"";
    let deeper = Case { height: 0.015, ground: ball, ..CALM }.warnings(1e-3);
    assert!(matches!(only(&deeper).cause, WarningCause::DeepStart { .. }), "{deeper:#?}");
}

#[test]
fn a_body_that_starts_inside_another_is_told() {
    // A ball below the ground has no contact with it.
    for (height, depth) in [(-0.025, 0.025), (-0.3, 0.3)] {
        let warnings = Case { height, ..CALM }.warnings(1e-3);
        let inside = only(&warnings);
        let WarningCause::StartsInside { depth: told } = inside.cause else { panic!("{inside}") };
        assert!((told - depth).abs() < 1e-9 && inside.time == 0.0, "{inside}");
        assert_eq!(inside.bodies, ["ball", "ground"]);
    }
    // A ball in a thick rigid plate, all of it.
    let block = "shape = { box = { size = [0.4, 0.4, 0.2] } }\ntranslation = [0, 0, -0.1]\nrigid = true";
    let warnings = Case { height: -0.07, ground: block, ..CALM }.warnings(1e-3);
    let told = |w: &MotionWarning| matches!(w.cause, WarningCause::StartsInside { depth } if (depth - 0.07).abs() < 1e-9);
    assert!(warnings.iter().any(|w| told(w) && w.bodies == ["ball", "ground"]), "{warnings:#?}");
    // And none beside it.
    assert_eq!(Case { height: 0.03, ground: block, ..CALM }.warnings(1e-3), []);
}

/// The middle of a long box is where it passes the plate, though the deepest points of its field are not.
#[test]
fn a_post_that_starts_through_a_plate_is_told() {
    let folder = Folder::new("post");
    let post = CALM
        .scene()
        .replace("sphere = { radius = 0.02, resolution = 0.01 }", "box = { size = [0.012, 0.024, 0.08] }");
    let path =
        folder.file("scene.toml", post.replace(HALF_SPACE, PLATE).replace("[0, 0, 0.03]", "[0, 0, -0.005]"));
    let scene = Scene::load(&path).expect("a valid scene");
    let warnings = scene.rollout(1e-3).expect("it moves").motion().warnings;
    let told = |w: &MotionWarning| {
        matches!(w.cause, WarningCause::StartsInside { .. } | WarningCause::DeepStart { .. })
    };
    assert!(warnings.iter().any(|w| told(w) && w.time == 0.0), "{warnings:#?}");
}

#[test]
fn the_command_prints_warnings_in_one_line_each() {
    let folder = Folder::new("printed");
    let kind = "semi_implicit_euler";
    let case = Case { kind, time_step: 1e-2, height: 0.06, velocity: [0.0, 0.0, -10.0], ..CALM };
    let scene = folder.file("scene.toml", case.scene());
    let out = folder.0.join("out.csv");
    let run = isobar(&["simulate", text(&scene), "--until", "0.1", "--out", text(&out)]);
    assert!(run.status.success());
    let stderr = String::from_utf8_lossy(&run.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|l| l.contains("passed the surface")).collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    assert!(lines[0].starts_with("isobar: warning: `ball` and `ground`, t = 0.01"), "{stderr}");
}

/// A lossless ball on a spring: of the energy of its rebound a step eats about π ω δt.
#[test]
fn steps_that_eat_rebounds_are_told() {
    let case = |time_step: f64, dissipation: &str, accuracy: &str| {
        let case = Case { time_step, modulus: 1e6, height: 0.1, ..CALM };
        let scene = case.scene().replace("dissipation = 1.0", dissipation);
        let folder = Folder::new("eaten");
        let path = folder.file("scene.toml", scene.replace("[solver]\n", &format!("[solver]\n{accuracy}")));
        let motion = Scene::load(&path).expect("a valid scene").rollout(0.3).expect("implemented").motion();
        motion.outcome.expect("a simulation");
        let eaten = |w: &MotionWarning| match w.cause {
            WarningCause::EatenRebound { speed, expected, longest, .. } => Some((speed, expected, longest)),
            _ => None,
        };
        let told: Vec<_> = motion.warnings.iter().filter_map(eaten).collect();
        let fastest = motion.trajectory.states.iter().map(|state| state.bodies[0].velocity.translational.z);
        (told, fastest.fold(0.0, f64::max))
    };
    let lossless = "dissipation = 0.0";
    let (told, fastest) = case(1e-3, lossless, "");
    let [(speed, expected, longest)] = told[..] else { panic!("{told:?}") };
    let fall = (2.0_f64 * 9.81 * 0.08).sqrt();
    assert!((expected - fall).abs() < 0.03 * fall && speed < 0.7 * expected, "{told:?}");
    // Gravity takes some of the speed within the step.
    assert!((speed - fastest).abs() < 0.05 * fall, "{speed} {fastest}");
    // With the step that is told about half of the energy is left.
    let (told, fastest) = case(0.5 * longest, lossless, "");
    assert!(told.is_empty() && fastest > 0.7 * fall, "{told:?} {fastest}");
    let (told, fastest) = case(1e-3, lossless, "accuracy = 1e-6\n");
    assert!(told.is_empty() && fastest > 0.98 * fall, "{told:?} {fastest}");
    // Dissipation leaves nothing to be eaten.
    let (told, _) = case(1e-3, "dissipation = 50.0", "");
    assert!(told.is_empty(), "{told:?}");
}

/// On level ground steps slow a ball down as exp(−g δt t/1.4 R).
#[test]
fn steps_that_resist_rolling_are_told() {
    let case = |velocity: f64, spin: f64, friction: &str, accuracy: &str| {
        let case = Case { height: 0.0199, velocity: [velocity, 0.0, 0.0], ..CALM };
        let scene = case
            .scene()
            .replace("angular_velocity = [0, 0, 0]", &format!("angular_velocity = [0, {spin}, 0]"));
        let scene = scene.replace("friction = 0.5", friction);
        let folder = Folder::new("rolling");
        let path = folder.file("scene.toml", scene.replace("[solver]\n", &format!("[solver]\n{accuracy}")));
        let motion = Scene::load(&path).expect("a valid scene").rollout(0.6).expect("implemented").motion();
        motion.outcome.expect("a simulation");
        let rolling = |w: &MotionWarning| match w.cause {
            WarningCause::RollingResistance { torque, part, .. } => Some((w.time, torque, part)),
            _ => None,
        };
        let told: Vec<_> = motion.warnings.iter().filter_map(rolling).collect();
        (told, motion.trajectory.states.last().expect("a state").bodies[0].velocity.translational.x)
    };
    let (told, speed) = case(0.5, 25.0, "friction = 0.5", "");
    let [(time, torque, part)] = told[..] else { panic!("{told:?}") };
    let rate = 9.81 * 1e-3 / (1.4 * 0.02);
    assert!((speed / (0.5 * f64::exp(-0.6 * rate)) - 1.0).abs() < 0.05, "{speed}");
    assert!((1.0 - f64::exp(-2.0 * rate * time) - part).abs() < 0.05, "{part} at {time}");
    let at_that_time = 0.05 * 9.81 * 1e-3 * 0.5 * f64::exp(-rate * time);
    assert!((torque / at_that_time - 1.0).abs() < 0.1, "{torque} {at_that_time}");
    let (told, speed) = case(0.5, 25.0, "friction = 0.5", "accuracy = 1e-6\n");
    assert!(told.is_empty() && speed > 0.47, "{told:?} {speed}");
    // What slides without friction does not roll.
    let (told, _) = case(0.3, 0.0, "friction = 0.0", "");
    assert!(told.is_empty(), "{told:?}");
}
