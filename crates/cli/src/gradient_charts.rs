//! Plots of doubtful derivatives: how far differences are from what is claimed, over their step.

use isobar::check::{Advice, Comparison, Differences, GradientReport, ReportRow, Side, Verdict};
use isobar_report::{Chart, Curve};

/// Most plots on a page.
pub(super) const LARGEST_CHART_COUNT: usize = 24;

/// Which of the page's colours the lines have that are no differences: purple and grey.
const TOLERANCE_COLOR: usize = 4;
const ACCEPTED_COLOR: usize = 7;

/// The rows that are not simply right, with the differences that say so: wrong ones first, then what is undecided, then
/// kinks.
pub(super) fn doubtful(report: &GradientReport) -> Vec<&ReportRow> {
    let mut rows: Vec<&ReportRow> =
        report.rows.iter().filter(|row| !row.comparison.differences.is_empty()).collect();
    rows.sort_by_key(|row| match row.comparison.verdict {
        Verdict::Wrong => 0,
        _ if row.comparison.is_undecided() => 1,
        _ => 2,
    });
    rows
}

/// The plot of a row: the error of each kind of difference, that of the derivative that was accepted with how well it is
/// known, and what the tolerance allows.
pub(super) fn chart(row: &ReportRow, tolerance: f64) -> Chart {
    let c = &row.comparison;
    let steps: Vec<f64> = c.differences.iter().map(|d| d.step).collect();
    let curve = |name: &str, color: usize, of: fn(&Differences) -> f64| Curve {
        name: name.to_owned(),
        color: Some(color),
        x: steps.clone(),
        y: c.differences.iter().map(|d| above_zero((of(d) - c.claimed).abs())).collect(),
        ..Curve::default()
    };
    let mut curves = vec![
        curve("central", 0, |d| d.central),
        curve("left", 1, |d| d.backward),
        curve("right", 2, |d| d.forward),
    ];
    let smallest = curves.iter().flat_map(|curve| &curve.y).copied().fold(f64::INFINITY, f64::min);
    let (name, accepted) = accepted(c);
    let off = (accepted - c.claimed).abs();
    let ends = [off - c.difference_error, off + c.difference_error];
    // What reaches down to 0 ends below all that is drawn.
    let bottom = 0.5 * smallest.min(ends[1]);
    let level = |name: &str, color: usize, y: f64| Curve {
        name: name.to_owned(),
        color: Some(color),
        x: steps.first().into_iter().chain(steps.last()).copied().collect(),
        y: vec![above_zero(y); 2],
        ..Curve::default()
    };
    if ends[1] > 0.0 && ends[1].is_finite() {
        let interval = ends.map(|end| vec![end.max(bottom); 2]);
        curves.push(Curve { interval: Some(interval), ..level(name, ACCEPTED_COLOR, off.max(bottom)) });
    }
    let allowed = tolerance * c.claimed.abs().max(accepted.abs());
    if allowed > 0.0 && allowed.is_finite() {
        curves.push(level("tolerance", TOLERANCE_COLOR, allowed));
    }
    Chart {
        title: format!("{}: {}<br>with respect to {}", c.verdict.as_str(), row.name(), row.parameter),
        axes: ["step, in the unit of the parameter", "|difference − claimed|"].map(str::to_owned),
        is_logarithmic: true,
        is_logarithmic_along: true,
        curves,
        note: note(c),
        ..Chart::default()
    }
}

/// The derivative that a claim was held against, and its name.
fn accepted(c: &Comparison) -> (&'static str, f64) {
    let [left, right] = c.one_sided;
    match (c.verdict, c.side) {
        (Verdict::Kink, Some(Side::Left)) => ("accepted: left", left),
        (Verdict::Kink, Some(Side::Right)) => ("accepted: right", right),
        (Verdict::Kink, _) => ("accepted: mean", c.difference),
        _ => ("accepted", c.difference),
    }
}

