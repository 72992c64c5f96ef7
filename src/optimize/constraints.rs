//! Constraints on motions: quantities that have to stay within bounds, or to be reached at the end.
//!
//! They are kept by an augmented Lagrangian (Nocedal & Wright 2006, *Numerical optimization*, §17.3): with
//! c ≤ 0 or c = 0, a multiplier λ and a penalty ρ for each number, what is minimized beside the cost is
//!
//! > ρ/2 (c + λ/ρ)₊² or ρ/2 (c + λ/ρ)²,
//!
//! half of the squares of residuals √ρ (c + λ/ρ)₊, so that every solver for sums of squares takes it. The
//! multipliers then become ρ (c + λ/ρ)₊, and at the solution they are those of Karush, Kuhn and Tucker:
//! no constraint is hidden in a weight.

use nalgebra::Vector3;
use serde::{Deserialize, Serialize};

use crate::multibody::Model;
use crate::optimize::error::ProblemError;
use crate::optimize::objective::When;
use crate::rollout::{DifferentiableResiduals, Moment, Quantity, Reader, ResidualsIn};
use crate::scalar::Scalar;

/// The values that a constraint allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowed {
    /// Every component lies between these, in the quantity's unit; ±∞ without a bound. Where both are the same
    /// the component has that value. For a quantity of one number only the first component is used.
    Between {
        /// Lower bounds.
        lower: Vector3<f64>,
        /// Upper bounds.
        upper: Vector3<f64>,
    },
    /// The vector is not longer than this; positive.
    Length {
        /// The length, in the quantity's unit.
        most: f64,
    },
}

/// A constraint on a quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The quantity.
    pub quantity: Quantity,
    /// The values that it may have.
    pub allowed: Allowed,
    /// Whether it has to hold all the time, at the start of every step and at the end, or at the end only.
    /// Control values have none at the end.
    pub when: When,
    /// What violations are measured in, in the quantity's unit; positive. It makes penalties of different
    /// quantities alike, and is without influence on the solution.
    pub scale: f64,
    /// The violation that is allowed, in the quantity's unit; positive.
    pub tolerance: f64,
}

/// Whether a number c of a constraint is to be 0, or at most 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Equal,
    AtMost,
}

/// One number of a constraint: `sign` (component − bound) over the scale, or for lengths
/// (|x|² − bound²)/(2 bound) over it, which is the excess of the length near the bound and has no kink.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Number {
    constraint: usize,
    /// The component; `None` for the length.
    axis: Option<usize>,
    bound: f64,
    sign: f64,
    kind: Kind,
}

/// The constraints on motions of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Constraints {
    constraints: Vec<Constraint>,
    /// The numbers at the start of every step, and those at the end.
    running: Vec<Number>,
    end: Vec<Number>,
}

impl Constraints {
    /// The constraints on motions with this number of control values in each step.
    ///
    /// # Errors
    /// When a constraint does not match the model, a bound is NaN or above the other, or a scale, tolerance or
    /// length is not positive.
    pub fn new(model: &Model, controls: usize, constraints: Vec<Constraint>) -> Result<Self, ProblemError> {
        let (mut running, mut end) = (Vec::new(), Vec::new());
        for (index, constraint) in constraints.iter().enumerate() {
            let is_of_step = constraint.quantity.is_of_step();
            if is_of_step && constraint.when == When::End {
                return Err(ProblemError::ControlAtEnd);
            }
            constraint.quantity.check(model, controls)?;
            let numbers = numbers(index, constraint)?;
            if constraint.when == When::Running {
                running.extend_from_slice(&numbers);
            }
            if !is_of_step {
                end.extend(numbers);
            }
        }
        Ok(Self { constraints, running, end })
    }

    /// The constraints.
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// How many numbers there are over a motion of so many steps.
    pub fn count(&self, steps: usize) -> usize {
        steps * self.running.len() + self.end.len()
    }

    fn at_moment(&self, at_end: bool) -> &[Number] {
        if at_end { &self.end } else { &self.running }
    }

