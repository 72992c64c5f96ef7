//! The methods that find the velocities after a step.

use super::accuracy::{LEAST_CHANGE, ROUNDING, difference};
use super::active_set::{At, Sticking, first_modes, modes_of, rounded, solve_by_active_set};
use super::data::{RESIDUAL, StepData};
use super::equations::{Equations, FrictionLaw, Layout, evaluate, scaled_velocities};
use super::held::{Held, HeldEquations, Solution};
use super::linear::{LinearSolver, cone_variables, linear_solution, variables};
use super::modes::Modes;
use super::relax::relaxed;
use super::{ComplementarityMethod, Failure};
use crate::linear_algebra::{NewtonLimits, solve_mixed};

/// Linear problems of a step.
const LINEAR_ITERATIONS: usize = 60;
/// How far contacts give under an impulse, in units of the scales, in the problems that say what they do.
const COMPLIANCES: [f64; 5] = [1e-6, 1e-5, 1e-4, 1e-8, 1e-10];
/// Velocities of a problem and of the modes that it has: they differ by what contacts give, and by the problem's linearization.
const SAME_MODES: f64 = 1e-4;
/// Iterations from a solution of linear problems, which is one of the nonlinear problem but for rounding.
const FEW: usize = 10;
/// What may be left of Fischer's function at a solution with modes.
const HOLDS: f64 = 1e-10;
/// Sweeps before the Newton iteration of an equivalent contact point, the first time.
const FIRST_SWEEPS: usize = 3;
/// A residual from which modes are found by pivots, or by holding those that are there.
const NEARLY: f64 = 1e-5;
/// How often what is held changes.
const CHANGES: usize = 8;
/// How deep a contact that takes no part may be, in parts of velocity scale times step.
const DEPTH: f64 = 1e-9;

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// What finds nearly all solutions: there is another way where it does not.
    Little,
    All,
}

/// Where a solution is looked for: velocities near it, and what the contacts do there as far as it is known.
#[derive(Clone, Debug)]
pub(super) struct Nearby {
    pub velocities: Vec<f64>,
    pub modes: Modes,
}

/// Solves the equations of a step with its contacts, from a solution nearby or from the velocities without contact.
pub(super) fn solve(
    method: ComplementarityMethod,
    data: &StepData,
    linear: &mut LinearSolver,
    effort: Effort,
    nearby: Option<&Nearby>,
) -> Result<Solution, Failure> {
    let solution = solve_paper(method, data, linear, effort, nearby)?;
    if method == ComplementarityMethod::Bilateral {
        return Ok(solution);
    }
    let all: Vec<usize> = (0..data.contacts.len()).collect();
    Ok(rounded(data, &all, &solution, linear).unwrap_or(solution))
}

/// The same as the papers pose it, with polyhedral cones.
pub(super) fn solve_paper(
    method: ComplementarityMethod,
    data: &StepData,
    linear: &mut LinearSolver,
    effort: Effort,
    nearby: Option<&Nearby>,
) -> Result<Solution, Failure> {
    let all = || (0..data.contacts.len()).collect();
    match method {
        ComplementarityMethod::Ecp => equivalent_point(data, linear, effort, nearby),
        ComplementarityMethod::Lcp => linear_problems(data, all(), linear, effort, nearby),
        ComplementarityMethod::Ncp => nonlinear_problem(data, all(), linear, effort, nearby),
        ComplementarityMethod::Bilateral => bilateral(data, linear, effort, nearby),
    }
}

/// Hotz §2.2: a fixed point of linear problems. What contacts do without one another is tried first; where it does not hold
/// Lemke's algorithm says what they do, and the fixed point is that of the problem with these modes.
fn linear_problems(
    data: &StepData,
    used: Vec<usize>,
    linear: &mut LinearSolver,
    effort: Effort,
    nearby: Option<&Nearby>,
) -> Result<Solution, Failure> {
    if let Some(Nearby { velocities, modes }) = nearby {
        let at = At::new(data, velocities.clone());
        if let Some(solution) = solve_by_active_set(data, &used, modes.clone(), at, linear, Sticking::Judged)
        {
            return Ok(solution);
        }
    }
    let free = nearby.map_or_else(|| linear.free().to_vec(), |nearby| nearby.velocities.clone());
    let at = At::new(data, free.clone());
    let modes = first_modes(data, &used, &at);
    if let Some(solution) = solve_by_active_set(data, &used, modes, at, linear, Sticking::Judged) {
        return Ok(solution);
    }
    if effort == Effort::Little {
        return Err(Failure::Ray);
    }
    // Those of a softer problem, where very many carry.
    let layout = Layout::new(data, FrictionLaw::Polyhedral, used);
    let soft = relaxed(data, &layout.used, &layout.frictional, &free, linear);
    let modes = modes_of(data, &layout, &soft);
    let at = At::new(data, soft.velocities);
    if let Some(solution) = solve_by_active_set(data, &layout.used, modes, at, linear, Sticking::Judged) {
        return Ok(solution);
    }
    by_pivots(data, layout.used, free, linear)
}

