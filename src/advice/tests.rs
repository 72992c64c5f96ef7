//! Advice against simulations, and against the same scene as advised.

use approx::assert_relative_eq;

use super::*;
use crate::io::Scene;

/// A ball above a table, with some of its numbers replaced.
pub(super) fn scene(replaced: &[(&str, &str)]) -> Scene {
    let mut text = r#"[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.0
friction = 0.5
[solver]
kind = "lagged"
time_step = 5e-4
[[bodies]]
name = "table"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
rigid = true
[[bodies]]
name = "ball"
translation = [0.3, 0, 0.2]
mass = 0.1
[[bodies.geometries]]
shape = { sphere = { radius = 0.05, resolution = 0.01 } }
material = "foam"
"#
    .to_owned();
    for (from, to) in replaced {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scene.toml");
    std::fs::write(&file, text).unwrap();
    Scene::load(&file).unwrap()
}

/// Of the two bodies of a scene, without remarks on resolution.
fn of(scene: &Scene) -> PairAdvice {
    let settings = scene.simulation_settings().unwrap();
    let mut pairs = advise(&scene.model, &scene.state, &settings, &Pressing::default()).pairs;
    assert_eq!(pairs.len(), 1);
    pairs[0].remarks.retain(|remark| !remark.contains("keeps force and stiffness"));
    pairs.remove(0)
}

/// The number after a field's name in the remarks.
fn advised(remarks: &[String], field: &str) -> Option<f64> {
    let start = format!("`{field} = ");
    let remark = remarks.iter().find(|remark| remark.contains(&start))?;
    remark.split(&start).nth(1)?.split('`').next()?.parse().ok()
}

#[test]
fn a_ball_comes_to_rest_where_it_is_expected_to() {
    let scene = scene(&[("[0.3, 0, 0.2]", "[0.3, 0, 0.05]")]);
    let advice = of(&scene);
    assert!(advice.remarks.is_empty(), "{:?}", advice.remarks);
    assert_relative_eq!(advice.load, 0.981, max_relative = 1e-12);
    let pressed = advice.pressed.unwrap();
    let motion = scene.rollout(2.0).unwrap().simulate().unwrap();
    let height = motion.states.last().unwrap().bodies[0].position.z;
    // The mesh's lowest vertex is as low as the ball's.
    assert_relative_eq!(pressed.penetration, 0.05 - height, max_relative = 1e-3);
    // A small oscillation about rest has the period that stiffness and mass give.
    let mut frames = Vec::new();
    scene.model.body_frames(motion.states.last().unwrap(), &mut frames);
    let jacobian = scene.model.body_pair_jacobian(&frames, scene.model.pairs(), &mut Default::default());
    assert_relative_eq!(pressed.stiffness, jacobian.by_pose_b[(5, 5)].abs(), max_relative = 1e-2);
    let time = std::f64::consts::PI * (0.1 / pressed.stiffness).sqrt();
    assert_relative_eq!(advice.contact_time.unwrap(), time, max_relative = 1e-12);
}

#[test]
fn bodies_meet_from_wherever_they_are() {
    let above = of(&scene(&[])).pressed.unwrap();
    let inside = of(&scene(&[("[0.3, 0, 0.2]", "[0.3, 0, 0.01]")])).pressed.unwrap();
    assert_relative_eq!(above.penetration, inside.penetration, max_relative = 1e-6);
    assert_eq!(above.elements, inside.elements);
}

/// A body that stands exactly on another has forces of rounding there, which are no load.
#[test]
fn bodies_that_just_touch_are_pressed_too() {
    let cube = "shape = { box = { size = [0.1, 0.1, 0.1] } }";
    let ball = "shape = { sphere = { radius = 0.05, resolution = 0.01 } }";
    let turned = "translation = [0.3, 0, 0.05]\nrpy = [0.0, 1.5707963267948966, 0.4]";
    let touching = of(&scene(&[(ball, cube), ("translation = [0.3, 0, 0.2]", turned)]));
    let above = of(&scene(&[(ball, cube), ("translation = [0.3, 0, 0.2]", &turned.replace("0.05", "0.2"))]));
    let [touching, above] = [touching, above].map(|advice| advice.pressed.expect("it stands").penetration);
    assert_relative_eq!(touching, above, max_relative = 1e-3);
}

/// Where both bodies give way, both moduli count.
#[test]
fn two_soft_bodies_carry_the_load_with_the_moduli_that_are_advised() {
    let materials = |foam: &str, sponge: &str| {
        let other = format!(
            "[materials.sponge]\nhydroelastic_modulus = {sponge}\ndissipation = 1.0\nfriction = 0.5\n[materials.foam]"
        );
        let block = "shape = { box = { size = [0.4, 0.4, 0.1] } }\nmaterial = \"sponge\"";
        scene(&[
            ("1e5", foam),
            ("shape = { half_space = {} }\nrigid = true", block),
            ("[materials.foam]", &other),
            ("[0.3, 0, 0.2]", "[0.01, 0.02, 0.2]"),
        ])
    };
    let soft = of(&materials("2e3", "3e3"));
    let remark = soft.remarks.iter().find(|remark| remark.contains("sink")).expect("a remark");
    let moduli: Vec<&str> =
        remark.split("hydroelastic_modulus = ").skip(1).filter_map(|r| r.split('`').next()).collect();
    assert_eq!(moduli.len(), 2, "{remark}");
    // The table's material comes first.
    let is_first = remark.find("`sponge`") < remark.find("`foam`");
    let (sponge, foam) = if is_first { (moduli[0], moduli[1]) } else { (moduli[1], moduli[0]) };
    let harder = of(&materials(foam, sponge));
    let part = harder.pressed.expect("they carry it").penetration / 0.05;
    assert!((0.08..0.12).contains(&part), "{part} {:?}", harder.remarks);
}

#[test]
fn what_is_advised_helps() {
    // Too soft: the modulus that is advised is hard enough.
    let soft = of(&scene(&[("1e5", "2e3")]));
    let modulus = advised(&soft.remarks, "hydroelastic_modulus").expect("a modulus");
    let harder = of(&scene(&[("1e5", &modulus.to_string())]));
    assert!(harder.remarks.is_empty(), "{:?}", harder.remarks);
    let part = harder.pressed.unwrap().penetration / 0.05;
    assert!((0.08..0.12).contains(&part), "{part}");
    // Softer still: it does not carry its weight.
    let fluid = of(&scene(&[("1e5", "10")]));
    assert!(
        fluid.pressed.is_none() && fluid.remarks[0].contains("they do not carry 0.98 N"),
        "{:?}",
        fluid.remarks
    );
    let modulus = advised(&fluid.remarks, "hydroelastic_modulus").expect("a modulus");
    assert!(of(&scene(&[("1e5", &modulus.to_string())])).pressed.is_some());
    // Few elements of a ball that hardly gives way, and more as advised.
    let hard = |with: &str| scene(&[("resolution = 0.01", with), ("1e5", "1e9")]);
    let coarse = of(&hard("resolution = 0.01"));
    let finer = advised(&coarse.remarks, "resolution").expect("a resolution");
    let fine = of(&hard(&format!("resolution = {finer}")));
    assert!(coarse.pressed.unwrap().elements < 12.min(fine.pressed.unwrap().elements), "{fine:?}");
    // An impact of few steps.
    let long = ("time_step = 5e-4", "time_step = 2e-2");
    let time_step = advised(&of(&scene(&[long])).remarks, "time_step").expect("a time step");
    let resolved = of(&scene(&[("time_step = 5e-4", &format!("time_step = {time_step}"))]));
    assert_eq!(advised(&resolved.remarks, "time_step"), None);
}

/// Explicit steps explode where they are said to be unstable, and do not with what is advised.
#[test]
fn explicit_steps_are_stable_with_what_is_advised() {
    let explicit = ("kind = \"lagged\"", "kind = \"semi_implicit_euler\"");
    let fall = ("[0.3, 0, 0.2]", "[0.3, 0, 0.0499]");
    let build = |step: &str| {
        scene(&[explicit, fall, ("1e5", "1e7"), ("time_step = 5e-4", &format!("time_step = {step}"))])
    };
    let highest = |scene: &Scene| {
        let motion = scene.rollout(0.3).unwrap().motion();
        let heights = motion.trajectory.states.iter().map(|state| state.bodies[0].position.z);
        heights.fold(0.0, f64::max)
    };
    let coarse = build("1e-2");
    let remarks = of(&coarse).remarks;
    assert!(remarks.iter().any(|remark| remark.contains("are unstable")), "{remarks:?}");
    assert!(highest(&coarse) > 0.06, "{}", highest(&coarse));
    let time_step =
        remarks.iter().filter_map(|r| advised(std::slice::from_ref(r), "time_step")).fold(1.0, f64::min);
    let fine = build(&time_step.to_string());
    assert_eq!(advised(&of(&fine).remarks, "time_step"), None);
    assert!(highest(&fine) < 0.051, "{}", highest(&fine));
}

#[test]
fn materials_that_lose_nothing_creep_or_are_nearly_rigid_are_told() {
    let bouncing = of(&scene(&[("dissipation = 1.0", "dissipation = 0.0")]));
    assert!(bouncing.remarks[0].contains("`dissipation = 1.0`"), "{:?}", bouncing.remarks);
    let slow = of(&scene(&[("[solver]", "[contact]\nstiction_velocity = 0.1\n[solver]")]));
    let stiction = advised(&slow.remarks, "stiction_velocity").expect("a velocity");
    let held = of(&scene(&[("[solver]", &format!("[contact]\nstiction_velocity = {stiction}\n[solver]"))]));
    assert!(held.remarks.is_empty(), "{:?}", held.remarks);
    let block = "shape = { box = { size = [0.4, 0.4, 0.2] } }\nmaterial = \"steel\"";
    let steel =
        "[materials.steel]\nhydroelastic_modulus = 1e9\ndissipation = 1.0\nfriction = 0.5\n[materials.foam]";
    let hard = of(&scene(&[
        ("shape = { half_space = {} }\nrigid = true", block),
        ("[materials.foam]", steel),
        ("[0.3, 0, 0.2]", "[0, 0, 0.2]"),
    ]));
    assert!(
        hard.remarks.iter().any(|r| r.contains("`table` is 1e4 times") || r.contains("`rigid = true`")),
        "{:?}",
        hard.remarks
    );
}

/// A plate without room for a field, and a mesh of a single layer of vertices.
#[test]
fn thin_bodies_and_tetrahedra_without_a_gradient_are_told() {
    let ball = "shape = { sphere = { radius = 0.05, resolution = 0.01 } }";
    let plate = "shape = { box = { size = [0.2, 0.2, 0.004] } }";
    let on_rigid = of(&scene(&[(ball, plate), ("[0.3, 0, 0.2]", "[0, 0, 0.2]")]));
    let told =
        on_rigid.remarks.iter().find(|r| r.contains("`ball` is 4 mm thick and 0.2 m long")).expect("thin");
    assert!(told.contains("faster than 4 m/s") && told.contains("let `table` give way instead"), "{told}");
    let soft_table = (
        "shape = { half_space = {} }\nrigid = true",
        "shape = { half_space = { thickness = 0.1 } }\nmaterial = \"foam\"",
    );
    let on_soft = of(&scene(&[(ball, plate), ("[0.3, 0, 0.2]", "[0, 0, 0.2]"), soft_table]));
    assert!(
        on_soft.remarks.iter().any(|r| r.contains("the other one gives way alone")),
        "{:?}",
        on_soft.remarks
    );
    let thick = of(&scene(&[(ball, "shape = { box = { size = [0.2, 0.2, 0.02] } }")]));
    assert!(!thick.remarks.iter().any(|r| r.contains("thick and")), "{:?}", thick.remarks);
    // An octahedron about a vertex inside, and one more corner on top: that tetrahedron is all surface.
    let mesh = "vertices = [[0.05, 0, 0], [-0.05, 0, 0], [0, 0.05, 0], [0, -0.05, 0], [0, 0, 0.05], [0, 0, -0.05], \
        [0, 0, 0], [0.05, 0.05, 0.05]], tetrahedra = [[6, 0, 2, 4], [6, 2, 1, 4], [6, 1, 3, 4], [6, 3, 0, 4], \
        [6, 2, 0, 5], [6, 1, 2, 5], [6, 3, 1, 5], [6, 0, 3, 5], [0, 2, 4, 7]], extent = [0, 0, 0, 0, 0, 0, 1, 0]";
    let flat = of(&scene(&[(ball, &format!("shape = {{ volume_mesh = {{ {mesh} }} }}"))]));
    let told = flat.remarks.iter().find(|r| r.contains("no pressure gradient")).expect("a remark");
    assert!(told.starts_with("1 of the 9 tetrahedra of `ball`") && told.contains("(11 %)"), "{told}");
}

#[test]
fn a_body_is_pressed_along_a_direction_and_at_a_place() {
    // The ball beside a step of the table: from above it meets the table, from the side the step.
    let scene = scene(&[
        ("shape = { half_space = {} }", "shape = { box = { size = [0.2, 0.2, 0.1] } }"),
        ("[0.3, 0, 0.2]", "[0.3, 0, 0.01]"),
    ]);
    let settings = scene.simulation_settings().unwrap();
    let pressed = |direction: [f64; 3], place: Option<[f64; 3]>| {
        let how = Pressing {
            load: Some(1.0),
            direction: Some(direction.into()),
            place: place.map(Into::into),
            ..Default::default()
        };
        advise(&scene.model, &scene.state, &settings, &how).pairs.remove(0).pressed
    };
    // On the middle of a face in any direction: the same, but for the mesh of the ball.
    let side = pressed([-2.0, 0.0, 0.0], Some([0.0, 0.0, 0.0])).unwrap();
    let above = pressed([0.0, 0.0, -1.0], Some([0.0, 0.0, 9.0])).unwrap();
    assert_relative_eq!(side.penetration, above.penetration, max_relative = 0.05);
    // From where the ball is it passes the table downwards.
    assert!(pressed([0.0, 0.0, -1.0], None).is_none());
    // An edge bears the same force less stiffly.
    let edge = pressed([0.0, 0.0, -1.0], Some([0.1, 0.0, 0.0])).unwrap();
    assert!(edge.penetration > 1.2 * above.penetration, "{edge:?} {above:?}");
}

#[test]
fn a_motion_says_how_hard_bodies_are_pressed() {
    let scene = scene(&[("[0.3, 0, 0.2]", "[0.3, 0, 0.08]")]);
    let settings = scene.simulation_settings().unwrap();
    let mut motion = MotionAdvice::new(&scene.model);
    let mut lowest = f64::INFINITY;
    scene
        .rollout(0.2)
        .unwrap()
        .for_each(|step| {
            motion.observe(step.state);
            lowest = lowest.min(step.state.bodies[0].position.z);
        })
        .unwrap();
    let advice = motion.advice(&settings, &Pressing::default()).pairs.remove(0);
    // It lands harder than it weighs, and the force that is told is that of the deepest penetration.
    assert!(advice.load > 2.0 * 0.981);
    assert_relative_eq!(advice.pressed.unwrap().penetration, 0.05 - lowest, max_relative = 1e-3);
    // On a motion without contact there is nothing to say.
    assert!(MotionAdvice::new(&scene.model).advice(&settings, &Pressing::default()).pairs.is_empty());
}

/// The same pair with its material as an elastic one.
fn elastic(scene: &Scene, material: &str, load: f64) -> ElasticAdvice {
    let names = scene.model.materials().iter().map(|named| named.name.clone());
    let of = |name| ElasticMaterial { name, elastic: material.parse().unwrap(), thickness: None };
    let how = Pressing { load: Some(load), elastic: names.map(of).collect(), ..Default::default() };
    let settings = scene.simulation_settings().unwrap();
    advise(&scene.model, &scene.state, &settings, &how).pairs.remove(0).elastic.expect("a depth")
}

const FINE: (&str, &str) = ("resolution = 0.01", "resolution = 0.006");
const BALL: &str = "shape = { sphere = { radius = 0.05, resolution = 0.01 } }";
const TABLE: &str = "shape = { half_space = {} }\nrigid = true";

#[test]
fn a_ball_is_that_of_hertz_at_the_depth_of_its_load() {
    let advice = elastic(&scene(&[FINE]), "1e6, 0.3", 100.0);
    assert_eq!(advice.solution, ElasticSolution::Hertz);
    let modulus = 1e6 / (1.0 - 0.09);
    let depth = (0.75 * 100.0 / (modulus * 0.05_f64.sqrt())).powf(2.0 / 3.0);
    assert_relative_eq!(advice.penetration, depth, max_relative = 0.03);
    // Of the field of a ball F = π E δ², but for its curvature.
    let [advised] = &advice.moduli[..] else { panic!("{advice:?}") };
    let pi = std::f64::consts::PI;
    assert_relative_eq!(advised.hydroelastic_modulus, 100.0 / (pi * depth * depth), max_relative = 0.1);
    assert_relative_eq!(advice.error_at_half, 0.5_f64.sqrt() - 1.0, epsilon = 0.04);
    assert_relative_eq!(advice.error_at_twice, 2.0_f64.sqrt() - 1.0, epsilon = 0.1);
    // With this modulus it comes to the same depth.
    let written = format!("{}", advised.hydroelastic_modulus);
    let pressed = {
        let scene = scene(&[FINE, ("1e5", &written)]);
        let how = Pressing { load: Some(100.0), ..Default::default() };
        advise(&scene.model, &scene.state, &scene.simulation_settings().unwrap(), &how)
            .pairs
            .remove(0)
            .pressed
    };
    assert_relative_eq!(pressed.unwrap().penetration, advice.penetration, max_relative = 1e-3);
    // Hardly pressed by its own weight, of which the mesh shows one corner only: the radius is that of the ball.
    let light = elastic(&scene(&[]), "3e7, 0.3", 1.0);
    let depth = (0.75 * 0.91 / 3e7 / 0.05_f64.sqrt()).powf(2.0 / 3.0);
    assert_relative_eq!(light.penetration, depth, max_relative = 0.04);
    assert_relative_eq!(
        light.moduli[0].hydroelastic_modulus,
        1.0 / (std::f64::consts::PI * depth * depth),
        max_relative = 0.15
    );
    assert!(light.error < -0.3, "{light:?}");
}

#[test]
fn two_elastic_balls_share_their_depth() {
    let other = (TABLE, "shape = { sphere = { radius = 0.05, resolution = 0.006 } }\nmaterial = \"foam\"");
    let balls = scene(&[FINE, other, ("[0.3, 0, 0.2]", "[0, 0, 0.2]")]);
    let advice = elastic(&balls, "1e6, 0.3", 50.0);
    assert_eq!(advice.solution, ElasticSolution::Hertz);
    let modulus = 0.5e6 / (1.0 - 0.09);
    let depth = (0.75 * 50.0 / (modulus * 0.025_f64.sqrt())).powf(2.0 / 3.0);
    assert_relative_eq!(advice.penetration, depth, max_relative = 0.04);
    assert_eq!(advice.moduli.len(), 1);
}

#[test]
fn faces_and_thin_layers_are_layers() {
    // A block between plates: S = 1.25.
    let block = scene(&[(BALL, "shape = { box = { size = [0.1, 0.1, 0.02] } }")]);
    let advice = elastic(&block, "1e6, 0.45", 200.0);
    assert_eq!(advice.solution, ElasticSolution::Layer);
    let rubber: Elastic = "1e6, 0.45".parse().unwrap();
    let stress = rubber.layer_modulus(1.25);
    assert_relative_eq!(advice.penetration, 200.0 * 0.02 / (stress * 0.01), max_relative = 1e-3);
    // The field grows to the modulus in half the thickness, but for a margin as wide as it is pressed deep.
    assert_relative_eq!(advice.moduli[0].hydroelastic_modulus, 0.5 * stress, max_relative = 0.01);
    assert_relative_eq!(advice.error_at_half, 0.0, epsilon = 3e-3);
    // A rigid ball on a layer that is thin against the contact, which the field of the layer is the solution of.
    let layer = (TABLE, "shape = { half_space = { thickness = 0.002 } }\nmaterial = \"foam\"");
    let ball = ("resolution = 0.01 } }\nmaterial = \"foam\"", "resolution = 0.004 } }\nrigid = true");
    let advice = elastic(&scene(&[ball, layer]), "1e6, 0.3", 20.0);
    assert_eq!(advice.solution, ElasticSolution::Layer);
    let stress = advice.moduli[0].hydroelastic_modulus;
    assert!((1.2e6..1.36e6).contains(&stress), "{stress}");
    let depth = (20.0 * 0.002 / (std::f64::consts::PI * 0.05 * stress)).sqrt();
    assert_relative_eq!(advice.penetration, depth, max_relative = 0.05);
    assert_relative_eq!(advice.error_at_half, 0.0, epsilon = 0.05);
}

#[test]
fn a_lying_cylinder_and_a_small_face_have_solutions_of_their_own() {
    let pi = std::f64::consts::PI;
    let cylinder = "shape = { cylinder = { radius = 0.02, length = 0.2, resolution = 0.003 } }";
    let lying = ("[0.3, 0, 0.2]", "[0.3, 0, 0.2]\nrpy = [0, 1.5707963267948966, 0]");
    let advice = elastic(&scene(&[(BALL, cylinder), lying]), "1e6, 0.3", 100.0);
    assert_eq!(advice.solution, ElasticSolution::Cylinder);
    let x = 100.0 / (pi * 0.2 * 1e6 / 0.91);
    let depth = x * (2.0 * (4.0 * 0.02 / (2.0 * (0.02 * x).sqrt())).ln() - 1.0);
    assert_relative_eq!(advice.penetration, depth, max_relative = 0.05);
    // A rigid stamp on a large block.
    let stamp = (
        "shape = { sphere = { radius = 0.05, resolution = 0.01 } }\nmaterial = \"foam\"",
        "shape = { box = { size = [0.02, 0.02, 0.02] } }\nrigid = true",
    );
    let block = (TABLE, "shape = { box = { size = [0.4, 0.4, 0.2] } }\nmaterial = \"foam\"");
    let advice = elastic(&scene(&[stamp, block, ("[0.3, 0, 0.2]", "[0.05, 0.02, 0.2]")]), "1e6, 0.3", 10.0);
    assert_eq!(advice.solution, ElasticSolution::Punch);
    let radius = 0.02 / pi.sqrt();
    assert_relative_eq!(advice.penetration, 10.0 * 0.91 / (2.0 * 1e6 * radius), max_relative = 0.02);
}

#[test]
fn what_is_squeezed_flat_has_no_elastic_solution() {
    let soft = scene(&[]);
    let material =
        ElasticMaterial { name: "foam".into(), elastic: "100, 0.3".parse().unwrap(), thickness: None };
    let how = Pressing { load: Some(10.0), elastic: vec![material], ..Default::default() };
    let pair = advise(&soft.model, &soft.state, &soft.simulation_settings().unwrap(), &how).pairs.remove(0);
    assert_eq!(pair.elastic, None);
    assert!(pair.remarks.iter().any(|remark| remark.contains("linear elasticity ends there")));
}
