//! The state at the start of a window, estimated along with the parameters.
//!
//! A recorded state is not exact. A window that begins at it as recorded is compared with a motion of a slightly
//! other start, and the parameters take up the difference: with 1 mm and 2 cm/s of noise a modulus can come out
//! many standard errors off. So the start x of each window is unknown as well, and its recorded value is one more
//! measurement of it, with its own standard deviations. For given parameters θ it is where
//! ½‖r(θ, x)‖² is least, with r the residuals of the whole window, its start included. This file looks for it;
//! [`super::linear_window`] follows it from there as the parameters change.

use nalgebra::{DMatrix, DVector};

use crate::multibody::State;

/// A window's residuals, those of its start first, and their derivatives.
#[derive(Clone, Debug)]
pub(super) struct WindowSystem {
    pub residuals: DVector<f64>,
    /// How many of them, the first, are those of the start itself.
    pub of_start: usize,
    /// With respect to the state at the start, along those directions of its tangent space that are estimated.
    pub by_start: DMatrix<f64>,
    /// These directions.
    pub directions: Vec<usize>,
    pub by_parameters: DMatrix<f64>,
    /// Whether the last step that it promises for the start did not lower the cost: the residuals have a kink there.
    pub is_stuck: bool,
}

/// A state moved along some directions of its tangent space.
pub(super) fn moved_along(state: &State, directions: &[usize], step: &DVector<f64>) -> State {
    let mut tangent = vec![0.0; state.tangent_dimension()];
    directions.iter().zip(step.iter()).for_each(|(&direction, x)| tangent[direction] = *x);
    state.moved(&tangent)
}

/// Most steps of the first search for a start, ...
pub(super) const MOST_STEPS: usize = 30;
/// ... and of one that goes on from what a fit expects: that goes on with the fit.
pub(super) const MOST_FURTHER_STEPS: usize = 4;
/// The search ends where a step promises to lower the cost by less than this part of it. The steps of a fit expect
/// starts ever better as it converges ([`super::linear_window`]), so that in the end no search is needed.
pub(super) const TOLERANCE: f64 = 1e-3;
/// Or by less than that: residuals are in standard deviations.
const NEGLIGIBLE: f64 = 1e-14;
/// Damping after a step that was refused, and how it grows and falls. Relative to the squared lengths of columns.
const FIRST_DAMPING: f64 = 1e-3;
const DAMPING_FACTOR: f64 = 10.0;
const LARGEST_DAMPING: f64 = 1e8;

impl WindowSystem {
    fn cost(&self) -> f64 {
        0.5 * self.residuals.norm_squared()
    }

    /// The damped Gauss–Newton step of the start, and by how much it lowers the cost of the linear problem.
    fn step(&self, damping: f64) -> (DVector<f64>, f64) {
        let (rows, n) = self.by_start.shape();
        let mut matrix = DMatrix::zeros(rows + n, n);
        matrix.rows_mut(0, rows).copy_from(&self.by_start);
        for (k, column) in self.by_start.column_iter().enumerate() {
            matrix[(rows + k, k)] = damping.sqrt() * column.norm();
        }
        let mut right = DVector::zeros(rows + n);
        right.rows_mut(0, rows).copy_from(&-&self.residuals);
        let qr = matrix.qr();
        qr.q_tr_mul(&mut right);
        // The start's own residuals give its columns full rank.
        let step = qr.r().solve_upper_triangular(&right.rows(0, n).into_owned());
        let step = step.unwrap_or_else(|| DVector::zeros(n));
        let left = &self.residuals + &self.by_start * &step;
        let lowered = self.cost() - 0.5 * left.norm_squared();
        (step, lowered)
    }
}

