//! The methods that find the velocities after a step.

use super::data::StepData;
use super::equations::{Equations, FrictionLaw, Layout, evaluate, scaled_velocities};
use super::linear::{LinearSolution, LinearSolver, variables};
use super::{ComplementarityMethod, Failure};
use crate::linear_algebra::{NewtonLimits, solve_mixed};

/// What may be left of each equation, in parts of the scales.
pub(super) const RESIDUAL: f64 = 1e-11;
/// Changes of velocities at which an iteration of linear problems ends, in parts of the scale.
const LEAST_CHANGE: f64 = 1e-13;
/// Changes at which it has come to rounding where it does not get smaller.
const ROUNDING: f64 = 1e-10;
/// Linear problems of a step.
const LINEAR_ITERATIONS: usize = 200;
/// Those that go all the way, before an iteration that goes to and fro goes half of it.
const UNDAMPED: usize = 30;
/// Sweeps before the Newton iteration of an equivalent contact point, the first time.
const FIRST_SWEEPS: usize = 3;
/// A residual from which fewer contacts are tried.
const NEARLY: f64 = 1e-5;
/// How deep a contact that takes no part may be, in parts of velocity scale times step.
const DEPTH: f64 = 1e-9;

/// The solution of the equations of a step.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    pub layout: Layout,
    /// The variables of the layout.
    pub variables: Vec<f64>,
    /// For each complementary pair (and each impulse) whether its function is 0; its variable is otherwise.
    pub active: Vec<bool>,
    /// Iterations taken.
    pub iterations: usize,
}

/// Solves the equations of a step with its contacts.
pub(super) fn solve(
    method: ComplementarityMethod,
    data: &StepData,
    linear: &mut LinearSolver,
) -> Result<Solution, Failure> {
    let all = || (0..data.contacts.len()).collect();
    match method {
        ComplementarityMethod::Ecp => equivalent_point(data, linear),
        ComplementarityMethod::Lcp => {
            let layout = Layout::new(data, FrictionLaw::Polyhedral, all(), false);
            let (solution, iterations) = fixed_point(data, &layout, linear)?;
            let variables = variables(data, &layout, &solution);
            let active = basis_of(&layout, &solution);
            Ok(Solution { layout, variables, active, iterations })
        }
        ComplementarityMethod::Ncp => {
            let layout = Layout::new(data, FrictionLaw::Polyhedral, all(), false);
            let first = linear.cones(data, &layout, &data.free_velocities()).ok_or(Failure::Ray)?;
            let start = variables(data, &layout, &first);
            newton(data, layout, start, linear)
        }
        ComplementarityMethod::Bilateral => bilateral(data, linear),
    }
}

/// Hotz §2.2: a fixed point of linear problems.
fn fixed_point(
    data: &StepData,
    layout: &Layout,
    linear: &mut LinearSolver,
) -> Result<(LinearSolution, usize), Failure> {
    let mut velocities = data.free_velocities();
    let mut last = f64::INFINITY;
    for iteration in 1..=LINEAR_ITERATIONS {
        let solution = linear.cones(data, layout, &velocities).ok_or(Failure::Ray)?;
        let change = difference(data, &velocities, &solution.velocities);
        if change <= LEAST_CHANGE || (change <= ROUNDING && change >= last) {
            return Ok((solution, iteration));
        }
        last = change;
        if iteration < UNDAMPED {
            velocities.copy_from_slice(&solution.velocities);
        } else {
            velocities.iter_mut().zip(&solution.velocities).for_each(|(v, to)| *v = 0.5 * (*v + to));
        }
    }
    Err(Failure::NotConverged { iterations: LINEAR_ITERATIONS, residual: last })
}

/// How far velocities are from each other, in parts of the scale.
fn difference(data: &StepData, a: &[f64], b: &[f64]) -> f64 {
    let unit = |k: usize| if k % super::dynamics::BODY < 3 { data.scales.length } else { 1.0 };
    let parts = a.iter().zip(b).enumerate().map(|(k, (a, b))| (a - b).abs() * unit(k) / data.scales.velocity);
    parts.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
}

/// Hotz §2.1: the nonlinear problem by Fischer's function. Of many solutions for the impulses it takes the one that
/// the iteration comes to; which of them are independent says the linear problem at the solution.
fn newton(
    data: &StepData,
    layout: Layout,
    mut z: Vec<f64>,
    linear: &mut LinearSolver,
) -> Result<Solution, Failure> {
    let limits = NewtonLimits { tolerance: RESIDUAL, iterations: 200 };
    let outcome = solve_mixed(&Equations { data, layout: &layout }, &mut z, &limits);
    let failed = Failure::NotConverged { iterations: outcome.iterations, residual: outcome.residual };
    if !outcome.converged && outcome.residual > NEARLY {
        return Err(failed);
    }
    if !outcome.converged {
        // Near one of very many solutions convergence is slow: the contacts that are independent alone.
        let velocities = scaled_velocities(data, &z);
        let near = linear.cones(data, &layout, &velocities).ok_or(failed)?;
        let carrying = layout.used.iter().zip(&near.basic_impulses).filter(|(_, basic)| **basic);
        let used: Vec<usize> = carrying.map(|(&k, _)| k).collect();
        if used.len() == layout.used.len() {
            return Err(failed);
        }
        let fewer = Layout::new(data, FrictionLaw::Polyhedral, used, false);
        let start = linear.cones(data, &fewer, &velocities).ok_or(failed)?;
        let start = variables(data, &fewer, &start);
        let solution = newton(data, fewer, start, linear)?;
        let gaps = data.kinematics(&scaled_velocities(data, &solution.variables)).gaps;
        let deep = gaps.iter().any(|gap| gap.distance < -DEPTH * data.scales.velocity * data.dt);
        return if deep { Err(failed) } else { Ok(solution) };
    }
    let velocities = scaled_velocities(data, &z);
    let at_solution = linear.cones(data, &layout, &velocities).ok_or(Failure::Ray)?;
    let active = basis_of(&layout, &at_solution);
    // The same velocities with impulses that are independent.
    let mut independent = variables(data, &layout, &at_solution);
    independent[..layout.velocities].copy_from_slice(&z[..layout.velocities]);
    Ok(Solution { layout, variables: independent, active, iterations: outcome.iterations })
}

