//! A trajectory problem as its solvers see it: by its cost, its residuals with their derivatives, and stages, one for each
//! knot, as [`Ilqr`](crate::optimize::ilqr::Ilqr) needs them.
//!
//! A stage is the steps that depend on its knot and none after it. These steps also depend on the values at earlier
//! knots: one for linear knots, three for cubic ones. These values are part of the state between stages, after the
//! tangent of the motion's state, so that any knots give a problem in consecutive stages. The feedback acts on that
//! state at the start of the stage. Hessians are those of Gauss–Newton.
//!
//! One iteration costs a linearization of all steps and a rollout for each trial.

use std::ops::Range;
use std::sync::Arc;

use argmin::core::Error;
use nalgebra::{DMatrix, DVector};

use super::problem::TrajectoryProblem;
use super::sensitivity::residuals_by_knots;
use crate::optimize::evaluations::EvaluationCounter;
use crate::optimize::ilqr::{Expansion, Policy, StageExpansion};
use crate::optimize::optimized::OptimizedProblem;
use crate::optimize::variables::SharedVariables;
use crate::rollout::{Controls, GaussNewton, Moment, Motion, Rollout, TrajectoryLinearization};

impl TrajectoryProblem<'_> {
    /// The derivatives of the residuals along a direction of the variables, by a rollout in dual numbers.
    ///
    /// # Errors
    /// When there is not one number for each knot and control, or the simulation fails.
    pub fn jvp(&self, x: &[f64], direction: &[f64]) -> Result<Vec<f64>, Error> {
        self.variables.check_count(direction.len())?;
        let motion = self.motion(x)?;
        let along: Vec<f64> =
            direction.iter().zip(self.scales().cycle()).map(|(v, scale)| v * scale).collect();
        let mut by_controls = Controls::zeros(motion.controls.steps(), motion.controls.dimension());
        self.variables.put_controls(&along, None, &mut by_controls);
        let rollout = self.rollout(&motion.controls);
        let residuals = GaussNewton::over(rollout, self.task().residuals, &[], motion.trajectory.clone())?;
        Ok(residuals.jvp(by_controls.values())?)
    }

    /// The expansion of a stage by the state before it, then its variables.
    fn stage_expansion(
        &self,
        (stage, steps): (usize, Range<usize>),
        linear: &TrajectoryLinearization,
        scales: &DVector<f64>,
    ) -> StageExpansion {
        let m = scales.len();
        let motion = linear.end.by_state.ncols();
        let reach = self.map().reach();
        let n = motion + reach * m;
        // Where the variables of a knot are: those of the one before this stage's come first.
        let columns = |knot: usize| if knot == stage { n } else { motion + (stage - knot - 1) * m };
        let add = |to: &mut DMatrix<f64>, by_control: &DMatrix<f64>, step: usize| {
            for (knot, weight) in self.map().weights(step) {
                let mut to = to.columns_mut(columns(knot), m);
                for (i, scale) in scales.iter().enumerate() {
                    to.column_mut(i).axpy(weight * scale, &by_control.column(i), 1.0);
                }
            }
        };
        // The present state of the motion.
        let mut state = DMatrix::identity(motion, n + m);
        let (mut gradient, mut hessian) = (DVector::zeros(n + m), DMatrix::zeros(n + m, n + m));
        for number in steps {
            let step = &linear.steps[number];
            let residuals = &step.residuals;
            if !residuals.values.is_empty() {
                let mut by_both = &residuals.by_state * &state;
                add(&mut by_both, &residuals.by_control, number);
                gradient.gemv_tr(1.0, &by_both, &residuals.values, 1.0);
                hessian.gemm_tr(1.0, &by_both, &by_both, 1.0);
            }
            state = &step.by_state * state;
            add(&mut state, &step.by_control, number);
        }
        let mut after = DMatrix::zeros(n, n + m);
        after.rows_mut(0, motion).copy_from(&state);
        if reach > 0 {
            // For the next stage this knot is the one before, and the others are one further back.
            after.view_mut((motion, n), (m, m)).fill_with_identity();
            let kept = (reach - 1) * m;
            after.view_mut((motion + m, motion), (kept, kept)).fill_with_identity();
        }
        StageExpansion {
            by_state: after.columns(0, n).into_owned(),
            by_control: after.columns(n, m).into_owned(),
            gradient,
            hessian,
        }
    }
}

