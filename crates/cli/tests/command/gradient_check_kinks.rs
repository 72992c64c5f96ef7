//! Gradient checks of scenes that stand on a kink: it is named, with the side that is claimed, and nothing
//! is called wrong.

use isobar::check::{CheckSettings, Verdict, check_scene};
use isobar::io::Scene;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::folder::Folder;

/// A scene that stands on a kink, and the derivatives at it: of which quantity, along which parameter.
struct AtKink {
    text: String,
    quantity: &'static str,
    parameter: String,
}

const LAGGED: &str = "[solver]\nkind = \"lagged\"\ntime_step = 1e-3\n";
const EULER: &str = "[solver]\nkind = \"semi_implicit_euler\"\ntime_step = 1e-4\n";

/// A box that leaves a plane at the speed at which damping has just cancelled its pressure, (1 − d v)₊ = 0.
fn damping_ends(random: &mut ChaCha8Rng) -> AtKink {
    let dissipation = random.random_range(0.5..4.0f64);
    let (speed, tilt) = (dissipation.recip(), random.random_range(0.02..0.2));
    let modulus = 10f64.powf(random.random_range(4.5..6.5));
    AtKink {
        text: format!(
            "{EULER}[materials.foam]\nhydroelastic_modulus = {modulus}\ndissipation = {dissipation}\nfriction = 0.4\n\
             [[bodies]]\nname = \"box\"\nmass = 0.3\nrpy = [{tilt}, 0.03, 0.1]\ntranslation = [0, 0, 0.03]\n\
             linear_velocity = [0, 0, {speed}]\n[[bodies.geometries]]\n\
             shape = {{ box = {{ size = [0.1, 0.08, 0.06] }} }}\nmaterial = \"foam\"\n{FLOOR}"
        ),
        quantity: "force",
        parameter: "box.vz".into(),
    }
}

const FLOOR: &str = "[[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\n\
                     shape = { half_space = {} }\nrigid = true\n";

/// A box that lies flat on a plane at no depth.
fn touches(random: &mut ChaCha8Rng) -> AtKink {
    let size: [f64; 3] = [0; 3].map(|_| random.random_range(0.04..0.12));
    let modulus = 10f64.powf(random.random_range(4.5..6.5));
    AtKink {
        text: format!(
            "{LAGGED}[materials.foam]\nhydroelastic_modulus = {modulus}\nfriction = 0.4\n[[bodies]]\nname = \"box\"\n\
             mass = 0.3\ntranslation = [0, 0, {}]\n[[bodies.geometries]]\nshape = {{ box = {{ size = {size:?} }} }}\n\
             material = \"foam\"\n{FLOOR}",
            0.5 * size[2]
        ),
        quantity: "force",
        parameter: "box.pz".into(),
    }
}

/// A slide whose step ends at its stop: with no force it moves at a constant speed.
fn reaches_a_stop(random: &mut ChaCha8Rng) -> AtKink {
    let (speed, start) = (random.random_range(0.1..1.0f64), random.random_range(-0.1..0.1f64));
    let stiffness = 10f64.powf(random.random_range(3.0..5.0));
    AtKink {
        text: format!(
            "gravity = [0, 0, 0]\n{LAGGED}{}",
            slide(&format!(
                "position = {start}, velocity = {speed}, upper = {}, stop_stiffness = {stiffness}",
                start + 1e-3 * speed
            ))
        ),
        quantity: "velocity of joint slide after one step",
        parameter: "slide.q".into(),
    }
}

/// A drive that is asked for just its limit.
fn gives_its_all(random: &mut ChaCha8Rng) -> AtKink {
    let effort = random.random_range(0.5..20.0f64);
    AtKink {
        text: format!(
            "gravity = [0, 0, 0]\n{LAGGED}{}[[actuators]]\nname = \"motor\"\njoints = [\"slide\"]\ndrive = \"force\"\neffort = {effort}\n\
             command = {effort}\n",
            slide("position = 0.05")
        ),
        quantity: "velocity of joint slide after one step",
        parameter: "command of motor".into(),
    }
}

fn slide(joint: &str) -> String {
    format!(
        "[[bodies]]\nname = \"cart\"\nmass = 0.7\n\
         inertia = [[1e-3, 0, 0], [0, 1e-3, 0], [0, 0, 1e-3]]\n\
         joint = {{ type = \"prismatic\", name = \"slide\", axis = [1, 0, 0], {joint} }}\n"
    )
}

#[test]
fn kinks_are_named_in_scenes_that_stand_on_one() {
    kinks_are_named(0..4);
}

#[test]
#[ignore = "takes minutes: more of the same, planted on kinks"]
fn study_kinks_are_named_in_a_hundred_scenes_that_stand_on_one_as_planted() {
    kinks_are_named(0..100);
}

fn kinks_are_named(scenes: std::ops::Range<usize>) {
    let folder = Folder::new("gradient-check-kinks");
    let settings = CheckSettings { places: false, vertices: 0, undecided: 1.0, ..Default::default() };
    let mut random = ChaCha8Rng::seed_from_u64(15);
    for number in scenes {
        let make = [damping_ends, touches, reaches_a_stop, gives_its_all][number % 4];
        let AtKink { text, quantity, parameter } = make(&mut random);
        let path = folder.file("scene.toml", &text);
        let scene = Scene::load(&path).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let rollout = scene.rollout(scene.time_step).expect("can move");
        let report = check_scene(&rollout, &settings).expect("simulates");
        let wrong = report.rows.iter().filter(|row| row.comparison.verdict == Verdict::Wrong);
        let wrong: Vec<_> = wrong.collect();
        assert!(wrong.is_empty(), "scene {number}: {wrong:?}\n{text}");
        let mut at =
            report.rows.iter().filter(|r| r.quantity.starts_with(quantity) && r.parameter == parameter);
        let named = at.clone().any(|r| r.comparison.verdict == Verdict::Kink && r.comparison.side.is_some());
        assert!(named, "scene {number}: {:?}\n{text}", at.find(|r| r.comparison.claimed != 0.0));
    }
}
