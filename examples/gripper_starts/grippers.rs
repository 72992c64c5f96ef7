//! Grippers with two sliding fingers on a palm that lifts, and starts that lose the object.

use std::f64::consts::FRAC_PI_2;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What is lifted.
pub enum Object {
    Ball {
        radius: f64,
    },
    Box {
        size: [f64; 3],
    },
    /// Standing.
    Cylinder {
        radius: f64,
        length: f64,
    },
    /// Lying across the fingers.
    Capsule {
        radius: f64,
        length: f64,
    },
    Ellipsoid {
        semi_axes: [f64; 3],
    },
}

/// What the object's cost asks for.
#[derive(Clone, Copy, PartialEq)]
pub enum Aim {
    /// To follow the palm's path.
    Path,
    /// To be at the height at the end: no derivative helps once it has been lost.
    End,
}

/// One gripper and one start that loses the object.
pub struct Gripper {
    pub name: &'static str,
    pub object: Object,
    /// Of the object, kg.
    pub mass: f64,
    pub friction: f64,
    /// Moduli of pads and object, Pa.
    pub moduli: [f64; 2],
    /// Pads from an STL file with bevelled edges instead of boxes.
    pub mesh: bool,
    /// One actuator for each finger instead of one for both.
    pub separate: bool,
    /// s
    pub time_step: f64,
    pub aim: Aim,
    /// The force at the start of the motion and from `loosened` s on, as parts of what holds the
    /// weight at rest.
    pub squeeze: [f64; 2],
    pub loosened: f64,
}

/// Times of the lift and the end of the motion, s, and how far it goes, m.
const LIFT: [f64; 2] = [0.3, 0.8];
pub const UNTIL: f64 = 1.0;
pub const RISE: f64 = 0.1;

impl Gripper {
    /// Half of the object's width between the fingers, and half of its height.
    fn half_sizes(&self) -> [f64; 2] {
        match self.object {
            Object::Ball { radius } | Object::Capsule { radius, .. } => [radius, radius],
            Object::Box { size } => [0.5 * size[0], 0.5 * size[2]],
            Object::Cylinder { radius, length } => [radius, 0.5 * length],
            Object::Ellipsoid { semi_axes } => [semi_axes[0], semi_axes[2]],
        }
    }

    /// The force of each finger that holds the weight at rest, N.
    fn holding_force(&self) -> f64 {
        0.5 * 9.81 * self.mass / self.friction
    }

