//! Tables of indentations.

use std::io::Read;
use std::path::Path;

use super::columns::Columns;
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
    /// `path` appears in messages, and `columns` says what the file calls its columns.
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn parse(input: impl Read, path: &str, columns: &Columns) -> Result<Vec<Indentation>, DataError> {
        const COLUMNS: [&str; 3] = Indentation::CLAIMED_COLUMNS;
        let table = Table::read(input, path, &COLUMNS, (columns, false))?;
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
    pub fn read(path: &Path, columns: &Columns) -> Result<Vec<Indentation>, DataError> {
        Indentation::parse(open(path)?, &path.display().to_string(), columns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::ColumnSource;
    use super::*;

    #[test]
    fn indentations_with_and_without_standard_deviations() {
        let table = Indentation::parse(
            "force_N, depth_m, note\n1.5, 0.001, first\n".as_bytes(),
            "t.csv",
            &Columns::new(),
        )
        .unwrap();
        assert_eq!(table, [Indentation { depth: 0.001, force: 1.5, sigma: None, line: Some(2) }]);
        let table =
            Indentation::parse("depth_m,force_N,sigma_N\n1e-3,2,0.1\n".as_bytes(), "t.csv", &Columns::new())
                .unwrap();
        assert_eq!(table[0].sigma, Some(0.1));
        let refused = |text: &str| {
            Indentation::parse(text.as_bytes(), "t.csv", &Columns::new()).unwrap_err().to_string()
        };
        assert!(
            refused("depth_m,force\n1,2\n")
                .contains("no column `force_N`; the columns found are `depth_m`, `force`")
        );
        assert!(refused("depth_m,force_N,sigma_N\n1,2,0\n").contains("line 2, column `sigma_N`: 0"));
        assert!(refused("depth_m,force_N\n").contains("0 rows"));
        assert!(refused("").contains("no column"));
    }

    #[test]
    fn tables_as_other_programs_write_them() {
        let of = |name: &str, unit: f64| ColumnSource { name: name.into(), unit };
        let columns = Columns::from([
            ("depth_m".into(), of("Weg [mm]", 1e-3)),
            ("force_N".into(), of("Kraft [kN]", 1e3)),
        ]);
        let read = |text: &str| Indentation::parse(text.as_bytes(), "t.csv", &columns);
        let expected = [
            Indentation { depth: 0.25e-3, force: 1.5, sigma: None, line: Some(3) },
            Indentation { depth: -1e-3, force: 20.0, sigma: None, line: Some(4) },
        ];
        // Quotes may hold what separates elsewhere.
        let quoted = read("Weg [mm],\"Kraft [kN]\",\"note; more\"\n0.25,0.0015,x\n").unwrap();
        assert_eq!(quoted, [Indentation { line: Some(2), ..expected[0] }]);
        for (separator, mark) in [(";", ","), ("\t", ","), (";", "."), (",", ".")] {
            let text = format!(
                "# Prüfstand 2, 1;2\nKraft [kN]{separator}Weg [mm]{separator}depth_m\n0{mark}0015{separator}0{mark}25{separator}x\n2e-2{separator}-1{separator}y\n"
            );
            assert_eq!(read(&text).unwrap(), expected, "{text}");
        }
        let refused = |text: &str| read(text).unwrap_err().to_string();
        let missing = refused("depth_m;Kraft [kN]\n1;2\n");
        assert!(
            missing.contains("no column `Weg [mm]`; the columns found are `depth_m`, `Kraft [kN]`"),
            "{missing}"
        );
        let second = refused("Weg [mm];sigma_N\n1;2\n");
        assert!(
            second.contains("no column `Kraft [kN]`; the columns found are `Weg [mm]`, `sigma_N`"),
            "{second}"
        );
        let thousands = refused("Weg [mm];Kraft [kN]\n1.000,5;2\n");
        assert!(thousands.contains("line 2, column `Weg [mm]`: `1.000,5`"), "{thousands}");
    }
}
