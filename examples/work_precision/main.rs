//! How much time each kind of step takes for how small an error. Prints tables and draws figures.
//!
//! `cargo run --release --example work_precision -- docs [drake.csv]`
//!
//! The optional file has the figures of `drake.py` next to this program.
//!
//! `cargo run --release --example work_precision -- kinds` prints how steps of all velocity-level kinds converge
//! to the continuous motion instead.

#[path = "../coin/coin.rs"]
#[allow(dead_code, reason = "it has more than is used here")]
mod coin;
#[path = "../figure/mod.rs"]
mod figure;
#[path = "../../tests/support/step_scenes.rs"]
mod step_scenes;

use std::path::Path;

use figure::{Curve, Plot};
use isobar::Scene;
use isobar::contact::{ContactModel, MaterialParameter, SurfaceRepresentation};
use isobar::multibody::{AppliedForces, BodyFrame, Model, NoForces, Parameter, State, seeded};
use isobar::rollout::{Command, Controls, Rollout, SimulationSettings};
use isobar::step::{ControlledMethod, ErrorControlled, Integrator, VelocityLevel};
use step_scenes::*;

type Failure = Box<dyn std::error::Error>;

/// What is simulated, and for how long.
struct Case<'a, A> {
    name: &'a str,
    model: &'a Model,
    state: &'a State,
    applied: &'a A,
    commands: &'a [Command],
    until: f64,
    /// The accuracy of the reference, m.
    reference: f64,
    /// The model whose continuous motion velocity-level steps converge to, where it is not the same: they cut the
    /// polygons of coarse meshes into triangles.
    cut: Option<&'a Model>,
}

/// The interval of states, s: the longest substep.
const TIME_STEP: f64 = 0.01;
const ACCURACIES: [f64; 6] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8];
const STEPS: [f64; 5] = [5e-3, 2e-3, 1e-3, 2.5e-4, 6.25e-5];
/// Times are the least of so many runs.
const RUNS: usize = 3;
/// A kind of step that takes longer than that, in s per run, is not pursued.
const PATIENCE: f64 = 20.0;

/// The processor time of all threads so far, s.
fn processor_time() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

fn lagged() -> VelocityLevel {
    VelocityLevel { model: ContactModel::Lagged, ..Default::default() }
}

fn controlled(method: ControlledMethod, accuracy: f64) -> Integrator {
    Integrator::ErrorControlled(ErrorControlled { method, accuracy })
}

/// Where the bodies are at the end.
type Positions = Vec<nalgebra::Vector3<f64>>;

/// The largest distance of a body from where it is in the other.
fn distance(a: &Positions, b: &Positions) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

