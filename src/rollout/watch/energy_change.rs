//! How the energy of what moves changes in a step, and the work that is done on it.

use nalgebra::Vector3;

use super::seen::Seen;
use crate::multibody::{BodyPair, BodyState, Forces, MassProperties, Motion, add_drives_and_applied};
use crate::spatial::{SpatialForce, SpatialVelocity};

/// A free body, or all joints together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unit {
    /// Index of the free body; `None` of the joints.
    pub body: Option<usize>,
    /// J.
    pub kinetic: f64,
    /// Kinetic and potential energy, J.
    pub energy: f64,
    /// Gains below it do not count, J.
    pub negligible: f64,
    /// The largest kinetic energy before this step, J.
    pub peak: f64,
    /// Efforts of an unknown size lead it.
    pub is_led: bool,
    /// It touches a body that stands still and has a velocity.
    pub is_carried: bool,
    /// It touches a body in the step, or may do.
    pub touches: bool,
    /// The unit that stands for all that touch each other, as far as it has been found.
    pub parent: usize,
    /// Which of the last step's ledgers is its own.
    pub ledger: usize,
    /// Change of energy in the step, less the work done on it, J.
    pub change: f64,
}

impl Unit {
    /// Puts energies in the place of those before.
    pub fn set_energy(&mut self, kinetic: f64, potential: f64) {
        self.peak = self.peak.max(self.kinetic);
        self.kinetic = kinetic;
        self.energy = kinetic + potential;
    }
}

/// Momentum of a free body, kg m/s, and its angular momentum about the centre of mass, kg m²/s, both in W.
fn momenta(mass: &MassProperties, state: &BodyState) -> [Vector3<f64>; 2] {
    let rotation = state.orientation.to_matrix();
    let velocity = state.velocity.shifted(&(rotation * mass.center_of_mass));
    let spin = rotation * (mass.inertia * (rotation.transpose() * velocity.rotational));
    [velocity.translational * mass.mass, spin]
}

/// The most work that one of two forces does on a body at one of two velocities, W.
fn power(forces: [&SpatialForce; 2], velocities: [&SpatialVelocity; 2]) -> f64 {
    let of = |f: &SpatialForce, v: &SpatialVelocity| {
        f.rotational.dot(&v.rotational) + f.translational.dot(&v.translational)
    };
    let most = |f: &SpatialForce| of(f, velocities[0]).max(of(f, velocities[1]));
    most(forces[0]).max(most(forces[1]))
}

/// Reads the energies after the step, and finds what has changed them besides work.
pub(super) fn find_changes(
    units: &mut [Unit],
    forces: &mut [Forces; 2],
    contacts: &[BodyPair],
    seen: &mut Seen<'_>,
) {
    let Seen { model, time, after, taken, before_frames, frames, .. } = *seen;
    let dt = taken.time_step;
    let (commands, control) = taken.control.split_at(model.command_dimension());
    for (forces, state, time) in
        forces.iter_mut().zip([taken.before, after]).zip([taken.start, time]).map(|((f, s), t)| (f, s, t))
    {
        forces.reset(model);
        add_drives_and_applied(model, state, time, taken.applied, commands, control, forces);
    }
    let of_body = |moving: usize, body: usize| {
        let on = [&forces[0].bodies[moving], &forces[1].bodies[moving]];
        (dt * power(on, [&before_frames[body].velocity, &frames[body].velocity])).max(0.0)
    };
    for (index, (body, _, mass)) in model.free_bodies().enumerate() {
        let (unit, states) = (&mut units[index], [&taken.before.bodies[index], &after.bodies[index]]);
        let before = unit.energy;
        let [kinetic, potential] = model.body_energy(mass, states[1]);
        unit.set_energy(kinetic, potential);
        let mut work = of_body(index, body);
        if unit.is_carried {
            let frame = &before_frames[body];
            let center = frame.pose * mass.center_of_mass;
            let own = forces[0].bodies[index].shifted(&(center - frame.pose.translation));
            let [[before, spin_before], [after, spin_after]] = states.map(|state| momenta(mass, state));
            let impulse = after - before - (model.gravity * mass.mass + own.translational) * dt;
            let turn = spin_after - spin_before - own.rotational * dt;
            let of_surface = |other: usize| match &model.bodies[other].motion {
                Motion::Fixed { x_wb, v_wb } => {
                    let v = v_wb.shifted(&(center - x_wb.translation));
                    v.translational.dot(&impulse) + v.rotational.dot(&turn)
                }
                _ => 0.0,
            };
            let touching = contacts.iter().filter_map(|pair| match *pair {
                BodyPair { a, b } if a == body => Some(b),
                BodyPair { a, b } if b == body => Some(a),
                _ => None,
            });
            work += touching.map(of_surface).fold(0.0, f64::max);
        }
        unit.change = unit.energy - before - work;
    }
    if model.mechanism.velocity_dimension() == 0 {
        return;
    }
    let free = after.bodies.len();
    let of_links = model.links().enumerate().map(|(link, (body, _))| of_body(free + link, body)).sum::<f64>();
    let velocities = [&taken.before.joints.v, &after.joints.v];
    let of_joints = (0..velocities[0].len()).map(|k| {
        let work = |f: usize, v: usize| forces[f].joints[k] * velocities[v][k] * dt;
        [work(0, 1), work(1, 0), work(1, 1)].into_iter().fold(work(0, 0), f64::max).max(0.0)
    });
    let work = of_links + of_joints.sum::<f64>();
    let [kinetic, potential] = model.joint_energy(seen.joints, &after.joints);
    if let Some(unit) = units.last_mut() {
        unit.change = kinetic + potential - unit.energy - work;
        unit.set_energy(kinetic, potential);
    }
}
