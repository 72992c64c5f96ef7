//! The table of a gradient check.

use serde::Serialize;

use super::comparison::{CheckSettings, Comparison, Verdict};

/// One derivative: of a quantity with respect to a parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportRow {
    /// What was differentiated: `force on ball from table`.
    pub quantity: String,
    /// Its component: `x`; empty where it is one number.
    pub component: String,
    /// With respect to what: `materials.foam.hydroelastic_modulus`.
    #[serde(rename = "input")]
    pub parameter: String,
    /// The comparison with differences.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// One way of making derivatives, compared with those that differences judge.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// What it is.
    pub way: String,
    /// Derivatives compared.
    pub compared: usize,
    /// Those that disagree.
    pub disagreeing: usize,
    /// The worst disagreement, as a part of the component's largest sensitivity.
    pub worst: f64,
    /// What is differentiated where it is worst.
    pub quantity: String,
    /// Its component.
    pub component: String,
    /// With respect to what.
    #[serde(rename = "input")]
    pub parameter: String,
}

/// A gradient check: many derivatives compared with differences.
///
/// [`std::fmt::Display`] prints the table; it serializes to `{"rows": […], "ways": […],
/// "allowed_undecided": …}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GradientReport {
    /// One row per derivative.
    pub rows: Vec<ReportRow>,
    /// The other ways that the same derivatives are made in, of a scene or a problem.
    pub ways: Vec<Way>,
    /// The part of the rows that may be undecided (see [`CheckSettings::undecided`]).
    pub allowed_undecided: f64,
    /// Where more rows are undecided than may be: what a check of these finds at a start beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// What a check of undecided derivatives finds at a start a little beside. What is wrong at two such starts is among the rows of
/// the report.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// How far the start is moved, of 0.1 rad, 0.01 m, 1 rad/s and 0.1 m/s.
    pub part: f64,
    /// The number of derivatives that are checked again: all components of vectors with an undecided one.
    pub derivatives: usize,
    /// How many of them are undecided, or wrong at this start alone.
    pub undecided: usize,
    /// How many of them are 0, as where nothing touches.
    pub zero: usize,
}

impl Default for GradientReport {
    /// No rows, of which as many may be undecided as by default.
    fn default() -> Self {
        let allowed_undecided = CheckSettings::default().undecided;
        Self { rows: Vec::new(), ways: Vec::new(), allowed_undecided, beside: None }
    }
}

/// The name of a component of a vector: x, y, z, then numbers.
pub(super) fn component_name(i: usize) -> String {
    ["x", "y", "z"].get(i).map_or_else(|| i.to_string(), |c| c.to_string())
}

impl ReportRow {
    /// Whether another row is of the same derivative.
    pub(super) fn is_of_same(&self, other: &Self) -> bool {
        (&self.quantity, &self.component, &self.parameter)
            == (&other.quantity, &other.component, &other.parameter)
    }
}

impl GradientReport {
    /// Adds the components of one quantity (x, y, z, then numbers) along one parameter.
    pub fn add(&mut self, quantity: &str, parameter: &str, comparisons: Vec<Comparison>) {
        for (i, comparison) in comparisons.into_iter().enumerate() {
            self.rows.push(ReportRow {
                quantity: quantity.to_string(),
                component: component_name(i),
                parameter: parameter.to_string(),
                comparison,
            });
        }
    }

    /// The same report with one row per quantity and parameter: the row of the worst component.
    pub fn worst_components(&self) -> Self {
        let mut rows: Vec<ReportRow> = Vec::new();
        let rank = |c: &Comparison| match c.verdict {
            Verdict::Zero => (0, 0.0),
            Verdict::Ok => (1, c.relative_error),
            Verdict::Noisy => (2, c.relative_error),
            Verdict::Kink => (3, c.relative_error),
            Verdict::Wrong => (4, c.relative_error),
        };
        for row in &self.rows {
            let same =
                rows.iter_mut().rev().find(|r| r.quantity == row.quantity && r.parameter == row.parameter);
            match same {
                Some(kept) if rank(&row.comparison) > rank(&kept.comparison) => *kept = row.clone(),
                Some(_) => {}
                None => rows.push(row.clone()),
            }
        }
        Self { rows, ways: self.ways.clone(), ..*self }
    }