    /// Calls `visit` with each number at a moment, and its value c.
    fn for_each<T: Scalar>(
        &self,
        moment: &Moment<T>,
        at_end: bool,
        mut visit: impl FnMut(usize, &Number, T),
    ) {
        let mut reader = Reader::default();
        let mut last: Option<(usize, Vector3<T>)> = None;
        for (i, number) in self.at_moment(at_end).iter().enumerate() {
            let value = match last {
                Some((constraint, value)) if constraint == number.constraint => value,
                _ => self.constraints[number.constraint].quantity.value(moment, &mut reader),
            };
            last = Some((number.constraint, value));
            let scale = self.constraints[number.constraint].scale;
            let c = match number.axis {
                Some(axis) => (value[axis] - number.bound) * (number.sign / scale),
                None => (value.dot(&value) - number.bound * number.bound) * (0.5 / (number.bound * scale)),
            };
            visit(i, number, c);
        }
    }

    /// All numbers c over a motion, in order of time.
    pub fn values(&self, moments: &[Moment]) -> Vec<f64> {
        let mut values = Vec::new();
        for moment in moments {
            self.for_each(moment, moment.dt == 0.0, |_, _, c| values.push(c));
        }
        values
    }

    /// The numbers of a motion of so many steps, in order of time.
    fn all(&self, count: usize) -> impl Iterator<Item = &Number> {
        let running = count - self.end.len();
        self.running.iter().cycle().take(running).chain(&self.end)
    }

    /// For each constraint the largest violation over a motion, in its unit, from the numbers of [`Self::values`].
    pub fn violations(&self, values: &[f64]) -> Vec<f64> {
        let mut violations = vec![0.0_f64; self.constraints.len()];
        for (number, c) in self.all(values.len()).zip(values) {
            let scale = self.constraints[number.constraint].scale;
            let violation = match number.kind {
                Kind::Equal => c.abs(),
                Kind::AtMost => c.max(0.0),
            };
            let of = &mut violations[number.constraint];
            *of = of.max(violation * scale);
        }
        violations
    }
}

fn numbers(index: usize, constraint: &Constraint) -> Result<Vec<Number>, ProblemError> {
    let value = |field, value: f64, good: bool, allowed| {
        if good { Ok(()) } else { Err(ProblemError::ConstraintValue { index, field, value, allowed }) }
    };
    let positive = |field, x: f64| value(field, x, x > 0.0 && x.is_finite(), "positive and finite");
    positive("its scale", constraint.scale)?;
    positive("its tolerance", constraint.tolerance)?;
    let mut numbers = Vec::new();
    match constraint.allowed {
        Allowed::Length { most } => {
            positive("its length", most)?;
            let kind = Kind::AtMost;
            numbers.push(Number { constraint: index, axis: None, bound: most, sign: 1.0, kind });
        }
        Allowed::Between { lower, upper } => {
            for axis in 0..constraint.quantity.dimension() {
                let (lower, upper) = (lower[axis], upper[axis]);
                value("its lower bound", lower, lower < f64::INFINITY, "a number below ∞")?;
                value("its upper bound", upper, upper > f64::NEG_INFINITY, "a number above −∞")?;
                value("its lower bound", lower, lower <= upper, "not above the upper bound")?;
                let mut add = |bound: f64, sign, kind| {
                    if bound.is_finite() {
                        numbers.push(Number { constraint: index, axis: Some(axis), bound, sign, kind });
                    }
                };
                if lower == upper {
                    add(lower, 1.0, Kind::Equal);
                } else {
                    add(lower, -1.0, Kind::AtMost);
                    add(upper, 1.0, Kind::AtMost);
                }
            }
        }
    }
    if numbers.is_empty() {
        return Err(ProblemError::Unbounded { index });
    }
    Ok(numbers)
}

/// Multipliers and penalties of constraints: what an augmented Lagrangian is made with, and what changes from
/// one minimization of it to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Multipliers {
    /// A multiplier for each number of [`Constraints::values`].
    pub values: Vec<f64>,
    /// A penalty for each constraint.
    pub penalties: Vec<f64>,
}

/// The largest magnitude of multipliers that an augmented Lagrangian is made with: where there is no feasible
/// motion they would grow without end.
const LARGEST_MULTIPLIER: f64 = 1e12;

