//! From what contacts may do to what they do: the equations of the step are solved with their modes held, and modes whose
//! conditions do not hold are changed, until all do (an active-set method).

use nalgebra::Vector3;

use super::accuracy::{LEAST_CHANGE, ROUNDING, difference};
use super::data::{RESIDUAL, StepData};
use super::equations::{DIRECTIONS, Layout, Scaling, scaled_velocities};
use super::held::{Held, HeldEquations, Solution};
use super::kinematics::Kinematics;
use super::linear::{LinearSolution, LinearSolver};
use super::modes::{Carrying, Impulses, Modes, Rows, STILL, Section, Slip, direction, unit};
use super::normals::row_at_end;
use crate::linear_algebra::{NewtonLimits, solve_mixed};

/// How often modes change before another way is tried.
const CHANGES: usize = 24;
/// Linear steps before Newton's method, which is better where distances are curved.
const LINEAR_STEPS: usize = 12;
/// Contacts that are nearer than this part of the length scale are closed.
pub(super) const CLOSED: f64 = 1e-11;
/// Velocities of a problem's solution that differ by less than this part of the scale are equal, and impulses.
const EQUAL: f64 = 1e-9;
/// What conditions may be violated by where modes are held, in parts of the scale of velocities and of all impulses.
const ROUNDED: f64 = 1e-12;
/// How hard what is closed has to be pressed to carry, in parts of all impulses: more than rounding makes of none, or it
/// would be released again.
const PRESSED: f64 = 1e-10;

/// Whether it is judged if what sticks can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sticking {
    /// By its impulses, which share the friction in one of many ways.
    Judged,
    /// A complementarity problem has said that it does, whose impulses may be others.
    Known,
}

/// Velocities, and what bodies and contacts do at them.
pub(super) struct At {
    velocities: Vec<f64>,
    kinematics: Kinematics,
}

impl At {
    pub fn new(data: &StepData, velocities: Vec<f64>) -> Self {
        Self { kinematics: data.kinematics(&velocities), velocities }
    }
}

/// A solution with modes held.
struct HeldSolution {
    at: At,
    factors: Vec<f64>,
    rows: Rows,
    impulses: Impulses,
    iterations: usize,
}

/// The modes of contacts by how they move without contact.
pub(super) fn first_modes(data: &StepData, used: &[usize], free: &At) -> Modes {
    let kinematics = &free.kinematics;
    let closing = |&&k: &&usize| kinematics.gaps[k].distance < CLOSED * data.scales.length;
    let carrying = used.iter().filter(closing).map(|&k| {
        let approach = -kinematics.gaps[k].distance / data.dt;
        let friction = data.patches[data.contacts[k].patch].friction;
        // Slips of rounding are none: bodies that fall together stick.
        let still = friction * approach + EQUAL * data.scales.velocity;
        Carrying {
            contact: k,
            slip: if friction > 0.0 {
                slip_of(&slips(data, kinematics, k), friction, still)
            } else {
                Slip::Smooth
            },
            weight: 1.0,
        }
    });
    Modes::new(carrying.collect())
}

/// The modes that a solution of linear problems has.
pub(super) fn modes_of(data: &StepData, layout: &Layout, solution: &LinearSolution) -> Modes {
    let sum: f64 = solution.impulses.iter().sum();
    let still = EQUAL * data.scales.velocity;
    let mut carrying = Vec::new();
    for (position, (&contact, &p)) in layout.used.iter().zip(&solution.impulses).enumerate() {
        if p > EQUAL * sum {
            let slip = match layout.frictional.binary_search(&position) {
                Ok(cone) => slip_of(&solution.slips[cone], 1.0, still),
                Err(_) => Slip::Smooth,
            };
            carrying.push(Carrying { contact, slip, weight: p });
        }
    }
    Modes::new(carrying)
}

