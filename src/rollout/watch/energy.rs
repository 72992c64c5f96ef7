//! Energy that bodies gain in contact without a source.
//!
//! Kinetic energy, and the potential energy of gravity and of the joints' springs, are followed from step to step, less
//! the work of actuators, loads and moving surfaces. What they lose in contact the contact may have stored: it is the *headroom*,
//! by which they may rise again. When they rise by more than a small part, the energy stored where the rise began
//! ([`contact_energy`]) bounds the headroom, so that it is evaluated once in a rebound and not at rest. A body without
//! contact has no headroom. A rise beyond the headroom is a gain.
//!
//! Bodies that touch in a step, and the joints together, share one headroom: contact passes energy on. Work is
//! rather counted as too much: of the forces and velocities at both ends of a step those that give most count, and no work
//! that is negative.

use std::ops::Range;

use nalgebra::Vector3;

use super::patch_look::smallest_extent;
use super::warning::{MotionWarning, WarningCause};
use crate::contact::contact_energy;
use crate::multibody::{
    BodyFrame, BodyPair, BodyState, BroadPhase, Drive, Forces, JointKinematics, MassProperties, Model,
    Motion, State, add_drives_and_applied, with_pair,
};
use crate::rollout::report::TakenStep;
use crate::spatial::{SpatialForce, SpatialVelocity};

/// A gain counts from this part of the energy that the bodies had before it.
const PART: f64 = 0.02;
/// A gain counts if it could lift the bodies by this part of their smallest sides.
const LIFT: f64 = 1e-3;
/// What rounding may make of energies, as a part of them.
const ROUNDING: f64 = 1e-12;

/// A free body, or all joints together.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    /// Index of the free body; `None` of the joints.
    body: Option<usize>,
    /// Before and after the step, J.
    kinetic: [f64; 2],
    /// Kinetic and potential energy, J.
    energy: f64,
    /// In W, of a free body, kg m/s.
    momentum: Vector3<f64>,
    /// About the centre of mass in W, of a free body, kg m²/s.
    spin: Vector3<f64>,
    /// Gains below it do not count, J.
    negligible: f64,
    /// The largest kinetic energy so far, of joints alone, J: their steps keep energy only as well as they are short.
    peak: f64,
    /// Efforts of an unknown size lead it.
    is_led: bool,
    /// It touches a body that stands still and has a velocity.
    is_carried: bool,
    touches: bool,
    /// The unit that stands for all that touch each other, as far as it has been found.
    parent: usize,
    /// Which of the last step's ledgers is its own.
    ledger: usize,
    /// Change of energy in the step, less the work done on it, J.
    change: f64,
}

/// The energy of bodies that touch each other.
#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    members: usize,
    touches: bool,
    /// By how much the energy may rise from the present state on, J.
    headroom: f64,
    /// How far it has risen since it was lowest, and has fallen since it was highest then, J.
    rise: f64,
    fall: f64,
    /// Kinetic energy where it was lowest, J.
    kinetic: f64,
    /// The stored energy has been looked at in this rise.
    is_bounded: bool,
    /// The group that has taken it over in this step.
    taken_by: Option<usize>,
}

/// A step as the watch sees it.
pub(super) struct Seen<'a> {
    pub model: &'a Model,
    pub time: f64,
    pub after: &'a State,
    pub taken: &'a TakenStep<'a>,
    /// At the start of the step.
    pub before_frames: &'a [BodyFrame],
    pub frames: &'a [BodyFrame],
    /// After the step.
    pub joints: &'a mut JointKinematics,
}

/// Follows the energy of a simulation.
#[derive(Debug, Default)]
pub(super) struct Energies {
    units: Vec<Unit>,
    /// For each body its unit; none of those that do not move.
    unit_of: Vec<Option<usize>>,
    /// One for each unit that stands for others.
    ledgers: Vec<Ledger>,
    next: Vec<Ledger>,
    /// The units, those that touch each other in a row.
    order: Vec<usize>,
    /// The bodies in contact in the step, or near it where that is not known.
    contacts: Vec<BodyPair>,
    /// Where each body was when the energy of its group was lowest.
    low: Vec<BodyFrame>,
    /// Where each body would be after the step if nothing pushed it.
    ahead: Vec<BodyFrame>,
    forces: [Forces; 2],
    broad_phase: BroadPhase,
}

impl Unit {
    fn set_energy(&mut self, kinetic: f64, potential: f64) {
        self.kinetic = [self.kinetic[1], kinetic];
        self.energy = kinetic + potential;
    }