impl<A: AppliedForces> Case<'_, A> {
    /// The positions at the end, the processor time of a run in s, and the number of substeps.
    fn run(&self, integrator: Integrator, time_step: f64) -> Result<(Positions, f64, usize), Failure> {
        let settings = SimulationSettings { integrator, time_step };
        let controls = Controls::of_commands(self.commands, &settings.step_times(self.until)?);
        let rollout = Rollout::new(self.model, self.state, settings, self.until).under(self.applied);
        let rollout = rollout.with_controls(&controls);
        let (mut last, mut substeps) = (self.state.clone(), 0);
        let start = processor_time();
        rollout.for_each(|report| {
            let taken = report.taken.as_ref();
            substeps += taken.map_or(0, |t| t.substeps().map_or(1, |statistics| statistics.substeps.len()));
            if report.steps == report.all_steps {
                last.clone_from(report.state);
            }
        })?;
        let seconds = processor_time() - start;
        let mut frames: Vec<BodyFrame> = Vec::new();
        self.model.body_frames(&last, &mut frames);
        Ok((frames.iter().map(|frame| frame.pose.translation).collect(), seconds, substeps))
    }

    /// A table of errors and times, and their curves.
    fn plot(&self, drake: &[(String, String, f64, f64)]) -> Result<Plot<'_>, Failure> {
        let (reference, seconds, _) =
            self.run(controlled(ControlledMethod::Radau, self.reference), TIME_STEP)?;
        let (again, ..) = self.run(controlled(ControlledMethod::Radau, 10.0 * self.reference), TIME_STEP)?;
        let known = distance(&reference, &again);
        let of_cut = match self.cut {
            Some(model) => {
                Case { model, ..*self }.run(controlled(ControlledMethod::Radau, self.reference), TIME_STEP)?.0
            }
            None => reference.clone(),
        };
        println!("\n## {}, {} s\n", self.name, self.until);
        println!(
            "Reference: `radau` at {:.0e} m, known to {known:.0e} m, {seconds:.1} s of computing.\n",
            self.reference
        );
        if self.cut.is_some() {
            let apart = distance(&reference, &of_cut);
            println!(
                "Velocity-level steps cut polygons here; their reference is `radau` on triangles, {apart:.1e} m away.\n"
            );
        }
        println!("| steps | accuracy or step | error, m | simulated seconds a second | substeps |");
        println!("|---|---|---|---|---|");
        let of_accuracy = |method| ACCURACIES.map(|a| (controlled(method, a), TIME_STEP, a)).to_vec();
        let of_length = |integrator| STEPS.map(|h| (integrator, h, h)).to_vec();
        let mut curves = Vec::new();
        for (name, list) in [
            ("lagged, order 2", of_accuracy(ControlledMethod::Extrapolated(lagged()))),
            ("lagged, order 1", of_accuracy(ControlledMethod::VelocityLevel(lagged()))),
            ("radau", of_accuracy(ControlledMethod::Radau)),
            ("dormand_prince", of_accuracy(ControlledMethod::DormandPrince)),
            ("bogacki_shampine", of_accuracy(ControlledMethod::BogackiShampine)),
            ("lagged, fixed", of_length(Integrator::VelocityLevel(lagged()))),
        ] {
            let mut points = Vec::new();
            for (integrator, time_step, value) in list {
                let Ok((end, mut seconds, substeps)) = self.run(integrator, time_step) else { continue };
                for _ in 1..if seconds < 1.0 { RUNS } else { 1 } {
                    seconds = seconds.min(self.run(integrator, time_step)?.1);
                }
                let reference = if name.starts_with("lagged") { &of_cut } else { &reference };
                let (error, speed) = (distance(reference, &end), self.until / seconds);
                println!("| `{name}` | {value:.0e} | {error:.1e} | {speed:.2} | {substeps} |");
                // No error is told from that of the reference.
                points.push((error.max(known), seconds / self.until));
                if seconds > PATIENCE {
                    break;
                }
            }
            curves.push(Curve { name: name.into(), points, reference: false, marks: true });
        }
        for (method, name) in
            [("cenic", "Drake CENIC"), ("radau3", "Drake Radau 3"), ("runge_kutta3", "Drake RK 3")]
        {
            let points: Vec<(f64, f64)> = drake
                .iter()
                .filter(|(scene, of, ..)| scene == self.name && of == method)
                .map(|(_, _, error, seconds)| (*error, *seconds))
                .collect();
            if !points.is_empty() {
                curves.push(Curve { name: name.into(), points, reference: true, marks: true });
            }
        }
        Ok(Plot {
            title: self.name,
            x: "error at the end, m",
            y: "seconds of computing a second",
            logarithmic: [true; 2],
            curves,
        })
    }
}