/// The same with modes by Lemke's algorithm alone, from velocities.
fn by_pivots(
    data: &StepData,
    used: Vec<usize>,
    mut velocities: Vec<f64>,
    linear: &mut LinearSolver,
) -> Result<Solution, Failure> {
    let mut layout = Layout::new(data, FrictionLaw::Polyhedral, used);
    let mut failure = Failure::Ray;
    for iteration in 0..LINEAR_ITERATIONS {
        // Where rounding hides the way with one, another is tried; and others where modes do not settle.
        let first = iteration * COMPLIANCES.len() / LINEAR_ITERATIONS;
        let mut problem = None;
        for compliance in COMPLIANCES.into_iter().cycle().skip(first).take(COMPLIANCES.len()) {
            layout.compliance = compliance;
            problem = linear.cones(data, &layout, &velocities);
            if problem.is_some() {
                break;
            }
        }
        let Some(problem) = problem else { return Err(failure) };
        let modes = modes_of(data, &layout, &problem);
        let ways = [modes.clone(), modes.sharing_together()].into_iter();
        let mut solutions = ways.filter_map(|modes| {
            let at = At::new(data, problem.velocities.clone());
            solve_by_active_set(data, &layout.used, modes, at, linear, Sticking::Known)
        });
        let solution = solutions.next();
        velocities.copy_from_slice(&problem.velocities);
        if let Some(solution) = solution {
            let there = scaled_velocities(data, &solution.variables);
            let change = difference(data, &problem.velocities, &there);
            if change <= SAME_MODES.max(10.0 * layout.compliance) {
                return Ok(Solution { iterations: iteration + solution.iterations, ..solution });
            }
            failure = Failure::NotConverged { iterations: iteration + 1, residual: change };
            velocities.copy_from_slice(&there);
        }
    }
    Err(failure)
}

/// Hotz §2.1: the nonlinear problem by Fischer's function, from the fixed point of linear ones, and from the first of these
/// where that does not lead there.
fn nonlinear_problem(
    data: &StepData,
    used: Vec<usize>,
    linear: &mut LinearSolver,
    effort: Effort,
    nearby: Option<&Nearby>,
) -> Result<Solution, Failure> {
    let free = nearby.map_or_else(|| linear.free().to_vec(), |nearby| nearby.velocities.clone());
    let limits = NewtonLimits { tolerance: RESIDUAL, iterations: 200 };
    let mut layout = Layout::new(data, FrictionLaw::Polyhedral, used);
    if let Ok(solution) = linear_problems(data, layout.used.clone(), linear, effort, nearby) {
        let mut z = cone_variables(data, &layout, &solution);
        // Of impulses that are not determined Newton's method would look for others.
        let none = NewtonLimits { tolerance: HOLDS, iterations: 0 };
        if solve_mixed(&Equations { data, layout: &layout }, &mut z, &none).converged {
            return Ok(solution);
        }
        let few = NewtonLimits { iterations: FEW, ..limits };
        let outcome = solve_mixed(&Equations { data, layout: &layout }, &mut z, &few);
        // Of impulses that are not determined others may come out, with the same motion.
        let there = scaled_velocities(data, &z);
        if outcome.converged
            && difference(data, &scaled_velocities(data, &solution.variables), &there) <= ROUNDING
        {
            return Ok(solution);
        }
    }
    if effort == Effort::Little {
        return Err(Failure::Ray);
    }
    layout.compliance = COMPLIANCES[0];
    let Some(first) = linear.cones(data, &layout, &free) else {
        return by_pivots(data, layout.used, free, linear);
    };
    let mut z = variables(data, &layout, &first);
    let outcome = solve_mixed(&Equations { data, layout: &layout }, &mut z, &limits);
    let velocities = scaled_velocities(data, &z);
    if outcome.converged {
        let found = linear_solution(data, &layout, &z);
        let modes = modes_of(data, &layout, &found);
        let at = At::new(data, velocities.clone());
        if let Some(solution) = solve_by_active_set(data, &layout.used, modes, at, linear, Sticking::Known) {
            let there = scaled_velocities(data, &solution.variables);
            if difference(data, &velocities, &there) <= SAME_MODES {
                return Ok(Solution { iterations: outcome.iterations + solution.iterations, ..solution });
            }
        }
    } else if outcome.residual > NEARLY {
        return Err(Failure::NotConverged { iterations: outcome.iterations, residual: outcome.residual });
    }
    by_pivots(data, layout.used, velocities, linear)
}

