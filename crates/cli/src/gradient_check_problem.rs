//! The derivatives of a problem's cost against differences, term by term: at an optimum those of terms cancel, and
//! differences of their sum would know few digits of what is left.

use std::path::{Path, PathBuf};

use nalgebra::DVector;

use super::optimized_problem::{failed, parts, problem, saved_variables};
use super::{Error, print_warnings};
use isobar::check::{
    CheckSettings, CheckedParameter, GradientReport, GradientWay, check_gradient, check_jacobian,
    compare_gradients, settle_small_terms, tightest_first,
};
use isobar::io::{OptimizedControl, ProblemFile};
use isobar::optimize::ensemble::Risk;
use isobar::optimize::trajectory::OptimizedProblem;
use isobar::parallel::in_parallel;

/// Directions in which the derivative in dual numbers is taken.
const DIRECTIONS: usize = 6;

/// Checks the gradient of a problem's cost, at the start and at the results and checkpoints that are given.
pub(super) fn check_problem(
    path: &Path,
    at: &[PathBuf],
    settings: &CheckSettings,
) -> Result<GradientReport, Error> {
    let mut file = ProblemFile::load(path)?;
    print_warnings(&file.scene.warnings);
    let digest = file.digest();
    solve_tightly(&mut file)?;
    let file = file;
    let problem = &*problem(&file)?;
    let failed = |error| failed(&file, error);
    let start = problem.shared_variables().from_values(file.whole_start());
    let parameters = checked_parameters(&file, problem);
    // Of other risks the members' weights depend on all terms.
    let is_mean = file.ensemble.as_ref().is_none_or(|ensemble| ensemble.task.risk == Risk::Mean);
    let mut all = GradientReport { allowed_undecided: settings.undecided, ..Default::default() };
    for (when, x) in points(start, at, &digest)? {
        let (_, gradient) = problem.cost_and_gradient_at(&x).map_err(failed)?;
        let name = format!("cost {when}");
        if !is_mean {
            let cost = |x: &[f64]| problem.cost_at(x);
            let checked =
                check_gradient(&name, &parameters, cost, &x, &gradient, settings).map_err(failed)?;
            all.rows.extend(checked.rows);
            continue;
        }
        let mut names = term_names(&file.cost_names, &when);
        let gradients = file.gradients_by_term(&x).map_err(failed)?;
        if gradients.len() > names.len() {
            names.push(format!("cost of time {when}"));
        }
        let parts = |x: &[f64]| {
            let parts = parts(&file, problem, x)?;
            Ok::<_, Error>(parts.into_iter().map(|part| vec![part]).collect())
        };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // For each variable the derivative of each term, which is one number.
        let of_variable = |i: usize| gradients.iter().map(|gradient| vec![gradient[i]]).collect();
        let jacobian: Vec<Vec<Vec<f64>>> = (0..x.len()).map(of_variable).collect();
        let mut checked = check_jacobian(&names, &parameters, parts, &x, &jacobian, settings)?;
        settle_small_terms(&mut checked.rows, names.len(), settings.tolerance);
        all.rows.extend(checked.rows);
        let ways = ways(&file, gradient, x).map_err(failed)?;
        compare_gradients(&name, &parameters, &gradients, &ways, &mut all);
    }
    Ok(all)
}

/// The start, and what a file holds of each other point, with how rows say where they are.
fn points(start: Vec<f64>, at: &[PathBuf], digest: &str) -> Result<Vec<(String, Vec<f64>)>, Error> {
    let count = start.len();
    let mut points = vec![("at the start".to_owned(), start)];
    for path in at {
        points.push((format!("at {}", path.display()), saved_variables(path, digest, count)?));
    }
    Ok(points)
}

/// What rows call each term; one by itself is the cost.
fn term_names(names: &[String], when: &str) -> Vec<String> {
    match names {
        [_] => vec![format!("cost {when}")],
        names => names.iter().map(|name| format!("cost of `{name}` {when}")).collect(),
    }
}

/// The gradient of the whole cost in the ways that optimizers make it; of commands alone also by the Jacobian of the
/// residuals, and in dual numbers along some directions.
fn ways(
    file: &ProblemFile,
    gradient: Vec<f64>,
    x: Vec<f64>,
) -> Result<Vec<GradientWay>, isobar::argmin::core::Error> {
    let way =
        |name: &str, derivatives, directions| GradientWay { name: name.to_owned(), derivatives, directions };
    let one_adjoint = way("one adjoint", gradient, None);
    if file.ensemble.is_some() {
        return Ok(vec![one_adjoint]);
    }
    let problem = file.problem()?;
    let residuals = DVector::from_vec(problem.residuals(&x)?);
    let by_jacobian = problem.jacobian(&x)?.tr_mul(&residuals);
    // Signs that have nothing to do with each other.
    let sign = |i: usize, k: usize| ((i * DIRECTIONS + k) as f64 * 0.618_033_988_749_895).fract() - 0.5;
    let directions: Vec<Vec<f64>> =
        (0..DIRECTIONS).map(|k| (0..x.len()).map(|i| 1f64.copysign(sign(i, k))).collect()).collect();
    let along = |direction: &Vec<f64>| {
        Ok::<f64, isobar::argmin::core::Error>(DVector::from_vec(problem.jvp(&x, direction)?).dot(&residuals))
    };
    let by_duals = in_parallel(&directions, along).into_iter().collect::<Result<Vec<f64>, _>>()?;
    Ok(vec![
        one_adjoint,
        way("Jacobian of the residuals", by_jacobian.as_slice().to_vec(), None),
        way("dual numbers", by_duals, Some(directions)),
    ])
}

/// The values of commands at knots, and all else that is optimized.
fn checked_parameters(file: &ProblemFile, problem: &dyn OptimizedProblem) -> Vec<CheckedParameter> {
    let parameter = |time: &f64, control: &OptimizedControl| CheckedParameter {
        name: format!("{} at {time:.6} s", control.name),
        unit: control.range.scale,
        scale: control.range.scale,
    };
    let knots = file.knots.times().iter();
    let at_knots = knots.flat_map(|time| file.controls.iter().map(move |control| parameter(time, control)));
    // The variable of a logarithm is one: steps of differences are relative to the parameter itself.
    let numbers = problem.shared_variables().numbers().map(|(name, range, log)| CheckedParameter {
        name: if log { format!("ln {name}") } else { name.to_owned() },
        unit: if log { 1.0 } else { range.scale },
        scale: if log { 1.0 } else { range.scale },
    });
    at_knots.chain(numbers).collect()
}

/// Lets implicit steps be solved as tightly as they can be at the start, so that differences of
/// the cost have little noise.
fn solve_tightly(file: &mut ProblemFile) -> Result<(), Error> {
    for method in tightest_first(file.simulation.integrator) {
        file.simulation.integrator = method;
        file.ensemble.iter_mut().for_each(|ensemble| ensemble.task.settings.integrator = method);
        let problem = problem(file)?;
        let start = problem.shared_variables().from_values(file.whole_start());
        if problem.cost_at(&start).is_ok() {
            break;
        }
    }
    Ok(())
}
