//! What the help of each command says at its end: where its files are described, and examples. They name
//! files of this repository; a test takes each of them through the arguments that isobar knows.

/// Where scenes are described.
macro_rules! scenes_are_described {
    () => {
        "What the scene file may hold: isobar --help (the essentials), isobar schema scene --markdown (all)\n\n"
    };
}

/// What a scene is, in a few lines.
pub(super) const ISOBAR: &str = "\
A scene is a TOML or JSON file; SI units, angles in rad, files relative to it:

  [materials.foam]                  # friction also static_friction, dynamic_friction
  hydroelastic_modulus = 1e5        # Pa; rigid geometries need none
  dissipation = 1.0                 # s/m
  friction = 0.5
  [solver]
  kind = \"lagged\"                  # or similar, tamsi, sap, semi_implicit_euler, rk4
  time_step = 1e-3                  # s
  [[bodies]]
  name = \"ball\"
  mass = 0.1                        # kg; or density, or fixed = true
  translation = [0, 0, 0.05]        # m; and rpy, linear_velocity, angular_velocity, joint, …
  [[bodies.geometries]]
  shape = { sphere = { radius = 0.05 } }   # or mesh = { file = \"ball.stl\", scale = 0.001 }, …
  material = \"foam\"                # and rigid = true

Every field with its unit, default and meaning: isobar schema scene --markdown
(likewise problem, for optimize, and fit); without --markdown a JSON schema for editors.

RUST_LOG=isobar=debug logs files and iterations on standard error, RUST_LOG=isobar=trace each step.

Examples:
  isobar init scene scene.toml
  isobar check scene.toml
  isobar simulate scene.toml --until 1 --out motion.csv";

/// At the end of `isobar advise --help`.
pub(super) const ADVISE: &str = "\
Examples:
  isobar advise examples/grasp_lift/gripper.toml --load 5
  isobar advise examples/grasp_lift/gripper.toml --until 1
  isobar advise scene.toml --along 0,0,-1 --at 0.02,0,0.1";

/// At the end of `isobar check --help`.
pub(super) const CHECK: &str = "\
Each good file is one line on standard output. The exit code is 2 if any file is bad. A scene that lacks what motion
needs, such as a mass, is good for contact alone: its line says what to write to simulate it.

Examples:
  isobar check examples/grasp_lift/gripper.toml examples/grasp_lift/problem.toml
  isobar check examples/fit_ball/fit.toml --json
  isobar check examples/pancake/arm.urdf";

/// At the end of `isobar completions --help`.
pub(super) const COMPLETIONS: &str = "\
Bash reads completions from ~/.local/share/bash-completion/completions/isobar, zsh from a file _isobar in
a folder of $fpath, fish from ~/.config/fish/completions/isobar.fish.

Examples:
  isobar completions bash
  isobar completions zsh";

/// At the end of `isobar contact --help`.
pub(super) const CONTACT: &str = concat!(
    scenes_are_described!(),
    "\
Examples:
  isobar contact examples/fit_ball/scene.toml
  isobar contact examples/grasp_lift/gripper.toml --derivatives
  isobar contact examples/grasp_lift/box_gripper.toml --json"
);

/// At the end of `isobar fit --help`.
pub(super) const FIT: &str = "\
What the fit file may hold: isobar schema fit --markdown; one to begin with: isobar init fit

Examples:
  isobar fit examples/fit_ball/fit.toml
  isobar fit examples/fit_ball/fit_indentation_only.toml --out fitted.json
  isobar fit examples/fit_ball/fit.toml --json";

/// At the end of `isobar gradient --help`.
pub(super) const GRADIENT: &str = concat!(
    scenes_are_described!(),
    "\
Examples:
  isobar gradient examples/fit_ball/scene.toml --until 0.2 --of 'position of ball'
  isobar gradient examples/grasp_lift/gripper.toml --until 0.5 --of 'velocity of ball' --with-respect-to friction"
);

/// At the end of `isobar gradient-check --help`.
pub(super) const GRADIENT_CHECK: &str = concat!(
    scenes_are_described!(),
    "\
Examples:
  isobar gradient-check examples/grasp_lift/gripper.toml --steps 5 --all
  isobar gradient-check examples/grasp_lift/problem.toml --json
  isobar gradient-check examples/fit_ball/fit.toml"
);

/// At the end of `isobar init --help`.
pub(super) const INIT: &str = "\
A problem and a fit come with the scene that they name, a fit also with a recording, written beside them.
What exists already is not overwritten without --force.

Examples:
  isobar init scene rubber.toml --elastic 'rubber 60 Shore A'
  isobar init problem push.toml
  isobar init fit -";

/// At the end of `isobar man --help`.
pub(super) const MAN: &str = "\
Examples:
  isobar man
  isobar man --out man1";

/// At the end of `isobar mesh --help`.
pub(super) const MESH: &str = "\
A scene does the same where it names a surface: mesh = { file = \"part.stl\", tetrahedra = { size = 0.004 } }. Pieces that
overlap are united, small holes closed; what a size is too large for is told.

Examples:
  isobar mesh examples/mug/mug.obj
  isobar mesh examples/mug/mug.obj --size 0.003 --out mug.vtk";

/// At the end of `isobar model --help`.
pub(super) const MODEL: &str = "\
Examples:
  isobar model examples/pancake/arm.urdf
  isobar model examples/grasp_lift/gripper.toml --json";

/// At the end of `isobar optimize --help`.
pub(super) const OPTIMIZE: &str = "\
What the problem file may hold: isobar schema problem --markdown; one to begin with: isobar init problem

Examples:
  isobar optimize examples/grasp_lift/problem.toml --out grasp
  isobar optimize examples/grasp_lift/problem.toml --out grasp --resume --max-iterations 300
  isobar optimize examples/grasp_lift/box_problem.toml --max-iterations 5 --json";

/// At the end of `isobar report --help`.
pub(super) const REPORT: &str = "\
A scene goes with its motion, as `isobar simulate --out` writes it; the folder of `isobar optimize --out` has all.

Examples:
  isobar report examples/fit_ball/scene.toml ball.csv --out ball.html
  isobar report examples/fit_ball/scene.toml ball.csv --out ball.glb --out ball.pvd
  isobar report grasp --out grasp.html";

/// At the end of `isobar schema --help`.
pub(super) const SCHEMA: &str = "\
Examples:
  isobar schema scene --markdown
  isobar schema problem
  isobar schema fit --markdown";

/// At the end of `isobar simulate --help`.
pub(super) const SIMULATE: &str = concat!(
    scenes_are_described!(),
    "\
Examples:
  isobar simulate examples/grasp_lift/gripper.toml --until 2 --out grasp.csv --record grasp.html
  isobar simulate examples/grasp_lift/gripper.toml --until 0.5 --every 10 --forces --out -
  isobar simulate examples/fit_ball/scene.toml --until 0.1 --error --json"
);

/// At the end of `isobar view --help`.
pub(super) const VIEW: &str = "\
Examples:
  isobar view examples/grasp_lift/gripper.toml
  isobar view examples/fit_ball/scene.toml ball.csv";
