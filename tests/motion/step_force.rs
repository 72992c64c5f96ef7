//! The contact force of a velocity-level step that was taken: it balances momentum, and costs on it have derivatives.

use isobar::Scene;
use isobar::contact::{ContactModel, MaterialParameter, SurfaceRepresentation};
use isobar::multibody::{Model, Parameter, State, seeded};
use isobar::optimize::objective::{CostTerm, Deviation, Objective, Quantity, Target, When};
use isobar::rollout::{
    Checkpoints, Controls, GaussNewton, HalfSquares, Moment, Rollout, SimulationSettings,
    TrajectoryResiduals, linearize, loss_gradient, loss_gradient_forward,
};
use isobar::scalar::Scalar;
use isobar::step::Integrator;
use nalgebra::Vector3;

use crate::folder::Folder;
use crate::jointed_scene;

const MODELS: [ContactModel; 4] =
    [ContactModel::Lagged, ContactModel::Similar, ContactModel::Sap, ContactModel::Tamsi];

/// The forces and moments on a body from others, and its motion at both ends of the step.
struct Pushed {
    body: usize,
    from: Vec<usize>,
}

impl TrajectoryResiduals for Pushed {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let end = moment.step_end.expect("a step starts").state();
        let mut sum = Vector3::zeros();
        for &from in &self.from {
            let on_body = moment.step_force(self.body, from).expect("a velocity-level step").translational;
            let on_other = moment.step_force(from, self.body).expect("a velocity-level step").translational;
            assert!(
                (on_body + on_other).map(|x| x.real()).norm() <= 1e-12 * on_body.map(|x| x.real()).norm()
            );
            sum += on_body;
        }
        let (before, after) = (moment.state.bodies[0].velocity, end.bodies[0].velocity);
        let change = (after.translational - before.translational) * T::from(1.0 / moment.dt);
        residuals.extend(sum.iter().chain(change.iter()).copied());
    }
}

/// A ball that is thrown between two fingers that close, onto a table, where steps are cut as it lands unless `filter` says otherwise.
fn hand(solver: &str, filter: &str) -> String {
    format!(
        r#"[materials.rubber]
hydroelastic_modulus = 2e5
dissipation = 2.0
friction = 0.6
[contact]
{filter}
[solver]
{solver}
time_step = 2e-3
[[bodies]]
name = "ball"
translation = [0.002, 0.001, 0.034]
linear_velocity = [0.1, 0.2, -0.3]
angular_velocity = [1, 2, 3]
mass = 0.2
inertia = [[1e-4, 0, 0], [0, 1e-4, 0], [0, 0, 1e-4]]
[[bodies.geometries]]
shape = {{ sphere = {{ radius = 0.035, resolution = 0.015 }} }}
material = "rubber"
[[bodies]]
name = "table"
fixed = true
[[bodies.geometries]]
shape = {{ half_space = {{}} }}
rigid = true
material = "rubber"
[[bodies]]
name = "left"
mass = 0.1
[bodies.joint]
name = "left"
type = "prismatic"
axis = [1, 0, 0]
translation = [-0.0435, 0, 0.04]
velocity = 0.3
[[bodies.geometries]]
shape = {{ box = {{ size = [0.02, 0.04, 0.05] }} }}
material = "rubber"
"#
    )
}

#[test]
fn forces_of_steps_balance_the_momentum_of_a_ball() {
    let folder = Folder::new("step_force");
    let kinds = ["lagged", "similar", "sap", "tamsi"].map(|kind| format!("kind = {kind:?}"));
    let plain = kinds.iter().map(|kind| (kind.clone(), "face_filter = \"drake\" # no step is cut"));
    let cut = kinds.iter().map(|kind| (kind.clone(), ""));
    let controlled = kinds.iter().step_by(2).map(|kind| (format!("{kind}\naccuracy = 1e-4"), ""));
    for (kind, filter) in plain.chain(cut).chain(controlled) {
        let scene = Scene::load(folder.file("hand.toml", hand(&kind, filter))).expect("a scene");
        let (model, start) = (&scene.model, &scene.state);
        let body = |name: &str| model.body_index(name).expect("a body");
        let pushed = Pushed { body: body("ball"), from: vec![body("table"), body("left")] };
        let settings = scene.simulation_settings().expect("settings");
        let rollout = Rollout::new(model, start, settings, 0.06);
        let found = GaussNewton::new(rollout, &pushed, &[]).expect("simulates");
        let (mut largest, mut pressed) = (0.0_f64, 0);
        // What the iterations of substeps leave adds up.
        let tolerance = if kind.contains("accuracy") { 1e-7 } else { 1e-8 };
        for row in found.residuals().chunks_exact(6) {
            let force = Vector3::from_column_slice(&row[..3]);
            let change = Vector3::from_column_slice(&row[3..]);
            pressed += usize::from(force.norm() > 0.1);
            largest = largest.max((change * 0.2 - force - model.gravity() * 0.2).norm());
        }
        assert!(pressed > 15, "{kind}: it is pressed in {pressed} of 30 steps");
        assert!(largest < tolerance, "{kind}: the balance is off by {largest} N");
    }
}

