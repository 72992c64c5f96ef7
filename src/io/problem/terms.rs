//! The cost of a problem term by term: at an optimum the gradients of terms cancel, and say more than their sum.

use argmin::core::Error;

use crate::io::problem::file::ProblemFile;
use crate::optimize::objective::Objective;
use crate::optimize::randomized_smoothing::SharedCost;
use crate::optimize::trajectory::OptimizedProblem;
use crate::parallel::in_parallel;

impl ProblemFile {
    /// The part of each term in the cost, its mean over the members, and that of time where it costs.
    ///
    /// # Errors
    /// A motion that cannot be simulated, or a part that is not finite.
    pub fn cost_by_term(&self, problem: &dyn OptimizedProblem, x: &[f64]) -> Result<Vec<f64>, Error> {
        let objectives: Vec<&Objective> = match &self.ensemble {
            None => vec![&self.objective],
            Some(ensemble) => ensemble.training.iter().map(|member| &member.residuals).collect(),
        };
        let one = |(member, objective): (usize, &&Objective)| {
            let mut parts = Vec::new();
            let found = problem.at_moments_of(member, x, &mut |moments| parts = objective.parts(moments));
            found.map(|()| parts)
        };
        let mut mean = vec![0.0; self.cost_names.len()];
        for parts in in_parallel(objectives.iter().enumerate(), one) {
            let parts = parts?;
            mean.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part / objectives.len() as f64);
        }
        if let Some(i) = mean.iter().position(|part| !part.is_finite()) {
            let message = format!(
                "the cost of `{}` is {}, not finite; its weight, its target or the motion is too large",
                self.cost_names[i], mean[i]
            );
            return Err(Error::msg(message));
        }
        let time = self.ensemble.as_ref().map(|ensemble| ensemble.problem().cost_of_time(x));
        mean.extend(time.filter(|[_, by_end]| *by_end > 0.0).map(|[cost, _]| cost));
        Ok(mean)
    }

    /// The gradient of each term, by a sweep backward, of an ensemble its mean over the members; and that of time where it
    /// costs.
    ///
    /// # Errors
    /// Those of [`Self::cost_by_term`].
    pub fn gradients_by_term(&self, x: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        let Some(ensemble) = &self.ensemble else {
            let problem = self.problem()?;
            let one = |term: &Objective| Ok(problem.for_residuals(term).cost_and_gradient_at(x)?.1);
            return in_parallel(&self.objective.separate_terms(), one).into_iter().collect();
        };
        let (problem, members) = (ensemble.problem(), &ensemble.training);
        let terms: Vec<Vec<Objective>> =
            members.iter().map(|member| member.residuals.separate_terms()).collect();
        let one = |term: usize| {
            let mut mean = vec![0.0; x.len()];
            for (member, terms) in terms.iter().enumerate() {
                let (_, gradient) = problem.member_gradient_of(&terms[term], x, member)?;
                mean.iter_mut().zip(gradient).for_each(|(sum, by)| *sum += by / members.len() as f64);
            }
            Ok(mean)
        };
        let mut gradients =
            in_parallel(0..self.cost_names.len(), one).into_iter().collect::<Result<Vec<_>, Error>>()?;
        let [_, by_end] = problem.cost_of_time(x);
        if by_end != 0.0 {
            gradients.push((0..x.len()).map(|i| if i + 1 == x.len() { by_end } else { 0.0 }).collect());
        }
        Ok(gradients)
    }
}
