//! The equations of a step, solved by simplified Newton iterations.
//!
//! With the increments Z = (z₁, …, zₛ) of the stages and W = (T⁻¹⊗I) Z, an iteration solves
//!
//! ```text
//! (h⁻¹ Λ⊗I − I⊗J) ΔW = (T⁻¹⊗I) F(Z) − h⁻¹ (Λ⊗I) W
//! ```
//!
//! (Hairer and Wanner, section IV.8), where F(Z) are the rates at the stages and J is one
//! Jacobian of the rate for all stages and iterations. As Λ is a real number and a complex one, this takes
//! a factorization of a real and one of a complex matrix of the size of the state, whatever the number of
//! stages.

use nalgebra::{Complex, DMatrix, DVector, Dyn, LU};

use super::coefficients::{Coefficients, RadauOrder};

/// A contraction rate from which on an iteration counts as diverging.
const NO_CONTRACTION: f64 = 0.99;
/// Changes of the stages by this many units in the last place of the state are rounding.
const ROUNDING: f64 = 10.0 * f64::EPSILON;

/// How the iteration ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::step) struct NewtonSettings {
    /// The most iterations of a step.
    pub(in crate::step) most_iterations: usize,
    /// The part κ of what is allowed (of 1, in the caller's norm) that the iteration may leave as its error.
    pub(in crate::step) accuracy: f64,
    /// The iterations before the first whose contraction is looked at, at least one.
    pub unjudged: usize,
    /// Whether it goes on beyond that accuracy, until rounding ends it or there have been the most iterations.
    pub to_rounding: bool,
}

impl Default for NewtonSettings {
    fn default() -> Self {
        Self { most_iterations: 7, accuracy: 0.03, unjudged: 1, to_rounding: false }
    }
}

/// Where a step starts, and how far it goes.
#[derive(Clone, Copy, Debug)]
pub(in crate::step) struct Step<'a> {
    /// The time t₀ at its start.
    pub(in crate::step) time: f64,
    /// Its length h > 0.
    pub(in crate::step) length: f64,
    /// The state y₀ at its start.
    pub(in crate::step) state: &'a [f64],
    /// The rate f(t₀, y₀).
    pub(in crate::step) rate: &'a [f64],
}

/// How an iteration went that converged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::step) struct Converged {
    /// The iterations that it took, each of which evaluates the rate at every stage.
    pub(in crate::step) iterations: usize,
    /// The last estimate Ψ of the contraction rate, by which the error shrinks per iteration: the quotient
    /// of the last two changes, or the geometric mean of the last two quotients. After a single iteration it
    /// is that of the last step with the same factorization, or `None` if there is none.
    pub(in crate::step) contraction: Option<f64>,
}

/// Why the stages have not been found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::step) enum StageError {
    /// The Jacobian, the state and its rate are not of one dimension, or nothing has been factorized.
    Shape,
    /// The matrix of the iteration is singular, or a number in it is not finite.
    Singular,
    /// A rate at a stage is not finite.
    NotFinite,
    /// The iteration does not converge, or not within the iterations allowed: the step is too long, or the Jacobian too old.
    Diverged {
        /// The iterations done.
        iterations: usize,
    },
}

/// The stages of a step, and the memory and factorizations of the iteration that finds them.
#[derive(Debug)]
pub(in crate::step) struct Stages {
    order: RadauOrder,
    /// The length of the step that was factorized for.
    factorized_length: f64,
    dimension: usize,
    /// γ/h I − J.
    real: Option<LU<f64, Dyn, Dyn>>,
    /// (α + iβ)/h I − J.
    complex: Option<LU<Complex<f64>, Dyn, Dyn>>,
    /// The increments zᵢ, one stage after the other.
    increments: Vec<f64>,
    transformed: Vec<f64>,
    rates: Vec<f64>,
    change: Vec<f64>,
    state: Vec<f64>,
    real_side: DVector<f64>,
    complex_side: DVector<Complex<f64>>,
    /// The last contraction rate with this factorization.
    contraction: Option<f64>,
}

