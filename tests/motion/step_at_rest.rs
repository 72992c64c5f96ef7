//! What rests stays at rest, where large forces cancel: a ball squeezed between two walls, a wheel
//! on a fixed axle that stands on the floor, a finger on a slide that rests on it. The net
//! impulse on every velocity is rounding there, which the convergence of implicit steps must
//! not be measured against.
//!
//! `ISOBAR_REST_SECONDS=10` simulates as long as that instead of 0.05 s.

use crate::folder::Folder;
use isobar::io::Scene;
use isobar::rollout::Rollout;
use rayon::prelude::*;

const KINDS: [&str; 4] = ["lagged", "similar", "sap", "tamsi"];
const MODULI: [f64; 5] = [1e5, 1e6, 1e7, 1e9, 1e10];
const MASSES: [f64; 4] = [0.01, 0.1, 1.0, 100.0];

/// The end of a scene file: bodies between which forces cancel, one of them of a mass in kg.
type Bodies = fn(f64) -> String;

fn walls(mass: f64) -> String {
    let wall = |name: &str, x: f64| {
        format!(
            "[[bodies]]\nname = \"{name}\"\nfixed = true\ntranslation = [{x}, 0, 0]\n\
             [[bodies.geometries]]\nshape = {{ box = {{ size = [0.1, 0.1, 0.1] }} }}\nmaterial = \"foam\"\n"
        )
    };
    let ball = format!(
        "[[bodies]]\nname = \"ball\"\nmass = {mass}\n[[bodies.geometries]]\n\
         shape = {{ sphere = {{ radius = 0.1, resolution = 0.05 }} }}\nmaterial = \"foam\"\n"
    );
    format!("{}{}{ball}", wall("left", -0.145), wall("right", 0.145))
}

const FLOOR: &str = "[[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\n\
                     shape = { half_space = { thickness = 0.1 } }\nmaterial = \"foam\"\n";

fn axle(mass: f64) -> String {
    format!(
        "{FLOOR}[[bodies]]\nname = \"wheel\"\nmass = {mass}\n\
         joint = {{ type = \"revolute\", axis = [0, 1, 0], translation = [0, 0, 0.048] }}\n\
         [[bodies.geometries]]\nshape = {{ sphere = {{ radius = 0.05, resolution = 0.03 }} }}\n\
         material = \"foam\"\n"
    )
}

fn finger(mass: f64) -> String {
    format!(
        "{FLOOR}[[bodies]]\nname = \"finger\"\nmass = {mass}\n\
         joint = {{ type = \"prismatic\", axis = [1, 0, 0], translation = [0, 0, 0.048] }}\n\
         [[bodies.geometries]]\nshape = {{ box = {{ size = [0.1, 0.1, 0.1] }} }}\nmaterial = \"foam\"\n"
    )
}

#[test]
fn balanced_forces_leave_everything_at_rest() {
    let seconds: f64 = match std::env::var("ISOBAR_REST_SECONDS") {
        Ok(seconds) => seconds.parse().expect("ISOBAR_REST_SECONDS is a number of seconds"),
        Err(_) => 0.05,
    };
    let scenes: [(&str, Bodies, &str); 3] =
        [("walls", walls, "gravity = [0, 0, 0]"), ("axle", axle, ""), ("finger", finger, "")];
    let mut cases = Vec::new();
    for (scene, bodies, gravity) in scenes {
        for kind in KINDS {
            for modulus in MODULI {
                cases.extend(MASSES.map(|mass| (scene, bodies, gravity, kind, modulus, mass)));
            }
        }
    }
    assert_eq!(cases.len(), 240);
    let folder = Folder::new("at_rest");
    let moved: Vec<String> = cases
        .into_par_iter()
        .filter_map(|(scene, bodies, gravity, kind, modulus, mass)| {
            let name = format!("{scene}_{kind}_{modulus:e}_{mass}.toml");
            let text = format!(
                "{gravity}\n[materials.foam]\nhydroelastic_modulus = {modulus:e}\ndissipation = 1.0\n\
                 friction = 0.5\n[solver]\nkind = \"{kind}\"\ntime_step = 2e-3\n{}",
                bodies(mass)
            );
            let scene = Scene::load(folder.file(&name, text)).expect("a valid scene");
            let settings = scene.simulation_settings().expect("implemented");
            let mut fastest = 0.0;
            let run = Rollout::new(&scene.model, &scene.state, settings, seconds).for_each(|step| {
                let state = step.state;
                let free = state.bodies.iter().flat_map(|b| {
                    let (w, v) = (b.velocity.rotational * 0.1, b.velocity.translational);
                    [w.norm(), v.norm()]
                });
                fastest = free.chain(state.joints.v.iter().map(|v| v.abs())).fold(fastest, f64::max);
            });
            match run {
                Err(error) => Some(format!("{name}: {error}")),
                // A part of the regularized friction's own velocity.
                Ok(_) if fastest > 1e-6 => Some(format!("{name}: {fastest:.1e} m/s")),
                Ok(_) => None,
            }
        })
        .collect();
    assert!(moved.is_empty(), "{} of 240 do not rest:\n{}", moved.len(), moved.join("\n"));
}