/// Hotz §2.1: all contacts that would be closed are bilateral; those that pull are released, until none does.
fn bilateral(data: &StepData, linear: &mut LinearSolver) -> Result<Solution, Failure> {
    let free = data.free_velocities();
    let closed = |distance: f64| distance <= DEPTH * data.scales.velocity * data.dt;
    let gaps = data.kinematics(&free).gaps;
    let mut used: Vec<usize> = (0..gaps.len()).filter(|&k| closed(gaps[k].distance)).collect();
    let limits = NewtonLimits { tolerance: RESIDUAL, iterations: 200 };
    let mut iterations = 0;
    loop {
        let layout = Layout::new(data, FrictionLaw::Polyhedral, used.clone(), true);
        let start = LinearSolution {
            velocities: free.clone(),
            impulses: vec![0.0; layout.used.len()],
            cones: vec![([0.0; super::equations::DIRECTIONS], 0.0); layout.frictional.len()],
            ..LinearSolution::default()
        };
        let mut z = variables(data, &layout, &start);
        let outcome = solve_mixed(&Equations { data, layout: &layout }, &mut z, &limits);
        iterations += outcome.iterations;
        if !outcome.converged {
            return Err(Failure::NotConverged { iterations, residual: outcome.residual });
        }
        let impulses = &z[layout.impulses()..layout.multipliers()];
        let pulling = |i: &usize| impulses[*i] < -1e3 * RESIDUAL;
        let released: Vec<usize> = (0..used.len()).filter(pulling).collect();
        if released.is_empty() {
            let velocities = scaled_velocities(data, &z);
            let at_solution = linear.cones(data, &layout, &velocities).ok_or(Failure::Ray)?;
            let active = basis_of(&layout, &at_solution);
            let mut independent = variables(data, &layout, &at_solution);
            independent[..layout.velocities].copy_from_slice(&z[..layout.velocities]);
            return Ok(Solution { layout, variables: independent, active, iterations });
        }
        let mut index = 0;
        used.retain(|_| {
            index += 1;
            !released.contains(&(index - 1))
        });
    }
}

/// Which functions are 0, by the basis of a linear solution.
fn basis_of(layout: &Layout, solution: &LinearSolution) -> Vec<bool> {
    let mut active = vec![true; layout.impulses()];
    active.extend(&solution.basic_impulses);
    active.extend(solution.basic_cones.iter().flat_map(|(beta, _)| beta));
    active.extend(solution.basic_cones.iter().map(|(_, lambda)| lambda));
    active
}

/// Xie and Chakraborty's equations: sweeps find which contacts carry, a semismooth Newton method does the rest. Where it
/// stalls, more sweeps.
fn equivalent_point(data: &StepData, linear: &mut LinearSolver) -> Result<Solution, Failure> {
    linear.forget_friction(data);
    let limits = NewtonLimits { tolerance: RESIDUAL, iterations: 30 };
    let mut velocities = data.free_velocities();
    let mut failure = Failure::Ray;
    let (mut taken, mut next, mut last) = (0, FIRST_SWEEPS, f64::INFINITY);
    while taken < LINEAR_ITERATIONS {
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
        let layout = Layout::new(data, FrictionLaw::Ellipsoid, used, false);
        let mut z = variables(data, &layout, &solution);
        let outcome = solve_mixed(&Equations { data, layout: &layout }, &mut z, &limits);
        solution.velocities = scaled_velocities(data, &z);
        let gaps = data.kinematics(&solution.velocities).gaps;
        let depth = gaps.iter().map(|gap| -gap.distance).fold(0.0, f64::max);
        if outcome.converged && depth <= DEPTH * data.scales.velocity * data.dt {
            let mut functions = Vec::new();
            evaluate(data, &layout, &z, &mut functions);
            let mut active = vec![true; layout.impulses()];
            active.extend((layout.impulses()..layout.size()).map(|i| z[i] > functions[i]));
            let iterations = taken + outcome.iterations;
            return Ok(Solution { layout, variables: z, active, iterations });
        }
        failure = Failure::NotConverged { iterations: taken, residual: outcome.residual.max(depth) };
        if settled {
            break;
        }
    }
    Err(failure)
}