impl Default for Stages {
    fn default() -> Self {
        Self {
            order: RadauOrder::Fifth,
            factorized_length: 0.0,
            dimension: 0,
            real: None,
            complex: None,
            increments: Vec::new(),
            transformed: Vec::new(),
            rates: Vec::new(),
            change: Vec::new(),
            state: Vec::new(),
            real_side: DVector::zeros(0),
            complex_side: DVector::zeros(0),
            contraction: None,
        }
    }
}

impl Stages {
    /// Factorizes the matrices of the iteration for steps of length `length` by the method of order `order`
    /// with this Jacobian ∂f/∂y, a square matrix. Increments are kept if neither order nor dimension
    /// change, and are zero otherwise.
    ///
    /// # Errors
    /// [`StageError::Shape`] if the matrix is not square, [`StageError::Singular`] if a matrix of the
    /// iteration is singular, or if the length is not a positive number.
    pub(in crate::step) fn factorize(
        &mut self,
        order: RadauOrder,
        length: f64,
        jacobian: &DMatrix<f64>,
    ) -> Result<(), StageError> {
        (self.real, self.complex, self.contraction) = (None, None, None);
        if !jacobian.is_square() {
            return Err(StageError::Shape);
        }
        if !(length > 0.0 && length.is_finite()) || jacobian.iter().any(|x| !x.is_finite()) {
            return Err(StageError::Singular);
        }
        let n = jacobian.nrows();
        self.resize(order, n);
        self.factorized_length = length;
        let coefficients = order.coefficients();
        if let Some(eigenvalue) = coefficients.real_eigenvalue {
            let mut matrix = -jacobian;
            for i in 0..n {
                matrix[(i, i)] += eigenvalue / length;
            }
            let factors = matrix.lu();
            if !factors.is_invertible() {
                return Err(StageError::Singular);
            }
            self.real = Some(factors);
        }
        if let Some(eigenvalue) = coefficients.complex_eigenvalue {
            let mut matrix = jacobian.map(|x| Complex::new(-x, 0.0));
            for i in 0..n {
                matrix[(i, i)] += eigenvalue / length;
            }
            let factors = matrix.lu();
            if !factors.is_invertible() {
                return Err(StageError::Singular);
            }
            self.complex = Some(factors);
        }
        Ok(())
    }

    /// Makes room for the stages of a method and a dimension of the state.
    fn resize(&mut self, order: RadauOrder, dimension: usize) {
        if (order, dimension) == (self.order, self.dimension) && !self.increments.is_empty() {
            return;
        }
        (self.order, self.dimension) = (order, dimension);
        let size = order.stages() * dimension;
        for list in [&mut self.increments, &mut self.transformed, &mut self.rates, &mut self.change] {
            list.clear();
            list.resize(size, 0.0);
        }
        self.state.resize(dimension, 0.0);
        if self.real_side.len() != dimension {
            self.real_side = DVector::zeros(dimension);
            self.complex_side = DVector::zeros(dimension);
        }
    }

    /// The method that was factorized for.
    pub(in crate::step) const fn order(&self) -> RadauOrder {
        self.order
    }

    /// The dimension of the state.
    pub(in crate::step) const fn dimension(&self) -> usize {
        self.dimension
    }

    /// The increments zᵢ of the stages, one after the other; the last is that of the whole step.
    pub(in crate::step) fn increments(&self) -> &[f64] {
        &self.increments
    }

    /// The increments, to be set to those that the next iteration starts from.
    pub(in crate::step) fn increments_mut(&mut self) -> &mut [f64] {
        &mut self.increments
    }

