//! Words and numbers of a file with their lines, in text or binary.

use std::str::FromStr;

use nalgebra::Vector3;

use super::fault::Fault;

/// How the numbers of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    Text,
    LittleEndian,
    BigEndian,
}

/// The words and numbers of a file, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The line of `at`, and that of the last word.
    current: usize,
    line: usize,
    pub numbers: Numbers,
}

impl<'a> Words<'a> {
    /// What a file says; its byte order mark is no part of that.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::of_numbers(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes), Numbers::Text)
    }

    /// Bytes that are all numbers.
    pub fn of_numbers(bytes: &'a [u8], numbers: Numbers) -> Self {
        Self { bytes, at: 0, current: 1, line: 1, numbers }
    }

    /// The same as a part of a file that begins at a line.
    pub fn starting_at(self, line: usize) -> Self {
        Self { current: line, line, ..self }
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Passes bytes, whose line breaks count.
    fn pass(&mut self, count: usize) -> &'a [u8] {
        let passed = &self.rest()[..count];
        self.at += count;
        self.current += passed.iter().filter(|&&byte| byte == b'\n').count();
        passed
    }

    /// What is left of the current line.
    pub fn rest_of_line(&mut self) -> String {
        self.line = self.current;
        let rest = self.rest();
        let end = rest.iter().position(|byte| b"\r\n".contains(byte)).unwrap_or(rest.len());
        let line = String::from_utf8_lossy(self.pass(end)).into_owned();
        let ending = if self.rest().starts_with(b"\r\n") { 2 } else { 1 };
        self.pass(ending.min(self.rest().len()));
        line
    }

    /// Leaves out everything up to the next blank line.
    pub fn skip_to_blank_line(&mut self) {
        let line = self.line;
        self.rest_of_line();
        while !self.rest_of_line().trim().is_empty() && !self.rest().is_empty() {}
        self.line = line;
    }

    /// Leaves out everything up to a word and the word itself, or everything where it does not come.
    pub fn skip_past(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let found = rest.windows(word.len()).position(|window| window == word.as_bytes());
        self.pass(found.map_or(rest.len(), |start| start + word.len()));
        self.line = self.current;
        found.is_some()
    }

    /// The line of the last word.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The next word, if there is one.
    pub fn next(&mut self) -> Option<&'a str> {
        let start = self.rest().iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.pass(start);
        let rest = self.rest();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.line = self.current;
        Some(std::str::from_utf8(self.pass(end)).unwrap_or("\u{fffd}"))
    }

    /// Takes the next word if it is this one, in either case.
    pub fn next_if(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let same = ahead.next().is_some_and(|found| found.eq_ignore_ascii_case(word));
        if same {
            *self = ahead;
        }
        same
    }

    /// The next word, which must be there.
    pub fn expect(&mut self, expected: &str) -> Result<&'a str, Fault> {
        let line = self.line;
        self.next().ok_or_else(|| Fault::new(line, "the end of the file", format!("expected {expected}")))
    }

    /// The next word, which must be this one, in either case.
    pub fn keyword(&mut self, keyword: &str) -> Result<(), Fault> {
        let word = self.expect(keyword)?;
        if word.eq_ignore_ascii_case(keyword) {
            return Ok(());
        }
        Err(self.fault(word, format!("expected {keyword}")))
    }

    /// The next word as a number in text.
    pub fn number<N: FromStr>(&mut self, expected: &str) -> Result<N, Fault> {
        let word = self.expect(expected)?;
        word.parse().map_err(|_| self.fault(word, format!("expected {expected}")))
    }

    /// Comes to the numbers after a line of text: in binary they begin on the next.
    pub fn begin_numbers(&mut self) {
        if self.numbers != Numbers::Text {
            self.rest_of_line();
        }
    }

    /// The next `size` bytes of a binary file, at most eight, the lowest first.
    fn raw(&mut self, size: usize, expected: &str) -> Result<[u8; 8], Fault> {
        let Some(found) = self.rest().get(..size) else {
            return Err(Fault::new(self.line, "the end of the file", format!("expected {expected}")));
        };
        let mut raw = [0; 8];
        raw[..size].copy_from_slice(found);
        if self.numbers == Numbers::BigEndian {
            raw[..size].reverse();
        }
        self.at += size;
        Ok(raw)
    }

    /// The next number that counts or names something, of `size` bytes in binary.
    pub fn index(&mut self, size: usize, expected: &str) -> Result<u64, Fault> {
        if self.numbers == Numbers::Text {
            return self.number(expected);
        }
        let number = u64::from_le_bytes(self.raw(size, expected)?);
        if size >= 4 && number >> (8 * size - 1) != 0 {
            return Err(self.fault("a negative number", format!("expected {expected}")));
        }
        Ok(number)
    }

    /// Leaves out numbers of `size` bytes each in binary.
    pub fn skip_numbers(&mut self, count: u64, size: usize) -> Result<(), Fault> {
        for _ in 0..count {
            match self.numbers {
                Numbers::Text => self.expect("a number").map(drop)?,
                _ => self.raw(size, "a number").map(drop)?,
            }
        }
        Ok(())
    }

    /// Leaves out strings as VTK writes them: a line each, or in binary each after its length, of 1, 2, 4 or 8 bytes by
    /// its highest two bits.
    pub fn skip_strings(&mut self, count: u64) -> Result<(), Fault> {
        if self.numbers == Numbers::Text {
            self.rest_of_line();
        }
        for _ in 0..count {
            let Some(first) = self.rest().first() else { break };
            if self.numbers == Numbers::Text {
                self.rest_of_line();
                continue;
            }
            let size = 8 >> (first >> 6);
            let length = u64::from_le_bytes(self.raw(size, "a string")?) & (u64::MAX >> (66 - 8 * size));
            self.at += self.rest().len().min(length as usize);
        }
        Ok(())
    }

    /// The next number as a coordinate, of `size` bytes (4 or 8) in binary.
    pub fn coordinate(&mut self, size: usize) -> Result<f64, Fault> {
        let expected = "a coordinate, a finite number";
        let x = match (self.numbers, size) {
            (Numbers::Text, _) => self.number(expected)?,
            (_, 4) => {
                let [a, b, c, d, ..] = self.raw(4, expected)?;
                f64::from(f32::from_le_bytes([a, b, c, d]))
            }
            _ => f64::from_le_bytes(self.raw(8, expected)?),
        };
        match x.is_finite() {
            true => Ok(x),
            false => Err(self.fault(&x.to_string(), "coordinates must be finite numbers")),
        }
    }

    /// The next three numbers as a point.
    pub fn point(&mut self, size: usize) -> Result<Vector3<f64>, Fault> {
        Ok(Vector3::new(self.coordinate(size)?, self.coordinate(size)?, self.coordinate(size)?))
    }

    /// A fault at the last word.
    pub fn fault(&self, word: &str, expected: impl Into<String>) -> Fault {
        Fault::new(self.line, format!("\"{word}\""), expected)
    }
}

/// A cell or element type that is not supported, for messages.
pub(super) fn wrong_type(line: usize, what: &str, found: u64, tetrahedron: u64) -> Fault {
    Fault::new(
        line,
        format!("{what} type {found}"),
        format!("only tetrahedra with four vertices ({what} type {tetrahedron}) are allowed"),
    )
}
