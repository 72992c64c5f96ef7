//! Reverse mode through the deflections of bristles after a step.

use super::VelocityLevel;
use super::free_body::BODY;
use super::settings_of;
use super::tape::BalanceTape;
use super::vjp::VjpMemory;
use crate::multibody::{TANGENT_DIMENSION, add_link_motions};
use crate::step::StepCotangent;
use crate::step::step_point::StepPoint;

impl VelocityLevel {
    /// Adds the derivatives of a number through the deflections after the step, given those with respect to
    /// them: to `by_velocity` those with respect to the velocities after the step, to `out` the others.
    pub(super) fn add_bristles(
        &self,
        at: &StepPoint<'_>,
        tape: &mut BalanceTape,
        memory: &mut VjpMemory,
        by_after: &[f64],
        by_velocity: &mut [f64],
        out: &mut StepCotangent<'_>,
    ) {
        if by_after.iter().all(|x| *x == 0.0) {
            return;
        }
        let model = at.model.model();
        let BalanceTape { moving, patches, shapes, kinematics, .. } = tape;
        let (of_motion, of_bristles) = out.state.split_at_mut(at.before.motion_tangent_dimension());
        let (of_bodies, of_joints) = of_motion.split_at_mut(at.before.body_tangent_dimension());
        let [by_motion, _] = &mut memory.by_motion;
        by_motion.clear();
        by_motion.resize(TANGENT_DIMENSION * model.moving_count(), 0.0);
        for bristles in patches.iter().filter_map(|patch| patch.bristles.as_deref()) {
            bristles.add_vjp(by_after, moving, (&mut *of_bristles, &mut *by_motion), out.model);
        }
        let settings = settings_of(model, self.model, at.dt);
        shapes.add_deflection_vjp(model, &settings, by_after, (&mut memory.shapes, &mut *out.model));
        // Of free bodies the poses are inputs, the velocities after the step unknowns.
        let (of_free, of_rates) = by_velocity.split_at_mut(BODY * at.before.bodies.len());
        let parts = of_bodies.chunks_exact_mut(TANGENT_DIMENSION).zip(of_free.chunks_exact_mut(BODY));
        for (by, (pose, velocity)) in by_motion.chunks_exact(TANGENT_DIMENSION).zip(parts) {
            pose.iter_mut().zip(&by[..6]).for_each(|(sum, x)| *sum += x);
            velocity.iter_mut().zip(&by[6..]).for_each(|(sum, x)| *sum += x);
        }
        let mut by_joints = vec![0.0; of_joints.len()];
        add_link_motions(model, &mut kinematics[0], by_motion, &mut by_joints);
        let (by_q, by_v) = by_joints.split_at(by_joints.len() / 2);
        of_joints.iter_mut().zip(by_q).for_each(|(sum, x)| *sum += x);
        of_rates.iter_mut().zip(by_v).for_each(|(sum, x)| *sum += x);
    }
}
