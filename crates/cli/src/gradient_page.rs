//! A page of a gradient check: plots of the doubtful derivatives, what verdicts mean, the table of all derivatives, the
//! wrong and doubtful ones first, and the ways that agree.

use std::path::Path;

use super::gradient_charts::{LARGEST_CHART_COUNT, chart, doubtful};
use super::recordings::{about, command_line, page};
use isobar::check::{ADVICE, Advice, GradientReport, Verdict, Way};
use isobar_report::{Page, Table};

/// The page of a check to this tolerance.
pub(super) fn gradient_page<'p>(file: &Path, report: &GradientReport, tolerance: f64) -> Page<'p> {
    let verdicts = [Verdict::Wrong, Verdict::Kink, Verdict::Noisy, Verdict::Ok, Verdict::Zero];
    let counts: Vec<String> =
        verdicts.iter().map(|&verdict| format!("{} {}", report.count(verdict), verdict.as_str())).collect();
    let doubtful = doubtful(report);
    let shown = doubtful.len().min(LARGEST_CHART_COUNT);
    let drawn = match doubtful.len() {
        0 => "none: there is no doubtful derivative".to_owned(),
        count if count == shown => format!("of all {count} doubtful derivatives"),
        count => format!("of {shown} of {count} doubtful derivatives, wrong ones first"),
    };
    let beside = report.beside.iter().map(|beside| ["beside", &beside.to_string()].map(str::to_owned));
    let more = [["derivatives", &counts.join(", ")], ["figures", &drawn], ["command", &command_line()]];
    let about = about("checked", file, more.map(|line| line.map(str::to_owned)).into_iter().chain(beside));
    let mut rows: Vec<_> = verdicts.iter().flat_map(|&verdict| rows_of(report, verdict)).collect();
    let mut page = page(file, about, None);
    if report.count(Verdict::Wrong) > 0 {
        let count = report.count(Verdict::Wrong);
        page.warnings.push(format!("{count} derivatives are wrong."));
    }
    page.charts = doubtful.into_iter().take(shown).map(|row| chart(row, tolerance)).collect();
    // What is wrong comes first, and in full; of what is doubtful the charts show some.
    let wrong = rows_of(report, Verdict::Wrong).count();
    if wrong > 0 {
        let rest = rows.split_off(wrong);
        page.tables.push(derivatives("Wrong derivatives", true, rows));
        rows = rest;
    }
    // Those that are zero are most of them, and tell least.
    let zeros = rows.split_off(rows.len() - report.count(Verdict::Zero));
    page.tables.push(legend());
    page.tables.push(derivatives(if wrong > 0 { "Other derivatives" } else { "Derivatives" }, false, rows));
    if !report.ways.is_empty() {
        page.tables.push(ways(report));
    }
    if !zeros.is_empty() {
        page.tables.push(derivatives("Derivatives that are zero", false, zeros));
    }
    page
}

/// The rows of the derivatives with a verdict.
fn rows_of(report: &GradientReport, verdict: Verdict) -> impl Iterator<Item = Vec<String>> {
    report.rows.iter().filter(move |row| row.comparison.verdict == verdict).map(|row| {
        let c = &row.comparison;
        vec![
            row.name(),
            row.parameter.clone(),
            c.verdict.as_str().to_owned(),
            format!("{:.6e}", c.claimed),
            format!("{:.6e}", c.difference),
            format!("{:.1e}", c.relative_error),
            c.note.clone(),
        ]
    })
}

fn derivatives(title: &str, is_result: bool, rows: Vec<Vec<String>>) -> Table {
    let columns =
        ["derivative of", "with respect to", "verdict", "value", "difference", "relative error", "note"];
    Table { title: title.to_owned(), is_result, columns: columns.map(str::to_owned).to_vec(), rows }
}

/// What verdicts mean.
fn legend() -> Table {
    let row = |Advice { name, meaning, action, .. }: &Advice| {
        [*name, *meaning, *action].map(str::to_owned).to_vec()
    };
    Table {
        title: "Verdicts".to_owned(),
        is_result: false,
        columns: ["verdict", "means", "do"].map(str::to_owned).to_vec(),
        rows: ADVICE.iter().map(row).collect(),
    }
}

/// The other ways that the derivatives are made in.
fn ways(report: &GradientReport) -> Table {
    let row = |way: &Way| {
        let place = way.place();
        let worst = format!("{:.1e}", way.worst);
        vec![way.way.clone(), way.compared.to_string(), way.disagreeing.to_string(), worst, place]
    };
    let columns = ["way", "compared", "disagree", "worst, of the largest sensitivity", "where"];
    Table {
        title: "Other ways, against these".to_owned(),
        is_result: false,
        columns: columns.map(str::to_owned).to_vec(),
        rows: report.ways.iter().map(row).collect(),
    }
}