/// The velocities of a contact along the directions of its cone.
fn slips(data: &StepData, kinematics: &Kinematics, contact: usize) -> [f64; DIRECTIONS] {
    let patch = &data.patches[data.contacts[contact].patch];
    let frame = kinematics.frame(patch, &kinematics.gaps[contact].normal);
    slips_along(data, kinematics, contact, &frame)
}

/// The same with the axes of the contact.
fn slips_along(
    data: &StepData,
    kinematics: &Kinematics,
    contact: usize,
    frame: &[Vector3<f64>; 3],
) -> [f64; DIRECTIONS] {
    let bodies = data.patches[data.contacts[contact].patch].bodies;
    let slip = kinematics.relative_velocity(bodies, &kinematics.gaps[contact].point);
    std::array::from_fn(|index| direction(frame, index).dot(&slip))
}

/// The direction along which a contact slips least, which its friction is along.
fn nearest(slips: &[f64; DIRECTIONS]) -> usize {
    (1..DIRECTIONS).fold(0, |best, k| if slips[k] < slips[best] { k } else { best })
}

/// What friction does at velocities along the directions, if those below `still` are none.
fn slip_of(slips: &[f64; DIRECTIONS], friction: f64, still: f64) -> Slip {
    let best = nearest(slips);
    if friction <= 0.0 {
        return Slip::Smooth;
    }
    if -slips[best] <= still {
        return Slip::Stick;
    }
    let equal = |k: usize| slips[k % DIRECTIONS] - slips[best] <= EQUAL * slips[best].abs();
    if equal(best + 1) {
        Slip::Side(best)
    } else if equal(best + DIRECTIONS - 1) {
        Slip::Side((best + DIRECTIONS - 1) % DIRECTIONS)
    } else {
        Slip::Corner(best)
    }
}

/// The solution that begins with modes at velocities, with those that come out in the end.
pub(super) fn solve_by_active_set(
    data: &StepData,
    used: &[usize],
    mut modes: Modes,
    mut at: At,
    linear: &LinearSolver,
    sticking: Sticking,
) -> Option<Solution> {
    let mut iterations = 0;
    for _ in 0..CHANGES {
        let held = hold(data, &mut modes, at, linear)?;
        iterations += held.iterations;
        let friction = modes.friction(data, &held.rows, &held.impulses);
        match changed(data, used, &modes, &held, &friction, sticking) {
            Some(other) => modes = other,
            None if modes.section == Section::Circle => modes.section = Section::Following,
            None => return Some(solution(data, modes, held, friction, iterations)),
        }
        at = held.at;
    }
    None
}

/// The solution with round friction near one in a polyhedral cone, if what slips there, or would in a circle, leads to it. What sticks in
/// the one does in the other.
pub(super) fn rounded(
    data: &StepData,
    used: &[usize],
    solution: &Solution,
    linear: &LinearSolver,
) -> Option<Solution> {
    let Held::Cones(modes) = &solution.held else { return None };
    if !modes.slips() || modes.section != Section::Polygon {
        return None;
    }
    let at = At::new(data, scaled_velocities(data, &solution.variables));
    let frames = at.kinematics.frames(data, modes.carrying.iter().map(|of| of.contact));
    let round = modes.round(&frames, &solution.friction);
    solve_by_active_set(data, used, round, at, linear, Sticking::Judged)
}

