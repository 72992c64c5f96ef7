//! Bodies that gain energy without a source, or pass through rigid ones, are noticed; what has a source is not.

use isobar::io::Scene;
use isobar::multibody::Motion as BodyMotion;
use isobar::rollout::{Motion, MotionWarning, Rollout, WarningCause};

use crate::folder::Folder;

/// A scene of bodies on a rigid floor.
fn scene(solver: &str, material: &str, bodies: &str) -> Scene {
    let folder = Folder::new("gains");
    let text = format!(
        "[materials.m]\nfriction = 0.5\n{material}\n[solver]\n{solver}\n{bodies}\n[[bodies]]\n\
         name = \"floor\"\nfixed = true\n[[bodies.geometries]]\nmaterial = \"m\"\n\
         shape = {{ half_space = {{}} }}\nrigid = true\n"
    );
    Scene::load(folder.file("scene.toml", text)).expect("a valid scene")
}

fn motion(solver: &str, material: &str, bodies: &str, until: f64) -> Motion {
    scene(solver, material, bodies).rollout(until).expect("implemented").motion()
}

/// A body of one geometry with its middle at a height.
fn body(name: &str, more: &str, height: f64, shape: &str) -> String {
    format!(
        "[[bodies]]\nname = \"{name}\"\n{more}\ntranslation = [0, 0, {height}]\n\
         [[bodies.geometries]]\nmaterial = \"m\"\nshape = {{ {shape} }}\n"
    )
}

const CUBE: &str = "box = { size = [0.1, 0.1, 0.1] }";

/// Kinetic energy and that of gravity of the one body of 1 kg that moves, J.
fn energy(motion: &Motion, at: usize) -> f64 {
    let body = &motion.trajectory.states[at].bodies[0];
    0.5 * body.velocity.translational.norm_squared() + 9.81 * body.position.z
}

/// The gains that are warned of.
fn gains(motion: &Motion) -> Vec<&MotionWarning> {
    motion.warnings.iter().filter(|w| matches!(w.cause, WarningCause::EnergyGain { .. })).collect()
}

#[test]
fn a_body_that_one_explicit_step_throws_off_is_noticed() {
    let stiff = "hydroelastic_modulus = 1e9\ndissipation = 1.0";
    for kind in ["semi_implicit_euler", "rk4"] {
        let solver = format!("kind = \"{kind}\"\ntime_step = 1e-3");
        let thrown = motion(&solver, stiff, &body("b", "mass = 1", 0.05, CUBE), 0.1);
        assert!(energy(&thrown, 100) > energy(&thrown, 0) + 1.0, "{kind}");
        let said = |w: &MotionWarning| {
            matches!(w.cause, WarningCause::StiffContact { .. } | WarningCause::EnergyGain { .. })
                && w.bodies.contains(&"b".to_owned())
        };
        assert!(thrown.warnings.iter().any(said), "{kind}: {:#?}", thrown.warnings);
    }
    // The floor is met within the step alone, which begins and ends above it.
    let above = body("b", "mass = 1\nlinear_velocity = [0, 0, -0.5]", 0.0501, CUBE);
    let thrown = motion("kind = \"rk4\"\ntime_step = 1e-3", stiff, &above, 2e-3);
    let gains = gains(&thrown);
    assert_eq!(gains.len(), 1, "{:#?}", thrown.warnings);
    let WarningCause::EnergyGain { gain, explicit } = gains[0].cause else { panic!("{}", gains[0]) };
    assert!(explicit && gains[0].bodies == ["b", "floor"], "{}", gains[0]);
    let step = (gains[0].time * 1e3).round() as usize;
    let of_step = energy(&thrown, step) - energy(&thrown, step - 1);
    assert!((gain - of_step).abs() < 1e-9 * gain && gain > 1.0, "{} {of_step}", gains[0]);
    let text = gains[0].to_string();
    assert!(text.contains("energy") && text.contains("gain"), "{text}");
}

/// Steps by complementarity refuse what is compliant, and say which take both.
#[test]
fn a_ball_beside_a_rigid_block_rests() {
    let rigid = body("block", "mass = 1", 0.05, CUBE).replace("shape", "rigid = true\nshape");
    let ball = body("ball", "mass = 0.1", 0.03, "sphere = { radius = 0.02, resolution = 0.01 }");
    let ball = ball.replace("[0, 0,", "[1, 0,");
    let bodies = format!("{rigid}{ball}");
    let material = "hydroelastic_modulus = 1e7\ndissipation = 1.0";
    for kind in ["lcp", "ncp", "ecp"] {
        let refused = scene(&format!("kind = \"{kind}\"\ntime_step = 5e-3"), material, &bodies);
        let error = refused.rollout(0.2).expect_err("refused").to_string();
        for part in ["`ball`", "compliant", "`lagged`"] {
            assert!(error.contains(part), "{error}");
        }
    }
    for kind in ["lagged", "similar", "tamsi", "sap"] {
        let solver = format!("kind = \"{kind}\"\ntime_step = 5e-3");
        let rests = motion(&solver, material, &bodies, 0.5);
        assert!(gains(&rests).is_empty(), "{kind}: {:#?}", rests.warnings);
        for (body, height) in rests.trajectory.states.last().expect("a state").bodies.iter().zip([0.05, 0.02])
        {
            assert!((body.position.z - height).abs() < 1e-3, "{kind}: {}", body.position.z);
            assert!(body.velocity.translational.norm() < 1e-4, "{kind}");
        }
    }
}

