//! A gradient check as text: the table, how to act on its rows, and the ways that agree.

use std::fmt;

use super::comparison::{Comparison, Verdict};
use super::report::{GradientReport, ReportRow, Way};

impl Verdict {
    /// The verdict as it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Wrong => "WRONG",
            Verdict::Kink => "kink",
            Verdict::Zero => "zero",
            Verdict::Noisy => "noisy",
        }
    }
}

/// The name of a kind of row, which rows are of it, and how to act on them.
type Advice = (&'static str, fn(&Comparison) -> bool, &'static str);

/// What rows that are not simply right mean.
const ADVICE: [Advice; 4] = [
    (
        "wrong",
        |c| c.verdict == Verdict::Wrong,
        "the derivative differs from that of the function, at a kink from that of either side and from all between. \
         Do not use it; if a law, force or loss of yours is in it, look at its derivative.",
    ),
    (
        "kink",
        |c| c.verdict == Verdict::Kink && c.side.is_some(),
        "there is no one derivative here; that of one side, or one between both, is given. If that matters, \
         start a little beside it.",
    ),
    (
        "kink, not told",
        |c| c.verdict == Verdict::Kink && c.side.is_none(),
        "undecided: the derivatives of the sides are not known well enough to judge by. Start a little beside it, \
         or simulate fewer steps.",
    ),
    (
        "noisy",
        |c| c.verdict == Verdict::Noisy,
        "undecided: differences are too inaccurate to judge by. Simulate fewer or shorter steps, use a \
         velocity-level solver, or look at why the value is so sensitive.",
    ),
];

impl GradientReport {
    /// Of each kind of row that is there and not simply right, how to act on it.
    fn write_advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, is_kind, advice) in ADVICE {
            if self.rows.iter().any(|row| is_kind(&row.comparison)) {
                writeln!(f, "{name}: {advice}")?;
            }
        }
        Ok(())
    }

    /// The other ways that the derivatives are made in, and how far they are from dual numbers.
    fn write_ways(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ways.is_empty() {
            return Ok(());
        }
        let title = "ways, against dual numbers";
        let width = self.ways.iter().map(|way| way.way.chars().count()).fold(title.len(), usize::max);
        writeln!(f, "{title:width$}  {:>8}  {:>8}  {:>8}  where", "compared", "disagree", "worst")?;
        for Way { way, compared, disagreeing, worst, quantity, component, parameter } in &self.ways {
            write!(f, "{way:width$}  {compared:>8}  {disagreeing:>8}  {worst:>8.1e}  ")?;
            match *worst > 0.0 {
                true => writeln!(f, "{quantity}, {component} by {parameter}")?,
                false => writeln!(f, "equal")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for GradientReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantity = |r: &ReportRow| match r.component.is_empty() {
            true => r.quantity.clone(),
            false => format!("{}, {}", r.quantity, r.component),
        };
        let quantities: Vec<String> = self.rows.iter().map(quantity).collect();
        let a = quantities.iter().map(|q| q.chars().count()).fold("derivative of".len(), usize::max);
        let b =
            self.rows.iter().map(|r| r.parameter.chars().count()).fold("with respect to".len(), usize::max);
        writeln!(
            f,
            "{:a$}  {:b$}  {:>14}  {:>14}  {:>9}  verdict",
            "derivative of", "with respect to", "value", "difference", "rel. err."
        )?;
        for (row, quantity) in self.rows.iter().zip(quantities) {
            let c = &row.comparison;
            write!(
                f,
                "{:a$}  {:b$}  {:>14.6e}  {:>14.6e}  {:>9.1e}  {}",
                quantity,
                row.parameter,
                c.claimed,
                c.difference,
                c.relative_error,
                c.verdict.as_str()
            )?;
            if c.note.is_empty() { writeln!(f) } else { writeln!(f, ": {}", c.note) }?;
        }
        self.write_advice(f)?;
        self.write_ways(f)?;
        write!(
            f,
            "{} derivatives: {} ok, {} zero, {} at kinks, {} noisy, {} wrong",
            self.rows.len(),
            self.count(Verdict::Ok),
            self.count(Verdict::Zero),
            self.count(Verdict::Kink),
            self.count(Verdict::Noisy),
            self.count(Verdict::Wrong)
        )
    }
}