/// Solves the equations with the modes held.
fn hold(data: &StepData, modes: &mut Modes, mut at: At, linear: &LinearSolver) -> Option<HeldSolution> {
    let mut factors = Vec::new();
    let mut last = f64::INFINITY;
    // Small changes that grow are those of rounding, or they lead away from the solution: where a circle begins to tip its lowest
    // point goes far around with small velocities. Newton's method leads to it in both cases.
    let mut is_rounded = false;
    for iteration in 1..=LINEAR_STEPS {
        let rows = modes.rows(data, &at.kinematics);
        if iteration == 1 {
            modes.choose(&rows, data.scales.length);
        }
        let shares = modes.shares(data, &rows);
        let of_bodies = (linear.free(), |momenta: &mut [f64]| linear.respond(momenta));
        let (after, by) =
            modes.linear_step(data, (&rows, &shares), &at.kinematics, &at.velocities, of_bodies)?;
        let change = difference(data, &at.velocities, &after);
        if iteration == 1 {
            // What sticks shares its friction as the normal impulses are; the motion does not depend on it.
            let impulses = modes.impulses(&shares, &by);
            let least = 1e-3 * impulses.normal.iter().fold(0.0, |most: f64, p| most.max(*p));
            let weights = impulses.normal.iter().map(|p| p.max(least).max(f64::MIN_POSITIVE));
            modes.carrying.iter_mut().zip(weights).for_each(|(c, weight)| c.weight = weight);
        }
        if iteration > 1 && change <= LEAST_CHANGE {
            // Bodies and contacts are the same but for rounding.
            let impulses = modes.impulses(&shares, &by);
            let at = At { velocities: after, kinematics: at.kinematics };
            return Some(HeldSolution { at, factors: by, rows, impulses, iterations: iteration });
        }
        at = At::new(data, after);
        factors = by;
        is_rounded = iteration > 1 && change <= ROUNDING && change >= last;
        let is_slow = iteration > 2 && (change.is_nan() || change >= 0.5 * last);
        if is_rounded || is_slow {
            if change <= ROUNDING && modes.hold_at(data, &rows, &at.kinematics) {
                let impulses = modes.impulses(&shares, &factors);
                return Some(HeldSolution { at, factors, rows, impulses, iterations: iteration });
            }
            break;
        }
        last = change;
    }
    let mut z = variables(data, &at.velocities, &factors);
    let held = Held::Cones(modes.clone());
    let limits = NewtonLimits { tolerance: RESIDUAL, iterations: 30 };
    let outcome = solve_mixed(&HeldEquations { data, held: &held }, &mut z, &limits);
    if !outcome.converged {
        return is_rounded.then(|| held_at(data, modes, at, factors, LINEAR_STEPS));
    }
    let at = At::new(data, scaled_velocities(data, &z));
    let factors = z[at.velocities.len()..].to_vec();
    Some(held_at(data, modes, at, factors, LINEAR_STEPS + outcome.iterations))
}

fn held_at(data: &StepData, modes: &Modes, at: At, factors: Vec<f64>, iterations: usize) -> HeldSolution {
    let rows = modes.rows(data, &at.kinematics);
    let impulses = modes.impulses(&modes.shares(data, &rows), &factors);
    HeldSolution { at, factors, rows, impulses, iterations }
}

fn variables(data: &StepData, velocities: &[f64], factors: &[f64]) -> Vec<f64> {
    let Scaling { turn, shift } = Scaling::of(data);
    let unit = |k: usize| if data.is_turn(k) { turn } else { shift };
    let velocities = velocities.iter().enumerate().map(|(k, v)| v / unit(k));
    velocities.chain(factors.iter().copied()).collect()
}

fn solution(
    data: &StepData,
    modes: Modes,
    held: HeldSolution,
    friction: Vec<Vector3<f64>>,
    iterations: usize,
) -> Solution {
    let carrying = modes.carrying.iter().map(|c| c.contact).zip(held.impulses.normal).collect();
    let variables = variables(data, &held.at.velocities, &held.factors);
    Solution { held: Held::Cones(modes), variables, carrying, friction, iterations }
}

