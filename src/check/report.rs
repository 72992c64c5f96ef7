//! The table of a gradient check.

use std::fmt;

use serde::Serialize;

use super::comparison::{Comparison, Verdict};

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

/// A gradient check: many derivatives compared with differences.
///
/// [`fmt::Display`] prints the table; it serializes to `{"rows": […]}`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GradientReport {
    /// One row per derivative.
    pub rows: Vec<ReportRow>,
}

impl GradientReport {
    /// Adds the components of one quantity (x, y, z, then numbers) along one parameter.
    pub fn add(&mut self, quantity: &str, parameter: &str, comparisons: Vec<Comparison>) {
        for (i, comparison) in comparisons.into_iter().enumerate() {
            let component = ["x", "y", "z"].get(i).map_or_else(|| i.to_string(), |c| c.to_string());
            self.rows.push(ReportRow {
                quantity: quantity.to_string(),
                component,
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
        Self { rows }
    }

    /// The number of rows with a verdict.
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
    }
}
