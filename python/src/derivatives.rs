//! Between derivatives by the numbers of a state and those in its tangent space.

use isobar::io::state_numbers;
use isobar::multibody::{DIRECTIONS, Model, State};
use isobar::rollout::{DifferentiableLoss, LossWorkspace, Moment, MomentGradient, TrajectoryResiduals};
use isobar::scalar::{DualArray, Scalar};

/// The derivatives in the tangent space of a state (see [`State::moved`]) of what has these derivatives by its numbers.
pub fn in_tangent_space(model: &Model, state: &State, by_numbers: &[f64]) -> Vec<f64> {
    type Dual = DualArray<DIRECTIONS>;
    let mut by_tangent = vec![0.0; state.tangent_dimension()];
    if by_numbers.iter().all(|by| *by == 0.0) {
        return by_tangent;
    }
    let lifted = State::<Dual>::lift(state);
    let constant = Dual::from(0.0);
    for (chunk, by) in by_tangent.chunks_mut(DIRECTIONS).enumerate() {
        let mut tangent = vec![constant; state.tangent_dimension()];
        let seeds = tangent.iter_mut().skip(chunk * DIRECTIONS).take(by.len());
        seeds.enumerate().for_each(|(k, seed)| *seed = Dual::variable(0.0, k));
        let numbers = state_numbers(model, &lifted.moved(&tangent));
        for (k, by) in by.iter_mut().enumerate() {
            *by = numbers.iter().zip(by_numbers).map(|(number, weight)| number.eps[k] * weight).sum();
        }
    }
    by_tangent
}

/// A loss that is known by its derivatives with respect to the state at every time, in the states' tangent spaces.
pub struct Cotangents(pub Vec<Vec<f64>>);

impl Cotangents {
    fn add(&self, moment: &Moment, by: &mut MomentGradient) -> f64 {
        let of_state = self.0.get(moment.step).into_iter().flatten();
        by.state.iter_mut().zip(of_state).for_each(|(sum, by)| *sum += by);
        0.0
    }
}

impl DifferentiableLoss for Cotangents {
    fn add_running(&self, moment: &Moment, by: &mut MomentGradient, _: &mut LossWorkspace) -> f64 {
        self.add(moment, by)
    }

    fn add_terminal(&self, moment: &Moment, by: &mut MomentGradient, _: &mut LossWorkspace) -> f64 {
        self.add(moment, by)
    }
}

/// Residuals that are linear in the numbers of the last states.
pub struct LinearResiduals<'a> {
    pub model: &'a Model,
    /// The first state that has some.
    pub first: usize,
    /// Of each state a row for each of them.
    pub rows: Vec<f64>,
    /// How many numbers the rows of one state have.
    pub size: usize,
}

impl TrajectoryResiduals for LinearResiduals<'_> {
    fn running<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        let Some(at) = moment.step.checked_sub(self.first) else { return };
        let numbers = state_numbers(self.model, moment.state);
        let rows = self.rows[at * self.size..][..self.size].chunks_exact(numbers.len().max(1));
        let sum = |row: &[f64]| numbers.iter().zip(row).fold(T::from(0.0), |sum, (&x, &by)| sum + x * by);
        residuals.extend(rows.map(sum));
    }

    fn terminal<T: Scalar>(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        self.running(moment, residuals);
    }
}
