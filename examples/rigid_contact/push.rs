//! The T-bar pushed to a pose: the commands of `t_bar_push.toml`, optimized through steps by equivalent contact points.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use isobar::io::ProblemFile;
use isobar::optimize::trajectory::optimize_trajectory;
use isobar::step::{StepProblem, StepWorkspace};

use crate::scenes::Motion;

/// The optimized motion.
pub struct Push {
    pub motion: Motion,
    /// The names of the actuators.
    pub names: Vec<String>,
    /// Their commands in each step, N.
    pub commands: Vec<Vec<f64>>,
}

/// Optimizes the problem of the file, and says what came out.
pub fn push() -> Result<Push, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/rigid_contact/t_bar_push.toml");
    let file = ProblemFile::load(path)?;
    let problem = file.problem()?;
    let clock = Instant::now();
    let optimum = optimize_trajectory(&problem, &file.start, &file.settings, None, None)?;
    println!(
        "T-bar, pushed: cost {:.5} after {} iterations, {} rollouts and {} linearizations, {:.1} s; {}",
        optimum.cost,
        optimum.iterations,
        optimum.evaluations.rollouts,
        optimum.evaluations.jacobians,
        clock.elapsed().as_secs_f64(),
        optimum.termination
    );
    let controls = problem.controls(&optimum.variables)?;
    let (model, time_step) = (&file.scene.model, file.simulation.time_step);
    let mut state = file.scene.state.clone();
    let mut motion = Motion { states: vec![state.bodies[0]], contacts: vec![Vec::new()] };
    let mut workspace = StepWorkspace::default();
    for step in 0..controls.steps() {
        let (time, control) = (step as f64 * time_step, controls.row(step));
        let problem = StepProblem { time, control, ..StepProblem::new(model, &state, time_step) };
        state = file.simulation.integrator.step(&problem, &mut workspace)?;
        motion.states.push(state.bodies[0]);
        motion.contacts.push(workspace.rigid_contacts().to_vec());
    }
    let end = &motion.states[controls.steps()];
    let [_, _, yaw] = end.orientation.to_rpy();
    println!(
        "  at {:.6} m, {:.6} m, turned by {:.5}°, at {:.1e} m/s and {:.1e} rad/s",
        end.position.x,
        end.position.y,
        yaw.to_degrees(),
        end.velocity.translational.norm(),
        end.velocity.rotational.norm()
    );
    let names = model.actuators().iter().map(|actuator| actuator.name.clone()).collect();
    let commands = (0..controls.steps()).map(|step| controls.row(step).to_vec()).collect();
    Ok(Push { motion, names, commands })
}