/// Finds the start of a window that explains its measurements best, from a first guess, with the window's system
/// there. `evaluate` is the window at a start; the search ends where a step promises to lower the cost by less than
/// `tolerance` times the cost, or after `most` steps.
///
/// # Errors
/// When the window cannot be evaluated at the first guess.
pub(super) fn estimate<E>(
    guess: State,
    (tolerance, most): (f64, usize),
    mut evaluate: impl FnMut(&State) -> Result<WindowSystem, E>,
) -> Result<(State, WindowSystem), E> {
    let mut state = guess;
    let mut system = evaluate(&state)?;
    let mut damping = 0.0;
    for _ in 0..most {
        let (step, lowered) = system.step(damping);
        // False for NaN.
        let worth_it = lowered > tolerance * system.cost() + NEGLIGIBLE;
        if !worth_it {
            break;
        }
        let trial = moved_along(&state, &system.directions, &step);
        match evaluate(&trial) {
            Ok(next) if next.cost() < system.cost() => {
                (state, system) = (trial, next);
                damping = if damping > FIRST_DAMPING { damping / DAMPING_FACTOR } else { 0.0 };
            }
            // A start from which nothing can be simulated is too far away.
            _ => damping = (damping * DAMPING_FACTOR).max(FIRST_DAMPING),
        }
        if damping > LARGEST_DAMPING {
            break;
        }
    }
    system.is_stuck = damping > 0.0;
    Ok((state, system))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multibody::BodyState;
    use crate::optimize::identification::linear_window::LinearWindow;
    use crate::spatial::RigidTransform;
    use approx::assert_relative_eq;

    /// Residuals that depend on start and one parameter without being linear in them.
    fn system(start: &State, parameter: f64) -> WindowSystem {
        let origin = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::identity())]);
        let x = origin.difference(start);
        let number = |k: usize| x[k] + 0.1 * x[(k + 5) % 12] * x[k] + 0.05 * (k as f64 + 1.0);
        let mut residuals: Vec<f64> = (0..12).map(number).collect();
        residuals.extend((0..8).map(|k| parameter * x[k] + parameter.sin() - 0.3 * k as f64 * x[k + 3]));
        let mut by_start = DMatrix::zeros(20, 12);
        for k in 0..12 {
            by_start[(k, k)] += 1.0 + 0.1 * x[(k + 5) % 12];
            by_start[(k, (k + 5) % 12)] += 0.1 * x[k];
        }
        for k in 0..8 {
            by_start[(12 + k, k)] += parameter;
            by_start[(12 + k, k + 3)] -= 0.3 * k as f64;
        }
        let by = |row: usize| if row < 12 { 0.0 } else { x[row - 12] + parameter.cos() };
        WindowSystem {
            of_start: 0,
            residuals: DVector::from_vec(residuals),
            by_start,
            directions: (0..12).collect(),
            by_parameters: DMatrix::from_fn(20, 1, |row, _| by(row)),
            is_stuck: false,
        }
    }

    fn least(parameter: f64) -> (State, WindowSystem) {
        let origin = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::identity())]);
        estimate(origin, (1e-10, MOST_STEPS), |state| Ok::<_, ()>(system(state, parameter))).unwrap()
    }

    #[test]
    fn what_is_left_has_the_gradient_of_the_least_cost() {
        let (state, at) = least(0.8);
        // At the least nothing can be gained by another start.
        assert!(at.by_start.tr_mul(&at.residuals).norm() < 1e-4 * at.residuals.norm());
        let (by_start, expected) = (at.by_start.clone(), at.residuals.clone());
        let by_parameter = at.by_parameters.clone();
        let window = LinearWindow::new(state, at, by_parameter);
        let (residuals, by_parameter) = (window.residuals(), window.projected_jacobian());
        assert_eq!(*residuals, expected);
        assert!(by_start.tr_mul(&by_parameter).norm() < 1e-12);
        let h = 1e-4;
        let difference = (least(0.8 + h).1.cost() - least(0.8 - h).1.cost()) / (2.0 * h);
        assert_relative_eq!(by_parameter.dot(residuals), difference, max_relative = 1e-5);
        // At the start that is expected for another parameter, what is left is right to second order.
        let off = |change: f64| {
            let start = window.start_at(&DVector::from_element(1, change));
            let (system, (_, at)) = (system(&start, 0.8 + change), least(0.8 + change));
            let by_parameters = system.by_parameters.clone();
            let left = LinearWindow::new(start, system, by_parameters).residuals().clone();
            (0.5 * left.norm_squared() - at.cost()).abs()
        };
        let (coarse, fine) = (off(2e-2), off(1e-2));
        assert!(fine < 0.3 * coarse && coarse < 1e-2, "{coarse} {fine}");
    }

    #[test]
    fn a_start_that_cannot_be_evaluated_is_not_gone_to() {
        let origin = State::of_bodies(vec![BodyState::at_rest(&RigidTransform::identity())]);
        let far = |state: &State| state.bodies[0].position.norm() > 0.12;
        let found = estimate(origin.clone(), (1e-10, MOST_STEPS), |state| match far(state) {
            true => Err("too far"),
            false => Ok(system(state, 0.8)),
        });
        let (state, at) = found.unwrap();
        assert!(at.cost() < system(&origin, 0.8).cost() && !far(&state));
        assert_eq!(
            estimate(origin, (1e-10, MOST_STEPS), |_| Err::<WindowSystem, _>("never")).unwrap_err(),
            "never"
        );
    }
}
