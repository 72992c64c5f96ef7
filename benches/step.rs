//! The time of velocity-level steps on one thread, next to Drake's in the same scenes.
//!
//! Scenes, materials and settling times are those of Drake's measurement; the steps that are
//! timed start from the settled state, at most a second of them in a row. Of piles it is the first
//! half second that is timed, in which they fall and come to rest. Steps with their Jacobians take
//! turns with steps alone. Besides criterion's own output tables are printed at the end: the median
//! over the samples of the steps per second, by the wall clock and by the thread's own processor
//! time, which other programs disturb less.

mod clock;
mod median;

#[path = "../tests/support/step_scenes.rs"]
mod step_scenes;

use std::hint::black_box;
use std::time::{Duration, Instant};

use clock::thread_time;
use criterion::{BenchmarkId, Criterion, SamplingMode};
use isobar::contact::{ContactModel, MaterialParameter, SurfaceRepresentation};
use isobar::multibody::{AppliedForces, DifferentiatedModel, Model, NoForces, Parameter, State};
use isobar::step::{DerivativeWorkspace, Integrator, StepProblem, StepWorkspace, Tape};
use median::median;
use step_scenes::*;

const DT: f64 = 1e-3;

/// What was measured of one scene.
struct Measurement {
    /// Seconds per step.
    wall: f64,
    cpu: f64,
    faces: usize,
    /// Newton iterations per step.
    iterations: f64,
    /// The time over that of the steps alone, where those are not what is measured.
    over_steps: f64,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// Steps.
    Step,
    /// Steps with their derivative with respect to state, control and all materials.
    WithJacobian,
}

/// Steps in a row before their Jacobians' turn comes, from the same state: what disturbs the machine
/// for longer than that disturbs both.
const BLOCK: u64 = 20;