    /// Writes scene, problem and the pad's mesh to a folder. Returns the problem's path.
    pub fn write(&self, folder: &Path) -> std::io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("scene.toml"), self.scene())?;
        if self.mesh {
            std::fs::write(folder.join("pad.stl"), self.pad())?;
        }
        let problem = folder.join("problem.toml");
        std::fs::write(&problem, self.problem())?;
        Ok(problem)
    }

    /// Sizes of a pad, m.
    fn pad_size(&self) -> [f64; 3] {
        let [_, half_height] = self.half_sizes();
        [0.02, 0.04, (1.4 * half_height).clamp(0.02, 0.06)]
    }

    /// The object's geometry, as it stands in a scene.
    fn shape(&self) -> String {
        let fine = |size: f64| size / 3.0;
        match self.object {
            Object::Ball { radius } => {
                format!("shape = {{ sphere = {{ radius = {radius}, resolution = {} }} }}", fine(radius))
            }
            Object::Box { size } => format!("shape = {{ box = {{ size = {size:?} }} }}"),
            Object::Cylinder { radius, length } => format!(
                "shape = {{ cylinder = {{ radius = {radius}, length = {length}, resolution = {} }} }}",
                fine(radius)
            ),
            Object::Capsule { radius, length } => format!(
                "shape = {{ capsule = {{ radius = {radius}, length = {length}, resolution = {} }} }}\n\
                 rpy = [{FRAC_PI_2}, 0, 0]",
                fine(radius)
            ),
            Object::Ellipsoid { semi_axes } => format!(
                "shape = {{ ellipsoid = {{ semi_axes = {semi_axes:?}, resolution = {} }} }}",
                fine(semi_axes[2])
            ),
        }
    }

    fn scene(&self) -> String {
        let [half_width, half_height] = self.half_sizes();
        let [pad_modulus, object_modulus] = self.moduli;
        let (friction, mass, size) = (self.friction, self.mass, self.pad_size());
        let mut text = String::new();
        for (name, modulus) in [("pad", pad_modulus), ("object", object_modulus), ("table", 1e7)] {
            let _ = writeln!(
                text,
                "[materials.{name}]\nhydroelastic_modulus = {modulus:e}\ndissipation = 2.0\nfriction = {friction}\n"
            );
        }
        let _ = writeln!(
            text,
            r#"[solver]
kind = "lagged"
time_step = {}

[[bodies]]
name = "table"
fixed = true
[[bodies.geometries]]
shape = {{ half_space = {{ thickness = 0.1 }} }}
material = "table"

[[bodies]]
name = "object"
translation = [0, 0, {half_height}]
mass = {mass}
[[bodies.geometries]]
{}
material = "object"

[[bodies]]
name = "palm"
mass = 0.4
inertia = [[4e-4, 0, 0], [0, 8e-4, 0], [0, 0, 8e-4]]
joint = {{ type = "prismatic", name = "lift", axis = [0, 0, 1], translation = [0, 0, 0.2], lower = -0.02, upper = 0.3, damping = 5.0 }}
"#,
            self.time_step,
            self.shape()
        );
        // The pads begin 4 mm off the object.
        let apart = half_width + 0.5 * size[0] + 0.004;
        let pad = match self.mesh {
            true => "mesh = { file = \"pad.stl\" }".to_owned(),
            false => format!("box = {{ size = {size:?} }}"),
        };
        let below = half_height.max(0.5 * size[2] + 0.002) - 0.2;
        for (name, side) in [("left", -1.0), ("right", 1.0)] {
            let _ = writeln!(
                text,
                r#"[[bodies]]
name = "{name} finger"
mass = 0.1
joint = {{ type = "prismatic", name = "{name}", parent = "palm", axis = [{}, 0, 0], translation = [{}, 0, {below}], lower = 0.0, upper = 0.03, damping = 2.0 }}
[[bodies.geometries]]
shape = {{ {pad} }}
material = "pad"
"#,
                -side,
                side * apart
            );
        }
        text += "[[actuators]]\nname = \"lift\"\njoints = [\"lift\"]\n\
                 drive = { position = { stiffness = 8000, damping = 200 } }\ncommand = 0\n\n";
        for (name, joints) in self.fingers() {
            let _ = writeln!(
                text,
                "[[actuators]]\nname = \"{name}\"\njoints = {joints:?}\ndrive = \"force\"\ncommand = 0\n"
            );
        }
        text
    }

    /// The actuators of the fingers, and their joints.
    fn fingers(&self) -> Vec<(&'static str, Vec<&'static str>)> {
        match self.separate {
            false => vec![("squeeze", vec!["left", "right"])],
            true => vec![("squeeze left", vec!["left"]), ("squeeze right", vec!["right"])],
        }
    }

    fn problem(&self) -> String {
        let [_, half_height] = self.half_sizes();
        let holding = self.holding_force();
        let times: Vec<f64> = (0..=10).map(|k| LIFT[0] + (LIFT[1] - LIFT[0]) * f64::from(k) / 10.0).collect();
        let rise = |k: i32| {
            let s = f64::from(k) / 10.0;
            RISE * s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
        };
        let path: Vec<f64> = (0..=10).map(rise).collect();
        let mut text = format!(
            "scene = \"scene.toml\"\nuntil = {UNTIL}\n\n[knots]\ncount = 21\ninterpolation = \"linear\"\n\n\
             [[controls]]\nactuator = \"lift\"\nlower = -0.02\nupper = 0.2\n\
             start = {{ times = {times:?}, values = {path:?}, interpolation = \"linear\" }}\n"
        );
        let [first, then] = self.squeeze.map(|part| part * holding);
        for (name, _) in self.fingers() {
            let _ = writeln!(
                text,
                "\n[[controls]]\nactuator = \"{name}\"\nlower = 0\nupper = {}\n\
                 start = {{ times = [0, {}], values = [{first}, {then}] }}\n\n\
                 [[costs]]\nname = \"effort of {name}\"\ncontrol = \"{name}\"\nweight = {}",
                (10.0 * holding).ceil(),
                self.loosened,
                0.4 / holding
            );
        }
        let _ = writeln!(
            text,
            "\n[[costs]]\nname = \"path of the palm\"\ncontrol = \"lift\"\nweight = 100\n\
             target = {{ times = {times:?}, values = {path:?} }}\n\n\
             [[costs]]\nname = \"object\"\nposition = {{ body = \"object\" }}\nweight = [0, 0, 200]"
        );
        let heights: Vec<[f64; 3]> = path.iter().map(|rise| [0.0, 0.0, half_height + rise]).collect();
        let _ = match self.aim {
            Aim::Path => writeln!(text, "target = {{ times = {times:?}, values = {heights:?} }}"),
            Aim::End => writeln!(text, "target = [0, 0, {}]\nwhen = \"end\"", half_height + RISE),
        };
        text
    }

    /// The pad as an STL file: a box whose edges along the height are bevelled by 3 mm, so that it
    /// is an octagonal prism.
    fn pad(&self) -> String {
        let [x, y, z] = self.pad_size().map(|size| 0.5 * size);
        let bevel = 0.003;
        let outline = [
            [x - bevel, -y],
            [x, bevel - y],
            [x, y - bevel],
            [x - bevel, y],
            [bevel - x, y],
            [-x, y - bevel],
            [-x, bevel - y],
            [bevel - x, -y],
        ];
        let mut triangles = Vec::new();
        for i in 0..outline.len() {
            let ([a, b], [c, d]) = (outline[i], outline[(i + 1) % outline.len()]);
            triangles.push([[a, b, -z], [c, d, -z], [c, d, z]]);
            triangles.push([[a, b, -z], [c, d, z], [a, b, z]]);
            triangles.push([[0.0, 0.0, z], [a, b, z], [c, d, z]]);
            triangles.push([[0.0, 0.0, -z], [c, d, -z], [a, b, -z]]);
        }
        let mut text = "solid pad\n".to_owned();
        for triangle in triangles {
            text += "facet normal 0 0 0\nouter loop\n";
            for [x, y, z] in triangle {
                let _ = writeln!(text, "vertex {x} {y} {z}");
            }
            text += "endloop\nendfacet\n";
        }
        text + "endsolid pad\n"
    }
}