/// An L-bracket in mm, filled by a fan from a point of it: 20 tetrahedra, whose lower face is two triangles.
fn bracket() -> String {
    let outline = [(0, 0), (40, 0), (40, 6), (6, 6), (6, 40), (0, 40)];
    let vertices = [0, 1].map(|side| outline.map(|(x, z)| format!("v {x} {} {z}\n", 30 * side - 15)));
    let mut text = vertices.concat().concat();
    for (a, b, c) in [(1, 2, 3), (1, 3, 4), (1, 4, 5), (1, 5, 6)] {
        text += &format!("f {a} {b} {c}\nf {} {} {}\n", c + 6, b + 6, a + 6);
    }
    for k in 1..=6 {
        let next = k % 6 + 1;
        text += &format!("f {next} {k} {}\nf {next} {} {}\n", k + 6, k + 6, next + 6);
    }
    text
}

/// On few triangles a body does not rock from step to step: contact bears its weight, and steadily.
#[test]
fn a_bracket_of_few_triangles_rests_with_its_weight() {
    let folder = Folder::new("bracket_at_rest");
    folder.file("bracket.obj", bracket());
    let surfaces = ["triangles", "polygons"];
    let cases: Vec<_> = KINDS.iter().flat_map(|kind| surfaces.map(|surface| (kind, surface))).collect();
    cases.into_par_iter().for_each(|(kind, surface)| {
        let text = format!(
            "contact.surface = \"{surface}\"\nsolver = {{ kind = \"{kind}\", time_step = 2e-3 }}\n\
             [materials.plastic]\nhydroelastic_modulus = 1e7\nfriction = 0.4\ndissipation = 1.0\n\
             [[bodies]]\nname = \"bracket\"\ndensity = 1100\n[[bodies.geometries]]\n\
             shape = {{ mesh = {{ file = \"bracket.obj\", scale = 0.001 }} }}\nmaterial = \"plastic\"\n\
             [[bodies]]\nname = \"table\"\nfixed = true\n[[bodies.geometries]]\nshape = {{ half_space = {{}} }}\n\
             rigid = true\n"
        );
        let scene = Scene::load(folder.file(&format!("{kind}_{surface}.toml"), text)).expect("a valid scene");
        let settings = scene.simulation_settings().expect("implemented");
        let inertia = scene.model.bodies()[0].mass().expect("a free body has mass");
        let weight = (inertia.mass * scene.model.gravity()).norm();
        let mut velocity = None;
        let mut forces = Vec::new();
        let rollout = Rollout::new(&scene.model, &scene.state, settings, 1.0);
        let run = rollout.for_each(|step| {
            if step.time > 0.9 {
                forces.push(step.step_forces().expect("an implicit step")[0].translational.z.abs());
                velocity = Some(step.state.bodies[0].velocity);
            }
        });
        run.expect("it converges");
        let velocity = velocity.expect("there are steps");
        let (speed, spin) = (velocity.translational.norm(), velocity.rotational.norm());
        assert!(speed < 1e-8 && spin < 1e-6, "{kind} {surface}: {speed:e} m/s, {spin:e} rad/s");
        let off = forces.iter().map(|force| (force / weight - 1.0).abs()).fold(0.0, f64::max);
        assert!(forces.len() == 50 && off < 1e-6, "{kind} {surface}: {} forces, {off:e}", forces.len());
    });
}