    /// Solves the equations of a step, from the increments that [`Stages::increments_mut`] was set to.
    /// `rate(t, y, out)` writes f(t, y) into `out`; `norm` measures changes of a stage such that 1 is what is
    /// allowed as the error of the step.
    ///
    /// With the contraction rate Θ, the quotient of the sizes of the last two changes, the error that the
    /// last change Δ leaves is about η ‖Δ‖, η = Θ/(1 − Θ); the iteration ends when that is at most κ
    /// ([`NewtonSettings::accuracy`]). It is given up when Θ is near 1, or when at this Θ the iterations
    /// allowed would not suffice (Hairer and Wanner, section IV.8). The first iteration of a step
    /// knows no Θ, and counts with η = 1. (Hairer and Wanner take η^0.8 of the step before. That saves one in
    /// a hundred evaluations on the equation of van der Pol, and now and then ends an iteration far from the
    /// solution, where the rate has changed since: errors a hundred times as large.)
    ///
    /// The factorization may be for another length than that of the step, as long as the iteration
    /// converges: the solution does not depend on it.
    ///
    /// # Errors
    /// [`StageError::Diverged`], or [`StageError::NotFinite`]; the increments are then of no use.
    /// [`StageError::Shape`] if nothing has been factorized, or for a state of another dimension.
    pub(in crate::step) fn solve(
        &mut self,
        rate: &mut impl FnMut(f64, &[f64], &mut [f64]),
        step: &Step<'_>,
        norm: &impl Fn(&[f64]) -> f64,
        settings: &NewtonSettings,
    ) -> Result<Converged, StageError> {
        if !self.is_factorized() || step.state.len() != self.dimension {
            return Err(StageError::Shape);
        }
        let coefficients = self.order.coefficients();
        transform(coefficients.inverse_transformation, &self.increments, &mut self.transformed);
        let rounding = ROUNDING * norm(step.state);
        let mut eta = 1.0;
        let (mut last_size, mut last_quotient) = (0.0, None);
        let mut is_met = false;
        for iterations in 1..=settings.most_iterations {
            let size = self.iterate(coefficients, rate, step, norm);
            let converged = Ok(Converged { iterations, contraction: self.contraction });
            let diverged = Err(StageError::Diverged { iterations });
            if !size.is_finite() {
                return Err(StageError::NotFinite);
            }
            if size <= rounding {
                return converged;
            }
            if iterations > settings.unjudged {
                let quotient = size / last_size;
                let mean = last_quotient.map_or(quotient, |last: f64| (quotient * last).sqrt());
                last_quotient = Some(quotient);
                if mean >= NO_CONTRACTION {
                    return if is_met { converged } else { diverged };
                }
                self.contraction = Some(mean);
                eta = mean / (1.0 - mean);
                let left = (settings.most_iterations - iterations) as f64;
                if eta * size * mean.powf(left) > settings.accuracy && !is_met {
                    return diverged;
                }
            }
            is_met |= eta * size <= settings.accuracy;
            if is_met && (!settings.to_rounding || iterations == settings.most_iterations) {
                return Ok(Converged { iterations, contraction: self.contraction });
            }
            last_size = size;
        }
        Err(StageError::Diverged { iterations: settings.most_iterations })
    }

    /// One iteration; returns the size of the largest change of a stage, or what is not finite if a rate, or
    /// the change, is not.
    fn iterate(
        &mut self,
        coefficients: &Coefficients,
        rate: &mut impl FnMut(f64, &[f64], &mut [f64]),
        step: &Step<'_>,
        norm: &impl Fn(&[f64]) -> f64,
    ) -> f64 {
        let n = self.dimension;
        if n == 0 {
            return 0.0;
        }
        let stages = self.increments.chunks_exact(n).zip(self.rates.chunks_exact_mut(n));
        for ((increment, out), node) in stages.zip(coefficients.nodes) {
            for ((y, y0), z) in self.state.iter_mut().zip(step.state).zip(increment) {
                *y = y0 + z;
            }
            rate(step.time + node * step.length, &self.state, out);
        }
        // The changes of the transformed increments take the place of the rates, which they are found from.
        transform(coefficients.inverse_transformation, &self.rates, &mut self.change);
        let mut first = 0;
        if let (Some(eigenvalue), Some(factors)) = (coefficients.real_eigenvalue, &self.real) {
            let by = eigenvalue / step.length;
            for i in 0..n {
                self.real_side[i] = self.change[i] - by * self.transformed[i];
            }
            factors.solve_mut(&mut self.real_side);
            self.change[..n].copy_from_slice(self.real_side.as_slice());
            first = n;
        }
        if let (Some(eigenvalue), Some(factors)) = (coefficients.complex_eigenvalue, &self.complex) {
            let by = eigenvalue / step.length;
            let pair = |list: &[f64], i: usize| Complex::new(list[first + i], list[first + n + i]);
            for i in 0..n {
                self.complex_side[i] = pair(&self.change, i) - by * pair(&self.transformed, i);
            }
            factors.solve_mut(&mut self.complex_side);
            for i in 0..n {
                self.change[first + i] = self.complex_side[i].re;
                self.change[first + n + i] = self.complex_side[i].im;
            }
        }
        self.transformed.iter_mut().zip(&self.change).for_each(|(w, change)| *w += change);
        transform(coefficients.transformation, &self.change, &mut self.rates);
        transform(coefficients.transformation, &self.transformed, &mut self.increments);
        // A sum over the stages of what is not finite is not finite, which a maximum is not sure to be.
        let sizes = || self.rates.chunks_exact(n).map(norm);
        let sum: f64 = sizes().sum();
        if sum.is_finite() { sizes().fold(0.0, f64::max) } else { sum }
    }

