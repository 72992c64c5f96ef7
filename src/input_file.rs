//! Reading files that are named by whoever calls, and standard input: no devices, and nothing that memory has no room for.

use std::fs::File;
use std::io::{Error, ErrorKind, IsTerminal, Read, Result, stdin};
use std::path::Path;
use std::sync::OnceLock;

/// Files longer than this, in bytes, are not read.
const LONGEST: u64 = 4 << 30;

/// What standard input has at most, in bytes: it is one file that somebody or something wrote just now.
const LONGEST_INPUT: u64 = 256 << 20;

/// What is read of a file or a pipe: an error once it is longer than it may be.
pub(crate) struct Limited<R> {
    input: R,
    /// What it has at most, in bytes, and how much of that is left.
    most: u64,
    left: u64,
}

impl<R> Limited<R> {
    /// Of an input of which this many bytes are known. A pipe tells no length.
    fn new(input: R, length: u64, most: u64) -> Result<Self> {
        if length > most { Err(too_long(most)) } else { Ok(Self { input, most, left: most }) }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.input.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| too_long(self.most))?;
        Ok(count)
    }
}

/// Lines of tables longer than this, in bytes, are not read: their reader needs memory for a whole one.
const LONGEST_LINE: usize = 64 << 20;

/// Text whose lines have a limited length.
pub(crate) struct Lines<R> {
    input: R,
    /// What has been read of the present line.
    length: usize,
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.input.read(buffer)?;
        let last = buffer[..count].iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
        self.length = last.map_or(self.length + count, |last| count - last - 1);
        match self.length <= LONGEST_LINE {
            true => Ok(count),
            false => Err(Error::new(
                ErrorKind::FileTooLarge,
                format!("it has a line of more than {LONGEST_LINE} bytes"),
            )),
        }
    }
}

/// Opens a file of lines, such as a table.
pub(crate) fn open_lines(path: &Path) -> Result<Lines<Limited<File>>> {
    Ok(Lines { input: open(path)?, length: 0 })
}

fn too_long(most: u64) -> Error {
    Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes"))
}

/// Opens a file, or a pipe; devices, of which some never end, and what is too long are refused.
pub(crate) fn open(path: &Path) -> Result<Limited<File>> {
    let file = File::open(path)?;
    refuse_devices(&file)?;
    let length = file.metadata()?.len();
    Limited::new(file, length, LONGEST)
}

fn refuse_devices(file: &File) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = file.metadata()?.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Err(Error::new(ErrorKind::InvalidInput, "it is a device"));
        }
    }
    Ok(())
}

/// Whether a path stands for standard input: `-`.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// The name of an input in messages. That of standard input has no folder, so that files are found relative to the
/// working directory.
pub fn name(path: &Path) -> &Path {
    if is_standard_input(path) { Path::new("standard input") } else { path }
}

/// The text on standard input, which is read when it is first asked for.
pub(crate) fn standard_input() -> Result<&'static str> {
    static TEXT: OnceLock<Result<String>> = OnceLock::new();
    let read = || {
        #[cfg(unix)]
        if !stdin().is_terminal() {
            use std::os::fd::AsFd;
            refuse_devices(&File::from(stdin().as_fd().try_clone_to_owned()?))?;
        }
        text_of(bytes_of(Limited::new(stdin().lock(), 0, LONGEST_INPUT)?)?)
    };
    let text = TEXT.get_or_init(read).as_deref();
    text.map_err(|error| Error::new(error.kind(), error.to_string()))
}

/// All bytes of an input; an error where memory has no room for them.
pub(crate) fn bytes_of(mut input: impl Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let more = bytes.len().max(1 << 16);
        bytes.try_reserve(more).map_err(|_| ErrorKind::OutOfMemory)?;
        if input.by_ref().take(more as u64).read_to_end(&mut bytes)? < more {
            return Ok(bytes);
        }
    }
}

fn text_of(bytes: Vec<u8>) -> Result<String> {
    let wrong = |_| Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(bytes).map_err(wrong)
}

/// What a file holds.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    bytes_of(open(path)?)
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read, is a device, too long, or not in UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    text_of(read_bytes(path)?)
}

/// Whether the name of a file ends so, after a dot.
pub(crate) fn ends_in(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_longer_than_allowed_is_refused_and_an_endless_input_ends() {
        let read = |length, most| bytes_of(Limited::new(&b"0123456789"[..], length, most)?);
        assert_eq!(read(10, 10).expect("it is as long as allowed").len(), 10);
        for (length, most) in [(10, 9), (0, 9), (11, 10)] {
            let error = read(length, most).expect_err("it is too long");
            assert_eq!(error.to_string(), format!("it has more than {most} bytes"));
        }
        let endless = Limited::new(std::io::repeat(b'#'), 0, 1 << 20).and_then(bytes_of);
        assert_eq!(endless.expect_err("it ends").kind(), ErrorKind::FileTooLarge);
        let lines = |input: &'static [u8]| {
            let long = Limited::new(input.chain(std::io::repeat(b'#')).take(1 << 30), 0, 1 << 30)?;
            std::io::copy(&mut Lines { input: long, length: 0 }, &mut std::io::sink())
        };
        let error = lines(b"a\nb").expect_err("the second line is too long");
        assert_eq!(error.to_string(), format!("it has a line of more than {LONGEST_LINE} bytes"));
    }
}