impl Multipliers {
    /// Multipliers of 0, and penalties that make the violations of a motion weigh as much as its cost
    /// (Birgin & Martínez 2014, *Practical augmented Lagrangian methods for constrained optimization*, §12.4).
    pub fn at_start(constraints: &Constraints, values: &[f64], cost: f64) -> Self {
        let squares: f64 = constraints
            .all(values.len())
            .zip(values)
            .map(|(number, &c)| {
                let violation = if number.kind == Kind::Equal { c } else { c.max(0.0) };
                violation * violation
            })
            .sum();
        let penalty = if squares > 0.0 { (2.0 * cost.abs() / squares).clamp(1e-6, 1e6) } else { 1.0 };
        Self { values: vec![0.0; values.len()], penalties: vec![penalty; constraints.constraints.len()] }
    }

    /// The multipliers that a minimum of the augmented Lagrangian at the numbers `values` makes.
    pub fn updated(&self, constraints: &Constraints, values: &[f64]) -> Vec<f64> {
        let numbers = constraints.all(values.len()).zip(values).zip(&self.values);
        let update = |((number, c), multiplier): ((&Number, &f64), &f64)| {
            let moved = multiplier + self.penalties[number.constraint] * c;
            match number.kind {
                Kind::Equal => moved.clamp(-LARGEST_MULTIPLIER, LARGEST_MULTIPLIER),
                Kind::AtMost => moved.clamp(0.0, LARGEST_MULTIPLIER),
            }
        };
        numbers.map(update).collect()
    }

    /// For each constraint the largest |min(λ, −c)| of its numbers that are to be at most 0, and the largest |c|
    /// of those that are to be 0, in its unit: how far it is from feasible and complementary.
    pub fn infeasibilities(&self, constraints: &Constraints, values: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0_f64; constraints.constraints.len()];
        for ((number, c), multiplier) in constraints.all(values.len()).zip(values).zip(&self.values) {
            let left = match number.kind {
                Kind::Equal => c.abs(),
                // The multiplier over the penalty is in the unit of c.
                Kind::AtMost => (multiplier / self.penalties[number.constraint]).min(-c).abs(),
            };
            let of = &mut all[number.constraint];
            *of = of.max(left * constraints.constraints[number.constraint].scale);
        }
        all
    }

    /// For each constraint the largest magnitude of its multipliers, in units of the cost over its own.
    pub fn largest(&self, constraints: &Constraints) -> Vec<f64> {
        let mut all = vec![0.0_f64; constraints.constraints.len()];
        for (number, multiplier) in constraints.all(self.values.len()).zip(&self.values) {
            let of = &mut all[number.constraint];
            *of = of.max(multiplier.abs() / constraints.constraints[number.constraint].scale);
        }
        all
    }
}

/// Residuals whose half sum of squares is an augmented Lagrangian: those of a cost and those of constraints.
#[derive(Clone, Copy, Debug)]
pub struct AugmentedLagrangian<'a> {
    /// The residuals of the cost.
    pub cost: &'a dyn DifferentiableResiduals,
    /// The constraints.
    pub constraints: &'a Constraints,
    /// Their multipliers and penalties.
    pub multipliers: &'a Multipliers,
}

impl AugmentedLagrangian<'_> {
    /// Appends the residuals of the constraints at a moment, whose numbers begin at `first`.
    fn add<T: Scalar>(&self, moment: &Moment<T>, at_end: bool, first: usize, residuals: &mut Vec<T>) {
        let Multipliers { values, penalties } = self.multipliers;
        self.constraints.for_each(moment, at_end, |i, number, c| {
            let penalty = penalties[number.constraint];
            let moved = c + values[first + i] / penalty;
            let counts = number.kind == Kind::Equal || moved.real() > 0.0;
            // (…)₊² has a continuous derivative where it begins.
            residuals.push(if counts { moved * penalty.sqrt() } else { T::from(0.0) });
        });
    }
}

impl<'a, T: Scalar> ResidualsIn<T> for AugmentedLagrangian<'a>
where
    dyn DifferentiableResiduals + 'a: ResidualsIn<T>,
{
    fn add_running(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        ResidualsIn::<T>::add_running(self.cost, moment, residuals);
        self.add(moment, false, moment.step * self.constraints.running.len(), residuals);
    }

    fn add_terminal(&self, moment: &Moment<T>, residuals: &mut Vec<T>) {
        ResidualsIn::<T>::add_terminal(self.cost, moment, residuals);
        self.add(moment, true, moment.step * self.constraints.running.len(), residuals);
    }
}