/// Measures steps from a settled state; `None` if the command line left them out.
fn measure(
    criterion: &mut Criterion,
    name: &str,
    (model, initial): (Model, State),
    (kind, work): (ContactModel, Work),
    settle: usize,
    applied: &impl AppliedForces,
) -> Option<Measurement> {
    let materials = (0..model.materials().len()).flat_map(|material| {
        [
            Parameter::Material { parameter: MaterialParameter::HydroelasticModulus, material },
            Parameter::Material { parameter: MaterialParameter::Dissipation, material },
            Parameter::Material { parameter: MaterialParameter::DynamicFriction, material },
        ]
    });
    let parameters: Vec<Parameter> = materials.collect();
    let differentiated =
        DifferentiatedModel::new(&model, &parameters, applied.dependence(), 0).expect("parameters");
    let (mut derivatives, mut tape) = (DerivativeWorkspace::default(), Tape::default());
    let integrator = Integrator::velocity_level(kind);
    let start = settled(&model, initial, integrator, DT, settle, applied);
    let mut workspace = StepWorkspace::default();
    let (mut wall, mut cpu, mut over_steps) = (Vec::new(), Vec::new(), Vec::new());
    let (mut state, mut taken) = (start.clone(), 0);
    let (mut iterations, mut steps, mut faces) = (0, 0, 0);
    let mut group = criterion.benchmark_group("step");
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function(BenchmarkId::new(name, format!("{kind:?} {work:?}")), |bencher| {
        bencher.iter_custom(|calls| {
            let (mut elapsed, mut elapsed_cpu, mut of_steps) =
                (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            let mut left = calls;
            while left > 0 {
                let block = left.min(BLOCK);
                left -= block;
                if taken >= 1000 {
                    state.clone_from(&start);
                    taken = 0;
                }
                taken += block;
                let before = state.clone();
                let (clock, cpu_clock) = (Instant::now(), thread_time());
                for _ in 0..block {
                    let next =
                        integrator.step(&StepProblem::new(&model, &state, DT).under(applied), &mut workspace);
                    state = black_box(next.expect("a step"));
                    steps += 1;
                    iterations += workspace.statistics().iterations;
                }
                of_steps += clock.elapsed();
                match work {
                    Work::Step => {
                        elapsed += clock.elapsed();
                        elapsed_cpu += thread_time() - cpu_clock;
                    }
                    Work::WithJacobian => {
                        state = before;
                        let (clock, cpu_clock) = (Instant::now(), thread_time());
                        for _ in 0..block {
                            let problem = StepProblem::new(&model, &state, DT).under(applied);
                            let next =
                                integrator.step_taped(&problem, &differentiated, &mut workspace, &mut tape);
                            let jacobian = tape.jacobian(&differentiated, applied, &mut derivatives);
                            black_box(jacobian.expect("differentiable"));
                            state = black_box(next.expect("a step"));
                        }
                        elapsed += clock.elapsed();
                        elapsed_cpu += thread_time() - cpu_clock;
                    }
                }
            }
            cpu.push(elapsed_cpu.as_secs_f64() / calls as f64);
            wall.push(elapsed.as_secs_f64() / calls as f64);
            over_steps.push(elapsed.as_secs_f64() / of_steps.as_secs_f64());
            faces = workspace.statistics().contacts;
            elapsed
        });
    });
    group.finish();
    (!wall.is_empty()).then(|| Measurement {
        wall: median(wall),
        cpu: median(cpu),
        faces,
        iterations: iterations as f64 / steps as f64,
        over_steps: median(over_steps),
    })
}

/// Steps of a pile that are timed.
const PILE_STEPS: usize = 500;

/// Measures the first steps of a pile, by its state at the start; `None` if the command line left
/// it out. Faces are those of a mean step.
fn measure_pile(
    criterion: &mut Criterion,
    name: &str,
    (model, initial): (Model, State),
    kind: ContactModel,
) -> Option<Measurement> {
    let integrator = Integrator::velocity_level(kind);
    let mut workspace = StepWorkspace::default();
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    let (mut iterations, mut faces) = (0, 0);
    let mut group = criterion.benchmark_group("step");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group.bench_function(BenchmarkId::new(name, format!("{kind:?}")), |bencher| {
        bencher.iter_custom(|calls| {
            let (clock, cpu_clock) = (Instant::now(), thread_time());
            for _ in 0..calls {
                let mut state = initial.clone();
                (iterations, faces) = (0, 0);
                for _ in 0..PILE_STEPS {
                    state = integrator
                        .step(&StepProblem::new(&model, &state, DT), &mut workspace)
                        .expect("a step");
                    iterations += workspace.statistics().iterations;
                    faces += workspace.statistics().contacts;
                }
                black_box(state);
            }
            let elapsed = clock.elapsed();
            let steps = calls as f64 * PILE_STEPS as f64;
            cpu.push((thread_time() - cpu_clock).as_secs_f64() / steps);
            wall.push(elapsed.as_secs_f64() / steps);
            elapsed
        });
    });
    group.finish();
    (!wall.is_empty()).then(|| Measurement {
        wall: median(wall),
        cpu: median(cpu),
        faces: faces / PILE_STEPS,
        iterations: iterations as f64 / PILE_STEPS as f64,
        over_steps: 1.0,
    })
}

/// One line of the final table.
fn row(name: &str, kind: ContactModel, m: &Measurement, target: f64, drake: Option<f64>) {
    let met = if 1.0 / m.cpu >= target { "yes" } else { "NO" };
    let drake = drake.map_or(String::new(), |d| format!("Drake {d:.0}"));
    println!(
        "{name:32} {:8} {:6} faces {:6.2} iterations {:9.0} {:9.0} steps/s  target {target:.0} {met:3} {drake}",
        format!("{kind:?}"),
        m.faces,
        m.iterations,
        1.0 / m.wall,
        1.0 / m.cpu,
    );
}

fn main() {
    // Steps of many contacts are shared by threads, of which this one's time alone would be counted.
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("no threads yet");
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(12)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(1000))
        .configure_from_args();
    let c = &mut criterion;
    let polygons = SurfaceRepresentation::Polygons;
    // Drake 1.51.1 on a machine of the kind of the guide's figures, in the order of MODELS.
    let drake = [
        [2446.0, 2646.0, 2857.0, 5554.0],
        [1150.0, 1378.0, 1504.0, 2269.0],
        [1579.0, 1437.0, 1489.0, 2674.0],
    ];
    let mut rows = Vec::new();
    let mut jacobians = Vec::new();
    for (k, kind) in MODELS.into_iter().enumerate() {
        let name = "ball of 128 tets on a box";
        let scene = || ball_on_box(0.035, polygons);
        let m = measure(c, name, scene(), (kind, Work::Step), 300, &NoForces);
        let j = measure(c, name, scene(), (kind, Work::WithJacobian), 300, &NoForces);
        rows.push((name, kind, m, 15_000.0, drake[0][k]));
        jacobians.push((name, kind, j));
    }
    for (scene, name, held, resolution, target) in [
        (1, "two fingers and a ball", Held::Ball, 0.028, 6_000.0),
        (2, "two fingers and a cylinder", Held::Cylinder, 0.02, 8_000.0),
    ] {
        for (k, kind) in MODELS.into_iter().enumerate() {
            let grip = || gripper(held, resolution, polygons);
            let m = measure(c, name, grip(), (kind, Work::Step), 200, &Squeeze(15.0));
            let j = measure(c, name, grip(), (kind, Work::WithJacobian), 200, &Squeeze(15.0));
            rows.push((name, kind, m, target, drake[scene][k]));
            jacobians.push((name, kind, j));
        }
    }
    let piles = MODELS.map(|kind| {
        [(2, 5), (5, 8)].map(|(side, layers)| {
            let name = format!("pile of {} balls in a bin", side * side * layers);
            let m = measure_pile(c, &name, pile(side, layers), kind)?;
            Some((m.cpu / (side * side * layers) as f64, m))
        })
    });
    criterion.final_summary();
    println!();
    println!("steps per second: wall clock, processor");
    for (name, kind, m, target, drake) in &rows {
        if let Some(m) = m {
            row(name, *kind, m, *target, Some(*drake));
        }
    }
    println!();
    println!("a step with its Jacobian over the step (target 3)");
    for (name, kind, j) in &jacobians {
        if let Some(Measurement { over_steps: ratio, .. }) = j {
            let met = if *ratio <= 3.0 { "yes" } else { "NO" };
            println!("{name:32} {:8} {ratio:5.2} {met}", format!("{kind:?}"));
        }
    }
    println!();
    println!("processor time of a step per body with 20 and 200 bodies, and their ratio (target 1.5)");
    for (kind, [small, large]) in MODELS.into_iter().zip(&piles) {
        if let (Some((a, m)), Some((b, n))) = (small, large) {
            let (ratio, kind) = (b / a, format!("{kind:?}"));
            println!(
                "{kind:8} {:6.1} µs ({:.1} iterations, {} faces) {:6.1} µs ({:.1} iterations, {} faces) {ratio:5.2} {}",
                a * 1e6,
                m.iterations,
                m.faces,
                b * 1e6,
                n.iterations,
                n.faces,
                if ratio <= 1.5 { "yes" } else { "NO" },
            );
        }
    }
}
