//! Random scenes whose derivatives are checked: bodies on ramps, at random and in symmetric
//! starts, between two fingers, on joints, in collisions and on a floating base, under every kind
//! of step.
#![allow(dead_code, reason = "not every program that includes this module uses all of it")]

use isobar::multibody::{AppliedForces, Forces, Model, State};
use isobar::scalar::Scalar;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The kinds of steps.
pub const KINDS: [&str; 6] = ["semi_implicit_euler", "rk4", "sap", "lagged", "similar", "tamsi"];

/// The families of scenes.
pub const FAMILIES: [&str; 6] =
    ["on a ramp", "symmetric on a ramp", "two fingers", "jointed", "collision", "floating base"];

/// Whether a family has free bodies, on which [`Drag`] acts.
pub fn has_free_bodies(family: usize) -> bool {
    !matches!(FAMILIES[family], "jointed" | "floating base")
}

/// A scene with what it is.
pub struct CheckedScene {
    /// Its index in [`KINDS`].
    pub kind: usize,
    /// Its index in [`FAMILIES`].
    pub family: usize,
    /// The scene file, TOML.
    pub text: String,
}

/// Random numbers of a scene under construction.
struct Maker {
    random: ChaCha8Rng,
    symmetric: bool,
}

impl Maker {
    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        *list.choose(&mut self.random).expect("not empty")
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.random.random_range(low..high)
    }

    fn logarithmic(&mut self, low: f64, high: f64) -> f64 {
        10f64.powf(self.between(low.log10(), high.log10()))
    }

    /// Three numbers of at most this size; zeros in symmetric starts.
    fn three(&mut self, size: f64) -> [f64; 3] {
        if self.symmetric { [0.0; 3] } else { [0; 3].map(|_| self.between(-size, size)) }
    }

    /// A shape, and how far it reaches along z.
    fn shape(&mut self) -> (String, f64) {
        let resolution = self.pick(&[0.03, 0.05]);
        match self.random.random_range(0..3) {
            0 => (format!("{{ sphere = {{ radius = 0.05, resolution = {resolution} }} }}"), 0.05),
            1 => ("{ box = { size = [0.1, 0.08, 0.06] } }".into(), 0.03),
            _ => (
                format!("{{ ellipsoid = {{ semi_axes = [0.06, 0.05, 0.04], resolution = {resolution} }} }}"),
                0.04,
            ),
        }
    }

    fn materials(&mut self) -> String {
        let mut text = String::new();
        for name in ["foam", "rubber"] {
            let modulus = self.logarithmic(1e5, 1e8);
            let (dissipation, relaxation) = (self.pick(&[0.0, 0.3, 2.0]), self.pick(&[0.0, 0.01]));
            let friction = self.pick(&[0.2, 0.5, 1.0]);
            text += &format!(
                "[materials.{name}]\nhydroelastic_modulus = {modulus}\ndissipation = {dissipation}\n\
                 relaxation_time = {relaxation}\nfriction = {friction}\n"
            );
        }
        text
    }

    /// A free body at a place, turned by `rpy` and moving.
    fn body(&mut self, name: &str, shape: &str, at: [f64; 3], rpy: [f64; 3], material: &str) -> String {
        let (v, w) = (self.three(0.3), self.three(2.0));
        let mass = self.logarithmic(0.05, 1.0);
        format!(
            "[[bodies]]\nname = \"{name}\"\nmass = {mass}\ntranslation = {at:?}\nrpy = {rpy:?}\n\
             linear_velocity = {v:?}\nangular_velocity = {w:?}\n[[bodies.geometries]]\nshape = {shape}\n\
             material = \"{material}\"\n"
        )
    }

    /// How far bodies overlap, m: coarse balls lie inside of their radius.
    fn depth(&mut self) -> f64 {
        self.logarithmic(1e-3, 1e-2)
    }

    fn on_ramp(&mut self) -> String {
        let slope: f64 = self.pick(&[0.0, 0.2, 0.35]);
        let (shape, reach) = self.shape();
        let depth = self.depth();
        let [x, y, _] = self.three(0.03);
        let tilt = self.three(0.3);
        let z = 0.05 + reach - depth;
        let at = [x * slope.cos() + z * slope.sin(), y, z * slope.cos() - x * slope.sin()];
        let rpy = [tilt[0], tilt[1] + slope, tilt[2]];
        let body = self.body("body", &shape, at, rpy, "foam");
        format!(
            "{body}[[bodies]]\nname = \"ramp\"\nfixed = true\nrpy = [0, {slope}, 0]\n[[bodies.geometries]]\n\
             shape = {{ box = {{ size = [0.4, 0.3, 0.1] }} }}\nmaterial = \"rubber\"\n"
        )
    }

    fn two_fingers(&mut self) -> String {
        let (shape, _) = self.shape();
        let reach = if shape.contains("ellipsoid") { 0.06 } else { 0.05 };
        let depth = self.depth();
        let at = self.three(0.005);
        let tilt = self.three(0.2);
        let mut text = self.body("object", &shape, at, tilt, "foam");
        let (mass, effort) = (self.logarithmic(0.05, 0.5), self.between(1.0, 20.0));
        for (name, side) in [("left", -1.0), ("right", 1.0)] {
            let x = side * (reach + 0.01 - depth);
            text += &format!(
                "[[bodies]]\nname = \"{name}\"\nmass = {mass}\n\
                 joint = {{ type = \"prismatic\", name = \"{name}\", axis = [{}, 0, 0], translation = [{x}, 0, 0], damping = 1.0, lower = -0.02, upper = 0.02 }}\n\
                 [[bodies.geometries]]\nshape = {{ box = {{ size = [0.02, 0.06, 0.07] }} }}\nmaterial = \"rubber\"\n",
                -side
            );
        }
        text + &format!(
            "[[actuators]]\nname = \"squeeze\"\njoints = [\"left\", \"right\"]\ndrive = \"force\"\neffort = 30\ncommand = {effort}\n"
        )
    }

    fn jointed(&mut self) -> String {
        let depth = self.depth();
        let angle = self.between(-0.3, 0.3);
        let speed = self.between(-1.0, 1.0);
        let mass = self.logarithmic(0.1, 1.0);
        let height = 0.05 - depth + 0.2 * angle.sin();
        let stop = self.pick(&[angle + 1e-3, angle - 1e-3, 1.0]);
        format!(
            "[[bodies]]\nname = \"arm\"\nmass = {mass}\n\
             joint = {{ type = \"revolute\", name = \"hinge\", axis = [0, 1, 0], translation = [0, 0, {height}], position = {angle}, velocity = {speed}, upper = {stop}, damping = 0.01 }}\n\
             [[bodies.geometries]]\nshape = {{ sphere = {{ radius = 0.05, resolution = 0.04 }} }}\n\
             translation = [0.2, 0, 0]\nmaterial = \"foam\"\n\
             [[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\n\
             shape = {{ half_space = {{ thickness = 0.1 }} }}\nmaterial = \"rubber\"\n\
             [[actuators]]\nname = \"motor\"\njoints = [\"hinge\"]\n\
             drive = {{ position = {{ stiffness = 5.0, damping = 0.1 }} }}\neffort = 0.5\ncommand = 0.05\n"
        )
    }

    fn collision(&mut self) -> String {
        let ((first, reach), (second, _)) = (self.shape(), self.shape());
        let (depth, tilt) = (self.depth(), self.three(0.4));
        let below = self.body("below", &first, [0.0, 0.0, reach - depth], [0.0; 3], "foam");
        let [x, y, _] = self.three(0.02);
        let above = self.body("above", &second, [x, y, 2.0 * reach + 0.035], tilt, "rubber");
        format!(
            "{below}{above}[[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\n\
             shape = {{ half_space = {{}} }}\nrigid = true\n"
        )
    }

    /// A box on a free joint that spins on the ground, with an arm on a hinge and a head on a ball
    /// joint.
    fn floating_base(&mut self) -> String {
        let depth = self.depth();
        let angle = self.between(-0.5, 0.5);
        let half = 0.5 * angle;
        let spin = self.logarithmic(0.3, 30.0);
        let w = self.three(spin);
        let v = self.three(0.3);
        let (arm, head) = (self.logarithmic(0.02, 0.3), self.logarithmic(0.02, 0.3));
        let (swing, nod) = (self.between(-5.0, 5.0), self.three(5.0));
        // The lowest corner of the box, turned about x, lies on the ground.
        let height = 0.025 * angle.sin().abs() + 0.03 * angle.cos() - depth;
        let position = [half.cos(), half.sin(), 0.0, 0.0, 0.1, 0.2, height];
        let velocity = [w[0], w[1], w[2], v[0], v[1], v[2]];
        let damping = self.pick(&[0.0, 1e-3]);
        format!(
            "[[bodies]]\nname = \"base\"\ndensity = 300\n\
             joint = {{ type = \"free\", position = {position:?}, velocity = {velocity:?} }}\n\
             [[bodies.geometries]]\nshape = {{ box = {{ size = [0.08, 0.05, 0.06] }} }}\nmaterial = \"foam\"\n\
             [[bodies]]\nname = \"arm\"\nmass = {arm}\ninertia = [[2e-4, 0, 0], [0, 2e-4, 0], [0, 0, 1e-4]]\n\
             joint = {{ type = \"revolute\", name = \"elbow\", parent = \"base\", axis = [0, 1, 0], translation = [0.05, 0, 0.02], velocity = {swing}, damping = {damping} }}\n\
             [[bodies]]\nname = \"head\"\nmass = {head}\ninertia = [[2e-5, 0, 0], [0, 2e-5, 0], [0, 0, 1e-5]]\n\
             center_of_mass = [0, 0, 0.02]\n\
             joint = {{ type = \"ball\", name = \"neck\", parent = \"base\", translation = [0, 0.02, 0.03], velocity = {nod:?} }}\n\
             [[bodies]]\nname = \"floor\"\nfixed = true\n[[bodies.geometries]]\nshape = {{ half_space = {{}} }}\nrigid = true\n\
             [[actuators]]\nname = \"motor\"\njoints = [\"elbow\"]\ndrive = \"force\"\neffort = 0.5\ncommand = 0.05\n"
        )
    }
}

