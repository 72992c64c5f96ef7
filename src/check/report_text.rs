//! A gradient check as text: the table, how to act on its rows, and the ways that agree.

use std::fmt;

use super::comparison::{Comparison, Verdict};
use super::report::{Beside, GradientReport, ReportRow, Way};

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

/// What a kind of row means, and how to act on it.
#[derive(Debug)]
pub struct Advice {
    /// The name of the kind.
    pub name: &'static str,
    /// Which rows are of it.
    is_kind: fn(&Comparison) -> bool,
    /// What it means, a sentence.
    pub meaning: &'static str,
    /// What to do, a sentence; empty where there is nothing to do.
    pub action: &'static str,
}

/// Every kind of row, the worst first. Each row is of one.
pub const ADVICE: [Advice; 6] = [
    Advice {
        name: "wrong",
        is_kind: |c| c.verdict == Verdict::Wrong,
        meaning: "the derivative differs from that of the function, at a kink from that of either side, from all between, and from those right beside.",
        action: "Do not use it; if a law, force or loss of yours is in it, look at its derivative.",
    },
    Advice {
        name: "kink",
        is_kind: |c| c.verdict == Verdict::Kink && c.side.is_some(),
        meaning: "there is no one derivative here; that of one side, one between both, or that right beside is given.",
        action: "If that matters, start a little beside it.",
    },
    Advice {
        name: "kink, not told",
        is_kind: |c| c.verdict == Verdict::Kink && c.side.is_none(),
        meaning: "undecided: the derivatives of the sides are not known well enough to judge by.",
        action: "Start a little beside it, or simulate fewer steps.",
    },
    Advice {
        name: "noisy",
        is_kind: |c| c.verdict == Verdict::Noisy,
        meaning: "undecided: differences are too inaccurate to judge by.",
        action: "Simulate fewer or shorter steps, use a velocity-level solver, or look at why the value is so sensitive.",
    },
    Advice {
        name: "zero",
        is_kind: |c| c.verdict == Verdict::Zero,
        meaning: "neither the value nor the derivative changes, or by no more than rounding.",
        action: "Ask whether you expected that: a body that touches nothing, a parameter that is not used.",
    },
    Advice {
        name: "ok",
        is_kind: |c| c.verdict == Verdict::Ok,
        meaning: "the derivative agrees with differences to the tolerance.",
        action: "",
    },
];

impl Advice {
    /// What to think of a row.
    pub fn on(comparison: &Comparison) -> Option<&'static Self> {
        ADVICE.iter().find(|advice| (advice.is_kind)(comparison))
    }
}

impl ReportRow {
    /// What was differentiated, with its component.
    pub fn name(&self) -> String {
        named(&self.quantity, &self.component)
    }
}

/// A quantity with its component, if it has several.
fn named(quantity: &str, component: &str) -> String {
    match component.is_empty() {
        true => quantity.to_owned(),
        false => format!("{quantity}, {component}"),
    }
}

impl Way {
    /// What is differentiated where it is worst, and with respect to what.
    pub fn place(&self) -> String {
        match self.worst > 0.0 {
            true => format!("{} with respect to {}", named(&self.quantity, &self.component), self.parameter),
            false => "equal".to_owned(),
        }
    }
}

impl GradientReport {
    /// Of each kind of row that is there and not simply right, how to act on it.
    fn write_advice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doubtful: Vec<&Comparison> =
            self.rows.iter().map(|row| &row.comparison).filter(|c| !c.verdict.is_settled()).collect();
        for Advice { name, is_kind, meaning, action } in &ADVICE {
            if doubtful.iter().any(|c| is_kind(c)) {
                writeln!(f, "{name}: {meaning} {action}")?;
            }
        }
        Ok(())
    }

    /// The other ways that the derivatives are made in, and how far they are from dual numbers.
    fn write_ways(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ways.is_empty() {
            return Ok(());
        }
        let title = "other ways, against these";
        let width = self.ways.iter().map(|way| way.way.chars().count()).fold(title.len(), usize::max);
        writeln!(f, "{title:width$}  {:>8}  {:>8}  {:>8}  where", "compared", "disagree", "worst")?;
        for shown @ Way { way, compared, disagreeing, worst, .. } in &self.ways {
            write!(f, "{way:width$}  {compared:>8}  {disagreeing:>8}  {worst:>8.1e}  ")?;
            writeln!(f, "{}", shown.place())?;
        }
        Ok(())
    }
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, derivatives, undecided, zero } = self;
        let [rad, m, rad_per_s, m_per_s] = [10.0, 100.0, 1.0, 10.0].map(|scale| part / scale);
        write!(
            f,
            "undecided ones checked again at a start beside, moved by up to {rad} rad, {m} m, {rad_per_s} rad/s and {m_per_s} m/s: {undecided} of {derivatives} derivatives are undecided there, {zero} are 0"
        )
    }
}

impl fmt::Display for GradientReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quantities: Vec<String> = self.rows.iter().map(ReportRow::name).collect();
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
        )?;
        self.beside.iter().try_for_each(|beside| write!(f, "\n{beside}"))
    }
}
