//! A least-squares problem over named parameters, in the forms that argmin's solvers take.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use argmin::core::{CostFunction, Error, Gradient, Jacobian, Operator};
use nalgebra::{DMatrix, DVector};

use super::parameters::FitParameters;
use crate::scalar::{CHUNK, DualArray, Scalar};
use crate::step::Substep;

/// The substeps that the error-controlled steps behind residuals had: for each stretch that is simulated by
/// itself, those of each of its steps.
///
/// The lengths of substeps jump, by little, as parameters change, and the residuals with them, by as much as the
/// accuracy of the steps. With substeps that are held they are as smooth as those of steps of fixed length, so
/// that a minimum can be found to many digits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldSubsteps {
    /// For each stretch those of each step.
    pub stretches: Vec<Vec<Vec<Substep>>>,
}

impl HeldSubsteps {
    /// Whether there are none: the error of no step is controlled.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }
}

/// Residuals and their derivative with respect to the parameters (m × n).
pub type LinearResiduals = (Vec<f64>, DMatrix<f64>);

/// Residuals as a function of physical parameters, written once for every scalar.
pub trait Residuals {
    /// The residuals (model minus measurement, over the standard deviation where it is known):
    /// their number must not depend on the parameters.
    ///
    /// # Errors
    /// Whatever keeps the model from being evaluated at these parameters.
    fn residuals<T: Scalar>(&self, parameters: &[T]) -> Result<Vec<T>, Error>;

    /// The substeps of the error-controlled steps behind the residuals at these parameters; none, as here,
    /// unless there are such steps.
    ///
    /// # Errors
    /// Those of the residuals.
    fn find_substeps(&self, parameters: &[f64]) -> Result<HeldSubsteps, Error> {
        let _ = parameters;
        Ok(HeldSubsteps::default())
    }

    /// The residuals with substeps that were found before, perhaps at other parameters.
    ///
    /// # Errors
    /// Those of the residuals.
    fn residuals_holding<T: Scalar>(
        &self,
        parameters: &[T],
        substeps: &HeldSubsteps,
    ) -> Result<Vec<T>, Error> {
        let _ = substeps;
        self.residuals(parameters)
    }

    /// What a fit makes least: the residuals, unless the model has unknowns of its own, which it finds for each
    /// value of the parameters (the states at the starts of motions that were measured with errors). Then it is
    /// the residuals with the best of these.
    ///
    /// # Errors
    /// Those of the residuals.
    fn minimized(&self, parameters: &[f64], substeps: Option<&HeldSubsteps>) -> Result<Vec<f64>, Error> {
        residuals_of(self, parameters, substeps)
    }

