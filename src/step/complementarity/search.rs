//! A step in `f64`: which features touch, and the solution with them.

use super::data::{FoundContact, RESIDUAL, StepData, geometries};
use super::dynamics::BODY;
use super::equations::scaled_velocities;
use super::held::{Held, Solution};
use super::joints::{LawPoint, Lines};
use super::linear::LinearSolver;
use super::methods::{Effort, Nearby, solve};
use super::modes::{Carrying, Modes};
use super::report::{RigidContact, report};
use super::{ComplementarityMethod, Failure};
use crate::contact::{Features, Rim, are_apart, find_features, is_still_over, reach};
use crate::multibody::{ForceWorkspace, Model, forces_without_contact};
use crate::step::{StepError, StepProblem};

/// Features are looked for within this part of the bodies' size.
const MARGIN: f64 = 0.05;
/// How often features may change in a step before all that were found are kept.
const CHANGES: usize = 6;
/// Searches of a step.
const SEARCHES: usize = 25;
/// How often the laws of drives, stops and friction in joints are taken to be linear about other velocities.
const LAW_POINTS: usize = 96;
/// How often in a row by the same lines.
const SAME_LINES: usize = 8;
/// Parts of the way that are tried in turn: the first, and the least.
const FIRST_PART: f64 = 0.25;
const LEAST_PART: f64 = 1e-3;
/// How deep what was not found before may be, in parts of the length scale.
const DEPTH: f64 = 1e-11;

/// A solved step.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    pub found: Vec<FoundContact>,
    pub data: StepData,
    pub solution: Solution,
    /// Whether its contacts are features of the bodies, and none is a point of a rim that is lowest there alone.
    pub has_derivative: bool,
}

pub(super) fn solve_step(
    method: ComplementarityMethod,
    step: &StepProblem<'_>,
    forces: &mut ForceWorkspace,
    linear: &mut LinearSolver,
    contacts: &mut Vec<RigidContact>,
) -> Result<Solved, StepError> {
    let StepProblem { model, state, time, applied, control, .. } = *step;
    let time_step = step.length();
    let total = forces_without_contact(model, state, time, applied, control, forces);
    let commands = &control[..model.command_dimension()];
    let failed = |failure: Failure| {
        let moving = (0..model.bodies().len()).filter(|&body| model.bodies()[body].is_moving());
        failure.error(moving.collect())
    };
    let mut laws = LawPoint::at(step, state.joints.v.clone(), Lines::Tangents);
    let (mut lines, mut left) = (Lines::Tangents, 0.0);
    for point in 1..=LAW_POINTS {
        let data = StepData::new(model, state, total, commands, time_step, &laws);
        let unit = data.scales.impulse * data.scales.length.min(1.0);
        let solved = solve_contacts(method, model, &data, linear).map_err(failed)?;
        let velocities = scaled_velocities(&solved.data, &solved.solution.variables);
        let of_joints = &velocities[BODY * solved.data.bodies.len()..];
        left = laws.error(step, of_joints) / unit;
        if left <= RESIDUAL && lines == Lines::Tangents {
            report(model, &solved.data, &solved.solution, contacts);
            return Ok(solved);
        }
        let is_near = left <= RESIDUAL;
        lines =
            if is_near || (point / SAME_LINES).is_multiple_of(2) { Lines::Tangents } else { Lines::Steep };
        // Friction is steepest at rest, and tangents there lead to velocities before the solution's.
        let next = of_joints.iter().zip(&laws.velocities);
        let next = next.map(|(new, last)| if new * last < 0.0 && !is_near { 0.0 } else { *new });
        laws = LawPoint::at(step, next.collect(), lines);
    }
    Err(failed(Failure::NotConverged { iterations: LAW_POINTS, residual: left }))
}

/// Solves a step whose laws of joints are linear: at once or gradually, with little effort first where surfaces are curved, as the
/// gradual way is the one that helps there.
fn solve_contacts(
    method: ComplementarityMethod,
    model: &Model,
    data: &StepData,
    linear: &mut LinearSolver,
) -> Result<Solved, Failure> {
    if !linear.start(data) || linear.free().iter().any(|v| !v.is_finite()) {
        return Err(Failure::NotFinite);
    }
    linear.bound();
    let found = find_contacts(model, data, linear.free(), Rim::Points);
    let is_curved = found.iter().any(|contact| contact.features.is_around_axis());
    let first = if is_curved { Effort::Little } else { Effort::All };
    let failure = match at_once(method, model, data, found.clone(), (linear, first), None) {
        Ok(solved) => return Ok(solved),
        Err(why) => why,
    };
    if let Some(solved) = gradually(method, model, data, linear) {
        return Ok(solved);
    }
    linear.start(data);
    match first {
        Effort::Little => at_once(method, model, data, found, (linear, Effort::All), None),
        Effort::All => Err(failure),
    }
}