/// Costs on forces of steps between bodies of the jointed scene.
fn objective(model: &Model) -> Objective {
    let body = |name: &str| model.body_index(name).expect("a body");
    let term = |on, from| CostTerm {
        quantity: Quantity::StepForce { on: body(on), from: body(from) },
        target: Target::constant(Vector3::new(0.2, -0.1, 0.3)),
        weight: Vector3::new(1.0, 2.0, 0.5),
        deviation: Deviation::Both,
        when: When::Running,
    };
    let terms = vec![term("ball", "left"), term("right", "ball"), term("ball", "table")];
    Objective::new(model, model.command_dimension(), terms).expect("it fits")
}

#[test]
fn derivatives_of_forces_of_steps_agree_in_every_way_and_with_differences() {
    let (model, start) = jointed_scene::scene(SurfaceRepresentation::Polygons);
    let objective = objective(&model);
    let loss = HalfSquares(&objective);
    let steps = 3;
    let controls: Vec<f64> = (0..steps).flat_map(|i| [0.1, 0.2, 11.0 + i as f64, -0.3]).collect();
    let controls = Controls::from_values(4, controls).expect("whole rows");
    let parameters: Vec<Parameter> = Parameter::all(&model);
    for (number, kind) in MODELS.into_iter().enumerate() {
        let settings = SimulationSettings { integrator: Integrator::velocity_level(kind), time_step: 1e-3 };
        let until = 1e-3 * steps as f64;
        let rollout = Rollout::new(&model, &start, settings, until).with_controls(&controls);
        let adjoint = loss_gradient(&rollout, &loss, &parameters, Checkpoints::All).expect("runs");
        let forward = loss_gradient_forward(&rollout, &loss, &parameters).expect("runs");
        let operator = GaussNewton::new(rollout, &objective, &parameters).expect("runs");
        assert!((adjoint.value - operator.value()).abs() <= 1e-12 * adjoint.value);
        assert!(adjoint.value > 1e-2, "{kind:?}: nothing is pressed");
        let size = |values: &[f64]| values.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let close = |what: &str, a: &[f64], b: &[f64], tolerance: f64| {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                let off = (x - y).abs() / (x.abs().max(y.abs()).max(1e-6 * size(a)));
                assert!(off < tolerance, "{kind:?}: {what} {i}: {x} and {y}");
            }
        };
        close("initial state", &adjoint.by_initial, &forward.by_initial, 1e-8);
        close("parameter", &adjoint.by_parameters, &forward.by_parameters, 1e-8);
        close("control", adjoint.by_controls.values(), forward.by_controls.values(), 1e-8);
        // In dual numbers through the steps.
        let all = operator.gradient().expect("runs");
        let residuals = operator.residuals().to_vec();
        for k in [0, parameters.len() / 2, parameters.len(), parameters.len() + 2, all.len() - 1] {
            let mut direction = vec![0.0; all.len()];
            direction[k] = 1.0;
            let along = operator.jvp(&direction).expect("runs");
            let product: f64 = along.iter().zip(&residuals).map(|(a, b)| a * b).sum();
            let off = (product - all[k]).abs() / product.abs().max(1e-6 * size(&all));
            assert!(off < 1e-7, "{kind:?}: {k}: {product} and {}", all[k]);
        }
        // As iLQR sees it: steps and residuals linearized one by one.
        let trajectory = rollout.simulate().expect("runs");
        let linear = linearize(&rollout, &objective, &trajectory).expect("runs");
        let mut costate = vec![0.0; start.tangent_dimension()];
        for step in linear.steps.iter().rev() {
            let costates = nalgebra::DVector::from_column_slice(&costate);
            let before =
                step.by_state.tr_mul(&costates) + step.residuals.by_state.tr_mul(&step.residuals.values);
            costate = before.as_slice().to_vec();
        }
        close("linearized", &costate, &adjoint.by_initial, 1e-7);
        let value = |model: &Model, start: &State, controls: &Controls| {
            let rollout = Rollout::new(model, start, settings, until).with_controls(controls);
            GaussNewton::new(rollout, &objective, &[]).expect("runs").value()
        };
        let central = |h: f64, at: &dyn Fn(f64) -> f64| (at(h) - at(-h)) / (2.0 * h);
        // Differences of other inputs for each kind.
        for direction in (number..start.tangent_dimension()).step_by(MODELS.len()) {
            let at = |h: f64| {
                let mut tangent = vec![0.0; start.tangent_dimension()];
                tangent[direction] = h;
                value(&model, &start.moved(&tangent), &controls)
            };
            let (claimed, found) = (adjoint.by_initial[direction], central(1e-7, &at));
            let off = (claimed - found).abs() / claimed.abs().max(1e-3 * size(&adjoint.by_initial));
            assert!(off < 1e-4, "{kind:?}: direction {direction}: {claimed} and {found}");
        }
        for (i, parameter) in parameters.iter().enumerate().skip(number).step_by(MODELS.len()) {
            let x = parameter.value(&model).expect("it exists");
            let h = 1e-6 * x.abs().max(1e-3);
            let at = |h: f64| {
                let (model, start) = seeded(&model, &start, &[(*parameter, x + h)]).expect("valid");
                value(&model, &start, &controls)
            };
            let (claimed, found) = (adjoint.by_parameters[i], central(h, &at));
            let noise = 1e-9 * adjoint.value / h;
            let off = (claimed - found).abs() - noise;
            assert!(off < 1e-4 * claimed.abs(), "{kind:?}: {parameter:?}: {claimed} and {found}");
        }
        for k in 0..controls.values().len() {
            let at = |h: f64| {
                let mut moved = controls.values().to_vec();
                moved[k] += h;
                value(&model, &start, &Controls::from_values(4, moved).expect("whole rows"))
            };
            let (claimed, found) = (adjoint.by_controls.values()[k], central(1e-5, &at));
            let off = (claimed - found).abs() / claimed.abs().max(1e-3 * size(adjoint.by_controls.values()));
            assert!(off < 1e-4, "{kind:?}: control {k}: {claimed} and {found}");
        }
    }
}

