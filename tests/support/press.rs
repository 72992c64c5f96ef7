//! A scene with a design to optimize.

/// A pad on a joint with friction that presses a ball, which is free, against a wall.
pub const PRESS: &str = r#"
gravity = [0, 0, -2.0]
[materials.foam]
hydroelastic_modulus = 8e4
dissipation = 3.0
friction = 0.6
[materials.wood]
hydroelastic_modulus = 4e5
dissipation = 1.0
friction = 0.4
[solver]
kind = "lagged"
time_step = 2e-3
[[bodies]]
name = "wall"
fixed = true
translation = [0.068, 0, 0]
[[bodies.geometries]]
shape = { box = { size = [0.08, 0.1, 0.1] } }
material = "wood"
[[bodies]]
name = "pad"
mass = 0.2
[bodies.joint]
type = "prismatic"
axis = [1, 0, 0]
translation = [-0.038, 0, 0]
damping = 5
friction = 0.3
stiction_velocity = 0.02
[[bodies.geometries]]
shape = { box = { size = [0.02, 0.05, 0.05] } }
material = "foam"
[[bodies]]
name = "ball"
density = 700
translation = [0, 0.001, -0.002]
rpy = [0.3, -0.2, 0.5]
[[bodies.geometries]]
shape = { sphere = { radius = 0.03, resolution = 0.025 } }
material = "foam"
[[actuators]]
name = "press"
joints = ["pad"]
drive = "force"
command = 3.0
"#;