/// The velocities of the last solution, or those without contact.
fn velocities_near(data: &StepData, last: Option<&Solved>) -> Vec<f64> {
    match last {
        Some(last) => scaled_velocities(&last.data, &last.solution.variables),
        None => data.free_velocities(),
    }
}

/// The solution with features that were found, from velocities without contact or from a solution nearby.
fn at_once(
    method: ComplementarityMethod,
    model: &Model,
    data: &StepData,
    points: Vec<FoundContact>,
    (linear, effort): (&mut LinearSolver, Effort),
    last: Option<&Solved>,
) -> Result<Solved, Failure> {
    // The lowest point of a rim that is tilted moves around it: as a circle it is one contact, as points it is many.
    if points.iter().any(|contact| contact.features.is_rim_point()) {
        let circles = find_contacts(model, data, &velocities_near(data, last), Rim::Circle);
        if circles != points
            && let Some(solved) = of_circles(method, model, data, circles, (linear, Effort::Little), last)
        {
            return Ok(solved);
        }
    }
    of_points(method, model, data.clone(), points, (linear, effort), last)
}

/// The solution at the end of a way of problems: with a growing part of the velocities without contact, from none, where
/// nothing has moved, to all. What moves far beside the curvature of its surfaces, as an edge that passes another one, is too far
/// from its solution at once. A part of the way that is too far is halved, and not looked at harder.
fn gradually(
    method: ComplementarityMethod,
    model: &Model,
    data: &StepData,
    linear: &mut LinearSolver,
) -> Option<Solved> {
    let mut last: Option<Solved> = None;
    let (mut done, mut part) = (0.0, FIRST_PART);
    while part >= LEAST_PART && !linear.is_spent() {
        let next = if done + part >= 1.0 { 1.0 } else { done + part };
        let of_part = data.part(next);
        linear.start(&of_part);
        let near = velocities_near(&of_part, last.as_ref());
        let points = find_contacts(model, &of_part, &near, Rim::Points);
        match at_once(method, model, &of_part, points, (linear, Effort::Little), last.as_ref()) {
            Ok(solved) if next == 1.0 => return Some(solved),
            Ok(solved) => (done, part, last) = (next, 2.0 * part, Some(solved)),
            Err(_) => part *= 0.5,
        }
    }
    None
}

/// A solution nearby for contacts that are others.
fn nearby(last: Option<&Solved>, found: &[FoundContact]) -> Option<Nearby> {
    let Solved { found: before, data, solution, .. } = last?;
    let velocities = scaled_velocities(data, &solution.variables);
    let mut carrying = Vec::new();
    if let Held::Cones(modes) = &solution.held {
        for of in &modes.carrying {
            if let Some(contact) = found.iter().position(|contact| *contact == before[of.contact]) {
                carrying.push(Carrying { contact, slip: of.slip.in_polygon(), ..*of });
            }
        }
    }
    carrying.sort_by_key(|of| of.contact);
    carrying.dedup_by_key(|of| of.contact);
    Some(Nearby { velocities, modes: Modes::new(carrying) })
}

/// The solution with the rims of cylinders that nearly stand as points, as many as it takes.
fn of_points(
    method: ComplementarityMethod,
    model: &Model,
    mut data: StepData,
    mut found: Vec<FoundContact>,
    (linear, effort): (&mut LinearSolver, Effort),
    last: Option<&Solved>,
) -> Result<Solved, Failure> {
    for search in 0..SEARCHES {
        data.set_contacts(model, &found);
        let solution = solve(method, &data, linear, effort, nearby(last, &found).as_ref())?;
        let velocities = scaled_velocities(&data, &solution.variables);
        let now = find_contacts(model, &data, &velocities, Rim::Points);
        // In the end it is enough that nothing overlaps.
        if is_complete(model, &data, &solution, &found, &now)
            || (search + 1 == SEARCHES && is_clear(model, &data, &solution, &found, &now, Closing::MayCarry))
        {
            let solved = Solved { found, data, solution, has_derivative: true };
            return Ok(with_circles(method, model, solved, (linear, effort)));
        }
        if search < CHANGES && !now.iter().any(|contact| contact.features.is_rim_point()) {
            found = now;
        } else {
            // Features that come and go, and lowest points of rims, one after the other: all of them.
            let new: Vec<FoundContact> = now.into_iter().filter(|c| !found.contains(c)).collect();
            found.extend(new);
            found.sort_by_key(|contact| contact.pair);
        }
    }
    Err(Failure::Ray)
}