    /// The same, with its derivative with respect to the parameters (m × n); by forward mode, unless the model
    /// knows better. Where it has unknowns of its own, the part of the derivative at right angles to all changes that
    /// these can make.
    ///
    /// # Errors
    /// Those of the residuals.
    fn minimized_with_jacobian(
        &self,
        parameters: &[f64],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<LinearResiduals, Error> {
        residuals_and_jacobian_holding(self, parameters, substeps)
    }

    /// A problem with the same parameters whose solution is nearby and easier to find from far away; none, as here,
    /// unless the model knows one. A fit looks for that first.
    fn eased(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// The same problem with motions that are simulated less finely, for what need not be known to many digits; none, as here,
    /// unless the model has some.
    fn rougher(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Whether the derivative of what a fit makes least costs several times what that itself costs; no, as here, unless
    /// the model says so. The method of Levenberg and Marquardt then makes fewer of them
    /// ([`with_secant_updates`](super::levenberg_marquardt::LevenbergMarquardt::with_secant_updates)).
    fn has_costly_jacobian(&self) -> bool {
        false
    }

    /// Whether a parameter, by its place, can be no negative number, also where no bound says so (default: no).
    fn is_never_negative(&self, index: usize) -> bool {
        let _ = index;
        false
    }

    /// How many unknowns of its own the model finds: so many residuals fewer say something about the parameters.
    fn eliminated(&self) -> usize {
        0
    }

    /// The model's own unknowns as they were found last, and all else that the next ones depend on, in any form that
    /// [`Self::start_from`] takes; none, as here, unless the model has some.
    fn unknowns(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Goes on with the model's own unknowns from those that [`Self::unknowns`] told, which were found with these
    /// substeps. Whether they are of this model; if not, nothing changes.
    fn start_from(&self, unknowns: &[f64], substeps: Option<&HeldSubsteps>) -> bool {
        let _ = substeps;
        unknowns.is_empty()
    }

    /// The same as [`Self::minimized_with_jacobian`] with something finer, to see how far estimates depend on it; `None`
    /// of a model without.
    fn minimized_with_finer(
        &self,
        what: Finer,
        parameters: &[f64],
    ) -> Option<Result<LinearResiduals, Error>> {
        let _ = (what, parameters);
        None
    }
}

/// What simulations that measurements are compared with may have finer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finer {
    /// Time steps: half of them, or a tenth of their error.
    Steps,
    /// The quadrature of contact surfaces: a higher order.
    Quadrature,
}

/// What a fit asks of [`Residuals`], for `f64` alone: solvers and fits are compiled once for all models.
pub(super) trait FittedModel {
    /// See [`Residuals::residuals`].
    fn residuals(&self, parameters: &[f64]) -> Result<Vec<f64>, Error>;
    /// See [`Residuals::find_substeps`].
    fn find_substeps(&self, parameters: &[f64]) -> Result<HeldSubsteps, Error>;
    /// See [`Residuals::minimized`].
    fn minimized(&self, parameters: &[f64], substeps: Option<&HeldSubsteps>) -> Result<Vec<f64>, Error>;
    /// See [`Residuals::minimized_with_jacobian`].
    fn minimized_with_jacobian(
        &self,
        parameters: &[f64],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<LinearResiduals, Error>;
    /// See [`Residuals::eased`].
    fn eased(&self) -> Option<Box<dyn FittedModel + '_>>;
    /// See [`Residuals::has_costly_jacobian`].
    fn has_costly_jacobian(&self) -> bool;
    /// See [`Residuals::is_never_negative`].
    fn is_never_negative(&self, index: usize) -> bool;
    /// See [`Residuals::eliminated`].
    fn eliminated(&self) -> usize;
    /// See [`Residuals::unknowns`].
    fn unknowns(&self) -> Vec<f64>;
    /// See [`Residuals::start_from`].
    fn start_from(&self, unknowns: &[f64], substeps: Option<&HeldSubsteps>) -> bool;
    /// See [`Residuals::minimized_with_finer`].
    fn minimized_with_finer(&self, what: Finer, parameters: &[f64])
    -> Option<Result<LinearResiduals, Error>>;
}

impl<R: Residuals> FittedModel for R {
    fn residuals(&self, parameters: &[f64]) -> Result<Vec<f64>, Error> {
        Residuals::residuals(self, parameters)
    }

    fn find_substeps(&self, parameters: &[f64]) -> Result<HeldSubsteps, Error> {
        Residuals::find_substeps(self, parameters)
    }

    fn minimized(&self, parameters: &[f64], substeps: Option<&HeldSubsteps>) -> Result<Vec<f64>, Error> {
        Residuals::minimized(self, parameters, substeps)
    }

    fn minimized_with_jacobian(
        &self,
        parameters: &[f64],
        substeps: Option<&HeldSubsteps>,
    ) -> Result<LinearResiduals, Error> {
        Residuals::minimized_with_jacobian(self, parameters, substeps)
    }

    fn eased(&self) -> Option<Box<dyn FittedModel + '_>> {
        Some(Box::new(Residuals::eased(self)?))
    }

    fn has_costly_jacobian(&self) -> bool {
        Residuals::has_costly_jacobian(self)
    }

    fn is_never_negative(&self, index: usize) -> bool {
        Residuals::is_never_negative(self, index)
    }

    fn eliminated(&self) -> usize {
        Residuals::eliminated(self)
    }

    fn unknowns(&self) -> Vec<f64> {
        Residuals::unknowns(self)
    }

    fn start_from(&self, unknowns: &[f64], substeps: Option<&HeldSubsteps>) -> bool {
        Residuals::start_from(self, unknowns, substeps)
    }

    fn minimized_with_finer(
        &self,
        what: Finer,
        parameters: &[f64],
    ) -> Option<Result<LinearResiduals, Error>> {
        Residuals::minimized_with_finer(self, what, parameters)
    }
}

/// The cost, ½‖r‖².
pub(super) fn half_square(residuals: &[f64]) -> f64 {
    0.5 * residuals.iter().map(|r| r * r).sum::<f64>()
}

/// The derivative of residuals with respect to physical parameters (m × n), by forward mode,
/// a few parameters a pass; and the residuals themselves.
///
/// # Errors
/// Those of the residuals.
pub fn residuals_and_jacobian<R: Residuals>(model: &R, parameters: &[f64]) -> Result<LinearResiduals, Error> {
    residuals_and_jacobian_holding(model, parameters, None)
}

/// Residuals, with substeps that are held where there are any.
fn residuals_of<R: Residuals + ?Sized, T: Scalar>(
    model: &R,
    parameters: &[T],
    substeps: Option<&HeldSubsteps>,
) -> Result<Vec<T>, Error> {
    match substeps {
        Some(substeps) => model.residuals_holding(parameters, substeps),
        None => model.residuals(parameters),
    }
}

/// The same as [`residuals_and_jacobian`], with substeps that are held where there are any.
#[doc(hidden)]
pub fn residuals_and_jacobian_holding<R: Residuals + ?Sized>(
    model: &R,
    parameters: &[f64],
    substeps: Option<&HeldSubsteps>,
) -> Result<LinearResiduals, Error> {
    type Dual = DualArray<CHUNK>;
    let n = parameters.len();
    let mut values = Vec::new();
    let mut jacobian = DMatrix::zeros(0, n);
    for start in (0..n).step_by(CHUNK) {
        let seeded: Vec<Dual> = (0..n)
            .map(|i| {
                let is_variable = (start..start + CHUNK).contains(&i);
                let x = parameters[i];
                if is_variable { Dual::variable(x, i - start) } else { Dual::constant(x) }
            })
            .collect();
        let residuals = residuals_of(model, &seeded, substeps)?;
        if start == 0 {
            jacobian = DMatrix::zeros(residuals.len(), n);
            values = residuals.iter().map(|r| r.re).collect();
        }
        if residuals.len() != values.len() {
            return Err(Error::msg("the number of residuals changed between two evaluations"));
        }
        for (row, residual) in residuals.iter().enumerate() {
            for i in start..n.min(start + CHUNK) {
                jacobian[(row, i)] = residual.eps[i - start];
            }
        }
    }
    Ok((values, jacobian))
}

/// The last linearization of a model whose Jacobian is costly: what a fit ends at need not be linearized again.
#[derive(Debug, Default)]
pub(super) struct LastLinearization(Mutex<Option<Linearization>>);

/// Values of the parameters, the substeps that were held, and the residuals there.
#[derive(Debug)]
struct Linearization {
    values: Vec<f64>,
    substeps: Option<HeldSubsteps>,
    residuals: LinearResiduals,
}

/// The problem min ½‖r(p(x))‖², where x are the optimizer's variables (see
/// [`FitParameters::variables`]). What is known of parameters from elsewhere ([`super::parameters::Prior`]) are further
/// residuals, after those of the model.
///
/// Implements argmin's [`Operator`] and [`Jacobian`] (for
/// [`LevenbergMarquardt`](super::levenberg_marquardt::LevenbergMarquardt)) and its
/// [`CostFunction`] and [`Gradient`] (for [`Lbfgsb`](super::lbfgsb::Lbfgsb) and other methods of
/// descent). Copies share the model.
#[derive(Clone, Copy)]
pub struct LeastSquares<'a> {
    model: &'a dyn FittedModel,
    parameters: &'a FitParameters,
    substeps: Option<&'a HeldSubsteps>,
    unknowns: Option<&'a Mutex<Vec<f64>>>,
    last: Option<&'a LastLinearization>,
}

impl fmt::Debug for LeastSquares<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeastSquares").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

impl<'a> LeastSquares<'a> {
    /// The problem of fitting `parameters` of `model`.
    pub fn new<R: Residuals>(model: &'a R, parameters: &'a FitParameters) -> Self {
        Self::of(model, parameters)
    }

    /// The same for any model.
    pub(super) fn of(model: &'a dyn FittedModel, parameters: &'a FitParameters) -> Self {
        Self { model, parameters, substeps: None, unknowns: None, last: None }
    }

    /// The same problem with error-controlled steps that have these substeps, whatever the parameters.
    #[must_use]
    pub fn holding(self, substeps: &'a HeldSubsteps) -> Self {
        Self { substeps: Some(substeps), ..self }
    }

    pub(super) fn is_holding(&self) -> bool {
        self.substeps.is_some()
    }

    /// The same problem that writes down the model's own unknowns whenever it was differentiated, which is when they change.
    pub(super) fn telling(self, unknowns: Option<&'a Mutex<Vec<f64>>>) -> Self {
        Self { unknowns, ..self }
    }

    /// The same problem that remembers its last linearization there.
    pub(super) fn remembering(self, last: &'a LastLinearization) -> Self {
        Self { last: Some(last), ..self }
    }

    pub(super) fn parameters(&self) -> &'a FitParameters {
        self.parameters
    }

    fn physical(&self, x: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        Ok(self.parameters.values(x)?.into_iter().unzip())
    }

    /// Residuals, with those of priors, at values of the parameters.
    pub(super) fn residuals_at(&self, values: &[f64]) -> Result<Vec<f64>, Error> {
        let mut residuals = self.model.minimized(values, self.substeps)?;
        residuals.extend(self.parameters.prior_residuals(values).map(|(_, residual, _)| residual));
        Ok(residuals)
    }

    /// The same, with their derivative with respect to the values.
    pub(super) fn linear_residuals_at(&self, values: &[f64]) -> Result<LinearResiduals, Error> {
        // Where the model finds unknowns of its own, it may find better ones the second time.
        let last = self.last.filter(|_| self.has_costly_jacobian());
        // Nothing is locked while the model is evaluated, which other threads may take part in.
        let locked = |last: &'a LastLinearization| last.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last
            && let Some(known) = &*locked(last)
            && known.values == values
            && known.substeps.as_ref() == self.substeps
        {
            return Ok(known.residuals.clone());
        }
        let residuals = self.with_priors(self.model.minimized_with_jacobian(values, self.substeps)?, values);
        if let Some(last) = last {
            let (values, substeps) = (values.to_vec(), self.substeps.cloned());
            *locked(last) = Some(Linearization { values, substeps, residuals: residuals.clone() });
        }
        Ok(residuals)
    }

    /// Residuals of the model with those of priors after them.
    pub(super) fn with_priors(
        &self,
        (mut residuals, jacobian): LinearResiduals,
        values: &[f64],
    ) -> LinearResiduals {
        let rows = residuals.len();
        let priors: Vec<_> = self.parameters.prior_residuals(values).collect();
        if priors.is_empty() {
            return (residuals, jacobian);
        }
        let mut jacobian = jacobian.resize_vertically(rows + priors.len(), 0.0);
        for (row, (column, residual, slope)) in (rows..).zip(priors) {
            residuals.push(residual);
            jacobian[(row, column)] = slope;
        }
        (residuals, jacobian)
    }

    /// Residuals, and their derivative with respect to the variables (m × n).
    ///
    /// # Errors
    /// Those of the model, or a wrong number of variables.
    pub fn residuals_and_jacobian(&self, x: &[f64]) -> Result<LinearResiduals, Error> {
        let (values, factors) = self.physical(x)?;
        let (residuals, mut jacobian) = self.linear_residuals_at(&values)?;
        for (mut column, factor) in jacobian.column_iter_mut().zip(factors) {
            column *= factor;
        }
        if let Some(unknowns) = self.unknowns {
            *unknowns.lock().unwrap_or_else(PoisonError::into_inner) = self.model.unknowns();
        }
        Ok((residuals, jacobian))
    }

    /// Whether a solver should make few Jacobians.
    pub(super) fn has_costly_jacobian(&self) -> bool {
        self.model.has_costly_jacobian()
    }
}

impl Operator for LeastSquares<'_> {
    type Param = Vec<f64>;
    type Output = Vec<f64>;

    fn apply(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.residuals_at(&self.physical(x)?.0)
    }
}

impl Jacobian for LeastSquares<'_> {
    type Param = Vec<f64>;
    type Jacobian = DMatrix<f64>;

    fn jacobian(&self, x: &Vec<f64>) -> Result<DMatrix<f64>, Error> {
        Ok(self.residuals_and_jacobian(x)?.1)
    }
}

impl CostFunction for LeastSquares<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok(half_square(&self.apply(x)?))
    }
}

impl Gradient for LeastSquares<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let (residuals, jacobian) = self.residuals_and_jacobian(x)?;
        Ok(jacobian.tr_mul(&DVector::from_vec(residuals)).as_slice().to_vec())
    }
}

#[cfg(test)]
mod tests;
