//! Tables of indentations.

use std::io::Read;
use std::path::Path;

use super::table::{Table, open};
use crate::optimize::data_error::DataError;

/// One measurement of an indentation test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Indentation {
    /// How far the body was pressed in, m.
    pub depth: f64,
    /// The force against the motion, N.
    pub force: f64,
    /// Standard deviation of the force, N; `None` where the table has no such column.
    pub sigma: Option<f64>,
    /// The line of the file that it stands in, counted from 1, if it comes from one.
    pub line: Option<u64>,
}

impl Indentation {
    /// The names of columns; others stand for nothing.
    pub const CLAIMED_COLUMNS: [&str; 3] = ["depth_m", "force_N", "sigma_N"];

    /// Reads a table of indentations: columns `depth_m` and `force_N`, optional `sigma_N` (positive).
    /// `path` appears in messages.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn parse(input: impl Read, path: &str) -> Result<Vec<Indentation>, DataError> {
        const COLUMNS: [&str; 3] = Indentation::CLAIMED_COLUMNS;
        let table = Table::read(input, path, &COLUMNS)?;
        let (depth, force) = (table.require(COLUMNS[0])?, table.require(COLUMNS[1])?);
        let sigma = table.find(COLUMNS[2]);
        table.at_least(1)?;
        let row = |(line, row): &(u64, Vec<f64>)| {
            let sigma = sigma.map(|i| row[i]);
            match sigma {
                Some(s) if s <= 0.0 => Err(table.field(*line, "sigma_N", s.to_string(), "positive")),
                _ => Ok(Indentation { depth: row[depth], force: row[force], sigma, line: Some(*line) }),
            }
        };
        table.rows.iter().map(row).collect()
    }

    /// Reads a file of indentations; see [`Indentation::parse`].
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn read(path: &Path) -> Result<Vec<Indentation>, DataError> {
        Indentation::parse(open(path)?, &path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentations_with_and_without_standard_deviations() {
        let table =
            Indentation::parse("force_N, depth_m, note\n1.5, 0.001, first\n".as_bytes(), "t.csv").unwrap();
        assert_eq!(table, [Indentation { depth: 0.001, force: 1.5, sigma: None, line: Some(2) }]);
        let table = Indentation::parse("depth_m,force_N,sigma_N\n1e-3,2,0.1\n".as_bytes(), "t.csv").unwrap();
        assert_eq!(table[0].sigma, Some(0.1));
        let refused = |text: &str| Indentation::parse(text.as_bytes(), "t.csv").unwrap_err().to_string();
        assert!(
            refused("depth_m,force\n1,2\n")
                .contains("no column `force_N`; the columns found are `depth_m`, `force`")
        );
        assert!(refused("depth_m,force_N,sigma_N\n1,2,0\n").contains("line 2, column `sigma_N`: 0"));
        assert!(refused("depth_m,force_N\n").contains("0 rows"));
        assert!(refused("").contains("no column"));
    }
}
