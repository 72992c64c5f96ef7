//! What the error-controlled steps of a simulation took.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use isobar::multibody::Model;
use isobar::rollout::StepReport;
use isobar::step::{SubstepLimit, SubstepStatistics};

/// The sums over all steps.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Substeps {
    accepted: usize,
    rejected: usize,
    /// Accepted substeps by the order of their method.
    by_order: BTreeMap<i32, usize>,
    iterations: usize,
    factorizations: usize,
    evaluations: usize,
    shortest: Option<Shortest>,
}

/// The shortest substep.
#[derive(Clone, Debug, Serialize)]
struct Shortest {
    /// Its length, s.
    length: f64,
    /// When the step began that it is part of, s.
    time: f64,
    /// Why it was not longer.
    why: Option<String>,
}

impl Substeps {
    /// Adds those of a step.
    pub fn add(&mut self, step: &StepReport<'_>) {
        let Some(taken) = &step.taken else { return };
        let Some(statistics) = taken.substeps() else { return };
        let SubstepStatistics { substeps, rejected, iterations, factorizations, evaluations, limit } =
            statistics;
        self.accepted += substeps.len();
        self.rejected += rejected;
        self.iterations += iterations;
        self.factorizations += factorizations;
        self.evaluations += evaluations;
        substeps.iter().for_each(|substep| *self.by_order.entry(substep.order).or_default() += 1);
        let length = statistics.shortest();
        if length.is_finite() && self.shortest.as_ref().is_none_or(|shortest| length < shortest.length) {
            let why = limit.map(|limit| described(step.model, limit));
            self.shortest = Some(Shortest { length, time: taken.start, why });
        }
    }

    /// `None` if no step was error-controlled.
    pub fn into_some(self) -> Option<Self> {
        (self.accepted > 0).then_some(self)
    }

    /// A line or two for readers.
    pub fn print_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { accepted, rejected, by_order, .. } = self;
        write!(out, "{accepted} substeps, {rejected} more rejected")?;
        if by_order.len() > 1 {
            let orders: Vec<String> =
                by_order.iter().map(|(order, count)| format!("{count} of order {order}")).collect();
            write!(out, " ({})", orders.join(", "))?;
        }
        if let Some(Shortest { length, time, why }) = &self.shortest {
            write!(out, "; the shortest {length:.2e} s after t = {time:.6} s")?;
            if let Some(why) = why {
                write!(out, ": {why}")?;
            }
        }
        writeln!(out)
    }
}

/// Why a substep was not longer.
fn described(model: &Model, limit: SubstepLimit) -> String {
    let name = |body: usize| format!("`{}`", model.bodies()[body].name);
    match limit {
        SubstepLimit::Error { body } => format!("the error of {}", name(body)),
        SubstepLimit::Onset { pair } | SubstepLimit::Release { pair } => {
            let bodies = model.pairs()[pair].bodies;
            let (a, b) = (name(bodies.a), name(bodies.b));
            match limit {
                SubstepLimit::Onset { .. } => format!("{a} and {b} begin to touch"),
                _ => format!("{a} and {b} cease to touch"),
            }
        }
        SubstepLimit::NotConverged => "the velocities after a longer one did not converge".to_owned(),
        _ => "a longer one led to what is not finite".to_owned(),
    }
}