/// The modes with those changed whose conditions do not hold; `None` where all do.
fn changed(
    data: &StepData,
    used: &[usize],
    modes: &Modes,
    held: &HeldSolution,
    friction: &[Vector3<f64>],
    sticking: Sticking,
) -> Option<Modes> {
    let HeldSolution { at: At { kinematics, .. }, rows, impulses, .. } = held;
    let sum: f64 = impulses.normal.iter().map(|p| p.abs()).sum();
    let equal = ROUNDED * data.scales.velocity;
    let mut is_changed = false;
    let mut next = Vec::with_capacity(modes.carrying.len());
    for (at, carrying) in modes.carrying.iter().enumerate() {
        let p = impulses.normal[at];
        if p < -ROUNDED * sum {
            is_changed = true;
            continue;
        }
        let patch = &data.patches[data.contacts[carrying.contact].patch];
        let frame = &rows.frames[at];
        let along: [f64; DIRECTIONS] = std::array::from_fn(|k| direction(frame, k).dot(&friction[at]));
        let most = patch.friction * p;
        let slips = || slips_along(data, kinematics, carrying.contact, frame);
        let slip = match carrying.slip {
            Slip::Smooth => Slip::Smooth,
            Slip::Stick if sticking == Sticking::Known => Slip::Stick,
            Slip::Stick if modes.section != Section::Polygon => {
                let along = [along[0], along[1]];
                match unit(along).filter(|_| along[0].hypot(along[1]) > most + ROUNDED * sum) {
                    Some(along) => Slip::Along(along),
                    None => Slip::Stick,
                }
            }
            Slip::Along(before) => {
                let slips = slips();
                let [t, o] = [0, 1].map(|axis| rows.frames[at][axis].dot(&rows.directions[at]));
                let is_still = slips[0].hypot(slips[1]) <= STILL * data.scales.velocity;
                if is_still {
                    Slip::Along(before)
                } else if t * slips[0] + o * slips[1] > equal {
                    Slip::Stick
                } else {
                    Slip::Along(unit([-slips[0], -slips[1]]).unwrap_or(before))
                }
            }
            Slip::Stick => {
                let size = along[0].abs() + along[1].abs();
                let best = (0..DIRECTIONS).fold(0, |best, k| if along[k] > along[best] { k } else { best });
                if size > most + ROUNDED * sum { Slip::Corner(best) } else { Slip::Stick }
            }
            Slip::Corner(index) => {
                let slips = slips();
                let best = nearest(&slips);
                if slips[index] - slips[best] <= equal {
                    Slip::Corner(index)
                } else if best == (index + 2) % DIRECTIONS {
                    Slip::Stick
                } else if best == (index + 1) % DIRECTIONS {
                    Slip::Side(index)
                } else {
                    Slip::Side(best)
                }
            }
            Slip::Side(first) => {
                let second = (first + 1) % DIRECTIONS;
                if slips()[first] > equal {
                    Slip::Stick
                } else if along[first] < -ROUNDED * sum {
                    Slip::Corner(second)
                } else if along[second] < -ROUNDED * sum {
                    Slip::Corner(first)
                } else {
                    Slip::Side(first)
                }
            }
        };
        // A direction is followed in the end.
        is_changed |= match (slip, carrying.slip) {
            (Slip::Along(_), Slip::Along(_)) => false,
            (slip, before) => slip != before,
        };
        next.push(Carrying { contact: carrying.contact, slip, weight: p.max(0.0) });
    }
    let closed = CLOSED * data.scales.length;
    for &k in used {
        let distance = kinematics.gaps[k].distance;
        if distance > closed || modes.carrying.iter().any(|c| c.contact == k) {
            continue;
        }
        let patch = &data.patches[data.contacts[k].patch];
        let row = row_at_end(data, kinematics, k);
        let pressed = modes.pressed(data, rows, &row, &held.factors);
        if distance < -closed || pressed > PRESSED * sum {
            is_changed = true;
            let slips = slips(data, kinematics, k);
            let slip = match (slip_of(&slips, patch.friction, equal), unit([-slips[0], -slips[1]])) {
                (Slip::Corner(_) | Slip::Side(_), Some(along)) if modes.section != Section::Polygon => {
                    Slip::Along(along)
                }
                (slip, _) => slip,
            };
            let weight = sum / (1 + modes.carrying.len()) as f64;
            next.push(Carrying { contact: k, slip, weight });
        }
    }
    next.sort_by_key(|c| c.contact);
    is_changed.then(|| modes.with(next))
}