/// The grippers of the study.
pub fn grippers() -> Vec<Gripper> {
    let usual = || Gripper {
        name: "ball, 200 g",
        object: Object::Ball { radius: 0.03 },
        mass: 0.2,
        friction: 0.6,
        moduli: [2e5, 1e6],
        mesh: true,
        separate: false,
        time_step: 2e-3,
        aim: Aim::Path,
        squeeze: [0.4, 0.4],
        loosened: 0.5,
    };
    vec![
        usual(),
        Gripper { name: "ball, 50 g, loosens", mass: 0.05, squeeze: [1.5, 0.3], mesh: false, ..usual() },
        Gripper {
            name: "ball, 500 g, soft, slippery",
            object: Object::Ball { radius: 0.04 },
            mass: 0.5,
            friction: 0.3,
            moduli: [5e4, 2e5],
            squeeze: [0.2, 0.2],
            ..usual()
        },
        Gripper { name: "ball, aim at the end", aim: Aim::End, squeeze: [0.5, 0.5], ..usual() },
        Gripper {
            name: "box, 1 kg",
            object: Object::Box { size: [0.05, 0.06, 0.07] },
            mass: 1.0,
            friction: 0.5,
            mesh: false,
            squeeze: [0.3, 0.3],
            ..usual()
        },
        Gripper {
            name: "box, 100 g, 1 ms",
            object: Object::Box { size: [0.04, 0.04, 0.05] },
            mass: 0.1,
            friction: 0.9,
            moduli: [1e6, 1e6],
            time_step: 1e-3,
            squeeze: [0.5, 0.5],
            ..usual()
        },
        Gripper {
            name: "box, aim at the end",
            object: Object::Box { size: [0.05, 0.05, 0.05] },
            mass: 0.3,
            aim: Aim::End,
            mesh: false,
            squeeze: [1.2, 0.3],
            ..usual()
        },
        Gripper {
            name: "cylinder, 300 g",
            object: Object::Cylinder { radius: 0.03, length: 0.08 },
            mass: 0.3,
            friction: 0.4,
            squeeze: [0.6, 0.6],
            ..usual()
        },
        Gripper {
            name: "cylinder, 800 g, separate fingers",
            object: Object::Cylinder { radius: 0.035, length: 0.09 },
            mass: 0.8,
            moduli: [5e5, 1e6],
            mesh: false,
            separate: true,
            squeeze: [0.5, 0.5],
            ..usual()
        },
        Gripper {
            name: "capsule, 150 g",
            object: Object::Capsule { radius: 0.025, length: 0.06 },
            mass: 0.15,
            friction: 0.7,
            squeeze: [0.1, 0.1],
            ..usual()
        },
        Gripper {
            name: "ellipsoid, 250 g",
            object: Object::Ellipsoid { semi_axes: [0.025, 0.035, 0.03] },
            mass: 0.25,
            friction: 0.5,
            moduli: [1e5, 5e5],
            squeeze: [0.7, 0.5],
            ..usual()
        },
        Gripper {
            name: "ellipsoid, 600 g, separate fingers",
            object: Object::Ellipsoid { semi_axes: [0.03, 0.04, 0.035] },
            mass: 0.6,
            friction: 0.8,
            moduli: [3e5, 1e6],
            mesh: false,
            separate: true,
            squeeze: [1.1, 0.4],
            ..usual()
        },
    ]
}