    /// Reads energy and momentum of a free body.
    fn set_body(&mut self, model: &Model, mass: &MassProperties, state: &BodyState) {
        let [kinetic, potential] = model.body_energy(mass, state);
        self.set_energy(kinetic, potential);
        let rotation = state.orientation.to_matrix();
        let velocity = state.velocity.shifted(&(rotation * mass.center_of_mass));
        self.momentum = velocity.translational * mass.mass;
        self.spin = rotation * (mass.inertia * (rotation.transpose() * velocity.rotational));
    }
}

impl Ledger {
    /// The energy is lowest now.
    fn begin(&mut self, kinetic: f64) {
        *self = Self { rise: 0.0, fall: 0.0, kinetic, is_bounded: false, ..*self };
    }

    /// What a gain has to exceed, J: `floor`, or a small part of the energy that was there.
    fn tolerance(&self, floor: f64) -> f64 {
        floor + PART * self.kinetic.max(self.headroom + self.rise)
    }
}

/// The most work that one of two forces does on a body at one of two velocities, W.
fn power(forces: [&SpatialForce; 2], velocities: [&SpatialVelocity; 2]) -> f64 {
    let of = |f: &SpatialForce, v: &SpatialVelocity| {
        f.rotational.dot(&v.rotational) + f.translational.dot(&v.translational)
    };
    let most = |f: &SpatialForce| of(f, velocities[0]).max(of(f, velocities[1]));
    most(forces[0]).max(most(forces[1]))
}

impl Energies {
    /// Begins at a state with its frames and kinematics.
    pub fn new(model: &Model, state: &State, frames: &[BodyFrame], joints: &mut JointKinematics) -> Self {
        let mut unit_of = vec![None; model.bodies.len()];
        let mut units = Vec::new();
        let weight = model.gravity.norm();
        let size_of = |body: usize| {
            let sizes = model.bodies[body].geometries.iter().map(|g| smallest_extent(&g.collider));
            Some(sizes.fold(f64::INFINITY, f64::min)).filter(|size| size.is_finite()).unwrap_or(0.0)
        };
        for ((index, _, mass), body) in model.free_bodies().zip(&state.bodies) {
            unit_of[index] = Some(units.len());
            let negligible = LIFT * size_of(index) * mass.mass * weight;
            let mut unit = Unit { body: Some(index), negligible, ..Unit::default() };
            unit.set_body(model, mass, body);
            units.push(unit);
        }
        if model.mechanism.velocity_dimension() > 0 {
            let mut negligible = 0.0;
            for (index, _) in model.links() {
                unit_of[index] = Some(units.len());
                let mass = model.body_mass(index).map_or(0.0, |mass| mass.mass);
                negligible += LIFT * size_of(index) * mass * weight;
            }
            let is_led = model.actuators.iter().any(|a| matches!(a.drive, Drive::ComputedTorque));
            let [kinetic, potential] = model.joint_energy(joints, &state.joints);
            let mut unit = Unit { negligible, is_led, ..Unit::default() };
            unit.set_energy(kinetic, potential);
            units.push(unit);
        }
        let mut energies = Self { unit_of, low: frames.to_vec(), ..Self::default() };
        energies.ledgers = vec![Ledger { members: 1, ..Ledger::default() }; units.len()];
        units.iter_mut().enumerate().for_each(|(index, unit)| unit.ledger = index);
        energies.units = units;
        // What is stored at the start may be given back.
        let Self { broad_phase, unit_of, ledgers, .. } = &mut energies;
        for &pair in broad_phase.candidates(model, frames) {
            let pair = &model.pairs[pair];
            if let Some(unit) = unit_of[pair.bodies.a].or(unit_of[pair.bodies.b]) {
                ledgers[unit].headroom += with_pair(model, frames, pair, contact_energy);
            }
        }
        energies
    }

    /// Looks at a step, and warns of what is gained in it.
    pub fn after_step(&mut self, mut seen: Seen<'_>, warnings: &mut Vec<MotionWarning>) {
        if self.units.is_empty() {
            return;
        }
        self.find_groups(&seen);
        self.find_changes(&mut seen);
        let Self { units, order, next, .. } = self;
        order.clear();
        order.extend(0..units.len());
        order.sort_unstable_by_key(|&unit| units[unit].parent);
        next.clear();
        next.resize(units.len(), Ledger::default());
        let mut start = 0;
        while let Some(&first) = self.order.get(start) {
            let root = self.units[first].parent;
            let count =
                self.order[start..].iter().take_while(|&&unit| self.units[unit].parent == root).count();
            self.settle(&seen, start..start + count, root, warnings);
            start += count;
        }
        std::mem::swap(&mut self.ledgers, &mut self.next);
    }