#[test]
fn derivatives_of_forces_are_right_where_steps_consist_of_several() {
    let folder = Folder::new("step_force_parts");
    for solver in ["kind = \"lagged\"", "kind = \"sap\"", "kind = \"lagged\"\naccuracy = 1e-5"] {
        let scene = Scene::load(folder.file("hand.toml", hand(solver, ""))).expect("a scene");
        let settings = scene.simulation_settings().expect("settings");
        let (model, start, until) = (&scene.model, &scene.state, 8e-3);
        let body = |name: &str| model.body_index(name).expect("a body");
        let pushed = Pushed { body: body("ball"), from: vec![body("table"), body("left")] };
        let loss = HalfSquares(&pushed);
        let parameters = [MaterialParameter::HydroelasticModulus, MaterialParameter::Dissipation]
            .map(|parameter| Parameter::Material { material: 0, parameter });
        let rollout = Rollout::new(model, start, settings, until);
        let adjoint = loss_gradient(&rollout, &loss, &parameters, Checkpoints::All).expect("runs");
        let forward = loss_gradient_forward(&rollout, &loss, &parameters).expect("runs");
        let operator = GaussNewton::new(rollout, &pushed, &parameters).expect("runs");
        // In dual numbers through the steps.
        let along = |i: usize| -> f64 {
            let mut direction = vec![0.0; parameters.len()];
            direction[i] = 1.0;
            let along = operator.jvp(&direction).expect("runs");
            along.iter().zip(operator.residuals()).map(|(a, r)| a * r).sum()
        };
        assert!(adjoint.value > 1.0, "{solver}: nothing is pressed");
        let value = |model: &Model, start: &State| {
            GaussNewton::new(Rollout::new(model, start, settings, until), &pushed, &[]).expect("runs").value()
        };
        let directions = start.tangent_dimension();
        let all = [&adjoint.by_initial[..], &adjoint.by_parameters].concat();
        let ahead = [&forward.by_initial[..], &forward.by_parameters].concat();
        let size = all[..directions].iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        // Substeps take long: of these each seventh.
        let every = if solver.contains("accuracy") { 7 } else { 2 };
        for (k, claimed) in all.iter().enumerate().step_by(every) {
            let (h, at): (f64, Box<dyn Fn(f64) -> f64>) = match k.checked_sub(directions) {
                None => (
                    1e-8,
                    Box::new(move |h: f64| {
                        let mut tangent = vec![0.0; directions];
                        tangent[k] = h;
                        value(model, &start.moved(&tangent))
                    }),
                ),
                Some(i) => {
                    let x = parameters[i].value(model).expect("it exists");
                    (
                        1e-6 * x,
                        Box::new(move |h: f64| {
                            let (model, start) =
                                seeded(model, start, &[(parameters[i], x + h)]).expect("valid");
                            value(&model, &start)
                        }),
                    )
                }
            };
            let difference = (at(h) - at(-h)) / (2.0 * h);
            let scale = claimed.abs().max(if k < directions { 1e-3 * size } else { 1e-9 });
            let by_duals = k.checked_sub(directions).map_or(*claimed, along);
            for (way, found) in [("differences", difference), ("forward", ahead[k]), ("duals", by_duals)] {
                let off = (claimed - found).abs() / scale;
                assert!(off < 1e-4, "{solver}: {k}: {claimed}, by {way} {found}");
            }
        }
    }
}
