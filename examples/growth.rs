//! How the cost of what isobar does grows: of a query with the faces of the contact surface, of a step with the bodies, of a motion
//! and its gradient with steps and parameters, and what a second thread takes off. Prints the table of docs/steps.md, Cost.
//!
//! `cargo run --release --example growth`

#[path = "../benches/median/mod.rs"]
mod median;
#[path = "../tests/support/step_scenes.rs"]
mod step_scenes;

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use isobar::contact::{
    Collider, ContactModel, ContactPair, ContactSettings, Material, SurfaceRepresentation, Workspace, contact,
};
use isobar::field::PressureField;
use isobar::geometry::VolumeMesh;
use isobar::multibody::{AppliedForces, ForceDependence, Forces, Model, State, StateDependence};
use isobar::rollout::{
    Checkpoints, Controls, Loss, Moment, Rollout, SimulationSettings, Sleep, loss_gradient,
};
use isobar::scalar::Scalar;
use isobar::spatial::RigidTransform;
use isobar::step::{Integrator, StepProblem, StepWorkspace};
use median::median;
use step_scenes::{Held, Squeeze, gripper, pile, settled};

const DT: f64 = 1e-3;
/// Control values a step.
const CONTROLS: usize = 10;

/// The median of some runs, s.
fn timed(runs: usize, mut run: impl FnMut()) -> f64 {
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    median(times.collect())
}

/// A query between two icospheres of radius 1 m that overlap by half, and what it takes a face.
fn query(level: u32) -> Result<(), Box<dyn Error>> {
    let mesh = VolumeMesh::icosphere(1.0, level);
    let extent = (0..mesh.vertices.len()).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect();
    let ball = Collider::compliant(PressureField::new(mesh, extent)?, Material::new(1e5, 0.0, 0.5));
    let settings = ContactSettings { surface: SurfaceRepresentation::Polygons, ..Default::default() };
    let (mut workspace, mut turn, mut faces) = (Workspace::default(), 0.0f64, 0);
    // At another pose each time, so that every one is searched for.
    let time = timed(15, || {
        turn += 0.1;
        let x_wb = RigidTransform::from_translation([turn.cos(), turn.sin(), 0.1]);
        let pair = ContactPair::at_rest(&ball, RigidTransform::identity(), &ball, x_wb);
        faces = contact(&pair, &settings, &mut workspace).map_or(0, |patch| patch.map_or(0, |p| p.faces));
    });
    println!(
        "| query, {faces} faces | {:.3} ms | {:.2} µs a face | |",
        1e3 * time,
        1e6 * time / faces as f64
    );
    Ok(())
}

/// A step of a pile of balls on one thread, on all, and what it takes a ball.
fn pile_step(side: usize, layers: usize) -> Result<(), Box<dyn Error>> {
    let (model, initial) = pile(side, layers);
    let integrator = Integrator::velocity_level(ContactModel::Lagged);
    let steps = 30;
    let run = || {
        let (mut workspace, mut state) = (StepWorkspace::default(), initial.clone());
        timed(steps, || {
            state = integrator.step(&StepProblem::new(&model, &state, DT), &mut workspace).expect("a step");
        })
    };
    let bodies = side * side * layers;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?.install(run);
    let all = run();
    let per_body = 1e6 * one / bodies as f64;
    println!(
        "| step, {bodies} balls in a bin | {:.2} ms | {per_body:.0} µs a ball | {:.2} |",
        1e3 * one,
        one / all
    );
    Ok(())
}

/// A step of a pile of balls that have come to rest and sleep.
fn pile_asleep(side: usize, layers: usize, until: f64) -> Result<(), Box<dyn Error>> {
    let (model, initial) = pile(side, layers);
    let settings = SimulationSettings { integrator: Integrator::default(), time_step: DT };
    // Balls roll on slowly for long.
    let sleep = Sleep { speed: 1e-2, ..Sleep::default() };
    let (mut begin, mut times, mut faces) = (Instant::now(), Vec::new(), usize::MAX);
    Rollout::new(&model, &initial, settings, until).sleeping(sleep).for_each(|step| {
        times.push(begin.elapsed().as_secs_f64());
        faces = step.taken.as_ref().and_then(|taken| taken.statistics()).map_or(faces, |s| s.contacts);
        begin = Instant::now();
    })?;
    let bodies = side * side * layers;
    let last = median(times.split_off(times.len() - 100));
    println!(
        "| the same, asleep: {faces} faces | {:.3} ms | {:.2} µs a ball | |",
        1e3 * last,
        1e6 * last / bodies as f64
    );
    Ok(())
}

/// Two fingers that squeeze a ball, and a push on it in as many parts as there are control values.
#[derive(Debug)]
struct Pushed;

impl AppliedForces for Pushed {
    fn control_dimension(&self) -> usize {
        CONTROLS
    }

    fn apply<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        time: f64,
        control: &[T],
        forces: &mut Forces<T>,
    ) {
        Squeeze(15.0).apply(model, state, time, &[], forces);
        for (i, &u) in control.iter().enumerate() {
            forces.bodies[0].translational[i % 3] += u;
        }
    }

    fn dependence(&self) -> ForceDependence {
        ForceDependence { state: StateDependence::None, model: false }
    }
}

/// Where the held ball ends.
struct End;

impl Loss for End {
    fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
        let ball = moment.state.bodies[0].position;
        ball.dot(&ball)
    }
}

/// A motion of two fingers that hold a ball, and its gradient with respect to all control values.
fn motion(model: &Model, state: &State, steps: usize) -> Result<(), Box<dyn Error>> {
    let settings = SimulationSettings { integrator: Integrator::default(), time_step: DT };
    let controls = Controls::from_values(CONTROLS, vec![0.01; CONTROLS * steps]).ok_or("no whole rows")?;
    let rollout = Rollout::new(model, state, settings, steps as f64 * DT);
    let rollout = rollout.under(&Pushed).with_controls(&controls);
    let simulation = timed(5, || {
        black_box(rollout.simulate().expect("simulates"));
    });
    let gradient = timed(5, || {
        black_box(loss_gradient(&rollout, &End, &[], Checkpoints::All).expect("simulates"));
    });
    let (a_step, ratio) = (1e6 * simulation / steps as f64, gradient / simulation);
    println!(
        "| motion of {steps} steps | {:.1} ms | {a_step:.0} µs a step | gradient {ratio:.2} motions |",
        1e3 * simulation
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("| | | | |\n|---|---|---|---|");
    for level in [1, 2, 3, 4, 5] {
        query(level)?;
    }
    println!(
        "\n| | one thread | | {} threads, times as fast |\n|---|---|---|---|",
        rayon::current_num_threads()
    );
    for (side, layers) in [(2, 3), (2, 5), (3, 5), (5, 8), (10, 10)] {
        pile_step(side, layers)?;
    }
    pile_asleep(5, 8, 3.5)?;
    println!("\n| | | | |\n|---|---|---|---|");
    let (model, state) = gripper(Held::Ball, 0.028, SurfaceRepresentation::Polygons);
    let state = settled(&model, state, Integrator::default(), DT, 200, &Squeeze(15.0));
    for steps in [10, 100, 1000, 10_000] {
        motion(&model, &state, steps)?;
    }
    Ok(())
}
