//! The time of a gradient over a rollout next to that of the rollout, on one thread.
//!
//! The gradient is that of a loss with respect to 1, 100 and 10,000 parameters which set the
//! control values of 1,000 steps, ten a step. It should take the same time for all of them, and at
//! most 2.5 times that of the rollout with velocity-level steps, 2.7 times with explicit ones, and at most 4
//! times with all vertices and extents of a mesh among the parameters. Recording a
//! rollout should take less than 15 % of its time. Besides criterion's own output a table is printed at the end, with the median over the samples of the thread's own processor time. The gradient takes turns
//! with the rollout that it is compared with.

mod clock;
mod median;

use std::hint::black_box;
use std::time::{Duration, Instant};

use clock::thread_time;
use criterion::{BenchmarkId, Criterion, SamplingMode};
use isobar::contact::{Collider, ContactModel, ContactSettings, Material};
use isobar::field::PressureField;
use isobar::geometry::{Shape, VolumeMesh};
use isobar::multibody::{
    AppliedForces, Body, BodyGeometry, BodyState, ForceDependence, Forces, MassSource, Model, ModelBuilder,
    NamedMaterial, Parameter, State, StateDependence,
};
use isobar::rollout::{Checkpoints, Controls, Loss, Moment, Rollout, SimulationSettings, loss_gradient};
use isobar::scalar::Scalar;
use isobar::spatial::{Quaternion, RigidTransform, SpatialVelocity};
use isobar::step::{ControlledMethod, ErrorControlled, Integrator, VelocityLevel};
use isobar_report::Recorder;
use median::median;
use nalgebra::Vector3;

const STEPS: usize = 1000;
const CONTROLS: usize = 10;
const TIME_STEP: f64 = 1e-4;
/// Time between the frames of a recording, s.
const FRAME_INTERVAL: f64 = 1.0 / 30.0;

const MATERIAL: Material = Material::new(5e4, 0.5, 0.5);

/// Ten thrusters on the first body, some off its origin.
#[derive(Debug)]
struct Thrusters;

impl AppliedForces for Thrusters {
    fn control_dimension(&self) -> usize {
        CONTROLS
    }

    fn apply<T: Scalar>(
        &self,
        _: &Model<T>,
        state: &State<T>,
        _: f64,
        control: &[T],
        forces: &mut Forces<T>,
    ) {
        let rotation = state.bodies[0].orientation.to_matrix();
        for (i, &u) in control.iter().enumerate() {
            let mut along = Vector3::from_element(T::from(0.0));
            along[i % 3] = u;
            let arm = Vector3::new(0.01 * i as f64, 0.02, -0.01).map(T::from);
            forces.bodies[0].translational += rotation * along;
            forces.bodies[0].rotational += rotation * arm.cross(&along);
        }
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::SameBody, model: false }
    }
}

/// Effort, and the distance from a goal at the end.
struct Reach;

impl Loss for Reach {
    fn running<T: Scalar>(&self, moment: &Moment<T>) -> T {
        moment.control.iter().fold(T::from(0.0), |sum, &u| sum + u * u * moment.dt)
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let off = moment.state.bodies[0].position - Vector3::new(0.1, 0.0, 0.05).map(T::from);
        off.dot(&off)
    }
}

fn ball(level: u32) -> BodyGeometry {
    let mesh = VolumeMesh::icosphere(0.05, level);
    let extent = (0..mesh.vertices.len()).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
    let field = PressureField::new(mesh, extent).unwrap();
    BodyGeometry::new(Collider::compliant(field, MATERIAL)).of_material(0)
}

