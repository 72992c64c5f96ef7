//! A ball that bounces without dissipation keeps its energy: kinetic, of gravity and of the
//! pressure field. What an integrator loses of it is bounded and falls with its order.

use std::fs;

use isobar::io::{Scene, TrajectoryTable};
use isobar::multibody::{BodyPair, State};

use crate::folder::Folder;
use crate::{isobar, text};

const HEIGHT: f64 = 0.02;
const RADIUS: f64 = 0.05;

/// A tumbling ball 2 cm over the ground.
fn scene(kind: &str, time_step: f64) -> String {
    format!(
        r#"
[materials.rubber]
hydroelastic_modulus = 1e5
[solver]
kind = "{kind}"
time_step = {time_step}
[[bodies]]
name = "ball"
translation = [0, 0, {}]
rpy = [0.3, 0.5, 0.1]
angular_velocity = [1, -2, 0.5]
mass = 0.2
[[bodies.geometries]]
shape = {{ sphere = {{ radius = {RADIUS}, resolution = 0.03 }} }}
material = "rubber"
[[bodies]]
name = "ground"
fixed = true
[[bodies.geometries]]
shape = {{ half_space = {{}} }}
rigid = true
"#,
        RADIUS + HEIGHT
    )
}

/// The largest errors of the energy in the first and in the second half of a second, relative to
/// the energy of the fall, and the number of bounces.
fn energy_errors(folder: &Folder, kind: &str, time_step: f64) -> ([f64; 2], usize) {
    let file = folder.0.join("ball.toml");
    fs::write(&file, scene(kind, time_step)).expect("a file for the test");
    let out = folder.0.join("ball.csv");
    let run = isobar(&["simulate", "--until", "1", "--out", text(&out), text(&file)]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let table = TrajectoryTable::read(&out).expect("a trajectory");
    let model = Scene::load(&file).expect("valid").model;
    let pairs = model.geometry_pairs(BodyPair { a: 0, b: 1 }).expect("they can touch");
    let mut frames = Vec::new();
    let mut stored = Vec::new();
    let energies: Vec<f64> = table.bodies[0]
        .states
        .iter()
        .map(|body| {
            let state = State::of_bodies(vec![*body]);
            model.body_frames(&state, &mut frames);
            stored.push(model.body_pair_energy(&frames, &pairs));
            model.mechanical_energy(&state) + stored[stored.len() - 1]
        })
        .collect();
    let bounces = stored.windows(2).filter(|w| w[0] == 0.0 && w[1] > 0.0).count();
    let fall = 0.2 * 9.81 * HEIGHT;
    let half = energies.len() / 2;
    let largest = |part: &[f64]| part.iter().map(|e| (e - energies[0]).abs() / fall).fold(0.0, f64::max);
    ([largest(&energies[..half]), largest(&energies[half..])], bounces)
}

#[test]
fn energy_is_kept_to_the_order_of_the_step() {
    let folder = Folder::new("bouncing-ball");
    fs::create_dir_all(&folder.0).expect("a folder for the test");
    for (kind, order, steps) in
        [("semi_implicit_euler", 1.0, [4e-4, 2e-4, 1e-4]), ("rk4", 4.0, [1e-3, 5e-4, 2.5e-4])]
    {
        let mut errors = Vec::new();
        for time_step in steps {
            let ([first, second], bounces) = energy_errors(&folder, kind, time_step);
            println!(
                "{kind}, step {time_step:e} s, {bounces} bounces: energy off by {first:.2e} of the fall's in the \
                 first half second, {second:.2e} in the next"
            );
            assert!(bounces >= 4, "{bounces} bounces");
            errors.push(first.max(second));
        }
        let measured = (errors[0] / errors[2]).ln() / 4f64.ln();
        println!("{kind}: order {measured:.2}");
        assert!(measured > order - 0.3, "{kind}: measured order {measured:.2}, {order} expected");
        assert!(errors[2] < 0.01, "{kind}: {}", errors[2]);
    }
}
