//! The table of a gradient check.

use std::fmt;

use serde::Serialize;

use super::differences::{Comparison, Verdict};

/// One derivative: of a quantity with respect to an input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportRow {
    /// What was differentiated, with its component: `force on ball, x`.
    pub quantity: String,
    /// With respect to what: `materials.foam.hydroelastic_modulus`.
    pub input: String,
    /// The comparison with differences.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// A gradient check: many derivatives compared with differences.
///
/// [`fmt::Display`] prints the table; it serializes to `{"rows": […]}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GradientReport {
    /// One row per derivative.
    pub rows: Vec<ReportRow>,
}

impl GradientReport {
    /// Adds the components of one quantity along one input; names are `quantity, component`.
    pub fn add(&mut self, quantity: &str, components: &[&str], input: &str, comparisons: Vec<Comparison>) {
        for (i, comparison) in comparisons.into_iter().enumerate() {
            let quantity = match components.get(i) {
                Some(component) => format!("{quantity}, {component}"),
                None => format!("{quantity}, {i}"),
            };
            self.rows.push(ReportRow { quantity, input: input.to_string(), comparison });
        }
    }

    /// How many rows have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|r| r.comparison.verdict == verdict).count()
    }

    /// Whether no derivative is wrong where the function is smooth.
    pub fn passed(&self) -> bool {
        self.count(Verdict::Wrong) == 0
    }
}

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

impl fmt::Display for GradientReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |header: &str, text: fn(&ReportRow) -> &str| {
            self.rows.iter().map(|r| text(r).chars().count()).max().unwrap_or(0).max(header.len())
        };
        let (a, b) = (width("derivative of", |r| &r.quantity), width("with respect to", |r| &r.input));
        writeln!(
            f,
            "{:a$}  {:b$}  {:>14}  {:>14}  {:>9}  verdict",
            "derivative of", "with respect to", "value", "difference", "rel. err."
        )?;
        for row in &self.rows {
            let c = &row.comparison;
            write!(
                f,
                "{:a$}  {:b$}  {:>14.6e}  {:>14.6e}  {:>9.1e}  {}",
                row.quantity,
                row.input,
                c.claimed,
                c.difference,
                c.relative_error,
                c.verdict.as_str()
            )?;
            if c.note.is_empty() { writeln!(f) } else { writeln!(f, ": {}", c.note) }?;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{CheckSettings, compare_derivative};

    #[test]
    fn the_report_prints_serializes_and_fails_only_for_smooth_wrong_rows() {
        let settings = CheckSettings::default();
        let f = |x: f64| Ok::<_, std::convert::Infallible>(vec![x * x, x.abs()]);
        let mut report = GradientReport::default();
        let Ok(kink) = compare_derivative(f, 0.0, 1.0, &[0.0, 7.0], &settings);
        report.add("force", &["x", "y"], "height", kink);
        assert!(report.passed());
        assert_eq!(report.count(Verdict::Kink), 1);
        let Ok(wrong) = compare_derivative(f, 1.0, 1.0, &[2.0, 7.0], &settings);
        report.add("force", &["x"], "mass", wrong);
        assert!(!report.passed());
        let text = report.to_string();
        assert!(text.contains("force, 1") && text.contains("WRONG") && text.ends_with("1 wrong"), "{text}");
        let json: serde_json::Value = serde_json::to_value(&report).unwrap();
        assert_eq!(json["rows"][3]["verdict"], "wrong");
        assert_eq!(json["rows"][1]["input"], "height");
    }
}