/// The errors of all velocity-level kinds with shorter and shorter steps, against `radau` with the same materials.
fn kinds<A: AppliedForces>(case: &Case<'_, A>) -> Result<(), Failure> {
    use MaterialParameter::{Dissipation, RelaxationTime};
    const LENGTHS: [f64; 5] = [2e-3, 5e-4, 1.25e-4, 3.125e-5, 7.8125e-6];
    let zero = |p, model: &Model| -> Vec<(Parameter, f64)> {
        let all = 0..model.materials().len();
        all.map(|material| (Parameter::Material { material, parameter: p }, 0.0)).collect()
    };
    for (damped, stiction_velocity) in [(true, 1e-3), (false, 1e-3), (false, 1e-5)] {
        let mut values = zero(RelaxationTime, case.model);
        if !damped {
            values.extend(zero(Dissipation, case.model));
        }
        let (model, state) = seeded(case.model, case.state, &values)?;
        let mut builder = model.into_builder();
        builder.contact.stiction_velocity = stiction_velocity;
        let model = builder.build()?;
        let case = Case { model: &model, state: &state, ..*case };
        let (reference, ..) = case.run(controlled(ControlledMethod::Radau, case.reference), TIME_STEP)?;
        let (again, ..) = case.run(controlled(ControlledMethod::Radau, 10.0 * case.reference), TIME_STEP)?;
        let known = distance(&reference, &again);
        let damping = if damped { "with" } else { "without" };
        println!(
            "\n{}, {} s, {damping} dissipation, stiction velocity {stiction_velocity:.0e} m/s; known to {known:.0e} m",
            case.name, case.until
        );
        for kind in [ContactModel::Lagged, ContactModel::Similar, ContactModel::Sap, ContactModel::Tamsi] {
            let mut cells = String::new();
            let mut last: Option<f64> = None;
            for length in LENGTHS {
                let Ok((end, ..)) = case.run(Integrator::velocity_level(kind), length) else {
                    cells.push_str(" | fails");
                    continue;
                };
                let error = distance(&reference, &end);
                let order =
                    last.map_or_else(String::new, |last| format!(" ({:.2})", (last / error).log(4.0)));
                cells.push_str(&format!(" | {error:.1e}{order}"));
                last = Some(error);
            }
            println!("| {kind:?}{cells} |");
        }
    }
    Ok(())
}

/// Rows "scene,integrator,error in m,seconds a second".
fn drake(path: Option<String>) -> Result<Vec<(String, String, f64, f64)>, Failure> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let text = std::fs::read_to_string(path)?;
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let [scene, method, _, error, seconds] = cells[..] else { return Err("a row has five cells".into()) };
        Ok((scene.to_owned(), method.to_owned(), error.parse()?, seconds.parse()?))
    };
    text.lines().skip(1).map(row).collect()
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "docs".into());
    let drake = drake(arguments.next())?;
    let polygons = SurfaceRepresentation::Polygons;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/gradient_table");
    let (ball, held, clutter) =
        (ball_on_box(0.025, polygons), gripper(Held::Ball, 0.028, polygons), pile(2, 3));
    let (coin, mut coin_state) = coin::model(coin::FAN, polygons, 1e-3);
    coin::set_off(&mut coin_state, 0.3, 1.0);
    let arm = Scene::load(examples.join("arm.toml"))?;
    let free = |name, model, state, commands, until, reference| Case {
        name,
        model,
        state,
        applied: &NoForces,
        commands,
        until,
        reference,
        cut: None,
    };
    let ball = free("ball", &ball.0, &ball.1, &[], 0.5, 1e-11);
    let coin = free("coin", &coin, &coin_state, &[], 0.2, 1e-10);
    let clutter = free("clutter of 12", &clutter.0, &clutter.1, &[], 0.1, 1e-8);
    let mut cut = arm.model.clone().into_builder();
    cut.contact.surface = SurfaceRepresentation::Triangles;
    let cut = cut.build()?;
    let arm = Case { cut: Some(&cut), ..free("arm", &arm.model, &arm.state, &arm.commands, 0.3, 1e-10) };
    let (model, state, squeeze) = (&held.0, &held.1, Squeeze(15.0));
    let held = Case {
        name: "gripper with ball",
        model,
        state,
        applied: &squeeze,
        commands: &[],
        until: 0.2,
        reference: 1e-11,
        cut: None,
    };
    if folder == "kinds" {
        kinds(&ball)?;
        kinds(&held)?;
        return kinds(&coin);
    }
    let mut plots = Vec::new();
    plots.push(ball.plot(&drake)?);
    plots.push(held.plot(&drake)?);
    for case in [&coin, &clutter, &arm] {
        plots.push(case.plot(&drake)?);
    }
    std::fs::create_dir_all(&folder)?;
    figure::draw(Path::new(&folder).join("work_precision.svg"), &plots)
}
