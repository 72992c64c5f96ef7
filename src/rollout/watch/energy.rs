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

use super::energy_change::{Unit, find_changes};
use super::patch_look::smallest_extent;
use super::seen::Seen;
use super::warning::{MotionWarning, WarningCause};
use crate::contact::contact_energy;
use crate::multibody::{
    BodyFrame, BodyPair, BroadPhase, Drive, Forces, GeometryPair, JointKinematics, Model, Motion, State,
    with_pair,
};
use crate::spatial::SpatialVelocity;

/// A gain counts from this part of the most that the bodies had of kinetic energy, or of what contact may have stored.
const PART: f64 = 0.02;
/// A gain counts if it could lift the bodies by this part of their smallest sides.
const LIFT: f64 = 1e-3;
/// What rounding may make of energies, as a part of them.
const ROUNDING: f64 = 1e-12;

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
    /// The stored energy has been looked at in this rise.
    is_bounded: bool,
    /// The group that has taken it over in this step.
    taken_by: Option<usize>,
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
    /// Of actuators, loads and the user at the start of the step and after it.
    forces: [Forces; 2],
    broad_phase: BroadPhase,
}

impl Ledger {
    /// The energy is lowest now.
    fn begin(&mut self) {
        *self = Self { rise: 0.0, fall: 0.0, is_bounded: false, ..*self };
    }

    /// What a gain has to exceed, J: with bodies whose gains below `negligible` do not count, and whose kinetic
    /// energy has been `peak`.
    fn tolerance(&self, negligible: f64, peak: f64) -> f64 {
        negligible + PART * peak.max(self.headroom + self.rise)
    }
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
            let [kinetic, potential] = model.body_energy(mass, body);
            unit.set_energy(kinetic, potential);
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
        energies
    }

    /// Adds what a contact stores at the start: it may be given back.
    pub fn add_stored(&mut self, model: &Model, frames: &[BodyFrame], pair: &GeometryPair) {
        if let Some(unit) = self.unit_of[pair.bodies.a].or(self.unit_of[pair.bodies.b]) {
            self.ledgers[unit].headroom += with_pair(model, frames, pair, contact_energy);
        }
    }

    /// Looks at a step, and warns of what is gained in it.
    pub fn after_step(&mut self, mut seen: Seen<'_>, warnings: &mut Vec<MotionWarning>) {
        if self.units.is_empty() {
            return;
        }
        self.find_groups(&seen);
        find_changes(&mut self.units, &mut self.forces, &self.contacts, &mut seen);
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
        let (mut all, mut gainer) = (Unit::default(), order[group.start]);
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
            all.is_led |= unit.is_led || (unit.is_carried && unit.body.is_none());
            all.is_carried |= unit.is_carried;
            all.peak += unit.peak;
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
            ledger.begin();
            self.save(seen.before_frames, &group);
        }
        let change = if all.is_led { all.change.min(0.0) } else { all.change };
        ledger.headroom -= change;
        ledger.rise += change;
        if ledger.rise <= 0.0 {
            ledger.begin();
            self.save(seen.frames, &group);
        } else {
            let tolerance = |ledger: &Ledger| ledger.tolerance(all.negligible, all.peak);
            if ledger.is_bounded {
                ledger.fall = (ledger.fall - change).max(0.0);
                if ledger.fall > tolerance(&ledger) {
                    ledger.begin();
                    self.save(seen.frames, &group);
                }
            } else if ledger.rise > tolerance(&ledger) && self.unexplained(seen, gainer, warnings).is_some() {
                ledger.is_bounded = true;
                let stored = self.stored(seen.model, root);
                // What presses bodies on by its own velocity has done work that is not known.
                let most = if all.is_carried { stored } else { stored.min(ledger.headroom + ledger.rise) };
                ledger.headroom = most - ledger.rise;
            }
            if -ledger.headroom > tolerance(&ledger) {
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
