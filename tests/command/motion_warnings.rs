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
        let settings = scene.simulation_settings().expect("implemented");
        let motion = scene.simulate(&settings, until);
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
    for kind in ["lagged", "similar", "sap", "tamsi", "semi-implicit-euler", "rk4"] {
        let time_step = if kind.contains("euler") || kind == "rk4" { 2e-5 } else { 1e-3 };
        for ground in [HALF_SPACE, PLATE] {
            let warnings = Case { kind, time_step, modulus: 1e5, ground, ..CALM }.warnings(0.2);
            assert_eq!(warnings, [], "{kind}");
        }
    }
}

#[test]
fn stiff_contact_of_explicit_steps_is_noticed_when_it_begins() {
    for kind in ["semi-implicit-euler", "rk4"] {
        let warnings = Case { kind, modulus: 1e8, ..CALM }.warnings(0.1);
        let first = warnings.first().expect("a warning");
        assert!(matches!(first.cause, WarningCause::StiffContact { turn, .. } if turn > 1.0), "{first}");
        // The fall of 1 cm takes 45 ms.
        assert!((0.04..0.06).contains(&first.time), "{first}");
        assert_eq!(first.bodies, ["ball", "ground"]);
    }
}

#[test]
fn friction_too_stiff_for_explicit_steps_is_noticed() {
    let case = Case {
        kind: "semi-implicit-euler",
        time_step: 5e-4,
        modulus: 1e5,
        height: 0.0195,
        velocity: [0.05, 0.0, 0.0],
        ..CALM
    };
    let warnings = case.warnings(0.1);
    let stiff =
        |w: &&MotionWarning| matches!(w.cause, WarningCause::StiffFriction { ratio, .. } if ratio > 2.0);
    assert!(warnings.iter().any(|w| stiff(&w)), "{warnings:#?}");
}

#[test]
fn what_passes_a_surface_is_noticed_in_that_step() {
    for ground in [HALF_SPACE, PLATE] {
        for kind in ["lagged", "tamsi", "sap"] {
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
}

#[test]
fn a_step_that_goes_far_into_a_body_is_noticed() {
    for kind in ["lagged", "similar", "sap", "tamsi"] {
        let fast = Case { kind, time_step: 1e-2, height: 0.055, velocity: [0.0, 0.0, -2.0], ..CALM };
        let warnings = fast.warnings(0.02);
        let far = only(&warnings);
        let WarningCause::LongStep { way, depth, longest } = far.cause else { panic!("{far}") };
        let last = 1e-2 * (2.0 + 2.0 * 9.81e-2);
        assert!((way - last).abs() < 1e-3 * last && depth > 0.019 && depth < 0.02, "{far}");
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
    // 1 rad a step where it touches; and high above the ground.
    let spinning = Case { time_step: 1e-2, height: 0.0199, spin: 100.0, ..CALM };
    let warnings = spinning.warnings(0.01);
    let far = only(&warnings);
    let WarningCause::LongStep { way, longest, .. } = far.cause else { panic!("{far}") };
    assert!((longest - 5e-3).abs() < 5e-4 && (way - 0.02).abs() < 2e-3, "{far}");
    assert_eq!(Case { height: 0.06, ..spinning }.warnings(0.02), []);
    assert_eq!(Case { spin: 10.0, ..spinning }.warnings(0.01), []);
}

#[test]
fn a_body_pressed_through_slowly_is_noticed() {
    // So soft that its weight presses it through the plate, in contact all the time.
    let warnings = Case { modulus: 20.0, height: 0.0195, ground: PLATE, ..CALM }.warnings(0.3);
    assert!(warnings.iter().any(|w| matches!(w.cause, WarningCause::Passed { .. })), "{warnings:#?}");
}

#[test]
fn deep_overlap_at_the_start_is_said_with_depth_and_force() {
    let warnings = Case { height: 0.012, ..CALM }.warnings(1e-3);
    let deep = only(&warnings);
    let WarningCause::DeepStart { depth, size, force } = deep.cause else { panic!("{deep}") };
    assert!((depth - 0.008).abs() < 2e-3 && (size - 0.04).abs() < 1e-9 && force > 10.0, "{deep}");
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

#[test]
fn the_command_prints_warnings_in_one_line_each() {
    let folder = Folder::new("printed");
    let case = Case { time_step: 1e-2, height: 0.06, velocity: [0.0, 0.0, -10.0], ..CALM };
    let scene = folder.file("scene.toml", case.scene());
    let out = folder.0.join("out.csv");
    let run = isobar(&["simulate", text(&scene), "--until", "0.1", "--out", text(&out)]);
    assert!(run.status.success());
    let stderr = String::from_utf8_lossy(&run.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|l| l.contains("passed the surface")).collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    assert!(lines[0].starts_with("isobar: warning: `ball` and `ground`, t = 0.01"), "{stderr}");
}