#[test]
fn rigid_bodies_that_pass_through_or_overlap_at_the_start_are_noticed() {
    let ball = "sphere = { radius = 0.05 }";
    let rigid = |text: String| text.replace("shape", "rigid = true\nshape");
    for kind in ["lcp", "ncp", "ecp"] {
        let solver = format!("kind = \"{kind}\"\ntime_step = 1e-3");
        let fast = rigid(body("b", "mass = 1\nlinear_velocity = [0, 0, -200]", 0.45, ball));
        let plate = "box = { size = [1, 1, 0.002] }";
        let plate = rigid(body("plate", "fixed = true", 0.3, plate));
        let through = motion(&solver, "", &format!("{fast}{plate}"), 3e-3);
        let passed =
            |w: &MotionWarning| matches!(w.cause, WarningCause::Passed { .. }) && w.bodies == ["b", "plate"];
        assert!(through.warnings.iter().any(passed), "{kind}: {:#?}", through.warnings);
        // An overlap of 1 mm is thrown apart with 1 m/s, of which the overlap is the one warning.
        let inside = motion(&solver, "", &rigid(body("b", "mass = 1", 0.049, ball)), 0.01);
        let [overlap] = &inside.warnings[..] else { panic!("{kind}: {:#?}", inside.warnings) };
        assert!(
            matches!(overlap.cause, WarningCause::RigidOverlap { depth } if (depth - 1e-3).abs() < 1e-12)
        );
        assert!(overlap.time == 0.0 && overlap.bodies == ["b", "floor"], "{overlap}");
        assert!(energy(&inside, 1) - energy(&inside, 0) > 0.4, "{kind}");
        // One that moves far in a step and lands is none.
        let landing = rigid(body("b", "mass = 1\nlinear_velocity = [1, 0, -30]", 0.08, ball));
        assert_eq!(motion(&solver, "", &landing, 0.05).warnings, [], "{kind}");
    }
}

/// What loads, a belt, pressure and friction give and take is no gain.
#[test]
fn energy_that_has_a_source_is_not_warned_of() {
    let calm = "hydroelastic_modulus = 1e6\ndissipation = 0.0";
    let cube = |more: &str, height: f64| body("b", &format!("mass = 1\n{more}"), height, CUBE);
    let lift = "[[loads]]\nbody = \"b\"\nforce = { times = [0, 0.1, 0.3], values = [[0, 0, 0], [6, 0, 0], [0, 0, 60]], interpolation = \"linear\" }\n";
    for (solver, time_step) in [
        ("kind = \"lagged\"", 1e-3),
        ("kind = \"sap\"", 1e-3),
        ("kind = \"semi_implicit_euler\"", 2e-5),
        ("kind = \"rk4\"", 1e-4),
        ("kind = \"lagged\"\naccuracy = 1e-5", 1e-2),
        ("kind = \"radau\"\naccuracy = 1e-7", 1e-2),
    ] {
        let solver = format!("{solver}\ntime_step = {time_step:e}");
        let pushed = motion(&solver, calm, &format!("{}{lift}", cube("", 0.05)), 0.3);
        assert!(gains(&pushed).is_empty(), "{solver}: {:#?}", pushed.warnings);
        let last = pushed.trajectory.states.len() - 1;
        assert!(energy(&pushed, last) > energy(&pushed, 0) + 0.1, "{solver}");
        // It springs up from where it was pressed in.
        let tumbling = cube("linear_velocity = [0.5, 0, 0]\nangular_velocity = [1, 2, 0]", 0.1);
        let sprung = motion(&solver, calm, &tumbling, 0.3);
        assert!(gains(&sprung).is_empty(), "{solver}: {:#?}", sprung.warnings);
        // A belt takes it along.
        let on_belt = scene(&solver, calm, &cube("linear_velocity = [-0.5, 0, 0]", 0.05));
        let mut belt = on_belt.model.clone().into_builder();
        for body in &mut belt.bodies {
            if let BodyMotion::Fixed { v_wb, .. } = &mut body.motion {
                v_wb.translational.x = 1.0;
            }
        }
        let model = belt.build().expect("a belt");
        let carried = Rollout { model: &model, ..on_belt.rollout(0.3).expect("implemented") }.motion();
        assert!(gains(&carried).is_empty(), "{solver}: {:#?}", carried.warnings);
        let last = carried.trajectory.states.last().expect("states").bodies[0];
        assert!(last.velocity.translational.x > 0.7, "{solver}");
    }
}
