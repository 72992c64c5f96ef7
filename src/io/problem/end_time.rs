//! From the table of a problem file to the end of the motions as a variable.

use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::io::problem::schema::{CostTable, ProblemTable, TargetTable};
use crate::io::scene::body_tables::{Range, number};
use crate::optimize::ensemble::FreeEnd;
use crate::optimize::objective::When;
use crate::optimize::trajectory::ControlRange;
use crate::rollout::ControlKnots;

/// The end as a variable, where the file asks for it; with the knots of the commands that are optimized, if there are any.
pub(super) fn free_end(
    table: &ProblemTable,
    knots: Option<&ControlKnots>,
    root: &FieldPath,
) -> Result<Option<FreeEnd>, Problem> {
    let Some(t) = &table.end_time else { return Ok(None) };
    let field = root.key("end_time");
    if table.hold > 0.0 {
        let message = format!("found {}; with `end_time` it must be left out", table.hold);
        return Err(Problem::new(root.key("hold"), message));
    }
    let bound = |value: f64, key: &str| number(value, Range::Positive, &field.key(key));
    let (lower, upper) = (bound(t.lower, "lower")?, bound(t.upper, "upper")?);
    if lower > upper {
        let message = format!("found {lower}, above `upper`, which is {upper}; it must not exceed it");
        return Err(Problem::new(field.key("lower"), message));
    }
    let until = table.until;
    if !(lower..=upper).contains(&until) {
        let message = format!(
            "found {until}; the start must be between `end_time.lower`, {lower}, and `end_time.upper`, {upper}"
        );
        return Err(Problem::new(root.key("until"), message));
    }
    let mut range = ControlRange::new(lower, upper);
    if let Some(scale) = t.scale {
        range.scale = number(scale, Range::Positive, &field.key("scale"))?;
    }
    let weight = number(t.weight, Range::AtLeastZero, &field.key("weight"))?;
    for (i, cost) in table.costs.iter().enumerate() {
        check_target(cost, &root.key("costs").index(i))?;
    }
    Ok(Some(FreeEnd { range, weight, knots: knots.map(|knots| (knots.clone(), until)) }))
}

/// The latest end that there may be, and its field.
pub(super) fn latest_end(table: &ProblemTable, root: &FieldPath) -> (f64, FieldPath) {
    match &table.end_time {
        Some(t) if t.upper > table.until => (t.upper, root.key("end_time").key("upper")),
        _ => (table.until + table.hold, root.key("until")),
    }
}

/// Refuses a target at the end that depends on when that is.
fn check_target(cost: &CostTable, field: &FieldPath) -> Result<(), Problem> {
    match (cost.when, &cost.target) {
        (When::End, Some(TargetTable::Path(_))) => {
            let message =
                "changes over time, and `end_time` lets the end of the motion change; give a constant target";
            Err(Problem::new(field.key("target"), message))
        }
        _ => Ok(()),
    }
}