/// The solution with the rims of cylinders as circles, if there is one: where one comes to stand on a rim there is none.
fn of_circles(
    method: ComplementarityMethod,
    model: &Model,
    data: &StepData,
    mut found: Vec<FoundContact>,
    (linear, effort): (&mut LinearSolver, Effort),
    last: Option<&Solved>,
) -> Option<Solved> {
    let mut data = data.clone();
    for _ in 0..CHANGES {
        data.set_contacts(model, &found);
        let solution = solve(method, &data, linear, effort, nearby(last, &found).as_ref()).ok()?;
        let velocities = scaled_velocities(&data, &solution.variables);
        let mut now = find_contacts(model, &data, &velocities, Rim::Points);
        let circles = find_contacts(model, &data, &velocities, Rim::Circle);
        now.extend(circles.iter().filter(|circle| !now.contains(circle)).cloned().collect::<Vec<_>>());
        if is_complete(model, &data, &solution, &found, &now) {
            return Some(Solved { found, data, solution, has_derivative: true });
        }
        if circles == found {
            return None;
        }
        found = circles;
    }
    None
}

/// The solution with the rims of tilted cylinders as circles, whose lowest points move: the same, with the right
/// derivatives. It is that with points where it does not hold with circles; there is no derivative then.
fn with_circles(
    method: ComplementarityMethod,
    model: &Model,
    solved: Solved,
    (linear, effort): (&mut LinearSolver, Effort),
) -> Solved {
    let mut carrying = solved.solution.carrying.iter().filter(|(_, p)| *p > 0.0);
    if !carrying.any(|&(k, _)| solved.found[k].features.is_rim_point()) {
        return solved;
    }
    let velocities = scaled_velocities(&solved.data, &solved.solution.variables);
    let found = find_contacts(model, &solved.data, &velocities, Rim::Circle);
    of_circles(method, model, &solved.data, found, (linear, effort), Some(&solved))
        .unwrap_or(Solved { has_derivative: false, ..solved })
}

/// Whether a solution with features holds for those that are found at it: nothing else overlaps, and all that carry are
/// still there.
fn is_complete(
    model: &Model,
    data: &StepData,
    solution: &Solution,
    used: &[FoundContact],
    now: &[FoundContact],
) -> bool {
    let velocities = scaled_velocities(data, &solution.variables);
    let is_there = |k: usize| {
        used[k].features.is_lasting() || now.contains(&used[k]) || is_over(model, data, &velocities, &used[k])
    };
    is_clear(model, data, solution, used, now, Closing::Carries)
        && solution.carrying.iter().all(|&(k, p)| p <= 0.0 || is_there(k))
}

/// Whether what just closes has to be among the features of a solution, as it takes part in how a load is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    Carries,
    MayCarry,
}

/// Whether nothing overlaps of what is found at a solution but was not used for it.
fn is_clear(
    model: &Model,
    data: &StepData,
    solution: &Solution,
    used: &[FoundContact],
    now: &[FoundContact],
    closing: Closing,
) -> bool {
    let new: Vec<FoundContact> = now.iter().filter(|contact| !used.contains(contact)).cloned().collect();
    if new.is_empty() {
        return true;
    }
    let mut there = data.clone();
    there.set_contacts(model, &new);
    let gaps = there.kinematics(&scaled_velocities(data, &solution.variables)).gaps;
    let shares = closing == Closing::Carries && matches!(solution.held, Held::Cones(_));
    let may_be = |contact: &FoundContact| {
        let carries = shares && contact.features.is_lasting() && !contact.features.is_rim_point();
        if carries { DEPTH } else { -DEPTH }
    };
    let mut gaps = new.iter().zip(&gaps);
    gaps.all(|(contact, gap)| gap.distance >= may_be(contact) * data.scales.length)
}

/// Whether a point of a rim is over what it was found over.
fn is_over(model: &Model, data: &StepData, velocities: &[f64], contact: &FoundContact) -> bool {
    let pair = &model.pairs[contact.pair];
    let [a, b] = geometries(model, pair);
    let poses = data.poses(velocities);
    let (x_wa, x_wb) = (poses[pair.bodies.a] * a.1, poses[pair.bodies.b] * b.1);
    is_still_over(&contact.features, (&a.0, &x_wa), (&b.0, &x_wb))
}

/// The features that are near each other with these velocities, pair by pair.
fn find_contacts(model: &Model, data: &StepData, velocities: &[f64], rim: Rim) -> Vec<FoundContact> {
    let poses = data.poses(velocities);
    let mut found = Vec::new();
    let mut features = Features::default();
    for (index, pair) in model.pairs.iter().enumerate() {
        let [a, b] = geometries(model, pair);
        let x_wa = poses[pair.bodies.a] * a.1;
        let x_wb = poses[pair.bodies.b] * b.1;
        let (reach_a, reach_b) = (reach(&a.0.geometry), reach(&b.0.geometry));
        let margin = MARGIN * reach_a.min(reach_b);
        if are_apart((&x_wa, reach_a), (&x_wb, reach_b), margin) {
            continue;
        }
        find_features((&a.0, &x_wa), (&b.0, &x_wb), margin, rim, &mut features);
        found.extend(features.pairs.drain(..).map(|features| FoundContact { pair: index, features }));
    }
    found
}