impl OptimizedProblem for TrajectoryProblem<'_> {
    fn shared_variables(&self) -> &SharedVariables {
        &self.variables
    }

    fn counter(&self) -> Arc<EvaluationCounter> {
        Arc::clone(&self.counter)
    }

    fn at_moments_of(&self, _: usize, x: &[f64], work: &mut dyn FnMut(&[Moment])) -> Result<(), Error> {
        self.at_moments(x, |moments| work(moments))
    }

    fn motion_of(&self, _: usize, x: &[f64]) -> Result<Motion, Error> {
        Ok(Motion::of(&self.rollout(&self.controls(x)?)))
    }

    fn cost(&self, x: &[f64]) -> Result<f64, Error> {
        Ok(self.motion(x)?.cost())
    }

    fn gradient(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        self.gradient_of(&*self.motion(x)?)
    }

    fn residuals(&self, x: &[f64]) -> Result<Vec<f64>, Error> {
        Ok(self.motion(x)?.residuals.clone())
    }

    fn jacobian(&self, x: &[f64]) -> Result<DMatrix<f64>, Error> {
        let linear = self.linearized(&*self.motion(x)?)?;
        let mut jacobian = residuals_by_knots(&linear, self.map());
        let scales = self.scales().collect::<Vec<f64>>();
        for (mut column, scale) in jacobian.column_iter_mut().zip(scales.iter().cycle()) {
            column *= *scale;
        }
        Ok(jacobian)
    }

    fn has_stages(&self) -> bool {
        true
    }

    fn expand(&self, x: &[f64]) -> Result<Expansion, Error> {
        let linear = self.linearized(&*self.motion(x)?)?;
        let scales = DVector::from_iterator(self.map().dimension(), self.scales());
        let motion = linear.end.by_state.ncols();
        let n = motion + self.map().reach() * scales.len();
        let mut end_gradient = DVector::zeros(n);
        end_gradient.rows_mut(0, motion).copy_from(&linear.end.by_state.tr_mul(&linear.end.values));
        let mut end_hessian = DMatrix::zeros(n, n);
        let of_motion = linear.end.by_state.tr_mul(&linear.end.by_state);
        end_hessian.view_mut((0, 0), (motion, motion)).copy_from(&of_motion);
        let stages = self.map().stages().into_iter().enumerate();
        Ok(Expansion {
            stages: stages.map(|stage| self.stage_expansion(stage, &linear, &scales)).collect(),
            end_gradient,
            end_hessian,
        })
    }

    fn roll_out(&self, nominal: &[f64], policy: &Policy) -> Result<(Vec<f64>, f64), Error> {
        let motion = self.motion(nominal)?;
        let task = self.task();
        let (stages, reach) = (self.map().stages(), self.map().reach());
        let m = self.map().dimension();
        let (lower, upper) = self.bounds();
        let mut x = nominal.to_vec();
        // The values at knots so far, and the stage after the present one.
        let (mut values, mut next_stage) = (Vec::with_capacity(x.len()), 0);
        self.counter.count_rollout();
        let rollout = Rollout::new(task.model, task.initial, task.settings, task.until).under(task.applied);
        let simulated = rollout.simulate_with_feedback(|number, state, row| {
            while next_stage < stages.len() && number >= stages[next_stage].start {
                let mut difference = motion.trajectory.states[number].difference(state);
                for back in 1..=reach {
                    let change = |i: usize| {
                        let at = (next_stage.checked_sub(back)?) * m + i;
                        Some(x[at] - nominal[at])
                    };
                    // There is no knot before the first.
                    difference.extend((0..m).map(|i| change(i).unwrap_or(0.0)));
                }
                let range = next_stage * m..(next_stage + 1) * m;
                let bounds = (&lower[range.clone()], &upper[range.clone()]);
                let changed = policy.variables(next_stage, &nominal[range.clone()], &difference, bounds);
                values.extend(self.variables.first_values(&changed));
                x[range].copy_from_slice(&changed);
                next_stage += 1;
            }
            self.put_row(number, &values, row);
        });
        let (trajectory, controls) = simulated?;
        let motion = self.remember(self.with_residuals(x, controls, trajectory)?);
        Ok((motion.x.clone(), motion.cost()))
    }
}