    /// The unit that stands for all that a unit touches.
    fn root(&self, mut unit: usize) -> usize {
        while self.units[unit].parent != unit {
            unit = self.units[unit].parent;
        }
        unit
    }

    /// Finds which units touch each other.
    fn find_groups(&mut self, seen: &Seen<'_>) {
        let Seen { model, taken, before_frames, frames, .. } = *seen;
        for (index, unit) in self.units.iter_mut().enumerate() {
            (unit.parent, unit.touches, unit.is_carried) = (index, false, false);
        }
        let Self { contacts, broad_phase, ahead, .. } = self;
        contacts.clear();
        let is_known = taken.for_each_contact(model, &mut |bodies| contacts.push(bodies));
        if !is_known {
            ahead.clear();
            ahead.extend(before_frames.iter().map(|frame| frame.ahead(taken.time_step)));
            for frames in [before_frames, ahead, frames] {
                contacts.extend(broad_phase.candidates(model, frames).iter().map(|&i| model.pairs[i].bodies));
            }
        }
        for index in 0..self.contacts.len() {
            let BodyPair { a, b } = self.contacts[index];
            let units = [self.unit_of[a], self.unit_of[b]];
            for (unit, other) in [(units[0], b), (units[1], a)] {
                let Some(unit) = unit else { continue };
                let is_surface = matches!(&model.bodies[other].motion, Motion::Fixed { v_wb, .. } if *v_wb != SpatialVelocity::zero());
                self.units[unit].touches = true;
                self.units[unit].is_carried |= is_surface;
            }
            if let [Some(one), Some(other)] = units {
                let (one, other) = (self.root(one), self.root(other));
                self.units[one.max(other)].parent = one.min(other);
            }
        }
        for unit in 0..self.units.len() {
            // Bodies may have met and parted within a step that is not known.
            let together = !is_known && !self.contacts.is_empty();
            self.units[unit].parent = if together { 0 } else { self.root(unit) };
        }
    }

    /// Reads the energies after the step, and finds what has changed them besides work.
    fn find_changes(&mut self, seen: &mut Seen<'_>) {
        let Seen { model, time, after, taken, before_frames, frames, .. } = *seen;
        let dt = taken.time_step;
        let Self { units, forces, contacts, .. } = self;
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
        for (index, ((body, _, mass), state)) in model.free_bodies().zip(&after.bodies).enumerate() {
            let unit = &mut units[index];
            let before = *unit;
            unit.set_body(model, mass, state);
            let mut work = of_body(index, body);
            if unit.is_carried {
                let frame = &before_frames[body];
                let center = frame.pose * mass.center_of_mass;
                let own = forces[0].bodies[index].shifted(&(center - frame.pose.translation));
                let impulse =
                    unit.momentum - before.momentum - (model.gravity * mass.mass + own.translational) * dt;
                let turn = unit.spin - before.spin - own.rotational * dt;
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
            unit.change = unit.energy - before.energy - work;
        }
        if model.mechanism.velocity_dimension() == 0 {
            return;
        }
        let free = after.bodies.len();
        let of_links =
            model.links().enumerate().map(|(link, (body, _))| of_body(free + link, body)).sum::<f64>();
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
            unit.peak = unit.peak.max(kinetic);
        }
    }