    /// The number of rows with a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|r| r.comparison.verdict == verdict).count()
    }

    /// The number of rows that differences could not decide (see [`Comparison::is_undecided`]).
    pub fn undecided(&self) -> usize {
        self.rows.iter().filter(|r| r.comparison.is_undecided()).count()
    }

    /// Whether more rows are undecided than may be, at a start beside too.
    pub fn is_undecided(&self) -> bool {
        self.exceeds(self.undecided()) && self.beside.is_none_or(|beside| self.exceeds(beside.undecided))
    }

    /// Whether so many rows are more than may be undecided.
    pub(super) fn exceeds(&self, count: usize) -> bool {
        count as f64 > self.allowed_undecided * self.rows.len() as f64
    }

    /// Whether no derivative is wrong, and no more are undecided than may be.
    pub fn passed(&self) -> bool {
        self.count(Verdict::Wrong) == 0 && !self.is_undecided()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{CheckSettings, compare_derivative};

    #[test]
    fn the_report_prints_serializes_and_fails_only_for_smooth_wrong_rows() {
        let settings = CheckSettings::default();
        let f = |x: f64| Ok::<_, std::convert::Infallible>(vec![x * x, x.abs()]);
        let mut report = GradientReport::default();
        let Ok(kink) = compare_derivative(f, 0.0, 1.0, &[0.0, 0.5], &settings);
        report.add("force", "height", kink);
        assert!(report.passed());
        assert_eq!(report.count(Verdict::Kink), 1);
        let Ok(wrong) = compare_derivative(f, 1.0, 1.0, &[2.0, 7.0], &settings);
        report.add("force", "mass", wrong);
        assert!(!report.passed());
        let text = report.to_string();
        assert!(text.contains("force, y") && text.contains("WRONG") && text.ends_with("1 wrong"), "{text}");
        let json: serde_json::Value = serde_json::to_value(&report).unwrap();
        assert_eq!(json["rows"][3]["verdict"], "wrong");
        assert_eq!(json["rows"][1]["input"], "height");
        let worst = report.worst_components();
        let verdicts: Vec<Verdict> = worst.rows.iter().map(|r| r.comparison.verdict).collect();
        assert_eq!(verdicts, [Verdict::Kink, Verdict::Wrong]);
        // Of each kind of row that is there, how to act on it.
        assert!(text.contains("\nwrong:") && text.contains("\nkink:") && !text.contains("noisy:"), "{text}");
    }

    #[test]
    fn undecided_rows_are_counted_against_a_budget() {
        let decided = Comparison {
            value: 1.0,
            claimed: 1.0,
            difference: 1.0,
            difference_error: 0.0,
            one_sided: [1.0; 2],
            relative_error: 0.0,
            step: 1e-3,
            verdict: Verdict::Ok,
            side: None,
            note: String::new(),
            differences: Vec::new(),
        };
        let with = |verdict, side| Comparison { verdict, side, ..decided.clone() };
        let mut report = GradientReport::default();
        report.add("f", "x", vec![decided.clone(); 97]);
        report.add("f", "x", vec![with(Verdict::Kink, Some(crate::check::Side::Between))]);
        report.add("f", "x", vec![with(Verdict::Noisy, None), with(Verdict::Kink, None)]);
        assert_eq!(report.undecided(), 2);
        assert!(report.passed());
        report.add("f", "x", vec![with(Verdict::Noisy, None)]);
        assert!(report.is_undecided() && !report.passed());
        report.allowed_undecided = 0.03;
        assert!(report.passed());
    }
}