/// Hotz §2.1: all contacts that would be closed are bilateral; those that pull are released, until none does.
fn bilateral(
    data: &StepData,
    linear: &mut LinearSolver,
    effort: Effort,
    nearby: Option<&Nearby>,
) -> Result<Solution, Failure> {
    let free = linear.free().to_vec();
    let gaps = data.kinematics(&free).gaps;
    let closed = |k: &usize| gaps[*k].distance <= DEPTH * data.scales.velocity * data.dt;
    linear_problems(data, (0..gaps.len()).filter(closed).collect(), linear, effort, nearby)
}

/// Xie and Chakraborty's equations: sweeps find which contacts carry, a semismooth Newton method does the rest. Where it
/// stalls, more sweeps.
fn equivalent_point(
    data: &StepData,
    linear: &mut LinearSolver,
    effort: Effort,
    nearby: Option<&Nearby>,
) -> Result<Solution, Failure> {
    linear.forget_friction(data);
    let limits = NewtonLimits { tolerance: RESIDUAL, iterations: 30 };
    let mut velocities = nearby.map_or_else(|| data.free_velocities(), |nearby| nearby.velocities.clone());
    let mut failure = Failure::Ray;
    let (mut taken, mut next, mut last) = (0, FIRST_SWEEPS, f64::INFINITY);
    let most = if effort == Effort::Little { FIRST_SWEEPS } else { LINEAR_ITERATIONS };
    while taken < most {
        let mut solution = linear.sweep(data, &velocities).ok_or(Failure::Ray)?;
        taken += 1;
        let change = difference(data, &velocities, &solution.velocities);
        velocities.copy_from_slice(&solution.velocities);
        let settled = change <= LEAST_CHANGE || (change <= ROUNDING && change >= last);
        last = change;
        if taken < next && !settled {
            continue;
        }
        next = 2 * taken;
        let used: Vec<usize> = (0..data.contacts.len()).filter(|&k| solution.basic_impulses[k]).collect();
        let layout = Layout::new(data, FrictionLaw::Ellipsoid, used);
        let mut z = variables(data, &layout, &solution);
        let outcome = solve_mixed(&Equations { data, layout: &layout }, &mut z, &limits);
        let held = match outcome.converged {
            true => Some(Held::Ellipsoids { active: active(data, &layout, &z), layout: layout.clone() }),
            false if outcome.residual <= NEARLY => by_holding(data, &layout, &mut z),
            false => None,
        };
        solution.velocities = scaled_velocities(data, &z);
        let gaps = data.kinematics(&solution.velocities).gaps;
        let depth = gaps.iter().map(|gap| -gap.distance).fold(0.0, f64::max);
        if let Some(held) = held.filter(|_| depth <= DEPTH * data.scales.velocity * data.dt) {
            let iterations = taken + outcome.iterations;
            let carrying = layout.used.iter().copied().zip(z[layout.impulses()..].iter().copied()).collect();
            return Ok(Solution { held, variables: z, carrying, friction: Vec::new(), iterations });
        }
        failure = Failure::NotConverged { iterations: taken, residual: outcome.residual.max(depth) };
        if settled {
            break;
        }
    }
    Err(failure)
}

/// Which equations hold at variables: all that are complementary to nothing, and of the pairs those whose variable is the larger one.
fn active(data: &StepData, layout: &Layout, z: &[f64]) -> Vec<bool> {
    let mut functions = Vec::new();
    evaluate(data, layout, z, &mut functions);
    let first = layout.impulses();
    (0..layout.size()).map(|i| i < first || z[i] > functions[i]).collect()
}

/// The solution near variables by Newton's method with what is 0 held at 0, and what does not hold changed: where a patch is about to
/// slip Fischer's function is curved within a small part of the way that is left, and its own directions lead nowhere.
fn by_holding(data: &StepData, layout: &Layout, z: &mut [f64]) -> Option<Held> {
    let limits = NewtonLimits { tolerance: RESIDUAL, iterations: FEW };
    let mut held = Held::Ellipsoids { active: active(data, layout, z), layout: layout.clone() };
    let mut functions = Vec::new();
    for _ in 0..CHANGES {
        if !solve_mixed(&HeldEquations { data, held: &held }, z, &limits).converged {
            return None;
        }
        evaluate(data, layout, z, &mut functions);
        let Held::Ellipsoids { active, .. } = &mut held else { return None };
        let fails = |&i: &usize| if active[i] { z[i] < -RESIDUAL } else { functions[i] < -RESIDUAL };
        let failing: Vec<usize> = (layout.impulses()..layout.size()).filter(fails).collect();
        if failing.is_empty() {
            return Some(held);
        }
        failing.into_iter().for_each(|i| active[i] = !active[i]);
    }
    None
}