/// A number of a logarithmic axis; what is on none leaves a gap.
fn above_zero(y: f64) -> f64 {
    if y > 0.0 && y.is_finite() { y } else { f64::NAN }
}

/// What was found, and how to act on it.
fn note(c: &Comparison) -> String {
    let Some(Advice { meaning, action, .. }) = Advice::on(c) else { return c.note.clone() };
    let found = if c.note.is_empty() { (*meaning).to_owned() } else { format!("{}.", c.note) };
    let mut letters = found.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{} {action}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobar::check::{CheckSettings, compare_derivative};

    const TOLERANCE: f64 = 1e-5;

    fn report() -> GradientReport {
        let mut report = GradientReport::default();
        let mut add = |name: &str, f: fn(f64) -> f64, at: f64, claimed: f64| {
            let f = |x: f64| Ok::<_, std::convert::Infallible>(vec![f(x)]);
            let Ok(compared) = compare_derivative(f, at, 1.0, &[claimed], &CheckSettings::default());
            report.add(name, "x", compared);
        };
        add("right", f64::sin, 0.7, 0.7f64.cos());
        add("constant", |_| 3.0, 0.7, 0.0);
        add("bend", |x| x.abs() + x * x, 0.0, 1.0);
        add("noise", |x| x.sin() + 1e-4 * (1e9 * x).sin(), 0.7, 0.7f64.cos());
        add("wrong", f64::sin, 0.7, 0.8);
        report
    }

    #[test]
    fn doubtful_rows_have_plots_wrong_ones_first() {
        let report = report();
        let rows = doubtful(&report);
        let names: Vec<&str> = rows.iter().map(|row| row.quantity.as_str()).collect();
        assert_eq!(names, ["wrong", "noise", "bend"]);
        for row in rows {
            let chart = chart(row, TOLERANCE);
            assert!(chart.is_logarithmic && chart.is_logarithmic_along);
            let names: Vec<&str> = chart.curves.iter().map(|curve| curve.name.as_str()).collect();
            assert_eq!(names[..3], ["central", "left", "right"]);
            assert!(names[3].starts_with("accepted") && names[4] == "tolerance", "{names:?}");
            let positive = |values: &[f64]| values.iter().all(|y| *y > 0.0 || y.is_nan());
            for curve in &chart.curves {
                assert!(positive(&curve.x) && positive(&curve.y) && curve.x.len() == curve.y.len());
                assert!(curve.interval.iter().flatten().all(|end| positive(end)), "{curve:?}");
            }
            let action = Advice::on(&row.comparison).unwrap().action;
            assert!(!action.is_empty() && chart.note.ends_with(action), "{}", chart.note);
        }
    }

    #[test]
    fn errors_are_those_of_the_differences() {
        let report = report();
        let rows = doubtful(&report);
        // Of a wrong claim the error levels off at what is claimed too much.
        let wrong = chart(rows[0], TOLERANCE);
        let off = 0.8 - 0.7f64.cos();
        let level = |curve: &Curve| curve.y[7];
        for curve in &wrong.curves[..4] {
            let y = if curve.y.len() > 2 { level(curve) } else { curve.y[0] };
            assert!((y / off - 1.0).abs() < 1e-3, "{curve:?}");
        }
        assert_eq!(wrong.curves[4].y, vec![TOLERANCE * 0.8; 2]);
        // At a kink only the side that is claimed falls with the step: |x| + x², from the right 1 + h.
        let kink = chart(rows[2], TOLERANCE);
        assert_eq!(kink.curves[3].name, "accepted: right");
        for ((x, left), right) in kink.curves[0].x.iter().zip(&kink.curves[1].y).zip(&kink.curves[2].y) {
            assert!(
                (left - 2.0).abs() <= x * 1.001 && (right - x).abs() <= 1e-15 + 1e-6 * x,
                "{x} {left} {right}"
            );
        }
    }
}
