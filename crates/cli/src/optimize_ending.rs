//! What to do where an optimization is not converged.

use std::path::Path;

use isobar::optimize::termination::Termination;
use isobar::optimize::trajectory::TrajectoryOptimum;

/// The command that goes on from a result that is not converged, or shows why it cannot, where there is one.
pub(super) fn next_command(
    optimum: &TrajectoryOptimum,
    (problem, out): (&Path, Option<&Path>),
) -> Option<String> {
    let (problem, folder) = (problem.display(), out.map(Path::display));
    let more = optimum.iterations.saturating_mul(2);
    match (&optimum.ending, folder) {
        (Termination::Budget { .. }, None) => {
            Some(format!("isobar optimize {problem} --max-iterations {more}"))
        }
        (Termination::Budget { .. }, Some(folder)) => {
            Some(format!("isobar optimize {problem} --out {folder} --resume --max-iterations {more}"))
        }
        (Termination::Kink { .. } | Termination::Chattering { .. }, None) => Some(format!(
            "isobar optimize {problem} --out FOLDER; isobar gradient-check {problem} --at FOLDER/result.json"
        )),
        (Termination::Kink { .. } | Termination::Chattering { .. }, Some(folder)) => {
            Some(format!("isobar gradient-check {problem} --at {folder}/result.json"))
        }
        _ => None,
    }
}

/// What to do where an optimization is not converged.
pub(super) fn advice(ending: &Termination, next_command: Option<&str>) -> String {
    match (ending, next_command) {
        (_, Some(command)) => format!("`{command}` shows more"),
        (Termination::Unreached { has_lower: false, .. }, _) => {
            "let it be touched from a `start` of [[controls]], or widen their bounds".to_owned()
        }
        (Termination::Infeasible { .. }, _) => {
            "loosen its bounds or its `tolerance`, or try more knots, more `max_rounds` or another `start`"
                .to_owned()
        }
        _ => "`kind = \"auto\"` in [optimizer] goes on from there".to_owned(),
    }
}
