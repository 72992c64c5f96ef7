//! A recording of a grasp by a robot's own sensors and a camera, with noise from a seeded generator.

use std::error::Error;
use std::fmt::Write as _;

use isobar::io::Scene;
use isobar::multibody::State;
use isobar::rollout::Rollout;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::normal::normal;

/// How late what the camera sees is told, s.
pub const CAMERA_DELAY: f64 = 0.01;
/// Standard deviations of the noise: encoder of the lift and of the fingers in m, force of the lift's motor in N,
/// position in m and orientation in rad of the ball.
const LIFT_NOISE: f64 = 1e-4;
const FINGER_NOISE: f64 = 5e-5;
const FORCE_NOISE: f64 = 0.2;
const POSITION_NOISE: f64 = 5e-4;
const ORIENTATION_NOISE: f64 = 5e-3;
/// The time that is recorded and the intervals of robot and camera, s.
const LENGTH: f64 = 0.8;
const ROBOT_INTERVAL: f64 = 0.004;
const CAMERA_INTERVAL: f64 = 0.02;

/// A recording of the scene's motion from a start off the scene's by standard deviations: of where the ball lies in m,
/// and of where the joints are in m.
pub fn recording(scene: &Scene, seed: u64, [ball, encoder]: [f64; 2]) -> Result<String, Box<dyn Error>> {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let mut noise = |deviation: f64| deviation * normal(random);
    let start = scene.state.real();
    let mut tangent = vec![0.0; start.tangent_dimension()];
    for axis in 0..3 {
        // The ball is as high as it is: it lies on the table.
        tangent[3 + axis] = if axis < 2 { noise(ball) } else { 0.0 };
    }
    let joints = start.body_tangent_dimension();
    (0..start.joints.v.len()).for_each(|joint| tangent[joints + joint] = noise(encoder));
    let start = start.moved(&tangent);
    let settings = scene.simulation_settings()?;
    let rollout = Rollout::new(&scene.model, &start, settings, LENGTH).with_controls(&scene.commands);
    let lift = &scene.model.actuators()[0];
    let mut text = String::from(
        "# Synthetic: simulated, with noise, by examples/fit_gripper/main.rs\n\
         t_s,lift.q,left.q,right.q,lift.force,\
         ball.px_m,ball.py_m,ball.pz_m,ball.qw,ball.qx,ball.qy,ball.qz\n",
    );
    // What the camera sees at a time it tells a delay later.
    let steps_in = |interval: f64| (interval / settings.time_step).round() as usize;
    let late = steps_in(CAMERA_DELAY);
    let trajectory = rollout.simulate()?;
    let states: &[State] = &trajectory.states;
    for (step, (&time, state)) in trajectory.times.iter().zip(states).enumerate() {
        if step % steps_in(ROBOT_INTERVAL) != 0 {
            continue;
        }
        let q = &state.joints.q;
        let command = scene.commands[0]
            .at(time - if step > 0 { 0.5 * settings.time_step } else { -0.5 * settings.time_step });
        let force = lift.force(&lift.coordinates()[0], command, &state.joints);
        write!(
            text,
            "{time:.6},{:.7},{:.7},{:.7},{:.4}",
            q[0] + noise(LIFT_NOISE),
            q[1] + noise(FINGER_NOISE),
            q[2] + noise(FINGER_NOISE),
            force + noise(FORCE_NOISE)
        )?;
        match step.checked_sub(late).filter(|_| step % steps_in(CAMERA_INTERVAL) == 0) {
            Some(seen) => {
                let turn = [0; 3].map(|_| noise(ORIENTATION_NOISE));
                let ball = &states[seen].bodies[0];
                let mut shift = vec![0.0; 12];
                shift[..3].copy_from_slice(&turn);
                let ball = ball.moved(&shift);
                for x in ball.position.iter() {
                    write!(text, ",{:.6}", x + noise(POSITION_NOISE))?;
                }
                let q = ball.orientation;
                writeln!(text, ",{:.6},{:.6},{:.6},{:.6}", q.w, q.v.x, q.v.y, q.v.z)?;
            }
            None => text += ",,,,,,,\n",
        }
    }
    Ok(text)
}
