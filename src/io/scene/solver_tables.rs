//! From the table `[solver]` of a scene file to how steps are taken.

use super::body_tables::{Range, number};
use super::schema::{SolverKind, SolverTable};
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::Problem;
use crate::step::SolverTolerance;

/// The accuracy that steps of a scene have, and their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorControl {
    /// The error that a substep may have, m (see [`crate::step::ErrorControlled`]).
    pub accuracy: f64,
    /// Whether implicit steps are extrapolated, to order 2.
    pub extrapolated: bool,
}

/// When the iteration of an implicit step ends.
pub(in crate::io) fn solver_tolerance(
    table: &SolverTable,
    field: &FieldPath,
) -> Result<SolverTolerance, Problem> {
    let mut tolerance = SolverTolerance::default();
    if let Some(relative) = table.relative_tolerance {
        tolerance.relative = number(relative, Range::Positive, &field.key("relative_tolerance"))?;
    }
    if let Some(iterations) = table.max_iterations {
        if iterations == 0 {
            return Err(Problem::new(field.key("max_iterations"), "found 0; it must be at least 1"));
        }
        tolerance.max_iterations = iterations;
    }
    Ok(tolerance)
}

/// Whether the error of steps is controlled, and how.
pub(in crate::io) fn error_control(
    table: &SolverTable,
    field: &FieldPath,
) -> Result<Option<ErrorControl>, Problem> {
    let order = match (table.order, table.kind) {
        (Some(_), _) if table.accuracy.is_none() => {
            Err("is for steps of controlled error; give an `accuracy` too, or remove it".to_owned())
        }
        (Some(_), SolverKind::BogackiShampine | SolverKind::DormandPrince | SolverKind::Radau) => {
            Err(format!("the solver \"{}\" has an order of its own; remove it", table.kind.name()))
        }
        (None | Some(2), _) => Ok(2),
        (Some(1), _) => Ok(1),
        (Some(found), _) => Err(format!("found {found}; it must be 1 or 2")),
    };
    let order = order.map_err(|message| Problem::new(field.key("order"), message))?;
    let field = field.key("accuracy");
    let Some(accuracy) = table.accuracy else {
        return match table.kind {
            SolverKind::Radau => {
                Err(Problem::new(field, "missing; the solver \"radau\" needs it, 1e-6 (m) to begin with"))
            }
            _ => Ok(None),
        };
    };
    if table.kind.is_complementarity()
        || matches!(table.kind, SolverKind::SemiImplicitEuler | SolverKind::Rk4)
    {
        let message = format!(
            "the solver \"{}\" takes steps of fixed length; remove it, or set `kind` to \"lagged\" (implicit) or \
             \"dormand_prince\" (explicit)",
            table.kind.name()
        );
        return Err(Problem::new(field, message));
    }
    let accuracy = number(accuracy, Range::Positive, &field)?;
    Ok(Some(ErrorControl { accuracy, extrapolated: order == 2 }))
}