    /// Brings the ledger of a group of units up to date.
    fn settle(
        &mut self,
        seen: &Seen<'_>,
        group: Range<usize>,
        root: usize,
        warnings: &mut Vec<MotionWarning>,
    ) {
        let Self { units, order, ledgers, .. } = self;
        let (mut last, mut parts, mut headroom) = (Ledger::default(), 0, 0.0);
        let (mut all, mut kinetic, mut peak) = (Unit::default(), [0.0; 2], 0.0);
        let mut gainer = order[group.start];
        for &index in &order[group.clone()] {
            let unit = &mut units[index];
            let old = &mut ledgers[unit.ledger];
            if old.taken_by != Some(root) {
                old.taken_by = Some(root);
                (last, parts, headroom) = (*old, parts + 1, headroom + old.headroom);
            }
            unit.ledger = root;
            all.change += unit.change;
            all.negligible += unit.negligible + ROUNDING * unit.energy.abs();
            all.touches |= unit.touches;
            all.is_led |= unit.is_led;
            all.is_carried |= unit.is_carried;
            peak += unit.peak;
            kinetic = [kinetic[0] + unit.kinetic[0], kinetic[1] + unit.kinetic[1]];
            if unit.change > units[gainer].change {
                gainer = index;
            }
        }
        let (members, touches) = (group.len(), all.touches);
        if !touches {
            self.next[root] = Ledger { members, headroom: f64::min(headroom, 0.0), ..Ledger::default() };
            return;
        }
        let is_same = parts == 1 && last.members == members && last.touches;
        let mut ledger = Ledger { members, touches, headroom, taken_by: None, ..last };
        if !is_same {
            ledger.begin(kinetic[0]);
            self.save(seen.before_frames, &group);
        }
        let change = if all.is_led { all.change.min(0.0) } else { all.change };
        ledger.headroom -= change;
        ledger.rise += change;
        if ledger.rise <= 0.0 {
            ledger.begin(kinetic[1]);
            self.save(seen.frames, &group);
        } else {
            let floor = all.negligible + PART * peak;
            if ledger.is_bounded {
                ledger.fall = (ledger.fall - change).max(0.0);
                if ledger.fall > ledger.tolerance(floor) {
                    ledger.begin(kinetic[1]);
                    self.save(seen.frames, &group);
                }
            } else if ledger.rise > ledger.tolerance(floor)
                && self.unexplained(seen, gainer, warnings).is_some()
            {
                ledger.is_bounded = true;
                let stored = self.stored(seen.model, root);
                // What presses bodies on by its own velocity has done work that is not known.
                let most = if all.is_carried { stored } else { stored.min(ledger.headroom + ledger.rise) };
                ledger.headroom = most - ledger.rise;
            }
            if -ledger.headroom > ledger.tolerance(floor) {
                if let Some(bodies) = self.unexplained(seen, gainer, warnings) {
                    let explicit = seen.taken.integrator.is_explicit();
                    let cause = WarningCause::EnergyGain { gain: -ledger.headroom, explicit };
                    warnings.push(MotionWarning::of_bodies(seen.model, bodies, seen.time, cause));
                }
                ledger.headroom = 0.0;
            }
        }
        self.next[root] = ledger;
    }

    /// Keeps where the bodies of a group are.
    fn save(&mut self, frames: &[BodyFrame], group: &Range<usize>) {
        for &unit in &self.order[group.clone()] {
            if let Some(body) = self.units[unit].body {
                self.low[body] = frames[body];
                continue;
            }
            for (body, _) in self.unit_of.iter().enumerate().filter(|(_, of)| **of == Some(unit)) {
                self.low[body] = frames[body];
            }
        }
    }

    /// What the contacts of a group stored where its energy was lowest, J; infinite if bristles store more.
    fn stored(&mut self, model: &Model, root: usize) -> f64 {
        if model.bristle_count() > 0 {
            return f64::INFINITY;
        }
        let Self { units, unit_of, low, broad_phase, .. } = self;
        let apart = |body: usize| unit_of[body].is_some_and(|unit| units[unit].parent != root);
        let pairs = broad_phase.candidates(model, low).iter().map(|&index| &model.pairs[index]);
        let own = pairs.filter(|pair| {
            let BodyPair { a, b } = pair.bodies;
            unit_of[a].or(unit_of[b]).is_some() && !apart(a) && !apart(b)
        });
        own.map(|pair| with_pair(model, low, pair, contact_energy)).sum()
    }

    /// The contact of a unit that gains, itself first, that no warning has explained: of several the one that stores most.
    fn unexplained(&self, seen: &Seen<'_>, unit: usize, warnings: &[MotionWarning]) -> Option<[usize; 2]> {
        let Seen { model, before_frames, .. } = *seen;
        let of_unit = self.contacts.iter().filter_map(|pair| match *pair {
            BodyPair { a, b } if self.unit_of[a] == Some(unit) => Some([a, b]),
            BodyPair { a, b } if self.unit_of[b] == Some(unit) => Some([b, a]),
            _ => None,
        });
        let mut open = of_unit.filter(|bodies| !warnings.iter().any(|w| w.explains_gain(model, *bodies)));
        let first = open.next()?;
        let stored = |bodies: &[usize; 2]| -> f64 {
            let pair = BodyPair::of(bodies[0], bodies[1]);
            model.pairs_of(pair).map(|pair| with_pair(model, before_frames, pair, contact_energy)).sum()
        };
        let mut most = (first, None);
        for bodies in open.filter(|bodies| *bodies != first) {
            let of_most = most.1.unwrap_or_else(|| stored(&most.0));
            let own = stored(&bodies);
            most = if own > of_most { (bodies, Some(own)) } else { (most.0, Some(of_most)) };
        }
        Some(most.0)
    }
}
