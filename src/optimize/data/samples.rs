//! Samples of several quantities in one table, each taken at times of its own.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use super::TIME_COLUMN as TIME;
use super::columns::Columns;
use super::table::{Table, open};
use crate::optimize::data_error::DataError;

/// What was recorded of one quantity: at each time as many numbers as it has columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Times, s, increasing.
    pub times: Vec<f64>,
    /// The numbers at each time.
    pub values: Vec<Vec<f64>>,
    /// The line of the file that each sample stands in, counted from 1.
    pub lines: Vec<u64>,
}

impl Samples {
    /// Reads the samples of several quantities, each given by the names of its columns, from a table with a column
    /// `t_s` of increasing times. Where a quantity was not sampled its fields are empty. `columns` says what the file calls
    /// its columns.
    ///
    /// Other columns stand for nothing ([`unclaimed_columns`](super::unclaimed_columns) finds them).
    ///
    /// # Errors
    /// See [`DataError`]; a quantity that was never sampled, or of which some fields are empty and some are not.
    pub fn parse(
        input: impl Read,
        path: &str,
        quantities: &[Vec<String>],
        columns: &Columns,
    ) -> Result<Vec<Self>, DataError> {
        let of_quantities = quantities.iter().flatten().map(String::as_str);
        let wanted: Vec<&str> = std::iter::once(TIME).chain(of_quantities).collect();
        let table = Table::read(input, path, &wanted, (columns, true))?;
        table.at_least(2)?;
        let time = table.require(TIME)?;
        let places: Vec<Vec<usize>> = quantities
            .iter()
            .map(|columns| columns.iter().map(|column| table.require(column)).collect())
            .collect::<Result<_, _>>()?;
        let mut all = vec![Self::default(); quantities.len()];
        let mut last = f64::NEG_INFINITY;
        for (line, row) in &table.rows {
            let at = row[time];
            if at.is_nan() {
                return Err(table.field(*line, TIME, "an empty field".to_owned(), "a finite number"));
            }
            if at <= last {
                let found = format!("{at} after {last}");
                return Err(table.field(*line, TIME, found, "increasing from line to line"));
            }
            last = at;
            for ((samples, places), columns) in all.iter_mut().zip(&places).zip(quantities) {
                let values: Vec<f64> = places.iter().map(|&place| row[place]).collect();
                match values.iter().position(|value| value.is_nan()) {
                    None => samples.push(at, values, *line),
                    Some(_) if values.iter().all(|value| value.is_nan()) => {}
                    Some(empty) => {
                        let allowed =
                            "a finite number, or empty together with the other columns of its quantity";
                        return Err(table.field(
                            *line,
                            &columns[empty],
                            "an empty field".to_owned(),
                            allowed,
                        ));
                    }
                }
            }
        }
        for (samples, columns) in all.iter().zip(quantities) {
            if let (true, Some(column)) = (samples.times.is_empty(), columns.first()) {
                return Err(DataError::EmptyColumn { path: path.into(), column: column.clone() });
            }
        }
        Ok(all)
    }

    /// Reads a file of samples; see [`Self::parse`].
    ///
    /// # Errors
    /// See [`DataError`].
    pub fn read(path: &Path, quantities: &[Vec<String>], columns: &Columns) -> Result<Vec<Self>, DataError> {
        Self::parse(open(path)?, &path.display().to_string(), quantities, columns)
    }

    fn push(&mut self, time: f64, values: Vec<f64>, line: u64) {
        self.times.push(time);
        self.values.push(values);
        self.lines.push(line);
    }

    /// Keeps those within a span of time, the last one included.
    pub fn keep(&mut self, span: Range<f64>) {
        let inside: Vec<bool> = self.times.iter().map(|&t| t >= span.start && t <= span.end).collect();
        let mut kept = inside.iter().copied();
        self.times.retain(|_| kept.next() == Some(true));
        kept = inside.iter().copied();
        self.values.retain(|_| kept.next() == Some(true));
        kept = inside.iter().copied();
        self.lines.retain(|_| kept.next() == Some(true));
    }

    /// The times counted from another one, in s.
    pub fn from_time(&mut self, start: f64) {
        self.times.iter_mut().for_each(|time| *time -= start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, quantities: &[&[&str]]) -> Result<Vec<Samples>, String> {
        let quantities: Vec<Vec<String>> =
            quantities.iter().map(|columns| columns.iter().map(|c| (*c).to_owned()).collect()).collect();
        Samples::parse(text.as_bytes(), "log.csv", &quantities, &Columns::new())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn quantities_are_sampled_at_times_of_their_own() {
        let text = "t_s,q,x,y,note\n0,0.5,,,a\n0.01,0.6,1,2,b\n0.02,,3,4,c\n";
        let found = read(text, &[&["q"], &["x", "y"]]).unwrap();
        assert_eq!(found[0].times, [0.0, 0.01]);
        assert_eq!(found[0].values, [[0.5], [0.6]]);
        assert_eq!((found[1].times.clone(), found[1].lines.clone()), (vec![0.01, 0.02], vec![3, 4]));
        assert_eq!(found[1].values, [[1.0, 2.0], [3.0, 4.0]]);
    }

    #[test]
    fn bad_tables_are_refused_with_file_line_and_column() {
        let refused = |text: &str| read(text, &[&["q"], &["x", "y"]]).unwrap_err();
        let half = refused("t_s,q,x,y\n0,1,1,1\n1,1,2,\n");
        assert!(half.starts_with("log.csv, line 3, column `y`: an empty field, it must be"), "{half}");
        let missing = refused("t_s,q,x\n0,1,1\n1,1,2\n");
        assert!(missing.contains("no column `y`; the columns found are `t_s`, `q`, `x`"), "{missing}");
        let never = refused("t_s,q,x,y\n0,1,,\n1,1,,\n");
        assert!(never.contains("column `x` is empty in all rows"), "{never}");
        assert!(refused("t_s,q,x,y\n0,1,1,1\n0,1,2,1\n").contains("`t_s`: 0 after 0"));
        assert!(refused("t_s,q,x,y\n0,1,1,1\n,1,2,1\n").contains("line 3, column `t_s`: an empty field"));
        assert!(refused("t_s,q,x,y\n0,nan,1,1\n1,1,2,1\n").contains("line 2, column `q`: `nan`"));
        // Comments and empty lines count.
        let commented = refused("# a\n# b\n\nt_s,q,x,y\n0,1,1,1\n# c\n\r\n1,nan,2,1\n");
        assert!(commented.contains("line 8, column `q`: `nan`"), "{commented}");
        assert!(refused("t_s,q,x,y\n0,1,1,1\n").contains("1 rows"));
    }
}