    /// Whether the matrices that the method takes are factorized.
    fn is_factorized(&self) -> bool {
        let coefficients = self.order.coefficients();
        self.factorized_length > 0.0
            && self.real.is_some() == coefficients.real_eigenvalue.is_some()
            && self.complex.is_some() == coefficients.complex_eigenvalue.is_some()
    }

    /// Damps what is stiff in a vector, with a factorization of the iteration; the vector of a non-stiff
    /// system stays about the same. With z = hλ for an eigenvalue λ of J, for odd s it multiplies by
    /// γ/(γ − z), as Hairer and Wanner do, (γ/h) (γ/h I − J)⁻¹. For two stages, where A⁻¹ has no real
    /// eigenvalue, it multiplies by |μ|²/|μ − z|² for real z, in general by |μ|²/((μ − z)(μ̄ − z)) with
    /// μ = α + iβ: that is −|μ|²/(hβ) times the imaginary part of (μ/h I − J)⁻¹, so that it, too, needs no
    /// other factorization. On the imaginary axis neither factor exceeds 1.
    ///
    /// # Errors
    /// [`StageError::Shape`] if nothing has been factorized, or for a vector of another dimension.
    pub(in crate::step) fn damp(&mut self, vector: &mut [f64]) -> Result<(), StageError> {
        if !self.is_factorized() || vector.len() != self.dimension {
            return Err(StageError::Shape);
        }
        let (coefficients, h) = (self.order.coefficients(), self.factorized_length);
        if let (Some(eigenvalue), Some(factors)) = (coefficients.real_eigenvalue, &self.real) {
            self.real_side.iter_mut().zip(&*vector).for_each(|(x, v)| *x = v * (eigenvalue / h));
            factors.solve_mut(&mut self.real_side);
            vector.copy_from_slice(self.real_side.as_slice());
        } else if let (Some(eigenvalue), Some(factors)) = (coefficients.complex_eigenvalue, &self.complex) {
            self.complex_side.iter_mut().zip(&*vector).for_each(|(x, &v)| *x = Complex::new(v, 0.0));
            factors.solve_mut(&mut self.complex_side);
            let by = -eigenvalue.norm_sqr() / (h * eigenvalue.im);
            vector.iter_mut().zip(&self.complex_side).for_each(|(v, x)| *v = by * x.im);
        }
        Ok(())
    }
}

/// Multiplies a list of vectors, one after the other, by a matrix: out = (matrix⊗I) vectors.
fn transform(matrix: &[&[f64]], vectors: &[f64], out: &mut [f64]) {
    let n = out.len() / matrix.len();
    for (i, row) in matrix.iter().enumerate() {
        for k in 0..n {
            out[i * n + k] = row.iter().enumerate().map(|(j, factor)| factor * vectors[j * n + k]).sum();
        }
    }
}
