//! Words of a text with their lines.

use std::str::FromStr;

use nalgebra::Vector3;

use super::fault::Fault;

/// The words of a text, one after the other.
pub(super) struct Words<'a> {
    lines: std::iter::Skip<std::iter::Enumerate<std::str::Lines<'a>>>,
    /// The words of the current line that are left.
    words: std::str::SplitWhitespace<'a>,
    /// A word that was looked at, and its line.
    peeked: Option<(usize, &'a str)>,
    current: usize,
    line: usize,
}

impl<'a> Words<'a> {
    /// The words of a text after its first `skip` lines.
    pub fn new(text: &'a str, skip: usize) -> Self {
        let lines = text.lines().enumerate().skip(skip);
        Self { lines, words: "".split_whitespace(), peeked: None, current: 1, line: 1 }
    }

    /// Leaves out everything up to the next blank line. The word after the last one must not have
    /// been looked at.
    pub fn skip_to_blank_line(&mut self) {
        (self.peeked, self.words) = (None, "".split_whitespace());
        self.lines.by_ref().find(|(_, line)| line.trim().is_empty());
    }

    /// The line of the last word.
    pub fn line(&self) -> usize {
        self.line
    }

    fn advance(&mut self) -> Option<(usize, &'a str)> {
        loop {
            if let Some(word) = self.words.next() {
                return Some((self.current, word));
            }
            let (index, line) = self.lines.next()?;
            self.current = index + 1;
            self.words = line.split_whitespace();
        }
    }

    /// The next word, if there is one.
    pub fn next(&mut self) -> Option<&'a str> {
        let (line, word) = self.peeked.take().or_else(|| self.advance())?;
        self.line = line;
        Some(word)
    }

    /// Takes the next word if it is this one, in either case.
    pub fn next_if(&mut self, word: &str) -> bool {
        self.peeked = self.peeked.take().or_else(|| self.advance());
        let same = self.peeked.is_some_and(|w| w.1.eq_ignore_ascii_case(word));
        if same {
            self.next();
        }
        same
    }

    /// The next word, which must be there.
    pub fn expect(&mut self, expected: &str) -> Result<&'a str, Fault> {
        let line = self.line;
        self.next().ok_or_else(|| Fault::new(line, "the end of the file", format!("expected {expected}")))
    }

    /// The next word as a number.
    pub fn number<N: FromStr>(&mut self, expected: &str) -> Result<N, Fault> {
        let word = self.expect(expected)?;
        word.parse().map_err(|_| self.fault(word, format!("expected {expected}")))
    }

    /// The next three words as a point with finite coordinates.
    pub fn point(&mut self) -> Result<Vector3<f64>, Fault> {
        let mut point = Vector3::zeros();
        for x in point.iter_mut() {
            *x = self.number::<f64>("a coordinate, a finite number")?;
            if !x.is_finite() {
                return Err(self.fault(&x.to_string(), "coordinates must be finite numbers"));
            }
        }
        Ok(point)
    }

    /// A fault at the last word.
    pub fn fault(&self, word: &str, expected: impl Into<String>) -> Fault {
        Fault::new(self.line, format!("\"{word}\""), expected)
    }
}

/// A cell or element type that is not supported, for messages.
pub(super) fn wrong_type(line: usize, what: &str, found: &str, tetrahedron: u32) -> Fault {
    Fault::new(
        line,
        format!("{what} type {found}"),
        format!("only tetrahedra with four vertices ({what} type {tetrahedron}) are allowed"),
    )
}