/// A ball of 20·4^level tetrahedra that rolls on a box.
fn ball_on_box(level: u32) -> (Model, State) {
    let ball = Body::free("ball", MassSource::Density(1000.0), vec![ball(level)]).unwrap();
    let at = RigidTransform::from_translation([0.0, 0.0, -0.05]);
    let slab = Collider::of_shape(&Shape::Box { size: [0.4, 0.4, 0.1] }, 1.0, MATERIAL).unwrap();
    let ground = Body::fixed("box", at, vec![BodyGeometry::new(slab).of_material(0)]);
    let materials = vec![NamedMaterial { name: "foam".into(), material: MATERIAL }];
    let settings = ContactSettings { stiction_velocity: 0.01, ..Default::default() };
    let model =
        ModelBuilder { bodies: vec![ball, ground], materials, contact: settings, ..Default::default() };
    let model = model.build().unwrap();
    let body = BodyState {
        orientation: Quaternion::from_wxyz(0.9, 0.1, 0.2, 0.3),
        position: Vector3::new(0.0, 0.0, 0.042),
        velocity: SpatialVelocity::new(Vector3::new(0.0, 2.0, 0.1), Vector3::new(0.1, 0.02, 0.0)),
    };
    (model, State::of_bodies(vec![body]))
}

/// Measures a gradient, which takes turns with the rollout: what disturbs the machine for longer
/// disturbs both. Seconds of processor time, and the part of the rollout's; `None` if the command
/// line left it out.
fn measure(
    criterion: &mut Criterion,
    name: &str,
    kind: &str,
    mut rollout: impl FnMut(),
    mut gradient: impl FnMut(),
) -> Option<(f64, f64)> {
    let (mut times, mut ratios) = (Vec::new(), Vec::new());
    let mut group = criterion.benchmark_group("rollout");
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function(BenchmarkId::new(name, kind), |bencher| {
        bencher.iter_custom(|calls| {
            let (mut elapsed, mut of_rollouts, mut of_gradients) =
                (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            for _ in 0..calls {
                let cpu_start = thread_time();
                rollout();
                let (start, cpu_between) = (Instant::now(), thread_time());
                gradient();
                elapsed += start.elapsed();
                of_rollouts += cpu_between - cpu_start;
                of_gradients += thread_time() - cpu_between;
            }
            times.push(of_gradients.as_secs_f64() / calls as f64);
            ratios.push(of_gradients.as_secs_f64() / of_rollouts.as_secs_f64());
            elapsed
        });
    });
    group.finish();
    (!times.is_empty()).then(|| (median(times), median(ratios)))
}

/// A row of the table: a ratio next to what it should not exceed.
fn row(name: &str, time: f64, ratio: f64, target: f64) {
    let met = if ratio <= target { "yes" } else { "NO" };
    println!("{name:<64} {:>9.2} ms {ratio:>7.2}   ≤ {target:<5} {met}", time * 1e3);
}

fn main() {
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(2500))
        .configure_from_args();
    let mut table: Vec<(String, f64, f64, f64)> = Vec::new();
    let lagged = Integrator::velocity_level(ContactModel::Lagged);
    let method = ControlledMethod::Extrapolated(VelocityLevel::default());
    let controlled = Integrator::ErrorControlled(ErrorControlled { method, accuracy: 1e-7 });
    for (name, level, integrator, time_step) in [
        ("ball of 80 tets on a box, semi-implicit Euler", 1, Integrator::SemiImplicitEuler, TIME_STEP),
        ("ball of 320 tets on a box, semi-implicit Euler", 2, Integrator::SemiImplicitEuler, TIME_STEP),
        ("ball of 80 tets on a box, Runge-Kutta", 1, Integrator::RungeKutta4, TIME_STEP),
        ("ball of 80 tets on a box, Lagged", 1, lagged, 1e-3),
        ("ball of 80 tets on a box, SAP", 1, Integrator::velocity_level(ContactModel::Sap), 1e-3),
        ("ball of 80 tets on a box, TAMSI", 1, Integrator::velocity_level(ContactModel::Tamsi), 1e-3),
        ("ball of 320 tets on a box, Lagged", 2, lagged, 1e-3),
        ("ball of 80 tets on a box, Lagged to 1e-7 m", 1, controlled, 1e-3),
    ] {
        let (model, initial) = ball_on_box(level);
        let zeros = Controls::zeros(STEPS, CONTROLS);
        let settings = SimulationSettings { integrator, time_step };
        let until = STEPS as f64 * time_step;
        let rollout = Rollout {
            model: &model,
            initial: &initial,
            settings,
            until,
            applied: &Thrusters,
            controls: (&zeros).into(),
            substeps: None,
            sleep: None,
        };
        let plain = || {
            black_box(rollout.simulate().unwrap());
        };
        let gradient =
            |criterion: &mut Criterion, kind: &str, count: usize, parameters: &[Parameter], kept| {
                let values: Vec<f64> = (0..count).map(|i| 0.1 * (i as f64).sin()).collect();
                let share = |i: usize| i * count / (STEPS * CONTROLS);
                let controls = || {
                    let values = (0..STEPS * CONTROLS).map(|i| values[share(i)]).collect();
                    Controls::from_values(CONTROLS, values).unwrap()
                };
                // Of the same motion: one without commands may have fewer substeps.
                let same = controls();
                let same = || {
                    black_box(rollout.with_controls(&same).simulate().unwrap());
                };
                measure(criterion, name, kind, same, || {
                    let controls = controls();
                    let rollout = rollout.with_controls(&controls);
                    let gradient = loss_gradient(&rollout, &Reach, parameters, kept).unwrap();
                    let mut by_parameters = vec![0.0; count];
                    for (i, by) in gradient.by_controls.values().iter().enumerate() {
                        by_parameters[share(i)] += by;
                    }
                    black_box((by_parameters, gradient.by_parameters));
                })
            };
        let one = gradient(&mut criterion, "gradient by 1", 1, &[], Checkpoints::All);
        let hundred = gradient(&mut criterion, "gradient by 100", 100, &[], Checkpoints::All);
        let many = gradient(&mut criterion, "gradient by 10,000", 10_000, &[], Checkpoints::All);
        let root = gradient(&mut criterion, "gradient by 100, √N states", 100, &[], Checkpoints::SquareRoot);
        let size = [Parameter::GeometryScale { body: 0, geometry: 0 }];
        let sized = gradient(&mut criterion, "gradient by a size", 1, &size, Checkpoints::All);
        let mut shape = Parameter::vertices(&model, 0, 0);
        shape.extend(Parameter::extents(&model, 0, 0));
        let shaped =
            gradient(&mut criterion, "gradient by vertices and extents", 1, &shape, Checkpoints::All);
        let recorded = measure(&mut criterion, name, "recorded", plain, || {
            let mut recorder = Recorder::new(&model, FRAME_INTERVAL).without_plots();
            rollout.for_each(|step| recorder.look(step)).unwrap();
            black_box(recorder.finish());
        });
        // The short steps of the explicit ones have three frames.
        if let (Some((time, ratio)), true) = (recorded, integrator == lagged) {
            table.push((format!("{name}: recorded, 30 frames in a second"), time, ratio, 1.15));
        }
        for (kind, measured) in [("1", one), ("100", hundred), ("10,000", many)] {
            let Some((time, ratio)) = measured else { continue };
            let target = match integrator {
                Integrator::VelocityLevel(_) => 2.5,
                Integrator::ErrorControlled(_) => 4.0,
                _ => 2.7,
            };
            table.push((format!("{name}: gradient by {kind} over rollout"), time, ratio, target));
        }
        if let (Some((time, ratio)), Some((_, of_one))) = (many, one) {
            table.push((format!("{name}: gradient by 10,000 over by 1"), time, ratio / of_one, 1.2));
        }
        if let Some((time, ratio)) = root {
            table.push((format!("{name}: with √N states kept over rollout"), time, ratio, 5.0));
        }
        if let Some((time, ratio)) = sized {
            table.push((format!("{name}: with the size of a geometry"), time, ratio, 4.0));
        }
        if let Some((time, ratio)) = shaped {
            let name = format!("{name}: with all {} vertices and extents", shape.len());
            table.push((name, time, ratio, 4.0));
        }
    }
    criterion.final_summary();
    println!();
    for (name, time, ratio, target) in table {
        row(&name, time, ratio, target);
    }
}