/// The random scene of a number.
pub fn scene(seed: u64) -> CheckedScene {
    let (kind, family) = (seed as usize % KINDS.len(), seed as usize / KINDS.len() % FAMILIES.len());
    let random = ChaCha8Rng::seed_from_u64(seed);
    let mut maker = Maker { random, symmetric: false };
    maker.symmetric = family == 1 || (family == 2 && maker.random.random_bool(0.3));
    let time_step = maker.logarithmic(1e-4, 5e-3);
    let surface = maker.pick(&["triangles", "polygons"]);
    let materials = maker.materials();
    let bodies = match family {
        0 | 1 => maker.on_ramp(),
        2 => maker.two_fingers(),
        3 => maker.jointed(),
        4 => maker.collision(),
        _ => maker.floating_base(),
    };
    let text = format!(
        "[solver]\nkind = \"{}\"\ntime_step = {time_step}\n[contact]\nsurface = \"{surface}\"\n{materials}{bodies}",
        KINDS[kind]
    );
    CheckedScene { kind, family, text }
}

/// A viscous drag on every free body; where it is `wrong` its derivative with respect to the velocity is
/// off by a hundredth.
pub struct Drag {
    /// Its coefficient, N s/m.
    pub coefficient: f64,
    /// Whether its derivative is wrong.
    pub wrong: bool,
}

impl AppliedForces for Drag {
    fn apply<T: Scalar>(&self, _: &Model<T>, state: &State<T>, _: f64, _: &[T], forces: &mut Forces<T>) {
        for (body, force) in state.bodies.iter().zip(&mut forces.bodies) {
            let exact = body.velocity.translational;
            let claimed = exact.map(|v| v * 1.01 - v.real() * 0.01);
            force.translational -= if self.wrong { claimed } else { exact } * T::from(self.coefficient);
        }
    }
}
